"""The rules that were broken, as a page tells them: everything once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome

from .compare import Since, since
from .html_excerpt import Excerpt, Excerpts
from .html_groups import Shown, by, some
from .model import ReportedFinding, Target

FULL = 3  # messages of a rule that are shown in full
ROWS = 40  # further messages of a rule, a line each
_WORTH = 30  # characters of an end that is not said again
_CLAUSE = re.compile(r"[,:;.] ")


@dataclass(frozen=True, slots=True)
class Message:
    """Findings of one rule that say the same: the first stands for all, each of `others` for some that differ.

    Attributes:
        first: the finding.
        subjects: of all of them.
        says: what is wrong; `…` stands for an end that the message before all others has too.
        expected: empty, as are `reason`, `fix` and `excerpt`, where it is in `same`.
        received: what the excerpt does not show.
        reason: why it may fail.
        fix: how to mend it.
        excerpt: what came, where a transcript shows it.
        same: what is as in the first message of the rule, in words.
        others: one for each way in which they differ.
        left: how many more of those there are.
    """

    first: ReportedFinding
    subjects: Shown
    says: str
    expected: str
    received: str
    reason: str
    fix: str
    excerpt: Excerpt | None
    same: tuple[str, ...]
    others: tuple[ReportedFinding, ...]
    left: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule that was broken: its messages in full, then in a line each, then only counted."""

    rule: str
    level: Level
    source: str
    count: int
    new: int  # of them, since the earlier report
    messages: tuple[Message, ...]
    lines: tuple[ReportedFinding, ...]
    left: int


def causes(target: Target, outcome: Outcome, excerpts: Excerpts | None) -> tuple[Cause, ...]:
    """Return the broken rules of a target, those that count as MUST first."""
    groups = by((item for item in target.findings if item.outcome is outcome), lambda item: item.rule)
    which = since(target)
    found = [
        _cause(group, excerpts, sum(which(item) is Since.NEW for item in group)) for group in groups.values()
    ]
    return tuple(sorted(found, key=lambda cause: cause.level is not Level.MUST))


def _cause(group: Sequence[ReportedFinding], excerpts: Excerpts | None, new: int) -> Cause:
    messages = list(by(group, lambda item: item.message).values())
    lines = [same[0] for same in messages[FULL : FULL + ROWS]]
    return Cause(
        rule=group[0].rule,
        level=Level.MUST if any(item.level is Level.MUST for item in group) else Level.SHOULD,
        source=group[0].source,
        count=len(group),
        new=new,
        messages=tuple(_messages(messages[:FULL], excerpts)),
        lines=tuple(lines),
        left=len(messages) - FULL - len(lines) if len(messages) > FULL else 0,
    )


def _messages(groups: Sequence[Sequence[ReportedFinding]], excerpts: Excerpts | None) -> Iterator[Message]:
    """Yield messages; of all but the first only what it does not say already."""
    before: ReportedFinding | None = None
    shown: Excerpt | None = None
    for same in groups:
        first, *rest = by(same, lambda item: (item.expected, item.received, item.fix)).values()
        one = first[0]
        excerpt = excerpts.of(one) if excerpts is not None else None
        again = {
            words: value
            for words, value, earlier in (
                ("what is expected", one.expected, before and before.expected),
                ("what came", excerpt, shown),
                ("why it may", one.reason, before and before.reason),
                ("how to mend it", one.fix, before and before.fix),
            )
            if value and value == earlier
        }
        yield Message(
            first=one,
            subjects=some(item.subject for item in same),
            says=_without_end(one.message, before.message) if before else one.message,
            expected="" if "what is expected" in again else one.expected,
            received=excerpt.unsaid(one.received) if excerpt else one.received,
            reason="" if "why it may" in again else one.reason,
            fix="" if "how to mend it" in again else one.fix,
            excerpt=None if "what came" in again else excerpt,
            same=tuple(again),
            others=tuple(other[0] for other in rest[:ROWS]),
            left=len(rest[ROWS:]),
        )
        if before is None:
            before, shown = one, excerpt


def _without_end(text: str, other: str) -> str:
    """Return a sentence without the clauses at its end that another has too; whole where they are short."""
    ends = zip(reversed(text), reversed(other), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    clause = _CLAUSE.search(text, len(text) - common)
    if clause is None or not clause.start() or len(text) - clause.end() < _WORTH:
        return text
    return f"{text[: clause.end()]}…"
