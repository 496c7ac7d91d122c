"""The fuzzer for client libraries: what it finds, what it lets pass, and what it hands on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzzed_clients import FAULTS, Client, Dies, TakesNaN, ThrowsAtItems
from pytest_adcp.harness.jsontext import equal, parse
from pytest_adcp.harness.library import answer_parts
from pytest_adcp.harness.library.agreement import REFERENCES, Found, difference, is_advisory
from pytest_adcp.harness.library.fuzz import MOST, FuzzResult, fuzz
from pytest_adcp.harness.library.generated_answers import GeneratedAnswers
from pytest_adcp.harness.library.records import (
    Answer,
    Declared,
    Extracted,
    Library,
    NoAnswer,
    Question,
    Threw,
)
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.vectors.loader import Kind, Transport, load

MCP = [(Transport.MCP, Kind.SUCCESS), (Transport.MCP, Kind.ERROR)]
A2A = [(Transport.A2A, Kind.SUCCESS), (Transport.A2A, Kind.ERROR)]
SUCCESS = REFERENCES[Transport.MCP, Kind.SUCCESS]
ERROR = REFERENCES[Transport.MCP, Kind.ERROR]
AT_A_GLANCE = 220  # characters of a shrunk response


def run(library: Library, examples: int = 2_000, seed: int = 0, **more: Any) -> FuzzResult:
    return fuzz(library, examples=examples, seed=seed, kinds=more.pop("kinds", MCP), **more)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# -- what is found ----------------------------------------------------------------------------------------------

SIGNATURES = {
    "TakesArrays": "mcp success, nothing: no-json-object: the library extracts something that is no object",
    "IgnoresTheFlag": "mcp success, nothing: is-error: the library extracts something",
    "FallsThrough": "mcp success, nothing: adcp-error-only: the library extracts something",
    "TakesNaN": "mcp success, nothing: no-json-text: the library extracts something",
    "LongCodes": "mcp error, nothing: code-too-long: the library extracts something",
    "Unwraps": "mcp success, structuredContent: the library extracts something that is a part of it",
    "FirstTextOnly": "mcp success, text_fallback: the library finds nothing",
    "MergesPrototypes": "mcp success, structuredContent: the library extracts something else",
    "ThrowsOnNull": "mcp success, text_fallback: the library throws",
    "Dies": "mcp success: the library gives no answer",
    "RepairsCommas": "mcp success, nothing: no-json-text: the library extracts something",
    "OneObjectAfterAnother": "mcp success, nothing: no-json-text: the library extracts something",
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_shrunk(fault: str, seed: int) -> None:
    result = run(FAULTS[fault](), seed=seed)
    found = {str(item.signature): item for item in result.disagreements}
    assert SIGNATURES[fault] in found
    assert 1 <= len(result.disagreements) <= MOST
    assert len(json.dumps(found[SIGNATURES[fault]].vector["response"])) <= AT_A_GLANCE
    assert all(len(json.dumps(item.response)) < 500 for item in result.disagreements)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_vector_fails_for_the_library_again(fault: str, tmp_path: Path) -> None:
    library = FAULTS[fault]()
    result = run(library, seed=3)
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"version": 1, "vectors": [item.vector for item in result.disagreements]}))
    vectors = load(file)
    assert vectors
    for vector, item in zip(vectors, result.disagreements, strict=True):
        question = Question(vector.kind, vector.transport, json.dumps(vector.response))
        assert question.response == json.dumps(item.response)
        assert equal(vector.expected, item.expected)
        [answer] = library.ask([question])
        assert not isinstance(answer, Extracted) or not equal(answer.data, vector.expected)
        [right] = Client().ask([question])
        assert isinstance(right, Extracted)
        assert equal(right.data, vector.expected)


def test_several_faults_of_one_library_are_told_apart() -> None:
    class Several(FAULTS["TakesNaN"], FAULTS["IgnoresTheFlag"], FAULTS["LongCodes"]):  # type: ignore[name-defined,misc]
        pass

    found = {str(item.signature) for item in run(Several()).disagreements}
    assert {SIGNATURES[name] for name in ("TakesNaN", "IgnoresTheFlag", "LongCodes")} <= found


def test_a_vector_says_what_happened() -> None:
    vector = run(FAULTS["LongCodes"]()).disagreements[0].vector
    assert vector["id"].startswith("fuzz-error-")
    assert len(vector["id"]) == len("fuzz-error-") + 8
    assert "its code has more than 64 characters" in vector["description"]
    assert "the library found {" in vector["description"]
    assert '{"$repeat": ["' in json.dumps(vector["response"])
    assert vector["expected_error"] is None
    assert "expected_action" not in vector


# -- what is let pass -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "seed"),
    [*((Client, seed) for seed in range(3)), (ReferenceLibrary, 3), (ThrowsAtItems, 4)],
)
def test_a_right_library_is_let_pass(library: type[Any], seed: int) -> None:
    result = run(library(), 5_000, seed)
    assert [item.vector for item in result.disagreements] == []
    assert (result.tried, result.stopped) == (10_000, "")


BIG = text('{"n": 9007199254740993}')
HUGE = text('{"n": 1e400}')
DEEP = text('{"n": ' + "[" * 250 + "]" * 250 + "}")
SMALL = text("{}")


@pytest.mark.parametrize(
    ("response", "answer", "wanted"),
    [
        ({"content": [SMALL]}, Extracted({}), ""),
        ({"content": [SMALL]}, Extracted(None), "finds nothing"),
        ({"content": [SMALL]}, Threw("TypeError", ""), "throws"),
        ({"content": [SMALL]}, NoAnswer("it died"), "gives no answer"),
        ({"content": [SMALL]}, Extracted({"a": 1}), "extracts something else"),
        ({"content": [SMALL]}, Extracted([]), "extracts something that is no object"),
        ({"content": []}, Extracted(None), ""),
        ({"content": []}, Threw("NoData", ""), ""),
        ({"content": []}, Extracted({}), "extracts something"),
        ({"content": [text('{"a": {"b": 1}}')]}, Extracted({"b": 1}), "extracts something that is a part of it"),
        # broken as MCP: it may be refused, and no more
        ({"content": [SMALL, None]}, Threw("TypeError", ""), ""),
        ({"content": [SMALL, {"type": "text"}]}, Extracted(None), ""),
        ({"content": [SMALL, None]}, NoAnswer("it died"), "gives no answer"),
        ({"content": [SMALL], "isError": "false"}, Extracted({}), "extracts something"),
        ({"content": [SMALL], "isError": 0}, Extracted(None), ""),
        ({"content": [SMALL, 1], "error": {"code": 1, "message": ""}}, Threw("TypeError", ""), ""),
        ({"content": [SMALL], "error": {"code": 1, "message": ""}}, Threw("TypeError", ""), "throws"),
        # numbers beyond doubles
        ({"content": [BIG]}, Extracted({"n": 2**53 + 1}), ""),
        ({"content": [BIG]}, Extracted({"n": 2.0**53}), ""),
        ({"content": [BIG]}, Extracted({"n": 2**53 + 3}), "extracts something else"),
        ({"content": [BIG]}, Extracted(None), "finds nothing"),
        ({"content": [HUGE]}, Extracted({"n": float("inf")}), ""),
        ({"content": [HUGE]}, Extracted({"n": None}), ""),
        ({"content": [HUGE]}, Extracted({"n": 10**400}), ""),
        ({"content": [HUGE]}, Extracted({"n": 1e308}), "extracts something else"),
        ({"content": [HUGE]}, Extracted(None), ""),
        ({"content": [HUGE, SMALL]}, Extracted({}), ""),
        ({"content": [HUGE, SMALL]}, Extracted(None), "finds nothing"),
        # deeper than many readers read
        ({"content": [DEEP]}, Threw("RecursionError", ""), ""),
        ({"content": [DEEP, SMALL]}, Extracted({}), ""),
        ({"content": [DEEP]}, Extracted({"n": []}), "extracts something else"),
        # where the reference would throw
        ({"content": [None, SMALL]}, Extracted({}), ""),
    ],
)  # fmt: skip
def test_answers_are_compared(response: dict[str, Any], answer: Answer, wanted: str) -> None:
    assert difference(Transport.MCP, response, SUCCESS(response), answer, SUCCESS) == wanted


def test_foreign_data_of_any_depth_is_compared() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    response = {"content": [SMALL]}
    says = difference(Transport.MCP, response, SUCCESS(response), Extracted(deep), SUCCESS)
    assert says == "extracts something else"
    while deep:
        deep = deep["a"]  # taken apart here: to free it at once would recurse


def flagged(error: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "isError": True, "structuredContent": {"adcp_error": error}}


@pytest.mark.parametrize(
    ("response", "reference", "wanted"),
    [
        ({"content": [SMALL]}, SUCCESS, False),
        ({"content": [SMALL], "isError": 0}, SUCCESS, True),
        ({"content": [text("\ufeff{}")]}, SUCCESS, True),
        ({"content": [text('{"a": 1, "a": 2}')]}, SUCCESS, True),
        ({"content": [text('{"a": "\\ud800"}')]}, SUCCESS, True),
        ({"content": [text('{"a": NaN}')]}, SUCCESS, False),
        (flagged({"code": "A" * 65}), ERROR, False),
        (flagged({"code": "\u00e9" * 64}), ERROR, True),
        (flagged({"code": "\U0001f600" * 33}), ERROR, True),
        (flagged({"code": "A", "message": "x" * 4096}), ERROR, False),
        (flagged({"code": "A", "message": "\u00e9" * 4000}), ERROR, True),
    ],
)
def test_where_words_leave_room_a_vector_is_advisory(response: Any, reference: Any, wanted: bool) -> None:
    assert is_advisory(response, reference(response)) is wanted


# -- what is generated ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", list(Transport))
def test_responses_are_plain_and_differ(transport: Transport) -> None:
    before = json.dumps([answer_parts.PAYLOADS, answer_parts.NO_OBJECTS, answer_parts.ERROR_MEMBERS])
    generated = GeneratedAnswers(transport, 1)
    texts = [json.dumps(generated.next()) for _ in range(2_000)]
    assert json.dumps([answer_parts.PAYLOADS, answer_parts.NO_OBJECTS, answer_parts.ERROR_MEMBERS]) == before
    assert len(set(texts)) > 1_400
    assert max(map(len, texts)) < 100_000
    for written in texts:
        parsed = parse(written)
        assert parsed.ok
        assert not parsed.objections, written
        assert not any(f'"${name}"' in written for name in ("repeat", "concat", "json"))


def test_about_half_of_the_responses_carry_something() -> None:
    generated = GeneratedAnswers(Transport.MCP, 2)
    responses = [generated.next() for _ in range(2_000)]
    carry = sum(SUCCESS(each).data is not None or ERROR(each).data is not None for each in responses)
    assert 0.42 < carry / len(responses) < 0.58


def test_a_seed_gives_the_same_again() -> None:
    first, second = (run(TakesNaN(), 500, 7) for _ in range(2))
    assert [item.vector for item in first.disagreements] == [item.vector for item in second.disagreements]
    assert first.disagreements
    other = GeneratedAnswers(Transport.MCP, 8)
    assert GeneratedAnswers(Transport.MCP, 7).next() != other.next()


# -- A2A: with small references, that the strategies reach what matters -------------------------------------------


def _parts(response: Any) -> list[Any]:
    """Return the parts of the first artifact, whatever a mutation left of it."""
    artifacts = response.get("artifacts")
    first = artifacts[0] if isinstance(artifacts, list) and artifacts else None
    parts = first.get("parts") if isinstance(first, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _a2a_success(response: Any) -> Found:
    if len(response) == 1 and (inner := next(iter(response.values()))) and isinstance(inner, dict):
        response = inner
    status = response.get("status")
    state = str(status.get("state") if isinstance(status, dict) else None)
    state = state.removeprefix("TASK_STATE_").lower().replace("_", "-")
    parts = _parts(response)
    found = [part["data"] for part in parts if isinstance(part.get("data"), dict)]
    if state != "completed" or not found:
        return Found(None, "none", "unknown-state")
    if found[-1].keys() == {"response"} and isinstance(found[-1]["response"], dict):
        return Found(None, "artifact", "wrapper", refused=True, candidate=found[-1])
    return Found(found[-1], "artifact")


class A2AClient:
    """Does what the reference above does, but for one thing."""

    declared = Declared("a2a-client", "", frozenset({Transport.A2A}))

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            response = json.loads(question.response or "")
            if self.fault == "first" and (parts := _parts(response)):
                response["artifacts"][0]["parts"] = parts[::-1]
            found = _a2a_success(response)
            yield Extracted(found.candidate if self.fault == "wrapper" and found.refused else found.data)


@pytest.mark.parametrize(
    ("fault", "signature"),
    [
        ("", None),
        ("first", "a2a success, artifact: the library extracts something else"),
        ("wrapper", "a2a success, refused: the library extracts something"),
    ],
)
def test_a2a_is_fuzzed_with_a_reference(fault: str, signature: str | None, tmp_path: Path) -> None:
    references = {A2A[0]: _a2a_success}
    result = run(A2AClient(fault), 4_000, kinds=[*A2A, *MCP], references=references)
    assert result.tried == 4_000  # what has no reference is left out
    found = {str(item.signature): item for item in result.disagreements}
    if signature is None:
        assert not found
        return
    item = found[signature]
    assert len(json.dumps(item.response)) <= AT_A_GLANCE
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"version": 1, "vectors": [item.vector]}))
    [vector] = load(file)
    assert (vector.transport, vector.kind, vector.path) == (*A2A[0], "artifact")
    assert vector.refused is (fault == "wrapper")


def test_without_a_reference_nothing_is_asked() -> None:
    result = run(Client(), kinds=A2A, references={})
    assert (result.tried, result.disagreements, result.stopped) == (0, (), "")


# -- bounds -----------------------------------------------------------------------------------------------------


class Mortal(Dies):
    """Is given up after it died so often."""

    def __init__(self, lives: int) -> None:
        self.lives = lives

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            [answer] = super().ask([question]) if self.lives > 0 else [NoAnswer("the library was given up")]
            self.lives -= isinstance(answer, NoAnswer)
            yield answer


@pytest.mark.parametrize("lives", [1, 2, 3, 10])
def test_a_library_that_is_given_up_is_told_of_once(lives: int) -> None:
    result = run(Mortal(lives))
    assert "given up" in result.stopped
    assert 1 <= len(result.disagreements) <= 2
    for item in result.disagreements:
        assert "segmentation fault" in item.vector["description"]
        assert "\\\\u" in json.dumps(item.response)


def test_a_library_that_never_answers_is_not_blamed_for_a_response() -> None:
    result = run(Mortal(0))
    assert (result.tried, result.disagreements) == (0, ())
    assert result.stopped == "the library does not even answer to plain data"


class Slow(TakesNaN):
    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        time.sleep(0.05)
        return super().ask(questions)


def test_a_run_ends_when_its_time_is_over() -> None:
    result = run(Slow(), 1_000_000, seconds=0.5)
    assert result.stopped == "the time was over"
    assert 0 < result.tried < 10_000
    assert 0.5 <= result.seconds < 5


def test_an_interrupt_comes_through() -> None:
    class Interrupted(Client):
        def read(self, text: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted())


def test_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(TakesNaN()).disagreements
    assert list(tmp_path.iterdir()) == []
