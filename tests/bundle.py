"""AdCP's published schemas, for tests that hold our files to them.

They come from the `adcp` package, or from the folder that ADCP_TEST_SCHEMAS names: one folder a release
("3.1"), with a manifest.json in each.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from jsonschema import Draft7Validator
from pytest_adcp.harness.calls import Take
from pytest_adcp.harness.jsonvalues import resolve
from pytest_adcp.harness.schema_bundle import find_bundle
from pytest_adcp.harness.schemas import Validators
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

RELEASES = ("3.0", "3.1", "3.2")
JSON_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
WHY_SKIPPED = (
    "AdCP schemas not found: install the adcp package, or name its _schemas folder in ADCP_TEST_SCHEMAS"
)

# Both ways to name an account.
ACCOUNTS = (
    {"account_id": "acc-1"},
    {"brand": {"domain": "acme.example"}, "operator": "agency.example", "sandbox": True},
)
# What a seller could have answered, for values that are taken from an answer.
ANSWERED = {"agent_url": "https://agent.example", "revision": 1, "terms_digest": f"sha256:{'0' * 43}"}

Place = tuple[str, Any]  # a schema object and the URL of the file that it stands in


def folder() -> Path | None:
    """Return the folder of all releases, or None. The adcp package is not imported for it."""
    if named := os.environ.get("ADCP_TEST_SCHEMAS"):
        return Path(named)
    spec = importlib.util.find_spec("adcp")
    return (
        Path(spec.submodule_search_locations[0], "_schemas")
        if spec and spec.submodule_search_locations
        else None
    )


@cache
def validators() -> Validators | None:
    """Return what judges payloads by these schemas; None where there are none."""
    named = os.environ.get("ADCP_TEST_SCHEMAS")
    found = find_bundle(Path(named) if named else None)
    return Validators(found) if found else None


def answered(
    arguments: Mapping[str, Any], takes: Iterable[Take], needed: Iterable[str] = ()
) -> dict[str, Any]:
    """Return arguments with something plausible where the seller has to say it."""
    filled: dict[str, Any] = copy.deepcopy(dict(arguments))
    values = [(take.argument, ANSWERED.get(take.value.rpartition("/")[2], "x-1")) for take in takes]
    for place, value in [*values, *((place, "x-1") for place in needed)]:
        parent, _, last = place.rpartition("/")
        holder = resolve(filled, parent)
        holder[int(last) if isinstance(holder, list) else last] = value
    return filled


@cache
def bundle(release: str) -> Bundle:
    """Return the schemas of a release; skips the test where there are none."""
    found = folder()
    if found is None:
        pytest.skip(WHY_SKIPPED)
    return Bundle(found / release)


def _alternatives(schema: Mapping[str, Any]) -> Iterator[list[tuple[Any, list[str]]]]:
    """Yield rows of schemas of which one holds; with each stands what its condition requires."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield [(branch, []) for branch in schema[keyword]]
    if "if" in schema:
        yield [(schema.get("then", {}), schema["if"].get("required", [])), (schema.get("else", {}), [])]


class Bundle:
    """The schemas of one release. Each release writes references in its own way; urljoin reads them all."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, Any] = {}
        self.manifest: dict[str, Any] = json.loads((root / "manifest.json").read_bytes())
        self._base = f"https://adcontextprotocol.org/schemas/{self.manifest['adcp_version']}/"
        self._registry: Registry[Any] = Registry(retrieve=self._resource)

    @property
    def tools(self) -> Mapping[str, Mapping[str, Any]]:
        tools: Mapping[str, Mapping[str, Any]] = self.manifest["tools"]
        return tools

    @cached_property
    def error_codes(self) -> frozenset[str]:
        return frozenset(self.manifest["error_codes"])

    def input_schemas(self) -> list[dict[str, Any]]:
        """Return a tool list with the request schemas that are published in one piece."""
        files = {name: self._root / "bundled" / tool["request_schema"] for name, tool in self.tools.items()}
        found = {name: json.loads(file.read_bytes()) for name, file in files.items() if file.exists()}
        return [{"name": name, "inputSchema": schema} for name, schema in found.items()]

    def request(self, task: str) -> Place:
        return self._place(self.tools[task]["request_schema"])

    def response(self, task: str) -> Place:
        return self._place(self.tools[task]["response_schema"])

    def errors(self, place: Place, instance: object) -> list[str]:
        validator = Draft7Validator({"$ref": place[0]}, registry=self._registry)
        return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(instance)]

    def parts(self, place: Place, *, branches: bool = True, depth: int = 12) -> Iterator[Place]:
        """Yield a schema and what it is composed of: references, allOf, and the branches where wanted."""
        base, schema = place
        if not isinstance(schema, dict) or not depth:
            return
        yield place
        inside = [self._resolved(base, schema["$ref"])] if "$ref" in schema else []
        inside += [(base, part) for part in schema.get("allOf", [])]
        if branches:
            inside += [(base, part) for keyword in ("anyOf", "oneOf") for part in schema.get(keyword, [])]
            inside += [(base, schema[keyword]) for keyword in ("then", "else") if keyword in schema]
        for part in inside:
            yield from self.parts(part, branches=branches, depth=depth - 1)

    def members(self, place: Place) -> dict[str, list[Place]]:
        """Return every member that a schema names, wherever in it."""
        found: dict[str, list[Place]] = {}
        for base, schema in self.parts(place):
            for name, member in schema.get("properties", {}).items():
                if member is not False:
                    found.setdefault(name, []).append((base, member))
        return found

    def types(self, places: list[Place]) -> set[str]:
        """Return the JSON types that a member may have."""
        found: set[str] = set()
        for place in places:
            for _, schema in self.parts(place):
                stated = schema.get("type", [])
                values = [schema["const"]] if "const" in schema else schema.get("enum", [])
                found |= {stated} if isinstance(stated, str) else set(stated)
                found |= {JSON_TYPES[type(value)] for value in values}
        return found

    def at(self, place: Place, path: str) -> list[Place]:
        """Return the schemas of what a JSON pointer into an instance can point at."""
        places = [place]
        for token in path.split("/")[1:]:
            if token.isdigit():
                parts = [part for each in places for part in self.parts(each)]
                places = [(base, schema["items"]) for base, schema in parts if "items" in schema]
            else:
                places = [found for each in places for found in self.members(each).get(token, [])]
        return places

    def required(self, place: Place) -> set[str]:
        """Return the members that a schema requires in some case, or makes a condition."""
        schemas = [schema for _, schema in self.parts(place)]
        conditions = [schema["if"] for schema in schemas if "if" in schema]
        return {name for schema in [*schemas, *conditions] for name in schema.get("required", [])}

    def always_has(self, place: Place, names: Collection[str], given: Collection[str] = ()) -> bool:
        """Whether everything that is valid, beside what is `given`, has one of these members."""
        parts = list(self.parts(place, branches=False))
        required = {*given, *(name for _, schema in parts for name in schema.get("required", []))}
        return not required.isdisjoint(names) or any(
            all(self.always_has((base, branch), names, given) for branch, given in ways)
            for base, schema in parts
            for ways in _alternatives(schema)
        )

    def _place(self, path: str) -> Place:
        url = self._base + path
        return url, self._file(url)

    def _resolved(self, base: str, reference: str) -> Place:
        url, _, fragment = urljoin(base, reference).partition("#")
        node = self._file(url)
        for token in fragment.split("/")[1:]:
            node = node[token.replace("~1", "/").replace("~0", "~")]
        return url, node

    def _file(self, url: str) -> Any:
        if url not in self._files:
            schema = json.loads((self._root / url.removeprefix(self._base)).read_bytes())
            self._files[url] = {**schema, "$id": url}
        return self._files[url]

    def _resource(self, url: str) -> Resource[Any]:
        return Resource(contents=self._file(url), specification=DRAFT7)
