"""Judges results by the outputSchema of their tool, which is a stranger's: only where it is certain to end soon."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from .jsonvalues import pointer, resolve
from .text import quote
from .tool_schemas import (
    NO_ENGINE,
    circles,
    dialects,
    draft,
    flaw_of,
    has_engine,
    lost_references,
    subschemas,
    too_large,
)

_STEPS = 200_000  # pairs of a schema and a value that one result may have to be looked at in
_ALL_STEPS = 1_000_000  # of all results of a run
_EFFORT = 5_000_000  # evaluations that an engine may be made to do: it does about ten million a second
_LEVELS = 200  # schemas that stand for the same value, one inside another
_LOOKING_AROUND = re.compile(
    r"\(\?<?[=!]|\\[1-9k]"
)  # what no linear engine knows; it is tried a limited number of times
_SLOWEST = 1_000_000  # evaluations that one of those is worth when the engine gives up
_MOST_VALUES = 200_000  # in one result

Finder = Callable[[Mapping[str, Any]], Iterable[Any]]

_IN_PLACE = ("else", "if", "not", "then")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_DEPENDENT = ("dependencies", "dependentSchemas")


class UnjudgeableError(Exception):
    """A result cannot be judged by this schema; the text says why."""


class TooCostlyError(UnjudgeableError):
    """A result could be judged by this schema, if it did not take too much."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first thing in a value that its schema does not allow."""

    pointer: str  # in the value
    words: str  # what it is, after the place: `lacks "price"`
    expected: str
    received: str
    is_sure: bool  # False: by a pattern that engines disagree about


class OutputSchemas:
    """The outputSchemas of one server's tools, each made ready when it is first asked for."""

    def __init__(self) -> None:
        self._ready: dict[int, tuple[Any, list[tuple[str, Any]] | UnjudgeableError]] = {}
        self._steps = 0

    def mismatch(self, schema: Any, value: Any) -> Mismatch | None:
        """Return what is wrong with a structuredContent; None where it fits.

        Raises:
            TooCostlyError: judging by it might take for ever.
            UnjudgeableError: the schema is none, or refers to what is not in it.
        """
        engines = self._engines(schema)
        if why := too_large(value, _MOST_VALUES):
            raise TooCostlyError(f"the structuredContent is not looked at: {why}")
        self._must_end(schema, value)
        first: Mismatch | None = None
        for _, engine in engines:
            found = _mismatch(engine, schema, value)
            if found is None:
                return None
            first = first or found
        return first

    def why_not(self, schema: Any, value: Any) -> str:
        """Say why nobody should judge a value by a schema: it may take for ever. Empty where it ends soon."""
        if isinstance(schema, Mapping) and not too_large(schema) and any(circles(schema)):
            return "the outputSchema refers to itself in a circle"
        try:
            if isinstance(schema, Mapping):
                self._engines(schema)
                self._must_end(schema, value)
        except TooCostlyError as error:
            return str(error)
        except UnjudgeableError:
            pass
        return ""

    def _engines(self, schema: Any) -> list[tuple[str, Any]]:
        # The schema is kept beside its engines: while it lives no other has its id.
        if id(schema) not in self._ready:
            try:
                made: list[tuple[str, Any]] | UnjudgeableError = _made(schema)
            except UnjudgeableError as error:
                made = error.with_traceback(None)
            self._ready[id(schema)] = (schema, made)
        made = self._ready[id(schema)][1]
        if isinstance(made, UnjudgeableError):
            raise type(made)(*made.args)
        return made

    def _must_end(self, schema: Any, value: Any) -> None:
        if self._steps > _ALL_STEPS:
            raise TooCostlyError("the results before it took all the time that there is for outputSchemas")
        walk = _Walk(schema)
        try:
            walk.go(value)
        finally:
            self._steps += walk.steps


def _made(schema: Any) -> list[tuple[str, Any]]:
    if not has_engine():
        raise UnjudgeableError(NO_ENGINE)
    if not isinstance(schema, Mapping):
        raise UnjudgeableError("the outputSchema is not an object; mcp.tools.output-schema looks at it")
    if why := too_large(schema):
        raise TooCostlyError(f"the outputSchema is not used: {why}")
    named = dialects(schema)
    if not named:
        raise UnjudgeableError(
            "its $schema names a dialect that is not known here; mcp.tools.schema-dialect says so"
        )
    if any(True for _ in lost_references(schema)):
        raise UnjudgeableError(
            "the outputSchema refers to what is not in it, which is never fetched; mcp.tools.schema-references says so"
        )
    if circle := next(circles(schema), None):
        raise UnjudgeableError(
            f"the outputSchema refers to itself in a circle ({quote(circle.texts[0], 60)}); mcp.tools.schema-references says so"
        )
    for _, node in subschemas(schema):
        inner = "$id" in node and node is not schema
        if inner or any(keyword in node for keyword in ("$dynamicRef", "$recursiveRef")) or _is_by_name(node):
            raise UnjudgeableError(
                "the outputSchema refers by $id, $anchor or $dynamicRef, which is not followed"
            )
    sound = [dialect for dialect in named if flaw_of(schema, dialect) is None]
    if not sound:
        raise UnjudgeableError("the outputSchema is no valid JSON Schema; mcp.tools.schema-valid says why")
    try:
        return [
            (name, draft(name)(dict(schema), offline=True, validate_formats=False, mask="it"))
            for name in sound
        ]
    except ValueError as error:
        raise UnjudgeableError(
            f"the outputSchema cannot be used: {quote(str(error).partition(chr(10))[0], 200)}"
        ) from None


def _is_by_name(node: Mapping[str, Any]) -> bool:
    reference = node.get("$ref")
    return isinstance(reference, str) and not (reference in ("", "#") or reference.startswith("#/"))


def _mismatch(engine: Any, schema: Mapping[str, Any], value: Any) -> Mismatch | None:
    import jsonschema_rs

    try:
        engine.validate(value)  # its first error only: all of them could fill the memory
    except jsonschema_rs.ValidationError as error:
        where = tuple(error.instance_path)
        path = tuple(error.schema_path)
        received = resolve(value, pointer(*where))
        keyword = str(path[-1]) if path else "false"
        rule = _at(schema, path)
        sure = not (keyword == "pattern" and isinstance(rule, str) and _LOOKING_AROUND.search(rule))
        words, expected = _words(keyword, rule, error.kind)
        return Mismatch(pointer(*where), words, expected, quote(received, 100), is_sure=sure)
    except ValueError as error:
        raise UnjudgeableError(f"the structuredContent cannot be judged: {error}") from None
    return None


def _at(schema: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    try:
        return resolve(schema, pointer(*path))
    except LookupError:
        return None


def _words(keyword: str, rule: Any, kind: Any) -> tuple[str, str]:
    """Return what is wrong with a value, and what its schema wants in its place."""
    if keyword == "required" and isinstance(name := getattr(kind, "property", None), str):
        return f"lacks {quote(name, 60)}", f"a member {quote(name, 60)}"
    if keyword in ("additionalProperties", "unevaluatedProperties") and rule is False:
        return "has members that are not in it", "no members beyond those of the outputSchema"
    if keyword in _IN_PLACE_LISTS:
        return (
            f"fits none of its {keyword}" if keyword != "oneOf" else "fits none, or several, of its oneOf",
            keyword,
        )
    return f"does not fit {keyword}: {quote(rule, 60)}", f"{keyword}: {quote(rule, 100)}"


class _Walk:
    """Counts, without evaluating anything, how often an engine could have to evaluate a schema on a value at most."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._targets: dict[str, Any] = {}
        self._effort = 0
        self.steps = 0

    def go(self, value: Any) -> None:
        """Raise UnjudgeableError where it could be too often."""
        stack: list[tuple[Any, dict[int, tuple[Any, int]]]] = [(value, {id(self._root): (self._root, 1)})]
        while stack:
            node, schemas = stack.pop()
            here = self._in_place(node, schemas)
            for inner, further in _parts(node, here):
                applied: dict[int, tuple[Any, int]] = {}
                for schema, count in here:
                    for part in further(schema):
                        _add(applied, part, count)
                if applied:
                    stack.append((inner, applied))

    def _in_place(
        self, node: Any, schemas: dict[int, tuple[Any, int]]
    ) -> list[tuple[Mapping[str, Any], int]]:
        """Return all schemas that are evaluated on a value, and how often."""
        found: list[tuple[Mapping[str, Any], int]] = []
        for _ in range(_LEVELS):
            following: dict[int, tuple[Any, int]] = {}
            for schema, count in schemas.values():
                if not isinstance(schema, Mapping):
                    continue
                self._spend(count * _weight(schema, node))
                found.append((schema, count))
                again = count
                if "unevaluatedProperties" in schema or "unevaluatedItems" in schema:
                    again *= 2 + (len(node) if isinstance(node, dict | list) else 0)
                for part in self._applied(schema):
                    _add(following, part, again)
            if not following:
                return found
            schemas = following
        raise TooCostlyError(
            "the outputSchema refers to itself, and a value may be judged by it again and again"
        )

    def _spend(self, effort: int) -> None:
        self.steps += 1
        self._effort += effort
        if self.steps > _STEPS or self._effort > _EFFORT:
            raise TooCostlyError("judging by this outputSchema could take a very long time")

    def _applied(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the schemas that a schema has evaluated on the same value."""
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference not in self._targets:
                self._targets[reference] = resolve(self._root, unquote(reference[1:]))
            yield self._targets[reference]
        for keyword in _IN_PLACE:
            if keyword in schema:
                yield schema[keyword]
        for keyword in _IN_PLACE_LISTS:
            yield from _list(schema.get(keyword))
        for keyword in _DEPENDENT:
            members = schema.get(keyword)
            yield from members.values() if isinstance(members, Mapping) else ()


def _add(schemas: dict[int, tuple[Any, int]], schema: Any, count: int) -> None:
    before = schemas.get(id(schema))
    schemas[id(schema)] = (schema, count + (before[1] if before else 0))


def _parts(node: Any, schemas: list[tuple[Mapping[str, Any], int]]) -> Iterator[tuple[Any, Finder]]:
    """Yield what stands in a value, each with what finds the schemas for it in one that is evaluated on the value."""
    if isinstance(node, dict):
        named = any("propertyNames" in schema for schema, _ in schemas)
        for name, inner in node.items():
            yield inner, partial(_for_member, name=name)
            if named:
                yield name, _for_name
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield inner, partial(_for_item, index=index)


def _for_name(schema: Mapping[str, Any]) -> Iterator[Any]:
    if "propertyNames" in schema:
        yield schema["propertyNames"]


def _for_member(schema: Mapping[str, Any], name: str) -> Iterator[Any]:
    named = schema.get("properties")
    is_named = isinstance(named, Mapping) and name in named
    if isinstance(named, Mapping) and is_named:
        yield named[name]
    if isinstance(patterns := schema.get("patternProperties"), Mapping):
        yield from patterns.values()
    if not is_named:
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            if keyword in schema:
                yield schema[keyword]


def _for_item(schema: Mapping[str, Any], index: int) -> Iterator[Any]:
    for keyword in ("prefixItems", "items"):
        yield from _list(schema.get(keyword))[index : index + 1]
    for keyword in ("items", "additionalItems", "contains", "unevaluatedItems"):
        if isinstance(part := schema.get(keyword), Mapping):
            yield part


def _weight(schema: Mapping[str, Any], node: Any) -> int:
    """Return how many plain evaluations a schema's own keywords are worth on a value."""
    weight = 1 + len(_list(schema.get("enum"))) + len(_list(schema.get("required")))
    if isinstance(node, str) and isinstance(pattern := schema.get("pattern"), str):
        weight += _matching(pattern, node)
    if isinstance(node, dict) and isinstance(patterns := schema.get("patternProperties"), Mapping):
        weight += sum(_matching(pattern, name) for pattern in patterns for name in node)
    if isinstance(node, list):
        weight += len(node) * (1 + ("uniqueItems" in schema))
    return weight


def _matching(pattern: str, text: str) -> int:
    if _LOOKING_AROUND.search(pattern):
        return int(min(2.0 ** min(len(text), 30), _SLOWEST))
    return 1 + len(text) // 100


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
