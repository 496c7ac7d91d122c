"""What a nightly job alarms on, in words: stale entries of a baseline, and what has changed since an earlier report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_adcp.harness.baseline import State
from pytest_adcp.harness.text import one_line, plural
from pytest_adcp.harness.verdict import Outcome

from . import compare
from .model import Alarm, Baseline, BaselineEntry, Change, Comparison, Target

_BRIEF = 240  # characters of a message
_REASON = "write a reason into the entry"


@dataclass(frozen=True, slots=True)
class Section:
    """What there is to say about the baseline, or about what has changed.

    Attributes:
        heading: a few words.
        problems: what fails the run, a line each that is not to be torn apart.
        paragraphs: everything else.
    """

    heading: str
    problems: tuple[str, ...]
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """How long lists are shown."""

    shown: int | None  # None: whole

    def names(self, names: Sequence[str]) -> str:
        rest = len(names) - self.shown if self.shown is not None else 0
        shown = ", ".join(names[: self.shown])
        return f"{shown} +{rest} more" if rest > 0 else shown

    def changes(self, word: str, changes: Sequence[Change]) -> Iterator[str]:
        if not changes:
            return
        yield f"{word}: {len(changes)}"
        for change in changes[: self.shown]:
            where = f" on {change.subject}" if change.subject != "-" else ""
            what = f": {one_line(change.message, _BRIEF)}" if change.message else ""
            yield f"- {change.rule} ({change.level}){where}{what}"
        if self.shown is not None and len(changes) > self.shown:
            yield f"- and {len(changes) - self.shown} more, in report.json"


def alarm_of(target: Target, *, only_new: bool) -> Alarm | None:
    """Return what decides whether a run fails; None where it was told neither a baseline nor an earlier report.

    Args:
        target: with its baseline and comparison.
        only_new: whether only failures count that the earlier report does not have.
    """
    baseline, earlier = target.baseline, target.comparison
    if baseline is None and earlier is None:
        return None
    broken = [finding for finding in target.findings if finding.is_broken]
    failed = [finding for finding in broken if finding.outcome is Outcome.FAILED]
    new = compare.new_failures(target)
    counted = new if only_new else failed
    parts = [_how_many(len(counted), len(broken), target, only_new=only_new)]
    if earlier is not None and not only_new and failed:
        parts.append(f"{len(new) or 'none'} of them new since {earlier.generated_at}")
    wrong = wrong_entries(baseline)
    if wrong and baseline is not None:
        entries = "1 entry" if len(wrong) == 1 else f"{len(wrong)} entries"
        parts.append(f"{entries} of {baseline.file} stale or expired")
    return Alarm(bool(counted or wrong), len(broken), len(counted), "; ".join(parts))


def _how_many(counted: int, broken: int, target: Target, *, only_new: bool) -> str:
    """Say how many failures count, and why not the others."""
    if not broken:
        return "nothing failed"
    all_of_them = f"{counted} of {plural(broken, 'failure')} counted"
    if only_new and target.comparison is not None:
        beside = f", and not known by {target.baseline.file}" if target.baseline is not None else ""
        return f"{all_of_them}: what is new since {target.comparison.generated_at}{beside}"
    if target.baseline is not None:
        return f"{all_of_them}: what is not known by {target.baseline.file}"
    return all_of_them


def wrong_entries(baseline: Baseline | None) -> list[BaselineEntry]:
    """Return the entries that fail a run."""
    entries = baseline.entries if baseline is not None else ()
    return [entry for entry in entries if entry.state in (State.STALE, State.EXPIRED)]


def sentence(alarm: Alarm) -> str:
    """Return what is said of an alarm beside the verdict."""
    return f"{'ALARM' if alarm.fails else 'no alarm'}: {alarm.summary}"


def told(target: Target, shown: int | None, *, brief: bool = False) -> Iterator[Section]:
    """Yield what there is to say about the baseline and about the comparison of a target.

    Texts of a loaded report are foreign: escape them for where they go.

    Args:
        target: built or loaded.
        shown: how much of a long list; None: all. Stale and expired entries are never cut.
        brief: leave out what fails no run.
    """
    cut = _Cut(shown)
    if target.baseline is not None:
        problems = [problem(target.baseline, entry) for entry in wrong_entries(target.baseline)]
        if problems or not brief:
            lines = () if brief else tuple(_baseline(target, target.baseline, cut))
            yield Section(f"BASELINE {target.baseline.file}", tuple(problems), lines)
    if target.comparison is not None:
        lines = tuple(_comparison(target, target.comparison, cut, brief=brief))
        if lines or not brief:
            yield Section(f"SINCE {target.comparison.generated_at}", (), lines)


def problem(baseline: Baseline, entry: BaselineEntry) -> str:
    """Return what is wrong with a stale or expired entry: file, line, and what to do about it."""
    where = f"{baseline.file}, line {entry.line}: {entry.rule} on {entry.subject}"
    if entry.state is State.EXPIRED:
        return f"{where}: {entry.why}; mend the failure, take the entry out, or give it a later day"
    return f"{where} is stale: {entry.why}; take the entry out (--adcp-write-baseline does)"


def _baseline(target: Target, baseline: Baseline, cut: _Cut) -> Iterator[str]:
    failed = [finding for finding in target.findings if finding.outcome is Outcome.FAILED]
    known = target.counts.get(Outcome.KNOWN, 0)
    others = plural(len(failed), "failure") if failed else "no failure"
    yield f"{plural(known, 'known failure')}, and {others} beside"
    if known and not failed and target.reasons:
        yield f"without the known failures the run is inconclusive: {target.reasons[0]}"
    if baseline.new_rules:
        yield (
            f"rules that are newer than this baseline of {baseline.rules_version}, not scored until it is written anew "
            f"(--adcp-write-baseline): {cut.names(baseline.new_rules)}"
        )
    unjudged = [entry for entry in baseline.entries if entry.state is State.UNJUDGED]
    if unjudged:
        whys = list(dict.fromkeys(entry.why for entry in unjudged))
        which = "entry" if len(unjudged) == 1 else "entries"
        yield f"{len(unjudged)} {which} could not be checked: {'; '.join(whys[: cut.shown])}"
    # Of the entries in use only those are told that have no reason of their own.
    bare = [str(entry.line) for entry in baseline.entries if entry.state is State.USED]
    if bare:
        where = f"line {bare[0]}" if len(bare) == 1 else f"lines {cut.names(bare)}"
        yield f"not explained yet: {baseline.file}, {where}; {_REASON}"


def _comparison(target: Target, found: Comparison, cut: _Cut, *, brief: bool) -> Iterator[str]:
    if not brief and found.verdict is not target.verdict:
        yield f"verdict: it was {found.verdict}, and is {target.verdict}"
    yield from cut.changes("new failures", found.new)
    if brief:
        return
    yield from cut.changes("failures of rules that are new since, not scored", found.not_scored)
    yield from cut.changes("fixed", found.fixed)
    yield from cut.changes("still failing", found.still)
    yield from cut.changes("failed then, not known now", found.unjudged)
    yield from cut.changes("newly blocked", found.blocked)
    for word, names in (
        ("rules new in this run", found.new_rules),
        ("rules gone", found.gone_rules),
        ("subjects new in this run", found.new_subjects),
        ("subjects gone", found.gone_subjects),
    ):
        if names:
            yield f"{word}: {cut.names(names)}"
    yield from found.notes
    if not (found.new or found.not_scored or found.fixed or found.unjudged or found.blocked):
        yield "nothing else has changed" if found.notes or found.still else "nothing has changed"
