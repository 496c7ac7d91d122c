"""What has changed between two reports: a pure function of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum

from pytest_adcp.harness.text import safe
from pytest_adcp.harness.urls import UrlError, is_loopback, web_address
from pytest_adcp.harness.verdict import Outcome, stable_subject

from .model import Change, Comparison, Report, ReportedFinding, Target

_LONG = 1000  # characters: the earlier report is a foreign file, though its texts are short as a rule
_NO_SUBJECT = "-"
# Where a rule has several findings on a subject (tries), the gravest stands for them.
_GRAVEST = (
    Outcome.FAILED,
    Outcome.KNOWN,
    Outcome.BLOCKED,
    Outcome.ADVISORY,
    Outcome.PASSED,
    Outcome.NOT_APPLICABLE,
)

Key = tuple[str, str]
"""Rule and subject."""


class Since(StrEnum):
    """What a failure is beside the earlier report."""

    NEW = "new"
    STILL = "still failing"
    NOT_SCORED = "not scored"  # new, and so is its rule


class Earlier:
    """An earlier report of a target: what of a finding is new since."""

    def __init__(self, previous: Report, target: Target, rules_version: str) -> None:
        """Remember what was found; `rules_version` is that of the rules that judge now."""
        self.found = _gravest(target)
        self.rules = {rule for rule, _ in self.found}
        # An earlier run that judged nothing says nothing of which rules there were.
        self._other_rules = bool(self.found) and previous.harness.rules_version != rules_version

    def before(self, key: Key) -> ReportedFinding | None:
        """Return what was found; a rule without any subject, blocked or with nothing to judge, speaks for all."""
        return self.found.get(key) or self.found.get((key[0], _NO_SUBJECT))

    def since(self, rule: str, subject: str) -> Since:
        """Return what a failure is, of a rule on a subject."""
        before = self.before((rule, stable_subject(subject)))
        if before is not None and before.is_broken:
            return Since.STILL
        return Since.NOT_SCORED if self._other_rules and rule not in self.rules else Since.NEW


def matching(previous: Report, name: str, url: str) -> Target | None:
    """Return the target of a report that has this name, else the one at this URL; None where there is none."""
    named = (target for target in previous.targets if target.name == name)
    placed = (target for target in previous.targets if url and target.url == url)
    return next(named, None) or next(placed, None)


def with_comparison(previous: Report, current: Report) -> Report:
    """Return the current report with what has changed since the previous one, in every target that both have."""
    targets = []
    for target in current.targets:
        earlier = matching(previous, target.name, target.url)
        if earlier is not None:
            target = replace(target, comparison=_comparison(previous, earlier, current, target))
        targets.append(target)
    return replace(current, targets=tuple(targets))


def new_failures(target: Target) -> list[ReportedFinding]:
    """Return the failures of a target, those of its baseline left out, that the earlier report does not have.

    Without a comparison that is all of them.
    """
    failed = [finding for finding in target.findings if finding.outcome is Outcome.FAILED]
    if target.comparison is None:
        return failed
    which = since(target)
    return [finding for finding in failed if which(finding) is Since.NEW]


def since(target: Target) -> Callable[[ReportedFinding], Since | None]:
    """Return what says of a target's findings what they are beside the earlier report; None where nothing is known."""
    found = target.comparison
    changes = (
        ((Since.NEW, found.new), (Since.STILL, found.still), (Since.NOT_SCORED, found.not_scored))
        if found is not None
        else ()
    )
    known = {(change.rule, change.subject): which for which, some in changes for change in some}
    return lambda finding: (
        known.get((safe(finding.rule, _LONG), safe(stable_subject(finding.subject), _LONG)))
        if finding.is_broken
        else None
    )


def _comparison(previous: Report, earlier: Target, current: Report, target: Target) -> Comparison:
    known = Earlier(previous, earlier, current.harness.rules_version)
    then, now = known.found, _gravest(target)
    old_rules, rules = known.rules, {rule for rule, _ in now}
    broken: dict[Since, list[Change]] = {which: [] for which in Since}
    for key, finding in now.items():
        if finding.is_broken:
            broken[known.since(*key)].append(_change(key, then, now))
    was = [_change(key, then, now) for key, finding in then.items() if finding.is_broken]
    ended = [change for change in was if change.now not in (Outcome.FAILED, Outcome.KNOWN)]
    blocked = [_change(key, then, now) for key, found in now.items() if found.outcome is Outcome.BLOCKED]
    both = earlier.selection.complete and target.selection.complete
    old_subjects, subjects = ({subject for _, subject in keys} - {_NO_SUBJECT} for keys in (then, now))
    return Comparison(
        generated_at=safe(previous.generated_at),
        url=safe(earlier.url, _LONG),
        rules_version=safe(previous.harness.rules_version),
        verdict=earlier.verdict,
        new=tuple(broken[Since.NEW]),
        not_scored=tuple(broken[Since.NOT_SCORED]),
        fixed=tuple(change for change in ended if change.now is Outcome.PASSED),
        still=tuple(broken[Since.STILL]),
        unjudged=tuple(change for change in ended if change.now is not Outcome.PASSED),
        blocked=tuple(change for change in blocked if change.before is not Outcome.BLOCKED),
        new_rules=_names(rules - old_rules, both),
        gone_rules=_names(old_rules - rules, both),
        new_subjects=_names(subjects - old_subjects, both),
        gone_subjects=_names(old_subjects - subjects, both),
        notes=tuple(_notes(earlier, target)),
    )


def _gravest(target: Target) -> Mapping[Key, ReportedFinding]:
    found: dict[Key, ReportedFinding] = {}
    for finding in target.findings:
        key = finding.rule, stable_subject(finding.subject)
        other = found.get(key)
        if other is None or _GRAVEST.index(finding.outcome) < _GRAVEST.index(other.outcome):
            found[key] = finding
    return found


def _change(key: Key, then: Mapping[Key, ReportedFinding], now: Mapping[Key, ReportedFinding]) -> Change:
    """Return a key's change. A rule without any subject, blocked or with nothing to judge, speaks for all of them."""
    before, after = (findings.get(key) or findings.get((key[0], _NO_SUBJECT)) for findings in (then, now))
    shown = after or before
    assert shown is not None
    return Change(
        rule=safe(key[0], _LONG),
        subject=safe(key[1], _LONG),
        level=shown.level,
        before=before.outcome if before else None,
        now=after.outcome if after else None,
        message=safe(shown.message or (before.message if before else ""), _LONG),
    )


def _names(names: set[str], both: bool) -> tuple[str, ...]:
    """Return names in order; none where a run was narrowed, since what it left out is not gone."""
    return tuple(sorted(safe(name, _LONG) for name in names)) if both else ()


def _notes(earlier: Target, target: Target) -> list[str]:
    notes = []
    if earlier.url != target.url and earlier.url and target.url and not _both_local(earlier.url, target.url):
        notes.append(
            f"the URL has changed since: it was {safe(earlier.url, _LONG)}, and clients that know it are left behind "
            "unless it still answers"
        )
    if not earlier.findings:
        notes.append("the earlier run judged nothing, so all that fails counts as new")
    elif not earlier.complete:
        notes.append("the earlier survey ended early: what it did not see counts as new")
    if not earlier.selection.complete:
        notes.append("the earlier run judged only a part: what it left out counts as new")
    if not target.selection.complete:
        notes.append("this run judged only a part: what it left out is not known")
    if earlier.adcp_version != target.adcp_version:
        then, now = (version or "unknown" for version in (earlier.adcp_version, target.adcp_version))
        notes.append(f"the AdCP release was {safe(then)}, and is {safe(now)}")
    if {*earlier.profiles} != {*target.profiles}:
        notes.append(f"the earlier run judged other profiles: {safe(', '.join(earlier.profiles))}")
    return notes


def _both_local(*urls: str) -> bool:
    """Whether all URLs are of this machine: their ports come and go."""
    try:
        return all(is_loopback(web_address(url).hostname or "") for url in urls)
    except UrlError:
        return False
