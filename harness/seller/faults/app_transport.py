"""Faults of the endpoint, as the connected-apps profile sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import FOR_APPS, Eras
from pytest_adcp.harness.seller.rpc import INVALID_PARAMS, Json, RpcError

from .http import HTML_TYPE, PAGE, changing, instead
from .model import Fault, on_method, rules

PATH = FOR_APPS["path"]
_ELSEWHERE = "/rpc"
_HANDSHAKE: dict[str, Any] = {"eras": Eras.HANDSHAKE}
_PLAIN = (("Content-Type", "text/plain; charset=utf-8"),)
_EVENTS = (("Content-Type", "text/event-stream"),)
_OLD = Reply(HTTPStatus.OK, _EVENTS, b"event: endpoint\ndata: /messages?session=1\n\n")


def _get(exchange: Exchange) -> bool:
    return exchange.request.method == "GET" and exchange.request.path == PATH


def _as_text(exchange: Exchange, reply: Reply) -> Reply:
    return Reply(reply.status, _PLAIN, reply.body) if exchange.method == "tools/call" else reply


def _old(exchange: Exchange, _: Reply) -> Reply:
    return _OLD if _get(exchange) else Reply(HTTPStatus.METHOD_NOT_ALLOWED, (("Allow", "GET"),))


async def _move(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    if exchange.request.path == PATH and exchange.request.method == "POST":
        await wire.send(Reply(HTTPStatus.TEMPORARY_REDIRECT, (("Location", _ELSEWHERE),)))
    else:
        there = replace(exchange, request=replace(exchange.request, path=PATH))
        await wire.send(await answer(there if exchange.request.path == _ELSEWHERE else exchange))


def _refusing(whom: Callable[[Exchange], bool]) -> Hooks:
    """Let some clients not in, as a filter in front of a server does."""
    return instead(
        lambda exchange: exchange.method == "initialize" and whom(exchange),
        Reply(HTTPStatus.FORBIDDEN, HTML_TYPE, PAGE),
    )


def _is_unknown(exchange: Exchange) -> bool:
    client = exchange.params.get("clientInfo")
    return not isinstance(client, dict) or client.get("name") != "pytest-adcp"


def _strict(exchange: Exchange, message: Json, _: int) -> Json:
    meta = exchange.params.get("_meta")
    if exchange.method != "tools/call" or not isinstance(meta, dict) or "user_locale" not in meta:
        return message
    return RpcError(INVALID_PARAMS, "params._meta: unrecognized key user_locale").answer(exchange.id)


FAULTS = (
    Fault(
        "app-protocol-version",
        "initialize is answered at a revision that the platform does not speak.",
        on_method("initialize", lambda result: {**result, "protocolVersion": "2026-07-28"}),
        fails=rules("connected-apps.protocol-version"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-no-handshake",
        "The server speaks MCP 2026-07-28 alone.",
        Hooks(),
        fails=rules("connected-apps.protocol-version"),
        needs={"eras": Eras.STATELESS},
    ),
    Fault(
        "app-redirected",
        "The endpoint redirects to another path.",
        Hooks(http=_move),
        fails=rules("connected-apps.single-endpoint"),
        needs={"path": PATH},
    ),
    Fault(
        "app-text-plain",
        "Results come as text/plain.",
        changing(_as_text),
        fails=rules("connected-apps.response-media-type"),
    ),
    Fault(
        "app-get-page",
        "GET at the endpoint gives a page.",
        instead(_get, Reply(HTTPStatus.OK, HTML_TYPE, PAGE)),
        fails=rules("connected-apps.get-stream-or-405"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-legacy-sse",
        "The server speaks the HTTP+SSE transport of 2024-11-05 alone.",
        changing(_old),
        fails=rules("connected-apps.no-legacy-sse"),
        blocks=True,
    ),
    Fault(
        "app-unversioned-path",
        "The path of the endpoint has no version.",
        Hooks(),
        advises=rules("connected-apps.versioned-path"),
        needs={"path": "/mcp"},
    ),
    Fault(
        "app-known-clients-only",
        "initialize is refused when it names another client.",
        _refusing(_is_unknown),
        fails=rules("connected-apps.client-info-tolerated"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-bots-refused",
        "initialize is refused when it comes from Google.",
        _refusing(lambda exchange: exchange.request.header("user-agent") == "Google"),
        advises=rules("connected-apps.user-agent-tolerated"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-meta-refused",
        "A call with the user's language in _meta is refused.",
        Hooks(message=_strict),
        fails=rules("connected-apps.meta-tolerated"),
    ),
    Fault(
        "app-unverified",
        "The document that proves the domain is not served.",
        Hooks(),
        fails=rules("connected-apps.domain-verification"),
        asks={"app": AppRequest(verification=True)},
    ),
)
