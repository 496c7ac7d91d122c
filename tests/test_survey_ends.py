"""Where a survey ends early: time, equal failures, too many bytes, and servers that mean harm."""

from __future__ import annotations

import gzip
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from pytest_adcp.harness import recorder
from pytest_adcp.harness.conclusion import gaps
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import Profile
from pytest_adcp.harness.transcript import End, Kind
from pytest_adcp.harness.verdict import Outcome
from rawserver import Peer
from scripted import TOOLS, Call, Reply, answer, definition, initialized, result, scripted
from surveys import FAST, judge_core, with_outcome
from surveys import plain_survey as survey

MANY = [*TOOLS, "list_creatives", "get_media_buys", "get_signals", "list_accounts"]


def hang(peer: Peer) -> None:
    peer.pause()


def drop(peer: Peer) -> None:
    peer.reset()


def unauthorized(_: Call) -> Reply:
    return Reply(status=401, headers=['WWW-Authenticate: Bearer realm="x"'])


def test_when_time_is_up_what_was_answered_is_judged() -> None:
    slow = set(TOOLS[1:])
    with scripted(lambda call: hang if call.tool in slow else None) as seller:  # type: ignore[return-value,arg-type]
        began = time.monotonic()
        transcript = survey(
            seller.url, limits=replace(FAST, survey_timeout=1.0, request_timeout=20, concurrency=6)
        )
        assert time.monotonic() - began < 4
    assert not transcript.survey.complete
    assert transcript.survey.stopped.startswith("the time for the survey (1 s) was up")
    ends = {e.subject: e.end for e in transcript.exchanges if e.kind is Kind.CALL}
    cut = [subject for subject, end in ends.items() if end is End.INTERRUPTED]
    assert sorted(cut) == sorted(
        f"{tool}/{name}" for tool in slow for name in ("sample", "unsupported-major")
    )
    assert ends["get_adcp_capabilities/sample"] is End.COMPLETE
    assert seller.names[-1] == "DELETE"
    findings = judge_core(transcript)
    judged = {f.subject for f in findings if f.outcome is Outcome.PASSED}
    assert "get_adcp_capabilities/sample" in judged
    assert {f.subject for f in findings if f.outcome is Outcome.BLOCKED} >= set(cut)
    assert not with_outcome(findings, Outcome.FAILED)


def test_calls_that_time_left_no_room_for_are_named() -> None:
    with scripted(lambda call: hang if call.tool == TOOLS[0] else None) as seller:  # type: ignore[return-value,arg-type]
        transcript = survey(
            seller.url, limits=replace(FAST, survey_timeout=0.8, request_timeout=20, concurrency=1)
        )
    (left, *others) = transcript.survey.not_called
    assert left.item == "get_adcp_capabilities/unsupported-major"
    assert left.why == "the survey ended before it"
    assert [call.subject for call in transcript.survey.calls] == ["get_adcp_capabilities/sample"]
    assert len(others) == 4


def test_time_that_is_up_in_the_handshake_leaves_a_transcript() -> None:
    with scripted(lambda call: hang if call.method == "initialize" else None) as seller:  # type: ignore[return-value,arg-type]
        transcript = survey(seller.url, limits=replace(FAST, survey_timeout=0.5, request_timeout=20))
    assert not transcript.survey.complete
    (initialize,) = [e for e in transcript.exchanges if e.kind is Kind.INITIALIZE]
    assert initialize.end is End.INTERRUPTED
    assert judge_core(transcript)


@pytest.mark.parametrize(
    ("ending", "why"),
    [(drop, "the connection was lost"), (unauthorized, "HTTP 401"), (hang, "no answer in time")],
    ids=["reset", "401", "time"],
)
def test_five_equal_failures_after_a_call_that_passed_end_it(ending: Any, why: str) -> None:
    def hook(call: Call) -> Any:
        if call.tool in MANY[1:]:
            return ending if ending is not unauthorized else unauthorized(call)
        return None

    with scripted(hook, tools=MANY) as seller:
        limits = replace(FAST, concurrency=1, request_timeout=0.3 if ending is hang else 2)
        transcript = survey(seller.url, limits=limits)
    assert transcript.survey.stopped == (
        f"5 exchanges in a row ended the same way, where calls had passed before: {why}"
    )
    assert not transcript.survey.complete
    calls = [e for e in transcript.exchanges if e.kind is Kind.CALL and not e.subject.startswith(MANY[0])]
    assert len(calls) == 5
    left = [item for item in transcript.survey.not_called if item.why == "the survey ended before it"]
    assert len(left) >= 3
    assert "get_adcp_capabilities/sample" in {
        f.subject for f in judge_core(transcript) if f.outcome is Outcome.PASSED
    }


def test_lanes_that_wait_for_an_answer_leave_too_when_it_ends() -> None:
    def hook(call: Call) -> Any:
        return drop if call.tool in MANY[1:] and call.tool != "list_accounts" else None

    tools = [*MANY, "get_account_financials", "list_account_changes"]
    with scripted(hook, tools=tools) as seller:
        began = time.monotonic()
        transcript = survey(seller.url)
        assert time.monotonic() - began < 8
    assert transcript.survey.stopped.startswith("5 exchanges in a row")


def test_failures_of_different_kinds_or_with_answers_between_do_not_end_it() -> None:
    def hook(call: Call) -> Any:
        if call.tool == MANY[1]:
            return drop
        return unauthorized(call) if call.tool == MANY[2] else None

    with scripted(hook, tools=MANY) as seller:
        transcript = survey(seller.url, limits=replace(FAST, concurrency=1))
    assert transcript.survey.complete


def test_failures_before_any_call_has_passed_do_not_end_it() -> None:
    with scripted(lambda call: drop if call.tool else None, tools=MANY) as seller:  # type: ignore[arg-type,return-value]
        transcript = survey(seller.url)
    assert transcript.survey.complete
    assert len(transcript.survey.calls) == len([e for e in transcript.exchanges if e.kind is Kind.CALL]) >= 7


@pytest.mark.parametrize("where", ["tools/list", "tools/call"])
def test_a_survey_reads_no_more_than_its_budget(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "SMALLEST_BUDGET", 0)
    padding = {"_meta": {"x": "x" * 60_000}}

    def hook(call: Call) -> Reply | None:
        if call.method != where:
            return None
        page = {"tools": [definition(tool) for tool in MANY], "nextCursor": f"c{call.times}"}
        return Reply(result=(page if where == "tools/list" else answer(call)) | padding)

    with scripted(hook, tools=MANY) as seller:
        transcript = survey(seller.url, limits=replace(FAST, max_response_bytes=64 * 1024, concurrency=1))
    assert transcript.survey.stopped.startswith(f"the server has sent more than {4 * 64 * 1024} bytes")
    assert len([call for call in seller.calls if call.method == where]) == 5
    assert "the survey ended before it" in {item.why for item in transcript.survey.not_called}


def test_a_budget_counts_what_is_kept_not_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "SMALLEST_BUDGET", 0)

    def hook(call: Call) -> Reply | None:
        if not call.tool:
            return None
        message = {
            "jsonrpc": "2.0",
            "id": call.message["id"],
            "result": answer(call) | {"_meta": {"x": "x" * 60_000}},
        }
        headers = ["Content-Encoding: gzip", "Content-Type: application/json"]
        return Reply(body=gzip.compress(json.dumps(message).encode()), headers=headers)

    with scripted(hook, tools=MANY) as seller:
        transcript = survey(seller.url, limits=replace(FAST, max_response_bytes=64 * 1024, concurrency=1))
    assert transcript.survey.stopped.startswith("the server has sent more than")
    assert sum(len(e.response.body) for e in transcript.exchanges if e.response) < 4 * 64 * 1024


def test_smaller_answers_do_not_make_a_smaller_budget() -> None:
    with scripted(
        lambda call: Reply(result=answer(call) | {"_meta": {"x": "x" * 900}}) if call.tool else None
    ) as seller:
        transcript = survey(seller.url, limits=replace(FAST, max_response_bytes=2048))
    assert transcript.survey.complete


def test_an_error_in_place_of_the_list_is_quoted() -> None:
    refused = Reply(error={"code": -32603, "message": "database is away"})
    with scripted(lambda call: refused if call.method == "tools/list" else None) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.unusable is not None
    assert transcript.survey.unusable.cause == "tools-list"
    assert "database is away" in transcript.survey.unusable.message


# -- hostile servers ------------------------------------------------------------------------------------------------

_LEVELS = 3_000
_NEST = b"[" * _LEVELS + b"]" * _LEVELS


def nested(members: dict[str, Any]) -> bytes:
    """Return JSON in which "@" stands for something nested deeper than any stack."""
    return json.dumps(members).encode().replace(b'"@"', _NEST)


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("initialize", {"protocolVersion": "@", "capabilities": "@", "serverInfo": "@"}),
        ("initialize", {"protocolVersion": "2025-11-25", "serverInfo": {"name": "@", "version": "@"}}),
        ("server/discover", {"supportedVersions": "@", "_meta": {"io.modelcontextprotocol/serverInfo": "@"}}),
        ("tools/list", "@"),
        ("tools/list", {"tools": "@"}),
        ("tools/list", {"tools": [{"name": "@"}, {"name": "get_products", "inputSchema": "@"}], "nextCursor": "@"}),
        ("tools/list", {"tools": [{"name": "get_products", "inputSchema": {"properties": "@", "required": "@"}}]}),
        ("get_products", {"structuredContent": "@", "content": "@", "isError": "@"}),
        ("get_products", {"isError": True, "structuredContent": {"adcp_error": {"code": "@", "retry_after": "@"}}}),
        ("get_products", {"structuredContent": {"status": "@", "task_id": "@", "products": "@", "errors": "@"}}),
        ("get_products", {"structuredContent": {"status": "working", "task_id": "@"}}),
        ("get_adcp_capabilities", {"structuredContent": {"adcp": "@", "supported_versions": "@"}}),
    ],
    ids=range(12),
)  # fmt: skip
def test_no_depth_of_an_answer_breaks_a_survey(name: str, members: Any) -> None:
    def hook(call: Call) -> Reply | None:
        if call.name != name:
            return None
        body = nested({"jsonrpc": "2.0", "id": call.message["id"], "result": members})
        return Reply(body=body, headers=["Content-Type: application/json"])

    with scripted(hook, tools=[*TOOLS, "get_task_status"]) as seller:
        transcript = survey(seller.url)
    assert Evidence(transcript).transcript.exchanges
    assert judge_core(transcript)


@pytest.mark.parametrize("name", ["initialize", "tools/list", "get_products"])
@pytest.mark.parametrize(
    "message",
    [{"id": "@"}, {"error": "@"}, {"error": {"code": "@", "message": "@", "data": "@"}}, {"jsonrpc": "@"}, {"method": "@", "id": 1}],
    ids=["id", "error", "members", "jsonrpc", "method"],
)  # fmt: skip
def test_no_depth_of_a_message_breaks_a_survey(name: str, message: dict[str, Any]) -> None:
    def hook(call: Call) -> Reply | None:
        if call.name != name:
            return None
        good = {"jsonrpc": "2.0", "id": call.message["id"], "result": initialized().result}
        return Reply(events=[nested(good | message if "error" not in message else {"id": 1} | message)])

    with scripted(hook) as seller:
        transcript = survey(seller.url, limits=replace(FAST, request_timeout=0.5))
    assert judge_core(transcript)


def test_texts_of_any_kind_go_through() -> None:
    odd = "\ud800 \u2028 \x00 \x1b[31m \u202e"

    def hook(call: Call) -> Reply | None:
        if call.tool == "get_products":
            return Reply(
                result=result({"status": "working", "task_id": odd, "products": [{"product_id": odd}]})
            )
        return (
            Reply(result={"tools": [definition(odd), *map(definition, TOOLS)]})
            if call.method == "tools/list"
            else None
        )

    with scripted(hook, tools=[*TOOLS, "get_task_status"]) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.complete
    assert judge_core(transcript)


@pytest.mark.parametrize("silent", [{Kind.DISCOVER}, {Kind.CALL}, {Kind.DISCOVER, Kind.CALL}])
def test_a_server_of_one_connection_is_told_from_one_that_hangs(silent: set[Kind]) -> None:
    with scripted() as seller:
        transcript = survey(seller.url)
    exchanges, left = [], set(silent)
    for exchange in transcript.exchanges:
        if exchange.kind in left:  # the first of its kind
            left.discard(exchange.kind)
            exchange = replace(
                exchange, end=End.DEADLINE, response=None, first_byte=None, answered=None, seconds=30.0
            )
        exchanges.append(exchange)
    reasons = gaps(Evidence(replace(transcript, exchanges=tuple(exchanges))), (), [Profile.CORE])
    assert any("--adcp-concurrency 1" in reason for reason in reasons) is (len(silent) == 2)


@pytest.mark.parametrize("error", [None, {"code": 1, "message": "x"}])
def test_an_answer_that_is_both_is_not_called_refused(error: Any) -> None:
    def both(call: Call) -> Reply | None:
        envelope = {"jsonrpc": "2.0", "id": call.message.get("id"), "error": error}
        return Reply(message=envelope | {"result": {"content": []}}) if call.tool else None

    with scripted(both) as seller:
        transcript = survey(seller.url)
    (why,) = [reason for reason in gaps(Evidence(transcript), (), [Profile.CORE]) if "succeeded" in reason]
    assert "refused" not in why
    assert "a result and an error" in why
