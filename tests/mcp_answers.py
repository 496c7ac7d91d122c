"""Answers of an MCP server, good and spoilt, for the tests of the MCP rules."""

from __future__ import annotations

from typing import Any

from evidence import Http, surveyed, tool_result
from pytest_adcp.harness.evidence import Evidence

PRODUCTS = {"content": [], "structuredContent": {"products": []}}
GOOD = {"jsonrpc": "2.0", "id": "call-7", "result": PRODUCTS}
ERROR = {"code": -32602, "message": "no"}


def without(*names: str, **other: Any) -> dict[str, Any]:
    """The good response without some members, and with others."""
    return {name: value for name, value in GOOD.items() if name not in names} | other


def text(result: str) -> bytes:
    """A good response whose result is this JSON text."""
    return b'{"jsonrpc":"2.0","id":"call-7","result":' + result.encode() + b"}"


def block(*blocks: Any, **rest: Any) -> Evidence:
    return tool_result({"content": list(blocks)}, **rest)


def handshake(**members: Any) -> Evidence:
    """A survey whose initialize result has these members; ... takes one out."""
    good = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "seller", "version": "1"},
    }
    result = {name: value for name, value in (good | members).items() if value is not ...}
    return surveyed(initialize=Http({"jsonrpc": "2.0", "id": "init-1", "result": result}))


def discovery(result: Any, status: int = 200, **rest: Any) -> Evidence:
    return surveyed(discover=Http({"jsonrpc": "2.0", "id": "discover-1", "result": result}, status), **rest)


def notified(body: Any, status: int = 200, content_type: str = "application/json") -> Evidence:
    return surveyed(Http(GOOD), initialized=Http(body, status, content_type))


def pages(*names: list[Any]) -> Evidence:
    """A survey whose pages of tools/list name these tools."""
    results = [
        {
            "tools": [
                {"name": name, "description": "A tool.", "inputSchema": {"type": "object"}} for name in page
            ]
        }
        for page in names
    ]
    answers = [
        Http({"jsonrpc": "2.0", "id": f"list-{n}", "result": result}) for n, result in enumerate(results, 1)
    ]
    return surveyed(pages=answers)


def unknown(body: Any, status: int = 200) -> Evidence:
    return surveyed(Http(GOOD), unknown_tool=Http({"jsonrpc": "2.0", "id": "probe-1"} | body, status))
