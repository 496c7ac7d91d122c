"""What the official client read, beside what came over the wire, as rules judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.reading import no_answer, why_no_response
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import Entry, Gap, Reply, Subject
from pytest_adcp.harness.transcript import ClientStep, End, Exchange, Kind

from .steps import CONNECT, FIRST, INTEROP, LIST, prefix

if TYPE_CHECKING:
    from pytest_adcp.harness.evidence import Evidence

_LEFT_OUT = "the official client was not asked: `plan` in adcp.yaml says interop or probes false"


@dataclass(frozen=True)
class ClientRead(Subject):
    """One step of the official client, and what came over the wire for it.

    `replies` are the answers that it had, in their order: one, or the pages of tools/list; the last one is `reply`.
    Each holds a JSON-RPC response.
    """

    exchange: Exchange
    client: str  # "mcp 2.3.0"
    step: ClientStep
    replies: tuple[Reply, ...]

    @property
    def reply(self) -> Reply:
        """The last answer."""
        return self.replies[-1]

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The result in the last answer; None where that is an error, or no object."""
        result = (self.reply.response or {}).get("result")
        return result if isinstance(result, Mapping) else None

    @property
    def error(self) -> Any:
        """The error in the last answer; None where that is a result."""
        return (self.reply.response or {}).get("error")

    @cached_property
    def reading(self) -> Mapping[str, Any] | None:
        """What the client gave; None where it gave nothing, or more than is compared."""
        value = jsontext.parse(self.step.reading).value if self.step.reading else None
        return value if isinstance(value, Mapping) and "size" not in value else None

    @property
    def refusal(self) -> str:
        """How the client refused what came; empty where it did not. An error of the server's that it passes on is none."""
        if self.step.silent:
            return "no result and no exception, although the answer had come"
        passed_on = self.step.code is not None and isinstance(self.error, Mapping)
        return "" if passed_on else self.step.raised

    @property
    def place(self) -> str | None:
        """Where in the message the first thing stands that it did not take; None where it does not say."""
        if not self.step.places or self.result is None:
            return None
        found = ""
        for token in self.step.places[0].split("/")[1:]:
            try:
                jsontext.resolve(self.result, f"{found}/{token}")
            except LookupError:
                break
            found = f"{found}/{token}"
        return f"/result{found}"


def client_reads(evidence: Evidence, kind: Judged) -> Iterator[Entry]:
    """Yield the connections, the lists or the results that the official client had."""
    interop = evidence.transcript.survey.interop
    if interop is None or not interop.steps:
        left_out = evidence.transcript.survey.not_called
        why = next((left.why for left in left_out if left.item == INTEROP), _LEFT_OUT)
        yield Gap("-", why, blocked=False)
        return
    for step in interop.steps:
        name = step.subject.removeprefix(f"{prefix(step.era)}/")
        if _KINDS.get(name, Judged.CLIENT_RESULT) is kind:
            asked = f"{prefix(step.era)}/{FIRST[step.era]}" if name == CONNECT else step.subject
            yield _entry(evidence, step, asked, f"mcp {interop.version}")


_KINDS = {CONNECT: Judged.CLIENT_SESSION, LIST: Judged.CLIENT_LIST}


def _entry(evidence: Evidence, step: ClientStep, asked: str, client: str) -> Entry:
    exchanges = _exchanges(evidence, asked)
    last = exchanges[-1] if exchanges else None
    # Where the wire failed, what the client says of that is no finding.
    for exchange in exchanges:
        if (why := no_answer(exchange)) and not (step.lost and exchange.end is End.INTERRUPTED):
            return Gap(step.subject, why, blocked=True, exchange=exchange)
    if step.lost or last is None:
        skipped = step.skipped or "the official client never asked for it"
        return Gap(step.subject, step.lost or skipped, blocked=bool(step.lost), exchange=last)
    replies = tuple(evidence.reply(exchange) for exchange in exchanges)
    for reply in replies:
        if reply.response is None:
            return Gap(step.subject, why_no_response(reply.exchange), blocked=False, exchange=reply.exchange)
    revision = evidence.revision_of(last)
    return ClientRead(step.subject, last, evidence.server, revision, client, step, replies)


def _exchanges(evidence: Evidence, asked: str) -> list[Exchange]:
    """Return what a step asked for; the last try where it tried again, and each page of a list."""
    own = [exchange for exchange in evidence.transcript.exchanges if exchange.kind is Kind.INTEROP]
    pages = [e for e in own if e.subject == asked or e.subject.startswith(f"{asked}/page-")]
    return pages if asked.endswith(f"/{LIST}") else [e for e in own if e.subject == asked][-1:]
