"""HTTP/1.1 on asyncio and h11: one request at a time is read, bounded, and a handler writes what it likes.

A web framework would start slower and would not let a fault write raw bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

import h11

MAX_HEADER_BYTES = 64 * 1024
MAX_BODY_BYTES = 4 * 1024 * 1024
READ_SECONDS = 60.0  # for a whole request, the wait on an idle connection included
CHUNK_BYTES = 64 * 1024

logger = logging.getLogger(__name__)


class BodyTooLargeError(Exception):
    """A request body over MAX_BODY_BYTES."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are lower case, values latin-1 text."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first header of that lower-case name, or None."""
        return next((value for key, value in self.headers if key == name), None)


@dataclass(frozen=True, slots=True)
class Reply:
    """One response: a body, or a stream that is sent chunked."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    stream: AsyncGenerator[bytes, None] | None = None


class Wire:
    """The connection under one request: `send` keeps to HTTP, `raw`, `reset` and `hang` need not."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._spoiled = False
        self._bodiless = False

    async def receive(self) -> Request | None:
        """Read the next request; None when the peer has closed.

        Raises:
            h11.RemoteProtocolError: what came is not HTTP, or its headers are too long.
            BodyTooLargeError: the body is over MAX_BODY_BYTES.
        """
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
                self._http.receive_data(await self._reader.read(CHUNK_BYTES))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_BODY_BYTES:
                    raise BodyTooLargeError
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                headers = tuple(
                    (name.decode("ascii"), value.decode("latin-1")) for name, value in head.headers
                )
                method = head.method.decode("ascii")
                self._bodiless = method == "HEAD"
                return Request(method, head.target.decode("latin-1").partition("?")[0], headers, bytes(body))
            else:
                return None

    async def send(self, reply: Reply) -> None:
        """Write a whole response as HTTP wants it."""
        headers = [("Date", formatdate(usegmt=True)), *reply.headers]
        if reply.stream is not None:
            headers.append(("Transfer-Encoding", "chunked"))
        elif reply.status != HTTPStatus.NO_CONTENT:
            headers.append(("Content-Length", str(len(reply.body))))
        await self._write(self._http.send(h11.Response(status_code=reply.status, headers=headers)))
        if reply.stream is not None:
            async with contextlib.aclosing(reply.stream) as stream:
                async for chunk in stream:
                    await self._write(self._http.send(h11.Data(data=chunk)))
        elif reply.body and not self._bodiless:
            await self._write(self._http.send(h11.Data(data=reply.body)))
        await self._write(self._http.send(h11.EndOfMessage()))

    async def raw(self, data: bytes) -> None:
        """Write these bytes as they are; the connection ends with this response."""
        self._spoiled = True
        await self._write(data)

    async def hang(self) -> None:
        """Return when the peer has given up."""
        self._spoiled = True
        while await self._reader.read(CHUNK_BYTES):
            pass

    def reset(self) -> None:
        """Drop the connection so that the peer sees a reset, not an end."""
        self._spoiled = True
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def reusable(self) -> bool:
        """Tell whether another request can follow, and get ready for it."""
        if self._spoiled or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def _write(self, data: bytes | None) -> None:
        self._writer.write(data or b"")
        await self._writer.drain()


Handler = Callable[[Request, Wire], Awaitable[None]]


@contextlib.asynccontextmanager
async def listen(host: str, port: int, handler: Handler) -> AsyncIterator[int]:
    """Serve connections while the block runs; yields the port, and ends every connection after it."""
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_connection(reader, writer, handler))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
    try:
        await _converse(Wire(reader, writer), handler)
        writer.close()
        await writer.wait_closed()
    except ConnectionError:
        pass  # the peer went away, which is its right
    finally:
        writer.transport.abort()


async def _converse(wire: Wire, handler: Handler) -> None:
    while True:
        try:
            request = await asyncio.wait_for(wire.receive(), READ_SECONDS)
        except TimeoutError:
            return
        except h11.RemoteProtocolError as error:
            await wire.send(Reply(error.error_status_hint, (("Connection", "close"),)))
            return
        except BodyTooLargeError:
            await wire.send(Reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, (("Connection", "close"),)))
            return
        if request is None:
            return
        try:
            await handler(request, wire)
        except ConnectionError:
            raise
        except Exception:
            logger.exception("the seller failed on %s", request.method)
            wire.reset()
            return
        if not wire.reusable():
            return
