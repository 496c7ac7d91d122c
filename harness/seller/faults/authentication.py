"""Faults of who may call, and of how a caller learns what it needs for that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness.seller import metadata, rpc
from pytest_adcp.harness.seller.endpoint import PATH
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, rules

TOKEN = "token-of-the-reference-seller"  # noqa: S105 - it guards nothing
READ = "list_creatives"
REQUIRED = rules("adcp.security.credentials-required")
CHECKED = rules("adcp.security.credentials-checked")
CHALLENGE = rules("adcp.security.challenge")
CHALLENGE_METADATA = rules("adcp.security.challenge-metadata")
RESOURCE = rules("adcp.security.metadata-resource")
SERVERS = rules("adcp.security.metadata-servers")
SERVER = rules("adcp.security.authorization-server")
WITH_TOKEN: Mapping[str, Any] = {"bearer": TOKEN}
WITH_METADATA: Mapping[str, Any] = {"bearer": TOKEN, "discovery": True}

_ELSEWHERE = "/.well-known/elsewhere"


def _admitting(*, when: Callable[[Exchange], bool]) -> Hooks:
    """Serve some requests as if they had the token."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if when(exchange):
            others = [header for header in exchange.request.headers if header[0] != "authorization"]
            headers = (*others, ("authorization", f"Bearer {TOKEN}"))
            exchange = replace(exchange, request=replace(exchange.request, headers=headers))
        await wire.send(await answer(exchange))

    return Hooks(http=hook)


def _refusing(how: Callable[[Exchange, Reply], Reply]) -> Hooks:
    """Refuse in another way than with the reply of a conforming seller."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        reply = await answer(exchange)
        await wire.send(how(exchange, reply) if reply.status == HTTPStatus.UNAUTHORIZED else reply)

    return Hooks(http=hook)


def _header(exchange: Exchange) -> str:
    return exchange.request.header("authorization") or ""


def _bearer(exchange: Exchange) -> bool:
    return _header(exchange).startswith("Bearer ")


def _json(exchange: Exchange, message: Json) -> Reply:
    body = rpc.encode({"jsonrpc": "2.0", "id": exchange.id, **message})
    return Reply(HTTPStatus.OK, (("Content-Type", "application/json"),), body)


def _as_tool_error(exchange: Exchange, _: Reply) -> Reply:
    error = {"code": "AUTH_REQUIRED", "message": "Sign in first.", "recovery": "correctable"}
    text = {"type": "text", "text": json.dumps({"adcp_error": error})}
    payload = {"status": "failed", "adcp_error": error}
    return _json(exchange, {"result": {"content": [text], "structuredContent": payload, "isError": True}})


def _as_rpc_error(exchange: Exchange, _: Reply) -> Reply:
    return _json(exchange, {"error": {"code": -32028, "message": "Authentication required"}})


def _crash_on_malformed(exchange: Exchange, reply: Reply) -> Reply:
    malformed = _header(exchange) and not _bearer(exchange)
    return Reply(HTTPStatus.INTERNAL_SERVER_ERROR) if malformed else reply


def _challenging(value: str) -> Hooks:
    def refuse(exchange: Exchange, _: Reply) -> Reply:
        origin = f"http://{exchange.request.header('host')}"
        challenge = value.format(origin=origin)
        return Reply(HTTPStatus.UNAUTHORIZED, (("WWW-Authenticate", challenge),))

    return _refusing(refuse)


def _document(path: str, edit: Callable[[Json, str], Json]) -> Hooks:
    """Change the document at a path; `edit` also gets the seller's origin."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        reply = await answer(exchange)
        if exchange.request.path == path and reply.status == HTTPStatus.OK:
            origin = f"http://{exchange.request.header('host')}"
            reply = replace(reply, body=rpc.encode(edit(json.loads(reply.body), origin)))
        await wire.send(reply)

    return Hooks(http=hook)


def _resource(edit: Callable[[Json, str], Json]) -> Hooks:
    return _document(metadata.RESOURCE + PATH, edit)


def _server(edit: Callable[[Json, str], Json]) -> Hooks:
    return _document(metadata.SERVER, edit)


def _without(name: str) -> Callable[[Json, str], Json]:
    return lambda document, _: {key: value for key, value in document.items() if key != name}


FAULTS = (
    Fault(
        "read-unprotected",
        f"{READ} is given to everybody; all else needs the token.",
        _admitting(when=lambda exchange: exchange.tool == READ),
        REQUIRED | CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "anonymous-admitted",
        "Who sends no Authorization is served; who sends a wrong one is refused.",
        _admitting(when=lambda exchange: not _header(exchange)),
        REQUIRED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "any-bearer-admitted",
        "Every bearer token will do.",
        _admitting(when=_bearer),
        CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "session-authenticates",
        "The token is asked for at initialize only: whoever has a session id is served.",
        _admitting(when=lambda exchange: exchange.request.header("mcp-session-id") is not None),
        REQUIRED | CHECKED,
        needs={**WITH_TOKEN, "sessions": True},
    ),
    Fault(
        "malformed-credentials-crash",
        "An Authorization header without a scheme makes the server fail with 500.",
        _refusing(_crash_on_malformed),
        CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "refused-by-tool",
        "Calls without the token are answered with 200 and the AdCP error AUTH_REQUIRED.",
        _refusing(_as_tool_error),
        advises=REQUIRED | CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "refused-by-rpc-error",
        "Calls without the token are answered with 200 and the JSON-RPC error -32028.",
        _refusing(_as_rpc_error),
        advises=REQUIRED | CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "refused-as-not-found",
        "Calls without the token are answered with 404.",
        _refusing(lambda *_: Reply(HTTPStatus.NOT_FOUND)),
        advises=REQUIRED | CHECKED,
        needs=WITH_TOKEN,
    ),
    Fault(
        "challenge-missing",
        "An answer with 401 has no WWW-Authenticate.",
        _refusing(lambda *_: Reply(HTTPStatus.UNAUTHORIZED)),
        CHALLENGE,
        needs=WITH_TOKEN,
    ),
    Fault(
        "challenge-relative",
        "The resource_metadata of the challenge is a path.",
        _challenging(f'Bearer resource_metadata="{metadata.RESOURCE}{PATH}"'),
        CHALLENGE_METADATA,
        needs=WITH_METADATA,
    ),
    Fault(
        "challenge-to-nowhere",
        "The resource_metadata of the challenge is 404.",
        _challenging(f'Bearer realm="a, b", resource_metadata="{{origin}}{_ELSEWHERE}"'),
        CHALLENGE_METADATA,
        needs=WITH_TOKEN,
    ),
    Fault(
        "metadata-of-another",
        "The resource of the metadata is another path of the server.",
        _resource(lambda document, origin: {**document, "resource": f"{origin}/other"}),
        RESOURCE,
        needs=WITH_METADATA,
    ),
    Fault(
        "metadata-of-origin",
        "The resource of the metadata is the server's origin.",
        _resource(lambda document, origin: {**document, "resource": origin}),
        advises=RESOURCE,
        needs=WITH_METADATA,
    ),
    Fault(
        "metadata-without-servers",
        "The metadata names no authorization_servers.",
        _resource(_without("authorization_servers")),
        SERVERS,
        needs=WITH_METADATA,
    ),
    Fault(
        "metadata-servers-text",
        "authorization_servers of the metadata is a string.",
        _resource(lambda document, origin: {**document, "authorization_servers": origin}),
        SERVERS,
        needs=WITH_METADATA,
    ),
    Fault(
        "metadata-server-plain",
        "The second authorization server is an http URL of another host.",
        _resource(
            lambda document, origin: {
                **document,
                "authorization_servers": [origin, "http://login.seller.example"],
            }
        ),
        SERVERS,
        needs=WITH_METADATA,
    ),
    Fault(
        "server-of-another-issuer",
        "The issuer of the authorization server is not the one that the resource lists.",
        _server(lambda document, origin: {**document, "issuer": f"{origin}/login"}),
        SERVER,
        needs=WITH_METADATA,
    ),
    Fault(
        "server-without-token-endpoint",
        "The metadata of the authorization server has no token_endpoint.",
        _server(_without("token_endpoint")),
        SERVER,
        needs=WITH_METADATA,
    ),
)
