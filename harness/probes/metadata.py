"""OAuth discovery: the documents in which a server says who issues tokens for it (RFC 9728, RFC 8414).

Asked without credentials and at the target's own origin only, whatever a document or a challenge names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import anyio
from pytest_adcp.harness.challenges import challenges, named_metadata
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Outgoing
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import End, Exchange, Kind, Limits
from pytest_adcp.harness.urls import UrlError, origin, web_address
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .documents import RESOURCE, RESOURCE_NAMED, RESOURCE_ROOT, SERVER, SERVER_OPENID, listed_server, served

MOST = 4  # requests
MAX_BYTES = 256 * 1024  # of a document

_WELL_KNOWN = "/.well-known"
_SECONDS = 5.0


def is_at(url: str, place: str) -> bool:
    """Whether a URL, which may be anything, has the origin of another."""
    try:
        web_address(url)
    except UrlError:
        return False
    return origin(url) == origin(place)


@asynccontextmanager
async def discovery(
    talk: Conversation, connection: Connection, target: Target, limits: Limits
) -> AsyncIterator[Discovery]:
    """Make a Discovery with a connection of its own, which has neither credentials nor cookies."""
    limits = replace(limits, max_response_bytes=min(MAX_BYTES, limits.max_response_bytes))
    async with Lane(connection, CookieStore()) as lane:
        yield Discovery(talk.beside((), limits=limits), lane, target)


class Discovery:
    """Asks for the documents of one target, one after the other, and a few times at most."""

    def __init__(self, talk: Conversation, lane: Lane, target: Target) -> None:
        """Prepare; `talk` sends no credentials, and `lane` has no cookies."""
        self._talk = talk
        self._lane = lane
        self._target = target
        self._asked: set[str] = set()
        self._left = MOST
        self._knows_server = False
        self._looking = anyio.CancelScope()

    async def look(self) -> None:
        """Ask in the well-known places, in five seconds at most."""
        with self._looking:
            self.hurry(_SECONDS)
            await self._look()
        await self._lane.rest()

    def hurry(self, seconds: float) -> None:
        """Leave `look` no more than so many seconds from now."""
        self._looking.deadline = min(self._looking.deadline, anyio.current_time() + seconds)

    async def _look(self) -> None:
        path = urlsplit(self._target.url).path.rstrip("/")
        place = f"{self._target.origin}{_WELL_KNOWN}/oauth-protected-resource"
        found = await self._ask(RESOURCE if path else RESOURCE_ROOT, place + path)
        if found is None and path:
            found = await self._ask(RESOURCE_ROOT, place)
        await self._look_for_server(found)

    async def follow(self, exchanges: Iterable[Exchange]) -> None:
        """Ask where the challenges among these exchanges say that the document is, in as many seconds."""
        with anyio.move_on_after(_SECONDS):
            await self._follow(exchanges)

    async def _follow(self, exchanges: Iterable[Exchange]) -> None:
        for exchange in exchanges:
            response = exchange.response
            if response is None or response.status != 401:
                continue
            for url in (url for value in challenges(response) for url in named_metadata(value)):
                if url not in self._asked and is_at(url, self._target.url):
                    await self._look_for_server(await self._ask(RESOURCE_NAMED, url))

    async def _look_for_server(self, resource: Mapping[str, Any] | None) -> None:
        issuer = listed_server(resource) if resource is not None else None
        if issuer is None or self._knows_server or not is_at(issuer, self._target.url):
            return
        self._knows_server = True
        path = urlsplit(issuer).path.rstrip("/")
        place = f"{self._target.origin}{_WELL_KNOWN}/oauth-authorization-server{path}"
        if await self._ask(SERVER, place) is None:
            # OpenID Connect appends where RFC 8414 inserts.
            await self._ask(SERVER_OPENID, f"{self._target.origin}{path}{_WELL_KNOWN}/openid-configuration")

    async def _ask(self, subject: str, url: str) -> Mapping[str, Any] | None:
        if not self._left:
            return None
        self._left -= 1
        self._asked.add(url)
        exchange = await self._talk.look(
            self._lane,
            (Phase.METADATA, MOST - self._left),
            "GET",
            url,
            Outgoing((("Accept", "application/json"),), b""),
            kind=Kind.METADATA,
            subject=subject,
        )
        if exchange.end is not End.COMPLETE:
            self._left = 0  # what cannot be reached is not asked again
        return served(exchange)
