"""Mutations of what a good seller answers, at every level: bytes, JSON, HTTP headers, SSE framing.

A proxy stands between a survey and the reference seller. What it makes of an answer is decided by the seed and by which
request it answers, so a seed says all that is needed to see a finding again.
"""

from __future__ import annotations

import copy
import http.client
import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from rawserver import Peer, Request, serve
from scripted import message_of

RATE, FIRST_RATE = (
    0.5,
    0.15,
)  # of the answers that are mutated: to calls, and to what has to go well before them
VALUES: list[Any] = [
    None, True, False, 0, -1, 1e308, float("inf"), 2**53 + 1, 10**400, "", "\ud800", "\u202e\x9b31m\x1b[31m",
    "\u2028\r\n", [], {}, [[]], [None], {"": None}, "__proto__", {"toString": 1}, "[object Object]", "{}", "null",
    "[1]", "-0", -0.0, "x" * 5000, {"type": "text"}, [{"type": "text", "text": {"toString": 0}}],
    [{"type": "text", "text": [["{}"]]}], {"code": "X"}, "RATE_LIMITED", -32029, {"adcp_error": None},
    {"adcp_error": {"code": "RATE_LIMITED", "message": "m", "retry_after": 1e400}}, "submitted", "failed", [0] * 50,
]  # fmt: skip
BYTES = [
    b"NaN", b"1e999", b"-0", b"00", b'"\\ud800"', b'"\\udc00\\ud800"', b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
    b"\x00", b"\x1b[31m", b"\xc2\x9b", b"'", b"[[[[[[", b"}}}", b"\r", b"\n\n", b"data: ", b"event: x\n", b"id: 1\n",
    b"1" * 5000, b"\\u0000", b'"a":1,"a":2,', b"undefined",
]  # fmt: skip
NAMES = [
    "isError", "structuredContent", "content", "adcp_error", "errors", "code", "message", "status", "jsonrpc",
    "id", "result", "error", "method", "data", "recovery", "retry_after", "field", "issues", "details", "type",
    "text", "tools", "name", "inputSchema", "nextCursor", "protocolVersion", "capabilities", "serverInfo",
    "version", "products", "supportedVersions", "_meta", "task_id", "adcp_version", "adcp", "supported_versions",
    "resultType", "context",
]  # fmt: skip
STATUSES = (
    100, 102, 103, 199, 200, 201, 202, 204, 206, 300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 406, 409, 410,
    415, 418, 422, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 511, 599, 600, 999,
)  # fmt: skip
HEADERS = [
    b"Retry-After: 0", b"Retry-After: -1", b"Retry-After: 1e999", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
    b"Retry-After: 99999999999999999999", b"Location: /mcp", b"Location: //x", b"Location: http://[::1",
    b"Content-Encoding: gzip", b"Content-Encoding: deflate, gzip", b"Content-Encoding: x, y, z, gzip, gzip",
    b"Mcp-Session-Id: \xff\x80x", b"Set-Cookie: a=b; Expires=x", b"Set-Cookie: a=b; Path=/; Max-Age=99999999999999",
    b"Content-Type: text/event-stream; charset=\x80", b"Content-Type: text/html", b"Transfer-Encoding: chunked",
    b'WWW-Authenticate: Bearer resource_metadata="http://[', b"WWW-Authenticate: \x80, Bearer realm=\"",
    b"X: " + b"x" * 70_000, b"Connection: close",
]  # fmt: skip
_LINES = (
    b"data: ",
    b"data:",
    b":",
    b"event: message\ndata: ",
    b"data",
    b"\xef\xbb\xbfdata: ",
    b"retry: 1\ndata: ",
)


@dataclass
class Answer:
    """An answer on its way."""

    status: int
    headers: list[bytes]
    body: bytes

    def wire(self, length: int | None = None) -> bytes:
        framing = b"Content-Length: %d" % (len(self.body) if length is None else length)
        return b"\r\n".join([b"HTTP/1.1 %d x" % self.status, *self.headers, framing, b"", self.body])


@dataclass
class Traffic:
    """What went through a proxy."""

    url: str = ""
    exchanges: int = 0
    mutated: int = 0
    times: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def chance(self, seed: int, request: Request) -> random.Random:
        """Return what decides over the answer to a request."""
        verb, path, _ = request.line.split()
        message = message_of(request.body)
        name = f"{verb} {path} {message.get('method')} {message.get('params', {}).get('name', '')[:12]}"
        with self.lock:
            self.exchanges += 1
            self.times[name] += 1
            return random.Random(f"{seed} {name} {self.times[name]}")


@contextmanager
def mutating(port: int, seed: int) -> Iterator[Traffic]:
    """Run a proxy before the seller at a port."""
    traffic = Traffic()

    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            chance = traffic.chance(seed, request)
            answer = _ask(port, request)
            if chance.random() >= (RATE if b'"tools/call"' in request.body else FIRST_RATE):
                peer.send(answer.wire())
                continue
            with traffic.lock:
                traffic.mutated += 1
            data, whole = mutated(chance, answer)
            peer.send(data)
            if not whole:
                peer.socket.shutdown(socket.SHUT_RDWR)
                return

    with serve(script) as server:
        traffic.url = server.url
        yield traffic


def _ask(port: int, request: Request) -> Answer:
    verb, path, _ = request.line.split()
    # A stream that a client opens has no end; what came soon is passed on as all of it.
    upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=0.1 if verb == "GET" else 10)
    try:
        headers = {
            name: value for name, value in request.headers if name.lower() not in ("host", "connection")
        }
        upstream.request(verb, path, request.body or None, headers)
        response = upstream.getresponse()
        left_out = ("content-length", "transfer-encoding", "connection", "date", "server")
        kept = [
            f"{name}: {value}".encode("latin-1")
            for name, value in response.getheaders()
            if name.lower() not in left_out
        ]
        body = b""
        with suppress(TimeoutError):
            while data := response.read1(1 << 16):
                body += data
        return Answer(response.status, kept, body)
    finally:
        upstream.close()


def mutated(chance: random.Random, answer: Answer) -> tuple[bytes, bool]:
    """Return the bytes of a mutated answer, and whether the connection goes on."""
    match chance.randrange(10):
        case 0 | 1 | 2 | 3 | 4:
            answer.body = _mutated_json(chance, answer.body)
        case 5 | 6:
            answer.body = mutated_bytes(chance, answer.body)
        case 7:
            answer.body = _stream(chance, answer.body)
            kept = [line for line in answer.headers if not line.lower().startswith(b"content-type")]
            answer.headers = [*kept, b"Content-Type: text/event-stream"]
        case 8:
            answer.headers = [mutated_bytes(chance, b"\r\n".join(answer.headers))]
        case _:
            wire = mutated_bytes(chance, answer.wire())
            return wire, False
    if chance.random() < 0.1:
        answer.status = chance.choice(STATUSES)
    if chance.random() < 0.15:
        answer.headers.append(chance.choice(HEADERS))
    if chance.random() < 0.06:
        length = len(answer.body) + chance.choice((5, -5, 10**9, 10**30))
        return answer.wire(max(length, 0))[: chance.randrange(20, 2000)], False
    # After a status that ends with its headers, or a broken framing, what follows would be read as something else.
    return answer.wire(), 200 <= answer.status < 600 and answer.status not in (204, 304)


def _mutated_json(chance: random.Random, body: bytes) -> bytes:
    events = body.startswith((b"data:", b"event:", b"id:", b":"))
    text = (
        next((line[5:] for line in body.split(b"\n") if line.startswith(b"data:{")), b"") if events else body
    )
    try:
        value = _changed(chance, json.loads(text))
    except ValueError:
        return mutated_bytes(chance, body)
    data = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"data: " + data + b"\n\n" if events else data


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield from _paths(member, (*path, name))


def _changed(chance: random.Random, value: Any) -> Any:
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        *parents, name = chance.choice([path for path in _paths(value) if path] or [("",)])
        place = value
        for token in parents:
            place = place[token]
        _change(chance, place, name)
    return value


def _change(chance: random.Random, place: Any, name: Any) -> None:
    """Change a member, or an item, or what stands beside it."""
    if not isinstance(place, (dict, list)) or (isinstance(place, dict) and name not in place):
        return
    change = chance.randrange(7)
    if change <= 2:
        place[name] = copy.deepcopy(chance.choice(VALUES))  # it may be changed in turn
    elif change == 3:
        del place[name]
    elif isinstance(place, list):
        place.extend(place[:20] * chance.randrange(3))
    elif change == 4:
        place[chance.choice(NAMES)] = place.pop(name)
    elif change == 5:
        place[chance.choice(NAMES)] = copy.deepcopy(chance.choice(VALUES))  # it may be changed in turn
    else:
        place[name] = json.dumps(place[name])


def mutated_bytes(chance: random.Random, data: bytes) -> bytes:
    """Return bytes with a few places changed, dropped, doubled or replaced."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        changed = changed or bytearray(b"x")
        at = chance.randrange(len(changed))
        match chance.randrange(8):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at : at + chance.randrange(1, 20)]
            case 2:
                changed[at:at] = chance.choice(BYTES)
            case 3:
                changed[at:at] = changed[chance.randrange(len(changed)) :][: chance.randrange(1, 200)]
            case 4:
                del changed[at:]
            case 5:
                changed[at] ^= 1 << chance.randrange(8)
            case 6:
                changed[at : at + chance.randrange(1, 6)] = chance.choice(BYTES)
            case _:
                changed[at : at + 1] = bytes([changed[at]]) * chance.randrange(1, 50)
    return bytes(changed)


def _stream(chance: random.Random, body: bytes) -> bytes:
    """Return a body as an event stream, more or less."""
    lines = [
        chance.choice(_LINES) + line + chance.choice((b"\n", b"\r\n", b"\r")) for line in body.split(b"\n")
    ]
    stream = b"".join(lines) + chance.choice((b"\n", b"\r\n\r\n", b""))
    return mutated_bytes(chance, stream) if chance.random() < 0.5 else stream
