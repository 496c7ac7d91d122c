"""MCP tools: the list, and a call of something that is not on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pytest_adcp.harness.jsontext import truthy
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Message, Tools
from pytest_adcp.harness.text import quote


@rule("mcp.tools.unique-names", level=Level.MUST, source=mcp("server/tools", "data-types"))
def tool_names_are_unique(tools: Tools) -> None:
    """No two listed tools have the same name, over all pages of tools/list.

    Register each tool once. A name comes twice where two routers or mounted servers bring the same tool
    (FastMCP: give mount() a namespace), or where the second page repeats the end of the first.
    """
    if not tools.listed:
        raise NotApplicable("no tool is listed")
    names = Counter(name for tool in tools.listed if isinstance(name := tool.get("name"), str))
    twice = {name: count for name, count in names.items() if count > 1}
    if twice:
        shown = ", ".join(f"{quote(name, 60)} {count} times" for name, count in list(twice.items())[:5])
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise Broken(
            "each name once",
            shown + more,
            because=f"tools/list names a tool more than once ({shown}{more}); a client keeps one of the "
            "definitions, and nobody knows which one a call reaches",
        )


@rule("mcp.tools.unknown-tool", level=Level.MUST, source=mcp("server/tools", "error-handling"))
def unknown_tools_are_refused(unknown_tool: Message) -> None:
    """No call of a tool that is not listed is answered with a success.

    Answer JSON-RPC error -32602, or a result with isError: true as the official SDKs do. A catch-all handler
    must not turn a name it does not know into an empty result.
    """
    if "error" in unknown_tool.value:
        return
    result = unknown_tool.value.get("result")
    if not isinstance(result, Mapping):
        raise NotApplicable("the result is not an object; mcp.jsonrpc.result-object looks at it")
    if not truthy(result.get("isError")):
        raise Broken(
            "a JSON-RPC error, or a result with isError: true",
            quote(result),
            at="/result/isError" if "isError" in result else "/result",
            because="a call of a tool that does not exist was answered as a success; a buyer's agent with a "
            "typing error or an old tool name takes it for done",
        )
