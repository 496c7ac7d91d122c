"""Framing of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-cache"),
    ("X-Accel-Buffering", "no"),
)
KEEP_ALIVE_SECONDS = 15.0


def event(data: bytes) -> bytes:
    """Return one message event; line ends inside the data begin further data lines."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"event: message\n" + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"


async def once(data: bytes) -> AsyncGenerator[bytes, None]:
    """Yield the bytes and end the stream."""
    yield data


async def quiet() -> AsyncGenerator[bytes, None]:
    """Yield comments for as long as somebody listens: a stream on which nothing has to be said."""
    while True:
        yield b": open\n\n"
        await asyncio.sleep(KEEP_ALIVE_SECONDS)
