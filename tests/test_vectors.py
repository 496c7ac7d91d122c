"""Our vectors agree with the reference algorithms, and vector files of users are read or refused with one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pytest_adcp.harness.a2a import extract_a2a, extract_a2a_error
from pytest_adcp.harness.extraction import (
    DEFAULT_CLIENT_LIMIT,
    action,
    extract_error,
    extract_success,
    retry_after,
)
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.vectors.loader import HERE, SCHEMA, UNTOLD, Kind, Transport, Vector, VectorError, load, own

FILES = sorted(path for path in HERE.glob("*.json") if path != SCHEMA)
GOOD = {"id": "a", "description": "d", "path": "none", "response": {}, "expected_data": None}


def document(**changes: Any) -> dict[str, Any]:
    vector = {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}
    return {"version": 1, "vectors": [vector]}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(content: Any) -> Path:
        path = tmp_path / "mine.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


class TestOwn:
    @pytest.mark.parametrize(
        ("transport", "successes", "errors"), [(Transport.MCP, 60, 40), (Transport.A2A, 60, 25)]
    )
    def test_there_are_enough_of_each_kind(self, transport: Transport, successes: int, errors: int) -> None:
        kinds = [vector.kind for vector in own() if vector.transport is transport]
        assert kinds.count(Kind.SUCCESS) >= successes
        assert kinds.count(Kind.ERROR) >= errors

    def test_ids_are_unique_and_descriptions_differ(self) -> None:
        vectors = own()
        assert len({vector.id for vector in vectors}) == len(vectors)
        assert len({(vector.kind, vector.file, vector.description) for vector in vectors}) == len(vectors)

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_files_are_small_and_in_the_format(self, path: Path) -> None:
        assert path.stat().st_size < 300_000
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(json.loads(path.read_text(encoding="utf-8")))
        assert {vector.file for vector in load(path)} == {path.name}

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_reference_algorithms_agree(self, path: Path) -> None:
        vectors = load(path)
        assert [vector.id for vector in vectors if not _agrees(vector)] == []

    def test_cover_every_action_and_path(self) -> None:
        errors = [vector for vector in own() if vector.kind is Kind.ERROR]
        assert {vector.expected_action for vector in errors} == {
            *("retry", "surface_to_caller", "escalate_to_human", "generic_error", None)
        }
        assert _paths(Transport.MCP) == {"structuredContent", "text_fallback", "jsonrpc_error"}
        assert _paths(Transport.A2A) == {"artifact", "status_message", "none"}

    def test_over_a2a_say_what_they_are_about(self) -> None:
        tasks = [vector for vector in own() if vector.transport is Transport.A2A]
        assert {vector.requirement for vector in tasks} == {
            *("a2a.envelope", "a2a.states", "a2a.parts", "a2a.last-part", "a2a.first-part", "a2a.wrapper"),
            *("a2a.fallback", "a2a.unknown-state", "a2a.unchanged", "a2a.error", "a2a.error-validation"),
        }
        of_errors = {"a2a.error", "a2a.error-validation"}
        for vector in tasks:
            assert vector.id.startswith("a2a-")
            assert (vector.requirement in of_errors) == (vector.kind is Kind.ERROR), vector.id
            assert vector.file.startswith("a2a-")

    @pytest.mark.parametrize(
        "units", [1024 * 1024, 1024 * 1024 + 1, DEFAULT_CLIENT_LIMIT, DEFAULT_CLIENT_LIMIT + 1]
    )
    def test_cover_the_limits(self, units: int) -> None:
        limits = [vector for vector in own() if vector.file == "success-limits.json"]
        assert any(len(item["text"]) == units for vector in limits for item in vector.response["content"])

    def test_are_built_anew_on_each_access(self) -> None:
        vector = next(vector for vector in own() if vector.id == "sc-nulls-kept")
        vector.response["structuredContent"].clear()
        assert vector.response["structuredContent"] == vector.expected != {}


def _paths(transport: Transport) -> set[str]:
    return {vector.path for vector in own() if vector.transport is transport}


def _agrees(vector: Vector) -> bool:
    """Whether extraction gives what the vector expects; the path is compared where something is extracted or refused."""
    found, path, refused, acts = _extracted(vector)
    where = path == vector.path or (found is None and not refused)
    return acts and where and refused == vector.refused and equal(found, vector.expected)


def _extracted(vector: Vector) -> tuple[Any, str, bool, bool]:
    """Return what is extracted, where, whether the answer is refused, and whether the client then acts as expected."""
    response, over_a2a = vector.response, vector.transport is Transport.A2A
    if vector.kind is Kind.ERROR:
        failure = extract_a2a_error(response) if over_a2a else extract_error(response)
        acts = vector.expected_action in (None, action(failure.error))
        return failure.error, failure.path, False, acts and _waits(vector, failure.error)
    if over_a2a:
        task = extract_a2a(response)
        return task.data, task.path, task.refused, True
    success = extract_success(response, limit=vector.limit or DEFAULT_CLIENT_LIMIT)
    return success.data, success.path, False, True


def _waits(vector: Vector, error: dict[str, Any] | None) -> bool:
    waits = None if error is None else retry_after(error)
    return vector.expected_retry_after in (UNTOLD, waits)


class TestFormat:
    def test_published_files_are_in_it(self, written: Any) -> None:
        published = {
            "version": 1,
            "description": "Fields that only other vectors have are let through.",
            "vectors": [
                {**GOOD, "status": "failed", "path": "artifact", "expected_error_type": "wrapper_detected"},
                {
                    "id": "b",
                    "description": "An error over A2A",
                    "transport": "a2a",
                    "path": "status_message",
                    "response": {"id": "task_1", "status": {"state": "failed"}},
                    "expected_error": {"code": "CONFLICT"},
                    "expected_action": "retry",
                },
            ],
        }
        first, second = load(written(published))
        assert (first.kind, first.transport, first.limit, first.advisory) == (
            Kind.SUCCESS,
            "a2a",
            None,
            False,
        )
        assert first.refused
        assert (second.kind, second.transport, second.expected_action) == (Kind.ERROR, "a2a", "retry")
        assert (second.file, second.expected) == ("mine.json", {"code": "CONFLICT"})

    def test_builds_texts_and_values(self, written: Any) -> None:
        response = {
            "a": {"$repeat": ["ab", 3]},
            "b": [{"$concat": ["<", {"$repeat": ["-", 2]}, {"$concat": []}, ">"]}],
            "c": {
                "$json": {
                    "$concat": ["[", {"$repeat": ["[", 1000]}, {"$repeat": ["]", 1000]}, ',1,{"x":1,"x":2}]']
                }
            },
            "d": {"$repeat": ["x", 0]},
        }
        (vector,) = load(
            written(document(response=response, expected_data={"$json": '{"n": 1e999}'}, limit=7))
        )
        built = vector.response
        assert (built["a"], built["b"], built["d"]) == ("ababab", ["<-->"], "")
        assert built["c"][1:] == [1, {"x": 2}]
        assert vector.expected == {"n": float("inf")}
        assert vector.limit == 7

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("", "line 1 column 1: the text is empty"),
            ('{"version": 1,\n "vectors": [,]}', "line 2 column 14: a JSON syntax error"),
            ('{"version": 1, "version": 1, "vectors": []}', "/version: the name stands more than once"),
            ("[" * 300 + "]" * 300, "more than 200 levels deep"),
            ([], "/: must be object"),
            ({"version": 1, "vectros": []}, "/: 'vectors' is missing; 'vectros' looks like 'vectors'"),
            ({"version": 2, "vectors": [GOOD]}, "/version: must be 1"),
            ({"version": 1, "vectors": []}, "/vectors: breaks minItems: 1"),
            ({"version": 1, "vectors": [7]}, "/vectors/0: must be object"),
            ({"version": 1, "vectors": [GOOD, GOOD]}, "the id 'a' stands twice"),
            (document(id=...), "/vectors/0: 'id' is missing"),
            (document(id="a b"), "/vectors/0/id: breaks pattern"),
            (document(expected_data=...), "'expected_data' (or expected_error) is missing (vector 'a')"),
            (
                document(expected_data=..., expected_eror=None),
                "'expected_eror' looks like 'expected_error' (vector 'a')",
            ),
            (document(expected_error=None), "expected_data may not stand beside expected_error (vector 'a')"),
            (document(path="structured_content"), "/vectors/0/path: must be structuredContent or"),
            (document(path="structured_content"), "nearest: 'structuredContent' (vector 'a')"),
            (document(path=None), "/vectors/0/path: must be"),
            (document(transport="MCP"), "/vectors/0/transport: must be mcp or a2a (vector 'a')"),
            (document(response=[]), "/vectors/0/response: must be object (vector 'a')"),
            (document(expected_action="retri"), "nearest: 'retry' (vector 'a')"),
            (document(limit=-1), "/vectors/0/limit: breaks minimum: 0 (vector 'a')"),
            (document(response={"a": {"$repeat": "x"}}), "/vectors/0/response/a/$repeat: must be array"),
            (
                document(response={"a": {"$repeat": ["x", 2**25]}}),
                "/vectors/0/response/a/$repeat/1: breaks maximum",
            ),
            (
                document(response={"a": {"$repeat": ["xxxx", 2**23]}}),
                "$repeat: builds more than 16,777,216 characters",
            ),
            (
                document(response={"a": {"$concat": [{"$repeat": ["x", 2**24]}, "x"]}}),
                "$concat: builds more than 16,777,216 characters",
            ),
            (document(response={"a": {"$concat": [{"$repet": ["x", 1]}]}}), "'$repet' looks like '$repeat'"),
            (
                document(response={"a": {"$json": "{}", "b": 1}}),
                "/vectors/0/response/a: breaks maxProperties: 1",
            ),
            (
                document(response={"a": {"$json": "{a:1}"}}),
                "$json: line 1 column 2: a member name without double quotes",
            ),
            (document(response={"$json": "[]"}), "/vectors/0/response: what is built here must be an object"),
            (
                document(expected_data={"$repeat": ["x", 1]}),
                "/vectors/0/expected_data: what is built here must be an object",
            ),
        ],
    )
    def test_says_what_is_wrong_in_one_line(self, written: Any, content: Any, complaint: str) -> None:
        path = written(content)
        with pytest.raises(VectorError) as raised:
            load(path)
        message = str(raised.value)
        assert complaint in message
        assert message.startswith(str(path)) or content == {"version": 1, "vectors": [GOOD, GOOD]}
        assert "\n" not in message

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(VectorError, match="No such file"):
            load(tmp_path / "none.json")

    def test_a_huge_wrong_value_is_not_quoted(self, written: Any) -> None:
        with pytest.raises(VectorError) as raised:
            load(written(document(path="x" * 100_000)))
        assert len(str(raised.value)) < 500
