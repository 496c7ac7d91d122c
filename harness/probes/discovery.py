"""get_adcp_capabilities without any argument: how a buyer that knows nothing yet begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe
from pytest_adcp.harness.tasks import CAPABILITIES

from .candidates import Candidate


def calls(candidates: Sequence[Candidate]) -> Iterator[PlannedCall | NotCalled]:
    """Yield the call, arguments `{}` whatever the tool's inputSchema says: that is the very thing under test."""
    found = next((item for item in candidates if item.task.name == CAPABILITIES), None)
    if found is None:
        yield NotCalled(f"probe/{Probe.NO_ARGUMENTS}", f"{CAPABILITIES} is not called")
        return
    yield replace(found.varied(Probe.NO_ARGUMENTS), arguments={}, takes=(), after=None)
