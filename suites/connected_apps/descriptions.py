"""Descriptions as documentation: what a tool does, what its parameters are, what comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_adcp.harness.rules import Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, called, report, tools_of
from .inputs import PARAMETERS, arguments_of, hit, to_paste, what_is_said
from .parameters import Parameter
from .texts import LONGEST, description_of, is_explained, names_in, own_names, set_of
from .words import words_of

DESCRIPTIONS = connected_apps("descriptions")
_SHORT = 20  # characters of a description that may say no more than the name


@rule("connected-apps.description-present", level=Level.MUST, strength=Strength.GUIDANCE, source=DESCRIPTIONS)
def tools_are_described(app: App) -> None:
    """Every tool has a description.

    Say in one or two sentences what the tool does and what it returns: `"description": "Finds ... . Returns ..."`. In Python it
    is the docstring of the function.
    """
    tools = tools_of(app)
    report(
        (
            Hit(
                called(tool),
                _received(tool),
                tool.at(*(["description"] if "description" in tool.value else [])),
            )
            for tool in tools
            if not tool.description.strip()
        ),
        "a tool has no description, and its name is all that a model knows of it",
        "a description that is a string and not blank",
    )
    report(
        (
            Hit(called(tool), quote(tool.description), tool.at("description"))
            for tool in tools
            if len(tool.description.strip()) < _SHORT and _adds_nothing(tool)
        ),
        "a description says no more than the name",
        "what the tool does and what it returns",
        lenient="it is there, but it does not help a model to choose",
    )


def _received(tool: ListedTool) -> str:
    return quote(tool.value["description"]) if "description" in tool.value else "no description"


def _adds_nothing(tool: ListedTool) -> bool:
    said = re.findall(r"\w+", tool.description.lower())
    words = set(words_of(tool.name))
    return len(said) < 2 or all(word in words or word.removesuffix("s") in words for word in said)


@rule("connected-apps.parameter-described", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS)
def arguments_are_described(app: App) -> None:
    """Every argument of a tool is described, in the schema or in the tool's own text.

    Write `"description"` into its schema: what it is, in which format, with an example. In Python use Annotated[str,
    Field(description="...")], in zod .describe("...").
    """
    report(
        (
            hit(
                tool,
                parameter,
                quote(parameter.schema),
                f"describe it: {to_paste(parameter, description='what it is, e.g. ...')}",
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1
            and not parameter.description.strip()
            and parameter.name not in names_in(description_of(tool))
            and not is_explained(parameter.name, description_of(tool))
        ),
        "an argument is described nowhere",
        "a description of every argument",
    )


@rule("connected-apps.returns-described", level=Level.SHOULD, strength=Strength.GUIDANCE, source=DESCRIPTIONS)
def results_are_described(app: App) -> None:
    """Descriptions say what comes back, and how much of it.

    Add a sentence to each: "Returns at most 20 flights, each with its number, times and price."
    """
    tools = [tool for tool in tools_of(app) if tool.description.strip()]
    if not tools:
        raise NotApplicable("no tool has a description")
    silent = [tool for tool in tools if not _tells_result(tool)]
    if len(silent) * 100 > len(tools) * app.standards.limit("undescribed_results_percent"):
        report(
            [Hit(called(tool), quote(tool.description, 100), tool.at("description")) for tool in silent],
            f"of {len(tools)} descriptions most are silent on what comes back",
            "what is returned, told in the description or by an outputSchema",
        )


_RESULT = re.compile(
    r"\b(?:returns?|returned|returning|results?|outputs?|respon(?:se|ds?)|yields?|gives?|answers?|retriev\w{1,4}|provides?|contain(?:s|ing)"
    r"|includes?|including|confirm\w{0,6}|receipt|produces?)\b",
    re.I,
)
_INITIALS = 2  # letters of a word that many others begin with
_SHOWING = set_of(
    """
    get gets list lists show shows tell tells find finds search searches fetch fetches read reads
    report reports retrieve retrieves look looks check checks query queries display displays view
    views count counts describe describes compare
    """
)


def _tells_result(tool: ListedTool) -> bool:
    said, name = re.findall(r"\w+", description_of(tool).lower()), set(words_of(tool.name))
    # get_body_battery, "Body battery of a day": the noun is what comes back. So it is of seat_map that only reads, "Seats of a flight".
    reads = bool(_SHOWING & name) or tool.annotations.get("readOnlyHint") is True
    nouns = {word.removesuffix("s") for word in name - _SHOWING if len(word) > _INITIALS}
    shows = reads and any(word.startswith(tuple(nouns)) for word in said[:200])
    return (
        shows
        or isinstance(tool.value.get("outputSchema"), Mapping)
        or _RESULT.search(description_of(tool)) is not None
        or bool(set(said[:1]) & _SHOWING)
    )


@rule(
    "connected-apps.argument-source-named", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS
)
def ids_say_where_they_come_from(app: App) -> None:
    """A tool that changes something says where the id that it needs comes from, if another tool of the server finds it.

    Name that tool in the description of the parameter: "Id of the order, as list_orders returns it."
    """
    report(
        (
            hit(
                tool,
                parameter,
                quote(what_is_said(tool, parameter)) if what_is_said(tool, parameter) else "no description",
                "say it: "
                + to_paste(
                    parameter,
                    description=f"Id of the {' '.join(words_of(parameter.name)[:-1])}, as {finder[:60]} returns it",
                ),
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1
            and parameter.required
            and _CHANGES & set(words_of(tool.name))
            and (finder := _finder(app, tool, parameter))
            and not _names_source(app, tool, parameter)
        ),
        "nothing tells where an id comes from that another tool of the server returns",
        "the tool that returns it, or its format",
    )


_CHANGES = set_of(
    """
    update delete remove cancel archive edit modify change close move assign complete approve reject
    restore pause resume
    """
)
_FINDS = frozenset({"browse", "find", "get", "list", "lookup", "query", "search"})
_SOURCE = re.compile(
    r"\b(?:from|returned|returns|obtain\w{0,3}|given by|found|visible|shown|see|e\.g|example|such as|format|url|looks like|uuid|received"
    r"|response|result)\b|\d{3}|`|\"|'[A-Z0-9]",
    re.I,
)


def _finder(app: App, tool: ListedTool, parameter: Parameter) -> str:
    """Return the tool that finds what an id is of; empty where none does."""
    match words_of(parameter.name):
        case (*_, noun, "id"):
            pass
        case _:
            return ""
    prefix, *_ = words_of(tool.name)
    for other in app.tools:
        words = words_of(other.name)
        if other.name == tool.name or not _FINDS & set(words) or words[-1] not in _plurals(noun):
            continue
        # What confluence_... finds is not for jira_..., and dataset items are not for an annotation queue.
        if set(words[:-1]) - _FINDS <= set(words_of(tool.name)) and (
            prefix in _CHANGES or prefix == words[0]
        ):
            return other.name
    return ""


def _plurals(noun: str) -> tuple[str, ...]:
    return f"{noun}s", f"{noun}es", f"{noun[:-1]}ies"


def _names_source(app: App, tool: ListedTool, parameter: Parameter) -> bool:
    said = what_is_said(tool, parameter)
    whole = f"{said} {description_of(tool)}"[:LONGEST]
    given = ("examples", "pattern", "format", "enum", "default")
    return (
        any(parameter.said(key) for key in given)
        or _SOURCE.search(said) is not None
        or bool(names_in(whole) & (own_names(app) - {tool.name}))
        or re.search(r"\b(?:from|returned by|obtain\w{0,3})\b", description_of(tool), re.I) is not None
    )
