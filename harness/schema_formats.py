"""What JSON Schema leaves to validators, decided once for all of them: formats, and the regular expressions of ECMA-262.

jsonschema checks other formats than jsonschema-rs, some only where further packages happen to be installed. Both get
these instead, so that a verdict does not hang on either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from types import MappingProxyType

_DATE = r"\d{4}-\d\d-\d\d"
_DATE_TIME = re.compile(
    rf"({_DATE})[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
# RFC 3986 by its characters: what a part may hold differs between clients more than it matters.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")

_WHITE = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
# \S and . as sets; neither stands inside a set in AdCP's patterns, where \S could not be written so.
_ECMA = {r"\s": f"[{_WHITE}]", r"\S": f"[^{_WHITE}]", ".": r"[^\n\r\u2028\u2029]", "$": r"\Z"}
_PART = re.compile(r"\\.|.", re.DOTALL)


def _date(text: str) -> bool:
    if not re.fullmatch(_DATE, text, re.ASCII):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    """RFC 3339; a leap second is one, and the offset cannot be left out."""
    found = _DATE_TIME.fullmatch(text)
    return found is not None and _date(found[1])


def _anything(_: str) -> bool:
    return True


# Those that AdCP's schemas use, beside the further ones that an engine might check by itself.
FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "date": _date,
        "date-time": _date_time,
        "email": lambda text: _EMAIL.fullmatch(text) is not None,
        "hostname": lambda text: len(text) <= 253 and _HOSTNAME.fullmatch(text) is not None,
        "uri": lambda text: _URI.fullmatch(text) is not None,
    }
    | dict.fromkeys(
        (
            "idn-email",
            "idn-hostname",
            "ipv4",
            "ipv6",
            "iri",
            "iri-reference",
            "json-pointer",
            "regex",
            "relative-json-pointer",
            "time",
            "uri-reference",
            "uri-template",
            "uuid",
        ),
        _anything,
    )
)


@lru_cache(maxsize=1024)
def ecma_pattern(pattern: str) -> re.Pattern[str]:
    r"""Return an ECMA-262 pattern for Python's `re`: `$` is the end of the text, `\d` and `\w` are ASCII, `\s` is not.

    Raises:
        re.error: it is none that both know.
    """
    parts: list[str] = []
    in_set = False
    for match in _PART.finditer(pattern):
        part = match[0]
        if in_set:
            parts.append(_WHITE if part == r"\s" else part)
            in_set = part != "]"
        else:
            parts.append(_ECMA.get(part, part))
            in_set = part == "["
    return re.compile("".join(parts), re.ASCII)
