"""Politeness: how long the server asks to be left alone, and the pace at which requests go out."""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import anyio

from . import jsontext
from .extraction import extract_error
from .transcript import Exchange

TRIES = 3
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
    backoff = float(2 ** (exchange.attempt - 1))
    if response.status == 429 or (response.status == 503 and header is not None):
        return _header_delay(header, backoff)
    delay = _message_delay(message, backoff)
    if delay is None:
        return None
    return max(delay, _header_delay(header, 0.0))


def _header_delay(header: str | None, otherwise: float) -> float:
    """Read Retry-After: seconds or an HTTP date (RFC 9110, 10.2.3)."""
    if header is None:
        return otherwise
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return otherwise
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _message_delay(message: Mapping[str, Any] | None, otherwise: float) -> float | None:
    if message is None:
        return None
    result = message.get("result")
    found = extract_error(result if isinstance(result, Mapping) else message)
    error = message.get("error")
    reserved = isinstance(error, Mapping) and jsontext.equal(error.get("code"), RATE_LIMITED)
    if found.error is None:
        return otherwise if reserved else None
    if not reserved and found.error.get("code") != "RATE_LIMITED":
        return None
    delay = found.error.get("retry_after")
    plain = isinstance(delay, int | float) and not isinstance(delay, bool) and delay >= 0
    return float(delay) if plain else otherwise  # type: ignore[arg-type]


class Pace:
    """The gate that every request passes: at most `rate` a second, and none while the server wants quiet."""

    def __init__(self, rate: float | None) -> None:
        """Make a gate; a rate of None does not space requests."""
        self._gap = 1.0 / rate if rate else 0.0
        self._next = 0.0

    def hold(self, seconds: float) -> None:
        """Let nothing pass for some seconds."""
        self._next = max(self._next, anyio.current_time() + seconds)

    async def turn(self) -> None:
        """Wait for this request's turn."""
        now = anyio.current_time()
        start = max(now, self._next)
        if self._gap:
            self._next = start + self._gap
        if start > now:
            await anyio.sleep(start - now)
