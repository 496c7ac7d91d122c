"""tools/list and tools/call: what every endpoint has, and the tools of the AdCP tasks."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Protocol

from . import views
from .adcp import Agent
from .exchange import Exchange, Hooks, ToolCall
from .rpc import INVALID_PARAMS, Json, RpcError


class Tools(Protocol):
    """What an MCP endpoint lists and calls."""

    @property
    def instructions(self) -> str:
        """What initialize and server/discover say about it."""

    def page(self, params: Json) -> Json:
        """Return one page of tools/list.

        Raises:
            RpcError: the cursor is none of ours.
        """

    def call(self, exchange: Exchange) -> Json:
        """Return the result of a tools/call.

        Raises:
            RpcError: it is answered with a JSON-RPC error.
        """


class Toolbox:
    """The tools of one seller."""

    instructions = (
        "A fictitious AdCP sales agent with a small catalogue of advertising products, creative formats and "
        "signals. It books in sandbox accounts only: no campaign runs and no money moves."
    )

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
        return paged(tools, params, self._per_page)

    def call(self, exchange: Exchange) -> Json:
        """Return the result of a tools/call.

        Raises:
            RpcError: the params are malformed, or name a tool that is not listed.
        """
        name, arguments = called(exchange)
        task = self._agent.tasks.get(name)
        if task is None:
            raise unknown_tool()
        result = self._agent.call(task, arguments)
        if self._hooks.result is None:
            return result
        call = ToolCall(name, arguments, exchange.ordinal, lambda other: self._agent.call(task, other))
        return self._hooks.result(call, result)


def paged(tools: Sequence[Json], params: Json, per_page: int) -> Json:
    """Return the page of tools/list that the params of a request ask for.

    Raises:
        RpcError: the cursor is none of ours.
    """
    start = _offset(params["cursor"], len(tools)) if "cursor" in params else 0
    end = start + per_page
    page: Json = {"tools": tools[start:end]}
    if end < len(tools):
        page["nextCursor"] = _cursor(end)
    return page


def called(exchange: Exchange) -> tuple[str, Json]:
    """Return the tool and the arguments of a tools/call.

    Raises:
        RpcError: the params are malformed.
    """
    name = exchange.tool
    arguments = exchange.params.get("arguments", {})
    if name is None or not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "tools/call needs name (string) and arguments (object).")
    return name, arguments


def unknown_tool() -> RpcError:
    """Return what a call of a tool that is not listed is answered with."""
    return RpcError(INVALID_PARAMS, "Unknown tool: tools/list names the tools of this server.")


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
