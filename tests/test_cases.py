"""Every case over real HTTP: what is surveyed, classified and judged, and what the findings say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from case_server import CAPABILITIES, CaseServer, case_server
from cases import Case, load_cases
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import ConfiguredCall, PlanRequest
from pytest_adcp.harness.rules import Judged, load
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Limits, Transcript
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.harness.wire import Connection
from pytest_adcp.suites import CORE

# The families that the cases are about. Others ask for complete payloads, which these are not.
FAMILIES = (
    "mcp.jsonrpc",
    "mcp.lifecycle",
    "mcp.tools",
    "mcp.result",
    "adcp.extraction",
    "adcp.errors",
    "adcp.envelope",
    "adcp.security",
)
# Only these files hold answers with the whole of an envelope; in the others it is left out for brevity.
ENVELOPED = ("contexts/", "envelopes/", "pagination/")
ON_ANSWERS = {Judged.RESULT, Judged.ANSWER, Judged.SUCCESS, Judged.ERROR, Judged.INTERIM}
# Tool definitions, which are shortened here, have cases of their own: see data/tools.yaml.
# So have the rules that MCP 2026-07-28 alone asks for.
MODERN = ("stateless", "modern_errors", "meta", "parameter_headers", "subscriptions")
RULES = {
    rule.id: rule
    for rule in load(CORE)
    if rule.family in FAMILIES
    and rule.judged is not Judged.PAGE
    and not rule.function.__module__.endswith(MODERN)
}
CASES = {case.id: case for case in load_cases()}


async def surveyed(server: CaseServer, sends: Mapping[str, Any], limits: Limits) -> Transcript:
    """Survey a server with one call of each of its tools; `sends` are arguments of the one under test."""
    arguments: dict[str, Mapping[str, Any]] = {CAPABILITIES: {}} | {server.tool: sends}
    calls = tuple(ConfiguredCall(tool, "case", sent) for tool, sent in arguments.items())
    plan = PlanRequest(
        auto=False, probes=False, allow_mutating=True, sandbox_account={"account_id": "sandbox"}, calls=calls
    )
    async with case_server(server) as url:
        surveyor = Surveyor(Order(Target.parse(url), Connection(), limits, plan))
        await surveyor.run()
    return surveyor.transcript()


def evidence_of(case: Case) -> Evidence:
    limits = Limits(survey_timeout=30.0, client_limit=case.limit or Limits().client_limit)
    transcript = anyio.run(surveyed, case.server, case.sends, limits)
    assert transcript.survey.complete
    assert transcript.survey.unusable is None
    return Evidence(transcript)


def findings(evidence: Evidence, case: Case, outcome: Outcome) -> list[Finding]:
    whole = case.id.startswith(ENVELOPED)
    rules = [rule for rule in RULES.values() if whole or rule.family != "adcp.envelope"]
    found = [judge(rule, entry) for rule in rules for entry in evidence.of(rule)]
    return [finding for finding in found if finding.outcome is outcome]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case: Case) -> None:
    evidence = evidence_of(case)
    failed, advisory = (findings(evidence, case, outcome) for outcome in (Outcome.FAILED, Outcome.ADVISORY))
    assert {finding.rule for finding in failed} == set(case.fails)
    assert {finding.rule for finding in advisory} == set(case.warns)
    assert classified(evidence, case) == case.classified
    place = f"{case.server.tool}/case" if case.server.method == "tools/call" else case.server.method
    for finding in failed + advisory:
        assert finding.subject.partition("@")[0] == place  # the server is all right but for the answer
        assert_can_be_read_aloud(finding)
    by_rule = {finding.rule: finding for finding in failed + advisory}
    for words in case.says:
        finding = by_rule[(*case.fails, *case.warns)[0]]
        assert words in f"{finding.message} ({finding.expected} {finding.received}) {finding.fix}"


def classified(evidence: Evidence, case: Case) -> str:
    """Return what the answer to the call was taken for; that of a RATE_LIMITED call is numbered."""
    subject = f"{case.server.tool}/case"
    answers = [entry for entry in evidence.answers if entry.label.partition("@")[0] == subject]
    kinds = {str(entry.kind) for entry in answers if isinstance(entry, Answer)}
    return kinds.pop() if len(kinds) == 1 else "nothing"


def assert_can_be_read_aloud(finding: Finding) -> None:
    assert finding.message != RULES[finding.rule].requirement
    assert 30 < len(finding.message) < 450
    assert 15 < len(finding.fix) < 450
    assert finding.expected
    assert finding.received
    assert finding.pointer is not None or finding.rule.startswith("mcp.")
    assert finding.source.startswith("https://")
    assert finding.curl.startswith("curl ")


def test_ids_are_unique() -> None:
    assert len(CASES) == len(list(load_cases()))


def test_every_kind_of_fault_has_a_twin_that_passes() -> None:
    kinds: dict[str, list[Case]] = {}
    for case in CASES.values():
        kinds.setdefault(case.kind, []).append(case)
    faulty = [cases for cases in kinds.values() if any(case.fails for case in cases)]
    assert all(any(not case.fails and not case.warns for case in cases) for cases in faulty)


def test_every_rule_on_answers_has_a_case() -> None:
    families = ("adcp.extraction", "adcp.errors", "adcp.envelope", "adcp.security", "mcp.result")
    wanted = {rule.id for rule in RULES.values() if rule.family in families and rule.judged in ON_ANSWERS}
    wanted -= {"adcp.extraction.expected-success", "adcp.errors.expected-error", "adcp.errors.expected-code"}
    wanted.discard("mcp.result.output-schema")  # needs jsonschema-rs: test_suites_output_schema.py
    assert wanted <= {rule for case in CASES.values() for rule in (*case.fails, *case.warns)}
