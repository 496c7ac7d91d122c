"""The client of PyPI `adcp`, from the call to what its caller gets.

    pytest --adcp-profile=client --adcp-client-command="python adapter.py adcp_whole_client:call"

The raw adapter behind ADCPClient is asked, which has a method for each task and returns the payload before it becomes
a typed object; and schemas are not held against it: vectors are not complete payloads.
"""

from __future__ import annotations

import asyncio
from typing import Any

import adcp_sdk
from adcp import ADCPClient
from adcp.types.core import AgentConfig, Protocol, TaskResult
from adcp.validation.client_hooks import ValidationHookConfig

ADCP_EXTRACTOR = {**adcp_sdk.ADCP_EXTRACTOR, "name": "ADCPClient of adcp (PyPI)", "transports": ["mcp"]}
_NO_SCHEMAS = ValidationHookConfig(requests="off", responses="off")


def call(request: dict[str, Any]) -> dict[str, Any]:
    """Make the call of a request and answer what the caller gets."""
    result = asyncio.run(_result_of(**request["call"]))
    if request["kind"] == "success":
        return {"data": result.data if result.success else None}
    return adcp_sdk.told(result.adcp_error)


async def _result_of(url: str, tool: str, arguments: dict[str, Any]) -> TaskResult[Any]:
    seller = AgentConfig(id="seller", agent_uri=url, protocol=Protocol.MCP)
    async with ADCPClient(seller, validation=_NO_SCHEMAS) as client:
        result: TaskResult[Any] = await getattr(client.adapter, tool)(arguments)
        return result
