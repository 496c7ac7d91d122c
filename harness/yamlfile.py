"""YAML as JSON data, with the line of every value.

Scalars are read as YAML 1.2 and JSON do: `country: NO` and `start: 2026-01-01` are text, only true and false
are booleans. What JSON cannot say (other tags, keys that are no text) is an error, and so is a repeated key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from .text import one_line, quote

LARGEST_FILE = 1024 * 1024  # bytes
_DEEPEST = 64  # levels
_MOST_VALUES = 50_000  # after aliases are expanded

Place = tuple[str | int, ...]  # keys and indexes from the root


class YamlError(ValueError):
    """A file that cannot be read; `line` (from 1) is where, if it can be told."""

    def __init__(self, reason: str, line: int | None = None, place: Place = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.place = place


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document as JSON data, and the line of each value: of its key, or of the list item itself."""

    value: Any
    lines: Mapping[Place, int]


def read(path: Path) -> Document:
    """Read the one document of a YAML file; an empty file is None.

    Raises:
        YamlError: the file is missing, too large, not UTF-8, or not YAML that JSON could say.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise YamlError(f"cannot be read: {error.strerror or error}") from None
    if len(data) > LARGEST_FILE:
        raise YamlError(f"is larger than {LARGEST_FILE} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError("is not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from None
    # JSON may be indented with tabs, which YAML does not take; inside its strings there are none.
    return parse(text.replace("\t", " ") if path.suffix == ".json" else text)


def parse(text: str) -> Document:
    """Read the one document of a YAML text; as `read`."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except YamlError:
        raise
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError("holds a character that YAML does not allow", line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(_problem(error), mark.line + 1 if mark else None) from None
    except (ValueError, OverflowError):  # an escape beyond Unicode, a %YAML version without end
        raise YamlError(
            "is not YAML: an escape or a directive that means nothing", _line_of(loader)
        ) from None
    lines: dict[Place, int] = {}
    value = _Builder(lines).value(node, ()) if node is not None else None
    return Document(value, lines)


def _line_of(loader: _Loader | None) -> int | None:
    return int(loader.get_mark().line) + 1 if loader else None


def _problem(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or ""
    if "\\t" in problem:
        return "a tab where YAML allows only spaces"
    if "undefined alias" in problem:
        return "an alias (*) to an anchor (&) that is not there"
    if "expected a single document" in f"{error.context} {problem}":
        return "a second document (---); the file holds one"
    return f"is not YAML: {one_line(problem)}"


class _Loader(yaml.SafeLoader):
    """The safe loader, bounded in depth and in work: PyYAML takes a millisecond for a few nodes."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - filled below with what JSON knows
    depth = 0
    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        self.nodes += 1
        if self.depth > _DEEPEST:
            raise YamlError(f"nested deeper than {_DEEPEST} levels", _line_of(self))
        if self.nodes > _MOST_VALUES:
            raise YamlError(f"more than {_MOST_VALUES} keys and values", _line_of(self))
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_NUMBER = r"-?(?:0|[1-9][0-9]*)"
for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", rf"{_NUMBER}$", "-0123456789"),
    ("float", rf"{_NUMBER}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$", "-0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


class _Builder:
    """Turns nodes into JSON data and notes the lines."""

    def __init__(self, lines: dict[Place, int]) -> None:
        self.lines = lines
        self.values = 0

    def value(self, node: yaml.Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        self.values += 1
        if self.values > _MOST_VALUES:
            self._fail(node, place, f"more than {_MOST_VALUES} values, counting those behind aliases")
        if len(place) > _DEEPEST:
            self._fail(node, place, f"nested deeper than {_DEEPEST} levels, counting those behind aliases")
        tag = node.tag.removeprefix("tag:yaml.org,2002:")
        if isinstance(node, yaml.MappingNode) and tag == "map":
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode) and tag == "seq":
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and tag in ("str", "bool", "null", "int", "float"):
            return self._scalar(node, tag, place)
        return self._fail(node, place, "a tag (!) that JSON has no value for")

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
                shown = (
                    quote(str(key_node.value), 40)
                    if isinstance(key_node, yaml.ScalarNode)
                    else "a list or mapping"
                )
                raise YamlError(f"{shown} as a key is not text; put it in quotation marks", line, place)
            key = self._scalar(key_node, "str", place)
            if key == "<<" and key_node.style is None:
                raise YamlError('merge keys ("<<") are not supported; write the members out', line, place)
            if key in result:
                first = self.lines[(*place, key)]
                raise YamlError(f"the key is given twice, first in line {first}", line, (*place, key))
            self.lines[(*place, key)] = line
            result[key] = self.value(value_node, (*place, key))
        return result

    def _scalar(self, node: yaml.ScalarNode, tag: str, place: Place) -> Any:
        text: str = node.value
        try:
            match tag:
                case "str":
                    text.encode()
                    return text
                case "null":
                    return None
                case "bool":
                    return {"true": True, "false": False}[text.lower()]
                case "int":
                    return int(text)
                case _:
                    number = float(text)
        except UnicodeEncodeError:
            self._fail(node, place, "half of a surrogate pair, which is no text")
        except (KeyError, ValueError):
            self._fail(node, place, f"not a value of its tag (!!{tag})")
        if not math.isfinite(number):
            self._fail(node, place, "a number that JSON cannot hold")
        return number

    def _fail(self, node: yaml.Node, place: Place, reason: str) -> NoReturn:
        raise YamlError(reason, node.start_mark.line + 1, place)
