"""The rules on sessions and the lifecycle, on literal answers."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from evidence import Http, finding, on, outcome, surveyed
from http_answers import (
    JUNE,
    NOVEMBER,
    PONG,
    REFUSED,
    error,
    opened,
    result,
    tried,
)
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http import SESSIONS, subject
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.transcript import Era
from pytest_adcp.harness.verdict import Outcome
from surveys import judge_core, survey

FAILED, ADVISORY, PASSED = Outcome.FAILED, Outcome.ADVISORY, Outcome.PASSED
NOT_APPLICABLE, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED


# -- sessions -----------------------------------------------------------------------------------------------------


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
    assert outcome(surveyed(initialize=opened(session_id)), "mcp.http.session-id-characters") is expected


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
    assert on(evidence, "mcp.http.session-id-unguessable", "http/initialize-2025-06-18") is expected


@pytest.mark.parametrize(
    ("probe", "rule_id", "answer", "expected"),
    [
        (HttpProbe.SESSION_ABSENT, "mcp.http.session-required", REFUSED, PASSED),
        (HttpProbe.SESSION_ABSENT, "mcp.http.session-required", PONG, NOT_APPLICABLE),
        (HttpProbe.SESSION_ABSENT, "mcp.http.session-required", Http(b"", 404, ""), ADVISORY),
        (HttpProbe.SESSION_UNKNOWN, "mcp.http.session-unknown", Http(b"", 404, ""), PASSED),
        (HttpProbe.SESSION_UNKNOWN, "mcp.http.session-unknown", REFUSED, ADVISORY),
        (HttpProbe.SESSION_UNKNOWN, "mcp.http.session-unknown", PONG, ADVISORY),
        (HttpProbe.SESSION_ENDED, "mcp.http.session-ended", Http(b"", 404, ""), PASSED),
        (HttpProbe.SESSION_ENDED, "mcp.http.session-ended", REFUSED, FAILED),
        (HttpProbe.SESSION_ENDED, "mcp.http.session-ended", PONG, FAILED),
        (HttpProbe.SESSION_ENDED, "mcp.http.session-ended", Http(b"", 500, ""), BLOCKED),
    ],
)
def test_sessions(probe: HttpProbe, rule_id: str, answer: Http, expected: Outcome) -> None:
    evidence = tried(probe, answer, more={HttpProbe.SESSION_DELETE: Http(b"", 204, "")})
    assert on(evidence, rule_id, subject(probe)) is expected


@pytest.mark.skipif(shutil.which("curl") is None, reason="runs curl")
def test_the_command_ends_the_session_first() -> None:
    with running(SellerOptions(fault="session-never-ends")) as url, running(SellerOptions()) as fine:
        (found,) = [f for f in judge_core(survey(url)) if f.rule == "mcp.http.session-ended"]
        last = {}
        for seller in (url, fine):
            line = found.curl.replace(url, seller)
            done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=20, check=True)
            last[seller] = [word for word in done.stdout.splitlines() if word.startswith("HTTP/1.1 ")]
    assert found.outcome is FAILED
    version = found.curl.partition("MCP-Protocol-Version: ")[2][:10]
    assert f'"protocolVersion": "{version}"' in found.curl
    assert last[url][1][:12] == "HTTP/1.1 200"
    assert last[fine][-1][:12] == "HTTP/1.1 404"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Http(b"", 200, ""), PASSED),
        (Http(b"", 405, ""), PASSED),
        (Http(b"", 400, ""), ADVISORY),
        (Http(b"", 404, ""), ADVISORY),
        (Http(b"", 501, ""), ADVISORY),
        (Http(b"", 500, ""), BLOCKED),
    ],
)
def test_delete(answer: Http, expected: Outcome) -> None:
    evidence = tried(HttpProbe.SESSION_DELETE, answer)
    assert on(evidence, "mcp.http.delete", "http/session-delete") is expected


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
        # jsonrpc.result-or-error looks at that
        (Http({"jsonrpc": "2.0", "id": "p", "result": {}, "error": None}), NOT_APPLICABLE),
        (result([]), NOT_APPLICABLE),  # jsonrpc.result-object looks at those
        (result(None), NOT_APPLICABLE),
        (error(-32601), FAILED),
        (Http(b"", 503, ""), BLOCKED),
    ],
)
def test_ping(answer: Http, expected: Outcome) -> None:
    assert on(tried(HttpProbe.PING, answer), "mcp.lifecycle.ping", "http/ping") is expected


@pytest.mark.parametrize(
    ("probe", "members", "expected"),
    [
        (HttpProbe.PING, {"result": {}}, PASSED),
        (HttpProbe.PING, {"result": {}, "error": {"code": 1, "message": "x"}}, FAILED),
        (HttpProbe.PING, {"result": {}, "error": None}, FAILED),
        (HttpProbe.ID_EMPTY, {"result": {}, "error": None}, FAILED),
        (HttpProbe.MALFORMED, {"result": None, "error": {"code": -32700, "message": "x"}}, FAILED),
        (HttpProbe.MALFORMED, {"error": {"code": -32700, "message": "x"}}, PASSED),
    ],
)
def test_answers_to_probes_are_a_result_or_an_error(
    probe: HttpProbe, members: dict[str, object], expected: Outcome
) -> None:
    evidence = tried(probe, Http({"jsonrpc": "2.0", "id": "p", **members}))
    assert on(evidence, "mcp.jsonrpc.result-or-error", subject(probe)) is expected
    assert outcome(evidence, "mcp.lifecycle.ping") in (PASSED, NOT_APPLICABLE)


def test_a_notification_that_is_answered_breaks_one_rule() -> None:
    came = Http({"jsonrpc": "2.0", "id": None, "result": {}, "error": None})
    evidence = tried(HttpProbe.UNKNOWN_NOTIFICATION, came)
    assert outcome(evidence, "mcp.jsonrpc.unknown-notification") is FAILED
    assert outcome(evidence, "mcp.jsonrpc.result-or-error") is PASSED


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
