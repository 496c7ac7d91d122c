"""One conversation over HTTP: sessions, requests of the server's, redirects, cookies, and how politely it goes."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.harness import __version__
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.subjects import Gap
from pytest_adcp.harness.transcript import End, Exchange, Kind, Transcript
from pytest_adcp.harness.verdict import Outcome
from rawserver import Peer
from scripted import SESSION, TOOLS, Call, Reply, Seller, answer, initialized, scripted
from surveys import FAST, judge_core, with_outcome
from surveys import plain_survey as survey


def of_kind(transcript: Transcript, kind: Kind) -> list[Exchange]:
    return [exchange for exchange in transcript.exchanges if exchange.kind is kind]


def event(message: Any) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


# -- requests of the server's -----------------------------------------------------------------------------------


def asking(requests: list[dict[str, Any]], answers: int | None = None) -> Any:
    """Return a hook: one call is answered on a stream on which the server asks first, and waits for answers."""
    answered = threading.Semaphore(0)

    def hook(call: Call) -> Any:
        if call.name == "response":
            answered.release()
        if call.tool != "get_products" or call.times > 1:
            return None

        def stream(peer: Peer) -> None:
            peer.head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
            peer.chunk(b"".join(event(request) for request in requests))
            for _ in range(len(requests) if answers is None else answers):
                answered.acquire(timeout=5)
            peer.pause(0 if answers is None else 0.2)
            peer.chunk(event({"jsonrpc": "2.0", "id": call.message["id"], "result": answer(call)}))
            peer.send(b"0\r\n\r\n")

        return stream

    return hook


def request(method: str, number: Any = 7) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method}


def test_a_ping_is_answered_and_other_requests_are_refused() -> None:
    asked = [request("ping", "p-1"), request("sampling/createMessage", 2), request("roots/list", "r")]
    with scripted(asking(asked)) as seller:
        transcript = survey(seller.url)
    answers = seller.of("response")
    assert [call.message for call in answers if "result" in call.message] == [
        {"jsonrpc": "2.0", "id": "p-1", "result": {}}
    ]
    refused = {
        call.message["id"]: call.message["error"]["code"] for call in answers if "error" in call.message
    }
    assert refused == {2: -32601, "r": -32601}
    for call in answers:
        assert call.header("mcp-session-id") == SESSION
        assert call.header("mcp-protocol-version") == "2025-11-25"
        assert call.header("content-type") == "application/json"
    replies = of_kind(transcript, Kind.REPLY)
    assert [reply.end for reply in replies] == [End.COMPLETE] * 3
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_answers_follow_each_other_however_many_are_asked_at_once() -> None:
    with scripted(asking([request("ping", number) for number in range(30)], 20)) as seller:
        transcript = survey(seller.url, limits=replace(FAST, request_timeout=6))
    assert len(seller.of("response")) == 20  # no more in one survey
    assert {call.message["id"] for call in seller.of("response")} == set(range(20))
    assert len(of_kind(transcript, Kind.REPLY)) == 20
    assert "get_products/sample" in {call.subject for call in transcript.survey.calls}


DEEP = json.loads("[" * 800 + "]" * 800)


@pytest.mark.parametrize(
    "number", [None, True, 1.5, {}, [], DEEP, "x" * 1025], ids=lambda value: repr(value)[:9]
)
def test_what_has_no_usable_id_is_not_answered(number: Any) -> None:
    with scripted(asking([request("ping", number)], 0)) as seller:
        transcript = survey(seller.url)
    assert seller.of("response") == []
    assert of_kind(transcript, Kind.REPLY) == []
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_a_notification_of_the_server_needs_no_answer() -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    with scripted(asking([notice], 0)) as seller:
        survey(seller.url)
    assert seller.of("response") == []


def test_an_answer_is_still_sent_when_all_else_is_done() -> None:
    def hook(call: Call) -> Any:
        if call.name.startswith("adcp_no_such_tool"):
            failed = {"jsonrpc": "2.0", "id": call.message["id"], "error": {"code": -32602, "message": "no"}}
            return Reply(events=[request("ping"), failed], pause=0.5)
        return Reply(status=202, pause=0.3) if call.name == "response" else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    (reply,) = of_kind(transcript, Kind.REPLY)
    assert reply.end is End.COMPLETE
    assert seller.names[-2:] == ["response", "DELETE"]


# -- sessions ---------------------------------------------------------------------------------------------------


class Forgetful:
    """Forgets its session after some calls, as a server does that restarts."""

    def __init__(self, times: int, after: int = 2) -> None:
        self.times = times
        self.after = after
        self.session = 0
        self.lock = threading.Lock()

    def __call__(self, call: Call) -> Reply | None:
        with self.lock:
            if call.method == "initialize":
                self.session += 1
                return initialized(session=f"s{self.session}")
            if call.header("mcp-session-id") not in (None, f"s{self.session}"):
                return self._gone()
            if call.tool and self.times:
                self.after -= 1
                if self.after < 0:
                    self.times -= 1
                    self.after = 1
                    self.session += 100
                    return self._gone()
            return None

    def _gone(self) -> Reply:
        return Reply(
            status=404, message={"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "gone"}}
        )


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_forgotten_session_is_opened_once_more(concurrency: int) -> None:
    with scripted(Forgetful(1)) as seller:
        transcript = survey(seller.url, limits=replace(FAST, concurrency=concurrency))
    assert len(seller.of("initialize")) == 2
    assert len(seller.of("notifications/initialized")) == 2
    assert [e.subject for e in of_kind(transcript, Kind.INITIALIZE)] == ["initialize", "initialize/again"]
    told = ["notifications/initialized", "notifications/initialized/again"]
    assert [e.subject for e in of_kind(transcript, Kind.INITIALIZED)] == told
    repeated = [e for e in transcript.exchanges if e.retried]
    assert repeated
    assert {e.response.status for e in repeated if e.response} == {404}
    outcomes = [e for e in of_kind(transcript, Kind.CALL) if not e.retried]
    assert len(outcomes) == len(transcript.survey.calls) == 6
    assert {e.response.status for e in outcomes if e.response} == {200}
    assert seller.of("DELETE")[0].header("mcp-session-id") == "s102"
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_a_session_that_is_forgotten_again_is_not_opened_a_third_time() -> None:
    with scripted(Forgetful(2)) as seller:
        transcript = survey(seller.url, limits=replace(FAST, concurrency=1))
    assert len(seller.of("initialize")) == 2
    last = [e for e in of_kind(transcript, Kind.CALL) if not e.retried][-1]
    assert last.response is not None
    assert last.response.status == 404
    assert transcript.survey.complete


@pytest.mark.parametrize("session", ["a\x07b", "a\x7fb"])
def test_a_session_id_that_no_header_can_carry_is_none(session: str) -> None:
    def hook(call: Call) -> Reply | None:
        return initialized(session=session) if call.method == "initialize" else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.complete
    assert seller.of("get_products")
    assert all(call.header("mcp-session-id") is None for call in seller.calls)


def test_404_without_a_session_is_an_answer() -> None:
    def hook(call: Call) -> Reply | None:
        if call.method == "initialize":
            return initialized(session=None)
        return Reply(status=404) if call.tool == "get_products" else None

    with scripted(hook) as seller:
        survey(seller.url)
    assert len(seller.of("initialize")) == 1
    assert all(call.header("mcp-session-id") is None for call in seller.calls)
    assert seller.of("DELETE") == []


def test_a_new_session_that_is_refused_leaves_the_answer_as_it_is() -> None:
    def hook(call: Call) -> Reply | None:
        if call.method == "initialize" and call.times > 1:
            return Reply(status=500)
        return Reply(status=404) if call.tool else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert len(seller.of("initialize")) == 2
    assert not any(e.retried for e in of_kind(transcript, Kind.CALL))
    assert transcript.survey.complete


@pytest.mark.parametrize("status", [200, 405, 500])
def test_the_session_is_ended(status: int) -> None:
    with scripted(lambda call: Reply(status=status) if call.verb == "DELETE" else None) as seller:
        transcript = survey(seller.url)
    assert seller.names[-1] == "DELETE"
    (last,) = seller.of("DELETE")
    assert last.header("mcp-session-id") == SESSION
    assert last.header("mcp-protocol-version") == "2025-11-25"
    assert transcript.exchanges[-1].kind is Kind.DELETE
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_every_request_says_who_asks() -> None:
    with scripted() as seller:
        survey(seller.url)
    assert {call.header("user-agent") for call in seller.calls} == {f"pytest-adcp/{__version__}"}
    (first,) = seller.of("initialize")
    assert first.message["params"]["clientInfo"] == {"name": "pytest-adcp", "version": __version__}
    assert first.message["params"]["capabilities"] == {}


# -- cookies and redirects ----------------------------------------------------------------------------------------


def test_cookies_go_back_to_their_origin_and_into_no_file(tmp_path: Path) -> None:
    secret = "c00kie-of-a-load-balancer"
    with scripted() as stranger:
        where = stranger.url

        def hook(call: Call) -> Reply | None:
            if call.method == "initialize":
                return initialized("2025-11-25", f"Set-Cookie: lb={secret}; Path=/; HttpOnly")
            if call.tool == "get_products":
                return Reply(status=307, headers=[f"Location: {where}"])
            return None

        with scripted(hook) as seller:
            transcript = survey(seller.url)
    assert stranger.calls == []
    later = [call for call in seller.calls if call.at > seller.of("tools/list")[0].at]
    assert {call.header("cookie") for call in later} == {f"lb={secret}"}  # shared by the lanes
    transcript.save(tmp_path / "t.jsonl")
    written = (tmp_path / "t.jsonl").read_bytes()
    assert secret.encode() not in written
    assert b'["Cookie","[redacted]"]' in written


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_within_the_origin_are_followed_and_listed(status: int) -> None:
    def hook(call: Call) -> Reply | None:
        moved = call.path == "/mcp" and call.verb == "POST"
        return Reply(status=status, headers=["Location: /mcp/?v=2"]) if moved else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    posts = [e for e in transcript.exchanges if e.request.method == "POST"]
    assert {e.redirects for e in posts} == {(f"{seller.url}/?v=2",)}
    assert {e.response.status for e in posts if e.response} == {200, 202}
    moved = [call for call in seller.calls if call.path != "/mcp"]
    assert len(moved) == len(posts)
    assert [call.http.body for call in moved if call.method == "initialize"] == [
        e.request.body for e in posts if e.kind is Kind.INITIALIZE
    ]
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/mcp/"),
        (302, "/mcp/"),
        (303, "/mcp/"),
        (307, "http://localhost:{port}/mcp"),
        (307, "https://127.0.0.1:{port}/mcp"),
        (308, "http://127.0.0.1:9/mcp"),
        (307, ""),
    ],
)
def test_other_redirects_end_the_exchange(status: int, location: str) -> None:
    def hook(call: Call) -> Reply | None:
        if call.tool != "get_products":
            return None
        where = location.format(port=call.header("host").rpartition(":")[2])  # type: ignore[union-attr]
        return Reply(status=status, headers=[f"Location: {where}"] if location else [])

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert {call.path for call in seller.calls} == {"/mcp"}
    calls = [e for e in of_kind(transcript, Kind.CALL) if e.subject.startswith("get_products/")]
    assert {(e.response.status if e.response else 0, e.redirects) for e in calls} == {(status, ())}
    gaps = [entry for entry in Evidence(transcript).answers if isinstance(entry, Gap)]
    assert {gap.label.partition("/")[0] for gap in gaps} == {"get_products"}
    assert all("redirected to" in gap.why for gap in gaps)


def test_a_redirect_without_end_is_left_after_three() -> None:
    with scripted(
        lambda call: Reply(status=307, headers=["Location: /mcp"]) if call.tool else None
    ) as seller:
        transcript = survey(seller.url, limits=replace(FAST, concurrency=1))
    (probe,) = of_kind(transcript, Kind.PROBE)
    assert len(probe.redirects) == 3
    assert probe.response is not None
    assert probe.response.status == 307


# -- concurrency and rate -----------------------------------------------------------------------------------------


def slow(call: Call) -> Reply | None:
    return Reply(result=answer(call), pause=0.1) if call.tool in MANY else None


MANY = [*TOOLS, "list_creatives", "get_media_buys", "get_signals", "list_accounts"]


def surveyed(hook: Any, **limits: Any) -> tuple[Seller, float]:
    with scripted(hook, tools=MANY) as seller:
        began = time.monotonic()
        transcript = survey(seller.url, limits=replace(FAST, **limits))
        assert transcript.survey.complete
        assert len(transcript.survey.calls) >= 10
        return seller, time.monotonic() - began


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_no_more_requests_at_once_than_there_are_lanes(concurrency: int) -> None:
    seller, _ = surveyed(slow, concurrency=concurrency)
    assert seller.most_at_once == concurrency
    # a lane is one connection, kept alive; one more waits for requests of the server's and is not opened
    assert seller.server.connections == max(concurrency, 1)


def test_lanes_save_time() -> None:
    _, alone = surveyed(slow, concurrency=1)
    seller, together = surveyed(slow, concurrency=5)
    assert together < alone * 0.7, seller.names


def test_the_rate_is_kept_by_all_lanes_together() -> None:
    seller, _ = surveyed(lambda _: None, rate=25, concurrency=5)
    came = sorted(call.at for call in seller.calls)
    # What is between two requests varies on the way; how many there are in a time does not.
    for count in (5, len(came) - 1):
        spans = [later - earlier for earlier, later in zip(came, came[count:], strict=False)]
        assert min(spans) >= count / 25 - 0.1
