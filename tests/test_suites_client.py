"""Rules for client libraries: each has a faulty library that breaks it, and the harness's own algorithms pass all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp import suites
from pytest_adcp.harness.extraction import extract_error, extract_success
from pytest_adcp.harness.library.command import Behaviour
from pytest_adcp.harness.library.records import (
    Answer,
    Declared,
    Extracted,
    Limit,
    NoAnswer,
    Question,
    Threw,
)
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.harness.library.requirements import requirement
from pytest_adcp.harness.library.subjects import build, fuzzed, of_rule
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.vectors.loader import Kind, Transport, Vector, own
from pytest_adcp.vectors.loader import load as load_vectors

RULES = {rule.id: rule for rule in load(suites.CLIENT)}
Change = Callable[[dict[str, Any], Question, Any], Answer]


class Changed(ReferenceLibrary):
    """The reference with a change to its answers."""

    def __init__(
        self,
        change: Change,
        kinds: Iterable[Kind] = Kind,
        behaviour: Behaviour | None = None,
        transport: Transport = Transport.MCP,
    ) -> None:
        self._change = change
        self.transport = transport
        self._kinds = set(kinds)
        self.behaviour = behaviour or Behaviour((), ())

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            (answer,) = super().ask([question])
            is_wanted = isinstance(answer, Extracted) or self.transport is Transport.A2A
            if is_wanted and question.kind in self._kinds and question.transport is self.transport:
                yield self._change(json.loads(question.response or ""), question, answer)
            else:
                yield answer


def of(answer: Extracted, data: Any) -> Extracted:
    """The same answer with other data, and nothing told about what is done then."""
    return Extracted(data)


@cache
def vectors(transport: Transport = Transport.MCP) -> tuple[Vector, ...]:
    """The packaged vectors of a transport that are quick to read."""
    slow = ("extraction.limit", "extraction.depth")
    return tuple(v for v in own() if v.transport is transport and requirement(v) not in slow)


def findings(library: ReferenceLibrary, chosen: Iterable[Vector] | None = None) -> list[Finding]:
    tried = build(library, list(vectors() if chosen is None else chosen))
    return [judge(rule, entry) for rule in RULES.values() for entry in of_rule(rule, tried)]


def broken(found: list[Finding], outcome: Outcome = Outcome.FAILED) -> set[str]:
    return {finding.rule for finding in found if finding.outcome is outcome}


# -- one fault a rule ---------------------------------------------------------------------------------------------


def ignores_the_flag(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, extract_success({**response, "isError": False}).data)


def ignores_structured_content_beside_json(
    response: dict[str, Any], question: Question, answer: Extracted
) -> Answer:
    if answer.data is None or not isinstance(response.get("structuredContent"), dict):
        return answer
    from_text = extract_success({"content": response.get("content")}).data
    return of(answer, from_text) if from_text is not None else answer


def takes_arrays(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    for item in response.get("content") or []:
        if answer.data is None and "isError" not in response and isinstance(item, dict):
            text = str(item.get("text"))
            if text.startswith("[") and text.endswith("]") and "NaN" not in text:
                return of(answer, json.loads(text))
    return answer


def takes_an_error_for_data(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent")
    alone = isinstance(structured, dict) and structured.keys() == {"adcp_error"}
    return of(answer, structured) if alone and not response.get("isError") else answer


def wants_a_copy_in_the_text(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    odd = any(word in str(response) for word in ("isError", "proto"))
    is_alone = (
        response.get("content") == [] and response.keys() == {"content", "structuredContent"} and not odd
    )
    return of(answer, None) if is_alone else answer


def takes_nan(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    for item in response.get("content") or []:
        if answer.data is None and isinstance(item, dict) and '"ctr":NaN' in str(item.get("text")):
            return of(answer, json.loads(item["text"]))
    return answer


def loses_prototype_names(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    if not isinstance(answer.data, dict) or "__proto__" not in answer.data:
        return answer
    return of(answer, {name: value for name, value in answer.data.items() if name != "__proto__"})


def reads_no_text_of_an_error(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    plain = answer.path == "text_fallback" and "structuredContent" not in response
    return of(answer, None) if plain and answer.data is not None else answer


def stops_at_structured_content(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, None) if answer.path == "text_fallback" and "structuredContent" in response else answer


def reads_no_json_rpc(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, None) if answer.path == "jsonrpc_error" and answer.data is not None else answer


def takes_unflagged_errors(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    unflagged = answer.data is None and not response.get("isError") and "error" not in response
    return of(answer, extract_error({**response, "isError": True}).error) if unflagged else answer


def takes_any_code(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent") if response.get("isError") is True else None
    found = structured.get("adcp_error") if isinstance(structured, dict) else None
    return of(answer, found) if answer.data is None and isinstance(found, dict) else answer


def guesses_from_errors(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent")
    errors = structured.get("errors") if isinstance(structured, dict) else None
    return of(answer, errors[0]) if answer.data is None and errors else answer


def bounds_too_early(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    if not isinstance(answer.data, dict) or not isinstance(answer.data.get("retry_after"), int):
        return answer
    seconds = max(1, min(3600, answer.data["retry_after"]))
    return (
        answer
        if seconds == answer.data["retry_after"]
        else of(answer, {**answer.data, "retry_after": seconds})
    )


def only_from_text(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    plain = (
        answer.path == "structuredContent" and question.kind is Kind.ERROR and response.get("isError") is True
    )
    usual = isinstance(answer.data, dict) and answer.data.keys() == {"code"}
    return of(answer, None) if plain and usual else answer


def acts(recovery: Any, action: str) -> Change:
    def change(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        found = answer.data.get("recovery", ...) if isinstance(answer.data, dict) else None
        return replace_action(answer, action) if found == recovery else answer

    return change


def replace_action(answer: Extracted, action: str) -> Extracted:
    return Extracted(answer.data, answer.path, action, answer.retry_after)


def waits_as_told(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    told = answer.data.get("retry_after") if isinstance(answer.data, dict) else None
    seconds = told if isinstance(told, (int, float)) and math.isfinite(told) else answer.retry_after
    return Extracted(answer.data, answer.path, answer.action, seconds)


# -- A2A -----------------------------------------------------------------------------------------------------------


@cache
def responses(requirement: str) -> frozenset[str]:
    """The responses of the A2A vectors for a requirement that are none of another one."""
    by_rule: dict[bool, set[str]] = {True: set(), False: set()}
    for vector in vectors(Transport.A2A):
        by_rule[vector.requirement == f"a2a.{requirement}"].add(json.dumps(vector.response, sort_keys=True))
    return frozenset(by_rule[True] - by_rule[False])


def loses(requirement: str) -> Change:
    """Find nothing in the vectors of a requirement where there is something, and something where there is nothing."""

    def change(task: dict[str, Any], question: Question, answer: Any) -> Answer:
        if json.dumps(task, sort_keys=True) not in responses(requirement):
            return answer
        found = answer.data if isinstance(answer, Extracted) else None
        return Extracted({"lost": True} if found is None else None)

    return change


def over_a2a(requirement: str, kind: Kind = Kind.SUCCESS) -> Changed:
    return Changed(loses(requirement), [kind], transport=Transport.A2A)


FAULTS: dict[str, Changed] = {
    "client.extraction.is-error": Changed(ignores_the_flag, [Kind.SUCCESS]),
    "client.extraction.structured-content": Changed(ignores_structured_content_beside_json, [Kind.SUCCESS]),
    "client.extraction.text": Changed(takes_arrays, [Kind.SUCCESS]),
    "client.extraction.adcp-error-only": Changed(takes_an_error_for_data, [Kind.SUCCESS]),
    "client.extraction.no-duplicate": Changed(wants_a_copy_in_the_text, [Kind.SUCCESS]),
    "client.extraction.json": Changed(takes_nan, [Kind.SUCCESS]),
    "client.extraction.prototype-keys": Changed(loses_prototype_names, [Kind.SUCCESS]),
    "client.errors.structured-content": Changed(only_from_text),
    "client.errors.detection-order": Changed(stops_at_structured_content, [Kind.ERROR]),
    "client.errors.text": Changed(reads_no_text_of_an_error, [Kind.ERROR]),
    "client.errors.jsonrpc": Changed(reads_no_json_rpc, [Kind.ERROR]),
    "client.errors.guard": Changed(takes_unflagged_errors, [Kind.ERROR]),
    "client.errors.absent": Changed(guesses_from_errors, [Kind.ERROR]),
    "client.errors.validation": Changed(takes_any_code, [Kind.ERROR]),
    "client.errors.unchanged": Changed(bounds_too_early, [Kind.ERROR]),
    "client.errors.prototype-keys": Changed(loses_prototype_names, [Kind.ERROR]),
    "client.actions.recovery": Changed(acts("terminal", "retry"), [Kind.ERROR]),
    "client.actions.unknown-recovery": Changed(acts("fatal", "retry"), [Kind.ERROR]),
    "client.actions.by-code": Changed(acts(..., "surface_to_caller"), [Kind.ERROR]),
    "client.actions.no-error": Changed(acts(None, "retry"), [Kind.ERROR]),
    "client.actions.retry-after": Changed(waits_as_told, [Kind.ERROR]),
    **{
        f"client.a2a.{name}": over_a2a(name)
        for name in (
            *("envelope", "states", "parts", "last-part", "first-part", "wrapper", "fallback"),
            *("unknown-state", "unchanged"),
        )
    },
    "client.a2a.error": over_a2a("error", Kind.ERROR),
    "client.a2a.error-validation": over_a2a("error-validation", Kind.ERROR),
    "client.extractor.answers": Changed(lambda *_: NoAnswer("exit code 3"), [Kind.SUCCESS]),
    "client.extractor.protocol": Changed(
        lambda *it: it[2], behaviour=Behaviour((), ("request 1 was answered again",))
    ),
}


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
