"""Which planned call may go next: some wait for another to be accepted, some take a value from an earlier answer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from . import jsontext
from .calls import NotCalled, PlannedCall, Purpose

_LONGEST_ID = 1024  # characters of a text that is taken from an answer


class Schedule:
    """Hands out calls in plan order as soon as what they wait for is there."""

    def __init__(self, calls: tuple[PlannedCall, ...]) -> None:
        """Make a schedule of a plan."""
        self._waiting = list(calls)
        self._running: set[str] = set()
        self._accepted: dict[str, bool] = {}
        self._payloads: dict[str, list[Mapping[str, Any]]] = {}
        self._pending_tools = [call.tool for call in calls if call.purpose is not Purpose.BAD]
        self._changed = anyio.Event()
        self.not_called: list[NotCalled] = []
        self.made: list[PlannedCall] = []

    async def next(self) -> PlannedCall | None:
        """Return the next call, its taken values filled in; None when nothing is left to do."""
        while True:
            call = self._ready()
            if call is not None:
                self._running.add(call.subject)
                self.made.append(call)
                return call
            if not self._running:
                return None
            await self._changed.wait()

    def finished(self, call: PlannedCall, *, accepted: bool, payload: Mapping[str, Any] | None) -> None:
        """Note what became of a call; `payload` is the AdCP data of a success."""
        self._running.discard(call.subject)
        self._accepted[call.subject] = accepted
        if call.purpose is not Purpose.BAD:
            self._pending_tools.remove(call.tool)
            if payload is not None:
                self._payloads.setdefault(call.tool, []).append(payload)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def unmade(self) -> list[PlannedCall]:
        """Return the calls that are still waiting, but for bad ones whose turn depends on another answer."""
        return [call for call in self._waiting if call.after is None]

    def _ready(self) -> PlannedCall | None:
        for call in list(self._waiting):
            if call.after is not None:
                if call.after not in self._accepted:
                    if self._is_coming(call.after):
                        continue
                    self._waiting.remove(call)
                    continue
                if not self._accepted[call.after]:
                    # The request before it was refused, which is what both are made for.
                    self._waiting.remove(call)
                    continue
            if any(take.tool in self._pending_tools for take in call.takes if take.tool != call.tool):
                continue
            self._waiting.remove(call)
            filled = self._filled(call)
            if filled is not None:
                return filled
        return None

    def _is_coming(self, subject: str) -> bool:
        return subject in self._running or any(call.subject == subject for call in self._waiting)

    def _filled(self, call: PlannedCall) -> PlannedCall | None:
        arguments = copy.deepcopy(dict(call.arguments))
        for take in call.takes:
            found = (_at(payload, take.value) for payload in self._payloads.get(take.tool, ()))
            value = next((item for item in found if item is not None), None)
            if value is None:
                why = f"{take.tool} gave no {take.value.rpartition('/')[2]} to ask for"
                self.not_called.append(NotCalled(call.subject, why))
                if call.purpose is not Purpose.BAD:
                    self._pending_tools.remove(call.tool)
                return None
            _set(arguments, take.argument, value)
        return replace(call, arguments=arguments) if call.takes else call


def _at(payload: Mapping[str, Any], pointer: str) -> str | int | None:
    """Return what stands at a place of an answer, where it is fit to be sent back: a short text or an integer."""
    try:
        value = jsontext.resolve(payload, pointer)
    except LookupError:
        return None
    if isinstance(value, str) and 0 < len(value) <= _LONGEST_ID:
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
