from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.sse import Decoder, Event, Stream, decode


def decoded(body: bytes) -> list[str]:
    return [event.data for event in decode(body).events]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"data: a\r\r", ["a"]),
        (b"data: a\r\n\n", ["a"]),
        (b"data: a\n\r\n", ["a"]),
        (b"data: a\n\rdata: b\r\n\r\n", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a \n\n", [" a "]),
        (b"data:\ta\n\n", ["\ta"]),
        (b"data: a: b\n\n", ["a: b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\ndata\ndata:\n\n", ["a\n\n"]),
        (b"data:\n\n", [""]),
        (b"data\n\n", [""]),
        (b"data: a\n\n\n\ndata: b\n\n", ["a", "b"]),
        (b"\n\ndata: a\n\n", ["a"]),
        (b": c\ndata: a\n: c\ndata: b\n\n", ["a\nb"]),
        (b"event: x\n\n", []),
        (b"id: 1\nretry: 5\n\n", []),
        (b"Data: a\n\n", []),
        (b" data: a\n\n", []),
        (b"data : a\n\n", []),
        (b"data: a", []),
        (b"data: a\n", []),
        (b"data: a\n\ndata: lost\n", ["a"]),
        (b"", []),
    ],
)
def test_the_rules_of_lines_and_fields(body: bytes, expected: list[str]) -> None:
    assert decoded(body) == expected


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\0"])
def test_only_cr_and_lf_end_a_line(character: str) -> None:
    assert decoded(f"data: a{character}data: b\n\n".encode()) == [f"a{character}data: b"]


def test_fields_of_an_event() -> None:
    stream = decode(b"id: 7\nevent: tick\nretry: 1500\ndata: x\n\ndata: y\n\n")
    assert stream.events == (Event("x", "tick", "7", 1500), Event("y", "message", None, None))


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b"event:", Event("x")),
        (b"id:", Event("x", id="")),
        (b"id: a\0b", Event("x")),
        (b"id: a\nid: b\0", Event("x", id="a")),
        (b"retry: 0", Event("x", retry=0)),
        (b"retry: 1.5", Event("x")),
        (b"retry: -1", Event("x")),
        (b"retry:  1", Event("x")),
        (b"retry: \xd9\xa1", Event("x")),
        pytest.param(b"retry: " + b"9" * 100_000, Event("x"), id="endless retry"),
        (b"retry:", Event("x")),
    ],
)
def test_odd_values_of_fields(line: bytes, event: Event) -> None:
    assert decode(line + b"\ndata: x\n\n").events == (event,)


def test_one_bom_is_dropped_and_remembered() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n") == Stream((Event("a"),), True, None, 0, 0)
    second = decode(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n")
    assert (second.events, second.bom, second.ignored) == ((), True, 1)
    inside = decode(b"data: \xef\xbb\xbfa\n\n")
    assert (inside.events, inside.bom) == ((Event("\ufeffa"),), False)


@pytest.mark.parametrize(
    "body", [b"\xef\xbb\xbfdata: a\n\n", b"\xef\xbb", b"\xef\xbbdata: a\n\n", b"d", b"\xef"]
)
def test_a_bom_in_pieces(body: bytes) -> None:
    decoder = Decoder()
    events = [event for byte in body for event in decoder.feed(bytes([byte]))]
    assert (tuple(events), decoder.bom) == (decode(body).events, decode(body).bom)


@pytest.mark.parametrize(
    ("body", "unfinished"),
    [
        (b"", None),
        (b"data: a\n\n", None),
        (b"data: a\n", b"a"),
        (b"data: a", b"a"),
        (b"data: a\ndata:b", b"a\nb"),
        (b"data: a\nevent: x", b"a"),
        (b"data: a\n\ndata", b""),
        (b"dat", None),
        (b": comment", None),
        (b"id: 1\nevent: x\n", None),
        (b"data: a\r", b"a"),
        (b"data: a\r\r", None),
    ],
)
def test_an_event_without_its_blank_line_is_reported(body: bytes, unfinished: bytes | None) -> None:
    assert decode(body).unfinished == unfinished


def test_broken_utf8_is_replaced_and_flagged() -> None:
    stream = decode(b"data: a\xff\xed\xa0\x80\n\ndata: \xc3\xa9\n\nid: \xff\ndata: x\n\n")
    assert [event.valid_utf8 for event in stream.events] == [False, True, False]
    assert [event.data for event in stream.events] == ["a\ufffd\ufffd\ufffd\ufffd", "é", "x"]


def test_comments_and_ignored_lines_are_counted() -> None:
    stream = decode(b': one\n:\ndata: {"a":\n  "b": 1\n}\nfoo\n\n')
    assert (stream.comments, stream.ignored) == (2, 3)
    assert stream.events == (Event('{"a":'),)


def test_events_come_as_soon_as_their_blank_line() -> None:
    decoder = Decoder()
    assert decoder.feed(b"data: a\r\n\r") == [Event("a")]
    assert decoder.feed(b"\ndata: b\r") == []
    assert decoder.feed(b"\r") == [Event("b")]
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"data: c\r") == []
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: d\n\n") == [Event("c\nd")]


def reference(body: bytes) -> tuple[list[Event], int, int]:
    """The rules of the standard, as plainly as they can be written."""
    text = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, comments, ignored = [], 0, 0
    buffer, name, id_, retry = None, b"", None, None
    for line in text.split(b"\n")[:-1]:
        if line == b"":
            if buffer is not None:
                fields = [buffer[:-1], name, id_ or b""]
                words = [field.decode("utf-8", "replace") for field in fields]
                valid = all(word.encode() == field for word, field in zip(words, fields, strict=True))
                events.append(
                    Event(words[0], words[1] or "message", None if id_ is None else words[2], retry, valid)
                )
            buffer, name, id_, retry = None, b"", None, None
            continue
        if line[:1] == b":":
            comments += 1
            continue
        field, colon, value = line.partition(b":")
        if colon and value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            buffer = (buffer or b"") + value + b"\n"
        elif field == b"event":
            name = value
        elif field == b"id":
            id_ = value if 0 not in value else id_
        elif field == b"retry":
            if 1 <= len(value) <= 15 and all(48 <= digit <= 57 for digit in value):
                retry = int(value)
        else:
            ignored += 1
    return events, comments, ignored


PARTS = [b"data", b"event", b"id", b"retry", b"dat", b":", b": ", b" ", b"12", b"x", b"\0"]
ODD = [b"\xef\xbb\xbf", b"\xef", b"\xe2\x80\xa8", b"\xc2\x85", b"\xff", b"\xf0\x9f\x98", b"\x80"]
LINES = [b"", b"", b"data: x", b"data:", b"data", b"event: e", b"id: 1", b"retry: 5", b":"]
ENDS = [b"\n", b"\r", b"\r\n"]

line = st.sampled_from(LINES) | st.lists(st.sampled_from([*PARTS, *ODD]), max_size=6).map(b"".join)
lines = st.lists(st.tuples(line, st.sampled_from(ENDS)).map(b"".join), max_size=30).map(b"".join)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    start=st.sampled_from([b"", b"\xef\xbb\xbf"]), lines=lines, rest=line, cuts=st.lists(st.integers(0, 12))
)
def test_any_stream_in_any_pieces_is_read_as_the_standard_says(
    start: bytes, lines: bytes, rest: bytes, cuts: list[int]
) -> None:
    body = start + lines + rest
    events, comments, ignored = reference(body)
    whole = decode(body)
    assert list(whole.events) == events
    assert (whole.comments, whole.ignored, whole.bom) == (comments, ignored, body.startswith(b"\xef\xbb\xbf"))
    for sizes in ([1] * len(body), [*cuts, len(body)]):
        decoder, pieces, place = Decoder(), [], 0
        for size in sizes:
            pieces += decoder.feed(body[place : place + size])
            place += size
        assert pieces == events
        assert (decoder.bom, decoder.unfinished) == (whole.bom, whole.unfinished)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"data: " + b"x" * (4 << 20), id="one endless line"),
        pytest.param(b"data: x\n" * (512 << 10), id="an endless event"),
        pytest.param(b":" * (4 << 20), id="an endless comment"),
        pytest.param(b"\n" * (4 << 20), id="blank lines"),
        pytest.param(b"data: x\r\n\r\n" * (100 << 10), id="many events"),
    ],
)
def test_hostile_streams_take_linear_time(body: bytes) -> None:
    decoder = Decoder()
    started = time.process_time()
    for place in range(0, len(body), 64):
        decoder.feed(body[place : place + 64])
    # Joining the open line anew at each piece would copy 128 GiB.
    assert time.process_time() - started < 10
