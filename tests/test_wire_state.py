"""What goes on from one exchange to the next: connections, redirects and cookies."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from pytest_adcp.harness.cookies import MAX_COOKIES, masked
from pytest_adcp.harness.endpoint import Endpoint
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.wire import CookieStore, Lane, Sent
from rawserver import Peer, serve
from wireclient import STRAIGHT, exchange, exchanges, on_a_lane, post

OK = b"HTTP/1.1 200 OK\r\n"


def answering(*headers: str, **options: Any) -> Any:
    def script(peer: Peer) -> None:
        while peer.request():
            peer.answer(b"{}", *headers, **options)

    return script


def ends(sent: list[Sent]) -> list[End]:
    return [each.end for each in sent]


# -- connections ----------------------------------------------------------------------------------


def test_a_lane_keeps_its_connection() -> None:
    with serve(answering()) as server:
        sent = exchanges(server.url, 3)
    assert (ends(sent), server.connections, len(server.requests)) == ([End.COMPLETE] * 3, 1, 3)


def test_connection_close_is_honoured() -> None:
    with serve(answering("Connection: close")) as server:
        sent = exchanges(server.url, 3)
    assert (ends(sent), server.connections) == ([End.COMPLETE] * 3, 3)


def test_another_origin_gets_another_connection() -> None:
    async def work(lane: Lane) -> list[Sent]:
        return [await post(lane, url) for url in (one.url, two.url, one.url)]

    with serve(answering()) as one, serve(answering()) as two:
        assert ends(on_a_lane(work)) == [End.COMPLETE] * 3
    assert (len(one.requests), len(two.requests)) == (2, 1)


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_connection_that_was_closed_while_idle_is_no_finding(reset: bool) -> None:
    closed = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.answer()
        if reset:
            peer.pause(0.1)
            peer.reset()
        closed.set()

    async def work(lane: Lane) -> list[Sent]:
        first = await post(lane, server.url)
        await anyio.to_thread.run_sync(closed.wait)
        await anyio.sleep(0.1)
        return [first, await post(lane, server.url)]

    with serve(script) as server:
        sent = on_a_lane(work)
    assert (ends(sent), server.connections, len(server.requests)) == ([End.COMPLETE] * 2, 2, 2)


@pytest.mark.parametrize(
    ("data", "end", "requests"),
    [
        (b"", End.COMPLETE, 3),
        (b"H", End.RESET, 2),
        (OK + b"Content-Length: 2\r\n\r\n{", End.RESET, 2),
    ],
    ids=["no byte", "one byte", "half a response"],
)
def test_a_reused_connection_that_closes_on_the_request(data: bytes, end: End, requests: int) -> None:
    def script(peer: Peer) -> None:
        while peer.request():
            if peer.number == 0 and len(server.requests) == 2:
                peer.send(data)
                return
            peer.answer()

    with serve(script) as server:
        first, second = exchanges(server.url, 2)
    assert (first.end, second.end) == (End.COMPLETE, end)
    # Sent anew only where the server had not begun to answer.
    assert len(server.requests) == requests


def test_a_request_is_sent_anew_once_at_most() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        if peer.number == 0:
            peer.answer()
            peer.request()

    with serve(script) as server:
        first, second = exchanges(server.url, 2)
    assert (first.end, second.end) == (End.COMPLETE, End.RESET)
    assert second.detail == "the connection was closed before any byte of a response"
    assert len(server.requests) == 3


def test_a_new_connection_that_closes_is_a_finding_at_once() -> None:
    with serve(lambda peer: peer.request()) as server:
        sent = exchange(server.url)
    assert (sent.end, len(server.requests)) == (End.RESET, 1)


def test_bytes_behind_a_body_are_no_answer_to_the_next_request() -> None:
    def script(peer: Peer) -> None:
        while peer.request():
            text = '{"a": "é"}'
            # The length in characters, as a careless server counts it.
            peer.send(OK, f"Content-Length: {len(text)}\r\n\r\n".encode(), text.encode())

    with serve(script) as server:
        first, second = exchanges(server.url, 2)
    for sent in (first, second):
        assert (sent.end, sent.detail) == (End.COMPLETE, "1 byte came behind the end of the body")
        assert sent.response is not None
        assert sent.response.body == '{"a": "é"'.encode()
    assert server.connections == 2


def test_bytes_that_nobody_asked_for_are_no_answer_to_the_next_request() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.answer()
        if peer.number == 0:
            peer.pause(0.05)
            peer.send(OK, b"Content-Length: 5\r\n\r\nstray")
            peer.until_closed()

    async def work(lane: Lane) -> Sent:
        await post(lane, server.url)
        await anyio.sleep(0.2)
        return await post(lane, server.url)

    with serve(script) as server:
        sent = on_a_lane(work)
    assert (sent.end, sent.response and sent.response.body) == (End.COMPLETE, b"{}")


def test_a_lane_goes_on_after_every_kind_of_end() -> None:
    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            match request.line.split()[1].rpartition("/")[2]:
                case "garbage":
                    peer.send(b"garbage\r\n\r\n")
                case "cut":
                    peer.send(OK, b"Content-Length: 9\r\n\r\n{}")
                    return
                case "silence":
                    peer.pause()
                case _:
                    peer.answer()

    async def work(lane: Lane) -> list[Sent]:
        paths = ("garbage", "fine", "cut", "fine", "silence", "fine")
        return [await post(lane, f"{server.url}/{path}", deadline=0.5) for path in paths]

    with serve(script) as server:
        sent = on_a_lane(work)
    fine = End.COMPLETE
    assert ends(sent) == [End.PROTOCOL, fine, End.RESET, fine, End.DEADLINE, fine]


# -- redirects ------------------------------------------------------------------------------------


def redirecting(locations: list[str], status: str = "307 Temporary Redirect") -> Any:
    """Answer each request with the next location, and then with 200."""

    def script(peer: Peer) -> None:
        while peer.request():
            if len(peer.server.requests) > len(locations):
                peer.answer(b"there")
            else:
                peer.answer(b"moved", f"Location: {locations[len(peer.server.requests) - 1]}", status=status)

    return script


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
def test_redirects_on_the_same_origin_keep_method_body_and_credentials(status: str) -> None:
    locations = ["/mcp/", "there?a=1#f", "?token=secret"]
    headers = (("Authorization", "Bearer x"),)
    with serve(redirecting(locations, status)) as server:
        sent = exchange(server.url, body=b"[1]", headers=headers)
    base = f"http://127.0.0.1:{server.port}"
    assert sent.redirects == (f"{base}/mcp/", f"{base}/mcp/there?a=1", f"{base}/mcp/there?token=[redacted]")
    assert [request.line for request in server.requests] == [
        "POST /mcp HTTP/1.1",
        "POST /mcp/ HTTP/1.1",
        "POST /mcp/there?a=1 HTTP/1.1",
        "POST /mcp/there?token=secret HTTP/1.1",
    ]
    assert {(request.body, request.header("authorization")) for request in server.requests} == {
        (b"[1]", "Bearer x")
    }
    assert (sent.end, sent.response and sent.response.body) == (End.COMPLETE, b"there")
    assert sent.request.url == server.url
    assert server.connections == 1


def test_the_fourth_redirect_in_a_row_is_the_response() -> None:
    with serve(redirecting(["/a", "/b", "/c", "/d", "/e"])) as server:
        sent = exchange(server.url)
    assert (sent.end, sent.response and sent.response.status) == (End.COMPLETE, 307)
    assert (len(sent.redirects), len(server.requests)) == (3, 4)


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "300 Choices", "304 Not Modified"]
)
def test_other_redirects_are_the_response(status: str) -> None:
    with serve(redirecting(["/a"], status)) as server:
        sent = exchange(server.url)
    assert (sent.end, sent.redirects, len(server.requests)) == (End.COMPLETE, (), 1)


@pytest.mark.parametrize(
    "location",
    [
        "http://localhost:{port}/mcp",
        "http://127.0.0.1:{other}/mcp",
        "http://127.0.0.1/mcp",
        "https://127.0.0.1:{port}/mcp",
        "//127.0.0.1:{other}/mcp",
        "http://127.0.0.1:{port}@127.0.0.1:{other}/mcp",
        "http://127.0.0.1:port/mcp",
        "http://[::1/",
        "ftp://127.0.0.1:{port}/mcp",
        "file:///etc/hostname",
    ],
)
def test_no_redirect_leads_to_another_origin(location: str) -> None:
    with serve(answering()) as other:

        def script(peer: Peer) -> None:
            peer.request()
            where = location.format(port=peer.server.port, other=other.port)
            peer.answer(b"", f"Location: {where}", status="307 Temporary Redirect")

        with serve(script) as server:
            sent = exchange(server.url, headers=(("Authorization", "Bearer x"),))
    assert (sent.end, sent.response and sent.response.status) == (End.COMPLETE, 307)
    assert (sent.redirects, len(server.requests), other.connections) == ((), 1, 0)


def test_userinfo_in_a_location_is_neither_used_nor_recorded() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        location = f"http://user:secret@127.0.0.1:{peer.server.port}/there"
        peer.answer(b"", f"Location: {location}", status="307 Temporary Redirect")
        peer.request()
        peer.answer()

    with serve(script) as server:
        sent = exchange(server.url)
    assert sent.redirects == (f"http://127.0.0.1:{server.port}/there",)
    assert server.requests[1].header("authorization") is None


def test_the_deadline_counts_all_redirects() -> None:
    def script(peer: Peer) -> None:
        while peer.request():
            peer.pause(0.2)
            peer.answer(b"", "Location: /again", status="307 Temporary Redirect")

    with serve(script) as server:
        sent = exchange(server.url, deadline=0.5)
    assert (sent.end, sent.detail) == (End.DEADLINE, "no response headers after 0.5 s")
    assert len(sent.redirects) == 2
    assert sent.seconds < 1


# -- cookies --------------------------------------------------------------------------------------


def test_cookies_go_back_to_their_origin_on_every_lane_of_a_run() -> None:
    async def main() -> None:
        cookies = CookieStore()
        async with Lane(STRAIGHT, cookies) as one, Lane(STRAIGHT, cookies) as two:
            await post(one, server.url)
            await post(two, server.url)
            await post(two, other.url)

    with (
        serve(answering("Set-Cookie: lb=a1; Path=/; Secure; HttpOnly", "Set-Cookie: s=2")) as server,
        serve(answering()) as other,
    ):
        anyio.run(main)
    assert [request.header("cookie") for request in server.requests] == [None, "lb=a1; s=2"]
    assert other.requests[0].header("cookie") is None


def test_a_cookie_of_a_redirect_goes_along() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.answer(b"", "Location: /there", "Set-Cookie: a=b", status="307 Temporary Redirect")
        peer.request()
        peer.answer()

    with serve(script) as server:
        exchange(server.url)
    assert server.requests[1].header("cookie") == "a=b"


def test_a_cookie_that_cannot_be_sent_is_not_kept() -> None:
    with serve(answering("Set-Cookie: a=b\x01c", "Set-Cookie: d=\x1b[0m", "Set-Cookie: good=\xe9")) as server:
        first, second = exchanges(server.url, 2)
    assert (first.end, second.end) == (End.COMPLETE, End.COMPLETE)
    assert server.requests[1].header("cookie") == "good=\xe9"


HERE = Endpoint.parse("https://seller.example/mcp/x?y")


@pytest.mark.parametrize(
    ("set_cookies", "sent"),
    [
        (["a=1"], "a=1"),
        (["a=1", "a=2"], "a=2"),
        (["a=1", "b=2"], "a=1; b=2"),
        (["a="], "a="),
        (["a=b=c"], "a=b=c"),
        ([' a = "1" ; Path=/'], 'a="1"'),
        (["a=1; Path=/mcp"], "a=1"),
        (["a=1; Path=/mcp/"], "a=1"),
        (["a=1; Path=/mcp/x"], "a=1"),
        (["a=1; Path=/mc"], None),
        (["a=1; Path=/mcp/x/y"], None),
        (["a=1; path=odd"], "a=1"),
        (["a=1; Domain=example"], "a=1"),
        (["a=1", "a=; Max-Age=0"], None),
        (["a=1", "a=; Max-Age=-1"], None),
        (["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], None),
        (["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "a=1"),
        (["a=1; Expires=nonsense"], "a=1"),
        (["a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"], "a=1"),
        (["a=1; Max-Age=99999999999999999999999"], "a=1"),
        (["nameless"], None),
        (["=nameless"], None),
        ([""], None),
        pytest.param(["a=" + "x" * 5000], None, id="too long"),
    ],
)
def test_which_cookies_go_back(set_cookies: list[str], sent: str | None) -> None:
    store = CookieStore()
    store.store(HERE, set_cookies)
    assert store.header(HERE) == sent


@pytest.mark.parametrize(
    "url", ["http://seller.example/mcp/x", "https://seller.example:444/mcp/x", "https://example/mcp/x"]
)
def test_no_other_origin_gets_a_cookie(url: str) -> None:
    store = CookieStore()
    store.store(HERE, ["a=1; Domain=example"])
    assert store.header(Endpoint.parse(url)) is None
    assert store.header(Endpoint.parse("https://SELLER.example:443/mcp/x")) == "a=1"


def test_a_server_cannot_fill_the_store() -> None:
    store = CookieStore()
    store.store(HERE, [f"c{number}=x" for number in range(1000)])
    store.store(HERE, ["c0=new"])
    header = store.header(HERE)
    assert header is not None
    assert header.count("=") == MAX_COOKIES
    assert header.startswith("c0=new; ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("sid=secret", "sid=[redacted]"),
        (
            "sid=secret; Path=/; HttpOnly; Secure; SameSite=Lax",
            "sid=[redacted]; Path=/; HttpOnly; Secure; SameSite=Lax",
        ),
        (
            "sid=secret; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "sid=[redacted]; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ),
        ("sid=secret; Path=/, other=secret", "sid=[redacted]; [redacted]"),
        ("sid=secret; secret", "sid=[redacted]; [redacted]"),
        ("sid=se=cret", "sid=[redacted]"),
        ("secret", "[redacted]"),
        ("", "[redacted]"),
    ],
)
def test_what_is_shown_of_a_cookie(value: str, shown: str) -> None:
    assert masked(value) == shown
