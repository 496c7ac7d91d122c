"""The harness judged by its own faults: each breaks exactly the rules it says, and every rule has one that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from bundle import validators
from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.interop.process import why_not
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.rules import Level, load
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import Answers, Eras, Release, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites import CORE
from surveys import judge_core, survey, with_outcome


@pytest.mark.parametrize("version", ["3.0", "3.1", "3.2"])
@pytest.mark.parametrize("sessions", [True, False], ids=["sessions", "no-sessions"])
@pytest.mark.parametrize("answers", ["json", "sse"])
@pytest.mark.parametrize("era", ["handshake", "stateless", "both"])
def test_clean_seller_passes_every_rule(era: str, answers: str, sessions: bool, version: str) -> None:
    options = SellerOptions(
        eras=Eras(era), answers=Answers(answers), sessions=sessions, release=Release(version)
    )
    with running(options) as url:
        transcript = survey(url, allow_mutating=True, sandbox_account=DEMO_ACCOUNT)
    findings = judge_core(transcript, validators())
    bad = [f for f in findings if f.outcome not in (Outcome.PASSED, Outcome.NOT_APPLICABLE)]
    assert not bad, bad
    assert transcript.survey.complete
    assert {"passed"} <= {str(finding.outcome) for finding in findings}


CORE_FAULTS = [fault for fault in faults().values() if not fault.is_for_apps]


@pytest.mark.parametrize("fault", CORE_FAULTS, ids=lambda fault: fault.name)
def test_fault_breaks_exactly_its_rules(fault: Fault) -> None:
    if fault.engine:
        pytest.importorskip("jsonschema_rs")
    if fault.interop and why_not():
        pytest.skip(why_not())
    with running(SellerOptions(fault=fault.name, **fault.needs)) as url:
        calls = [_configured(call) for call in fault.calls]
        mutating = fault.mutating or any(catalogue()[call.tool].mutating for call in calls)
        transcript = survey(
            url,
            calls=calls,
            credentials=Credentials(bearer=fault.needs.get("bearer")),
            allow_mutating=mutating,
            sandbox_account=DEMO_ACCOUNT,
            interop=fault.interop,
        )
    schemas = validators()
    findings = judge_core(transcript, schemas, production=fault.production)
    assert with_outcome(findings, Outcome.FAILED) == fault.fails | (fault.fails_schema if schemas else set())
    assert with_outcome(findings, Outcome.ADVISORY) == fault.advises
    if schemas is not None:
        plain = judge_core(transcript, production=fault.production)
        assert with_outcome(plain, Outcome.FAILED) == fault.fails
    blocked = with_outcome(findings, Outcome.BLOCKED) or transcript.survey.unusable
    assert bool(blocked) or not fault.blocks
    if not (fault.fails or fault.blocks):
        assert not blocked, blocked


def _configured(call: dict[str, Any]) -> ConfiguredCall:
    return ConfiguredCall(
        tool=call["tool"],
        name=call["name"],
        arguments=call.get("arguments", {}),
        expect=Expect(call.get("expect", "any")),
        error_codes=tuple(call.get("error_codes", ())),
    )


@pytest.mark.parametrize("level", Level)
def test_every_rule_has_a_fault(level: Level) -> None:
    broken = {
        rule
        for fault in CORE_FAULTS
        for rule in (fault.fails | fault.fails_schema if level is Level.MUST else fault.advises)
    }
    rules = {rule.id for rule in load(CORE) if rule.level is level}
    assert rules <= broken
    assert {rule for fault in CORE_FAULTS for rule in fault.fails | fault.fails_schema | fault.advises} <= {
        r.id for r in load(CORE)
    }
