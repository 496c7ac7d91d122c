"""What is sent beside the calls to try the transport itself."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from pytest_adcp.harness.calls import NotCalled, PlannedCall
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Exchange, Limits
from pytest_adcp.harness.wire import Connection

from . import stateless, streams, subscriptions


async def send(
    talk: Conversation,
    target: Target,
    connection: Connection,
    limits: Limits,
    calls: Sequence[PlannedCall],
    recorded: Sequence[Exchange],
    *,
    alone: bool,
) -> list[NotCalled]:
    """Try streams and the stateless era, at the same time unless `alone`; return what was left out, and why.

    Args:
        recorded: the exchanges so far, server/discover among them.
    """
    left_out: list[NotCalled | None] = []

    async def read_on() -> None:
        left_out.append(await streams.send(talk, target, connection, limits, calls, alone=alone))

    async def vary() -> None:
        left_out.append(await stateless.send(talk, connection, recorded, calls))
        left_out.append(await subscriptions.send(talk, target, connection, limits, recorded))

    if alone:
        await read_on()
        await vary()
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(read_on)
            group.start_soon(vary)
    return [item for item in left_out if item is not None]
