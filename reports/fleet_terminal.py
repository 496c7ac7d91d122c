"""The terminal summary of a fleet: a line a target, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_adcp.harness.text import one_line, plural, safe
from pytest_adcp.harness.verdict import Outcome, Verdict

from .fleet import Fleet, TargetResult, counted
from .terminal import Line

_SHOWN = 25  # targets; the rest is counted
_FAMILIES = 4  # named in a line
_COLOURS = {Verdict.CONFORMANT: "green", Verdict.NONCONFORMANT: "red", Verdict.INCONCLUSIVE: "yellow"}


def summary(fleet: Fleet, *, verbosity: int = 0, file: str = "", narrowed: str = "") -> list[Line]:
    """Return the lines that sum a fleet up; nothing in them is unsafe for a terminal.

    Args:
        fleet: built or loaded.
        verbosity: as pytest's: below 0 only the first line; above 0 every target.
        file: where fleet.json was written.
        narrowed: how the run was narrowed.
    """
    return list(_summary(fleet, verbosity, file, narrowed))


def _summary(fleet: Fleet, verbosity: int, file: str, narrowed: str) -> Iterator[Line]:
    shard = (
        f" (shard {fleet.shard.index}/{fleet.shard.count} of {fleet.listed.targets})" if fleet.shard else ""
    )
    number = plural(len(fleet.targets), "target")
    yield f"fleet: {number}{shard}: {counted(fleet.targets)}, in {fleet.seconds:.1f} s", {"bold": True}
    if verbosity < 0:
        return
    if narrowed:
        yield safe(f"the exit code speaks of a part: {narrowed}", 300), {}
    if not fleet.targets:
        yield (
            "no target falls into this shard: whether all shards were judged, merging their fleet.json says",
            {},
        )
    shown = fleet.targets if verbosity > 0 else fleet.targets[:_SHOWN]
    for target in shown:
        yield line(target), {_COLOURS[target.verdict]: True}
    if rest := len(fleet.targets) - len(shown):
        yield f"and {plural(rest, 'target')} more, in {safe(file, 300)}", {}
    if file:
        yield f"report: {safe(file, 300)}, and one for each target in the folder of its name", {}


def line(target: TargetResult) -> str:
    """Return a target in one line: verdict, name, and what there is to know first."""
    return safe(f"{target.verdict} {target.name}: {headline(target)}", 300)


def headline(target: TargetResult) -> str:
    """Return what there is to know first about a target."""
    if target.problem:
        return one_line(target.problem, 200)
    failed = [result for result in target.families if result.outcome == Outcome.FAILED]
    if target.counts.get(Outcome.FAILED, 0):
        names = [f"{result.family} ({result.counts.get(Outcome.FAILED, 0)})" for result in failed]
        rest = f" and {len(names) - _FAMILIES} more" if len(names) > _FAMILIES else ""
        return (
            f"{plural(target.counts[Outcome.FAILED], 'check')} failed: {', '.join(names[:_FAMILIES])}{rest}"
        )
    if target.reasons:
        return one_line(target.reasons[0], 200)
    return f"{plural(target.counts.get(Outcome.PASSED, 0), 'check')} passed"
