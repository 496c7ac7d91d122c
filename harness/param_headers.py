"""Arguments of a call that go into headers too: what `x-mcp-header` asks of a client of MCP 2026-07-28."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .links import path_of
from .session import Headers, header_value
from .tool_schemas import subschemas, too_large

KEYWORD = "x-mcp-header"
PREFIX = "Mcp-Param-"
TYPES = ("string", "integer", "boolean")
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Annotation:
    """An x-mcp-header in an inputSchema, and the schema that it stands in."""

    place: tuple[str | int, ...]  # of that schema, in the inputSchema
    schema: Mapping[str, Any]

    @property
    def name(self) -> Any:
        """What it says, whatever that is."""
        return self.schema[KEYWORD]

    @property
    def path(self) -> tuple[str, ...] | None:
        """The argument's path in the arguments; None where no chain of `properties` leads there."""
        keywords, names = self.place[::2], self.place[1::2]
        reached = self.place and len(keywords) == len(names) and set(keywords) == {"properties"}
        return tuple(str(name) for name in names) if reached else None

    @property
    def is_followed(self) -> bool:
        """Whether it names a header and an argument, whose value may then go into it."""
        named = isinstance(self.name, str) and TOKEN.fullmatch(self.name) is not None
        return named and self.path is not None and self.schema.get("type") in TYPES


def annotations_of(schema: object) -> Iterator[Annotation]:
    """Yield every annotation of an inputSchema, in the order of its text; none of one that is too large to look at."""
    if too_large(schema):
        return
    found = [(path_of(link), part) for link, part in subschemas(schema) if KEYWORD in part]
    for place, part in reversed(found):  # subschemas takes the last first
        yield Annotation(tuple(place), part)


class ParamHeaders:
    """Which arguments of a server's tools go into headers; a schema is read when its tool is called first."""

    def __init__(self, tools: Iterable[Mapping[str, Any]] = ()) -> None:
        """Take the tools as tools/list gives them."""
        self._schemas = {tool["name"]: tool.get("inputSchema") for tool in tools}
        self._annotated: dict[str, tuple[Annotation, ...]] = {}

    def of(self, tool: str, arguments: Mapping[str, Any]) -> Headers:
        """Return the Mcp-Param headers of a call: of each annotated argument that has a value.

        A tool with an annotation that cannot be followed is none to a client; what is called of it has no such header.
        """
        if tool not in self._annotated:
            found = tuple(annotations_of(self._schemas.get(tool)))
            names = {item.name.lower() for item in found if item.is_followed}
            self._annotated[tool] = found if len(names) == len(found) else ()
        texts = ((item.name, _text(_value(arguments, item.path))) for item in self._annotated[tool])
        return tuple((f"{PREFIX}{name}", header_value(text)) for name, text in texts if text is not None)


def _value(arguments: Mapping[str, Any], path: tuple[str, ...] | None) -> Any:
    value: Any = arguments
    for name in path or ():
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str | None:
    """Return a value as a header's text; None where it has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 7.0 is an integer to JSON
    if isinstance(value, int) and abs(value) < 2**53:
        return str(value)
    return value if isinstance(value, str) else None
