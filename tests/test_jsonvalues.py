"""Lengths, truthiness, strings and equality of JSON values are those of JavaScript; JSON pointers are RFC 6901's."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness import jsontext


class TestFunctions:
    @pytest.mark.parametrize(
        ("text", "length"), [("", 0), ("ab", 2), ("é", 1), ("\U0001f3af", 2), ("\ud800", 1)]
    )
    def test_utf16_length(self, text: str, length: int) -> None:
        assert jsontext.utf16_length(text) == length

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            (0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e21, "1e+21"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (2**53, "9007199254740992"),
            pytest.param(10**400, "Infinity", id="huge"),
            (-math.inf, "-Infinity"),
        ],
    )
    def test_number_string(self, value: float, written: str) -> None:
        assert jsontext.number_string(value) == written

    @pytest.mark.parametrize(
        ("value", "length"),
        [
            ({}, 2),
            ([], 2),
            ({"a": [1, 2.0, None, True, False]}, len('{"a":[1,2,null,true,false]}')),
            (math.inf, 4),
            ('\x01\n"\\', len('"\\u0001\\n\\"\\\\"')),
            ("é\U0001f3af", 5),
            ("\ud800", 8),
            (["\ud800", "\udc00"], 19),
            ({"\udc00": ""}, 13),
        ],
    )
    def test_stringify_length(self, value: object, length: int) -> None:
        assert jsontext.stringify_length(value) == length

    @pytest.mark.parametrize("value", [None, False, 0, -0.0, 0.0, "", math.nan])
    def test_falsy(self, value: object) -> None:
        assert jsontext.truthy(value) is False

    @pytest.mark.parametrize("value", [True, 1, -1.5, math.inf, "false", "0", " ", [], {}])
    def test_truthy(self, value: object) -> None:
        assert jsontext.truthy(value) is True

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            ("x", "x"),
            (None, "null"),
            (True, "true"),
            (1.0, "1"),
            (-math.inf, "-Infinity"),
            ({"a": 1}, "[object Object]"),
            ([], ""),
            ([None], ""),
            ([1, [2, [3, None]], [], {}], "1,2,3,,,[object Object]"),
        ],
    )
    def test_to_string(self, value: object, written: str) -> None:
        assert jsontext.to_string(value) == written

    def test_to_string_throws_as_javascript_does(self) -> None:
        with pytest.raises(TypeError):
            jsontext.to_string([{"toString": 1}])

    def test_pointer_escapes(self) -> None:
        assert jsontext.pointer() == ""
        assert jsontext.pointer("a/b", 0, "~", "") == "/a~1b/0/~0/"

    @settings(derandomize=True, deadline=None, database=None)
    @given(st.lists(st.text(), min_size=1, max_size=4))
    def test_pointer_and_resolve_are_inverse(self, names: list[str]) -> None:
        value: Any = "here"
        for name in reversed(names):
            value = {name: [value]}
        tokens = [token for name in names for token in (name, 0)]
        assert jsontext.resolve(value, jsontext.pointer(*tokens)) == "here"

    @pytest.mark.parametrize(
        "path", ["/b", "/a/2", "/a/-", "/a/01", "/a/x", "/a/0/b", "/a/" + "9" * 5000, "/", "/a/²"]
    )
    def test_resolve_misses(self, path: str) -> None:
        with pytest.raises(LookupError):
            jsontext.resolve({"a": [1, 2]}, path)

    def test_resolve_wants_a_pointer(self) -> None:
        assert jsontext.resolve([1], "") == [1]
        with pytest.raises(ValueError, match="not a JSON pointer"):
            jsontext.resolve({"a": 1}, "a")

    @pytest.mark.parametrize(
        ("first", "second"),
        [(1, 1.0), (0, -0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}), ([[]], [[]]), (None, None)],
    )
    def test_equal(self, first: object, second: object) -> None:
        assert jsontext.equal(first, second)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (1, True),
            (0, False),
            (None, False),
            ([1], [1, 1]),
            ({"a": 1}, {"b": 1}),
            ([], {}),
            ("1", 1),
            ({}, None),
            ([True], [1]),
        ],
    )
    def test_not_equal(self, first: object, second: object) -> None:
        assert not jsontext.equal(first, second)
        assert not jsontext.equal(second, first)
