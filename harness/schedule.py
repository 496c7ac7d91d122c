"""Which planned call may go next: some wait for another to be accepted, some take a value from an earlier answer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from . import jsontext
from .calls import NotCalled, PlannedCall, Purpose
from .session import LONGEST_ID

MOST_UNHEARD = 2  # calls of a tool at a time, before one has come to a good end


class Schedule:
    """Hands out calls in plan order as soon as what they wait for is there.

    A call that takes a value waits for every call of the tool that gives it, so that which answer it is taken from
    does not hang on timing. Calls that wait for each other go when nothing else can, with what is there by then.
    """

    def __init__(self, calls: tuple[PlannedCall, ...]) -> None:
        """Make a schedule of a plan."""
        self._waiting = list(calls)
        self._running: set[str] = set()
        self._heard: set[str] = set()  # tools that may be called any number of times at once
        self._accepted: dict[str, bool] = {}
        # What calls take out of the payload of a tool, and what stood there: the payload itself may be large.
        self._wanted = {(take.tool, take.value) for call in calls for take in call.takes}
        self._found: dict[tuple[str, str], str | int | None] = {}
        self._givers: dict[str, list[str]] = {}
        for call in calls:
            if call.purpose in (Purpose.GOOD, Purpose.CONFIGURED):
                self._givers.setdefault(call.tool, []).append(call.subject)
        self._changed = anyio.Event()
        self._closed = False
        self.not_called: list[NotCalled] = []
        self.made: list[PlannedCall] = []

    async def next(self) -> PlannedCall | None:
        """Return the next call, its taken values filled in; None when nothing is left to do, or it is closed."""
        while not self._closed:
            call = self._ready() or (None if self._running else self._ready(at_last=True))
            if call is not None:
                self._running.add(call.subject)
                self.made.append(call)
                return call
            if not self._running:
                self._give_up()
                return None
            await self._changed.wait()
        return None

    def finished(
        self, call: PlannedCall, *, accepted: bool, payload: Mapping[str, Any] | None, heard: bool = True
    ) -> None:
        """Note what became of a call.

        Args:
            accepted: whether calls that hang on it are made.
            payload: the AdCP data of a success.
            heard: whether it shows that the tool may be called any number of times at once.
        """
        self._running.discard(call.subject)
        if heard:
            self._heard.add(call.tool)
        self._accepted[call.subject] = accepted
        for tool, value in self._wanted:
            if tool == call.tool and payload is not None:
                self._found[call.subject, value] = _at(payload, value)
        self._wake()

    def give_up_on(self, tool: str, why: str) -> None:
        """Make no more calls of a tool."""
        for call in [call for call in self._waiting if call.tool == tool]:
            self._waiting.remove(call)
            self._accepted[call.subject] = False  # what hangs on it is not made either
            self.not_called.append(NotCalled(call.subject, why, blocked=call.purpose is Purpose.CONFIGURED))
        self._wake()

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True
        self._wake()

    @property
    def most(self) -> int:
        """How many calls there may be in all; falls as chains of bad requests come to their ends."""
        return len(self.made) + len(self._waiting)

    def unmade(self) -> list[PlannedCall]:
        """Return the calls that are still waiting, but for bad ones whose turn depends on another answer."""
        return [call for call in self._waiting if self._turn(call)]

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _give_up(self) -> None:
        """Say of what is still waiting that its turn never comes: a chain that leads back to itself."""
        self.not_called += [
            NotCalled(call.subject, f"waits for {call.after}, which waits for it") for call in self._waiting
        ]
        self._waiting.clear()

    def _ready(self, *, at_last: bool = False) -> PlannedCall | None:
        """Take the first call out whose time has come, and those before it that nothing is left to wait for."""
        left = -1
        while left != len(self._waiting):  # what falls out decides about others
            left = len(self._waiting)
            for call in list(self._waiting):
                turn = self._turn(call)
                if turn is None or (turn and not at_last and self._has_to_wait(call)):
                    continue
                self._waiting.remove(call)
                if not turn:
                    self._accepted[call.subject] = False  # the chain ends before it
                elif (filled := self._filled(call)) is not None:
                    return filled
        return None

    def _turn(self, call: PlannedCall) -> bool | None:
        """Tell whether a call is to be made; None where another answer decides that.

        The request before it in a chain decides: where that was accepted, or cannot be made, it is this one's turn.
        Where it was refused, that is what both are made for.
        """
        before = call.after
        if call.baseline is not None and self._is_coming(call.baseline):
            return None
        if before is None or before in self._accepted:
            return before is None or self._accepted[before]
        return None if self._is_coming(before) else True

    def _has_to_wait(self, call: PlannedCall) -> bool:
        # A tool that hangs, or floods, does so to two callers, and not to all that there are.
        asked = sum(subject.partition("/")[0] == call.tool for subject in self._running)
        if call.tool not in self._heard and asked >= MOST_UNHEARD:
            return True
        givers = (giver for take in call.takes for giver in self._givers.get(take.tool, ()))
        return any(giver != call.subject and self._is_coming(giver) for giver in givers)

    def _is_coming(self, subject: str) -> bool:
        return subject in self._running or any(call.subject == subject for call in self._waiting)

    def _filled(self, call: PlannedCall) -> PlannedCall | None:
        arguments = copy.deepcopy(dict(call.arguments))
        for take in call.takes:
            givers = self._givers.get(take.tool, ())
            found = (self._found.get((giver, take.value)) for giver in givers)
            value = next((item for item in found if item is not None), None)
            if value is None:
                why = f"{take.tool} gave no {take.value.rpartition('/')[2]} to ask for"
                self.not_called.append(NotCalled(call.subject, why))
                return None
            _set(arguments, take.argument, value)
        return replace(call, arguments=arguments) if call.takes else call


def _at(payload: Mapping[str, Any], pointer: str) -> str | int | None:
    """Return what stands at a place of an answer, where it is fit to be sent back: a short text or an integer."""
    try:
        value = jsontext.resolve(payload, pointer)
    except LookupError:
        return None
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID:
        return value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _set(arguments: dict[str, Any], pointer: str, value: Any) -> None:
    *path, last = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    place: Any = arguments
    for token in path:
        place = place[int(token)] if isinstance(place, list) else place[token]
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
