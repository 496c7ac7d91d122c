"""One bounded HTTP exchange: whatever the server does, it ends in time, in bounds, and with a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import anyio

from .cookies import CookieStore
from .endpoint import Endpoint
from .http1 import Channel, Connection, Fault, Headers, encoded, open_channel
from .incoming import Incoming
from .redact import Redactor
from .sse import Event
from .text import plural, safe
from .transcript import End, Limits, Request, Response, Tls
from .urls import display_url

__all__ = ["Connection", "CookieStore", "Lane", "Sent", "send"]

MAX_REDIRECTS = 3
_DETAIL = 200  # characters
_REDIRECTS = frozenset({307, 308})  # the ones that keep method and body
_BODILESS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent and what came of it, as far as it came. Times are seconds since the exchange began.

    Credentials and cookies are redacted in both messages. `detail` says in plain words, on one safe line, why
    `end` is not COMPLETE, or what was odd about an exchange that is.
    """

    request: Request
    response: Response | None
    end: End
    detail: str = ""
    redirects: tuple[str, ...] = ()
    seconds: float = 0.0
    first_byte: float | None = None  # until the response's headers were there
    answered: float | None = None  # until the awaited event, or until the end of any other body


class Lane:
    """One connection that is kept alive between exchanges, which follow each other on it.

    Run as many lanes as there shall be exchanges at a time. The cookie store is shared by the lanes of a run.
    `tls` says how its first connection was secured.
    """

    def __init__(self, connection: Connection, cookies: CookieStore) -> None:
        self.cookies = cookies
        self.tls: Tls | None = None
        self._connection = connection
        self._idle: tuple[tuple[str, str, int], Channel] | None = None
        self._guard = anyio.ResourceGuard("sending on")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.rest()

    @property
    def proxied(self) -> bool:
        """Whether a proxy stands between."""
        return self._connection.proxy is not None

    async def take(self, endpoint: Endpoint, note: Callable[[str], None]) -> Channel:
        """Return the idle connection if it leads there and is still good, else a new one; raises Fault."""
        if self._idle is not None:
            origin, channel = self._idle
            if origin == endpoint.origin and not channel.stale():
                self._idle = None
                return channel
            await self.rest()
        channel = await open_channel(endpoint, self._connection, note)
        self.tls = self.tls or channel.tls
        return channel

    def keep(self, endpoint: Endpoint, channel: Channel) -> None:
        """Keep a connection for the next exchange."""
        self._idle = endpoint.origin, channel

    async def rest(self) -> None:
        """Close the idle connection, for a server that serves one at a time; the next exchange opens another."""
        if self._idle is not None:
            _, channel = self._idle
            self._idle = None
            await channel.aclose()


async def send(
    lane: Lane,
    method: str,
    url: str,
    headers: Headers,
    body: bytes = b"",
    *,
    deadline: float,
    limits: Limits,
    until: Callable[[Event], bool] | None = None,
    linger: float = 0.1,
    opened: Callable[[], None] | None = None,
    only_head: bool = False,
    secret_headers: frozenset[str] = frozenset(),
    made_up: frozenset[str] = frozenset(),
    interrupted: Callable[[Sent], object] | None = None,
) -> Sent:
    """Send a request and return what came of it; nothing that a network or a server does raises.

    Host, Content-Length and `Accept-Encoding: identity` are added where the headers have none. Redirects with
    307 and 308 to the same origin are followed, three at most; any other is the response. A connection that
    the server closed between two exchanges is replaced once, and only if not one byte of a response had come:
    a server that closes an idle connection has not taken the request.

    Args:
        deadline: seconds for all of it, redirects included, from now on.
        limits: `max_response_bytes` bounds the body, as it comes and with its content coding undone.
        until: tells the event that answers, where the response is an event stream.
        linger: seconds that the stream is read on after that event, unless it ends.
        opened: called when the headers of a response are there.
        only_head: an event stream ends the exchange as soon as its headers are there.
        secret_headers: names of request headers (lower case) whose values are not recorded; those of
            Authorization, Cookie and their like never are.
        made_up: values of such headers that open nothing and are recorded all the same.
        interrupted: is given what there is (End.INTERRUPTED) when the caller's task is cancelled; the
            cancellation goes on.

    Raises:
        ValueError: the URL or a header cannot be sent; the text holds no credential.
        anyio.BusyResourceError: the lane has another exchange going.
    """
    encoded(headers)
    exchange = _Exchange(
        lane, method, url, headers, body, limits, until, linger, opened, only_head, secret_headers, made_up
    )
    with lane._guard, anyio.CancelScope(deadline=exchange.started + deadline) as scope:
        exchange.scope = scope
        try:
            return await exchange.run()
        except anyio.get_cancelled_exc_class():
            if interrupted is not None and not scope.cancel_called:
                interrupted(exchange.sent(End.INTERRUPTED))
            raise
    return exchange.timed_out(deadline)


@dataclass(eq=False)
class _Exchange:
    """An exchange in the making."""

    lane: Lane
    method: str
    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)
    limits: Limits
    until: Callable[[Event], bool] | None
    linger: float
    opened: Callable[[], None] | None
    only_head: bool
    secret_headers: frozenset[str]
    made_up: frozenset[str]

    def __post_init__(self) -> None:
        self._endpoint = Endpoint.parse(self.url)
        recorded = Redactor((), self.secret_headers).headers(self._outgoing(), self.made_up)
        self._request = Request(self.method, display_url(self.url), recorded, self.body)
        self._redirects: list[str] = []
        self._waiting_for = ""
        self._channel: Channel | None = None
        self._incoming: Incoming | None = None
        self._first_byte: float | None = None
        self._answered: float | None = None
        self.started = anyio.current_time()
        self.scope = anyio.CancelScope()

    async def run(self) -> Sent:
        """Go through the exchange and the redirects that are followed."""
        while True:
            try:
                oddity = await self._attempt()
            except Fault as fault:
                # After the awaited event the answer is there, whatever becomes of the rest.
                end = fault.end if self._answered is None else End.COMPLETE
                return self.sent(end, fault.detail + self._so_far(fault))
            if not self._redirected():
                return self.sent(End.COMPLETE, oddity)

    def sent(self, end: End, detail: str = "") -> Sent:
        """Return the record of what there is."""
        return Sent(
            request=self._request,
            response=self._incoming.response() if self._incoming else None,
            end=end,
            detail=safe(detail, _DETAIL),
            redirects=tuple(self._redirects),
            seconds=self._elapsed(),
            first_byte=self._first_byte,
            answered=self._answered,
        )

    def timed_out(self, deadline: float) -> Sent:
        """Return the record of an exchange that its scope ended: out of time, or read on long enough."""
        if self._answered is not None:
            return self.sent(End.COMPLETE)
        incoming = self._incoming
        after = f"after {deadline:g} s"
        if incoming is None:
            return self.sent(End.DEADLINE, f"{self._waiting_for} {after}{self._heard()}")
        if incoming.is_stream:
            return self.sent(
                End.DEADLINE, f"event stream: {plural(incoming.events, 'event')}, no response {after}"
            )
        return self.sent(End.DEADLINE, f"no end of the body {after}: {incoming.progress}")

    async def _attempt(self) -> str:
        while True:
            self._channel = None
            channel = self._channel = await self.lane.take(self._endpoint, self._note)
            reused, kept = channel.used, False
            try:
                await self._converse(channel)
                kept, surplus = channel.finish()
                return f"{plural(surplus, 'byte')} came behind the end of the body" if surplus else ""
            except Fault as fault:
                if not reused or channel.received or fault.end is not End.RESET:
                    raise
            finally:
                if kept:
                    self.lane.keep(self._endpoint, channel)
                else:
                    await channel.aclose()

    async def _converse(self, channel: Channel) -> None:
        self._note("no response headers")
        await channel.request(self.method, self._endpoint, self._outgoing(), self.body)
        head = await channel.response()
        self._first_byte = self._elapsed()
        if self.opened is not None:
            self.opened()
        incoming = self._incoming = Incoming(head, self.limits.max_response_bytes)
        self.lane.cookies.store(self._endpoint, incoming.values("set-cookie"))
        incoming.check(bodiless=self.method == "HEAD" or head.status_code in _BODILESS)
        if head.status_code == 407 and self.lane.proxied:
            raise Fault(End.PROXY, "the proxy asks for credentials, or for others")
        if self.only_head and incoming.is_stream:
            self._answered = self._elapsed()
            self.scope.deadline = anyio.current_time()
        while (part := await channel.part()) is not None:
            for event in incoming.feed(part):
                if self._answered is None and self.until is not None and self.until(event):
                    self._answered = self._elapsed()
                    self.scope.deadline = min(self.scope.deadline, anyio.current_time() + self.linger)
        incoming.finish()
        if not incoming.is_stream:
            self._answered = self._elapsed()

    def _redirected(self) -> bool:
        """Turn to where a redirect leads, if it is one to follow."""
        incoming = self._incoming
        if incoming is None or incoming.status not in _REDIRECTS or len(self._redirects) == MAX_REDIRECTS:
            return False
        locations = incoming.values("location")
        there = self._endpoint.join(locations[0]) if locations else None
        if there is None or there.origin != self._endpoint.origin:
            return False
        self._endpoint = there
        self._redirects.append(display_url(there.url))
        self._incoming = self._first_byte = self._answered = None
        return True

    def _outgoing(self) -> list[tuple[str, str]]:
        """Return all headers of the request, in the order in which they are sent."""
        given = {name.lower() for name, _ in self.headers}
        headers = list(self.headers)
        if "host" not in given:
            headers.insert(0, ("Host", self._endpoint.authority))
        if "accept-encoding" not in given:
            headers.append(("Accept-Encoding", "identity"))
        if not given & {"content-length", "transfer-encoding"} and (self.body or self.method == "POST"):
            headers.append(("Content-Length", str(len(self.body))))
        if (cookie := self.lane.cookies.header(self._endpoint)) is not None:
            headers.append(("Cookie", cookie))
        return headers

    def _note(self, waiting_for: str) -> None:
        self._waiting_for = waiting_for

    def _elapsed(self) -> float:
        return anyio.current_time() - self.started

    def _heard(self) -> str:
        """Say what came in place of response headers."""
        channel = self._channel
        if channel is None or not channel.received:
            return ""
        interim = f", among them {plural(channel.interim, 'interim response')}" if channel.interim else ""
        return f": {plural(channel.received, 'byte')} came{interim}"

    def _so_far(self, fault: Fault) -> str:
        return f": {self._incoming.progress}" if fault.end is End.RESET and self._incoming else ""
