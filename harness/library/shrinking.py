"""Makes a JSON value smaller step by step while something stays true of it.

Texts that hold JSON are cut as JSON, too. Hypothesis would shrink the choices that led to a response; this shrinks the
response itself, so it does not matter where that came from, and a library behind a pipe is asked about many at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from pytest_adcp.harness.jsontext import parse

_FINEST = 64  # a text is cut in pieces of no less than its length by this
_SHORT = 40  # characters; of a shorter text every part is left out once
_LONG = 16  # characters; a longer text is tried as one letter repeated
_DEEPEST = 100  # levels; of deeper JSON in a text only what is outermost is cut


class Stopped(Exception):  # noqa: N818 - it is no error
    """No more can be found out: the smallest value so far has to do."""


def shrunk(
    value: Any, first: Callable[[list[Any]], int | None], *, at_once: int = 1, most: int = 10_000
) -> Any:
    """Return a smaller value that is still as wanted; the value itself where none is found.

    Args:
        value: JSON that is as wanted.
        first: returns the index of the first of some values that is as wanted, None where none is; raises Stopped to end.
        at_once: how many values it is given at a time.
        most: how many it is given in all.
    """
    tried = {_written(value)}
    while True:
        candidates = _untried(value, tried)
        while some := list(islice(candidates, min(at_once, most))):
            most -= len(some)
            try:
                index = first(some)
            except Stopped:
                return value
            if index is not None:
                value = some[index]
                break
        else:
            return value


def _untried(value: Any, tried: set[str]) -> Iterator[Any]:
    size = _size(_written(value))
    for candidate in _smaller(value):
        written = _written(candidate)
        if written not in tried and _size(written) < size:
            tried.add(written)
            yield candidate


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _size(written: str) -> tuple[int, int, str]:
    """Order values by what a person has to read."""
    return len(written), len(set(written)), written


def _smaller(value: Any) -> Iterator[Any]:
    """Yield smaller values, the smallest first where that is easily told. The value has to be flat enough to recurse."""
    if isinstance(value, (dict, list)):
        yield from _cut(value)
        yield from _in_place(value)
    elif isinstance(value, str):
        yield from _texts(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from (0, 1)


def _cut(value: Any) -> Iterator[Any]:
    """Leave out some of the members or items, half of them first; then put one in the place of all."""
    names = list(value) if isinstance(value, dict) else list(range(len(value)))
    width = len(names)
    while width:
        for start in range(0, len(names), width):
            kept = [*names[:start], *names[start + width :]]
            yield (
                {name: value[name] for name in kept} if isinstance(value, dict) else [value[i] for i in kept]
            )
        width //= 2
    yield from (value[name] for name in names)


def _in_place(value: Any) -> Iterator[Any]:
    for name in list(value) if isinstance(value, dict) else range(len(value)):
        for smaller in (None, *_smaller(value[name])):
            changed = value.copy()
            changed[name] = smaller
            yield changed
    if isinstance(value, dict):
        for name in value:
            yield {"a" if each == name else each: member for each, member in value.items()}


def _texts(text: str) -> Iterator[str]:
    parsed = parse(text) if len(text) > 2 and text.lstrip()[:1] in ("{", "[", '"') else None
    if parsed is not None and parsed.ok:
        for smaller in (_cut if _is_deep(text) else _smaller)(parsed.value):
            yield json.dumps(smaller, separators=(",", ":"))
        yield json.dumps(parsed.value, separators=(",", ":"))
    for width in _widths(len(text)):
        step = 1 if len(text) <= _SHORT else max(width // 2, 1)
        for start in range(0, len(text) - width + 1, step):
            yield text[:start] + text[start + width :]
    if len(text) > _LONG:
        yield "x" * len(text)


def _widths(length: int) -> Iterator[int]:
    """Yield how many characters are left out of a text at once, most first; of a short one every number is tried."""
    if length <= _SHORT:
        yield from range(length, 0, -1)
        return
    width = length
    while width and width >= length // _FINEST:
        yield width
        width //= 2


def _is_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > _DEEPEST
