"""OAuth 2 client credentials: one token for a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote_plus, urlencode

from . import jsontext
from .redact import Redactor
from .target import Credentials, OAuthClient, basic_header
from .text import quote
from .transcript import End, Limits
from .urls import display_url
from .wire import Connection, CookieStore, Lane, send

_TOKEN_BYTES = 1 << 20  # of the whole answer


class OAuthError(Exception):
    """No token could be had; the text says why and holds no secret."""


async def fetch_token(client: OAuthClient, connection: Connection, limits: Limits) -> str:
    """Ask the token endpoint for an access token (RFC 6749, 4.4). Nothing is discovered.

    The client authenticates by HTTP Basic, which every authorization server has to support (RFC 6749, 2.3.1).

    Raises:
        OAuthError: no connection, a refusal, or an answer that holds no bearer token.
    """
    form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
    identity = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
    headers = (
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
        ("Authorization", basic_header(identity)),
    )
    async with Lane(connection, CookieStore()) as lane:
        sent = await send(
            lane,
            "POST",
            client.token_url,
            headers,
            urlencode(form).encode("ascii"),
            deadline=limits.request_timeout,
            limits=replace(limits, max_response_bytes=_TOKEN_BYTES),
            secret_headers=frozenset({"authorization"}),
        )
    redactor = Redactor(Credentials(oauth=client).secrets())
    where = display_url(client.token_url)
    if sent.response is None or sent.end is not End.COMPLETE:
        raise OAuthError(f"no token from {where}: {redactor.text(sent.detail) or sent.end}")
    answer = jsontext.parse(sent.response.body).value
    answer = answer if isinstance(answer, Mapping) else {}

    def said(value: object) -> str:
        return quote(redactor.text(value), 80) if isinstance(value, str) else "no string"

    if sent.response.status != 200:
        code = said(answer["error"]) if "error" in answer else "no error code"
        raise OAuthError(f"no token from {where}: HTTP {sent.response.status}, {code}")
    token, kind = answer.get("access_token"), answer.get("token_type", "bearer")
    if not isinstance(token, str) or not token:
        raise OAuthError(f"no token from {where}: the answer has no access_token string")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise OAuthError(f"the token_type of {where} is {said(kind)}, and only bearer is known")
    try:
        Credentials(bearer=token)
    except ValueError as error:
        raise OAuthError(f"the answer of {where} cannot be used: {error}") from None
    return token
