"""What a run writes beside report.json, and what becomes of it where something cannot be written."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports import badge, html, markdown, model, outputs, sarif
from pytest_adcp.reports.outputs import write_outputs
from runs import run
from told_reports import alarmed, everything, failed, found, report, target

GIVEN = report(target(failed()))


def written(folder: Path, **more) -> list[str]:
    return write_outputs(GIVEN, folder, **({"environment": {}} | more))


def test_every_output_is_there_whole_and_readable(tmp_path: Path) -> None:
    assert written(tmp_path, sarif_file=tmp_path / "x.sarif", requirements={"a": "b"}) == []
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.md", "badge.json", "x.sarif"}
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == markdown.render(GIVEN)
    assert (tmp_path / "badge.json").read_text(encoding="utf-8") == badge.endpoint(GIVEN)
    assert (tmp_path / "x.sarif").read_text(encoding="utf-8") == sarif.render(GIVEN, requirements={"a": "b"})
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o644}
    assert written(tmp_path) == []


def test_one_that_fails_leaves_the_others(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "report.md").mkdir()
    lines = written(tmp_path, sarif_file=tmp_path / "gone" / "x.sarif")
    assert lines == [
        "report.md could not be written: Is a directory",
        f"{tmp_path}/gone/x.sarif could not be written: No such file or directory",
    ]
    assert (tmp_path / "badge.json").read_text(encoding="utf-8") == badge.endpoint(GIVEN)

    def broken(_: model.Report) -> str:
        raise RuntimeError("of ours\x1b[31m")

    monkeypatch.setattr(badge, "endpoint", broken)
    (tmp_path / "report.md").rmdir()
    (tmp_path / "badge.json").write_text("old")
    assert written(tmp_path) == ["badge.json could not be written: RuntimeError: of ours\\x1b[31m"]
    assert (tmp_path / "report.md").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["badge.json", "report.html", "report.md"]


# -- the summary of a step ------------------------------------------------------------------------------------


def summarised(folder: Path, file: Path) -> list[str]:
    return written(folder, environment={"GITHUB_STEP_SUMMARY": str(file)})


def test_the_summary_of_a_step_is_added_to(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    assert summarised(tmp_path, file) == []
    file.write_text("before\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert summarised(tmp_path, file) == []
    page = markdown.render(GIVEN, limit=markdown.SUMMARY)
    assert file.read_text(encoding="utf-8") == f"before\n{page}\n{page}\n"


def test_the_summary_never_grows_beyond_what_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * (markdown.SUMMARY - 6000))
    many = report(target([one for n in range(50) for one in failed(f"adcp.r{n}")]))
    assert write_outputs(many, tmp_path, environment={"GITHUB_STEP_SUMMARY": str(file)}) == []
    assert markdown.SUMMARY - 3000 < file.stat().st_size <= markdown.SUMMARY
    size = file.stat().st_size
    file.write_bytes(b"x" * (markdown.SUMMARY - 100))
    (line,) = write_outputs(many, tmp_path, environment={"GITHUB_STEP_SUMMARY": str(file)})
    assert line.startswith(
        "$GITHUB_STEP_SUMMARY could not be written: it is full with 1048476 of 1048576 bytes"
    )
    assert file.stat().st_size < size + 3000


@pytest.mark.parametrize("place", ["gone/summary", ".", "nul\0"])
def test_a_summary_that_cannot_be_written_is_a_line(tmp_path: Path, place: str) -> None:
    (line,) = summarised(tmp_path, tmp_path / place)
    assert line.startswith("$GITHUB_STEP_SUMMARY could not be written: ")
    assert (tmp_path / "report.md").exists()
    assert outputs.STEP_SUMMARY not in os.environ, (
        "a run of the tests would add to the summary of its own job"
    )


def test_no_variable_no_summary(tmp_path: Path) -> None:
    assert written(tmp_path, environment={"GITHUB_STEP_SUMMARY": ""}) == []


# -- a run ----------------------------------------------------------------------------------------------------


def test_a_run_writes_them_and_says_what_it_could_not(tmp_path: Path) -> None:
    (tmp_path / "adcp-report" / "badge.json").mkdir(parents=True)
    done = run(
        tmp_path,
        "-q",
        "--server-url=http://127.0.0.1:1/mcp",
        "--adcp-sarif=adcp.sarif",
        env={"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
    )
    assert done.code == 6
    assert "adcp: badge.json could not be written: Is a directory" in done.out
    kept = model.load(tmp_path / "adcp-report" / "report.json")
    page = (tmp_path / "adcp-report" / "report.md").read_text(encoding="utf-8")
    assert page == markdown.render(kept)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == f"{page}\n"
    assert json.loads((tmp_path / "adcp.sarif").read_text(encoding="utf-8"))["runs"][0]["results"] == []


def test_what_was_asked_for_has_to_be_possible(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo", "--adcp-sarif=gone/adcp.sarif")
    assert done.code == 4
    assert '--adcp-sarif: "gone/adcp.sarif" is not a file in a folder that is there' in done.out


# -- size -----------------------------------------------------------------------------------------------------


def test_eight_thousand_findings_are_soon_written(tmp_path: Path) -> None:
    kinds = [Outcome.FAILED, Outcome.ADVISORY, Outcome.BLOCKED, *[Outcome.PASSED] * 27]
    findings = [
        found(f"adcp.r{n % 170}", kinds[n % 30], f"get_products/{n}", f"message {n % 7}") for n in range(8000)
    ]
    given = report(target(findings))
    start = time.process_time()
    assert write_outputs(given, tmp_path, sarif_file=tmp_path / "x.sarif", environment={}) == []
    assert time.process_time() - start < 1.5  # a fifth of that on a machine that does nothing else


def test_one_report_gives_one_text() -> None:
    for given in (everything(), report(alarmed())):
        loaded = model.loads(model.dumps(given))
        assert loaded == given
        for render in (markdown.render, badge.endpoint, badge.svg, sarif.render, html.render):
            assert render(given) == render(loaded)
