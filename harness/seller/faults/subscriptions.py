"""Faults of subscriptions/listen, in MCP 2026-07-28."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness.seller import rpc, sse
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.rpc import Json
from pytest_adcp.harness.seller.stateless import PREFIX, claims

from .model import breaking, on_method
from .stateless import ONLY

SECONDS = 0.05  # between comments of a stream on which nothing has to be said
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
ID = f"{PREFIX}subscriptionId"


def _declaring(result: Json) -> Json:
    return {**result, "capabilities": {**result["capabilities"], "tools": {"listChanged": True}}}


DECLARED = on_method("server/discover", _declaring).message


def _served(*methods: str, number: Any = None, notifications: Any = None) -> Hooks:
    """Declare that the list of tools may change, and tell this on subscriptions/listen.

    Args:
        number: the subscriptionId; the request's id where None.
        notifications: what the acknowledgement agrees to; what was asked for where None.
    """

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if exchange.method != "subscriptions/listen" or not claims(exchange):
            await wire.send(await answer(exchange))
            return
        asked = exchange.params.get("notifications", {})
        meta = {ID: exchange.id if number is None else number}
        events = b""
        for method in methods:
            params: Json = {"_meta": meta}
            if method == ACKNOWLEDGED:
                params["notifications"] = asked if notifications is None else notifications
            events += sse.event(rpc.encode({"jsonrpc": "2.0", "method": method, "params": params}))
        await wire.send(Reply(HTTPStatus.OK, sse.HEADERS, stream=_open(events)))

    return Hooks(message=DECLARED, http=hook)


async def _open(events: bytes) -> AsyncGenerator[bytes, None]:
    yield events or b": open\n\n"
    while True:  # fails when nobody listens any more
        await asyncio.sleep(SECONDS)
        yield b": still here\n\n"


def _at_once() -> Hooks:
    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if exchange.method != "subscriptions/listen" or not claims(exchange):
            await wire.send(await answer(exchange))
            return
        body = rpc.encode(rpc.result(exchange.id, {"resultType": "complete"}))
        await wire.send(Reply(HTTPStatus.OK, (("Content-Type", "application/json"),), body))

    return Hooks(message=DECLARED, http=hook)


FIRST = "mcp.sse.subscription-acknowledged"
IDS = "mcp.sse.subscription-id"
OPTED_IN = "mcp.sse.subscription-opted-in"

FAULTS = (
    breaking(
        "subscription-refused",
        "server/discover declares listChanged, and there is no subscriptions/listen.",
        Hooks(message=DECLARED),
        advises="mcp.sse.subscription-served",
    ),
    breaking(
        "subscription-unacknowledged",
        "A subscription begins with a change.",
        _served(TOOLS_CHANGED, ACKNOWLEDGED),
        FIRST,
    ),
    breaking("subscription-at-once", "subscriptions/listen gets a result at once.", _at_once(), FIRST),
    breaking(
        "subscription-silent",
        "The stream of a subscription opens and says nothing.",
        _served(),
        advises=FIRST,
        eras=ONLY,
    ),
    breaking(
        "subscription-unspecific",
        "The acknowledgement does not say what is subscribed to.",
        _served(ACKNOWLEDGED, notifications=[]),
        FIRST,
        eras=ONLY,
    ),
    breaking(
        "subscription-id",
        "Notifications carry another subscriptionId.",
        _served(ACKNOWLEDGED, TOOLS_CHANGED, number="of-another"),
        IDS,
    ),
    breaking(
        "subscription-more",
        "A subscription tells what was not asked for.",
        _served(ACKNOWLEDGED, PROMPTS_CHANGED),
        OPTED_IN,
        eras=ONLY,
    ),
    breaking(
        "subscription-agrees-to-more",
        "The acknowledgement agrees to what was not asked for.",
        _served(ACKNOWLEDGED, notifications={"toolsListChanged": True, "promptsListChanged": True}),
        OPTED_IN,
    ),
    # Legal variants, which no client may stumble over.
    breaking(
        "subscription",
        "A subscription is acknowledged, and tells of a change.",
        _served(ACKNOWLEDGED, TOOLS_CHANGED),
    ),
    breaking(
        "subscription-to-less",
        "The acknowledgement agrees to nothing that was asked for.",
        _served(ACKNOWLEDGED, notifications={}),
        eras=ONLY,
    ),
)
