"""What every request may carry and a server has to put up with: envelope members, and members that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate, fresh_key

MAX_READS = 8  # tasks that are tried with envelope members
UNKNOWN_MEMBER = "x_pytest_adcp_unknown"


def calls(candidates: Sequence[Candidate], run_id: str) -> Iterator[PlannedCall | NotCalled]:
    """Yield the reads with more members than they need, whether the tool's inputSchema knows these or not.

    push_notification_config is left out: sellers may refuse it where the answer is immediate.
    """
    reads = [item for item in candidates if not item.task.mutating]
    if not reads:
        yield NotCalled(f"probe/{Probe.ENVELOPE_FIELDS}", "no read is called")
    for read in reads[:MAX_READS]:
        subject = f"{read.task.name}/{Probe.ENVELOPE_FIELDS}"
        yield read.varied(
            Probe.ENVELOPE_FIELDS,
            {
                "idempotency_key": fresh_key(run_id, subject),
                "context_id": f"pytest-adcp-{run_id}",
                "governance_context": f"pytest-adcp-{run_id}",
                "ext": {"pytest_adcp": {"run": run_id}},
            },
        )
    opened = [item for item in reads if item.tool.known.open]
    if not opened:
        why = "the inputSchema of no read that is called says that it takes further members"
        yield NotCalled(f"probe/{Probe.UNKNOWN_FIELD}", why)
        return
    yield opened[0].varied(Probe.UNKNOWN_FIELD, {UNKNOWN_MEMBER: "to be ignored"})
