"""A server as a platform of connected apps meets it on the wire: its endpoint, each call, and where a user logs in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .calls import PlannedCall, Probe, Purpose
from .probes.app import APPENDED, APPENDED_OPENID, INSERTED, VERIFICATION, issuer_of, why_not
from .probes.documents import RESOURCE, served
from .reading import no_answer, read
from .rules import Judged
from .subjects import Entry, Gap, Subject
from .tasks import Task, catalogue
from .transcript import Diagnosis, Exchange, Kind
from .urls import without_userinfo

if TYPE_CHECKING:
    from .evidence import Evidence


@dataclass(frozen=True)
class Endpoint(Subject):
    """The URL of a server, and what came of the requests that every client sends there."""

    url: str  # without userinfo
    exchanges: tuple[Exchange, ...]  # initialize, tools/list and tools/call
    version: Any  # that initialize agreed on; None where it gave no result
    unusable: Diagnosis | None


@dataclass(frozen=True)
class Called(Subject):
    """A tools/call, whatever came back to it and whether its tool is an AdCP task or not."""

    exchange: Exchange
    tool: str
    call: PlannedCall | None  # None: of a tool that does not exist
    task: Task | None
    status: int  # of HTTP
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None  # of JSON-RPC

    @property
    def is_bad(self) -> bool:
        """Whether the request was made to be refused."""
        return self.call is None or self.call.purpose is Purpose.BAD or bool(self.call.violates)

    @property
    def is_flagged(self) -> bool:
        """Whether the result says that the call failed."""
        return self.result is not None and bool(self.result.get("isError"))


@dataclass(frozen=True)
class InContext(Subject):
    """A call with what a platform tells of its user, and the same call without."""

    with_it: Called
    without: Called


@dataclass(frozen=True)
class Login(Subject):
    """What a client that the server asks to log in finds out about where.

    `resource` is the server's own document (RFC 9728). `found` is the first document of the authorization server in
    one of the places where the platform looks, `appended` those places, and `inserted` where one was found instead.
    """

    exchange: Exchange
    resource: Mapping[str, Any] | None
    issuer: str
    found: Mapping[str, Any] | None
    appended: tuple[str, ...]
    inserted: str = ""


@dataclass(frozen=True)
class Looked(Subject):
    """What stands at a well-known place."""

    exchange: Exchange


def on_the_wire(evidence: Evidence) -> dict[Judged, Callable[[], Iterable[Entry]]]:
    """Return what makes the subjects of each kind."""
    return {
        Judged.ENDPOINT: lambda: endpoint(evidence),
        Judged.CALLED: lambda: called(evidence),
        Judged.IN_CONTEXT: lambda: in_context(evidence),
        Judged.LOGIN: lambda: login(evidence),
        Judged.VERIFICATION: lambda: verification(evidence),
    }


def endpoint(evidence: Evidence) -> Iterator[Entry]:
    """Yield the endpoint."""
    survey = evidence.transcript.survey
    exchanges = evidence.transcript.exchanges
    opening = next((e for e in exchanges if e.kind is Kind.INITIALIZE and not e.retried), None)
    if opening is None:
        return
    result = evidence.readings[opening.index].result
    if result is None and survey.unusable is None and (why := no_answer(opening)):
        yield Gap("initialize", why, blocked=True, exchange=opening)
        return
    kinds = (Kind.INITIALIZE, Kind.LIST, Kind.CALL)
    yield Endpoint(
        "endpoint",
        opening,
        evidence.server,
        evidence.server.revision,
        without_userinfo(survey.url),
        tuple(exchange for exchange in exchanges if exchange.kind in kinds),
        (result or {}).get("protocolVersion"),
        survey.unusable,
    )


def called(evidence: Evidence) -> Iterator[Called]:
    """Yield every tools/call that an answer came to, but for those that were sent again."""
    for exchange in evidence.transcript.exchanges:
        sent = evidence.readings[exchange.index].sent
        ours = exchange.kind in (Kind.CALL, Kind.POLL, Kind.PROBE) and sent.get("method") == "tools/call"
        if ours and not exchange.retried and exchange.response is not None:
            yield _called(evidence, exchange)


def in_context(evidence: Evidence) -> Iterator[Entry]:
    """Yield the call that carries a user's context, beside the one that it repeats."""
    made = {entry.exchange.subject: entry for entry in called(evidence)}
    for call in evidence.calls.values():
        if call.probe is not Probe.USER_CONTEXT:
            continue
        with_it, without = made.get(call.subject), made.get(call.baseline or "")
        if with_it is None or without is None:
            yield Gap(call.subject, "the call, or the one that it repeats, gave no answer", blocked=True)
        else:
            label, exchange = call.subject, with_it.exchange
            yield InContext(label, exchange, evidence.server, with_it.revision, with_it, without)


def login(evidence: Evidence) -> Iterator[Entry]:
    """Yield what OAuth discovery gave, where the server asks for credentials."""
    exchanges = evidence.transcript.exchanges
    documents = {e.subject: e for e in exchanges if e.kind is Kind.METADATA and not e.retried}
    refused = next((e for e in exchanges if e.response is not None and e.response.status == 401), None)
    own = next((e for e in documents.values() if e.subject.startswith(RESOURCE) and served(e)), None)
    asking = refused or own
    if asking is None:
        return
    url = without_userinfo(evidence.transcript.survey.url)
    resource = served(own) if own is not None else None
    issuer = issuer_of(resource, url)
    appended = [documents[name] for name in (APPENDED, APPENDED_OPENID) if name in documents]
    if not appended:
        default = "the metadata of the authorization server was not asked for"
        yield Gap("login", why_not(issuer, url, False) or default, blocked=False, exchange=asking)
        return
    found = next((e for e in appended if metadata_in(e) is not None), None)
    if found is None and (untold := [e for e in appended if _is_no_verdict(e)]):
        yield Gap("login", no_answer(untold[0]) or "the server failed", blocked=True, exchange=untold[0])
        return
    inserted = documents.get(INSERTED)
    yield Login(
        "login",
        found or appended[0],
        evidence.server,
        None,
        resource,
        issuer,
        metadata_in(found) if found is not None else None,
        tuple(e.request.url for e in appended),
        inserted.request.url if inserted is not None and metadata_in(inserted) is not None else "",
    )


def verification(evidence: Evidence) -> Iterator[Entry]:
    """Yield what stands where a domain is verified."""
    for exchange in evidence.transcript.exchanges:
        if exchange.subject == VERIFICATION and not exchange.retried:
            silent = exchange.response is None
            if silent:
                yield Gap("verification", no_answer(exchange), blocked=True, exchange=exchange)
            else:
                yield Looked("verification", exchange, evidence.server, None)


def metadata_in(exchange: Exchange) -> Mapping[str, Any] | None:
    """Return the metadata of an authorization server that an exchange gave; None for all else."""
    response = exchange.response
    documents = read(exchange).documents if response is not None and response.status == 200 else ()
    value = documents[0].parsed.value if documents else None
    named = ("issuer", "authorization_endpoint", "token_endpoint")
    return value if isinstance(value, Mapping) and any(name in value for name in named) else None


def _is_no_verdict(exchange: Exchange) -> bool:
    """Whether an exchange does not tell what stands there: nothing came, or a server that is busy or broken."""
    response = exchange.response
    return response is None or response.status == 429 or response.status >= 500


def _called(evidence: Evidence, exchange: Exchange) -> Called:
    reading = evidence.readings[exchange.index]
    params = reading.sent.get("params")
    tool = params.get("name") if isinstance(params, Mapping) else None
    name = tool if isinstance(tool, str) else ""
    error = (reading.response or {}).get("error")
    return Called(
        exchange.subject,
        exchange,
        evidence.server,
        evidence.revision_of(exchange),
        name,
        evidence.calls.get(exchange.subject),
        catalogue().get(name),
        exchange.response.status if exchange.response is not None else 0,
        reading.result,
        error if isinstance(error, Mapping) else None,
    )
