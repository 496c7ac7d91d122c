"""One HTTP/1.1 connection: opening it, a request, its response, and a word for everything that goes wrong.

On h11 and anyio rather than on an HTTP client, because the wire itself is judged: only here can be told
whether a lost connection had given any byte of a response, and whether bytes came behind the end of a body,
which would otherwise pass for the answer to the next request.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import select
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute
from anyio.lowlevel import checkpoint
from anyio.streams.tls import TLSStream

from .endpoint import Endpoint
from .tls import default_context, tls_facts, tls_words
from .transcript import End, Tls

MAX_HEADER_BYTES = 64 * 1024  # names and values of a response's headers; browsers and SDKs stop earlier

_READ = 64 * 1024
_SLICE = 4 * 1024  # bytes that the parser gets at a time
_VERSIONS = (b"1.1", b"1.0")
_BEGINNING = b"HTTP/1."  # of an answer
_HTTP2_SETTINGS = re.compile(rb"\0\0.\x04\0\0\0\0\0", re.DOTALL)  # the frame with which a server begins
_PARTS_IN_A_ROW = 64  # of a body, before other lanes have their turn
_FIRST_BYTES = 32  # of an answer that is not HTTP, to quote
# h11 takes time by the square of the blanks in a header that is illegal: a minute for 128 KiB of them.
_BLANKS = re.compile(rb"[ \t]{1024}")

_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")

Headers = Sequence[tuple[str, str]]
Note = Callable[[str], None]


class Fault(Exception):  # noqa: N818 - a server's fault, not an error of this program
    """An exchange that ended badly: how, and in which words."""

    def __init__(self, end: End, detail: str) -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a target; one for a whole run.

    `tls` None means the authorities that ship with certifi; `identified` says that it holds a client certificate.
    `proxy` is an http:// or https:// URL, with userinfo where the proxy wants credentials; None goes straight,
    whatever the environment says. `only_public` refuses hosts with an address of a private network: who names them may be
    hostile. (Behind a proxy, that is for the proxy to refuse.)

    Raises:
        ValueError: `proxy` is no such URL; the text does not quote it.
    """

    tls: ssl.SSLContext | None = None
    proxy: str | None = field(default=None, repr=False)
    identified: bool = False
    only_public: bool = False

    def __post_init__(self) -> None:
        if self.proxy is not None:
            Endpoint.parse(self.proxy)

    def proxy_headers(self) -> Headers:
        """Return the header that carries the proxy's credentials, if it has any."""
        parts = urlsplit(self.proxy or "")
        if parts.username is None:
            return ()
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        return (("Proxy-Authorization", f"Basic {base64.b64encode(pair).decode('ascii')}"),)


class Channel:
    """An open connection and the state of HTTP/1.1 on it: one exchange after another."""

    def __init__(
        self, stream: ByteStream, host: str, *, forward: Headers | None = None, tls: Tls | None = None
    ) -> None:
        """Take a connected stream; `forward` are the headers for a proxy that requests are made to."""
        self._stream = stream
        self._host = host
        self._forward = forward
        self.tls = tls  # with the endpoint itself, not with a proxy
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._unparsed = memoryview(b"")
        self._first = b""
        self._in_body = False
        self._parts = 0
        self.received = 0  # bytes since the request, headers and framing included
        self.interim = 0  # 1xx responses since the request
        self.used = False  # an exchange was completed on it before

    async def request(self, method: str, endpoint: Endpoint, headers: Headers, body: bytes) -> None:
        """Send a request. A server that stops listening early may have answered all the same: read on.

        Raises:
            ValueError: these headers do not go with this body, or with each other.
        """
        self.received = self.interim = 0
        self._first, self._in_body = b"", False
        target = endpoint.target
        if self._forward is not None:
            target = endpoint.url
            headers = (*headers, *self._forward)
        try:
            data = self._http.send(h11.Request(method=method, target=target, headers=encoded(headers)))
            data += self._http.send(h11.Data(data=body)) if body else b""
            data += self._http.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise ValueError(f"the request cannot be sent: {str(error).partition(':')[0]}") from None
        try:
            await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return

    async def connect(self, address: str, headers: Headers) -> ByteStream:
        """Ask a proxy for a tunnel and return it.

        Raises:
            Fault: it gave none.
        """
        request = h11.Request(
            method="CONNECT", target=address, headers=encoded([("Host", address), *headers])
        )
        try:
            await self._stream.send(self._http.send(request) + self._http.send(h11.EndOfMessage()))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise Fault(End.RESET, "the connection was lost") from None
        response = await self.response()
        if not 200 <= response.status_code < 300:
            raise Fault(End.PROXY, f"answered CONNECT with HTTP {response.status_code}")
        return self._stream

    async def response(self) -> h11.Response:
        """Return the final response's status and headers; 1xx responses before it are counted.

        Raises:
            Fault: what came is something else.
        """
        while True:
            event = await self._event()
            if isinstance(event, h11.Response):
                if event.http_version not in _VERSIONS:
                    raise self._not_http()
                self._in_body = True
                return event
            self.interim += 1

    async def part(self) -> bytes | None:
        """Return the next bytes of the body, or None at its end.

        Raises:
            Fault: it breaks off, or its framing is broken.
        """
        self._parts += 1
        if self._parts >= _PARTS_IN_A_ROW:
            self._parts = 0
            await checkpoint()
        event = await self._event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def finish(self) -> tuple[bool, int]:
        """End an exchange whose body was read to its end.

        Returns whether the connection can take another one, and how many bytes came behind the body.
        """
        surplus = len(self._http.trailing_data[0]) + len(self._unparsed)
        if surplus or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False, surplus
        self._http.start_next_cycle()
        self.used = True
        return True, 0

    def stale(self) -> bool:
        """Whether an idle connection has something to read: its end, or bytes that nobody asked for."""
        return _readable(self._stream.extra(SocketAttribute.raw_socket))  # noqa: S610 - not Django's

    async def aclose(self) -> None:
        """Close at once; also during a cancellation."""
        await _close(self._stream)

    async def _event(self) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise self._fault(error) from None
            if event is not h11.NEED_DATA:
                return event
            # Unread are headers or a chunk's framing: a body is handed out as it comes.
            if _BLANKS.search(self._http.trailing_data[0][-2 * _SLICE :]):
                raise Fault(
                    End.PROTOCOL, "more than 1024 blanks in a row, in headers or in the framing of a chunk"
                )
            if not self._unparsed:
                self._unparsed = memoryview(await self._receive())
            self._http.receive_data(bytes(self._unparsed[:_SLICE]))
            self._unparsed = self._unparsed[_SLICE:]

    async def _receive(self) -> bytes:
        try:
            data = await self._stream.receive(_READ)
        except anyio.EndOfStream:
            data = b""
        except ssl.SSLError as error:
            raise Fault(End.TLS, tls_words(error, self._host)) from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise Fault(End.RESET, f"the connection was reset {self._place()}") from None
        if not data and not self._in_body:
            if self._first[: len(_BEGINNING)] != _BEGINNING[: len(self._first)]:
                raise self._not_http()
            raise Fault(End.RESET, f"the connection was closed {self._place()}")
        self._parts = 0
        self.received += len(data)
        if len(self._first) < _FIRST_BYTES:
            self._first += data[:_FIRST_BYTES]
        return data

    def _place(self) -> str:
        if self._in_body:
            return "in the middle of the body"
        return f"after {self.received} bytes of headers" if self.received else "before any byte of a response"

    def _fault(self, error: h11.RemoteProtocolError) -> Fault:
        if self._http.trailing_data[1]:
            return Fault(End.RESET, f"the connection was closed {self._place()}")
        if error.error_status_hint == 431:  # h11's word for an event that does not come to its end
            if self._in_body:
                return Fault(End.PROTOCOL, f"the framing of a chunk takes more than {MAX_HEADER_BYTES} bytes")
            return Fault(End.HEADERS, f"more than {MAX_HEADER_BYTES} bytes of headers")
        if self._first[:2] in (b"\x15\x03", b"\x16\x03"):
            return Fault(End.PROTOCOL, "the server answers in TLS; is it an https:// URL?")
        if not self._first.startswith(_BEGINNING):
            return self._not_http()
        # h11 goes on to quote whole header lines, which may hold a cookie or a session id.
        words = str(error).partition(":")[0].partition(" (")[0]
        return Fault(End.PROTOCOL, f"the response breaks HTTP/1.1: {words}")

    def _not_http(self) -> Fault:
        if _HTTP2_SETTINGS.match(self._first):
            return Fault(End.PROTOCOL, "the answer is not HTTP/1.1 but HTTP/2, in which nothing was asked")
        first = (self._first.split() or [b""])[0]
        return Fault(End.PROTOCOL, f"the answer is not HTTP/1.1; it starts with {first[:_FIRST_BYTES]!r}")


async def open_channel(endpoint: Endpoint, connection: Connection, note: Note) -> Channel:
    """Connect to an endpoint; `note` is told what is being waited for.

    Raises:
        Fault: there is no connection; whatever a proxy does wrong is End.PROXY.
    """
    if connection.proxy is None:
        stream = await _dial(endpoint, note, only_public=connection.only_public)
        forward = None
    else:
        stream = await _dial_through(Endpoint.parse(connection.proxy), endpoint, connection, note)
        forward = connection.proxy_headers() if endpoint.scheme == "http" else None
    if endpoint.scheme == "http":
        return Channel(stream, endpoint.host, forward=forward)
    secured = await _secure(stream, connection, endpoint.host, note)
    return Channel(secured, endpoint.host, tls=tls_facts(secured))


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return request headers as they are sent: latin-1 where that holds the value, else UTF-8.

    Raises:
        ValueError: a header that HTTP does not allow; the text names it and holds no value.
    """
    pairs = []
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the request header {name!r} has a name or value that HTTP does not allow")
        try:
            pairs.append((name.encode("ascii"), value.encode("latin-1")))
        except UnicodeEncodeError:
            pairs.append((name.encode("ascii"), value.encode("utf-8", "replace")))
    return pairs


async def _dial(endpoint: Endpoint, note: Note, *, only_public: bool = False) -> ByteStream:
    note(f"no connection to {endpoint.address}")
    try:
        host = await _public_address(endpoint) if only_public else endpoint.host
        return await anyio.connect_tcp(host, endpoint.port)
    except socket.gaierror as error:
        raise Fault(
            End.DNS,
            f"{endpoint.host}: {_RESOLVER.get(error.errno or 0, error.strerror or 'cannot be looked up')}",
        ) from None
    except UnicodeError:
        raise Fault(End.DNS, f"{endpoint.host[:80]}: not a host name that can be looked up") from None
    except OSError as error:
        causes = list(_causes(error))
        if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
            raise Fault(End.REFUSED, f"nothing listens at {endpoint.address}") from None
        words = next((cause.strerror for cause in causes if cause.strerror), "no connection")
        raise Fault(End.REFUSED, f"{endpoint.address}: {words}") from None


async def _public_address(endpoint: Endpoint) -> str:
    """Return an address of a host all of whose addresses are public: the one that is dialled, so that no other comes between.

    Raises:
        Fault: one of them is not.
    """
    found = await anyio.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]).partition("%")[0] for entry in found]
    if not addresses or not all(ipaddress.ip_address(address).is_global for address in addresses):
        raise Fault(End.REFUSED, f"{endpoint.host} is in a private network, where a server may not send us")
    return addresses[0]


_RESOLVER = {
    socket.EAI_NONAME: "there is no host of that name",
    socket.EAI_AGAIN: "the name server does not answer",
}


async def _dial_through(
    proxy: Endpoint, endpoint: Endpoint, connection: Connection, note: Note
) -> ByteStream:
    try:
        stream = await _dial(proxy, note)
        if proxy.scheme == "https":
            stream = await _secure(stream, connection, proxy.host, note)
        if endpoint.scheme == "http":
            return stream
        note(f"no tunnel from the proxy {proxy.address}")
        try:
            return await Channel(stream, proxy.host).connect(endpoint.address, connection.proxy_headers())
        except BaseException:
            await _close(stream)
            raise
    except Fault as fault:
        raise Fault(End.PROXY, f"proxy {proxy.address}: {fault.detail}") from None


async def _secure(stream: ByteStream, connection: Connection, host: str, note: Note) -> TLSStream:
    note(f"no end of the TLS handshake with {host}")
    context = connection.tls or default_context()
    try:
        return await TLSStream.wrap(
            stream, server_side=False, hostname=host, ssl_context=context, standard_compatible=False
        )
    except BaseException as error:
        await _close(stream)
        if isinstance(error, ssl.SSLError):
            raise Fault(End.TLS, tls_words(error, host)) from None
        if isinstance(error, (anyio.EndOfStream, anyio.BrokenResourceError, OSError)):
            raise Fault(End.TLS, f"{host} closed the connection during the TLS handshake") from None
        if isinstance(error, ValueError):
            raise Fault(End.TLS, f"{host} is no name that a certificate can be for") from None
        raise


async def _close(stream: ByteStream) -> None:
    with anyio.CancelScope(shield=True):
        await stream.aclose()


def _causes(error: BaseException) -> Iterable[OSError]:
    """Yield the errors of the addresses that were tried."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _causes(member)
    elif error.__cause__ is not None:
        yield from _causes(error.__cause__)
    elif isinstance(error, OSError):
        yield error


def _readable(sock: socket.socket) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()  # select() cannot take descriptors above 1023
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
