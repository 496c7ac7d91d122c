"""The reader of a tool's parameters, on literal schemas: honest ones, and such as are written to hurt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from apps import app, tool
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import App
from pytest_adcp.suites.connected_apps.parameters import DEEPEST, MOST, Parameter, parameters_of


def read(schema: Any) -> dict[str, Parameter]:
    (subject,) = app(tool()).entries(Judged.APP)
    assert isinstance(subject, App)
    listed = replace(subject.tools[0], value={"name": "get_weather", "inputSchema": schema})
    return {parameter.shown: parameter for parameter in parameters_of(listed)}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "types", "description", "values"),
    [
        ({"type": "string", "description": "A"}, {"string"}, "A", ()),
        ({}, set(), "", ()),
        (True, set(), "", ()),
        ({"type": ["integer", "null"]}, {"integer"}, "", ()),
        ({"anyOf": [{"type": "string", "description": "In"}, {"type": "null"}]}, {"string"}, "In", ()),
        (
            {"anyOf": [{"type": "string", "description": "In"}, {"type": "null"}], "description": "Out"},
            {"string"},
            "Out",
            (),
        ),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"string", "integer"}, "", ()),
        ({"anyOf": [{"type": "string"}, {}]}, set(), "", ()),
        ({"anyOf": [{"enum": ["a", "b"]}, {"const": "c"}, {"const": None}]}, {"string"}, "", ("a", "b", "c")),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "string"}]}, {"string"}, "", ()),
        ({"enum": ["a", None]}, {"string"}, "", ("a",)),
        ({"$ref": "#/$defs/city", "description": "Mine"}, {"string"}, "Mine", ()),
        ({"$ref": "#/$defs/city"}, {"string"}, "A city", ()),
        ({"allOf": [{"$ref": "#/$defs/city"}], "minLength": 2}, {"string"}, "A city", ()),
        ({"anyOf": [{"$ref": "#/$defs/city"}, {"type": "null"}]}, {"string"}, "A city", ()),
        ({"$ref": "#/$defs/gone"}, set(), "", ()),
        ({"$ref": "https://seller.example/city.json"}, set(), "", ()),
        ({"$ref": 7, "type": "string"}, {"string"}, "", ()),
        ({"type": "string", "description": 7}, {"string"}, "", ()),
    ],
)
def test_what_a_parameter_says(
    schema: Any, types: set[str], description: str, values: tuple[str, ...]
) -> None:
    defs = {"city": {"type": "string", "description": "A city"}}
    found = read({**of(it=schema), "$defs": defs})["it"]
    assert (found.types, found.description, found.values) == (types, description, values)


def test_places_paths_and_required() -> None:
    found = read(
        {
            **of(
                filter={"$ref": "#/$defs/a~1b", "description": "F"},
                rows={"type": "array", "items": {"anyOf": [of(id={"type": "string"}), {"type": "null"}]}},
            ),
            "required": ["filter"],
            "$defs": {"a/b": {**of(city={"type": "string"}, day={}), "required": ["city"]}},
        }
    )
    assert {name: (each.at, each.required) for name, each in found.items()} == {
        "filter": (("inputSchema", "properties", "filter"), True),
        "rows": (("inputSchema", "properties", "rows"), False),
        "filter.city": (("inputSchema", "$defs", "a/b", "properties", "city"), True),
        "filter.day": (("inputSchema", "$defs", "a/b", "properties", "day"), False),
        "rows[].id": (
            ("inputSchema", "properties", "rows", "items", "anyOf", 0, "properties", "id"),
            False,
        ),
    }
    assert found["filter.city"].parent == found["filter"]
    assert found["rows[].id"].depth == 2


def test_keywords_of_the_one_arm_are_the_parameters_own() -> None:
    arm = {"type": "integer", "maximum": 50}
    limit = read(of(limit={"anyOf": [arm, {"type": "null"}], "default": None}))["limit"]
    assert limit.schema["maximum"] == 50
    assert limit.said("maximum") == (50,)
    assert len(limit.arms) == 1


def test_required_by_a_union_is_what_all_arms_require() -> None:
    arms = [{**of(a={}, b={}), "required": ["a", "b"]}, {**of(a={}), "required": ["a"]}]
    found = read({"type": "object", "anyOf": arms})
    assert {name: each.required for name, each in found.items()} == {"a": True, "b": False}


def test_what_leads_round_in_a_circle_comes_once() -> None:
    node = of(name={"type": "string"}, next={"$ref": "#/$defs/node"}, root={"$ref": "#"})
    found = read(
        {**of(first={"$ref": "#/$defs/node"}), "$defs": {"node": node, "it": {"$ref": "#/$defs/it"}}}
    )
    assert list(found) == ["first", "first.name", "first.next", "first.root"]


def _nested(levels: int, wrap: Any) -> Mapping[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


_DOUBLING = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 9} for n in range(40)}
_FORKS = {
    f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}], **of(a={})}
    for n in range(40)
}
_WIDE = of(**{f"p{n}": {} for n in range(50_000)})


@pytest.mark.parametrize(
    "schema",
    [
        of(it=_nested(3_000, lambda inner: of(deeper=inner))),
        of(it=_nested(3_000, lambda inner: {"allOf": [inner]})),
        of(it=_nested(3_000, lambda inner: {"anyOf": [inner, {"type": "null"}]})),
        of(it=_nested(3_000, lambda inner: {"type": "array", "items": inner})),
        {**of(it={"$ref": "#/$defs/d0"}), "$defs": _DOUBLING},
        {**of(**{f"p{n}": {"$ref": "#/$defs/d0"} for n in range(500)}), "$defs": _FORKS},
        _WIDE,
        {**of(it={"anyOf": [{"$ref": "#/$defs/wide"}] * 5_000}), "$defs": {"wide": _WIDE}},
        {"$ref": "#"},
        {"$ref": "#" + "/x" * 10_000},
        {"properties": [], "required": "all", "anyOf": {}, "allOf": 7},
        of(it={"type": 7, "enum": {}, "items": [], "properties": {"x": 1}}),
        [],
        None,
    ],
)
def test_hostile_schemas_are_read_within_bounds(schema: Any) -> None:
    began = time.perf_counter()
    found = read(schema)
    assert len(found) <= MOST
    assert max((each.depth for each in found.values()), default=0) <= DEEPEST
    assert time.perf_counter() - began < 5
