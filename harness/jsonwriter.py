"""A JSON writer for what the C encoder cannot do: any depth, lone surrogates, and numbers beyond the doubles.

What it writes, `jsontext.parse` reads as the same value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")


def write(value: Any) -> bytes:
    """Return a JSON value as compact UTF-8; infinities as numbers that are read as such, lone surrogates escaped.

    Raises:
        ValueError: a number in it is NaN.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (RecursionError, ValueError):
        text = "".join(_pieces(value))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # only an escape can carry half of a pair, and only strings can hold one
        return _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8")


def _pieces(value: Any) -> Iterator[str]:
    levels: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter([("", value)]), "")]
    while levels:
        items, end = levels[-1]
        for before, item in items:
            yield before
            if isinstance(item, dict):
                yield "{"
                levels.append((_members(item), "}"))
                break
            if isinstance(item, list):
                yield "["
                levels.append((_elements(item), "]"))
                break
            yield _leaf(item)
        else:
            yield end
            levels.pop()


def _members(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for name, member in item.items():
        yield f"{comma}{_leaf(name)}:", member
        comma = ","


def _elements(item: list[Any]) -> Iterator[tuple[str, Any]]:
    comma = ""
    for element in item:
        yield comma, element
        comma = ","


def _leaf(item: Any) -> str:
    if isinstance(item, float) and math.isinf(item):
        return "1e999" if item > 0 else "-1e999"
    return json.dumps(item, ensure_ascii=False, allow_nan=False)
