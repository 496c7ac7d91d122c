"""Mutating requests without their key, again with the same key, and with a key that another request had.

Planned only where mutating tasks are: in the sandbox account that the user names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe, Purpose
from pytest_adcp.harness.placeholders import Values, fill
from pytest_adcp.harness.tasks import UNKNOWN_ID

from .candidates import Candidate

_KEY = "idempotency_key"
_PROBES = (Probe.NO_KEY, Probe.REPLAY, Probe.KEY_CONFLICT, Probe.FAILURE_AGAIN)
_NOT_MUTATING = "no mutating task with an idempotency_key is called"


def calls(
    candidates: Sequence[Candidate], bad: Sequence[PlannedCall], values: Values
) -> Iterator[PlannedCall | NotCalled]:
    """Yield the four probes, for one mutating task; create_media_buy goes first."""
    able = [item for item in candidates if item.task.mutating and _KEY in item.members(item.sample)]
    able.sort(key=lambda item: (item.task.name != "create_media_buy", not item.task.other))
    if not able:
        yield NotCalled(", ".join(f"probe/{probe}" for probe in _PROBES), _NOT_MUTATING)
        return
    item = able[0]
    yield replace(
        item.varied(Probe.NO_KEY, without=(_KEY,), violates=f"{_KEY} is missing"), after=None, baseline=None
    )
    yield item.varied(Probe.REPLAY)
    other = next((item for item in able if item.task.other and item.knows(*item.task.other)), None)
    if other is None:
        yield NotCalled(
            f"probe/{Probe.KEY_CONFLICT}", "no request of a mutating task that is called can be changed"
        )
    else:
        violates = f"{_KEY} was used for another request"
        yield other.varied(Probe.KEY_CONFLICT, fill(other.task.other, values).arguments, violates=violates)
    yield from _failure_again(item, bad)


def _failure_again(item: Candidate, bad: Sequence[PlannedCall]) -> Iterator[PlannedCall | NotCalled]:
    """Yield a bad request twice, both with the key that the bad request has."""
    failing = [call for call in bad if call.tool == item.task.name and _KEY in item.members(call)]
    failing.sort(key=lambda call: call.name != UNKNOWN_ID)  # refused by the task, not by a check before it
    if not failing:
        yield NotCalled(f"probe/{Probe.FAILURE_AGAIN}", f"there is no bad request of {item.task.name}")
        return
    first: str | None = None
    for number in (1, 2):
        call = replace(
            failing[0],
            name=f"{Probe.FAILURE_AGAIN}-{number}",
            purpose=Purpose.PROBE,
            probe=Probe.FAILURE_AGAIN,
            after=None,
            baseline=first,
        )
        first = first or call.subject
        yield call
