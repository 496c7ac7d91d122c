"""Plans over small tool lists, and what to look at in them."""

from __future__ import annotations

from datetime import date
from typing import Any

from pytest_adcp.harness.calls import PlannedCall, Probe
from pytest_adcp.harness.plan import Plan, PlanRequest, plan

TODAY = date(2030, 1, 1)
SANDBOX = {"account_id": "sandbox-1"}
TEXT = {"type": "string"}
OPEN: dict[str, Any] = {"type": "object"}


def listed(*names: str, **schemas: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": OPEN} for name in names] + [
        {"name": name, "inputSchema": schema} for name, schema in schemas.items()
    ]


def closed(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in names}, "required": list(required)}


def planned(listing: list[dict[str, Any]], run_id: str = "r1", **request: Any) -> Plan:
    """Plan the plain calls: tests/test_probes.py is about those that try single behaviours."""
    return plan(listing, PlanRequest(today=TODAY, **{"probes": False, **request}), run_id)


def mutating(listing: list[dict[str, Any]], **request: Any) -> Plan:
    return planned(listing, allow_mutating=True, sandbox_account=SANDBOX, **request)


def subjects(made: Plan) -> list[str]:
    return [call.subject for call in made.calls]


def call(made: Plan, subject: str) -> PlannedCall:
    (found,) = [call for call in made.calls if call.subject == subject]
    return found


def why(made: Plan, item: str) -> str:
    (found,) = [left.why for left in made.not_called if left.item == item]
    return found


def probing(tools: list[dict[str, Any]], run_id: str = "r1", **request: Any) -> Plan:
    """Plan with all probes."""
    return plan(tools, PlanRequest(today=TODAY, **request), run_id)


def changing(tools: list[dict[str, Any]], **request: Any) -> Plan:
    return probing(tools, allow_mutating=True, sandbox_account=SANDBOX, **request)


def of(made: Plan, probe: Probe) -> list[PlannedCall]:
    return [call for call in made.calls if call.probe is probe]


def probe_subjects(made: Plan, probe: Probe) -> list[str]:
    return [call.subject for call in of(made, probe)]
