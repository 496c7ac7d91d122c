"""A client library that is asked over the extractor protocol."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_adcp.harness.own_process import environment_without
from pytest_adcp.harness.text import plural, quote

from . import messages
from .process import Ended, Process
from .records import Answer, Asks, Declared, NoAnswer, Question

STARTING = 120.0  # seconds until the handshake is answered; some libraries are imported in a quarter of that
ANSWERING = 10.0  # seconds of silence while a question waits
_WINDOW = 64  # questions that wait at once
_WINDOW_BYTES = 8 * 1024 * 1024  # of them, beyond the first
_MOST_DEATHS = 10
_WORDS = 200  # characters of the end of its stderr that are quoted
_SHOWN = 20  # complaints that are kept
# Bytes that a library may answer with: what it is given, escaped, with room beside. All answers are kept.
_PER_BYTE = 8
_PER_ANSWER = 64 * 1024
_SPARE = 4 * 1024 * 1024
# Seconds of waiting in all: a library may be slow once in a while, not each time.
_PATIENCE = 600.0
_PER_QUESTION = 0.1


class LibraryError(Exception):
    """A library that cannot be asked at all; one line that says why."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a library kept to the protocol beside its answers.

    Attributes:
        printed: lines on its stdout that belong to nobody, quoted; at most 20.
        lies: what it said that cannot be true, in words; at most 20.
    """

    printed: tuple[str, ...]
    lies: tuple[str, ...]


@dataclass(slots=True)
class _Sent:
    """A question and the line that asks it."""

    number: int
    line: bytes


class CommandLibrary:
    """A library behind a command.

    Questions are sent ahead; a library that dies or falls silent is started anew and asked again, one question at a
    time, until it is known which one it dies of.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        asks: Asks = Asks.RESPONSES,
        answering: float = ANSWERING,
        starting: float = STARTING,
        secrets: Collection[str] = (),
    ) -> None:
        """Start the command and shake hands; no variable that holds a secret is in its environment.

        Raises:
            LibraryError: it cannot be started, ends, is silent, or speaks another version.
        """
        self._command = command
        self._folder = folder
        self._environment = environment_without(secrets)
        self._asks = asks
        self._answering = answering
        self._starting = max(starting, answering)
        self._printed: list[str] = []
        self._lies: list[str] = []
        self._numbers = 0
        self._answered: set[int] = set()
        self._deaths = 0
        self._most_deaths = _MOST_DEATHS
        self._last_death = ""
        self._room = _SPARE
        self._patience = _PATIENCE
        self._heard = 0.0
        self._idle = ""  # a line that was no answer, since there was one
        self._process: Process | None = None
        self._declared = self._start()

    @property
    def declared(self) -> Declared:
        """What it says about itself."""
        return self._declared

    @property
    def behaviour(self) -> Behaviour:
        """What it did so far beside answering."""
        return Behaviour(tuple(self._printed), tuple(self._lies))

    def allow(self, deaths: int) -> None:
        """Let it die so many times more before it is given up."""
        self._most_deaths = self._deaths + deaths

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the answer to each question, in their order."""
        left = map(self._sent, questions)
        waiting: dict[int, _Sent] = {}
        suspects: deque[_Sent] = deque()  # what waited when it died: asked again one at a time
        order: deque[int] = deque()
        answers: dict[int, Answer] = {}
        while True:
            while order and order[0] in answers:
                yield answers.pop(order.popleft())
            for sent in self._next(waiting, suspects, left):
                if not order or sent.number > order[-1]:
                    order.append(sent.number)
                if self._is_alive():
                    self._send(sent, waiting)
                else:
                    answers[sent.number] = NoAnswer(self._gave_up(), asked=False)
            if not waiting:
                if not order:
                    return
                continue
            try:
                for number, answer in self._listen(waiting):
                    del waiting[number]
                    answers[number] = answer
            except Ended as end:
                if len(waiting) == 1:
                    answers[next(iter(waiting))] = NoAnswer(str(end))
                else:
                    suspects.extendleft(reversed(waiting.values()))
                waiting.clear()

    # -- questions ---------------------------------------------------------------------------------------------

    def _sent(self, question: Question) -> _Sent:
        self._numbers += 1
        return _Sent(self._numbers, messages.request(self._numbers, question))

    @staticmethod
    def _next(waiting: Mapping[int, _Sent], suspects: deque[_Sent], left: Iterator[_Sent]) -> Iterator[_Sent]:
        """Yield what can be sent now; the caller puts each into `waiting` before it asks for the next."""
        if suspects:
            if not waiting:
                yield suspects.popleft()
            return
        while not waiting or (
            len(waiting) < _WINDOW and sum(len(sent.line) for sent in waiting.values()) < _WINDOW_BYTES
        ):
            sent = next(left, None)
            if sent is None:
                return
            yield sent

    def _send(self, sent: _Sent, waiting: dict[int, _Sent]) -> None:
        assert self._process is not None
        if not waiting:
            self._heard, self._idle = time.monotonic(), ""  # it had nothing to say before
        waiting[sent.number] = sent
        self._room += _PER_BYTE * len(sent.line) + _PER_ANSWER
        self._patience += _PER_QUESTION
        self._process.send(sent.line)

    # -- answers -----------------------------------------------------------------------------------------------

    def _listen(self, waiting: Mapping[int, _Sent]) -> Iterator[tuple[int, Answer]]:
        """Yield the answers that come next.

        Raises:
            Ended: it died, or was silent for too long and was ended; the text says so.
        """
        assert self._process is not None
        before = time.monotonic()
        try:
            lines = self._process.receive(self._heard + self._answering - before)
        except Ended as end:
            raise self._buried(str(end)) from None
        self._patience -= time.monotonic() - before
        if self._patience < 0:
            self._most_deaths = 0  # it would be no quicker next time
            raise self._buried("it took too long for all of its answers together")
        for line in lines:
            self._room -= len(line)
            if self._room < 0:
                raise self._buried(
                    "it wrote far more than it was given to extract from, and was not read any further"
                )
            found = self._understood(line)
            if found is None:
                continue
            number = found.get("id")
            if isinstance(number, bool) or not isinstance(number, int) or number not in waiting:
                self._lied(number, found)
                continue
            self._answered.add(number)
            self._heard, self._idle = time.monotonic(), ""
            yield number, messages.answer(found)
        if time.monotonic() >= self._heard + self._answering:
            raise self._buried(self._silent(self._answering))

    def _silent(self, seconds: float) -> str:
        if self._idle:
            return f"it gave no answer for {seconds:g} s, but wrote {self._idle}"
        return f"it was silent for {seconds:g} s"

    def _understood(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        found = messages.read(line)
        if found is None and (not self._idle or len(self._printed) < _SHOWN):
            self._idle = quote(line[:1000].decode("utf-8", "replace"), 120)
            if len(self._printed) < _SHOWN:
                self._printed.append(self._idle)
        return found

    def _unasked(self, lines: Iterable[bytes]) -> None:
        """Note what came at one with the handshake: nothing has been asked yet."""
        for line in lines:
            if (found := self._understood(line)) is not None:
                self._lied(found.get("id"), found)

    def _lied(self, number: Any, message: Mapping[str, Any]) -> None:
        if self._idle and len(self._lies) >= _SHOWN:
            return
        self._idle = quote(dict(message), 120)
        if len(self._lies) >= _SHOWN:
            return
        if isinstance(number, int) and number in self._answered:
            self._lies.append(f"request {number} was answered again: {self._idle}")
        else:
            self._lies.append(f"nobody had asked for this: {self._idle}")

    # -- life and death ----------------------------------------------------------------------------------------

    def _is_alive(self) -> bool:
        if self._process is None and self._deaths < self._most_deaths:
            try:
                self._start()
            except LibraryError as error:
                self._most_deaths, self._last_death = self._deaths, str(error)
        return self._process is not None

    def _gave_up(self) -> str:
        return f"the library was given up after it had died {plural(self._deaths, 'time')}; at last: {self._last_death}"

    def _start(self) -> Declared:
        """Start the command and shake hands.

        Raises:
            LibraryError: that does not work.
        """
        try:
            self._process = Process(self._command, self._folder, self._environment)
        except OSError as error:
            raise LibraryError(f"cannot be started: {error.strerror or error}") from error
        self._process.send(messages.hello(self._asks))
        self._idle = ""
        until = time.monotonic() + self._starting
        try:
            while (now := time.monotonic()) < until:
                lines = iter(self._process.receive(until - now))
                for line in lines:
                    if (found := self._understood(line)) is not None:
                        said = messages.declared(found)
                        self._unasked(lines)
                        return said
        except Ended as end:
            raise LibraryError(f"does not shake hands: {self._buried(str(end))}") from None
        except messages.Refused as refused:
            self._buried("")
            raise LibraryError(f"cannot be asked: {refused}") from None
        raise LibraryError(f"does not shake hands: {self._buried(self._silent(self._starting))}")

    def _buried(self, why: str) -> Ended:
        """End the process and return what became of it, in words."""
        assert self._process is not None
        process, self._process = self._process, None
        code = process.end(0.0 if why else 2.0)
        if why and code is not None:
            why += f"; by then it had ended with {_ended(code)}, and what it started held its stdout open"
        elif not why:
            why = "it closed its stdout" if code is None else f"it ended with {_ended(code)}"
        words = process.last_words()
        self._deaths += 1
        words = " ".join(words.replace("^", "").split())[-_WORDS:]  # the end of a traceback is what tells
        self._last_death = f"{why}; its stderr ends with {quote(words, 2 * _WORDS)}" if words else why
        return Ended(self._last_death)


def _ended(code: int) -> str:
    with contextlib.suppress(ValueError):
        if code < 0:
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
