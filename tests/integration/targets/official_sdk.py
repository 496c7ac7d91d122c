"""A conforming seller on the official MCP SDK with its default settings: a harness must find nothing wrong with it.

The argument says how it is served:
    sessions        the SDK's default: sessions, event streams, both MCP eras
    stateless-json  no sessions, JSON bodies, both MCP eras
    stateless-era   2026-07-28 only
"""

from __future__ import annotations

import json
import sys
from typing import Any

from listening import serve
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent
from starlette.responses import JSONResponse

server = MCPServer("official-sdk-seller", version="1.4.0")

PRODUCT = {
    "product_id": "homepage",
    "name": "Homepage banner",
    "description": "A banner above the fold",
    "publisher_properties": [{"publisher_domain": "news.example", "selection_type": "all"}],
    "channels": ["display"],
    "format_ids": [{"agent_url": "https://formats.example", "id": "banner"}],
    "delivery_type": "guaranteed",
    "pricing_options": [
        {"pricing_option_id": "cpm", "pricing_model": "cpm", "fixed_price": 8.0, "currency": "USD"}
    ],
    "reporting_capabilities": {
        "available_reporting_frequencies": ["daily"],
        "expected_delay_minutes": 60,
        "timezone": "UTC",
        "supports_webhooks": False,
        "available_metrics": ["impressions"],
        "date_range_support": "date_range",
    },
}
PERIOD = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-31T00:00:00Z"}
Context = dict[str, Any] | None


def failure(context: Context, code: str, message: str, field: str, **members: Any) -> CallToolResult:
    error = {"code": code, "message": message, "recovery": "correctable", "field": field, **members}
    payload = {"status": "failed", "adcp_error": error, **echo(context)}
    text = TextContent(type="text", text=json.dumps(payload))
    return CallToolResult(content=[text], structured_content=payload, is_error=True)


def success(context: Context, **members: Any) -> CallToolResult:
    payload = {"status": "completed"} | members | echo(context)
    text = TextContent(type="text", text=json.dumps(payload))
    return CallToolResult(content=[text], structured_content=payload)


def echo(context: Context) -> dict[str, Any]:
    return {} if context is None else {"context": context}


@server.tool()
def get_adcp_capabilities(context: Context = None) -> dict[str, Any]:
    """Say what this seller supports."""
    # A plain dict: the SDK makes structuredContent and text of it, and an outputSchema of the annotation.
    adcp = {"major_versions": [3], "idempotency": {"supported": False}}
    return {"status": "completed", "adcp": adcp, "supported_protocols": ["media_buy"]} | echo(context)


@server.tool()
def get_products(
    buying_mode: str,
    brief: str = "",
    adcp_major_version: int = 3,
    filters: dict[str, Any] | None = None,
    context: Context = None,
) -> CallToolResult:
    """List the products on sale."""
    if adcp_major_version != 3:
        served = {"supported_versions": ["3.0"]}
        return failure(
            context, "VERSION_UNSUPPORTED", "This seller speaks AdCP 3.", "adcp_major_version", details=served
        )
    return success(context, products=[PRODUCT])


@server.tool()
def get_media_buy_delivery(media_buy_ids: list[str] | None = None, context: Context = None) -> CallToolResult:
    """Report what was delivered."""
    if media_buy_ids:
        return failure(context, "MEDIA_BUY_NOT_FOUND", "No media buy has this id.", "media_buy_ids[0]")
    return success(context, reporting_period=PERIOD, currency="USD", media_buy_deliveries=[])


def stateless_era_only(app: Any) -> Any:
    """Refuse what belongs to the handshake era; the SDK itself always serves both."""
    error = {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"},
    }
    refusal = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=400)

    async def gate(scope: Any, receive: Any, send: Any) -> None:
        is_http = scope["type"] == "http"  # the SDK starts up and shuts down through the other ones
        if is_http and dict(scope["headers"]).get(b"mcp-protocol-version") != b"2026-07-28":
            await refusal(scope, receive, send)
        else:
            await app(scope, receive, send)

    return gate


match sys.argv[1]:
    case "sessions":
        serve(server.streamable_http_app())
    case "stateless-json":
        serve(server.streamable_http_app(stateless_http=True, json_response=True))
    case "stateless-era":
        serve(stateless_era_only(server.streamable_http_app()))
    case other:
        sys.exit(f"{other}: no such way to serve")
