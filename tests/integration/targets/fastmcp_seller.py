"""A small conforming seller on FastMCP with its default settings."""

from __future__ import annotations

import json
from typing import Any

import small_seller
from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from listening import serve

server = FastMCP("fastmcp-seller", version="1.0")


def answer(said: small_seller.Said) -> ToolResult:
    payload, is_error = said
    return ToolResult(content=json.dumps(payload), structured_content=payload, is_error=is_error)


@server.tool
def get_adcp_capabilities(context: dict[str, Any] | None = None) -> ToolResult:
    """Say what this seller supports."""
    return answer(small_seller.capabilities(context))


@server.tool
def get_products(
    buying_mode: str, brief: str = "", adcp_major_version: int = 3, context: dict[str, Any] | None = None
) -> ToolResult:
    """List the products on sale."""
    return answer(small_seller.products(context, adcp_major_version))


serve(server.http_app())
