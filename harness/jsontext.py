"""JSON exactly as a client reads it that calls JSON.parse, with what a strict reader objects to beside the value.

`parse` never raises. Bytes are decoded as TextDecoder does it: a byte order mark is dropped, invalid UTF-8 becomes
U+FFFD. Numbers are doubles (integers up to 2**53 stay int), of duplicate names the last counts, any depth is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from .jsonreader import MOST_VALUES, UNREAD, Cause, Notes, NotJSONError, read
from .jsonvalues import (
    EXACT_INTEGER,
    equal,
    lone_surrogates,
    number_string,
    pointer,
    resolve,
    stringify_length,
    to_string,
    truthy,
    utf16_length,
)
from .links import Link, path_of

__all__ = [
    "DEEPEST",
    "EXACT_INTEGER",
    "MAX_OBJECTIONS",
    "MOST_VALUES",
    "UNREAD",
    "Cause",
    "Objection",
    "ObjectionKind",
    "Parsed",
    "count_values",
    "equal",
    "number_string",
    "parse",
    "pointer",
    "resolve",
    "stringify_length",
    "to_string",
    "truthy",
    "unread",
    "utf16_length",
]

MAX_OBJECTIONS = 20  # a hostile text could earn millions
DEEPEST = 200  # levels that the strictest of the common readers still takes
_BOM = b"\xef\xbb\xbf"
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_ESCAPE = re.compile(f"{_HIGH}(?!{_LOW})|{_LOW}(?<!{_HIGH}{_LOW})")
_BRACKETS = bytes.maketrans(b"[{]}", b"(())")
_NO_MARKS = bytes(set(range(256)) - set(b'[{]}"'))
_NO_BEGINNINGS = bytes(set(range(256)) - set(b'[{,"'))
_STEP = 1 << 16  # bytes that are looked at together
_LONGEST_POINTER = 1_000  # characters; of a longer one the rest is left out


class ObjectionKind(StrEnum):
    """What a strict reader objects to although JSON.parse takes it."""

    BOM = "byte-order-mark"
    INVALID_UTF8 = "invalid-utf-8"
    DUPLICATE_NAME = "duplicate-name"
    LONE_SURROGATE = "lone-surrogate"
    LARGE_NUMBER = "large-number"
    DEEP = "deep"


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that a strict reader objects to, and where.

    Attributes:
        kind: what it is.
        pointer: JSON pointer of the value, or of the member where it is about a name; empty for the whole text.
        detail: the same in words; holds no text of the sender but digits.
        differs: for a duplicate name, whether its values differ, so that readers may disagree.
    """

    kind: ObjectionKind
    pointer: str
    detail: str
    differs: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """What JSON.parse makes of a text.

    Attributes:
        value: the value; None where the text is refused (and for the text `null`).
        ok: whether JSON.parse accepts it.
        cause: why not; None where it does.
        error: the cause in words with line and column (in characters), empty where there is none.
        objections: at most MAX_OBJECTIONS things that a strict reader objects to.
    """

    value: Any = field(repr=False)
    ok: bool
    error: str = ""
    cause: Cause | None = None
    objections: tuple[Objection, ...] = ()


def parse(source: str | bytes) -> Parsed:
    """Read a JSON text as JSON.parse does; never raises."""
    if count_values(source) > MOST_VALUES:
        return unread(Cause.TOO_MANY)
    text, objections = (source, ()) if isinstance(source, str) else _decode(source)
    notes = Notes()
    # A raw surrogate half may have to be joined with an escaped one, which the C decoder does not do.
    odd = not text.isascii() and _has_surrogates(text)
    try:
        value = read(text, notes) if odd else notes.decoder.decode(text)
    except (ValueError, RecursionError):
        notes, odd = Notes(), True
        try:
            value = read(text, notes)
        except NotJSONError as reason:
            line = text.count("\n", 0, reason.offset) + 1
            column = reason.offset - text.rfind("\n", 0, reason.offset)
            return Parsed(None, False, f"line {line} column {column}: {reason}", reason.cause, objections)
    if odd or notes.duplicates or notes.large or _may_hold_halves(text) or _is_deep(text):
        objections += tuple(islice(_objections(value, notes), MAX_OBJECTIONS - len(objections)))
    return Parsed(value, True, objections=objections)


def unread(cause: Cause) -> Parsed:
    """Return what stands for a text that is over a limit of this reader."""
    reason = NotJSONError(cause, 0)
    return Parsed(None, False, str(reason), cause)


def count_values(source: str | bytes) -> int:
    """Count the values of a JSON text, by its commas and brackets, without building any.

    Up to MOST_VALUES those in strings may be counted too, which is quicker; beyond, only what is none.
    """
    if isinstance(source, str):
        count = sum(map(source.count, ",[{"))
        return count if count <= MOST_VALUES else _outside_strings(source.encode("utf-8", "surrogatepass"))
    count = sum(map(source.count, (b",", b"[", b"{")))
    return count if count <= MOST_VALUES else _outside_strings(source)


def _outside_strings(source: bytes) -> int:
    if b"\\" in source:
        source = source.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = source.translate(None, _NO_BEGINNINGS)
    count, inside = 0, False
    for start in range(0, len(marks), _STEP):
        parts = marks[start : start + _STEP].split(b'"')
        count += sum(map(len, parts[inside::2]))
        inside ^= len(parts) % 2 == 0
    return count


def _decode(source: bytes) -> tuple[str, tuple[Objection, ...]]:
    objections: list[Objection] = []
    if source.startswith(_BOM):
        objections.append(Objection(ObjectionKind.BOM, "", "the text begins with a UTF-8 byte order mark"))
        source = source.removeprefix(_BOM)
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        text = source.decode(errors="replace")
        detail = (
            f"byte 0x{source[error.start]:02X} at offset {error.start} is not UTF-8; it is read as U+FFFD"
        )
        objections.append(Objection(ObjectionKind.INVALID_UTF8, "", detail))
    return text, tuple(objections)


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _may_hold_halves(text: str) -> bool:
    """Tell whether escapes of a text may stand for half a surrogate pair."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    # After an escaped backslash a u is only a letter: the pattern cannot tell, so look at the value itself.
    return "\\\\u" in text or _LONE_ESCAPE.search(text) is not None


def _is_deep(text: str) -> bool:
    """Tell whether containers of a valid JSON text stand in each other more than DEEPEST levels deep.

    Works on the brackets alone, because a walk over the value takes as long as half of the parse.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    marks = unescaped.encode("utf-8", "surrogatepass").translate(_BRACKETS, _NO_MARKS).replace(b'""', b"")
    marks = b"".join(marks.split(b'"')[::2])  # what stands outside of strings
    for _ in range(DEEPEST):
        if not marks:
            return False
        marks = marks.replace(b"()", b"")  # the innermost level
    return bool(marks)


def _objections(value: Any, notes: Notes) -> Iterator[Objection]:
    """Find everything that a strict reader objects to, in document order."""
    stack: list[tuple[Any, Link, int]] = [(value, None, 1)]
    while stack:
        item, link, depth = stack.pop()
        if type(item) is dict:
            yield from _names(item, link, notes)
            if depth == DEEPEST + 1:
                yield _deep(link)
            stack.extend([(member, (link, name), depth + 1) for name, member in item.items()][::-1])
        elif type(item) is list:
            if depth == DEEPEST + 1:
                yield _deep(link)
            stack.extend([(element, (link, index), depth + 1) for index, element in enumerate(item)][::-1])
        elif type(item) is str:
            if lone_surrogates(item):
                detail = "half of a surrogate pair stands alone; strict readers refuse the whole text"
                yield Objection(ObjectionKind.LONE_SURROGATE, _pointer(link), detail)
        elif id(item) in notes.large:
            digits = notes.large[id(item)][1]
            shown = digits if len(digits) <= 40 else f"{digits[:37]}..."
            detail = f"{shown} is read as {number_string(item)}"
            yield Objection(ObjectionKind.LARGE_NUMBER, _pointer(link), detail)


def _names(item: dict[str, Any], link: Link, notes: Notes) -> Iterator[Objection]:
    if id(item) in notes.duplicates:
        for name, differs in notes.duplicates[id(item)][1].items():
            detail = "the name stands more than once in its object, " + (
                "with different values: the last one counts" if differs else "with the same value"
            )
            yield Objection(ObjectionKind.DUPLICATE_NAME, _pointer((link, name)), detail, differs)
    for name in item:
        if lone_surrogates(name):
            detail = "half of a surrogate pair stands alone in a name; strict readers refuse the whole text"
            yield Objection(ObjectionKind.LONE_SURROGATE, _pointer((link, name)), detail)


def _deep(link: Link) -> Objection:
    return Objection(
        ObjectionKind.DEEP, _pointer(link), f"more than {DEEPEST} levels deep; many readers stop there"
    )


def _pointer(link: Link) -> str:
    tokens = (token[:_LONGEST_POINTER] if isinstance(token, str) else token for token in path_of(link))
    place = pointer(*islice(tokens, _LONGEST_POINTER))
    return place if len(place) <= _LONGEST_POINTER else f"{place[:_LONGEST_POINTER]}…"
