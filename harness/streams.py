"""The event streams of a transcript, as rules judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import jsontext
from .calls import HttpProbe
from .conversation import LINGER
from .probes.streams import CALL, CLOSING_LINGER, LISTEN, STREAMS
from .probes.subscriptions import NOTHING_DECLARED, SUBSCRIPTION
from .reading import no_answer
from .sse import Event, Stream, decode
from .subjects import Entry, Gap, Reply, Subject
from .transcript import End, Exchange, Kind

if TYPE_CHECKING:
    from .evidence import Evidence

_EVENT_STREAM = "text/event-stream"
_ROUNDING = 0.001
_GETS = (LISTEN, f"http/{HttpProbe.GET_STREAM}")


@dataclass(frozen=True, slots=True)
class Said:
    """A JSON-RPC message on a stream, and the event that carries it; `number` counts from 1."""

    number: int
    event: Event
    value: Mapping[str, Any]

    @property
    def is_request(self) -> bool:
        """Whether it is a request of the server's. Ids are the sender's own: that it has the client's id means nothing."""
        return "method" in self.value and self.value.get("id") is not None

    @property
    def is_response(self) -> bool:
        """Whether it is a response."""
        return "method" not in self.value and ("result" in self.value or "error" in self.value)


@dataclass(frozen=True)
class EventStream(Subject):
    """An event stream: what came back to a POST, or on the GET stream, for which `reply.sent` is empty."""

    exchange: Exchange
    reply: Reply
    stream: Stream
    messages: tuple[Said, ...]
    used_ids: frozenset[str] = frozenset()  # event ids of other streams of the session
    call: Reply | None = None  # for the GET stream: the call that was made while it was open
    resumable: bool = True  # the server has not refused GET, with which a client resumes

    @property
    def is_listening(self) -> bool:
        """Whether it is the stream that a client opens with GET."""
        return self.exchange.request.method == "GET"

    @property
    def session(self) -> str | None:
        """The id of the session that it belongs to."""
        return _session_of(self.exchange)

    @property
    def read_on(self) -> float:
        """Seconds that it was read on after the response, unless it ended."""
        return CLOSING_LINGER if self.exchange.subject == CALL else LINGER

    @property
    def ended(self) -> bool:
        """Whether the server ended the stream while it was read."""
        exchange = self.exchange
        if exchange.end is not End.COMPLETE:
            return False
        return exchange.answered is None or exchange.seconds - exchange.answered < self.read_on - _ROUNDING

    @property
    def responses(self) -> list[Said]:
        """The responses on it."""
        return [said for said in self.messages if said.is_response]

    def is_ours(self, said: Said) -> bool:
        """Whether a response carries the id of the request."""
        return jsontext.equal(said.value.get("id"), self.reply.sent.get("id"))


@dataclass(frozen=True)
class Subscription(Subject):
    """What came back to subscriptions/listen; `stream` is None where it was no event stream."""

    exchange: Exchange
    reply: Reply
    stream: EventStream | None
    asked: Mapping[str, Any]  # the changes that the request names

    @property
    def refused(self) -> bool:
        """Whether the server turned it down."""
        return self.reply.status >= 400 or "error" in (self.reply.response or {})


def event_streams(evidence: Evidence) -> Iterator[Entry]:
    """Yield every event stream of the run."""
    found = [stream for exchange in evidence.transcript.exchanges if (stream := _stream(evidence, exchange))]
    streams = Counter((stream.session, name) for stream in found for name in _event_ids(stream.stream))
    listened = {e.response.status for e in evidence.transcript.exchanges if e.subject in _GETS and e.response}
    for stream in found:
        ids = _event_ids(stream.stream)
        used = frozenset(name for name in ids if streams[stream.session, name] > 1)
        yield replace(stream, used_ids=used, resumable=405 not in listened) if ids else stream


def listening(evidence: Evidence) -> Iterator[Entry]:
    """Yield the GET stream that was held open during a call."""
    exchange = _latest(evidence, LISTEN)
    if exchange is None:
        yield Gap("-", _why_not(evidence) or "no GET stream belongs to MCP 2026-07-28", blocked=False)
        return
    stream = _stream(evidence, exchange)
    if stream is not None and exchange.response is not None and exchange.response.status == 200:
        yield stream
        return
    status = f"HTTP {exchange.response.status}" if exchange.response is not None else str(exchange.end)
    yield Gap(LISTEN, f"the server serves no GET stream ({status})", blocked=False, exchange=exchange)


def closing(evidence: Evidence) -> Iterator[Entry]:
    """Yield the event stream that was read on after the response."""
    exchange = _latest(evidence, CALL)
    if exchange is None:
        yield Gap("-", _why_not(evidence) or "no call was read on after its response", blocked=False)
        return
    stream = _stream(evidence, exchange)
    if stream is not None and exchange.answered is not None:
        yield stream
    elif why := no_answer(exchange):
        yield Gap(CALL, why, blocked=True, exchange=exchange)
    else:
        why = "no response came" if stream is not None else "the answer is no event stream"
        yield Gap(CALL, why, blocked=False, exchange=exchange)


def subscribed(evidence: Evidence) -> Iterator[Entry]:
    """Yield what came back to subscriptions/listen."""
    exchange = _latest(evidence, SUBSCRIPTION)
    if exchange is None:
        left_out = evidence.transcript.survey.not_called
        why = next((left.why for left in left_out if left.item == SUBSCRIPTION), NOTHING_DECLARED)
        yield Gap("-", why, blocked=False)
        return
    stream, reply = _stream(evidence, exchange), evidence.reply(exchange)
    opened = stream is not None and reply.status == 200
    if not opened and (why := no_answer(exchange)):
        yield Gap(SUBSCRIPTION, why, blocked=True, exchange=exchange)
        return
    params = reply.sent.get("params")
    asked = params.get("notifications") if isinstance(params, Mapping) else None
    yield Subscription(
        SUBSCRIPTION,
        exchange,
        evidence.server,
        reply.revision,
        reply,
        stream if opened else None,
        asked if isinstance(asked, Mapping) else {},
    )


def _event_ids(stream: Stream) -> frozenset[str]:
    """Return the ids of a stream's events; an empty one is none."""
    return frozenset(event.id for event in stream.events if event.id)


def _stream(evidence: Evidence, exchange: Exchange) -> EventStream | None:
    """Return an exchange of the MCP endpoint as an event stream; None where it is none."""
    response = exchange.response
    of_mcp = exchange.request.method == "POST" or exchange.subject == LISTEN
    if exchange.kind is Kind.INTEROP:
        return None
    if response is None or response.media_type != _EVENT_STREAM or not of_mcp:
        return None
    reply = evidence.reply(exchange)
    stream = decode(response.body)
    parsed = {document.place: document.parsed.value for document in reply.documents}
    messages = []
    for number, event in enumerate(stream.events, start=1):
        place = f"event {number}"
        value = parsed[place] if place in parsed else jsontext.parse(event.data).value
        if isinstance(value, Mapping) and _is_message(value):
            messages.append(Said(number, event, value))
    call = _latest(evidence, CALL) if exchange.subject == LISTEN else None
    return EventStream(
        reply.label,
        exchange,
        evidence.server,
        reply.revision,
        reply,
        stream,
        tuple(messages),
        call=evidence.reply(call) if call is not None else None,
    )


def _is_message(value: Mapping[str, Any]) -> bool:
    return "jsonrpc" in value and not {"method", "result", "error"}.isdisjoint(value)


def _session_of(exchange: Exchange) -> str | None:
    issued = exchange.response.header("mcp-session-id") if exchange.response is not None else None
    sent = (value for name, value in exchange.request.headers if name.lower() == "mcp-session-id")
    return next(sent, issued)


def _latest(evidence: Evidence, subject: str) -> Exchange | None:
    found = (
        exchange
        for exchange in evidence.transcript.exchanges
        if exchange.kind is Kind.STREAM and exchange.subject == subject and not exchange.retried
    )
    return next(found, None)


def _why_not(evidence: Evidence) -> str:
    left_out = evidence.transcript.survey.not_called
    return next((left.why for left in left_out if left.item == STREAMS), "")
