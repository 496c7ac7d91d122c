"""What probes of the transport and the lifecycle gave, as rules judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.reading import no_answer
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, STATELESS_REVISION
from pytest_adcp.harness.subjects import Entry, Gap, HttpProbed, Message, Reply
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind

from .http import SESSIONS, subject, why_not

if TYPE_CHECKING:
    from pytest_adcp.harness.evidence import Evidence

METHOD_NOT_FOUND = -32601

_LOOKED_AT_WHOLE = {
    HttpProbe.ID_DIGITS,
    HttpProbe.ID_LARGE,
    HttpProbe.ID_EMPTY,
    HttpProbe.ID_UNICODE,
    HttpProbe.ID_NULL,
    HttpProbe.OTHER_ENVELOPE,
    HttpProbe.MALFORMED,
    HttpProbe.UNKNOWN_NOTIFICATION,
}
_ORIGINS = {HttpProbe.ORIGIN_OWN, HttpProbe.ORIGIN_FOREIGN, HttpProbe.ORIGIN_NULL}
_OPENING = {HttpProbe.CLIENT_INFO, HttpProbe.USER_AGENT}
# What they are about may well be answered with 404.
_MAY_BE_404 = {
    HttpProbe.SESSION_ABSENT,
    HttpProbe.SESSION_ENDED,
    HttpProbe.SESSION_UNKNOWN,
    HttpProbe.GET_STREAM,
    HttpProbe.DELETE,
    HttpProbe.SESSION_DELETE,
}
# What the server may serve or refuse, as long as it does one of them.
_EITHER = {
    HttpProbe.ACCEPT_JSON,
    HttpProbe.ACCEPT_ANY,
    HttpProbe.BOGUS_CURSOR,
    HttpProbe.ID_NULL,
    HttpProbe.OTHER_ENVELOPE,
    HttpProbe.NO_TOOL,
}


def http_probed(evidence: Evidence, probes: Sequence[HttpProbe]) -> tuple[Entry, ...]:
    """Return what each of the probes gave beside what it is compared with; one gap where none was sent."""
    sent = {e.subject: e for e in evidence.transcript.exchanges if e.kind is Kind.HTTP and not e.retried}
    entries = tuple(_entry(evidence, probe, sent) for probe in probes)
    if all(isinstance(entry, Gap) and not entry.blocked for entry in entries):
        return (Gap("-", next((e.why for e in entries if isinstance(e, Gap)), ""), blocked=False),)
    return entries


def probed_replies(evidence: Evidence) -> Iterator[Reply]:
    """Yield what came back to the probes that are requests, where it is a JSON-RPC response."""
    subjects = {subject(probe) for probe in HttpProbe if probe is not HttpProbe.UNKNOWN_NOTIFICATION}
    for exchange in evidence.transcript.exchanges:
        if exchange.kind is Kind.HTTP and not exchange.retried and exchange.subject in subjects:
            reply = evidence.reply(exchange)
            if reply.response is not None:
                yield reply


def probed_messages(evidence: Evidence) -> Iterator[Message]:
    """Yield the JSON-RPC responses to the probes, but for those that the rule on the probe looks at whole."""
    whole = {subject(probe) for probe in _LOOKED_AT_WHOLE}
    for reply in probed_replies(evidence):
        if reply.exchange.subject not in whole and reply.response is not None:
            yield Message(reply.label, reply.exchange, evidence.server, reply.revision, reply, reply.response)


def _entry(evidence: Evidence, probe: HttpProbe, sent: Mapping[str, Exchange]) -> Entry:
    exchange = sent.get(subject(probe))
    if exchange is None:
        left = evidence.transcript.survey.not_called
        why = next((item.why for item in left if item.item == subject(probe)), why_not(probe))
        return Gap(subject(probe), why, blocked=False)
    reply = evidence.reply(exchange)
    if why := _why_no_verdict(probe, reply):
        return Gap(exchange.subject, why, blocked=True, exchange=exchange)
    normal = _compared_with(evidence, probe, sent)
    return HttpProbed(
        exchange.subject,
        exchange,
        evidence.server,
        _revision(evidence, exchange),
        probe,
        reply,
        evidence.reply(normal) if normal is not None else None,
        frozenset(_versions(evidence, exchange)),
    )


def _why_no_verdict(probe: HttpProbe, reply: Reply) -> str:
    """Say why what came says nothing about the behaviour that was tried; empty where it does."""
    if probe in (*_ORIGINS, *_OPENING) and reply.status == 403:
        return ""
    if probe in _EITHER and reply.exchange.end is End.DEADLINE:
        return ""
    may_fail = probe is HttpProbe.MALFORMED or probe in _EITHER
    if reply.status >= 500 and reply.status != HTTPStatus.NOT_IMPLEMENTED and not may_fail:
        return f"HTTP {reply.status}: the server failed"
    in_session = any(name.lower() == "mcp-session-id" for name, _ in reply.exchange.request.headers)
    if (
        reply.status == 404
        and in_session
        and probe not in _MAY_BE_404
        and error_code(reply) != METHOD_NOT_FOUND
    ):
        return "HTTP 404: the server has forgotten the session"
    return no_answer(reply.exchange)


def _compared_with(evidence: Evidence, probe: HttpProbe, sent: Mapping[str, Exchange]) -> Exchange | None:
    if probe is HttpProbe.SESSION_ENDED:
        return sent.get(subject(HttpProbe.SESSION_DELETE))
    opens = (*SESSIONS, *_OPENING)
    if probe not in opens and evidence.server.era is Era.HANDSHAKE:
        return sent.get(subject(HttpProbe.PING))
    kind = Kind.INITIALIZE if probe in opens else Kind.DISCOVER
    return next((e for e in evidence.transcript.exchanges if e.kind is kind and not e.retried), None)


def _revision(evidence: Evidence, exchange: Exchange) -> str | None:
    """Return the revision that an exchange was spoken in: that of its session, which may be one of its own."""
    headers = (value for name, value in exchange.request.headers if name.lower() == "mcp-protocol-version")
    said = next(headers, None)
    if said in (*HANDSHAKE_REVISIONS, STATELESS_REVISION):
        return said
    return evidence.revision_of(exchange)


def _versions(evidence: Evidence, but: Exchange) -> Iterator[str]:
    """Yield the versions that the server named in any answer but this one."""
    for exchange in evidence.transcript.exchanges:
        result = evidence.readings[exchange.index].result
        if exchange.index == but.index or result is None or exchange.kind is Kind.INTEROP:
            continue
        named = [result.get("protocolVersion")]
        if exchange.kind is Kind.DISCOVER and isinstance(result.get("supportedVersions"), list):
            named += result["supportedVersions"]
        yield from (version for version in named if isinstance(version, str))


def error_code(reply: Reply) -> object:
    """Return the code of a JSON-RPC error; None where there is none."""
    error = (reply.response or {}).get("error")
    return error.get("code") if isinstance(error, Mapping) else None
