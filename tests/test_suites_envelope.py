"""The rules of adcp.envelope where the cases do not reach: releases, repeated requests, bounds, hostile payloads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from evidence import answered, finding, outcome, rpc_error, tool_result
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites.adcp import timestamps
from pytest_adcp.suites.adcp.contexts import first_difference

ERROR = {"code": "PRODUCT_NOT_FOUND", "message": "No such product.", "recovery": "correctable"}


def structured(payload: Any, **survey: Any) -> Evidence:
    return tool_result(
        {"content": [{"type": "text", "text": "Done."}], "structuredContent": payload}, **survey
    )


def products(**members: Any) -> dict[str, Any]:
    return {"status": "completed", "products": [], **members}


# -- which release is spoken -------------------------------------------------------------------------------------


def capabilities(*supported: str, **members: Any) -> Evidence:
    adcp = {"major_versions": [3], "supported_versions": list(supported)}
    payload = {"adcp": adcp, "supported_protocols": ["media_buy"], **members}
    return structured(payload, tool="get_adcp_capabilities", release=None)


def test_status_is_due_where_only_newer_releases_are_listed() -> None:
    assert outcome(capabilities("3.2", "3.1"), "adcp.envelope.status") is Outcome.FAILED


def test_status_may_be_missing_where_an_older_release_may_be_meant() -> None:
    assert outcome(capabilities("3.1", "3.0"), "adcp.envelope.status") is Outcome.ADVISORY


def test_what_the_answer_says_of_its_release_counts() -> None:
    evidence = capabilities("3.1", "3.0", adcp_version="3.1")
    assert outcome(evidence, "adcp.envelope.status") is Outcome.FAILED


def test_a_pinned_release_counts_whatever_the_answer_says() -> None:
    evidence = structured({"products": [], "adcp_version": "3.0"}, release="3.1")
    assert outcome(evidence, "adcp.envelope.status") is Outcome.FAILED


@pytest.mark.parametrize("rule", ["context-id", "governance-context", "error-status"])
def test_rules_of_3_1_say_nothing_of_3_0(rule: str) -> None:
    payload = {"adcp_error": ERROR, "context_id": 1, "governance_context": ""}
    evidence = tool_result({"content": [], "structuredContent": payload, "isError": True}, release="3.0")
    assert outcome(evidence, f"adcp.envelope.{rule}") is Outcome.NOT_APPLICABLE


def test_a_server_that_lists_no_release_is_judged_as_3_0() -> None:
    payload = {"adcp": {"major_versions": [3]}, "supported_protocols": ["media_buy"]}
    evidence = structured(payload, tool="get_adcp_capabilities", release=None)
    assert outcome(evidence, "adcp.envelope.status") is Outcome.ADVISORY


# -- what was sent -----------------------------------------------------------------------------------------------


def repeated(evidence: Evidence, *, attempt: int = 1, probe: Probe | None = None) -> Evidence:
    """Make the call of an evidence another attempt, or a probe."""
    transcript = evidence.transcript
    exchanges = tuple(
        replace(exchange, attempt=attempt) if exchange.subject == "get_products/brief" else exchange
        for exchange in transcript.exchanges
    )
    calls = tuple(replace(call, probe=probe) for call in transcript.survey.calls)
    survey = replace(transcript.survey, calls=calls)
    return Evidence(replace(transcript, survey=survey, exchanges=exchanges), spec="3.1")


@pytest.mark.parametrize(
    ("attempt", "probe", "expected"),
    [
        (1, None, Outcome.FAILED),
        (1, Probe.CONTEXT, Outcome.FAILED),
        (2, None, Outcome.PASSED),
        (1, Probe.REPLAY, Outcome.PASSED),
        (1, Probe.FAILURE_AGAIN, Outcome.PASSED),
        (1, Probe.KEY_CONFLICT, Outcome.PASSED),
    ],
)
def test_replayed_may_be_true_only_where_a_key_was_sent_before(
    attempt: int, probe: Probe | None, expected: Outcome
) -> None:
    evidence = repeated(structured(products(replayed=True)), attempt=attempt, probe=probe)
    assert outcome(evidence, "adcp.envelope.replayed") is expected


def test_context_is_compared_with_what_went_over_the_wire() -> None:
    evidence = structured(products(context={"n": 1}), arguments={"context": {"n": 1.0}})
    planned = tuple(
        replace(call, arguments={"context": {"n": 2}}) for call in evidence.transcript.survey.calls
    )
    survey = replace(evidence.transcript.survey, calls=planned)
    evidence = Evidence(replace(evidence.transcript, survey=survey), spec="3.1")
    assert outcome(evidence, "adcp.envelope.context") is Outcome.PASSED


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"params": []}', b'{"params": {"arguments": 3}}'])
def test_a_request_that_cannot_be_read_sent_no_context(body: bytes) -> None:
    evidence = structured(products())
    exchanges = tuple(
        replace(exchange, request=replace(exchange.request, body=body))
        for exchange in evidence.transcript.exchanges
    )
    evidence = Evidence(replace(evidence.transcript, exchanges=exchanges), spec="3.1")
    assert outcome(evidence, "adcp.envelope.context") is Outcome.NOT_APPLICABLE
    assert outcome(evidence, "adcp.envelope.context-invented") is Outcome.PASSED


def test_a_domain_member_called_context_inside_an_argument_is_none_of_the_request() -> None:
    tool = {
        "name": "get_products",
        "inputSchema": {
            "type": "object",
            "properties": {"brief": {"type": "string"}, "brand": {"type": "object"}},
        },
    }
    evidence = structured(products(), tools=[tool], arguments={"brand": {"context": {"season": "spring"}}})
    assert outcome(evidence, "adcp.envelope.context") is Outcome.NOT_APPLICABLE


# -- where it is ----------------------------------------------------------------------------------------------------


def test_pointers_lead_to_the_place() -> None:
    sent = {"context": {"a": {"b/c": [0, 1]}}}
    evidence = structured(products(context={"a": {"b/c": [0, "1"]}}), arguments=sent)
    found = finding(evidence, "adcp.envelope.context")
    assert found.pointer == "/result/structuredContent/context/a/b~1c/1"
    assert (found.expected, found.received) == ("1", '"1"')


def test_pointers_into_a_text_stop_at_it() -> None:
    text = json.dumps(products(context={"a": 2}))
    evidence = tool_result(
        {"content": [{"type": "text", "text": text}]}, revision="2025-03-26", arguments={"context": {"a": 1}}
    )
    assert finding(evidence, "adcp.envelope.context").pointer == "/result/content/0/text"


def test_the_first_time_without_an_offset_is_named_in_the_order_of_the_answer() -> None:
    late = "2026-01-01T00:00:00"
    payload = products(products=[{"a": [{"seen_at": late}]}, {"read_at": late}])
    found = finding(structured(payload), "adcp.envelope.time-offsets")
    assert found.pointer == "/result/structuredContent/products/0/a/0/seen_at"
    assert "(1 more time like it)" in found.message


def test_no_answer_of_the_task_no_verdict() -> None:
    evidence = rpc_error({"code": -32603, "message": "Internal error", "data": {"context": {}}})
    for rule in (
        "error-context",
        "context-invented",
        "status-value",
        "legacy-status",
        "rejection",
        "replayed",
    ):
        assert outcome(evidence, f"adcp.envelope.{rule}") is Outcome.NOT_APPLICABLE
    refused = answered(b"", status=401, arguments={"context": {"a": 1}})
    assert outcome(refused, "adcp.envelope.error-context") is Outcome.BLOCKED


# -- hostile payloads -----------------------------------------------------------------------------------------------


def nested(depth: int, core: str) -> str:
    return '{"a":' * depth + core + "}" * depth


def call_with(payload: str) -> bytes:
    return (
        b'{"jsonrpc": "2.0", "id": "call-7", "result": {"content": [], "structuredContent": %s}}'
        % payload.encode()
    )


def test_depth_is_no_obstacle() -> None:
    deep = nested(20_000, '{"seen_at": "2026-01-01T00:00:00"}')
    body = call_with(f'{{"status": "completed", "products": [], "context": {deep}, "x": {deep}}}')
    evidence = answered(body, arguments={"context": {"a": {"a": 1}}})
    found = finding(evidence, "adcp.envelope.context")
    assert found.message.startswith('context came back changed: at "/a/a" 1 was sent and {"a":')
    assert finding(evidence, "adcp.envelope.time-offsets").outcome is Outcome.ADVISORY


def test_a_payload_without_end_is_looked_at_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timestamps, "MAX_MEMBERS", 100)
    late = {"seen_at": "2026-01-01T00:00:00"}
    assert (
        outcome(structured(products(x=[late] * 60, y=late)), "adcp.envelope.time-offsets") is Outcome.ADVISORY
    )
    hidden = structured(products(x=[{}] * 200, y=late))
    assert outcome(hidden, "adcp.envelope.time-offsets") is Outcome.NOT_APPLICABLE


def test_messages_are_short_and_safe_whatever_comes() -> None:
    hostile = "\x1b[31m\u202e" + "z" * 100_000
    evidence = structured(
        products(
            status=hostile,
            context={hostile: hostile},
            timestamp=hostile,
            context_id=[hostile],
            governance_context=hostile,
            replayed=hostile,
        ),
        arguments={"context": {hostile[:-1]: 1}},
    )
    for rule in ("status-value", "context", "timestamp", "context-id", "governance-context", "replayed"):
        found = finding(evidence, f"adcp.envelope.{rule}")
        assert found.outcome is Outcome.FAILED
        for shown in (found.message, found.expected, found.received, found.pointer or ""):
            assert shown.isprintable()
            assert len(shown) <= 650


# -- the first difference -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "received", "pointer", "words"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, "/b", 'at "/b" 2 was sent and 3 came back'),
        ({"a": {"b": []}}, {"a": {"b": {}}}, "/a/b", 'at "/a/b" [] was sent and {} came back'),
        ({"a": [1]}, {"a": [1, None]}, "/a/1", '"/a/1" was added, null'),
        ({"a": False}, {"a": None}, "/a", 'at "/a" false was sent and null came back'),
        ({"a": None}, {"a": ""}, "/a", 'at "/a" null was sent and "" came back'),
        ({"": 1}, {}, "/", '"/" is missing, 1 was sent'),
        ({"trace_id": 1}, {"traceId": 1, "x": 2}, "/trace_id", '"/trace_id" came back as "traceId"'),
        ({"x": 1, "y": 2}, {"z": 0, "y": 3}, "/x", '"/x" is missing, 1 was sent'),
    ],
)
def test_first_difference(sent: Any, received: Any, pointer: str, words: str) -> None:
    found = first_difference(sent, received)
    assert found is not None
    assert (found.pointer, found.words) == (pointer, words)


@pytest.mark.parametrize("value", [{}, {"a": [1, {"b": None}], "c": "ü"}, {"a": {"b": [[]]}}])
def test_what_is_equal_does_not_differ(value: Any) -> None:
    assert first_difference(value, json.loads(json.dumps(value))) is None


def test_members_added_come_after_those_that_were_sent() -> None:
    found = first_difference({"b": 1}, {"a": 0, "b": 2})
    assert found is not None
    assert found.pointer == "/b"
