"""The processes of a fleet: what one of them comes to harms no other, and is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from pytest_adcp.harness.fleet import run as fleet_run
from pytest_adcp.harness.fleet.jobs import TRANSCRIPT, JudgeJob, SurveyJob, answer
from pytest_adcp.harness.fleet.pool import LostError, Pool
from pytest_adcp.harness.fleet.run import FleetRunner, Room, judge_all
from pytest_adcp.harness.fleet.settings import Fleet, FleetTarget
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import Settings
from pytest_adcp.reports import model
from surveys import plain_survey
from told import quiet, told


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and an environment that says nothing."""
    quiet(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def settings() -> Settings:
    return told("--server-url=http://127.0.0.1:1/mcp", yaml="plan: {interop: false, probes: false}\n")


def targets(*urls: str, **bounds: Any) -> Fleet:
    lines = [f"- {{name: t{number}, url: '{url}'}}\n" for number, url in enumerate(urls)]
    Path("fleet.yaml").write_text("".join(lines), "utf-8")
    Path("adcp.yaml").write_text("plan: {interop: false, probes: false}\n", "utf-8")
    found = told("--adcp-targets=fleet.yaml").fleet
    assert found is not None
    return replace(found, **bounds)


# The worker finds these by their module, which it has on its path because the test puts it there.
@dataclass(frozen=True)
class Odd:
    """A job that does to its process what a hostile answer could."""

    settings: Settings
    what: str

    def run(self) -> dict[str, Any]:
        match self.what:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(9)
            case "hang":
                signal.pause()
            case "eat":
                return {"length": len(bytearray(3 * 1024**3))}
            case "print":
                os.write(1, b"{}\n")
            case "break":
                raise RuntimeError("it broke")
        return {"pid": os.getpid()}


def do(settings: Settings, *whats: str, size: int = 1) -> list[Any]:
    """Have odd jobs done one after the other; return the answers, or what was said of a loss."""
    found: list[Any] = []

    async def work() -> None:
        async with Pool(size) as pool:
            for what in whats:
                try:
                    found.append(await pool.do(Odd(settings, what), 4.0 if what == "hang" else 60.0))  # type: ignore[arg-type]
                except LostError as lost:
                    found.append(str(lost))

    anyio.run(work)
    return found


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker import this module."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.mark.usefixtures("importable")
def test_a_process_that_dies_is_told_of_and_replaced(settings: Settings) -> None:
    first, died, second, left, third = do(settings, "", "die", "", "exit", "")
    assert died == "its process was ended by SIGKILL"
    assert left == "its process ended with exit code 9"
    assert len({first["done"]["pid"], second["done"]["pid"], third["done"]["pid"]}) == 3


@pytest.mark.usefixtures("importable")
def test_what_a_job_does_to_itself_leaves_the_process_to_the_next(settings: Settings) -> None:
    eaten, printed, broken, last = do(settings, "eat", "print", "break", "")
    assert eaten["memory"] is True
    assert printed["done"]["pid"] == last["done"]["pid"]
    assert broken["fault"][-1] == "RuntimeError: it broke"


@pytest.mark.usefixtures("importable")
def test_a_process_that_hangs_is_ended(settings: Settings) -> None:
    hung, after = do(settings, "hang", "")
    assert hung == "its process was not done after 4 s, and was ended"
    assert after["done"]["pid"]


def test_no_process_is_left(settings: Settings, folder: Path) -> None:
    (pid,) = [found["done"]["pid"] for found in _with_path(settings)]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _with_path(settings: Settings) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        return do(settings, "")


def test_a_loss_is_the_result_of_its_target_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Pool.do

    async def lossy(self: Pool, job: SurveyJob | JudgeJob, seconds: float = 0) -> dict[str, Any]:
        name = job.settings.report_dir.name
        if name == "t0" and isinstance(job, SurveyJob):
            raise LostError("its process was ended by SIGKILL")
        if name == "t1" and isinstance(job, JudgeJob):
            return {"memory": True}
        if name == "t2" and isinstance(job, JudgeJob):
            return {"fault": ["ValueError: no"]}
        return await whole(self, job, seconds)

    monkeypatch.setattr(Pool, "do", lossy)
    with running(SellerOptions()) as url:
        results = FleetRunner(targets(url, url, url, url), lambda _: None).run()
    found = {result.name: (result.exit_code, result.problem) for result in results}
    assert found["t0"] == (3, "the survey was lost: its process was ended by SIGKILL")
    assert found["t1"] == (6, "its judgement took more than 2048 MiB of memory, and was ended")
    assert found["t2"] == (3, "the judgement broke: ValueError: no")
    assert found["t3"] == (0, "")


def test_when_the_time_is_up_what_is_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_run, "_GRACE", 5.0)
    with running(SellerOptions(latency=0.6)) as url:
        results = FleetRunner(targets(url, url, concurrency=1, timeout=2.0), lambda _: None).run()
    found = {result.name: result for result in results}
    assert any("the time for the survey" in reason for reason in found["t0"].reasons)
    assert found["t1"].problem == "the time for the fleet (2 s) was up before its turn"
    assert {result.exit_code for result in results} == {6}


def test_a_host_gets_no_more_requests_at_once_than_it_may(settings: Settings) -> None:
    def target(name: str, host: str, lanes: int) -> FleetTarget:
        limits = replace(settings.limits, concurrency=lanes)
        return FleetTarget(name, host, replace(settings, limits=limits))

    room = Room(8)
    waiting = [target("a", "x", 4), target("b", "x", 4), target("c", "x", 1), target("d", "y", 8)]
    taken = [room.take(waiting) for _ in range(4)]
    assert [found and found.name for found in taken] == ["a", "b", "d", None]
    assert taken[0] is not None
    room.leave(taken[0])
    found = room.take(waiting)
    assert found is not None
    assert found.name == "c"


def test_saved_transcripts_are_judged_again(settings: Settings, folder: Path) -> None:
    with running(SellerOptions(fault="nested-data")) as url:
        transcript = plain_survey(url)
    jobs = []
    for name in ("a", "b", "c"):
        report_dir = folder / "out" / name
        report_dir.mkdir(parents=True)
        transcript.save(report_dir / TRANSCRIPT)
        jobs.append(JudgeJob(name, replace(settings, report_dir=report_dir), report_dir / TRANSCRIPT))
    (folder / "out" / "b" / TRANSCRIPT).write_text("{}")
    a, b, c = judge_all(jobs, processes=2)
    assert (a.name, a.verdict, a.exit_code) == ("a", "nonconformant", 1)
    assert replace(a, name="c", report=c.report) == c
    assert (b.exit_code, b.reached) == (3, True)
    assert "not a pytest-adcp transcript" in b.problem
    assert model.load(folder / "out" / "a" / "report.json").targets[0].counts == a.counts


def test_a_fault_of_the_harness_is_told_without_what_was_secret(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = told("--server-url=http://127.0.0.1:1/mcp", "--adcp-bearer-env=SELLER_TOKEN")

    def broken(_: object) -> dict[str, Any]:
        raise RuntimeError("with bearer-s3cret in it")

    monkeypatch.setattr(SurveyJob, "run", broken)
    said = answer(SurveyJob(found, 1.0))
    assert said["fault"][-1] == "RuntimeError: with [redacted] in it"
    assert "s3cret" not in str(said)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a way of Linux to count")
def test_what_the_run_has_taken_is_not_counted_as_the_process_s_own() -> None:
    held = bytearray(200 * 1024 * 1024)  # counted into ru_maxrss of whatever is started now
    code = "from pytest_adcp.harness.fleet import worker; print(worker._peak())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert 0 < int(done.stdout) < len(held) // 1024
