"""The rules on what a server serves over HTTP, on literal answers: what breaks them, and what is odd and legal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence import URL, Http, answered, finding, on, outcome, stream, surveyed
from http_answers import (
    JUNE,
    MARCH,
    NOVEMBER,
    PONG,
    REFUSED,
    STATELESS,
    error,
    tried,
)
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.http import subject
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites.mcp.http_replies import why_not_followed

FAILED, ADVISORY, PASSED = Outcome.FAILED, Outcome.ADVISORY, Outcome.PASSED
NOT_APPLICABLE, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED


# -- what comes with every answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", PASSED),
        ("application/json; charset=utf-8", PASSED),
        ("Application/JSON;charset=UTF-8", PASSED),
        ("", FAILED),
        ("text/plain", FAILED),
        ("text/json", FAILED),
        ("application/json-rpc", FAILED),
    ],
)
def test_content_type_of_a_success(content_type: str, expected: Outcome) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": "call-7",
        "result": {"content": [], "structuredContent": {"products": []}},
    }
    evidence = answered(body, content_type=content_type)
    assert on(evidence, "mcp.http.content-type", "get_products/brief") is expected


def test_content_type_of_a_refusal_and_of_no_response_is_free() -> None:
    refused = answered(
        {"jsonrpc": "2.0", "id": "call-7", "error": {"code": -1, "message": "x"}}, status=400, content_type=""
    )
    assert on(refused, "mcp.http.content-type", "get_products/brief") is NOT_APPLICABLE
    page = answered(b"<h1>hello</h1>", content_type="text/html")
    assert on(page, "mcp.http.content-type", "get_products/brief") is NOT_APPLICABLE


CALLED = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}


@pytest.mark.parametrize(
    ("body", "content_type", "cure"),
    [
        (stream(CALLED), "application/json", "Send Content-Type: text/event-stream"),
        (stream(CALLED)[:-1], "application/json", "Send Content-Type: text/event-stream"),
        (stream(CALLED), "", "Send Content-Type: text/event-stream"),
        (CALLED, "text/event-stream", "Send Content-Type: application/json"),
    ],
)
def test_a_body_of_the_other_type(body: Any, content_type: str, cure: str) -> None:
    evidence = answered(body, content_type=content_type)
    found = finding(evidence, "mcp.http.content-type")
    assert (found.outcome, found.subject) == (FAILED, "get_products/brief")
    assert found.fix.startswith(cure)
    for other in ("mcp.jsonrpc.answered", "mcp.jsonrpc.json", "mcp.sse.event-ended"):
        assert outcome(evidence, other) not in (FAILED, ADVISORY)


@pytest.mark.parametrize("body", [b"data: {}\n\n", b'{"jsonrpc": "2.0"}', b"data: [1]\n"])
def test_a_body_without_a_response_has_no_other_type(body: bytes) -> None:
    for content_type in ("application/json", "text/event-stream"):
        evidence = answered(body, content_type=content_type)
        assert on(evidence, "mcp.http.content-type", "get_products/brief") is NOT_APPLICABLE


@pytest.mark.parametrize(("coding", "expected"), [("gzip", ADVISORY), ("identity", PASSED), ("", PASSED)])
def test_content_coding(coding: str, expected: Outcome) -> None:
    body = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}
    evidence = answered(body, headers={"Content-Encoding": coding})
    assert on(evidence, "mcp.http.content-coding", "get_products/brief") is expected


@pytest.mark.parametrize(
    ("there", "said"),
    [(f"{URL}/", "a slash at its end"), (URL.replace("/mcp", "/other"), "another path")],
)
def test_a_redirect_that_was_followed_is_named(there: str, said: str) -> None:
    plain = surveyed()
    exchanges = [replace(e, redirects=(there,)) for e in plain.transcript.exchanges]
    evidence = Evidence(Transcript(plain.transcript.survey, tuple(exchanges)))
    found = finding(evidence, "mcp.http.direct")
    assert found.outcome is ADVISORY
    assert said in found.message
    assert outcome(plain, "mcp.http.direct") is PASSED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Http(b"", 202, ""), PASSED),
        (Http(b"", 202, "application/json"), PASSED),
        (Http(b"\n", 202, ""), PASSED),
        (Http(b"Accepted", 202, "text/plain"), ADVISORY),
        (Http(b"", 204, ""), FAILED),
        (Http(b"", 200, ""), FAILED),
        (Http({"jsonrpc": "2.0", "result": {}}), FAILED),
        (Http({"jsonrpc": "2.0", "id": None}), FAILED),
        (Http(b"", 400, ""), NOT_APPLICABLE),
    ],
)
def test_notifications_get_202(answer: Http, expected: Outcome) -> None:
    assert outcome(surveyed(initialized=answer), "mcp.http.accepted") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(Http(b"", 202, ""), FAILED), (Http(b"", 204, ""), PASSED), (Http(b"", 200, ""), PASSED)],
)
def test_requests_are_not_accepted_like_notifications(answer: Http, expected: Outcome) -> None:
    evidence = surveyed(answer)
    assert on(evidence, "mcp.http.request-not-accepted", "get_products/brief") is expected
    other = NOT_APPLICABLE if expected is FAILED else FAILED
    assert on(evidence, "mcp.jsonrpc.answered", "get_products/brief") is other


@pytest.mark.parametrize(
    ("there", "status", "expected", "said"),
    [
        ("//agent.test:8443/mcp", 308, FAILED, "to another origin"),
        ("https://other.test/mcp", 307, FAILED, "to another origin"),
        ("/mcp/", 301, FAILED, "with GET and without the body"),
        ("/mcp/", 302, FAILED, "with HTTP 302"),
        ("/mcp", 307, FAILED, "again and again"),
        ("https://[::1", 307, FAILED, "to what is no URL"),
        (None, 307, FAILED, "leads nowhere"),
    ],
)
def test_a_redirect_that_nobody_follows(there: str | None, status: int, expected: Outcome, said: str) -> None:
    headers = {} if there is None else {"location": there}
    evidence = surveyed(Http(b"", status, "", headers))
    found = finding(evidence, "mcp.http.redirect")
    assert (found.outcome, found.subject) == (expected, "get_products/brief")
    assert said in found.message
    assert on(evidence, "mcp.jsonrpc.answered", "get_products/brief") is BLOCKED


def test_a_redirect_to_https_is_where_to_go() -> None:
    asked, there = "http://agent.test/mcp", "https://agent.test/mcp"
    why, lenient = why_not_followed(308, asked, there)
    assert "to https" in why
    assert lenient == "it is the URL to use"


# -- what has to be served ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probe", "rule_id", "refused"),
    [
        (HttpProbe.ACCEPT_ORDER, "mcp.http.accept", FAILED),
        (HttpProbe.ACCEPT_CASE, "mcp.http.accept-case", ADVISORY),
        (HttpProbe.CHARSET, "mcp.http.charset", FAILED),
        (HttpProbe.ORIGIN_OWN, "mcp.http.own-origin", FAILED),
        (HttpProbe.VERSION_ABSENT, "mcp.lifecycle.version-absent", ADVISORY),
        (HttpProbe.ID_EMPTY, "mcp.jsonrpc.ids", FAILED),
    ],
)
def test_what_the_plain_request_gets_this_one_gets_too(
    probe: HttpProbe, rule_id: str, refused: Outcome
) -> None:
    assert on(tried(probe, PONG), rule_id, subject(probe)) is PASSED
    assert on(tried(probe, REFUSED), rule_id, subject(probe)) is refused
    assert on(tried(probe, Http(b"", 202, "")), rule_id, subject(probe)) is refused
    # Where the plain one is refused too, this says nothing.
    assert on(tried(probe, REFUSED, normal=REFUSED), rule_id, subject(probe)) is NOT_APPLICABLE
    assert on(tried(probe, REFUSED, normal=None), rule_id, subject(probe)) is NOT_APPLICABLE
    # A server without ping serves it all the same.
    assert on(tried(probe, error(-32601), normal=error(-32601)), rule_id, subject(probe)) is PASSED
    assert on(tried(probe, Http(b"", 502, "")), rule_id, subject(probe)) is BLOCKED
    assert on(tried(probe, Http(b"", 401, "")), rule_id, subject(probe)) is BLOCKED
    assert on(tried(probe, replace(PONG, end=End.DEADLINE)), rule_id, subject(probe)) is BLOCKED


@pytest.mark.parametrize(
    ("probe", "rule_id"),
    [
        (HttpProbe.ACCEPT_JSON, "mcp.http.accept-narrow"),
        (HttpProbe.ACCEPT_ANY, "mcp.http.accept-narrow"),
        (HttpProbe.BOGUS_CURSOR, "mcp.tools.unknown-cursor"),
        (HttpProbe.ID_NULL, "mcp.jsonrpc.null-id"),
    ],
)
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PONG, PASSED),
        (error(-32602), PASSED),
        (REFUSED, PASSED),
        (Http(b"", 406, ""), PASSED),
        (Http(b"<h1>Not Acceptable</h1>", 406, "text/html"), PASSED),
        (Http(b"", 500, ""), ADVISORY),
        (error(-32603, 500), ADVISORY),
        (replace(PONG, end=End.DEADLINE), ADVISORY),
        (replace(PONG, end=End.RESET), BLOCKED),
        (Http(b"", 503, ""), BLOCKED),  # of a gateway
    ],
)
def test_what_may_be_served_or_refused_is_no_failure(
    probe: HttpProbe, rule_id: str, answer: Http, expected: Outcome
) -> None:
    assert on(tried(probe, answer), rule_id, subject(probe)) is expected
    if expected is ADVISORY:
        assert on(tried(probe, answer, normal=None), rule_id, subject(probe)) is NOT_APPLICABLE


@pytest.mark.parametrize("revision", [MARCH, JUNE, NOVEMBER, STATELESS])
def test_a_request_that_came_alone_is_answered_by_one_object(revision: str) -> None:
    body = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}
    assert on(answered(body, revision=revision), "mcp.jsonrpc.answered", "get_products/brief") is PASSED
    assert on(answered([body], revision=revision), "mcp.jsonrpc.answered", "get_products/brief") is FAILED


@pytest.mark.parametrize(
    ("sent", "came", "expected"),
    [
        ("7", "7", PASSED),
        ("7", 7, FAILED),
        (2**53 - 1, 2**53 - 1, PASSED),
        (2**53 - 1, 2**53 - 2, FAILED),
        (2**53 - 1, str(2**53 - 1), FAILED),
        ("", "", PASSED),
        ("", None, FAILED),
        ("é🙂", "é🙂", PASSED),
        ("é🙂", "??", FAILED),
    ],
)
def test_ids_come_back(sent: str | int, came: Any, expected: Outcome) -> None:
    message = Session(Era.HANDSHAKE).request(sent, "ping")
    evidence = tried(HttpProbe.ID_DIGITS, Http({"jsonrpc": "2.0", "id": came, "result": {}}), sent=message)
    assert on(evidence, "mcp.jsonrpc.ids", "http/id-digits") is expected


# -- GET ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Http(b"", 200, "text/event-stream"), PASSED),
        (Http(b"", 200, "text/event-stream; charset=utf-8"), PASSED),
        (Http(b"", 405, ""), PASSED),
        (Http({"error": "not found"}, 404), FAILED),
        (Http(b"ok", 200, "text/plain"), FAILED),
        (REFUSED, FAILED),
        (Http(b"", 501, ""), FAILED),
        (Http(b"", 500, ""), BLOCKED),
    ],
)
def test_get(answer: Http, expected: Outcome) -> None:
    assert on(tried(HttpProbe.GET_STREAM, answer), "mcp.http.get", "http/get-stream") is expected


@pytest.mark.parametrize(
    ("versions", "answer", "expected"),
    [
        ([STATELESS], Http(b"", 405, ""), PASSED),
        ([STATELESS], Http(b"ok", 200, "text/plain"), ADVISORY),
        ([STATELESS, NOVEMBER], Http(b"", 200, "text/event-stream"), NOT_APPLICABLE),
    ],
)
@pytest.mark.parametrize("probe", [HttpProbe.GET_STREAM, HttpProbe.DELETE])
def test_get_and_delete_where_there_are_no_sessions(
    probe: HttpProbe, versions: list[str], answer: Http, expected: Outcome
) -> None:
    discover = {"supportedVersions": versions, "capabilities": {}, "resultType": "complete"}
    evidence = tried(
        probe,
        answer,
        revision=STATELESS,
        discover=Http({"jsonrpc": "2.0", "id": "discover-1", "result": discover}),
    )
    assert on(evidence, "mcp.http.get-refused", subject(probe)) is expected
    assert outcome(evidence, "mcp.http.get") is NOT_APPLICABLE
