"""Known failures: which findings a baseline covers, and which of its entries no longer say anything true."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from .rules import Rule
from .text import safe
from .verdict import Finding, Outcome, stable_subject

PLACEHOLDER = "not explained yet"  # what --adcp-write-baseline writes for a reason
_STAR = re.compile(r"\[\*\]|\*")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")


class State(StrEnum):
    """What a run says of an entry."""

    USED = "used"  # something that it covers failed
    STALE = "stale"  # all that it covers was judged, and nothing failed
    EXPIRED = "expired"  # its last day is over
    UNJUDGED = "unjudged"  # the run could not tell


@dataclass(frozen=True)
class BaselineEntry:
    """One entry: a rule, the subjects on which it may fail, and why.

    `subject` is a subject as reports name it, in which `*` stands for any characters and `[*]` for a star.
    """

    rule: str
    subject: str
    reason: str
    expires: date | None = None  # the last day on which it holds
    line: int = 0  # in the file, from 1

    def covers(self, subject: str) -> bool:
        """Whether the entry is about a subject; on which try it was judged does not matter."""
        return self._pattern.fullmatch(stable_subject(subject)) is not None

    def is_expired(self, today: date) -> bool:
        """Whether the last day of the entry is over."""
        return self.expires is not None and self.expires < today

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # In a pattern of fnmatch, which takes no longer for many stars, ? and [ have a meaning too.
        literals, stars = _STAR.split(self.subject), [*_STAR.findall(self.subject), ""]
        parts = zip(map(glob.escape, literals), stars, strict=True)
        return re.compile(fnmatch.translate("".join(itertools.chain.from_iterable(parts))))


def exactly(subject: str) -> str:
    """Return the pattern that covers one subject and no other."""
    return stable_subject(subject).replace("*", "[*]")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An entry after a run: what became of it, and why."""

    entry: BaselineEntry
    state: State
    why: str = ""


@dataclass(frozen=True)
class Baseline:
    """A baseline file.

    Attributes:
        path: the file.
        rules_version: the version of the rule set that it was made for.
        entries: in the order of the file.
    """

    path: Path
    rules_version: str
    entries: tuple[BaselineEntry, ...] = ()

    @cached_property
    def _by_rule(self) -> dict[str, list[BaselineEntry]]:
        entries: dict[str, list[BaselineEntry]] = {}
        for entry in self.entries:
            entries.setdefault(entry.rule, []).append(entry)
        return entries

    def knows(self, rule: Rule) -> bool:
        """Whether the rule was there when the baseline was made."""
        return version_numbers(rule.added) <= version_numbers(self.rules_version)

    def covering(self, finding: Finding) -> list[BaselineEntry]:
        """Return the entries that are about a finding, expired ones too."""
        return [e for e in self._by_rule.get(finding.rule, ()) if e.covers(finding.subject)]

    def excused(self, rule: Rule, finding: Finding, today: date) -> Finding:
        """Return a finding of the rule as the baseline sees it: a failure that it covers is known."""
        if finding.outcome is not Outcome.FAILED:
            return finding
        valid = next((e for e in self.covering(finding) if not e.is_expired(today)), None)
        if valid is not None:
            until = f" (until {valid.expires.isoformat()})" if valid.expires is not None else ""
            return replace(finding, outcome=Outcome.KNOWN, reason=f"{safe(valid.reason, 600)}{until}")
        if not self.knows(rule):
            reason = f"not scored yet: the rule is new in {rule.added}, and the baseline is of {self.rules_version}"
            return replace(finding, outcome=Outcome.KNOWN, reason=reason)
        return finding

    def review(
        self, findings: Sequence[Finding], *, whole: bool, left_out: Collection[str], today: date
    ) -> list[Reviewed]:
        """Say of each entry what a run makes of it.

        Args:
            findings: everything judged.
            whole: whether nothing narrowed the run and the survey came to its end.
            left_out: calls (tool/name) and tools that the plan left out.
            today: in UTC.
        """
        by_rule: dict[str, list[Finding]] = {}
        for finding in findings:
            by_rule.setdefault(finding.rule, []).append(finding)
        return [
            self._reviewed(entry, by_rule.get(entry.rule, []), whole, left_out, today)
            for entry in self.entries
        ]

    def _reviewed(
        self,
        entry: BaselineEntry,
        findings: Sequence[Finding],
        whole: bool,
        left_out: Collection[str],
        today: date,
    ) -> Reviewed:
        about = [finding for finding in findings if entry.covers(finding.subject)]
        if entry.is_expired(today):
            return Reviewed(entry, State.EXPIRED, f"it expired on {entry.expires}")
        if any(finding.is_broken for finding in about):
            return Reviewed(entry, State.USED)
        none = next((finding for finding in findings if finding.subject == "-"), None)
        blocked = next((f for f in (*about, none) if f is not None and f.outcome is Outcome.BLOCKED), None)
        if blocked is not None:
            return Reviewed(entry, State.UNJUDGED, f"it could not be judged: {blocked.message}")
        tool = entry.subject.partition("/")[0]
        if not about and any(entry.covers(name) or name == tool for name in left_out):
            return Reviewed(entry, State.UNJUDGED, "the call was not made")
        if not findings or not whole:
            return Reviewed(entry, State.UNJUDGED, "the run did not try it")
        if any(finding.outcome is Outcome.ADVISORY for finding in about):
            why = "what it covers is an advisory, which fails nothing without --adcp-strict"
            return Reviewed(entry, State.STALE, why)
        if about:
            return Reviewed(entry, State.STALE, "nothing that it covers fails any more")
        if none is not None:
            return Reviewed(entry, State.STALE, f"the rule found nothing to judge: {none.message}")
        return Reviewed(entry, State.STALE, "the rule was tried on nothing that it covers")


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers to compare; what follows them (rc1, .dev2) does not count."""
    found = _NUMBERS.match(version)
    return tuple(int(number) for number in found[0].split(".")) if found else ()
