"""What a description tells of parameters, and what the schema says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_adcp.harness.rules import Level, Strength, rule
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import Hit, called, report, tools_of
from .inputs import PARAMETERS
from .parameters import Parameter, parameters_of
from .texts import blocks_of, description_of, own_names, set_of


@rule(
    "connected-apps.description-types-match",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=PARAMETERS,
)
def told_types_match(app: App) -> None:
    """The types that a description tells are those of the schema.

    Correct one of the two; better, leave types to the schema.
    """
    report(
        (
            Hit(
                f"{quote(parameter.name, 60)} of {called(tool)}",
                f"{quote(told.type, 60)} in the text, {' or '.join(sorted(parameter.types))} in the schema",
                tool.at("description"),
            )
            for tool in tools_of(app)
            for parameters in [{each.name: each for each in parameters_of(tool) if each.depth == 1}]
            for block in blocks_of(tool.description)
            for told in block
            if (parameter := parameters.get(told.name)) is not None
            and parameter.types
            and (types := _types_told(told.type))
            and not types & _wide(parameter)
        ),
        "a text tells another type than the schema",
        "one type for an argument",
    )


_TYPES = {
    "string": ("str", "string", "text"),
    "integer": ("int", "integer"),
    "number": ("float", "number", "double", "decimal", "int", "integer"),
    "boolean": ("bool", "boolean"),
    "array": ("list", "array", "tuple", "set", "sequence"),
    "object": ("dict", "object", "mapping", "record"),
}
_QUALIFIERS = frozenset({"optional", "required", "default", "none", "null", "or", "of", "a", "an"})


def _types_told(told: str) -> frozenset[str]:
    """Return the JSON types that a text names; none where it holds a word that is no type."""
    head = re.split(r"[,;=:\[]|\bdefault", told.lower(), maxsplit=1)[0]
    if told.lower().startswith(("optional[", "union[")):
        head = told[told.index("[") + 1 :].split("[")[0].rstrip("] ").lower()
    words = [word for word in re.findall(r"[a-z]+", head) if word not in _QUALIFIERS]
    found = [frozenset(name for name, others in _TYPES.items() if word in others) for word in words]
    return frozenset().union(*found) if found and all(found) else frozenset()


def _wide(parameter: Parameter) -> frozenset[str]:
    numbers = frozenset({"integer", "number"})
    return parameter.types | (numbers if parameter.types & numbers else frozenset())


@rule(
    "connected-apps.description-names-real-parameters",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=PARAMETERS,
)
def told_parameters_exist(app: App) -> None:
    """A parameter that a description names exists in the schema.

    Take it out of the text, or add it to properties. Arguments that the server fills in itself need no mention.
    """
    real = frozenset(each.name for tool in app.tools for each in parameters_of(tool))
    report(
        (ghost for tool in tools_of(app) for ghost in _ghosts(tool, real | own_names(app))),
        "a text names a parameter that the schema does not have",
        "parameters that stand in properties",
    )


_NAMED = re.compile(
    r"[`'\"]([A-Za-z_][\w-]{0,80})[`'\"] (?:parameters?|arguments?)\b|\b(?:parameter|argument) [`'\"]([A-Za-z_][\w-]{0,80})[`'\"]",
    re.I,
)
_ELSEWHERE = re.compile(
    r"\b(?:response|return\w{0,3}|results?|outputs?|urls?|endpoint|apis?|environment|config\w{0,10}|header)\b",
    re.I,
)
_NOT_NAMES = set_of(
    """
    note notes example examples default defaults return returns raises tip tips warning warnings
    important optional required format type types usage hint hints see todo output outputs input
    inputs none null true false http https
    """
)


def _ghosts(tool: ListedTool, known: frozenset[str]) -> Iterator[Hit]:
    names = {parameter.name for parameter in parameters_of(tool)}
    at = tool.at("description")
    seen: set[str] = set()
    for block in blocks_of(tool.description):
        if not any(told.name in names for told in block):
            continue  # it lists something else, or nothing that the schema has
        for told in block:
            if told.name in names or told.name in seen or told.name.lower() in _NOT_NAMES:
                continue
            if "." in told.name or not re.fullmatch(r"[a-z][A-Za-z0-9_]*", told.name):
                continue
            seen.add(told.name)
            needs = (
                " and calls it required"
                if re.search(r"(?<!not )\brequired\b", f"{told.type} {told.text}", re.I)
                else ""
            )
            yield Hit(called(tool), f"{quote(f'{told.name}: {told.text}', 100)}{needs}", at)
    for found in _NAMED.finditer(description_of(tool)):
        name, after = found[1] or found[2], found.string[found.end() : found.end() + 60]
        if (
            name not in known
            and name not in seen
            and _is_written_as_name(name)
            and not _ELSEWHERE.search(after)
        ):
            seen.add(name)
            yield Hit(called(tool), quote(found[0], 100), at)


def _is_written_as_name(name: str) -> bool:
    return "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name) is not None
