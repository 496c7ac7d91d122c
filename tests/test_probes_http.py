"""What is sent to try transport, sessions and lifecycle: to whom, how often, in which session, and when it ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http import MOST, OTHERS, SERVED, SESSIONS, SILENT, Variant, subject, varied
from pytest_adcp.harness.recorder import SAME_FAILURES, Phase, Recorder
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.seller.options import Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Limits, Request, Response, Transcript
from pytest_adcp.harness.wire import Sent
from scripted import Call, scripted
from surveys import FAST, survey

HEADERS = {"accept", "content-type", "host", "mcp-protocol-version", "mcp-session-id", "origin"}


@contextmanager
def surveyed(**options: object) -> Iterator[Transcript]:
    with running(SellerOptions(**options)) as url:  # type: ignore[arg-type]
        yield survey(url, tools=("get_adcp_capabilities", "get_products"))


def probes(transcript: Transcript) -> list[Exchange]:
    return [exchange for exchange in transcript.exchanges if exchange.kind is Kind.HTTP]


def names(transcript: Transcript) -> set[str]:
    return {exchange.subject for exchange in probes(transcript)}


def session_of(exchange: Exchange) -> str | None:
    headers = exchange.request.headers
    return next((value for name, value in headers if name.lower() == "mcp-session-id"), None)


def test_each_probe_is_sent_once_and_all_of_them_are_few() -> None:
    with surveyed() as transcript:
        sent = [exchange.subject for exchange in probes(transcript)]
    optional = {HttpProbe.RESOURCES, HttpProbe.PROMPTS, HttpProbe.COMPLETIONS, HttpProbe.LOGGING}
    optional |= {HttpProbe.DELETE}  # of the stateless era
    optional |= {HttpProbe.CLIENT_INFO, HttpProbe.USER_AGENT}
    assert len(sent) == len(set(sent)) == MOST
    assert set(sent) >= {subject(probe) for probe in HttpProbe if probe not in optional}


def test_a_server_of_the_stateless_era_gets_those_of_that_era() -> None:
    with surveyed(eras=Eras.STATELESS) as transcript:
        sent = names(transcript)
    assert {subject(HttpProbe.GET_STREAM), subject(HttpProbe.MALFORMED), subject(HttpProbe.ID_EMPTY)} <= sent
    assert subject(HttpProbe.DELETE) in sent
    assert not [name for name in sent if "session" in name or "initialize" in name or "version" in name]


def test_a_server_without_session_ids_gets_none_and_no_delete() -> None:
    with surveyed(sessions=False) as transcript:
        sent = probes(transcript)
    assert not [exchange for exchange in sent if exchange.request.method == "DELETE"]
    assert {subject(probe) for probe in SESSIONS} <= {exchange.subject for exchange in sent}
    assert not [exchange for exchange in sent if session_of(exchange) is not None]


@pytest.mark.parametrize(("how", "number"), [({"probes": False}, 0), ({"auto": False}, MOST)])
def test_they_hang_on_probes_alone(how: dict[str, bool], number: int) -> None:
    with running(SellerOptions()) as url:
        transcript = survey(url, **how)
    assert len(probes(transcript)) == number


def test_each_differs_from_the_plain_request_in_one_thing() -> None:
    with surveyed() as transcript:
        sent = {exchange.subject: exchange for exchange in probes(transcript)}
    plain = sent[subject(HttpProbe.PING)].request
    own_sessions = {HttpProbe.MALFORMED, HttpProbe.BATCH, HttpProbe.SESSION_DELETE, HttpProbe.SESSION_ENDED}
    for variant in (*SERVED, *OTHERS):
        if variant.probe in own_sessions or subject(variant.probe) not in sent or variant.http == "GET":
            continue
        request = sent[subject(variant.probe)].request
        differing = headers(request).items() ^ headers(plain).items()
        body = variant.rpc or variant.body or variant.request_id is not None
        assert len({name for name, _ in differing}) == (
            0 if body or variant.probe is HttpProbe.PING else 1
        ), variant


def headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers if name.lower() in HEADERS}


def test_what_may_upset_a_session_has_one_of_its_own_and_comes_last() -> None:
    with surveyed() as transcript:
        exchanges = transcript.exchanges
        sent = {exchange.subject: exchange for exchange in probes(transcript)}
    calls = [exchange for exchange in exchanges if exchange.kind is Kind.CALL]
    theirs = {session_of(call) for call in calls}
    assert len(theirs) == 1
    own = [sent[subject(probe)] for probe in (HttpProbe.SESSION_DELETE, HttpProbe.MALFORMED, HttpProbe.BATCH)]
    assert len({session_of(exchange) for exchange in own} | theirs) == 4
    done = max(call.started + call.seconds for call in calls)
    later = {*(subject(probe) for probe in SESSIONS), *(subject(v.probe) for v in OTHERS)}
    assert all(exchange.started >= done for name, exchange in sent.items() if name in later)
    # Sessions that were opened for it are closed.
    opened = [exchange.response for name, exchange in sent.items() if name.startswith("http/initialize-")]
    closed = {session_of(exchange) for exchange in sent.values() if exchange.request.method == "DELETE"}
    assert {response.header("mcp-session-id") for response in opened if response is not None} == closed


def test_only_the_headers_of_a_stream_are_read() -> None:
    with surveyed(answers=Answers.SSE) as transcript:
        (stream,) = [e for e in probes(transcript) if e.subject == subject(HttpProbe.GET_STREAM)]
    assert stream.response is not None
    assert (stream.end, stream.response.status) == (End.COMPLETE, 200)
    assert stream.response.media_type == "text/event-stream"
    assert stream.seconds < 1


def test_declared_capabilities_are_asked_for_and_others_make_room() -> None:
    with running(SellerOptions(fault="capability-without-methods")) as url:
        transcript = survey(url)
    sent = names(transcript)
    assert {subject(HttpProbe.RESOURCES), subject(HttpProbe.PROMPTS)} <= sent
    assert len(probes(transcript)) == MOST - 1  # what makes room took two requests, and one more was needed
    (left,) = [item for item in transcript.survey.not_called if item.item.startswith("http/")]
    assert left.item == subject(HttpProbe.INITIALIZE_OLD)


def test_silence_ends_them_and_not_the_survey() -> None:
    """A server that never answers a ping keeps nobody waiting for each of thirty."""

    def silent(peer: object, *_: object) -> None:
        return None

    def hook(call: Call) -> object:
        return silent if call.method == "ping" else None

    limits = replace(FAST, request_timeout=0.3)
    with scripted(hook) as seller:  # type: ignore[arg-type]
        transcript = survey(seller.url, limits=limits)
    unanswered = [exchange for exchange in probes(transcript) if exchange.response is None]
    assert SILENT <= len(unanswered) < SILENT + limits.concurrency
    assert transcript.survey.complete
    assert any("no more were sent" in item.why for item in transcript.survey.not_called)


def test_failures_of_probes_do_not_end_a_survey() -> None:
    recorder = Recorder(Limits(), Redactor(()), lambda _: None)
    tools = itertools.cycle(("get_products/sample", "get_signals/sample"))

    def add(kind: Kind, end: End) -> None:
        response = Response(200, "HTTP/1.1", (), b"", 0) if end is End.COMPLETE else None
        sent = Sent(Request("POST", "http://seller.test/", ()), response, end)
        recorder.add((Phase.HTTP, 0), sent, kind=kind, subject=next(tools), started=0.0)

    add(Kind.CALL, End.COMPLETE)
    for _ in range(SAME_FAILURES):
        add(Kind.HTTP, End.RESET)
    assert not recorder.stopped
    for _ in range(SAME_FAILURES):
        add(Kind.CALL, End.RESET)
    assert recorder.stopped


def test_a_variant_takes_the_place_of_a_header_or_takes_it_away() -> None:
    message = Session(Era.HANDSHAKE, session_id="s").request(1, "ping")
    other = varied(message, Variant(HttpProbe.PING, (("accept", "*/*"), ("Mcp-Session-Id", None))))
    kept = {name.lower(): value for name, value in other.headers}
    assert kept["accept"] == "*/*"
    assert "mcp-session-id" not in kept
    assert len(other.headers) == len(message.headers) - 1
    assert varied(message, Variant(HttpProbe.PING, body=b"[")) == Outgoing(message.headers, b"[")
