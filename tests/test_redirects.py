"""Redirects of the endpoint, with and without TLS: what is followed, what is said of it, and what credentials are sent."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import trustme
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.tls import ssl_context
from pytest_adcp.harness.transcript import Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.harness.wire import Connection
from rawserver import Peer, Server, serve
from scripted import Call, Reply, good, message_of
from surveys import FAST, judge_core, with_outcome

SECRET = "a-token-that-goes-nowhere-in-the-clear"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA, tmp_path: Path) -> Connection:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return Connection(tls=ssl_context(path))


@pytest.fixture(scope="module")
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def leading(there: Callable[[Server], str], status: int = 307) -> Callable[[Peer], None]:
    """A seller behind /mcp/, to which, or elsewhere, /mcp leads."""

    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            call = Call(request, message_of(request.body), 1, 0.0)
            if call.path == "/mcp":
                peer.answer(b"", f"Location: {there(peer.server)}", status=f"{status} Redirect")
                continue
            reply: Reply = good(call)
            body, media_type = reply.content(call)
            headers = [*reply.headers, *([f"Content-Type: {media_type}"] if media_type else [])]
            peer.answer(body, *headers, status=f"{reply.status} Status")

    return script


def surveyed(url: str, connection: Connection | None = None) -> Transcript:
    target = Target.parse(url, credentials=Credentials(bearer=SECRET))
    surveyor = Surveyor(Order(target, connection or Connection(), FAST, PlanRequest()))
    anyio.run(surveyor.run)
    return surveyor.transcript()


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_slash_at_the_end_is_followed_and_told(status: int, absolute: bool) -> None:
    there = (lambda server: f"{server.url}/") if absolute else (lambda _: "/mcp/")
    with serve(leading(there, status)) as server:
        findings = judge_core(surveyed(server.url))
    assert "mcp.http.direct" in with_outcome(findings, Outcome.ADVISORY)
    assert "mcp.http.redirect" not in with_outcome(findings, Outcome.FAILED)


def test_a_slash_at_the_end_is_followed_over_tls(tls: ssl.SSLContext, trusting: Connection) -> None:
    with serve(leading(lambda server: f"{server.url}/"), tls=tls) as server:
        transcript = surveyed(server.url, trusting)
    findings = judge_core(transcript)
    assert transcript.survey.unusable is None
    assert "mcp.http.direct" in with_outcome(findings, Outcome.ADVISORY)
    assert "mcp.http.redirect" not in with_outcome(findings, Outcome.FAILED)


def test_from_https_to_http_is_a_fault_of_the_redirect(tls: ssl.SSLContext, trusting: Connection) -> None:
    with serve(leading(lambda _: "/mcp/")) as plain:
        with serve(leading(lambda _: f"{plain.url}/"), tls=tls) as server:
            transcript = surveyed(server.url, trusting)
        assert plain.requests == []  # not even without the token
    assert server.requests
    found = [
        f for f in judge_core(transcript) if f.rule == "mcp.http.redirect" and f.outcome is Outcome.FAILED
    ]
    assert "from https to http" in found[0].message
    assert plain.url in found[0].received
    assert transcript.survey.unusable is not None
    assert transcript.survey.unusable.cause == "redirect"


@pytest.mark.parametrize("status", [301, 302, 303, 307])
def test_to_another_origin_is_a_fault_too(status: int) -> None:
    with serve(leading(lambda _: "/mcp/")) as other:
        with serve(leading(lambda _: f"{other.url}/", status)) as server:
            transcript = surveyed(server.url)
        assert other.requests == []
    assert "mcp.http.redirect" in with_outcome(judge_core(transcript), Outcome.FAILED)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_status_that_makes_a_get_of_a_post_is_not_followed(status: int) -> None:
    with serve(leading(lambda _: "/mcp/", status)) as server:
        transcript = surveyed(server.url)
    found = [
        f for f in judge_core(transcript) if f.rule == "mcp.http.redirect" and f.outcome is Outcome.FAILED
    ]
    assert f"HTTP {status}" in found[0].message


def test_a_circle_is_left() -> None:
    with serve(leading(lambda _: "/mcp")) as server:
        transcript = surveyed(server.url)
    found = [
        f for f in judge_core(transcript) if f.rule == "mcp.http.redirect" and f.outcome is Outcome.FAILED
    ]
    assert "again and again" in found[0].message
    assert len(server.requests) < 40
