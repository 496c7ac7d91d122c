from __future__ import annotations

import time
from typing import Any

import pytest
from pytest_adcp.harness.arguments import Shape, shape

SAMPLE = {"buying_mode": "brief", "brief": "shoes", "context": {"adcp_run": "r"}}
TEXT = {"type": "string"}
MODEL = {
    "type": "object",
    "properties": {"brief": TEXT, "buying_mode": TEXT, "context": {"type": "object"}},
    "required": ["brief"],
}


def fitted(schema: object, members: dict[str, Any] | None = None) -> Shape:
    return shape(schema, SAMPLE if members is None else members)


def sent(schema: object, **others: Any) -> dict[str, Any]:
    result = fitted(schema).fit({**SAMPLE, **others})
    assert result.missing == ()
    return result.arguments


@pytest.mark.parametrize(
    "schema",
    [
        {},
        None,
        [],
        "object",
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": []},
        {"properties": {"brief": TEXT}, "additionalProperties": True},
        {"properties": {"brief": TEXT}, "additionalProperties": {}},
        {"properties": {}, "additionalProperties": {}},
        {"allOf": [{"properties": {"x": TEXT}}, {"additionalProperties": True}]},
    ],
)
def test_an_open_schema_takes_everything(schema: object) -> None:
    assert sent(schema) == SAMPLE


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"type": "object", "additionalProperties": False}, set()),
        ({"properties": {"brief": TEXT}}, {"brief"}),
        ({"properties": {"brief": TEXT}, "additionalProperties": TEXT}, {"brief"}),
        ({"properties": {"brief": TEXT}, "unevaluatedProperties": False}, {"brief"}),
        ({"properties": {"brief": True, "context": {}}}, {"brief", "context"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"brief": TEXT}}}}, {"brief"}),
        (
            {"$ref": "#/definitions/A%20b~1c", "definitions": {"A b/c": {"properties": {"brief": TEXT}}}},
            {"brief"},
        ),
        (
            {"allOf": [{"properties": {"brief": TEXT}}, {"properties": {"buying_mode": TEXT}}]},
            {"brief", "buying_mode"},
        ),
        (
            {
                "oneOf": [
                    {"properties": {"brief": TEXT}, "additionalProperties": False},
                    {"properties": {"context": {}}},
                ]
            },
            {"brief", "context"},
        ),
    ],
)
def test_a_closed_schema_takes_what_it_names(schema: object, names: set[str]) -> None:
    assert set(sent(schema)) == names


@pytest.mark.parametrize(
    ("member", "is_sent"),
    [
        (TEXT, True),
        ({}, True),
        ({"type": ["null", "string"]}, True),
        ({"anyOf": [{"type": "null"}, TEXT]}, True),
        ({"$ref": "#/$defs/Text"}, True),
        ({"enum": ["shoes", None]}, True),
        ({"type": "str"}, True),  # no JSON type: it says nothing
        ({"type": "object"}, False),
        ({"type": ["array", "null"]}, False),
        ({"const": 1}, False),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, False),
        ({"$ref": "#/$defs/Number"}, False),
        ({"allOf": [{"type": "object"}]}, False),
    ],
)
def test_a_member_of_another_type_is_left_out(member: dict[str, Any], is_sent: bool) -> None:
    schema = {"properties": {"brief": member}, "$defs": {"Text": TEXT, "Number": {"type": "number"}}}
    assert ("brief" in sent(schema)) == is_sent
    assert "brief" in fitted(schema).fit(SAMPLE, unchecked=["brief"]).arguments


@pytest.mark.parametrize(
    ("value", "stated", "is_sent"),
    [
        (True, "boolean", True),
        (True, "integer", False),
        (1, "number", True),
        (1.5, "integer", False),
        (1.5, "number", True),
        (None, "null", True),
        ([], "array", True),
        ({}, "array", False),
    ],
)
def test_types_are_those_of_json(value: object, stated: str, is_sent: bool) -> None:
    known = shape({"properties": {"x": {"type": stated}}}, []).known
    assert known.takes("x", value) == is_sent


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ({"const": "a"}, "a"),
        ({"enum": ["b", "c"]}, "b"),
        ({"type": "integer", "default": 3}, 3),
        ({"default": False}, False),
        ({"$ref": "#/$defs/Kind"}, "k"),
        ({"allOf": [{"$ref": "#/$defs/Kind"}]}, "k"),
    ],
)
def test_a_required_member_is_filled_from_the_schema(member: dict[str, Any], value: object) -> None:
    schema = {"properties": {"kind": member}, "required": ["kind"], "$defs": {"Kind": {"const": "k"}}}
    assert fitted(schema).fit({}).arguments == {"kind": value}


@pytest.mark.parametrize(
    "member",
    [
        {"type": "string"},
        True,
        {"default": None},
        {"default": {"a": 1}},
        {"const": "x" * 201},
        {"default": float("inf")},
        {"enum": []},
        {"examples": ["a"]},
        {"anyOf": [{"const": "a"}]},
    ],
)
def test_what_cannot_be_filled_is_missing(member: object) -> None:
    schema = {"properties": {"kind": member, "brief": TEXT}, "required": ["kind", "zeta", "brief"]}
    result = fitted(schema).fit(SAMPLE)
    assert result.missing == ("kind", "zeta")
    assert result.arguments == {"brief": "shoes"}


def test_branches_require_what_all_of_them_require() -> None:
    one = {"properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]}
    two = {"properties": {"a": TEXT, "c": TEXT}, "required": ["a", "c"]}
    assert fitted({"anyOf": [one, two, {"type": "null"}]}).fit({}).missing == ("a",)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"params": MODEL}, "required": ["params"]},
        {"properties": {"anything": MODEL}, "required": ["anything"]},
        {"properties": {"request": {"$ref": "#/$defs/R"}}, "required": ["request"], "$defs": {"R": MODEL}},
        {"properties": {"req": {"anyOf": [{"$ref": "#/$defs/R"}, {"type": "null"}]}}, "$defs": {"R": MODEL}},
        {"properties": {"params": {"type": "object"}}, "required": ["params"]},
        {
            "properties": {"params": {"type": "object", "additionalProperties": True}, "trace": TEXT},
            "required": ["params"],
        },
    ],
)
def test_a_request_goes_into_the_one_parameter_that_takes_it(schema: dict[str, Any]) -> None:
    found = fitted(schema)
    (name,) = schema.get("required") or schema["properties"]
    assert found.fit(SAMPLE).arguments == {name: SAMPLE}
    assert found.place("/brief") == f"/{name}/brief"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"filters": {"type": "object"}}, "required": ["filters"]},
        {"properties": {"params": TEXT}, "required": ["params"]},
        {
            "properties": {"params": {"type": "object"}, "more": {"type": "object"}},
            "required": ["params", "more"],
        },
        {"properties": {"params": {"type": "object"}, "brief": TEXT}, "required": ["params"]},
        {"properties": {"context": {"type": "object"}}, "required": ["context"]},
    ],
)
def test_other_parameters_take_no_request(schema: object) -> None:
    assert fitted(schema).wrapper is None


def test_what_the_wrapped_request_requires_is_missing_too() -> None:
    inner = {"type": "object", "properties": {"brief": TEXT, "tenant": TEXT}, "required": ["tenant"]}
    result = fitted({"properties": {"params": inner}, "required": ["params"]}).fit(SAMPLE)
    assert result.missing == ("tenant",)


def endless() -> dict[str, Any]:
    deep: dict[str, Any] = {"properties": {"brief": TEXT}}
    for _ in range(100_000):
        deep = {"allOf": [deep]}
    return deep


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {"allOf": [{"$ref": "#"}] * 100, "properties": {"brief": TEXT}},
        {
            "anyOf": [{"$ref": "#"}] * 100,
            "oneOf": [{"$ref": "#"}] * 100,
            "properties": {"brief": {"$ref": "#"}},
        },
        {"allOf": [{"$ref": "#"}] * 1_000_000},
        {
            "properties": {f"p{index}": {"$ref": "#"} for index in range(100_000)},
            "anyOf": [{"$ref": "#"}] * 200,
        },
        {"properties": {"params": {"$ref": "#", "type": "object"}}, "required": ["params"]},
        {"required": ["x"] * 100_000, "properties": 5, "anyOf": {}, "allOf": "no", "oneOf": [1, None, []]},
        {"allOf": [{"$ref": "#/" + "a/" * 1_000_000}] * 200},
        {"$ref": 7, "type": {"a": 1}, "properties": {"brief": {"type": [1, {}], "enum": [[]]}}},
        {"properties": {"brief": endless()}},
        endless(),
    ],
    ids=range(12),
)
def test_hostile_schemas_are_read_within_bounds(schema: dict[str, Any]) -> None:
    started = time.process_time()
    fitted(schema).fit(SAMPLE)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:1/x", "file:///etc/hostname", "other.json", "#anchor", "#/nowhere"]
)
def test_only_references_inside_the_schema_are_followed(reference: str) -> None:
    schema = {"$ref": reference, "properties": {"brief": TEXT}}
    assert sent(schema) == {"brief": "shoes"}
