"""Callers that a server does not know: patience with it, what is kept of them, and the commands that show a finding."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.recorder import SAME_FAILURES, Phase, Recorder
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.seller import Eras, SellerOptions, running
from pytest_adcp.harness.subjects import Gap, Refusal
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import End, Kind, Request, Response
from pytest_adcp.harness.verdict import Finding, Outcome
from pytest_adcp.harness.wire import Sent
from rawserver import Peer
from scripted import Call, Reply, scripted
from strangers import KNOWN, NOBODY, READ, TOKEN, TOOLS, guarded, header, statuses
from surveys import FAST, judge_core, survey
from test_oauth import authority, client

# -- politeness and ends -----------------------------------------------------------------------------------------------


def test_a_plea_for_patience_is_heeded() -> None:
    pleas: list[str] = []

    def hook(call: Call) -> Reply | None:
        if call.tool == READ and call.header("authorization") is None and not pleas:
            pleas.append("once")
            return Reply(status=429, headers=["Retry-After: 0"])
        return guarded(call)

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    none = [(e.attempt, e.retried) for e in transcript.exchanges if e.subject == "credentials/none"]
    assert none == [(1, True), (2, False)]
    assert statuses(transcript) == [401, 401, 401]


def test_no_other_token_is_fetched_to_be_refused_again() -> None:
    def hook(call: Call) -> Reply | None:
        known = call.header("authorization") == "Bearer t0ken-number-1"
        http = replace(call.http, headers=[("Authorization", f"Bearer {TOKEN}")]) if known else call.http
        return guarded(replace(call, http=http))

    with authority() as theirs, scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=Credentials(oauth=client(theirs.url)))
    assert len(theirs.requests) == 1
    assert statuses(transcript) == [401, 401, 401]
    assert transcript.retries == 0


def answer(status: int) -> Sent:
    request = Request("POST", "http://seller.test/mcp", (("Authorization", "invalid-1"),))
    return Sent(request, Response(status, "HTTP/1.1", (), b"", 0), End.COMPLETE, answered=0.1)


def test_what_is_sent_to_be_refused_does_not_end_a_survey() -> None:
    recorder = Recorder(FAST, Redactor(), lambda _: None)
    tools = itertools.cycle(("list_creatives/sample", "list_accounts/sample"))

    def add(status: int, kind: Kind, times: int = 1) -> None:
        for _ in range(times):
            recorder.add((Phase.CALLS, 0), answer(status), kind=kind, subject=next(tools), started=0.0)

    add(200, Kind.CALL)
    add(401, Kind.CALL, SAME_FAILURES - 1)
    add(401, Kind.REFUSAL, SAME_FAILURES)
    add(401, Kind.METADATA)
    assert not recorder.stopped
    add(200, Kind.METADATA)  # nor does it begin the count anew
    add(401, Kind.CALL)
    assert recorder.stopped


def test_only_what_is_made_up_is_recorded() -> None:
    recorder = Recorder(FAST, Redactor(["s3cret-word"]), lambda _: None)
    facts: dict[str, Any] = {"kind": Kind.REFUSAL, "subject": "t/1", "started": 0.0}
    made_up = frozenset({"invalid-1", "s3cret-word"})
    kept = recorder.add((Phase.REFUSALS, 0), answer(401), **facts, made_up=made_up)
    left_out = recorder.add((Phase.REFUSALS, 1), answer(401), **facts)
    assert [header(e, "authorization") for e in (kept, left_out)] == ["invalid-1", "[redacted]"]
    headers = Redactor(["s3cret-word"]).headers([("Authorization", "s3cret-word")], made_up)
    assert headers == (("Authorization", "[redacted]"),)  # a real one never is


@pytest.mark.parametrize(
    ("ending", "more"), [("reset", 2), ("503", 2), ("hang", 0)]
)  # nobody waits for another time-out
def test_what_gave_no_answer_is_blocked(ending: str, more: int) -> None:
    def reset(peer: Peer) -> None:
        peer.reset()

    def hook(call: Call) -> Any:
        if call.tool == READ and call.header("authorization") is None:
            return {"reset": reset, "503": Reply(status=503), "hang": Peer.until_closed}[ending]
        return guarded(call)

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN, limits=replace(FAST, request_timeout=0.5))
    none, *others = Evidence(transcript).entries(Judged.REFUSAL)
    assert isinstance(none, Gap)
    assert none.blocked
    assert all(isinstance(entry, Refusal) for entry in others)
    assert len(others) == more
    assert transcript.survey.complete


# -- the command that shows it ----------------------------------------------------------------------------------------


def findings_of(fault: str, token: str, **options: Any) -> list[Finding]:
    with running(SellerOptions(fault=fault, **options)) as url:
        transcript = survey(url, credentials=Credentials(bearer=token), tools=(READ,))
    return [f for f in judge_core(transcript) if f.outcome is Outcome.FAILED]


TOKEN_OF_FAULTS = "token-of-the-reference-seller"


def test_the_command_of_a_finding_has_the_token_only_where_it_was_sent() -> None:
    for era in (Eras.HANDSHAKE, Eras.STATELESS):
        for finding in findings_of("read-unprotected", TOKEN_OF_FAULTS, eras=era):
            opening, _, call = finding.curl.rpartition("; curl ")
            assert ("$TOKEN" in opening) == (era is Eras.HANDSHAKE)
            assert "$TOKEN" not in call
            assert bool(NOBODY.search(call)) == (finding.subject != "credentials/none")


@pytest.mark.skipif(shutil.which("curl") is None, reason="runs curl")
def test_the_command_of_a_finding_shows_the_finding() -> None:
    with running(SellerOptions(fault="session-authenticates", bearer=TOKEN_OF_FAULTS)) as url:
        transcript = survey(url, credentials=Credentials(bearer=TOKEN_OF_FAULTS), tools=(READ,))
        failed = [f for f in judge_core(transcript) if f.outcome is Outcome.FAILED]
        assert {f.subject for f in failed} == {
            "credentials/none",
            "credentials/unknown",
            "credentials/malformed",
        }
        for finding in failed:
            shown = subprocess.run(
                ["/bin/sh", "-c", finding.curl],
                env={"PATH": os.environ["PATH"], "TOKEN": TOKEN_OF_FAULTS, "no_proxy": "*"},
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            ).stdout
            assert shown.startswith("HTTP/1.1 200"), shown
            assert '"creatives"' in shown
