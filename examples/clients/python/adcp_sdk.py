"""PyPI `adcp`, as it is: nothing is mended on the way, and nothing is taken away.

Responses are parsed by the SDKs that the library parses them with, so its user gets what these raise. What is an AdCP
error or a payload then is left to the functions that the library's own adapters call.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3.types import Task as Task03
from a2a.types import StreamResponse, Task
from adcp import __version__
from adcp.exceptions import ADCPTaskError
from adcp.protocols.a2a import A2AAdapter
from adcp.protocols.mcp import MCPAdapter, extract_adcp_error, extract_adcp_success
from adcp.types.core import AgentConfig, Protocol, TaskResult
from google.protobuf.json_format import ParseDict
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, JSONRPCError, jsonrpc_message_adapter
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION

LIMIT = 4 * 1024 * 1024
ADCP_EXTRACTOR = {
    "name": "adcp (PyPI)",
    "version": __version__,
    "transports": ["mcp", "a2a"],
    "limit": {"size": LIMIT, "unit": "bytes", "configurable": False},
}


def extract(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of the extractor protocol."""
    text = request["response"]
    if request["transport"] == "a2a":
        return _a2a(json.loads(text), request["kind"])
    received = _received(text)
    if isinstance(received, JSONRPCError):
        return told(asyncio.run(_call(received)).adcp_error)
    if request["kind"] == "success":
        return {"data": extract_adcp_success(received, max_response_bytes=LIMIT)}
    return told(extract_adcp_error(received, max_response_bytes=LIMIT))


def _received(text: str) -> CallToolResult | JSONRPCError:
    """Parse an answer as the client session of the MCP SDK does."""
    is_response = json.loads(text).keys() >= {"jsonrpc", "error"}
    whole = text if is_response else f'{{"jsonrpc": "2.0", "id": 1, "result": {text}}}'
    message = jsonrpc_message_adapter.validate_json(whole.encode("utf-8"), by_name=False)
    if isinstance(message, JSONRPCError):
        return message
    validate_server_result("tools/call", LATEST_HANDSHAKE_VERSION, message.result)
    return CallToolResult.model_validate(message.result, by_name=False)


async def _call(error: JSONRPCError) -> TaskResult[Any]:
    """Return what a call gives whose session raises a JSON-RPC error, as that of the MCP SDK does."""

    class Session:
        async def call_tool(self, *_: Any, **__: Any) -> None:
            raise MCPError.from_jsonrpc_error(error)

    adapter = MCPAdapter(AgentConfig(id="seller", agent_uri="http://127.0.0.1", protocol=Protocol.MCP))
    adapter._inject_session(Session())  # what ADCPClient.from_mcp_client does
    return await adapter._call_mcp_tool("get_products", {})


def _a2a(answer: dict[str, Any], kind: str) -> dict[str, Any]:
    task = _task(answer)
    if task is None:  # an update or a message: the library takes no data from these
        return {"data": None} if kind == "success" else told(None)
    adapter = A2AAdapter(AgentConfig(id="seller", agent_uri="http://127.0.0.1", protocol=Protocol.A2A))
    result = adapter._process_task_response(task, None)
    if kind == "error":
        return told(result.adcp_error)
    # The library keeps errors apart from data, where the page has one function for both.
    return {"data": {"adcp_error": result.adcp_error} if result.adcp_error else result.data}


def _task(answer: dict[str, Any]) -> Task | None:
    """Parse a task as a2a-sdk does, which knows from the agent card whether A2A 1.0 or 0.3 is spoken."""
    if answer.keys() & {"task", "message", "statusUpdate", "artifactUpdate"}:
        event = ParseDict(answer, StreamResponse())
        return event.task if event.WhichOneof("payload") == "task" else None
    if "taskId" in answer:
        return None
    if str(answer.get("status", {}).get("state", "")).startswith("TASK_STATE_"):
        return ParseDict(answer, Task())
    return conversions.to_core_task(Task03.model_validate(_completed(answer)))


def _completed(task: dict[str, Any]) -> dict[str, Any]:
    """Return a task of A2A 0.3 with the ids that vectors leave out; no server does."""
    status = task.get("status", {})
    if isinstance(message := status.get("message"), dict):
        status = {**status, "message": {"messageId": "m", "role": "agent", "kind": "message", **message}}
    artifacts = [{"artifactId": "a", **artifact} for artifact in task.get("artifacts") or []]
    return {"id": "t", "contextId": "c", **task, "status": status, "artifacts": artifacts}


def told(error: dict[str, Any] | None) -> dict[str, Any]:
    """Tell an error, and what the library's exception says about trying again."""
    if error is None:
        return {"data": None, "action": "generic_error"}
    raised = ADCPTaskError("call", [error])
    (info,) = raised.error_info
    actions = {"correctable": "surface_to_caller", "terminal": "escalate_to_human"}
    action = "retry" if raised.is_retryable else actions.get(info.recovery or "")
    return {"data": error, "action": action, "retry_after": info.retry_after}
