"""Runs a plan against a target: all network of a run happens here, concurrent and bounded, and all of it is recorded."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.abc

from . import __version__
from .calls import NotCalled, PlannedCall, Purpose
from .classify import Class, classify
from .conversation import Conversation, Said
from .diagnosis import diagnose, look_around
from .evidence import UNKNOWN_TOOL_SUBJECT
from .extraction import extract_success
from .oauth import OAuthError, fetch_token
from .plan import Plan, PlanRequest, plan
from .reading import no_answer
from .recorder import Recorder
from .redact import Redactor
from .schedule import Schedule
from .session import STATELESS_REVISION, Session
from .target import Target
from .tasks import catalogue
from .transcript import Diagnosis, Era, Exchange, Kind, Limits, Survey, Transcript
from .wire import Connection, CookieStore, Lane

MAX_PAGES = 200
MAX_TOOLS = 10_000
MAX_POLLS = 3
_POLL_DELAYS = (0.2, 1.0, 3.0)  # seconds before each look at an answer that is not final

# Phases of a transcript, in order.
_HANDSHAKE, _INITIALIZED, _LIST, _CALLS, _POLLS, _PROBES, _DELETE = 0, 1, 2, 3, 4, 5, 7

Progress = Callable[[int, int, str], None]  # calls done, calls in all, the subject of the last one
Trace = Callable[[Exchange], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What a survey is to do, to whom, within which bounds."""

    target: Target
    connection: Connection
    limits: Limits
    plan: PlanRequest
    options: Mapping[str, Any] = field(default_factory=dict)
    only_plan: bool = False
    secrets: tuple[str, ...] = ()  # beside the target's own


class _GaveUp(Exception):  # noqa: N818 - ends the survey; the diagnosis is kept
    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.message)
        self.diagnosis = diagnosis


class Surveyor:
    """One survey of one target.

    Whatever goes wrong on the wire becomes part of the transcript; nothing is raised for it. The transcript can be
    taken at any time, also after an interrupt.
    """

    def __init__(
        self,
        order: Order,
        *,
        progress: Progress = lambda *_: None,
        trace: Trace = lambda _: None,
    ) -> None:
        """Prepare a survey; nothing is sent yet."""
        self._order = order
        self._limits = order.limits
        self._progress = progress
        self._run_id = secrets.token_hex(8)
        self._started_at = datetime.now(UTC)
        self._unusable: Diagnosis | None = None
        self._schedule: Schedule | None = None
        self._polled: list[PlannedCall] = []
        self._chains: dict[str, float] = {}
        self._lead = 0.0
        self._done = 0
        self._listed: set[str] = set()
        self._lanes: list[Lane] = []
        self._talk: Conversation
        self.plan: Plan | None = None
        self.recorder = Recorder(order.limits, Redactor((*order.target.secrets(), *order.secrets)), trace)

    async def run(self) -> None:
        """Survey the target within the time that the limits give it."""
        with anyio.move_on_after(self._limits.survey_timeout) as scope:
            await self._run()
        if scope.cancelled_caught:
            self.recorder.stop(
                f"the time for the survey ({self._limits.survey_timeout:g} s) was up; what was answered by then is judged"
            )

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            cookies = CookieStore()
            for _ in range(self._limits.concurrency + 1):
                self._lanes.append(await stack.enter_async_context(Lane(self._order.connection, cookies)))
            aside = self._lanes.pop()
            async with anyio.create_task_group() as group:
                self._talk = Conversation(self._order.target, self._limits, self.recorder, aside, group)
                try:
                    await self._go()
                except _GaveUp as given_up:
                    self._unusable = given_up.diagnosis
                finally:
                    with anyio.move_on_after(5, shield=True):
                        await self._talk.close(self._lanes[0], (_DELETE, 0, 0))
                    group.cancel_scope.cancel()

    async def _go(self) -> None:
        await self._fetch_token()
        await self._handshake()
        tools = await self._list_tools()
        self._listed = {str(tool.get("name")) for tool in tools}
        self._lead = self.recorder.elapsed
        self.plan = plan(tools, self._order.plan, self._run_id)
        if not self._order.only_plan:
            await self._call_all(self.plan.calls)

    def transcript(self) -> Transcript:
        """Return everything recorded so far, in plan order."""
        made = tuple(self._schedule.made) if self._schedule else ()
        left = tuple(self._schedule.not_called) if self._schedule else ()
        planned = self.plan.calls if self.plan else ()
        place = {call.subject: index for index, call in enumerate(planned)}
        never = tuple(
            NotCalled(call.subject, f"the survey ended before it: {self.recorder.stopped}", blocked=True)
            for call in (self._schedule.unmade() if self._schedule and self.recorder.stopped else ())
        )
        return Transcript(
            Survey(
                harness=__version__,
                run_id=self._run_id,
                started_at=self._started_at.isoformat(timespec="milliseconds"),
                url=self._order.target.display_url,
                name=self._order.target.name,
                limits=self._limits,
                options=self._order.options,
                calls=(*sorted(made, key=lambda call: place[call.subject]), *self._polled),
                not_called=(*(self.plan.not_called if self.plan else ()), *left, *never),
                problems=self.plan.problems if self.plan else (),
                complete=not self.recorder.stopped,
                stopped=self.recorder.stopped,
                unusable=self._unusable,
                seconds=round(self.recorder.elapsed, 6),
                longest_chain=round(self._lead + max(self._chains.values(), default=0.0), 6),
            ),
            self.recorder.exchanges(),
        )

    # -- before the calls --------------------------------------------------------------------------------------

    async def _fetch_token(self) -> None:
        client = self._order.target.credentials.oauth
        if client is None:
            return
        try:
            token = await fetch_token(client, self._order.connection, self._limits)
        except OAuthError as error:
            cure = "check token_url, client_id_env, client_secret_env and scope under auth.oauth in adcp.yaml"
            raise _GaveUp(Diagnosis("oauth", str(error), cure)) from None
        others = self._order.target.credentials.headers()
        self._talk.credentials = (*others, ("Authorization", f"Bearer {token}"))
        self.recorder.redactor = self.recorder.redactor.with_secret(token)

    async def _handshake(self) -> None:
        """Offer both eras at once; calls run in the handshake era where it is offered."""
        heard: dict[Kind, Said] = {}
        handshake, stateless = Session(Era.HANDSHAKE), Session(Era.STATELESS)

        async def initialize(lane: Lane) -> None:
            heard[Kind.INITIALIZE] = await self._talk.ask(
                lane,
                (_HANDSHAKE, 0, 0),
                lambda session, number: session.initialize(number),
                kind=Kind.INITIALIZE,
                subject="initialize",
                session=handshake,
            )

        async def discover(lane: Lane) -> None:
            heard[Kind.DISCOVER] = await self._talk.ask(
                lane,
                (_HANDSHAKE, 1, 0),
                lambda session, number: session.request(number, "server/discover"),
                kind=Kind.DISCOVER,
                subject="server/discover",
                session=stateless,
            )

        if len(self._lanes) > 1:
            async with anyio.create_task_group() as group:
                group.start_soon(initialize, self._lanes[0])
                group.start_soon(discover, self._lanes[1])
        else:
            await initialize(self._lanes[0])
            await discover(self._lanes[0])
        if await self._renew_token(heard[Kind.INITIALIZE]):
            await initialize(self._lanes[0])
        if self._talk.adopt(handshake, heard[Kind.INITIALIZE]):
            await self._talk.notify(self._lanes[0], (_INITIALIZED, 0, 0), handshake)
        elif _serves_stateless(heard[Kind.DISCOVER]):
            self._talk.session = stateless
        else:
            seen = await look_around(
                self._lanes[0], self._order.target, self._limits, heard[Kind.INITIALIZE].exchange
            )
            raise _GaveUp(diagnose(self._order.target, heard[Kind.INITIALIZE], seen))

    async def _renew_token(self, said: Said) -> bool:
        response = said.exchange.response
        if self._order.target.credentials.oauth is None or response is None or response.status != 401:
            return False
        await self._fetch_token()
        return True

    async def _list_tools(self) -> list[Mapping[str, Any]]:
        """Read tools/list, page by page, as far as the guards allow."""
        tools: list[Mapping[str, Any]] = []
        cursors: set[str] = set()
        cursor: str | None = None
        for page in range(MAX_PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            said = await self._talk.ask(
                self._lanes[0],
                (_LIST, page, 0),
                lambda session, number, params=params: session.request(number, "tools/list", params),  # type: ignore[misc]
                kind=Kind.LIST,
                subject="tools/list" if page == 0 else f"tools/list/page-{page + 1}",
            )
            result = said.reading.result
            listed = result.get("tools") if result is not None else None
            if result is None or not isinstance(listed, list):
                if page == 0:
                    raise _GaveUp(_no_tools(said))
                break
            tools.extend(tool for tool in listed if isinstance(tool, Mapping))
            following = result.get("nextCursor")
            # An empty cursor ends the list before 2026-07-28 and is a cursor like any other from then on.
            ended = following is None or (following == "" and self._talk.session.era is Era.HANDSHAKE)
            if ended or not isinstance(following, str) or following in cursors or len(tools) >= MAX_TOOLS:
                break
            cursors.add(following)
            cursor = following
        return tools[:MAX_TOOLS]

    # -- the calls ---------------------------------------------------------------------------------------------

    async def _call_all(self, calls: tuple[PlannedCall, ...]) -> None:
        self._schedule = Schedule(calls)
        places = {call.subject: index for index, call in enumerate(calls)}
        total = len(calls)

        async def work(lane: Lane, schedule: Schedule) -> None:
            if lane is self._lanes[-1]:
                await self._unknown_tool(lane)
            while not self.recorder.stopped:
                call = await schedule.next()
                if call is None:
                    return
                await self._call(lane, call, places[call.subject], schedule)
                self._done += 1
                self._progress(self._done, total, call.subject)

        async with anyio.create_task_group() as group:
            for lane in self._lanes:
                group.start_soon(work, lane, self._schedule)

    async def _call(self, lane: Lane, call: PlannedCall, index: int, schedule: Schedule) -> None:
        said = await self._tools_call(lane, (_CALLS, index, 0), call, Kind.CALL)
        kind, data = self._outcome(call, said)
        before = self._chains.get(call.after, 0.0) if call.after else 0.0
        self._chains[call.subject] = before + said.exchange.seconds
        accepted = kind in (Class.SUCCESS, Class.INTERIM)
        schedule.finished(call, accepted=accepted, payload=data if accepted else None)
        if kind is Class.INTERIM and data is not None:
            await self._poll(lane, call, index, data)

    async def _poll(self, lane: Lane, call: PlannedCall, index: int, data: Mapping[str, Any]) -> None:
        """Ask what became of a task that answered submitted or working, where the server can tell."""
        task_id = data.get("task_id")
        if not isinstance(task_id, str) or "get_task_status" not in self._listed:
            return
        for number in range(1, MAX_POLLS + 1):
            await anyio.sleep(_POLL_DELAYS[number - 1])
            name = f"{call.tool}-{call.name}-{number}"
            poll = PlannedCall("get_task_status", name, {"task_id": task_id}, Purpose.GOOD)
            self._polled.append(poll)
            said = await self._tools_call(lane, (_POLLS, index, number * 10), poll, Kind.POLL)
            kind, _ = self._outcome(poll, said)
            payload = extract_success(said.reading.result or {}, limit=self._limits.client_limit).data or {}
            if kind is not Class.SUCCESS or payload.get("status") not in ("submitted", "working"):
                return

    async def _unknown_tool(self, lane: Lane) -> None:
        name = f"adcp_no_such_tool_{self._run_id[:6]}"
        call = PlannedCall(name, "unknown", {}, Purpose.BAD)
        await self._tools_call(lane, (_PROBES, 0, 0), call, Kind.PROBE, subject=UNKNOWN_TOOL_SUBJECT)

    async def _tools_call(
        self,
        lane: Lane,
        place: tuple[int, int, int],
        call: PlannedCall,
        kind: Kind,
        subject: str | None = None,
    ) -> Said:
        params = {"name": call.tool, "arguments": dict(call.arguments)}
        return await self._talk.ask(
            lane,
            place,
            lambda session, number: session.request(number, "tools/call", params),
            kind=kind,
            subject=subject or call.subject,
        )

    def _outcome(self, call: PlannedCall, said: Said) -> tuple[Class | None, Mapping[str, Any] | None]:
        response = said.reading.response
        task = catalogue().get(call.tool)
        if response is None or no_answer(said.exchange):
            return None, None
        result = said.reading.result
        extraction = extract_success(result or {}, limit=self._limits.client_limit)
        if task is None:
            return None, extraction.data
        return classify(task, result, response, extraction), extraction.data


def _serves_stateless(said: Said) -> bool:
    result = said.reading.result
    versions = result.get("supportedVersions") if result is not None else None
    return isinstance(versions, list) and STATELESS_REVISION in versions


def _no_tools(said: Said) -> Diagnosis:
    why = no_answer(said.exchange) or "the answer holds no `tools` array"
    return Diagnosis(
        "tools-list",
        f"the handshake worked, but tools/list did not: {why}",
        'make tools/list answer {"tools": [...]}; without it no client knows what to call',
    )
