"""A transcript, read: the subjects of every kind that rules are tried on.

Everything here is derived from the recorded bytes alone, once a run; a live server and a saved transcript give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .app import app_of
from .app_wire import on_the_wire
from .calls import Expect, HttpProbe, Probe, Purpose, Variant
from .classify import Class, classify
from .extraction import extract_error, extract_success
from .interop.subjects import client_reads
from .modern import modern, modern_replies, varied
from .patience import asked_delay
from .probes.http_subjects import http_probed, probed_messages, probed_replies
from .probes.subjects import capabilities, metadata, probed, refusals, unauthorized
from .reading import no_answer, why_no_response
from .readings import read_all
from .release import BEFORE_3, WHY_BEFORE_3
from .rules import Judged, Rule
from .server import list_page, server_of
from .session import STATELESS_REVISION
from .settled import settled
from .standards import Standards
from .streams import closing, event_streams, listening, subscribed
from .subjects import (
    Answer,
    Entry,
    Expectation,
    Gap,
    Handshake,
    Message,
    Page,
    Reply,
    Result,
    Tools,
)
from .tasks import catalogue
from .transcript import Era, Exchange, Kind, Transcript
from .views import views_of

if TYPE_CHECKING:
    from .schemas import Validators

UNKNOWN_TOOL_SUBJECT = "probe/unknown-tool"
LIST_AGAIN_SUBJECT = "probe/tools-list-again"


class Evidence:
    """A transcript, read: every subject that rules of each kind are tried on."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        spec: str | None = None,
        schemas: Validators | None = None,
        production: bool = False,
        standards: Standards | None = None,
    ) -> None:
        """Read a transcript.

        Args:
            spec: the AdCP release to judge against, whatever the server says.
            schemas: what judges the payloads.
            production: whether the server is a production one.
            standards: limits and word lists of the connected-apps profile; those of the package where None.
        """
        exchanges, self.readings = read_all(transcript.exchanges)
        self.transcript = transcript = replace(transcript, exchanges=exchanges)
        self.calls = {call.subject: call for call in transcript.survey.calls}
        self.server = server_of(transcript, self.readings, spec=spec, schemas=schemas, production=production)
        self.server = replace(self.server, standards=standards or self.server.standards)
        self._entries: dict[Judged, tuple[Entry, ...]] = {}

    def entries(self, kind: Judged) -> tuple[Entry, ...]:
        """Return the subjects of a kind, and the gaps where one should have been; never empty."""
        if kind not in self._entries:
            self._entries[kind] = settled(kind, tuple(self._build(kind)), self)
        return self._entries[kind]

    def of(self, rule: Rule) -> tuple[Entry, ...]:
        """Return what a rule is tried on; never empty."""
        if self.server.release == BEFORE_3 and not rule.is_for_2:
            return (Gap("-", WHY_BEFORE_3, blocked=False),)
        return tuple(self._tried(rule.judged, rule.probes)) if rule.probes else self.entries(rule.judged)

    def _tried(self, kind: Judged, probes: frozenset[Probe | Variant | HttpProbe]) -> Iterable[Entry]:
        """Return what some probes gave, for the kinds of subjects that rules choose by probe."""
        if kind is Judged.VARIED:
            return varied(self, probes)
        if kind is Judged.HTTP_PROBE:
            return http_probed(self, [probe for probe in HttpProbe if probe in probes])
        return (entry for probe in Probe if probe in probes for entry in probed(self, probe))

    # -- one generator a kind -------------------------------------------------------------------------------

    def _build(self, kind: Judged) -> Iterator[Entry]:
        builders: dict[Judged, Callable[[], Iterable[Entry]]] = {
            Judged.REPLY: self._replies,
            Judged.RESPONSE: lambda: (*self.entries(Judged.REPLY), *probed_replies(self)),
            Judged.MESSAGE: self._messages,
            Judged.NOTIFICATION: self._notifications,
            Judged.OPENING: self._openings,
            Judged.HANDSHAKE: lambda: self._handshakes(Kind.INITIALIZE),
            Judged.DISCOVERY: lambda: self._handshakes(Kind.DISCOVER),
            Judged.STREAM: lambda: event_streams(self),
            Judged.LISTENING: lambda: listening(self),
            Judged.CLOSING: lambda: closing(self),
            Judged.MODERN: lambda: modern(self),
            Judged.MODERN_REPLY: lambda: modern_replies(self),
            Judged.SUBSCRIPTION: lambda: subscribed(self),
            Judged.VARIED: lambda: self._tried(kind, frozenset(Variant)),
            Judged.TOOLS: self._tools,
            Judged.PAGE: lambda: self._pages(Kind.LIST, "tools/list"),
            Judged.UNKNOWN_TOOL: self._unknown_tool,
            Judged.RESULT: self._results,
            Judged.ANSWER: lambda: self.answers,
            Judged.SUCCESS: lambda: self.entries_of(Class.SUCCESS),
            Judged.ERROR: lambda: self.entries_of(Class.ERROR),
            Judged.INTERIM: lambda: self.entries_of(Class.INTERIM),
            Judged.EXPECTATION: self._expectations,
            Judged.PROBED: lambda: self._tried(kind, frozenset(Probe)),
            Judged.HTTP_PROBE: lambda: self._tried(kind, frozenset(HttpProbe)),
            Judged.CAPABILITIES: lambda: capabilities(self),
            Judged.REFUSAL: lambda: refusals(self),
            Judged.CHALLENGE: lambda: unauthorized(self),
            Judged.METADATA: lambda: metadata(self),
            Judged.APP: lambda: app_of(self),
            Judged.CLIENT_SESSION: lambda: client_reads(self, kind),
            Judged.CLIENT_LIST: lambda: client_reads(self, kind),
            Judged.CLIENT_RESULT: lambda: client_reads(self, kind),
            **on_the_wire(self),
            Judged.VIEW: lambda: views_of(self),
            Judged.VECTOR: tuple,
            Judged.LIBRARY: tuple,
            Judged.FUZZED: tuple,
        }
        yield from builders[kind]()

    def _replies(self) -> Iterator[Entry]:
        for exchange in self.transcript.exchanges:
            if exchange.kind in _NOT_JUDGED_AS_REPLIES:
                continue
            label = _label(exchange)
            redirected = exchange.response is not None and 300 <= exchange.response.status < 400
            why = no_answer(exchange)
            if not why or redirected or self.readings[exchange.index].response is not None:
                yield self.reply(exchange)
            elif not exchange.retried:
                # One era is enough: how the other one is refused blocks nothing. Nor does a second look at the list.
                spare = self._is_other_era(exchange) or exchange.subject.startswith(LIST_AGAIN_SUBJECT)
                yield Gap(label, why, blocked=not spare, exchange=exchange)

    def _is_other_era(self, exchange: Exchange) -> bool:
        other = Kind.INITIALIZE if self.server.era is Era.STATELESS else Kind.DISCOVER
        return exchange.kind is other

    def reply(self, exchange: Exchange) -> Reply:
        """Return an exchange as what came back to a request."""
        reading = self.readings[exchange.index]
        return Reply(
            label=_label(exchange),
            exchange=exchange,
            server=self.server,
            revision=self.revision_of(exchange),
            sent=reading.sent,
            documents=reading.documents,
            document=reading.document,
            response=reading.response,
        )

    def _messages(self) -> Iterator[Entry]:
        for entry in self.entries(Judged.REPLY):
            if isinstance(entry, Reply) and entry.response is not None:
                yield Message(entry.label, entry.exchange, self.server, entry.revision, entry, entry.response)
        yield from probed_messages(self)

    def _openings(self) -> Iterator[Entry]:
        for entry in self.entries(Judged.REPLY):
            if entry.exchange is not None and entry.exchange.kind is Kind.INITIALIZE:
                yield entry

    def _notifications(self) -> Iterator[Entry]:
        for exchange in self.transcript.exchanges:
            if exchange.kind is Kind.INITIALIZED and not exchange.retried:
                if why := no_answer(exchange):
                    yield Gap(_label(exchange), why, blocked=True, exchange=exchange)
                else:
                    yield self.reply(exchange)

    def _handshakes(self, kind: Kind) -> Iterator[Entry]:
        for exchange in self.transcript.exchanges:
            result = self.readings[exchange.index].result
            if exchange.kind is kind and result is not None:
                yield Handshake(_label(exchange), exchange, self.server, self.revision_of(exchange), result)

    def _tools(self) -> Iterator[Entry]:
        pages = [e for e in self.transcript.exchanges if e.kind is Kind.LIST]
        read = tuple(self._pages(Kind.LIST, "tools/list"))
        if not read:
            return
        last = self.reply(pages[-1])
        refused = None
        if (
            last.response is not None
            and "error" in last.response
            and asked_delay(pages[-1], last.response) is None
        ):
            refused = Message(last.label, last.exchange, self.server, last.revision, last, last.response)
        again = tuple(self._pages(Kind.PROBE, LIST_AGAIN_SUBJECT))
        yield Tools(
            "tools/list", pages[-1], self.server, last.revision, self.server.tools, read, again, refused
        )

    def _pages(self, kind: Kind, subject: str) -> Iterator[Page]:
        for exchange in self.transcript.exchanges:
            listed = list_page(self.readings[exchange.index])
            ours = exchange.kind is kind and exchange.subject.startswith(subject) and not exchange.retried
            if ours and listed is not None:
                result = self.readings[exchange.index].result or {}
                revision = self.revision_of(exchange)
                yield Page(exchange.subject, exchange, self.server, revision, result, tuple(listed))

    def _unknown_tool(self) -> Iterator[Entry]:
        for exchange in self.transcript.exchanges:
            if exchange.subject == UNKNOWN_TOOL_SUBJECT and not exchange.retried:
                entry = self.reply(exchange)
                limited = asked_delay(exchange, entry.response) is not None
                why = no_answer(exchange) or ("RATE_LIMITED to the end" if limited else "")
                if why or entry.response is None:
                    why = why or why_no_response(exchange)
                    yield Gap(entry.label, why, blocked=True, exchange=exchange)
                else:
                    yield Message(entry.label, exchange, self.server, entry.revision, entry, entry.response)

    def _results(self) -> Iterator[Entry]:
        for exchange in self.transcript.exchanges:
            if exchange.kind not in (Kind.CALL, Kind.POLL, Kind.PROBE):
                continue
            reading = self.readings[exchange.index]
            result = reading.result
            if reading.sent.get("method") != "tools/call":
                continue
            if result is not None:
                yield Result(_label(exchange), exchange, self.server, self.revision_of(exchange), result)
            elif exchange.kind is Kind.CALL and not exchange.retried:
                why = no_answer(exchange) or (why_no_response(exchange) if not reading.response else "")
                if why:
                    yield Gap(_label(exchange), why, blocked=True, exchange=exchange)

    @cached_property
    def answers(self) -> tuple[Entry, ...]:
        """What AdCP tasks gave, and a gap for each call that gave no verdict."""
        return tuple(self._answers())

    def _answers(self) -> Iterator[Entry]:
        for left in self.transcript.survey.not_called:
            if left.blocked:
                yield Gap(left.item, left.why, blocked=True)
        for exchange in self.transcript.exchanges:
            call = self.calls.get(exchange.subject)
            task = catalogue().get(call.tool) if call else None
            if exchange.kind not in (Kind.CALL, Kind.POLL) or call is None or task is None:
                continue
            reading = self.readings[exchange.index]
            delay = asked_delay(exchange, reading.response)
            plea = delay is not None
            why = (
                f"RATE_LIMITED to the end: the server asked for another {delay:g} s"
                if plea
                else no_answer(exchange)
            )
            if not why and not (reading.response and _has_answer(reading.response)):
                why = why_no_response(exchange)
            if not why and exchange.response is not None and exchange.response.status >= 500:
                why = f"HTTP {exchange.response.status}: the server failed"
            if why and not exchange.retried:
                yield Gap(exchange.subject, why, blocked=True, exchange=exchange)
            if (
                reading.response is None
                or reading.document is None
                or ((why or exchange.retried) and not plea)
            ):
                continue
            label = f"{exchange.subject}@{exchange.attempt}" if plea else exchange.subject
            response = reading.response
            result = response.get("result")
            tool_result = result if isinstance(result, Mapping) else None
            extraction = extract_success(tool_result or {}, limit=self.transcript.survey.limits.client_limit)
            failure = extract_error(tool_result if tool_result is not None else response)
            kind = classify(task, tool_result, response, extraction)
            if kind is Class.UNSUPPORTED:
                yield Gap(
                    label, "the test controller does not know the scenario", blocked=False, exchange=exchange
                )
                continue
            yield Answer(
                label=label,
                exchange=exchange,
                server=self.server,
                revision=self.revision_of(exchange),
                call=call,
                task=task,
                message=response,
                result=tool_result,
                extraction=extraction,
                failure=failure,
                kind=kind,
                document=reading.document,
                client_limit=self.transcript.survey.limits.client_limit,
            )

    def none_of(self, kind: Judged) -> Gap:
        """Say why no answer is a success, or an error."""
        dead = [entry for entry in self.answers if isinstance(entry, Gap) and entry.blocked]
        said = [entry for entry in self.answers if isinstance(entry, Answer)]
        purpose = Purpose.BAD if kind is Judged.ERROR else Purpose.GOOD
        if not self.answers:
            why, exchange = "no AdCP task was called", None
        elif dead:
            why, exchange = dead[0].why, dead[0].exchange
        elif kind is Judged.ERROR and self.transcript.survey.options.get("quick"):
            return Gap("-", "--adcp-quick makes no bad request", blocked=False)
        elif not any(call.purpose in (purpose, Purpose.CONFIGURED) for call in self.calls.values()):
            why, exchange = f"no {purpose} request could be made; give one with `calls:` in adcp.yaml", None
        elif kind is Judged.ERROR:
            why, exchange = (
                "every bad request was accepted; give one that is refused with `calls:` in adcp.yaml",
                None,
            )
        else:
            why, exchange = (
                "every good request was refused; give one that succeeds with `calls:` in adcp.yaml"
                if not any("result" in answer.message and "error" in answer.message for answer in said)
                else "answers have a result and an error, and count as errors; mcp.jsonrpc.result-or-error looks at that",
                None,
            )
        return Gap("-", why, blocked=True, exchange=exchange)

    def entries_of(self, kind: Class) -> Iterator[Answer]:
        """Yield the answers of a class."""
        for entry in self.answers:
            if isinstance(entry, Answer) and entry.kind is kind:
                yield entry

    def _expectations(self) -> Iterator[Entry]:
        answers = {answer.exchange.index: answer for answer in self.answers if isinstance(answer, Answer)}
        outcomes = {e.subject: e for e in self.transcript.exchanges if e.kind is Kind.CALL and not e.retried}
        for call in self.transcript.survey.calls:
            if call.purpose is not Purpose.CONFIGURED or call.expect is Expect.ANY:
                continue
            exchange = outcomes.get(call.subject)
            answer = answers.get(exchange.index) if exchange else None
            # A last answer that asks for patience is judged as an error, and is not what became of the call.
            if exchange is None or answer is None or asked_delay(exchange, answer.message) is not None:
                yield Gap(call.subject, "the call gave no answer to compare", blocked=True, exchange=exchange)
            else:
                yield Expectation(call.subject, exchange, self.server, answer.revision, call, answer)

    @cached_property
    def outcomes(self) -> Mapping[str, Answer | Gap]:
        """What became of each call, by its subject."""
        found: dict[str, Answer | Gap] = {}
        for entry in self.answers:
            exchange = entry.exchange
            if exchange is None or exchange.retried or not isinstance(entry, Answer | Gap):
                continue
            # A plea for patience to the end is a gap and an answer: what became of the call is the gap.
            if not isinstance(found.get(exchange.subject), Gap):
                found[exchange.subject] = entry
        return found

    # -- what the server says about itself --------------------------------------------------------------------

    def revision_of(self, exchange: Exchange) -> str | None:
        """Return the MCP revision that an exchange was spoken in."""
        if exchange.era is Era.STATELESS:
            return STATELESS_REVISION
        return self.server.revision if exchange.era is Era.HANDSHAKE else None


def _has_answer(response: Mapping[str, Any]) -> bool:
    return isinstance(response.get("result"), Mapping) or "error" in response


def _label(exchange: Exchange) -> str:
    return f"{exchange.subject}@{exchange.attempt}" if exchange.retried else exchange.subject


# What comes back to these is no answer to a request of the plan.
_NOT_JUDGED_AS_REPLIES = {
    Kind.STREAM,
    Kind.VARIANT,
    Kind.INITIALIZED,
    Kind.REPLY,
    Kind.DELETE,
    Kind.REFUSAL,
    Kind.METADATA,
    Kind.VIEW,
    Kind.HTTP,
    Kind.INTEROP,
}
