"""The demo target: a seller in a process of its own, which ends with the run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pytest_adcp.harness import demo, own_process
from pytest_adcp.harness.demo import DemoError, demo_seller
from pytest_adcp.harness.transcript import End
from runs import run
from surveys import survey
from wireclient import exchange


def test_it_serves_while_it_is_wanted() -> None:
    with demo_seller() as url:
        transcript = survey(url)
        assert transcript.survey.unusable is None
        assert len(transcript.survey.calls) > 10
    assert exchange(url).end is End.REFUSED


def test_it_takes_the_arguments_of_the_command() -> None:
    with demo_seller("--era", "stateless", "--no-sessions") as url:
        eras = {exchange.era for exchange in survey(url).exchanges if exchange.kind == "call"}
    assert eras == {"stateless"}


def test_it_ends_also_when_the_run_breaks() -> None:
    urls = []

    def breaks() -> None:
        with demo_seller() as url:
            urls.append(url)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        breaks()
    assert exchange(urls[0]).end is End.REFUSED


def test_one_that_ends_at_once_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(DemoError, match=r"did not start \(it said '', exit code 2\)"),
        demo_seller("--fault", "none"),
    ):
        pass
    assert "--fault" in capfd.readouterr().err


def test_one_that_never_speaks_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_START_SECONDS", 0.5)
    monkeypatch.setattr(own_process, "_BOOT", "import time; time.sleep(60)")
    began = time.monotonic()
    with pytest.raises(DemoError, match="did not start"), demo_seller():
        pass
    assert time.monotonic() - began < 10


def test_a_run_leaves_no_seller(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo")
    assert done.code == 0, done.out
    port = done.target["url"].rpartition(":")[2].partition("/")[0]
    assert exchange(f"http://127.0.0.1:{port}/mcp").end is End.REFUSED
