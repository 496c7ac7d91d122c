"""Known failures: what an entry covers, and when it says nothing true any more."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_adcp.harness.baseline import Baseline, BaselineEntry, State, exactly
from pytest_adcp.harness.rules import FIRST_RELEASE, Judged, Level, Rule
from pytest_adcp.harness.verdict import Finding, Outcome, conclude, exit_code

TODAY = date(2026, 11, 30)
RULE = Rule("a.b", Level.MUST, Judged.ANSWER, "https://spec.test", "holds", "mend it", lambda _: None)


def found(outcome: Outcome, subject: str = "get_products/x", rule: str = "a.b", **more: Any) -> Finding:
    return Finding(rule, Level.MUST, outcome, subject, "why", **more)


def test_an_entry_for_an_advisory_says_so() -> None:
    advisory = [found(Outcome.ADVISORY), found(Outcome.PASSED, "get_products/y")]
    (reviewed,) = baseline(entry("get_*")).review(advisory, whole=True, left_out=(), today=date(2026, 11, 30))
    assert reviewed.state is State.STALE
    assert reviewed.why == "what it covers is an advisory, which fails nothing without --adcp-strict"


def baseline(*entries: BaselineEntry, version: str = FIRST_RELEASE) -> Baseline:
    return Baseline(Path("b.yaml"), version, entries)


def entry(subject: str, **more: Any) -> BaselineEntry:
    return BaselineEntry("a.b", subject, "ticket 7", **more)


@pytest.mark.parametrize(
    ("pattern", "subject", "covered"),
    [
        ("get_products/x", "get_products/x", True),
        ("get_products/x", "get_products/x@2", True),
        ("get_products/x", "get_products/xy", False),
        ("get_products/x", "my/get_products/x", False),
        ("get_*/x", "get_products/x", True),
        ("get_*", "get_products/x@3", True),
        ("*", "-", True),
        ("GET_*", "get_products/x", False),
        ("a?c", "abc", False),
        ("a[bc]d", "abd", False),
        ("a[bc]d", "a[bc]d", True),
        ("a[*]", "a*", True),
        ("a[*]", "ab", False),
        ("a[[*]]", "a[*]", True),
    ],
)
def test_only_a_star_stands_for_others(pattern: str, subject: str, covered: bool) -> None:
    assert entry(pattern).covers(subject) is covered


@given(st.text("ab*[]?!@\\/-", max_size=8), st.text("ab*[]?!@\\/-", max_size=8))
def test_an_entry_that_is_written_covers_its_subject_and_no_other(subject: str, other: str) -> None:
    written = entry(exactly(subject))
    assert written.covers(subject)
    assert written.covers(other) is (exactly(subject) == exactly(other))


def test_many_stars_take_no_time() -> None:
    began = time.monotonic()
    assert not entry("*a" * 60 + "b").covers("a" * 600)
    assert time.monotonic() - began < 1


def test_a_failure_that_is_covered_is_known_with_its_reason() -> None:
    known = baseline(entry("get_*")).excused(RULE, found(Outcome.FAILED), TODAY)
    assert (known.outcome, known.reason) == (Outcome.KNOWN, "ticket 7")
    assert replace(known, outcome=Outcome.FAILED, reason="") == found(Outcome.FAILED)


@pytest.mark.parametrize(
    "finding",
    [
        found(Outcome.FAILED, "list_accounts/x"),
        found(Outcome.FAILED, rule="a.c"),
        *(found(outcome) for outcome in Outcome if outcome is not Outcome.FAILED),
    ],
)
def test_nothing_else_is(finding: Finding) -> None:
    assert baseline(entry("get_*")).excused(RULE, finding, TODAY) == finding


def test_the_last_day_counts_and_the_next_does_not() -> None:
    last = baseline(entry("get_*", expires=TODAY))
    assert last.excused(RULE, found(Outcome.FAILED), TODAY).outcome is Outcome.KNOWN
    assert last.excused(RULE, found(Outcome.FAILED), date(2026, 12, 1)).outcome is Outcome.FAILED
    both = baseline(entry("get_*", expires=date(2020, 1, 1)), entry("get_products/x"))
    assert both.excused(RULE, found(Outcome.FAILED), TODAY).outcome is Outcome.KNOWN


@pytest.mark.parametrize(
    ("added", "version", "outcome"),
    [
        ("0.1.0", "0.1.0", Outcome.FAILED),
        ("0.2.0", "0.1.0", Outcome.KNOWN),
        ("0.10.0", "0.9.1", Outcome.KNOWN),
        ("0.2.0", "0.2.0", Outcome.FAILED),
        ("0.2.0", "0.10", Outcome.FAILED),
    ],
)
def test_a_rule_that_is_newer_is_not_scored(added: str, version: str, outcome: Outcome) -> None:
    newer = replace(RULE, added=added)
    made = baseline(version=version).excused(newer, found(Outcome.FAILED), TODAY)
    assert made.outcome is outcome
    assert (f"new in {added}" in made.reason) is (outcome is Outcome.KNOWN)


def state(subject: str, *findings: Finding, **how: Any) -> State:
    given = {"whole": True, "left_out": (), "today": TODAY} | how
    expires = given.pop("expires", None)
    (reviewed,) = baseline(entry(subject, expires=expires)).review(findings, **given)
    assert bool(reviewed.why) is (reviewed.state is not State.USED)
    return reviewed.state


def test_an_entry_is_used_where_something_that_it_covers_fails() -> None:
    passed = found(Outcome.PASSED, "get_products/y")
    assert state("get_*", passed, found(Outcome.KNOWN)) is State.USED
    assert state("get_*", passed, found(Outcome.FAILED), whole=False) is State.USED


def test_an_entry_is_stale_where_all_was_judged_and_nothing_failed() -> None:
    assert state("get_*", found(Outcome.PASSED)) is State.STALE
    assert state("get_*", found(Outcome.ADVISORY)) is State.STALE
    assert state("gone/x", found(Outcome.FAILED)) is State.STALE
    assert state("get_*", found(Outcome.NOT_APPLICABLE, "-")) is State.STALE


def test_an_entry_is_not_stale_where_the_run_cannot_tell() -> None:
    assert state("get_*", found(Outcome.PASSED), whole=False) is State.UNJUDGED
    assert state("get_*", found(Outcome.PASSED, rule="a.c")) is State.UNJUDGED
    assert state("get_*", found(Outcome.BLOCKED), found(Outcome.PASSED, "get_products/y")) is State.UNJUDGED
    assert state("get_*", found(Outcome.BLOCKED, "-")) is State.UNJUDGED
    other = found(Outcome.PASSED, "x/y")
    assert state("create/x", other, left_out=("create", "sync")) is State.UNJUDGED
    assert state("create/*", other, left_out=("create/x",)) is State.UNJUDGED
    assert state("create/x", other, left_out=("sync",)) is State.STALE


def test_an_expired_entry_is_so_whatever_the_run_says() -> None:
    for findings in ([], [found(Outcome.PASSED)], [found(Outcome.FAILED)]):
        assert state("get_*", *findings, expires=date(2026, 11, 29)) is State.EXPIRED


def test_the_verdict_counts_what_is_known() -> None:
    assert conclude([found(Outcome.KNOWN)], gaps=[]).verdict == "nonconformant"


@pytest.mark.parametrize(
    ("outcome", "gaps", "alarm", "code"),
    [
        (Outcome.KNOWN, [], False, 0),
        (Outcome.KNOWN, [], True, 1),
        (Outcome.KNOWN, ["the survey ended early"], False, 6),
        (Outcome.KNOWN, ["the survey ended early"], True, 1),
        (Outcome.FAILED, [], None, 1),
        (Outcome.FAILED, ["the survey ended early"], None, 1),
        (Outcome.FAILED, [], False, 0),
        (Outcome.PASSED, [], True, 1),
        (Outcome.PASSED, [], False, 0),
        (Outcome.PASSED, ["no error was seen"], False, 6),
    ],
)
def test_the_exit_code_honours_it(outcome: Outcome, gaps: list[str], alarm: bool | None, code: int) -> None:
    judgement = conclude([found(outcome)], gaps=gaps)
    assert exit_code(judgement, faults=0, unusable=False, partial=False, judged=1, alarm=alarm) == code
