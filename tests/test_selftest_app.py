"""The connected-apps profile judged by its own faults: each breaks exactly the rules it says, and every rule has one."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.rules import Level, load
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import FOR_APPS, Answers, Eras, Release, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites import CONNECTED_APPS
from surveys import judge_app, survey_app, with_outcome

NOT_ON_LOOPBACK = {"connected-apps.https-443"}
FAULTS = [fault for fault in faults().values() if fault.is_for_apps]


@pytest.mark.parametrize("version", ["3.0", "3.1", "3.2"])
@pytest.mark.parametrize("answers", ["json", "sse"])
@pytest.mark.parametrize("era", ["handshake", "both"])
def test_clean_seller_passes_every_rule(era: str, answers: str, version: str) -> None:
    options = SellerOptions(eras=Eras(era), answers=Answers(answers), release=Release(version), **FOR_APPS)
    with running(options) as url:
        transcript = survey_app(url, allow_mutating=True, sandbox_account=DEMO_ACCOUNT)
    findings = judge_app(transcript)
    bad = [f for f in findings if f.outcome not in (Outcome.PASSED, Outcome.NOT_APPLICABLE)]
    assert not bad, bad
    assert transcript.survey.complete


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_breaks_exactly_its_rules(fault: Fault) -> None:
    with running(SellerOptions(fault=fault.name, **{**FOR_APPS, **fault.needs})) as url:
        transcript = survey_app(
            url,
            **fault.asks,
            calls=[ConfiguredCall(**call) for call in fault.calls],
            credentials=Credentials(bearer=fault.needs.get("bearer")),
            allow_mutating=fault.mutating,
            sandbox_account=DEMO_ACCOUNT,
        )
    findings = judge_app(transcript)
    assert with_outcome(findings, Outcome.FAILED) == fault.fails
    assert with_outcome(findings, Outcome.ADVISORY) == fault.advises
    assert bool(with_outcome(findings, Outcome.BLOCKED)) <= fault.blocks


@pytest.mark.parametrize("level", Level)
def test_every_rule_has_a_fault(level: Level) -> None:
    broken: set[Any] = set()
    for fault in FAULTS:
        broken |= fault.fails if level is Level.MUST else fault.advises
    assert {rule.id for rule in load(CONNECTED_APPS) if rule.level is level} <= broken | NOT_ON_LOOPBACK


def test_faults_break_rules_that_exist() -> None:
    assert {rule for fault in FAULTS for rule in fault.fails | fault.advises} <= {
        rule.id for rule in load(CONNECTED_APPS)
    }
