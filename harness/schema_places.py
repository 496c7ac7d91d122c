"""From the path that an engine reports to the place in the published files: the schema, its keyword, its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urljoin

from .jsonvalues import pointer, resolve
from .schema_bundle import base_of
from .schema_engines import Path

# What follows these is the name of a member, or an index; the schema comes after it.
_OF_MEMBERS = frozenset({"properties", "patternProperties", "dependencies", "definitions", "$defs"})
_OF_BRANCHES = frozenset({"allOf", "anyOf", "oneOf", "items"})
# Judged as a whole: what broke inside them is beside the point.
_WHOLE = frozenset({"not", "contains", "propertyNames"})
# False for these is a statement about the object or array, not about what stands in it.
_CLOSING = frozenset({"additionalProperties", "additionalItems"})


@dataclass(frozen=True, slots=True)
class Place:
    """A keyword in a schema."""

    file: str  # address of the file
    path: Path  # of the keyword in the file
    schema: Any  # the schema that the keyword stands in
    keyword: str  # `false` where a schema that nothing fits stands
    value: Any  # what the keyword says

    @property
    def address(self) -> str:
        """Where to read it: URL of the file and JSON pointer."""
        return f"{self.file}#{pointer(*self.path)}"


class Documents:
    """A schema and all that it refers to."""

    def __init__(self, url: str, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._root = url

    def place(self, path: Path) -> Place:
        """Return the place that a path of keywords from the root schema leads to."""
        file, inside, node = self.followed(self._root, (), self._documents[self._root])
        schema, keyword = node, "false"
        tokens = [token for token in path if token != "$ref"]  # noqa: S105 - it is a keyword
        while tokens:
            keyword = str(tokens.pop(0))
            schema, value, here = node, node[keyword], (*inside, keyword)
            if keyword in _WHOLE or not tokens:
                nothing_fits = value is False and keyword not in _CLOSING
                return Place(file, here, schema, "false" if nothing_fits else keyword, value)
            node, inside = value, here
            if keyword in _OF_MEMBERS or (keyword in _OF_BRANCHES and isinstance(value, list)):
                token = tokens.pop(0)
                node, inside = value[token], (*inside, token)
            if node is False or isinstance(node, list):
                break
            file, inside, node = self.followed(file, inside, node)
        return Place(file, inside, schema, keyword if isinstance(node, list) else "false", node)

    def followed(self, file: str, path: Path, node: Any) -> tuple[str, Path, Any]:
        """Return where a schema really stands: as draft-07 has it, `$ref` hides all that stands beside it."""
        for _ in range(100):  # a ring of references says nothing
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                break
            file, fragment = urldefrag(urljoin(base_of(file, self._documents[file]), node["$ref"]))
            path = tuple(token.replace("~1", "/").replace("~0", "~") for token in fragment.split("/")[1:])
            node = resolve(self._documents[file], fragment)
        return file, path, node
