"""Faults of the event stream; all need answers over SSE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from pytest_adcp.harness.seller import rpc, sse
from pytest_adcp.harness.seller.exchange import Exchange, Hooks
from pytest_adcp.harness.seller.options import Answers

from .model import Fault, rules

ANSWERED = rules("mcp.jsonrpc.answered")
KEEP_ALIVE_SECONDS = 0.05

Frame = Callable[[bytes], AsyncGenerator[bytes, None]]


def _on_call(frame: Frame) -> Hooks:
    def hook(exchange: Exchange, event: bytes) -> AsyncGenerator[bytes, None]:
        return frame(event) if exchange.ordinal else sse.once(event)

    return Hooks(stream=hook)


def _edited(edit: Callable[[bytes], bytes]) -> Hooks:
    return _on_call(lambda event: sse.once(edit(event)))


async def _comments(_: bytes) -> AsyncGenerator[bytes, None]:
    while True:
        yield b": still working\n\n"
        await asyncio.sleep(KEEP_ALIVE_SECONDS)


async def _notifications(_: bytes) -> AsyncGenerator[bytes, None]:
    notification = rpc.encode(
        {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": "still working"},
        }
    )
    block = sse.event(notification) * 100
    while True:
        yield block
        await asyncio.sleep(0)


def _in_pieces(event: bytes) -> AsyncGenerator[bytes, None]:
    async def pieces() -> AsyncGenerator[bytes, None]:
        middle = len(event) // 2
        yield event[:middle]
        await asyncio.sleep(KEEP_ALIVE_SECONDS)
        yield event[middle:]

    return pieces()


def _fault(
    name: str,
    says: str,
    hooks: Hooks,
    fails: frozenset[str] = frozenset(),
    *,
    advises: frozenset[str] = frozenset(),
    blocks: bool = False,
) -> Fault:
    return Fault(name, says, hooks, fails, advises, blocks=blocks, needs={"answers": Answers.SSE})


FAULTS = (
    _fault(
        "sse-ends-early",
        "The stream ends without the response.",
        _edited(lambda _: b": nothing to say\n\n"),
        ANSWERED,
    ),
    _fault(
        "sse-unterminated",
        "The event of the response is not ended by a blank line.",
        _edited(lambda event: event.removesuffix(b"\n")),
        rules("mcp.sse.event-ended"),
    ),
    _fault("sse-endless-comments", "The stream has comments without end.", _on_call(_comments), blocks=True),
    _fault("sse-flood", "The stream has notifications without end.", _on_call(_notifications), blocks=True),
    # Legal variants, which no client may stumble over.
    _fault("sse-cr", "Lines end with CR.", _edited(lambda event: event.replace(b"\n", b"\r"))),
    _fault(
        "sse-bom",
        "The stream begins with a byte order mark.",
        _edited(lambda event: b"\xef\xbb\xbf" + event),
        advises=rules("mcp.sse.bom"),
    ),
    _fault(
        "sse-data-lines",
        "The JSON goes over several data lines.",
        _edited(lambda event: event.replace(b',"', b',\ndata: "')),
    ),
    _fault("sse-in-pieces", "The event comes in two pieces.", _on_call(_in_pieces)),
)
