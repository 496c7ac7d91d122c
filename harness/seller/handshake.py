"""The handshake era of MCP (2025-03-26 to 2025-11-25): initialize, sessions, ping."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness import __version__

from . import views
from .exchange import Exchange
from .rpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Json, RpcError
from .toolbox import Tools

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
WITH_BATCHES = VERSIONS[-1]
SESSION_HEADER = "Mcp-Session-Id"
MAX_SESSIONS = 1000  # the oldest makes room

SERVER_INFO = {"name": "pytest-adcp-seller", "title": "Reference seller", "version": __version__}
CAPABILITIES: Json = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
}


class Handshake:
    """Sessions and the methods of this era."""

    def __init__(self, tools: Tools, *, sessions: bool) -> None:
        self._tools = tools
        self._sessions: OrderedDict[str, None] | None = OrderedDict() if sessions else None

    def answer(self, exchange: Exchange) -> tuple[Json, tuple[tuple[str, str], ...]]:
        """Return the result of a request, and headers of its response.

        Raises:
            RpcError: the request is refused.
        """
        if exchange.method == "initialize":
            result = {**_initialize(exchange.params), "instructions": self._tools.instructions}
            return result, self._open_session()
        self.admit(exchange)
        return self._dispatch(exchange), ()

    def admit(self, exchange: Exchange) -> None:
        """Check what every message after initialize has to carry.

        Raises:
            RpcError: an unknown protocol version, or a session that is missing or has ended.
        """
        version = exchange.request.header("mcp-protocol-version")
        if version is not None and version not in VERSIONS:
            raise RpcError(
                INVALID_REQUEST,
                f"MCP-Protocol-Version is none of {', '.join(VERSIONS)}.",
                status=HTTPStatus.BAD_REQUEST,
            )
        if self._sessions is None:
            return
        session = exchange.request.header(SESSION_HEADER.lower())
        if session is None:
            raise RpcError(INVALID_REQUEST, f"{SESSION_HEADER} is missing.", status=HTTPStatus.BAD_REQUEST)
        if session not in self._sessions:
            raise RpcError(INVALID_REQUEST, "The session has ended.", status=HTTPStatus.NOT_FOUND)

    def end_session(self, session: str) -> bool:
        """End a session; False where there is none of that id."""
        if self._sessions is None or session not in self._sessions:
            return False
        del self._sessions[session]
        return True

    def _open_session(self) -> tuple[tuple[str, str], ...]:
        if self._sessions is None:
            return ()
        session = secrets.token_urlsafe(24)
        self._sessions[session] = None
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return ((SESSION_HEADER, session),)

    def _dispatch(self, exchange: Exchange) -> Json:
        match exchange.method:
            case "ping":
                return {}
            case "tools/list":
                return self._tools.page(exchange.params)
            case "tools/call":
                return self._tools.call(exchange)
            case "resources/list":
                return views.listing()
            case "resources/read":
                return views.contents(exchange.params)
        raise RpcError(METHOD_NOT_FOUND, "This server has no such method.")


def _initialize(params: Json) -> Json:
    requested: Any = params.get("protocolVersion")
    client: Any = params.get("clientInfo")
    if not isinstance(requested, str) or not isinstance(params.get("capabilities"), dict):
        raise RpcError(INVALID_PARAMS, "initialize needs protocolVersion (string) and capabilities (object).")
    if not isinstance(client, dict) or not all(
        isinstance(client.get(key), str) for key in ("name", "version")
    ):
        raise RpcError(INVALID_PARAMS, "initialize needs clientInfo with name and version.")
    return {
        "protocolVersion": requested if requested in VERSIONS else VERSIONS[0],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER_INFO,
    }
