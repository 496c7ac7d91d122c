"""Parameters as a schema says them: what a model may fill in, and within which bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.jsontext import resolve
from pytest_adcp.harness.rules import Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, called, report, tools_of
from .parameters import MOST, Parameter, parameters_of
from .texts import LONGEST, description_of, is_explained, set_of, told_of
from .words import joined, words_of

PARAMETERS = connected_apps("parameters")
NUMBERS = frozenset({"integer", "number"})
_SAFE = 2**31  # a maximum from there on is what a library writes for "any integer"

# Keywords that say nothing of a value: with no other one, anything may come.
_SILENT = frozenset(
    {"$comment", "$id", "$anchor", "$schema", "$defs", "definitions", "title", "description", "default"}
    | {
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
        "format",
        "markdownDescription",
    }
)
_UNKNOWN = frozenset(
    {"$ref", "$dynamicRef", "patternProperties", "if", "then", "else", "dependentSchemas", "not"}
)


def arguments_of(app: App) -> Iterator[tuple[ListedTool, Parameter]]:
    """Yield the parameters of all tools that a model sees, at any depth.

    Raises:
        NotApplicable: there is none.
    """
    found = [(tool, parameter) for tool in tools_of(app) for parameter in parameters_of(tool)]
    if not found:
        raise NotApplicable("no tool has a parameter")
    yield from found


def what_is_said(tool: ListedTool, parameter: Parameter) -> str:
    """Return what the schema and the tool's text tell of a parameter."""
    told = told_of(description_of(tool)).get(parameter.name) if parameter.depth == 1 else None
    titles = [title for title in parameter.said("title") if isinstance(title, str)]
    said = [parameter.description[:LONGEST], *titles]
    if told is not None:
        said += [f"({told.type})", told.text] if told.type else [told.text]
    return " ".join(text for text in said if text).strip()


def hit(tool: ListedTool, parameter: Parameter, received: str, fix: str, *tokens: str) -> Hit:
    """Return a hit at a parameter."""
    return Hit(
        f"{quote(parameter.shown, 60)} of {called(tool)}", received, tool.at(*parameter.at, *tokens), fix
    )


def to_paste(parameter: Parameter, **changed: Any) -> str:
    """Return a parameter's schema as JSON with some keywords changed; None takes one away."""
    kept = {key: value for key, value in parameter.schema.items() if key in ("type", "description", "items")}
    if isinstance(text := kept.get("description"), str) and len(text) > 120:
        kept["description"] = "..."
    if "type" not in kept and len(parameter.types) == 1:
        kept["type"] = next(iter(parameter.types))
    schema = {key: value for key, value in {**kept, **changed}.items() if value is not None}
    return f"{json.dumps(parameter.name[:80])}: {quote(schema, 400)}"


@rule("connected-apps.parameter-typed", level=Level.MUST, strength=Strength.GUIDANCE, source=PARAMETERS)
def parameters_have_types(app: App) -> None:
    """Every argument of a tool has a concrete type.

    Write `"type"` into its schema (`{"type": "string"}`), or `anyOf` of typed schemas where there are several. In Python,
    annotate the argument with a type other than Any; in zod, use anything but z.any() and z.unknown().
    """
    report(
        (
            hit(
                tool,
                parameter,
                quote(_written(tool, parameter)),
                f"give it its type: {to_paste(parameter, type='string')}",
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1 and _takes_anything(_written(tool, parameter), tool, 3)
        ),
        "an argument has no type, so a model cannot know what to send",
        "a type, anyOf of types, a reference to one, enum or const",
    )


def _written(tool: ListedTool, parameter: Parameter) -> Any:
    """Return what stands at the place of a parameter, before references are followed."""
    value: Any = tool.value
    for token in parameter.at:
        value = value[token]
    return value


def _takes_anything(schema: Any, tool: ListedTool, depth: int) -> bool:
    if schema is True:
        return True
    if not isinstance(schema, Mapping) or not depth:
        return False
    unions = [schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)]
    if unions and not set(schema) - _SILENT - {"anyOf", "oneOf"}:
        return any(_takes_anything(arm, tool, depth - 1) for union in unions for arm in union[:50])
    if (
        set(schema) - _SILENT == {"$ref"}
        and isinstance(reference := schema["$ref"], str)
        and reference[:1] == "#"
    ):
        try:
            return _takes_anything(resolve(tool.value.get("inputSchema"), reference[1:]), tool, depth - 1)
        except (LookupError, ValueError):
            return False
    return not set(schema) - _SILENT


@rule("connected-apps.required-listed", level=Level.MUST, strength=Strength.GUIDANCE, source=PARAMETERS)
def required_names_properties(app: App) -> None:
    """`required` of an inputSchema names properties that exist, and all that the texts call required.

    Correct the name in `required`, or add the property; list there what the description calls required.
    """
    report(
        _ghosts(app),
        "required names an argument that the schema does not have: whoever fills in what is described is refused",
        "names that stand in properties",
    )
    report(
        (
            hit(
                tool,
                parameter,
                quote(what_is_said(tool, parameter)),
                f'list it: "required": [..., {json.dumps(parameter.name[:80])}]',
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1
            and not parameter.required
            and "default" not in parameter.schema
            and _CALLED_REQUIRED.search(what_is_said(tool, parameter)[:2000])
        ),
        "a text calls an argument required and the schema does not",
        "the argument in required",
        lenient="the schema may be right, and the text wrong",
    )


# Only where nothing follows that makes it depend: "Required for updates" is none of these.
_CALLED_REQUIRED = re.compile(
    r"^\W{0,2}required(?:[.!:)\]]|$)|[(\[]required[)\]]|, required\)|\b(?:parameter|argument|field) is required(?:\.|$)",
    re.I,
)


def _ghosts(app: App) -> Iterator[Hit]:
    for tool in tools_of(app):
        schema = tool.value.get("inputSchema")
        if not isinstance(schema, Mapping) or set(schema) & _UNKNOWN:
            continue
        parameters, required = parameters_of(tool), schema.get("required")
        if len(parameters) >= MOST or not isinstance(required, list) or len(required) > MOST:
            continue
        known = {parameter.name for parameter in parameters if parameter.depth == 1}
        if isinstance(properties := schema.get("properties"), Mapping):
            known.update(properties)  # with those whose schema is none: that is another rule's
        further = schema.get("additionalProperties", True)
        if isinstance(further, Mapping) or (not known and further is not False):
            continue  # it describes what has no name, or nothing: what is required need not be named either
        if any(key in schema for key in ("allOf", "anyOf", "oneOf")):
            continue  # a property may be told where the reader does not look
        for index, name in enumerate(required):
            if isinstance(name, str) and name not in known:
                yield Hit(
                    called(tool),
                    quote(name),
                    tool.at("inputSchema", "required", index),
                    f"take {quote(name, 80)} out of required, or describe it in properties",
                )


@rule("connected-apps.id-is-string", level=Level.SHOULD, strength=Strength.REQUIRED, source=PARAMETERS)
def ids_are_strings(app: App) -> None:
    """Parameters that hold identifiers are strings.

    Declare them as strings and read the number on the server. The platform may cut a number of ten digits and more to 32
    bits, and the cut id is another thing's id.
    """
    report(
        (
            hit(tool, parameter, quote(parameter.schema), f"change it to {fixed}")
            for tool, parameter in arguments_of(app)
            if words_of(parameter.name)[-1:] in (("id",), ("ids",)) and (fixed := _as_string(parameter))
        ),
        "an id is a number, and long ones may reach the server cut to 32 bits",
        'ids of "type": "string"',
    )


def _as_string(parameter: Parameter) -> str:
    if parameter.types and parameter.types <= NUMBERS and not parameter.values:
        return to_paste(parameter, type="string")
    items = parameter.schema.get("items")
    kind = items.get("type") if isinstance(items, Mapping) else None
    if parameter.types == {"array"} and isinstance(kind, str) and kind in NUMBERS:
        return to_paste(parameter, type="array", items={"type": "string"})
    return ""


@rule("connected-apps.limit-bounded", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS)
def limits_say_their_maximum(app: App) -> None:
    """A parameter that limits how much comes back states its maximum.

    Write `"maximum"` into its schema, or "at most 100" into its description, and hold to it on the server.
    """
    names = app.standards.among("limit_names")
    report(
        (
            hit(
                tool,
                parameter,
                quote(parameter.schema),
                f"state it, with your own number: {to_paste(parameter, minimum=1, maximum=100)}",
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1
            and joined(words_of(parameter.name)) in names
            and parameter.types
            and parameter.types <= NUMBERS
            and not parameter.values
            and not _is_bounded(tool, parameter)
        ),
        "a limit states no maximum, so a model may ask for more than a conversation bears",
        "a maximum in the schema or in the text",
    )


_BOUND = re.compile(
    r"\b(?:up to|at most|capp?(?:s|ed)?|no more than|not exceed|or (?:less|fewer)|<=?|upper bound|below)\b|≤|<="
    r"|\bmax(?:\.|(?:imum|imal)?\b)[^.\n]{0,25}\d|\d\W{0,2}max\b|\d ?(?:-|–|—|to|\.\.|and) ?\d|\bbetween \d",
    re.I,
)
_CAPPED = re.compile(
    r"\b(?:max\.|(?:up to|at most|max(?:imum)?(?: of)?|limited to|no more than)\b)[^.\n]{0,12}\d", re.I
)


def _is_bounded(tool: ListedTool, parameter: Parameter) -> bool:
    bounds = [*parameter.said("maximum"), *parameter.said("exclusiveMaximum")]
    if any(isinstance(bound, int | float) and abs(bound) < _SAFE for bound in bounds):
        return True
    said = what_is_said(tool, parameter)
    return _BOUND.search(said) is not None or _CAPPED.search(description_of(tool)) is not None


@rule("connected-apps.query-syntax-named", level=Level.SHOULD, strength=Strength.GUIDANCE, source=PARAMETERS)
def queries_name_their_syntax(app: App) -> None:
    """A parameter that holds a query says what may stand in it.

    Say in its description whether it is plain language, key words or a language of its own, and give an example.
    """
    names = app.standards.among("query_names")
    report(
        (
            hit(
                tool,
                parameter,
                quote(parameter.description) if parameter.description else "no description",
                "describe it, for example "
                + to_paste(parameter, description="Key words, all of which must occur, e.g. red shoes"),
            )
            for tool, parameter in arguments_of(app)
            if parameter.depth == 1
            and joined(words_of(parameter.name)) in names
            and parameter.types == {"string"}
            and not (
                parameter.values
                or parameter.said("pattern")
                or parameter.said("examples")
                or parameter.said("format")
            )
            and not _says_more(what_is_said(tool, parameter), parameter)
            and not _SYNTAX.search(f"{parameter.name} {' '.join(words_of(tool.name))} {description_of(tool)}")
            and not is_explained(parameter.name, description_of(tool))
        ),
        "nothing tells what may stand in a query",
        "the syntax, or an example",
    )


_EMPTY = set_of(
    """
    a an and any as be by for in is it of on optional or required string text that the this to use
    used value with your query queries search searches searching filter filters filtering expression
    term terms q parameter argument
    """
)
_SYNTAX = re.compile(
    r"\b(?:syntax|natural language|key ?words?|e\.g|for example|examples?|plain (?:text|language|words)|full[- ]text"
    r"|regex|regular expressions?|wildcards?|operators?|\w{0,8}sql|jql|cql|kql|lql|lucene|graphql|cypher|sparql|xpath|jsonpath"
    r"|substrings?|fuzzy|semantic\w{0,4}|exact"
    r"|contains?|equals?|match(?:es|ing)|occurs?)\b",
    re.I,
)


def _says_more(said: str, parameter: Parameter) -> bool:
    words = re.findall(r"[a-z]+", said[:2000].lower())
    return any(word not in _EMPTY and word not in words_of(parameter.name) for word in words)
