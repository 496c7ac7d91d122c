"""The parameters of a tool as its inputSchema writes them: through local references, allOf and unions with null.

The schema is a stranger's: it is read within bounds, each place in it once, and nothing that it refers to is fetched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

from pytest_adcp.harness.jsontext import resolve
from pytest_adcp.harness.subjects import ListedTool

DEEPEST = 12  # levels of parameters in parameters
MOST = 1_000  # parameters of one tool, over all levels; real ones have up to 300
_KEYWORDS = 15_000  # keywords and properties that are looked at, for one tool; real ones need up to 5,000
_ITEMS = 200  # entries of a list that are looked at
_LONGEST_REF = 500
_LONGEST_PLACE = 100  # tokens of a place in a schema; beyond it nothing is looked at
_UNIONS = ("anyOf", "oneOf")
_SAID = ("title", "description", "default", "examples")  # of these the nearest counts, of others the arm's

Tokens = tuple[str | int, ...]
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A property of a tool's input, at any depth.

    Shapes: `path` is ("filter", "city"), or ("rows[]", "id") below the items of an array; `at` leads from the tool's definition
    to the place where the property is written (ListedTool.at takes it).
    """

    name: str
    path: tuple[str, ...]
    at: Tokens
    schema: Schema  # its own keywords, with those of its references, its allOf, and its one arm beside null
    arms: tuple[Schema, ...]  # what it may be beside null, each merged likewise; one where it is no union
    required: bool  # by the object that holds it
    parent: Parameter | None = None

    @property
    def depth(self) -> int:
        """1 for what stands in the arguments themselves."""
        return len(self.path)

    @property
    def shown(self) -> str:
        """What it is called in a message: filter.city, rows[].id."""
        return ".".join(self.path)

    @property
    def description(self) -> str:
        """Its description; an arm's, where it has none itself; empty where there is none that is a string."""
        return next((text for text in self.said("description") if isinstance(text, str) and text.strip()), "")

    @property
    def types(self) -> frozenset[str]:
        """The JSON types that it may have beside null; empty where it does not say, or an arm does not."""
        found = [_types(arm) for arm in self.arms]
        return frozenset().union(*found) - {"null"} if all(found) else frozenset()

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of enum and const beside null, over all arms; empty where an arm takes others too."""
        found = [_values(arm) for arm in self.arms]
        return tuple(value for each in found for value in each if value is not None) if all(found) else ()

    def said(self, keyword: str) -> tuple[Any, ...]:
        """Return what is written under a keyword: by itself, then by each arm; what comes twice is given once."""
        found = [part[keyword] for part in (self.schema, *self.arms) if keyword in part]
        return tuple(
            value for index, value in enumerate(found) if not any(value is one for one in found[:index])
        )


def parameters_of(tool: ListedTool) -> tuple[Parameter, ...]:
    """Return the parameters of a tool, those of its arguments first, then level by level.

    What is written in one place and reached by several ways, or by a way that leads round in a circle, comes once: at its
    shortest way. A property that several parts of one object write is taken from the first of them.
    """
    schema = tool.value.get("inputSchema")
    return _read(_Same(schema)) if isinstance(schema, Mapping) else ()


class _Same:
    """A schema as the key of a cache: the same object, not an equal one. Every rule on parameters reads every schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=256)
def _read(same: _Same) -> tuple[Parameter, ...]:
    return tuple(_Reader(same.schema).read())


@dataclass(frozen=True, slots=True)
class _Part:
    """A schema object and where it is written."""

    schema: Schema
    at: Tokens


class _Reader:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = _KEYWORDS
        self._wholes: dict[Tokens, list[_Part]] = {}
        self._unions: dict[Tokens, list[_Part]] = {}

    def read(self) -> Iterator[Parameter]:
        """Yield the parameters, level by level."""
        root = _Part(self._root, ("inputSchema",))
        queue: deque[tuple[Parameter | None, _Part, tuple[str, ...]]] = deque([(None, root, ())])
        seen: set[Tokens] = set()
        while queue and self._left > 0:
            parent, holder, path = queue.popleft()
            for name, part, required in self._properties(holder):
                if part.at in seen:
                    continue
                if len(seen) == MOST:
                    return
                seen.add(part.at)
                parameter = self._parameter(name, part, (*path, name), required, parent)
                yield parameter
                if parameter.depth < DEEPEST:
                    queue.append((parameter, part, parameter.path))
                    queue.extend((parameter, items, (*path, f"{name}[]")) for items in self._items(part))

    def _parameter(
        self, name: str, part: _Part, path: tuple[str, ...], required: bool, parent: Parameter | None
    ) -> Parameter:
        own = self._merged(part)
        said = {keyword: own[keyword] for keyword in _SAID if keyword in own}
        shared = {keyword: value for keyword, value in own.items() if keyword not in _UNIONS}
        arms = tuple({**shared, **self._merged(arm), **said} for arm in self._arms(part)) or (own,)
        return Parameter(name, path, part.at, arms[0] if len(arms) == 1 else own, arms, required, parent)

    def _properties(self, holder: _Part) -> Iterator[tuple[str, _Part, bool]]:
        """Yield the properties of an object, each once; where it is a union, required is what all its arms require."""
        found: dict[str, _Part] = {}
        always = self._own_properties(holder, found)
        needed = [self._own_properties(arm, found) for arm in self._arms(holder)]
        always |= set.intersection(*needed) if needed else set()
        for name, part in found.items():
            yield name, part, name in always

    def _own_properties(self, holder: _Part, found: dict[str, _Part]) -> set[str]:
        """Add what a schema says of properties, unions left out, and return the names that it requires."""
        required: set[str] = set()
        for part in self._parts(holder):
            required |= {name for name in _list(part.schema.get("required")) if isinstance(name, str)}
            properties = part.schema.get("properties")
            if not isinstance(properties, Mapping):
                continue
            self._left -= min(len(properties), MOST)
            for name, value in islice(properties.items(), MOST):
                if isinstance(value, Mapping | bool) and name not in found:
                    schema = value if isinstance(value, Mapping) else {}
                    found[name] = _Part(schema, (*part.at, "properties", name))
        return required

    def _items(self, holder: _Part) -> Iterator[_Part]:
        """Yield what is written of the items of an array, by each arm of a union."""
        for arm in (holder, *self._arms(holder)):
            for part in self._parts(arm):
                if isinstance(items := part.schema.get("items"), Mapping):
                    yield _Part(items, (*part.at, "items"))

    def _arms(self, holder: _Part) -> list[_Part]:
        """Return the arms of a union beside null, not those that are unions themselves; none where it is none."""
        found: list[_Part] = []
        stack, seen = [holder], {holder.at}
        while stack and self._left > 0:
            item = stack.pop()
            self._left -= 1
            inner = self._alternatives(item)
            if not inner and item is not holder:
                found.append(item)
            fresh = [arm for arm in inner if arm.at not in seen]
            seen.update(arm.at for arm in fresh)
            stack.extend(reversed(fresh))
        return found

    def _alternatives(self, item: _Part) -> list[_Part]:
        """Return the arms that a schema has itself, or by what holds with it; read once for each place."""
        if item.at not in self._unions:
            self._unions[item.at] = [
                arm
                for part in self._parts(item)
                for keyword in _UNIONS
                for arm in _listed(part, keyword)
                if not _is_null(arm.schema) and len(arm.at) <= _LONGEST_PLACE
            ]
        return self._unions[item.at]

    def _parts(self, part: _Part) -> list[_Part]:
        """Return a schema and all that holds with it, each once: what it refers to, and its allOf; read once for each place."""
        if part.at in self._wholes:
            return self._wholes[part.at]
        found: list[_Part] = []
        stack, seen = [part], {part.at}
        while stack and self._left > 0:
            item = stack.pop()
            self._left -= 1 + len(item.schema)
            found.append(item)
            more = [self._target(item.schema.get("$ref")), *_listed(item, "allOf")]
            near = [each for each in more if each is not None and len(each.at) <= _LONGEST_PLACE]
            fresh = [each for each in near if each.at not in seen]
            seen.update(each.at for each in fresh)
            stack.extend(reversed(fresh))
        self._wholes[part.at] = found
        return found

    def _target(self, reference: Any) -> _Part | None:
        if not isinstance(reference, str) or len(reference) > _LONGEST_REF or not reference.startswith("#"):
            return None
        path = unquote(reference[1:])
        try:
            value = resolve(self._root, path)
        except (LookupError, ValueError):
            return None
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]
        return _Part(value, ("inputSchema", *tokens)) if isinstance(value, Mapping) else None

    def _merged(self, part: _Part) -> Schema:
        """Return the keywords of a schema and all that holds with it; the nearest word counts."""
        merged: dict[str, Any] = {}
        for each in self._parts(part):
            for keyword, value in each.schema.items():
                merged.setdefault(keyword, value)
        merged.pop("$ref", None)
        merged.pop("allOf", None)
        return merged


def _listed(part: _Part, keyword: str) -> list[_Part]:
    return [
        _Part(schema, (*part.at, keyword, index))
        for index, schema in enumerate(_list(part.schema.get(keyword)))
        if isinstance(schema, Mapping)
    ]


def _list(value: Any) -> list[Any]:
    return value[:_ITEMS] if isinstance(value, list) else []


def _is_null(schema: Schema) -> bool:
    return schema.get("type") == "null" or schema.get("enum") == [None] or schema.get("const", 0) is None


def _types(schema: Schema) -> frozenset[str]:
    stated = schema.get("type")
    names = [stated] if isinstance(stated, str) else _list(stated)
    if types := frozenset(name for name in names if isinstance(name, str)):
        return types
    return frozenset(_type(value) for value in _values(schema))


def _values(schema: Schema) -> tuple[Any, ...]:
    return (schema["const"],) if "const" in schema else tuple(_list(schema.get("enum")))


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
