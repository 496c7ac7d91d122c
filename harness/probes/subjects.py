"""What probes gave, as rules judge it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_adcp.harness.calls import Credentials, PlannedCall, Probe, Purpose
from pytest_adcp.harness.challenges import challenges, named_metadata
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.reading import no_answer
from pytest_adcp.harness.subjects import (
    Answer,
    Capabilities,
    Challenge,
    Entry,
    Gap,
    Metadata,
    Probed,
    Refusal,
)
from pytest_adcp.harness.tasks import CAPABILITIES
from pytest_adcp.harness.transcript import Exchange, Kind
from pytest_adcp.harness.urls import display_url

from .documents import SERVER, listed_server, served

if TYPE_CHECKING:
    from pytest_adcp.harness.evidence import Evidence

REFUSALS = "probe/credentials"  # how the report names calls with credentials that are none
SESSION = (
    "credentials/session"  # the exchange that opens the session in which they are tried, with the real ones
)


def probed(evidence: Evidence, probe: Probe) -> Iterator[Entry]:
    """Yield what each call of a probe gave, beside what it is compared with."""
    calls = [call for call in evidence.calls.values() if call.probe is probe]
    if not calls:
        default = "no such request was sent: the request that it varies was not made, or was refused"
        yield Gap("-", _why_not_sent(evidence, f"probe/{probe}") or default, blocked=False)
    for call in calls:
        outcomes = [evidence.outcomes.get(subject) for subject in (*_series(evidence, call), call.subject)]
        answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
        gaps = [outcome for outcome in outcomes if isinstance(outcome, Gap)]
        if len(answers) == len(outcomes):
            *before, answer = answers
            yield Probed(
                call.subject, answer.exchange, evidence.server, answer.revision, call, answer, tuple(before)
            )
        elif gaps:
            yield Gap(call.subject, gaps[0].why, blocked=gaps[0].blocked, exchange=gaps[0].exchange)
        else:
            yield Gap(call.subject, "the call, or one that it is compared with, gave no answer", blocked=True)


def _series(evidence: Evidence, call: PlannedCall) -> list[str]:
    """Return the subjects of the calls that a probe is compared with, in the order in which they were made."""
    series: list[str] = []
    while call.baseline is not None and call.baseline not in series:
        series.insert(0, call.baseline)
        earlier = evidence.calls.get(call.baseline)
        if earlier is None:
            break
        call = earlier
    return series


def capabilities(evidence: Evidence) -> Iterator[Entry]:
    """Yield what get_adcp_capabilities gave to the plain call of it."""
    for entry in evidence.entries_of(Class.SUCCESS):
        plain = entry.call.purpose not in (Purpose.BAD, Purpose.PROBE)
        if entry.task.name == CAPABILITIES and plain:
            names = frozenset(str(tool.get("name")) for tool in evidence.server.tools)
            yield Capabilities(
                entry.label, entry.exchange, evidence.server, entry.revision, entry, entry.payload, names
            )


def refusals(evidence: Evidence) -> Iterator[Entry]:
    """Yield what came back to credentials that are none."""
    tried = False
    for exchange in evidence.transcript.exchanges:
        credentials = exchange.subject.rpartition("/")[2]
        # The session in which they are tried is of the same kind.
        if exchange.kind is not Kind.REFUSAL or exchange.retried or credentials not in set(Credentials):
            continue
        tried = True
        status = exchange.response.status if exchange.response is not None else 0
        # Where a caller is sent to log in is an answer, if not one that a client of MCP can use.
        why = "" if status in (401, 403) or 300 <= status < 400 else no_answer(exchange)
        if why:
            yield Gap(exchange.subject, why, blocked=True, exchange=exchange)
            continue
        reply = evidence.reply(exchange)
        params = reply.sent.get("params")
        tool = str(params.get("name")) if isinstance(params, dict) else ""
        revision = evidence.revision_of(exchange)
        yield Refusal(
            exchange.subject,
            exchange,
            evidence.server,
            revision,
            Credentials(credentials),
            tool,
            reply,
            _session_of(evidence, exchange),
        )
    if not tried:
        default = "no call was made with credentials that are none"
        yield Gap("-", _why_not_sent(evidence, REFUSALS) or default, blocked=False)


def unauthorized(evidence: Evidence) -> Iterator[Entry]:
    """Yield every HTTP 401 of the run, and where a challenge in it leads."""
    asked = {
        exchange.request.url: exchange
        for exchange in evidence.transcript.exchanges
        if exchange.kind is Kind.METADATA and not exchange.retried
    }
    for exchange in evidence.transcript.exchanges:
        if exchange.response is None or exchange.response.status != 401 or exchange.kind is Kind.INTEROP:
            continue
        values = challenges(exchange.response)
        urls = [url for value in values for url in named_metadata(value)]
        yield Challenge(
            f"{exchange.subject}@{exchange.attempt}" if exchange.retried else exchange.subject,
            exchange,
            evidence.server,
            evidence.revision_of(exchange),
            values,
            tuple((url, asked.get(display_url(url))) for url in urls),
            _session_of(evidence, exchange),
        )


def _session_of(evidence: Evidence, exchange: Exchange) -> Exchange | None:
    """Return the exchange that opened the session of one in which the caller is somebody else."""
    opening = (e for e in evidence.transcript.exchanges if e.subject == SESSION and not e.retried)
    return next(opening, None) if exchange.kind is Kind.REFUSAL and exchange.subject != SESSION else None


def metadata(evidence: Evidence) -> Iterator[Entry]:
    """Yield the documents of OAuth discovery that the server serves."""
    issuer = None
    exchanges = evidence.transcript.exchanges
    endpoint = next((e.request.url for e in exchanges if e.kind in (Kind.INITIALIZE, Kind.DISCOVER)), "")
    if not any(exchange.kind is Kind.METADATA for exchange in exchanges):
        yield Gap("-", "the server was not asked for OAuth metadata", blocked=False)
    for exchange in exchanges:
        document = served(exchange) if exchange.kind is Kind.METADATA else None
        if document is None:
            continue
        of_server = exchange.subject.startswith(SERVER)
        yield Metadata(
            exchange.subject,
            exchange,
            evidence.server,
            None,
            document,
            endpoint,
            issuer if of_server else None,
        )
        issuer = issuer if of_server else issuer or listed_server(document)


def _why_not_sent(evidence: Evidence, item: str) -> str:
    return next(
        (left.why for left in evidence.transcript.survey.not_called if item in left.item.split(", ")), ""
    )
