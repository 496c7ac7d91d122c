"""What probes gave, as rules judge it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_adcp.harness.calls import Credentials, PlannedCall, Probe
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.reading import no_answer
from pytest_adcp.harness.subjects import Answer, Capabilities, Entry, Gap, Metadata, Probed, Refusal
from pytest_adcp.harness.tasks import CAPABILITIES
from pytest_adcp.harness.transcript import Kind

if TYPE_CHECKING:
    from pytest_adcp.harness.evidence import Evidence

REFUSALS = "probe/credentials"  # how the report names calls with credentials that are none


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
        if entry.task.name == CAPABILITIES and entry.call.probe is None:
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
        refused = exchange.response is not None and exchange.response.status in (401, 403)
        why = "" if refused else no_answer(exchange)
        if why:
            yield Gap(exchange.subject, why, blocked=True, exchange=exchange)
            continue
        reply = evidence.reply(exchange)
        params = reply.sent.get("params")
        tool = str(params.get("name")) if isinstance(params, dict) else ""
        revision = evidence.revision_of(exchange)
        yield Refusal(
            exchange.subject, exchange, evidence.server, revision, Credentials(credentials), tool, reply
        )
    if not tried:
        default = "no call was made with credentials that are none"
        yield Gap("-", _why_not_sent(evidence, REFUSALS) or default, blocked=False)


def metadata(evidence: Evidence) -> Iterator[Entry]:
    """Yield the documents of OAuth discovery that the server serves."""
    for exchange in evidence.transcript.exchanges:
        documents = evidence.readings[exchange.index].documents
        served = exchange.response is not None and exchange.response.status == 200
        if exchange.kind is Kind.METADATA and served and documents:
            yield Metadata(exchange.subject, exchange, evidence.server, None, documents[0].parsed.value)


def _why_not_sent(evidence: Evidence, item: str) -> str:
    return next(
        (left.why for left in evidence.transcript.survey.not_called if item in left.item.split(", ")), ""
    )
