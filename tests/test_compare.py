"""Two reports: what is new, fixed, still failing, and what nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome, Verdict, count
from pytest_adcp.reports import compare, terminal
from pytest_adcp.reports.compare import matching, new_failures, with_comparison
from pytest_adcp.reports.model import (
    Change,
    Comparison,
    Harness,
    Report,
    ReportedFinding,
    Selected,
    Server,
    SurveyCost,
    Target,
    dumps,
    loads,
)

PASSED, FAILED, KNOWN = Outcome.PASSED, Outcome.FAILED, Outcome.KNOWN
BLOCKED, ADVISORY, NOTHING = Outcome.BLOCKED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE
HOSTILE = "\x1b[2J\u202e<script>\n"


def target(*findings: tuple[str, str, Outcome], **more: Any) -> Target:
    made = tuple(
        ReportedFinding(
            rule, Level.MUST, outcome, subject, "" if outcome is PASSED else f"{subject} is wrong"
        )
        for rule, subject, outcome in findings
    )
    broken = any(finding.is_broken for finding in made)
    given: dict[str, Any] = {
        "url": "https://seller.test/mcp",
        "name": "Acme",
        "server": Server("s", "1", "2025-11-25"),
        "adcp_version": "3.1",
        "schemas": None,
        "profiles": ("core",),
        "verdict": Verdict.NONCONFORMANT if broken else Verdict.CONFORMANT,
        "reasons": (),
        "counts": count(made),
        "transcript": None,
        "survey": SurveyCost(1, {}, 0, 1.0, 1.0),
        "diagnosis": None,
        "not_checked": (),
        "calls": (),
        "observations": (),
        "checklist": (),
        "selection": Selected(True),
        "complete": True,
    }
    return Target(findings=made, **(given | more))


def report(*targets: Target, rules_version: str = "0.1.0") -> Report:
    return Report(Harness("pytest-adcp", "0.1.0", rules_version), "2026-11-29T02:00:00+00:00", {}, targets)


def compared(then: Target, now: Target, rules_version: str = "0.1.0") -> Comparison:
    (made,) = with_comparison(report(then), report(now, rules_version=rules_version)).targets
    assert made.comparison is not None
    assert replace(made, comparison=None) == now
    return made.comparison


def keys(changes: tuple[Change, ...]) -> list[tuple[str, str, Any, Any]]:
    return [(change.rule, change.subject, change.before, change.now) for change in changes]


def test_each_failure_then_or_now_is_in_one_list() -> None:
    then = target(
        ("a", "x", FAILED),
        ("a", "y", PASSED),
        ("a", "z", FAILED),
        ("b", "x", KNOWN),
        ("c", "x", FAILED),
        ("d", "x", FAILED),
        ("e", "x", PASSED),
        ("f", "x", FAILED),
    )
    now = target(
        ("a", "x", FAILED),
        ("a", "y", FAILED),
        ("a", "z", PASSED),
        ("b", "x", KNOWN),
        ("c", "-", BLOCKED),
        ("d", "x", ADVISORY),
        ("e", "w", FAILED),
        ("e", "x", PASSED),
    )
    found = compared(then, now)
    assert keys(found.new) == [("a", "y", PASSED, FAILED), ("e", "w", None, FAILED)]
    assert keys(found.still) == [("a", "x", FAILED, FAILED), ("b", "x", KNOWN, KNOWN)]
    assert keys(found.fixed) == [("a", "z", FAILED, PASSED)]
    assert keys(found.unjudged) == [
        ("c", "x", FAILED, BLOCKED),
        ("d", "x", FAILED, ADVISORY),
        ("f", "x", FAILED, None),
    ]
    assert keys(found.blocked) == [("c", "-", None, BLOCKED)]
    assert (found.new_rules, found.gone_rules) == ((), ("f",))
    assert (found.new_subjects, found.gone_subjects) == (("w",), ())
    assert found.fixed[0].message == "z is wrong"
    assert found.verdict is Verdict.NONCONFORMANT
    assert found.notes == ()


def test_on_which_try_it_failed_does_not_matter() -> None:
    found = compared(target(("a", "x@2", FAILED), ("a", "x", PASSED)), target(("a", "x", FAILED)))
    assert keys(found.still) == [("a", "x", FAILED, FAILED)]
    assert (found.new, found.gone_subjects) == ((), ())


def test_what_was_blocked_is_new_where_it_fails() -> None:
    found = compared(target(("a", "-", BLOCKED)), target(("a", "x", FAILED), ("b", "-", BLOCKED)))
    assert keys(found.new) == [("a", "x", BLOCKED, FAILED)]
    assert keys(found.blocked) == [("b", "-", None, BLOCKED)]
    assert compared(target(("b", "-", BLOCKED)), target(("b", "-", BLOCKED))).blocked == ()


def test_a_rule_that_a_newer_rule_set_brings_is_not_scored() -> None:
    then, now = target(("a", "x", PASSED)), target(("a", "x", FAILED), ("b", "x", FAILED))
    found = compared(then, now, rules_version="0.2.0")
    assert keys(found.new) == [("a", "x", PASSED, FAILED)]
    assert keys(found.not_scored) == [("b", "x", None, FAILED)]
    assert found.new_rules == ("b",)
    same = compared(then, now)
    assert [change.rule for change in same.new] == ["a", "b"]
    assert [change.rule for change in compared(target(), now, rules_version="0.2.0").new] == ["a", "b"]


def test_the_failures_that_count_are_new_and_in_no_baseline() -> None:
    now = target(("a", "x", FAILED), ("a", "y@3", FAILED), ("a", "z", KNOWN))
    assert [finding.subject for finding in new_failures(now)] == ["x", "y@3"]
    (made,) = with_comparison(report(target(("a", "x", FAILED))), report(now)).targets
    assert [finding.subject for finding in new_failures(made)] == ["y@3"]


def test_targets_are_found_by_name_and_else_by_url() -> None:
    one, two = target(name="one", url="https://one.test"), target(name="two", url="https://two.test")
    both = report(one, two)
    assert matching(both, "two", "https://one.test") is two
    assert matching(both, "three", "https://one.test") is one
    assert matching(both, "three", "") is None
    assert matching(report(target(name="client", url="")), "other", "") is None
    (first, second) = with_comparison(report(one), report(two, one)).targets
    assert first.comparison is None
    assert second.comparison is not None


def test_a_url_that_has_changed_is_told() -> None:
    found = compared(
        target(), target(url="https://seller.test/v2/mcp", adcp_version="3.2", profiles=("client",))
    )
    assert found.notes[0].startswith("the URL has changed since: it was https://seller.test/mcp, ")
    assert "the AdCP release was 3.1, and is 3.2" in found.notes
    assert "the earlier run judged other profiles: core" in found.notes
    ports = compared(target(url="http://127.0.0.1:1/mcp"), target(url="http://localhost:2/mcp"))
    assert not any("URL" in note for note in ports.notes)


def test_a_run_that_was_narrowed_is_not_taken_for_a_whole_one() -> None:
    part = Selected(False, ("only a part was judged (-k)",))
    found = compared(
        target(("a", "x", PASSED), ("b", "y", FAILED)), target(("a", "x", PASSED), selection=part)
    )
    assert (found.gone_rules, found.gone_subjects) == ((), ())
    assert keys(found.unjudged) == [("b", "y", FAILED, None)]
    assert found.notes == ("this run judged only a part: what it left out is not known",)
    assert "counts as new" in compared(target(), target(("a", "x", FAILED))).notes[0]
    early = compared(target(("a", "x", PASSED), complete=False), target(("a", "x", PASSED)))
    assert early.notes == ("the earlier survey ended early: what it did not see counts as new",)


def test_it_is_written_and_read_again() -> None:
    made = with_comparison(report(target(("a", "x", FAILED))), report(target(("a", "y", FAILED))))
    assert loads(dumps(made)) == made


def test_an_earlier_report_is_a_foreign_file() -> None:
    then = target((f"a{HOSTILE}", HOSTILE, FAILED), url=f"https://{HOSTILE}", profiles=(HOSTILE,))
    found = compared(then, target())
    shown = repr(found) + "".join(
        line
        for line, _ in terminal.summary(
            with_comparison(report(then), report(target())), width=100, verbosity=1
        )
    )
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert found.unjudged[0].rule == r"a\x1b[2J\u202e<script>\n"


def test_a_long_comparison_takes_no_time() -> None:
    many = [("a", f"tool-{number}/x", FAILED) for number in range(20_000)]
    made = with_comparison(report(target()), report(target(*many)))
    assert len(new_failures(made.targets[0])) == 20_000


# -- in words ---------------------------------------------------------------------------------------------------


def text(then: Target, now: Target, **how: Any) -> list[str]:
    made = with_comparison(report(then), report(now))
    return [line for line, _ in terminal.summary(made, width=200, **how)]


def test_the_terminal_says_what_has_changed() -> None:
    lines = text(
        target(*(("b", f"s{n}", FAILED) for n in range(5))),
        target(("a", "x", FAILED), *(("b", f"s{n}", PASSED) for n in range(5))),
    )
    start = lines.index("SINCE 2026-11-29T02:00:00+00:00")
    assert lines[start + 1 : start + 8] == [
        "  new failures: 1",
        "  - a (MUST) on x: x is wrong",
        "  fixed: 5",
        "  - b (MUST) on s0: s0 is wrong",
        "  - b (MUST) on s1: s1 is wrong",
        "  - b (MUST) on s2: s2 is wrong",
        "  - and 2 more, in report.json",
    ]
    assert "  rules new in this run: a" in lines


def test_nothing_has_changed() -> None:
    assert text(target(("a", "x", PASSED)), target(("a", "x", PASSED)))[3:5] == [
        "SINCE 2026-11-29T02:00:00+00:00",
        "  nothing has changed",
    ]


def test_quiet_says_what_is_new_only() -> None:
    lines = text(target(("b", "y", FAILED)), target(("a", "x", FAILED)), verbosity=-1)
    assert lines[2:] == [
        "SINCE 2026-11-29T02:00:00+00:00",
        "  new failures: 1",
        "  - a (MUST) on x: x is wrong",
    ]
    assert len(text(target(("a", "x", FAILED)), target(("a", "x", PASSED)), verbosity=-1)) == 1


def test_it_is_pure() -> None:
    then, now = report(target(("a", "x", FAILED))), report(target(("a", "x", PASSED)))
    assert compare.with_comparison(then, now) == compare.with_comparison(then, now)
    assert then.targets[0].comparison is now.targets[0].comparison is None
