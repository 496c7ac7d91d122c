"""OAuth discovery: where it is asked for, how often and as whom, and what counts as served."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pytest_adcp.harness.challenges import challenges, named_metadata
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes import metadata as metadata_module
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import Gap, Metadata
from pytest_adcp.harness.transcript import End, Exchange, Kind, Response, Transcript
from pytest_adcp.harness.verdict import Outcome
from rawserver import Peer
from scripted import Call, Reply, Seller, initialized, scripted
from strangers import KNOWN, TOOLS, guarded
from surveys import FAST, judge_core, survey, with_outcome

RESOURCE = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"

Document = Mapping[str, Any] | Reply | Any


def surveyed(documents: Mapping[str, Document], path: str = "/mcp", **how: Any) -> tuple[Seller, Transcript]:
    """Survey a seller that serves documents; `$origin` in them is its origin. All else that is got is 404."""

    def hook(call: Call) -> Any:
        if call.verb != "GET":
            return guarded(call)
        found = documents.get(call.path, Reply(status=404))
        if not isinstance(found, Mapping | list):
            return found
        origin = f"http://{call.header('host')}"
        body = json.dumps(found).replace("$origin", origin).encode()
        return Reply(body=body, headers=["Content-Type: application/json"])

    with scripted(hook, tools=TOOLS) as seller:
        url = seller.url.removesuffix("/mcp") + path
        return seller, survey(url, credentials=KNOWN, **how)


def _is_stream(call: Call) -> bool:
    """Whether it opens the GET stream of the endpoint, which is not about metadata."""
    return call.header("accept") == "text/event-stream"


def asked(seller: Seller) -> list[str]:
    return [call.path for call in seller.calls if call.verb == "GET" and not _is_stream(call)]


def found(transcript: Transcript) -> list[str]:
    entries = Evidence(transcript).entries(Judged.METADATA)
    return [entry.label.removeprefix("metadata/") for entry in entries if isinstance(entry, Metadata)]


def of_resource(*servers: str, resource: str = "$origin/mcp") -> dict[str, Any]:
    return {"resource": resource, "authorization_servers": list(servers)}


def of_server(issuer: str = "$origin") -> dict[str, Any]:
    return {"issuer": issuer, "token_endpoint": "$origin/token"}


HTML = Reply(body=b"<!doctype html><title>Welcome</title>", headers=["Content-Type: text/html"])


@pytest.mark.parametrize(
    ("path", "documents", "paths", "labels"),
    [
        ("/mcp", {}, [f"{RESOURCE}/mcp", RESOURCE], []),
        ("/a/mcp/", {}, [f"{RESOURCE}/a/mcp", RESOURCE], []),
        ("/", {}, [RESOURCE], []),
        ("/mcp?tenant=acme", {}, [f"{RESOURCE}/mcp", RESOURCE], []),
        ("/mcp", {f"{RESOURCE}/mcp": of_resource("https://login.example")}, [f"{RESOURCE}/mcp"], ["protected-resource"]),
        (
            "/mcp",
            {RESOURCE: of_resource("https://login.example")},
            [f"{RESOURCE}/mcp", RESOURCE],
            ["protected-resource/root"],
        ),
        (
            "/mcp",
            {f"{RESOURCE}/mcp": of_resource("$origin"), SERVER: of_server()},
            [f"{RESOURCE}/mcp", SERVER],
            ["protected-resource", "authorization-server"],
        ),
        (
            "/mcp",
            {f"{RESOURCE}/mcp": of_resource("$origin/login/"), f"{SERVER}/login": of_server("$origin/login/")},
            [f"{RESOURCE}/mcp", f"{SERVER}/login"],
            ["protected-resource", "authorization-server"],
        ),
        (
            "/mcp",
            {RESOURCE: of_resource("$origin/login"), f"/login{OPENID}": of_server("$origin/login")},
            [f"{RESOURCE}/mcp", RESOURCE, f"{SERVER}/login", f"/login{OPENID}"],
            ["protected-resource/root", "authorization-server/openid"],
        ),
        ("/mcp", {f"{RESOURCE}/mcp": of_resource("https://login.example", "$origin")}, [f"{RESOURCE}/mcp"], ["protected-resource"]),
        ("/mcp", {f"{RESOURCE}/mcp": {"resource": "x", "authorization_servers": [7]}}, [f"{RESOURCE}/mcp"], ["protected-resource"]),
        ("/mcp", {f"{RESOURCE}/mcp": {"resource": "x", "authorization_servers": ["/login"]}}, [f"{RESOURCE}/mcp"], ["protected-resource"]),
        ("/mcp", {f"{RESOURCE}/mcp": {"resource": "x", "authorization_servers": "$origin"}}, [f"{RESOURCE}/mcp"], ["protected-resource"]),
        ("/mcp", {f"{RESOURCE}/mcp": HTML, RESOURCE: HTML}, [f"{RESOURCE}/mcp", RESOURCE], []),
        ("/mcp", {f"{RESOURCE}/mcp": {"status": "ok"}, RESOURCE: [1]}, [f"{RESOURCE}/mcp", RESOURCE], []),
        ("/mcp", {f"{RESOURCE}/mcp": Reply(status=405), RESOURCE: Reply()}, [f"{RESOURCE}/mcp", RESOURCE], []),
        ("/mcp", {f"{RESOURCE}/mcp": Reply(status=401)}, [f"{RESOURCE}/mcp", RESOURCE], []),
        (
            "/mcp",
            {f"{RESOURCE}/mcp": Reply(status=307, headers=["Location: /prm"]), "/prm": of_resource("https://login.example")},
            [f"{RESOURCE}/mcp", "/prm"],
            ["protected-resource"],
        ),
        (
            "/mcp",
            {f"{RESOURCE}/mcp": Reply(status=302, headers=["Location: /prm"]), "/prm": of_resource("https://login.example")},
            [f"{RESOURCE}/mcp", RESOURCE],
            [],
        ),
    ],
)  # fmt: skip
def test_the_well_known_places_are_asked_in_order(
    path: str, documents: Mapping[str, Document], paths: list[str], labels: list[str]
) -> None:
    seller, transcript = surveyed(documents, path)
    assert asked(seller) == paths
    assert found(transcript) == labels
    assert transcript.survey.complete


def test_half_a_character_in_an_issuer_is_asked_nothing_and_said() -> None:
    seller, transcript = surveyed({f"{RESOURCE}/mcp": of_resource("$origin/\ud800")})
    assert asked(seller) == [f"{RESOURCE}/mcp"]
    assert "adcp.security.metadata-servers" in with_outcome(judge_core(transcript), Outcome.FAILED)


def test_without_any_document_nothing_is_judged_and_nothing_fails() -> None:
    for documents in ({}, {f"{RESOURCE}/mcp": HTML, RESOURCE: HTML}):
        _, transcript = surveyed(documents)
        (entry,) = Evidence(transcript).entries(Judged.METADATA)
        assert isinstance(entry, Gap)
        assert not entry.blocked
        own = ("metadata-resource", "metadata-servers", "authorization-server", "challenge-metadata")
        findings = [f for f in judge_core(transcript) if f.rule in {f"adcp.security.{name}" for name in own}]
        assert {f.outcome for f in findings} == {Outcome.NOT_APPLICABLE}


def test_it_is_asked_without_credentials_and_cookies() -> None:
    def hook(call: Call) -> Reply | None:
        if call.method == "initialize":
            return initialized("2025-11-25", "Set-Cookie: login=yes; Path=/")
        return guarded(call)

    with scripted(hook, tools=TOOLS) as seller:
        survey(seller.url, credentials=KNOWN)
    gets = [call for call in seller.calls if call.verb == "GET" and not _is_stream(call)]
    assert len(gets) == 2
    assert {
        (call.header("authorization"), call.header("cookie"), call.header("mcp-session-id")) for call in gets
    } == {(None, None, None)}
    assert {call.header("accept") for call in gets} == {"application/json"}


# -- challenges --------------------------------------------------------------------------------------------------------


def challenged(challenge: str, documents: Mapping[str, Document]) -> tuple[list[str], Transcript]:
    def hook(call: Call) -> Any:
        if call.verb == "GET" and not _is_stream(call):
            document = documents.get(call.path)
            return Reply(status=404) if document is None else Reply(message=document)
        reply = guarded(call)
        if reply is None or reply.status != 401:
            return reply
        value = challenge.replace("$origin", f"http://{call.header('host')}")
        return replace(reply, headers=[f"WWW-Authenticate: {value}"])

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    return asked(seller), transcript


PLACES = [f"{RESOURCE}/mcp", RESOURCE]
ELSEWHERE = {
    "/prm": {"resource": "https://seller.example/mcp", "authorization_servers": ["https://login.example"]}
}


@pytest.mark.parametrize(
    ("challenge", "documents", "paths", "outcome"),
    [
        ("Bearer", {}, PLACES, Outcome.NOT_APPLICABLE),
        ('Bearer resource_metadata="$origin/prm"', ELSEWHERE, [*PLACES, "/prm"], Outcome.PASSED),
        ('Bearer resource_metadata="$origin/prm"', {}, [*PLACES, "/prm"], Outcome.FAILED),
        (
            'Bearer resource_metadata="$origin/prm"',
            {"/prm": {"status": "ok"}},
            [*PLACES, "/prm"],
            Outcome.FAILED,
        ),
        ("Bearer resource_metadata=$origin/prm", ELSEWHERE, [*PLACES, "/prm"], Outcome.PASSED),
        (f'Bearer resource_metadata="$origin{RESOURCE}/mcp"', {}, PLACES, Outcome.FAILED),
        ('Bearer resource_metadata="https://login.example/prm"', {}, PLACES, Outcome.PASSED),
        ('Bearer resource_metadata="http://127.0.0.1:1/prm"', {}, PLACES, Outcome.PASSED),
        ('Bearer resource_metadata="http://login.example/prm"', {}, PLACES, Outcome.FAILED),
        ('Bearer resource_metadata="/prm"', {}, PLACES, Outcome.FAILED),
        ('Bearer resource_metadata=""', {}, PLACES, Outcome.FAILED),
        ('Bearer realm="resource_metadata=http://login.example/"', {}, PLACES, Outcome.NOT_APPLICABLE),
    ],
)
def test_a_challenge_is_followed_at_the_same_origin_only(
    challenge: str, documents: Mapping[str, Document], paths: list[str], outcome: Outcome
) -> None:
    requests, transcript = challenged(challenge, documents)
    assert requests == paths
    (*_, last) = [f for f in judge_core(transcript) if f.rule == "adcp.security.challenge-metadata"]
    assert last.outcome is outcome, last


def test_a_document_that_a_challenge_names_is_judged() -> None:
    document = {"resource": "$", "authorization_servers": []}
    _, transcript = challenged('Bearer resource_metadata="$origin/prm"', {"/prm": document})
    failed = with_outcome(judge_core(transcript), Outcome.FAILED)
    assert {"adcp.security.metadata-resource", "adcp.security.metadata-servers"} <= failed


def test_four_requests_are_the_most() -> None:
    documents = {RESOURCE: {"resource": "x", "authorization_servers": ["$origin"]}}
    calls: list[str] = []

    def hook(call: Call) -> Any:
        if call.verb == "GET" and not _is_stream(call):
            calls.append(call.path)
            document = documents.get(call.path)
            origin = f"http://{call.header('host')}"
            return (
                Reply(body=json.dumps(document).replace("$origin", origin).encode())
                if document
                else Reply(status=404)
            )
        reply = guarded(call)
        if reply is not None and reply.status == 401:
            origin = f"http://{call.header('host')}"
            return replace(reply, headers=[f'WWW-Authenticate: Bearer resource_metadata="{origin}/prm"'])
        return reply

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    assert calls == [f"{RESOURCE}/mcp", RESOURCE, SERVER, OPENID]
    # Nobody looked where the challenge leads: that its URL is well formed is all that can be said.
    outcomes = {f.outcome for f in judge_core(transcript) if f.rule == "adcp.security.challenge-metadata"}
    assert outcomes == {Outcome.PASSED}


def response(*values: str) -> Response:
    headers = tuple(
        ("WWW-Authenticate" if n % 2 else "www-authenticate", value) for n, value in enumerate(values)
    )
    return Response(401, "HTTP/1.1", (("X", "y"), *headers), b"", 0)


@pytest.mark.parametrize(
    ("challenge", "urls"),
    [
        ("", []),
        ("Bearer", []),
        ('Bearer resource_metadata="https://a/b"', ["https://a/b"]),
        ("Bearer realm=x, Resource_Metadata = https://a/b", ["https://a/b"]),
        ('Basic realm="a, b", Bearer scope="x y", resource_metadata="https://a/b", error="z"', ["https://a/b"]),
        ('Bearer resource_metadata="https://a/\\"b"', ['https://a/"b']),
        ('Bearer realm="say \\" resource_metadata=https://no/", resource_metadata="https://a"', ["https://a"]),
        ('Bearer resource_metadata="https://a", DPoP resource_metadata="https://b"', ["https://a", "https://b"]),
        ('Bearer resource_metadata="https://a', ["https://a"]),
        ("Bearer resource_metadata", []),
        ("Bearer resource_metadata=", [""]),
        ('Bearer my_resource_metadata="https://no"', []),
        ("Negotiate YWJj==", []),
    ],
)  # fmt: skip
def test_parameters_of_challenges_are_read_as_rfc_9110_writes_them(challenge: str, urls: list[str]) -> None:
    assert list(named_metadata(challenge)) == urls


def test_challenges_may_be_several_headers() -> None:
    assert challenges(response("Basic", "", "  ", "Bearer")) == ("Basic", "Bearer")


@pytest.mark.parametrize("piece", ["a", '"', '\\"', "=", "a=", 'a="', " ", ",", "a "])
def test_a_hostile_challenge_takes_no_time(piece: str) -> None:
    began = time.monotonic()
    assert not list(named_metadata(piece * (64 * 1024 // len(piece))))
    assert time.monotonic() - began < 2


# -- bounds ------------------------------------------------------------------------------------------------------------


def gets(transcript: Transcript) -> list[Exchange]:
    return [e for e in transcript.exchanges if e.kind is Kind.METADATA]


def test_a_document_without_end_is_not_read() -> None:
    big = {**of_resource("https://login.example"), "x": "x" * metadata_module.MAX_BYTES}
    seller, transcript = surveyed({f"{RESOURCE}/mcp": big})
    (exchange,) = gets(transcript)
    assert exchange.end is End.TOO_LARGE
    assert asked(seller) == [f"{RESOURCE}/mcp"]
    assert found(transcript) == []
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_does_not_answer_is_not_waited_for(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if concurrency == 1:
        monkeypatch.setattr(metadata_module, "_SECONDS", 0.5)  # alone, it may take as long as this
    began = time.monotonic()
    seller, transcript = surveyed(
        {f"{RESOURCE}/mcp": Peer.until_closed},
        limits=replace(FAST, request_timeout=20, concurrency=concurrency),
    )
    assert time.monotonic() - began < 4
    (exchange,) = gets(transcript)
    assert exchange.end is End.INTERRUPTED
    assert asked(seller) == [f"{RESOURCE}/mcp"]
    assert transcript.survey.complete
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_a_connection_that_is_lost_is_not_tried_again() -> None:
    seller, transcript = surveyed({f"{RESOURCE}/mcp": Peer.reset})
    assert asked(seller) == [f"{RESOURCE}/mcp"]
    assert transcript.survey.complete
    assert transcript.survey.stopped == ""


@pytest.mark.parametrize("concurrency", [1, 2])
def test_it_takes_the_turn_of_a_lane(concurrency: int) -> None:
    slow = {path: Reply(status=404, pause=0.1) for path in PLACES}
    seller, _ = surveyed(slow, limits=replace(FAST, concurrency=concurrency))
    assert len(asked(seller)) == 2
    assert seller.most_at_once <= concurrency
