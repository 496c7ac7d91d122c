"""JSON texts are read as JSON.parse reads them, and what a strict reader objects to is said."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from javascript import dump
from pytest_adcp.harness import jsonreader, jsontext
from pytest_adcp.harness.jsontext import Cause, ObjectionKind, parse

repeatable = settings(derandomize=True, deadline=None, database=None, max_examples=300)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def nested(levels: int, inside: str = "") -> str:
    return "[" * levels + inside + "]" * levels


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "cause", "place"),
        [
            ("", Cause.EMPTY, "line 1 column 1"),
            (" \r\n\t", Cause.EMPTY, "line 1 column 1"),
            ("\ufeff{}", Cause.BOM, "line 1 column 1"),
            ("```json\n{}\n```", Cause.CODE_FENCE, "line 1 column 1"),
            ("Found 3 products", Cause.PROSE, "line 1 column 1"),
            ("# Products", Cause.PROSE, "line 1 column 1"),
            ("3 products", Cause.PROSE, "line 1 column 3"),
            ("Größe", Cause.PROSE, "line 1 column 1"),
            ("{'a': 1}", Cause.SINGLE_QUOTES, "line 1 column 2"),
            ("{\"a\": 'b'}", Cause.SINGLE_QUOTES, "line 1 column 7"),
            ('{\n "a": NaN}', Cause.NON_FINITE, "line 2 column 7"),
            ("[Infinity]", Cause.NON_FINITE, "line 1 column 2"),
            ("-Infinity", Cause.NON_FINITE, "line 1 column 1"),
            ("[1, inf]", Cause.NON_FINITE, "line 1 column 5"),
            ("None", Cause.FOREIGN_LITERAL, "line 1 column 1"),
            ("[True]", Cause.FOREIGN_LITERAL, "line 1 column 2"),
            ('{"a": undefined}', Cause.FOREIGN_LITERAL, "line 1 column 7"),
            ("[01]", Cause.NUMBER, "line 1 column 3"),
            ("[1.]", Cause.NUMBER, "line 1 column 3"),
            ("[+1]", Cause.NUMBER, "line 1 column 2"),
            ("[.5]", Cause.NUMBER, "line 1 column 2"),
            ("[-]", Cause.NUMBER, "line 1 column 2"),
            ("{a: 1}", Cause.UNQUOTED_NAME, "line 1 column 2"),
            ('{"a": 1,}', Cause.TRAILING_COMMA, "line 1 column 9"),
            ("[1, ]", Cause.TRAILING_COMMA, "line 1 column 5"),
            ("[1, // one\n 2]", Cause.COMMENT, "line 1 column 5"),
            ('{/* */"a": 1}', Cause.COMMENT, "line 1 column 2"),
            ('{"a": "b\nc"}', Cause.CONTROL_CHARACTER, "line 1 column 9"),
            ('{"a\tb": 1}', Cause.CONTROL_CHARACTER, "line 1 column 4"),
            ('"\\x41"', Cause.ESCAPE, "line 1 column 2"),
            ('"\\u12g4"', Cause.ESCAPE, "line 1 column 3"),
            ("{} {}", Cause.TRAILING_DATA, "line 1 column 4"),
            ("[]\n\nDone.", Cause.TRAILING_DATA, "line 3 column 1"),
            ("{}\x00", Cause.TRAILING_DATA, "line 1 column 3"),
            ('{"a": "b', Cause.TRUNCATED, "line 1 column 9"),
            ('{"a"', Cause.TRUNCATED, "line 1 column 5"),
            ("[[1, 2", Cause.TRUNCATED, "line 1 column 7"),
            ("[1 2]", Cause.SYNTAX, "line 1 column 4"),
            ('{"a" 1}', Cause.SYNTAX, "line 1 column 6"),
            ("[}", Cause.SYNTAX, "line 1 column 2"),
            (nested(5000, "NaN"), Cause.NON_FINITE, "line 1 column 5001"),
            ("[" * 100_000, Cause.TRUNCATED, "line 1 column 100001"),
        ],
    )
    def test_says_why_and_where(self, text: str, cause: Cause, place: str) -> None:
        parsed = parse(text)
        assert (parsed.ok, parsed.value, parsed.cause) == (False, None, cause)
        assert parsed.error.startswith(f"{place}: ")

    def test_never_quotes_the_sender(self) -> None:
        assert "\x1b" not in parse("\x1b[2J").error

    def test_depth_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jsonreader, "MOST_LEVELS", 2000)
        assert parse(nested(2000)).ok
        assert parse(nested(2002)).cause is Cause.TOO_DEEP

    @pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
    def test_values_are_bounded(self, encode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jsontext, "MOST_VALUES", 100)
        assert parse(encode("[" + "1," * 99 + "1]")).ok
        parsed = parse(encode("[" + "1," * 100 + "1]"))
        assert (parsed.ok, parsed.value, parsed.cause) == (False, None, Cause.TOO_MANY)
        assert "page the answer" in parsed.error

    def test_an_answer_at_the_client_limit_is_read(self) -> None:
        product = {
            "product_id": "p1",
            "name": "Run of site",
            "is_fixed_price": True,
            "formats": [{"id": "f1"}],
        }
        text = json.dumps(
            [product] * (4 * 1024 * 1024 // len(json.dumps(product)) - 1), separators=(",", ":")
        )
        assert parse(text).ok


@given(values)
@repeatable
def test_what_stands_in_strings_is_no_value(value: Any) -> None:
    counted = []
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        source = text.encode("utf-8", "surrogatepass")
        for step in (1, 2, 7, 1 << 16):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(jsontext, "MOST_VALUES", -1)
                patch.setattr(jsontext, "_STEP", step)
                counted.append(jsontext.count_values(source))
    stripped = json.dumps(value)
    stripped = re.sub(r'"(?:[^"\\]|\\.)*"', '""', stripped)
    assert set(counted) == {sum(map(stripped.count, ",[{"))}


class TestValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (' {"a": [1, 2.5, true, null, "x"]}\n', {"a": [1, 2.5, True, None, "x"]}),
            ('{"a": 1, "a": 2}', {"a": 2}),
            ('{"__proto__": {"a": 1}}', {"__proto__": {"a": 1}}),
            ('"\\ud83c\\udfaf"', "\U0001f3af"),
            ('"\u2028\x7f"', "\u2028\x7f"),
            ("9007199254740992", 2**53),
            ("-9007199254740992", -(2**53)),
            ("1e2", 100.0),
        ],
    )
    def test_are_those_of_javascript(self, text: str, value: object) -> None:
        parsed = parse(text)
        assert (parsed.ok, parsed.error, parsed.cause) == (True, "", None)
        assert jsontext.equal(parsed.value, value)

    def test_minus_zero(self) -> None:
        assert math.copysign(1, parse("-0").value) == -1
        assert parse("0").value == 0

    def test_exact_integers_stay_int(self) -> None:
        assert type(parse("9007199254740991").value) is int
        assert type(parse("9007199254740993").value) is float

    def test_raw_and_escaped_halves_are_one_character(self) -> None:
        parsed = parse('{"\ud83c\\udfaf": "\\ud83c\udfaf"}')
        assert parsed.value == {"\U0001f3af": "\U0001f3af"}
        assert parsed.objections == ()

    @pytest.mark.parametrize("text", [nested(100_000), '{"a":' * 100_000 + "1" + "}" * 100_000])
    def test_any_depth(self, text: str) -> None:
        limit = sys.getrecursionlimit()
        parsed = parse(text)
        assert parsed.ok
        assert [objection.kind for objection in parsed.objections] == [ObjectionKind.DEEP]
        assert sys.getrecursionlimit() == limit
        assert jsontext.equal(parsed.value, parse(text).value)
        assert jsontext.stringify_length(parsed.value) == len(text)
        assert "value" not in repr(parsed)

    def test_near_the_end_of_the_stack(self) -> None:
        def down(levels: int) -> Any:
            return down(levels - 1) if levels else parse(nested(150)).ok

        frames = len(_stack())
        assert down(sys.getrecursionlimit() - frames - 60)

    @repeatable
    @given(values)
    def test_reader_and_decoder_agree(self, value: Any) -> None:
        text = json.dumps(value)
        fast, slow = jsonreader.Notes(), jsonreader.Notes()
        assert dump(fast.decoder.decode(text)) == dump(jsonreader.read(text, slow))

    @repeatable
    @given(st.text() | st.binary() | st.text('[]{},:"\\ \n0123456789.-eEtruefalsnNI'))
    def test_never_raises(self, source: str | bytes) -> None:
        parsed = parse(source)
        assert parsed.ok == (not parsed.error) == (parsed.cause is None)


def _stack() -> list[Any]:
    frame, frames = sys._getframe(), []
    while frame:
        frames.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return frames


class TestBytes:
    def test_byte_order_mark_is_dropped(self) -> None:
        parsed = parse(b"\xef\xbb\xbf{}")
        assert parsed.value == {}
        assert [objection.kind for objection in parsed.objections] == [ObjectionKind.BOM]

    def test_only_one_is(self) -> None:
        parsed = parse(b"\xef\xbb\xbf\xef\xbb\xbf{}")
        assert parsed.cause is Cause.BOM
        assert [objection.kind for objection in parsed.objections] == [ObjectionKind.BOM]

    def test_invalid_utf_8_is_replaced(self) -> None:
        parsed = parse(b'{"a": "\xe9t\xe9"}')
        assert parsed.value == {"a": "\ufffdt\ufffd"}
        assert [objection.kind for objection in parsed.objections] == [ObjectionKind.INVALID_UTF8]
        assert "0xE9 at offset 7" in parsed.objections[0].detail

    def test_utf_16_is_no_json(self) -> None:
        assert not parse('{"a": 1}'.encode("utf-16")).ok


class TestObjections:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"a": 1}', []),
            ('{"a": {"b": 1, "b": 2}}', [("duplicate-name", "/a/b", True)]),
            ('[{"b/~": 1, "b/~": 1.0}]', [("duplicate-name", "/0/b~1~0", False)]),
            ('{"a": 1, "a": true}', [("duplicate-name", "/a", True)]),
            ('{"a": 1, "a": 2, "a": 2}', [("duplicate-name", "/a", True)]),
            ('{"a": {"x": 1, "x": 2}, "a": 3}', [("duplicate-name", "/a", True)]),
            ('["\\ud800"]', [("lone-surrogate", "/0", False)]),
            ('["\\uDFFF\\uD800"]', [("lone-surrogate", "/0", False)]),
            ('{"\\udc00": 1}', [("lone-surrogate", "/\udc00", False)]),
            ('["\\ud83c\\udfaf"]', []),
            ('["\\\\ud83c\\udfaf"]', [("lone-surrogate", "/0", False)]),
            ('["\\\\ud83c\\\\udfaf"]', []),
            ('["\ud800"]', [("lone-surrogate", "/0", False)]),
            ("[9007199254740993]", [("large-number", "/0", False)]),
            ('{"a": [1, -12345678901234567890]}', [("large-number", "/a/1", False)]),
            ("[1e400, 1e308, -1e999]", [("large-number", "/0", False), ("large-number", "/2", False)]),
            ('["12345678901234567890"]', []),
            ("[0.12345678901234567890]", []),
            pytest.param("9" * 5000, [("large-number", "", False)], id="5000-digits"),
            (nested(200), []),
            (nested(201), [("deep", "/0" * 200, False)]),
            ('["' + "[" * 300 + '"]', []),
            ('["\\"' + "[" * 300 + '\\\\"]', []),
            ('{"a":' * 201 + '"]}"' + "}" * 201, [("deep", "/a" * 200, False)]),
            ('["\\"",' + nested(250) + ',"\\""]', [("deep", "/1" + "/0" * 199, False)]),
            ('["\\\\",' + nested(250) + ',"\\\\"]', [("deep", "/1" + "/0" * 199, False)]),
        ],
    )
    def test_kind_place_and_difference(self, text: str, expected: list[Any]) -> None:
        parsed = parse(text)
        assert parsed.ok
        assert [(o.kind.value, o.pointer, o.differs) for o in parsed.objections] == expected

    def test_are_in_document_order_and_bounded(self) -> None:
        parsed = parse("[" + ",".join(["1e999"] * 100) + "]")
        assert [o.pointer for o in parsed.objections] == [f"/{i}" for i in range(jsontext.MAX_OBJECTIONS)]

    def test_long_numbers_are_cut(self) -> None:
        assert len(parse("1" * 400).objections[0].detail) < 80

    def test_refused_texts_keep_those_of_their_bytes(self) -> None:
        assert [o.kind for o in parse(b"\xff").objections] == [ObjectionKind.INVALID_UTF8]
