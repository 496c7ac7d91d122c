"""Faults that show only in what the official client makes of an answer. Others that it stumbles over stand where they belong."""

from __future__ import annotations

from pytest_adcp.harness.seller.exchange import Exchange, Hooks
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_method, on_success, rules

_HIDING = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "a region"}}}


def _hiding(exchange: Exchange, message: Json, _: int) -> Json:
    """Give one tool an x-mcp-header that names no header."""
    if exchange.method != "tools/list" or "result" not in message:
        return message
    extra = {"name": "seller_region", "description": "Names the region.", "inputSchema": _HIDING}
    first = exchange.params.get("cursor") is None
    tools = [*message["result"]["tools"], *([extra] if first else [])]
    return {**message, "result": {**message["result"], "tools": tools}}


FAULTS = (
    Fault(
        "discover-scope-unknown",
        'server/discover has the cacheScope "shared", for which the official client goes back to initialize.',
        on_method("server/discover", lambda result: {**result, "cacheScope": "shared"}),
        rules("mcp.result.cache"),
        advises=rules("mcp.interop.connects"),
    ),
    Fault(
        "tool-hidden-by-header",
        "A tool has an x-mcp-header that is no name of a header, for which clients of MCP 2026-07-28 leave it out.",
        Hooks(message=_hiding),
        rules("mcp.tools.header-annotations"),
        advises=rules("mcp.interop.tools"),
    ),
    Fault(
        "data-beside-content",
        "Successes have AdCP data beside content, where the official client drops it.",
        on_success(lambda result: {**result, "next_steps": [{"task": "create_media_buy"}]}),
        advises=rules("mcp.interop.same-result"),
    ),
)
