"""What a platform of connected apps sends and AdCP does not ask for; sent where the connected-apps profile is chosen.

An initialize as another client, and with the platform's User-Agent; the metadata of the authorization server in the
places where the platform looks; the document that proves the domain. Documents are asked for without credentials, and
at another host than the target's only where the user allows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Era, Exchange, Kind
from pytest_adcp.harness.urls import UrlError, is_loopback, origin, web_address
from pytest_adcp.harness.wire import CookieStore, Lane

from .documents import RESOURCE, listed_server, served
from .http import PLACES, subject
from .metadata import MAX_BYTES, MOST, is_at

if TYPE_CHECKING:
    from pytest_adcp.harness.survey import Order

APPENDED = "app/authorization-server"  # where the platform looks: behind the path of the issuer
APPENDED_OPENID = f"{APPENDED}/openid"
INSERTED = "app/inserted-authorization-server"  # where RFC 8414 has it: before the path
VERIFICATION = "app/verification"
AGENT = "Google"  # what the platform says in User-Agent

_CLIENT: Mapping[str, Any] = {"name": "google", "title": "Google", "version": "1.0.0"}
_SECONDS = 5.0  # for all documents
_PLACES = (APPENDED, APPENDED_OPENID, INSERTED, VERIFICATION)


def issuer_of(resource: Mapping[str, Any] | None, url: str) -> str:
    """Return who issues tokens: whom the server's own document lists, else the origin of the endpoint."""
    return (listed_server(resource) if resource is not None else None) or origin(url)


def documents_of(issuer: str) -> dict[str, str]:
    """Return where the metadata of an issuer may be, by how a transcript names the place."""
    base, path = issuer.rstrip("/"), urlsplit(issuer).path.rstrip("/")
    found = {
        APPENDED: f"{base}/.well-known/oauth-authorization-server",
        APPENDED_OPENID: f"{base}/.well-known/openid-configuration",
    }
    return found | (
        {INSERTED: f"{origin(issuer)}/.well-known/oauth-authorization-server{path}"} if path else {}
    )


def why_not(issuer: str, url: str, allowed: bool) -> str:
    """Say why the metadata of an issuer is not asked for; empty where it is."""
    try:
        parts = web_address(issuer)
    except UrlError:
        return "the authorization server that the server names is no URL"
    if is_at(issuer, url):
        return ""
    if not allowed:
        return "the authorization server is on another host; say `issuer: true` under connected_apps in adcp.yaml"
    secure = parts.scheme == "https" or is_loopback(parts.hostname or "")
    return "" if secure else "the authorization server is not on https"


async def send(
    talk: Conversation,
    order: Order,
    request: AppRequest,
    recorded: Callable[[], Sequence[Exchange]],
    lane: Lane,
) -> None:
    """Send all of it, when everything else is done; `recorded` gives the exchanges so far."""
    if talk.session.era is Era.HANDSHAKE:
        await _initialize(talk, lane, HttpProbe.CLIENT_INFO, _as_another_client)
        await _initialize(talk, lane, HttpProbe.USER_AGENT, _as_the_platform)
    limits = replace(order.limits, max_response_bytes=min(MAX_BYTES, order.limits.max_response_bytes))
    stranger = talk.beside((), limits=limits)
    async with Lane(order.connection, CookieStore()) as apart:
        with anyio.move_on_after(_SECONDS):
            for name, url in _documents(order.target, request, recorded()).items():
                if talk.stopped:
                    return
                await stranger.look(
                    apart,
                    (Phase.METADATA, MOST + 1 + _PLACES.index(name)),
                    "GET",
                    url,
                    Outgoing((("Accept", "application/json"),), b""),
                    kind=Kind.METADATA,
                    subject=name,
                )


def _documents(target: Target, request: AppRequest, exchanges: Sequence[Exchange]) -> dict[str, str]:
    wanted = (
        {VERIFICATION: f"{target.origin}/.well-known/google-connected-apps"} if request.verification else {}
    )
    own = (e for e in exchanges if e.kind is Kind.METADATA and e.subject.startswith(RESOURCE))
    resource = next((found for e in own if (found := served(e)) is not None), None)
    asks = any(e.response is not None and e.response.status == 401 for e in exchanges)
    if resource is None and not asks and not target.credentials.kinds:
        return wanted
    issuer = issuer_of(resource, target.url)
    return wanted if why_not(issuer, target.url, request.issuer) else documents_of(issuer) | wanted


async def _initialize(
    talk: Conversation, lane: Lane, probe: HttpProbe, change: Callable[[Outgoing], Outgoing]
) -> None:
    if talk.stopped:
        return
    caller, session = talk.beside(talk.credentials), Session(Era.HANDSHAKE)
    place = (Phase.HTTP, PLACES[probe])
    said = await caller.ask(
        lane,
        place,
        lambda session, number: change(session.initialize(number)),
        kind=Kind.HTTP,
        subject=subject(probe),
        session=session,
    )
    if caller.adopt(session, said):
        await caller.close(lane, place, Kind.HTTP, f"http/close/{probe}")


def _as_another_client(message: Outgoing) -> Outgoing:
    body = json.loads(message.body)
    body["params"]["clientInfo"] = _CLIENT
    return Outgoing(message.headers, json.dumps(body).encode("ascii"))


def _as_the_platform(message: Outgoing) -> Outgoing:
    return Outgoing((*message.headers, ("User-Agent", AGENT)), message.body)
