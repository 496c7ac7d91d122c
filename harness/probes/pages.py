"""Lists read an item a page, as far as five pages."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate

MAX_LISTS = 2
MAX_PAGES = 5
LONGEST_CURSOR = 4096  # characters of a cursor that is sent back


def calls(candidates: Sequence[Candidate]) -> Iterator[PlannedCall | NotCalled]:
    """Yield the first page of the first reads whose tool names an argument pagination."""
    lists = [item for item in candidates if not item.task.mutating and item.names("pagination")]
    if not lists:
        yield NotCalled(f"probe/{Probe.PAGE}", "no read that is called has an argument pagination")
    for item in lists[:MAX_LISTS]:
        pagination = item.members(item.sample).get("pagination")
        asked = {**(pagination if isinstance(pagination, Mapping) else {}), "max_results": 1}
        first = item.varied(Probe.PAGE, {"pagination": asked}, number=1)
        yield replace(first, baseline=None)  # its answer starts a series of its own


def following(call: PlannedCall, payload: Mapping[str, Any]) -> PlannedCall | None:
    """Return the call of the next page; None after the last one, or where there have been enough."""
    number = int(call.name.rpartition("-")[2])
    pagination = payload.get("pagination")
    cursor = pagination.get("cursor") if isinstance(pagination, Mapping) else None
    if number >= MAX_PAGES or not isinstance(cursor, str) or not 0 < len(cursor) <= LONGEST_CURSOR:
        return None
    arguments = copy.deepcopy(dict(call.arguments))
    members = arguments if "pagination" in arguments else next(iter(arguments.values()))
    members["pagination"]["cursor"] = cursor
    return replace(
        call,
        name=f"{Probe.PAGE}-{number + 1}",
        arguments=arguments,
        takes=(),
        after=call.subject,
        baseline=call.subject,
    )
