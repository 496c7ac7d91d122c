"""The streams of a session: one that a client holds open with GET, beside a call whose stream is read to its end.

Both have a session of their own where the server opens sessions: one that sends answers to the GET stream may send those of
other calls there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import anyio
import anyio.abc
from pytest_adcp.harness.calls import NotCalled, PlannedCall
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.tasks import CAPABILITIES
from pytest_adcp.harness.transcript import Era, Kind, Limits
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

STREAMS = "probe/streams"  # how the report names what is sent here
LISTEN = "streams/listen"
CALL = "streams/call"
CLOSING_LINGER = 2.0  # seconds that the call's stream is read on
PROGRESS_TOKEN = "adcp-streams"  # noqa: S105 - a progressToken, no credential

_FIRST = 100  # place among the probes
_OPENING = 1.0  # seconds for the headers of the GET stream; the call is made without them too
_SECONDS = 5.0  # for the call
_BESIDE = 0.25  # that the GET stream is read on when the call has been answered: what belongs to neither may be on its way
_CLOSING = 5.0  # for the DELETE, also when the run is interrupted


def call_of(calls: Iterable[PlannedCall]) -> PlannedCall | None:
    """Return the read to make, the one that asks for capabilities if there is one; None where no read is planned."""
    reads = [c for c in calls if c.is_plain_read]
    return min(reads, key=lambda call: call.tool != CAPABILITIES, default=None)


async def send(
    talk: Conversation,
    target: Target,
    connection: Connection,
    limits: Limits,
    calls: Iterable[PlannedCall],
    *,
    alone: bool,
) -> NotCalled | None:
    """Make a call and read its stream on; `alone`: hold no other open beside it. Return why, where nothing is sent."""
    call = call_of(calls)
    if call is None or talk.stopped:
        return NotCalled(STREAMS, "no read is called" if call is None else "the survey ended before it")
    caller = talk.beside(talk.credentials)
    session = caller.session = talk.session
    cookies = CookieStore()
    async with Lane(connection, cookies) as lane, Lane(connection, cookies) as listening:
        own = session.session_id is not None
        if own and not await _open(caller, lane):
            return NotCalled(STREAMS, "the server opened no second session, in which this is tried")
        session = caller.session
        limits = replace(limits, request_timeout=min(_SECONDS, limits.request_timeout) + CLOSING_LINGER)
        reader = talk.beside(talk.credentials, limits=limits, linger=CLOSING_LINGER)
        try:
            async with anyio.create_task_group() as group:
                listens = session.era is Era.HANDSHAKE and not alone
                if listens:
                    listens = await _listen(group, caller, listening, target.url)
                await _call(reader, lane, session, call)
                if listens:
                    await anyio.sleep(_BESIDE)
                group.cancel_scope.cancel()
        finally:
            if own:
                with anyio.move_on_after(_CLOSING, shield=True):
                    await caller.close(lane, (Phase.PROBES, _FIRST + 4), Kind.STREAM, "streams/delete")
    return None


async def _open(caller: Conversation, lane: Lane) -> bool:
    """Open a session; False where there is none to be had."""
    session = Session(Era.HANDSHAKE)
    said = await caller.ask(
        lane,
        (Phase.PROBES, _FIRST),
        lambda session, number: session.initialize(number),
        kind=Kind.STREAM,
        subject="streams/session",
        session=session,
    )
    if not caller.adopt(session, said):
        return False
    await caller.ask(
        lane,
        (Phase.PROBES, _FIRST + 1),
        lambda session, _: session.initialized(),
        kind=Kind.STREAM,
        subject="streams/initialized",
        session=session,
    )
    return True


async def _listen(group: anyio.abc.TaskGroup, caller: Conversation, lane: Lane, url: str) -> bool:
    """Open the GET stream, to be ended with the group; return whether it is open when that is known."""
    opened, ended = anyio.Event(), anyio.Event()

    async def listen() -> None:
        message = Outgoing((("Accept", "text/event-stream"), *caller.session.closing()), b"")
        await caller.look(
            lane,
            (Phase.PROBES, _FIRST + 2),
            "GET",
            url,
            message,
            kind=Kind.STREAM,
            subject=LISTEN,
            era=Era.HANDSHAKE,
            opened=opened.set,
        )
        ended.set()
        opened.set()

    group.start_soon(listen)
    with anyio.move_on_after(_OPENING):
        await opened.wait()
    return not ended.is_set()


async def _call(reader: Conversation, lane: Lane, session: Session, call: PlannedCall) -> None:
    params = {
        "name": call.tool,
        "arguments": dict(call.arguments),
        "_meta": {"progressToken": PROGRESS_TOKEN},
    }
    await reader.ask(
        lane,
        (Phase.PROBES, _FIRST + 3),
        lambda session, number: session.request(number, "tools/call", params),
        kind=Kind.STREAM,
        subject=CALL,
        session=session,
    )
