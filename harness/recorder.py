"""Records exchanges as they happen: redacted, in plan order, and counted against what a survey may cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

from .reading import END_WORDS
from .redact import Redactor
from .transcript import End, Era, Exchange, Kind, Limits
from .wire import Sent

SAME_FAILURES = 5  # equal failures in a row, of more than one tool, end the survey where calls had passed
BUDGET_ANSWERS = 4  # bytes of a whole survey, counted in answers of the largest size
# Where only smaller answers are read, not fewer of them are.
SMALLEST_BUDGET = BUDGET_ANSWERS * Limits().max_response_bytes
# Of views, which are large by nature and come before the calls: enough to see that they are over what a platform takes.
VIEWS_BUDGET = 112 * 1024 * 1024
VIEWS_OVER = f"the answers with views are over {VIEWS_BUDGET} bytes together, which is all that one survey keeps of them"


class Phase(IntEnum):
    """The parts of a transcript, in order."""

    HANDSHAKE = 0
    INITIALIZED = 1
    LIST = 2
    CALLS = 3
    POLLS = 4
    PAGES = 5
    PROBES = 6
    REFUSALS = 7
    METADATA = 8
    HTTP = 9
    REPLIES = 10
    DELETE = 11
    NEIGHBOURS = 12
    INTEROP = 13


# Where an exchange stands in a transcript; the tries at one place follow each other in time.
Place = tuple[Phase, int]


class Recorder:
    """The exchanges of one survey."""

    def __init__(self, limits: Limits, redactor: Redactor, trace: Callable[[Exchange], None]) -> None:
        """Make an empty record; `trace` is told of every exchange as it ends."""
        self._limits = limits
        self._trace = trace
        self._exchanges: list[Exchange] = []  # as they ended
        self._places: list[Place] = []
        self._received = self._of_views = 0
        self._budget = max(SMALLEST_BUDGET, BUDGET_ANSWERS * limits.max_response_bytes)
        self._failures: list[str] = []
        self._failed: set[str] = set()  # tools and methods, of those in a row
        self._call_passed = False
        self._epoch = time.monotonic()
        self.redactor = redactor
        self.stopped = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the survey began."""
        return time.monotonic() - self._epoch

    @property
    def room(self) -> int:
        """Bytes of answers that there is still room for."""
        return max(self._budget - self._received, 0)

    def stop(self, reason: str) -> None:
        """Note why the survey ends early; the first reason is the root cause."""
        self.stopped = self.stopped or reason

    def add(
        self,
        place: Place,
        sent: Sent,
        *,
        kind: Kind,
        subject: str,
        started: float,
        era: Era | None = None,
        attempt: int = 1,
        repeats: Exchange | None = None,
        made_up: frozenset[str] = frozenset(),
    ) -> Exchange:
        """Record one exchange.

        Args:
            repeats: the one before it, which is then not the outcome.
            made_up: credentials that open nothing; they are recorded as they were sent.
        """
        request = replace(
            sent.request,
            url=self.redactor.text(sent.request.url),
            headers=self.redactor.headers(sent.request.headers, made_up),
            body=self.redactor.data(sent.request.body),
        )
        response, end, detail = sent.response, sent.end, sent.detail
        if response is not None:
            if why := self._spend(kind, max(response.received, len(response.body))):
                response = replace(response, body=b"")
                if end is End.COMPLETE:
                    end, detail = End.TOO_LARGE, why
            response = replace(
                response,
                headers=self.redactor.headers(response.headers),
                body=self.redactor.data(response.body),
            )
        exchange = Exchange(
            index=len(self._exchanges),
            subject=subject,
            kind=kind,
            request=request,
            response=response,
            end=end,
            detail=self.redactor.text(detail),
            era=era,
            attempt=attempt,
            redirects=tuple(self.redactor.text(url) for url in sent.redirects),
            started=round(started, 6),
            seconds=round(sent.seconds, 6),
            first_byte=_rounded(sent.first_byte),
            answered=_rounded(sent.answered if end is sent.end else None),
        )
        self._exchanges.append(exchange)
        self._places.append(place)
        if repeats is not None:
            self._exchanges[repeats.index] = replace(repeats, retried=True)
        self._watch(exchange)
        self._trace(exchange)
        return exchange

    def exchanges(self) -> tuple[Exchange, ...]:
        """Return everything recorded, in plan order."""
        order = sorted(range(len(self._places)), key=lambda index: self._places[index])
        return tuple(replace(self._exchanges[old], index=new) for new, old in enumerate(order))

    def _spend(self, kind: Kind, size: int) -> str:
        """Count an answer; say why it is not kept, where it is one too many."""
        if kind is Kind.VIEW:
            self._of_views += size
            return VIEWS_OVER if self._of_views > VIEWS_BUDGET else ""
        self._received += size
        return self._over_budget() if self._received > self._budget else ""

    def _over_budget(self) -> str:
        return f"the server has sent more than {self._budget} bytes, which is all that one survey reads"

    def _watch(self, exchange: Exchange) -> None:
        if self._received > self._budget:
            self.stop(self._over_budget())
        # What is sent to be refused, and what may well not be there, says nothing of how the calls fare.
        if exchange.end is End.INTERRUPTED or exchange.kind in _BESIDE:
            return
        failure = _failure(exchange)
        if failure is None:
            self._failures.clear()
            self._failed.clear()
            self._call_passed = self._call_passed or exchange.kind is Kind.CALL
            return
        # Whoever waits for a server that is silent from the first call on waits long for nothing.
        if not self._call_passed and exchange.end is not End.DEADLINE:
            return
        if self._failures and self._failures[-1] != failure:
            self._failures.clear()
            self._failed.clear()
        self._failures.append(failure)
        self._failed.add(exchange.subject.partition("/")[0])
        # One tool that fails says nothing of the others.
        if len(self._failures) >= SAME_FAILURES and len(self._failed) > 1:
            before = "where calls had passed before" if self._call_passed else "and no call had passed before"
            self.stop(f"{SAME_FAILURES} exchanges in a row ended the same way, {before}: {failure}")


_BESIDE = frozenset(
    {Kind.STREAM, Kind.VARIANT, Kind.REFUSAL, Kind.METADATA, Kind.VIEW, Kind.HTTP, Kind.INTEROP}
)


def _failure(exchange: Exchange) -> str | None:
    if exchange.end is not End.COMPLETE:
        return END_WORDS[exchange.end]
    return "HTTP 401" if exchange.response is not None and exchange.response.status == 401 else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
