"""Two ids that nobody has, asked for in the same way: who may not see a thing must not learn whether it is there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe, Purpose
from pytest_adcp.harness.placeholders import UNKNOWN_VALUE
from pytest_adcp.harness.tasks import UNKNOWN_ID

from .candidates import members_of
from .contexts import rich_context

MAX_TASKS = 2


def calls(bad: Sequence[PlannedCall], run_id: str) -> Iterator[PlannedCall | NotCalled]:
    """Yield two requests a task, made of the bad ones that ask a read for an unknown id.

    Those that ask for a list of ids come last: they may well be answered with an empty list. Before them come the
    requests to refine what was never proposed, which not every seller understands.
    """
    lookups = [call for call in bad if call.name == UNKNOWN_ID and not call.mutating]
    lookups.sort(key=lambda call: (_asks_for_list(call.arguments), call.tool == "get_products"))
    if not lookups:
        yield NotCalled(
            f"probe/{Probe.NOT_FOUND}",
            "no read that is called takes one id (a list of ids may be answered with an empty list)",
        )
    for lookup in lookups[:MAX_TASKS]:
        first: str | None = None
        for number in (1, 2):
            name = f"{Probe.NOT_FOUND}-{number}"
            arguments = _renamed(lookup.arguments, f"{run_id}\n{lookup.tool}/{name}")
            if first is None and (members := members_of(arguments, "context")) is not None:
                members["context"] = rich_context(run_id)
            call = replace(
                lookup,
                name=name,
                arguments=arguments,
                purpose=Purpose.PROBE,
                probe=Probe.NOT_FOUND,
                after=None,
                baseline=first,
            )
            first = first or call.subject
            yield call


def _asks_for_list(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, str) and UNKNOWN_VALUE.fullmatch(item) for item in value)
    return isinstance(value, dict) and any(_asks_for_list(item) for item in value.values())


def _renamed(value: Any, seed: str) -> Any:
    """Return a request with another id wherever it has one that nobody has."""
    if isinstance(value, dict):
        return {name: _renamed(item, seed) for name, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, seed) for item in value]
    if isinstance(value, str) and UNKNOWN_VALUE.fullmatch(value):
        return f"unknown_{hashlib.sha256(seed.encode()).hexdigest()[:16]}"
    return value
