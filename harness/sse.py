"""Event streams (text/event-stream) as WHATWG reads them, from raw bytes.

Lines end at LF, CRLF or CR and nowhere else (U+2028 and U+0085 are data), one BOM at the start is dropped, an
event counts once a blank line ends it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_RETRY_DIGITS = 15  # more would be an hour count no client keeps, and int() is not linear in its digits


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event; `id` and `retry` (milliseconds) are what its own block said."""

    data: str
    event: str = "message"
    id: str | None = None
    retry: int | None = None
    valid_utf8: bool = True  # False: broken bytes became U+FFFD


@dataclass(frozen=True, slots=True)
class Stream:
    """A whole event stream, decoded."""

    events: tuple[Event, ...]
    bom: bool  # legal, and yet SDKs lose the first event over it
    unfinished: bytes | None  # data of an event that no blank line ended: every client loses it
    comments: int
    ignored: int  # lines whose field name means nothing, such as the rest of JSON that was broken into lines


class Decoder:
    """An event stream that arrives in pieces. Time and memory are linear in the bytes fed."""

    def __init__(self) -> None:
        self.bom = False
        self.comments = 0
        self.ignored = 0
        self._start: bytes | None = b""  # the first bytes, while they may become a BOM
        self._line = bytearray()  # the line that has no end yet
        self._after_cr = False  # an LF that comes next belongs to the line end before it
        self._data: list[bytes] = []
        self._event = b""
        self._id: bytes | None = None
        self._retry: int | None = None

    @property
    def unfinished(self) -> bytes | None:
        """The data of the event that is still open; None where none is."""
        name, _, value = self._line.partition(b":")
        lines = [*self._data, bytes(value).removeprefix(b" ")] if name == b"data" else self._data
        return b"\n".join(lines) if lines else None

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes of the stream and return the events that they end."""
        if self._start is not None:
            self._start += chunk
            if len(self._start) < len(_BOM) and _BOM.startswith(self._start):
                return []
            self.bom = self._start.startswith(_BOM)
            chunk, self._start = self._start.removeprefix(_BOM), None
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        first, *lines = _LINE_END.split(chunk)
        self._line += first
        if not lines:
            return []
        self._after_cr = chunk.endswith(b"\r")
        rest = lines.pop()
        events = []
        for line in (bytes(self._line), *lines):
            if line:
                self._take(line)
            elif (event := self._dispatch()) is not None:
                events.append(event)
        self._line = bytearray(rest)
        return events

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"":
                self.comments += 1
            case b"data":
                self._data.append(value)
            case b"event":
                self._event = value
            case b"id":
                if b"\0" not in value:
                    self._id = value
            case b"retry":
                if value.isdigit() and len(value) <= _RETRY_DIGITS:
                    self._retry = int(value)
            case _:
                self.ignored += 1

    def _dispatch(self) -> Event | None:
        """End a block. One without a data line is no event, whatever else it says."""
        event = None
        if self._data:
            data, data_valid = _text(b"\n".join(self._data))
            name, name_valid = _text(self._event)
            id_, id_valid = _text(self._id or b"")
            event = Event(
                data=data,
                event=name or "message",
                id=None if self._id is None else id_,
                retry=self._retry,
                valid_utf8=data_valid and name_valid and id_valid,
            )
        self._data, self._event, self._id, self._retry = [], b"", None, None
        return event


def decode(body: bytes) -> Stream:
    """Decode a whole event stream."""
    decoder = Decoder()
    events = tuple(decoder.feed(body))
    return Stream(events, decoder.bom, decoder.unfinished, decoder.comments, decoder.ignored)


def _text(data: bytes) -> tuple[str, bool]:
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False
