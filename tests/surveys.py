"""Surveys a server in this process and judges every rule on what came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import AppRequest, ConfiguredCall, PlanRequest
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.schemas import Validators
from pytest_adcp.harness.standards import Standards
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.transcript import Limits, Transcript
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.harness.wire import Connection
from pytest_adcp.suites import CONNECTED_APPS, CORE

FAST = Limits(request_timeout=2.0, survey_timeout=20.0)


def survey(
    url: str,
    *,
    limits: Limits = FAST,
    calls: Sequence[ConfiguredCall] = (),
    credentials: Credentials | None = None,
    **request: Any,
) -> Transcript:
    """Survey a URL; further keywords are members of PlanRequest."""
    order = Order(
        Target.parse(url, credentials=credentials),
        Connection(),
        limits,
        PlanRequest(calls=tuple(calls), **request),
    )
    surveyor = Surveyor(order)
    anyio.run(surveyor.run)
    return surveyor.transcript()


def plain_survey(url: str, **how: Any) -> Transcript:
    """Survey a URL with the plain calls only, not those that try single behaviours."""
    return survey(url, probes=False, **how)


def judge_core(
    transcript: Transcript, schemas: Validators | None = None, *, production: bool = False
) -> list[Finding]:
    """Judge every rule of the core profile; payloads by AdCP's schemas too, where they are given."""
    evidence = Evidence(transcript, schemas=schemas, production=production)
    return [judge(rule, entry) for rule in load(CORE) for entry in evidence.of(rule)]


def survey_app(url: str, **how: Any) -> Transcript:
    """Survey a URL the way the connected-apps profile does."""
    return survey(url, **{"app": AppRequest(), **how})


def judge_app(transcript: Transcript, standards: Standards | None = None) -> list[Finding]:
    """Judge every rule of the connected-apps profile."""
    evidence = Evidence(transcript, standards=standards)
    return [judge(rule, entry) for rule in load(CONNECTED_APPS) for entry in evidence.of(rule)]


def with_outcome(findings: Sequence[Finding], outcome: Outcome) -> set[str]:
    """Return the ids of the rules that have an outcome anywhere."""
    return {finding.rule for finding in findings if finding.outcome is outcome}
