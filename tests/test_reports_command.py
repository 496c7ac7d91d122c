"""`python -m pytest_adcp.reports`: what it writes, and what it says of a bad command line or file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import html_pages
import pytest
from pytest_adcp.harness.verdict import ExitCode
from pytest_adcp.reports import __main__ as command
from pytest_adcp.reports import badge, fleet, markdown, model, sarif
from told_reports import everything, failed, report, target


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with saved reports, which is the current one."""
    monkeypatch.chdir(tmp_path)
    model.save(everything(), tmp_path / "report.json")
    model.save(report(target()), tmp_path / "good.json")
    return tmp_path


TEXTS = {
    ("md",): markdown.render,
    ("badge",): badge.endpoint,
    ("badge", "--svg"): badge.svg,
}


@pytest.mark.parametrize(("arguments", "render"), TEXTS.items(), ids=map(" ".join, TEXTS))
def test_a_form_goes_to_stdout_or_into_a_file(
    files: Path, capfdbinary, arguments: tuple[str, ...], render
) -> None:
    wanted = render(everything()).encode()
    assert command.main([*arguments, "report.json"]) == 0
    assert capfdbinary.readouterr().out == wanted
    assert command.main([*arguments, "report.json", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out == wanted
    (files / "out").write_text("old")
    assert command.main([*arguments, "report.json", "-o", "out"]) == 0
    assert (files / "out").read_bytes() == wanted
    assert capfdbinary.readouterr() == (b"", b"")


def test_sarif_knows_what_the_rules_ask_for(files: Path) -> None:
    rule = "adcp.extraction.top-level-data"
    model.save(report(target(failed(rule))), files / "report.json")
    assert command.main(["sarif", "report.json", "report.json", "-o", "x.sarif"]) == 0
    first, second = json.loads((files / "x.sarif").read_text(encoding="utf-8"))["runs"]
    (described,) = first["tool"]["driver"]["rules"]
    assert described["shortDescription"]["text"].startswith(f"{rule}: ")
    assert second["results"] == first["results"]
    assert len(first["results"]) == 1
    assert sarif.render(report(target())) != ""


def test_several_reports_make_one_output(files: Path, capfdbinary) -> None:
    assert command.main(["badge", "good.json", "report.json", "good.json"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["message"] == "2 of 4 conformant"


def test_several_reports_make_one_page_with_the_bytes_of_each(files: Path, capfdbinary) -> None:
    names = []
    for text in ("first", "second"):
        (files / text).mkdir()
        whole = html_pages.report(html_pages.target(text, findings=html_pages.few()[:1]))
        whole, _ = html_pages.with_transcript(whole, html_pages.recorded(f"camp {text}"), files / text)
        model.save(whole, files / text / "report.json")
        names.append(f"{text}/report.json")
    assert command.main(["html", *names]) == 0
    page = html_pages.Parsed(capfdbinary.readouterr().out.decode())
    assert page.texts("h1") == ["2 targets"]
    assert [text for text in page.texts("h3") if text.endswith(("first", "second"))] == [
        "1. first",
        "2. second",
    ]
    assert [text.partition(":")[0] for text in page.texts("mark")] == ['{"camp first"', '{"camp second"']
    # Moved, but the very one that was judged.
    (files / "second" / "transcript.jsonl").rename(files / "moved.jsonl")
    assert command.main(["html", *names, "--transcript", "moved.jsonl", "-o", "page.html"]) == 0
    assert (files / "page.html").read_text(encoding="utf-8") == page.html
    assert command.main(["html", *names, "-o", "page.html"]) == 0
    page = html_pages.Parsed((files / "page.html").read_text(encoding="utf-8"))
    assert len(page.texts("mark")) == 1
    assert "the transcript was not at hand when this page was made" in page.text


def test_a_report_comes_from_stdin(files: Path, capfdbinary, monkeypatch) -> None:
    data = (files / "good.json").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert command.main(["badge", "-"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["message"] == "conformant · 3.1"


def test_the_name_of_a_picture_makes_it_one(files: Path) -> None:
    assert command.main(["badge", "good.json", "-o", "badge.svg"]) == 0
    assert (files / "badge.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_markdown_has_a_bound(files: Path, capfdbinary) -> None:
    assert command.main(["md", "report.json", "--limit", "4096"]) == 0
    assert len(capfdbinary.readouterr().out) <= 4096


BAD = [
    (["md", "none.json"], "none.json: No such file or directory"),
    (["md", "."], ".: Is a directory"),
    (["badge", "good.json", "bad.json"], "bad.json, line 1: not JSON: Expecting value"),
    (["sarif", "foreign.json"], "foreign.json: this is not a pytest-adcp report (no schema_version)"),
    (["verify", "none.json", "x"], "none.json: No such file or directory"),
    (["verify", "good.json", "none.jsonl"], "none.jsonl: No such file or directory"),
    (["verify", "good.json", "bad.json"], "bad.json, line 1: "),
    (["verify", "good.json"], "transcript.jsonl: there is no such file; give the transcript"),
    (
        ["badge", "good.json", "-o", "gone/badge.json"],
        "gone/badge.json cannot be written: No such file or directory",
    ),
    (["badge", "good.json", "-o", "."], ". cannot be written: "),
    (["md", "no\x1b[31m.json"], "no\\x1b[31m.json: No such file"),
    *(
        (
            [command, "fleet.json"],
            "fleet.json: this is the report of a fleet, which `python -m pytest_adcp.reports fleet` reads",
        )
        for command in ("html", "md", "badge", "sarif", "verify")
    ),
    (["fleet", "good.json"], "good.json: this is the report of one run and no report of a fleet"),
    (["merge", "-o", "x.json", "good.json"], "`python -m pytest_adcp.reports` reads it with html, md, badge"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    files: Path, capfd, arguments: list[str], words: str
) -> None:
    (files / "bad.json").write_text("nothing")
    (files / "foreign.json").write_text("{}")
    harness, listed = model.Harness("pytest-adcp", "1.0", "1.0"), fleet.TargetListDigest(0, "a" * 64)
    fleet.save(fleet.Fleet(harness, "2026", {}, listed, None, 1.0, ()), files / "fleet.json")
    before = sorted(path.name for path in files.iterdir())
    assert command.main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("python -m pytest_adcp.reports: ")
    assert words in line
    assert sorted(path.name for path in files.iterdir()) == before


def test_what_a_report_names_is_only_read_where_it_is_a_file(files: Path, capfd) -> None:
    text = (files / "good.json").read_text(encoding="utf-8")
    for name in ("/dev/zero", "nul\\u0000", "."):
        (files / "evil.json").write_text(text.replace('"transcript.jsonl"', f'"{name}"'), encoding="utf-8")
        assert command.main(["verify", "evil.json"]) == 2
        assert "there is no such file" in capfd.readouterr().err


def test_help_says_what_the_exit_codes_mean(capfd) -> None:
    codes = {"verify": [0, 1, 2], "merge": [0, 1, 2, 3, 5, 6]}
    said = {}
    for name in ("html", "md", "badge", "sarif", "fleet", "verify", "merge"):
        with pytest.raises(SystemExit) as ended:
            command.main([name, "--help"])
        assert ended.value.code == 0
        said[name] = capfd.readouterr().out.partition("exit codes:\n")[2].splitlines()
        assert [int(line.split()[0]) for line in said[name]] == codes.get(name, [0, 2])
    with pytest.raises(SystemExit):
        command.main(["--help"])
    out = capfd.readouterr().out
    assert "exit codes of html, md, badge, sarif, fleet:\n  0  the output is written\n" in out
    assert set(out.splitlines()) >= {line for lines in said.values() for line in lines}
    assert set(codes["merge"]) - {2} == set(ExitCode)
    for arguments in ([], ["paint"], ["md"]):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 2


def start(*arguments: str, stdout: int) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def test_it_runs_as_a_module_and_minds_no_reader_that_leaves(files: Path) -> None:
    model.save(
        report(target([one for n in range(300) for one in failed(f"adcp.r{n}", "a", "b")])),
        files / "long.json",
    )
    process = start(
        "-m", "pytest_adcp.reports", "md", "long.json", "--limit", "900000", stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")


def test_it_needs_no_pytest(files: Path) -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "import pytest_adcp.reports.verify\n"
        "from pytest_adcp.reports.__main__ import main\n"
        "raise SystemExit(main(['sarif', 'report.json', '-o', 'x']) or main(['badge', 'report.json', '-o', 'y']))"
    )
    process = start("-c", code, stdout=subprocess.DEVNULL)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
