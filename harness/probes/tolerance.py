"""What every request may carry and a server has to put up with: envelope members, and members that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate, fresh_key

MAX_READS = 8  # tasks that are tried with envelope members
UNKNOWN_MEMBER = "x_pytest_adcp_unknown"
# Reads whose request schema is closed in some release: AdCP itself refuses further members there.
CLOSED = frozenset(
    {
        "check_governance",
        "get_collection_list",
        "get_plan_audit_logs",
        "get_property_list",
        "list_collection_lists",
        "list_products",
        "list_property_lists",
        "validate_property_delivery",
    }
)
_USUAL = ("get_products", "get_signals")


def calls(candidates: Sequence[Candidate], run_id: str) -> Iterator[PlannedCall | NotCalled]:
    """Yield the reads with more members than they need, whether the tool's inputSchema knows these or not.

    push_notification_config is left out: sellers may refuse it where the answer is immediate.
    """
    reads = [item for item in candidates if not item.task.mutating and item.task.name not in CLOSED]
    if not reads:
        items = ", ".join(f"probe/{probe}" for probe in (Probe.ENVELOPE_FIELDS, Probe.UNKNOWN_FIELD))
        yield NotCalled(items, "no read is called whose request may hold further members")
        return
    for read in reads[:MAX_READS]:
        yield read.varied(Probe.ENVELOPE_FIELDS, envelope(read.task.name, run_id))
    reads.sort(key=lambda item: item.task.name not in _USUAL)
    yield reads[0].varied(Probe.UNKNOWN_FIELD, {UNKNOWN_MEMBER: "to be ignored"})


def envelope(tool: str, run_id: str) -> Mapping[str, Any]:
    """Return the envelope members that a call is sent with."""
    return {
        "idempotency_key": fresh_key(run_id, f"{tool}/{Probe.ENVELOPE_FIELDS}"),
        "context_id": f"pytest-adcp-{run_id}",
        "governance_context": f"pytest-adcp-{run_id}",
        "ext": {"pytest_adcp": {"run": run_id}},
    }
