"""Runs a plan against a target: all network of a run happens here, concurrent and bounded, and all of it is recorded."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.abc

from . import __version__
from .calls import NotCalled, PlannedCall, Probe, Purpose
from .classify import Class, classify
from .conversation import Conversation, Headers, Said
from .diagnosis import no_tools
from .evidence import UNKNOWN_TOOL_SUBJECT
from .extraction import extract_success
from .interop.phase import OfficialClient, official_client
from .listing import Listing
from .oauth import OAuthError, fetch_token
from .opening import open_session
from .param_headers import ParamHeaders
from .patience import Patience
from .plan import Plan, PlanRequest, plan
from .probes import app, pages, refusals, transport, user_context
from .probes.http import HttpProbes
from .probes.metadata import Discovery, discovery
from .probes.views import read_views
from .reading import no_answer
from .recorder import Phase, Place, Recorder
from .redact import Redactor
from .schedule import Schedule
from .session import LONGEST_ID
from .target import Target
from .tasks import catalogue
from .transcript import Diagnosis, Exchange, Kind, Limits, Survey, Transcript
from .ui import CAPABILITIES
from .wire import Connection, CookieStore, Lane

MAX_POLLS = 3
_POLL_DELAYS = (0.2, 1.0, 3.0)  # seconds before each look at an answer that is not final
_LAST_ANSWERS = 1.0  # seconds for answers to the server's own requests, when all else is done
_CLOSING = 5.0  # seconds for the DELETE, also when the run is interrupted

Progress = Callable[[int, int, str], None]  # calls done, how many there may be in all, the last one's subject
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
        self._followed: list[PlannedCall] = []  # calls that an answer led to
        self._succeeded: list[PlannedCall] = []
        self._not_tried: list[NotCalled] = []  # of what is no call of the plan
        self._patience = Patience(order.limits.max_response_bytes)
        self._chains: dict[str, float] = {}
        self._lead = 0.0
        self._done = 0
        self._listed: set[str] = set()
        self._named: set[str] = set()  # subjects of the plan: what an answer leads to takes none of them
        self._lanes: list[Lane] = []
        self._client: OfficialClient | None = None
        self._talk: Conversation
        self._listing: Listing
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
        order = self._order
        async with AsyncExitStack() as stack:
            if not order.only_plan:
                secret = (*order.target.secrets(), *order.secrets)
                self._client = await stack.enter_async_context(official_client(order.plan, secret))
            cookies = CookieStore()
            for _ in range(self._limits.concurrency + 1):
                self._lanes.append(await stack.enter_async_context(Lane(self._order.connection, cookies)))
            aside = self._lanes.pop()
            try:
                async with anyio.create_task_group() as group:
                    self._talk = Conversation(
                        self._order.target, self._limits, self.recorder, aside, group, self._authorize
                    )
                    self._talk.capabilities = CAPABILITIES if self._order.plan.app else {}
                    self._listing = Listing(self._talk, self.recorder)
                    try:
                        await self._go()
                    except _GaveUp as given_up:
                        self._unusable = given_up.diagnosis
                    # What the server asked for last is still answered.
                    group.cancel_scope.deadline = anyio.current_time() + _LAST_ANSWERS
            finally:
                with anyio.move_on_after(_CLOSING, shield=True):
                    await self._talk.close(self._lanes[0], (Phase.DELETE, 0))

    async def _go(self) -> None:
        if self._order.target.credentials.oauth is not None:
            try:
                self._talk.credentials = await self._token()
            except OAuthError as error:
                cure = "check token_url, client_id_env, client_secret_env and scope under auth.oauth in adcp.yaml"
                raise _GaveUp(Diagnosis("oauth", str(error), cure)) from None
        if failure := await open_session(self._talk, self._lanes, self._order.target):
            raise _GaveUp(failure)
        tools = await self._listing.read(self._lanes[0])
        if self._listing.failed is not None:
            raise _GaveUp(no_tools(self._order.target, self._listing.failed))
        self._listed = {tool["name"] for tool in tools}
        self._talk.session.param_headers = ParamHeaders(tools).of
        await self._read_views(tools)
        self._lead = self.recorder.elapsed
        self.plan = plan(tools, self._order.plan, self._run_id)
        self._named = {call.subject for call in self.plan.calls}
        if not self._order.only_plan:
            await self._go_on(self.plan)

    def transcript(self) -> Transcript:
        """Return everything recorded so far, in plan order."""
        exchanges = self.recorder.exchanges()
        sent = {exchange.subject for exchange in exchanges}
        handed_out = self._schedule.made if self._schedule else []
        made = [call for call in (*handed_out, *self._followed) if call.subject in sent]
        unmade = [call for call in handed_out if call.subject not in sent]
        if self._schedule is not None and self.recorder.stopped:
            unmade += self._schedule.unmade()
        planned = self.plan.calls if self.plan else ()
        place = {call.subject: index for index, call in enumerate(planned)}
        left = (
            *(self.plan.not_called if self.plan else ()),
            *(self._schedule.not_called if self._schedule else ()),
            *self._not_tried,
            *((self._client.left_out,) if self._client is not None and self._client.left_out else ()),
            *(
                NotCalled(call.subject, "the survey ended before it")
                for call in sorted(unmade, key=lambda call: place[call.subject])
            ),
        )
        tls = next((lane.tls for lane in self._lanes if lane.tls is not None), None)
        return Transcript(
            Survey(
                harness=__version__,
                run_id=self._run_id,
                started_at=self._started_at.isoformat(timespec="milliseconds"),
                url=self._order.target.display_url,
                name=self._order.target.name,
                limits=self._limits,
                options=self._order.options,
                calls=tuple(sorted(made, key=lambda call: place.get(call.subject, len(place)))),
                not_called=left,
                problems=self.plan.problems if self.plan else (),
                complete=not self.recorder.stopped,
                stopped=self.recorder.stopped,
                unusable=self._unusable,
                seconds=round(self.recorder.elapsed, 6),
                longest_chain=round(self._lead + max(self._chains.values(), default=0.0), 6),
                tls=tls,
                interop=self._client.found if self._client is not None else None,
            ),
            exchanges,
        )

    # -- before the calls --------------------------------------------------------------------------------------

    async def _token(self) -> Headers:
        """Return the headers with a fresh OAuth token.

        Raises:
            OAuthError: there is none.
        """
        client = self._order.target.credentials.oauth
        assert client is not None
        token = await fetch_token(client, self._order.connection, self._limits)
        self.recorder.redactor = self.recorder.redactor.with_secret(token)
        return (*self._order.target.credentials.headers(), ("Authorization", f"Bearer {token}"))

    async def _authorize(self) -> Headers | None:
        """Return other credentials after a 401: only an OAuth client can have them."""
        if self._order.target.credentials.oauth is None:
            return None
        try:
            return await self._token()
        except OAuthError as error:
            self.recorder.stop(f"the server refused the token (HTTP 401), and there is no other: {error}")
            return None

    async def _read_views(self, tools: Sequence[Mapping[str, Any]]) -> None:
        order, app = self._order, self._order.plan.app
        if app is not None and not order.only_plan:
            before, third_party = self.recorder.exchanges(), app.third_party
            hosts = (order.target, order.connection)
            await read_views(
                self._talk, self._lanes[0], *hosts, tools, self._limits, before, third_party=third_party
            )

    # -- the calls ---------------------------------------------------------------------------------------------

    async def _go_on(self, made: Plan) -> None:
        """Make the calls, and ask as somebody else what the server says to them."""
        order = self._order
        if not order.plan.probes:
            await self._call_all(made.calls)
            return
        http = HttpProbes(self._talk, order.target, self.recorder, self._run_id)
        self._not_tried = http.left_out
        if order.plan.auto:
            await self._call_as_others_too(made.calls, http)
        else:
            await self._call_all(made.calls, http)
        await http.follow(self._lanes)
        if self._client is not None and self._schedule is not None:
            if len(self._lanes) == 1:
                await self._lanes[0].rest()
            calls = self._schedule.made
            await self._client.visit(self._talk, order.connection, self.recorder, self._limits, calls)
        if order.plan.app is not None:
            await app.send(self._talk, order, order.plan.app, self.recorder.exchanges, self._lanes[0])

    async def _call_as_others_too(self, calls: tuple[PlannedCall, ...], http: HttpProbes) -> None:
        order = self._order
        async with discovery(self._talk, order.connection, order.target, self._limits) as metadata:
            await self._call_all(calls, http, metadata)
            await self._listing.read_again(self._lanes[0])
            left_out = await refusals.send(
                self._talk, order.target, order.connection, self._succeeded, self._lanes
            )
            self._not_tried += [left_out] if left_out else []
            await metadata.follow(self.recorder.exchanges())

    async def _call_all(
        self,
        calls: tuple[PlannedCall, ...],
        http: HttpProbes | None = None,
        metadata: Discovery | None = None,
    ) -> None:
        schedule = self._schedule = Schedule(calls)
        places = {call.subject: index for index, call in enumerate(calls)}
        last = self._lanes[-1]

        async def work(lane: Lane) -> None:
            if lane is last and not self.recorder.stopped:
                await self._unknown_tool(lane)
                if metadata is not None:
                    if len(self._lanes) == 1:
                        await lane.rest()  # it may be all that the server serves at a time
                    await metadata.look()
                if http is not None:
                    await http.work(lane)
            while not self.recorder.stopped and (call := await schedule.next()) is not None:
                await self._call(lane, call, places[call.subject], schedule)
                self._done += 1
                self._progress(self._done, schedule.most, call.subject)
            if self.recorder.stopped:
                schedule.close()  # other lanes may be waiting for a call that is not made any more
            if lane is not last and metadata is not None:
                metadata.hurry(_LAST_ANSWERS)
            if http is not None:
                await http.work(lane)

        alone = len(self._lanes) == 1
        async with anyio.create_task_group() as group:
            for lane in self._lanes:
                group.start_soon(work, lane)
            if metadata is not None and not alone:
                group.start_soon(self._try_transport, calls)
        if metadata is not None and alone:
            await last.rest()
            await self._try_transport(calls, alone=True)

    async def _try_transport(self, calls: tuple[PlannedCall, ...], *, alone: bool = False) -> None:
        """Try what MCP asks of streams and of its stateless era, beside the calls and on other connections."""
        order, recorded = self._order, self.recorder.exchanges()
        self._not_tried += await transport.send(
            self._talk, order.target, order.connection, self._limits, calls, recorded, alone=alone
        )

    async def _call(self, lane: Lane, call: PlannedCall, index: int, schedule: Schedule) -> None:
        said = await self._tools_call(lane, (Phase.CALLS, index), call, Kind.CALL)
        kind, data = self._outcome(call, said)
        self._chains[call.subject] = self._chain_before(call) + said.exchange.seconds
        if over := self._patience.is_over(said.exchange):
            schedule.give_up_on(call.tool, over)
        accepted = kind in (Class.SUCCESS, Class.INTERIM)
        self._succeeded += [call] if kind is Class.SUCCESS else []
        heard = not self._patience.is_tried(call.tool)
        schedule.finished(call, accepted=accepted, payload=data if accepted else None, heard=heard)
        if kind is Class.INTERIM and data is not None:
            await self._poll(lane, call, index, data)
        elif kind is Class.SUCCESS and call.probe is Probe.PAGE:
            await self._turn_pages(lane, call, index, data or {})

    def _chain_before(self, call: PlannedCall) -> float:
        """Return the seconds of the longest chain of calls that a call had to wait for."""
        givers = {take.tool for take in call.takes}
        return max(
            (
                seconds
                for subject, seconds in self._chains.items()
                if subject == call.after or subject.partition("/")[0] in givers
            ),
            default=0.0,
        )

    async def _poll(self, lane: Lane, call: PlannedCall, index: int, data: Mapping[str, Any]) -> None:
        """Ask what became of a task that answered submitted or working, where the server can tell."""
        task_id = data.get("task_id")
        known = isinstance(task_id, str) and len(task_id) <= LONGEST_ID
        if not known or "get_task_status" not in self._listed:
            return
        for number in range(1, MAX_POLLS + 1):
            if self.recorder.stopped:
                return
            await anyio.sleep(_POLL_DELAYS[number - 1])
            name = f"{call.tool}-{call.name}-{number}"
            poll = PlannedCall("get_task_status", name, {"task_id": task_id}, Purpose.GOOD)
            if poll.subject in self._named:
                return
            self._followed.append(poll)
            said = await self._tools_call(lane, (Phase.POLLS, index), poll, Kind.POLL)
            kind, _ = self._outcome(poll, said)
            payload = extract_success(said.reading.result or {}, limit=self._limits.client_limit).data or {}
            if kind is not Class.SUCCESS or payload.get("status") not in ("submitted", "working"):
                return

    async def _turn_pages(self, lane: Lane, call: PlannedCall, index: int, data: Mapping[str, Any]) -> None:
        """Read a list on, a page after the other."""
        kind: Class | None = Class.SUCCESS
        while kind is Class.SUCCESS and not self.recorder.stopped:
            page = pages.following(call, data)
            if page is None or page.subject in self._named:
                return
            self._followed.append(page)
            said = await self._tools_call(lane, (Phase.PAGES, index), page, Kind.CALL)
            kind, payload = self._outcome(page, said)
            call, data = page, payload or {}

    async def _unknown_tool(self, lane: Lane) -> None:
        name = f"adcp_no_such_tool_{self._run_id[:6]}"
        call = PlannedCall(name, "unknown", {}, Purpose.BAD)
        await self._tools_call(lane, (Phase.PROBES, 0), call, Kind.PROBE, subject=UNKNOWN_TOOL_SUBJECT)

    async def _tools_call(
        self,
        lane: Lane,
        place: Place,
        call: PlannedCall,
        kind: Kind,
        subject: str | None = None,
    ) -> Said:
        params = {"name": call.tool, "arguments": dict(call.arguments), **user_context.params(call)}
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
