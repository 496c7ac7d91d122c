"""A read with what a platform of connected apps tells of its user: language and place, in _meta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import Expect, NotCalled, PlannedCall, Probe, Purpose
from pytest_adcp.harness.tasks import CAPABILITIES, catalogue

# A place in the sea off Ghana: nobody lives there.
_PLACE = {"latitude_degrees": 0.0, "longitude_degrees": 0.0}
_CONTEXT: Mapping[str, Any] = {
    "user_locale": {"language_code": "en", "region_code": "US"},
    "current_user_location_coarse": {**_PLACE, "accuracy_meters": 20000},
    "current_user_location_fine": {**_PLACE, "accuracy_meters": 20},
}


def calls(
    planned: Sequence[PlannedCall], tools: Mapping[str, Mapping[str, Any]]
) -> Iterator[PlannedCall | NotCalled]:
    """Yield one read again, or why there is none; `tools` are the server's by their names."""
    reads = [call for call in planned if _is_read(call, tools)]
    # The capabilities are asked for with nothing: a read with arguments shows more.
    reads.sort(
        key=lambda call: (call.tool == CAPABILITIES, call.purpose is not Purpose.CONFIGURED, bool(call.takes))
    )
    if not reads:
        yield NotCalled(f"probe/{Probe.USER_CONTEXT}", "no call that changes nothing is made")
        return
    yield replace(
        reads[0],
        name=str(Probe.USER_CONTEXT),
        purpose=Purpose.PROBE,
        expect=Expect.ANY,
        error_codes=(),
        probe=Probe.USER_CONTEXT,
        baseline=reads[0].subject,
    )


def params(call: PlannedCall) -> Mapping[str, Any]:
    """Return the members that a call has beside its name and arguments."""
    return {"_meta": dict(_CONTEXT)} if call.probe is Probe.USER_CONTEXT else {}


def _is_read(call: PlannedCall, tools: Mapping[str, Mapping[str, Any]]) -> bool:
    if call.purpose not in (Purpose.GOOD, Purpose.CONFIGURED) or call.expect is Expect.ERROR:
        return False
    if call.tool in catalogue():
        return not call.mutating
    annotations = tools.get(call.tool, {}).get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
