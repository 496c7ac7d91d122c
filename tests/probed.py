"""Evidence from literal answers to several calls: a sample, and the probes that are compared with it.

    evidence = after_sample(Probe.REPLAY, {"media_buy_id": "mb-1"}, {"media_buy_id": "mb-2"})

Answers are AdCP payloads, results (Result) or whole HTTP responses (Http).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evidence import REVISION, URL, Http, surveyed
from pytest_adcp.harness.calls import PlannedCall, Probe, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import Era, Exchange, Kind, Request, Response, Transcript

CAPABILITIES = {
    "status": "completed",
    "adcp": {"major_versions": [3], "idempotency": {"supported": True, "replay_ttl_seconds": 86400}},
    "supported_protocols": ["media_buy"],
}


@dataclass(frozen=True)
class Result:
    """A tool result as it comes."""

    value: Mapping[str, Any]


def error(code: str = "INVALID_REQUEST", message: str = "No.", **members: Any) -> Result:
    """Return a task's failure; members beside code and message go into the error object, `payload` round it."""
    around = members.pop("payload", {})
    return Result(
        {
            "content": [],
            "structuredContent": {"adcp_error": {"code": code, "message": message, **members}, **around},
            "isError": True,
        }
    )


def prose(text: str) -> Result:
    """Return a failure without an error object."""
    return Result({"content": [{"type": "text", "text": text}], "isError": True})


def after_sample(
    probe: Probe,
    sample: Any,
    answer: Any,
    *,
    tool: str = "get_products",
    arguments: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Evidence:
    """Return the evidence of a sample and one probe that varies it; `rest` goes to `asked`."""
    first = PlannedCall(tool, "sample", {}, Purpose.GOOD)
    second = PlannedCall(
        tool, str(probe), arguments or {}, Purpose.PROBE, probe=probe, baseline=first.subject
    )
    return asked([(first, sample), (second, answer)], **rest)


def series(probe: Probe, *answers: Any, tool: str = "get_products", **rest: Any) -> Evidence:
    """Return the evidence of probes of which each is compared with those before it."""
    calls: list[tuple[PlannedCall, Any]] = []
    for number, answer in enumerate(answers, start=1):
        before = calls[-1][0].subject if calls else None
        name = f"{probe}-{number}"
        call = PlannedCall(tool, name, {}, Purpose.PROBE, probe=probe, baseline=before)
        calls.append((call, answer))
    return asked(calls, **rest)


def asked(
    calls: Iterable[tuple[PlannedCall, Any]],
    *,
    release: str = "3.1",
    capabilities: Mapping[str, Any] = CAPABILITIES,
) -> Evidence:
    """Return the evidence of calls and their answers, after get_adcp_capabilities."""
    made = [(PlannedCall("get_adcp_capabilities", "sample", {}, Purpose.GOOD), capabilities), *calls]
    names = dict.fromkeys(call.tool for call, _ in made)
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    opening = surveyed(tools=tools).transcript
    exchanges = list(opening.exchanges)
    session = Session(Era.HANDSHAKE, revision=REVISION)
    for number, (call, answer) in enumerate(made):
        params = {"name": call.tool, "arguments": dict(call.arguments)}
        sent = session.request(number, "tools/call", params)
        came = answer if isinstance(answer, Http) else Http(_response(number, answer))
        response = Response(
            came.status, "HTTP/1.1", (("content-type", came.content_type),), came.raw, len(came.raw)
        )
        exchanges.append(
            Exchange(
                index=len(exchanges),
                subject=call.subject,
                kind=Kind.CALL,
                request=Request("POST", URL, sent.headers, sent.body),
                response=response,
                end=came.end,
                era=Era.HANDSHAKE,
            )
        )
    survey = replace(opening.survey, calls=tuple(call for call, _ in made))
    return Evidence(Transcript(survey, tuple(exchanges)), spec=release)


def _response(number: int, answer: Any) -> dict[str, Any]:
    result = (
        answer.value if isinstance(answer, Result) else {"content": [], "structuredContent": dict(answer)}
    )
    return {"jsonrpc": "2.0", "id": number, "result": result}
