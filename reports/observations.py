"""What is worth knowing about a server and no rule is about. Never counted, never in the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from pytest_adcp.harness.calls import HttpProbe, Purpose
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.http import FOREIGN_HOST, subject
from pytest_adcp.harness.reading import read
from pytest_adcp.harness.release import BEFORE_3, WHY_BEFORE_3
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.subjects import Answer, Handshake, Subject
from pytest_adcp.harness.tasks import CAPABILITIES, catalogue, look_alike
from pytest_adcp.harness.text import plural, quote, safe
from pytest_adcp.harness.transcript import Exchange, Kind, Transcript
from pytest_adcp.harness.urls import is_loopback

from .model import Observation, Target

SERVER_LOG = "own-server-log"
"""The id of an observation that is a line of the log of a server which the run started."""

_CERTIFICATE_DAYS = 30  # before its end a certificate is worth a word
_LOG_LINES = 20  # of a server that the run started, where it died
_LISTED = 1000  # tools that are looked at


def observe(evidence: Evidence) -> Iterator[Observation]:
    """Yield the observations on a transcript: the same for the same bytes."""
    yield from _own_server(evidence.transcript)
    if not evidence.transcript.exchanges or evidence.transcript.survey.unusable is not None:
        return
    yield _release(evidence)
    yield from _eras(evidence)
    yield from _tls(evidence.transcript)
    yield from _repeated_pages(evidence)
    yield from _other_tools(evidence)
    yield from _against_purpose(evidence)
    yield from _retries(evidence.transcript.exchanges)
    yield from _foreign_host(evidence.transcript.exchanges)


def _own_server(transcript: Transcript) -> Iterator[Observation]:
    found = transcript.survey.own_server
    if found is None:
        return
    if transcript.survey.unusable is None:
        code = found.exit_code
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        note = f"the server that adcp.yaml starts ended by itself during the survey, with {how}"
        yield Observation("own-server", note)
    # A line each: whoever reads a log reads it in lines.
    for line in found.log[-_LOG_LINES:]:
        yield Observation(SERVER_LOG, f"log of the server: {safe(line, 400)}")


def server_log(target: Target) -> list[str]:
    """Return the last lines that the server wrote which the run had started, where it ended by itself."""
    notes = (item.note for item in target.observations if item.id == SERVER_LOG)
    return [note.removeprefix("log of the server: ") for note in notes]


def _release(evidence: Evidence) -> Observation:
    release, source = evidence.server.release, evidence.server.release_source
    answers = (entry for entry in evidence.answers if isinstance(entry, Answer))
    told = next((item for item in answers if item.task.name == CAPABILITIES), None)
    if release == BEFORE_3:
        return Observation("release", WHY_BEFORE_3)
    if release is None or not source:
        asked = any(call.tool == CAPABILITIES for call in evidence.calls.values())
        silent = (
            f"gave no answer to {CAPABILITIES} that says" if asked else f"was not asked by {CAPABILITIES}"
        )
        why = "does not say" if told else silent
        note = f"the server {why} which AdCP release it serves; it is judged as 3.0, and --adcp-spec pins another"
        return Observation("release-unknown", note, told.exchange.index if told else None)
    if source.startswith("--"):
        return Observation("release", f"judged against AdCP {release}, as {source} says")
    note = f"judged against AdCP {release}, which {source} of {CAPABILITIES} names"
    if source == "major_versions":
        note = (
            f"{CAPABILITIES} names only a major version: judged as AdCP {release}, payloads by any release of 3; "
            "--adcp-spec pins one"
        )
    return Observation("release", note, told.exchange.index if told else None)


def _eras(evidence: Evidence) -> Iterator[Observation]:
    found = [
        entry
        for entry in evidence.entries(Judged.DISCOVERY)
        if isinstance(entry, Handshake)
        and STATELESS_REVISION in _listed(entry.result.get("supportedVersions"))
    ]
    if found and any(isinstance(entry, Subject) for entry in evidence.entries(Judged.HANDSHAKE)):
        where = f"; the calls ran in the {evidence.server.era} era" if evidence.server.era else ""
        note = f"the server offers both the initialize handshake and the stateless protocol{where}"
        yield Observation("both-eras", note, _index(found[0].exchange))


def _tls(transcript: Transcript) -> Iterator[Observation]:
    tls = transcript.survey.tls
    if tls is None:
        address = urlsplit(transcript.exchanges[0].request.url)
        if address.scheme == "http" and not is_loopback(address.hostname or ""):
            note = "the endpoint is reached over plain http: whoever is on the way can read and change what is sent"
            yield Observation("plain-http", note)
        return
    shown = f"the certificate of {safe(tls.subject) or 'nobody'} is from {safe(tls.issuer) or 'nobody'}"
    yield Observation(
        "tls", f"{safe(tls.version)} with {safe(tls.cipher)}; {shown}, until {safe(tls.not_after)}"
    )
    try:
        # From the day of the survey: a replay says the same.
        left = datetime.fromisoformat(tls.not_after) - datetime.fromisoformat(transcript.survey.started_at)
    except (ValueError, TypeError):
        return
    if left.days < _CERTIFICATE_DAYS:
        note = f"the certificate ends in {plural(left.days, 'day')} ({safe(tls.not_after)}): no buyer connects after that"
        yield Observation("certificate-ends", note)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _repeated_pages(evidence: Evidence) -> Iterator[Observation]:
    pages = [exchange for exchange in evidence.transcript.exchanges if exchange.kind is Kind.LIST]
    tools = [(read(page).result or {}).get("tools") for page in pages]
    for page, before, after in zip(pages[1:], tools, tools[1:], strict=False):
        if before == after and after:
            note = f"{safe(page.subject)} repeats the page before it: nextCursor is ignored, and clients that follow it never end"
            yield Observation("repeated-page", note, page.index)
            return


def _other_tools(evidence: Evidence) -> Iterator[Observation]:
    names = [tool.get("name") for tool in evidence.server.tools[:_LISTED]]
    own = {name for name in names if isinstance(name, str) and name not in catalogue()}
    others = [name for name in own if not look_alike(name)]
    if others:
        note = f"{plural(len(others), 'listed tool')} outside AdCP, called only where adcp.yaml says so"
        yield Observation("other-tools", note)


def _against_purpose(evidence: Evidence) -> Iterator[Observation]:
    """Yield the answers that leave rules without a subject: no success to judge, or no error."""
    for entry in evidence.answers:
        if not isinstance(entry, Answer) or entry.label != entry.call.subject:
            continue  # a plea for patience is no verdict on the request
        purpose, kind, index = entry.call.purpose, entry.kind, entry.exchange.index
        if purpose is Purpose.BAD and kind is not Class.ERROR:
            note = f"{safe(entry.label)} is a bad request and was accepted ({safe(entry.call.violates)})"
            yield Observation("bad-request-accepted", note, index)
        elif purpose is Purpose.GOOD and kind is Class.ERROR:
            note = f"{safe(entry.label)} is a good request and was refused: {_said(entry)}"
            yield Observation("good-request-refused", note, index)


def _said(answer: Answer) -> str:
    error = answer.adcp_error
    if isinstance(error, Mapping):
        return f"code {quote(error.get('code'), 80)}, message {quote(error.get('message'))}"
    if answer.result is None:
        return quote(answer.message.get("error"))
    return quote(answer.texts[0].text if answer.texts else answer.structured)


def _retries(exchanges: tuple[Exchange, ...]) -> Iterator[Observation]:
    retried = [exchange for exchange in exchanges if exchange.retried]
    if retried:
        first = safe(retried[0].subject)
        note = f"{plural(len(retried), 'request')} had to be sent again, {first} first"
        yield Observation("retries", note, retried[0].index)


def _foreign_host(exchanges: tuple[Exchange, ...]) -> Iterator[Observation]:
    """Yield that a server on this machine serves requests of any Host: no clause forbids it, and DNS rebinding uses it."""
    name = subject(HttpProbe.HOST_FOREIGN)
    tried = next((e for e in exchanges if e.kind is Kind.HTTP and e.subject == name and not e.retried), None)
    if tried is not None and tried.response is not None and 200 <= tried.response.status < 300:
        note = f"a request with Host: {FOREIGN_HOST} is served; a server on loopback that looks at Host keeps DNS rebinding out"
        yield Observation("foreign-host", note, tried.index)


def _index(exchange: Exchange | None) -> int | None:
    return exchange.index if exchange else None
