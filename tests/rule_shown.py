"""Shows what a rule judged: an exchange that breaks it and its twin that keeps it, cut to where they differ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import excerpts
from excerpts import Plain
from pytest_adcp.harness.reading import Document
from pytest_adcp.harness.reference.examples import Example
from pytest_adcp.harness.rules import Judged, Rule
from pytest_adcp.harness.transcript import End, Exchange
from pytest_adcp.harness.verdict import Finding
from rule_recordings import Recorded

_COUNTS = re.compile(r"\((?:\d+ (?:more|before|left out)|\d+ lines \w+)\)")
_READ = 1 << 20  # bytes of a body that are looked at
_BYTES = {Judged.STREAM, Judged.LISTENING, Judged.CLOSING, Judged.SUBSCRIPTION}
_SHOWN_AS_BYTES = ("mcp.sse.",)


def exchanges_of(
    faulty: Recorded, bad: Finding, clean: Recorded, good: Finding
) -> tuple[Exchange | None, Exchange | None, str | None]:
    """Return the two exchanges that show two findings best, and the place to show of them."""
    sent, came = faulty.exchange(bad.exchange), clean.exchange(good.exchange)
    if bad.subject != good.subject or _differ(Side(faulty, sent), Side(clean, came), bad.pointer):
        return sent, came, bad.pointer
    if found := _elsewhere(faulty, clean, bad.pointer):
        return *found, bad.pointer
    if found := _elsewhere(faulty, clean, None):  # what the place is measured by is what differs
        return *found, None
    return sent, came, bad.pointer


def show(
    rule: Rule, faulty: Recorded, bad: Finding, clean: Recorded, good: Finding
) -> tuple[Example, Example]:
    """Return a finding and its twin as examples, cut to where they differ."""
    sent, came, pointer = exchanges_of(faulty, bad, clean, good)
    bodies = Bodies(rule, pointer, Side(faulty, sent), Side(clean, came))
    fails = _example(rule, faulty, bad, Side(faulty, sent), bodies.bad)
    passes = _example(rule, clean, good, Side(clean, came), bodies.good)
    return fails, replace(passes, request=() if passes.request == fails.request else passes.request)


def _elsewhere(faulty: Recorded, clean: Recorded, pointer: str | None) -> tuple[Exchange, Exchange] | None:
    """Return the exchange that a finding about several is about: the first that differs at its place."""
    twins = {(e.kind, e.subject, e.attempt): e for e in clean.transcript.exchanges}
    for exchange in faulty.transcript.exchanges:
        twin = twins.get((exchange.kind, exchange.subject, exchange.attempt))
        if twin is not None and _differ(Side(faulty, exchange), Side(clean, twin), pointer):
            return exchange, twin
    return None


def _differ(one: Side, other: Side, pointer: str | None) -> bool:
    """Whether two answers differ at a place, or anywhere where there is none."""
    if one.exchange is None or other.exchange is None:
        return False
    if not pointer:
        return one.text != other.text or one.head != other.head
    path = excerpts.path_of(pointer)
    found = [(excerpts.nearest(side.value, path), Plain(side.recorded.transcript)) for side in (one, other)]
    here, there = (plain(json.dumps(value)) if reached == path else None for (value, reached), plain in found)
    return here != there


def _example(rule: Rule, of: Recorded, finding: Finding, side: Side, response: Sequence[str]) -> Example:
    plain, exchange = Plain(of.transcript), side.exchange
    request = excerpts.request_lines(exchange.request) if exchange else []
    sent, came = plain.lines(request), plain.lines(response)
    return Example(
        fault=of.fault.name if of.fault else "",
        how=of.how,
        subject=plain(finding.subject),
        outcome=str(finding.outcome),
        message=plain(finding.message),
        expected=plain(finding.expected),
        received=plain(finding.received),
        pointer=finding.pointer,
        fix=plain(finding.fix) if finding.fix != rule.fix else "",
        request=sent,
        response=came,
        size=side.size,
    )


@dataclass(frozen=True)
class Side:
    """An answer of one of the two sellers."""

    recorded: Recorded
    exchange: Exchange | None

    @property
    def is_plain(self) -> bool:
        """Whether its value shows all of it: one JSON text that no reader objects to."""
        document = self._document
        whole = self.exchange is not None and self.exchange.end is End.COMPLETE
        return whole and document is not None and document.parsed.ok and not document.parsed.objections

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The status and the headers without what is of one run alone."""
        return (
            Plain(self.recorded.transcript).lines(excerpts.head_lines(self.exchange)) if self.exchange else ()
        )

    @property
    def size(self) -> int:
        """Characters of the body; bytes where it has more than are looked at."""
        response = self.exchange.response if self.exchange else None
        whole = response is None or len(response.body) <= _READ
        return len(self.text) if whole or response is None else len(response.body)

    @property
    def value(self) -> Any:
        """The JSON-RPC response, or the JSON value of another document."""
        document = self._document
        return document.parsed.value if document is not None else None

    @property
    def _document(self) -> Document | None:
        if self.exchange is None:
            return None
        reading = self.recorded.evidence.readings[self.exchange.index]
        return reading.document or (reading.documents[0] if len(reading.documents) == 1 else None)

    @cached_property
    def text(self) -> str:
        """The body without what is of one run alone."""
        response = self.exchange.response if self.exchange else None
        if response is None:
            return ""
        return Plain(self.recorded.transcript)(response.body[:_READ].decode("utf-8", "backslashreplace"))


def _uncounted(lines: Sequence[str]) -> list[str]:
    """Return lines without the numbers of what was left out: a difference that is only in these does not show."""
    return [_COUNTS.sub("", line) for line in lines]


class Bodies:
    """The two responses: as JSON around the place where that shows the difference, else as the bytes that came."""

    def __init__(self, rule: Rule, pointer: str | None, bad: Side, good: Side) -> None:
        self._pointer = pointer
        self._sides = (bad, good)
        as_bytes = rule.judged in _BYTES or rule.id.startswith(_SHOWN_AS_BYTES)
        ways: list[Callable[[], tuple[list[str], list[str]]]] = [self._as_bytes, self._with_heads]
        if not as_bytes and bad.is_plain:
            ways.insert(0, self._as_values)
        for way in ways:
            self.bad, self.good = way()
            if _uncounted(self.bad) != _uncounted(self.good):
                break
        else:
            self.good = ["(the same answer: what the rule is about does not show in its bytes)"]

    def _as_values(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        if self._pointer:
            paths = [excerpts.path_of(self._pointer)]
        else:
            near = excerpts.differences(bad.value, good.value) if good.is_plain else iter([("result",)])
            paths = sorted(path for path in near if path != ("id",))[:2] or [("result",)]
        return self._value(bad, paths), self._value(good, paths)

    def _value(self, side: Side, paths: Sequence[excerpts.Path]) -> list[str]:
        if side.exchange is None:
            return []
        if not side.is_plain:
            return self._raw(side, 0)
        return [*excerpts.head_lines(side.exchange), "", *excerpts.outline(side.value, paths)]

    def _as_bytes(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        offset = excerpts.first_difference(bad.text, good.text) if bad.text and good.text else 0
        return self._raw(bad, offset), self._raw(good, offset)

    def _with_heads(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        return self._raw(bad, 0, full=True), self._raw(good, 0, full=True)

    @staticmethod
    def _raw(side: Side, offset: int, *, full: bool = False) -> list[str]:
        if side.exchange is None:
            return []
        head = excerpts.head_lines(side.exchange, full=full)
        if side.exchange.response is None:
            return head
        return [*head, "", *excerpts.raw(side.text, offset), *excerpts.end_lines(side.exchange)]
