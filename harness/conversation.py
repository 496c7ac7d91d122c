"""One conversation with an MCP server: messages go out over lanes, politely, and every exchange is recorded."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc

from . import jsontext
from .patience import TRIES, Pace, asked_delay
from .reading import Reading, read
from .recorder import Place, Recorder
from .session import USER_AGENT, Outgoing, Session, speaks
from .sse import Event
from .target import Target
from .transcript import Era, Exchange, Kind, Limits
from .wire import Lane, Sent, send

MAX_SERVER_REQUESTS = 20  # requests of the server's that are answered in one survey
_LINGER = 0.1  # seconds that a stream is read on after the response

Compose = Callable[[Session, str | int], Outgoing]


@dataclass(frozen=True, slots=True)
class Said:
    """An exchange and what its bytes say."""

    exchange: Exchange
    reading: Reading


class Conversation:
    """Sends messages of one session and keeps it alive."""

    def __init__(
        self,
        target: Target,
        limits: Limits,
        recorder: Recorder,
        aside: Lane,
        group: anyio.abc.TaskGroup,
    ) -> None:
        """Make a conversation.

        Args:
            aside: the lane that answers the server's own requests, while another is busy reading them.
            group: where those answers run.
        """
        self._target = target
        self._limits = limits
        self._recorder = recorder
        self._aside = aside
        self._group = group
        self._pace = Pace(limits.rate)
        self._numbers = itertools.count(1)
        self._answered = 0
        self._renewing = anyio.Lock()
        self._renewals = 0
        self.credentials = target.credentials.headers()
        self.session = Session(Era.HANDSHAKE)

    def next_id(self) -> str | int:
        """Return a fresh request id: numbers and strings by turns, so that a server that mixes them up shows it."""
        number = next(self._numbers)
        return 1000 + number if number % 2 else f"adcp-{1000 + number}"

    async def ask(
        self,
        lane: Lane,
        place: Place,
        compose: Compose,
        *,
        kind: Kind,
        subject: str,
        session: Session | None = None,
    ) -> Said:
        """Send a request and return the last answer: at most three tries where the server asks for patience.

        A request whose session the server has forgotten (404) is sent once more in a new one.
        """
        phase, position, _ = place
        for attempt in range(1, TRIES + 1):
            at = (phase, position, attempt)
            speaking = session or self.session
            said = await self._post(
                lane, at, speaking, compose(speaking, self.next_id()), kind, subject, attempt
            )
            if session is None and self._forgotten(said, speaking) and await self._renew(lane, speaking):
                self._recorder.mark_retried(at)
                at = (phase, position, TRIES + 1)
                said = await self._post(
                    lane,
                    at,
                    self.session,
                    compose(self.session, self.next_id()),
                    kind,
                    subject,
                    attempt + 1,
                )
            delay = asked_delay(said.exchange, said.reading.response)
            left = self._limits.survey_timeout - self._recorder.elapsed
            if delay is None or attempt == TRIES or delay >= left or self._recorder.stopped:
                return said
            self._recorder.mark_retried(at)
            self._pace.hold(delay)
        raise AssertionError("unreachable: the last try returns")

    async def notify(self, lane: Lane, place: Place, session: Session) -> None:
        """Send notifications/initialized."""
        await self._post(
            lane, place, session, session.initialized(), Kind.INITIALIZED, "notifications/initialized", 1
        )

    async def close(self, lane: Lane, place: Place) -> None:
        """End the session, where there is one."""
        if self.session.session_id is None:
            return
        started = self._recorder.elapsed
        headers = (*self._base(), *self.session.closing())
        sent = await send(
            lane,
            "DELETE",
            self._target.url,
            headers,
            b"",
            deadline=min(5.0, self._limits.request_timeout),
            limits=self._limits,
            secret_headers=self._target.credentials.secret_header_names,
        )
        self._recorder.add(
            place, sent, kind=Kind.DELETE, subject="session/delete", era=self.session.era, started=started
        )

    def adopt(self, session: Session, said: Said) -> bool:
        """Take the session that an initialize result opens; False where there is no such result."""
        result = said.reading.result
        revision = speaks(result.get("protocolVersion")) if result is not None else None
        if revision is None:
            return False
        session.revision = revision
        response = said.exchange.response
        session.session_id = response.header("mcp-session-id") if response is not None else None
        self.session = session
        return True

    def _base(self) -> tuple[tuple[str, str], ...]:
        return (("User-Agent", USER_AGENT), *self.credentials)

    async def _post(
        self,
        lane: Lane,
        place: Place,
        session: Session,
        message: Outgoing,
        kind: Kind,
        subject: str,
        attempt: int,
    ) -> Said:
        await self._pace.turn()
        started = self._recorder.elapsed

        def record(sent: Sent) -> Exchange:
            return self._recorder.add(
                place, sent, kind=kind, subject=subject, era=session.era, started=started, attempt=attempt
            )

        sent = await send(
            lane,
            "POST",
            self._target.url,
            (*message.headers, *self._base()),
            message.body,
            deadline=self._limits.request_timeout,
            limits=self._limits,
            until=self._until(session),
            linger=_LINGER,
            secret_headers=self._target.credentials.secret_header_names,
            interrupted=record,
        )
        exchange = record(sent)
        return Said(exchange, read(exchange))

    def _until(self, session: Session) -> Callable[[Event], bool]:
        """Return what ends a stream: its response, whatever id that has. Requests of the server are answered aside."""

        def is_response(event: Event) -> bool:
            message = jsontext.parse(event.data).value if event.data else None
            if not isinstance(message, Mapping):
                return False
            if "method" in message and message.get("id") is not None and self._answered < MAX_SERVER_REQUESTS:
                self._answered += 1
                self._group.start_soon(self._answer, session, dict(message), self._answered)
            return "method" not in message and ("result" in message or "error" in message)

        return is_response

    async def _answer(self, session: Session, request: Mapping[str, Any], number: int) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "this client declared no such capability"}
        body = json.dumps(answer).encode("ascii")
        message = Outgoing(session.initialized().headers, body)
        await self._post(self._aside, (6, number, 0), session, message, Kind.REPLY, f"reply/{number}", 1)

    def _forgotten(self, said: Said, session: Session) -> bool:
        response = said.exchange.response
        return response is not None and response.status == 404 and session.session_id is not None

    async def _renew(self, lane: Lane, old: Session) -> bool:
        """Open a new session once a run; lanes that come late find it open."""
        async with self._renewing:
            if self.session is not old:
                return True
            if self._renewals:
                return False
            self._renewals += 1
            session = Session(Era.HANDSHAKE)
            said = await self._post(
                lane,
                (0, 2, 0),
                session,
                session.initialize(self.next_id()),
                Kind.INITIALIZE,
                "initialize/again",
                1,
            )
            if not self.adopt(session, said):
                return False
            await self.notify(lane, (1, 1, 0), session)
            return True
