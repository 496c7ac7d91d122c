"""The rules on transport, sessions and lifecycle, on literal answers: what breaks them, and what is odd and legal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from evidence import URL, Http, answered, finding, on, outcome, surveyed
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.http import SESSIONS, Variant, subject, varied
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response, Transcript
from pytest_adcp.harness.verdict import Outcome

JUNE, MARCH, NOVEMBER, STATELESS = "2025-06-18", "2025-03-26", "2025-11-25", "2026-07-28"
FAILED, ADVISORY, PASSED = Outcome.FAILED, Outcome.ADVISORY, Outcome.PASSED
NOT_APPLICABLE, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED
PONG = Http({"jsonrpc": "2.0", "id": "p", "result": {}})
REFUSED = Http({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}, 400)
PAGE = Http(b"<!doctype html><h1>Bad Request</h1>", 400, "text/html")


def result(value: Any, **http: Any) -> Http:
    return Http({"jsonrpc": "2.0", "id": "p", "result": value}, **http)


def error(code: int, status: int = 200, request_id: Any = "p") -> Http:
    return Http({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": "no"}}, status)


def tried(
    probe: HttpProbe,
    answer: Http,
    *,
    revision: str = NOVEMBER,
    normal: Http | None = PONG,
    url: str = URL,
    sent: Outgoing | None = None,
    more: Mapping[HttpProbe, Http] | None = None,
    **survey: Any,
) -> Evidence:
    """Return the evidence of a survey in which a probe got this answer.

    Args:
        normal: what came back to the ping, or server/discover, that it is compared with.
        more: what other probes got.
    """
    era = Era.STATELESS if revision == STATELESS else Era.HANDSHAKE
    evidence = surveyed(revision=revision, **survey)
    session = Session(era, revision=revision, session_id="an-id-of-the-server")
    plain = session.request("p", "ping" if era is Era.HANDSHAKE else "server/discover")
    answers = [(probe, answer, sent or plain), *((p, a, plain) for p, a in (more or {}).items())]
    if normal is not None and era is Era.HANDSHAKE and probe is not HttpProbe.PING:
        answers.append((HttpProbe.PING, normal, plain))
    exchanges = list(evidence.transcript.exchanges)
    for which, came, message in answers:
        content_type = (("content-type", came.content_type),) if came.content_type else ()
        headers = (*content_type, *came.headers.items())
        exchanges.append(
            Exchange(
                index=len(exchanges),
                subject=subject(which),
                kind=Kind.HTTP,
                request=Request("POST", url, message.headers, message.body),
                response=Response(came.status, "HTTP/1.1", headers, came.raw, len(came.raw)),
                end=came.end,
                era=era,
                answered=0.1 if came.end is End.COMPLETE else None,
            )
        )
    return Evidence(Transcript(evidence.transcript.survey, tuple(exchanges)), spec="3.1")


def with_header(name: str, value: str | None, revision: str = NOVEMBER) -> Outgoing:
    session = Session(Era.HANDSHAKE, revision=revision, session_id="an-id-of-the-server")
    return varied(session.request("p", "ping"), Variant(HttpProbe.PING, ((name, value),)))


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


# -- what has to be served ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probe", "rule_id", "refused"),
    [
        (HttpProbe.ACCEPT_ORDER, "mcp.http.accept", FAILED),
        (HttpProbe.ACCEPT_CASE, "mcp.http.accept-case", ADVISORY),
        (HttpProbe.CHARSET, "mcp.http.charset", FAILED),
        (HttpProbe.ORIGIN_OWN, "mcp.http.own-origin", FAILED),
        (HttpProbe.VERSION_ABSENT, "mcp.http.version-absent", ADVISORY),
        (HttpProbe.ID_EMPTY, "mcp.http.ids", FAILED),
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
    assert on(evidence, "mcp.http.ids", "http/id-digits") is expected


# -- what has to be refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("probe", [HttpProbe.ORIGIN_FOREIGN, HttpProbe.ORIGIN_NULL])
@pytest.mark.parametrize(
    ("url", "revision", "answer", "expected"),
    [
        ("http://127.0.0.1:8000/mcp", NOVEMBER, replace(REFUSED, status=403), PASSED),
        ("http://127.0.0.1:8000/mcp", NOVEMBER, PONG, FAILED),
        ("http://seller.test/mcp", NOVEMBER, PONG, FAILED),
        ("https://localhost/mcp", NOVEMBER, PONG, FAILED),
        ("https://seller.test/mcp", NOVEMBER, PONG, ADVISORY),
        ("http://127.0.0.1:8000/mcp", NOVEMBER, REFUSED, FAILED),
        ("https://seller.test/mcp", NOVEMBER, REFUSED, ADVISORY),
        ("http://127.0.0.1:8000/mcp", JUNE, REFUSED, PASSED),
        ("http://127.0.0.1:8000/mcp", JUNE, Http(b"Invalid Origin header", 421, "text/plain"), PASSED),
        ("http://127.0.0.1:8000/mcp", JUNE, PONG, FAILED),
        ("http://127.0.0.1:8000/mcp", NOVEMBER, Http(b"", 500, ""), BLOCKED),
        ("http://127.0.0.1:8000/mcp", NOVEMBER, Http(b"", 404, ""), BLOCKED),  # the session is gone
    ],
)
def test_origin(probe: HttpProbe, url: str, revision: str, answer: Http, expected: Outcome) -> None:
    message = with_header("Origin", "null", revision)
    evidence = tried(probe, answer, url=url, revision=revision, sent=message)
    assert on(evidence, "mcp.http.origin", subject(probe)) is expected


@pytest.mark.parametrize(
    ("revision", "answer", "expected"),
    [
        (NOVEMBER, REFUSED, PASSED),
        (NOVEMBER, Http(b"bad version", 400, "text/plain"), PASSED),
        (NOVEMBER, PONG, FAILED),
        (JUNE, PONG, FAILED),
        (MARCH, PONG, NOT_APPLICABLE),
        (NOVEMBER, replace(REFUSED, status=422), ADVISORY),
        (NOVEMBER, error(-32600), FAILED),  # with HTTP 200
    ],
)
def test_version_header(revision: str, answer: Http, expected: Outcome) -> None:
    message = with_header("MCP-Protocol-Version", "junk", revision)
    evidence = tried(HttpProbe.VERSION_JUNK, answer, revision=revision, sent=message)
    assert on(evidence, "mcp.http.version-header", "http/version-junk") is expected


@pytest.mark.parametrize(
    ("answer", "must", "should"),
    [
        (error(-32700, 400, None), PASSED, PASSED),
        (Http({"jsonrpc": "2.0", "error": {"code": -32700, "message": "x"}}, 400), PASSED, PASSED),
        (error(-32700, 200, None), PASSED, PASSED),
        (error(-32700, 400, "server-error"), PASSED, ADVISORY),
        (error(-32600, 400, None), PASSED, ADVISORY),
        (PAGE, PASSED, ADVISORY),
        (Http(b"", 500, ""), PASSED, ADVISORY),
        (PONG, FAILED, NOT_APPLICABLE),
        (Http(b"", 202, ""), FAILED, NOT_APPLICABLE),
        (Http(b"", 401, ""), BLOCKED, BLOCKED),
        (Http(b"", 503, ""), BLOCKED, BLOCKED),  # of a gateway
    ],
)
def test_malformed_bodies(answer: Http, must: Outcome, should: Outcome) -> None:
    message = Outgoing(Session(Era.HANDSHAKE).request("p", "ping").headers, b'{"jsonrpc"')
    evidence = tried(HttpProbe.MALFORMED, answer, sent=message)
    assert on(evidence, "mcp.http.malformed", "http/malformed") is must
    assert on(evidence, "mcp.http.parse-error", "http/malformed") is should


BATCH_ANSWER = Http([{"jsonrpc": "2.0", "id": n, "result": {}} for n in ("batch-1", "batch-2")])


@pytest.mark.parametrize(
    ("revision", "answer", "expected"),
    [
        (MARCH, BATCH_ANSWER, PASSED),
        (MARCH, REFUSED, ADVISORY),
        (JUNE, BATCH_ANSWER, ADVISORY),
        (NOVEMBER, BATCH_ANSWER, ADVISORY),
        (NOVEMBER, REFUSED, PASSED),
        (NOVEMBER, Http([error(-32600).body]), PASSED),  # an array of refusals
        (STATELESS, BATCH_ANSWER, ADVISORY),
        (STATELESS, REFUSED, PASSED),
    ],
)
def test_batches_by_revision(revision: str, answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.BATCH, answer, revision=revision)
    assert on(evidence, "mcp.http.batch", "http/batch") is expected


def test_a_batch_is_judged_by_the_revision_of_its_own_session() -> None:
    message = Session(Era.HANDSHAKE, revision=MARCH).request("p", "ping")
    evidence = tried(HttpProbe.BATCH, REFUSED, revision=NOVEMBER, sent=message)
    assert on(evidence, "mcp.http.batch", "http/batch") is ADVISORY


@pytest.mark.parametrize(
    ("revision", "answer", "expected"),
    [
        (NOVEMBER, error(-32601), PASSED),
        (NOVEMBER, error(-32601, 404), PASSED),  # no session is lost by that
        (NOVEMBER, error(-32602), ADVISORY),
        (NOVEMBER, Http({"jsonrpc": "2.0", "id": "p", "error": {"code": "-32601"}}), NOT_APPLICABLE),
        (NOVEMBER, PAGE, ADVISORY),
        (NOVEMBER, PONG, FAILED),
        (STATELESS, error(-32601, 404), PASSED),
        (STATELESS, error(-32601), FAILED),
        (STATELESS, error(-32602, 400), FAILED),
    ],
)
def test_unknown_methods(revision: str, answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.UNKNOWN_METHOD, answer, revision=revision)
    assert on(evidence, "mcp.http.unknown-method", "http/unknown-method") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Http(b"", 202, ""), PASSED),
        (Http(b"", 400, ""), PASSED),
        (error(-32601, 400, None), PASSED),
        (error(-32601, 200, None), FAILED),
        (Http({"jsonrpc": "2.0", "result": {}}), FAILED),
    ],
)
def test_unknown_notifications(answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.UNKNOWN_NOTIFICATION, answer)
    assert on(evidence, "mcp.http.unknown-notification", "http/unknown-notification") is expected


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
        (Http(b"", 501, ""), BLOCKED),
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
def test_get_where_there_are_no_sessions(versions: list[str], answer: Http, expected: Outcome) -> None:
    discover = {"supportedVersions": versions, "capabilities": {}, "resultType": "complete"}
    evidence = tried(
        HttpProbe.GET_STREAM,
        answer,
        revision=STATELESS,
        discover=Http({"jsonrpc": "2.0", "id": "discover-1", "result": discover}),
    )
    assert on(evidence, "mcp.http.get-refused", "http/get-stream") is expected
    assert on(evidence, "mcp.http.get", "http/get-stream") is NOT_APPLICABLE


# -- sessions -----------------------------------------------------------------------------------------------------


def opened(session_id: str | None, protocol_version: str = NOVEMBER) -> Http:
    value = {
        "protocolVersion": protocol_version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "seller", "version": "1"},
    }
    headers = {} if session_id is None else {"mcp-session-id": session_id}
    return Http({"jsonrpc": "2.0", "id": "init-1", "result": value}, headers=headers)


@pytest.mark.parametrize(
    ("session_id", "expected"),
    [
        ("abc-123", PASSED),
        ("!~", PASSED),
        ("user one", FAILED),
        ("sess\u00e9", FAILED),
        ("a\x7f", FAILED),
        ("", FAILED),
        (None, NOT_APPLICABLE),
    ],
)
def test_session_ids_are_visible_ascii(session_id: str | None, expected: Outcome) -> None:
    assert outcome(surveyed(initialize=opened(session_id)), "mcp.sessions.id-characters") is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("0123456789abcdef-1", "0123456789abcdef-2", PASSED),
        ("0123456789abcdef-1", "0123456789abcdef-1", ADVISORY),
        ("0123456789abcdef-1", "s2", ADVISORY),
        (None, None, NOT_APPLICABLE),
    ],
)
def test_session_ids_differ_and_are_long(first: str | None, second: str | None, expected: Outcome) -> None:
    evidence = tried(HttpProbe.INITIALIZE_JUNE, opened(second), initialize=opened(first))
    assert on(evidence, "mcp.sessions.id-unguessable", "http/initialize-2025-06-18") is expected


@pytest.mark.parametrize(
    ("probe", "rule_id", "answer", "expected"),
    [
        (HttpProbe.SESSION_ABSENT, "mcp.sessions.required", REFUSED, PASSED),
        (HttpProbe.SESSION_ABSENT, "mcp.sessions.required", PONG, NOT_APPLICABLE),
        (HttpProbe.SESSION_ABSENT, "mcp.sessions.required", Http(b"", 404, ""), ADVISORY),
        (HttpProbe.SESSION_UNKNOWN, "mcp.sessions.unknown", Http(b"", 404, ""), PASSED),
        (HttpProbe.SESSION_UNKNOWN, "mcp.sessions.unknown", REFUSED, ADVISORY),
        (HttpProbe.SESSION_UNKNOWN, "mcp.sessions.unknown", PONG, ADVISORY),
        (HttpProbe.SESSION_ENDED, "mcp.sessions.ended", Http(b"", 404, ""), PASSED),
        (HttpProbe.SESSION_ENDED, "mcp.sessions.ended", REFUSED, FAILED),
        (HttpProbe.SESSION_ENDED, "mcp.sessions.ended", PONG, FAILED),
        (HttpProbe.SESSION_ENDED, "mcp.sessions.ended", Http(b"", 500, ""), BLOCKED),
    ],
)
def test_sessions(probe: HttpProbe, rule_id: str, answer: Http, expected: Outcome) -> None:
    evidence = tried(probe, answer, more={HttpProbe.SESSION_DELETE: Http(b"", 204, "")})
    assert on(evidence, rule_id, subject(probe)) is expected


# -- the lifecycle ------------------------------------------------------------------------------------------------


def offered(version: str) -> Outgoing:
    return Session(Era.HANDSHAKE).initialize("init-2", version)


@pytest.mark.parametrize(
    ("probe", "answer", "expected"),
    [
        (HttpProbe.INITIALIZE_UNKNOWN, opened(None, NOVEMBER), PASSED),
        (HttpProbe.INITIALIZE_UNKNOWN, opened(None, JUNE), PASSED),
        (HttpProbe.INITIALIZE_UNKNOWN, opened(None, "2099-01-01"), FAILED),
        (HttpProbe.INITIALIZE_UNKNOWN, error(-32602), ADVISORY),
        (HttpProbe.INITIALIZE_UNKNOWN, REFUSED, ADVISORY),
        (HttpProbe.INITIALIZE_JUNE, opened(None, JUNE), PASSED),
        (HttpProbe.INITIALIZE_JUNE, opened(None, NOVEMBER), PASSED),  # nothing says that it speaks June
        (HttpProbe.INITIALIZE_JUNE, REFUSED, NOT_APPLICABLE),  # it serves one session
        (HttpProbe.INITIALIZE_JUNE, opened(None, "1.0"), NOT_APPLICABLE),  # known-version looks at that
        (HttpProbe.INITIALIZE_OLD, opened(None, "2024-11-05"), PASSED),
        (HttpProbe.INITIALIZE_OLD, opened(None, NOVEMBER), PASSED),
    ],
)
def test_negotiation(probe: HttpProbe, answer: Http, expected: Outcome) -> None:
    evidence = tried(probe, answer, sent=offered(SESSIONS[probe][0]))
    assert on(evidence, "mcp.lifecycle.negotiation", subject(probe)) is expected


def test_a_version_that_the_server_speaks_is_agreed_to() -> None:
    elsewhere = {HttpProbe.INITIALIZE_UNKNOWN: opened(None, JUNE)}
    evidence = tried(HttpProbe.INITIALIZE_JUNE, opened(None, NOVEMBER), sent=offered(JUNE), more=elsewhere)
    found = finding(evidence, "mcp.lifecycle.negotiation")
    assert found.outcome is FAILED
    assert found.pointer == "/result/protocolVersion"
    assert json.loads(found.received) == NOVEMBER


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PONG, PASSED),
        (result({"_meta": {}}), PASSED),
        (result([]), FAILED),
        (result(None), FAILED),
        (error(-32601), FAILED),
        (Http(b"", 503, ""), BLOCKED),
    ],
)
def test_ping(answer: Http, expected: Outcome) -> None:
    assert on(tried(HttpProbe.PING, answer), "mcp.lifecycle.ping", "http/ping") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(error(-32601), ADVISORY), (result({"resources": []}), PASSED), (error(-32602), PASSED)],
)
def test_declared_capabilities(answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.RESOURCES, answer)
    assert on(evidence, "mcp.lifecycle.capabilities-served", "http/resources-list") is expected


def test_what_was_not_sent_is_not_judged() -> None:
    plain = surveyed()
    (found,) = [finding(plain, "mcp.http.origin")]
    assert (found.outcome, found.subject) == (NOT_APPLICABLE, "-")
    assert "no such request was sent" in found.message
    assert "capability resources" in finding(plain, "mcp.lifecycle.capabilities-served").message
