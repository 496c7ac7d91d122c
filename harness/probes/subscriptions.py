"""A stream of changes, as MCP 2026-07-28 has it: opened where server/discover declares some, read for a moment, closed by us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.calls import NotCalled
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.reading import read
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Era, Exchange, Kind, Limits
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .stateless import serves_stateless

SUBSCRIPTION = "streams/subscription"
METHOD = "subscriptions/listen"
NOTHING_DECLARED = "server/discover declares no listChanged, so there is nothing to listen to"

_PLACE = 300  # among the probes
_SECONDS = 3.0  # for the acknowledgement
_LINGER = 0.5  # seconds that the stream is read on after it


def asked_for(result: Mapping[str, Any] | None) -> Mapping[str, bool]:
    """Return the `notifications` to ask for: the changes of lists that a result of server/discover declares."""
    capabilities = (result or {}).get("capabilities")
    declared = capabilities if isinstance(capabilities, Mapping) else {}
    kinds = ((kind, declared.get(kind)) for kind in ("tools", "prompts", "resources"))
    return {
        f"{kind}ListChanged": True
        for kind, found in kinds
        if isinstance(found, Mapping) and found.get("listChanged") is True
    }


async def send(
    talk: Conversation,
    target: Target,
    connection: Connection,
    limits: Limits,
    exchanges: Iterable[Exchange],
) -> NotCalled | None:
    """Listen until the first message and a little longer; return why not, where the server declares what to listen to.

    Args:
        exchanges: the recorded ones, server/discover among them.
    """
    discovered = [read(exchange).result for exchange in exchanges if exchange.kind is Kind.DISCOVER]
    result = next((result for result in discovered if serves_stateless(result)), None)
    notifications = asked_for(result)
    if not notifications:
        return None
    if talk.stopped:
        return NotCalled(SUBSCRIPTION, "the survey ended before it")
    short = replace(limits, request_timeout=min(_SECONDS, limits.request_timeout))
    caller = talk.beside(talk.credentials, limits=short, linger=_LINGER)
    message = Session(Era.STATELESS).request(caller.next_id(), METHOD, {"notifications": dict(notifications)})
    async with Lane(connection, CookieStore()) as lane:
        await caller.look(
            lane,
            (Phase.PROBES, _PLACE),
            "POST",
            target.url,
            message,
            until=lambda event: bool(event.data),
            kind=Kind.STREAM,
            subject=SUBSCRIPTION,
            era=Era.STATELESS,
        )
    return None
