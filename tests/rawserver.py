"""A scripted server on a loopback port: a test says, byte by byte, what comes over the wire.

    def script(peer):
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")

    with serve(script) as server:
        ...server.url, server.requests

The script runs once for every connection, each in a thread of its own, so it may block. When it returns, the
connection is closed. What it raises is raised again where the `with` ends, unless the other end left.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CRLF = b"\r\n"


@dataclass
class Request:
    """A request as it was received."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Peer:
    """The server's end of one connection."""

    socket: socket.socket
    number: int  # of the connection, from 0
    server: Server
    _buffer: bytes = b""

    def request(self) -> Request | None:
        """Read a whole request; None when the client closed the connection."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name, value.strip()) for name, _, value in (each.partition(":") for each in lines)]
        request = Request(line, headers, b"")
        length = int(request.header("content-length") or 0)
        while len(self._buffer) < length:
            if not self._more():
                return None
        request.body, self._buffer = self._buffer[:length], self._buffer[length:]
        self.server.requests.append(request)
        return request

    def send(self, *data: bytes) -> None:
        self.socket.sendall(b"".join(data))

    def answer(self, body: bytes = b"{}", *headers: str, status: str = "200 OK") -> None:
        """Send a whole response with a content length."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        self.send("\r\n".join(lines).encode("latin-1"), body)

    def head(self, *headers: str, status: str = "200 OK") -> None:
        """Send the status line and headers of a response."""
        self.send("\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1"))

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def trickle(self, data: bytes, pause: float) -> None:
        """Send byte by byte."""
        for byte in data:
            self.send(bytes([byte]))
            if self.server.ending.wait(pause):
                return

    def pause(self, seconds: float = 30.0) -> None:
        """Do nothing, until the test is over at most."""
        self.server.ending.wait(seconds)

    def until_closed(self) -> bool:
        """Wait until the client closes the connection; False when the test ends before."""
        while not self.server.ending.is_set():
            if not self._more():
                return True
        return False

    def close(self) -> None:
        """End the connection behind what was sent."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def tls(self, context: ssl.SSLContext) -> None:
        """Go on in TLS, as a tunnel does."""
        wrapped = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.socket = wrapped
        try:
            wrapped.do_handshake()
        except ssl.SSLError:
            # Closing with something unread would reset the connection, which overtakes the alert.
            self.socket = socket.socket(fileno=wrapped.detach())
            self.until_closed()
            raise

    def _more(self) -> bytes:
        data = self.socket.recv(65536)
        self._buffer += data
        return data


@dataclass
class Server:
    """A running server."""

    port: int
    scheme: str
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/mcp"


@contextmanager
def serve(script: Callable[[Peer], None], *, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server for the length of a with block."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = Server(listener.getsockname()[1], "https" if tls else "http")
    running: list[tuple[threading.Thread, Peer]] = []
    errors: list[BaseException] = []

    def converse(peer: Peer) -> None:
        try:
            if tls is not None:
                peer.tls(tls)
            script(peer)
        except OSError:
            pass  # the client went away, or the test is over
        except BaseException as error:
            errors.append(error)
        finally:
            peer.socket.close()

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            if server.ending.is_set():
                connection.close()
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(connection, server.connections, server)
            server.connections += 1
            thread = threading.Thread(target=converse, args=(peer,))
            running.append((thread, peer))
            thread.start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield server
    finally:
        server.ending.set()
        socket.create_connection(("127.0.0.1", server.port)).close()  # wakes the acceptor
        acceptor.join()
        listener.close()
        for thread, peer in running:
            _end(thread, peer)
    if errors:
        raise errors[0]


def _end(thread: threading.Thread, peer: Peer) -> None:
    deadline = time.monotonic() + 5
    while thread.is_alive():
        assert time.monotonic() < deadline, "a script does not end"
        # Closing alone does not end a recv in another thread.
        with suppress(OSError):
            peer.socket.shutdown(socket.SHUT_RDWR)
        thread.join(0.05)
