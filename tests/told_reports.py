"""Reports made by hand: what the tests of the outputs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from pytest_adcp.harness.baseline import State
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome, Verdict, count
from pytest_adcp.reports import compare
from pytest_adcp.reports.alarms import alarm_of
from pytest_adcp.reports.model import (
    Baseline,
    BaselineEntry,
    ChecklistItem,
    Diagnosis,
    Harness,
    NotChecked,
    Observation,
    Report,
    ReportedFinding,
    Schemas,
    Selected,
    Server,
    SurveyCost,
    Target,
    TranscriptFile,
)

CURL = "curl -sS -i -X POST https://seller.test/mcp --data-raw '{\"a\": 1}'"
SPEC = "https://spec.test/x#y"
NAMES = {Verdict.CONFORMANT: (), Verdict.NONCONFORMANT: (Outcome.FAILED,), Verdict.INCONCLUSIVE: ()}


def found(
    rule: str, outcome: Outcome, subject: str = "get_products/brief", message: str = "", **more: Any
) -> ReportedFinding:
    given: dict[str, Any] = {"level": Level.MUST, "source": SPEC, "fix": "Return the object itself."} | more
    return ReportedFinding(rule, given.pop("level"), outcome, subject, message, **given)


def failed(
    rule: str = "adcp.extraction.top-level-data", *subjects: str, **more: Any
) -> list[ReportedFinding]:
    given: dict[str, Any] = {
        "message": "the data is wrapped in `result`",
        "expected": "products",
        "received": '{"result": …}',
        "pointer": "/result/structuredContent",
        "exchange": 4,
        "curl": CURL,
    } | more
    return [found(rule, Outcome.FAILED, subject, **given) for subject in subjects or ("get_products/brief",)]


def alarmed() -> Target:
    """Return a target with a failure that is new, one that is not, a known one, and a baseline that is out of date."""
    findings = [
        *failed("adcp.a"),
        *failed("adcp.b"),
        replace(failed("adcp.c")[0], outcome=Outcome.KNOWN, reason="ticket 7"),
    ]
    now = target(
        findings,
        baseline=Baseline(
            "known.yaml", "1.0", (BaselineEntry("adcp.z", "x", 4, State.STALE, "", "it is gone"),), ()
        ),
    )
    old = [failed("adcp.a")[0], failed("adcp.c")[0], found("adcp.b", Outcome.PASSED)]
    (now,) = compare.with_comparison(
        replace(report(target(old)), generated_at="yesterday"), report(now)
    ).targets
    return replace(now, alarm=alarm_of(now, only_new=True))


def target(findings: Iterable[ReportedFinding] = (), **more: Any) -> Target:
    findings = tuple(findings)
    bad = any(finding.outcome is Outcome.FAILED for finding in findings)
    given: dict[str, Any] = {
        "url": "https://seller.test/mcp",
        "name": "seller.test",
        "server": Server("Seller", "1", "2025-11-25"),
        "adcp_version": "3.1",
        "schemas": Schemas("adcp 9.2.0", "3.1.19"),
        "profiles": ("core",),
        "verdict": Verdict.NONCONFORMANT if bad else Verdict.CONFORMANT,
        "reasons": (),
        "counts": count(findings),
        "transcript": TranscriptFile("transcript.jsonl", "0f" * 32),
        "survey": SurveyCost(9, {}, 0, 1.0, 0.5),
        "diagnosis": None,
        "not_checked": (),
        "calls": (),
        "observations": (),
        "checklist": (),
        "selection": Selected(True),
        "complete": True,
    }
    return Target(findings=findings, **(given | more))


def report(*targets: Target, **settings: Any) -> Report:
    return Report(Harness("pytest-adcp", "1.0", "1.0"), "2026-11-29T00:00:00+00:00", settings, targets)


def everything() -> Report:
    """Return a report in which every member that any output shows says something."""
    findings = [
        *failed("adcp.a", "get_products/a", "get_products/b", further=("one more", "two more")),
        *failed("adcp.a", "get_products/c", message="in another way", fix="Do it otherwise."),
        *failed("adcp.b", "-", pointer=None, curl="", expected="", received=""),
        found("adcp.c", Outcome.ADVISORY, "tools/list", "better not", level=Level.SHOULD),
        found("adcp.d", Outcome.BLOCKED, "-", "every bad request was accepted"),
        found("adcp.e", Outcome.PASSED),
        found("adcp.f", Outcome.NOT_APPLICABLE, "-", "nobody asks"),
    ]
    one = target(
        findings,
        reasons=("only a part was judged", "something was blocked"),
        not_checked=(NotChecked("schemas", "no bundle"), NotChecked("tool", "changes something")),
        observations=(Observation("o", "a note"),),
        checklist=(ChecklistItem("connected-apps.x", "look at it", SPEC),),
    )
    down = target(
        verdict=Verdict.INCONCLUSIVE,
        diagnosis=Diagnosis("refused", "nothing listens", "start the server"),
        complete=False,
        transcript=None,
        schemas=None,
    )
    return report(one, down, config="adcp.yaml", report_dir="adcp-report", strict=True, tools=["get_*"])


def spoiled(value: Any, text: str) -> Any:
    """Return a record with every string in it, however deep, replaced; only where rules come from stays."""
    if isinstance(value, Enum) or value is None:
        return value
    if isinstance(value, str):
        return text
    if is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in fields(value) if item.name != "source"]
        return replace(value, **{name: spoiled(getattr(value, name), text) for name in names})
    if isinstance(value, dict):
        return {key: spoiled(item, text) for key, item in value.items()}
    return type(value)(spoiled(item, text) for item in value) if isinstance(value, list | tuple) else value
