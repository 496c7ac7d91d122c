"""Reads tools/list, page by page, as far as the guards allow; and once more after the calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .conversation import Conversation, Said
from .evidence import LIST_AGAIN_SUBJECT
from .recorder import Phase, Place, Recorder
from .transcript import Era, Kind
from .wire import Lane

MAX_PAGES = 200
MAX_TOOLS = 10_000
_PAGES_AGAIN = 20  # pages that are read a second time
_BYTES_AGAIN = 1 << 20  # of a longer list only what was read by then


class Listing:
    """The tools of one server, as a survey reads them."""

    def __init__(self, talk: Conversation, recorder: Recorder) -> None:
        """Prepare to read; nothing is sent yet."""
        self._talk = talk
        self._recorder = recorder
        self._pages = 0  # where the list came to an end
        self.failed: Said | None = None  # the answer to the first page, where that is no list

    async def read(self, lane: Lane) -> list[Mapping[str, Any]]:
        """Return the tools that have a name: what has none cannot be called, and the rules look at it in the transcript."""
        tools: list[Mapping[str, Any]] = []
        cursors: set[str] = set()
        cursor: str | None = None
        for page in range(MAX_PAGES):
            subject = "tools/list" if page == 0 else f"tools/list/page-{page + 1}"
            said = await self._ask(lane, (Phase.LIST, page), cursor, Kind.LIST, subject)
            result = said.reading.result
            listed = result.get("tools") if result is not None else None
            if result is None or not isinstance(listed, list):
                self.failed = said if page == 0 else None
                break
            tools.extend(t for t in listed if isinstance(t, Mapping) and isinstance(t.get("name"), str))
            following = result.get("nextCursor")
            ended = self._ends(following)
            self._pages = page + 1 if ended else 0
            if ended or not isinstance(following, str) or following in cursors:
                break
            if len(tools) >= MAX_TOOLS or self._recorder.stopped:
                break
            cursors.add(following)
            cursor = following
        return tools[:MAX_TOOLS]

    async def read_again(self, lane: Lane) -> None:
        """Read a list that came to an end a second time, to see whether the calls changed it."""
        cursor, size = None, 0
        for page in range(self._pages if self._pages <= _PAGES_AGAIN else 0):
            if self._recorder.stopped or size > _BYTES_AGAIN:
                return
            subject = LIST_AGAIN_SUBJECT if page == 0 else f"{LIST_AGAIN_SUBJECT}/page-{page + 1}"
            said = await self._ask(lane, (Phase.PROBES, 1 + page), cursor, Kind.PROBE, subject)
            size += said.exchange.response.received if said.exchange.response else 0
            following = (said.reading.result or {}).get("nextCursor")
            if self._ends(following) or not isinstance(following, str) or following == cursor:
                return
            cursor = following

    def _ends(self, following: object) -> bool:
        # An empty cursor ends the list before 2026-07-28 and is a cursor like any other from then on.
        return following is None or (following == "" and self._talk.session.era is Era.HANDSHAKE)

    async def _ask(self, lane: Lane, place: Place, cursor: str | None, kind: Kind, subject: str) -> Said:
        params = {} if cursor is None else {"cursor": cursor}
        return await self._talk.ask(
            lane,
            place,
            lambda session, number: session.request(number, "tools/list", params),
            kind=kind,
            subject=subject,
        )
