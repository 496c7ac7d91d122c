"""JSON that is written for readers of every depth."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_adcp.harness.jsontext import equal, parse
from pytest_adcp.harness.jsonwriter import write

LEVELS = 100_000

# Halves are never neighbours here: two strings of Python, but one to every reader of JSON.
texts = st.text() | st.sampled_from(["\ud800", "a\udc00b", "__proto__", "\u2028\x00"])
leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


@given(values)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    parsed = parse(write(value))
    assert parsed.ok
    assert equal(parsed.value, value)


@given(values)
def test_both_ways_of_writing_agree(value: Any) -> None:
    alone = write(value)
    # The infinity keeps the C encoder from writing this list.
    assert write([math.inf, value, {"": value}]) == b'[1e999,%b,{"":%b}]' % (alone, alone)


def test_depth_is_no_limit() -> None:
    value: Any = "\ud800"
    for _ in range(LEVELS):
        value = {"a": [value]}
    assert write(value) == b'{"a":[' * LEVELS + b'"\\ud800"' + b"]}" * LEVELS


def test_numbers_beyond_the_doubles_are_kept() -> None:
    text = write({"big": math.inf, "small": -math.inf})
    assert text == b'{"big":1e999,"small":-1e999}'
    assert json.loads(text) == {"big": math.inf, "small": -math.inf}


@pytest.mark.parametrize("value", [math.nan, [math.inf, math.nan]])
def test_nan_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(value)
