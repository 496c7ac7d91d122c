"""MCP over Streamable HTTP from the client's side: the initialize handshake and the stateless 2026-07-28 lifecycle.

A Session only makes messages and headers and reads what the server answered; wire.py sends them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import __version__
from .transcript import Era

HANDSHAKE_REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
OFFERED = HANDSHAKE_REVISIONS[-1]
STATELESS_REVISION = "2026-07-28"
OLD_REVISION = "2024-11-05"  # before Streamable HTTP; servers that answer it are tried all the same
CLIENT = {"name": "pytest-adcp", "version": __version__}
USER_AGENT = f"pytest-adcp/{__version__}"
LONGEST_ID = 1024  # characters of an id that a server names and that goes back to it
_META = "io.modelcontextprotocol"
_SENTINEL = re.compile(r"=\?base64\?.*\?=", re.DOTALL)
_PLAIN = re.compile("[\x20-\x7e]*")

Headers = tuple[tuple[str, str], ...]
CallHeaders = Callable[[str, Mapping[str, Any]], Headers]  # of a tool's name and its arguments


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One JSON-RPC message, ready to be POSTed."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(slots=True)
class Session:
    """The state of a conversation: which era it is in, and in the handshake era its revision and session id."""

    era: Era
    revision: str = OFFERED
    session_id: str | None = None
    param_headers: CallHeaders = lambda *_: ()  # what a call of the stateless era says in headers too
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # what the client says that it has

    def initialize(self, request_id: str | int, offered: str = OFFERED) -> Outgoing:
        """Return the first message of the handshake era. It carries no version header: nothing is agreed yet."""
        params = {"protocolVersion": offered, "capabilities": self.capabilities, "clientInfo": CLIENT}
        return _outgoing({"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params}, ())

    def initialized(self) -> Outgoing:
        """Return the notification that ends the handshake."""
        return _outgoing({"jsonrpc": "2.0", "method": "notifications/initialized"}, self._headers())

    def request(
        self, request_id: str | int, method: str, params: Mapping[str, Any] | None = None
    ) -> Outgoing:
        """Return a request in the form of the session's era."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if self.era is Era.HANDSHAKE:
            if params:
                message["params"] = dict(params)
            return _outgoing(message, self._headers())
        given = (params or {}).get("_meta", {})
        message["params"] = {**(params or {}), "_meta": {**given, **self._meta()}}
        headers = [("MCP-Protocol-Version", STATELESS_REVISION), ("Mcp-Method", method)]
        name = (params or {}).get("uri" if method == "resources/read" else "name")
        if isinstance(name, str):
            headers.append(("Mcp-Name", header_value(name)))
            arguments = (params or {}).get("arguments")
            headers += self.param_headers(name, arguments) if isinstance(arguments, Mapping) else ()
        return _outgoing(message, tuple(headers))

    def response(self, request: Mapping[str, Any]) -> Outgoing:
        """Return the answer to a request of the server's: a ping is answered, nothing else was offered to it."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "this client declared no such capability"}
        return _outgoing(answer, self._headers())

    def closing(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of the DELETE that ends a session."""
        return self._headers()

    def _headers(self) -> tuple[tuple[str, str], ...]:
        revision = self.revision if self.era is Era.HANDSHAKE else STATELESS_REVISION
        headers = [("MCP-Protocol-Version", revision)]
        if self.session_id is not None:
            headers.append(("Mcp-Session-Id", self.session_id))
        return tuple(headers)

    def _meta(self) -> dict[str, Any]:
        return {
            f"{_META}/protocolVersion": STATELESS_REVISION,
            f"{_META}/clientCapabilities": self.capabilities,
            f"{_META}/clientInfo": CLIENT,
        }


def header_value(text: str) -> str:
    """Return a text as a header carries it: encoded where a header cannot hold it, or it looks as if it were encoded."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def speaks(revision: Any) -> str | None:
    """Return the revision to go on with after an initialize result.

    A revision that exists is spoken as answered. One that does not is a finding; the survey goes on as if the offer
    had been accepted, so that the rest can be judged.
    """
    if not isinstance(revision, str):
        return None
    return revision if revision in (*HANDSHAKE_REVISIONS, OLD_REVISION) else OFFERED


def _outgoing(message: Mapping[str, Any], headers: tuple[tuple[str, str], ...]) -> Outgoing:
    base = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))
    return Outgoing((*base, *headers), json.dumps(message, ensure_ascii=True).encode("ascii"))
