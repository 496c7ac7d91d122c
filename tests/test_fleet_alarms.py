"""A fleet with baselines: an entry that is stale makes a target fail, and every output says so; known failures are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fleets import by_name, fleet, fleet_run, listed
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.reports import fleet as reported
from pytest_adcp.reports import fleet_markdown, markdown
from runs import Run

DOWN = "http://127.0.0.1:1/mcp"
NIGHT = "rules_version: 0.1.0\nknown:\n  adcp.extraction.top-level-data:\n    '*':\n      reason: SELL-481\n"
STALE = "ALARM: nothing failed; 1 entry of known.yaml stale or expired"
ENTRY = "known.yaml, line 4: adcp.extraction.top-level-data on * is stale: "


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run in which a good seller's baseline is stale, a faulty one's is not, and a third one is down."""
    folder = tmp_path_factory.mktemp("night")
    (folder / "known.yaml").write_text(NIGHT, encoding="utf-8")
    with running(SellerOptions()) as good, running(SellerOptions(fault="nested-data")) as faulty:
        listed(
            folder,
            {"name": "mended", "url": good, "baseline": "known.yaml"},
            {"name": "faulty", "url": faulty, "baseline": "known.yaml"},
            {"name": "down", "url": DOWN},
        )
        summary = folder / "summary.md"
        yield fleet_run(folder, "--junitxml=junit.xml", env={"GITHUB_STEP_SUMMARY": str(summary)})


def test_the_report_has_the_alarm_of_each_target(night: Run) -> None:
    targets = by_name(night)
    mended, faulty = targets["mended"], targets["faulty"]
    assert (mended["verdict"], mended["exit_code"], mended["alarm"]["fails"]) == ("conformant", 1, True)
    assert mended["alarm"]["summary"] == STALE.removeprefix("ALARM: ")
    (entry,) = mended["stale"]
    assert entry.startswith(ENTRY)
    assert (faulty["verdict"], faulty["exit_code"], faulty["alarm"]["fails"]) == ("nonconformant", 0, False)
    assert (faulty["alarm"]["failures"], faulty["alarm"]["counted"], faulty["stale"]) == (7, 0, [])
    assert (targets["down"]["alarm"], targets["down"]["stale"]) == (None, [])
    file = night.folder / "adcp-report" / "fleet.json"
    assert reported.dumps(reported.load(file)) == file.read_text("utf-8")


def test_the_terminal_says_what_fails_what_is_known_and_why_it_exits_so(night: Run) -> None:
    lines = night.out.partition("fleet: 3 targets: ")[2].splitlines()
    assert lines[0].startswith("1 conformant, 1 nonconformant, 1 inconclusive, 1 alarm, in ")
    assert lines[2].startswith("conformant mended: ")
    assert lines[2].endswith(f" checks passed; {STALE}")
    assert lines[3].startswith("nonconformant faulty: 7 known failures; ")
    assert lines[4:7] == [f"report: adcp-report/fleet.{kind}" for kind in ("json", "html", "md")]
    assert lines[8] == "exit code 6: down could not be surveyed; less grave: mended fails"
    assert night.code == fleet(night)["exit_code"] == 6


def test_junit_has_a_failure_for_the_baseline_and_none_for_what_is_known(night: Run) -> None:
    cases = ElementTree.parse(night.folder / "junit.xml").iter("testcase")
    results = {(case.get("classname"), case.get("name")): case for case in cases}
    failure = results["mended", "baseline"].find("failure")
    assert failure is not None
    assert str(failure.get("message")).startswith(ENTRY)
    assert ("faulty", "baseline") not in results
    known = results["faulty", "adcp.extraction"]
    assert known.find("failure") is None
    skipped = known.find("skipped")
    assert skipped is not None
    assert skipped.get("type") == "pytest.xfail"


def test_the_page_tells_it_too_and_nothing_that_is_not_known(night: Run) -> None:
    page = (night.folder / "adcp-report" / "fleet.html").read_text("utf-8")
    assert page.count('<strong class="alarm">ALARM</strong>') == 1
    assert f'<p class="alarm">{STALE}</p>' in page
    assert f"<li>{ENTRY}" in page
    assert "less grave: mended fails" in page
    assert page.count("<dt>Server</dt>") == 2  # not of the one that is down
    assert "unknown" not in page


def test_the_summary_of_the_job_is_the_whole_fleet_once(night: Run) -> None:
    loaded = reported.load(night.folder / "adcp-report" / "fleet.json")
    beside = (night.folder / "adcp-report" / "fleet.md").read_text("utf-8")
    assert beside == fleet_markdown.render(loaded)
    summary = (night.folder / "summary.md").read_text("utf-8")
    assert summary == fleet_markdown.render(loaded, limit=markdown.SUMMARY) + "\n"
    rows = [line.split(" | ")[0] for line in beside.splitlines() if line.startswith("| `")]
    assert rows == ["| `down`", "| `mended`", "| `faulty`"]
    assert f"- `mended`: {ENTRY.replace('*', '&#42;')}" in beside


@pytest.mark.parametrize(("words", "code"), [("mended and baseline", 1), ("mended and errors", 0)])
def test_the_baseline_is_an_item_like_others(night: Run, words: str, code: int) -> None:
    done = fleet_run(night.folder, "-k", words, "-q", "--adcp-report-dir=part")
    assert (done.code, f"exit code {code}: by the items that ran" in done.out) == (code, True), done.out


def test_what_cannot_be_written_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "adcp-report" / "fleet.html").mkdir(parents=True)
    listed(tmp_path, {"name": "down", "url": DOWN})
    done = fleet_run(tmp_path, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "gone" / "summary.md")})
    assert done.code == 6
    assert "adcp: fleet.html could not be written: Is a directory" in done.out
    assert "adcp: $GITHUB_STEP_SUMMARY could not be written: No such file or directory" in done.out
    assert "report: adcp-report/fleet.html" not in done.out
    assert (tmp_path / "adcp-report" / "fleet.md").is_file()
