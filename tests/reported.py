"""Reports of small surveys: what the tests of the reports share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from evidence import Http, surveyed
from pytest_adcp.harness import text
from pytest_adcp.harness.calls import NotCalled
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import Broken, Judged, Level, NotApplicable, Rule
from pytest_adcp.harness.transcript import Diagnosis, Transcript
from pytest_adcp.harness.verdict import Finding, conclude, judge
from pytest_adcp.reports.build import TargetFacts, build
from pytest_adcp.reports.model import Report

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u2066\ud800\x00\x9b31m\r\n<script>&amp;`|"
SUCCESS = {"content": [], "structuredContent": {"products": []}}
ERROR = {
    "isError": True,
    "content": [],
    "structuredContent": {"adcp_error": {"code": "UNSUPPORTED", "message": "no", "recovery": "terminal"}},
}


def no_products(success: Any) -> None:
    if success.payload.get("products") != []:
        raise Broken("no product", text.quote(success.payload), at="/result", because="there are products")


def no_message(error: Any) -> None:
    raise NotApplicable("nobody asks for a message")


def answered_in_time(answer: Any) -> None:
    if answer.exchange.seconds > 1:
        raise Broken("one second", f"{answer.exchange.seconds} s")


RULES = (
    Rule("z.first", Level.MUST, Judged.SUCCESS, "https://spec.test/a", "no product", "sell out", no_products),
    Rule("b.second", Level.SHOULD, Judged.ANSWER, "https://spec.test/b", "fast", "be fast", answered_in_time),
    Rule("a.third", Level.MUST, Judged.ERROR, "https://spec.test/c", "a message", "say it", no_message),
)


def judged(evidence: Evidence, rules: Sequence[Rule] = RULES) -> list[Finding]:
    return [judge(rule, entry) for rule in rules for entry in evidence.of(rule)]


def facts(evidence: Evidence, **more: Any) -> TargetFacts:
    findings = judged(evidence)
    judgement = conclude(findings, gaps=more.pop("gaps", []))
    given: dict[str, Any] = {
        "findings": findings,
        "judgement": judgement,
        "profiles": ["core"],
        "rules": RULES,
    } | more
    return TargetFacts(evidence, **given)


def report_of(*targets: TargetFacts, settings: Mapping[str, Any] | None = None) -> Report:
    return build(targets, settings=settings or {}, generated_at=NOW)


def report(evidence: Evidence, **more: Any) -> Report:
    return report_of(facts(evidence, **more))


def with_survey(evidence: Evidence, **members: Any) -> Evidence:
    transcript = evidence.transcript
    return Evidence(replace(transcript, survey=replace(transcript.survey, **members)), spec="3.1")


def with_calls(evidence: Evidence, *changes: Mapping[str, Any]) -> Evidence:
    """Return the evidence with copies of its last exchange, changed: the calls of a longer survey."""
    transcript = evidence.transcript
    last = transcript.exchanges[-1]
    more = [replace(last, index=last.index + n, **change) for n, change in enumerate(changes, start=1)]
    return Evidence(replace(transcript, exchanges=(*transcript.exchanges, *more)), spec="3.1")


def unusable() -> Evidence:
    survey = replace(
        surveyed().transcript.survey,
        unusable=Diagnosis("refused", "nothing listens at seller.test", "start the server"),
        complete=False,
    )
    return Evidence(Transcript(survey, ()))


def hostile_server() -> Evidence:
    tool = {"name": HOSTILE, "inputSchema": {"type": "object"}}
    info = {"name": HOSTILE + "x" * 1_000_000, "version": HOSTILE}
    hello = {"protocolVersion": HOSTILE, "capabilities": {}, "serverInfo": info}
    structured = {"products": HOSTILE, HOSTILE: "y" * 1_000_000}
    body = {"jsonrpc": "2.0", "id": "call-7", "result": {"structuredContent": structured}}
    evidence = surveyed(
        Http(body), initialize=Http({"jsonrpc": "2.0", "id": "init-1", "result": hello}), tools=[tool]
    )
    evil = NotCalled(HOSTILE, HOSTILE)
    return with_survey(evidence, url=f"http://seller.test/{HOSTILE}", name=HOSTILE, not_called=(evil, evil))
