"""Whether a report is what a transcript gives: the transcript is judged again, and the two are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pytest_adcp.harness import __version__, conclusion, standards, values
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.judging import Found, evidence_of, judge_all, rules_of
from pytest_adcp.harness.release import RELEASES
from pytest_adcp.harness.rules import PACKAGED, Profile, Rule, load
from pytest_adcp.harness.schema_bundle import Bundle, BundleError, find_bundle
from pytest_adcp.harness.schemas import Validators
from pytest_adcp.harness.text import plural, safe
from pytest_adcp.harness.transcript import Transcript, file_digest
from pytest_adcp.harness.verdict import Finding

from . import build, model
from .differences import differences, is_of_client, known_failures
from .model import Report, Target
from .records import ReportError


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of judging a transcript again.

    Attributes:
        differences: what the report says otherwise, a line each; empty: the report is what the transcript gives.
        notes: what limits the comparison.
        summary: what was compared, in a line.
    """

    differences: tuple[str, ...]
    notes: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class _Terms:
    """How a report's run judged, as its settings say."""

    profiles: tuple[Profile, ...]
    tools: tuple[str, ...]
    spec: str | None
    production: bool
    strict: bool
    standards: standards.Standards
    oauth: str


def verify(
    report: Report, transcript: Path, *, schemas: Path | None = None, suites: Sequence[str] = ()
) -> Verification:
    """Judge a transcript with the settings of a report, and say what differs.

    Args:
        report: the report, of one target or of several.
        transcript: the file that one of its targets is said to come from.
        schemas: the folder of the AdCP schemas, where the report's own is not here.
        suites: the modules of further rules that the run had from other packages. They are imported, so they are named
            by whoever verifies, never by the report.

    Raises:
        ReportError: the report's settings cannot be used, or the schemas or rules that it was judged with are not here.
        TranscriptError: the file is no transcript.
    """
    recorded = Transcript.load(transcript)
    digest = file_digest(transcript)
    target, told = _target(report, digest)
    terms = _terms(report.settings, target)
    evidence = _evidence(recorded, terms, target, _bundle(report.settings, schemas))
    _check_suites(target, suites)
    rules, judged = _judge(evidence, terms, suites)
    part = conclusion.only_a_part(conclusion.of_survey(evidence, terms.tools))
    again, kept = _again(target, terms, evidence, rules, judged.findings, part)
    notes = [*_versions(report), *_left_out(target, kept)]
    if judged.broke:
        notes.append(f"{plural(judged.broke, 'rule')} broke in judging, which is a fault of this harness")
    apart = [*told, *differences(target, again), *_without_transcript(report, target, digest)]
    summary = (
        f"{target.verdict}, {plural(len(again.findings), 'finding')} judged again from "
        f"{safe(str(transcript))} (sha256 {digest[:12]})"
    )
    return Verification(tuple(apart), tuple(notes), summary)


# -- what the report says it was judged by ---------------------------------------------------------------------


def _target(report: Report, digest: str) -> tuple[Target, list[str]]:
    """Return the target that a transcript belongs to, and what the report says of its digest that is not so."""
    same = next(
        (each for each in report.targets if each.transcript and each.transcript.sha256 == digest), None
    )
    if same is not None:
        return same, []
    if len(report.targets) != 1:
        raise ReportError(
            f"none of the {plural(len(report.targets), 'target')} of the report names a transcript with sha256 {digest}"
        )
    (target,) = report.targets
    if target.transcript is None:
        return target, ["digest: the report names no transcript"]
    return target, [
        f"digest: the report names sha256 {safe(target.transcript.sha256)}, and the file has {digest}"
    ]


def _without_transcript(report: Report, target: Target, digest: str) -> Iterator[str]:
    """Yield the other targets that no transcript stands for: a survey has one target, and each has its own."""
    for other in report.targets:
        if other is target:
            continue
        name = f"{safe(other.name)} ({safe(other.url)})"
        if other.transcript is None:
            yield f"targets: {name} names no transcript"
        elif other.transcript.sha256 == digest:
            yield f"targets: {name} names the transcript of {safe(target.name)} ({safe(target.url)})"


def _terms(settings: Mapping[str, Any], target: Target) -> _Terms:
    """Return how the target was judged.

    Raises:
        ReportError: a setting is of no use here; the text names it.
    """
    profiles = tuple(
        _setting("profiles", lambda name=name: Profile(values.choice(name, list(Profile), "profile")))  # type: ignore[misc]
        for name in target.profiles
    )
    if set(profiles) <= {Profile.CLIENT}:
        raise ReportError("the report is about client libraries, of which a transcript shows nothing")
    apps = settings.get("connected_apps") or {}
    spec = settings.get("spec")
    oauth = apps.get("oauth") if isinstance(apps, Mapping) else None
    return _Terms(
        profiles=profiles,
        tools=_setting("tools", lambda: values.names(settings.get("tools") or [])),
        spec=_setting(
            "spec", lambda: values.choice(spec, RELEASES, "AdCP release") if spec is not None else None
        ),
        production=settings.get("production") is True,
        strict=settings.get("strict") is True,
        standards=_setting(
            "connected_apps", lambda: standards.changed(apps.get("limits") or {}, apps.get("words") or {})
        ),
        oauth=str(oauth) if oauth is not None else standards.packaged().oauth,
    )


Value = TypeVar("Value")


def _setting(name: str, read: Callable[[], Value]) -> Value:
    try:
        return read()
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ReportError(f"settings, {name}: {safe(str(error), 300)}") from None


def _bundle(settings: Mapping[str, Any], folder: Path | None) -> Bundle | None:
    """Return the schemas that are here: those of the folder given, of the report's, or of the `adcp` package."""
    named = settings.get("schemas")
    try:
        if folder is not None:
            return find_bundle(folder, shown_as=str(named or folder))
        if isinstance(named, str) and Path(named).is_dir():
            return find_bundle(Path(named), shown_as=named)
        return find_bundle(None)
    except BundleError as error:
        raise ReportError(safe(str(error), 400)) from None


def _evidence(transcript: Transcript, terms: _Terms, target: Target, bundle: Bundle | None) -> Evidence:
    """Return the transcript, read with the schemas that the report was judged with.

    Raises:
        ReportError: those are not here.
    """
    evidence = evidence_of(transcript, terms, Validators(bundle) if bundle else None)
    used = conclusion.schemas_used(evidence)
    if target.schemas is None:
        return evidence if used is None else evidence_of(transcript, terms, None)
    if used is None or used[1] != target.schemas.version:
        here = f"here are {used[0]}, {used[1]}" if used else "here are none"
        raise ReportError(
            f"the report was judged with the AdCP schemas {safe(target.schemas.version)} of "
            f"{safe(target.schemas.source)}, and {safe(here)}; pass --schemas DIR, or install that version"
        )
    return evidence


def _check_suites(target: Target, suites: Sequence[str]) -> None:
    """Make sure that the rules of other packages are here.

    Raises:
        ReportError: a suite cannot be loaded, or the report has findings of one that was not named.
    """
    known = set(PACKAGED)
    for module in suites:
        try:
            known |= {rule.id.partition(".")[0] for rule in load([module])}
        except Exception as error:  # whatever its import raises
            why = safe(f"{type(error).__name__}: {error}", 300)
            raise ReportError(f"the suite {safe(module)} cannot be loaded: {why}") from None
    others = sorted({one.rule for one in target.findings if one.rule.partition(".")[0] not in known})
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise ReportError(
            f"the report has findings of rules from another package, {safe(others[0])}{more}: name each of its modules "
            "with --suite MODULE, as its hook pytest_adcp_suites does"
        )


def _judge(evidence: Evidence, terms: _Terms, suites: Sequence[str]) -> tuple[Sequence[Rule], Found]:
    unusable = evidence.transcript.survey.unusable
    rules = rules_of(
        terms, lambda module: ".client." not in module, server=True, unusable=unusable, extra=suites
    )
    return rules, judge_all(evidence, rules, tools=terms.tools, strict=terms.strict)


# -- the same report once more ---------------------------------------------------------------------------------


def _again(
    target: Target,
    terms: _Terms,
    evidence: Evidence,
    rules: Sequence[Rule],
    found: Sequence[Finding],
    part: Sequence[str],
) -> tuple[Target, int]:
    """Return the target as this transcript gives it, and how many findings a partial run kept out of it."""
    findings = found
    if not target.selection.complete:
        # What -k, -x and the like left out cannot be told from here: what is in the report is compared.
        ran = {(finding.rule, finding.subject, finding.exchange) for finding in target.findings}
        findings = [one for one in found if (one.rule, safe(one.subject), one.exchange) in ran]
    concluded = conclusion.concluded(
        evidence,
        findings,
        tools=terms.tools,
        profiles=terms.profiles,
        narrowed=target.selection.how if not target.selection.complete else part,
    )
    facts = build.facts_of(
        evidence, rules, findings, concluded, profiles=terms.profiles, transcript=target.transcript
    )
    made = build.build([facts], settings={}, generated_at=datetime.now(UTC))
    # As it would be read back: a report on disk has lists, and no halves of surrogate pairs.
    return model.loads(model.dumps(made)).targets[0], len(found) - len(findings)


# -- what limits the comparison ----------------------------------------------------------------------------------


def _versions(report: Report) -> Iterator[str]:
    rules = report.harness.rules_version
    if rules != __version__:
        yield (
            f"the report is by the rules of pytest-adcp {safe(rules)}, and this is {__version__}: another version may "
            "judge otherwise"
        )


def _left_out(target: Target, kept: int) -> Iterator[str]:
    if kept:
        yield f"only a part was judged in the run: {plural(kept, 'finding')} of this transcript left out"
    if target.baseline is not None and (known := known_failures(target)):
        yield (
            f"{plural(known, 'failure')} known by the baseline {target.baseline.file}: a transcript shows that they are "
            "failures, not who accepts them"
        )
    client = sum(is_of_client(finding) for finding in target.findings)
    if client:
        yield f"{plural(client, 'finding')} about client libraries left out: a transcript does not show them"
