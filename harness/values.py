"""Values of options, as the command line and the environment spell them and as adcp.yaml types them.

Each function takes text or a value that the schema of adcp.yaml let through, and raises ValueError with a
reason that reads on after the option's name: "must be a whole number from 1 to 64, not 100".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from .text import quote

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1024, "mi": 1024**2, "gi": 1024**3}
_SMALLEST, _LARGEST = 1024, 1024**3
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def flag(value: str | bool) -> bool:
    """Return a yes or no."""
    if isinstance(value, bool):
        return value
    if value.lower() not in (*_YES, *_NO):
        raise ValueError(f"must be 1 or 0, not {quote(value, 40)}")
    return value.lower() in _YES


def whole(value: str | float, lowest: int, highest: int) -> int:
    """Return a whole number within bounds."""
    number = _number(value, r"[0-9]+")
    if number is None or not lowest <= number <= highest:
        raise ValueError(f"must be a whole number from {lowest} to {highest}, not {quote(value, 40)}")
    return int(number)


def seconds(value: str | float) -> float:
    """Return a time of up to a day; a trailing s is allowed."""
    number = _number(value, rf"({_NUMBER})s?")
    if number is None or not 0 < number <= 86400:
        raise ValueError(f"must be a number of seconds up to 86400, not {quote(value, 40)}")
    return number


def size(value: str | float) -> int:
    """Return a size in bytes: 16777216, 16MiB, 4MB."""
    match = re.fullmatch(rf"({_NUMBER}) ?([kmg]i?)?b?", str(value), re.IGNORECASE)
    number = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0
    if not _SMALLEST <= number <= _LARGEST:
        wanted = "a size of 1 KiB to 1 GiB, such as 16777216, 16MiB or 4MB"
        raise ValueError(f"must be {wanted}, not {quote(value, 40)}")
    return int(number)


def rate(value: str | float) -> float:
    """Return a number of requests per second: 5, 0.5/s."""
    number = _number(value, rf"({_NUMBER})(?:/s)?")
    if number is None or not 0 < number <= 10_000:
        raise ValueError(
            f"must be a number of requests per second, such as 5 or 0.5/s, not {quote(value, 40)}"
        )
    return number


def names(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return one or more names; text is split at commas."""
    texts = [value] if isinstance(value, str) else value
    found = [name.strip() for text in texts for name in text.split(",")]
    if not all(found):
        raise ValueError("must be a name, or several with commas between them")
    return tuple(dict.fromkeys(found))


def choice(value: Any, choices: Sequence[str], what: str) -> str:
    """Return one of the choices."""
    if str(value) not in choices:
        near = get_close_matches(str(value)[:100], choices, 1)
        hint = f"; did you mean {quote(near[0])}?" if near else ""
        raise ValueError(f"unknown {what} {quote(value, 60)}{hint} (known: {', '.join(choices)})")
    return str(value)


def mapping(value: str | dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object."""
    if isinstance(value, dict):
        return value
    try:
        parsed = json.loads(value)
        json.dumps(parsed, allow_nan=False, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError):
        raise ValueError("is not JSON that can be sent: NaN, an odd surrogate or too much nesting") from None
    if not isinstance(parsed, dict):
        raise ValueError('must be a JSON object, such as {"account_id": "..."}')
    return parsed


def pairs(value: str | Sequence[str] | dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return NAME=VARIABLE pairs."""
    if isinstance(value, dict):
        return tuple(value.items())
    split = [text.partition("=") for text in names(value)]
    if not all(name.strip() and equals and variable.strip() for name, equals, variable in split):
        raise ValueError("must be NAME=VARIABLE: a header and the environment variable that holds its value")
    return tuple((name.strip(), variable.strip()) for name, _, variable in split)


def _number(value: str | float, pattern: str) -> float | None:
    if isinstance(value, str):
        match = re.fullmatch(pattern, value) if len(value) <= 40 else None
        value = float(match[match.lastindex or 0]) if match else math.nan
    return None if isinstance(value, bool) or not math.isfinite(value) else value
