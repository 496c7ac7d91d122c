"""The rules on what a server has to refuse over HTTP, on literal answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence import Http, on, stream
from http_answers import (
    JUNE,
    MARCH,
    NOVEMBER,
    PAGE,
    PONG,
    REFUSED,
    STATELESS,
    error,
    result,
    tried,
    with_header,
)
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http import subject
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.transcript import Era
from pytest_adcp.harness.verdict import Outcome

FAILED, ADVISORY, PASSED = Outcome.FAILED, Outcome.ADVISORY, Outcome.PASSED
NOT_APPLICABLE, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED


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
    assert on(evidence, "mcp.lifecycle.version-header", "http/version-junk") is expected


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
    assert on(evidence, "mcp.jsonrpc.malformed", "http/malformed") is must
    assert on(evidence, "mcp.jsonrpc.parse-error", "http/malformed") is should


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
    assert on(evidence, "mcp.jsonrpc.batch", "http/batch") is expected


def test_a_batch_has_several_responses_on_its_stream() -> None:
    answers = Http(stream(*BATCH_ANSWER.body), content_type="text/event-stream")
    batch = Outgoing(
        Session(Era.HANDSHAKE).request("p", "ping").headers, b'[{"jsonrpc": "2.0", "id": "batch-1"}]'
    )
    rule = "mcp.sse.one-response"
    assert on(tried(HttpProbe.BATCH, answers, sent=batch), rule, "http/batch") is NOT_APPLICABLE
    assert on(tried(HttpProbe.ID_DIGITS, answers), rule, "http/id-digits") is FAILED


def test_a_batch_is_judged_by_the_revision_of_its_own_session() -> None:
    message = Session(Era.HANDSHAKE, revision=MARCH).request("p", "ping")
    evidence = tried(HttpProbe.BATCH, REFUSED, revision=NOVEMBER, sent=message)
    assert on(evidence, "mcp.jsonrpc.batch", "http/batch") is ADVISORY


@pytest.mark.parametrize(
    ("revision", "answer", "expected"),
    [
        (NOVEMBER, error(-32601), PASSED),
        (NOVEMBER, error(-32601, 404), PASSED),  # no session is lost by that
        (NOVEMBER, error(-32602), ADVISORY),
        (NOVEMBER, Http({"jsonrpc": "2.0", "id": "p", "error": {"code": "-32601"}}), NOT_APPLICABLE),
        (NOVEMBER, PAGE, ADVISORY),
        (NOVEMBER, PONG, FAILED),
        (NOVEMBER, Http({"jsonrpc": "2.0", "id": "p", "result": None, "error": {"code": -32601}}), PASSED),
        # mcp.http.method-not-found looks at status and code.
        (STATELESS, error(-32601, 404), NOT_APPLICABLE),
        (STATELESS, error(-32601), NOT_APPLICABLE),
        (STATELESS, error(-32602, 400), NOT_APPLICABLE),
    ],
)
def test_unknown_methods(revision: str, answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.UNKNOWN_METHOD, answer, revision=revision)
    assert on(evidence, "mcp.jsonrpc.unknown-method", "http/unknown-method") is expected


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
    assert on(evidence, "mcp.jsonrpc.unknown-notification", "http/unknown-notification") is expected


# -- requests that are none, or not quite -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (REFUSED, PASSED),
        (error(-32602, 400), PASSED),
        (error(-32700, 400, None), PASSED),
        (PAGE, PASSED),
        (error(-32601, 400), ADVISORY),
        (PONG, ADVISORY),
        (Http(b"", 500, ""), ADVISORY),
        (Http(b"", 502, ""), BLOCKED),
    ],
)
def test_messages_of_another_version(answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.OTHER_ENVELOPE, answer)
    assert on(evidence, "mcp.jsonrpc.invalid-request", "http/jsonrpc-1.0") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error(-32602), PASSED),
        (error(-32603), PASSED),
        (REFUSED, PASSED),
        (result({"content": [{"type": "text", "text": "no name"}], "isError": True}), PASSED),
        (result({"content": [], "structuredContent": {"products": []}}), ADVISORY),
        (error(-32603, 500), ADVISORY),
    ],
)
def test_calls_without_a_name(answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.NO_TOOL, answer)
    assert on(evidence, "mcp.jsonrpc.invalid-params", "http/tools-call-without-name") is expected
