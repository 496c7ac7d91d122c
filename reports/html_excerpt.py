"""The bytes around the place that a finding points at, cut out of the transcript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from pytest_adcp.harness.reading import END_WORDS, Reading, read
from pytest_adcp.harness.text import plural
from pytest_adcp.harness.transcript import End, Exchange, Transcript
from pytest_adcp.harness.verdict import Finding

_AROUND = 160  # bytes on either side of the place
_AT = 480  # bytes of the place itself
_MOST_LOOKED_THROUGH = 4 << 20  # bytes of JSON in which places are looked for, a transcript
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}:,]|[^\s"\[\]{}:,]++', re.DOTALL)
# A value as a finding quotes it, with words before it or none: of a long text the end is counted, `"abc…" (7 more)`.
_QUOTED = re.compile(r'(?:(?P<words>[^"\[{]*)[,:] )?(?P<json>["\[{].*)', re.DOTALL)
_LONGEST_QUOTED = 1000  # characters
_QUOTED_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+"?)(?P<more> \(\d+ more\))?|[\[\]{}:,]|[^\s"\[\]{}:,]++', re.DOTALL
)
_CONTINUATION = range(0x80, 0xC0)  # bytes inside a UTF-8 character


@dataclass(frozen=True, slots=True)
class Excerpt:
    r"""A piece of an answer. Bytes that are no UTF-8 stand as `\xff`.

    Attributes:
        where: what the piece was cut from.
        note: that the place itself is not there, and what is shown instead; else empty.
        before: what stands before the place.
        at: the place; empty where the finding names none, and `before` is then the beginning.
        after: what stands behind it.
        left: how many bytes before the piece and behind it are left out.
    """

    where: str
    note: str = ""
    before: str = ""
    at: str = ""
    after: str = ""
    left: tuple[int, int] = (0, 0)

    def unsaid(self, received: str) -> str:
        """Return what a finding says that it received, without JSON that can be read here as it came.

        Plain words stay, quoted or not: they are easier to read than the bytes. What is not here to the last sign
        stays too.
        """
        found = _QUOTED.fullmatch(received) if len(received) <= _LONGEST_QUOTED else None
        return (found["words"] or "") if found and self._shows(found["json"]) else received

    def _shows(self, quoted: str) -> bool:
        if quoted[0] == '"' and "\\" not in quoted:
            return False
        wanted = _tokens(quoted.removesuffix("…"), cut=quoted.endswith("…"))
        if len(wanted) == 1 and wanted[0].text and wanted[0].text in f"{self.before}{self.at}{self.after}":
            return True
        # Only from the place on, or from the beginning, it is certain where a token begins.
        there = _tokens(f"{self.at}{self.after}", cut=False)
        starts = range(len(there) - len(wanted) + 1)
        return any(all(map(_matches, wanted, there[start:])) for start in starts)


class Excerpts:
    """Cuts excerpts out of a transcript; the work over all of them is bounded."""

    def __init__(self, transcript: Transcript) -> None:
        self._exchanges = transcript.exchanges
        self._readings: dict[int, Reading] = {}
        self._left = _MOST_LOOKED_THROUGH

    def of(self, finding: Finding) -> Excerpt | None:
        """Return what came where a finding points; None where it points into no exchange of the transcript."""
        index = finding.exchange
        if index is None or index >= len(self._exchanges):
            return None
        exchange = self._exchanges[index]
        response = exchange.response
        if response is None:
            end = "nothing came back" if exchange.end is End.COMPLETE else END_WORDS[exchange.end]
            return Excerpt(f"{end}: {exchange.detail}" if exchange.detail else end)
        head = f"HTTP {response.status}, {response.media_type or 'no Content-Type'}"
        body, place = response.body, "the body"
        if finding.pointer is not None:
            document = self._reading(exchange).document
            if document is not None and len(document.text) <= self._left:
                self._left -= len(document.text)
                body, place = document.text, document.place
                first, last, missing = locate(body, finding.pointer)
                note = "nothing stands at the place itself; what should hold it is marked" if missing else ""
                return _cut(f"{head}, {_size(place, body)}", body, first, last, note)
        return _cut(f"{head}, {_size(place, body)}", body, 0, 0)

    def _reading(self, exchange: Exchange) -> Reading:
        if exchange.index not in self._readings:
            self._readings[exchange.index] = read(exchange)
        return self._readings[exchange.index]


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of JSON; of a string the text, of one that is cut its beginning."""

    text: str
    is_string: bool = False
    is_cut: bool = False


def _tokens(text: str, *, cut: bool) -> list[_Token]:
    """Return the tokens of JSON; `cut`: the last one goes on."""
    found = list(_QUOTED_TOKEN.finditer(text))
    tokens = []
    for match in found:
        is_cut = bool(match["more"]) or (cut and match is found[-1])
        if literal := match["string"]:
            tokens.append(
                _Token(_unquoted(literal.removesuffix('…"') if match["more"] else literal), True, is_cut)
            )
        else:
            tokens.append(_Token(match[0], is_cut=is_cut))
    return tokens


def _matches(wanted: _Token, there: _Token) -> bool:
    if wanted.is_string is not there.is_string:
        return False
    return there.text.startswith(wanted.text) if wanted.is_cut else there.text == wanted.text


def _unquoted(literal: str) -> str:
    """Return the text of a JSON string, or of the beginning of one; its own letters where it is none."""
    closed = literal if len(literal) > 1 and literal.endswith('"') else f'{literal}"'
    with suppress(ValueError):
        return str(json.loads(closed, strict=False))
    return literal[1:]


def _size(place: str, body: bytes) -> str:
    return f"{place} has {plural(len(body), 'byte')}" if body else f"{place} is empty"


def _cut(where: str, body: bytes, start: int, end: int, note: str = "") -> Excerpt:
    stop = min(end, start + _AT)
    first = max(0, start - _AROUND)
    last = min(len(body), stop + (_AROUND if end else _AT)) if stop == end else stop
    # No character is torn apart.
    first += _inside(body, first)
    stop += _inside(body, stop)
    last = max(stop, last + _inside(body, last))
    pieces = (body[first:start], body[start:stop], body[stop:last])
    before, at, after = (piece.decode("utf-8", "backslashreplace") for piece in pieces)
    return Excerpt(where, note, before, at, after, (first, len(body) - last))


def _inside(body: bytes, position: int) -> int:
    """Count the bytes from a position to the beginning of the next character."""
    return sum(1 for _ in takewhile(lambda byte: byte in _CONTINUATION, body[position : position + 3]))


def locate(text: bytes, path: str) -> tuple[int, int, bool]:
    """Find the place that a JSON pointer names in a valid JSON text.

    Returns:
        The offsets where the value begins and ends; where there is none, those of the innermost value that should
        hold it, and True.
    """
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:])
    root = next(_TOKEN.finditer(text), None)
    start = root.start() if root else 0
    end = _end(text, start)
    for token in tokens:
        found = None
        for name, first, last in _parts(text, start):
            if name == token:
                found = first, last  # of equal names the last one counts
        if found is None:
            return start, end, True
        start, end = found
    return start, end, False


def _parts(text: bytes, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the members or elements of a container: name or index, where the value begins, where it ends."""
    kind = text[start : start + 1]
    if kind not in (b"{", b"["):
        return
    position, index = start + 1, 0
    while match := _TOKEN.search(text, position):
        if match[0] in (b"}", b"]"):
            return
        if match[0] == b",":
            position = match.end()
            continue
        name = str(index)
        if kind == b"{":
            name = _name(match[0])
            colon = _TOKEN.search(text, match.end())
            match = _TOKEN.search(text, colon.end()) if colon else None
            if match is None:
                return
        position = _end(text, match.start())
        yield name, match.start(), position
        index += 1


def _name(token: bytes) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token.decode("utf-8", "backslashreplace")


def _end(text: bytes, start: int) -> int:
    depth = 0
    for match in _TOKEN.finditer(text, start):
        if match[0] in (b"{", b"["):
            depth += 1
        elif match[0] in (b"}", b"]"):
            depth -= 1
        if depth <= 0:
            return match.end()
    return len(text)
