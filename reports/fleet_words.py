"""What every form of a fleet's report says in words: of a target, and of how the run ends. Texts may be foreign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_adcp.harness.text import one_line, plural
from pytest_adcp.harness.verdict import Outcome, Verdict

from .alarms import sentence
from .fleet import Fate, Fleet, TargetResult, fate

_FAMILIES = 4  # named in a line
_NAMED = 3  # targets
_REASON = 200  # characters
# Of one target, and of many.
_FATES = {
    Fate.FAULT: ("met a fault of the harness", "met a fault of the harness"),
    Fate.UNREACHED: ("could not be surveyed", "could not be surveyed"),
    Fate.FAILS: ("fails", "fail"),
    Fate.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    Fate.NOTHING_JUDGED: ("had nothing to be judged", "had nothing to be judged"),
}


def headline(target: TargetResult) -> str:
    """Return what there is to know first about a target, and whether its baseline makes it fail."""
    return "; ".join(filter(None, (first_reason(target), alarm(target))))


def alarm(target: TargetResult) -> str:
    """Return why the baseline of a target makes it fail; empty where it does not."""
    return one_line(sentence(target.alarm), _REASON) if target.alarm is not None and target.alarms else ""


def first_reason(target: TargetResult) -> str:
    """Return what most of all makes the verdict on a target what it is."""
    return one_line(target.problem, _REASON) if target.problem else "; ".join(_reasons(target))


def _reasons(target: TargetResult) -> Iterator[str]:
    failed = target.counts.get(Outcome.FAILED, 0)
    if failed:
        names = [
            f"{result.family} ({result.counts.get(Outcome.FAILED, 0)})"
            for result in target.families
            if result.outcome == Outcome.FAILED
        ]
        rest = f" and {len(names) - _FAMILIES} more" if len(names) > _FAMILIES else ""
        yield f"{plural(failed, 'check')} failed: {', '.join(names[:_FAMILIES])}{rest}"
    if known := target.counts.get(Outcome.KNOWN, 0):
        yield plural(known, "known failure")
    if not failed and target.reasons:
        yield one_line(target.reasons[0], _REASON)
    elif not failed:
        yield f"{plural(target.counts.get(Outcome.PASSED, 0), 'check')} passed"


def server(target: TargetResult) -> str:
    """Return what is known of the server of a target; empty where nothing is."""
    found = target.server
    name = f"{found.name} {found.version}".strip() if found is not None else ""
    revision = f"MCP {found.protocol_version}" if found is not None and found.protocol_version else ""
    release = f"AdCP {target.adcp_version}" if target.adcp_version else ""
    return ", ".join(filter(None, (name, revision, release)))


def ended(fleet: Fleet) -> str:
    """Return the exit code of a fleet and why it is this one: the gravest thing that is true of any target."""
    by_fate: dict[Fate, list[str]] = {}
    for target in fleet.targets:
        by_fate.setdefault(fate(target), []).append(target.name)
    first, *others = [
        f"{_some(by_fate[each])} {_FATES[each][len(by_fate[each]) > 1]}" for each in _FATES if each in by_fate
    ] or [_all_good(fleet)]
    less = f"; less grave: {'; '.join(others)}" if others else ""
    return f"exit code {int(fleet.exit_code)}: {first}{less}"


def _all_good(fleet: Fleet) -> str:
    verdicts = {target.verdict for target in fleet.targets}
    if not verdicts:
        return "there was no target to judge"
    if Verdict.NONCONFORMANT in verdicts:
        return "every failure is known"
    whole = verdicts == {Verdict.CONFORMANT}
    return "every target is conformant" if whole else "nothing failed in the part that was judged"


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{rest}"
