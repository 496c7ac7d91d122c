"""Faults of the HTTP exchange."""

from __future__ import annotations

import asyncio
import functools
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller import rpc, sse
from pytest_adcp.harness.seller.endpoint import PATH
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks, HttpHook
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.rpc import RpcError

from .http import ELSEWHERE
from .model import Fault, rules

ANSWERED = rules("mcp.jsonrpc.answered")
JSON_TYPE = (("Content-Type", "application/json"),)
HTML_TYPE = (("Content-Type", "text/html; charset=utf-8"),)
HTML_ERROR = b"<!doctype html><title>Internal Server Error</title><h1>Internal Server Error</h1>\n"
TRICKLE_SECONDS = 0.1
SLOW_SECONDS = 0.5
MIB = 1024 * 1024
BOMB_BYTES = 64 * MIB  # once unpacked
SERVED_PATH = f"{PATH}/served"

Act = Callable[[Exchange, Answer, Wire], Awaitable[None]]


def _on_call(act: Act, *, only_first: bool = False) -> Hooks:
    """Take over the exchanges that call a task, or the first of them."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if exchange.ordinal == 1 or (exchange.ordinal and not only_first):
            await act(exchange, answer, wire)
        else:
            await wire.send(await answer(exchange))

    return Hooks(http=hook)


def _sends(reply: Reply) -> Act:
    async def act(_: Exchange, __: Answer, wire: Wire) -> None:
        await wire.send(reply)

    return act


def _everywhere(hook: HttpHook) -> Hooks:
    return Hooks(http=hook)


async def _never(_: Exchange, __: Answer, wire: Wire) -> None:
    await wire.hang()


async def _trickle_headers(_: Exchange, __: Answer, wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nX-Padding: ")
    await _trickle(wire)


async def _trickle_body(_: Exchange, __: Answer, wire: Wire) -> None:
    await wire.raw(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"')
    await _trickle(wire)


async def _trickle(wire: Wire) -> None:
    while True:
        await asyncio.sleep(TRICKLE_SECONDS)
        await wire.raw(b"x")


async def _reset(_: Exchange, __: Answer, wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
    # The bytes have to be seen before the reset throws away what is still under way.
    await asyncio.sleep(TRICKLE_SECONDS)
    wire.reset()


async def _slow(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    await asyncio.sleep(SLOW_SECONDS)
    await wire.send(await answer(exchange))


async def _bomb(_: Exchange, __: Answer, wire: Wire) -> None:
    await wire.send(
        Reply(HTTPStatus.OK, (*JSON_TYPE, ("Content-Encoding", "gzip")), stream=sse.once(_packed_spaces()))
    )


@functools.cache
def _packed_spaces() -> bytes:
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    block = b" " * MIB
    return b"".join(packer.compress(block) for _ in range(BOMB_BYTES // MIB)) + packer.flush()


async def _internal_error(exchange: Exchange, _: Answer, wire: Wire) -> None:
    error = RpcError(-32603, "Internal error")
    await wire.send(Reply(500, JSON_TYPE, rpc.encode(error.answer(exchange.id))))


async def _end_session(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    ended = replace(exchange, request=replace(exchange.request, method="DELETE", body=b""))
    await answer(ended)
    await wire.send(await answer(exchange))


async def _answer_notifications(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    reply = await answer(exchange)
    if reply.status == HTTPStatus.ACCEPTED:
        reply = Reply(HTTPStatus.OK, JSON_TYPE, rpc.encode(rpc.result(None, {})))
    await wire.send(reply)


async def _redirect(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    if exchange.request.path == SERVED_PATH:
        await wire.send(await answer(_at_endpoint(exchange)))
    else:
        await wire.send(Reply(HTTPStatus.TEMPORARY_REDIRECT, (("Location", SERVED_PATH),)))


async def _serve_with_slash(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    if exchange.request.path == f"{PATH}/":
        await wire.send(await answer(_at_endpoint(exchange)))
    else:
        await wire.send(Reply(HTTPStatus.NOT_FOUND))


def _at_endpoint(exchange: Exchange) -> Exchange:
    return replace(exchange, request=replace(exchange.request, path=PATH))


TOO_MANY = Reply(HTTPStatus.TOO_MANY_REQUESTS, (("Retry-After", "1"),))
UNAUTHORIZED = Reply(HTTPStatus.UNAUTHORIZED, (("WWW-Authenticate", 'Bearer realm="reference seller"'),))

FAULTS = (
    Fault(
        "empty-200",
        "Calls are answered with an empty 200.",
        _on_call(_sends(Reply(200, JSON_TYPE))),
        ANSWERED,
    ),
    Fault(
        "accepted-202",
        "Calls are answered with 202 and nothing else.",
        _on_call(_sends(Reply(202))),
        rules("mcp.http.request-not-accepted"),
    ),
    Fault(
        "html-200",
        "Calls are answered with an HTML page.",
        _on_call(_sends(Reply(200, HTML_TYPE, HTML_ERROR))),
        ANSWERED,
    ),
    Fault(
        "notification-answered",
        "Notifications are answered with a JSON-RPC response.",
        _everywhere(_answer_notifications),
        rules("mcp.jsonrpc.notification", "mcp.http.accepted", "mcp.jsonrpc.unknown-notification"),
    ),
    Fault("never-answers", "Calls are never answered.", _on_call(_never), blocks=True),
    Fault(
        "trickled-headers",
        "Response headers come byte by byte without end.",
        _on_call(_trickle_headers),
        blocks=True,
    ),
    Fault("trickled-body", "The body comes byte by byte without end.", _on_call(_trickle_body), blocks=True),
    Fault(
        "http-500-json",
        "Calls are answered with 500 and a JSON-RPC error.",
        _on_call(_internal_error),
        blocks=True,
    ),
    Fault(
        "http-500-html",
        "Calls are answered with 500 and an HTML page.",
        _on_call(_sends(Reply(500, HTML_TYPE, HTML_ERROR))),
        ANSWERED,
    ),
    Fault("http-429", "Calls are answered with 429.", _on_call(_sends(TOO_MANY)), blocks=True),
    Fault(
        "http-429-once",
        "The first call is answered with 429 and a Retry-After of a second.",
        _on_call(_sends(TOO_MANY), only_first=True),
    ),
    Fault(
        "connection-reset",
        "The connection is reset in the middle of the body.",
        _on_call(_reset),
        blocks=True,
    ),
    Fault("gzip-bomb", "A small gzip body unpacks to 64 MiB.", _on_call(_bomb), blocks=True),
    Fault("http-401", "Everything is answered with 401.", _everywhere(_sends(UNAUTHORIZED)), blocks=True),
    Fault("http-404", "Everything is answered with 404.", _everywhere(_sends(Reply(404))), blocks=True),
    Fault(
        "trailing-slash",
        "The endpoint is at /mcp/, and /mcp is 404.",
        _everywhere(_serve_with_slash),
        blocks=True,
    ),
    Fault(
        "redirect",
        "The endpoint redirects to another path with 307.",
        _everywhere(_redirect),
        advises=rules("mcp.http.direct"),
    ),
    Fault(
        "redirect-elsewhere",
        "The endpoint redirects to another origin with 307.",
        _everywhere(_sends(ELSEWHERE)),
        rules("mcp.http.redirect"),
        blocks=True,
    ),
    Fault("slow", "Calls take half a second longer.", _on_call(_slow)),
    Fault(
        "session-lost",
        "The session ends before the first call.",
        _on_call(_end_session, only_first=True),
        needs={"sessions": True},
    ),
)
