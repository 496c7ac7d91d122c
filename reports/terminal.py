"""The terminal summary: what failed, what it means and what to change, rule by rule."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import one_line, plural, safe
from pytest_adcp.harness.verdict import Outcome, Verdict, stable_subject

from .alarms import sentence, told
from .compare import Since, since
from .model import ChecklistItem, NotChecked, Observation, Report, ReportedFinding, SurveyCost, Target
from .observations import SERVER_LOG, server_log

Line = tuple[str, dict[str, bool]]
"""A line and how pytest's TerminalReporter.write_line is to mark it."""

Which = Callable[[ReportedFinding], Since | None]
"""What says of a finding what it is beside the earlier report (compare.since)."""

_COLOURS = {Verdict.CONFORMANT: "green", Verdict.NONCONFORMANT: "red", Verdict.INCONCLUSIVE: "yellow"}
_SHOWN = 3  # of subjects, messages, rules, items: the rest is counted
_GROUPS = 8  # of things not checked and not blocked, observations
_LOG_LINES = 10  # of a server's log
_BRIEF = 240  # characters of an advisory's message and of its fix
_PARAGRAPH = 2000  # characters of any text: a report may be a foreign file
_COMMAND = 10_000  # characters of a line that is not wrapped
_NARROWEST = 40
_INDENT = "  "


def summary(
    report: Report,
    *,
    width: int,
    verbosity: int = 0,
    report_file: Path | None = None,
    beside: Sequence[Path] = (),
) -> list[Line]:
    """Return the lines that sum a report up; nothing in them is unsafe for a terminal.

    What people grep for or copy (verdict, pointers, links, curl commands) stays on one line whatever the width.

    Args:
        report: built or loaded.
        width: columns to wrap at.
        verbosity: as pytest's: below 0 verdict and failures, one line each; above 0 nothing is left out.
        report_file: where report.json was written; None where it was not.
        beside: what else was written of the report, for people to open.
    """
    page = _Page(max(width, _NARROWEST), verbosity)
    lines: list[Line] = []
    for target in report.targets:
        if lines and verbosity >= 0:
            lines.append(("", {}))
        lines.extend(page.target(target))
    if verbosity > 0 or (verbosity == 0 and not all(map(_is_unusable, report.targets))):
        lines.append(("", {}))
        lines.extend(page.pointers(report, report_file, beside))
    return lines


class _Page:
    def __init__(self, width: int, verbosity: int) -> None:
        self._width = width
        self._verbosity = verbosity

    @property
    def _shown(self) -> int | None:
        return None if self._verbosity > 0 else _SHOWN

    @property
    def _groups(self) -> int | None:
        return None if self._verbosity > 0 else _GROUPS

    # -- a target --------------------------------------------------------------------------------------------

    def target(self, target: Target) -> Iterator[Line]:
        """Yield all there is to say about one target."""
        first, *others = verdict_lines(target)
        yield _line(first, bold=True, **{_COLOURS[target.verdict]: True})
        if target.alarm is not None:
            yield _line(sentence(target.alarm), bold=True, **{"red" if target.alarm.fails else "green": True})
        if target.diagnosis is not None:
            yield from self._labelled("server", target.diagnosis.message if target.findings else "")
            yield from self._labelled("cause", target.diagnosis.cause)
            yield from self._labelled("cure", target.diagnosis.cure)
        if _is_unusable(target):
            return
        which = since(target)
        failed = of(target, Outcome.FAILED)
        if self._verbosity < 0:
            yield from (_line(self._failure(group, which)) for group in by(failed, lambda item: item.rule))
            yield from self._alarms(target)
            return
        for reason in others:
            yield from self._paragraph(f"also: {reason}")
        yield _line(counts_line(target.counts))
        yield from self._requests(target.survey)
        yield from self._server_log(server_log(target))
        for group in by(failed, lambda item: item.rule):
            yield from self._failed(group, which)
        for group in by(of(target, Outcome.KNOWN), lambda item: item.rule):
            yield from self._known(group)
        yield from self._alarms(target)
        for group in by(of(target, Outcome.ADVISORY), lambda item: item.rule):
            yield from self._advisory(group)
        yield from self._blocked(of(target, Outcome.BLOCKED))
        yield from self._not_checked(target.not_checked)
        yield from self._observed([item for item in target.observations if item.id != SERVER_LOG])
        yield from self._to_tick(target.checklist)

    def _requests(self, cost: SurveyCost) -> Iterator[Line]:
        if cost.requests_by_kind:
            kinds = ", ".join(f"{number} {kind}" for kind, number in cost.requests_by_kind.items())
            text = f"requests: {cost.requests} in {cost.seconds:.1f} s ({kinds})"
            yield from ((line, {}) for line in self._wrapped(text, "", _INDENT))

    def _server_log(self, lines: Sequence[str]) -> Iterator[Line]:
        """Yield how the log of a server ends that ended by itself: the end is what tells why."""
        if lines:
            yield ("", {})
            yield _line("THE SERVER'S LAST WORDS", bold=True)
            shown = lines if self._verbosity > 0 else lines[-_LOG_LINES:]
            yield from (_line(f"{_INDENT}{line}") for line in shown)

    def _failure(self, group: Sequence[ReportedFinding], which: Which) -> str:
        return f"{_title('FAILED', group)}{new_among(group, which)}{self._subjects(group)}: {one_line(group[0].message, _BRIEF)}"

    def _failed(self, group: Sequence[ReportedFinding], which: Which) -> Iterator[Line]:
        first = group[0]
        yield ("", {})
        yield from self._heading(
            f"{_title('FAILED', group)}{new_among(group, which)}{self._subjects(group)}", red=True
        )
        yield from self._paragraph(first.message)
        yield from self._labelled("expected", first.expected)
        yield from self._labelled("received", first.received)
        yield from self._whole("at", first.pointer or "")
        for text in first.further[: self._shown]:
            yield from self._labelled("also", text)
        if rest := len(first.further[self._shown :]) if self._shown else 0:
            yield from self._paragraph(f"and {plural(rest, 'other line')} about it, in report.json")
        messages = by(group, lambda item: item.message)
        for same in messages[1 : self._shown]:
            yield from self._paragraph(f"also{self._subjects(same)}: {same[0].message}")
        if rest := len(messages[self._shown :]) if self._shown else 0:
            yield from self._paragraph(f"and {plural(rest, 'other message')}, in report.json")
        for fix in list(dict.fromkeys(item.fix for item in group))[: self._shown]:
            yield from self._labelled("fix", fix)
        yield from self._whole("spec", first.source)
        if first.curl:
            yield _line(f"{_INDENT}{first.curl}")

    def _known(self, group: Sequence[ReportedFinding]) -> Iterator[Line]:
        yield ("", {})
        yield from self._heading(f"{_title('KNOWN', group)}{self._subjects(group)}", yellow=True)
        messages = by(group, lambda item: item.message)
        for same in messages[: self._shown]:
            yield from self._paragraph(one_line(same[0].message, _BRIEF))
        for reason in list(dict.fromkeys(item.reason for item in group))[: self._shown]:
            yield from self._labelled("reason", one_line(reason, _BRIEF))

    def _alarms(self, target: Target) -> Iterator[Line]:
        """Yield what the baseline and the comparison with an earlier report say."""
        for section in told(target, self._shown, brief=self._verbosity < 0):
            if self._verbosity >= 0:
                yield ("", {})
            yield _line(section.heading, bold=True)
            yield from (_line(f"{_INDENT}{problem}", red=True) for problem in section.problems)
            for text in section.paragraphs:
                yield from self._paragraph(text, hanging=2)

    def _advisory(self, group: Sequence[ReportedFinding]) -> Iterator[Line]:
        first = group[0]
        yield ("", {})
        yield from self._heading(f"{_title('ADVISORY', group)}{self._subjects(group)}", yellow=True)
        if self._verbosity > 0:
            for same in by(group, lambda item: item.message):
                yield from self._paragraph(same[0].message)
            yield from self._labelled("fix", first.fix)
            yield from self._whole("spec", first.source)
        else:
            yield from self._paragraph(one_line(first.message, _BRIEF))
            yield from self._labelled("fix", one_line(first.fix, _BRIEF))

    def _blocked(self, findings: Sequence[ReportedFinding]) -> Iterator[Line]:
        # All of them: each keeps something from being judged, and none may hide behind a count.
        for group in by(findings, lambda item: item.message):
            yield ("", {})
            yield from self._heading(f"BLOCKED: {group[0].message}", yellow=True)
            rules = self._some([item.rule for item in group])
            yield from self._paragraph(f"not judged: {rules}{self._subjects(group)}")

    def _not_checked(self, left_out: Sequence[NotChecked]) -> Iterator[Line]:
        groups = by(left_out, lambda item: item.why)
        if groups:
            yield ("", {})
            yield _line("NOT CHECKED", bold=True)
        for group in groups[: self._groups]:
            yield from self._paragraph(f"{self._some([item.item for item in group])}: {group[0].why}")
        yield from self._more(groups, "reason")

    def _observed(self, observations: Sequence[Observation]) -> Iterator[Line]:
        if observations:
            yield ("", {})
            yield _line("OBSERVED", bold=True)
        for observation in observations[: self._groups]:
            yield from self._paragraph(observation.note)
        yield from self._more(observations, "observation")

    def _to_tick(self, items: Sequence[ChecklistItem]) -> Iterator[Line]:
        if items:
            yield ("", {})
            yield _line("FOR A PERSON TO TICK (nothing on the wire shows it)", bold=True)
        for item in items:
            yield from self._paragraph(f"[ ] {item.text} ({item.id})", hanging=4)

    def _more(self, things: Sequence[object], noun: str) -> Iterator[Line]:
        if self._groups is not None and len(things) > self._groups:
            yield _line(f"{_INDENT}and {plural(len(things) - self._groups, noun)} more, in report.json")

    # -- where to read on ------------------------------------------------------------------------------------

    def pointers(
        self, report: Report, report_file: Path | None, beside: Sequence[Path] = ()
    ) -> Iterator[Line]:
        """Yield where the files lie and how to learn more about a rule."""
        if report_file is not None:
            yield _line(f"report:     {report_file}")
        for file in beside:
            yield _line(f"report:     {file}")
        folder = report_file.parent if report_file is not None else Path()
        for target in report.targets:
            if target.transcript is not None:
                file = folder / target.transcript.file
                yield _line(f"transcript: {file} (judge it again, offline, with --adcp-replay)")
        findings = [finding for target in report.targets for finding in target.findings]
        for outcome in (Outcome.FAILED, Outcome.KNOWN, Outcome.ADVISORY, Outcome.BLOCKED):
            if rule := next((finding.rule for finding in findings if finding.outcome is outcome), None):
                yield _line(f"more about a rule: pytest --adcp-explain {rule}")
                return

    # -- text ------------------------------------------------------------------------------------------------

    def _subjects(self, group: Sequence[ReportedFinding]) -> str:
        subjects = [item.subject for item in group if item.subject != "-"]
        return f" on {self._some(subjects)}" if subjects else ""

    def _some(self, names: Iterable[str]) -> str:
        distinct = list(dict.fromkeys(names))
        shown = ", ".join(distinct[: self._shown])
        rest = len(distinct) - self._shown if self._shown is not None else 0
        return f"{shown} +{rest} more" if rest > 0 else shown

    def _heading(self, text: str, **markup: bool) -> Iterator[Line]:
        yield from ((line, {"bold": True, **markup}) for line in self._wrapped(text, "", _INDENT))

    def _paragraph(self, text: str, hanging: int = 0) -> Iterator[Line]:
        yield from ((line, {}) for line in self._wrapped(text, _INDENT, _INDENT + " " * hanging))

    def _labelled(self, label: str, text: str) -> Iterator[Line]:
        if text:
            yield from self._paragraph(f"{label + ':':<9} {text}", hanging=10)

    def _whole(self, label: str, text: str) -> Iterator[Line]:
        """Yield what people copy: never wrapped."""
        if text:
            yield _line(f"{_INDENT}{label + ':':<9} {text}")

    def _wrapped(self, text: str, indent: str, further: str) -> list[str]:
        return textwrap.wrap(
            safe(text, _PARAGRAPH),
            self._width,
            initial_indent=indent,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _line(text: str, **markup: bool) -> Line:
    return safe(text, _COMMAND), markup


def of(target: Target, outcome: Outcome) -> list[ReportedFinding]:
    """Return the findings of a target that have an outcome."""
    return [finding for finding in target.findings if finding.outcome is outcome]


Item = TypeVar("Item")


def by(items: Iterable[Item], key: Callable[[Item], str]) -> list[list[Item]]:
    """Return items in groups, each in the place of its first."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _is_unusable(target: Target) -> bool:
    """Whether the diagnosis is all there is to say."""
    return target.diagnosis is not None and not target.findings


def _title(word: str, group: Sequence[ReportedFinding]) -> str:
    level = Level.MUST if any(item.level is Level.MUST for item in group) else Level.SHOULD
    return f"{word} {group[0].rule} ({level})"


def new_among(group: Sequence[ReportedFinding], which: Which) -> str:
    """Return ` NEW`, or how many of a group are new since the earlier report; empty where none is."""
    new = sum(which(item) is Since.NEW for item in group)
    return "" if not new else " NEW" if new == len(group) else f" {new} of {len(group)} NEW"


def verdict_lines(target: Target) -> list[str]:
    """Return the verdict line and what has to be said beside it."""
    if target.diagnosis is not None and _is_unusable(target):
        return [f"{target.verdict}: {target.diagnosis.message}"]
    facts = f" ({', '.join(_facts(target))})"
    if target.verdict is Verdict.NONCONFORMANT:
        known = len(of(target, Outcome.KNOWN))
        beside = f", {known} known" if known else ""
        return [f"nonconformant{beside}: {_failures(target)}{facts}", *target.reasons]
    if target.verdict is Verdict.INCONCLUSIVE:
        reason, *others = target.reasons or ("nothing failed, and too little could be judged",)
        return [f"inconclusive: {reason}{facts}", *others]
    passed = {finding.rule for finding in of(target, Outcome.PASSED)}
    where = f" on {plural(len(target.calls), 'call')}" if target.calls else ""
    return [f"conformant: {plural(len(passed), 'rule')} passed{where}{facts}", *target.reasons]


def _failures(target: Target) -> str:
    failed = [finding for finding in target.findings if finding.is_broken]
    musts = {finding.rule for finding in failed if finding.level is Level.MUST}
    shoulds = {finding.rule for finding in failed} - musts
    levels = ((Level.MUST, musts), (Level.SHOULD, shoulds))
    rules = [plural(len(ids), f"{level} rule") for level, ids in levels if ids]
    subjects = {finding.subject for finding in failed}
    subjects |= {stable_subject(subject) for subject in subjects}
    hit = sum(call.subject in subjects for call in target.calls)
    where = f" on {hit} of {plural(len(target.calls), 'call')}" if hit else ""
    return f"{' and '.join(rules)} failed{where}"


def _facts(target: Target) -> Iterator[str]:
    revision = target.server.protocol_version
    if target.url:
        yield target.url
        yield f"AdCP {target.adcp_version}" if target.adcp_version else "AdCP release unknown"
        yield f"MCP {revision}" if revision else "MCP revision unknown"
    else:
        yield ", ".join(target.profiles)
    if target.schemas is None and "core" in target.profiles:
        yield "schemas not checked"


def counts_line(numbers: Mapping[str, int]) -> str:
    """Return how many findings have each outcome, in a line."""
    counts = ((outcome, numbers.get(outcome, 0)) for outcome in Outcome)
    words = [f"{count} {outcome.replace('-', ' ')}" for outcome, count in counts if count]
    return f"checks: {', '.join(words)}" if words else "nothing was judged"
