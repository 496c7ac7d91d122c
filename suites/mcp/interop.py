"""What the official Python client makes of the server, where the bytes on the wire say something else.

It is one client, and its leniency and its strictness are its own: all of this is advice. Where a rule of MCP is behind it,
another finding says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.interop.subjects import ClientRead
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.text import one_line, plural, quote
from pytest_adcp.harness.transcript import Era

_NAMED = 5  # tools that are named
_LONGEST_NAME = 60
# Members of results that mean something to the protocol, or to nobody; a client may keep them to itself.
_OF_MCP = frozenset({"_meta", "isError", "resultType", "ttlMs", "cacheScope", "nextCursor", "task"})
_ANY_BLOCK = frozenset({"_meta", "annotations"})


@rule("mcp.interop.connects", level=Level.SHOULD, source=mcp("basic/lifecycle", "initialization"))
def the_official_client_connects(client_session: ClientRead) -> None:
    """The official Python client opens a connection in each era of MCP that the server serves.

    Compare the answer to initialize (or server/discover) with the one in the specification, member by member; an SDK of the
    current version writes it for you.
    """
    read = client_session
    if read.error is not None:
        raise NotApplicable("the server refused it this time, and the client says so")
    method = read.reply.method
    if read.refusal:
        raise Broken(
            f"an answer to {method} that the client takes",
            one_line(read.refusal),
            at=read.place,
            because=f"the official Python client ({read.client}) does not connect: to its users the server is down",
        )
    version = (read.reading or {}).get("protocolVersion")
    spoken = (STATELESS_REVISION,) if read.step.era is Era.STATELESS else HANDSHAKE_REVISIONS
    if read.step.era is Era.STATELESS and version not in spoken:
        raise Broken(
            f"a connection in MCP {STATELESS_REVISION}",
            f"one in MCP {one_line(str(version), 40)}",
            at="/result",
            because=f"the official Python client ({read.client}) takes the answer to server/discover for none, says nothing, and "
            "goes back to initialize",
        )


@rule("mcp.interop.tools", level=Level.SHOULD, source=mcp("server/tools", "listing-tools"))
def the_official_client_lists_every_tool(client_list: ClientRead) -> None:
    """The official Python client gives its user the tools that tools/list names: all of them, by the same names.

    Mend or remove the definition that the finding names; one bad tool can hide all others. Validate each definition against
    the Tool of MCP's schema before it is served.
    """
    read = client_list
    if read.error is not None and not read.refusal:
        raise NotApplicable("the server refused the list this time, and the client says so")
    named = [name for reply in read.replies for name in _names(reply.response)]
    if read.refusal:
        culprit = _tool_at(read)
        raise Broken(
            "a list that the client takes",
            one_line(read.refusal),
            at=read.place or "/result",
            because=f"the official Python client ({read.client}) refuses the whole list"
            + (f" because of {culprit}" if culprit else "")
            + ": its users see no tool at all",
            fix=f"Mend the definition of {culprit}, or take it out of the list." if culprit else "",
        )
    if read.reading is None:
        raise NotApplicable("the list is too long to be compared")
    seen = read.reading.get("tools")
    seen = seen if isinstance(seen, list) else []
    hidden = [name for name in dict.fromkeys(named) if name not in set(map(str, seen))]
    if hidden:
        shown = ", ".join(quote(name, _LONGEST_NAME) for name in hidden[:_NAMED])
        raise Broken(
            f"all of {plural(len(set(named)), 'tool')}",
            f"{len(set(named)) - len(hidden)} of them; hidden: {shown}"
            + (" and more" if len(hidden) > _NAMED else ""),
            at="/result/tools",
            because=f"the official Python client ({read.client}) does not show its users {shown}, without an error"
            + _why_hidden(read, hidden[0]),
        )


@rule("mcp.interop.results", level=Level.SHOULD, source=mcp("server/tools", "tool-result"))
def the_official_client_takes_results(client_result: ClientRead) -> None:
    """The official Python client gives its user a result wherever one came.

    Return what the client expects at the named place: a content array of known block types, structuredContent that fits the
    tool's outputSchema, a body that is labelled as what it is.
    """
    read = client_result
    _need_result(read)
    if read.refusal:
        raise Broken(
            "a result that the client takes",
            one_line(read.refusal),
            at=read.place or "/result",
            because=f"the official Python client ({read.client}) "
            + (
                "waits for a result without end"
                if read.step.silent
                else "raises an exception in the place of the result"
            )
            + ", although one came",
        )


@rule("mcp.interop.same-result", level=Level.SHOULD, source=mcp("server/tools", "tool-result"))
def the_official_client_reads_what_came(client_result: ClientRead) -> None:
    """What the official Python client gives its user says the same as what came over the wire.

    Send every member in the type that the specification gives it, and AdCP data only in structuredContent and in text blocks:
    what stands elsewhere the client repairs or drops, another client does not, and two buyers see two answers.
    """
    read = client_result
    if isinstance(read.error, Mapping) and read.step.code is not None:
        _compare_code(read, read.error)
        return
    _need_result(read)
    if read.refusal:
        raise NotApplicable("the client refused the result")
    if read.reading is None:
        raise NotApplicable("the result is too large to be compared")
    assert read.result is not None
    differences = list(_differences(read, read.result, read.reading))
    if differences:
        first, *others = differences
        first.further = [str(other) for other in others]
        raise first


def _need_result(read: ClientRead) -> None:
    if read.error is not None:
        raise NotApplicable("the answer is a JSON-RPC error, and no result")
    if read.result is None:
        raise NotApplicable("the result is no object; mcp.jsonrpc.result-object says so")
    if read.result.get("resultType") == "input_required":
        raise NotApplicable("the result asks for input, which the client has none of")


# -- tools ---------------------------------------------------------------------------------------------------------


def _names(response: Mapping[str, Any] | None) -> Iterator[str]:
    for tool in _tools(response):
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if isinstance(name, str):
            yield name


def _tools(response: Mapping[str, Any] | None) -> list[Any]:
    result = (response or {}).get("result")
    tools = result.get("tools") if isinstance(result, Mapping) else None
    return tools if isinstance(tools, list) else []


def _tool_at(read: ClientRead) -> str:
    """Return which tool the client did not take; empty where it does not say."""
    for place in read.step.places:
        _, member, index, *_ = [*place.split("/"), "", "", ""]
        tools = _tools(read.reply.response)
        if member == "tools" and index.isdecimal() and int(index) < len(tools):
            tool = tools[int(index)]
            name = tool.get("name") if isinstance(tool, Mapping) else None
            return (
                f"the tool {quote(name, _LONGEST_NAME)}"
                if isinstance(name, str)
                else f"tool number {int(index) + 1}"
            )
    return ""


def _why_hidden(read: ClientRead, name: str) -> str:
    tools = (tool for reply in read.replies for tool in _tools(reply.response) if isinstance(tool, Mapping))
    schema = next((tool.get("inputSchema") for tool in tools if tool.get("name") == name), None)
    if "x-mcp-header" in quote(schema, 20_000):
        return "; its inputSchema has an x-mcp-header that clients must not accept"
    return ""


# -- results -------------------------------------------------------------------------------------------------------


def _compare_code(read: ClientRead, error: Mapping[str, Any]) -> None:
    code = error.get("code")
    if jsontext.equal(code, read.step.code):
        return
    raise Broken(
        "an integer that reaches the client's user as it came",
        quote(code, 80),
        at="/error/code",
        because=f"the official Python client ({read.client}) gives its user the error code {read.step.code}; {quote(code, 40)} came, "
        "and other clients say so",
        fix="Send error.code as an integer and error.message as a string.",
    )


def _differences(read: ClientRead, came: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Broken]:
    """Yield what the client's user sees and did not come, and the other way round."""
    flag, flagged = came.get("isError", False), given.get("isError", False)
    if flag is not flagged:
        script = jsontext.truthy(flag)
        yield Broken(
            f"isError: {quote(flagged)}, as the client reads it",
            f"isError: {quote(flag, 40)}",
            at="/result/isError",
            because=f"isError is {quote(flag, 40)}, which the official Python client ({read.client}) takes for {quote(flagged)} and "
            + (
                "stricter clients refuse" if script is flagged else f"a JavaScript client for {quote(script)}"
            ),
            fix="Send isError as true or false.",
        )
    structured = came.get("structuredContent")
    if not jsontext.equal(structured, given.get("structuredContent")):
        yield Broken(
            "the structuredContent that came",
            quote(given.get("structuredContent")),
            at="/result/structuredContent",
            because=f"the official Python client ({read.client}) gives its user another structuredContent than came",
        )
    blocks, shown = came.get("content"), given.get("content")
    if isinstance(blocks, list) and isinstance(shown, list):
        yield from _blocks(read, blocks, shown)
    # What stands in structuredContent as well is lost to nobody.
    rest = structured if isinstance(structured, Mapping) else {}
    kept = {*given, *_OF_MCP, *(name for name in rest if jsontext.equal(came.get(name), rest[name]))}
    lost = [name for name, value in came.items() if name not in kept and value is not None]
    if lost:
        names = ", ".join(quote(name, _LONGEST_NAME) for name in lost[:_NAMED])
        yield Broken(
            "AdCP data in structuredContent",
            f"{names} beside content",
            at="/result" + jsontext.pointer(lost[0]),
            because=f"the official Python client ({read.client}) drops {names}: only content and structuredContent of a result reach "
            "its user",
            fix="Move these members into structuredContent, and repeat that as JSON in a text block.",
        )


def _blocks(read: ClientRead, came: list[Any], given: list[Any]) -> Iterator[Broken]:
    if len(came) != len(given):
        yield Broken(
            plural(len(came), "content block"),
            str(len(given)),
            at="/result/content",
            because=f"the official Python client ({read.client}) gives its user {plural(len(given), 'content block')} of "
            f"{len(came)}",
        )
        return
    for index, (block, shown) in enumerate(zip(came, given, strict=True)):
        changed = [
            name
            for name, value in (shown.items() if isinstance(shown, Mapping) else ())
            if name not in _ANY_BLOCK and isinstance(block, Mapping) and not isinstance(value, Mapping)
            if not jsontext.equal(block.get(name), value)
        ]
        if changed:
            yield Broken(
                f"the {changed[0]} that came",
                quote(shown[changed[0]]),
                at="/result" + jsontext.pointer("content", index, changed[0]),
                because=f"the official Python client ({read.client}) gives its user another {changed[0]} than came",
            )
            return
