"""Requests that try the transport and the lifecycle, each of which differs from a plain one in one thing.

What the server must serve goes beside the calls, in their session. What it should refuse follows when they are done,
and what may end a session is sent in one of its own.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio
from pytest_adcp.harness.calls import HttpProbe, NotCalled
from pytest_adcp.harness.conversation import Conversation
from pytest_adcp.harness.reading import read
from pytest_adcp.harness.recorder import Phase, Recorder
from pytest_adcp.harness.session import OLD_REVISION, Outgoing, Session
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Era, Exchange, Kind
from pytest_adcp.harness.urls import is_loopback
from pytest_adcp.harness.wire import Lane

MOST = 38  # requests, but for those that are sent again
SILENT = 3  # probes in a row without any answer, after which no more are sent
SECONDS = 10.0  # for one that is answered without any work
NO_SUCH_METHOD = "adcp/no-such-method"
NO_SUCH_NOTIFICATION = "notifications/adcp-no-such-notification"
NO_SUCH_CURSOR = "pytest-adcp-no-such-cursor"
FOREIGN_HOST = "evil.example"
LARGEST_ID = 2**53 - 1  # what every JSON reader keeps exactly
UNKNOWN_REVISION = "2099-01-01"

_BOTH = frozenset(Era)
_HANDSHAKE = frozenset({Era.HANDSHAKE})
_STATELESS = frozenset({Era.STATELESS})
_ACCEPT = "application/json, text/event-stream"
_SESSION = "Mcp-Session-Id"
_VERSION = "MCP-Protocol-Version"
_TRUNCATED = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"'
_BATCH = json.dumps(
    [{"jsonrpc": "2.0", "id": f"batch-{number}", "method": "ping"} for number in (1, 2)]
).encode()

_ID_NULL = b'{"jsonrpc": "2.0", "id": null, "method": "ping"}'
_OTHER_ENVELOPE = b'{"jsonrpc": "1.0", "id": "envelope", "method": "ping"}'

_NO_ROOM = f"at most {MOST} such requests are sent, and others came first"
_SILENT = f"{SILENT} probes of the transport in a row got no answer; no more were sent"
_STOPPED = "the survey ended before it"


@dataclass(frozen=True, slots=True)
class Variant:
    """One request: the plain one (ping, or server/discover in the stateless era) but for what is given here."""

    probe: HttpProbe
    headers: tuple[
        tuple[str, str | None], ...
    ] = ()  # in the place of those of that name; None takes one away
    request_id: str | int | None = None
    rpc: str = ""  # another JSON-RPC method
    params: Mapping[str, Any] | None = None
    body: bytes | None = None
    http: str = "POST"
    eras: frozenset[Era] = _BOTH
    capability: str = ""  # which the server has to declare
    in_session: bool = False  # it says something only where the server issues session ids
    notifies: bool = False
    loopback: bool = False  # it says something only of a server on this machine


# What every server has to serve: it upsets nothing.
SERVED = (
    Variant(HttpProbe.PING, eras=_HANDSHAKE),
    Variant(HttpProbe.ID_DIGITS, request_id="20250618"),
    Variant(HttpProbe.ID_LARGE, request_id=LARGEST_ID),
    Variant(HttpProbe.ID_EMPTY, request_id=""),
    Variant(HttpProbe.ID_UNICODE, request_id="idé-中-🙂"),
    Variant(HttpProbe.ACCEPT_ORDER, (("Accept", "text/event-stream, application/json;q=0.9"),)),
    Variant(HttpProbe.CHARSET, (("Content-Type", "application/json; charset=utf-8"),)),
    Variant(HttpProbe.ORIGIN_OWN),  # the header is the target's own
    Variant(HttpProbe.VERSION_ABSENT, ((_VERSION, None),), eras=_HANDSHAKE),
    Variant(HttpProbe.ACCEPT_CASE, (("Accept", _ACCEPT.title()),)),
)
# What it may refuse, or has to. The session is that of the calls, which are done by then.
OTHERS = (
    Variant(HttpProbe.ORIGIN_FOREIGN, (("Origin", "http://evil.example"),)),
    Variant(HttpProbe.ORIGIN_NULL, (("Origin", "null"),)),
    Variant(HttpProbe.ACCEPT_JSON, (("Accept", "application/json"),)),
    Variant(HttpProbe.ACCEPT_ANY, (("Accept", "*/*"),)),
    Variant(HttpProbe.BOGUS_CURSOR, rpc="tools/list", params={"cursor": NO_SUCH_CURSOR}),
    Variant(HttpProbe.VERSION_JUNK, ((_VERSION, "junk"),), eras=_HANDSHAKE),
    Variant(HttpProbe.VERSION_1999, ((_VERSION, "1999-01-01"),), eras=_HANDSHAKE),
    Variant(HttpProbe.ID_NULL, body=_ID_NULL, eras=_HANDSHAKE),
    Variant(HttpProbe.OTHER_ENVELOPE, body=_OTHER_ENVELOPE, eras=_HANDSHAKE),
    Variant(HttpProbe.NO_TOOL, rpc="tools/call", params={"arguments": {}}, eras=_HANDSHAKE),
    Variant(HttpProbe.UNKNOWN_METHOD, rpc=NO_SUCH_METHOD),
    Variant(HttpProbe.UNKNOWN_NOTIFICATION, rpc=NO_SUCH_NOTIFICATION, notifies=True, eras=_HANDSHAKE),
    Variant(HttpProbe.GET_STREAM, (("Accept", "text/event-stream"),), http="GET"),
    Variant(HttpProbe.DELETE, http="DELETE", eras=_STATELESS),
    Variant(HttpProbe.HOST_FOREIGN, (("Host", FOREIGN_HOST),), loopback=True),
    Variant(HttpProbe.SESSION_ABSENT, ((_SESSION, None),), in_session=True),
    Variant(HttpProbe.RESOURCES, rpc="resources/list", capability="resources"),
    Variant(HttpProbe.PROMPTS, rpc="prompts/list", capability="prompts"),
    Variant(
        HttpProbe.COMPLETIONS,
        rpc="completion/complete",
        params={"ref": {"type": "ref/prompt", "name": "adcp-none"}, "argument": {"name": "a", "value": ""}},
        capability="completions",
    ),
    Variant(
        HttpProbe.LOGGING,
        rpc="logging/setLevel",
        params={"level": "warning"},
        capability="logging",
        eras=_HANDSHAKE,
    ),
    Variant(HttpProbe.SESSION_UNKNOWN, in_session=True),  # the header is made up for the run
    Variant(HttpProbe.MALFORMED, body=_TRUNCATED, eras=_STATELESS),
    Variant(HttpProbe.BATCH, body=_BATCH, eras=_STATELESS),
)
# Each initialize opens a session, in which something is sent that may upset it.
SESSIONS: Mapping[HttpProbe, tuple[str, HttpProbe | None]] = {
    HttpProbe.INITIALIZE_JUNE: ("2025-06-18", HttpProbe.SESSION_DELETE),
    HttpProbe.INITIALIZE_UNKNOWN: (UNKNOWN_REVISION, HttpProbe.MALFORMED),
    HttpProbe.INITIALIZE_MARCH: ("2025-03-26", HttpProbe.BATCH),
    HttpProbe.INITIALIZE_OLD: (OLD_REVISION, None),
}
_BODIES = {HttpProbe.MALFORMED: _TRUNCATED, HttpProbe.BATCH: _BATCH}
PLACES = {probe: index for index, probe in enumerate(HttpProbe)}
_CLOSES = len(PLACES)


def subject(probe: HttpProbe) -> str:
    """Return how reports name what came back to a probe."""
    return f"http/{probe}"


def why_not(probe: HttpProbe) -> str:
    """Say why a probe is not sent to every server."""
    variant = next((variant for variant in (*SERVED, *OTHERS) if variant.probe is probe), None)
    if variant is not None and variant.capability:
        return f"the server declares no capability {variant.capability}"
    if variant is not None and variant.loopback:
        return "the server is not on this machine"
    if probe in (HttpProbe.SESSION_DELETE, HttpProbe.SESSION_ENDED) or (variant and variant.in_session):
        return "the server issues no session id, or does not end a session when asked to"
    return "no such request was sent: it has no place in the era of MCP that the server speaks, or no probes were sent"


def varied(message: Outgoing, variant: Variant) -> Outgoing:
    """Return a message as a variant has it."""
    changed = {name.lower() for name, _ in variant.headers}
    kept = tuple(header for header in message.headers if header[0].lower() not in changed)
    new = tuple((name, value) for name, value in variant.headers if value is not None)
    return Outgoing((*kept, *new), message.body if variant.body is None else variant.body)


class HttpProbes:
    """The probes of one survey: jobs that its lanes take one after the other."""

    def __init__(self, talk: Conversation, target: Target, recorder: Recorder, run_id: str) -> None:
        """Choose what is sent in the session of the conversation; nothing is sent yet."""
        self._talk = talk
        self._target = target
        self._run_id = run_id
        self._loopback = is_loopback(urlsplit(target.url).hostname or "")
        self._jobs: deque[Callable[[Lane], Awaitable[None]]] = deque()
        self._silent = 0
        self.left_out: list[NotCalled] = []
        declared = declared_in(recorder.exchanges())
        chosen = [*self._fit(SERVED, declared), *self._fit(OTHERS, declared)]
        sessions = list(SESSIONS) if talk.session.era is Era.HANDSHAKE else []
        issues = talk.session.session_id is not None
        room = MOST - sum(_cost(probe, issues) for probe in sessions)
        if len(chosen) > room and sessions:
            room += _cost(sessions[-1], issues)
            self._leave_out(sessions.pop(), _NO_ROOM)
        for variant in chosen[room:]:
            self._leave_out(variant.probe, _NO_ROOM)
        self._sessions = sessions
        self._others = [variant for variant in chosen[:room] if variant not in SERVED]
        self._jobs += [partial(self._send, variant) for variant in chosen[:room] if variant in SERVED]

    async def work(self, lane: Lane) -> None:
        """Send what is left of the probes that go now, on one lane."""
        while self._jobs:
            await self._jobs.popleft()(lane)

    async def follow(self, lanes: Sequence[Lane]) -> None:
        """Send the others, when all calls have their answers."""
        self._jobs += [partial(self._in_session_of_its_own, probe) for probe in self._sessions]
        self._jobs += [partial(self._send, variant) for variant in self._others]
        async with anyio.create_task_group() as group:
            for lane in lanes:
                group.start_soon(self.work, lane)

    def _fit(self, variants: Iterable[Variant], declared: Mapping[str, Any]) -> list[Variant]:
        """Return those that say something about this server."""
        session = self._talk.session
        fit: list[Variant] = []
        for variant in variants:
            without = variant.in_session and session.session_id is None
            claimed = not variant.capability or isinstance(declared.get(variant.capability), Mapping)
            elsewhere = variant.loopback and not self._loopback
            good = session.era in variant.eras and claimed and not (without or elsewhere)
            fit += [variant] if good else []
        return fit

    def _leave_out(self, probe: HttpProbe, why: str) -> None:
        self.left_out.append(NotCalled(subject(probe), why))

    def _may_go(self, *probes: HttpProbe) -> bool:
        why = _STOPPED if self._talk.stopped else _SILENT if self._silent >= SILENT else ""
        for probe in probes if why else ():
            self._leave_out(probe, why)
        return not why

    async def _send(self, variant: Variant, lane: Lane) -> None:
        probe = variant.probe
        if not self._may_go(probe):
            return
        # What is to be served is sent again in a new session, should the server have forgotten this one.
        session = None if variant in SERVED else self._talk.session
        if probe is HttpProbe.ORIGIN_OWN:
            variant = Variant(probe, (("Origin", self._target.origin),))
        elif probe is HttpProbe.SESSION_UNKNOWN:
            variant = Variant(probe, ((_SESSION, f"pytest-adcp-unknown-{self._run_id}"),))
        if variant.http == "POST":
            await self._post(self._talk, lane, variant, session)
            return
        headers = (("Accept", _ACCEPT), *self._talk.session.closing())
        await self._look(self._talk, lane, variant.http, varied(Outgoing(headers, b""), variant), probe)

    async def _in_session_of_its_own(self, probe: HttpProbe, lane: Lane) -> None:
        version, inside = SESSIONS[probe]
        tried = [item for item in (inside,) if item is not None]
        tried += [HttpProbe.SESSION_ENDED] if inside is HttpProbe.SESSION_DELETE else []
        if not self._may_go(probe, *tried):
            return
        caller, session = self._talk.beside(self._talk.credentials), Session(Era.HANDSHAKE)
        said = await caller.ask(
            lane,
            (Phase.HTTP, PLACES[probe]),
            lambda session, number: session.initialize(number, version),
            kind=Kind.HTTP,
            subject=subject(probe),
            session=session,
            seconds=SECONDS,
        )
        self._note(said.exchange)
        if not caller.adopt(session, said):
            return
        if inside is HttpProbe.SESSION_DELETE:
            await self._end(caller, lane, session)
            return
        if inside is not None and self._may_go(inside):
            await self._post(caller, lane, Variant(inside, body=_BODIES[inside]), session)
        await caller.close(lane, (Phase.HTTP, _CLOSES), Kind.HTTP, f"http/close/{probe}")

    async def _end(self, caller: Conversation, lane: Lane, session: Session) -> None:
        if session.session_id is None:
            return
        message = Outgoing(session.closing(), b"")
        ended = await self._look(caller, lane, "DELETE", message, HttpProbe.SESSION_DELETE)
        if ended.response is not None and 200 <= ended.response.status < 300:
            await self._post(caller, lane, Variant(HttpProbe.SESSION_ENDED), session)

    async def _post(self, talk: Conversation, lane: Lane, variant: Variant, session: Session | None) -> None:
        def compose(session: Session, number: str | int) -> Outgoing:
            number = number if variant.request_id is None else variant.request_id
            plain = "ping" if session.era is Era.HANDSHAKE else "server/discover"
            message = session.request(number, variant.rpc or plain, variant.params)
            if variant.notifies:
                message = Outgoing(message.headers, _without_id(message.body))
            return varied(message, variant)

        said = await talk.ask(
            lane,
            (Phase.HTTP, PLACES[variant.probe]),
            compose,
            kind=Kind.HTTP,
            subject=subject(variant.probe),
            session=session,
            seconds=SECONDS,
        )
        self._note(said.exchange)

    async def _look(
        self, talk: Conversation, lane: Lane, method: str, message: Outgoing, probe: HttpProbe
    ) -> Exchange:
        exchange = await talk.look(
            lane,
            (Phase.HTTP, PLACES[probe]),
            method,
            self._target.url,
            message,
            kind=Kind.HTTP,
            subject=subject(probe),
            era=talk.session.era,
            only_head=True,
            seconds=SECONDS,
        )
        self._note(exchange)
        return exchange

    def _note(self, exchange: Exchange) -> None:
        self._silent = self._silent + 1 if exchange.response is None else 0


def _cost(probe: HttpProbe, issues_ids: bool) -> int:
    """Return how many requests the session that an initialize opens takes at most."""
    inside = SESSIONS[probe][1]
    deletes = 2 if inside is HttpProbe.SESSION_DELETE else 1  # and what comes after the DELETE
    return 1 + (inside in _BODIES) + (deletes if issues_ids else 0)


def declared_in(exchanges: Iterable[Exchange]) -> Mapping[str, Any]:
    """Return the capabilities that the server declares in the answer that opened the conversation."""
    kinds = (Kind.INITIALIZE, Kind.DISCOVER)
    results = (read(exchange).result for exchange in exchanges if exchange.kind in kinds)
    declared = next((result.get("capabilities") for result in results if result is not None), None)
    return declared if isinstance(declared, Mapping) else {}


def _without_id(body: bytes) -> bytes:
    message = json.loads(body)
    del message["id"]
    return json.dumps(message).encode("ascii")
