"""The terminal summary of a fleet: a line a target, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_adcp.harness.text import plural, safe
from pytest_adcp.harness.verdict import Verdict

from .fleet import Fleet, TargetResult, counted
from .fleet_words import headline
from .terminal import Line

_SHOWN = 25  # targets; the rest is counted
_LONG = 500  # characters of a line
_COLOURS = {Verdict.CONFORMANT: "green", Verdict.NONCONFORMANT: "red", Verdict.INCONCLUSIVE: "yellow"}


def summary(
    fleet: Fleet, *, verbosity: int = 0, files: Sequence[str] = (), narrowed: str = "", why: str = ""
) -> list[Line]:
    """Return the lines that sum a fleet up; nothing in them is unsafe for a terminal.

    Args:
        fleet: built or loaded.
        verbosity: as pytest's: below 0 only the first line and the last; above 0 every target.
        files: what was written: fleet.json first, then what else there is to open.
        narrowed: how the run was narrowed.
        why: the exit code and its reason (fleet_words.ended), to be said last; empty: the run does not end by it.
    """
    return [(safe(text, _LONG), markup) for text, markup in _summary(fleet, verbosity, files, narrowed, why)]


def _summary(fleet: Fleet, verbosity: int, files: Sequence[str], narrowed: str, why: str) -> Iterator[Line]:
    shard = (
        f" (shard {fleet.shard.index}/{fleet.shard.count} of {fleet.listed.targets})" if fleet.shard else ""
    )
    number = plural(len(fleet.targets), "target")
    yield f"fleet: {number}{shard}: {counted(fleet.targets)}, in {fleet.seconds:.1f} s", {"bold": True}
    if verbosity >= 0:
        yield from _targets(fleet, verbosity, files, narrowed)
    if why:
        yield why, {"bold": True}


def _targets(fleet: Fleet, verbosity: int, files: Sequence[str], narrowed: str) -> Iterator[Line]:
    if narrowed:
        yield f"the exit code speaks of a part: {narrowed}", {}
    if not fleet.targets:
        yield (
            "no target falls into this shard: whether all shards were judged, merging their fleet.json says",
            {},
        )
    shown = fleet.targets if verbosity > 0 else fleet.targets[:_SHOWN]
    for target in shown:
        yield line(target), {"red" if target.alarms else _COLOURS[target.verdict]: True}
    if rest := len(fleet.targets) - len(shown):
        yield f"and {plural(rest, 'target')} more, in {files[0] if files else 'fleet.json'}", {}
    for file in files:
        yield f"report: {file}", {}
    if files:
        yield "each target has a report of its own, in the folder of its name", {}


def line(target: TargetResult) -> str:
    """Return a target in one line: verdict, name, and what there is to know first."""
    return safe(f"{target.verdict} {target.name}: {headline(target)}", _LONG)
