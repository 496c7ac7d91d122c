"""Servers as the connected-apps profile sees them, from literal definitions: no server runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evidence import REVISION, Http, surveyed
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.standards import Standards
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.suites import CONNECTED_APPS

OPENED = {
    "protocolVersion": REVISION,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "app", "version": "1"},
}


def app(
    *tools: Mapping[str, Any], instructions: str | None = None, pages: Sequence[Sequence[Any]] = ()
) -> Evidence:
    """Return the evidence of a survey of a server that lists these tools; `pages` instead of one page."""
    opened = OPENED if instructions is None else {**OPENED, "instructions": instructions}
    listed = pages or [tools]
    return surveyed(
        initialize=Http({"jsonrpc": "2.0", "id": 1, "result": opened}),
        pages=[
            Http(
                {
                    "jsonrpc": "2.0",
                    "id": f"list-{number}",
                    "result": {"tools": list(page)}
                    | ({"nextCursor": f"page-{number}"} if number < len(listed) else {}),
                }
            )
            for number, page in enumerate(listed, 1)
        ],
    )


def tool(name: str = "get_weather", **members: Any) -> dict[str, Any]:
    """Return a good tool definition with some members changed; None takes one away."""
    good = {
        "name": name,
        "description": "Tells the weather of a city. Returns degrees Celsius and a sentence.",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "A city, e.g. Oslo"}},
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    return {key: value for key, value in {**good, **members}.items() if value is not None}


def with_properties(*, required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    """Return an inputSchema."""
    return {"type": "object", "properties": properties, "required": list(required)}


def judged(evidence: Evidence, rule_id: str, standards: Standards | None = None) -> Finding:
    """Return what a rule says; the gravest finding, where it is tried on several subjects."""
    if standards is not None:
        evidence = Evidence(evidence.transcript, standards=standards)
    (rule,) = (rule for rule in load(CONNECTED_APPS) if rule.id == f"connected-apps.{rule_id}")
    order = list(Outcome)
    findings = [judge(rule, entry) for entry in evidence.of(rule)]
    return max(findings, key=lambda finding: order.index(finding.outcome) * (finding.outcome in _BAD))


_BAD = (Outcome.FAILED, Outcome.ADVISORY, Outcome.BLOCKED)


def text_of(finding: Finding) -> str:
    """Return all of a finding's words, to look into."""
    return json.dumps([finding.message, finding.expected, finding.received, finding.fix, *finding.further])
