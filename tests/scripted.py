"""A small good seller on a loopback port, of which a test scripts single answers and sees every request.

    def hook(call: Call) -> Reply | None:
        return Reply(status=429) if call.tool == "get_products" and call.times == 1 else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert seller.tools["get_products"] == 2

`None` means what the good seller says; `call.times` counts the requests of this name, from 1. A reply may also be a
function that has the connection to itself.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rawserver import Peer, Request, Server, serve

TOOLS = ("get_adcp_capabilities", "get_products", "list_creative_formats")
SESSION = "session-of-the-survey"
NOT_FOUND = {"code": -32601, "message": "Method not found"}


@dataclass(frozen=True)
class Call:
    """A request, and when it came: seconds since the first one."""

    http: Request
    message: dict[str, Any]
    times: int  # requests of this name so far, this one included
    at: float

    @property
    def verb(self) -> str:
        return self.http.line.split()[0]

    @property
    def path(self) -> str:
        return self.http.line.split()[1]

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))

    @property
    def tool(self) -> str:
        return str(self.message["params"].get("name", "")) if self.method == "tools/call" else ""

    @property
    def name(self) -> str:
        return self.tool or self.method or ("response" if self.message else self.verb)

    @property
    def arguments(self) -> dict[str, Any]:
        return self.message.get("params", {}).get("arguments", {})

    def header(self, name: str) -> str | None:
        return self.http.header(name)


@dataclass(frozen=True)
class Reply:
    """An answer: one of result, error, message, events (JSON messages or bytes) and body; nothing is an empty body."""

    result: Any = ...
    error: Any = ...
    message: Any = ...
    events: Sequence[Any] | None = None
    body: bytes | None = None
    status: int = 200
    headers: Sequence[str] = ()
    pause: float = 0.0  # seconds before it

    def content(self, call: Call) -> tuple[bytes, str]:
        """Return the body and its content type."""
        envelope = {"jsonrpc": "2.0", "id": call.message.get("id")}
        if self.events is not None:
            texts = [
                event if isinstance(event, bytes) else json.dumps(event).encode() for event in self.events
            ]
            return b"".join(b"data: " + text + b"\n\n" for text in texts), "text/event-stream"
        if self.body is not None:
            return self.body, ""
        message = self.message
        if message is ... and self.result is not ...:
            message = envelope | {"result": self.result}
        if message is ... and self.error is not ...:
            message = envelope | {"error": self.error}
        return (b"", "") if message is ... else (json.dumps(message).encode(), "application/json")


Raw = Callable[[Peer], None]
Hook = Callable[[Call], "Reply | Raw | None"]


@dataclass
class Seller:
    """What came to a scripted seller."""

    server: Server
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0  # requests that are not answered yet
    _times: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    @property
    def tools(self) -> Counter[str]:
        return Counter(call.tool for call in self.calls if call.tool)

    def of(self, name: str) -> list[Call]:
        """Return the requests of a tool, a method or a verb."""
        return [call for call in self.calls if call.name == name]

    def came(self, request: Request) -> Call:
        message = message_of(request.body)
        with self._lock:
            call = Call(request, message, 0, time.monotonic())
            self._times[call.name] += 1
            call = Call(request, message, self._times[call.name], call.at)
            self.calls.append(call)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            return call

    def went(self) -> None:
        with self._lock:
            self.at_once -= 1


@contextmanager
def scripted(hook: Hook = lambda _: None, *, tools: Sequence[Any] = TOOLS) -> Iterator[Seller]:
    """Run a seller; `tools` are names, or whole definitions."""
    holder: list[Seller] = []
    listed = [tool if isinstance(tool, dict) else definition(tool) for tool in tools]

    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            seller = holder[0]
            call = seller.came(request)
            try:
                reply = hook(call) or good(call, listed)
                if not isinstance(reply, Reply):
                    reply(peer)
                    continue
                if reply.pause:
                    peer.pause(reply.pause)
                body, media_type = reply.content(call)
            finally:
                seller.went()
            headers = [*reply.headers, *([f"Content-Type: {media_type}"] if media_type else [])]
            peer.answer(body, *headers, status=f"{reply.status} Status")

    with serve(script) as server:
        holder.append(Seller(server))
        yield holder[0]


def message_of(body: bytes) -> dict[str, Any]:
    """Return the JSON-RPC message of a request; empty where there is none, as in a batch or what is cut off."""
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def definition(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": {"type": "object"} | schema}


def good(call: Call, listed: Sequence[Any] = tuple(map(definition, TOOLS))) -> Reply:
    """Return what a good seller of the handshake era says."""
    if call.verb != "POST":
        return Reply(status=200 if call.verb == "DELETE" else 405)
    if call.method == "initialize":
        return initialized()
    if "method" not in call.message or "id" not in call.message:
        return Reply(status=202)
    if call.method == "ping":
        return Reply(result={})
    if call.method == "tools/list":
        return Reply(result={"tools": list(listed)})
    if call.tool in {tool.get("name") for tool in listed if isinstance(tool, dict)}:
        return Reply(result=answer(call))
    if call.tool:
        return Reply(error={"code": -32602, "message": f"Unknown tool: {call.tool}"})
    return Reply(error=NOT_FOUND)


def initialized(version: Any = "2025-11-25", *headers: str, session: str | None = SESSION) -> Reply:
    result = {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }
    names = [f"Mcp-Session-Id: {session}"] if session else []
    return Reply(result=result, headers=[*names, *headers])


def answer(call: Call) -> dict[str, Any]:
    """Return the tool result: an error where an AdCP version is asked for that does not exist, or a credential comes."""
    release = str(call.arguments.get("adcp_version", "3.1"))
    if call.arguments.get("adcp_major_version", 3) != 3 or release != "3.1":
        return echoed(
            failure("VERSION_UNSUPPORTED", recovery="correctable", details={"supported_versions": ["3.1"]}),
            call,
        )
    if "api_key" in call.arguments.get("ext", {}):
        return echoed(failure("CREDENTIAL_IN_ARGS", recovery="terminal"), call)
    payloads: dict[str, dict[str, Any]] = {
        "get_adcp_capabilities": {
            "adcp": {
                "major_versions": [3],
                "supported_versions": ["3.1"],
                "idempotency": {"supported": False},
            },
            "supported_protocols": ["media_buy"],
        },
        "get_products": {"products": [{"product_id": "p1"}]},
        "list_creative_formats": {"formats": []},
    }
    payload = {"status": "completed", "adcp_version": "3.1", **payloads.get(call.tool, {})}
    return echoed(result(payload), call)


def echoed(answer: dict[str, Any], call: Call) -> dict[str, Any]:
    """Return a tool result with the request's context."""
    context = {"context": call.arguments["context"]} if "context" in call.arguments else {}
    return answer | {"structuredContent": answer["structuredContent"] | context}


def result(payload: Any, **members: Any) -> dict[str, Any]:
    text = [{"type": "text", "text": json.dumps(payload)}]
    return {"content": text, "structuredContent": payload} | members


def failure(code: str, **members: Any) -> dict[str, Any]:
    return result({"adcp_error": {"code": code, "message": "no", **members}}, isError=True)
