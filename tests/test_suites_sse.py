"""The rules of mcp.sse on literal streams, and what is sent for them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from evidence import answered, broken_rules, find_rule, finding, judge_all, on, stream, surveyed
from pytest_adcp.harness.calls import PlannedCall, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.streams import CALL, CLOSING_LINGER, LISTEN, PROGRESS_TOKEN, call_of
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.seller.options import Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Limits, Request, Response, Transcript
from pytest_adcp.harness.verdict import Outcome
from surveys import survey

PASSED, FAILED, ADVISORY = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY
NA, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED
TYPE = "text/event-stream"
SUBJECT = "get_products/brief"
URL = "http://seller.test/mcp"
STATELESS = "2026-07-28"
UNBUFFERED = {"X-Accel-Buffering": "no"}

RESULT: dict[str, Any] = {"content": [], "structuredContent": {"products": []}}
GOOD = {"jsonrpc": "2.0", "id": "call-7", "result": RESULT}
OTHER = GOOD | {"id": "call-8"}
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def progress(token: Any, value: Any) -> dict[str, Any]:
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def asking(method: str, number: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method}


def came(body: bytes, **rest: Any) -> Evidence:
    """A survey whose one call got this stream."""
    return answered(body, content_type=TYPE, **rest)


def modern(body: bytes, **rest: Any) -> Evidence:
    return came(body, revision=STATELESS, headers=UNBUFFERED, **rest)


def typed(event: str, message: Any) -> bytes:
    return f"event: {event}\ndata: {json.dumps(message)}\n\n".encode()


# What is wrong, and which rules of the family say so: these and no other.
FAULTS = {
    "BOM": (came(b"\xef\xbb\xbf" + stream(GOOD)), {"bom": ADVISORY}),
    "last event not ended": (came(stream(GOOD, LOG)[:-1]), {"event-ended": FAILED}),
    "response that is not ended": (came(stream(GOOD)[:-1]), {"event-ended": FAILED}),
    "response that no line end ends": (came(stream(LOG, GOOD)[:-2]), {"event-ended": FAILED}),
    "response twice": (came(stream(GOOD, GOOD)), {"one-response": FAILED}),
    "error and result": (
        came(stream(GOOD, {"jsonrpc": "2.0", "id": "call-7", "error": {"code": 1, "message": "x"}})),
        {"one-response": FAILED},
    ),
    "response of another before": (came(stream(OTHER, GOOD)), {"one-response": FAILED}),
    "response of another behind": (came(stream(GOOD, OTHER)), {"one-response": FAILED}),
    "sampling": (came(stream(asking("sampling/createMessage"), GOOD)), {"server-requests": FAILED}),
    "elicitation": (came(stream(asking("elicitation/create", "e-1"), GOOD)), {"server-requests": FAILED}),
    "roots": (came(stream(asking("roots/list", 0), GOOD)), {"server-requests": FAILED}),
    "roots in the first revision": (
        came(stream(asking("roots/list"), GOOD), revision="2025-03-26"),
        {"server-requests": ADVISORY},
    ),
    "unknown request": (came(stream(asking("example/ask"), GOOD)), {"server-requests": ADVISORY}),
    "ping in 2026-07-28": (modern(stream(asking("ping"), GOOD)), {"server-requests": FAILED}),
    "progress unasked": (came(stream(progress("t", 1), GOOD)), {"progress": ADVISORY}),
    "progress without params": (
        came(stream({"jsonrpc": "2.0", "method": "notifications/progress"}, GOOD)),
        {"progress": ADVISORY},
    ),
    "log in 2026-07-28": (modern(stream(LOG, GOOD)), {"log-level": FAILED}),
    "id twice": (came(b"id: 1\ndata:\n\nid: 1\n" + stream(GOOD)), {"event-ids": ADVISORY}),
    "id twice in a session": (
        came(b"id: 1\ndata:\n\nid: 1\n" + stream(GOOD), headers={"Mcp-Session-Id": "s"}),
        {"event-ids": FAILED},
    ),
    "id in 2026-07-28": (modern(b"id: 1\n" + stream(GOOD)), {"event-ids": ADVISORY}),
    "notification behind the response": (came(stream(GOOD, LOG)), {"after-response": ADVISORY}),
    "notification of another type": (came(typed("log", LOG) + stream(GOOD)), {"event-type": ADVISORY}),
    "buffered in 2026-07-28": (came(stream(GOOD), revision=STATELESS), {"buffering": ADVISORY}),
    "buffering allowed in 2026-07-28": (
        came(stream(GOOD), revision=STATELESS, headers={"X-Accel-Buffering": "yes"}),
        {"buffering": ADVISORY},
    ),
}

# What looks odd and is legal, and what one rule says to it.
FINE = {
    "plain": (came(stream(GOOD)), "one-response", PASSED),
    "no event line": (came(b"data:" + json.dumps(GOOD).encode() + b"\n\n"), "event-type", PASSED),
    "empty event line": (came(b"event:\n" + stream(GOOD)[len(b"event: message\n") :]), "event-type", PASSED),
    "CR": (came(stream(GOOD).replace(b"\n", b"\r")), "event-ended", PASSED),
    "CRLF": (came(stream(GOOD).replace(b"\n", b"\r\n")), "event-ended", PASSED),
    "data over several lines": (
        came(b"data: " + json.dumps(GOOD).replace(', "', ',\ndata: "').encode() + b"\n\n"),
        "one-response",
        PASSED,
    ),
    "comments": (came(b": hello\n\n" + stream(GOOD) + b": bye\n\n"), "after-response", PASSED),
    "comment that is not ended": (came(stream(GOOD) + b": bye"), "event-ended", PASSED),
    "U+2028 and U+0085 in data": (
        came(stream(json.dumps(GOOD | {"note": "A\u2028B\u0085C"}, ensure_ascii=False).encode())),
        "event-ended",
        PASSED,
    ),
    "priming event": (
        came(b"id: s1-0\nretry: 3000\ndata:\n\nid: s1-1\n" + stream(GOOD)),
        "event-ids",
        PASSED,
    ),
    "keep-alive event": (came(typed("ping", {}) + stream(GOOD)), "event-type", PASSED),
    "log before the response": (came(stream(LOG, GOOD)), "after-response", PASSED),
    "log in 2025-11-25": (came(stream(LOG, GOOD)), "log-level", NA),
    "ping": (came(stream(asking("ping"), GOOD)), "server-requests", PASSED),
    "ping with the id of the request": (
        came(stream(asking("ping", "call-7"), GOOD)),
        "one-response",
        PASSED,
    ),
    "request that is none": (came(stream(asking("roots/list", None), GOOD)), "server-requests", PASSED),
    "no progress": (came(stream(GOOD)), "progress", NA),
    "ids in the first revision": (
        came(b"id: 1\ndata:\n\nid: 1\n" + stream(GOOD), revision="2025-03-26"),
        "event-ids",
        NA,
    ),
    "no ids": (came(stream(GOOD)), "event-ids", NA),
    "empty ids": (came(b"id:\ndata:\n\nid:\n" + stream(GOOD)), "event-ids", NA),
    "unbuffered": (modern(stream(GOOD)), "buffering", PASSED),
    "buffered in 2025-11-25": (came(stream(GOOD)), "buffering", NA),
    "AdCP data with an error of its own": (
        came(stream(GOOD | {"result": RESULT | {"error": None}})),
        "one-response",
        PASSED,
    ),
    # Other rules speak of these.
    "response that is cut": (came(stream(GOOD)[:-9]), "event-ended", NA),
    "lost connection in the response": (came(stream(GOOD)[:-1], end=End.RESET), "event-ended", NA),
    "response of another type": (came(typed("result", GOOD)), "event-type", NA),
    "response of another only": (came(stream(OTHER)), "one-response", PASSED),
    "no response": (came(stream(LOG)), "one-response", NA),
    "nothing": (came(b""), "event-ended", NA),
    "broken JSON": (came(b"data: {\n\n"), "server-requests", NA),
    "lost connection": (came(stream(GOOD, LOG)[:-1], end=End.RESET), "event-ended", NA),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_breaks_exactly_its_rules(name: str) -> None:
    evidence, expected = FAULTS[name]
    assert broken_rules(evidence, "mcp.sse") == expected
    for rule in expected:
        found = finding(evidence, f"mcp.sse.{rule}")
        assert 40 < len(found.message) < 400
        assert found.fix.endswith(".")
        assert found.expected
        assert found.received
        assert found.source.startswith("https://")


@pytest.mark.parametrize("name", FINE)
def test_what_is_legal_breaks_nothing(name: str) -> None:
    evidence, rule, expected = FINE[name]
    assert broken_rules(evidence, "mcp.sse") == {}
    assert on(evidence, f"mcp.sse.{rule}", SUBJECT) is expected


def test_only_event_streams_are_judged() -> None:
    (found,) = judge_all(answered(GOOD), "mcp.sse.one-response")
    assert (found.outcome, found.message) == (NA, "no answer was an event stream")


def test_level_of_the_rules() -> None:
    should = ["bom", "event-type", "after-response", "closed", "buffering"]
    must = [
        "event-ended",
        "one-response",
        "server-requests",
        "progress",
        "log-level",
        "event-ids",
        "get-stream",
    ]
    assert {find_rule(f"mcp.sse.{name}").level for name in should} == {Level.SHOULD}
    assert {find_rule(f"mcp.sse.{name}").level for name in must} == {Level.MUST}


# -- what is read on, and what is held open --------------------------------------------------------------------


def exchange(subject: str, body: bytes, *, method: str = "POST", **facts: Any) -> Exchange:
    """An exchange of the streams probe, with a good answer of half a second unless `facts` say otherwise."""
    params = {"name": "get_products", "arguments": {}, "_meta": {"progressToken": PROGRESS_TOKEN}}
    sent = Session(Era.HANDSHAKE, session_id="s").request("call-9", "tools/call", params)
    response = Response(facts.pop("status", 200), "HTTP/1.1", (("content-type", TYPE),), body, len(body))
    request = Request(method, URL, sent.headers, sent.body if method == "POST" else b"")
    given = {"end": End.COMPLETE, "answered": 0.5, "seconds": 0.5, "era": Era.HANDSHAKE} | facts
    return Exchange(0, subject, Kind.STREAM, request, response, **given)


def with_probe(*exchanges: Exchange) -> Evidence:
    base = surveyed().transcript
    more = tuple(replace(item, index=len(base.exchanges) + n) for n, item in enumerate(exchanges))
    return Evidence(Transcript(base.survey, (*base.exchanges, *more)), spec="3.1")


NINE = GOOD | {"id": "call-9"}
QUIET = exchange(LISTEN, b": open\n\n", method="GET", end=End.INTERRUPTED, answered=None)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.5, PASSED), (2.4, PASSED), (2.5, ADVISORY), (2.501, ADVISORY), (3.0, ADVISORY)],
)
def test_a_stream_is_to_end_with_the_response(seconds: float, expected: Outcome) -> None:
    assert CLOSING_LINGER == 2.0
    evidence = with_probe(exchange(CALL, stream(NINE), seconds=seconds))
    assert on(evidence, "mcp.sse.closed", CALL) is expected


def test_a_stream_that_was_cut_off_is_not_blamed_for_its_last_event() -> None:
    evidence = with_probe(exchange(CALL, stream(NINE) + b"data: {", seconds=2.5))
    assert on(evidence, "mcp.sse.event-ended", CALL) is NA
    evidence = with_probe(exchange(CALL, stream(NINE) + b"data: {", seconds=2.0))
    assert on(evidence, "mcp.sse.event-ended", CALL) is FAILED


def test_without_an_event_stream_there_is_nothing_to_close() -> None:
    (found,) = judge_all(surveyed(), "mcp.sse.closed")
    assert found.outcome is NA
    (found,) = judge_all(with_probe(exchange(CALL, b"", answered=None)), "mcp.sse.closed")
    assert (found.outcome, found.message) == (NA, "no response came")
    late = exchange(CALL, b"", answered=None, end=End.DEADLINE)
    (found,) = judge_all(with_probe(late), "mcp.sse.closed")
    assert found.outcome is BLOCKED


def test_progress_is_legal_for_the_token_that_was_sent() -> None:
    good = stream(progress(PROGRESS_TOKEN, 0.5), progress(PROGRESS_TOKEN, 1), NINE)
    assert on(with_probe(exchange(CALL, good)), "mcp.sse.progress", CALL) is PASSED
    for bad in ([2, 1], [1, 1], [None], ["1"], [True]):
        told = stream(*(progress(PROGRESS_TOKEN, value) for value in bad), NINE)
        assert on(with_probe(exchange(CALL, told)), "mcp.sse.progress", CALL) is FAILED
    aside = replace(QUIET, response=exchange(LISTEN, stream(progress(PROGRESS_TOKEN, 1))).response)
    evidence = with_probe(aside, exchange(CALL, stream(NINE)))
    assert on(evidence, "mcp.sse.progress", LISTEN) is PASSED


def listened(body: bytes, call: bytes = b"") -> Evidence:
    heard = exchange(LISTEN, body, method="GET", end=End.INTERRUPTED, answered=None)
    return with_probe(heard, exchange(CALL, call, answered=0.5 if call else None))


@pytest.mark.parametrize(
    ("body", "call", "expected", "says"),
    [
        (b": open\n\n", stream(NINE), PASSED, ""),
        (stream(LOG, asking("ping")), stream(NINE), PASSED, ""),
        (stream(NINE), b"", FAILED, "and nowhere else"),
        (stream(NINE), stream(NINE), FAILED, "and on the stream of its request too"),
        (stream(OTHER), stream(NINE), FAILED, "a response came on the GET stream"),
        (
            stream({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}),
            b"",
            FAILED,
            "a response",
        ),
    ],
)
def test_responses_do_not_go_to_the_get_stream(
    body: bytes, call: bytes, expected: Outcome, says: str
) -> None:
    (found,) = judge_all(listened(body, call), "mcp.sse.get-stream")
    assert found.outcome is expected
    assert says in found.message


def test_the_get_stream_is_judged_as_a_stream_too() -> None:
    asked = listened(stream(asking("sampling/createMessage")), stream(NINE))
    assert on(asked, "mcp.sse.server-requests", LISTEN) is FAILED
    assert on(asked, "mcp.sse.one-response", LISTEN) is NA


def test_ids_are_compared_over_the_streams_of_a_session() -> None:
    both = [exchange(LISTEN, b"id: 1\ndata:\n\n", method="GET"), exchange(CALL, b"id: 1\n" + stream(NINE))]
    assert on(with_probe(*both), "mcp.sse.event-ids", CALL) is FAILED
    apart = with_probe(exchange(LISTEN, b"id: 2\ndata:\n\n", method="GET"), both[1])
    assert on(apart, "mcp.sse.event-ids", CALL) is PASSED


@pytest.mark.parametrize("status", [405, 404, 401, 500])
def test_a_server_need_not_serve_get(status: int) -> None:
    heard = exchange(LISTEN, b"", method="GET", status=status, answered=None)
    (found,) = judge_all(with_probe(heard, exchange(CALL, stream(NINE))), "mcp.sse.get-stream")
    assert (found.outcome, found.message) == (NA, f"the server serves no GET stream (HTTP {status})")


# -- what is sent ------------------------------------------------------------------------------------------------


def sent(transcript: Transcript) -> list[str]:
    return [item.subject for item in transcript.exchanges if item.kind is Kind.STREAM]


@pytest.mark.parametrize(
    ("eras", "sessions", "expected"),
    [
        ("handshake", True, ["session", "initialized", "listen", "call", "delete"]),
        ("handshake", False, ["listen", "call"]),
        ("stateless", True, ["call"]),
    ],
)
def test_one_get_stream_and_one_call(eras: str, sessions: bool, expected: list[str]) -> None:
    options = SellerOptions(answers=Answers.SSE, eras=Eras(eras), sessions=sessions)
    with running(options) as url:
        transcript = survey(url)
    assert sent(transcript) == [f"streams/{name}" for name in expected]
    (call,) = [item for item in transcript.exchanges if item.subject == CALL]
    body = json.loads(call.request.body)
    assert body["params"]["name"] == "get_adcp_capabilities"
    assert body["params"]["_meta"]["progressToken"] == PROGRESS_TOKEN
    main = next(item for item in transcript.exchanges if item.kind is Kind.CALL)
    own = [dict(item.request.headers).get("Mcp-Session-Id") for item in (main, call)]
    assert (own[0] != own[1]) is ("session" in expected)


def test_a_stream_that_stays_open_does_not_hold_the_calls_up() -> None:
    with running(SellerOptions(fault="sse-left-open", answers=Answers.SSE, eras=Eras.HANDSHAKE)) as url:
        transcript = survey(url, limits=Limits(request_timeout=1.0, survey_timeout=20.0))
    (call,) = [item for item in transcript.exchanges if item.subject == CALL]
    assert call.answered is not None
    assert 2.0 <= call.seconds - call.answered < 3.0  # whatever the time-out of a request is
    others = [item for item in transcript.exchanges if item.kind is Kind.CALL]
    assert all(item.seconds - (item.answered or 0) < 1.0 for item in others)
    assert transcript.survey.complete


def test_one_connection_at_a_time_holds_none_open() -> None:
    with running(SellerOptions(answers=Answers.SSE, eras=Eras.HANDSHAKE)) as url:
        transcript = survey(url, limits=Limits(request_timeout=2.0, survey_timeout=20.0, concurrency=1))
    assert sent(transcript) == [f"streams/{name}" for name in ("session", "initialized", "call", "delete")]


def test_no_probes_no_streams() -> None:
    with running(SellerOptions(answers=Answers.SSE)) as url:
        transcript = survey(url, probes=False)
    assert {Kind.STREAM, Kind.VARIANT}.isdisjoint({item.kind for item in transcript.exchanges})


def test_the_call_is_a_read_that_waits_for_nothing() -> None:
    read = PlannedCall("get_products", "sample", {}, Purpose.GOOD)
    first = PlannedCall("get_adcp_capabilities", "sample", {}, Purpose.GOOD)
    others = [
        PlannedCall("create_media_buy", "sample", {}, Purpose.GOOD, mutating=True),
        PlannedCall("get_products", "wrong-type", {}, Purpose.BAD),
    ]
    assert call_of([*others, read, first]) is first
    assert call_of([*others, read]) is read
    assert call_of(others) is None
