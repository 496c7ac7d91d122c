"""Hostile servers: every exchange ends in time and within its sizes, and says where it was cut off."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from pytest_adcp.harness.sse import Event
from pytest_adcp.harness.transcript import End, Limits
from pytest_adcp.harness.wire import CookieStore, Lane, Sent
from rawserver import Peer, serve
from wireclient import STRAIGHT, exchange, on_a_lane, post

OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"Content-Type: text/event-stream\r\n\r\n"
SMALL = Limits(max_response_bytes=1000)
SECONDS = 0.4
SLACK = 0.5  # for a busy machine


def body(sent: Sent) -> bytes:
    assert sent.response is not None
    return sent.response.body


# -- time -----------------------------------------------------------------------------------------


def silent(peer: Peer) -> None:
    peer.pause()


def trickling_headers(peer: Peer) -> None:
    peer.request()
    peer.trickle(OK + b"X: " + b"x" * 1000, 0.03)


def trickling_body(peer: Peer) -> None:
    peer.request()
    peer.send(OK, b"Content-Length: 1000\r\n\r\n12345")
    peer.trickle(b"x" * 1000, 0.03)


def stopped_body(peer: Peer) -> None:
    peer.request()
    peer.send(OK, b"Content-Length: 1000\r\n\r\n12345")
    peer.pause()


def endless_103(peer: Peer) -> None:
    peer.request()
    while not peer.server.ending.is_set():
        peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 10)
        peer.pause(0.001)


def endless_comments(peer: Peer) -> None:
    peer.request()
    peer.send(STREAM)
    while not peer.server.ending.is_set():
        peer.send(b": keep-alive\n\n")
        peer.pause(0.01)


def endless_chunk_header(peer: Peer) -> None:
    peer.request()
    peer.send(OK, b"Transfer-Encoding: chunked\r\n\r\n")
    peer.trickle(b"0" * 1000, 0.03)


def silent_after_events(peer: Peer) -> None:
    peer.request()
    peer.send(STREAM, b"data: 1\n\ndata: 2\n\ndata: lost")
    peer.pause()


CUT = {
    silent: f"no response headers after {SECONDS} s",
    trickling_headers: f"no response headers after {SECONDS} s: ",
    endless_103: f"no response headers after {SECONDS} s: ",
    trickling_body: f"no end of the body after {SECONDS} s: ",
    stopped_body: f"no end of the body after {SECONDS} s: 5 of 1000 bytes came",
    endless_chunk_header: f"no end of the body after {SECONDS} s: 0 bytes came",
    endless_comments: f"event stream: 0 events, no response after {SECONDS} s",
    silent_after_events: f"event stream: 2 events, no response after {SECONDS} s",
}


@pytest.mark.parametrize("script", CUT, ids=lambda script: script.__name__)
def test_cut_off_at_the_deadline(script: Any) -> None:
    with serve(script) as server:
        sent = exchange(server.url, deadline=SECONDS, until=lambda event: False)
    assert sent.end is End.DEADLINE
    assert sent.detail.startswith(CUT[script])
    assert SECONDS <= sent.seconds < SECONDS + SLACK
    assert sent.answered is None


def test_interim_responses_are_counted() -> None:
    with serve(endless_103) as server:
        detail = exchange(server.url, deadline=SECONDS).detail
    assert " interim responses" in detail


def test_what_came_before_the_deadline_is_kept() -> None:
    with serve(silent_after_events) as server:
        sent = exchange(server.url, deadline=SECONDS)
    assert body(sent) == b"data: 1\n\ndata: 2\n\ndata: lost"
    assert sent.response is not None
    assert sent.response.received == len(body(sent))


def test_a_tls_handshake_that_never_ends() -> None:
    with serve(silent) as server:
        sent = exchange(server.url.replace("http:", "https:"), deadline=SECONDS)
    assert (sent.end, sent.detail) == (
        End.DEADLINE,
        f"no end of the TLS handshake with 127.0.0.1 after {SECONDS} s",
    )
    assert sent.seconds < SECONDS + SLACK


def test_a_name_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any, **__: Any) -> None:
        time.sleep(1)
        raise socket.gaierror(socket.EAI_AGAIN, "too late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    sent = exchange("http://slow.example/mcp", deadline=SECONDS)
    assert (sent.end, sent.detail) == (
        End.DEADLINE,
        f"no connection to slow.example:80 after {SECONDS} s",
    )
    assert sent.seconds < SECONDS + SLACK


def test_a_server_that_reads_nothing() -> None:
    with serve(silent) as server:
        sent = exchange(server.url, deadline=SECONDS, body=b"x" * 20_000_000)
    assert sent.end is End.DEADLINE
    assert sent.seconds < SECONDS + SLACK


def test_many_trickles_at_once_and_a_lane_goes_on_after_each() -> None:
    def script(peer: Peer) -> None:
        request = peer.request()
        if request is not None and request.line.startswith("GET"):
            peer.answer(b"fine")
        else:
            peer.trickle(OK + b"X: " + b"x" * 1000, 0.05)

    ended: list[tuple[Sent, Sent]] = []

    async def one() -> None:
        async with Lane(STRAIGHT, CookieStore()) as lane:
            cut = await post(lane, server.url, deadline=1.0)
            ended.append((cut, await post(lane, server.url, method="GET", body=b"")))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(one)

    with serve(script) as server:
        anyio.run(main)
    assert len(ended) == 30
    for cut, after in ended:
        assert cut.end is End.DEADLINE
        assert cut.seconds < 1.5
        assert (after.end, body(after)) == (End.COMPLETE, b"fine")


def test_a_body_in_tiny_chunks_leaves_other_lanes_their_turns() -> None:
    event, count = b"data: x\n\n", 1500

    def script(peer: Peer) -> None:
        peer.request()
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        peer.send(
            STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"),
            chunk * count,
            b"0\r\n\r\n",
        )

    async def work(lane: Lane) -> tuple[int, int]:
        total = in_a_row = longest = 0

        def seen(event: Event) -> bool:
            nonlocal total, in_a_row, longest
            total, in_a_row = total + 1, in_a_row + 1
            longest = max(longest, in_a_row)
            return False

        async def other() -> None:
            nonlocal in_a_row
            while True:
                in_a_row = 0
                await anyio.sleep(0)

        async with anyio.create_task_group() as group:
            group.start_soon(other)
            await post(lane, server.url, deadline=20.0, until=seen)
            group.cancel_scope.cancel()
        return total, longest

    with serve(script) as server:
        total, longest = on_a_lane(work)
    assert total == count
    assert longest <= 100


# -- sizes ----------------------------------------------------------------------------------------


def flood(*start: bytes, piece: bytes = b"x" * 65536) -> Any:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(*start)
        while not peer.server.ending.is_set():
            peer.send(piece)

    return script


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (OK + b"\r\n", b"x" * 65536),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
        (STREAM, b"data: x\n"),
        (STREAM, b":" * 65536),
        (OK + b"Content-Encoding: br\r\n\r\n", b"x" * 65536),
    ],
    ids=["plain", "tiny chunks", "one event", "comment", "unknown coding"],
)
def test_a_body_without_end_stops_at_the_cap(start: bytes, piece: bytes) -> None:
    with serve(flood(start, piece=piece)) as server:
        sent = exchange(server.url, limits=SMALL)
    assert (sent.end, sent.detail) == (End.TOO_LARGE, "more than 1000 bytes")
    assert len(body(sent)) == 1000
    assert sent.seconds < 1


def test_a_body_of_exactly_the_cap_is_complete() -> None:
    with serve(lambda peer: peer.request() and peer.answer(b"x" * 1000)) as server:
        sent = exchange(server.url, limits=SMALL)
    assert (sent.end, len(body(sent))) == (End.COMPLETE, 1000)


def test_a_body_that_is_declared_too_large_is_not_read() -> None:
    with serve(lambda peer: peer.request() and (peer.head("Content-Length: 1001"), peer.pause())) as server:
        sent = exchange(server.url, limits=SMALL)
    assert sent.end is End.TOO_LARGE
    assert sent.detail == "content-length is 1001, and 1000 bytes are read at most"
    assert sent.response is not None
    assert (sent.response.status, body(sent)) == (200, b"")
    assert sent.seconds < 1


def test_a_stream_of_events_without_a_response_stops() -> None:
    with serve(flood(STREAM, piece=b"data: {}\n\n" * 100)) as server:
        sent = exchange(server.url, until=lambda event: False)
    assert (sent.end, sent.detail) == (End.EVENTS, "2000 events, and no response among them")


def test_a_flood_after_the_response_is_cut_off_and_forgiven() -> None:
    with serve(flood(STREAM, b"data: response\n\n", piece=b"data: {}\n\n" * 100)) as server:
        sent = exchange(server.url, limits=SMALL, until=lambda event: event.data == "response", linger=1.0)
    assert sent.end is End.COMPLETE
    assert sent.answered is not None
    assert len(body(sent)) == 1000


@pytest.mark.parametrize(
    ("headers", "end", "words"),
    [
        (b"X: y\r\n" * 100_000, End.HEADERS, "more than 65536 bytes of headers"),
        (b"X: y\r\n" * 201, End.HEADERS, "201 headers: at most 200 of together 65536 bytes are read"),
        (b"X: " + b"y" * 200_000 + b"\r\n", End.HEADERS, "more than 65536 bytes of headers"),
        (b"X:" + b" " * 60_000 + b"\0\r\n", End.PROTOCOL, "more than 1024 blanks in a row, in headers"),
        (b"X: y\r\n" + b" z\r\n" * 15_000, End.COMPLETE, ""),
        (b"X: y\r\n" + b" \r\n" * 20_000, End.COMPLETE, ""),
    ],
    ids=["100,000", "201", "a huge one", "slow to parse", "folded", "folded and blank"],
)
def test_more_headers_than_any_client_reads(headers: bytes, end: End, words: str) -> None:
    with serve(lambda peer: peer.request() and peer.send(OK, headers, b"\r\n")) as server:
        sent = exchange(server.url)
    assert sent.end is end
    assert sent.detail.startswith(words)
    assert sent.seconds < 1


def test_headers_over_the_cap_are_recorded_up_to_it() -> None:
    with serve(lambda peer: peer.request() and peer.send(OK, b"X: y\r\n" * 1000, b"\r\n")) as server:
        sent = exchange(server.url)
    assert sent.response is not None
    assert (sent.response.status, len(sent.response.headers)) == (200, 200)


@pytest.mark.parametrize(
    "framing",
    [
        b"5;" + b" " * 60_000 + b"\nx\r\n",
        b"0\r\nX:" + b" " * 60_000 + b"\0\r\n\r\n",
        b"1;" + b"x" * 100_000,
    ],
    ids=["slow chunk header", "slow trailer", "huge chunk header"],
)
def test_framing_that_is_slow_to_parse(framing: bytes) -> None:
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    with serve(lambda peer: peer.request() and (peer.send(chunked, framing), peer.pause())) as server:
        sent = exchange(server.url)
    assert sent.end is End.PROTOCOL
    assert sent.seconds < 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<html>hello</html>\r\n", "the answer is not HTTP/1.1; it starts with"),
        (b"\0\0\x12\x04\0\0\0\0\0" + b"\0" * 18, "the answer is not HTTP/1.1 but HTTP/2"),
        (b"HTTP", "the connection was closed after 4 bytes of headers"),
        (b"HTTP/1.1 200 OK\r\n", "the connection was closed after 17 bytes of headers"),
    ],
    ids=["HTTP/0.9", "HTTP/2", "a beginning", "a status line"],
)
def test_what_is_cut_off_is_told_from_what_is_not_http(data: bytes, words: str) -> None:
    with serve(lambda peer: peer.request() and peer.send(data)) as server:
        sent = exchange(server.url)
    assert sent.detail.startswith(words)
    assert sent.end is (End.PROTOCOL if "not HTTP" in words else End.RESET)


# -- content codings ------------------------------------------------------------------------------


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def deflated(data: bytes) -> bytes:
    return zlib.compress(data)


def raw_deflated(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


def gzip_twice(data: bytes) -> bytes:
    return zipped(zipped(data))


PLAIN = b'{"products": []}' * 50


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", zipped(PLAIN)),
        ("X-GZip", zipped(PLAIN)),
        ("gzip, identity", zipped(PLAIN)),
        ("deflate", deflated(PLAIN)),
        ("deflate", raw_deflated(PLAIN)),
        ("gzip, gzip", gzip_twice(PLAIN)),
        ("deflate, gzip", zipped(deflated(PLAIN))),
        ("gzip", zipped(PLAIN[:100]) + zipped(PLAIN[100:])),
        ("identity", PLAIN),
        ("", PLAIN),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("piece", [1, 1 << 20], ids=["in bytes", "at once"])
def test_a_content_coding_is_undone(coding: str, data: bytes, piece: int) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.head(f"Content-Encoding: {coding}", "Transfer-Encoding: chunked")
        for place in range(0, len(data), piece):
            peer.chunk(data[place : place + piece])
        peer.send(b"0\r\n\r\n")

    with serve(script) as server:
        sent = exchange(server.url)
    assert (sent.end, body(sent)) == (End.COMPLETE, PLAIN)
    assert sent.response is not None
    assert sent.response.received == len(data)


@pytest.mark.parametrize(
    "size", [(64 << 10) + 1, 1 << 20]
)  # the first leaves its last byte inside the engine
@pytest.mark.parametrize(
    ("coding", "encode"), [("gzip", zipped), ("gzip, gzip", gzip_twice), ("deflate", raw_deflated)]
)
def test_a_large_body_is_undone_to_its_end(size: int, coding: str, encode: Callable[[bytes], bytes]) -> None:
    data = encode(bytes(size))
    with serve(lambda peer: peer.request() and peer.answer(data, f"Content-Encoding: {coding}")) as server:
        sent = exchange(server.url)
    assert (sent.end, len(body(sent))) == (End.COMPLETE, size)


def test_an_empty_body_needs_no_coding() -> None:
    with serve(lambda peer: peer.request() and peer.answer(b"", "Content-Encoding: gzip")) as server:
        sent = exchange(server.url)
    assert (sent.end, body(sent)) == (End.COMPLETE, b"")


@pytest.mark.parametrize(
    ("coding", "data", "words"),
    [
        ("br", b"\x0b\x02\x80{}\x03", "the content coding 'br' was not asked for and is not known"),
        ("zstd", b"\x28\xb5\x2f\xfd", "the content coding 'zstd' was not asked for and is not known"),
        ("gzip, gzip, gzip", zipped(gzip_twice(PLAIN)), "3 content codings on top of each other"),
        ("gzip", PLAIN, "the gzip data is broken"),
        ("deflate", b"\x78\x9c\xff\xff", "the deflate data is broken"),
        ("gzip", zipped(PLAIN)[:-1], "the gzip data ends early"),
        ("deflate", b"\x78", "the deflate data ends early"),
        ("gzip", zipped(PLAIN)[:-8] + b"12345678", "the gzip data is broken"),
        ("gzip", zipped(PLAIN) + b"more", "the gzip data is broken"),
        ("deflate", deflated(PLAIN) + b"more", "4 bytes after the end of the deflate data"),
        ("gzip, deflate", deflated(PLAIN), "the gzip data is broken"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_coding_that_cannot_be_undone_keeps_the_raw_body(coding: str, data: bytes, words: str) -> None:
    with serve(lambda peer: peer.request() and peer.answer(data, f"Content-Encoding: {coding}")) as server:
        sent = exchange(server.url)
    assert (sent.end, sent.detail, body(sent)) == (End.ENCODING, words, data)
    assert sent.answered is None


def test_an_event_stream_in_an_unknown_coding_is_not_waited_for() -> None:
    headers = ("Content-Type: text/event-stream", "Content-Encoding: br")
    with serve(lambda peer: peer.request() and (peer.head(*headers), peer.pause())) as server:
        sent = exchange(server.url)
    assert sent.end is End.ENCODING
    assert sent.seconds < 1


def test_an_event_stream_in_gzip_is_read_as_it_comes() -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.head("Content-Type: text/event-stream", "Content-Encoding: gzip")
        engine = zlib.compressobj(wbits=31)
        peer.send(engine.compress(b"data: response\n\n") + engine.flush(zlib.Z_SYNC_FLUSH))
        peer.pause()

    with serve(script) as server:
        sent = exchange(server.url, until=lambda event: event.data == "response")
    assert (sent.end, body(sent)) == (End.COMPLETE, b"data: response\n\n")
    assert sent.answered is not None


def test_what_inflates_over_the_cap_stops_there() -> None:
    data = zipped(b"x" * 100_000)
    with serve(lambda peer: peer.request() and peer.answer(data, "Content-Encoding: gzip")) as server:
        sent = exchange(server.url, limits=SMALL)
    assert (sent.end, sent.detail) == (
        End.TOO_LARGE,
        "more than 1000 bytes with the content coding undone",
    )
    assert body(sent) == b"x" * 1000


def test_a_layer_in_between_that_inflates_without_end_stops_too() -> None:
    # Endless empty gzip members: nothing comes out of the outer layer, and the inner one never ends.
    data = zipped(zipped(b"") * 100_000)
    with serve(lambda peer: peer.request() and peer.answer(data, "Content-Encoding: gzip, gzip")) as server:
        sent = exchange(server.url, limits=Limits(max_response_bytes=100_000))
    assert (sent.end, sent.detail) == (
        End.TOO_LARGE,
        "a content coding that inflates to more than 100000 bytes",
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_does_not_fill_the_memory(layers: int) -> None:
    engine = zlib.compressobj(9, wbits=31)
    bomb = b"".join(engine.compress(bytes(1 << 20)) for _ in range(300)) + engine.flush()
    assert len(bomb) < 400_000
    data = zipped(bomb) if layers == 2 else bomb
    coding = ", ".join(["gzip"] * layers)

    async def work(lane: Lane) -> tuple[End, int, int]:
        tracemalloc.start()
        try:
            sent = await post(lane, server.url)
            return sent.end, len(body(sent)), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with serve(lambda peer: peer.request() and peer.answer(data, f"Content-Encoding: {coding}")) as server:
        end, size, peak = on_a_lane(work)
    assert (end, size) == (End.TOO_LARGE, 16 << 20)
    assert peak < 64 << 20
