"""A small conforming seller on the official Python SDK before its second major version, with its default settings."""

from __future__ import annotations

import json
from typing import Any

import small_seller
from listening import serve
from mcp.server.fastmcp import FastMCP
from mcp.types import CallToolResult, TextContent

server = FastMCP("official-sdk-1-seller")


def answer(said: small_seller.Said) -> CallToolResult:
    payload, is_error = said
    text = TextContent(type="text", text=json.dumps(payload))
    return CallToolResult(content=[text], structuredContent=payload, isError=is_error)


@server.tool()
def get_adcp_capabilities(context: dict[str, Any] | None = None) -> CallToolResult:
    """Say what this seller supports."""
    return answer(small_seller.capabilities(context))


@server.tool()
def get_products(
    buying_mode: str, brief: str = "", adcp_major_version: int = 3, context: dict[str, Any] | None = None
) -> CallToolResult:
    """List the products on sale."""
    return answer(small_seller.products(context, adcp_major_version))


serve(server.streamable_http_app())
