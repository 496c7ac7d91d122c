"""The terminal summary: what a seller reads at midnight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import told_reports
from pytest_adcp.harness.calls import Expect, Purpose
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome, Verdict
from pytest_adcp.reports import terminal
from pytest_adcp.reports.model import (
    Call,
    Diagnosis,
    Harness,
    NotChecked,
    Observation,
    Report,
    ReportedFinding,
    Server,
    SurveyCost,
    Target,
    TranscriptFile,
)

CURL = "curl -sS -i -X POST https://seller.test/mcp --data-raw " + "x" * 300
FIX = "Return the object itself."


def found(rule: str, outcome: Outcome, subject: str, message: str = "", **more: Any) -> ReportedFinding:
    level = more.pop("level", Level.SHOULD if outcome is Outcome.ADVISORY else Level.MUST)
    broken: dict[str, Any] = {"source": "https://spec.test/x"}
    if outcome in (Outcome.FAILED, Outcome.ADVISORY):
        broken |= {
            "fix": FIX,
            "expected": "products",
            "received": '{"result": …}',
            "pointer": "/result",
            "curl": CURL,
        }
    return ReportedFinding(rule, level, outcome, subject, message, **(broken | more))


def wrapped(*subjects: str, message: str = "the data is wrapped", **more: Any) -> list[ReportedFinding]:
    return [found("adcp.wrapped", Outcome.FAILED, subject, message, **more) for subject in subjects]


def call(name: str, tries: int = 1) -> Call:
    return Call(
        f"get_products/{name}",
        "get_products",
        Purpose.GOOD,
        Expect.ANY,
        "success",
        "none",
        None,
        0,
        9,
        4,
        tries,
    )


def target(findings: Iterable[ReportedFinding] = (), **more: Any) -> Target:
    given: dict[str, Any] = {
        "server": Server("seller", "1", "2025-11-25"),
        "transcript": TranscriptFile("transcript.jsonl", "0" * 64),
        "calls": tuple(call(name) for name in "abcdefghi"),
    }
    return told_reports.target(findings, **(given | more))


def shown(*targets: Target, width: int = 100, **more: Any) -> list[str]:
    report = Report(Harness("pytest-adcp", "1", "1"), "2026-11-29T00:00:00+00:00", {}, targets)
    return [line for line, _ in terminal.summary(report, width=width, **more)]


def text(*targets: Target, **more: Any) -> str:
    return "\n".join(shown(*targets, **more))


PASSED = found("a.b", Outcome.PASSED, "tools/list")
WHERE = "(https://seller.test/mcp, AdCP 3.1, MCP 2025-11-25)"


# -- the verdict line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (target([PASSED]), f"conformant: 1 rule passed on 9 calls {WHERE}"),
        (
            target([PASSED], schemas=None),
            f"conformant: 1 rule passed on 9 calls {WHERE[:-1]}, schemas not checked)",
        ),
        (target([PASSED], calls=()), f"conformant: 1 rule passed {WHERE}"),
        (
            target(wrapped("get_products/a", "get_products/b", "tools/list")),
            f"nonconformant: 1 MUST rule failed on 2 of 9 calls {WHERE}",
        ),
        (target(wrapped("tools/list")), f"nonconformant: 1 MUST rule failed {WHERE}"),
        (
            target([*wrapped("tools/list"), found("z", Outcome.FAILED, "x", level=Level.SHOULD)]),
            f"nonconformant: 1 MUST rule and 1 SHOULD rule failed {WHERE}",
        ),
        (
            target(wrapped("get_products/a@1"), calls=(call("a", tries=2), call("b"))),
            f"nonconformant: 1 MUST rule failed on 1 of 2 calls {WHERE}",
        ),
        (
            target(
                verdict=Verdict.INCONCLUSIVE, reasons=("the survey ended early: five time-outs in a row",)
            ),
            f"inconclusive: the survey ended early: five time-outs in a row {WHERE}",
        ),
        (
            target([PASSED], adcp_version=None, server=Server("", "", None), calls=()),
            "conformant: 1 rule passed (https://seller.test/mcp, AdCP release unknown, MCP revision unknown)",
        ),
        (
            target([PASSED], url="", profiles=("client",), calls=(), schemas=None),
            "conformant: 1 rule passed (client)",
        ),
    ],
)
def test_the_verdict_comes_first_and_on_one_line(given: Target, line: str) -> None:
    assert shown(given, width=40)[0] == line


@pytest.mark.parametrize(
    ("verdict", "colour"),
    [
        (Verdict.CONFORMANT, "green"),
        (Verdict.NONCONFORMANT, "red"),
        (Verdict.INCONCLUSIVE, "yellow"),
    ],
)
def test_the_verdict_is_marked(verdict: Verdict, colour: str) -> None:
    report = Report(Harness("", "", ""), "", {}, (target(verdict=verdict),))
    assert terminal.summary(report, width=80)[0][1] == {"bold": True, colour: True}


def test_further_reasons_follow_it() -> None:
    lines = shown(target(verdict=Verdict.INCONCLUSIVE, reasons=("no success", "no error")))
    assert lines[0].startswith("inconclusive: no success (")
    assert lines[1] == "  also: no error"
    lines = shown(target(wrapped("x"), reasons=("only a part was judged",)))
    assert lines[1] == "  also: only a part was judged"


def test_counts_name_what_there_is() -> None:
    findings = [PASSED, PASSED, *wrapped("x"), found("n", Outcome.NOT_APPLICABLE, "-", "none")]
    assert shown(target(findings))[1] == "checks: 2 passed, 1 failed, 1 not applicable"
    assert shown(target())[1] == "nothing was judged"


# -- failures -------------------------------------------------------------------------------------------------


def section(lines: Sequence[str], start: str) -> list[str]:
    """Return the lines of one section, without its heading."""
    first = next(index for index, line in enumerate(lines) if line.startswith(start))
    rest = [*lines[first + 1 :], ""]
    return rest[: rest.index("")]


def test_a_failed_rule_says_what_where_and_what_to_change() -> None:
    lines = shown(target(wrapped(*(f"get_products/{name}" for name in "abcde"))))
    heading = "FAILED adcp.wrapped (MUST) on get_products/a, get_products/b, get_products/c +2 more"
    assert heading in lines
    assert section(lines, heading) == [
        "  the data is wrapped",
        "  expected: products",
        '  received: {"result": …}',
        "  at:       /result",
        "  fix:      Return the object itself.",
        "  spec:     https://spec.test/x",
        f"  {CURL}",
    ]


def test_what_else_is_wrong_with_an_answer_is_cut_short() -> None:
    further = tuple(f"/products/{number}: `name` is missing" for number in range(5))
    lines = section(shown(target(wrapped("a", further=further))), "FAILED")
    assert lines[4:8] == [
        "  also:     /products/0: `name` is missing",
        "  also:     /products/1: `name` is missing",
        "  also:     /products/2: `name` is missing",
        "  and 2 other lines about it, in report.json",
    ]
    assert "/products/4: `name` is missing" in text(target(wrapped("a", further=further)), verbosity=1)


def test_each_message_of_a_rule_stands_there_once() -> None:
    findings = [
        *wrapped("a", "b"),
        *wrapped("c", "d", message="the second way"),
        *wrapped("e", message="the third way", fix="Do it differently."),
        *wrapped("f", message="the fourth way"),
        *wrapped("g", message="the fifth way"),
    ]
    lines = shown(target(findings))
    assert sum(line.startswith("FAILED") for line in lines) == 1
    body = section(lines, "FAILED")
    assert body[0] == "  the data is wrapped"
    assert body[4:9] == [
        "  also on c, d: the second way",
        "  also on e: the third way",
        "  and 2 other messages, in report.json",
        "  fix:      Return the object itself.",
        "  fix:      Do it differently.",
    ]
    assert sum("curl" in line for line in body) == 1
    assert "the fifth way" in text(target(findings), verbosity=1)


def test_a_subject_that_is_none_is_not_named() -> None:
    lines = shown(target(wrapped("-")))
    assert "FAILED adcp.wrapped (MUST)" in lines


def test_quiet_shows_the_verdict_and_a_line_a_failed_rule() -> None:
    findings = [*wrapped("a", "b", message="m" * 400), PASSED, found("s", Outcome.ADVISORY, "x", "slow")]
    lines = shown(target(findings), verbosity=-1, width=40)
    assert len(lines) == 2
    assert lines[1].startswith("FAILED adcp.wrapped (MUST) on a, b: mmm")
    assert len(lines[1]) < 320


# -- everything else ------------------------------------------------------------------------------------------


def test_advisories_are_short_and_whole_with_v() -> None:
    findings = [found("s.slow", Outcome.ADVISORY, name, f"{name} is slow " + "y" * 500) for name in "abcd"]
    body = section(shown(target(findings)), "ADVISORY s.slow (SHOULD) on a, b, c +1 more")
    assert body[0].startswith("  a is slow")
    assert body[-1] == "  fix:      Return the object itself."
    assert "curl" not in "".join(body)
    assert "b is slow" not in "".join(body)
    longer = text(target(findings), verbosity=1)
    assert all(f"{name} is slow" in longer for name in "abcd")
    assert "https://spec.test/x" in longer


def test_blocked_rules_are_grouped_by_reason() -> None:
    why = "every bad request was accepted"
    findings = [found(f"e.{n}", Outcome.BLOCKED, "-", why) for n in range(5)]
    findings.append(found("x.y", Outcome.BLOCKED, "get_products/a", "no answer in time"))
    lines = shown(target(findings, verdict=Verdict.INCONCLUSIVE))
    assert section(lines, f"BLOCKED: {why}") == ["  not judged: e.0, e.1, e.2 +2 more"]
    assert section(lines, "BLOCKED: no answer in time") == ["  not judged: x.y on get_products/a"]


def test_no_blocked_reason_is_left_to_the_report() -> None:
    findings = [found("x.y", Outcome.BLOCKED, "-", f"reason {n}") for n in range(20)]
    lines = shown(target(findings, verdict=Verdict.INCONCLUSIVE))
    assert [f"BLOCKED: reason {n}" in lines for n in range(20)] == [True] * 20
    assert not any("in report.json" in line for line in lines)


def test_what_was_not_checked_is_grouped_by_reason() -> None:
    left = [NotChecked(f"tool_{n}", "changes something") for n in range(5)] + [
        NotChecked("schemas", "no bundle")
    ]
    lines = shown(target([PASSED], not_checked=tuple(left)))
    assert section(lines, "NOT CHECKED") == [
        "  tool_0, tool_1, tool_2 +2 more: changes something",
        "  schemas: no bundle",
    ]
    assert "tool_4" in text(target([PASSED], not_checked=tuple(left)), verbosity=1)


def test_long_lists_are_counted() -> None:
    seen = tuple(Observation("x", f"observation {n}") for n in range(11))
    assert section(shown(target([PASSED], observations=seen)), "OBSERVED")[8:] == [
        "  and 3 observations more, in report.json"
    ]
    assert len(section(shown(target([PASSED], observations=seen), verbosity=1), "OBSERVED")) == 11


def test_a_good_run_is_three_lines_and_where_to_read_on() -> None:
    assert shown(target([PASSED]), report_file=Path("adcp-report/report.json"))[1:] == [
        "checks: 1 passed",
        "",
        "report:     adcp-report/report.json",
        "transcript: adcp-report/transcript.jsonl (judge it again, offline, with --adcp-replay)",
    ]


def test_the_hint_names_the_first_failed_rule() -> None:
    findings = [found("s", Outcome.ADVISORY, "x", "slow"), *wrapped("x")]
    assert shown(target(findings))[-1] == "more about a rule: pytest --adcp-explain adcp.wrapped"


# -- a server that cannot be surveyed -------------------------------------------------------------------------

DIAGNOSIS = Diagnosis("refused", "https://seller.test/mcp gave no answer to initialize", "start the server")


@pytest.mark.parametrize("verbosity", [-1, 0])
def test_an_unusable_server_is_one_diagnosis(verbosity: int) -> None:
    given = target(verdict=Verdict.INCONCLUSIVE, reasons=("no success",), diagnosis=DIAGNOSIS, calls=())
    assert shown(given, verbosity=verbosity, report_file=Path("report.json")) == [
        "inconclusive: https://seller.test/mcp gave no answer to initialize",
        "  cause:    refused",
        "  cure:     start the server",
    ]


def test_an_unusable_server_hides_no_failure_of_a_client() -> None:
    lines = shown(target(wrapped("vector-1"), diagnosis=DIAGNOSIS, calls=()))
    assert lines[0].startswith("nonconformant: 1 MUST rule failed")
    assert "  server:   https://seller.test/mcp gave no answer to initialize" in lines
    assert "FAILED adcp.wrapped (MUST) on vector-1" in lines


# -- layout ---------------------------------------------------------------------------------------------------


def test_several_targets_stand_apart() -> None:
    lines = shown(target([PASSED]), target(wrapped("x"), url="https://other.test/mcp"))
    assert lines[0].startswith("conformant")
    second = next(index for index, line in enumerate(lines) if line.startswith("nonconformant"))
    assert lines[second - 1] == ""
    assert "https://other.test/mcp" in lines[second]
    assert len(shown(target([PASSED]), target([PASSED]), verbosity=-1)) == 2


@pytest.mark.parametrize("width", [1, 60, 100])
def test_prose_is_wrapped(width: int) -> None:
    words = "word by-word " * 100
    findings = [*wrapped("a", message=words, fix=words), found("b", Outcome.BLOCKED, "-", words)]
    given = target(findings, not_checked=(NotChecked("x", words),), observations=(Observation("o", words),))
    lines = shown(given, width=width)
    prose = [line for line in lines if "word" in line]
    assert len(prose) > 20
    assert max(width, 40) - 10 < max(len(line) for line in prose) <= max(width, 40)
    assert not any(line.endswith("-") for line in prose)


def test_what_people_copy_is_not_wrapped() -> None:
    link = "https://spec.test/" + "x" * 200
    lines = shown(target(wrapped("a", source=link, pointer="/result/" + "y" * 200)), width=60)
    assert f"  spec:     {link}" in lines
    assert f"  {CURL}" in lines
    assert any(line.endswith("y" * 200) for line in lines)


def test_requests_are_told_by_kind() -> None:
    cost = SurveyCost(9, {"call": 6, "list": 3}, 0, 1.04, 0.5)
    assert "requests: 9 in 1.0 s (6 call, 3 list)" in shown(target([PASSED], survey=cost))
