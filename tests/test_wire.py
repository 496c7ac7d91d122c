"""What an exchange sends, what it makes of the answer, and how it names what went wrong."""

from __future__ import annotations

import socket
from typing import Any

import anyio
import pytest
from pytest_adcp.harness.sse import Event
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.wire import Connection, Lane, Sent
from rawserver import Peer, serve
from wireclient import exchange, on_a_lane, post

OK = b"HTTP/1.1 200 OK\r\n"


def says(*data: bytes, reset: bool = False) -> Any:
    """Return a script that takes a request, sends these bytes and closes the connection."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(*data)
        if reset:
            peer.pause(0.1)  # what was sent has to be read before the reset discards it
            peer.reset()

    return script


def answer_to(script: Any, **options: Any) -> Sent:
    with serve(script) as server:
        return exchange(server.url, **options)


# -- what is sent, and how it is recorded ----------------------------------------------------------


def test_the_request_is_what_the_record_says() -> None:
    headers = (("Content-Type", "application/json"), ("X-Empty", ""), ("X-Odd", "é"), ("X-Wide", "\u20ac"))
    with serve(lambda peer: peer.request() and peer.answer()) as server:
        sent = exchange(server.url + "/a b?q=%20x&y=[1]#f", headers=headers, body=b"[1, 2]")
    (request,) = server.requests
    assert request.line == "POST /mcp/a%20b?q=%20x&y=[1] HTTP/1.1"
    assert request.body == sent.request.body == b"[1, 2]"
    assert request.headers == [
        ("Host", f"127.0.0.1:{server.port}"),
        *headers[:3],
        ("X-Wide", "\u20ac".encode().decode("latin-1")),
        ("Accept-Encoding", "identity"),
        ("Content-Length", "6"),
    ]
    assert [name for name, _ in sent.request.headers] == [name for name, _ in request.headers]
    assert sent.request.method == "POST"


def test_headers_that_are_given_replace_ours() -> None:
    headers = (("host", "other.example"), ("accept-encoding", "gzip"))
    with serve(lambda peer: peer.request() and peer.answer()) as server:
        exchange(server.url, headers=headers, method="GET", body=b"")
    assert server.requests[0].headers == list(headers)


def test_credentials_are_sent_and_never_recorded() -> None:
    headers = (
        ("Authorization", "Bearer open-sesame"),
        ("X-Mine", "open-sesame"),
        ("Cookie", "a=open-sesame"),
        ("Accept", "*/*"),
    )
    with serve(
        lambda peer: peer.request() and peer.answer(b"{}", "Set-Cookie: sid=open-sesame; Path=/")
    ) as server:
        url = server.url.replace("//", "//user:open-sesame@") + "?token=open-sesame"
        sent = exchange(url, headers=headers, secret_headers=frozenset({"x-mine"}))
    assert [request.header(name) for request in server.requests for name, _ in headers] == [
        v for _, v in headers
    ]
    assert server.requests[0].line == "POST /mcp?token=open-sesame HTTP/1.1"
    assert "open-sesame" not in repr(sent)
    recorded = dict(sent.request.headers)
    assert (recorded["Authorization"], recorded["X-Mine"], recorded["Accept"]) == (
        "Bearer [redacted]",
        "[redacted]",
        "*/*",
    )
    assert sent.response is not None
    assert sent.response.header("set-cookie") == "sid=[redacted]; Path=/"


@pytest.mark.parametrize(
    "url", ["ftp://h/", "http://", "//h/", "h", "", "http://h:99999/", "http://[::1/", "http://u:pw@:1/"]
)
def test_a_url_that_cannot_be_requested_raises_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match="not an http") as raised:
        exchange(url)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    "header", [("X-A", "se\ncret"), ("X-A", "secret "), ("X-A", "se\0cret"), ("X A", "secret"), ("X-Ä", "x")]
)
def test_a_header_that_cannot_be_sent_raises_without_quoting_its_value(header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="request header") as raised:
        exchange("http://127.0.0.1:9/", headers=(header,))
    assert "cret" not in str(raised.value)


def test_headers_that_contradict_the_body_raise() -> None:
    with serve(lambda peer: peer.until_closed()) as server, pytest.raises(ValueError, match="cannot be sent"):
        exchange(server.url, headers=(("Content-Length", "1"),), body=b"12")


# -- responses in every framing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (OK + b"Content-Length: 2\r\n\r\n{}", b"{}"),
        (OK + b"Content-Length: 2, 2\r\n\r\n{}", b"{}"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;ext=1\r\n}\r\n0\r\nTrailer: x\r\n\r\n", b"{}"),
        (OK + b"\r\n{}", b"{}"),
        (b"HTTP/1.0 200 OK\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
            + OK
            + b"Content-Length: 0\r\n\r\n",
            b"",
        ),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 99999999999\r\n\r\n", b""),
    ],
)
def test_a_whole_response(wire: bytes, body: bytes) -> None:
    sent = answer_to(says(wire))
    assert (sent.end, sent.detail) == (End.COMPLETE, "")
    assert sent.response is not None
    assert (sent.response.body, sent.response.received) == (body, len(body))
    assert sent.first_byte is not None
    assert sent.answered is not None
    assert 0 < sent.first_byte <= sent.answered <= sent.seconds < 2


def test_the_response_is_recorded_as_it_came() -> None:
    sent = answer_to(
        says(b"HTTP/1.1 404 Gone\r\nX-Odd: \xe9\x1b[0m\r\nX-ODD:\r\nContent-Length: 1\r\n\r\n\xff")
    )
    assert sent.end is End.COMPLETE
    assert sent.response is not None
    assert (sent.response.status, sent.response.http_version) == (404, "HTTP/1.1")
    assert sent.response.headers == (("X-Odd", "\xe9\x1b[0m"), ("X-ODD", ""), ("Content-Length", "1"))
    assert sent.response.body == b"\xff"


def test_head_has_no_body_whatever_its_length() -> None:
    sent = answer_to(says(OK + b"Content-Length: 99999999999\r\n\r\n"), method="HEAD", body=b"")
    assert (sent.end, sent.response and sent.response.body) == (End.COMPLETE, b"")


def test_an_answer_before_the_whole_request_was_read() -> None:
    def script(peer: Peer) -> None:
        peer.socket.recv(1000)
        peer.answer(b"no", status="413 Too Large")
        peer.pause(0.2)

    sent = answer_to(script, body=b"x" * 8_000_000)
    # The server's reset may overtake its answer; a hang or an exception would be wrong.
    assert sent.end in (End.COMPLETE, End.RESET)


# -- names for what goes wrong ---------------------------------------------------------------------


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    sent = exchange(f"http://127.0.0.1:{port}/mcp")
    assert (sent.end, sent.detail, sent.response) == (
        End.REFUSED,
        f"nothing listens at 127.0.0.1:{port}",
        None,
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (socket.EAI_NONAME, "there is no host of that name"),
        (socket.EAI_AGAIN, "the name server does not answer"),
    ],
)
def test_a_host_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror(code, "as the system says it")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    sent = exchange("http://nobody.example/mcp")
    assert (sent.end, sent.detail) == (End.DNS, f"nobody.example: {words}")


def test_a_label_that_no_name_server_knows() -> None:
    assert exchange(f"http://{'a' * 64}.example/").end is End.DNS


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", None, "before any byte of a response"),
        (b"HTTP/1.1 200 OK\r\nContent-", None, "after 25 bytes of headers"),
        (OK + b"Content-Length: 10\r\n\r\n12345", 200, "in the middle of the body: 5 of 10 bytes came"),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
            200,
            "in the middle of the body: 5 bytes came",
        ),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n",
            200,
            "in the middle of the body: 5 bytes came",
        ),
    ],
)
def test_a_lost_connection(data: bytes, status: int | None, words: str, reset: bool) -> None:
    sent = answer_to(says(data, reset=reset))
    assert (sent.end, sent.detail) == (
        End.RESET,
        f"the connection was {'reset' if reset else 'closed'} {words}",
    )
    assert (sent.response and (sent.response.status, sent.response.body)) == (status and (status, b"12345"))
    assert sent.answered is None


@pytest.mark.parametrize(
    ("data", "first"),
    [
        (b"<html>hello</html>\r\n\r\n", "<html>hello</html>"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "SSH-2.0-OpenSSH_9.6"),
        (b"\x1b[31mred\x07 secret\r\n\r\n", r"\x1b[31mred\x07"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00", r"\x00\x00\x12\x04\x00\x00\x00\x00"),
        (b"\r\n\r\n", ""),
        (b"HTTP/2.0 200 OK\r\n\r\n", "HTTP/2.0"),
        (b"POST /mcp?token=secret HTTP/1.1\r\n\r\n", "POST"),
        pytest.param(b"x" * 1000 + b"\r\n\r\n", "x" * 32, id="long"),
    ],
)
def test_what_is_not_http(data: bytes, first: str) -> None:
    sent = answer_to(says(data))
    assert sent.end is End.PROTOCOL
    assert sent.detail == f"the answer is not HTTP/1.1; it starts with b'{first}'"


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 20 OK\r\n\r\n", "illegal status line"),
        (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n12", "conflicting Content-Length headers"),
        (OK + b"Content-Length: -1\r\n\r\n", "bad Content-Length"),
        (OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", "bad Content-Length"),
        (OK + b"Transfer-Encoding: gzip\r\n\r\n", "Only Transfer-Encoding"),
        (OK + b"Set-Cookie: a=secret\0\r\n\r\n", "illegal header line"),
        (OK + b"no colon secret\r\n\r\n", "illegal header line"),
        (CHUNKED + b"secret\r\n", "illegal chunk header"),
        (CHUNKED + b"1\r\nasecret\r\n", "malformed chunk footer"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", ""),
    ],
)
def test_what_breaks_http(data: bytes, words: str) -> None:
    sent = answer_to(says(data))
    assert sent.end is End.PROTOCOL
    assert sent.detail.startswith(f"the response breaks HTTP/1.1: {words}")
    assert "secret" not in sent.detail


def test_tls_where_plain_http_was_asked_for() -> None:
    sent = answer_to(says(b"\x15\x03\x03\x00\x02\x02\x46"))
    assert (sent.end, sent.detail) == (End.PROTOCOL, "the server answers in TLS; is it an https:// URL?")


def test_a_broken_chunk_keeps_what_came_before() -> None:
    sent = answer_to(says(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\nx\r\n"))
    assert (sent.end, sent.response and sent.response.body) == (End.PROTOCOL, b"12345")


# -- event streams --------------------------------------------------------------------------------

STREAM = OK + b"Content-Type: Text/Event-Stream; charset=utf-8\r\n\r\n"


def is_response(event: Event) -> bool:
    return event.data == "response"


def test_a_stream_is_read_on_for_a_while_after_the_response() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(STREAM, b"data: first\n\ndata: resp")
        peer.send(b"onse\n\ndata: second\n\n")
        peer.pause(0.1)
        peer.send(b"data: third\n\n")
        peer.pause()

    sent = answer_to(script, until=is_response, linger=0.4)
    assert (sent.end, sent.detail) == (End.COMPLETE, "")
    assert sent.response is not None
    assert sent.response.body.endswith(b"data: third\n\n")
    assert sent.answered is not None
    assert 0.4 <= sent.seconds - sent.answered < 0.9


def test_a_stream_that_ends_after_the_response_is_not_waited_for() -> None:
    sent = answer_to(says(STREAM, b"data: response\n\n"), until=is_response, linger=1.5)
    assert sent.end is End.COMPLETE
    assert sent.answered is not None
    assert sent.seconds < 1


@pytest.mark.parametrize("data", [b"", b": hi\n\n", b"data: response\n", b"data: other\n\n"])
def test_a_stream_that_ends_without_the_response(data: bytes) -> None:
    sent = answer_to(says(STREAM, data), until=is_response)
    assert (sent.end, sent.answered) == (End.COMPLETE, None)
    assert sent.response is not None
    assert sent.response.body == data


@pytest.mark.parametrize("after", ["reset", "garbage"])
def test_what_goes_wrong_after_the_response_does_not_undo_it(after: str) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
        peer.chunk(b"data: response\n\n")
        peer.pause(0.1)
        if after == "garbage":
            peer.send(b"garbage\r\n")
        else:
            peer.reset()

    sent = answer_to(script, until=is_response, linger=1.5)
    assert sent.end is End.COMPLETE
    assert sent.answered is not None
    assert ("reset" if after == "reset" else "chunk header") in sent.detail


def test_an_error_of_the_callers_own_is_raised_and_the_lane_goes_on() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(STREAM, b"data: x\n\n")
        peer.until_closed()

    def fail(event: Event) -> bool:
        raise LookupError(event.data)

    async def work(lane: Lane) -> Sent:
        with pytest.raises(LookupError, match="x"):
            await post(lane, server.url, until=fail)
        return await post(lane, server.url, until=lambda event: True)

    with serve(script) as server:
        assert on_a_lane(work).answered is not None
    assert server.connections == 2


# -- cancellation --------------------------------------------------------------------------------


def test_a_cancelled_exchange_gives_what_it_has_and_goes_on_being_cancelled() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(OK, b"Content-Length: 10\r\n\r\n123")
        peer.until_closed()

    records: list[Sent] = []

    async def work(lane: Lane) -> bool:
        with anyio.move_on_after(0.3) as scope:
            await post(lane, server.url, interrupted=records.append)
        return scope.cancelled_caught

    with serve(script) as server:
        assert on_a_lane(work)
    (record,) = records
    assert (record.end, record.response and record.response.body) == (End.INTERRUPTED, b"123")


def test_the_deadline_is_no_interruption() -> None:
    records: list[Sent] = []
    with serve(lambda peer: peer.pause()) as server:
        sent = exchange(server.url, deadline=0.2, interrupted=records.append)
    assert (sent.end, records) == (End.DEADLINE, [])


def test_one_lane_does_one_exchange_at_a_time() -> None:
    async def work(lane: Lane) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: post(lane, server.url, deadline=0.5))
            await anyio.sleep(0.1)
            with pytest.raises(anyio.BusyResourceError):
                await post(lane, server.url)

    with serve(lambda peer: peer.pause()) as server:
        on_a_lane(work)


def test_settings_do_not_show_the_proxy_with_its_password() -> None:
    assert "pw" not in repr(Connection(proxy="http://user:pw@proxy.example:3128"))
    with pytest.raises(ValueError, match="not an http") as raised:
        Connection(proxy="socks5://user:pw@proxy.example")
    assert "pw" not in str(raised.value)
