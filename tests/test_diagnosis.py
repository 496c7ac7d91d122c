"""Targets that cannot be surveyed: one cause, one cure, whatever is wrong with them."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
import trustme
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.tls import ssl_context
from pytest_adcp.harness.transcript import Diagnosis, Kind, Transcript
from pytest_adcp.harness.wire import Connection
from rawserver import Peer, serve
from scripted import Call, Reply, good, initialized, scripted
from surveys import FAST, survey

LIMITS = replace(FAST, request_timeout=1.0)
Hook = Callable[[Call], Any]


def unusable(transcript: Transcript) -> Diagnosis:
    found = transcript.survey.unusable
    assert found is not None
    assert transcript.survey.complete
    assert transcript.survey.calls == ()
    assert found.cure
    return found


def diagnosed(url: str, *, connection: Connection | None = None, **target: Any) -> Diagnosis:
    order = Order(Target.parse(url, **target), connection or Connection(), LIMITS, PlanRequest())
    surveyor = Surveyor(order)
    anyio.run(surveyor.run)
    return unusable(surveyor.transcript())


def at(path: str, hook: Hook, **target: Any) -> Diagnosis:
    """Diagnose a scripted server at a path."""
    with scripted(hook) as seller:
        return diagnosed(seller.url.replace("/mcp", path), **target)


# -- no way there -----------------------------------------------------------------------------------------------


def test_a_host_that_does_not_exist() -> None:
    found = diagnosed("http://no-such-host.invalid/mcp")
    assert found.cause == "dns"
    assert "no-such-host.invalid: " in found.message
    assert "host name" in found.cure


def test_nobody_listens(free_port: int) -> None:
    found = diagnosed(f"http://127.0.0.1:{free_port}/mcp")
    assert found.cause == "refused"
    assert f"nothing listens at 127.0.0.1:{free_port}" in found.message


def secured(name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(name).configure_cert(context)
    return context


def answering(peer: Peer) -> None:
    while peer.request():
        peer.answer()


def test_a_certificate_that_nobody_vouches_for() -> None:
    with serve(answering, tls=secured("127.0.0.1")) as server:
        found = diagnosed(server.url, connection=Connection(tls=ssl_context(None)))
    assert found.cause == "tls"
    assert "--adcp-ca-file" in found.cure


def test_plain_http_where_tls_is_spoken() -> None:
    def alert(peer: Peer) -> None:
        peer.request()
        peer.send(b"\x15\x03\x01\x00\x02\x02\x46")

    with serve(alert) as server:
        found = diagnosed(server.url)
    assert found.cause == "protocol"
    assert "is it an https:// URL?" in found.message


def test_something_else_listens() -> None:
    with serve(lambda peer: peer.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") if peer.request() else None) as server:
        found = diagnosed(server.url)
    assert found.cause == "protocol"
    assert "SSH-2.0" in found.message


def test_a_connection_that_is_closed() -> None:
    with serve(lambda peer: peer.reset() if peer.request() else None) as server:
        assert diagnosed(server.url).cause == "reset"


def test_no_answer_in_time() -> None:
    with serve(lambda peer: peer.pause() if peer.request() else None) as server:
        found = diagnosed(server.url)
    assert found.cause == "deadline"
    assert "no response headers after 1 s" in found.message
    assert "--adcp-request-timeout" in found.cure


def test_a_proxy_that_is_not_there(free_port: int) -> None:
    connection = Connection(proxy=f"http://user:pr0xy-s3cret@127.0.0.1:{free_port}")
    found = diagnosed("http://seller.invalid/mcp", connection=connection)
    assert found.cause == "proxy"
    assert "--adcp-proxy" in found.cure
    assert "s3cret" not in found.message


# -- an HTTP server, but not the endpoint -------------------------------------------------------------------------


MISSING = Reply(status=404)


def served_at(*paths: str, otherwise: Reply = MISSING) -> Hook:
    return lambda call: good(call) if call.path.partition("?")[0] in paths else otherwise


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("/mcp", "/mcp/"),
        ("/mcp/", "/mcp"),
        ("/", "/mcp"),
        ("/api", "/api/mcp"),
        ("/api/", "/api/mcp"),
        ("/a", "/a/"),
    ],
)
@pytest.mark.parametrize(
    "otherwise",
    [Reply(status=404), Reply(status=405), Reply(body=b"<html>", headers=["Content-Type: text/html"])],
    ids=["404", "405", "page"],
)
def test_a_neighbour_that_works_is_named(asked: str, served: str, otherwise: Reply) -> None:
    with scripted(served_at(served, otherwise=otherwise)) as seller:
        origin = seller.url.removesuffix("/mcp")
        found = diagnosed(origin + asked)
    assert found.cause == "endpoint"
    assert found.cure == f"use --server-url={origin}{served}"


def test_a_token_in_the_url_goes_to_the_neighbour_and_into_no_diagnosis() -> None:
    with scripted(served_at("/mcp/")) as seller:
        found = diagnosed(
            f"{seller.url}?token=url-t0ken&tenant=acme", credentials=Credentials(bearer="b-t0ken")
        )
    assert {call.path for call in seller.calls if call.path.startswith("/mcp/")} == {
        "/mcp/?token=url-t0ken&tenant=acme"
    }
    assert {call.header("authorization") for call in seller.calls} == {"Bearer b-t0ken"}
    assert found.cause == "endpoint"
    assert "t0ken" not in found.message + found.cure
    assert "tenant=acme" in found.cure


def test_what_was_tried_is_recorded_and_paced() -> None:
    with scripted(served_at("/elsewhere")) as seller:
        transcript = survey(seller.url.replace("/mcp", "/api"), limits=replace(FAST, rate=20))
    tried = [e for e in transcript.exchanges if e.kind is Kind.PROBE]
    assert [(e.request.method, e.request.url.removeprefix(seller.url[:-4])) for e in tried] == [
        ("GET", "/api"),
        ("POST", "/api/"),
        ("POST", "/api/mcp"),
    ]
    assert len(transcript.exchanges) == len(seller.calls) == 5
    came = sorted(call.at for call in seller.calls)
    assert came[-1] - came[0] >= 4 / 20 - 0.05


@pytest.mark.parametrize("event", [b"event: endpoint\n", b"event:endpoint\n"])
def test_the_transport_of_2024(event: bytes) -> None:
    def hook(call: Call) -> Any:
        if call.verb == "POST":
            return Reply(status=405)

        def listen(peer: Peer) -> None:
            peer.head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
            peer.chunk(event + b"data: /messages?session=1\n\n")
            peer.until_closed()

        return listen

    found = at("/sse", hook)
    assert found.cause == "legacy-sse"
    assert "2024-11-05" in found.message


def test_another_event_stream_is_not_the_transport_of_2024() -> None:
    page = (
        Reply(status=405),
        Reply(body=b"data: event: endpoint\n\n", headers=["Content-Type: text/event-stream"]),
    )
    assert at("/sse", lambda call: page[call.verb == "GET"]).cause == "not-mcp"


def test_nothing_at_that_path() -> None:
    found = at("/mcp", lambda _: Reply(status=404))
    assert found.cause == "not-found"
    assert "HTTP 404" in found.message


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_elsewhere(status: int) -> None:
    found = at("/mcp", lambda _: Reply(status=status, headers=["Location: https://elsewhere.example/mcp"]))
    assert found.cause == "redirect"
    assert f'(HTTP {status}) to "https://elsewhere.example/mcp"' in found.message


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(body=b"<html><title>Shop</title>", headers=["Content-Type: text/html"]), '"text/html" and "<html>'),
        (Reply(body=b"pong", headers=["Content-Type: text/plain"]), '"text/plain" and "pong"'),
        (Reply(body=b"ok"), 'no content type and "ok"'),
        (Reply(body=b""), "no content type and an empty body"),
        (Reply(message={"hello": 1}), '"application/json" and'),
        (Reply(body=b"data: {}\n\n", headers=["Content-Type: application/json"]), "application/json"),
        (Reply(body=b'{"jsonrpc": "2.0"}', headers=["Content-Type: text/event-stream"]), "text/event-stream"),
        (Reply(body=b"\xff\xfe\x00", headers=["Content-Type: application/x-protobuf"]), "x-protobuf"),
        (Reply(status=500, body=b"Internal Server Error"), "HTTP 500"),
    ],
    ids=range(9),
)  # fmt: skip
def test_something_that_is_no_mcp_endpoint(reply: Reply, says: str) -> None:
    found = at("/mcp", lambda _: reply)
    assert found.cause == "not-mcp"
    assert says in found.message
    assert "application/json or text/event-stream" in found.cure


SAID = b'{"jsonrpc":"2.0","id":%b,"result":{"protocolVersion":"2025-11-25","capabilities":{},"tools":[]}}'


@pytest.mark.parametrize("where", ["initialize", "tools/list"])
@pytest.mark.parametrize(
    ("body", "content_type", "says", "cure"),
    [
        (b"data: %b\n", "text/event-stream", "no blank line", "write two line ends behind every event"),
        (b"data: %b\n\n", "application/json", "`data:` lines", "send Content-Type: text/event-stream"),
        (b"%b", "text/event-stream", "bare JSON", "send Content-Type: application/json"),
    ],
)
def test_an_answer_that_clients_cannot_find(
    where: str, body: bytes, content_type: str, says: str, cure: str
) -> None:
    def hook(call: Call) -> Reply | None:
        answer = body % (SAID % json.dumps(call.message.get("id")).encode())
        return Reply(body=answer, headers=[f"Content-Type: {content_type}"]) if call.method == where else None

    found = at("/mcp", hook)
    assert found.cause == ("framing" if where == "initialize" else "tools-list")
    assert says in found.message
    assert found.cure.startswith(cure)


def test_a_refusal_is_quoted() -> None:
    refused = Reply(error={"code": -32602, "message": "no \x1b[31m capabilities"}, status=400)
    found = at("/mcp", lambda call: refused if call.method == "initialize" else None)
    assert found.cause == "refused"
    assert "capabilities" in found.message
    assert "\x1b" not in found.message


@pytest.mark.parametrize("result", [{}, {"protocolVersion": 20251125}, "2025-11-25", [], None])
def test_an_initialize_result_without_a_version(result: Any) -> None:
    found = at("/mcp", lambda call: Reply(result=result) if call.method == "initialize" else None)
    assert found.cause == "handshake"
    assert "protocolVersion" in found.cure


@pytest.mark.parametrize(
    "reply",
    [Reply(status=503), Reply(status=429, headers=["Retry-After: 3600"]), Reply(status=503, headers=["Retry-After: 99"])],
    ids=["503", "429", "503-later"],
)  # fmt: skip
def test_a_server_that_is_busy(reply: Reply) -> None:
    found = at("/mcp", lambda _: reply)
    assert found.cause == "busy"


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": {}}, [], None])
def test_no_list_of_tools(result: Any) -> None:
    found = at("/mcp", lambda call: Reply(result=result) if call.method == "tools/list" else None)
    assert found.cause == "tools-list"
    assert "the answer holds no `tools` array" in found.message


def test_a_list_of_tools_that_does_not_come() -> None:
    found = at("/mcp", lambda call: (lambda peer: peer.pause()) if call.method == "tools/list" else None)
    assert found.cause == "tools-list"
    assert "no answer in time" in found.message


# -- limits of this harness ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["initialize", "tools/list"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"[" + b"[]," * 600_000 + b"1]", "more than 500,000 JSON values: not read"),
        (b"[" * 300_000 + b"]" * 300_000, "more than 250,000 levels deep: not read"),
        (b'"' + b"x" * (17 << 20) + b'"', "16777216 bytes are read at most"),
    ],
    ids=["values", "levels", "bytes"],
)
def test_an_answer_over_a_limit_names_it(where: str, value: bytes, words: str) -> None:
    def hook(call: Call) -> Reply | None:
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(call.message.get("id")).encode(), value)
        return Reply(body=body, headers=["Content-Type: application/json"]) if call.method == where else None

    found = at("/mcp", hook)
    assert words in found.message
    assert "pagination" not in found.message
    assert found.cure


# -- credentials --------------------------------------------------------------------------------------------------

CHALLENGE = (
    'Bearer realm="ads", resource_metadata="https://seller.example/.well-known/oauth-protected-resource"'
)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("where", ["initialize", "tools/list"])
def test_credentials_are_wanted(status: int, where: str) -> None:
    def hook(call: Call) -> Reply | None:
        closed = where == "initialize" or call.method == where
        return Reply(status=status, headers=[f"WWW-Authenticate: {CHALLENGE}"]) if closed else None

    found = at("/mcp", hook)
    assert found.cause == "credentials-wanted"
    assert f"HTTP {status}" in found.message
    assert "oauth-protected-resource" in found.message
    assert "--adcp-bearer-env" in found.cure


def test_a_server_that_does_not_say_what_it_wants() -> None:
    found = at("/mcp", lambda _: Reply(status=401))
    assert "no WWW-Authenticate" in found.message


@pytest.mark.parametrize(
    ("credentials", "kind", "secrets"),
    [
        (Credentials(bearer="b-s3cret-token"), "bearer", ["b-s3cret-token"]),
        (Credentials(basic="user:pass-s3cret"), "basic", ["pass-s3cret"]),
        (Credentials(extra=(("X-Api-Key", "key-s3cret"),)), "header", ["key-s3cret"]),
    ],
)
def test_wrong_credentials_are_not_shown(credentials: Credentials, kind: str, secrets: list[str]) -> None:
    def hook(call: Call) -> Reply:
        echo = json.dumps(dict(call.http.headers))
        return Reply(status=401, body=echo.encode(), headers=[f"WWW-Authenticate: Bearer got={echo}"])

    found = at("/mcp", hook, credentials=credentials)
    assert found.cause == "credentials-refused"
    assert f"refuses the credentials given ({kind})" in found.message
    text = found.message + found.cure
    for secret in secrets:
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in text


def test_a_server_that_lets_in_is_no_case_for_a_diagnosis() -> None:
    with scripted(lambda call: initialized() if call.method == "initialize" else None) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.unusable is None
