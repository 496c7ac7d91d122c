"""Shards put together again: only when all are there, alike, and as they were written; and the page of a fleet."""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pytest_adcp.harness.verdict import ExitCode, Verdict
from pytest_adcp.reports import fleet_html, fleet_terminal
from pytest_adcp.reports.fleet import (
    FamilyResult,
    Fleet,
    ReportFile,
    ShardOf,
    TargetListDigest,
    TargetResult,
    gravest,
    load,
    save,
    severity,
    worst_first,
)
from pytest_adcp.reports.fleet_commands import register
from pytest_adcp.reports.merge import merge
from pytest_adcp.reports.model import Alarm, Harness, Server
from pytest_adcp.reports.records import ReportError

HARNESS = Harness("pytest-adcp", "1.0", "1.0")
STALE = Alarm(True, 0, 0, "nothing failed; 1 entry of k.yaml stale or expired")
NASTY = "</style><script>alert(1)</script>\u202e<img src=x onerror=alert(1)>\x1b[31m"


def result(name: str, code: int = 0, **members: object) -> TargetResult:
    verdict = {0: Verdict.CONFORMANT, 1: Verdict.NONCONFORMANT}.get(code, Verdict.INCONCLUSIVE)
    families = (FamilyResult("adcp.errors", "failed" if code == 1 else "passed", {"passed": 3}, "why"),)
    known = TargetResult(name, f"https://{name}.example/mcp", verdict, code, reached=True, families=families)
    return replace(known, **members)  # type: ignore[arg-type]


def shard(
    folder: Path, index: int, *targets: TargetResult, count: int = 2, total: int = 3, **members: object
) -> Path:
    """Write a shard and the reports of its targets, and return its file."""
    written = []
    for target in targets:
        file = folder / str(index) / target.name / "report.json"
        file.parent.mkdir(parents=True)
        told = {"name": target.name, "verdict": target.verdict, "counts": target.counts}
        file.write_text(json.dumps({"targets": [told]}))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        written.append(replace(target, report=ReportFile(f"{target.name}/report.json", digest)))
    listed = TargetListDigest(total, "a" * 64)
    fleet = Fleet(HARNESS, f"2026-01-0{index + 1}", {}, listed, ShardOf(index, count), 1.5, tuple(written))
    path = folder / str(index) / "fleet.json"
    save(replace(fleet, **members), path)  # type: ignore[arg-type]
    return path


def three(folder: Path) -> list[Path]:
    stale = result("b", 1, verdict=Verdict.CONFORMANT, alarm=STALE, stale=("k.yaml, line 4: it is stale",))
    return [shard(folder, 0, result("a"), stale), shard(folder, 1, result("c", 6, reached=False))]


def test_what_is_known_is_graver_than_advice() -> None:
    graver = ["failed", "blocked", "known", "advisory", "passed", "not-applicable"]
    assert sorted(set(graver), key=severity) == graver


def refused(paths: list[Path]) -> str:
    with pytest.raises(ReportError) as caught:
        merge(paths)
    return str(caught.value)


def test_the_whole_is_what_the_shards_are(tmp_path: Path) -> None:
    paths = three(tmp_path)
    out = tmp_path / "all" / "fleet.json"
    out.parent.mkdir()
    whole = merge(paths[::-1], out)
    assert [target.name for target in whole.targets] == ["c", "b", "a"]
    assert (whole.shard, whole.exit_code, whole.generated_at, whole.seconds) == (None, 6, "2026-01-02", 1.5)
    for target in whole.targets:
        assert target.report is not None
        assert f'"name": "{target.name}"' in (out.parent / target.report.file).read_text()
    assert (whole.targets[1].alarm, whole.targets[1].stale) == (STALE, ("k.yaml, line 4: it is stale",))
    save(whole, out)
    assert load(out) == whole


def test_what_is_no_whole_is_refused(tmp_path: Path) -> None:
    first, second = three(tmp_path)
    assert refused([]).startswith("nothing to merge")
    assert refused([first]) == "1 shard missing: 1/2"
    assert refused([first, second, first]) == f"{first} is there twice: each shard is merged once"
    copy = first.with_name("copy.json")
    copy.write_bytes(first.read_bytes())
    assert refused([first, copy]) == f"{copy} is shard 0/2 too, as {first} is: each shard is merged once"
    other = replace(load(second), harness=Harness("pytest-adcp", "1.1", "1.1"))
    save(other, second)
    assert "judged by pytest-adcp 1.1 (rules 1.1), and" in refused([first, second])
    save(replace(other, harness=HARNESS, listed=TargetListDigest(3, "b" * 64)), second)
    assert "a shard of another list of targets" in refused([first, second])
    save(replace(other, harness=HARNESS, shard=ShardOf(1, 3)), second)
    assert "one of 3 shards, and" in refused([first, second])
    save(replace(other, harness=HARNESS, shard=None), second)
    assert "this is a whole fleet" in refused([first, second])
    save(replace(other, harness=HARNESS, targets=()), second)
    assert "2 targets in all, and the list has 3" in refused([first, second])
    save(replace(other, harness=HARNESS, targets=load(first).targets[:1]), second)
    assert "does not lie beside it" in refused([first, second]) or "is in" in refused([first, second])


def test_a_target_in_two_shards_is_refused(tmp_path: Path) -> None:
    paths = [shard(tmp_path, 0, result("a")), shard(tmp_path, 1, result("a"))]
    assert refused(paths) == f"{paths[1]}: a is in {paths[0]} too"


def test_many_missing_shards_are_counted(tmp_path: Path) -> None:
    words = refused([shard(tmp_path, 0, result("a"), count=40)])
    assert words.startswith("39 shards missing: 1/40, 2/40,")
    assert words.endswith("20/40 and 19 more")


def test_a_report_that_is_not_what_was_written_is_refused(tmp_path: Path) -> None:
    first, second = three(tmp_path)
    report = tmp_path / "0" / "b" / "report.json"
    report.write_text("changed")
    assert "not the report of b that" in refused([first, second])
    save(
        replace(load(first), targets=(replace(load(first).targets[0], verdict=Verdict.INCONCLUSIVE),)), first
    )
    assert "it does not say of a what its report does" in refused([first, second])
    first, second = three(tmp_path / "again")
    (tmp_path / "again" / "0" / "b" / "report.json").unlink()
    assert "the report of b does not lie beside it" in refused([first, second])
    elsewhere = replace(load(first).targets[0], report=ReportFile("../../etc/passwd", "a" * 64))
    save(replace(load(first), targets=(elsewhere,)), first)
    assert "lies elsewhere" in refused([first, second])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: not JSON"),
        ("[]", "no report of a fleet"),
        ('{"schema_version": "1", "targets": []}', "this is the report of one run and no report of a fleet"),
        ('{"schema_version": "1", "calls": []}', "no report of a fleet (no fleet.json of pytest-adcp)"),
        ('{"schema_version": "2", "listed": {}}', 'reads schema_version "1", not "2"'),
        ('{"schema_version": "1", "listed": {"targets": -1}}', "is a required property"),
        ("[" * 100_000, "not JSON that can be read"),
    ],
)
def test_a_file_that_is_no_fleet_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "fleet.json").write_text(text)
    assert words in refused([tmp_path / "fleet.json"])


def test_the_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers(required=True))

    def done(*words: object) -> int:
        arguments = parser.parse_args(list(map(str, words)))
        return arguments.run(arguments)

    out, summary = tmp_path / "whole.json", tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert done("merge", "-o", out, *three(tmp_path)) == 6
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fleet: 3 targets: 2 conformant, 1 inconclusive, 1 alarm, in ")
    assert [f"report: {out.with_suffix(kind)}" for kind in (".json", ".html", ".md")] == lines[4:7]
    assert lines[-1] == "exit code 6: c could not be surveyed; less grave: b fails"
    page, text = (out.with_suffix(kind).read_text("utf-8") for kind in (".html", ".md"))
    assert summary.read_text("utf-8") == f"{text}\n"
    assert done("fleet", out, "-o", tmp_path / "again.html") == 0
    assert (tmp_path / "again.html").read_text("utf-8") == page
    out.with_suffix(".md").unlink()
    assert done("fleet", out, "--md") == 0
    assert out.with_suffix(".md").read_text("utf-8") == text
    assert done("fleet", out, "--md", "-o", "-") == 0
    assert capsys.readouterr().out == text


def test_an_output_of_a_merge_that_cannot_be_written_harms_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "whole.json"
    out.with_suffix(".html").mkdir()
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers(required=True))
    arguments = parser.parse_args(["merge", "-o", str(out), *map(str, three(tmp_path))])
    assert arguments.run(arguments) == 6
    assert capsys.readouterr().err == "whole.html could not be written: Is a directory\n"
    assert out.with_suffix(".md").is_file()


@pytest.mark.parametrize(
    ("codes", "gravest_of_all"),
    [
        ([], 0),
        ([(0, True), (6, True)], 6),
        ([(6, True), (1, True)], 1),
        ([(1, True), (6, False)], 6),
        ([(6, False), (3, True), (1, True)], 3),
        ([(5, True), (0, True)], 5),
    ],
)
def test_the_gravest_target_decides(codes: list[tuple[int, bool]], gravest_of_all: int) -> None:
    targets = [result(f"n{n}", code, reached=reached) for n, (code, reached) in enumerate(codes)]
    assert gravest(targets) == gravest_of_all
    assert [target.exit_code for target in worst_first(targets)][:1] == ([gravest_of_all] if targets else [])


class Page(HTMLParser):
    """What stands in a page: tags, attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said += data


def nasty() -> Fleet:
    target = replace(
        result("a", ExitCode.NONCONFORMANT),
        url=NASTY,
        reasons=(NASTY,),
        problem=NASTY,
        cure=NASTY,
        adcp_version=NASTY,
        server=Server(NASTY, NASTY, NASTY),
        families=(FamilyResult(NASTY, "failed", {"failed": 1}, NASTY), FamilyResult("x", NASTY, {}, NASTY)),
        report=ReportFile("javascript:alert(1)", "a" * 64),
    )
    return Fleet(HARNESS, NASTY, {}, TargetListDigest(1, "a" * 64), None, 1.0, (target,))


def test_a_hostile_report_stays_inert() -> None:
    page = Page(fleet_html.render(nasty()))
    assert not {"script", "img", "iframe", "link"} & set(page.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    links = [value for name, value in page.attributes if name in ("href", "src")]
    assert all(value is not None and value.startswith(("#", "./")) for value in links)
    assert "\u202e" not in page.said
    assert "\x1b" not in page.said
    assert "<script>alert(1)</script>" in page.said  # as text
    policy = next(value for name, value in page.attributes if value and "default-src" in value)
    style = fleet_html.render(nasty()).partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_a_page_links_to_the_reports_that_are_there(tmp_path: Path) -> None:
    path = shard(tmp_path, 0, result("a"), result("b", 1), count=1, total=2)
    (path.parent / "b" / "report.html").touch()
    page = Page(fleet_html.render(load(path), path.parent))
    links = [value for name, value in page.attributes if name == "href" and str(value).startswith("./")]
    assert sorted(map(str, links)) == ["./a/report.json", "./b/report.html", "./b/report.json"]


def test_the_summary_is_bounded_and_safe() -> None:
    fleet = replace(nasty(), targets=tuple(result(f"n{n}") for n in range(60)))
    lines = [line for line, _ in fleet_terminal.summary(fleet, files=["out/fleet.json"], why="why")]
    assert len(lines) == 30
    assert lines[-1] == "why"
    assert "and 35 targets more, in out/fleet.json" in lines
    assert len(fleet_terminal.summary(fleet, verbosity=1)) == 61
    assert len(fleet_terminal.summary(fleet, verbosity=-1)) == 1
    assert not any("\x1b" in line or "\u202e" in line for line, _ in fleet_terminal.summary(nasty()))
