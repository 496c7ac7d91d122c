"""tools/list and tools/call over the AdCP tasks."""

from __future__ import annotations

import base64

from . import views
from .adcp import Agent
from .exchange import Exchange, Hooks, ToolCall
from .rpc import INVALID_PARAMS, Json, RpcError


class Toolbox:
    """The tools of one seller."""

    def __init__(self, agent: Agent, hooks: Hooks, per_page: int) -> None:
        self._agent = agent
        self._hooks = hooks
        self._per_page = per_page

    def page(self, params: Json) -> Json:
        """Return one page of tools/list.

        Raises:
            RpcError: the cursor is none of ours.
        """
        tools = [views.shown(task.definition(self._agent.release)) for task in self._agent.tasks.values()]
        start = _offset(params["cursor"], len(tools)) if "cursor" in params else 0
        end = start + self._per_page
        page: Json = {"tools": tools[start:end]}
        if end < len(tools):
            page["nextCursor"] = _cursor(end)
        return page

    def call(self, exchange: Exchange) -> Json:
        """Return the result of a tools/call.

        Raises:
            RpcError: the params are malformed, or name a tool that is not listed.
        """
        name = exchange.tool
        arguments = exchange.params.get("arguments", {})
        if name is None or not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "tools/call needs name (string) and arguments (object).")
        task = self._agent.tasks.get(name)
        if task is None:
            raise RpcError(INVALID_PARAMS, "Unknown tool: tools/list names the tools of this server.")
        result = self._agent.call(task, arguments)
        if self._hooks.result is None:
            return result
        call = ToolCall(name, arguments, exchange.ordinal, lambda other: self._agent.call(task, other))
        return self._hooks.result(call, result)


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"tools:{offset}".encode()).decode("ascii")


def _offset(cursor: object, total: int) -> int:
    try:
        kind, _, number = base64.urlsafe_b64decode(str(cursor)).decode("ascii").partition(":")
        if kind == "tools" and 0 < int(number) < total:
            return int(number)
    except ValueError:
        pass
    raise RpcError(INVALID_PARAMS, "cursor is not one that this server has given.")
