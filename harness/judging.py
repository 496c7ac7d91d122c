"""What a run's settings make of a target: what is asked of it, and which rules are tried on what. No pytest here."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from pytest_adcp import suites

from . import conclusion
from .diagnosis import LEGACY, NO_LEGACY
from .evidence import Evidence
from .plan import PlanRequest
from .rules import Profile, Rule, load
from .schemas import Validators
from .standards import Standards
from .subjects import Entry, Gap
from .survey import Order
from .target import Target
from .tasks import CAPABILITIES
from .text import safe
from .tls import ssl_context
from .transcript import Diagnosis, Kind, Transcript
from .verdict import Finding, judge
from .wire import Connection

if TYPE_CHECKING:
    from .settings import Settings


class Terms(Protocol):
    """How a transcript is judged: what `Settings` says of it, and what a saved report says of its own run."""

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Whose rules."""

    @property
    def spec(self) -> str | None:
        """The AdCP release to judge against, whatever the server says."""

    @property
    def production(self) -> bool:
        """Whether the server is a production one."""

    @property
    def standards(self) -> Standards:
        """Limits and word lists of the connected-apps profile."""

    @property
    def oauth(self) -> str:
        """The version of OAuth that the operator declares to the platform."""


def order_of(settings: Settings, target: Target) -> Order:
    """Return what a survey of a target is to do."""
    shaping = {
        "demo": settings.demo,
        "credentials": [str(kind) for kind in target.credentials.kinds],
        "allow_mutating": settings.mutating,
        "tools": list(settings.tools),
        "auto": settings.auto,
        "probes": settings.probes,
        "connected_apps": settings.app is not None,
        "interop": settings.interop,
        "quick": settings.quick,
    }
    request = PlanRequest(
        auto=settings.auto,
        probes=settings.probes,
        interop=settings.interop,
        allow_mutating=settings.mutating,
        tools=settings.tools,
        account=settings.account,
        sandbox_account=settings.sandbox_account,
        calls=settings.calls,
        quick=settings.quick,
        app=settings.app,
    )
    tls = (
        ssl_context(settings.ca_file, settings.client_cert)
        if settings.ca_file or settings.client_cert
        else None
    )
    return Order(
        target,
        Connection(tls, settings.proxy, identified=settings.client_cert is not None),
        settings.limits,
        request,
        shaping,
        only_plan=settings.plan_only,
        secrets=settings.secrets(),
    )


def evidence_of(transcript: Transcript, settings: Terms, schemas: Validators | None) -> Evidence:
    """Read a transcript the way the settings ask for."""
    return Evidence(
        transcript,
        spec=settings.spec,
        schemas=schemas,
        production=settings.production,
        standards=replace(settings.standards, oauth=settings.oauth),
    )


def rules_of(
    settings: Terms,
    takes: Callable[[str], bool],
    *,
    server: bool,
    unusable: Diagnosis | None,
    extra: Sequence[str] = (),
) -> list[Rule]:
    """Return the rules to try; one stands for all where the target could not be surveyed.

    Args:
        takes: whether a module was selected, by its dotted name.
        server: whether there is a transcript to judge.
        unusable: why the target could not be surveyed, where it could not.
        extra: modules of further rules, which other packages bring; they belong to the core profile.
    """
    modules: list[str] = []
    if server and unusable is None:
        modules += (*suites.CORE, *extra) if Profile.CORE in settings.profiles else ()
        modules += suites.CONNECTED_APPS if Profile.CONNECTED_APPS in settings.profiles else ()
    if Profile.CLIENT in settings.profiles:
        modules += suites.CLIENT
    rules = load(module for module in modules if takes(module))
    if unusable is None or unusable.cause != LEGACY or Profile.CONNECTED_APPS not in settings.profiles:
        return list(rules)
    # Of a target that could not be surveyed one rule says why not: that it speaks the old transport alone.
    return [*rules, *(rule for rule in load(suites.CONNECTED_APPS) if rule.id == NO_LEGACY)]


def entries_of(evidence: Evidence, rule: Rule, tools: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return what a rule is tried on, where only the tools that the globs take are judged."""
    entries = evidence.of(rule)
    if not tools:
        return entries
    kept = tuple(entry for entry in entries if _wanted(entry, tools))
    return kept or (Gap("-", "--adcp-tool leaves no call to judge", blocked=False),)


@dataclass(frozen=True, slots=True)
class Found:
    """What all rules found.

    Attributes:
        findings: in the order of the rules.
        faults: by family, a line for each rule that broke instead of judging, which is a fault of the harness.
    """

    findings: Sequence[Finding]
    faults: Mapping[str, Sequence[str]]

    @property
    def broke(self) -> int:
        """How many times a rule broke."""
        return sum(map(len, self.faults.values()))


def judge_all(
    evidence: Evidence,
    rules: Sequence[Rule],
    *,
    tools: tuple[str, ...],
    strict: bool,
    excused: Callable[[Rule, Finding], Finding] = lambda _, finding: finding,
) -> Found:
    """Try all rules on all that they are about.

    Args:
        evidence: the transcript, read.
        rules: those to try.
        tools: globs of the tools to judge; none: all of them.
        strict: whether a broken SHOULD fails too.
        excused: what the baseline makes of a finding.
    """
    findings: list[Finding] = []
    faults: dict[str, list[str]] = {}
    for rule in rules:
        for entry in entries_of(evidence, rule, tools):
            try:
                findings.append(excused(rule, judge(rule, entry, strict=strict)))
            except Exception:
                # Not the target's fault. What a rule was tried on is foreign: its text is not repeated.
                where = traceback.format_exc(limit=-1).splitlines()[1].strip()
                line = f"HARNESS FAULT {rule.id} on {safe(entry.label)}: {safe(where)}"
                faults.setdefault(rule.family, []).append(line)
    return Found(findings, faults)


def _wanted(entry: Entry, tools: tuple[str, ...]) -> bool:
    exchange = entry.exchange
    if exchange is None or exchange.kind not in (Kind.CALL, Kind.POLL):
        return True
    tool = exchange.subject.partition("/")[0]
    return tool == CAPABILITIES or conclusion.wanted(tools, tool)
