"""Nightly runs as a whole: a baseline, then a regression, then what was known is mended."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pytest_adcp.harness.seller import SellerOptions, running
from runs import Run, run
from surveys import plain_survey

RULE = "adcp.envelope.status"
SUBJECT = "get_adcp_capabilities/sample"
QUIET = ("--tb=no", "-p", "no:hypothesispytest", "-p", "no:anyio")
HEAD = "rules_version: 0.1.0\nknown:\n"


@cache
def recorded(fault: str | None, folder: Path) -> Path:
    """Record a seller with a fault, once; its name and its address are the same every night."""
    file = folder / f"{fault}.jsonl"
    with running(SellerOptions(fault=fault)) as url:
        transcript = plain_survey(url)
    survey = replace(transcript.survey, name="Acme", url="https://seller.test/mcp")
    replace(transcript, survey=survey).save(file)
    return file


@pytest.fixture
def night(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory):
    """Return a function that judges one night: a fault, and options."""
    folder = tmp_path_factory.getbasetemp()

    def judge(fault: str | None, *arguments: str) -> Run:
        return run(tmp_path, f"--adcp-replay={recorded(fault, folder)}", *QUIET, *arguments)

    return judge


ONE, MANY = "status-missing-capabilities", "status-missing"


def since(junit: Path) -> Counter[str]:
    """Return how many failures of a JUnit file are new, and how many are not."""
    properties = ElementTree.parse(junit).findall(".//property[@name='since']")
    return Counter(str(each.get("value")) for each in properties)


def outcomes(done: Run) -> dict[str, str]:
    broken = ("failed", "known")
    return {f["subject"]: f["outcome"] for f in done.target["findings"] if f["outcome"] in broken}


def test_a_row_of_nights(tmp_path: Path, night) -> None:
    file = tmp_path / "known.yaml"
    # The first one fails and is written down.
    first = night(ONE, "--adcp-write-baseline=known.yaml")
    assert first.code == 1
    assert "baseline written: known.yaml: 1 known failure (0 kept, 1 added, 0 dropped)" in first.out
    shutil.copy(first.folder / "adcp-report/report.json", tmp_path / "first.json")
    # The next is green, and says what nobody has explained.
    second = night(ONE, "--adcp-baseline=known.yaml", "--junitxml=junit.xml")
    assert second.code == 0, second.out
    assert "\nnonconformant, 1 known: 1 MUST rule failed on 1 of " in second.out
    assert f"KNOWN {RULE} (MUST) on {SUBJECT}" in second.out
    assert "  1 known failure, and no failure beside" in second.out
    assert "  not explained yet: known.yaml, line 8; write a reason into the entry" in second.out
    assert second.target["verdict"] == "nonconformant"
    assert (second.target["counts"]["known"], second.target["counts"]["failed"]) == (1, 0)
    skipped = ElementTree.parse(tmp_path / "junit.xml").findall(".//skipped[@type='pytest.xfail']")
    assert [item.get("message") for item in skipped] == ["not explained yet"]
    # A reason is written down; then the seller breaks elsewhere.
    file.write_text(file.read_text().replace('"not explained yet"', "ticket 7"))
    regressed = ("--adcp-baseline=known.yaml", "--adcp-compare=first.json", "--adcp-fail-on=new")
    third = night(MANY, *regressed, "--junitxml=junit.xml")
    assert third.code == 1
    news = since(tmp_path / "junit.xml")
    assert news.pop("new") == len(third.target["comparison"]["new"])
    assert set(news) <= {"still failing"}
    assert "\nALARM: " in third.out
    assert set(outcomes(third).values()) == {"failed"}
    assert len(third.target["comparison"]["new"]) == len(outcomes(third)) > 3
    # It is mended, and so is what was known: the entry has to go.
    fourth = night(None, "--adcp-baseline=known.yaml", "--adcp-compare=first.json", "--junitxml=junit.xml")
    assert (fourth.code, fourth.target["verdict"]) == (1, "conformant")
    line = (
        f"  known.yaml, line 8: {RULE} on {SUBJECT} is stale: nothing that it covers fails any more; "
        "take the entry out (--adcp-write-baseline does)"
    )
    assert line in fourth.out.splitlines()
    assert "\nALARM: nothing failed; 1 entry of known.yaml stale or expired\n" in fourth.out
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").findall(".//failure")
    assert line.strip() in (failure.text or "")
    assert [change["subject"] for change in fourth.target["comparison"]["fixed"]] == [SUBJECT]
    # A run of a part cannot tell.
    part = night(None, "--adcp-baseline=known.yaml", "-k", "envelope")
    assert part.code == 0, part.out
    assert "1 entry could not be checked: the run did not try it" in part.out
    # Writing takes it out, and both options go together.
    fifth = night(None, "--adcp-baseline=known.yaml", "--adcp-write-baseline=known.yaml")
    assert fifth.code == 0, fifth.out
    assert "0 known failures (0 kept, 0 added, 1 dropped)" in fifth.out
    assert file.read_text().endswith("known: {}\n")


def test_a_regression_beside_what_is_known(tmp_path: Path, night) -> None:
    night(MANY, "--adcp-write-baseline=known.yaml")
    known = (tmp_path / "known.yaml").read_text()
    shutil.copy(tmp_path / "adcp-report/report.json", tmp_path / "report.json")
    before, entry, after = known.partition("    # MUST")  # the first entry goes
    lines = (entry + after).splitlines(keepends=True)
    (tmp_path / "known.yaml").write_text(before + "".join(lines[3:]))
    alarmed = night(MANY, "--adcp-baseline=known.yaml")
    assert alarmed.code == 1, alarmed.out
    assert sorted(outcomes(alarmed).values()).count("failed") == 1
    # It is no news where the earlier report has it too.
    quiet = ("--adcp-baseline=known.yaml", "--adcp-compare=report.json", "--adcp-fail-on=new")
    for workers in ([], ["-n2"]):
        still = night(MANY, *quiet, *workers, "-x", "--junitxml=junit.xml")
        assert still.code == 0, still.out
        assert "\nno alarm: 0 of " in still.out
        assert " 1 not counted" in still.out
        assert ElementTree.parse(tmp_path / "junit.xml").findall(".//failure") == []
        assert set(since(tmp_path / "junit.xml")) == {"still failing"}
    assert still.target["comparison"]["new"] == []


def test_workers_judge_the_same(tmp_path: Path, night) -> None:
    (tmp_path / "known.yaml").write_text(f"{HEAD}  {RULE}:\n    get_*: {{reason: ticket 7}}\n")
    found = []
    for workers in ([], ["-n2"]):
        done = night(MANY, "--adcp-baseline=known.yaml", "--adcp-write-baseline=new.yaml", *workers)
        assert done.code == 1
        made = done.target
        del done
        found.append(
            (made["findings"], made["counts"], made["baseline"], (tmp_path / "new.yaml").read_text())
        )
        (tmp_path / "new.yaml").unlink()
    assert found[0] == found[1]
    assert found[0][1]["known"] > 0
    assert found[0][1]["failed"] > 0


def test_the_report_that_is_compared_with_may_be_the_one_that_is_written(tmp_path: Path, night) -> None:
    night(ONE)
    done = night(ONE, "--adcp-compare=adcp-report/report.json", "--adcp-fail-on=new")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "nonconformant"
    assert [change["subject"] for change in done.target["comparison"]["still"]] == [SUBJECT]
    assert "  still failing: 1" in done.out
    assert night(ONE, "--adcp-compare=adcp-report/report.json").code == 1


def test_an_entry_that_has_expired_fails_the_run(tmp_path: Path, night) -> None:
    text = f"{HEAD}  {RULE}:\n    get_adcp_*: {{reason: ticket 7, expires: %s}}\n"
    (tmp_path / "known.yaml").write_text(text % "2020-01-31")
    done = night(ONE, "--adcp-baseline=known.yaml", "-q")
    assert done.code == 1
    assert outcomes(done) == {SUBJECT: "failed"}
    line = (
        f"  known.yaml, line 4: {RULE} on get_adcp_*: it expired on 2020-01-31; mend the failure, take the entry out, "
        "or give it a later day"
    )
    assert line in done.out.splitlines()
    (tmp_path / "known.yaml").write_text(text % "2999-01-31")
    assert night(ONE, "--adcp-baseline=known.yaml").code == 0


def test_rules_that_are_newer_than_the_baseline_are_named(tmp_path: Path, night) -> None:
    (tmp_path / "known.yaml").write_text("rules_version: 0.0.9\nknown: {}\n")
    done = night(ONE, "--adcp-baseline=known.yaml")
    assert done.code == 0, done.out
    assert outcomes(done) == {SUBJECT: "known"}
    assert RULE in done.target["baseline"]["new_rules"]
    assert "newer than this baseline of 0.0.9, not scored until it is written anew" in done.out
    assert "new in 0.1.0, and the baseline is of 0.0.9" in done.out
    assert night(ONE, "--adcp-baseline=known.yaml", "--adcp-write-baseline=known.yaml").code == 0
    text = (tmp_path / "known.yaml").read_text()
    assert 'rules_version: "0.1.0"' in text
    assert SUBJECT in text


def test_known_failures_do_not_make_green_what_could_not_be_judged(tmp_path: Path, night) -> None:
    night("accepts-everything", "--adcp-profile=core,connected-apps", "--adcp-write-baseline=known.yaml")
    done = night("accepts-everything", "--adcp-profile=core,connected-apps", "--adcp-baseline=known.yaml")
    assert done.code == 6, done.out
    assert done.target["verdict"] == "nonconformant"
    assert "without the known failures the run is inconclusive: no AdCP task gave an error" in done.out


@pytest.mark.parametrize(
    ("name", "text", "option", "words"),
    [
        ("b.yaml", "rules_version: 0.1.0\n", "--adcp-baseline=b.yaml", 'b.yaml, line 1: the key "known" is missing'),
        ("b.yaml", f"{HEAD}  adcp.envelope.states:\n    x: {{reason: y}}\n", "--adcp-write-baseline=b.yaml",
         f'b.yaml, line 3, known."adcp.envelope.states": there is no such rule; did you mean {RULE}?'),
        ("p.json", "[]", "--adcp-compare=p.json", "p.json: this is not a pytest-adcp report (no schema_version)"),
        ("p.json", '{"schema_version": "2"}', "--adcp-compare=p.json", 'this release reads schema_version "1", not "2"'),
        ("p.json", "{", "--adcp-compare=p.json", "p.json, line 1: not JSON"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_error_before_anything_is_written(
    tmp_path: Path, night, name: str, text: str, option: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    done = night(ONE, option)
    assert done.code == 4, done.out
    assert words in done.out
    assert len([line for line in done.out.splitlines() if line.startswith("ERROR")]) == 1
    assert "INTERNALERROR" not in done.out
    assert (tmp_path / name).read_text() == text
    assert not (tmp_path / "adcp-report").exists()


def test_a_report_of_another_target_is_refused(tmp_path: Path, night) -> None:
    report = night(ONE).report
    report["targets"][0] |= {"name": "Other", "url": "https://other.test/mcp"}
    (tmp_path / "other.json").write_text(json.dumps(report))
    done = night(ONE, "--adcp-compare=other.json")
    assert done.code == 4, done.out
    assert (
        "other.json is about another target: it has Other (https://other.test/mcp), and this run judges "
        "Acme (https://seller.test/mcp)"
    ) in done.out


def test_a_target_that_cannot_be_surveyed_makes_no_entry_stale(tmp_path: Path, free_port: int) -> None:
    text = f"{HEAD}  {RULE}:\n    get_*: {{reason: ticket 7}}\n"
    (tmp_path / "known.yaml").write_text(text)
    done = run(
        tmp_path,
        f"--server-url=http://127.0.0.1:{free_port}/mcp",
        "--adcp-baseline=known.yaml",
        "--adcp-write-baseline=known.yaml",
    )
    assert done.code == 6, done.out
    assert "stale" not in done.out
    assert "baseline not written: nothing to go by; known.yaml is as it was" in done.out
    assert (tmp_path / "known.yaml").read_text() == text


def test_a_nightly_job_against_a_live_seller(tmp_path: Path) -> None:
    (tmp_path / "adcp.yaml").write_text(
        "name: Acme\nplan: {probes: false}\nbaseline: known.yaml\nwrite_baseline: known.yaml\n"
    )
    codes = []
    for fault in (ONE, ONE, MANY, None):
        with running(SellerOptions(fault=fault)) as url:
            codes.append(run(tmp_path, f"--server-url={url}", *QUIET).code)
    # Each change for the worse is alarmed once; what is mended is taken out by the run itself.
    assert codes == [1, 0, 1, 0]
