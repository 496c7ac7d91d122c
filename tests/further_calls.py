"""Further calls in the evidence of a survey, and what they gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import PlannedCall, Probe, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.transcript import Kind, Transcript


def probe_of(probe: Probe, arguments: Mapping[str, Any], *, tool: str = "get_products") -> PlannedCall:
    """Return the call of a probe that is compared with the one call of `surveyed`."""
    sample = f"{tool}/brief"
    return PlannedCall(tool, str(probe), arguments, Purpose.PROBE, probe=probe, baseline=sample, after=sample)


def with_call(
    evidence: Evidence,
    call: PlannedCall,
    answer: Mapping[str, Any],
    *,
    release: str | None = None,
    status: int = 200,
) -> Evidence:
    """Return the evidence with one more call at its end.

    Args:
        evidence: of a survey that made a call.
        call: the further one.
        answer: `result` or `error` of the JSON-RPC response.
        release: what --adcp-spec pins.
        status: of the HTTP response.
    """
    survey, exchanges = evidence.transcript.survey, evidence.transcript.exchanges
    before = next(exchange for exchange in exchanges if exchange.kind is Kind.CALL)
    assert before.response is not None
    request_id = f"further-{len(exchanges)}"
    sent = json.loads(before.request.body)
    sent |= {"id": request_id, "params": {"name": call.tool, "arguments": dict(call.arguments)}}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, **answer}).encode()
    further = replace(
        before,
        index=len(exchanges),
        subject=call.subject,
        request=replace(before.request, body=json.dumps(sent).encode()),
        response=replace(before.response, status=status, body=body, received=len(body)),
    )
    transcript = Transcript(replace(survey, calls=(*survey.calls, call)), (*exchanges, further))
    return Evidence(transcript, spec=release)
