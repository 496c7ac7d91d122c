"""Lists read an item a page, as far as five pages."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate, members_of

MAX_LISTS = 2
MAX_PAGES = 5
ITEMS_ASKED = 1  # items a page
LONGEST_CURSOR = 4096  # characters of a cursor that is sent back
BY_OFFSET = frozenset({"get_creative_delivery"})  # its pagination has limit and offset, no cursor
# From 3.2 reports are paged only where the request names a revision, or the view of single periods.
_OTHERWISE = BY_OFFSET | {"get_media_buy_delivery", "get_reporting_status"}


def calls(candidates: Sequence[Candidate]) -> Iterator[PlannedCall | NotCalled]:
    """Yield the first page of the first reads whose tool names an argument pagination."""
    reads = (item for item in candidates if not item.task.mutating and item.task.name not in _OTHERWISE)
    lists = [item for item in reads if item.takes("pagination", {})]
    if not lists:
        yield NotCalled(f"probe/{Probe.PAGE}", "no read that is called has an argument pagination")
    for item in lists[:MAX_LISTS]:
        pagination = item.members(item.sample).get("pagination")
        asked = {**(pagination if isinstance(pagination, Mapping) else {}), "max_results": ITEMS_ASKED}
        first = item.varied(Probe.PAGE, {"pagination": asked}, number=1)
        yield replace(first, baseline=None)  # its answer starts a series of its own


def following(call: PlannedCall, payload: Mapping[str, Any]) -> PlannedCall | None:
    """Return the call of the next page; None after the last one, or where there have been enough."""
    number = int(call.name.rpartition("-")[2])
    found = payload.get("pagination")
    pagination = found if isinstance(found, Mapping) else {}
    cursor = pagination.get("cursor")
    if number >= MAX_PAGES or not isinstance(cursor, str) or not 0 < len(cursor) <= LONGEST_CURSOR:
        return None
    if pagination.get("has_more") is False:
        return None  # a cursor that should not be there leads nowhere
    arguments = copy.deepcopy(dict(call.arguments))
    members = members_of(arguments, "pagination")
    assert members is not None  # the first page has it
    members["pagination"]["cursor"] = cursor
    return replace(
        call,
        name=f"{Probe.PAGE}-{number + 1}",
        arguments=arguments,
        takes=(),
        after=call.subject,
        baseline=call.subject,
    )
