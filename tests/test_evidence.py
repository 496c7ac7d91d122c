"""What rules are tried on: every exchange gives a subject, or a gap that says why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence import Http, answered, rpc_error, surveyed, tool_result
from pytest_adcp.harness.calls import Expect, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import Answer, Entry, Expectation, Gap
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Transcript

SERVER_KINDS = [kind for kind in Judged if kind not in (Judged.VECTOR, Judged.LIBRARY, Judged.FUZZED)]
PRODUCTS = {"content": [], "structuredContent": {"products": []}}
LIMITED = {
    "isError": True,
    "content": [],
    "structuredContent": {"adcp_error": {"code": "RATE_LIMITED", "message": "m", "retry_after": 1}},
}
REFUSED = {
    "isError": True,
    "content": [],
    "structuredContent": {"adcp_error": {"code": "UNSUPPORTED", "message": "m"}},
}


def message(result: Any, status: int = 200, **more: Any) -> Http:
    return Http({"jsonrpc": "2.0", "id": "call-7", "result": result}, status, **more)


def with_tries(*tries: Http) -> Evidence:
    """Return the evidence of one call that was made several times; all but the last were repeated."""
    surveys = [surveyed(answer) for answer in tries]
    transcript = surveys[0].transcript
    calls = [evidence.transcript.exchanges[-1] for evidence in surveys]
    numbered = [
        replace(call, index=calls[0].index + n, attempt=n + 1, retried=n + 1 < len(calls))
        for n, call in enumerate(calls)
    ]
    return Evidence(Transcript(transcript.survey, (*transcript.exchanges[:-1], *numbered)), spec="3.1")


def labels(entries: tuple[Entry, ...], kind: type[Any]) -> list[str]:
    return [entry.label for entry in entries if isinstance(entry, kind)]


def only_gap(evidence: Evidence, kind: Judged) -> Gap:
    (gap,) = evidence.entries(kind)
    assert isinstance(gap, Gap)
    return gap


@pytest.mark.parametrize(
    "evidence",
    [
        surveyed(),
        tool_result(PRODUCTS),
        rpc_error({"code": -32602, "message": "no"}),
        surveyed(revision="2026-07-28"),
        answered(b"", status=500),
        surveyed(tools=[]),
        Evidence(Transcript(surveyed().transcript.survey, ())),
    ],
    ids=["no-call", "success", "error", "stateless", "broken", "no-tools", "nothing"],
)
@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_a_rule_always_has_something_to_say(evidence: Evidence, kind: Judged) -> None:
    entries = evidence.entries(kind)
    assert entries
    for entry in entries:
        assert entry.label
        assert not isinstance(entry, Gap) or entry.why
    blocked = [isinstance(entry, Gap) and entry.blocked for entry in entries]
    assert len(entries) == 1 or not all(blocked)  # blocked once, when all its subjects are


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Http(b"", 401, ""), "HTTP 401"),
        (Http(b"", 403, ""), "HTTP 403"),
        (Http(b"", 502, ""), "HTTP 502"),
        (Http(b"", 302, "", {"location": "http://elsewhere.test/"}), "redirected to http://elsewhere.test/"),
        (Http(b"", 200, "", end=End.INTERRUPTED), "the run was stopped"),
        (Http(b"{", 200, end=End.RESET), "the connection was lost"),
        (Http(b"", 200, "", end=End.DEADLINE), "no answer in time"),
        (Http(b"<html>", 200, "text/html"), "HTTP 200 without a JSON-RPC response"),
        (Http(b"", 202, ""), "HTTP 202 without a JSON-RPC response"),
        (message(PRODUCTS, 500), "HTTP 500: the server failed"),
        (message(LIMITED), "RATE_LIMITED to the end"),
    ],
    ids=range(11),
)
def test_a_call_that_gave_no_verdict_is_a_gap(answer: Http, why: str) -> None:
    gaps = [entry for entry in surveyed(answer).answers if isinstance(entry, Gap)]
    (gap,) = gaps
    assert gap.label == "get_products/brief"
    assert gap.blocked
    assert why in gap.why
    assert why in only_gap(surveyed(answer), Judged.SUCCESS).why


def test_an_answer_that_came_counts_also_when_what_followed_broke_off() -> None:
    whole = surveyed(message(PRODUCTS))
    *others, call = whole.transcript.exchanges
    for end in (End.INTERRUPTED, End.RESET, End.DEADLINE):
        cut = replace(call, end=end, answered=0.1)
        evidence = Evidence(Transcript(whole.transcript.survey, (*others, cut)), spec="3.1")
        assert labels(evidence.entries(Judged.SUCCESS), Answer) == ["get_products/brief"]


def test_tries_before_the_last_are_judged_as_errors_and_are_not_the_outcome() -> None:
    evidence = with_tries(message(LIMITED), message(LIMITED), message(PRODUCTS))
    assert labels(evidence.entries(Judged.ERROR), Answer) == ["get_products/brief@1", "get_products/brief@2"]
    assert labels(evidence.entries(Judged.SUCCESS), Answer) == ["get_products/brief"]
    assert not labels(evidence.answers, Gap)
    assert len(set(labels(evidence.entries(Judged.REPLY), object))) == len(evidence.entries(Judged.REPLY))


@pytest.mark.parametrize("first", [Http(b"", 404, ""), Http(b"", 401, ""), message(REFUSED, 404)])
def test_tries_that_were_repeated_for_another_reason_are_no_answers(first: Http) -> None:
    evidence = with_tries(first, message(PRODUCTS))
    assert [entry.label for entry in evidence.answers] == ["get_products/brief"]


def test_a_plea_to_the_end_is_a_gap_and_an_error() -> None:
    evidence = with_tries(message(LIMITED), message(LIMITED), message(LIMITED))
    assert labels(evidence.answers, Gap) == ["get_products/brief"]
    assert labels(evidence.entries(Judged.ERROR), Answer) == [f"get_products/brief@{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (message(PRODUCTS), Expectation),
        (message(REFUSED), Expectation),
        (message(LIMITED), Gap),
        (Http(b"", 401, ""), Gap),
        (Http(b"", 200, "", end=End.INTERRUPTED), Gap),
    ],
    ids=["success", "error", "limited", "401", "interrupted"],
)
def test_what_the_user_expects_is_compared_with_outcomes_only(answer: Http, kind: type[Any]) -> None:
    evidence = surveyed(answer, purpose=Purpose.CONFIGURED, expect=Expect.SUCCESS)
    (entry,) = evidence.entries(Judged.EXPECTATION)
    assert isinstance(entry, kind)
    assert not isinstance(entry, Gap) or entry.blocked


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"error": {"code": -32602, "message": "unknown"}}, ""),
        ({"result": {"isError": True, "content": []}}, ""),
        ({"error": {"code": -32029, "message": "slow down"}}, "RATE_LIMITED to the end"),
        ({"result": LIMITED}, "RATE_LIMITED to the end"),
    ],
)
@pytest.mark.parametrize("status", [200, 401, 429, 503])
def test_an_unknown_tool_that_was_not_looked_up_is_a_gap(answer: Any, why: str, status: int) -> None:
    evidence = surveyed(unknown_tool=Http({"jsonrpc": "2.0", "id": "probe-1"} | answer, status))
    (entry,) = evidence.entries(Judged.UNKNOWN_TOOL)
    assert isinstance(entry, Gap) == bool(why or status != 200)
    assert not isinstance(entry, Gap) or (
        entry.blocked and (f"HTTP {status}" in entry.why or entry.why == why)
    )


def test_the_era_that_is_not_used_blocks_nothing_when_it_is_refused() -> None:
    handshake = surveyed(message(PRODUCTS), discover=Http(b"", 401, ""))
    assert handshake.server.era is Era.HANDSHAKE
    (gap,) = [entry for entry in handshake.entries(Judged.REPLY) if isinstance(entry, Gap)]
    assert (gap.label, gap.blocked) == ("server/discover", False)
    stateless = surveyed(message(PRODUCTS), revision="2026-07-28", initialize=Http(b"", 403, ""))
    assert stateless.server.era is Era.STATELESS
    (gap,) = [entry for entry in stateless.entries(Judged.REPLY) if isinstance(entry, Gap)]
    assert (gap.label, gap.blocked) == ("initialize", False)


@pytest.mark.parametrize("info", [None, [], "seller", {}, {"name": 7, "version": {}}, {"name": None}])
def test_a_server_that_does_not_say_who_it_is_has_no_name(info: Any) -> None:
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    evidence = surveyed(initialize=Http({"jsonrpc": "2.0", "id": "init-1", "result": result}))
    assert (evidence.server.name, evidence.server.version) == ("", "")
    assert evidence.server.revision == "2025-11-25"


def test_replies_to_the_server_are_no_subjects() -> None:
    whole = surveyed(message(PRODUCTS))
    *_, call = whole.transcript.exchanges
    ours: list[Exchange] = [
        replace(call, index=call.index + n + 1, subject=str(kind), kind=kind)
        for n, kind in enumerate((Kind.REPLY, Kind.DELETE))
    ]
    evidence = Evidence(Transcript(whole.transcript.survey, (*whole.transcript.exchanges, *ours)), spec="3.1")
    assert labels(evidence.entries(Judged.REPLY), object) == labels(whole.entries(Judged.REPLY), object)
