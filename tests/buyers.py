"""A hand-written MCP client for tests of the reference seller: it sees statuses, headers and raw messages."""

from __future__ import annotations

import itertools
import json
import uuid
from types import TracebackType
from typing import Any, Self

import httpx

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "tests", "version": "1"}
ACCEPT = "application/json, text/event-stream"
ACCOUNT = {
    "brand": {"domain": "acmeoutdoor.example"},
    "operator": "pinnacle-agency.example",
    "sandbox": True,
}


class Buyer:
    """Talks to one seller; opens a session in the handshake era, unless told to come without one."""

    def __init__(self, url: str, *, stateless: bool = False, connect: bool = True) -> None:
        self.url = url
        self.stateless = stateless
        self._ids = itertools.count(1)
        # verify=False: there is no TLS here, and loading certificates takes longer than a test.
        self.http = httpx.Client(
            headers={"accept": ACCEPT, "content-type": "application/json"},
            timeout=10,
            trust_env=False,
            verify=False,
        )
        self.server: dict[str, Any] = {}
        if connect and not stateless:
            response = self.post(self.message("initialize", initialize_params()))
            self.server = message_of(response)["result"]
            self.http.headers["mcp-protocol-version"] = self.server["protocolVersion"]
            if "mcp-session-id" in response.headers:
                self.http.headers["mcp-session-id"] = response.headers["mcp-session-id"]
            assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def message(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """A request of the buyer's era."""
        params = dict(params or {})
        if self.stateless:
            params["_meta"] = {f"{META}protocolVersion": STATELESS, f"{META}clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def post(self, body: object, **headers: str | None) -> httpx.Response:
        """Post a message, or bytes. Headers are named with underscores; None leaves one out."""
        sent = dict(self.http.headers)
        if self.stateless and isinstance(body, dict):
            sent |= {"mcp-protocol-version": STATELESS, "mcp-method": body["method"]}
            if "name" in body.get("params", {}):
                sent["mcp-name"] = body["params"]["name"]
        for name, value in headers.items():
            sent.pop(name.replace("_", "-"), None)
            if value is not None:
                sent[name.replace("_", "-")] = value
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = httpx.Request("POST", self.url, headers=sent, content=content)
        return self.http.send(request)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response message to a request."""
        return message_of(self.post(self.message(method, params)))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tools/call."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def payload(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The AdCP payload of a call that has to succeed."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def error(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The AdCP error of a call that has to fail."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True, result
        return result["structuredContent"]["adcp_error"]

    def tools(self) -> list[dict[str, Any]]:
        """All pages of tools/list."""
        page = self.ask("tools/list")["result"]
        tools = page["tools"]
        while "nextCursor" in page:
            page = self.ask("tools/list", {"cursor": page["nextCursor"]})["result"]
            tools += page["tools"]
        return tools


def initialize_params(version: str = HANDSHAKE) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}


def message_of(response: httpx.Response) -> dict[str, Any]:
    """The one JSON-RPC message of an answer, as JSON or as an event stream."""
    if response.headers["content-type"] == "text/event-stream":
        [event] = response.text.removesuffix("\n\n").split("\n\n")
        kind, data = event.split("\n")
        assert kind == "event: message"
        return json.loads(data.removeprefix("data: "))
    assert response.headers["content-type"] == "application/json"
    return response.json()


def key() -> str:
    return str(uuid.uuid4())


def order(product: str = "news_display", **changes: Any) -> dict[str, Any]:
    """Arguments of a create_media_buy that is accepted."""
    option = {"homepage_takeover": "homepage_takeover_day"}.get(product, f"{product}_cpm")
    package = {"product_id": product, "pricing_option_id": option, "budget": 1000, "bid_price": 40}
    return {
        "idempotency_key": key(),
        "account": ACCOUNT,
        "brand": {"domain": "acmeoutdoor.example"},
        "start_time": "asap",
        "end_time": "2098-01-01T00:00:00Z",
        "packages": [package],
        **changes,
    }
