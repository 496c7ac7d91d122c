"""Results against the outputSchema of their tool: verdicts, and that no schema can hang or crash the run."""

from __future__ import annotations

import re
import socket
import threading
import time
from typing import Any

import pytest
from evidence import finding, outcome, surveyed, tool_result
from pytest_adcp.harness.output_schemas import OutputSchemas, UnjudgeableError
from pytest_adcp.harness.verdict import Outcome

pytest.importorskip("jsonschema_rs")
RULE = "mcp.result.output-schema"
PRICE = {
    "type": "object",
    "properties": {
        "products": {
            "type": "array",
            "items": {"type": "object", "properties": {"price": {"type": "number"}}},
        }
    },
}


def judged(schema: Any, structured: Any, **rest: Any) -> Any:
    """The evidence of one result of a tool with this outputSchema."""
    tool = {
        "name": "get_products",
        "description": "A tool.",
        "inputSchema": {"type": "object"},
        "outputSchema": schema,
    }
    result = {"content": [{"type": "text", "text": "Done."}], "structuredContent": structured}
    return tool_result(result | rest.pop("result", {}), tools=[tool], **rest)


@pytest.mark.parametrize(
    ("schema", "structured", "pointer", "words"),
    [
        (
            PRICE,
            {"products": [{"price": 1}, {"price": "1"}]},
            "/products/1/price",
            'does not fit type: "number"',
        ),
        (
            {"type": "object", "required": ["products"]},
            {"status": "completed"},
            "",
            'the object itself lacks "products"',
        ),
        (
            {"type": "object", "properties": {"products": {}}, "additionalProperties": False},
            {"products": [], "status": "completed"},
            "",
            "has members that are not in it",
        ),
        (
            {"type": "object", "properties": {"a": {"enum": [1, 2]}}},
            {"a": 3},
            "/a",
            "does not fit enum: [1, 2]",
        ),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            "",
            "fits none of its anyOf",
        ),
        ({"type": "object", "properties": {"a": False}}, {"a": 1}, "/a", "does not fit"),
    ],
)
def test_mismatch(schema: Any, structured: Any, pointer: str, words: str) -> None:
    found = finding(judged(schema, structured), RULE)
    assert found.outcome is Outcome.FAILED
    assert found.pointer == f"/result/structuredContent{pointer}"
    assert words in found.message


@pytest.mark.parametrize(
    ("schema", "structured"),
    [
        ({"type": "object"}, {"anything": [1]}),
        (PRICE, {"products": [{"price": 1.5, "more": None}]}),
        ({"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}, {"at": "soon"}),
        (
            {"type": "object", "$defs": {"A": {"type": "array"}}, "properties": {"a": {"$ref": "#/$defs/A"}}},
            {"a": []},
        ),
        # Without $schema a schema may be one of draft-07 just as well.
        ({"type": "object", "properties": {"a": {"items": [{"type": "string"}]}}}, {"a": ["x", 1]}),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1.0}),
    ],
)
def test_match(schema: Any, structured: Any) -> None:
    assert outcome(judged(schema, structured), RULE) is Outcome.PASSED


def test_errors_and_older_revisions_are_not_judged() -> None:
    schema = {"type": "object", "required": ["products"]}
    assert outcome(judged(schema, {}, result={"isError": True}), RULE) is Outcome.NOT_APPLICABLE
    assert outcome(judged(schema, {}, revision="2025-03-26"), RULE) is Outcome.NOT_APPLICABLE
    assert outcome(surveyed(), RULE) is not Outcome.PASSED


def test_null_is_a_value_from_2026_07_28_on() -> None:
    evidence = judged({"type": "null"}, None, revision="2026-07-28")
    assert outcome(evidence, RULE) is Outcome.PASSED
    assert outcome(evidence, "mcp.result.structured-present") is Outcome.PASSED
    assert outcome(judged({"type": "object"}, None), "mcp.result.structured-present") is Outcome.FAILED


def test_pattern_that_looks_around_is_an_advisory_only() -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "^(?=b)"}}}
    assert outcome(judged(schema, {"a": "c"}), RULE) is Outcome.ADVISORY


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _value(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


DOUBLED = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {
    "a40": {"type": "object"}
}
TWICE = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
UNJUDGEABLE = {
    "deep": (_nested(100_000), {}, "levels deep"),
    "deep value": ({"type": "object"}, _value(100_000), "levels deep"),
    "large": ({"enum": list(range(60_000))}, {}, "holds more than 50,000 values"),
    "remote": ({"$ref": "http://127.0.0.1:9/a"}, {}, "never fetched"),
    "file": ({"$ref": "file:///etc/passwd"}, {}, "never fetched"),
    "lost": ({"$ref": "#/$defs/none"}, {}, "refers to what is not in it"),
    "unknown dialect": ({"$schema": "http://127.0.0.1:9/dialect"}, {}, "not known here"),
    "no schema": ({"type": "objet"}, {}, "no valid JSON Schema"),
    "a list": ([], {}, "not an object"),
    "unreadable pattern": ({"pattern": "("}, {}, "cannot be used"),
    "circle": ({"$ref": "#"}, {}, "in a circle"),
    "two circles": ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {}, "in a circle"),
    "a circle that may be left": ({"anyOf": [{"type": "object"}, {"$ref": "#"}]}, {}, "again and again"),
    "doubled": ({"$ref": "#/$defs/a0", "$defs": DOUBLED}, {}, "a very long time"),
    "doubled at every level": (TWICE, _value(60), "a very long time"),
    "names": ({"propertyNames": {"$ref": "#/$defs/a0"}, "$defs": DOUBLED}, {"a": 1}, "a very long time"),
    "backtracking": (
        {"items": {"pattern": "(?=a)((a+)+)+$"}},
        ["a" * 5000 + "b"] * 10,
        "a very long time",
    ),
    "by name": ({"$ref": "#a", "$defs": {"b": {"$anchor": "a"}}}, {}, "by $id, $anchor"),
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#/$defs/a0", "$defs": DOUBLED}, Outcome.BLOCKED),
        ({"enum": list(range(60_000))}, Outcome.BLOCKED),
        ({"anyOf": [{"type": "object"}, {"$ref": "#"}]}, Outcome.BLOCKED),
        ({"$ref": "#"}, Outcome.NOT_APPLICABLE),
        ({"properties": {"a": {"$ref": "#"}}}, Outcome.PASSED),
    ],
    ids=["doubled", "large", "may be left", "circle", "recursion"],
)
def test_what_takes_too_much_is_not_passed_over(schema: Any, expected: Outcome) -> None:
    assert outcome(judged({"type": "object", **schema}, {"a": {"a": {}}}), RULE) is expected


def test_what_nobody_should_judge_by() -> None:
    schemas = OutputSchemas()
    assert "in a circle" in schemas.why_not({"$ref": "#"}, {})
    assert "a very long time" in schemas.why_not({"$ref": "#/$defs/a0", "$defs": DOUBLED}, {})
    assert "levels deep" in schemas.why_not(_nested(100_000), {})
    fine: tuple[Any, ...] = (None, [], PRICE, {"$ref": "#/$defs/none"}, {"properties": {"a": {"$ref": "#"}}})
    assert [schemas.why_not(schema, {"a": {}}) for schema in fine] == [""] * len(fine)


@pytest.mark.parametrize("name", UNJUDGEABLE)
def test_schema_that_is_not_judged_says_why_and_soon(name: str) -> None:
    schema, value, words = UNJUDGEABLE[name]
    started = time.process_time()
    with pytest.raises(UnjudgeableError, match=re.escape(words)):
        OutputSchemas().mismatch(schema, value)
    assert time.process_time() - started < 10


def test_exponential_pattern_takes_no_time() -> None:
    started = time.process_time()
    found = OutputSchemas().mismatch({"pattern": "^(a+)+$"}, "a" * 50_000 + "b")
    assert found is not None
    assert found.is_sure
    assert time.process_time() - started < 5


def test_nothing_is_fetched() -> None:
    called = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"

        def wait() -> None:
            try:
                server.accept()[0].close()
                called.set()
            except TimeoutError:
                pass

        thread = threading.Thread(target=wait)
        thread.start()
        for schema in (
            {"$ref": address},
            {"$schema": address, "type": "object"},
            {"$id": address, "$ref": "other.json"},
        ):
            assert outcome(judged({"type": "object", **schema}, {}), RULE) is Outcome.NOT_APPLICABLE
        thread.join()
    assert not called.is_set()


def test_a_run_spends_only_so_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_adcp.harness.output_schemas._ALL_STEPS", 100)
    schemas = OutputSchemas()
    schema = {"type": "object", "properties": {"a": {"items": {"type": "integer"}}}}
    assert schemas.mismatch(schema, {"a": list(range(200))}) is None
    with pytest.raises(UnjudgeableError, match="took all the time"):
        schemas.mismatch(schema, {"a": [1]})
