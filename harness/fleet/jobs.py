"""What the processes of a fleet do: survey one target, or judge one transcript."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from pytest_adcp.harness import conclusion, judging
from pytest_adcp.harness.alarms import Alarms, AlarmSettings
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.rules import Level, Rule
from pytest_adcp.harness.schema_bundle import find_bundle
from pytest_adcp.harness.schemas import Validators
from pytest_adcp.harness.settings import Settings
from pytest_adcp.harness.survey import Surveyor
from pytest_adcp.harness.text import one_line, safe
from pytest_adcp.harness.transcript import Transcript, file_digest
from pytest_adcp.harness.verdict import Finding, Outcome, count
from pytest_adcp.reports import build, fleet, model, outputs
from pytest_adcp.reports.alarms import problem, wrong_entries

TRANSCRIPT = "transcript.jsonl"
REPORT = "report.json"
_RULES_TOLD = 20  # of a family
_SUBJECTS_TOLD = 3  # of a rule
_ENTRIES_TOLD = 20  # of a baseline, that are stale or expired


@dataclass(frozen=True, slots=True)
class SurveyJob:
    """Survey a target within `seconds`, and save what was recorded in its folder."""

    settings: Settings
    seconds: float

    def run(self) -> dict[str, Any]:
        """Do it; the answer says nothing, since all there is to know is in the file."""
        settings, target = self.settings, self.settings.target
        assert target is not None
        timeout = min(settings.limits.survey_timeout, self.seconds)
        settings = replace(settings, limits=replace(settings.limits, survey_timeout=timeout))
        surveyor = Surveyor(judging.order_of(settings, target))
        anyio.run(surveyor.run)
        settings.report_dir.mkdir(parents=True, exist_ok=True)
        surveyor.transcript().save(settings.report_dir / TRANSCRIPT)
        return {}


@dataclass(frozen=True, slots=True)
class JudgeJob:
    """Judge a saved transcript and write the target's report.

    Attributes:
        name: of the target.
        transcript: the file.
        baseline: what is known of this target.
        modules: the suites that were selected, as dotted prefixes; none: all of them.
        extra: the modules of further rules.
    """

    name: str
    settings: Settings
    transcript: Path
    baseline: Path | None = None
    modules: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def run(self) -> dict[str, Any]:
        """Do it; the answer is a fleet.TargetResult as plain JSON."""
        transcript = Transcript.load(self.transcript)
        evidence = judging.evidence_of(transcript, self.settings, _schemas(self.settings.schemas))
        rules = judging.rules_of(
            self.settings,
            self._takes,
            server=True,
            unusable=transcript.survey.unusable,
            extra=self.extra,
        )
        alarms = Alarms(AlarmSettings(self.baseline), self.extra)
        alarms.read(self.name, self.settings.target.url if self.settings.target else "")
        settings = self.settings
        judged = judging.judge_all(
            evidence, rules, tools=settings.tools, strict=settings.strict, excused=alarms.excused
        )
        report, code = self._conclude(evidence, rules, judged, alarms)
        file = self.settings.report_dir / REPORT
        model.save(report, file)
        # The step summary of a CI job is the fleet's, not each target's.
        outputs.write_outputs(report, file.parent, transcript=transcript, environment={})
        (target,) = report.targets
        found = fleet.TargetResult(
            name=self.name,
            url=target.url,
            verdict=target.verdict,
            exit_code=code,
            reached=transcript.survey.unusable is None,
            reasons=target.reasons,
            problem=target.diagnosis.message if target.diagnosis else "",
            cure=target.diagnosis.cure if target.diagnosis else "",
            server=target.server,
            adcp_version=target.adcp_version,
            counts=target.counts,
            families=tuple(_families(rules, judged)),
            requests=target.survey.requests,
            seconds=target.survey.seconds,
            report=fleet.ReportFile(f"{self.settings.report_dir.name}/{REPORT}", file_digest(file)),
            alarm=target.alarm,
            stale=tuple(_stale(target.baseline)),
        )
        if not self.settings.keep_transcript:
            self.transcript.unlink()
        return fleet.plain(found)

    def _takes(self, module: str) -> bool:
        return not self.modules or any(
            module == name or module.startswith(f"{name}.") for name in self.modules
        )

    def _conclude(
        self,
        evidence: Evidence,
        rules: Sequence[Rule],
        judged: judging.Found,
        alarms: Alarms,
    ) -> tuple[model.Report, int]:
        settings = self.settings
        partial = conclusion.only_a_part(
            [*(["a path"] if self.modules else []), *conclusion.of_survey(evidence, settings.tools)]
        )
        concluded = conclusion.concluded(
            evidence, judged.findings, tools=settings.tools, profiles=settings.profiles, narrowed=partial
        )
        survey = evidence.transcript.survey
        alarms.conclude(
            judged.findings,
            whole=not partial and survey.complete,
            usable=survey.unusable is None and not judged.broke,
            left_out=conclusion.left_out(evidence),
        )
        facts = build.facts_of(
            evidence,
            rules,
            judged.findings,
            concluded,
            profiles=settings.profiles,
            transcript=model.TranscriptFile(TRANSCRIPT, file_digest(self.transcript))
            if settings.keep_transcript
            else None,
            baseline=alarms.baseline(rules),
        )
        report = alarms.completed(
            build.build([facts], settings=settings.public(), generated_at=datetime.now(UTC))
        )
        (target,) = report.targets
        alarm = target.alarm.fails if target.alarm is not None else None
        return report, int(concluded.exit_code(faults=judged.broke, alarm=alarm))


def _stale(baseline: model.Baseline | None) -> Iterator[str]:
    wrong = wrong_entries(baseline)
    for entry in wrong[:_ENTRIES_TOLD]:
        assert baseline is not None
        yield problem(baseline, entry)
    if len(wrong) > _ENTRIES_TOLD:
        yield f"and {len(wrong) - _ENTRIES_TOLD} more entries, in report.json"


def _families(rules: Sequence[Rule], judged: judging.Found) -> list[fleet.FamilyResult]:
    family_of = {rule.id: rule.family for rule in rules}
    found: dict[str, list[Finding]] = {family: [] for family in family_of.values()}
    for finding in judged.findings:
        found[family_of[finding.rule]].append(finding)
    return [_family(family, found[family], judged.faults.get(family, ())) for family in found]


def _family(family: str, findings: Sequence[Finding], faults: Sequence[str]) -> fleet.FamilyResult:
    outcomes = [*([fleet.FAULT] if faults else []), *(str(finding.outcome) for finding in findings)]
    outcome = min(outcomes, key=fleet.severity, default=str(Outcome.NOT_APPLICABLE))
    told = [finding for finding in findings if finding.outcome == outcome]
    lines = [*faults[:_RULES_TOLD], *_by_rule(told)]
    return fleet.FamilyResult(
        family=family,
        outcome=outcome,
        counts={name: number for name, number in count(findings).items() if number},
        message="" if outcome == Outcome.PASSED else "\n".join(lines),
        must=any(finding.level is Level.MUST for finding in told),
    )


def _by_rule(findings: Sequence[Finding]) -> list[str]:
    """Return a line a rule: what it says, on what, and how to mend it."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    lines = []
    for rule, group in list(by_rule.items())[:_RULES_TOLD]:
        subjects = list(dict.fromkeys(finding.subject for finding in group if finding.subject != "-"))
        rest = len(subjects) - _SUBJECTS_TOLD
        on = f" on {', '.join(subjects[:_SUBJECTS_TOLD])}" if subjects else ""
        more = f" +{rest} more" if rest > 0 else ""
        first = group[0]
        fix = f" [fix: {one_line(first.fix, 200)}]" if first.fix else ""
        lines.append(f"{rule} ({first.level}){on}{more}: {one_line(first.message, 240)}{fix}")
    if len(by_rule) > _RULES_TOLD:
        lines.append(f"and {len(by_rule) - _RULES_TOLD} more rules, in report.json")
    return lines


@cache
def _schemas(folder: Path | None) -> Validators | None:
    """Return what judges payloads; once a process, since to read and compile schemas takes longer than to judge."""
    bundle = find_bundle(folder)
    return Validators(bundle) if bundle else None


def answer(job: SurveyJob | JudgeJob) -> dict[str, Any]:
    """Do a job and return its answer, or what kept it from being done: `memory`, or `fault` with where it broke."""
    started = time.perf_counter()
    try:
        done: dict[str, Any] = {"done": job.run()}
    except BaseException as error:
        if _is_memory(error):
            return {"memory": True}
        clean = Redactor(job.settings.secrets()).text
        told = "".join(traceback.format_exception(error))[-4000:]
        return {"fault": [safe(clean(line), 300) for line in told.splitlines()[-12:]]}
    return done | {"seconds": time.perf_counter() - started}


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_memory, error.exceptions))
    return isinstance(error, MemoryError)
