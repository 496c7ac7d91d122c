"""A small MCP server that conforms but for one answer, which a test gives it literally.

    async with case_server(CaseServer("get_products", Answer(result={"content": []}))) as url:
        ...

It speaks HTTP/1.1 on a loopback port, in the event loop of the test. What is about the request is said in relation to
it: in an answer stand the marks `$id` (the same id), `$other` (another one of its type), `$retyped` (the same digits in
the other type) and `$context` (the context of the request).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
CAPABILITIES = "get_adcp_capabilities"


@dataclass(frozen=True)
class Answer:
    """What the server sends: one of result, error, message (a whole JSON-RPC message) and body (text)."""

    result: Any = ...
    error: Any = ...
    message: Any = ...
    body: str | None = None
    encoding: str = "utf-8"  # of the body
    status: int = 200
    media_type: str = "application/json"

    def raw(self, request: Mapping[str, Any]) -> bytes:
        """Return the bytes of the body that answers a JSON-RPC message."""
        if self.body is not None:
            return _marked(self.body, request).encode(self.encoding, "surrogatepass")
        message = self.message
        if message is ...:
            outcome = {"result": self.result} if self.result is not ... else {"error": self.error}
            message = {"jsonrpc": "2.0", "id": "$id"} | outcome
        return _marked(json.dumps(message), request).encode()


@dataclass(frozen=True)
class CaseServer:
    """What the server says.

    Args:
        tool: the tool whose calls get the answer; get_products where another method gets it.
        answer: the answer under test.
        method: what else gets it instead: tools/list, notifications/initialized ...
        release: the AdCP release in its capabilities.
        revision: the MCP revision that it speaks.
        definition: further members of the tool in tools/list.
    """

    tool: str
    answer: Answer
    method: str = "tools/call"
    release: str = "3.1"
    revision: str = HANDSHAKE
    definition: Mapping[str, Any] = field(default_factory=dict)

    def respond(self, message: Mapping[str, Any]) -> Answer:
        """Return the answer to one JSON-RPC message."""
        method, params = message.get("method"), message.get("params") or {}
        called = params.get("name") if method == "tools/call" else None
        if method == self.method and (called is None or called == self.tool):
            return self.answer
        if "id" not in message:
            return Answer(body="", status=202)
        if called is not None:
            return self._call(called)
        if method == "tools/list":
            return Answer(result={"tools": self._tools()} | self._meta)
        if method == "initialize" and not self._stateless:
            info = {"protocolVersion": self.revision, "capabilities": {"tools": {}}, "serverInfo": _INFO}
            return Answer(result=info)
        if method == "server/discover" and self._stateless:
            return Answer(
                result={"supportedVersions": [STATELESS], "capabilities": {"tools": {}}} | self._meta
            )
        return Answer(
            error={"code": -32601, "message": "Method not found"}, status=404 if self._stateless else 200
        )

    @property
    def _stateless(self) -> bool:
        return self.revision == STATELESS

    @property
    def _meta(self) -> dict[str, Any]:
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if self._stateless else {}

    def _tools(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"context": {"type": "object"}}}
        listed = [
            {"name": name, "description": "A task of AdCP.", "inputSchema": schema}
            for name in dict.fromkeys((CAPABILITIES, self.tool))
        ]
        return [*listed[:-1], listed[-1] | self.definition]

    def _call(self, tool: str) -> Answer:
        complete = {"resultType": "complete"} if self._stateless else {}
        if tool not in (CAPABILITIES, self.tool):
            return Answer(error={"code": -32602, "message": f"Unknown tool: {tool}"})
        data: dict[str, Any] = {"status": "completed", "adcp_version": self.release, "context": "$context"}
        if tool == CAPABILITIES:
            data |= {"adcp": {"major_versions": [3], "idempotency": {"supported": False}}}
            data |= {"supported_protocols": ["media_buy"]}
        else:  # the answer under test goes to another method
            data |= {"products": [], "cache_scope": "public"}
        text = [{"type": "text", "text": json.dumps(data)}]
        return Answer(result={"content": text, "structuredContent": data} | complete)


@asynccontextmanager
async def case_server(case: CaseServer) -> AsyncIterator[str]:
    """Run a server and yield its URL."""
    connections: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections[asyncio.current_task()] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await _serve_one(case, reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        for writer in connections.values():
            writer.close()
        await asyncio.gather(*(task for task in connections if task is not None))


async def _serve_one(case: CaseServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request; raises IncompleteReadError when the client has left."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    if not line.startswith("POST "):
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n")
    else:
        message = json.loads(body)
        answer = case.respond(message)
        raw = answer.raw(message)
        media_type = f"Content-Type: {answer.media_type}\r\n" if raw else ""
        head = f"HTTP/1.1 {answer.status} Status\r\n{media_type}Content-Length: {len(raw)}\r\n\r\n"
        writer.write(head.encode("latin-1") + raw)
    await writer.drain()


_INFO = {"name": "case-server", "version": "1.0"}


def _marked(text: str, request: Mapping[str, Any]) -> str:
    """Put the request's id or context, or what the id is to be mistaken for, in the place of its mark."""
    request_id = request.get("id")
    arguments = (request.get("params") or {}).get("arguments") or {}
    digits = str(request_id).removeprefix("adcp-")
    retyped: Any = digits if isinstance(request_id, int) else int(digits) if digits.isdigit() else 0
    other: Any = f"{request_id}x" if isinstance(request_id, str) else -1
    marks = {"id": request_id, "other": other, "retyped": retyped, "context": arguments.get("context")}
    for mark, value in marks.items():
        text = text.replace(f'"${mark}"', json.dumps(value))
    return text
