"""Mutating requests without their key, again with the same key, and with a key that another request had.

Planned only where mutating tasks are: in the sandbox account that the user names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe
from pytest_adcp.harness.placeholders import Values, fill
from pytest_adcp.harness.tasks import UNKNOWN_ID

from .candidates import Candidate, fresh_key

_KEY = "idempotency_key"
_PROBES = (Probe.NO_KEY, Probe.REPLAY, Probe.KEY_CONFLICT, Probe.FAILURE_AGAIN)
_NOT_MUTATING = "no mutating task with an idempotency_key is called"


def calls(
    candidates: Sequence[Candidate], bad: Sequence[PlannedCall], values: Values
) -> Iterator[PlannedCall | NotCalled]:
    """Yield the four probes, for one mutating task each; create_media_buy goes first."""
    able = [item for item in candidates if item.task.mutating and _KEY in item.members(item.sample)]
    able.sort(key=lambda item: (item.task.name != "create_media_buy", not item.task.other))
    if not able:
        yield NotCalled(", ".join(f"probe/{probe}" for probe in _PROBES), _NOT_MUTATING)
        return
    item = able[0]
    # Beside a sample that is refused the lack of a key shows nothing; that it was accepted nobody has to wait for.
    yield replace(item.varied(Probe.NO_KEY, without=(_KEY,), violates=f"{_KEY} is missing"), after=None)
    # What a dry run gave need not be kept: nothing was done.
    real = next((item for item in able if not item.members(item.sample).get("dry_run")), None)
    if real is None:
        yield NotCalled(f"probe/{Probe.REPLAY}", "the mutating tasks that are called are dry runs only")
    else:
        yield real.varied(Probe.REPLAY)
    other = next((item for item in able if item.task.other and item.knows(*item.task.other)), None)
    if other is None:
        yield NotCalled(
            f"probe/{Probe.KEY_CONFLICT}", "no request of a mutating task that is called can be changed"
        )
    else:
        violates = f"{_KEY} was used for another request"
        yield other.varied(Probe.KEY_CONFLICT, fill(other.task.other, values).arguments, violates=violates)
    yield from _failure_again(item, bad, values.run_id)


def _failure_again(
    item: Candidate, bad: Sequence[PlannedCall], run_id: str
) -> Iterator[PlannedCall | NotCalled]:
    """Yield a bad request twice, both with one key that nothing else has."""
    failing = [call for call in bad if call.tool == item.task.name and _KEY in item.members(call)]
    failing.sort(key=lambda call: call.name != UNKNOWN_ID)  # refused by the task, not by a check before it
    if not failing:
        yield NotCalled(f"probe/{Probe.FAILURE_AGAIN}", f"there is no bad request of {item.task.name}")
        return
    first: str | None = None
    key = fresh_key(run_id, f"{item.task.name}/{Probe.FAILURE_AGAIN}")
    for number in (1, 2):
        call = replace(
            item.varied(Probe.FAILURE_AGAIN, {_KEY: key}, of=failing[0], number=number),
            violates=failing[0].violates,
            after=None,
            baseline=first,
        )
        first = first or call.subject
        yield call
