"""Exchanges for tests, from synchronous code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from pytest_adcp.harness.transcript import Limits
from pytest_adcp.harness.wire import Connection, CookieStore, Lane, Sent, send

T = TypeVar("T")

STRAIGHT = Connection()
LIMITS = Limits()


async def post(lane: Lane, url: str, **options: Any) -> Sent:
    """POST `{}` over a lane, with two seconds to go, unless the options say otherwise."""
    options = {"method": "POST", "headers": (), "body": b"{}", "deadline": 2.0, "limits": LIMITS} | options
    method, headers, body = (options.pop(name) for name in ("method", "headers", "body"))
    return await send(lane, method, url, headers, body, **options)


def on_a_lane(work: Callable[[Lane], Awaitable[T]], connection: Connection = STRAIGHT) -> T:
    """Run asynchronous work with a lane of its own."""

    async def main() -> T:
        async with Lane(connection, CookieStore()) as lane:
            return await work(lane)

    return anyio.run(main)


def exchange(url: str, *, connection: Connection = STRAIGHT, **options: Any) -> Sent:
    """Make one exchange on a lane of its own."""
    return on_a_lane(lambda lane: post(lane, url, **options), connection)


def exchanges(url: str, count: int, *, connection: Connection = STRAIGHT, **options: Any) -> list[Sent]:
    """Make some exchanges, one after the other on one lane."""

    async def work(lane: Lane) -> list[Sent]:
        return [await post(lane, url, **options) for _ in range(count)]

    return on_a_lane(work, connection)
