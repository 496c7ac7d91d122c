"""The official client in a survey: in a process of its own, behind a tap, within bounds."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from official_client import READY, interop_findings, is_running, pretend
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.interop import phase, process
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.seller.options import Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import End, Kind, Limits, Transcript
from pytest_adcp.harness.verdict import Outcome, judge
from pytest_adcp.suites import CORE
from rawserver import Peer
from scripted import Call, Reply, scripted
from surveys import survey

TOKEN = "a-token-that-no-client-learns-7f3a"
NA, BLOCKED, PASSED, ADVISORY = Outcome.NOT_APPLICABLE, Outcome.BLOCKED, Outcome.PASSED, Outcome.ADVISORY


def reasons(transcript: Transcript) -> set[tuple[Outcome, str]]:
    return {(finding.outcome, finding.message) for finding in interop_findings(transcript)}


def others(transcript: Transcript) -> list[Any]:
    """Return what the other rules say, without the order of exchanges."""
    evidence = Evidence(transcript)
    findings = [judge(rule, entry) for rule in load(CORE) for entry in evidence.of(rule)]
    return sorted(
        (f.rule, f.subject, str(f.outcome)) for f in findings if not f.rule.startswith("mcp.interop.")
    )


# -- with the real one -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [True, False], ids=["sessions", "no-sessions"])
@pytest.mark.parametrize("answers", ["json", "sse"])
@pytest.mark.parametrize("era", ["handshake", "stateless", "both"])
def test_a_clean_seller_has_no_finding(era: str, answers: str, sessions: bool) -> None:
    with running(SellerOptions(eras=Eras(era), answers=Answers(answers), sessions=sessions)) as url:
        transcript = survey(url, interop=True)
    findings = interop_findings(transcript)
    assert {finding.outcome for finding in findings} == {PASSED}
    eras = {finding.subject.split("/")[1] for finding in findings}
    assert eras == ({"handshake", "stateless"} if era == "both" else {era})
    assert transcript.survey.complete
    assert transcript.survey.not_called[-1].item != "interop"
    version = metadata.version("mcp")
    assert transcript.survey.interop is not None
    assert transcript.survey.interop.version == version
    own = [exchange for exchange in transcript.exchanges if exchange.kind is Kind.INTEROP]
    assert own == list(transcript.exchanges[-len(own) :])
    assert len(own) <= 20


def test_it_changes_nothing_for_other_rules() -> None:
    with running(SellerOptions(answers=Answers.SSE)) as url:
        with_it, without = survey(url, interop=True), survey(url)
    assert [exchange.kind for exchange in with_it.exchanges].count(Kind.INTEROP) > 10
    assert others(with_it) == others(without)
    assert reasons(without) == {
        (NA, "the official client was not asked: `plan` in adcp.yaml says interop or probes false")
    }


@pytest.mark.parametrize("how", [{"probes": False}, {"interop": False}])
def test_it_can_be_left_out(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "command", None)  # starting it would fail
    with scripted() as seller:
        transcript = survey(seller.url, **{"interop": True, **how})
    assert transcript.survey.interop is None
    assert {outcome for outcome, _ in reasons(transcript)} == {NA}


def test_only_reads_of_the_survey_are_called_again() -> None:
    with running(SellerOptions()) as url:
        transcript = survey(
            url,
            interop=True,
            allow_mutating=True,
            sandbox_account={
                "brand": {"domain": "acme.example"},
                "operator": "agency.example",
                "sandbox": True,
            },
        )
    made = {call.subject: call for call in transcript.survey.calls}
    asked = [
        json.loads(e.request.body) for e in transcript.exchanges if e.kind is Kind.INTEROP and e.request.body
    ]
    called = [message["params"] for message in asked if message["method"] == "tools/call"]
    assert 2 <= len(called) <= 8
    for params in called:
        (call, *_) = [
            c for c in made.values() if c.tool == params["name"] and c.arguments == params["arguments"]
        ]
        assert not call.mutating
    assert any(call.mutating for call in made.values())


def test_a_recording_gives_the_same_findings(tmp_path: Path) -> None:
    with running(SellerOptions(fault="is-error-string")) as url:
        transcript = survey(url, interop=True)
    transcript.save(tmp_path / "transcript.jsonl")
    again = Transcript.load(tmp_path / "transcript.jsonl")
    assert interop_findings(again) == interop_findings(transcript)
    assert ADVISORY in {outcome for outcome, _ in reasons(again)}


def test_the_server_wants_credentials_and_the_client_needs_none() -> None:
    with running(SellerOptions(bearer=TOKEN)) as url:
        transcript = survey(url, interop=True, credentials=Credentials(bearer=TOKEN))
    assert {outcome for outcome, _ in reasons(transcript)} == {PASSED}


# -- the server does something to it alone ---------------------------------------------------------------------


def to_the_client_only(method: str, reply: Any) -> Any:
    """Return a hook that gives the official client another answer, from its first initialize on."""
    came: list[bool] = []

    def hook(call: Call) -> Any:
        info = call.message.get("params", {}).get("clientInfo", {})
        if call.method == "initialize" and info.get("name") != "pytest-adcp":
            came.append(True)
        return reply if came and call.name == method else None

    return hook


def hang(peer: Peer) -> None:
    peer.pause(20)


def endless(peer: Peer) -> None:
    peer.head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
    while not peer.server.ending.is_set():
        peer.chunk(b": still there\n\n" * 100)


BOMB = Reply(
    body=gzip.compress(b" " * 60_000_000),
    headers=("Content-Encoding: gzip", "Content-Type: application/json"),
)


@pytest.mark.parametrize(
    ("reply", "end", "words"),
    [
        (hang, End.DEADLINE, "no answer in time"),
        (endless, None, ""),
        (BOMB, End.TOO_LARGE, "too large"),
        (Reply(status=503), End.COMPLETE, "HTTP 503"),
    ],
    ids=["hang", "endless-stream", "bomb", "gateway"],
)
@pytest.mark.parametrize("method", ["initialize", "get_products"])
def test_a_server_that_fails_it_alone_is_no_difference(
    method: str, reply: Any, end: End | None, words: str
) -> None:
    limits = Limits(request_timeout=1.0, survey_timeout=20.0)
    began = time.monotonic()
    with scripted(to_the_client_only(method, reply)) as seller:
        transcript = survey(seller.url, interop=True, limits=limits)
    assert time.monotonic() - began < 15
    assert transcript.survey.complete
    findings = interop_findings(transcript)
    assert not [finding for finding in findings if finding.outcome is ADVISORY]
    blocked = [finding for finding in findings if finding.outcome is BLOCKED]
    assert blocked
    assert all(words in finding.message for finding in blocked)
    assert blocked[0].exchange is not None
    assert end is None or transcript.exchanges[blocked[0].exchange].end is end


ASK = """
import urllib.request
url = json.loads(job)["eras"][0]["url"]
hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "mcp"}}}
urllib.request.urlopen(urllib.request.Request(url, json.dumps(hello).encode()))
"""


def test_its_time_is_bounded_whatever_the_server_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, READY + ASK)
    monkeypatch.setattr(phase, "_SECONDS", 3.0)
    limits = Limits(request_timeout=30.0, survey_timeout=60.0)
    began = time.monotonic()
    with scripted(to_the_client_only("initialize", hang)) as seller:
        transcript = survey(seller.url, interop=True, limits=limits)
    assert time.monotonic() - began < 15
    assert transcript.survey.complete
    assert {outcome for outcome, _ in reasons(transcript)} == {BLOCKED}
    assert all("3 s were not enough" in why for _, why in reasons(transcript))
    assert transcript.exchanges[-1].subject == "interop/handshake/initialize"
    assert transcript.exchanges[-1].end is End.INTERRUPTED


def with_output_schema(schema: dict[str, Any]) -> list[Any]:
    """Return tools of which get_products has this outputSchema."""
    listed = {"name": "get_products", "inputSchema": {"type": "object"}, "outputSchema": schema}
    return ["get_adcp_capabilities", listed]


LOOP = {"type": "object", "$ref": "#"}
DOUBLED = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {
    "d40": {"type": "null"}
}
BOMB_SCHEMA = {"type": "object", "$defs": DOUBLED, "properties": {"products": {"$ref": "#/$defs/d0"}}}


@pytest.mark.parametrize(("schema", "words"), [(LOOP, "in a circle"), (BOMB_SCHEMA, "a very long time")])
def test_calls_of_tools_whose_schema_has_no_end_are_not_made(schema: dict[str, Any], words: str) -> None:
    with scripted(tools=with_output_schema(schema)) as seller:
        transcript = survey(seller.url, interop=True)
    found = [f for f in interop_findings(transcript) if f.subject.endswith("/get_products/sample")]
    assert found
    assert {f.outcome for f in found} == {NA}
    assert all(words in f.message for f in found)
    asked = [e.subject for e in transcript.exchanges if e.kind is Kind.INTEROP]
    assert "interop/handshake/get_adcp_capabilities/sample" in asked
    assert "interop/handshake/get_products/sample" not in asked


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of data that holds")
def test_its_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase, "_costly", lambda *_: {})
    monkeypatch.setattr(phase, "_SECONDS", 40.0)
    limits = Limits(request_timeout=5.0, survey_timeout=60.0)
    with scripted(tools=with_output_schema(BOMB_SCHEMA)) as seller:
        transcript = survey(seller.url, interop=True, limits=limits)
    blocked = {(outcome, why) for outcome, why in reasons(transcript) if outcome is BLOCKED}
    assert blocked == {(BLOCKED, "the official client's process took more than 192 MiB")}


# -- its process -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (READY + "os._exit(7)", "ended with exit code 7"),
        (READY + "os._exit(3)", "took more than 192 MiB"),
        (READY + "os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import sys; sys.exit('no')", "exit code 1"),
        (READY + "print('hello', flush=True); time.sleep(60)", "nobody can read"),
        (READY + "print('[' * 100000, flush=True); time.sleep(60)", "nobody can read"),
        (READY + "print('null', flush=True); time.sleep(60)", "nobody can read"),
        (READY + "\nwhile True: sys.stdout.write('x' * 65536)", "said too much"),
        (READY + "\nwhile True: print('{\"step\": 1}')", "said too much"),
        ("import time; time.sleep(60)", "were not enough"),
        (READY + "time.sleep(60)", "were not enough"),
    ],
)
def test_a_process_that_goes_wrong_blocks_its_rules_alone(
    script: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, script)
    monkeypatch.setattr(phase, "_SECONDS", 1.5)
    with scripted() as seller:
        transcript = survey(seller.url, interop=True)
        plain = survey(seller.url)
    assert transcript.survey.complete
    assert {outcome for outcome, _ in reasons(transcript)} == {BLOCKED}
    assert all(words in message for _, message in reasons(transcript))
    assert others(transcript) == others(plain)


def test_a_process_that_ends_without_a_word_has_asked_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, READY)
    with scripted() as seller:
        transcript = survey(seller.url, interop=True)
    assert {outcome for outcome, _ in reasons(transcript)} == {NA}


def test_a_process_that_says_no_more_leaves_its_steps_open(monkeypatch: pytest.MonkeyPatch) -> None:
    tick = "\nwhile True:\n    time.sleep(0.01); print('{\"tick\": true}', flush=True)"
    pretend(monkeypatch, READY + tick)
    with scripted() as seller:
        transcript = survey(seller.url, interop=True)
    assert {outcome for outcome, _ in reasons(transcript)} == {NA}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_it_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = "import subprocess; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
    note = f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}');"
    pretend(monkeypatch, READY + child + note + "time.sleep(60)")
    monkeypatch.setattr(phase, "_SECONDS", 1.0)
    with scripted() as seller:
        survey(seller.url, interop=True)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 5
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "command", lambda _: ["/no/such/interpreter"])
    with scripted() as seller:
        transcript = survey(seller.url, interop=True)
    ((outcome, why),) = reasons(transcript)
    assert outcome is NA
    assert "did not start" in why


@pytest.mark.parametrize(
    ("installed", "words"), [(None, "not installed"), ("1.30.0", "too old"), ("2.2.9", "too old")]
)
def test_without_the_package_the_reason_is_how_to_get_it(
    installed: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(process.metadata, "version", version)
    with scripted() as seller:
        transcript = survey(seller.url, interop=True)
    ((outcome, why),) = reasons(transcript)
    assert outcome is NA
    assert words in why
    assert 'pip install "pytest-adcp[interop]"' in why
    assert ("interop", why) in {(left.item, left.why) for left in transcript.survey.not_called}


def test_it_learns_no_credential_and_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    seen = "json.dumps([dict(os.environ), sys.argv, sys.orig_argv, job])"
    pretend(monkeypatch, READY + f"open({str(told)!r}, 'w').write({seen})")
    monkeypatch.setenv("SELLER_TOKEN", TOKEN)
    monkeypatch.setenv("TMP", f"/tmp/{TOKEN}")
    with running(SellerOptions(bearer=TOKEN)) as url:
        survey(url, interop=True, credentials=Credentials(bearer=TOKEN))
    text = told.read_text()
    assert TOKEN not in text
    assert url not in text
    environment, _, _, job = json.loads(text)
    assert "TMP" not in environment
    assert json.loads(job)["eras"][0]["url"].startswith("http://127.0.0.1:")
    assert set(environment) <= {*process.KEPT, "LC_CTYPE", "PWD", "SHLVL", "_"}
    assert os.environ["SELLER_TOKEN"] == TOKEN


def test_the_client_module_loads_nothing_heavy_before_its_limits() -> None:
    before = "pytest_adcp.harness.interop.client"
    code = f"import sys, {before}; print([m for m in ('mcp', 'httpx2', 'pydantic', 'anyio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
