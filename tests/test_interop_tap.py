"""What the tap lets the official client send, and what it gives it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import pytest
from pytest_adcp.harness.calls import PlannedCall, Purpose
from pytest_adcp.harness.interop import tap as tapping
from pytest_adcp.harness.interop.tap import Tap, Visit
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response

READ = PlannedCall("get_products", "sample", {"brief": "x"}, Purpose.GOOD)
VISIT = Visit(Era.HANDSHAKE, (READ,))
CALL = {"name": "get_products", "arguments": {"brief": "x"}}
ANSWER = (
    ("Content-Type", "application/json"),
    ("Mcp-Session-Id", "s1"),
    ("Set-Cookie", "a=b"),
    ("Location", "/"),
)


@dataclass
class Server:
    """Stands for the conversation with the server: notes what is sent on, and gives one answer."""

    end: End = End.COMPLETE
    status: int = 200
    body: bytes = b"{}"
    answers: bool = True
    sent: list[dict[str, Any]] = field(default_factory=list)

    async def relay(self, _: Any, place: Any, method: str, message: Any, **facts: Any) -> Exchange:
        self.sent.append({"place": place, "method": method, "message": message, **facts})
        response = (
            Response(self.status, "HTTP/1.1", ANSWER, self.body, len(self.body)) if self.answers else None
        )
        request = Request(method, "http://seller.test/mcp", message.headers, message.body)
        return Exchange(0, facts["subject"], Kind.INTEROP, request, response, self.end)

    @property
    def subjects(self) -> list[str]:
        return [item["subject"] for item in self.sent]


def through(
    server: Server, *requests: tuple[str, Any], path: str = "", headers: Mapping[str, str] | None = None
) -> Any:
    """Send requests (method and JSON, or none) through a tap, and return what came back to each."""
    came: list[httpx.Response] = []

    async def main() -> None:
        tap = Tap(server, [VISIT], [None])  # type: ignore[arg-type, list-item]
        async with tap.listening() as port, httpx.AsyncClient(trust_env=False) as client:
            url = tap.url_of(VISIT, port) + path
            for method, message in requests:
                content = json.dumps(message) if message is not None else b""
                came.append(await client.request(method, url, content=content, headers=headers))

    anyio.run(main)
    return came[0] if len(came) == 1 else came


def rpc(method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}} | more


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        (rpc("initialize"), "initialize"),
        (rpc("notifications/initialized"), "notifications/initialized"),
        (rpc("server/discover"), "server/discover"),
        (rpc("tools/list"), "tools/list"),
        (rpc("tools/call", CALL), "get_products/sample"),
        (rpc("tools/call", CALL | {"_meta": {"a": 1}}), "get_products/sample"),
    ],
)
def test_what_the_client_is_there_for_is_sent_on_as_it_stands(message: Any, subject: str) -> None:
    server = Server(body=b'{"a": 1}')
    sent = {"Mcp-Session-Id": "s1", "MCP-Protocol-Version": "2025-11-25", "Accept": "a/b", "Cookie": "x=y"}
    answer = through(server, ("POST", message), headers=sent | {"Authorization": "Bearer none"})
    (on,) = server.sent
    assert json.loads(on["message"].body) == message
    assert {name.lower() for name, _ in on["message"].headers} == {
        "mcp-session-id",
        "mcp-protocol-version",
        "accept",
    }
    assert on["subject"] == f"interop/handshake/{subject}"
    assert (answer.status_code, answer.content) == (200, b'{"a": 1}')
    assert answer.headers["mcp-session-id"] == "s1"
    assert not {"set-cookie", "location"} & set(answer.headers)


@pytest.mark.parametrize(
    ("method", "message", "status"),
    [
        ("GET", None, 405),
        ("PUT", rpc("tools/list"), 405),
        ("POST", rpc("tools/call", CALL | {"arguments": {"brief": "y"}}), 404),
        ("POST", rpc("tools/call", CALL | {"name": "create_media_buy"}), 404),
        ("POST", rpc("tools/call", []), 404),
        ("POST", rpc("resources/list"), 404),
        ("POST", rpc("notifications/cancelled", id=None), 202),
        ("POST", {"jsonrpc": "2.0", "id": 1, "result": {}}, 202),
        ("POST", [rpc("tools/list")], 202),
        ("POST", None, 202),
    ],
)
def test_nothing_else_is_sent_on(method: str, message: Any, status: int) -> None:
    server = Server()
    assert through(server, (method, message)).status_code == status
    assert server.sent == []


def test_who_does_not_know_the_path_gets_nothing() -> None:
    server = Server()
    assert through(server, ("POST", rpc("tools/list")), path="x").status_code == 404
    assert server.sent == []
    paths = {Tap(server, [VISIT], []).url_of(VISIT, 1) for _ in range(20)}  # type: ignore[arg-type]
    assert len(paths) == 20


def test_a_session_is_ended_at_the_server() -> None:
    server = Server(status=204, body=b"")
    assert through(server, ("DELETE", None)).status_code == 204
    assert [(item["method"], item["subject"]) for item in server.sent] == [
        ("DELETE", "interop/handshake/delete")
    ]


def test_each_try_and_each_page_has_a_name_of_its_own() -> None:
    server = Server()
    through(server, *[("POST", rpc("tools/list"))] * 2, *[("POST", rpc("tools/call", CALL))] * 2)
    named = [(item["subject"].removeprefix("interop/handshake/"), item["attempt"]) for item in server.sent]
    assert named == [
        ("tools/list", 1),
        ("tools/list/page-2", 1),
        ("get_products/sample", 1),
        ("get_products/sample", 2),
    ]
    assert server.sent[0]["place"] < server.sent[2]["place"]


@pytest.mark.parametrize(
    "server",
    [Server(answers=False, end=End.RESET), Server(end=End.DEADLINE), Server(end=End.TOO_LARGE, body=b"x")],
)
def test_what_did_not_come_whole_is_not_passed_on(server: Server) -> None:
    answer = through(server, ("POST", rpc("tools/list")))
    assert (answer.status_code, answer.content) == (502, b"")


def test_requests_and_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapping, "MOST_REQUESTS", 3)
    server = Server()
    answers = through(server, *[("POST", rpc("tools/list"))] * 5)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 503, 503]
    monkeypatch.setattr(tapping, "MOST_BYTES", 10)
    answers = through(Server(body=b"x" * 8), *[("POST", rpc("tools/list"))] * 3)
    assert [answer.status_code for answer in answers] == [200, 200, 503]
