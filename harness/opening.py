"""The first words of a survey: both eras of MCP are offered at once."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from .conversation import Conversation, Said
from .diagnosis import diagnose, look_around
from .recorder import Phase
from .session import STATELESS_REVISION, Session
from .target import Target
from .transcript import Diagnosis, Era, Kind
from .wire import Lane


async def open_session(talk: Conversation, lanes: Sequence[Lane], target: Target) -> Diagnosis | None:
    """Start a session in the handshake era where it is offered, else go on without one; return why neither is possible."""
    heard: dict[Kind, Said] = {}
    handshake = Session(Era.HANDSHAKE, capabilities=talk.capabilities)
    stateless = Session(Era.STATELESS, capabilities=talk.capabilities)

    async def initialize(lane: Lane) -> None:
        heard[Kind.INITIALIZE] = await talk.ask(
            lane,
            (Phase.HANDSHAKE, 0),
            lambda session, number: session.initialize(number),
            kind=Kind.INITIALIZE,
            subject="initialize",
            session=handshake,
        )

    async def discover(lane: Lane) -> None:
        heard[Kind.DISCOVER] = await talk.ask(
            lane,
            (Phase.HANDSHAKE, 1),
            lambda session, number: session.request(number, "server/discover"),
            kind=Kind.DISCOVER,
            subject="server/discover",
            session=stateless,
        )

    if len(lanes) > 1:
        async with anyio.create_task_group() as group:
            group.start_soon(initialize, lanes[0])
            group.start_soon(discover, lanes[1])
    else:
        await initialize(lanes[0])
        await discover(lanes[0])
    if talk.adopt(handshake, heard[Kind.INITIALIZE]):
        await talk.notify(lanes[0], (Phase.INITIALIZED, 0), handshake)
    elif _serves_stateless(heard[Kind.DISCOVER]):
        talk.session = stateless
    else:
        seen = await look_around(talk, lanes[0], target, heard[Kind.INITIALIZE].exchange)
        return diagnose(target, heard[Kind.INITIALIZE], seen)
    return None


def _serves_stateless(said: Said) -> bool:
    result = said.reading.result
    versions = result.get("supportedVersions") if result is not None else None
    return isinstance(versions, list) and STATELESS_REVISION in versions
