"""What a server gives in MCP 2026-07-28, where every request describes itself, as rules judge it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .calls import HttpProbe, Probe, Purpose, Variant
from .probes.stateless import VARIANTS, serves_stateless, subject_of
from .reading import no_answer
from .session import STATELESS_REVISION
from .subjects import Entry, Gap, Reply, Subject
from .text import quote
from .transcript import End, Era, Exchange, Kind

if TYPE_CHECKING:
    from .evidence import Evidence

_GOOD = frozenset({Variant.LIST, Variant.CALL, Variant.PARAM, Variant.SESSION, Variant.NO_CLIENT_INFO})
_NO_PARAMS = "no tool that is read asks for an argument in a header (x-mcp-header)"
_NO_VARIANT = {
    Variant.NO_VERSION: "the server speaks older versions too, and may take it for a request of one of those",
    Variant.PARAM: _NO_PARAMS,
    Variant.NO_PARAM: _NO_PARAMS,
    Variant.OTHER_PARAM: _NO_PARAMS,
}
_NOT_SERVED = "the server does not speak MCP 2026-07-28: server/discover does not list it"
_CODE = re.compile(r"-?[0-9]{1,9}")
_NOT_SENT = "no such request was sent"


def error_code(reply: Reply) -> int | None:
    """Return the code of a JSON-RPC error, as clients read it, also out of a string; None where there is none."""
    error = (reply.response or {}).get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and _CODE.fullmatch(code):
        return int(code)  # mcp.jsonrpc.error-object speaks of that
    return code if isinstance(code, int) and not isinstance(code, bool) else None


@dataclass(frozen=True)
class Modern(Subject):
    """A result of the stateless era; `first` is that of the first page, where this is a later one of tools/list."""

    exchange: Exchange
    method: str
    result: Mapping[str, Any]
    first: Mapping[str, Any] | None
    extended: bool  # server/discover names extensions of the protocol
    root: ClassVar[str] = "/result"

    def show(self, member: str) -> str:
        """Quote a member of the result, or say that it is absent."""
        return quote(self.result[member]) if member in self.result else "no such member"


@dataclass(frozen=True)
class Varied(Subject):
    """What came back to a variant; the good requests that others vary were answered with a result."""

    exchange: Exchange
    variant: Variant
    reply: Reply

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error; None where there is none."""
        return error_code(self.reply)

    @property
    def is_served(self) -> bool:
        """Whether it was answered with a result."""
        return self.reply.response is not None and "result" in self.reply.response

    def show(self) -> str:
        """Say what came: the status, and the body."""
        body = self.exchange.response.body[:400] if self.exchange.response is not None else b""
        message = self.reply.response
        shown = quote(message) if message is not None else quote(body.decode(errors="replace"))
        return f"HTTP {self.reply.status} and {shown if body else 'no body'}"


@dataclass(frozen=True)
class ModernReply(Subject):
    """What came back to a request of the stateless era, or to initialize from a server that speaks no other."""

    exchange: Exchange
    reply: Reply
    versions: tuple[str, ...]  # that server/discover lists
    is_read: bool  # a plain one, which changes nothing

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error; None where there is none."""
        return error_code(self.reply)

    @property
    def error(self) -> Mapping[str, Any]:
        """The JSON-RPC error; empty where it is none."""
        error = (self.reply.response or {}).get("error")
        return error if isinstance(error, Mapping) else {}

    def show_error(self) -> str:
        """Say what came: the status, and the error."""
        return f"HTTP {self.reply.status}, {quote(self.error)}"


def modern(evidence: Evidence) -> Iterator[Entry]:
    """Yield every result that was given in the stateless era."""
    discovery = _discovery(evidence)
    if discovery is None:
        yield Gap("-", _NOT_SERVED, blocked=False)
        return
    capabilities = discovery.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    first: Mapping[str, Any] | None = None
    for exchange in evidence.transcript.exchanges:
        if exchange.era is not Era.STATELESS or exchange.retried or not _is_good(exchange):
            continue
        reading = evidence.readings[exchange.index]
        if reading.result is None:
            continue
        yield Modern(
            exchange.subject,
            exchange,
            evidence.server,
            evidence.revision_of(exchange),
            str(reading.sent.get("method", "")),
            reading.result,
            first if exchange.kind is Kind.LIST else None,
            isinstance(extensions, Mapping) and bool(extensions),
        )
        if exchange.kind is Kind.LIST and first is None:
            first = reading.result


def modern_replies(evidence: Evidence) -> Iterator[Entry]:
    """Yield every reply of the stateless era, and that to initialize where the server has no other era."""
    discovery = _discovery(evidence)
    if discovery is None:
        yield Gap("-", _NOT_SERVED, blocked=False)
        return
    versions = tuple(item for item in discovery["supportedVersions"] if isinstance(item, str))
    for exchange in evidence.transcript.exchanges:
        refused = exchange.kind is Kind.INITIALIZE and not evidence.server.initialize
        if exchange.kind is Kind.INTEROP or exchange.retried or no_answer(exchange):
            continue
        if not (exchange.era is Era.STATELESS or refused):
            continue
        reply = evidence.reply(exchange)
        if refused or (reply.response is not None and exchange.kind is not Kind.STREAM):
            call = evidence.calls.get(exchange.subject)
            is_call = call is not None and call.purpose is Purpose.GOOD and not call.mutating
            is_read = _is_good(exchange) and (is_call or exchange.kind not in (Kind.CALL, Kind.PROBE))
            revision = STATELESS_REVISION
            yield ModernReply(
                reply.label, exchange, evidence.server, revision, reply, versions, is_read and not refused
            )


def varied(evidence: Evidence, variants: Iterable[Probe | Variant | HttpProbe]) -> Iterator[Entry]:
    """Yield what came back to some variants."""
    wanted = [variant for variant in Variant if variant in set(variants)]
    if _discovery(evidence) is None:
        yield Gap("-", _NOT_SERVED, blocked=False)
        return
    for variant in wanted:
        exchange = _exchange(evidence, variant)
        if exchange is None:
            yield Gap(subject_of(variant), _why_not(evidence, variant), blocked=False)
        elif exchange.end is End.INTERRUPTED and (why := _left_out(evidence)):
            yield Gap(subject_of(variant), why, blocked=False, exchange=exchange)
        elif why := no_answer(exchange):
            yield Gap(subject_of(variant), why, blocked=True, exchange=exchange)
        else:
            yield Varied(
                subject_of(variant),
                exchange,
                evidence.server,
                evidence.revision_of(exchange),
                variant,
                evidence.reply(exchange),
            )


def _is_good(exchange: Exchange) -> bool:
    if exchange.kind is Kind.VARIANT:
        return exchange.subject in {subject_of(variant) for variant in _GOOD}
    return exchange.kind in (Kind.DISCOVER, Kind.LIST, Kind.CALL, Kind.POLL, Kind.PROBE)


def _discovery(evidence: Evidence) -> Mapping[str, Any] | None:
    """Return the result of server/discover where it says that the server speaks this revision."""
    for exchange in evidence.transcript.exchanges:
        result = evidence.readings[exchange.index].result
        if exchange.kind is Kind.DISCOVER and not exchange.retried and serves_stateless(result):
            return result
    return None


def _exchange(evidence: Evidence, variant: Variant) -> Exchange | None:
    subject = subject_of(variant)
    exchanges = evidence.transcript.exchanges
    found = (e for e in exchanges if e.kind is Kind.VARIANT and e.subject == subject and not e.retried)
    return next(found, None)


def _why_not(evidence: Evidence, variant: Variant) -> str:
    return _left_out(evidence) or _NO_VARIANT.get(variant, _NOT_SENT)


def _left_out(evidence: Evidence) -> str:
    """Return why not all variants were sent; empty where they were."""
    left_out = evidence.transcript.survey.not_called
    return next((left.why for left in left_out if left.item == VARIANTS), "")
