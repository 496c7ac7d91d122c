"""Faults of what stands on event streams; all need answers over SSE."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_adcp.harness.seller import rpc, sse
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.handshake import SESSION_HEADER
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Answers, Eras

from .model import breaking

SECONDS = 0.05  # between comments of a stream that stays open
OTHER_ID = "somebody-else"

Write = Callable[[Exchange, bytes], bytes]


def _message(method: str, params: Any, number: str | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return sse.event(rpc.encode(message if number is None else {**message, "id": number}))


def _progress(token: Any, *steps: int) -> bytes:
    method = "notifications/progress"
    return b"".join(
        _message(method, {"progressToken": token, "progress": step, "total": 2}) for step in steps
    )


LOG = _message("notifications/message", {"level": "info", "data": "Looking for products."})
SAMPLING = _message("sampling/createMessage", {"messages": [], "maxTokens": 10}, "ask-1")
UNKNOWN = _message("example/ask", {}, "ask-1")
PING = _message("ping", {}, "ping-1")


def _on_tools(write: Write) -> Hooks:
    """Write the streams that answer tools/call."""
    return Hooks(
        stream=lambda exchange, event: sse.once(
            write(exchange, event) if exchange.tool is not None else event
        )
    )


def _around(before: bytes = b"", after: bytes = b"") -> Hooks:
    return _on_tools(lambda _, event: before + event + after)


def _told(*steps: int) -> Hooks:
    """Tell the progress of calls that ask for it."""

    def write(exchange: Exchange, event: bytes) -> bytes:
        token = exchange.params.get("_meta", {}).get("progressToken")
        return (_progress(token, *steps) if token is not None else b"") + event

    return _on_tools(write)


def _again(_: Exchange, event: bytes) -> bytes:
    return event * 2


def _with_another(_: Exchange, event: bytes) -> bytes:
    return sse.event(rpc.encode(rpc.result(OTHER_ID, {"content": []}))) + event


def _left_open() -> Hooks:
    async def stay(event: bytes) -> AsyncGenerator[bytes, None]:
        yield event
        while True:
            yield b": still here\n\n"
            await asyncio.sleep(SECONDS)

    return Hooks(stream=lambda exchange, event: stay(event) if exchange.tool is not None else sse.once(event))


def _unbuffered() -> Hooks:
    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        reply = await answer(exchange)
        headers = tuple(item for item in reply.headers if item[0] != "X-Accel-Buffering")
        await wire.send(replace(reply, headers=headers))

    return Hooks(http=hook)


class _Mailboxes:
    """What goes to the GET streams that are open, by session."""

    def __init__(self, *, also: bool) -> None:
        self._also = also  # it goes to the stream of the request too
        self._open: dict[str, asyncio.Queue[bytes]] = {}

    async def hook(self, exchange: Exchange, answer: Answer, wire: Wire) -> None:
        """Send the answers to calls to the GET stream of their session, where one is open."""
        session = exchange.request.header(SESSION_HEADER.lower()) or ""
        reply = await answer(exchange)
        if reply.stream is not None and exchange.request.method == "GET":
            await self._listen(session, reply, wire)
            return
        if reply.stream is not None and exchange.tool is not None and session in self._open:
            event = b"".join([chunk async for chunk in reply.stream])
            self._open[session].put_nowait(event)
            await asyncio.sleep(SECONDS)  # it is to be there first
            reply = replace(reply, stream=sse.once(event if self._also else b": see the other stream\n\n"))
        await wire.send(reply)

    async def _listen(self, session: str, reply: Reply, wire: Wire) -> None:
        box = self._open[session] = asyncio.Queue()

        async def read() -> AsyncGenerator[bytes, None]:
            yield b": open\n\n"
            while True:
                with contextlib.suppress(TimeoutError):
                    yield await asyncio.wait_for(box.get(), SECONDS)
                    continue
                yield b": still here\n\n"  # fails when nobody listens any more

        try:
            await wire.send(replace(reply, stream=read()))
        finally:
            self._open.pop(session, None)


_fault = partial(breaking, answers=Answers.SSE, eras=Eras.HANDSHAKE)

FAULTS = (
    _fault(
        "sse-second-event-cut",
        "The stream goes on after the response with an event that no blank line ends.",
        _around(after=LOG.removesuffix(b"\n")),
        "mcp.sse.event-ended",
    ),
    _fault(
        "sse-response-type",
        "The event of the response has a type of its own.",
        _on_tools(lambda _, event: event.replace(b"event: message", b"event: response")),
        "mcp.jsonrpc.answered",
    ),
    _fault(
        "sse-notification-type",
        "Notifications come in events of a type of their own.",
        _around(before=LOG.replace(b"event: message", b"event: notification")),
        advises="mcp.sse.event-type",
    ),
    _fault("sse-response-twice", "The response comes twice.", _on_tools(_again), "mcp.sse.one-response"),
    _fault(
        "sse-response-of-another",
        "The response to another request comes too.",
        _on_tools(_with_another),
        "mcp.sse.one-response",
    ),
    _fault(
        "sse-sampling",
        "The server asks for sampling, which the client did not declare.",
        _around(before=SAMPLING),
        "mcp.sse.server-requests",
    ),
    _fault(
        "sse-unknown-request",
        "The server sends a request of its own making.",
        _around(before=UNKNOWN),
        advises="mcp.sse.server-requests",
    ),
    _fault(
        "sse-ping-stateless",
        "The server sends a ping in 2026-07-28.",
        _around(before=PING),
        "mcp.sse.server-requests",
        eras=Eras.STATELESS,
    ),
    _fault(
        "sse-progress-unasked",
        "Progress is told that nobody asked for.",
        _around(before=_progress("p-1", 1)),
        advises="mcp.sse.progress",
    ),
    _fault("sse-progress-falls", "The progress goes back.", _told(2, 1), "mcp.sse.progress"),
    _fault(
        "sse-log-unasked",
        "Log messages come in 2026-07-28 for requests without a log level.",
        _around(before=LOG),
        "mcp.sse.log-level",
        eras=Eras.STATELESS,
    ),
    _fault(
        "sse-ids-repeated",
        "Events are numbered by stream.",
        _on_tools(lambda _, event: b"id: 1\n" + event),
        "mcp.sse.event-ids",
    ),
    _fault(
        "sse-ids-stateless",
        "Events have ids in 2026-07-28.",
        _on_tools(lambda exchange, event: f"id: {exchange.id}\n".encode() + event),
        advises="mcp.sse.event-ids",
        eras=Eras.STATELESS,
    ),
    _fault(
        "sse-after-response",
        "A notification follows the response.",
        _around(after=LOG),
        advises="mcp.sse.after-response",
    ),
    _fault(
        "sse-left-open",
        "The stream stays open after the response.",
        _left_open(),
        advises="mcp.sse.closed",
    ),
    _fault(
        "sse-buffered",
        "Streams are sent without X-Accel-Buffering.",
        _unbuffered(),
        advises="mcp.sse.buffering",
        eras=Eras.STATELESS,
    ),
    _fault(
        "sse-response-on-get",
        "Where a GET stream is open, responses to calls go there.",
        Hooks(http=_Mailboxes(also=False).hook),
        "mcp.sse.get-stream",
    ),
    _fault(
        "sse-response-on-both",
        "Where a GET stream is open, responses to calls go there too.",
        Hooks(http=_Mailboxes(also=True).hook),
        "mcp.sse.get-stream",
    ),
    # Legal variants, which no client may stumble over.
    _fault("sse-ping", "The server sends a ping before it answers.", _around(before=PING)),
    _fault("sse-log", "A log message comes before the response.", _around(before=LOG)),
    _fault("sse-progress", "Progress is told where it was asked for.", _told(1, 2)),
    _fault(
        "sse-keep-alive",
        "An event of a type of its own keeps the connection alive.",
        _around(before=b"event: keep-alive\ndata: {}\n\n"),
    ),
    _fault(
        "sse-priming",
        "Each stream begins with an id and empty data.",
        _on_tools(lambda exchange, event: f"id: {exchange.id}\nretry: 3000\ndata:\n\n".encode() + event),
    ),
)
