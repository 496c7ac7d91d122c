"""Fits the arguments of a call to a tool's inputSchema: only what the tool knows is sent.

The schema comes from the server. It is read within bounds, nothing is fetched, nonsense says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote

from .jsonvalues import pointer, resolve

# What the one parameter of a tool function that takes the whole request is called.
_WRAPPERS = frozenset({"args", "arguments", "body", "data", "input", "params", "payload", "req", "request"})
_DEPTH = 16  # levels of composition and references that are followed
_NODES = 5_000  # schema objects and members that are looked at, for one tool
_ITEMS = 200  # items of a list that are looked at
_LONGEST_REF = 500
_LONGEST_FILL = 200
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Known:
    """What an object schema says about its members."""

    types: Mapping[str, frozenset[str]]  # each named member, and the JSON types it may have (empty: any)
    required: frozenset[str]
    fills: Mapping[str, Any]  # values that the schema itself gives for required members
    open: bool  # members that are not named may be sent too

    def takes(self, name: str, value: object) -> bool:
        """Whether a member may be sent with that value, as far as its type goes."""
        types = self.types.get(name)
        return self.open if types is None else not types or bool(types & _types_of(value))

    def has(self, name: str) -> bool:
        """Whether a member may be sent."""
        return self.open or name in self.types


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments as the tool takes them."""

    arguments: dict[str, Any]
    missing: tuple[str, ...]  # required members that nothing is known for


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a tool wants the members of a request: at the root of its arguments, or inside one parameter."""

    known: Known
    wrapper: str | None
    outer: Known  # the same as known where there is no wrapper

    def fit(self, members: Mapping[str, Any], unchecked: Collection[str] = ()) -> Fitted:
        """Keep what the tool knows and fill in what it requires; `unchecked` members may be of any type."""
        kept = {
            name: value
            for name, value in members.items()
            if (self.known.has(name) if name in unchecked else self.known.takes(name, value))
        }
        missing = _complete(kept, self.known)
        if self.wrapper is None:
            return Fitted(kept, missing)
        wrapped = {self.wrapper: kept}
        return Fitted(wrapped, missing + _complete(wrapped, self.outer))

    def place(self, path: str) -> str:
        """Return where a member of the request stands in the tool's arguments (both JSON pointers)."""
        return path if self.wrapper is None else pointer(self.wrapper) + path


def shape(schema: object, names: Collection[str]) -> Shape:
    """Find out how a tool wants a request whose members may have these names."""
    reader = _Reader(schema)
    outer = reader.read(schema)
    if wrapper := _wrapper(outer, names):
        inner = reader.read(reader.member(schema, wrapper))
        if wrapper in _WRAPPERS or any(name in inner.types for name in names):
            return Shape(inner, wrapper, outer)
    return Shape(outer, None, outer)


def _wrapper(outer: Known, names: Collection[str]) -> str | None:
    """Return the only parameter that could hold the whole request."""
    if any(name in outer.types for name in names):
        return None
    candidates = outer.required or outer.types.keys()
    if len(candidates) != 1:
        return None
    (name,) = candidates
    types = outer.types.get(name, frozenset())
    return name if "object" in types else None


def _complete(arguments: dict[str, Any], known: Known) -> tuple[str, ...]:
    """Fill in required members that the schema gives a value for; return the names of the others."""
    absent = sorted(known.required - arguments.keys())
    arguments.update({name: known.fills[name] for name in absent if name in known.fills})
    return tuple(name for name in absent if name not in known.fills)


@dataclass(slots=True)
class _Facts:
    """What is gathered from the parts of an object schema."""

    members: dict[str, list[Any]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    closed: bool = False
    opened: bool = False

    def add(self, other: _Facts) -> None:
        for name, schemas in other.members.items():
            self.members.setdefault(name, []).extend(schemas)
        self.required |= other.required
        self.closed |= other.closed
        self.opened |= other.opened


class _Reader:
    """Reads one schema, following references inside it; the budget is for the whole tool."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _NODES

    def read(self, schema: object) -> Known:
        """Return what an object schema says about its members."""
        facts = self._facts(schema, _DEPTH)
        given = {name: self._given(facts.members.get(name, [])) for name in facts.required}
        return Known(
            types={name: self._all_types(parts, _DEPTH) for name, parts in facts.members.items()},
            required=frozenset(facts.required),
            fills={name: value for name, value in given.items() if value is not _NOTHING},
            open=not facts.closed and (facts.opened or not facts.members),
        )

    def member(self, schema: object, name: str) -> object:
        """Return the schema of a member; where several parts name it, all of them count."""
        return {"allOf": self._facts(schema, _DEPTH).members.get(name, [])}

    def _facts(self, schema: object, depth: int) -> _Facts:
        facts = _Facts()
        for part in self._conjuncts(schema, depth):
            self._own(part, facts)
            for keyword in ("anyOf", "oneOf"):
                branches = [
                    self._facts(branch, depth - 1)
                    for branch in _list(part.get(keyword))
                    if "object" in (self._types(branch, depth - 1) or {"object"})
                ]
                if branches:
                    always = set.intersection(*(branch.required for branch in branches))
                    for branch in branches:
                        branch.required = always
                        facts.add(branch)
        return facts

    def _own(self, schema: Mapping[str, Any], facts: _Facts) -> None:
        """Gather what a schema object says itself."""
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            for name, member in islice(properties.items(), max(self._left, 0)):
                facts.members.setdefault(name, []).append(member)
                self._left -= 1
        facts.required.update(name for name in _list(schema.get("required")) if isinstance(name, str))
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            others = schema.get(keyword, _NOTHING)
            facts.closed |= others is False
            facts.opened |= others is True or others == {}

    def _conjuncts(self, schema: object, depth: int) -> Iterator[Mapping[str, Any]]:
        """Yield a schema and everything that it says must hold as well: its reference and its allOf."""
        if not isinstance(schema, Mapping) or depth <= 0 or self._left <= 0:
            return
        self._left -= 1
        yield schema
        for part in _list(schema.get("allOf")):
            yield from self._conjuncts(part, depth - 1)
        if "$ref" in schema:
            yield from self._conjuncts(self._resolved(schema["$ref"]), depth - 1)

    def _resolved(self, reference: object) -> object:
        if not isinstance(reference, str) or not reference.startswith("#") or len(reference) > _LONGEST_REF:
            return None
        try:
            return resolve(self._root, unquote(reference[1:]))
        except (LookupError, ValueError):
            return None

    def _all_types(self, schemas: list[Any], depth: int) -> frozenset[str]:
        found = [types for schema in schemas if (types := self._types(schema, depth))]
        # Several branches may name a member with different types: any of them will do.
        return frozenset().union(*found) if len(found) == len(schemas) else frozenset()

    def _types(self, schema: object, depth: int) -> frozenset[str]:
        """Return the JSON types that a schema allows; empty: it does not say."""
        allowed: frozenset[str] = frozenset()
        for part in self._conjuncts(schema, depth):
            unions = [branches for keyword in ("anyOf", "oneOf") if (branches := _list(part.get(keyword)))]
            for types in (_stated(part), *(self._all_types(union, depth - 1) for union in unions)):
                # What contradicts itself is taken by its first word.
                allowed = (allowed & types or allowed) if allowed and types else allowed or types
        return allowed

    def _given(self, schemas: list[Any]) -> object:
        """Return a simple value that the schemas of a member name themselves, or _NOTHING."""
        for part in self._conjuncts({"allOf": schemas}, _DEPTH):
            for value in (part.get("const"), part.get("default"), *_list(part.get("enum"))[:1]):
                if _is_simple(value):
                    return value
        return _NOTHING


def _list(value: object) -> list[Any]:
    return value[:_ITEMS] if isinstance(value, list) else []


def _is_simple(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_FILL
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _stated(schema: Mapping[str, Any]) -> frozenset[str]:
    stated = schema.get("type")
    names = [stated] if isinstance(stated, str) else _list(stated)
    if types := frozenset(name for name in names if isinstance(name, str)) & _TYPES:
        return types
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    return frozenset().union(*(_types_of(value) for value in values))


def _types_of(value: object) -> frozenset[str]:
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number"})
        case str():
            return frozenset({"string"})
        case list():
            return frozenset({"array"})
        case _:
            return frozenset({"object"})
