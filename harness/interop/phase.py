"""The end of a survey: the official client visits the server in each era that it serves, on sessions of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from pytest_adcp.harness.calls import NotCalled, PlannedCall, Purpose
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.output_schemas import OutputSchemas
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.probes.stateless import serves_stateless
from pytest_adcp.harness.reading import read
from pytest_adcp.harness.recorder import Recorder
from pytest_adcp.harness.server import list_page
from pytest_adcp.harness.session import STATELESS_REVISION, speaks
from pytest_adcp.harness.tasks import CAPABILITIES
from pytest_adcp.harness.transcript import ClientStep, End, Era, Exchange, Interop, Kind, Limits
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .process import ClientFailure, ClientProcess, started, why_not
from .steps import CONNECT, FIRST, INTEROP, LIST
from .tap import MOST_BYTES, Tap, Visit

MOST_CALLS = 6  # in the era of the survey
_CALLS_BESIDE = 2  # in the other one
_MOST_REFUSED = 1  # of them is a request that was made to be refused
_LARGEST = 4 * 1024 * 1024  # bytes of an answer that is asked for once more
_SECONDS = 15.0  # for all of it
_EXCHANGE_SECONDS = 10.0

_MODES = {Era.HANDSHAKE: "legacy", Era.STATELESS: "auto"}  # auto: server/discover decides
_STOPPED = "the survey ended before it"


class OfficialClient:
    """The official client in one survey; `left_out` says why it was not asked although it was to be."""

    def __init__(self, process: ClientProcess | None, left_out: NotCalled | None) -> None:
        self._process = process
        self.found: Interop | None = None
        self.left_out = left_out

    async def visit(
        self,
        talk: Conversation,
        connection: Connection,
        recorder: Recorder,
        limits: Limits,
        made: Iterable[PlannedCall],
    ) -> None:
        """Let it connect, list and call; `made` are the calls that the survey made."""
        if self._process is None or talk.stopped:
            return
        if recorder.room < 2 * MOST_BYTES:
            self.left_out = NotCalled(
                INTEROP, "the answers so far take all the room that a survey has for them"
            )
            return
        visits = _visits(talk.session.era, recorder.exchanges(), list(made))
        costly = _costly(recorder.exchanges(), visits[:1])
        limits = replace(
            limits,
            request_timeout=min(limits.request_timeout, _EXCHANGE_SECONDS),
            max_response_bytes=min(limits.max_response_bytes, _LARGEST),
        )
        report = _Report(visits, recorder, costly)
        visits = [replace(v, calls=tuple(c for c in v.calls if c.subject not in costly)) for v in visits]
        self.left_out = None
        try:
            with anyio.move_on_after(_SECONDS) as scope:
                async with AsyncExitStack() as stack:
                    cookies = CookieStore()
                    lanes = [
                        await stack.enter_async_context(Lane(connection, cookies))
                        for _ in range(limits.concurrency)
                    ]
                    tap = Tap(talk.beside(talk.credentials, limits=limits), visits, lanes)
                    port = await stack.enter_async_context(tap.listening())
                    told = self._process.work(_job(visits, tap, port), tap.is_busy)
                    async for event in await stack.enter_async_context(aclosing(told)):
                        report.hear(event)
                    report.close(tap)
            if scope.cancelled_caught:
                report.lose(f"{_SECONDS:g} s were not enough for all that the official client was to do")
        except ClientFailure as failure:
            report.lose(str(failure))
        finally:
            report.lose(_STOPPED)
            self.found = report.interop()


@asynccontextmanager
async def official_client(request: PlanRequest, secrets: Iterable[str]) -> AsyncIterator[OfficialClient]:
    """Start the client where it is wanted and there is one; it is ended with the block."""
    async with AsyncExitStack() as stack:
        process, wanted = None, request.interop and request.probes
        why = why_not() if wanted else ""
        if wanted and not why:
            try:
                process = await stack.enter_async_context(started(secrets))
            except OSError as error:
                why = f"the official client's process did not start: {error.strerror or error}"
        yield OfficialClient(process, NotCalled(INTEROP, why or _STOPPED) if wanted else None)


class _Report:
    """What is known of each step."""

    def __init__(self, visits: Sequence[Visit], recorder: Recorder, costly: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._version = ""
        self._fell_silent = False
        self._first = {f"{v.prefix}/{CONNECT}": f"{v.prefix}/{FIRST[v.era]}" for v in visits}
        self._steps: dict[str, ClientStep | None] = {}
        self._eras: dict[str, Era] = {}
        for visit in visits:
            for name in (CONNECT, LIST, *(call.subject for call in visit.calls)):
                self._steps[f"{visit.prefix}/{name}"] = None
                self._eras[f"{visit.prefix}/{name}"] = visit.era
            for call in visit.calls:
                if why := costly.get(call.subject):
                    step = f"{visit.prefix}/{call.subject}"
                    self._steps[step] = ClientStep(step, visit.era, skipped=why)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take what the client's process said."""
        if isinstance(event.get("version"), str):
            self._version = event["version"][:40]
        self._fell_silent |= "tick" in event
        step = event.get("step")
        if not isinstance(step, str) or step not in self._steps or self._steps[step] is not None:
            return
        told = ClientStep(step, self._eras[step])
        clean = self._recorder.redactor.text
        if isinstance(event.get("reading"), str):
            told = replace(told, reading=clean(event["reading"]))
        else:
            code, places = event.get("code"), event.get("places")
            told = replace(
                told,
                raised=clean(str(event.get("raised", ""))[:1000]) or "Exception",
                code=code if type(code) is int else None,
                places=tuple(clean(str(place)) for place in places[:10]) if isinstance(places, list) else (),
            )
        self._steps[step] = told

    def close(self, tap: Tap) -> None:
        """Say what became of steps that the client, when it was done or said no more, had not spoken of."""
        if tap.full:
            self._steps = {
                step: told if told and told.reading else None for step, told in self._steps.items()
            }
            self.lose("it asked for more than one survey sends and reads")
        for step in self._open():
            told = ClientStep(step, self._eras[step])
            if not tap.was_asked(self._first.get(step, step)):
                self._steps[step] = replace(told, skipped="the official client never came to it")
            elif self._fell_silent:
                self._steps[step] = replace(told, silent=True)
        self.lose("the official client's process ended without a word about it")

    def lose(self, why: str) -> None:
        """Say of all other steps that nobody knows what became of them."""
        for step in self._open():
            self._steps[step] = ClientStep(step, self._eras[step], lost=why)

    def interop(self) -> Interop:
        """Return all of it."""
        return Interop(self._version, tuple(step for step in self._steps.values() if step is not None))

    def _open(self) -> list[str]:
        return [step for step, told in self._steps.items() if told is None]


def _job(visits: Sequence[Visit], tap: Tap, port: int) -> dict[str, Any]:
    return {
        "eras": [
            {
                "era": visit.era,
                "mode": _MODES[visit.era],
                # In any other version it would be the other era once more.
                "only": STATELESS_REVISION if visit.era is Era.STATELESS else None,
                "prefix": visit.prefix,
                "url": tap.url_of(visit, port),
                "calls": [
                    {"step": call.subject, "tool": call.tool, "arguments": call.arguments}
                    for call in visit.calls
                ],
            }
            for visit in visits
        ]
    }


def _visits(own: Era, exchanges: Sequence[Exchange], made: Sequence[PlannedCall]) -> list[Visit]:
    """Return a visit for each era that the server serves: that of the survey first, and with more calls."""
    calls = _calls(exchanges, made)
    served = {Era.HANDSHAKE: False, Era.STATELESS: False}
    for exchange in exchanges:
        result = read(exchange).result if exchange.kind in (Kind.INITIALIZE, Kind.DISCOVER) else None
        if exchange.kind is Kind.INITIALIZE and result is not None:
            served[Era.HANDSHAKE] |= speaks(result.get("protocolVersion")) is not None
        elif exchange.kind is Kind.DISCOVER:
            served[Era.STATELESS] |= serves_stateless(result)
    return [
        Visit(era, tuple(calls if era is own else calls[:_CALLS_BESIDE]))
        for era in sorted(Era, key=lambda era: era is not own)
        if served[era]
    ]


def _calls(exchanges: Sequence[Exchange], made: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Return the reads to make once more: samples, and one that was made to be refused."""
    answered = {
        exchange.subject
        for exchange in exchanges
        if exchange.kind is Kind.CALL
        and exchange.end is End.COMPLETE
        and exchange.response is not None
        and len(exchange.response.body) <= _LARGEST
        and not exchange.retried
    }
    reads = [call for call in made if not call.mutating and call.subject in answered]
    # That of another task before that of the one which every client asks first.
    bad = sorted(
        (call for call in reads if call.purpose is Purpose.BAD), key=lambda call: call.tool == CAPABILITIES
    )[:_MOST_REFUSED]
    good: dict[str, PlannedCall] = {}
    for call in reads:
        if call.is_good:
            good.setdefault(call.tool, call)
    return [*list(good.values())[: MOST_CALLS - len(bad)], *bad]


def _costly(exchanges: Sequence[Exchange], visits: Sequence[Visit]) -> dict[str, str]:
    """Return of which calls the client, which judges results by outputSchema, might come to no end, and why."""
    tools: dict[str, Mapping[str, Any]] = {}
    results: dict[str, Mapping[str, Any]] = {}
    wanted = {call.subject for visit in visits for call in visit.calls}
    for exchange in exchanges:
        if exchange.kind is Kind.LIST:
            listed = [tool for tool in list_page(read(exchange)) or [] if isinstance(tool, Mapping)]
            tools |= {tool["name"]: tool for tool in listed if isinstance(tool.get("name"), str)}
        elif exchange.kind is Kind.CALL and exchange.subject in wanted:
            results[exchange.subject] = read(exchange).result or {}
    schemas = OutputSchemas()
    found = {
        call.subject: schemas.why_not(
            tools.get(call.tool, {}).get("outputSchema"), results[call.subject].get("structuredContent")
        )
        for visit in visits
        for call in visit.calls
        if call.subject in results
    }
    return {subject: f"the official client is not asked: {why}" for subject, why in found.items() if why}
