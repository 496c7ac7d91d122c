"""Answers to one call that mean harm in the way HTTP carries them, each by the words in which a report tells its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hostile import (
    JSON,
    LOG,
    RESETS,
    declared,
    endless_stream,
    many_codings,
    many_headers,
    noise,
    redirect_to,
    reset_after,
    silence,
    trickled_body,
    trickled_header,
)
from rawserver import Peer
from scripted import Call, Raw, Reply, good

MIB = 1024 * 1024
ELSEWHERE = "a redirect to another host"
REDIRECTED = "HTTP 307: redirected to http://"
Kind = Callable[[Call], "Raw | Reply"]


@dataclass(frozen=True)
class Answer:
    """How one tool answers, and what the report says of its calls; nothing where they are as good as any other."""

    make: Kind
    says: str = ""


def body_of(call: Call) -> bytes:
    return good(call).content(call)[0]


def last(*data: bytes) -> Raw:
    """Return what sends some bytes and closes the connection."""

    def raw(peer: Peer) -> None:
        peer.send(*data)
        peer.close()

    return raw


def headed(*headers: bytes, status: bytes = b"HTTP/1.1 200 OK") -> Kind:
    """Return a good answer with further headers, and its connection closed behind it."""

    def make(call: Call) -> Raw:
        body = body_of(call)
        lines = (status, b"Content-Type: application/json", b"Content-Length: %d" % len(body), *headers)
        return last(b"\r\n".join(lines), b"\r\n\r\n", body)

    return make


def framed(*headers: bytes, body: Callable[[bytes], bytes] = lambda body: body) -> Kind:
    """Return a good answer with these headers alone, its body as it is made."""

    def make(call: Call) -> Raw:
        content = body_of(call)
        lines = [header.replace(b"LENGTH", b"%d" % len(content)) for header in headers]
        return last(JSON, b"\r\n".join(lines), b"\r\n\r\n", body(content))

    return make


def endless(begin: bytes, unit: bytes, pause: float = 0.0) -> Kind:
    def make(_: Call) -> Raw:
        def raw(peer: Peer) -> None:
            peer.send(begin)
            while not peer.server.ending.is_set():
                peer.send(unit)
                peer.pause(pause)

        return raw

    return make


def always(raw: Raw) -> Kind:
    return lambda _: raw


def chunked(body: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n0\r\n%b\r\n" % (len(body), extension, body, trailers)


_CHUNKED = b"Transfer-Encoding: chunked"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
_SETTINGS = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x04\x00\x00\xff\xff\x00\x05\x00\x00\x40\x00"

SLOW: dict[str, Answer] = {
    "no answer": Answer(always(silence), "no response headers after"),
    "a trickled header": Answer(always(trickled_header), "no response headers after"),
    "a trickled body": Answer(always(trickled_body), "no end of the body after"),
    "a stream without events": Answer(
        always(endless_stream(b": ping\n\n", 0.02)), "event stream: 0 events, no response after"
    ),
    "a stream of events": Answer(always(endless_stream(LOG, 0.02)), "no response after"),
    "a flood of events": Answer(
        always(endless_stream(LOG * 500, 0.0)), "2000 events, and no response among them"
    ),
    "1 GB declared": Answer(always(declared), "content-length is 1073741824"),
    "a flood of early hints": Answer(endless(b"", EARLY_HINTS * 100, 0.01), "interim responses"),
    "a flood of chunk extensions": Answer(
        endless(JSON + _CHUNKED + b"\r\n\r\n", b"1;" + b"x" * 1000 + b"\r\n \r\n", 0.001),
        "no end of the body after",
    ),
    "an endless trickle of blank chunks": Answer(
        endless(JSON + _CHUNKED + b"\r\n\r\n", b"1\r\n \r\n", 0.01), "no end of the body after"
    ),
}
BROKEN: dict[str, Answer] = {
    **{
        f"reset {when}": Answer(always(reset_after(data)), "the connection was reset")
        for when, data in RESETS.items()
    },
    "a redirect loop": Answer(lambda _: redirect_to("/mcp"), "HTTP 307: redirected to /mcp"),
    "a redirect to another host": Answer(
        lambda _: redirect_to("http://OTHER/mcp"), "HTTP 307: redirected to"
    ),
    "ten codings": Answer(many_codings, "10 content codings on top of each other"),
    "noise": Answer(always(noise), "what came is not HTTP"),
    "HTTP/0.9": Answer(always(last(b"<html>hello</html>\r\n")), "the answer is not HTTP/1.1"),
    "HTTP/2": Answer(always(last(_SETTINGS)), "the answer is not HTTP/1.1"),
    "100,000 headers": Answer(always(many_headers), "too many response headers"),
    "one huge header": Answer(headed(b"X: " + b"x" * MIB), "more than 65536 bytes of headers"),
    "a flood of cookies": Answer(
        headed(*[b"Set-Cookie: c%d=%d" % (i, i) for i in range(190)], *[b"X: y"] * 20),
        "at most 200 of together",
    ),
    "NUL in a header": Answer(headed(b"X: a\0b"), "the response breaks HTTP/1.1"),
    "CR in a header": Answer(headed(b"X: a\rInjected: b"), "the response breaks HTTP/1.1"),
    "a negative length": Answer(framed(b"Content-Length: -5"), "the response breaks HTTP/1.1"),
    "two lengths": Answer(
        framed(b"Content-Length: LENGTH", b"Content-Length: 5"), "the response breaks HTTP/1.1"
    ),
    "a length in hexadecimal": Answer(framed(b"Content-Length: 0x10"), "the response breaks HTTP/1.1"),
    "one huge chunk extension": Answer(
        framed(_CHUNKED, body=lambda body: chunked(body, b";" + b"x" * MIB)),
        "the framing of a chunk takes more than",
    ),
    "a flood of trailers": Answer(
        framed(_CHUNKED, body=lambda body: chunked(body, trailers=b"X: y\r\n" * 100_000)),
        "more than 65536 bytes",
    ),
    "a chunk that never is": Answer(
        framed(_CHUNKED, body=lambda body: b"ffffffffffffffffffff\r\n" + body), "the connection was closed"
    ),
}
# Odd, and legal or harmless: these are read, and judged.
READ: dict[str, Answer] = {
    "a folded header": Answer(headed(b"X: a", b" b")),
    "190 cookies": Answer(headed(*[b"Set-Cookie: c%d=%d" % (i, i) for i in range(190)])),
    "the same length twice": Answer(framed(b"Content-Length: LENGTH", b"Content-Length: LENGTH")),
    "the end of the connection as the end of the body": Answer(framed(b"Connection: close")),
    "HTTP/1.0": Answer(headed(status=b"HTTP/1.0 200 OK")),
    "a length beside chunks": Answer(framed(b"Content-Length: 5", _CHUNKED, body=chunked)),
    "100 early hints": Answer(headed(status=EARLY_HINTS * 100 + b"HTTP/1.1 200 OK")),
    "small chunk extensions": Answer(framed(_CHUNKED, body=lambda body: chunked(body, b";a=b"))),
    "trailers": Answer(framed(_CHUNKED, body=lambda body: chunked(body, trailers=b"X: y\r\n" * 10))),
}
