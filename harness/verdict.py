"""From a rule and a subject to a finding, and from findings to the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from .rules import Blocked, Broken, Level, NotApplicable, Rule
from .subjects import Gap, Subject
from .text import curl, safe

_TRY = re.compile(r"@[0-9]+$")


class Outcome(StrEnum):
    """What became of a rule on a subject."""

    PASSED = "passed"
    FAILED = "failed"
    ADVISORY = "advisory"
    KNOWN = "known"  # it failed, and the baseline says that it may
    NOT_APPLICABLE = "not-applicable"
    BLOCKED = "blocked"


class Verdict(StrEnum):
    """What a run says about its target."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCONCLUSIVE = "inconclusive"


_LONGEST_FURTHER = 1_200  # characters: a vector can be copied out of it


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule on one subject. All text is escaped: it can go to a terminal, XML or a log as it is."""

    rule: str
    level: Level
    outcome: Outcome
    subject: str
    message: str = ""
    pointer: str | None = None
    exchange: int | None = None
    fix: str = ""
    source: str = ""
    expected: str = ""
    received: str = ""
    curl: str = ""
    further: tuple[str, ...] = ()
    reason: str = ""  # why a known failure is not counted: what the baseline says

    @property
    def is_broken(self) -> bool:
        """Whether the rule failed, in the baseline or not."""
        return self.outcome in (Outcome.FAILED, Outcome.KNOWN)


def stable_subject(subject: str) -> str:
    """Return a subject as it is called in every run: without the number of the try, which patience decides."""
    return _TRY.sub("", subject)


def judge(rule: Rule, subject: Subject | Gap, *, strict: bool = False) -> Finding:
    """Try a rule on a subject.

    Raises whatever the rule raises beside its verdicts: that is a fault of the harness, never the target's.
    """
    exchange = subject.exchange
    index = exchange.index if exchange else None
    label = safe(subject.label)

    def finding(outcome: Outcome, message: str = "", level: Level = rule.level) -> Finding:
        return Finding(rule.id, level, outcome, label, safe(message, 600), exchange=index, source=rule.source)

    if isinstance(subject, Gap):
        return finding(Outcome.BLOCKED if subject.blocked else Outcome.NOT_APPLICABLE, subject.why)
    if rule.revisions is not None and subject.revision not in rule.revisions:
        return finding(
            Outcome.NOT_APPLICABLE, f"not a rule of MCP {subject.revision or 'in an unknown revision'}"
        )
    level = rule.level_for(subject.release)
    if level is None:
        return finding(
            Outcome.NOT_APPLICABLE,
            f"a rule from AdCP {rule.since}; this server is judged as {subject.release or '3.0'}",
        )
    try:
        rule.function(subject)
    except NotApplicable as reason:
        return finding(Outcome.NOT_APPLICABLE, str(reason))
    except Blocked as reason:
        return finding(Outcome.BLOCKED, str(reason))
    except Broken as broken:
        problem = broken
    except AssertionError as assertion:
        problem = Broken("the assertion to hold", "", because=str(assertion) or rule.requirement)
    else:
        return finding(Outcome.PASSED, level=level)
    if problem.lenient:
        level = Level.SHOULD
    failed = strict or level is Level.MUST
    because = problem.because or rule.requirement
    beside = "; ".join(text for text in (rule.strength, problem.lenient) if text)
    return Finding(
        rule=rule.id,
        level=level,
        outcome=Outcome.FAILED if failed else Outcome.ADVISORY,
        subject=label,
        message=safe(f"{because} ({beside})" if beside else because, 600),
        pointer=safe(problem.at, 300) if problem.at is not None else None,
        exchange=index,
        fix=safe(problem.fix or rule.fix, 600),
        source=rule.source,
        expected=safe(problem.expected, 300),
        received=safe(problem.received, 300),
        curl=curl(exchange.request, subject.opening, revision=subject.revision, before=subject.preceding)
        if exchange
        else "",
        further=tuple(safe(text, _LONGEST_FURTHER) for text in problem.further),
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and, where it is not plain, its reasons."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings have each outcome, every outcome named."""
    counts = dict.fromkeys(Outcome, 0)
    for finding in findings:
        counts[finding.outcome] += 1
    return {str(outcome): number for outcome, number in counts.items()}


def conclude(findings: Sequence[Finding], *, gaps: Sequence[str]) -> Judgement:
    """Return the verdict of a run.

    Args:
        findings: everything judged.
        gaps: why the run cannot say conformant although nothing failed (survey cut short, no error seen ...).
    """
    blocked = [item for item in findings if item.outcome is Outcome.BLOCKED and item.level is Level.MUST]
    nothing = () if findings or gaps else ("nothing was judged",)
    untold = [finding for finding in blocked if not any(finding.message in gap for gap in gaps)]
    reasons = (*gaps, *nothing, *_blocked(untold))
    if any(finding.is_broken for finding in findings):
        return Judgement(Verdict.NONCONFORMANT, reasons)
    return Judgement(Verdict.INCONCLUSIVE if reasons else Verdict.CONFORMANT, reasons)


class ExitCode(IntEnum):
    """How a conformance run ends; 2 (interrupted) and 4 (usage) are pytest's own."""

    CONFORMANT = 0
    NONCONFORMANT = 1
    HARNESS_FAULT = 3
    NOTHING_SELECTED = 5
    INCONCLUSIVE = 6  # or the target could not be reached


def exit_code(
    judgement: Judgement,
    *,
    faults: int,
    unusable: bool,
    partial: bool,
    judged: int,
    alarm: bool | None = None,
) -> ExitCode:
    """Return the exit code: the gravest thing that is true.

    Args:
        faults: rules that broke instead of judging.
        unusable: the target could not be surveyed.
        partial: only a part was selected; the code then speaks of that part.
        judged: how many findings there are.
        alarm: whether something counts as a failure; None: what the verdict says. Failures that do not count are
            as if they were not there: what is left may still be inconclusive.
    """
    if faults:
        return ExitCode.HARNESS_FAULT
    if unusable:
        return ExitCode.INCONCLUSIVE
    if judgement.verdict is Verdict.NONCONFORMANT if alarm is None else alarm:
        return ExitCode.NONCONFORMANT
    if not judged:
        return ExitCode.NOTHING_SELECTED
    if judgement.reasons and not partial:
        return ExitCode.INCONCLUSIVE
    return ExitCode.CONFORMANT


def _blocked(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield each reason once, with the rules that it kept from judging."""
    by_reason: dict[str, set[str]] = {}
    for finding in findings:
        by_reason.setdefault(finding.message, set()).add(finding.rule)
    for reason, rules in by_reason.items():
        more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
        yield f"{min(rules)}{more} could not be judged: {reason}"
