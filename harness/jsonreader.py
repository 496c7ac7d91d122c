"""A JSON reader for what the C decoder cannot do: any depth, and the reason why a text is no JSON.

Strings, numbers and literals are read by the C decoder itself, so both accept the same texts.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from enum import StrEnum
from typing import Any, NoReturn

from .jsonvalues import EXACT_INTEGER, equal

MOST_LEVELS = 250_000  # a bound on the time and memory that a text of brackets alone can cost
MOST_VALUES = 500_000  # the same for values; an AdCP answer at the client limit of 4 MiB has some 300,000
_MOST_NOTES = 1_000  # far more than are ever told of
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"-?[A-Za-z_$][\w$]*")
_NUMBER_REST = re.compile(r"[0-9.eE+-]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Cause(StrEnum):
    """Why JSON.parse refuses a text."""

    EMPTY = "empty"
    BOM = "byte-order-mark"
    CODE_FENCE = "code-fence"
    PROSE = "prose"
    SINGLE_QUOTES = "single-quotes"
    NON_FINITE = "non-finite-number"
    FOREIGN_LITERAL = "foreign-literal"
    NUMBER = "malformed-number"
    UNQUOTED_NAME = "unquoted-name"
    TRAILING_COMMA = "trailing-comma"
    COMMENT = "comment"
    CONTROL_CHARACTER = "control-character"
    ESCAPE = "invalid-escape"
    TRAILING_DATA = "trailing-data"
    TRUNCATED = "truncated"
    TOO_DEEP = "too-deep"
    TOO_MANY = "too-many-values"
    SYNTAX = "syntax"


UNREAD = frozenset({Cause.TOO_DEEP, Cause.TOO_MANY})  # limits of this reader: they say nothing against a text


_MESSAGES = {
    Cause.EMPTY: "the text is empty",
    Cause.BOM: "the text begins with a byte order mark (U+FEFF), which JSON.parse refuses",
    Cause.CODE_FENCE: "the text is wrapped in a Markdown code fence",
    Cause.PROSE: "the text is prose, not JSON",
    Cause.SINGLE_QUOTES: "single quotes where JSON wants double ones",
    Cause.NON_FINITE: "NaN and Infinity are not JSON; JSON.parse refuses them",
    Cause.FOREIGN_LITERAL: "a literal of another language where JSON has true, false and null",
    Cause.NUMBER: "a number that is not written as JSON writes it",
    Cause.UNQUOTED_NAME: "a member name without double quotes",
    Cause.TRAILING_COMMA: "a comma with nothing after it",
    Cause.COMMENT: "JSON has no comments",
    Cause.CONTROL_CHARACTER: "a raw control character inside a string; it must be escaped",
    Cause.ESCAPE: "an escape sequence that JSON does not have",
    Cause.TRAILING_DATA: "more text after the end of the JSON value",
    Cause.TRUNCATED: "the text ends in the middle of the JSON value",
    Cause.TOO_DEEP: f"more than {MOST_LEVELS:,} levels deep: not read, although JSON.parse might",
    Cause.TOO_MANY: f"more than {MOST_VALUES:,} JSON values: not read, although JSON.parse might; "
    "page the answer (honour pagination.max_results, and choose a smaller default page)",
    Cause.SYNTAX: "a JSON syntax error",
}
_FOREIGN = {"None", "True", "False", "undefined", "nil", "NULL", "TRUE", "FALSE"}
_NON_FINITE = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"}


class NotJSONError(ValueError):
    """A text that JSON.parse refuses: the cause, and the offset in characters where it shows."""

    def __init__(self, cause: Cause, offset: int) -> None:
        super().__init__(_MESSAGES[cause])
        self.cause = cause
        self.offset = offset


class Notes:
    """Decoder hooks that read numbers as doubles and remember what a strict reader objects to.

    Both tables are keyed by id() and hold the object itself, so that the key stays its own.
    """

    def __init__(self) -> None:
        self.duplicates: dict[
            int, tuple[dict[str, Any], dict[str, bool]]
        ] = {}  # name: whether the values differ
        self.large: dict[int, tuple[float, str]] = {}  # the digits that were sent
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self.members,
            parse_int=self._integer,
            parse_float=self._real,
            parse_constant=_refuse,
        )

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object of its name-value pairs: of equal names the last one counts."""
        members = dict(pairs)
        if len(members) != len(pairs):
            count = Counter(name for name, _ in pairs)
            differs = {name: False for name in members if count[name] > 1}
            for name, value in pairs:
                if name in differs and not differs[name]:
                    differs[name] = not equal(value, members[name])
            if len(self.duplicates) < _MOST_NOTES:
                self.duplicates[id(members)] = members, differs
        return members

    def _integer(self, digits: str) -> float:
        if len(digits) < 16:  # always exact
            return int(digits) or (-0.0 if digits[0] == "-" else 0)
        if len(digits) <= 17 and abs(exact := int(digits)) <= EXACT_INTEGER:
            return exact
        return self._note_large(float(digits), digits)

    def _real(self, digits: str) -> float:
        value = float(digits)
        return self._note_large(value, digits) if math.isinf(value) else value

    def _note_large(self, value: float, digits: str) -> float:
        if len(self.large) < _MOST_NOTES:
            self.large[id(value)] = value, digits
        return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def read(text: str, notes: Notes) -> Any:
    """Read a JSON text of any depth up to MOST_LEVELS.

    Raises:
        NotJSONError: JSON.parse refuses it, or it is deeper.
    """
    opened: list[
        tuple[list[Any], str | None]
    ] = []  # items of each open container; a name is waiting for its value
    at = _skip(text, 0)
    while True:
        if len(opened) > MOST_LEVELS:
            raise NotJSONError(Cause.TOO_DEEP, at)
        char = text[at : at + 1]
        if char == "[":
            at = _skip(text, at + 1)
            if text[at : at + 1] != "]":
                opened.append(([], None))
                continue
            value: Any = []
            at += 1
        elif char == "{":
            at = _skip(text, at + 1)
            if text[at : at + 1] != "}":
                name, at = _name(text, at, notes)
                opened.append(([], name))
                continue
            value = {}
            at += 1
        else:
            value, at = _scalar(text, at, notes, nested=bool(opened))
        at = _skip(text, at)
        while opened:
            items, waiting = opened.pop()
            items.append(value if waiting is None else (waiting, value))
            char = text[at : at + 1]
            if char == ",":
                at = _skip(text, at + 1)
                if waiting is not None:
                    waiting, at = _name(text, at, notes)
                opened.append((items, waiting))
                break
            if char != ("]" if waiting is None else "}"):
                _fail(text, at, Cause.SYNTAX)
            value = items if waiting is None else notes.members(items)
            at = _skip(text, at + 1)
        else:
            break
    if at < len(text):
        _fail(text, at, Cause.TRAILING_DATA if isinstance(value, (dict, list)) else Cause.PROSE)
    return value


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] > " ":  # as nearly always
        return at
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _name(text: str, at: int, notes: Notes) -> tuple[str, int]:
    """Read a member name and its colon; return where its value begins."""
    if text[at : at + 1] != '"':
        _fail(text, at, Cause.UNQUOTED_NAME if _WORD.match(text, at) else _mark(text, at))
    name, at = _scalar(text, at, notes, nested=True)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        _fail(text, at, Cause.SYNTAX)
    return name, _skip(text, at + 1)


def _scalar(text: str, at: int, notes: Notes, *, nested: bool) -> tuple[Any, int]:
    try:
        value, end = notes.decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if text[at : at + 1] != '"':
            _fail(text, at, _word(text, at, nested=nested))
        if error.msg.startswith("Unterminated"):
            _fail(text, len(text), Cause.TRUNCATED)
        control = error.msg.startswith("Invalid control")
        _fail(text, error.pos, Cause.CONTROL_CHARACTER if control else Cause.ESCAPE)
    except ValueError:
        _fail(text, at, Cause.NON_FINITE)
    if isinstance(value, str):
        # A raw half beside an escaped one: in JavaScript they are one character.
        return (value if value.isascii() or not _PAIR.search(value) else _joined(value)), end
    if value is not None and not isinstance(value, bool) and _NUMBER_REST.match(text, end):
        _fail(text, end, Cause.NUMBER)
    return value, end


def _joined(value: str) -> str:
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


# -- why it is no JSON --------------------------------------------------------------------------------------


def _fail(text: str, at: int, cause: Cause) -> NoReturn:
    if not text.strip(" \t\n\r"):
        raise NotJSONError(Cause.EMPTY, 0)
    raise NotJSONError(cause if at < len(text) else Cause.TRUNCATED, at)


def _word(text: str, at: int, *, nested: bool) -> Cause:
    """Say what stands where a value should, by its first word."""
    match = _WORD.match(text, at)
    word = match.group() if match else ""
    if word in _NON_FINITE:
        return Cause.NON_FINITE
    if word in _FOREIGN and (nested or not text[at + len(word) :].strip()):
        return Cause.FOREIGN_LITERAL
    if not nested and (word or text[at : at + 1].isalpha() or text.startswith("# ", at)):
        return Cause.PROSE
    return _mark(text, at)


def _mark(text: str, at: int) -> Cause:
    """Say what stands where a value or a name should, by its first character."""
    if at == 0 and text.startswith("\ufeff"):
        return Cause.BOM
    if text.startswith("```", at):
        return Cause.CODE_FENCE
    if text.startswith(("//", "/*", "#"), at):
        return Cause.COMMENT
    if text.startswith(("]", "}"), at) and text[:at].rstrip(" \t\n\r").endswith(","):
        return Cause.TRAILING_COMMA
    if text.startswith("'", at):
        return Cause.SINGLE_QUOTES
    return Cause.NUMBER if text.startswith(("-", "+", "."), at) else Cause.SYNTAX
