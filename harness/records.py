"""Dataclasses as JSON records and back: every member of a record that is read is checked against its type.

A record is an object with exactly the members of its dataclass. Known are str, int, float, bool, bytes, enums of str, other
dataclasses, unions of one of these with None, tuples (as arrays) and mappings (as objects, their values unchecked).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

# JSON escapes C0 controls by itself; these are DEL, C1 and the marks of direction. They stand in strings only.
_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_READABLE = 1024 * 1024  # bytes


class RecordError(ValueError):
    """A JSON value that is not the record it should be; the text says which member is wrong."""


def dumps(record: Mapping[str, Any]) -> bytes:
    r"""Return a record as JSON on one line, which ends at the only b"\n" in it.

    Controls that act on a terminal, or turn text around, are escaped wherever they stand. Bytes are UTF-8
    text where they are UTF-8 (and ASCII, where they are over 1 MiB), else base64. Lone surrogates are kept
    as they are.
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=_packed)
    harmless = _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return harmless.encode("utf-8", "surrogatepass") + b"\n"


def loads(line: bytes) -> dict[str, Any]:
    """Read a line that `dumps` wrote.

    Raises:
        RecordError: it is no JSON object, or nested so deeply that nothing here can have written it.
    """
    try:
        record = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RecordError("not JSON; the file is cut short or something else") from None
    if not isinstance(record, dict):
        raise RecordError("not a JSON object")
    return record


def build(kind: type[T], value: Any, member: str = "") -> T:
    """Return the dataclass that a record holds; `member` is its name in messages.

    Raises:
        RecordError: a member is missing, unknown, or not of its type.
    """
    if not isinstance(value, dict):
        raise RecordError(f"{member or 'the record'} is not an object")
    hints = _members(kind)  # type: ignore[arg-type]  # every class is hashable
    odd = [f"no {name}" for name in hints if name not in value]
    odd += [f"{name[:40]!r}, which is unknown" for name in value if name not in hints]
    if odd:
        raise RecordError(f"{member or 'the record'} has {odd[0]}")
    within = f"{member}." if member else ""
    return kind(**{name: _read(hints[name], item, within + name) for name, item in value.items()})


@cache
def _members(kind: type[Any]) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _read(hint: Any, value: Any, member: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        (hint,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _read(hint, value, member)
    if origin is tuple:
        return _read_tuple(arguments, value, member)
    if dataclasses.is_dataclass(hint):
        return build(hint, value, member)  # type: ignore[arg-type]
    if hint is bytes:
        return _unpacked(value, member)
    if hint is float:
        return _number(value, member)
    kind = dict if origin is Mapping else hint
    listed = origin is None and issubclass(hint, StrEnum)
    if type(value) is not (str if listed else kind):
        raise RecordError(f"{member} is not {_WORDS[str if listed else kind]}")
    if listed and value not in list(hint):
        raise RecordError(f"{member} is {value[:40]!r}, which is none of its values")
    return hint(value) if listed else value


_WORDS = {dict: "an object", str: "a string", int: "an integer", bool: "true or false"}


def _read_tuple(arguments: tuple[Any, ...], value: Any, member: str) -> tuple[Any, ...]:
    endless = arguments[-1] is Ellipsis
    if not isinstance(value, list) or not (endless or len(value) == len(arguments)):
        raise RecordError(f"{member} is not an array{'' if endless else f' of {len(arguments)}'}")
    hints = [arguments[0]] * len(value) if endless else arguments
    pairs = enumerate(zip(hints, value, strict=True))
    return tuple(_read(hint, item, f"{member}[{index}]") for index, (hint, item) in pairs)


def _number(value: Any, member: str) -> float:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RecordError(f"{member} is not a finite number")
    return number


def _packed(value: Any) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"a record cannot hold a {type(value).__name__}")
    try:
        # Nobody reads a long one, and as text it may take four times as much memory.
        if len(value) <= _LONGEST_READABLE or value.isascii():
            return {"encoding": "utf-8", "text": value.decode("utf-8")}
    except UnicodeDecodeError:
        pass
    return {"encoding": "base64", "text": base64.b64encode(value).decode("ascii")}


def _unpacked(value: Any, member: str) -> bytes:
    packed = build(_Packed, value, member)
    try:
        if packed.encoding == "base64":
            return base64.b64decode(packed.text, validate=True)
        if packed.encoding == "utf-8":
            return packed.text.encode("utf-8")
    except ValueError:
        pass
    raise RecordError(f"{member} is neither UTF-8 text nor base64")


@dataclasses.dataclass(frozen=True, slots=True)
class _Packed:
    """Bytes as a record holds them."""

    encoding: str
    text: str


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
