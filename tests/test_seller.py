"""The reference seller as an MCP server: both eras, sessions, refusals, and the official client."""

from __future__ import annotations

import socket
import time
from typing import Any

import anyio
import httpx
import pytest
from buyers import CLIENT, HANDSHAKE, META, STATELESS, Buyer, initialize_params, message_of
from jsonschema import Draft202012Validator
from pytest_adcp.harness.seller import Answers, Eras, Release, SellerOptions, running

TASKS = 14

modes = pytest.mark.parametrize("answers", Answers)
sessions = pytest.mark.parametrize("sessions", [True, False], ids=["sessions", "no-sessions"])


@modes
@sessions
@pytest.mark.parametrize(
    ("eras", "stateless"),
    [(Eras.HANDSHAKE, False), (Eras.BOTH, False), (Eras.BOTH, True), (Eras.STATELESS, True)],
)
def test_every_mode_serves_its_eras(answers: Answers, sessions: bool, eras: Eras, stateless: bool) -> None:
    options = SellerOptions(answers=answers, sessions=sessions, eras=eras)
    with running(options) as url, Buyer(url, stateless=stateless) as buyer:
        assert len({tool["name"] for tool in buyer.tools()}) == TASKS
        assert len(buyer.payload("get_products", buying_mode="wholesale")["products"]) == 5
        assert buyer.error("get_products", buying_mode="brief", brief="x", adcp_major_version=99)
        assert buyer.ask("tools/call", {"name": "no_such_tool"})["error"]["code"] == -32602
        assert buyer.ask("tools/list", {"cursor": "made-up"})["error"]["code"] == -32602
        assert buyer.post({"jsonrpc": "2.0", "method": "notifications/cancelled"}).status_code == 202


@modes
@pytest.mark.parametrize(
    ("eras", "mode"),
    [
        (Eras.HANDSHAKE, "legacy"),
        (Eras.HANDSHAKE, "auto"),
        (Eras.BOTH, "legacy"),
        (Eras.BOTH, "auto"),
        (Eras.STATELESS, STATELESS),
    ],
)
def test_official_client_gets_along(answers: Answers, eras: Eras, mode: str) -> None:
    mcp = pytest.importorskip("mcp", reason="the official client is not installed")

    async def talk(url: str) -> None:
        with anyio.fail_after(20):
            async with mcp.Client(url, mode=mode) as client:
                page = await client.list_tools()
                assert page.next_cursor is not None
                rest = await client.list_tools(cursor=page.next_cursor)
                assert len(page.tools) + len(rest.tools) == TASKS
                good = await client.call_tool("get_products", {"buying_mode": "brief", "brief": "CTV"})
                assert not good.is_error
                assert len(good.structured_content["products"]) == 5
                bad = await client.call_tool("get_media_buy_delivery", {"media_buy_ids": ["nope"]})
                assert bad.is_error
                assert bad.structured_content["adcp_error"]["code"] == "MEDIA_BUY_NOT_FOUND"

    with running(SellerOptions(answers=answers, eras=eras)) as url:
        anyio.run(talk, url)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ],
)
def test_initialize_echoes_a_version_it_knows(asked: str, answered: str) -> None:
    with running(SellerOptions()) as url, Buyer(url, connect=False) as buyer:
        result = buyer.ask("initialize", initialize_params(asked))["result"]
        assert result["protocolVersion"] == answered
        assert result["capabilities"]["tools"] == {"listChanged": False}
        assert {"name", "version"} <= result["serverInfo"].keys()
        assert buyer.post(buyer.message("initialize", initialize_params(asked))).status_code == 200


def test_session_lives_until_it_is_deleted() -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer, Buyer(url) as other:
        mine, theirs = (one.http.headers["mcp-session-id"] for one in (buyer, other))
        assert mine != theirs
        assert len(mine) >= 32
        assert all("\x21" <= character <= "\x7e" for character in mine)
        assert buyer.ask("ping")["result"] == {}
        assert buyer.http.delete(url).status_code == 204
        assert buyer.post(buyer.message("ping")).status_code == 404
        assert buyer.http.delete(url).status_code == 404
        assert other.ask("ping")["result"] == {}


def test_without_sessions_nothing_is_to_be_deleted() -> None:
    with running(SellerOptions(sessions=False)) as url, Buyer(url) as buyer:
        assert "mcp-session-id" not in buyer.http.headers
        response = buyer.http.delete(url)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        assert buyer.post(buyer.message("ping"), mcp_session_id="made-up").status_code == 200


def test_get_is_a_stream_where_answers_are_streams() -> None:
    with running(SellerOptions(answers=Answers.SSE)) as url, Buyer(url) as buyer:
        with buyer.http.stream("GET", url, headers={"accept": "text/event-stream"}) as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            assert next(stream.iter_bytes()) == b": open\n\n"
        assert buyer.http.get(url, headers={"accept": "application/json"}).status_code == 406
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        response = buyer.http.get(url, headers={"accept": "text/event-stream"})
        assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")


PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", {}, 400, -32700),
        (b"", {}, 400, -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', {}, 400, -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1e999}}', {}, 400, -32700),
        (b"[" * 100_000, {}, 400, -32700),
        ([PING], {}, 400, -32600),
        ({**PING, "jsonrpc": "1.0"}, {}, 400, -32600),
        ({**PING, "params": []}, {}, 400, -32600),
        ({**PING, "method": 1}, {}, 400, -32600),
        ({**PING, "id": None}, {}, 400, -32600),
        ({**PING, "id": True}, {}, 400, -32600),
        ({**PING, "params": eval("[" * 150 + "]" * 150)}, {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 7}, {}, 400, -32600),
        ({**PING, "method": "no/such"}, {}, 200, -32601),
        ({**PING, "method": "tools/call"}, {}, 200, -32602),
        (
            {**PING, "method": "tools/call", "params": {"name": "get_signals", "arguments": []}},
            {},
            200,
            -32602,
        ),
        (PING, {"mcp_protocol_version": "1999-01-01"}, 400, -32600),
        (PING, {"mcp_protocol_version": "junk"}, 400, -32600),
        (PING, {"mcp_session_id": None}, 400, -32600),
        (PING, {"mcp_session_id": "made-up"}, 404, -32600),
        (PING, {"accept": "application/json"}, 406, -32600),
        (PING, {"accept": None}, 406, -32600),
        (PING, {"origin": "http://evil.example"}, 403, -32600),
        (PING, {"origin": "null"}, 403, -32600),
        (PING, {"origin": "http://["}, 403, -32600),
    ],
)
def test_bad_messages_are_refused(body: object, headers: dict[str, Any], status: int, code: int) -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        response = buyer.post(body, **headers)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)
        assert response.json()["id"] == (7 if isinstance(body, dict) and body.get("id") == 7 else None)
        assert buyer.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"accept": "text/event-stream;q=0.5, application/json"}, 200),
        ({"accept": "*/*"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost"}, 200),
        ({"origin": "http://localhost:5173"}, 200),
        ({"mcp_protocol_version": None}, 200),
    ],
)
def test_headers_are_taken_as_http_means_them(headers: dict[str, str | None], status: int) -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        assert buyer.post(PING, **headers).status_code == status


@pytest.mark.parametrize(
    ("changes", "headers", "status", "code"),
    [
        ({}, {}, 200, None),
        ({"method": "no/such"}, {"mcp_method": "no/such"}, 404, -32601),
        ({"method": "ping"}, {"mcp_method": "ping"}, 404, -32601),
        ({"meta": {}}, {}, 400, -32602),
        ({"meta": {f"{META}protocolVersion": STATELESS}}, {}, 400, -32602),
        ({}, {"mcp_protocol_version": None}, 400, -32020),
        ({}, {"mcp_protocol_version": "2027-01-01"}, 400, -32020),
        ({}, {"mcp_method": None}, 400, -32020),
        ({}, {"mcp_method": "tools/list"}, 400, -32020),
        ({}, {"mcp_name": None}, 400, -32020),
        ({}, {"mcp_name": "get_signals"}, 400, -32020),
        ({}, {"mcp_name": "=?base64?Z2V0X2FkY3BfY2FwYWJpbGl0aWVz?="}, 200, None),
        ({}, {"mcp_name": "=?base64?!?="}, 400, -32020),
        ({}, {"mcp_session_id": "ignored"}, 200, None),
        (
            {"meta": {f"{META}protocolVersion": "1999-01-01", f"{META}clientCapabilities": {}}},
            {"mcp_protocol_version": "1999-01-01"},
            400,
            -32022,
        ),
    ],
)
def test_stateless_requests_describe_themselves(
    changes: dict[str, Any], headers: dict[str, Any], status: int, code: int | None
) -> None:
    with running(SellerOptions()) as url, Buyer(url, stateless=True) as buyer:
        message = buyer.message("tools/call", {"name": "get_adcp_capabilities"})
        message["method"] = changes.get("method", "tools/call")
        message["params"]["_meta"] = changes.get("meta", message["params"]["_meta"])
        response = buyer.post(message, **headers)
        assert response.status_code == status, response.text
        assert response.json().get("error", {}).get("code") == code
        assert response.json()["id"] == message["id"]


def test_discover_names_what_is_served() -> None:
    with running(SellerOptions()) as url, Buyer(url, stateless=True) as buyer:
        result = buyer.ask("server/discover")["result"]
        assert result["supportedVersions"] == [STATELESS, "2025-11-25", "2025-06-18", "2025-03-26"]
        assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
        assert result["ttlMs"] > 0
        assert result["_meta"][f"{META}serverInfo"]["name"] == "pytest-adcp-seller"
    with running(SellerOptions(eras=Eras.STATELESS)) as url, Buyer(url, stateless=True) as buyer:
        assert buyer.ask("server/discover")["result"]["supportedVersions"] == [STATELESS]
        assert buyer.http.get(url).status_code == 405
        response = buyer.post({**PING, "method": "initialize", "params": initialize_params()})
        assert response.status_code == 400
        assert response.json()["error"]["data"] == {"supported": [STATELESS], "requested": HANDSHAKE}
    with running(SellerOptions(eras=Eras.HANDSHAKE)) as url, Buyer(url, stateless=True) as buyer:
        response = buyer.post(buyer.message("server/discover"))
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("release", Release)
def test_tools_are_well_defined(release: Release) -> None:
    with running(SellerOptions(release=release)) as url, Buyer(url) as buyer:
        tools = {tool["name"]: tool for tool in buyer.tools()}
    assert ("get_task_status" in tools) == (release is not Release.V3_0)
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is True
        assert {"context", "ext", "adcp_major_version"} <= schema["properties"].keys()
        assert ("adcp_version" in schema["properties"]) == (release is not Release.V3_0)
        assert set(schema.get("required", [])) <= schema["properties"].keys()
        assert all(member.get("description") for member in schema["properties"].values())
        mutating = name.startswith(("create_", "update_", "sync_", "activate_", "provide_"))
        hints = {**tool["annotations"]}
        assert hints.pop("title") == tool["title"]
        assert hints == {
            "readOnlyHint": not mutating,
            "destructiveHint": mutating,
            "idempotentHint": True,
            "openWorldHint": mutating,
        }
        assert ("idempotency_key" in schema.get("required", [])) == mutating
        assert len(tool["description"]) > 20


def test_connection_is_kept_alive_and_other_paths_are_not_served() -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        root = url.removesuffix("/mcp")
        assert [buyer.http.post(f"{root}{path}").status_code for path in ("/", "/mcp/", "/mcp/x")] == [
            404
        ] * 3
        assert buyer.http.head(url).status_code == 405
        streams = {id(buyer.http.get(url).extensions["network_stream"]) for _ in range(3)}
        assert len(streams) == 1


def test_what_is_too_large_is_refused() -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        try:
            status: int | None = buyer.post(b" " * (4 * 1024 * 1024 + 1)).status_code
        except httpx.TransportError:  # the seller has closed before all was sent
            status = None
        assert status in (413, None)
        assert buyer.post(PING, x_padding="x" * 300_000).status_code == 431
        assert buyer.ask("ping")["result"] == {}


@pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b""])
def test_what_is_not_http_ends_the_connection(raw: bytes) -> None:
    with running(SellerOptions()) as url, Buyer(url) as buyer:
        host, port = url.split("/")[2].split(":")
        with socket.create_connection((host, int(port)), timeout=5) as peer:
            peer.sendall(raw)
            peer.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: peer.recv(4096), b""))
        assert answer == b"" if not raw else answer.startswith(b"HTTP/1.1 400 ")
        assert buyer.ask("ping")["result"] == {}


def test_bearer_token_is_asked_of_everyone() -> None:
    options = SellerOptions(bearer="correct horse")
    assert "horse" not in repr(options)
    with running(options) as url, Buyer(url, connect=False) as buyer:
        message = buyer.message("initialize", initialize_params())
        for authorization in (None, "Bearer wrong", "Basic correct horse", "Bearer"):
            response = buyer.post(message, authorization=authorization)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer ")
        assert buyer.post(message, authorization="bearer correct horse").status_code == 200


def test_latency_comes_before_every_answer() -> None:
    with running(SellerOptions(latency=0.2)) as url, Buyer(url, connect=False) as buyer:
        started = time.monotonic()
        message_of(buyer.post(buyer.message("initialize", {**initialize_params(), "clientInfo": CLIENT})))
        assert time.monotonic() - started >= 0.2


def test_a_port_in_use_is_an_error() -> None:
    with running(SellerOptions()) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="address already in use"), running(SellerOptions(port=port)):
            pass
