"""The user interfaces of a server (MCP Apps): read the way a platform takes them in, before any tool is called.

Asked for is what a tool names as its user interface, and what the server lists under ui://; nothing else. Each is read
twice, all of them once before any of them again. Scripts on other hosts are fetched only where the user says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.markup import ParserMissingError, Script, read_markup
from pytest_adcp.harness.reading import read
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Outgoing
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Exchange, Kind, Limits
from pytest_adcp.harness.ui import SCHEME, link
from pytest_adcp.harness.urls import UrlError, is_loopback, web_address
from pytest_adcp.harness.views import AGAIN, LIST, READ, SCRIPT, resource
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .http import declared_in

MOST_VIEWS = 50
MOST_SCRIPTS = 20
MAX_BYTES = 32 * 1024 * 1024  # of one answer: 15 MiB are over 20 MiB as base64
MAX_SCRIPT_BYTES = 8 * 1024 * 1024
LONGEST_URI = 2048  # characters
SANDBOX = "https://scf.usercontent.goog"  # the origin in which the platform shows a view

_SECONDS = 60.0  # for all views, and again for all scripts
_PAGES = 20
_AFTER_THE_PAGES = 1000  # in the transcript views stand behind the pages of tools/list


async def read_views(
    talk: Conversation,
    lane: Lane,
    target: Target,
    connection: Connection,
    tools: Sequence[Mapping[str, Any]],
    limits: Limits,
    before: Iterable[Exchange],
    *,
    third_party: bool,
) -> None:
    """Read the user interfaces of a server, if it has any; everything goes into the transcript.

    Args:
        before: the exchanges that opened the conversation.
        third_party: whether other hosts may be asked for scripts.
    """
    reader = _Reader(talk, lane, limits)
    lists = "resources" in declared_in(before)
    with anyio.move_on_after(min(_SECONDS, limits.survey_timeout / 3)):
        await reader.read(tools, lists=lists)
    if third_party and reader.reads:
        with anyio.move_on_after(min(_SECONDS, limits.survey_timeout / 3)):
            await _fetch_scripts(talk, target, connection, reader.reads, limits)


class _Reader:
    def __init__(self, talk: Conversation, lane: Lane, limits: Limits) -> None:
        large = replace(limits, max_response_bytes=max(MAX_BYTES, limits.max_response_bytes))
        self._talk = talk.beside(talk.credentials, limits=large)
        self._talk.session, self._talk.capabilities = talk.session, talk.capabilities
        self._lane = lane
        self._count = 0
        self.reads: dict[str, Exchange] = {}

    async def read(self, tools: Sequence[Mapping[str, Any]], *, lists: bool) -> None:
        named = [uri for tool in tools if (uri := link(tool)) is not None]
        listed = await self._listed() if named or lists else []
        uris = [uri for uri in dict.fromkeys((*named, *listed)) if len(uri) <= LONGEST_URI][:MOST_VIEWS]
        for uri in uris:
            if self._talk.stopped:
                return
            self.reads[uri] = await self._ask("resources/read", {"uri": uri}, f"{READ}{len(self.reads) + 1}")
        for exchange, uri in zip(list(self.reads.values()), uris, strict=True):
            if self._talk.stopped:
                return
            await self._ask("resources/read", {"uri": uri}, f"{exchange.subject}{AGAIN}")

    async def _listed(self) -> list[str]:
        uris: list[str] = []
        cursor: str | None = None
        for page in range(1, _PAGES + 1):
            exchange = await self._ask(
                "resources/list", {} if cursor is None else {"cursor": cursor}, f"{LIST}{page}"
            )
            result = read(exchange).result or {}
            entries = result.get("resources")
            for entry in entries if isinstance(entries, list) else []:
                uri = entry.get("uri") if isinstance(entry, Mapping) else None
                if isinstance(uri, str) and uri.startswith(SCHEME):
                    uris.append(uri)
            following = result.get("nextCursor")
            if not isinstance(following, str) or following in ("", cursor) or self._talk.stopped:
                break
            cursor = following
        return uris

    async def _ask(self, method: str, params: Mapping[str, Any], subject: str) -> Exchange:
        self._count += 1
        said = await self._talk.ask(
            self._lane,
            (Phase.LIST, _AFTER_THE_PAGES + self._count),
            lambda session, number: session.request(number, method, params),
            kind=Kind.VIEW,
            subject=subject,
        )
        return said.exchange


async def _fetch_scripts(
    talk: Conversation,
    target: Target,
    connection: Connection,
    reads: Mapping[str, Exchange],
    limits: Limits,
) -> None:
    """Fetch the scripts that views take from other hosts: without credentials, cookies and client certificate."""
    urls: dict[str, None] = {}
    for uri, exchange in reads.items():
        scripts = await anyio.to_thread.run_sync(_scripts, exchange, uri)
        urls |= dict.fromkeys(address(script) for script in scripts if script.is_external)
    beside = talk.beside((), limits=replace(limits, max_response_bytes=MAX_SCRIPT_BYTES))
    aside = replace(
        connection,
        tls=None if connection.identified else connection.tls,
        identified=False,
        only_public=not is_loopback(urlsplit(target.url).hostname or ""),
    )
    async with Lane(aside, CookieStore()) as lane:
        for number, url in enumerate(list(urls)[:MOST_SCRIPTS], start=1):
            if talk.stopped or not _is_requestable(url):
                continue
            await beside.look(
                lane,
                (Phase.LIST, 2 * _AFTER_THE_PAGES + number),
                "GET",
                url,
                Outgoing((("Accept", "*/*"), ("Origin", SANDBOX)), b""),
                kind=Kind.VIEW,
                subject=f"{SCRIPT}{number}",
            )


def address(script: Script) -> str:
    """Return the URL of an external script with its scheme."""
    return f"https:{script.url}" if script.url.startswith("//") else script.url


def _scripts(exchange: Exchange, uri: str) -> Sequence[Script]:
    html = resource(exchange, uri).html
    try:
        return read_markup(html).scripts if html is not None else ()
    except (ParserMissingError, ValueError):
        return ()


def _is_requestable(url: str) -> bool:
    try:
        web_address(url)
    except UrlError:
        return False
    return "@" not in urlsplit(url).netloc
