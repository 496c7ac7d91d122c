"""The report of a fleet in Markdown: a row a target, for the summary of a CI job, a pull request, or a file."""

from __future__ import annotations

from pytest_adcp.harness.text import one_line, plural
from pytest_adcp.harness.verdict import Verdict

from .bounded import Page
from .fleet import Fleet, TargetResult, counted
from .fleet_words import ended, first_reason
from .markdown import BAD, COMMENT, SIGNS, row
from .marks import code, prose
from .terminal import counts_line

_CELL = 300  # characters
_TEXT = 600
_SETTINGS = 200
_STALE = 100  # rows
_HEAD = "| Target | Verdict | Checks | Alarm | First reason |\n| --- | --- | --- | --- | --- |"


def render(fleet: Fleet, *, limit: int = COMMENT) -> str:
    """Return the report as CommonMark with GitHub's tables, the gravest target first.

    Args:
        fleet: built or loaded; its text is foreign.
        limit: bytes of UTF-8 that the page may take; under 4096 it is taken for 4096. What has no room is counted.
    """
    page = Page(limit)
    number = plural(len(fleet.targets), "target")
    page.add(f"## {_sign(fleet)} AdCP conformance of {number}: {counted(fleet.targets)}")
    page.add(prose(ended(fleet), _TEXT))
    if fleet.shard is not None:
        page.add(
            f"Shard {fleet.shard.index}/{fleet.shard.count} of a list of {plural(fleet.listed.targets, 'target')}"
        )
    left = page.add_rows(_HEAD, map(_row, fleet.targets))
    stale = [
        f"- {code(target.name)}: {prose(text, _TEXT)}" for target in fleet.targets for text in target.stale
    ]
    unsaid = page.add_rows("### Stale or expired in a baseline\n", stale[:_STALE]) + len(stale[_STALE:])
    rest = " and ".join(plural(n, noun) for n, noun in ((left, "target"), (unsaid, "baseline entry")) if n)
    return page.close(*([f"_{rest} more, in fleet.json_"] if rest else []), _settings(fleet))


def _row(target: TargetResult) -> str:
    alarm = (
        f"{BAD} {prose(target.alarm.summary, _CELL)}" if target.alarm is not None and target.alarms else ""
    )
    return row(
        code(target.name),
        f"{SIGNS[target.verdict]} {target.verdict}",
        prose(counts_line(target.counts), _CELL),
        alarm,
        prose(first_reason(target), _CELL),
    )


def _sign(fleet: Fleet) -> str:
    """Return the sign of the worst verdict; what only a baseline makes fail has failed too."""
    verdicts = {target.verdict for target in fleet.targets}
    failed = Verdict.NONCONFORMANT in verdicts or any(target.alarms for target in fleet.targets)
    if failed:
        return BAD
    return SIGNS[Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Verdict.CONFORMANT]


def _settings(fleet: Fleet) -> str:
    harness = fleet.harness
    parts = [f"{harness.name} {harness.version}", f"rules {harness.rules_version}", fleet.generated_at]
    return f"Settings: {prose(one_line('; '.join(parts), _SETTINGS))}"
