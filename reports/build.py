"""From what a run found to its report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from pytest_adcp.harness import __version__, conclusion
from pytest_adcp.harness.calls import Expect, PlannedCall, Purpose
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.conclusion import Conclusion
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.extraction import Path
from pytest_adcp.harness.rules import Profile, Rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.subjects import Answer, Entry, Gap
from pytest_adcp.harness.text import safe
from pytest_adcp.harness.transcript import Era, Exchange, Kind, Limits, Survey, Transcript
from pytest_adcp.harness.verdict import Finding, Judgement, count
from pytest_adcp.suites.connected_apps.checklist import checklist

from .json_text import json_text
from .model import (
    Baseline,
    Call,
    ChecklistItem,
    Diagnosis,
    Harness,
    NotChecked,
    Report,
    ReportedFinding,
    Schemas,
    Selected,
    Server,
    SurveyCost,
    Target,
    TranscriptFile,
)
from .observations import observe

_LONG = 600  # characters of a sentence; a name gets 200
_NO_SURVEY = Transcript(Survey(__version__, "", "", url="", name="", limits=Limits()), ())
_EXPECTED = {Purpose.GOOD: Expect.SUCCESS, Purpose.BAD: Expect.ERROR}


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """All that the report of one target is made of.

    Attributes:
        evidence: what was recorded; None where no server was asked for (client profile alone).
        rules: the rules that were selected, in the order of the report.
        findings: what they gave, in any order.
        judgement: the verdict and its reasons.
        profiles: names of the profiles judged.
        schemas: None where there were none to check payloads with.
        transcript: None where it was not kept.
        selection: what kept rules from running (`-k`, `--lf` ...); empty: all ran.
        not_checked: what was left out beside the calls that the plan left out, which the evidence knows.
        checklist: what a person has to look at.
        library: the client library that was judged, where no server was.
        baseline: what became of the baseline; None where the run was told none.
    """

    evidence: Evidence | None
    rules: Sequence[Rule]
    findings: Sequence[Finding]
    judgement: Judgement
    profiles: Sequence[str]
    schemas: Schemas | None = None
    transcript: TranscriptFile | None = None
    selection: Sequence[str] = ()
    not_checked: Sequence[NotChecked] = ()
    checklist: Sequence[ChecklistItem] = ()
    library: Server | None = None
    baseline: Baseline | None = None


def facts_of(
    evidence: Evidence | None,
    rules: Sequence[Rule],
    findings: Sequence[Finding],
    concluded: Conclusion,
    *,
    profiles: Collection[Profile],
    transcript: TranscriptFile | None,
    library: Server | None = None,
    baseline: Baseline | None = None,
) -> TargetFacts:
    """Return what a report says of a target, from what was judged and what it came to."""
    used = conclusion.schemas_used(evidence)
    for_apps = Profile.CONNECTED_APPS in profiles
    return TargetFacts(
        evidence=evidence,
        rules=rules,
        findings=findings,
        judgement=concluded.judgement,
        profiles=[str(profile) for profile in profiles],
        schemas=Schemas(*used) if used else None,
        transcript=transcript,
        selection=concluded.narrowed,
        not_checked=[NotChecked(*left) for left in conclusion.not_checked(evidence)],
        checklist=[ChecklistItem(*item) for item in checklist()] if for_apps else [],
        library=library,
        baseline=baseline,
    )


def build(
    targets: Sequence[TargetFacts],
    *,
    settings: Mapping[str, Any],
    generated_at: datetime,
    rules_version: str = __version__,
) -> Report:
    """Return the report of a run.

    Args:
        targets: what was found, target by target.
        settings: the run's settings without any secret; what is no JSON value becomes text.
        generated_at: now, with its time zone.
        rules_version: version of the rule set.
    """
    return Report(
        harness=Harness("pytest-adcp", __version__, rules_version),
        generated_at=generated_at.astimezone(UTC).isoformat(timespec="seconds"),
        settings=json.loads(json_text(settings)),
        targets=tuple(_target(facts) for facts in targets),
    )


def _target(facts: TargetFacts) -> Target:
    evidence = facts.evidence or Evidence(_NO_SURVEY)
    survey = evidence.transcript.survey
    exchanges = evidence.transcript.exchanges
    server = evidence.server
    kinds: Counter[str] = Counter()
    for exchange in exchanges:
        kinds[str(exchange.kind)] += 1 + len(exchange.redirects)
    calls = tuple(_calls(evidence))
    # What keeps a verdict back comes first: a summary cuts a long list.
    not_called = sorted(survey.not_called, key=lambda item: not item.blocked)
    left_out = (*(NotChecked(item.item, item.why) for item in not_called), *facts.not_checked)
    return Target(
        url=safe(survey.url, _LONG),
        name=safe(facts.library.name if facts.library else survey.name),
        server=facts.library
        or Server(
            name=safe(server.name),
            version=safe(server.version),
            protocol_version=_revision(evidence),
        ),
        adcp_version=server.release,
        schemas=facts.schemas,
        profiles=tuple(facts.profiles),
        verdict=facts.judgement.verdict,
        reasons=tuple(safe(reason, _LONG) for reason in facts.judgement.reasons),
        counts=count(facts.findings),
        transcript=facts.transcript,
        survey=SurveyCost(
            requests=sum(kinds.values()),
            requests_by_kind=dict(kinds.most_common()),
            retries=evidence.transcript.retries,
            seconds=round(survey.seconds, 3),
            longest_chain_seconds=round(survey.longest_chain, 3),
        ),
        diagnosis=_diagnosis(survey),
        findings=tuple(_findings(facts.findings, facts.rules)),
        not_checked=tuple(
            dict.fromkeys(NotChecked(safe(item.item, _LONG), safe(item.why, _LONG)) for item in left_out)
        ),
        calls=calls,
        observations=tuple(observe(evidence)),
        checklist=tuple(_measured(item, calls) for item in facts.checklist),
        selection=Selected(not facts.selection, tuple(safe(how) for how in facts.selection)),
        complete=survey.complete and survey.unusable is None,
        baseline=facts.baseline,
    )


def _measured(item: ChecklistItem, calls: Sequence[Call]) -> ChecklistItem:
    """Put into an item of the checklist what the run can say of it: the slowest call and the largest answer."""
    if item.id != "connected-apps.backend-aggregation" or not calls:
        return item
    slow, large = max(calls, key=lambda call: call.seconds), max(calls, key=lambda call: call.bytes)
    numbers = (
        f"In this run the slowest call was {slow.subject} with {slow.seconds:.3f} s, and the largest answer that of "
        f"{large.subject} with {large.bytes:,} bytes."
    )
    return replace(item, text=f"{item.text} {numbers}")


def _diagnosis(survey: Survey) -> Diagnosis | None:
    found = survey.unusable
    if found is None:
        return None
    return Diagnosis(safe(found.cause), safe(found.message, _LONG), safe(found.cure, _LONG))


def _revision(evidence: Evidence) -> str | None:
    if evidence.server.era is Era.STATELESS:
        return STATELESS_REVISION
    revision = evidence.server.revision
    return safe(revision, 40) if revision is not None else None


def _findings(findings: Sequence[Finding], rules: Sequence[Rule]) -> Iterator[ReportedFinding]:
    place = {rule.id: index for index, rule in enumerate(rules)}
    strength = {rule.id: rule.level for rule in rules}

    def order(finding: Finding) -> tuple[int, str, str, int, str]:
        exchange = -1 if finding.exchange is None else finding.exchange
        return place.get(finding.rule, len(place)), finding.rule, finding.subject, exchange, finding.message

    for finding in sorted(findings, key=order):
        members = {item.name: getattr(finding, item.name) for item in fields(Finding)}
        members["subject"] = safe(finding.subject)
        yield ReportedFinding(**members, strength=strength.get(finding.rule, finding.level))


def _calls(evidence: Evidence) -> Iterator[Call]:
    planned = {call.subject: call for call in evidence.transcript.survey.calls}
    # Of a last try that asks for patience there are a gap and an answer: the answer says more.
    entries: dict[int, Entry] = {}
    for entry in evidence.answers:
        if entry.exchange is not None and not isinstance(entries.get(entry.exchange.index), Answer):
            entries[entry.exchange.index] = entry
    for exchange in evidence.transcript.exchanges:
        call = planned.get(exchange.subject)
        if call is not None and exchange.kind in (Kind.CALL, Kind.POLL) and not exchange.retried:
            yield _call(call, exchange, entries.get(exchange.index))


def _call(call: PlannedCall, exchange: Exchange, entry: Entry | None) -> Call:
    classified = path = level = None
    why = ""
    if isinstance(entry, Answer):
        classified = str(entry.kind)
        path = str(entry.failure.path if entry.kind is Class.ERROR else entry.extraction.path)
        level = error_level(entry) if entry.kind is Class.ERROR else None
    elif isinstance(entry, Gap):
        classified = None if entry.blocked else str(Class.UNSUPPORTED)
        why = entry.why
    else:
        why = "no task of AdCP: only MCP rules are tried on it"
    return Call(
        subject=safe(call.subject),
        tool=safe(call.tool),
        purpose=call.purpose,
        expect=_EXPECTED.get(call.purpose, call.expect),
        classified=classified,
        path=path,
        error_level=level,
        seconds=round(exchange.seconds if exchange.answered is None else exchange.answered, 3),
        bytes=len(exchange.response.body) if exchange.response else 0,
        exchange=exchange.index,
        tries=exchange.attempt,
        why=safe(why, _LONG),
    )


def error_level(answer: Answer) -> str:
    """Return how well an error says that it is one: none, flag, text or structured."""
    if answer.failure.error is not None:
        return "text" if answer.failure.path is Path.TEXT_FALLBACK else "structured"
    return "flag" if answer.is_flagged or "error" in answer.message else "none"
