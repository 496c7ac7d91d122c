"""One conversation with an MCP server: messages go out over lanes, politely, and every exchange is recorded."""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.abc

from . import jsontext
from .patience import TRIES, Pace, asked_delay
from .reading import Reading, read
from .recorder import Phase, Place, Recorder
from .session import LONGEST_ID, USER_AGENT, Outgoing, Session, speaks
from .sse import Event
from .target import Target
from .transcript import Era, Exchange, Kind, Limits
from .wire import Lane, Sent, send

MAX_SERVER_REQUESTS = 20  # requests of the server's that are answered in one survey
LINGER = 0.1  # seconds that a stream is read on after the response
_LOOK_SECONDS = 5.0  # for what is sent beside the plan
_LOOK_BYTES = 1 << 20  # of an answer to that: it must not use up what a survey reads of the others

_CONTROLS = re.compile("[\\x00-\\x1f\\x7f]")

Compose = Callable[[Session, str | int], Outgoing]
Headers = tuple[tuple[str, str], ...]
Authorize = Callable[[], Awaitable[Headers | None]]  # fresh credentials, or None where there are no others


def _as_somebody(headers: Headers) -> Headers:
    """Return headers with a User-Agent: ours, where there is none."""
    named = any(name == "User-Agent" for name, _ in headers)
    return headers if named else (*headers, ("User-Agent", USER_AGENT))


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
        authorize: Authorize,
    ) -> None:
        """Make a conversation.

        Args:
            aside: the lane that answers the server's own requests, while another is busy reading them.
            group: where those answers run.
            authorize: asked at the first 401, once.
        """
        self._target = target
        self._limits = limits
        self._recorder = recorder
        self._aside = aside
        self._group = group
        self._authorize = authorize
        self._pace = Pace(limits.rate)
        self._numbers = itertools.count(1)
        self._answered = 0
        self._answering = anyio.Lock()
        self._renewing = anyio.Lock()
        self._may_renew = True
        self._authorizing = anyio.Lock()
        self._may_authorize = True
        self._linger = LINGER
        self._made_up: frozenset[str] = frozenset()
        self.credentials: Headers = target.credentials.headers()
        self.capabilities: Mapping[str, Any] = {}  # that sessions announce, unless they have others
        self.session = Session(Era.HANDSHAKE)

    def beside(
        self,
        credentials: Headers,
        *,
        made_up: bool = False,
        limits: Limits | None = None,
        linger: float = LINGER,
    ) -> Conversation:
        """Return a conversation with the same server, at the same pace, with sessions and credentials of its own.

        It gets no other credentials after a 401, and leaves requests of the server's unanswered.

        Args:
            made_up: the credentials are nobody's, and are recorded.
            limits: others than those of this conversation.
            linger: seconds that its streams are read on after the response.
        """
        other = Conversation(
            self._target, limits or self._limits, self._recorder, self._aside, self._group, self._authorize
        )
        other._pace, other._numbers = self._pace, self._numbers
        other._answered = MAX_SERVER_REQUESTS
        other._may_authorize = False
        other._linger = linger
        other._made_up = frozenset(value for _, value in credentials) if made_up else frozenset()
        other.credentials = credentials
        return other

    @property
    def stopped(self) -> bool:
        """Whether the survey ended early."""
        return bool(self._recorder.stopped)

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
        seconds: float | None = None,
    ) -> Said:
        """Send a request and return the last answer: at most three tries.

        It is sent again where the server asks for patience that there is time for, where it has forgotten the session
        (404), and where another token may be had (401). A try takes no more than some `seconds`, and never more than
        the limits say.
        """
        said: Said | None = None
        for attempt in range(1, TRIES + 1):
            speaking, credentials = session or self.session, self.credentials
            message = compose(speaking, self.next_id())
            before = said.exchange if said else None
            said = None  # what was read of it may be large, and is read anew from the transcript
            said = await self._post(lane, place, speaking, message, kind, subject, attempt, before, seconds)
            if attempt == TRIES or not await self._is_worth_another(
                lane, said, session, speaking, credentials
            ):
                break
        assert said is not None
        return said

    async def notify(
        self, lane: Lane, place: Place, session: Session, subject: str = "notifications/initialized"
    ) -> None:
        """Send notifications/initialized."""
        await self.ask(
            lane,
            place,
            lambda session, _: session.initialized(),
            kind=Kind.INITIALIZED,
            subject=subject,
            session=session,
        )

    async def look(
        self,
        lane: Lane,
        place: Place,
        method: str,
        url: str,
        message: Outgoing,
        until: Callable[[Event], bool] | None = None,
        *,
        kind: Kind = Kind.PROBE,
        subject: str = "",
        era: Era | None = None,
        opened: Callable[[], None] | None = None,
        only_head: bool = False,
        seconds: float = _LOOK_SECONDS,
    ) -> Exchange:
        """Send something to a URL of the target's origin that is not part of the plan, to see what is there.

        `opened` is called when the headers of the response are there.
        """
        return await self._send(
            lane,
            place,
            method,
            url,
            message,
            kind=kind,
            subject=subject or f"endpoint/{place[1]}",
            era=era,
            deadline=min(seconds, self._limits.request_timeout),
            until=until,
            opened=opened,
            only_head=only_head,
            most=_LOOK_BYTES,
        )

    async def relay(
        self,
        lane: Lane,
        place: Place,
        method: str,
        message: Outgoing,
        *,
        subject: str,
        era: Era,
        attempt: int,
    ) -> Exchange:
        """Send what another client says as it stands, with the credentials of this conversation."""
        return await self._send(
            lane,
            place,
            method,
            self._target.url,
            message,
            kind=Kind.INTEROP,
            subject=subject,
            era=era,
            attempt=attempt,
            deadline=self._limits.request_timeout,
            until=self._until(self.session),
        )

    async def close(
        self, lane: Lane, place: Place, kind: Kind = Kind.DELETE, subject: str = "session/delete"
    ) -> None:
        """End the session, where there is one."""
        if self.session.session_id is not None:
            await self._send(
                lane,
                place,
                "DELETE",
                self._target.url,
                Outgoing(self.session.closing(), b""),
                kind=kind,
                subject=subject,
                era=self.session.era,
                deadline=min(_LOOK_SECONDS, self._limits.request_timeout),
                most=_LOOK_BYTES,
            )

    def adopt(self, session: Session, said: Said) -> bool:
        """Take the session that an initialize result opens; False where there is no such result."""
        result = said.reading.result
        revision = speaks(result.get("protocolVersion")) if result is not None else None
        if revision is None:
            return False
        session.revision = revision
        response = said.exchange.response
        offered = response.header("mcp-session-id") if response is not None else None
        # An id that no header can carry back is none: the calls then show what the server makes of that.
        session.session_id = offered if offered is not None and not _CONTROLS.search(offered) else None
        self.session = session
        return True

    # -- one exchange ------------------------------------------------------------------------------------------

    async def _post(
        self,
        lane: Lane,
        place: Place,
        session: Session,
        message: Outgoing,
        kind: Kind,
        subject: str,
        attempt: int,
        before: Exchange | None = None,
        seconds: float | None = None,
    ) -> Said:
        exchange = await self._send(
            lane,
            place,
            "POST",
            self._target.url,
            message,
            kind=kind,
            subject=subject,
            era=session.era,
            attempt=attempt,
            repeats=before,
            deadline=min(seconds or self._limits.request_timeout, self._limits.request_timeout),
            until=self._until(session),
        )
        return Said(exchange, read(exchange))

    async def _send(
        self,
        lane: Lane,
        place: Place,
        method: str,
        url: str,
        message: Outgoing,
        *,
        deadline: float,
        until: Callable[[Event], bool] | None = None,
        opened: Callable[[], None] | None = None,
        only_head: bool = False,
        most: int | None = None,
        **facts: Any,
    ) -> Exchange:
        """Send and record, reading `most` bytes at most; `facts` is what else a Recorder wants to know."""
        limit = self._limits.max_response_bytes
        limits = replace(self._limits, max_response_bytes=min(most or limit, limit))
        await self._pace.turn()
        started = self._recorder.elapsed

        def record(sent: Sent) -> Exchange:
            return self._recorder.add(place, sent, started=started, made_up=self._made_up, **facts)

        sent = await send(
            lane,
            method,
            url,
            (*_as_somebody(message.headers), *self.credentials),
            message.body,
            deadline=deadline,
            limits=limits,
            until=until,
            linger=self._linger,
            opened=opened,
            only_head=only_head,
            secret_headers=self._target.credentials.secret_header_names,
            made_up=self._made_up,
            interrupted=record,
        )
        return record(sent)

    # -- another try -------------------------------------------------------------------------------------------

    async def _is_worth_another(
        self, lane: Lane, said: Said, fixed: Session | None, session: Session, credentials: Headers
    ) -> bool:
        """Tell whether a request may fare better if sent again, and wait or renew what has to be renewed before."""
        if self._recorder.stopped or said.exchange.response is None:
            return False
        status = said.exchange.response.status
        if status == 401:
            return await self._reauthorize(credentials)
        if status == 404 and fixed is None and session.session_id is not None:
            return await self._renew(lane, session)
        delay = asked_delay(said.exchange, said.reading.response)
        if delay is None or delay >= self._limits.survey_timeout - self._recorder.elapsed:
            return False
        self._pace.hold(delay)
        return True

    async def _reauthorize(self, refused: Headers) -> bool:
        """Get other credentials once a run; lanes that come late find them."""
        async with self._authorizing:
            if self.credentials == refused and self._may_authorize:
                self._may_authorize = False
                self.credentials = await self._authorize() or refused
            return self.credentials != refused

    async def _renew(self, lane: Lane, old: Session) -> bool:
        """Open a new session once a run; lanes that come late find it open."""
        async with self._renewing:
            if self.session is old and self._may_renew:
                self._may_renew = False
                session = Session(
                    Era.HANDSHAKE, param_headers=old.param_headers, capabilities=self.capabilities
                )
                said = await self.ask(
                    lane,
                    (Phase.HANDSHAKE, 2),
                    lambda session, number: session.initialize(number),
                    kind=Kind.INITIALIZE,
                    subject="initialize/again",
                    session=session,
                )
                if self.adopt(session, said):
                    await self.notify(
                        lane, (Phase.INITIALIZED, 1), session, "notifications/initialized/again"
                    )
            return self.session is not old

    # -- requests of the server's --------------------------------------------------------------------------------

    def _until(self, session: Session) -> Callable[[Event], bool]:
        """Return what ends a stream: its response, whatever id that has. Requests of the server are answered aside."""

        def is_response(event: Event) -> bool:
            message = jsontext.parse(event.data).value if event.data else None
            if not isinstance(message, Mapping):
                return False
            if _is_request(message) and self._answered < MAX_SERVER_REQUESTS:
                self._answered += 1
                self._group.start_soon(self._answer, session, message, self._answered)
            return "method" not in message and ("result" in message or "error" in message)

        return is_response

    async def _answer(self, session: Session, request: Mapping[str, Any], number: int) -> None:
        async with self._answering:
            message = session.response(request)
            await self._post(
                self._aside, (Phase.REPLIES, number), session, message, Kind.REPLY, f"reply/{number}", 1
            )


def _is_request(message: Mapping[str, Any]) -> bool:
    """Tell a request, which is to be answered, from a notification and from what cannot be answered."""
    number = message.get("id")
    text = isinstance(number, str) and len(number) <= LONGEST_ID
    return "method" in message and (text or (isinstance(number, int) and not isinstance(number, bool)))
