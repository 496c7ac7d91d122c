"""A server that does all that MCP asks of the transport, but for what a test makes it do otherwise.

    with strict(lambda call, asked: Reply(status=204) if asked == "notification" else None) as seller:
        transcript = survey(seller.url)

What a request is about is said in a word (`occasion`). `None` means what the strict server says; it speaks JSON, the
revisions 2025-06-18 and 2025-11-25, and has sessions, all of which can be had otherwise.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rawserver import Peer
from scripted import NOT_FOUND, Call, Raw, Reply, Seller, definition, good, scripted

JUNE, NOVEMBER, MARCH, OLD = "2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"
METHODS = ("initialize", "ping", "tools/list", "tools/call")
TOOLS = tuple(definition(name) for name in ("get_adcp_capabilities", "get_products"))

Odd = Callable[[Call, str], "Reply | Raw | None"]


@dataclass
class Strict:
    """The server's side of all sessions.

    Args:
        odd: what it does otherwise.
        versions: the revisions that it speaks, the newest last.
        sessions: whether it issues session ids.
        pages: what tools/list gives, page by page.
        get: "" for HTTP 405, or a stream on which is sent: nothing ("open"), what answers a tools/call ("alone"), or that
            beside its own answer ("both").
    """

    odd: Odd = lambda _call, _asked: None
    versions: Sequence[str] = (JUNE, NOVEMBER)
    sessions: bool = True
    pages: Sequence[Sequence[Any]] = (TOOLS,)
    capabilities: Mapping[str, Any] = field(default_factory=lambda: {"tools": {}})
    get: str = ""
    _issued: int = 0
    _open: set[str] = field(default_factory=set)
    _streams: dict[str, queue.Queue[bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hook(self, call: Call) -> Reply | Raw | None:
        asked = self.occasion(call)
        return self.odd(call, asked) or self.answer(call, asked)

    def occasion(self, call: Call) -> str:
        """Name what is remarkable about a request, else what it asks for."""
        origin, session = call.header("origin"), call.header("mcp-session-id")
        version, accept = call.header("mcp-protocol-version"), call.header("accept") or ""
        if origin is not None:
            return "own-origin" if origin.startswith(("http://127.", "https://127.")) else "foreign-origin"
        if call.verb == "GET":
            return "GET"
        if call.method == "initialize":
            return (
                f"initialize-{call.message['params']['protocolVersion']}" if call.times > 1 else "initialize"
            )
        if call.method == "server/discover":
            return "discover"
        if self.sessions and (session is None or session not in self._open):
            ended = session is not None and session.startswith("strict-session-")
            return "no-session" if session is None else "ended-session" if ended else "unknown-session"
        if call.verb == "DELETE":
            return "DELETE"
        if version is None and len(self.versions) and self.versions[-1] >= JUNE:
            return "no-version"
        if version not in (None, OLD, MARCH, JUNE, NOVEMBER):
            return "unknown-version"
        if not call.message:
            return "batch" if call.http.body.startswith(b"[") else "malformed"
        if "id" not in call.message:
            return "notification" if call.method == "notifications/initialized" else "unknown-notification"
        if call.method not in METHODS:
            return "unknown-method"
        if call.message["id"] is None or call.message["jsonrpc"] != "2.0":
            return "invalid"
        if call.method == "tools/call" and not call.tool:
            return "nameless"
        if not accept.startswith("application/json"):
            return "accept-case" if accept.lower().startswith("application/json") else "accept-order"
        if "charset" in (call.header("content-type") or ""):
            return "charset"
        if call.tool and call.tool not in {tool.get("name") for page in self.pages for tool in page}:
            return "unknown-tool"
        return {"tools/list": "list", "tools/call": "call", "ping": "ping"}[call.method]

    def answer(self, call: Call, asked: str) -> Reply | Raw:
        """Return what the strict server says."""
        match asked:
            case "foreign-origin":
                return refusal(call, 403)
            case "GET":
                return self._listen(call) if self.get else Reply(status=405, headers=["Allow: POST"])
            case "discover" | "unknown-method":
                return Reply(error=NOT_FOUND)
            case "nameless":
                return Reply(error={"code": -32602, "message": "No name"})
            case "no-session" | "invalid":
                return refusal(call, 400)
            case "unknown-session" | "ended-session":
                return refusal(call, 404, -32001)
            case "unknown-version":
                return refusal(call, 400)
            case "malformed":
                return Reply(
                    message={"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "No JSON"}},
                    status=400,
                )
            case "batch" if self.versions[-1] != MARCH:
                return refusal(call, 400)
            case "batch":
                pongs = [{"jsonrpc": "2.0", "id": f"batch-{number}", "result": {}} for number in (1, 2)]
                return Reply(message=pongs)
            case "DELETE":
                with self._lock:
                    self._open.discard(call.header("mcp-session-id") or "")
                return Reply(status=204) if self.sessions else Reply(status=405)
            case "initialize":
                return self.opened(call)
        return self.opened(call) if asked.startswith("initialize-") else self._good(call)

    def opened(self, call: Call, session: str | None = None) -> Reply:
        """Open a session, under an id of its own: what is given and a number, for two sessions side by side are never one."""
        offered = call.message["params"]["protocolVersion"]
        with self._lock:
            self._issued += 1
            session = f"{session or 'strict-session-'}{self._issued}"
            self._open.add(session)
        result = {
            "protocolVersion": offered if offered in self.versions else self.versions[-1],
            "capabilities": dict(self.capabilities),
            "serverInfo": {"name": "strict", "version": "1"},
        }
        return Reply(result=result, headers=[f"Mcp-Session-Id: {session}"] if self.sessions else [])

    def _good(self, call: Call) -> Reply | Raw:
        if call.method == "tools/list":
            cursor = call.message.get("params", {}).get("cursor", "0")
            if not cursor.isdecimal():
                return Reply(error={"code": -32602, "message": "Unknown cursor"})
            page = int(cursor)
            more = {"nextCursor": str(page + 1)} if page + 1 < len(self.pages) else {}
            return Reply(result={"tools": list(self.pages[page]), **more})
        reply = good(call, [tool for page in self.pages for tool in page])
        stream = self._streams.get(call.header("mcp-session-id") or "") if call.tool else None
        if stream is None or self.get == "open":
            return reply
        stream.put(reply.content(call)[0])
        return Reply(events=[]) if self.get == "alone" else reply

    def _listen(self, call: Call) -> Raw:
        said = self._streams.setdefault(call.header("mcp-session-id") or "", queue.Queue())

        def listen(peer: Peer) -> None:
            peer.head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
            while not peer.server.ending.is_set():
                try:
                    peer.chunk(b"data: " + said.get(timeout=0.05) + b"\n\n")
                except queue.Empty:
                    continue

        return listen


def refusal(call: Call, status: int, code: int = -32600) -> Reply:
    """Return a JSON-RPC error under an HTTP error."""
    error = {"code": code, "message": "This request is refused."}
    return Reply(message={"jsonrpc": "2.0", "id": call.message.get("id"), "error": error}, status=status)


@contextmanager
def strict(odd: Odd = lambda _call, _asked: None, **how: Any) -> Iterator[Seller]:
    """Run a strict server; `how` are members of Strict."""
    server = Strict(odd, **how)
    with scripted(server.hook, tools=[tool for page in server.pages for tool in page]) as seller:
        yield seller
