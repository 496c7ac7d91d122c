"""A first agent on the official MCP SDK: like FastMCP, it wraps whatever is no object in {"result": ...}."""

from __future__ import annotations

import json
from typing import Any

from listening import serve
from mcp.server.mcpserver import MCPServer

server = MCPServer("first-agent")


@server.tool()
def get_adcp_capabilities() -> dict[str, Any]:
    return {"adcp": {"major_versions": [3]}, "supported_protocols": ["media_buy"]}


@server.tool()
def get_products(brief: str = "") -> str:
    return json.dumps({"products": [{"product_id": "homepage", "name": "Homepage banner"}]})


@server.tool()
def list_creative_formats() -> list[dict[str, Any]]:
    return [{"format_id": {"agent_url": "https://formats.example", "id": "banner"}, "name": "Banner"}]


@server.tool()
def get_media_buys():
    return {"media_buys": []}


serve(server.streamable_http_app())
