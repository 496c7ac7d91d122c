"""A whole client: the official MCP client makes the call, and the small extractor reads the answer.

pytest --adcp-profile=client --adcp-client-command="python adapter.py whole_client:call"
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

import my_extractor
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

ADCP_EXTRACTOR = {"name": "my-extractor with mcp", "version": version("mcp")}


def call(request: dict[str, Any]) -> dict[str, Any]:
    """Make the call of a request and answer what came of it."""
    answer = asyncio.run(_answer_of(**request["call"]))
    if isinstance(answer, Exception):
        raise answer
    if request["kind"] == "success":
        return {"data": None if "error" in answer else my_extractor.mcp_data(answer)}
    return my_extractor.told(my_extractor.mcp_error(answer))


async def _answer_of(url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | Exception:
    """Return the tool result, the JSON-RPC error, or why there is none: raised in here it would become a group."""
    async with streamable_http_client(url) as streams, ClientSession(*streams) as session:
        try:
            await session.initialize()
            result = await session.call_tool(tool, arguments)
        except MCPError as raised:
            return {"error": {"data": raised.data}}
        except Exception as error:
            return error
        return result.model_dump(by_alias=True, exclude_unset=True)
