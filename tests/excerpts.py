"""A few lines of an HTTP exchange: what matters of it, around a place, and nothing that another run would have otherwise."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from pytest_adcp.harness.jsontext import equal, parse, pointer
from pytest_adcp.harness.text import quote, safe
from pytest_adcp.harness.transcript import End, Exchange, Request, Transcript
from pytest_adcp.harness.urls import is_loopback

LINES = 15  # of a body
WIDTH = 150
_SHORT = 90  # characters of a value beside the place
_LONG = 280  # of the value at the place
_DEEP = 3  # levels that are shown from the outside

Path = tuple[str, ...]
_ENDS = {
    End.DEADLINE: "no end came within the time limit",
    End.RESET: "the connection was lost",
    End.PROTOCOL: "this is not HTTP/1.1",
    End.EVENTS: "the event stream never came to the response",
    End.TOO_LARGE: "the answer is larger than what is read",
    End.INTERRUPTED: "still open when the reader had heard enough",
    End.ENCODING: "the content coding cannot be undone",
}


# -- JSON ---------------------------------------------------------------------------------------------------------


def path_of(pointer: str) -> Path:
    """Split a JSON pointer."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def outline(value: Any, paths: Collection[Path], lines: int = LINES) -> list[str]:
    """Return a JSON value on a few lines: whole at the places, short beside the way to them; `…` was left out.

    Of places that lie deep only the object or array around them is shown, below a line that says where it stands.
    """
    common = _common(list(paths))
    start = common[:-1] if len(common) > _DEEP else ()
    inner, start = nearest(value, start)
    if not start:
        return _fitted(value, set(paths), lines)
    shown = _fitted(inner, {path[len(start) :] for path in paths}, lines - 1)
    return [f"… at {pointer(*start)}:", *shown]


def _common(paths: list[Path]) -> Path:
    """Return how paths begin, all of them."""
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    return tuple(parts[0] for parts in same)


def nearest(value: Any, path: Path) -> tuple[Any, Path]:
    """Follow a path as far as it leads; return what is there, and where."""
    for depth, part in enumerate(path):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return value, path[:depth]
    return value, path


def _fitted(value: Any, paths: set[Path], lines: int) -> list[str]:
    for siblings, members in ((6, 8), (4, 8), (3, 6), (2, 6), (1, 4), (0, 4), (0, 1)):
        found = list(_outlined(value, paths, siblings, members, ""))
        if len(found) <= lines:
            return found
    tail = len(list(itertools.takewhile(lambda line: set(line) <= set(" }],…"), reversed(found))))
    closing = "".join(line.strip() for line in found[len(found) - tail :])
    kept = [*found[: len(found) - tail], closing]
    return (
        kept
        if len(kept) <= lines
        else [*kept[: lines - 2], f"… ({len(kept) - lines + 1} lines left out)", closing]
    )


def _outlined(value: Any, paths: set[Path], siblings: int, members: int, pad: str) -> Iterator[str]:
    heads = {path[0] for path in paths if path}
    if isinstance(value, Mapping) and heads & value.keys():
        items = [(f"{quote(str(name))}: ", str(name), item) for name, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list) and heads & {str(index) for index in range(len(value))}:
        items = [("", str(index), item) for index, item in enumerate(value)]
        brackets = "[]"
    else:
        yield from _whole(value, members, pad)
        return
    yield brackets[0]
    kept = _kept([name for _, name, _ in items], heads, siblings if brackets == "{}" else 0)
    left_out = 0
    for position, (label, name, item) in enumerate(items):
        if name not in kept:
            left_out += 1
            if position == len(items) - 1 or items[position + 1][1] in kept:
                yield f"{pad}  … ({left_out} left out)"
                left_out = 0
            continue
        comma = "," if position < len(items) - 1 else ""
        if name in heads:
            inner = {path[1:] for path in paths if path and path[0] == name}
            first, *rest = _outlined(item, inner, siblings, members, f"{pad}  ")
            shown = [f"{pad}  {label}{first}", *rest]
            yield from (*shown[:-1], f"{shown[-1]}{comma}")
        else:
            yield f"{pad}  {label}{quote(item, _SHORT)}{comma}"
    yield f"{pad}{brackets[1]}"


def _kept(names: Sequence[str], heads: set[str], siblings: int) -> set[str]:
    """Return the names on the way and the first of the others."""
    others = [name for name in names if name not in heads]
    return {*others[:siblings], *heads}


def _whole(value: Any, members: int, pad: str) -> Iterator[str]:
    """Yield the value at a place: on one line where it fits, else an object's or array's members on one each."""
    line = quote(value, _LONG)
    if members == 1 or len(line) <= _SHORT or not isinstance(value, (Mapping, list)):
        yield line
        return
    is_object = isinstance(value, Mapping)
    items = [(f"{quote(str(k))}: ", v) for k, v in value.items()] if is_object else [("", v) for v in value]
    yield "{" if is_object else "["
    for position, (label, item) in enumerate(items[:members]):
        comma = "," if position < len(items) - 1 else ""
        yield f"{pad}  {label}{quote(item, _SHORT)}{comma}"
    if len(items) > members:
        yield f"{pad}  … ({len(items) - members} more)"
    yield f"{pad}{'}' if is_object else ']'}"


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the innermost places at which two JSON values differ."""
    if type(one) is not type(other):
        yield path
    elif isinstance(one, Mapping):
        if one.keys() != other.keys() or list(one) != list(other):
            yield path
        for name in one.keys() & other.keys():
            yield from differences(one[name], other[name], (*path, str(name)))
    elif isinstance(one, list):
        if len(one) != len(other):
            yield path
        for index, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from differences(a, b, (*path, str(index)))
    elif not equal(one, other):
        yield path


# -- bytes --------------------------------------------------------------------------------------------------------


def raw(text: str, offset: int = 0) -> list[str]:
    """Return some lines of a body as they came, those around an offset."""
    if not text:
        return ["(no body)"]
    pieces = text.split("\n")
    starts = list(itertools.accumulate((len(piece) + 1 for piece in pieces), initial=0))
    hit = max(index for index in range(len(pieces)) if starts[index] <= offset)
    first = max(0, hit - LINES // 2)
    shown = []
    for index in range(first, min(len(pieces), first + LINES)):
        if index == len(pieces) - 1 and not pieces[index]:
            break  # the text ended with a line end
        shown.append(_window(pieces[index], offset - starts[index] if index == hit else 0))
    before = [f"… ({first} lines before)"] if first else []
    left = len(pieces) - first - LINES
    return [*before, *shown, *([f"… ({left} lines after)"] if left > 0 else [])]


def _window(line: str, place: int) -> str:
    if len(line) <= WIDTH:
        return safe(line, 2 * WIDTH)
    start = max(0, min(place - WIDTH // 3, len(line) - WIDTH))
    part = line[start : start + WIDTH]
    before = f"({start} before) …" if start else ""
    after = f"… ({len(line) - start - WIDTH} more)" if start + WIDTH < len(line) else ""
    return f"{before}{safe(part, 2 * WIDTH)}{after}"


def first_difference(one: str, other: str) -> int:
    """Return the place at which two texts begin to differ; their beginning where they are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return 0 if one == other else next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


# -- HTTP ---------------------------------------------------------------------------------------------------------

_USUAL = {
    "accept": "application/json, text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
_OF_THE_CONNECTION = {"content-length", "date", "connection", "keep-alive"}


def request_lines(request: Request) -> list[str]:
    """Return what was sent; headers that every request has are left out."""
    url = urlsplit(request.url)
    lines = [f"{request.method} {safe(url.path or '/')}{'?' + safe(url.query) if url.query else ''} HTTP/1.1"]
    for name, value in request.headers:
        usual = _USUAL.get(name.lower()) == value or name.lower() in _OF_THE_CONNECTION
        own_host = name.lower() == "host" and value == url.netloc
        client = name.lower() == "user-agent" and value.startswith(("pytest-adcp/", "python"))
        if not (usual or own_host or client):
            lines.append(safe(f"{name}: {value}"))
    if request.body:
        parsed = parse(request.body)
        known = parsed.ok and not parsed.objections and isinstance(parsed.value, Mapping)
        lines += [
            "",
            *(
                outline(parsed.value, _asked(parsed.value), 12)
                if known
                else raw(request.body.decode(errors="backslashreplace"))
            ),
        ]
    return lines


def _asked(message: Mapping[str, Any]) -> list[Path]:
    params = message.get("params")
    if isinstance(params, Mapping) and "arguments" in params:
        return [("params", "arguments")]
    return [("params",)]


def head_lines(exchange: Exchange, *, full: bool = False) -> list[str]:
    """Return the status line and the headers; those of the connection only where the whole head is asked for."""
    response = exchange.response
    if response is None:
        why = _ENDS.get(exchange.end, str(exchange.end))
        return [f"(no answer: {why}{safe('; ' + exchange.detail) if exchange.detail else ''})"]
    phrase = HTTPStatus(response.status).phrase if response.status in set(HTTPStatus) else ""
    lines = [f"(after a redirect to {safe(url)})" for url in exchange.redirects]
    lines.append(f"HTTP/1.1 {response.status} {phrase}".rstrip())
    for name, value in response.headers:
        if name.lower() != "date" and (full or name.lower() not in _OF_THE_CONNECTION):
            lines.append(safe(f"{name}: {value}", WIDTH))
    return lines


def end_lines(exchange: Exchange) -> list[str]:
    """Say how an answer ended that did not end as it should."""
    if exchange.response is None or exchange.end is End.COMPLETE:
        return []
    return [
        f"({_ENDS.get(exchange.end, str(exchange.end))}{safe('; ' + exchange.detail) if exchange.detail else ''})"
    ]


# -- what another run has otherwise -------------------------------------------------------------------------------

_THEN = datetime(2026, 1, 1, tzinfo=UTC)
_PAST, _FAR = timedelta(days=2), timedelta(days=1000)
_SLACK = timedelta(minutes=5)
_TIME = re.compile(r"(20\d\d-\d\d-\d\d)([T ])(\d\d:\d\d:\d\d)(\.\d+)?")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{16,40}(?![0-9A-Za-z])")
_REQUEST_ID = re.compile(r'(?:(?<=")adcp-|(?<=\bid": )|(?<=\bid":)|(?<=\bid\\": )|(?<=\bid\\":))(1\d{3})\b')
_SCHEMA_VERSION = re.compile(r"(?<=/schemas/3\.)(\d+)\.\d+(?=/)")
_NANOSECONDS = re.compile(r"\b1[6-9]\d{17}\b")


class Plain:
    """Makes the same of the same things of another run: addresses, ids, times. One for each example."""

    def __init__(self, transcript: Transcript) -> None:
        url = urlsplit(transcript.survey.url)
        self._names = {url.netloc: "seller.example"} if is_loopback(url.hostname or "") else {}
        self._now = datetime.fromisoformat(transcript.survey.started_at)
        self._today = self._now.replace(hour=0, minute=0, second=0, microsecond=0)
        self._ids: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        for exchange in transcript.exchanges:
            heads = (exchange.request.headers, exchange.response.headers if exchange.response else ())
            for name, value in itertools.chain(*heads):
                if name.lower() == "mcp-session-id" and len(value) == 32:
                    self._names.setdefault(value, "")

    def __call__(self, text: str) -> str:
        """Return a text without what is of one run."""
        for name, value in self._names.items():
            if name in text:
                self._names[name] = (
                    value
                    or f"session-{1 + sum(name.startswith('session-') for name in self._names.values())}"
                )
                text = text.replace(name, self._names[name])
        text = _TIME.sub(self._time, text)
        text = _UUID.sub(lambda found: self._id(found[0]), text)
        text = _HEX.sub(lambda found: self._id(found[0]), text)
        text = _SCHEMA_VERSION.sub(r"\1", text)
        text = _NANOSECONDS.sub("1767225600000000000", text)
        return _REQUEST_ID.sub(self._request, text)

    def lines(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Do it to lines."""
        return tuple(self(line) for line in lines)

    def _id(self, text: str) -> str:
        if text not in self._ids:
            number = f"{len(self._ids) + 1:x}"
            blank = re.sub("[0-9a-f]", "0", text)
            self._ids[text] = blank[: -len(number)] + number
        return self._ids[text]

    def _request(self, found: re.Match[str]) -> str:
        number = self._numbers.setdefault(found[1], len(self._numbers) + 1)
        return found[0].replace(found[1], str(number))

    def _time(self, found: re.Match[str]) -> str:
        """Move a time that was made from the clock; one that stands in the seller's code, or in the plan, stays."""
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[3]}").replace(tzinfo=UTC)
        except ValueError:
            return found[0]
        later = moment - self._now
        hours = round(later / timedelta(hours=1))
        if found[3] == "00:00:00":  # a day of the plan
            is_near, moved = timedelta() < later < _FAR, _THEN + (moment - self._today)
        else:
            is_near, moved = (
                -_PAST < later < _FAR and abs(later - timedelta(hours=hours)) < _SLACK,
                _THEN + timedelta(hours=hours),
            )
        part = "." + "0" * (len(found[4]) - 1) if found[4] else ""
        return moved.strftime(f"%Y-%m-%d{found[2]}%H:%M:%S") + part if is_near else found[0]
