"""Politeness: how long the server asks to be left alone, and the pace at which requests go out."""

from __future__ import annotations

import email.utils
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import anyio

from . import jsontext
from .extraction import extract_error
from .reading import END_WORDS
from .transcript import End, Exchange

TRIES = 3
DEAR_CALLS = 2  # in a row, after which no more are made of a tool
RATE_LIMITED = -32029


def asked_delay(exchange: Exchange, message: Mapping[str, Any] | None) -> float | None:
    """Return the seconds that an answer asks to wait, or None where it is not a plea for patience.

    Such an answer is HTTP 429, HTTP 503 with Retry-After, the reserved JSON-RPC code, or an AdCP error RATE_LIMITED.
    Without a number it doubles from one second with each try.
    """
    response = exchange.response
    if response is None:
        return None
    header = response.header("retry-after")
    refused = response.status == 429 or (response.status == 503 and header is not None)
    plea = _plea(message)
    if not refused and plea is None:
        return None
    asked = [_in_header(header), _in_error(plea or {})]
    return max((delay for delay in asked if delay is not None), default=float(2 ** (exchange.attempt - 1)))


def _in_header(header: str | None) -> float | None:
    """Read Retry-After: seconds or an HTTP date (RFC 9110, 10.2.3)."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = email.utils.parsedate_to_datetime(text)
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _plea(message: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the AdCP error with which a JSON-RPC message asks for patience; empty where the reserved code stands alone."""
    if message is None:
        return None
    result = message.get("result")
    found = extract_error(result if isinstance(result, Mapping) else message).error or {}
    error = message.get("error")
    reserved = isinstance(error, Mapping) and jsontext.equal(error.get("code"), RATE_LIMITED)
    return found if reserved or found.get("code") == "RATE_LIMITED" else None


def _in_error(error: Mapping[str, Any]) -> float | None:
    delay: Any = error.get("retry_after")
    is_number = isinstance(delay, int | float) and not isinstance(delay, bool)
    return float(delay) if is_number and delay >= 0 else None


class Patience:
    """How much a survey bears of a tool that costs too much, before it goes on without that tool.

    Only calls count that take the whole time-out, or much of what a survey reads: others are no reason to ask less.
    """

    def __init__(self, most: int) -> None:
        """Begin without any experience; `most` is the bytes that are read of one answer."""
        self._much = most // 2
        self._dear: Counter[str] = Counter()

    def is_over(self, exchange: Exchange) -> str:
        """Note how a call ended, and say why no more are made of its tool; empty where there may be more."""
        tool = exchange.subject.partition("/")[0]
        why = self._cost(exchange)
        self._dear[tool] = self._dear[tool] + 1 if why else 0
        over = self._dear[tool] >= DEAR_CALLS
        return f"no more calls of {tool} were made after {DEAR_CALLS} in a row: {why}" if over else ""

    def is_tried(self, tool: str) -> bool:
        """Whether the last call of a tool cost too much."""
        return self._dear[tool] > 0

    def _cost(self, exchange: Exchange) -> str:
        if exchange.end in _DEAR and exchange.answered is None:
            return END_WORDS[exchange.end]
        large = exchange.response is not None and len(exchange.response.body) > self._much
        return f"more than {self._much} bytes came" if large else ""


_DEAR = frozenset({End.DEADLINE, End.TOO_LARGE, End.EVENTS})


class Pace:
    """The gate that every request passes: at most `rate` a second, and none while the server wants quiet."""

    def __init__(self, rate: float | None) -> None:
        """Make a gate; a rate of None does not space requests."""
        self._gap = 1.0 / rate if rate else 0.0
        self._next = 0.0

    def hold(self, seconds: float) -> None:
        """Let nothing pass for some seconds, also not what waits already."""
        self._next = max(self._next, anyio.current_time() + seconds)

    async def turn(self) -> None:
        """Wait for this request's turn."""
        while (wait := self._next - anyio.current_time()) > 0:
            await anyio.sleep(wait)
        self._next = anyio.current_time() + self._gap
