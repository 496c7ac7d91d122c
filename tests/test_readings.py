"""What a run leaves out of what a server sent: never a fault of the server, and the same whoever reads the transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evidence import Http, answered, finding, judge_all, stream, surveyed, tool_result
from pytest_adcp.harness import jsonreader, jsontext, readings
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.subjects import Answer, Gap
from pytest_adcp.harness.transcript import End, Limits, Transcript
from pytest_adcp.harness.verdict import Outcome
from reported import with_calls

ANSWER = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": [], "structuredContent": {"products": []}}}


def with_values(number: int) -> dict[str, Any]:
    return ANSWER | {"result": {"content": [], "structuredContent": {"products": [0] * number}}}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (jsontext, readings):
        monkeypatch.setattr(module, "MOST_VALUES", 100)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
def test_too_many_values_block_what_cannot_be_judged(content_type: str) -> None:
    message = with_values(200)
    body = stream(message) if content_type == "text/event-stream" else json.dumps(message).encode()
    evidence = answered(body, content_type=content_type)
    for rule in (
        "mcp.jsonrpc.answered",
        "mcp.jsonrpc.json",
        "mcp.result.content",
        "adcp.extraction.extractable",
    ):
        found = finding(evidence, rule)
        assert (found.outcome, "JSON values" in found.message) == (Outcome.BLOCKED, True), found
        assert "page the answer" in found.message
    assert finding(evidence, "mcp.tools.unique-names").outcome is Outcome.PASSED


@pytest.mark.usefixtures("few")
def test_an_event_that_is_not_read_beside_the_response_is_no_fault() -> None:
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": [0] * 200}}
    evidence = answered(stream(ANSWER, log), content_type="text/event-stream")
    found = {item.subject: item for item in judge_all(evidence, "mcp.jsonrpc.json")}["get_products/brief"]
    assert found.outcome is Outcome.BLOCKED
    assert found.message.startswith("event 2 has more than")
    assert finding(evidence, "adcp.extraction.extractable").outcome is Outcome.PASSED


@pytest.mark.usefixtures("few")
def test_events_are_counted_together() -> None:
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": [0] * 40}}
    evidence = answered(stream(log, log, log, ANSWER), content_type="text/event-stream")
    assert finding(evidence, "mcp.jsonrpc.answered").outcome is Outcome.BLOCKED


def test_too_deep_is_no_fault_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonreader, "MOST_LEVELS", 2000)
    text = "[" * 3000 + "]" * 3000
    evidence = answered(b'{"jsonrpc":"2.0","id":"call-7","result":%b}' % text.encode())
    assert finding(evidence, "mcp.jsonrpc.json").outcome is Outcome.BLOCKED
    evidence = tool_result({"content": [{"type": "text", "text": text}]})
    found = finding(evidence, "adcp.extraction.extractable")
    assert (found.outcome, "levels deep" in found.message) == (Outcome.BLOCKED, True)


@pytest.mark.usefixtures("few")
def test_a_text_with_too_many_values_is_no_fault() -> None:
    escaped = json.dumps({"products": [0] * 200})
    evidence = tool_result({"content": [{"type": "text", "text": escaped}]})
    found = finding(evidence, "adcp.extraction.extractable")
    assert (found.outcome, "JSON values" in found.message) == (Outcome.BLOCKED, True)


def budgeted(monkeypatch: pytest.MonkeyPatch) -> Evidence:
    """Return evidence of three calls, of whose answers the large second one is over the budget."""
    small, large = Http(ANSWER), Http(with_values(5000))
    monkeypatch.setattr(readings, "MOST_HELD", 100_000)
    first = surveyed(small)
    (response,) = [
        e.response for e in surveyed(large).transcript.exchanges if e.subject == "get_products/brief"
    ]
    if response is None or not response.body:  # over the budget already
        with monkeypatch.context() as patch:
            patch.setattr(readings, "MOST_HELD", 10**9)
            response = surveyed(large).transcript.exchanges[-1].response
    return with_calls(first, {"response": response}, {})


def test_answers_over_the_budget_are_left_out_and_later_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = budgeted(monkeypatch)
    kinds = [type(entry) for entry in evidence.answers]
    assert kinds == [Answer, Gap, Answer]
    gap = evidence.answers[1]
    assert isinstance(gap, Gap)
    assert "it takes more memory than a run has for all answers; page the answers" in gap.why
    left_out = evidence.transcript.exchanges[-2]
    assert (left_out.end, left_out.response.body if left_out.response else None) == (End.TOO_LARGE, b"")


def test_a_saved_transcript_gives_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(readings, "MOST_HELD", 10**9)
    with pytest.MonkeyPatch.context() as patch:
        evidence = budgeted(patch)
    transcript = evidence.transcript
    transcript.save(tmp_path / "t.jsonl")
    assert Evidence(Transcript.load(tmp_path / "t.jsonl")).transcript == transcript


def test_wide_characters_count_as_what_they_take() -> None:
    texts = ("a" * 100, "é" * 50, "€" * 34, "😀" * 25, "a" * 99 + "😀", "é" * 49 + "€")
    for text in texts:
        taken = len(text) * (1 if max(text) < "\u0100" else 2 if max(text) < "\U00010000" else 4)
        assert taken <= readings._size(text.encode()) / 2 <= 2 * taken
    assert readings._size(b"\\ud83d" * 10) == 4 * readings._size(b"\\u0020" * 10)


def test_a_whole_answer_of_wide_characters_fits() -> None:
    most = Limits().max_response_bytes
    assert readings._size("😀".encode() * (most // 4)) < readings.MOST_HELD
    assert readings._size("😀".encode() + b"a" * (most - 4)) > readings.MOST_HELD


def test_what_is_no_utf8_counts_a_character_for_each_byte() -> None:
    broken = b'"' + b"\x80" * 100 + b'"'
    assert readings._size(broken) >= 2 * 2 * len(broken.decode("utf-8", "replace"))


def test_why_an_exchange_ended_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "MOST_HELD", 100_000)
    evidence = answered(json.dumps(with_values(5000)).encode(), end=End.DEADLINE)
    found = {item.subject: item for item in judge_all(evidence, "mcp.jsonrpc.answered")}["get_products/brief"]
    assert (found.outcome, found.message) == (Outcome.BLOCKED, "no answer in time")
    assert evidence.transcript.exchanges[-1].response.body == b""  # type: ignore[union-attr]
