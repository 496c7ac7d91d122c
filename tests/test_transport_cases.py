"""Every case in tests/data/transport: a whole survey over real HTTP, with all that it tries, and every MCP rule."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_adcp.harness.transcript import Limits, Transcript
from pytest_adcp.harness.verdict import Finding, Outcome
from scripted import Call, Reply, scripted
from strict import strict
from surveys import judge_core, survey, with_outcome
from transport_cases import TransportCase, load_cases

CASES = {case.id: case for case in load_cases()}
LIMITS = Limits(request_timeout=4.0, survey_timeout=30.0)


def surveyed(case: TransportCase) -> Transcript:
    server = case.strict()
    with scripted(server.hook) as seller:
        return survey(seller.url, limits=LIMITS)


def of_mcp(findings: list[Finding], outcome: Outcome) -> dict[str, Finding]:
    found = [finding for finding in findings if finding.outcome is outcome]
    return {
        finding.rule.removeprefix("mcp."): finding for finding in found if finding.rule.startswith("mcp.")
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case: TransportCase) -> None:
    transcript = surveyed(case)
    findings = judge_core(transcript)
    failed, advisory = of_mcp(findings, Outcome.FAILED), of_mcp(findings, Outcome.ADVISORY)
    assert set(failed) == set(case.fails), failed
    assert set(advisory) == set(case.warns)
    unusable = transcript.survey.unusable
    assert (unusable.cause if unusable else "") == case.unusable
    for finding in (*failed.values(), *advisory.values()):
        assert 30 < len(finding.message) < 500
        assert finding.received
    if case.says:
        finding = (failed | advisory)[(*case.fails, *case.warns)[0]]
        for words in case.says:
            assert words in f"{finding.message} ({finding.expected} {finding.received}) {finding.fix}"


def test_ids_are_unique() -> None:
    assert len(CASES) == len(list(load_cases()))


def test_every_kind_has_a_fault_and_a_twin_that_passes() -> None:
    kinds: dict[str, list[TransportCase]] = {}
    for case in CASES.values():
        kinds.setdefault(case.kind, []).append(case)
    assert all(any(case.fails or case.warns or case.unusable for case in cases) for cases in kinds.values())
    assert all(any(not case.fails and not case.warns for case in cases) for cases in kinds.values())


def test_a_list_that_is_empty_before_the_handshake_ends_is_read_after_it() -> None:
    begun: list[str] = []

    def odd(call: Call, asked: str) -> Reply | None:
        begun.extend([asked] if asked == "notification" else [])
        return Reply(result={"tools": []}) if asked == "list" and not begun else None

    with strict(odd) as seller:
        transcript = survey(seller.url)
    assert not of_mcp(judge_core(transcript), Outcome.FAILED)
    assert {call.tool for call in transcript.survey.calls} == {"get_adcp_capabilities", "get_products"}


@pytest.mark.parametrize(
    "how",
    [{}, {"sessions": False}, {"versions": ["2025-03-26"]}, {"versions": ["2025-06-18"]}, {"get": "open"}],
)
def test_nothing_is_wrong_with_the_strict_server(how: dict[str, Any]) -> None:
    with strict(**how) as seller:
        findings = judge_core(survey(seller.url))
    bad = with_outcome(findings, Outcome.FAILED) | with_outcome(findings, Outcome.BLOCKED)
    assert not {rule for rule in bad if rule.startswith("mcp.")}
    assert not of_mcp(findings, Outcome.ADVISORY)
