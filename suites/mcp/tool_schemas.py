"""The schemas in tool definitions: inputSchema and outputSchema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.arguments import shape
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Page
from pytest_adcp.harness.tasks import Task, catalogue
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.tool_schemas import (
    DEFAULT,
    NO_ENGINE,
    circles,
    dialect_name,
    dialects,
    flaw_of,
    has_engine,
    lost_references,
    too_large,
)

from .definitions import TOOL, Tool, label, report, tools_of

_MEMBERS = ("inputSchema", "outputSchema")
_LARGEST_PAGE = 4 << 20  # bytes; the schemas of a larger one would take too long to look at
_STATELESS = "2026-07-28"
_WITH_OUTPUT = ["2025-06-18", "2025-11-25", _STATELESS]
_WITHOUT_DIALECT = {"2024-11-05", "2025-03-26", "2025-06-18"}
_WAY = 4  # references of a circle that are shown
_REFUSED = "the official clients refuse the whole list for it, all other tools included"


@rule("mcp.tools.input-schema", level=Level.MUST, source=TOOL)
def input_schema_is_for_an_object(page: Page) -> None:
    """Each tool has an inputSchema, an object whose type is "object".

    For a tool without arguments write {"type": "object", "additionalProperties": false} or {"type": "object"}: not null, not
    {}. With Zod, give registerTool an object schema.
    """
    report(
        problem
        for index, tool in tools_of(page)
        for problem in _not_for_an_object(page, index, tool, "inputSchema")
    )


@rule("mcp.tools.output-schema", level=Level.MUST, source=TOOL, revisions=_WITH_OUTPUT)
def output_schema_is_for_an_object(page: Page) -> None:
    """Where a tool has an outputSchema it is an object whose type is "object"; from 2026-07-28 any schema object will do.

    Describe the AdCP answer as a whole, which is an object: {"type": "object", "properties": {"products": ...}}. Leave
    outputSchema out where there is none; null is none.
    """
    tools = [(index, tool) for index, tool in tools_of(page) if "outputSchema" in tool]
    if not tools:
        raise NotApplicable("no tool on the page has an outputSchema")
    report(
        problem for index, tool in tools for problem in _not_for_an_object(page, index, tool, "outputSchema")
    )


def _not_for_an_object(page: Page, index: int, tool: Tool, member: str) -> Iterator[Broken]:
    schema = tool.get(member)
    name = label(tool, index)
    if not isinstance(schema, Mapping):
        yield Broken(
            'a JSON Schema such as {"type": "object"}',
            quote(schema, 100) if member in tool else "no such member",
            at=page.at("tools", index, member) if member in tool else page.at("tools", index),
            because=f"{name} has no {member} that is an object; {_REFUSED}",
        )
    elif schema.get("type") != "object" and not (member == "outputSchema" and page.revision == _STATELESS):
        stated = f"has type {quote(schema['type'], 60)}" if "type" in schema else "has no type"
        yield Broken(
            'type: "object"',
            quote(schema["type"], 60) if "type" in schema else f"no type in {quote(schema, 100)}",
            at=page.at("tools", index, member, *(["type"] if "type" in schema else [])),
            because=f"the {member} of {name} {stated}; {_REFUSED}",
        )


def _schemas(page: Page) -> list[tuple[int, Tool, str, Mapping[str, Any]]]:
    """Return the schemas of a page that are objects and small enough to be looked at.

    Raises:
        NotApplicable: there is none, or the page is too large.
    """
    if page.exchange.response is not None and len(page.exchange.response.body) > _LARGEST_PAGE:
        raise NotApplicable(f"the page has more than {_LARGEST_PAGE:,} bytes; its schemas are not looked at")
    found = [
        (index, tool, member, schema)
        for index, tool in tools_of(page)
        for member in _MEMBERS
        if isinstance(schema := tool.get(member), Mapping) and not too_large(schema)
    ]
    if not found:
        raise NotApplicable("no tool on the page has a schema that can be looked at")
    return found


@rule("mcp.tools.schema-size", level=Level.SHOULD, source=mcp("server/tools", "security-considerations"))
def schemas_are_of_a_size_to_use(page: Page) -> None:
    """No schema of a tool is deeper, or larger, than what clients take: 100 levels, 50,000 values.

    Flatten the schema, and give what comes again once under $defs. A model has to read all of it for every question.
    """
    sized = [
        (index, tool, member, too_large(tool[member]))
        for index, tool in tools_of(page)
        for member in _MEMBERS
        if isinstance(tool.get(member), Mapping)
    ]
    if not sized:
        raise NotApplicable("no tool on the page has a schema")
    report(
        Broken(
            "at most 100 levels and 50,000 values",
            why,
            at=page.at("tools", index, member),
            because=f"the {member} of {label(tool, index)} is not looked at: {why}; clients stop there as well",
        )
        for index, tool, member, why in sized
        if why
    )


@rule("mcp.tools.schema-dialect", level=Level.SHOULD, source=mcp("basic", "json-schema-usage"))
def dialects_are_known(page: Page) -> None:
    """Where a schema names its dialect in $schema, it is a published one.

    Leave $schema out, which means 2020-12, or write "https://json-schema.org/draft/2020-12/schema".
    """
    found = [each for each in _schemas(page) if "$schema" in each[3]]
    if not found:
        raise NotApplicable("no schema on the page has a $schema: all are 2020-12")
    report(
        Broken(
            "the address of a published dialect",
            quote(schema["$schema"], 150),
            at=page.at("tools", index, member, "$schema"),
            because=f"the {member} of {label(tool, index)} names a dialect that is not published; clients that do not "
            "know it may refuse the tool",
        )
        for index, tool, member, schema in found
        if not dialects(schema)
    )


@rule("mcp.tools.schema-valid", level=Level.MUST, source=mcp("basic", "json-schema-usage"))
def schemas_are_valid(page: Page) -> None:
    """Each schema of a tool is a valid JSON Schema of its dialect: 2020-12, where $schema names no other.

    Validate them with the dialect's meta-schema in your tests. What often goes wrong: a type that is none ("str",
    "any"), required: true inside a property, a schema that is a plain string.
    """
    found = _schemas(page)
    if not has_engine():
        raise NotApplicable(NO_ENGINE)
    report(
        problem
        for index, tool, member, schema in found
        for problem in _flaws(page, index, tool, member, schema)
    )


def _flaws(page: Page, index: int, tool: Tool, member: str, schema: Mapping[str, Any]) -> Iterator[Broken]:
    named = dialects(schema)
    if not named or (flaw := flaw_of(schema, named[0])) is None:
        return
    lenient = ""
    if any(flaw_of(schema, dialect) is None for dialect in named[1:]):
        lenient = f"it is a valid one of {dialect_name(named[1])}, but does not say so in $schema"
    elif page.revision in _WITHOUT_DIALECT:
        lenient = f"MCP {page.revision} does not say in so many words that a schema is valid"
    yield Broken(
        f"a schema that is valid by {dialect_name(named[0])}",
        quote(flaw.value, 100),
        at=page.at("tools", index, member) + flaw.pointer,
        because=f"the {member} of {label(tool, index)} is no valid JSON Schema ({dialect_name(named[0])}): {flaw.words}",
        fix=f'Write "$schema": "http://json-schema.org/{named[1]}#" into it, or bring it to {dialect_name(DEFAULT)}.'
        if lenient and len(named) > 1 and page.revision not in _WITHOUT_DIALECT
        else "",
        lenient=lenient,
    )


@rule("mcp.tools.schema-references", level=Level.MUST, source=mcp("basic", "json-schema-usage"))
def references_lead_somewhere(page: Page) -> None:
    """Every reference in a schema of a tool leads to a place in that schema, and not back to where it came from.

    Give what is referred to under $defs of the same schema. Where the schema was cut out of an OpenAPI document,
    #/components/schemas/... has to come along. Clients fetch nothing: neither addresses nor files.
    """
    report(
        problem
        for index, tool, member, schema in _schemas(page)
        for problem in _lost(page, index, tool, member, schema)
    )


def _lost(page: Page, index: int, tool: Tool, member: str, schema: Mapping[str, Any]) -> Iterator[Broken]:
    for reference in lost_references(schema):
        yield Broken(
            "a reference to a place in the same schema",
            quote(reference.text, 150),
            at=page.at("tools", index, member) + reference.pointer,
            because=f"the {member} of {label(tool, index)} refers to {quote(reference.text, 100)}, "
            + ("which is not in it" if reference.is_local else "and no client should fetch that")
            + "; nothing can be validated by it",
            lenient="" if reference.is_local else "MCP asks it of the client, not to follow it",
        )
    for circle in circles(schema):
        way = " -> ".join(quote(text, 60) for text in (*circle.texts[:_WAY], circle.texts[0]))
        yield Broken(
            "references that come to an end",
            f"{way} (shortened)" if len(circle.texts) > _WAY else way,
            at=page.at("tools", index, member) + circle.pointer,
            because=f"the {member} of {label(tool, index)} refers to itself in a circle, {way}, which validates nothing; "
            "validators go round it until they run out of memory",
            fix="Put into one of the places what is meant. A type may refer to itself through properties or items only.",
        )


@rule("mcp.tools.open-schemas", level=Level.SHOULD, source=mcp("schema", "tool"))
def schemas_leave_room_for_the_envelope(page: Page) -> None:
    """The schemas of an AdCP task name or allow the members that AdCP adds to requests and answers.

    Name what AdCP adds as optional arguments: context, ext, adcp_version, idempotency_key (FastMCP closes its schemas, and
    takes no **kwargs); or set additionalProperties to true. In an outputSchema name status, context and adcp_error.
    """
    tasks = [(index, tool) for index, tool in tools_of(page) if _is_task(tool)]
    if not tasks:
        raise NotApplicable("no AdCP task is on the page")
    report(problem for index, tool in tasks for problem in _closed(page, index, tool))


def _is_task(tool: Tool) -> bool:
    name = tool.get("name")
    return isinstance(name, str) and name in catalogue()


def _closed(page: Page, index: int, tool: Tool) -> Iterator[Broken]:
    task = catalogue()[tool["name"]]
    wanted = {
        "inputSchema": [name for name in ("context", "idempotency_key") if _is_sent(task, name)],
        "outputSchema": ["status", "context", "adcp_error"],
    }
    for member, names in wanted.items():
        schema = tool.get(member)
        if not isinstance(schema, Mapping):
            continue
        read = shape(schema, task.arguments if member == "inputSchema" else ())
        wrapped = (
            member == "inputSchema" and read.wrapper is not None
        )  # the one parameter may take everything
        shut = (
            [name for name in names if not read.outer.has(name)] if _says_no(schema) and not wrapped else []
        )
        if shut:
            shown = ", ".join(shut)
            yield Broken(
                "additionalProperties true, or these members by name",
                "additionalProperties: false",
                at=page.at("tools", index, member),
                because=f"the {member} of {label(tool, index)} allows no {shown}, which AdCP "
                + ("lets a buyer send" if member == "inputSchema" else "puts into answers"),
            )


def _is_sent(task: Task, name: str) -> bool:
    return bool(task.context) if name == "context" else name in task.request


def _says_no(schema: Mapping[str, Any]) -> bool:
    return any(schema.get(name) is False for name in ("additionalProperties", "unevaluatedProperties"))
