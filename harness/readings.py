"""All exchanges of a transcript, read within the memory that a run may take.

What is left out is the same whoever reads the transcript: the run that recorded it, a later one, an xdist worker.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import replace

from .jsontext import MOST_VALUES, UNREAD, count_values
from .reading import Reading, read
from .transcript import End, Exchange, Kind

MOST_HELD = 96 * 1024 * 1024  # bytes that the values of all answers may take
_VALUE = 100  # bytes that a JSON value takes, about: 16 for a number of an array, 230 for an object
_COPIES = 2  # a string stands in the message, and again in what was read of a JSON text in it
_STEP = 1 << 16  # bytes that are decoded together
_BELOW_4 = bytes(range(0xF0))  # what remains begins a character that takes Python 4 bytes
_FULL = (
    "with what was answered before, it takes more memory than a run has for all answers; page the answers (honour "
    "pagination.max_results, and choose a smaller default page), or judge fewer tools at a time (--adcp-tool)"
)


def read_all(exchanges: Iterable[Exchange]) -> tuple[tuple[Exchange, ...], dict[int, Reading]]:
    """Read exchanges, in their order.

    Of an answer that is over a limit of ours the body is left out, and the exchange ends with TOO_LARGE and the reason:
    it is no answer to be judged, and nothing that follows is the server's fault.
    """
    kept: list[Exchange] = []
    readings: dict[int, Reading] = {}
    held = 0
    for exchange in exchanges:
        body = exchange.response.body if exchange.response is not None else b""
        if exchange.kind is Kind.VIEW:  # read one at a time, see views.py
            kept.append(exchange)
            readings[exchange.index] = read(replace(exchange, response=None))
            continue
        size = _size(body)
        # What has too many values is not built, and says so.
        fits = held + size <= MOST_HELD or count_values(body) > MOST_VALUES
        reading = read(exchange) if fits else None
        why = _FULL if reading is None else over_a_limit(reading)
        if why:
            exchange = _without_body(exchange, why)
            reading = read(exchange)
        else:
            held += size
        assert reading is not None
        kept.append(exchange)
        readings[exchange.index] = reading
    return tuple(kept), readings


def _size(body: bytes) -> int:
    """Return the bytes that reading a body takes, at most but for texts that are all escapes."""
    values = sum(map(body.count, (b",", b"[", b"{")))
    width = 1 if body.isascii() else 4 if body.translate(None, _BELOW_4) else 2
    if b"\\ud" in body or b"\\uD" in body:
        width = 4
    return _VALUE * values + _COPIES * width * _characters(body)


def _characters(body: bytes) -> int:
    """Count the characters of a text; as many as it has bytes where it is not UTF-8 and each may become one."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    parts = (body[start : start + _STEP] for start in range(0, len(body), _STEP))
    try:
        return sum(len(decoder.decode(part)) for part in parts)
    except UnicodeDecodeError:
        return len(body)


def over_a_limit(reading: Reading) -> str:
    """Say which limit of this reader a text is over, where none of the others is the response; empty where there is none."""
    if reading.response is not None:
        return ""
    return next((d.parsed.error for d in reading.documents if d.parsed.cause in UNREAD), "")


def _without_body(exchange: Exchange, why: str) -> Exchange:
    response = replace(exchange.response, body=b"") if exchange.response is not None else None
    exchange = replace(exchange, response=response)
    if exchange.end is not End.COMPLETE and exchange.answered is None:
        return exchange  # it was none before, and why is the better reason
    return replace(exchange, end=End.TOO_LARGE, detail=why, answered=None)
