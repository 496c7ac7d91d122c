"""Runs that end early, as a user sees them: Ctrl-C, SIGTERM, time that is up, servers that turn away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.harness.transcript import End, Transcript
from rawserver import Peer
from runs import run
from scripted import TOOLS, Call, Reply, scripted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start pytest as the leader of a process group, as a shell does; it is dead in the end."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "ADCP_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments],
        cwd=folder,
        env={**clean, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # Whatever started the tests may have had it ignored, as nohup does.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)
    return found


def hang(peer: Peer) -> None:
    peer.pause(60)


def slow(call: Call) -> Any:
    return hang if call.tool in TOOLS[1:] else None


# -- Ctrl-C -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [(), ("-n2",)], ids=["plain", "xdist"])
def test_ctrl_c_during_the_survey_keeps_what_there_is(tmp_path: Path, extra: tuple[str, ...]) -> None:
    (tmp_path / "adcp.yaml").write_text("plan: {probes: false}")
    (tmp_path / "adcp-report").mkdir()
    for name in ("report.json", "report.html", "report.md", "badge.json", "mine.txt"):
        (tmp_path / "adcp-report" / name).write_text("of an earlier run")
    with (
        scripted(slow) as seller,
        started(tmp_path, f"--server-url={seller.url}", "--adcp-concurrency=5", *extra) as process,
    ):
        wait_for(lambda: len(seller.calls) == 11 and seller.at_once == 4)
        time.sleep(0.3)  # what was answered has arrived
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        assert time.monotonic() - began < 8
        wait_for(lambda: seller.of("DELETE"), 5)
    assert process.returncode == 2, out
    assert "Traceback" not in out
    # pytest says it on stderr, and again on the terminal where it would say KeyboardInterrupt.
    said = [line for line in out.splitlines() if "interrupted" in line]
    assert len(said) == 2
    (line,) = {line.partition("adcp: ")[2].strip(" !") for line in said}
    assert line.startswith("survey interrupted; ")
    assert line.endswith("exchanges kept in " + str(tmp_path / "adcp-report" / "transcript.jsonl"))
    transcript = Transcript.load(tmp_path / "adcp-report" / "transcript.jsonl")
    assert f" {len(transcript.exchanges)} exchanges" in line
    assert not transcript.survey.complete
    assert transcript.survey.stopped == "the run was interrupted"
    ends = {exchange.subject: exchange.end for exchange in transcript.exchanges}
    assert ends["get_adcp_capabilities/sample"] is End.COMPLETE
    assert ends["get_products/sample"] is End.INTERRUPTED
    assert list(ends.values()).count(End.INTERRUPTED) == 4
    left = {path.name for path in (tmp_path / "adcp-report").iterdir()}
    assert left == {"transcript.jsonl", "mine.txt"}, "no report of another run"


def test_what_was_kept_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("plan: {probes: false}")
    with scripted(slow) as seller, started(tmp_path, f"--server-url={seller.url}") as process:
        wait_for(lambda: seller.tools["get_adcp_capabilities"] == 2)
        wait_for(lambda: sum(seller.tools[tool] for tool in TOOLS[1:]) >= 3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 2, out
    (tmp_path / "adcp-report" / "transcript.jsonl").rename(tmp_path / "kept.jsonl")
    done = run(tmp_path, "--adcp-replay=kept.jsonl")
    assert done.code == 6, done.out
    assert done.target["verdict"] == "inconclusive"
    assert done.target["complete"] is False
    assert done.target["counts"]["passed"] > 20
    assert "the run was interrupted" in done.out


def test_ctrl_c_before_the_server_answers_anything(tmp_path: Path) -> None:
    with (
        scripted(lambda call: hang if call.verb == "POST" else None) as seller,  # type: ignore[arg-type,return-value]
        started(tmp_path, f"--server-url={seller.url}", "--adcp-no-transcript") as process,
    ):
        wait_for(lambda: len(seller.calls) == 2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 2, out
    assert "Traceback" not in out
    assert not (tmp_path / "adcp-report" / "transcript.jsonl").exists()


# -- the demo seller ------------------------------------------------------------------------------------------------


def children(process: subprocess.Popen[str]) -> list[int]:
    try:
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in listed.split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_no_signal_leaves_the_demo_seller_behind(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, "--server-url=demo", "--adcp-rate=1") as process:
        (seller,) = wait_for(lambda: children(process))
        time.sleep(1.0)  # into the survey, which takes half a minute at this rate
        assert process.poll() is None
        assert is_running(seller)
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
        wait_for(lambda: not is_running(seller), 10)
    assert process.returncode == (-number if number is signal.SIGKILL else 2), out
    assert "Traceback" not in out


@linux
def test_ctrl_c_of_a_terminal_goes_to_the_survey_alone(tmp_path: Path) -> None:
    """A terminal signals the whole process group; the seller must not die under the survey."""
    with started(tmp_path, "--server-url=demo", "--adcp-rate=2") as process:
        (seller,) = wait_for(lambda: children(process))
        time.sleep(1.5)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        wait_for(lambda: not is_running(seller), 10)
    assert process.returncode == 2, out
    assert "Traceback" not in out
    transcript = Transcript.load(tmp_path / "adcp-report" / "transcript.jsonl")
    assert transcript.exchanges
    assert {exchange.end for exchange in transcript.exchanges} <= {End.COMPLETE, End.INTERRUPTED}


# -- a verdict all the same -------------------------------------------------------------------------------------------


def test_time_that_is_up_is_no_verdict_of_conformance(tmp_path: Path) -> None:
    with scripted(slow) as seller:
        done = run(tmp_path, f"--server-url={seller.url}", "--adcp-survey-timeout=2")
    assert done.code == 6, done.out
    target = done.target
    assert (target["verdict"], target["complete"]) == ("inconclusive", False)
    assert target["counts"]["passed"] > 20
    assert any("the time for the survey (2 s) was up" in reason for reason in target["reasons"])
    assert "the time for the survey (2 s) was up" in done.out


def test_a_failure_counts_also_when_time_is_up(tmp_path: Path) -> None:
    def hook(call: Call) -> Any:
        if call.tool == "get_adcp_capabilities":
            return Reply(result={"content": "no array"})
        return slow(call)

    with scripted(hook) as seller:
        done = run(tmp_path, f"--server-url={seller.url}", "--adcp-survey-timeout=2")
    assert done.code == 1, done.out
    assert (done.target["verdict"], done.target["complete"]) == ("nonconformant", False)


def test_a_server_that_turns_away_after_a_while_is_one_root_cause(tmp_path: Path) -> None:
    tools = [*TOOLS, "list_creatives", "get_media_buys", "get_signals", "list_accounts"]
    turned = Reply(status=401, headers=["WWW-Authenticate: Bearer"])
    with scripted(lambda call: turned if call.tool in tools[1:] else None, tools=tools) as seller:
        done = run(tmp_path, f"--server-url={seller.url}", "--adcp-concurrency=1")
    assert done.code == 6, done.out
    assert done.target["complete"] is False
    cause = "5 exchanges in a row ended the same way, where calls had passed before: HTTP 401"
    assert done.target["reasons"][0] == f"the survey ended early: {cause}"
    assert len(done.target["reasons"]) == 2  # the other one: what could not be judged
    assert done.out.count(cause) == 1


def test_credentials_that_are_wanted_are_exit_6(tmp_path: Path) -> None:
    challenge = 'WWW-Authenticate: Bearer realm="ads"'
    with scripted(lambda _: Reply(status=401, headers=[challenge])) as seller:
        done = run(tmp_path, f"--server-url={seller.url}")
        wrong = run(
            tmp_path,
            f"--server-url={seller.url}",
            "--adcp-bearer-env=SELLER_TOKEN",
            env={"SELLER_TOKEN": "wr0ng-t0ken"},
        )
    assert done.code == wrong.code == 6, done.out
    assert "wants credentials: HTTP 401" in done.out
    assert 'realm=\\"ads\\"' in done.out or 'realm="ads"' in done.out
    assert "--adcp-bearer-env" in done.out
    assert "refuses the credentials given (bearer)" in wrong.out
    assert "wr0ng-t0ken" not in wrong.out
