"""OAuth client credentials over HTTP: one token, one more on the first 401, and no secret in any message."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import anyio
import pytest
from pytest_adcp.harness.oauth import OAuthError, fetch_token
from pytest_adcp.harness.target import Credentials, OAuthClient
from pytest_adcp.harness.transcript import Kind, Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.harness.wire import Connection
from rawserver import Peer, Request, serve
from scripted import Call, Reply, Seller, scripted
from surveys import FAST, judge_core, survey, with_outcome

SECRET = "client s3cret+/%é"
CLIENT = "client:id"


@dataclass
class Authority:
    """A token endpoint and what it was asked."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    issued: list[str] = field(default_factory=list)


@contextmanager
def authority(answer: Callable[[Peer, Authority], None] | None = None) -> Iterator[Authority]:
    """Run a token endpoint; by default it gives token-1, token-2 ..."""
    mine = Authority()

    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            mine.requests.append(request)
            if answer is not None:
                answer(peer, mine)
                continue
            mine.issued.append(f"t0ken-number-{len(mine.issued) + 1}")
            body = {"access_token": mine.issued[-1], "token_type": "Bearer", "expires_in": 60}
            peer.answer(json.dumps(body).encode(), "Content-Type: application/json")

    with serve(script) as server:
        mine.url = server.url
        yield mine


def client(url: str, scope: str = "") -> OAuthClient:
    return OAuthClient(url, CLIENT, SECRET, scope)


def fetch(url: str, scope: str = "") -> str:
    async def main() -> str:
        return await fetch_token(client(url, scope), Connection(), FAST)

    return anyio.run(main)


def complaint(url: str) -> str:
    with pytest.raises(OAuthError) as caught:
        fetch(url)
    text = str(caught.value)
    assert caught.value.__cause__ is None
    for secret in (SECRET, "s3cret", base64.b64encode(SECRET.encode()).decode(), "t0ken"):
        assert secret not in text
    return text


@pytest.mark.parametrize("scope", ["", "adcp read"])
def test_the_client_says_who_it_is_in_basic(scope: str) -> None:
    with authority() as theirs:
        assert fetch(theirs.url, scope) == "t0ken-number-1"
    (request,) = theirs.requests
    kind, _, value = (request.header("authorization") or "").partition(" ")
    assert kind == "Basic"
    # RFC 6749, 2.3.1: both parts are form-encoded first, so that a colon or a plus in them does no harm.
    assert base64.b64decode(value) == b"client%3Aid:client+s3cret%2B%2F%25%C3%A9"
    form = parse_qs(request.body.decode("ascii"), strict_parsing=True)
    assert form == {"grant_type": ["client_credentials"]} | ({"scope": [scope]} if scope else {})
    assert request.header("content-type") == "application/x-www-form-urlencoded"


def said(body: Any, *headers: str, status: str = "200 OK") -> Callable[[Peer, Authority], None]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda peer, _: peer.answer(raw, "Content-Type: application/json", *headers, status=status)


NEST = b"[" * 3000 + b"]" * 3000


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (said({"error": "invalid_client"}, status="401 No"), 'HTTP 401, "invalid_client"'),
        (said({"error": SECRET, "error_description": SECRET}, status="400 No"), 'HTTP 400, "[redacted]"'),
        (said({"error": {"code": 1}}, status="400 No"), "HTTP 400, no string"),
        (said(b'{"error": ' + NEST + b"}", status="400 No"), "HTTP 400, no string"),
        (said(b"<html>", status="502 No"), "HTTP 502, no error code"),
        (said(b"", "Location: https://elsewhere.example/", status="302 Found"), "HTTP 302, no error code"),
        (said(b"not json"), "no access_token string"),
        (said([1]), "no access_token string"),
        (said({"access_token": ""}), "no access_token string"),
        (said({"access_token": 7}), "no access_token string"),
        (said({"access_token": "t0ken-x", "token_type": "mac"}), 'is "mac", and only bearer'),
        (said({"access_token": "t0ken-x", "token_type": SECRET}), 'is "[redacted]", and only bearer'),
        (said(b'{"access_token": "t0ken-x", "token_type": ' + NEST + b"}"), "is no string, and only bearer"),
        (said({"access_token": "t0ken-x", "token_type": None}), "is no string, and only bearer"),
        (said({"access_token": "t0ken\r\nX: y"}), "cannot be used"),
        (said({"access_token": "t0k"}), "cannot be used"),
        (said({"access_token": "t" * (1 << 20)}), "bytes are read at most"),
        (lambda peer, _: peer.reset(), "closed before any byte"),
        (lambda peer, _: peer.pause(), "no response headers after 2 s"),
    ],
    ids=range(19),
)
def test_what_is_no_token_is_said_without_any_secret(answer: Any, text: str) -> None:
    with authority(answer) as theirs:
        told = complaint(theirs.url)
    assert text in told or (text == "closed before any byte" and "reset before any byte" in told)
    assert theirs.url in told


def test_tokens_in_the_token_url_are_not_shown(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}/token?api_key=t0ken-in-a-url&tenant=acme"
    told = complaint(url)
    assert "tenant=acme" in told
    assert "nothing listens at" in told


def test_the_token_type_may_be_missing_or_in_any_case() -> None:
    for members in ({}, {"token_type": "BEARER"}):
        with authority(said({"access_token": "t0ken-x", **members})) as theirs:
            assert fetch(theirs.url) == "t0ken-x"


# -- in a survey ------------------------------------------------------------------------------------------------


def surveyed(theirs: Authority, accepts: Callable[[Call], bool]) -> tuple[Seller, Transcript]:
    def hook(call: Call) -> Reply | None:
        if accepts(call):
            return None
        return Reply(status=401, headers=['WWW-Authenticate: Bearer error="invalid_token"'])

    with scripted(hook) as seller:
        credentials = Credentials(oauth=client(theirs.url), extra=(("X-Tenant", "acme-tenant"),))
        return seller, survey(seller.url, credentials=credentials)


def bearer(call: Call) -> str:
    return (call.header("authorization") or "").removeprefix("Bearer ")


def test_one_token_is_enough_for_a_run(tmp_path: Any) -> None:
    with authority() as theirs:
        seller, transcript = surveyed(theirs, lambda call: bearer(call) == "t0ken-number-1")
    assert len(theirs.requests) == 1
    own = [call for call in seller.calls if call.verb != "GET"]
    assert {bearer(call) for call in own} == {"t0ken-number-1"}
    assert {call.header("x-tenant") for call in own} == {"acme-tenant"}
    assert transcript.retries == 0
    transcript.save(tmp_path / "t.jsonl")
    written = (tmp_path / "t.jsonl").read_bytes()
    assert b"t0ken" not in written
    assert b"s3cret" not in written
    assert b"acme-tenant" not in written


def test_one_more_is_fetched_when_the_handshake_is_refused() -> None:
    with authority() as theirs:
        seller, transcript = surveyed(theirs, lambda call: bearer(call) == "t0ken-number-2")
    assert len(theirs.requests) == 2
    first = [e for e in transcript.exchanges if e.kind in (Kind.INITIALIZE, Kind.DISCOVER)]
    # Both went out with the first token and again with the second; none of the four is lost.
    assert [(e.subject, e.attempt, e.retried) for e in first] == [
        ("initialize", 1, True),
        ("initialize", 2, False),
        ("server/discover", 1, True),
        ("server/discover", 2, False),
    ]
    assert transcript.survey.complete
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)
    assert seller.of("DELETE")[0].header("authorization") == "Bearer t0ken-number-2"


def test_one_more_is_fetched_when_the_token_ends_during_the_calls() -> None:
    def accepts(call: Call) -> bool:
        late = call.tool == "get_products"
        return bearer(call) == "t0ken-number-2" or (not late and bearer(call) == "t0ken-number-1")

    with authority() as theirs:
        _, transcript = surveyed(theirs, accepts)
    assert len(theirs.requests) == 2
    outcomes = [e for e in transcript.exchanges if e.kind is Kind.CALL and not e.retried]
    assert {e.response.status for e in outcomes if e.response} == {200}
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_a_second_token_that_is_refused_too_is_the_end() -> None:
    with authority() as theirs:
        seller, transcript = surveyed(theirs, lambda _: False)
    assert len(theirs.requests) == 2
    assert len(seller.of("initialize")) == 2
    assert transcript.survey.unusable is not None
    assert transcript.survey.unusable.cause == "credentials-refused"
    assert "invalid_token" in transcript.survey.unusable.message
    assert "t0ken" not in transcript.survey.unusable.message


def test_a_token_endpoint_that_refuses_leaves_one_diagnosis() -> None:
    with authority(said({"error": "invalid_client"}, status="401 No")) as theirs:
        seller, transcript = surveyed(theirs, lambda _: True)
    assert seller.calls == []
    assert transcript.exchanges == ()
    assert transcript.survey.unusable is not None
    assert transcript.survey.unusable.cause == "oauth"
    assert 'HTTP 401, "invalid_client"' in transcript.survey.unusable.message


def test_a_token_that_cannot_be_renewed_is_the_root_cause() -> None:
    def once(peer: Peer, mine: Authority) -> None:
        mine.issued.append("t0ken-number-1")
        first = len(mine.issued) == 1
        body = {"access_token": "t0ken-number-1"} if first else {"error": "unauthorized_client"}
        peer.answer(json.dumps(body).encode(), status="200 OK" if first else "400 Bad Request")

    with authority(once) as theirs:
        _, transcript = surveyed(theirs, lambda call: call.tool != "get_products")
    assert len(theirs.requests) == 2
    assert transcript.survey.stopped.startswith(
        "the server refused the token (HTTP 401), and there is no other: no token from"
    )
    assert not transcript.survey.complete


def test_a_bearer_token_of_the_user_is_not_renewed() -> None:
    with scripted(lambda call: Reply(status=401) if call.tool == "get_products" else None) as seller:
        transcript = survey(seller.url, credentials=Credentials(bearer="t0ken-of-the-user"))
    assert not any(e.retried for e in transcript.exchanges)
