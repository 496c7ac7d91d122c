"""Payloads made from a JSON Schema: mostly valid ones, and ways to break them. Nothing here asks a validator."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.schema_places import Documents

_FORMATS = {
    "date": "2026-02-03",
    "date-time": "2026-02-03T04:05:06Z",
    "email": "ann@acme.example",
    "hostname": "acme.example",
    "uri": "https://acme.example/x",
    "uri-template": "https://acme.example/{x}",
}
_TEXTS = (
    *(
        "x-1",
        "x",
        "abcd",
        "en",
        "US",
        "US-CA",
        "USD",
        "3.1",
        "12.5",
        "16:9",
        "1.91:1",
        "P1D",
        "00:00:01",
        "2026-02-03",
    ),
    *("12345678", "/a", "#a0b0c0", "custom:x", "audio/mp4", "acme.example", "https://acme.example/x"),
    *("a" * 64, "sha256:" + "a" * 64),
)
# What people really send in the place of the right thing, and what validators disagree on.
ODD = (
    *(None, True, False, 0, -1, 1.0, 0.5, 1e400, 2**70),
    *("", "1", "true", "abc\n", "\u0661", "\u00e9", "\ufeff", "x" * 3000),
    *([], {}, [None], {"a": 1}),
    *("2026-02-03", "2016-12-31T23:59:60Z", "2026-01-01 00:00:00Z", "@", "https://a b"),
)


class Generator:
    """Makes payloads for one schema; the same seed gives the same ones."""

    def __init__(self, documents: Documents, url: str, contents: Mapping[str, Any], seed: int) -> None:
        self._documents = documents
        self._root = (url, contents[url])
        self._random = random.Random(seed)

    def payloads(self, count: int) -> Iterator[Any]:
        """Yield payloads; about one in three is left as it was made."""
        for index in range(count):
            value = self._make(*self._root, depth=0)
            yield value if index % 3 == 0 else self.broken(value)

    def broken(self, value: Any) -> Any:
        """Return a copy with one thing changed: a member left out, added, or replaced."""
        value = copy.deepcopy(value)
        holders = [node for node in _nodes(value) if node]
        if not holders:
            return self._random.choice(ODD)
        holder = self._random.choice(holders)
        place = self._random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        match self._random.randrange(4):
            case 0:
                del holder[place]
            case 1 if isinstance(holder, dict):
                holder[self._random.choice(("vendor_hint", "errors", "task_id", "status", "taskId"))] = (
                    self._random.choice(ODD)
                )
            case 2 if isinstance(holder[place], str):
                holder[place] = self._random.choice((str.upper, str.title, lambda text: text + "\n"))(
                    holder[place]
                )
            case _:
                holder[place] = self._random.choice(ODD)
        return value

    def _make(self, file: str, node: Any, depth: int) -> Any:
        file, _, node = self._documents.followed(file, (), node)
        schema = self._merged(file, node)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = self._random.choice(kind) if isinstance(kind, list) else kind
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number":
                return self._number(schema, kind)
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
        return self._text(schema)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema["properties"]
        wanted = {name for name in schema["required"] if name in properties}
        share = 0.25 if depth < 3 else 0.03
        wanted |= {name for name in properties if depth < 8 and self._random.random() < share}
        return {
            name: self._make(*member, depth + 1)
            for name, member in properties.items()
            if name in wanted and member[1] is not False
        }

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        count = max(schema.get("minItems", 0), self._random.randrange(3) if depth < 6 else 0)
        items = schema.get("items")
        return [self._make(*items, depth + 1) if items else "x" for _ in range(min(count, 4))]

    def _number(self, schema: Mapping[str, Any], kind: str) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return (
            int(low) + self._random.randrange(2)
            if kind == "integer" or self._random.random() < 0.5
            else low + 0.0
        )

    def _text(self, schema: Mapping[str, Any]) -> str:
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        pattern = schema.get("pattern")
        fitting = [text for text in _TEXTS if pattern is None or re.search(pattern, text)] or ["x"]
        text = self._random.choice(fitting) if pattern else "x-1"
        return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]

    def _merged(self, file: str, node: Any) -> dict[str, Any]:
        """Return a schema with what it is composed of: all of allOf, one branch of each choice, and `else`."""
        merged: dict[str, Any] = {"properties": {}, "required": []}
        if not isinstance(node, Mapping):
            return merged
        parts = list(node.get("allOf", []))
        parts += [self._random.choice(node[keyword]) for keyword in ("anyOf", "oneOf") if keyword in node]
        if "else" in node:
            parts.append(node["else"])
        for part in parts:
            inner_file, _, inner = self._documents.followed(file, (), part)
            found = self._merged(inner_file, inner)
            _add(merged, found)
        own = {key: value for key, value in node.items() if key not in ("properties", "required", "items")}
        own["properties"] = {name: (file, member) for name, member in node.get("properties", {}).items()}
        own["required"] = node.get("required", [])
        if isinstance(node.get("items"), Mapping):
            own["items"] = (file, node["items"])
        _add(merged, own)
        return merged


def _add(merged: dict[str, Any], found: Mapping[str, Any]) -> None:
    for key, value in found.items():
        if key == "properties":
            for name, member in value.items():
                # A branch that only narrows a member says what its value has to be.
                if name not in merged[key] or "const" in (member[1] if isinstance(member[1], dict) else {}):
                    merged[key][name] = member
        elif key == "required":
            merged[key] = [*merged[key], *value]
        else:
            merged.setdefault(key, value)


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _nodes(inner)
