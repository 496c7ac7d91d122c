"""Rules for client libraries: each has a faulty library that breaks it, and the harness's own algorithms pass all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from faulty_libraries import FAULTS, Changed, ignores_the_flag, of, vectors
from pytest_adcp import suites
from pytest_adcp.harness.library.command import Behaviour
from pytest_adcp.harness.library.records import (
    Answer,
    Declared,
    Extracted,
    Limit,
    Question,
    Threw,
)
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.harness.library.requirements import requirement
from pytest_adcp.harness.library.subjects import build, fuzzed, of_rule
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.vectors.loader import Kind, Vector, own
from pytest_adcp.vectors.loader import load as load_vectors

RULES = {rule.id: rule for rule in load(suites.CLIENT)}


def findings(library: ReferenceLibrary, chosen: Iterable[Vector] | None = None) -> list[Finding]:
    tried = build(library, list(vectors() if chosen is None else chosen))
    return [judge(rule, entry) for rule in RULES.values() for entry in of_rule(rule, tried)]


def broken(found: list[Finding], outcome: Outcome = Outcome.FAILED) -> set[str]:
    return {finding.rule for finding in found if finding.outcome is outcome}


def test_every_rule_has_a_fault() -> None:
    tried_elsewhere = {
        *("client.extraction.limit", "client.extraction.limit-declared", "client.extraction.depth"),
        *("client.extractor.path", "client.extractor.output", "client.fuzz.agrees"),
    }
    assert set(FAULTS) | tried_elsewhere == set(RULES)


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_breaks_its_rule_alone(rule: str) -> None:
    found = findings(FAULTS[rule], vectors(FAULTS[rule].transport))
    assert broken(found) == {rule}, [f for f in found if f.outcome is Outcome.FAILED and f.rule != rule]
    first = next(finding for finding in found if finding.outcome is Outcome.FAILED)
    assert first.expected
    assert first.received
    assert first.fix


def test_the_own_algorithms_pass_every_rule() -> None:
    found = findings(ReferenceLibrary(), own())
    assert not broken(found) | broken(found, Outcome.ADVISORY) | broken(found, Outcome.BLOCKED)
    assert {f.rule for f in found if f.outcome is Outcome.PASSED} == set(RULES) - {"client.fuzz.agrees"}


# -- limits and depth ------------------------------------------------------------------------------------------------


class Limited(ReferenceLibrary):
    """Declares a limit, and keeps another."""

    def __init__(self, size: int | None, *, kept: int, configurable: bool = False) -> None:
        self.declared = Declared("limited", limit=Limit(size, configurable=configurable))
        self._kept = kept

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        return super().ask(replace(question, limit=self._kept) for question in questions)


def of_limits() -> list[Vector]:
    return [vector for vector in own() if vector.limit is not None]


@pytest.mark.parametrize(("kept", "fails"), [(100_000, False), (100_001, True), (99_999, True)])
def test_the_declared_limit_is_tried_exactly(kept: int, fails: bool) -> None:
    found = findings(Limited(100_000, kept=kept), of_limits())
    assert ("client.extraction.limit" in broken(found)) is fails
    outcomes = {f.subject: f.outcome for f in found if f.rule == "client.extraction.limit"}
    assert outcomes["success-limits/limit-1-mib"] is Outcome.NOT_APPLICABLE
    assert outcomes["declared-limit/exactly"] is (Outcome.FAILED if kept < 100_000 else Outcome.PASSED)


def test_a_packaged_limit_is_tried_where_it_is_the_declared_one() -> None:
    found = findings(Limited(65_536, kept=65_536), of_limits())
    passed = {f.subject for f in found if f.rule == "client.extraction.limit" and f.outcome is Outcome.PASSED}
    assert {"success-limits/limit-64-kib", "declared-limit/one-over"} <= passed
    assert not broken(found)


@pytest.mark.parametrize("limit", [None, Limit(None)])
def test_no_limit_is_an_advisory(limit: Limit | None) -> None:
    library = ReferenceLibrary()
    library.declared = Declared("boundless", limit=limit)
    found = findings(library, of_limits())
    assert broken(found, Outcome.ADVISORY) == {"client.extraction.limit-declared"}
    assert not broken(found)


def test_a_text_that_is_too_large_may_be_refused() -> None:
    def refuses(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        return Threw("TooLarge", "") if any(len(i["text"]) > 60_000 for i in response["content"]) else answer

    found = findings(
        Changed(refuses),
        [v for v in of_limits() if v.id in ("limit-64-kib-plus-one", "limit-exceeded-then-small")],
    )
    assert not broken(found)
    advisories = [f for f in found if f.outcome is Outcome.ADVISORY]
    assert {f.subject for f in advisories} == {
        *(
            "success-limits/limit-exceeded-then-small",
            "declared-limit/exactly",
            "declared-limit/over-then-small",
        )
    }


# -- leniency ---------------------------------------------------------------------------------------------------------


def test_an_error_where_null_is_asked_is_an_advisory() -> None:
    def raises(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        return Threw("NoData", "nothing there") if answer.data is None else answer

    found = findings(Changed(raises))
    assert not broken(found)
    assert "client.extraction.is-error" in broken(found, Outcome.ADVISORY)
    (first, *_) = [f for f in found if f.outcome is Outcome.ADVISORY]
    assert "the page asks for null" in first.message
    assert first.received == "NoData: nothing there"


def test_a_client_with_types_may_refuse_what_breaks_mcp() -> None:
    def strict(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        is_odd = not isinstance(response.get("content"), list) and "error" not in response
        return Threw("ValidationError", "content") if is_odd else answer

    found = findings(Changed(strict))
    assert not broken(found)
    assert not broken(found, Outcome.ADVISORY)
    assert any("it breaks MCP: content is no array" in f.message for f in found)


def test_data_that_is_lost_in_an_error_is_a_failure() -> None:
    vector = next(v for v in own() if v.id == "text-empty-object")
    found = findings(Changed(lambda *_: Threw("KeyError", "products")), [vector])
    assert broken(found) == {"client.extraction.text"}
    (only,) = [f for f in found if f.outcome is Outcome.FAILED]
    assert (only.expected, only.received) == ("{}", "KeyError: products")
    assert only.further[0].startswith("the response: {")


def test_the_innermost_difference_is_shown() -> None:
    vector = next(v for v in own() if v.id == "sc-unicode-kept")

    def changes(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        if "padding" in str(response)[:100]:
            return answer
        name = next(iter(answer.data))
        return of(answer, {**answer.data, name: "changed"})

    (only,) = [f for f in findings(Changed(changes), [vector]) if f.outcome is Outcome.FAILED]
    assert only.received == '"changed"'
    assert "something else at" in only.message


def test_what_an_extractor_tells_beside_is_judged_as_advice() -> None:
    lies = Changed(lambda *it: Extracted(it[2].data, "text_fallback"))
    found = findings(lies)
    assert broken(found) == set()
    assert broken(found, Outcome.ADVISORY) == {"client.extractor.path"}
    prints = Changed(lambda *it: it[2], behaviour=Behaviour(('"debug"',), ()))
    assert broken(findings(prints), Outcome.ADVISORY) == {"client.extractor.output"}


def test_one_that_breaks_at_depth_is_an_advisory() -> None:
    deep = [vector for vector in own() if requirement(vector) == "extraction.depth"][:3]
    library = Changed(lambda *_: Threw("RecursionError", "too deep"))
    library.declared = Declared("deep", limit=Limit(10))
    found = findings(library, deep)
    assert broken(found) == set()
    assert broken(found, Outcome.ADVISORY) == {"client.extraction.depth"}


def test_the_fuzzer_tells_what_it_found(tmp_path: Path) -> None:
    (rule,) = [rule for rule in RULES.values() if rule.id == "client.fuzz.agrees"]

    def judged(library: ReferenceLibrary) -> list[Finding]:
        runs = list(fuzzed(library, examples=400, seed=1, folder=tmp_path))
        return [judge(rule, entry) for entry in of_rule(rule, runs)]

    assert {finding.outcome for finding in judged(ReferenceLibrary())} == {Outcome.PASSED}
    assert list(tmp_path.iterdir()) == []
    found = {finding.subject: finding for finding in judged(Changed(ignores_the_flag, [Kind.SUCCESS]))}
    assert found["mcp/error"].outcome is found["a2a/success"].outcome is Outcome.PASSED
    broken_one = found["mcp/success"]
    assert broken_one.outcome is Outcome.FAILED
    assert broken_one.further[0].startswith('the vector: {"id": "fuzz-success-')
    again = load_vectors(tmp_path / "fuzz-mcp-success.json")
    assert json.loads(broken_one.further[0].partition(": ")[2])["id"] in {vector.id for vector in again}
    assert broken(findings(Changed(ignores_the_flag, [Kind.SUCCESS]), again)) == {
        "client.extraction.is-error"
    }
