"""Reads the JSON Schemas of a server's tools. They are a stranger's: within bounds, and nothing that they refer to is fetched."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from .jsonvalues import pointer, resolve
from .links import Link, path_of
from .text import quote

DEEPEST = 100  # levels; the schemas of real tools have up to 30, and engines stop at 128
MOST_VALUES = 50_000  # in one schema; those of real tools have up to 7,000
NO_ENGINE = "the server's own schemas are judged with jsonschema-rs only, which is not installed: pip install 'pytest-adcp[schemas]'"

_STEM = "json-schema.org/"
_DRAFTS = {
    "draft-04/schema": "Draft4Validator",
    "draft-06/schema": "Draft6Validator",
    "draft-07/schema": "Draft7Validator",
    "draft/2019-09/schema": "Draft201909Validator",
    "draft/2020-12/schema": "Draft202012Validator",
}
DEFAULT = "draft/2020-12/schema"  # what MCP takes a schema for that does not say
_OLDER = "draft-07/schema"  # what many libraries write without saying so

# Where a schema holds further schemas. What stands elsewhere (const, default, examples ...) is data.
_ONE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTED = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a schema, and where in it."""

    pointer: str
    value: Any
    words: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that leads to nothing in its own schema."""

    pointer: str
    text: str
    is_local: bool  # it means a place in this schema, where nothing is


@dataclass(frozen=True, slots=True)
class Circle:
    """References that lead back to where they began, without a step into the value."""

    pointer: str  # of one of them
    texts: tuple[str, ...]  # in their order


def too_large(schema: object, most: int = MOST_VALUES) -> str:
    """Say why a schema is not looked at; empty where it is small enough."""
    count, stack = 0, [(schema, 1)]
    while stack:
        node, depth = stack.pop()
        count += 1
        if depth > DEEPEST:
            return f"it is more than {DEEPEST} levels deep"
        if count + len(stack) > most:
            return f"it holds more than {most:,} values"
        if isinstance(node, Mapping):
            stack.extend((member, depth + 1) for member in node.values())
        elif isinstance(node, list):
            stack.extend((item, depth + 1) for item in node)
    return ""


def subschemas(schema: object) -> Iterator[tuple[Link, Mapping[str, Any]]]:
    """Yield a schema and all that stand in it, each with its place; a small schema (see too_large) only."""
    stack: list[tuple[Any, Link]] = [(schema, None)]
    while stack:
        node, link = stack.pop()
        if not isinstance(node, Mapping):
            continue
        yield link, node
        stack.extend((node[keyword], (link, keyword)) for keyword in _ONE if keyword in node)
        for keyword in _LISTED:
            if isinstance(items := node.get(keyword), list):
                stack.extend((item, ((link, keyword), index)) for index, item in enumerate(items))
        for keyword in _NAMED:
            if isinstance(members := node.get(keyword), Mapping):
                stack.extend((member, ((link, keyword), name)) for name, member in members.items())


# -- dialects --------------------------------------------------------------------------------------------------


def dialects(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the dialects that a schema may be in, the likeliest first; none where its $schema is not known."""
    if "$schema" not in schema:
        return (DEFAULT, _OLDER)
    stated = schema["$schema"]
    if not isinstance(stated, str):
        return ()
    name = stated.removeprefix("https://").removeprefix("http://").removesuffix("#")
    if name == f"{_STEM}schema":  # "the newest"
        return (DEFAULT,)
    dialect = name.removeprefix(_STEM)
    return (dialect,) if name.startswith(_STEM) and dialect in _DRAFTS else ()


def dialect_name(dialect: str) -> str:
    """Return a dialect as people call it: draft-07, 2020-12."""
    return dialect.removesuffix("/schema").removeprefix("draft/")


def has_engine() -> bool:
    """Whether schemas of strangers can be judged here."""
    try:
        importlib.import_module("jsonschema_rs")
    except ImportError:
        return False
    return True


def draft(dialect: str) -> Any:
    """Return the engine's class for a dialect."""
    return getattr(importlib.import_module("jsonschema_rs"), _DRAFTS[dialect])


@cache
def _meta_schema(dialect: str) -> Any:
    scheme = "https" if dialect.startswith("draft/") else "http"
    # Formats are left out: the engine's `regex` knows less than ECMAScript.
    return draft(dialect)(
        {"$ref": f"{scheme}://{_STEM}{dialect}"}, offline=True, validate_formats=False, mask="it"
    )


def flaw_of(schema: Mapping[str, Any], dialect: str) -> Flaw | None:
    """Return what is wrong with a small schema as one of a dialect; None: nothing, or it cannot be said."""
    import jsonschema_rs

    try:
        _meta_schema(dialect).validate(schema)
    except jsonschema_rs.ValidationError as error:
        path = tuple(error.instance_path)
        value = resolve(schema, pointer(*path))
        return Flaw(pointer(*path), value, _wrong(path, value))
    except ValueError:  # halves of surrogate pairs, infinite numbers
        return None
    return None


def _wrong(path: tuple[str | int, ...], value: Any) -> str:
    keyword = next((token for token in reversed(path) if isinstance(token, str)), "")
    if not path or (len(path) > 1 and path[-2] in (*_NAMED, *_LISTED)):
        return f"a schema is an object, true or false, and not {quote(value, 100)}"
    if keyword == "type" and isinstance(value, str):
        return f"{quote(value, 60)} is no type of JSON Schema"
    return f"{quote(keyword, 60)} cannot be {quote(value, 100)}"


# -- references ------------------------------------------------------------------------------------------------


def lost_references(schema: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield the references of a small schema that lead to nothing in it; none is followed out of it."""
    found = list(_with_bases(schema))
    bases = {base for _, _, base, _ in found}
    anchors = {
        name.removeprefix("#")
        for _, node, _, _ in found
        for keyword in ("$anchor", "$dynamicAnchor", "$id", "id")
        if isinstance(name := node.get(keyword), str) and (keyword.startswith("$") or name.startswith("#"))
    }
    for link, node, base, resource in found:
        for keyword in _REFERENCES:
            text = node.get(keyword)
            if not isinstance(text, str):
                continue
            place = pointer(*path_of((link, keyword)))
            if text.startswith("#") or not text:
                if not any(_leads_somewhere(root, text[1:], anchors) for root in (resource, schema)):
                    yield Reference(place, text, is_local=True)
            elif _joined(base, text) not in bases and not dialects({"$schema": text}):
                yield Reference(place, text, is_local=False)


def circles(schema: Mapping[str, Any]) -> Iterator[Circle]:
    """Yield the circles in a small schema: what has a schema evaluated again on the same value, whatever that is.

    Only $ref and allOf always do. A recursion through properties or items comes to an end with the value.
    """
    found = list(_with_bases(schema))
    older = (dialects(schema) or (DEFAULT,))[0].startswith("draft-0")  # there nothing stands beside $ref
    resources = {id(node): resource for _, node, _, resource in found}
    places = {id(node): link for link, node, _, _ in found}

    def following(node: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
        text = node.get("$ref")
        if isinstance(text, str) and (text in ("", "#") or text.startswith("#/")):
            with suppress(LookupError):
                yield text, resolve(resources.get(id(node), schema), unquote(text[1:]))
        if isinstance(parts := node.get("allOf"), list) and not (older and "$ref" in node):
            yield from ((None, part) for part in parts)

    done: set[int] = set()
    for _, start, _, _ in found:
        path: list[tuple[Mapping[str, Any], Iterator[tuple[str | None, Any]], str | None]] = []
        begun: dict[int, int] = {}
        ahead: tuple[str | None, Any] | None = (None, start)
        while ahead is not None or path:
            if ahead is None:
                done.add(id(path[-1][0]))
                begun.pop(id(path.pop()[0]))
            elif id(ahead[1]) in begun:
                members = path[begun[id(ahead[1])] :]
                texts = [text for _, _, text in members[1:]] + [ahead[0]]
                placed = [id(node) for node, _, _ in members if "$ref" in node and id(node) in places]
                place = pointer(*path_of((places[placed[0]], "$ref"))) if placed else ""
                yield Circle(place, tuple(text for text in texts if text is not None))
            elif isinstance(ahead[1], Mapping) and id(ahead[1]) not in done:
                begun[id(ahead[1])] = len(path)
                path.append((ahead[1], following(ahead[1]), ahead[0]))
            ahead = next(path[-1][1], None) if path else None


def _with_bases(schema: Mapping[str, Any]) -> Iterator[tuple[Link, Mapping[str, Any], str, Any]]:
    """Yield each subschema with its place, the address that its references start from, and whose root that is."""
    holders: dict[Link, tuple[str, Any]] = {}
    for link, node in subschemas(schema):
        above = link
        while above is not None and (above := above[0]) not in holders:
            pass
        base, resource = holders.get(above, ("", schema)) if link is not None else ("", schema)
        identity = node.get("$id")
        if isinstance(identity, str) and not identity.startswith("#"):
            base, resource = _joined(base, identity), node
        holders[link] = (base, resource)
        yield link, node, base, resource


def _joined(base: str, text: str) -> str:
    try:
        return urldefrag(urljoin(base, text))[0]
    except ValueError:
        return text


def _leads_somewhere(root: Any, fragment: str, anchors: set[str]) -> bool:
    fragment = unquote(fragment)
    if fragment and not fragment.startswith("/"):
        return fragment in anchors
    try:
        resolve(root, fragment)
    except LookupError:
        return False
    return True
