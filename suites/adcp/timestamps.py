"""Every time of an answer says which moment it means, wherever it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_adcp.harness.links import Link, path_of
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.schema_formats import FORMATS
from pytest_adcp.harness.sources import SCHEMAS, SECURITY, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import plural, quote

from .failures import kind_of
from .roots import root

MAX_MEMBERS = 500_000  # members and items of one payload that are looked at
_NOT_ADCP = ("context", "ext")  # the buyer's own, and the seller's own
_LONGEST = 40
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?", re.ASCII)


@rule("adcp.envelope.timestamp", level=Level.MUST, source=adcp(SCHEMAS), since="3.1", advisory_since="3.0")
def timestamp_is_a_moment(answer: Answer) -> None:
    """The `timestamp` of an answer is a date-time by RFC 3339 with its offset, such as 2026-05-01T12:00:00Z.

    Write it in UTC with a Z (Python: datetime.now(UTC).isoformat(); JavaScript: toISOString()).
    """
    value = root(answer).get("timestamp")
    if value is None:
        raise NotApplicable("no timestamp came")
    if isinstance(value, str) and FORMATS["date-time"](value):
        return
    if isinstance(value, str) and _is_local(value):
        because = f"timestamp {quote(value)} has no offset from UTC, so every reader takes it for its own local time"
    elif isinstance(value, str):
        because = f"timestamp {quote(value, 60)} is no date-time by RFC 3339"
    else:
        because = f"timestamp is {kind_of(value)}, not a date-time in a string"
    raise Broken(
        "a date-time with an offset", quote(value), at=answer.in_payload("timestamp"), because=because
    )


@rule("adcp.envelope.time-offsets", level=Level.SHOULD, source=adcp(SECURITY))
def times_have_offsets(answer: Answer) -> None:
    """Every date-time in an answer (created_at, start_time ...) has an offset from UTC.

    Keep moments with their zone, and write the offset (Python: datetime.now(UTC), never datetime.utcnow()).
    """
    times = list(_times(root(answer)))
    if not times:
        raise NotApplicable("no time came")
    local = [(link, text) for link, text in times if _is_local(text)]
    if not local:
        return
    link, text = local[0]
    path = path_of(link)
    more = f" ({plural(len(local) - 1, 'more time')} like it)" if len(local) > 1 else ""
    raise Broken(
        "a date-time with an offset",
        quote(text),
        at=answer.in_payload(*path),
        because=f"{quote(str(path[-1]), 60)} is {quote(text)}, without an offset{more}; buyers elsewhere read another moment",
    )


def _is_local(text: str) -> bool:
    return len(text) <= _LONGEST and _LOCAL.fullmatch(text) is not None


def _says_time(name: str) -> bool:
    return name.endswith(("_at", "_time", "_updated")) or name in ("start", "end", "since", "until")


def _times(payload: Mapping[str, Any]) -> Iterator[tuple[Link, str]]:
    """Yield the strings that are times by the name of their member; iterative, since an answer may be deep."""
    stack: list[tuple[Link, Any]] = [(None, payload)]
    left = MAX_MEMBERS
    while stack and left > 0:
        link, item = stack.pop()
        left -= len(item)
        members: Iterable[tuple[str | int, Any]]
        members = item.items() if isinstance(item, dict) else enumerate(item)
        inner: list[tuple[Link, Any]] = []
        for name, value in members:
            if isinstance(value, (dict, list)):
                if name not in _NOT_ADCP:
                    inner.append(((link, name), value))
            elif isinstance(value, str) and isinstance(name, str) and _says_time(name):
                yield (link, name), value
        stack.extend(reversed(inner))
