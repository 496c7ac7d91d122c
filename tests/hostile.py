"""Servers that mean harm. Most answer well but for get_products, so that the rest of a run can be seen to go on."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from rawserver import Peer
from scripted import Call, Hook, Raw, Reply, answer, definition, good, initialized, result

MIB = 1024 * 1024
NEAR_THE_LIMIT = 16 * MIB - 400
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\u2066\x00\x9b31m\r\n<script>&amp;`|"
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Hostile:
    """A server, and how a run on it ends: with these words, this exit code, and other rules judged or not."""

    says: str
    hook: Hook
    code: int = 6
    judged: bool = True
    failed: tuple[str, ...] = ()  # MUST rules
    seconds: float = 0.6  # that a request may take
    slow: bool = False  # left out of the normal run: another one is much like it, and each takes seconds


def products(raw: Raw) -> Hook:
    """Return a hook for get_products alone, with the connection to itself."""
    return lambda call: raw if call.tool == "get_products" else None


def first(number: int, make: Callable[[Call], Reply]) -> Hook:
    """Return a hook for the first few calls of get_products."""
    return lambda call: make(call) if call.tool == "get_products" and call.times <= number else None


def everything(raw: Raw) -> Hook:
    return lambda _: raw


# -- time ---------------------------------------------------------------------------------------------------------


def silence(peer: Peer) -> None:
    peer.pause()


def trickled_header(peer: Peer) -> None:
    peer.trickle(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000, 0.03)


def trickled_body(peer: Peer) -> None:
    peer.send(JSON, b"Content-Length: 100000\r\n\r\n")
    peer.trickle(b" " * 1000, 0.03)


def endless_stream(data: bytes, pause: float) -> Raw:
    def raw(peer: Peer) -> None:
        peer.send(_STREAM)
        while not peer.server.ending.is_set():
            peer.send(data)
            peer.pause(pause)

    return raw


LOG = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'


# -- size ---------------------------------------------------------------------------------------------------------


def many_headers(peer: Peer) -> None:
    peer.send(JSON, b"X: y\r\n" * 100_000, b"Content-Length: 2\r\n\r\n{}")


def declared(peer: Peer) -> None:
    peer.send(JSON, b"Content-Length: 1073741824\r\n\r\n", b" " * 1000)
    peer.pause()


@cache
def _bomb() -> bytes:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(squeezed.compress(b"[" * MIB) for _ in range(40)) + squeezed.flush()


def bomb(call: Call) -> Reply:
    return Reply(body=_bomb(), headers=["Content-Type: application/json", "Content-Encoding: gzip"])


def bomb_in_a_bomb(call: Call) -> Reply:
    headers = ["Content-Type: application/json", "Content-Encoding: gzip, gzip"]
    return Reply(body=gzip.compress(_bomb()), headers=headers)


def many_codings(call: Call) -> Reply:
    return Reply(
        body=b"x", headers=["Content-Type: application/json", "Content-Encoding: " + "gzip, " * 9 + "gzip"]
    )


def large(begin: bytes, unit: bytes, end: bytes, size: int = NEAR_THE_LIMIT) -> Callable[[Call], Reply]:
    """Return a tool result whose `products` are of a size: many units."""
    value = begin + unit * ((size - len(begin) - len(end)) // len(unit)) + end

    def reply(call: Call) -> Reply:
        context = json.dumps(call.arguments.get("context"))
        head = f'{{"jsonrpc":"2.0","id":{json.dumps(call.message["id"])},"result":{{"content":[],'
        head += (
            f'"structuredContent":{{"status":"completed","adcp_version":"3.1","context":{context},"products":'
        )
        body = head.encode() + value + b"}}}"
        return Reply(body=body, headers=["Content-Type: application/json"])

    return reply


def in_text(text: bytes) -> Callable[[Call], Reply]:
    """Return a tool result with one text, given as a JSON string writes it."""

    def reply(call: Call) -> Reply:
        head = f'{{"jsonrpc":"2.0","id":{json.dumps(call.message["id"])},"result":{{"content":['.encode()
        body = head + b'{"type":"text","text":"' + text + b'"}]}}'
        return Reply(body=body, headers=["Content-Type: application/json"])

    return reply


def many_events(call: Call) -> Reply:
    event = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":[' + b"[]," * 1000 + b"1]}}"
    return Reply(
        events=[*[event] * 1500, {"jsonrpc": "2.0", "id": call.message["id"], "result": answer(call)}]
    )


# -- HTTP ---------------------------------------------------------------------------------------------------------


def redirect_to(place: str) -> Reply:
    return Reply(status=307, headers=[f"Location: {place}"])


def reset_after(data: bytes) -> Raw:
    def raw(peer: Peer) -> None:
        peer.send(data)
        peer.reset()

    return raw


def noise(peer: Peer) -> None:
    peer.send(b"\x00\xffhello\r\n\r\n" * 50)
    peer.until_closed()


# -- messages -----------------------------------------------------------------------------------------------------


def wrong_id(call: Call) -> Reply | None:
    if call.tool != "get_products":
        return None
    return Reply(message={"jsonrpc": "2.0", "id": "another", "result": answer(call)})


def deep(levels: int) -> Hook:
    return first(1, large(b"[" * levels, b" ", b"]" * levels, 2 * levels))


def listing(*tools: Any, more: bool = False) -> Hook:
    """Return a hook for tools/list: these tools beside the good ones, and a further page without end."""

    def hook(call: Call) -> Reply | None:
        if call.method != "tools/list":
            return None
        listed = good(call).result["tools"] if call.times == 1 else []
        cursor = {"nextCursor": f"page {call.times}"} if more else {}
        return Reply(result={"tools": [*listed, *tools], **cursor})

    return hook


def many_tools(number: int) -> list[dict[str, Any]]:
    return [definition(f"tool_{index}", description="d" * 200) for index in range(number)]


def evil_schema(host: str = "127.0.0.1:9") -> Hook:
    """Return a hook whose get_products has a schema that is a trap for whoever follows or matches it."""
    tower: dict[str, Any] = {"a0": {"type": "object"}}
    for level in range(1, 60):
        tower[f"a{level}"] = {"allOf": [{"$ref": f"#/$defs/a{level - 1}"}] * 2}
    schema = {
        "type": "object",
        "$defs": tower,
        "properties": {
            "brief": {"type": "string", "pattern": "^(a+)+$", "default": "a" * 40 + "!"},
            "buying_mode": {"type": "string", "pattern": "(x*)*y", "enum": ["x" * 40]},
            "filters": {"$ref": f"http://{host}/filters.json"},
            "account": {"$ref": "file:///etc/passwd"},
            "brand": {"$dynamicRef": f"//{host}/brand#x"},
            "context": {"$ref": "#/$defs/a59"},
        },
        "required": ["brief", "filters", "brand"],
        "allOf": [{"$ref": "#"}, {"$ref": f"http://{host}/all.json"}],
        "$schema": f"http://{host}/dialect",
    }

    def hook(call: Call) -> Reply | None:
        if call.method != "tools/list":
            return None
        tools = [definition("get_adcp_capabilities"), definition("list_creative_formats")]
        evil = {"name": "get_products", "inputSchema": schema, "outputSchema": schema}
        return Reply(result={"tools": [*tools, evil]})

    return hook


def evil_strings(call: Call) -> Reply | None:
    """Say something unsafe to show in every place that a string may stand."""
    if call.method == "initialize":
        reply = initialized()
        return Reply(
            result=reply.result | {"serverInfo": {"name": EVIL, "version": EVIL}, "instructions": EVIL}
        )
    if call.method == "tools/list":
        tools = [definition(EVIL), *good(call).result["tools"]]
        return Reply(result={"tools": [tool | {"description": EVIL, "title": EVIL} for tool in tools]})
    if call.tool == "get_products" and call.times % 2:
        error = {"code": EVIL, "message": EVIL, "field": EVIL, "recovery": EVIL, "details": {EVIL: EVIL}}
        return Reply(result=result({"adcp_error": error, EVIL: EVIL}))
    if call.tool == "get_products":
        return Reply(
            result={"content": [{"type": EVIL, "text": EVIL}], "structuredContent": EVIL, "isError": EVIL}
        )
    if call.tool:
        return Reply(error={"code": -32603, "message": EVIL, "data": {EVIL: [EVIL]}}, status=500)
    return None


def large_one(says: str, make: Callable[[Call], Reply], number: int = 6, **members: Any) -> Hostile:
    return Hostile(says, first(number, make), seconds=10, **members)


RESETS = {
    "before a byte": b"",
    "in the status line": b"HTTP/1.1 2",
    "in the headers": JSON,
    "in the body": JSON + b'Content-Length: 100\r\n\r\n{"jsonrpc"',
    "in a stream": _STREAM + b'data: {"jsonrpc"',
}

SERVERS: dict[str, Hostile] = {
    "no answer to anything": Hostile("no response headers after", everything(silence), judged=False),
    "a wrong id": Hostile(
        "does not carry the id of its request", wrong_id, code=1, failed=("mcp.jsonrpc.id",)
    ),
    "a gzip bomb": Hostile("more than 16777216 bytes", first(99, bomb), seconds=5, slow=True),
    "a gzip bomb in a gzip bomb": Hostile("more than 16777216 bytes", first(99, bomb_in_a_bomb), seconds=5),
    "reset on everything": Hostile("the connection was reset", everything(reset_after(b"")), judged=False),
    "noise in place of everything": Hostile("does not speak HTTP/1.1", everything(noise), judged=False),
    "100,000 levels": Hostile("nested so deeply", deep(100_000), code=0, seconds=5),
    "300,000 levels": Hostile("more than 250,000 levels deep", deep(300_000), seconds=5),
    "10,000 tools": Hostile("conformant:", listing(*many_tools(10_000)), code=0),
    "pages without end": Hostile(
        "the list has no end", listing(more=True), code=1, failed=("mcp.tools.paging-ends",)
    ),
    "traps in a schema": Hostile("refers to itself in a circle", evil_schema(), code=1),
    "controls in every string": Hostile("nonconformant", evil_strings, code=1),
    "arrays": large_one("more than 500,000 JSON values", large(b"[", b"[],", b"1]")),
    "numbers": large_one("more than 500,000 JSON values", large(b"[", b"1e999,", b"1]"), slow=True),
    "objects up to the limit": large_one(
        "takes more memory than a run has", large(b"[", b'{"a":1},', b"{}]", 1_800_000), 3
    ),
    "wide text": large_one(
        "takes more memory than a run has", in_text("😀".encode() + b"a" * (NEAR_THE_LIMIT - 200))
    ),
    "brackets alone": large_one("more than 500,000 JSON values", large(b"", b"[", b"")),
    "values in events": large_one("more than 500,000 JSON values", many_events, 1),
    "lone halves under a long name": large_one(
        "takes more memory than a run has",
        large(b'{"\xf0\x9f\x98\x80' + b"k" * (10 * MIB) + b'":[', b'"\\ud800",', b"1]}", 10 * MIB + 400),
        3,
        slow=True,
    ),
    "escaped brackets": large_one(
        "more than 500,000 JSON values", in_text(b"\\u005b" * 2_000_000), 3, slow=True
    ),
    "a name twice": Hostile(
        "stands twice",
        first(1, large(b"{", b'"a":1,', b'"a":0}', 2 * MIB)),
        code=1,
        failed=("mcp.jsonrpc.unique-names",),
        seconds=10,
    ),
}
