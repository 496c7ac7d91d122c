"""What is said about a payload that does not match its schema."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from bundle import validators
from pytest_adcp.harness.schema_bundle import ERROR_OBJECT
from pytest_adcp.harness.schema_engines import PythonEngine, RustEngine
from pytest_adcp.harness.schema_words import Problem
from pytest_adcp.harness.schemas import SHOWN, Kind, Problems, Validator, Validators
from small_bundle import small_validators

pytest.importorskip("jsonschema_rs")  # both engines are compared here

URL = "https://adcontextprotocol.org/schemas/3.1.7/core/x.json"
BUY = {
    "status": "completed",
    "media_buy_id": "m",
    "confirmed_at": "2026-01-01T00:00:00Z",
    "revision": 1,
    "packages": [],
}
OK = {"status": "completed", "products": [], "cache_scope": "public"}


def problems(schema: Any, value: Any) -> Problems:
    """Judge by one schema with both engines, which have to agree."""
    fast, slow = (
        Validator(URL, {URL: schema}, factory).problems(value) for factory in (RustEngine, PythonEngine)
    )
    assert fast == slow
    return fast


def only(schema: Any, value: Any) -> Problem:
    (problem,) = problems(schema, value).shown
    return problem


def published(release: str, task: str, value: Any, kind: Kind = Kind.RESPONSE) -> Problems:
    found = validators()
    if found is None:
        pytest.skip("no AdCP schemas are at hand")
    return found.for_task(release, task, kind).problems(value)


def texts(found: Problems) -> list[str]:
    return [problem.text for problem in found.shown]


# -- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "text", "expected", "received"),
    [
        ({"required": ["a"]}, {"b": 1}, "/a: `a` is missing", "`a`", 'members ["b"]'),
        (
            {"required": ["task_id"]},
            {"taskId": 1},
            "/task_id: `task_id` is missing; `taskId` stands there instead",
            "`task_id`",
            'members ["taskId"]',
        ),
        ({"type": "object"}, [], "the payload is an array, not an object", "an object", "[]"),
        ({"items": {"type": ["string", "null"]}}, [5], "/0: the item is the number 5, not a string or null", "a string or null", "5"),
        ({"properties": {"a": {"type": "number"}}}, {"a": "12.5"}, "/a: `a` is a string, not a number", "a number", '"12.5"'),
        ({"properties": {"a": {"type": "number"}}}, {"a": True}, "/a: `a` is true, a boolean, not a number", "a number", "true"),
        (
            {"properties": {"a": {"type": "array"}}},
            {"a": None},
            "/a: `a` is null, not an array: leave out what has no value",
            "an array",
            "null",
        ),
        ({"const": 3}, 4, "the payload is 4, not 3", "3", "4"),
        (
            {"properties": {"a": {"enum": ["cpm", "vcpm"]}}},
            {"a": "CPM"},
            '/a: `a` is "CPM", not "cpm" or "vcpm"; "cpm" may be meant',
            '"cpm" or "vcpm"',
            '"CPM"',
        ),
        (
            {"enum": list(range(20))},
            99,
            "the payload is 99, not 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 or 11 and 8 more",
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 or 11 and 8 more",
            "99",
        ),
        ({"not": {"required": ["errors"]}}, {"errors": []}, "`errors` must not stand here", "no `errors`", "[]"),
        (
            {"not": {"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}},
            {"b": 1, "c": 2},
            "`b` and `c` must not stand here together",
            "no `b` and `c`",
            "1",
        ),
        ({"not": {"const": 1}}, 1, "the payload is just what the schema rules out", 'not: {"const": 1}', "1"),
        ({"properties": {"a": False}}, {"a": 1}, "/a: `a` must not stand here", "no such member", "1"),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"a": 1, "x1": 1, "b": 1},
            "`b` must not stand here",
            "only the members that the schema names",
            'members ["a", "x1", "b"]',
        ),
        ({"minimum": 1}, 0, "the payload is 0, not at least 1", "at least 1", "0"),
        ({"exclusiveMaximum": 1}, 1, "the payload is 1, not less than 1", "less than 1", "1"),
        ({"minItems": 1}, [], "the payload has 0 items, not at least 1 item", "at least 1 item", "[]"),
        ({"maxLength": 2}, "abc", "the payload has 3 characters, not at most 2 characters", "at most 2 characters", '"abc"'),
        ({"maxProperties": 0}, {"a": 1}, "the payload has 1 member, not at most 0 members", "at most 0 members", '{"a": 1}'),
        ({"pattern": "^a"}, "b", 'the payload is "b", not a text that matches "^a"', 'a text that matches "^a"', '"b"'),
        (
            {"format": "date"},
            "x",
            'the payload is "x", which is not a date like 2026-01-31',
            "a date like 2026-01-31",
            '"x"',
        ),
        ({"uniqueItems": True}, [1, 1], "the payload does not fit uniqueItems: true", "uniqueItems: true", "[1, 1]"),
        ({"contains": {"const": 1}}, [2], 'the payload does not fit contains: {"const": 1}', 'contains: {"const": 1}', "[2]"),
        (
            {"propertyNames": {"pattern": "^a"}},
            {"b": 1},
            'the payload does not fit propertyNames: {"pattern": "^a"}',
            'propertyNames: {"pattern": "^a"}',
            '{"b": 1}',
        ),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, "`b` has to stand beside what is there", "`b`", 'members ["a"]'),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "/b: `b` is missing", "`b`", 'members ["a"]'),
        (
            {"allOf": [{"$ref": "#/definitions/x"}], "definitions": {"x": {"type": "string"}}},
            1,
            "the payload is the number 1, not a string",
            "a string",
            "1",
        ),
        ({"if": {"const": 1}, "then": False}, 1, "the payload must not stand here", "no such member", "1"),
        ({"items": False}, [1], "/0: the item must not stand here", "no such member", "1"),
        (
            {"items": [{}], "additionalItems": False},
            [1, 2],
            "more items must not stand here",
            "only the items that the schema names",
            "[1, 2]",
        ),
        ({"allOf": [False]}, 1, "the payload must not stand here", "no such member", "1"),
    ],
)  # fmt: skip
def test_each_keyword_has_its_words(schema: Any, value: Any, text: str, expected: str, received: str) -> None:
    problem = only(schema, value)
    assert (problem.text, problem.expected, problem.received) == (text, expected, received)


def test_a_problem_says_where_the_published_file_says_so(tmp_path: Path) -> None:
    judge = small_validators(tmp_path).for_task("3.1", "get_products", Kind.RESPONSE)
    (problem,) = judge.problems({"products": [{"name": 5}]}).shown
    assert problem.pointer == "/products/0/name"
    assert problem.schema == f"{URL.removesuffix('x.json')}product.json#/properties/name/type"


def test_a_pointer_is_escaped() -> None:
    problem = only({"properties": {"a/b~\n": {"type": "null"}}}, {"a/b~\n": 1})
    assert problem.pointer == "/a~1b~0\n"
    assert problem.text.startswith("/a~1b~0\\n: `a/b~\\n` is the number 1")


# -- which branch was meant -----------------------------------------------------------------------------------

PRICES = {
    "oneOf": [
        {
            "title": "Fixed",
            "properties": {"model": {"const": "cpm"}, "price": {"type": "number"}},
            "required": ["model", "price"],
        },
        {
            "title": "Auction",
            "properties": {"model": {"const": "auction"}, "floor": {"type": "number"}},
            "required": ["model", "floor"],
        },
        {"title": "Flat", "properties": {"model": {"enum": ["flat", "cpd"]}}, "required": ["model"]},
    ]
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"model": "auction"}, "/floor: `floor` is missing (judged as Auction, the closest of 3 variants)"),
        (
            {"model": "cpm", "price": "1"},
            "/price: `price` is a string, not a number (judged as Fixed, the closest of 3 variants)",
        ),
        ({"model": "CPM", "price": 1}, '/model: `model` is "CPM", not "cpm", "auction", "flat" or "cpd"; "cpm" may be meant'),
        ({"price": 1}, "`model` is missing"),
    ],
)  # fmt: skip
def test_the_branch_that_was_meant_is_reported(value: Any, text: str) -> None:
    assert only(PRICES, value).text == text


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "`a` or `b` is missing"),
        (
            {"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]},
            {},
            "one of these is missing: `a` and `b`; or `c`",
        ),
        ({"anyOf": [{"required": ["a", "b"]}, {"required": ["b", "a"]}]}, {"a": 1}, "`b` is missing"),
        ({"oneOf": [{"type": "string"}, {"type": "array"}]}, 5, "the payload is the number 5, not a string or an array"),
        ({"oneOf": [{"type": "string"}, {"maxLength": 5}]}, "a", "the payload fits several of the 2 variants at once"),
        (
            {"anyOf": [{"type": "string", "minLength": 3}, {"type": "array"}]},
            "a",
            "the payload has 1 character, not at least 3 characters (judged as variant 1, the closest of 2 variants)",
        ),
        (
            {"oneOf": [{"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]}, {"type": "array"}]},
            "a",
            "the payload has 1 character, not at least 3 characters (judged as variant 1, the closest of 2 variants)",
        ),
    ],
)  # fmt: skip
def test_choices_have_their_words(schema: Any, value: Any, text: str) -> None:
    assert only(schema, value).text == text


# -- what real sellers send -----------------------------------------------------------------------------------


def product(**members: Any) -> dict[str, Any]:
    return {**OK, "products": [{"product_id": "p1", "name": "A", **members}]}


def test_a_pricing_model_in_capitals_is_named_with_what_may_stand_there() -> None:
    option = {"pricing_option_id": "o", "pricing_model": "CPM", "currency": "USD"}
    found = published("3.1", "get_products", product(pricing_options=[option]))
    (text,) = (text for text in texts(found) if "pricing_model" in text)
    assert text.startswith(
        '/products/0/pricing_options/0/pricing_model: `pricing_model` is "CPM", not "cpm", "vcpm"'
    )
    assert text.endswith('"cpm" may be meant')


def test_one_bad_asset_is_one_problem() -> None:
    manifest = {"format_id": {"agent_url": "https://a.example", "id": "x"}}
    value = {
        "status": "completed",
        "creative_manifest": {**manifest, "assets": {"pixel": {"asset_type": "url", "url": 5}}},
    }
    (text,) = texts(published("3.1", "build_creative", value))
    assert text.startswith(
        "/creative_manifest/assets/pixel/url: `url` is the number 5, not a string (judged as URL Asset"
    )


@pytest.mark.parametrize("errors", [[], [{"code": "X", "message": "y"}]])
def test_a_created_buy_has_no_errors_not_even_none(errors: list[Any]) -> None:
    (text,) = texts(published("3.1", "create_media_buy", {**BUY, "errors": errors}))
    assert text == "`errors` must not stand here (judged as CreateMediaBuySuccess, the closest of 3 variants)"


@pytest.mark.parametrize(
    ("task", "value", "kind", "starts"),
    [
        ("create_media_buy", {"status": "submitted", "taskId": "t"}, Kind.SUBMITTED, ["/task_id: `task_id` is missing; `taskId` stands"]),
        ("get_products", {**OK, "context": None}, Kind.RESPONSE, ["/context: `context` is null, not an object: leave out"]),
        (
            "get_products",
            {**OK, "errors": None, "pagination": None},
            Kind.RESPONSE,
            ["/errors: `errors` is null, not an array", "/pagination: `pagination` is null, not an object"],
        ),
        ("get_products", {"status": "completed", "products": []}, Kind.RESPONSE, ["/cache_scope: `cache_scope` is missing"]),
        (
            "si_get_offering",
            {"status": "completed", "context": "mens size 14", "available": True},
            Kind.RESPONSE,
            ["/context: `context` is a string, not an object"],
        ),
        ("get_products", {**OK, "authorization": {"scope": "x"}, "vendor_hint": 1}, Kind.RESPONSE, []),
        ("get_products", {"status": "working", "percentage": 45, "current_step": "x"}, Kind.WORKING, []),
        ("create_media_buy", BUY, Kind.RESPONSE, []),
    ],
)  # fmt: skip
def test_answers_of_real_sellers(task: str, value: Any, kind: Kind, starts: list[str]) -> None:
    found = published("3.1", task, value, kind)
    assert [text[: len(start)] for text, start in zip(texts(found), starts, strict=True)] == starts


def test_each_release_has_rules_of_its_own() -> None:
    plain = {"status": "completed", "products": []}
    assert not published("3.0", "get_products", plain).total
    assert published("3.1", "get_products", plain).total
    rejected = {"status": "rejected", "reason": "NO_MATCH"}
    assert published("3.1", "get_products", rejected).total


# -- bounds ---------------------------------------------------------------------------------------------------


@pytest.fixture
def judge(tmp_path: Path) -> Validator:
    return small_validators(tmp_path).for_task("3.1", "get_products", Kind.RESPONSE)


def test_twenty_problems_are_shown_and_the_rest_is_counted(judge: Validator) -> None:
    found = judge.problems({"products": [{"name": number} for number in range(50)]})
    assert (len(found.shown), found.total, found.more) == (SHOWN, 50, False)
    assert [problem.pointer for problem in found.shown] == [f"/products/{n}/name" for n in range(SHOWN)]


def test_counting_ends_somewhere(judge: Validator) -> None:
    found = judge.problems({"products": [{}] * 2000})
    assert (len(found.shown), found.total, found.more) == (SHOWN, 500, True)


def test_the_only_bad_item_of_a_long_list_is_found(judge: Validator) -> None:
    items: list[Any] = [{"name": "x", "price": {"model": "cpm", "fixed": 1}} for _ in range(3000)]
    items[2345] = {"name": "x", "price": {"model": "cpm", "fixed": -1}}
    (problem,) = judge.problems({"products": items, "errors": [{"code": "A", "message": "b"}]}).shown
    assert problem.pointer == "/products/2345/price/fixed"
    # What is said about the root is said once, however many pieces were looked at.
    found = judge.problems({"products": items, "context": 1})
    assert [problem.pointer for problem in found.shown] == ["/context", "/products/2345/price/fixed"]


def test_a_long_list_that_is_wrong_as_a_whole_is_no_pass() -> None:
    (problem,) = problems({"uniqueItems": True}, [*range(9000), 0]).shown
    assert problem.message.startswith("a list as a whole breaks its rules")


def test_formats_come_last(judge: Validator) -> None:
    value = {"products": [{"name": "x", "updated": "now"}, {"name": 5}]}
    assert [problem.keyword for problem in judge.problems(value).shown] == ["type", "format"]


# -- hostile payloads -----------------------------------------------------------------------------------------


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("factory", [RustEngine, PythonEngine])
@pytest.mark.parametrize("depth", [300, 3000, 100_000])
def test_depth_is_no_problem(factory: Any, depth: int) -> None:
    recursive = Validator(URL, {URL: {"items": {"$ref": "#"}, "type": "array"}}, factory)
    assert not recursive.problems(nested(depth)).total
    assert recursive.problems([nested(depth), 5]).shown[0].pointer == "/1"
    anything = Validator(URL, {URL: {"properties": {"a": {"type": "string"}}}}, factory)
    assert anything.problems({"ext": nested(depth), "a": 1}).shown[0].pointer == "/a"


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({"products": [], "ext": "\ud800"}, []),
        ({"products": [], "\udfff": "\ud83d"}, []),
        ({"products": [{"name": "\ud800"}]}, []),
        ({"products": [{"name": 5}], "ext": "\ud800"}, ["/products/0/name"]),
        ({"products": [], "ext": math.nan}, []),
        ({"products": [{"name": math.nan}]}, ["/products/0/name"]),
        (
            {"products": [{"name": "x", "price": {"model": "cpm", "fixed": math.inf}}]},
            [],
        ),  # JSON.parse of 1e400
        (
            {"products": [{"name": "x", "price": {"model": "cpm", "fixed": -math.inf}}]},
            ["/products/0/price/fixed"],
        ),
        ({"products": [{"name": "x", "price": {"model": "cpm", "fixed": 2**9000}}]}, []),
        ([], [""]),
    ],
)
def test_odd_values_are_judged(tmp_path: Path, value: Any, pointers: list[str]) -> None:
    for factory in (RustEngine, PythonEngine):
        bundle = small_validators(tmp_path)._bundle
        found = Validators(bundle, factory).for_task("3.1", "get_products", Kind.RESPONSE).problems(value)
        assert [problem.pointer for problem in found.shown] == pointers


def test_the_worst_payload_takes_seconds_at_most(judge: Validator) -> None:
    started = time.process_time()
    for hostile in (
        {"products": [{"name": "x", "price": {"model": {}}} for _ in range(50_000)]},
        {"products": [[[[{"x": n} for n in range(9)]] * 9] * 9] * 200},
        {"products": list(range(200_000))},
    ):
        assert judge.problems(hostile).total
    assert time.process_time() - started < 20


def test_nothing_of_a_payload_is_quoted_at_length(judge: Validator) -> None:
    value = {
        "products": [{"name": {"x" * 100_000: "y" * 100_000}}],
        "z" * 100_000: 1,
        "context": "c" * 100_000,
    }
    for problem in judge.problems(value).shown:
        assert len(json.dumps([problem.text, problem.expected, problem.received])) < 1000


def test_error_objects_have_a_schema_of_their_own(tmp_path: Path) -> None:
    judge = small_validators(tmp_path).for_task("3.1", "any_task", Kind.ERROR)
    (problem,) = judge.problems({"code": "X"}).shown
    assert problem.schema.endswith(f"/{ERROR_OBJECT}#/required")
