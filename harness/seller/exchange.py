"""One HTTP request with the JSON-RPC message it carries, and the hooks that may change its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .http import Reply, Request, Wire
from .rpc import Json, RpcError, request_id

UNTOUCHED_TASK = "get_adcp_capabilities"  # faults leave it alone: without it nothing is known of a seller


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request on its way through the seller."""

    request: Request
    message: Json | None = None  # None where the body is no JSON-RPC message
    problem: RpcError | None = None  # why it is none
    ordinal: int = 0  # 1 for the seller's first call of an AdCP task but UNTOUCHED_TASK, 0 for all else

    @property
    def method(self) -> str:
        """The JSON-RPC method; empty where the message has none."""
        return str((self.message or {}).get("method", ""))

    @property
    def params(self) -> Json:
        """The JSON-RPC params; empty where the message has none."""
        params: Json = (self.message or {}).get("params", {})
        return params

    @property
    def id(self) -> str | int | None:
        """The JSON-RPC id, None where the message has none."""
        return request_id(self.message or {})

    @property
    def tool(self) -> str | None:
        """The tool of a tools/call, None for all else."""
        name = self.params.get("name") if self.method == "tools/call" else None
        return name if isinstance(name, str) else None

    @property
    def wants_answer(self) -> bool:
        """Tell a request from a notification or a response."""
        return bool(self.method) and self.id is not None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tools/call as a fault sees it."""

    tool: str
    arguments: Mapping[str, Any]
    ordinal: int  # see Exchange
    again: Callable[[Json], Json]  # the conforming result for other arguments of the same tool


Answer = Callable[[Exchange], Awaitable[Reply]]

# A tool result -> the one that is sent.
ResultHook = Callable[[ToolCall, Json], Json]
# A JSON-RPC response and its HTTP status -> what is sent.
MessageHook = Callable[[Exchange, Json, int], Json | bytes]
# The response as an SSE event -> the bytes of the stream.
StreamHook = Callable[[Exchange, bytes], AsyncGenerator[bytes, None]]
# Writes what it likes to the wire; the Answer is what the seller itself would say.
HttpHook = Callable[[Exchange, Answer, Wire], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The four places where an answer may be changed; the conforming seller has none."""

    result: ResultHook | None = None
    message: MessageHook | None = None
    stream: StreamHook | None = None
    http: HttpHook | None = None
