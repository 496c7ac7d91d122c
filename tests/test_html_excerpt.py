"""The bytes around a finding's place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from evidence import Http, surveyed
from html_pages import finding
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.jsontext import pointer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.transcript import End, Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports.html_excerpt import Excerpt, Excerpts, locate

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, *path: str | int) -> list[tuple[str, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(pointer(*path), value), *(found for name, item in inside for found in places(item, *path, name))]


@settings(max_examples=60, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_place_is_found(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    for path, item in places(value):
        start, end, missing = locate(text, path)
        assert not missing
        assert json.loads(text[start:end].decode("utf-8", "surrogatepass")) == item


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        (b'{"a": 1, "a": 2}', "/a", b"2"),  # the last one counts
        (b'{"\\u0061": "}"}', "/a", b'"}"'),
        (b'{"a/b": {"~": [0, {"": -1e3}]}}', "/a~1b/~0/1/", b"-1e3"),
        (b"\xef\xbb\xbf [true ]", "/0", b"true"),
    ],
)
def test_places(text: bytes, path: str, found: bytes) -> None:
    start, end, missing = locate(text.removeprefix(b"\xef\xbb\xbf"), path)
    assert (text.removeprefix(b"\xef\xbb\xbf")[start:end], missing) == (found, False)


@pytest.mark.parametrize(
    ("path", "found"),
    [("/a/0/x", b"1"), ("/a/1", b"[1]"), ("/b", b'{"a": [1]}'), ("b", b'{"a": [1]}'), ("/a/-1", b"[1]")],
)
def test_what_should_hold_a_place_that_is_not_there(path: str, found: bytes) -> None:
    text = b'{"a": [1]}'
    start, end, missing = locate(text, path)
    assert text[start:end] == found
    assert missing is (path != "b")


def excerpt(answer: Http, pointer: str | None) -> Excerpt | None:
    return cut(surveyed(answer).transcript, pointer)


def cut(transcript: Transcript, pointer: str | None, exchange: int | None = None) -> Excerpt | None:
    index = transcript.exchanges[-1].index if exchange is None else exchange
    return Excerpts(transcript).of(finding("a.b", Outcome.FAILED, "x", pointer=pointer, exchange=index))


def answer(result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "call-7", "result": result}


def test_a_long_answer_is_cut_on_both_sides_of_the_place() -> None:
    body = json.dumps(answer({"before": "b" * 900, "here": 17, "after": "a" * 900})).encode()
    found = excerpt(Http(body), "/result/here")
    assert found is not None
    assert found.at == "17"
    assert found.before.endswith('b", "here": ')
    assert found.after.startswith(', "after": "aaa')
    before, after = found.left
    assert before + len(found.before + found.at + found.after) + after == len(body)
    assert found.where == f"HTTP 200, application/json, the body has {len(body)} bytes"


def test_a_long_value_is_cut_in_itself() -> None:
    found = excerpt(Http(answer({"here": "x" * 5000})), "/result/here")
    assert found is not None
    assert (len(found.at), found.after) == (480, "")
    assert found.left[1] > 4000


def test_no_character_is_torn() -> None:
    text = "é€😀" * 300
    for more in range(9):
        body = json.dumps(
            answer({"a": "x" * more + text, "here": text, "b": text}), ensure_ascii=False
        ).encode()
        found = excerpt(Http(body), "/result/here")
        assert found is not None
        assert "\\x" not in found.before + found.at + found.after


def test_bytes_that_are_no_text() -> None:
    found = excerpt(Http(b'{"jsonrpc": "2.0", "id": "call-7", "result": {"a": "\xff"}}'), "/result/a")
    assert found is not None
    assert found.at == '"\\xff"'


def test_the_event_with_the_response() -> None:
    stream = f'data: {{"jsonrpc": "2.0", "method": "m"}}\n\ndata: {json.dumps(answer({"a": 1}))}\n\n'
    found = excerpt(Http(stream.encode(), content_type="text/event-stream"), "/result/a")
    assert found is not None
    assert found.at == "1"
    assert "event 2 has" in found.where


@pytest.mark.parametrize("pointer", [None, "/result"])
def test_an_answer_that_is_no_json_is_shown_from_its_beginning(pointer: str | None) -> None:
    found = excerpt(Http(b"<h1>Bad gateway</h1>", status=502, content_type="text/html"), pointer)
    assert found == Excerpt(
        "HTTP 502, text/html, the body has 20 bytes", before="", at="", after="<h1>Bad gateway</h1>"
    )


def test_what_gave_no_answer() -> None:
    transcript = surveyed().transcript
    last = replace(transcript.exchanges[-1], response=None, end=End.RESET, detail="by peer")
    without = replace(transcript, exchanges=(*transcript.exchanges[:-1], last))
    assert cut(without, None) == Excerpt("the connection was lost: by peer")
    assert cut(transcript, None, exchange=999) is None
    assert Excerpts(transcript).of(finding("a.b", Outcome.FAILED, "x")) is None


def test_the_work_is_bounded() -> None:
    transcript = surveyed(Http(answer(["x" * 1000] * 3000))).transcript
    excerpts = Excerpts(transcript)
    found = finding(
        "a.b", Outcome.FAILED, "x", pointer="/result/2999", exchange=transcript.exchanges[-1].index
    )
    first, second = excerpts.of(found), excerpts.of(found)
    assert first is not None
    assert second is not None
    assert first.at
    assert not second.at  # 3 MB were looked through already; only the beginning is shown
    assert second.after.startswith('{"jsonrpc"')


SHOWN = Excerpt(
    "",
    before='{"a": "x", "b": ',
    at='{"name": "q\\"uote", "n": [1, 2], "t": "\\u003cb> long text"}',
    after="}",
)


@pytest.mark.parametrize(
    ("received", "unsaid"),
    [
        ('{"name": "q\\"uote", "n": [1, 2], "t": "<b> long text"}', ""),
        ('{"name": "q\\"uote", "n": [1, 2], "t": "<b> lo…" (7 more)}', ""),
        ('HTTP 200, {"name": "q\\"uote", "n": [1, 2], "t": "<b> l…', "HTTP 200"),
        ('HTTP 200, {"name": "q\\"u…', "HTTP 200"),
        ('HTTP 200, {"name": "q\\…', None),  # cut within an escape sequence
        ('members: ["n", "t"]', None),
        ("[1, 2]", ""),
        ("[1, 2, 3]", None),
        ("[1, 2…", ""),
        ('"q\\"uote"', ""),
        ('"q\\"other"', None),
        ('HTTP 200, "{\\"a\\": \\"x\\", \\"b\\": {\\"na…" (40 more)', "HTTP 200"),
        ('HTTP 200, "{\\"a\\": \\"y\\""', None),
        ('"long text"', None),  # plain words read well
        ('14 characters: "q\\"uote"', "14 characters"),
        ('U+0022 in "q\\"uote"', None),
        ('"q\\"uote" and more', None),
        ('{"name": …}', None),
        ("no status there", None),
        ("", None),
        (f'"\\n{"x" * 2000}"', None),
    ],
)
def test_received_is_said_but_for_what_stands_here(received: str, unsaid: str | None) -> None:
    assert SHOWN.unsaid(received) == (received if unsaid is None else unsaid)


@settings(max_examples=150, deadline=None)
@given(VALUES, VALUES, st.integers(1, 60))
def test_only_what_stands_here_is_left_out(value: Any, other: Any, limit: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    whole = Excerpt("", at=text)
    quoted = quote(value, 300)
    if isinstance(value, dict | list) and "…" not in quoted and not re.search(r"e[+-]?\d|\[\.\.", quoted):
        assert whole.unsaid(f"HTTP 200, {quoted}") == "HTTP 200"
    # Of another value nothing is left out, unless it is a part of this one.
    left = quote(other, 300)
    if isinstance(other, dict | list) and other and "…" not in left and not whole.unsaid(left):
        assert json.dumps(other, ensure_ascii=False) in text
