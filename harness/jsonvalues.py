"""What JavaScript makes of a JSON value: lengths, truthiness, strings, equality; and JSON pointers into it.

Nothing here recurses, so values of any depth are fine.
"""

from __future__ import annotations

import math
import re
from json.encoder import encode_basestring
from typing import Any

EXACT_INTEGER = 2**53  # up to here a double holds every integer
_HALF = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_INDEX = re.compile("0|[1-9][0-9]*")


def utf16_length(text: str) -> int:
    """Return String.length: UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def lone_surrogates(text: str) -> int:
    """Count the surrogate halves of a string that have no other half beside them."""
    try:
        text.encode()  # far quicker than looking for halves
    except UnicodeEncodeError:
        return sum(1 for _ in _HALF.finditer(text))
    return 0


def number_string(number: float) -> str:
    """Return String(number) as ECMAScript writes it."""
    try:
        value = float(number)
    except OverflowError:
        value = math.inf if number > 0 else -math.inf
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    exact = value.is_integer() and abs(value) <= EXACT_INTEGER
    return str(int(value)) if exact else _decimal(value)


def _decimal(value: float) -> str:
    """Write a finite number other than 0 with the shortest digits that read back as the same double."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = (
        len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    )  # stands after this many digits
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return "-" + text if value < 0 else text


def stringify_length(value: Any) -> int:
    """Return JSON.stringify(value).length: UTF-16 code units, no spaces, lone surrogates escaped."""
    units = 0
    strings: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            strings.append(item)
        elif isinstance(item, dict):
            units += 2 * len(item) + 1 if item else 2  # braces, colons, commas
            strings.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            units += len(item) + 1 if item else 2
            stack.extend(item)
        elif item is None or item is True:
            units += 4
        elif item is False:
            units += 5
        else:
            text = number_string(item)
            units += len(text) if text[-1].isdigit() else 4  # null
    # One call of the C encoder for all strings; the spaces between them keep halves from meeting.
    joined = " ".join(strings)
    quoted = utf16_length(encode_basestring(joined)) - 2 - max(len(strings) - 1, 0)
    return units + 2 * len(strings) + quoted + 5 * lone_surrogates(joined)


def truthy(value: Any) -> bool:
    """Return Boolean(value): empty arrays and objects are true, 0 and the empty string are not."""
    return isinstance(value, (dict, list)) or (bool(value) and value == value)


def to_string(value: Any) -> str:
    """Return String(value), which is what JSON.parse reads when it is given something else than a string.

    Raises:
        TypeError: as in JavaScript, for an object whose own `toString` hides the inherited one.
    """
    leaves: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list) and item:
            # Nested arrays join with the same comma as their parents, and null elements are empty.
            stack.extend("" if element is None else element for element in reversed(item))
        elif isinstance(item, list):
            leaves.append("")
        elif isinstance(item, dict):
            if "toString" in item:
                raise TypeError("an object whose toString is no function has no string")
            leaves.append("[object Object]")
        elif isinstance(item, str):
            leaves.append(item)
        elif item is None or isinstance(item, bool):
            leaves.append("null" if item is None else "true" if item else "false")
        else:
            leaves.append(number_string(item))
    return ",".join(leaves)


def pointer(*tokens: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a path of member names and indexes."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def resolve(value: Any, path: str) -> Any:
    """Return what a JSON pointer points at.

    Raises:
        ValueError: the pointer is neither empty nor begins with a slash.
        LookupError: there is nothing at that place.
    """
    if path and not path.startswith("/"):
        raise ValueError(f"not a JSON pointer: {path!r}")
    for escaped in path.split("/")[1:]:
        token = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif (
            isinstance(value, list)
            and len(token) < 20
            and _INDEX.fullmatch(token)
            and int(token) < len(value)
        ):
            value = value[int(token)]
        else:
            raise LookupError(f"nothing at {path!r}")
    return value


def equal(first: Any, second: Any) -> bool:
    """Compare two JSON values: 1 equals 1.0 but not true, and the order of members does not matter."""
    stack = [(first, second)]
    while stack:
        one, other = stack.pop()
        if isinstance(one, dict):
            if not isinstance(other, dict) or one.keys() != other.keys():
                return False
            stack.extend((member, other[name]) for name, member in one.items())
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif one != other:
            return False
    return True
