"""What a page says of one target, gathered from its findings: causes, coverage, calls. Plain data, no markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import plural, quote
from pytest_adcp.harness.verdict import Outcome, Verdict, stable_subject

from .alarms import Section
from .model import Call, Target

SUBJECTS = 24  # that are named with a message
CALLS = 300  # and tools, and other subjects
FAMILIES = 60
SLOWEST = 10
COLUMNS = (
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.KNOWN,
    Outcome.ADVISORY,
    Outcome.BLOCKED,
    Outcome.NOT_APPLICABLE,
)
MARKS = {
    Outcome.PASSED: "✓",
    Outcome.FAILED: "✗",
    Outcome.KNOWN: "(✗)",
    Outcome.ADVISORY: "!",
    Outcome.BLOCKED: "?",
    Outcome.NOT_APPLICABLE: "n/a",
}
# What becomes of most rules, and what is said of those on paper.
UNREMARKABLE = {Outcome.PASSED: "Passed", Outcome.NOT_APPLICABLE: "Had nothing to judge"}
_WORST = (
    Outcome.FAILED,
    Outcome.KNOWN,
    Outcome.BLOCKED,
    Outcome.ADVISORY,
    Outcome.PASSED,
    Outcome.NOT_APPLICABLE,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """Some of many names."""

    names: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why rules could not be judged, or had nothing to judge, or something was left out."""

    text: str
    names: Shown
    subjects: Shown = field(default_factory=lambda: Shown(()))


@dataclass(frozen=True, slots=True)
class Cell:
    """What rules gave together: the gravest outcome, how often, and how many were judged."""

    outcome: Outcome
    count: int
    judged: int

    @classmethod
    def of(cls, counts: Mapping[Outcome, int] | None) -> Cell | None:
        """Return the cell of some counts; None where there is nothing."""
        worst = next((outcome for outcome in _WORST if counts.get(outcome)), None) if counts else None
        if worst is None or not counts:
            return None
        return cls(worst, counts[worst], sum(counts.values()) - counts.get(Outcome.NOT_APPLICABLE, 0))

    @property
    def text(self) -> str:
        """What it says without colours: a mark and numbers."""
        if not self.judged:
            return MARKS[self.outcome]
        return f"{MARKS[self.outcome]} {self.count}" + (
            "" if self.outcome is Outcome.PASSED else f"/{self.judged}"
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the matrix: a tool, a call, another subject."""

    name: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A tool with its calls, or what else has subjects of its own."""

    total: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Subjects against families of rules."""

    families: tuple[str, ...]
    tools: tuple[Part, ...]
    others: tuple[Part, ...]

    @property
    def named(self) -> Iterator[tuple[str, tuple[Part, ...]]]:
        """Both halves with their headings, where there is something in them."""
        yield from (
            (name, parts) for name, parts in (("Tools", self.tools), ("Others", self.others)) if parts
        )


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What became of one rule."""

    rule: str
    level: Level
    source: str
    numbers: tuple[int | None, ...]  # of each outcome in COLUMNS; None: never
    worst: Outcome

    @property
    def is_remarkable(self) -> bool:
        """Whether something came of it but that it passed or had nothing to judge."""
        return self.worst not in UNREMARKABLE


@dataclass(frozen=True, slots=True)
class Unremarkable:
    """Rules that nothing is wrong with, in a few words: their names by family, without the family's."""

    what: str
    count: int
    families: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of the baseline, or of what has changed: some texts are followed by a list."""

    heading: str
    problems: tuple[str, ...]
    parts: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """A call and how long its bar is, in percent of the slowest."""

    call: Call
    percent: float


@dataclass(frozen=True, slots=True)
class Timings:
    """The calls: all of them in plan order up to a bound, and the slowest."""

    slowest: tuple[Timing, ...]
    all: tuple[Timing, ...]
    left: int
    median: float
    longest: float


def reasons(target: Target, outcome: Outcome) -> tuple[Reason, ...]:
    """Return why rules were blocked or not applicable, each reason once."""
    groups = by((item for item in target.findings if item.outcome is outcome), lambda item: item.message)
    return tuple(
        Reason(message, some(item.rule for item in group), some(item.subject for item in group))
        for message, group in groups.items()
    )


def left_out(target: Target) -> tuple[Reason, ...]:
    """Return what was not checked, each reason once."""
    groups = by(target.not_checked, lambda item: item.why)
    return tuple(Reason(why, some(item.item for item in group)) for why, group in groups.items())


def matrix(target: Target) -> Matrix:
    """Return which tools and calls were judged by which families of rules, and how that ended."""
    families: dict[str, None] = {}
    counted: dict[str, dict[str, dict[str, Counter[Outcome]]]] = {}
    for item in target.findings:
        family = item.rule.rpartition(".")[0] or item.rule
        families.setdefault(family)
        subject = stable_subject(item.subject)
        head = subject.partition("/")[0]
        counts = counted.setdefault(head, {}).setdefault(subject, {}).setdefault(family, Counter())
        counts[item.outcome] += 1
    columns = tuple(families)[:FAMILIES]
    called = {call.tool for call in target.calls}
    parts = {head: _part(head, subjects, columns) for head, subjects in list(counted.items())[:CALLS]}
    return Matrix(
        columns,
        tuple(part for head, part in parts.items() if head in called),
        tuple(part for head, part in parts.items() if head not in called),
    )


def _part(head: str, subjects: Mapping[str, Mapping[str, Counter[Outcome]]], families: Sequence[str]) -> Part:
    total: dict[str, Counter[Outcome]] = {}
    for counts in subjects.values():
        for family, counter in counts.items():
            total.setdefault(family, Counter()).update(counter)
    rows = tuple(_row(name, counts, families) for name, counts in list(subjects.items())[:CALLS])
    return Part(
        _row("no subject" if head == "-" else head.removesuffix(":"), total, families),
        rows if len(subjects) > 1 else (),
    )


def _row(name: str, counts: Mapping[str, Counter[Outcome]], families: Sequence[str]) -> Row:
    return Row(name, tuple(Cell.of(counts.get(family)) for family in families))


def rules(target: Target) -> dict[str, list[RuleRow]]:
    """Return every rule that was tried with its counts, by family."""
    rows: dict[str, list[RuleRow]] = {}
    for rule, group in by(target.findings, lambda item: item.rule).items():
        counts = Counter(item.outcome for item in group)
        numbers = tuple(counts.get(outcome) for outcome in COLUMNS)
        worst = next(outcome for outcome in _WORST if counts[outcome])
        row = RuleRow(rule, group[0].strength, group[0].source, numbers, worst)
        rows.setdefault(rule.rpartition(".")[0] or rule, []).append(row)
    return rows


def unremarkable(rules: Mapping[str, Sequence[RuleRow]]) -> Iterator[Unremarkable]:
    """Yield the rules that passed, then those that had nothing to judge, where there are any."""
    for outcome, what in UNREMARKABLE.items():
        families = {
            family: tuple(row.rule.removeprefix(f"{family}.") for row in rows if row.worst is outcome)
            for family, rows in rules.items()
        }
        count = sum(map(len, families.values()))
        if count:
            yield Unremarkable(
                what, count, tuple((name, leaves) for name, leaves in families.items() if leaves)
            )


def told(section: Section, heading: str) -> Told:
    """Return what is said of a baseline or a comparison with its lists put together."""
    parts: list[tuple[str, list[str]]] = []
    for text in section.paragraphs:
        if text.startswith("- ") and parts:
            parts[-1][1].append(text[2:])
        else:
            parts.append((text, []))
    return Told(heading, section.problems, tuple((text, tuple(items)) for text, items in parts))


def timings(calls: Sequence[Call]) -> Timings | None:
    """Return how long the calls took; None where there are none."""
    if not calls:
        return None
    longest = max(call.seconds for call in calls)

    def bar(call: Call) -> Timing:
        return Timing(call, round(100 * call.seconds / longest, 1) if longest > 0 else 0.0)

    slowest = sorted(calls, key=lambda call: -call.seconds)[:SLOWEST]
    shown = tuple(map(bar, calls[:CALLS]))
    return Timings(
        tuple(map(bar, slowest)),
        shown,
        len(calls) - len(shown),
        median(call.seconds for call in calls),
        longest,
    )


def headline(target: Target) -> str:
    """Return what the verdict of a target means, in one sentence."""
    if target.diagnosis is not None and not target.findings:
        return target.diagnosis.message
    if target.verdict is Verdict.INCONCLUSIVE:
        return "Nothing failed, and too little could be judged to say that the requirements hold."
    if target.verdict is Verdict.CONFORMANT:
        passed = {item.rule for item in target.findings if item.outcome is Outcome.PASSED}
        where = f", on {plural(len(target.calls), 'call')}" if target.calls else ""
        return f"No requirement that was judged is broken: {plural(len(passed), 'rule')} passed{where}."
    failed = [item for item in target.findings if item.is_broken]
    known = sum(item.outcome is Outcome.KNOWN for item in failed)
    musts = {item.rule for item in failed if item.level is Level.MUST}
    shoulds = {item.rule for item in failed} - musts
    levels = ((Level.MUST, musts), (Level.SHOULD, shoulds))
    broken = " and ".join(plural(len(ids), f"{level} rule") for level, ids in levels if ids)
    beside = f", {known} of them known" if known else ""
    return f"{broken} failed, in {plural(len(failed), 'check')}{beside}."


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings as name and JSON, members of objects under dotted names, two levels deep."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value and prefix.count(".") < 1:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) and value else quote(value, 300)


def some(names: Iterable[str], limit: int = SUBJECTS) -> Shown:
    """Return the first few of the different names; "-", which stands for none, is left out."""
    distinct = [name for name in dict.fromkeys(names) if name != "-"]
    return Shown(tuple(distinct[:limit]), max(0, len(distinct) - limit))


Item = TypeVar("Item")
Key = TypeVar("Key")


def by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Gather items that have a key in common, in the order in which the keys come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
