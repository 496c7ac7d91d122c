"""The user interfaces of a server as rules judge them: what its tools and its list say of each, and what two reads gave.

Views are large, and a server may have many: one at a time is read from the transcript, and only what counts is kept of it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .jsontext import pointer
from .markup import Markup, ParserMissingError, read_markup
from .reading import no_answer, read, why_no_response
from .rules import Judged
from .subjects import App, Entry, Gap, Handshake, ListedTool, Result, Subject
from .text import quote
from .transcript import End, Exchange, Kind
from .ui import SCHEME, interface, link

if TYPE_CHECKING:
    from .evidence import Evidence

# How the exchanges of one survey are called.
LIST = "resources/list/page-"
READ = "view/"
AGAIN = "/again"
SCRIPT = "view-script/"

_MOST_LISTED = 1000
_MOST_ITEMS = 20
_NOT_READ = "it was not read: a survey reads so many views at most, and for so long"
_NO_SURVEY = (
    "the survey did not read what its tools show; record it again with --adcp-profile=core,connected-apps"
)


@dataclass(frozen=True, slots=True)
class Item:
    """A content item of a resources/read, without its body."""

    value: Mapping[str, Any]  # its other members
    index: int
    bodies: tuple[str, ...]  # which of `text` and `blob` it has
    problem: str  # why there are no bytes in it
    size: int  # decoded bytes
    digest: str  # of these
    shows_session: bool  # the session id stands in it

    def at(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in it."""
        return "/result" + pointer("contents", self.index, *tokens)


@dataclass(frozen=True, slots=True)
class Resource:
    """What one resources/read gave."""

    exchange: Exchange
    unanswered: str = ""  # why it gives no verdict
    error: str = ""  # what came instead of contents, quoted
    count: int = 0  # content items
    item: Item | None = None  # the one with the URI that was asked for; else the only one
    is_other: bool = False  # it has another URI
    html: str | None = field(default=None, repr=False)

    @property
    def too_large(self) -> bool:
        """Whether it is larger than what is read of one view."""
        return self.exchange.end is End.TOO_LARGE


@dataclass(frozen=True)
class View(Subject):
    """One user interface."""

    exchange: Exchange
    uri: str
    tools: tuple[ListedTool, ...]  # that name it
    results: tuple[Result, ...]  # what these tools gave
    listed: Mapping[str, Any]  # its entry in resources/list; empty where it has none
    listed_at: str
    declared: bool  # the server declares the capability `resources`
    first: Resource
    again: Resource | None
    markup: Markup | None
    unparsed: str  # why there is none
    scripts: Mapping[str, Exchange]  # those that were fetched, by URL as it is shown
    all_bytes: int | None = None  # of all views, where this is the first of them

    @property
    def item(self) -> Item | None:
        """The content item that the first read gave."""
        return self.first.item

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """Its `_meta.ui`: of the content item, and what that does not have from the list."""
        own = interface(self.item.value) if self.item else {}
        return {**interface(self.listed), **own}

    @property
    def metadata_at(self) -> str:
        """Where that stands, or would."""
        return self.item.at("_meta", "ui") if self.item else "/result"

    def allowed(self, key: str, *other: str) -> tuple[str, ...]:
        """Return the entries of a list of the CSP metadata; `other` are further spellings of its key."""
        csp = self.metadata.get("csp")
        found = [csp.get(name) for name in (key, *other)] if isinstance(csp, Mapping) else []
        return tuple(
            entry.strip()
            for entries in found
            if isinstance(entries, list)
            for entry in entries
            if isinstance(entry, str)
        )


def resource(exchange: Exchange, uri: str) -> Resource:
    """Read the answer to a resources/read."""
    if why := no_answer(exchange):
        return Resource(exchange, unanswered=why)
    reading = read(exchange)
    if reading.response is None:
        reasons = [document.parsed.error for document in reading.documents if document.parsed.error]
        return Resource(exchange, unanswered=f"{why_no_response(exchange)} {'; '.join(reasons[:1])}".strip())
    result = reading.result
    contents = result.get("contents") if result is not None else None
    items = [item for item in contents if isinstance(item, Mapping)] if isinstance(contents, list) else []
    if result is None or not items:
        return Resource(
            exchange, error=quote(reading.response.get("error", reading.response.get("result")), 200)
        )
    same = [item for item in items[:_MOST_ITEMS] if item.get("uri") == uri]
    chosen = same[0] if same else items[0] if len(items) == 1 else None
    if chosen is None:
        return Resource(exchange, count=len(items))
    index = next(number for number, item in enumerate(contents or ()) if item is chosen)
    item, html = _item(chosen, index, exchange)
    return Resource(exchange, count=len(items), item=item, is_other=not same, html=html)


def _item(value: Mapping[str, Any], index: int, exchange: Exchange) -> tuple[Item, str | None]:
    bodies = tuple(name for name in ("text", "blob") if name in value)
    data, problem = b"", ""
    if len(bodies) != 1:
        problem = "it has both text and blob" if bodies else "it has neither text nor blob"
    elif not isinstance(value[bodies[0]], str):
        problem = f"its {bodies[0]} is no string"
    elif bodies[0] == "text":
        data = value["text"].encode("utf-8", "replace")
    else:
        try:
            data = base64.b64decode("".join(value["blob"].split()), validate=True)
        except (binascii.Error, ValueError):
            problem = "its blob is not base64"
    session = next((v for name, v in exchange.request.headers if name.lower() == "mcp-session-id"), "")
    item = Item(
        {name: member for name, member in value.items() if name not in ("text", "blob")},
        index,
        bodies,
        problem,
        len(data),
        hashlib.sha256(data).hexdigest(),
        len(session) >= 8 and session.encode("utf-8", "replace") in data,
    )
    return item, None if problem else data.decode("utf-8", "replace")


def views_of(evidence: Evidence) -> Iterator[Entry]:
    """Yield every view that a tool names or the server lists; the first one knows the size of all."""
    views = list(_views(evidence))
    total = sum(view.item.size for view in views if isinstance(view, View) and view.item)
    for view in views:
        if isinstance(view, View):
            yield replace(view, all_bytes=total)
            total = None  # type: ignore[assignment]
        else:
            yield view


def _views(evidence: Evidence) -> Iterator[Entry]:
    tools: dict[str, list[ListedTool]] = {}
    for app in evidence.entries(Judged.APP):
        for tool in app.tools if isinstance(app, App) else ():
            if (uri := link(tool.value)) is not None:
                tools.setdefault(uri, []).append(tool)
    exchanges = [e for e in evidence.transcript.exchanges if e.kind is Kind.VIEW and not e.retried]
    listed = _listed(exchanges)
    reads, scripts = _reads(evidence, exchanges)
    results: dict[str, list[Result]] = {}
    if tools:
        for entry in evidence.entries(Judged.RESULT):
            if isinstance(entry, Result):
                results.setdefault(entry.tool, []).append(entry)
    opened = [*evidence.entries(Judged.HANDSHAKE), *evidence.entries(Judged.DISCOVERY)]
    results_of_opening = [entry.result for entry in opened if isinstance(entry, Handshake)]
    declared = results_of_opening[0].get("capabilities") if results_of_opening else None
    for uri in dict.fromkeys((*tools, *listed)):
        label = uri[:120]
        if uri not in reads:
            yield Gap(label, _NOT_READ if exchanges else _NO_SURVEY, blocked=not exchanges)
            continue
        first, *more = reads[uri]
        in_list, place = listed.get(uri, ({}, ""))
        found = resource(first, uri)
        markup, unparsed = _markup(found)
        yield View(
            label=label,
            exchange=first,
            server=evidence.server,
            revision=evidence.revision_of(first),
            uri=uri,
            tools=tuple(tools.get(uri, ())),
            results=tuple(result for tool in tools.get(uri, ()) for result in results.get(tool.name, ())),
            listed=in_list,
            listed_at=place,
            declared=not isinstance(declared, Mapping) or "resources" in declared,
            first=replace(found, html=None),
            again=replace(resource(more[0], uri), html=None) if more else None,
            markup=markup,
            unparsed=unparsed,
            scripts=scripts,
        )


def _reads(
    evidence: Evidence, exchanges: list[Exchange]
) -> tuple[Mapping[str, list[Exchange]], Mapping[str, Exchange]]:
    """Return what was read, by URI, and the scripts that were fetched, by URL."""
    reads: dict[str, list[Exchange]] = {}
    scripts: dict[str, Exchange] = {}
    for exchange in exchanges:
        params = evidence.readings[exchange.index].sent.get("params")
        if exchange.subject.startswith(SCRIPT):
            scripts[exchange.request.url] = exchange
        elif exchange.subject.startswith(READ) and isinstance(params, Mapping):
            reads.setdefault(str(params.get("uri")), []).append(exchange)
    return reads, scripts


def _listed(exchanges: list[Exchange]) -> Mapping[str, tuple[Mapping[str, Any], str]]:
    """Return the entries of resources/list under ui://, and the pointer of each."""
    found: dict[str, tuple[Mapping[str, Any], str]] = {}
    for exchange in exchanges:
        if not exchange.subject.startswith(LIST):
            continue
        entries = (read(exchange).result or {}).get("resources")
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            uri = entry.get("uri") if isinstance(entry, Mapping) else None
            if isinstance(uri, str) and uri.startswith(SCHEME) and len(found) < _MOST_LISTED:
                found.setdefault(uri, (entry, "/result" + pointer("resources", index)))
    return found


def _markup(found: Resource) -> tuple[Markup | None, str]:
    if found.html is None:
        return None, "no view came"
    try:
        return read_markup(found.html), ""
    except (ParserMissingError, ValueError) as error:
        return None, str(error)
