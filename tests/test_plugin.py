"""The plugin as users meet it: whose run it is, what is selected, how it ends, what it leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.transcript import Transcript
from runs import run

ROOT = Path(__file__).parents[1]
NOT_AT_START = {
    "h11",
    "yaml",
    "jsonschema",
    "jsonschema_rs",
    "anyio",
    "httpx",
    "mcp",
    "jinja2",
    "pytest_adcp.harness.survey",
}


@pytest.fixture
def seller() -> Iterator[str]:
    with running(SellerOptions()) as url:
        yield url


@pytest.fixture
def recording(tmp_path: Path, seller: str) -> Path:
    file = tmp_path / "seller.jsonl"
    assert run(tmp_path, f"--server-url={seller}", f"--adcp-record={file}").code == 0
    return file


# -- whose run it is ------------------------------------------------------------------------------------------


def test_a_plain_run_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        f"import sys\ndef test_mine(): assert not {sorted(NOT_AT_START)!r} & sys.modules.keys()\n".replace(
            "[", "{"
        ).replace("]", "}")
    )
    done = run(tmp_path, "-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:xdist")
    assert done.code == 0, done.out
    assert "1 passed" in done.out
    assert not (tmp_path / "adcp-report").exists()


def test_the_plugin_module_imports_only_pytest_and_the_standard_library() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import pytest_adcp.harness.plugin\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["pytest_adcp"]


def test_a_project_that_owns_the_option_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--server-url', dest='server_url', default='none')\n"
    )
    (tmp_path / "test_mine.py").write_text(
        "def test_mine(request): assert request.config.option.server_url == 'http://mine'\n"
    )
    for arguments in (
        ["--server-url=http://mine"],
        ["--server-url", "http://mine"],
        ["test_mine.py", "--server-url=http://mine"],
    ):
        done = run(tmp_path, *arguments)
        assert done.code == 0, done.out
        assert "1 passed" in done.out
    assert not (tmp_path / "adcp-report").exists()


def test_a_foreign_conftest_cannot_break_a_conformance_run(tmp_path: Path, seller: str) -> None:
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not yours')\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npython_files = check_*.py\npython_functions = check_*\nusefixtures = db\n"
    )
    done = run(tmp_path, "--server-url", seller)
    assert done.code == 0, done.out


@pytest.mark.parametrize(
    "ini",
    [
        "addopts = --ignore-glob=*adcp* --doctest-modules",
        "addopts = --strict-markers --strict-config --import-mode=importlib",
        "filterwarnings = error",
        "testpaths = nowhere",
        "norecursedirs = *",
        "addopts = -p no:terminal",
    ],
)
def test_ini_files_of_others_do_not_matter(tmp_path: Path, recording: Path, ini: str) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    done = run(tmp_path, f"--adcp-replay={recording}")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"


def test_the_config_file_alone_selects_nothing(tmp_path: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("server_url: http://127.0.0.1:9/mcp\n")
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    done = run(tmp_path)
    assert done.code == 0
    assert "1 passed" in done.out


# -- what is selected -----------------------------------------------------------------------------------------


def test_suites_by_path_need_something_to_judge(tmp_path: Path) -> None:
    for path in ("pytest_adcp.suites.adcp", str(ROOT / "suites"), str(ROOT / "suites" / "mcp" / "tools.py")):
        done = run(tmp_path, path)
        assert done.code == 4, done.out
        assert "pass --server-url=URL" in done.out


def test_a_path_keeps_the_suites_out_and_that_is_not_green(tmp_path: Path, seller: str) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    done = run(tmp_path, "test_mine.py", f"--server-url={seller}")
    assert done.code == 5, done.out
    assert "no conformance rule was collected, because a path was given" in done.out
    both = run(tmp_path, "test_mine.py", "--pyargs", "pytest_adcp.suites", f"--server-url={seller}")
    assert both.code == 0, both.out


def test_failures_of_the_users_own_tests_count(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine(): assert 1 == 2, 'mine broke'\n")
    both = ["test_mine.py", "--pyargs", "pytest_adcp.suites", f"--adcp-replay={recording}"]
    for more in ([], ["-n2"], ["-k", "test_mine"]):
        done = run(tmp_path, *both, *more)
        assert done.code == 1, done.out
        assert "mine broke" in done.out
    (tmp_path / "test_mine.py").write_text("import nothing_of_that_name\n")
    assert run(tmp_path, *both).code == 2


def test_a_tool_that_is_not_listed_is_not_green(tmp_path: Path, recording: Path) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}", "--adcp-tool=get_product")
    assert done.code == 6, done.out
    assert "no listed tool matches --adcp-tool get_product" in done.out


def test_a_tool_narrows_a_replay_too(tmp_path: Path, recording: Path) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}", "--adcp-tool=get_prod*")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "inconclusive"
    subjects = {finding["subject"].partition("/")[0] for finding in done.target["findings"]}
    assert "get_products" in subjects
    assert "get_media_buys" not in subjects


@pytest.mark.parametrize("option", ["--adcp-plan", "--adcp-strict", "--adcp-rate=5"])
def test_an_option_without_anything_to_judge_says_so(tmp_path: Path, option: str) -> None:
    (tmp_path / "adcp.yaml").write_text("server_url: http://127.0.0.1:9/mcp\n")
    done = run(tmp_path, option)
    assert done.code == 4, done.out
    assert "--adcp-config=adcp.yaml" in done.out
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {option}\n")
    assert run(tmp_path).code == 5


def test_a_report_that_cannot_be_written_is_said_before_the_survey(tmp_path: Path, seller: str) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path, f"--server-url={seller}", "--adcp-report-dir=file/x")
    assert done.code == 4, done.out
    assert "cannot be written" in done.out
    assert "INTERNALERROR" not in done.out


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        (["pytest_adcp.suites.mcp.tools"], {"mcp.tools"}),
        (
            [str(ROOT / "suites" / "mcp")],
            {
                "mcp.tools",
                "mcp.result",
                "mcp.jsonrpc",
                "mcp.lifecycle",
                "mcp.sse",
                "mcp.http",
                "mcp.interop",
            },
        ),
        (["-k", "top-level-data"], {"adcp.extraction"}),
        (["-k", "adcp.errors.recovery"], {"adcp.errors"}),
        (
            ["-m", "adcp_should"],
            {
                "mcp.http",
                "mcp.result",
                "mcp.interop",
                "mcp.sse",
                "mcp.tools",
                "mcp.jsonrpc",
                "mcp.lifecycle",
                "adcp.extraction",
                "adcp.errors",
                "adcp.security",
                "adcp.envelope",
                "adcp.discovery",
                "adcp.versions",
            },
        ),
        (["mcp.tools::unique-names"], {"mcp.tools"}),
    ],
)
def test_a_part_of_the_rules(tmp_path: Path, recording: Path, arguments: list[str], rules: set[str]) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}", *arguments)
    assert done.code == 0, done.out
    assert {finding["rule"].rpartition(".")[0] for finding in done.target["findings"]} == rules
    assert done.target["verdict"] == "inconclusive"
    assert not done.target["selection"]["complete"]


def test_last_failed(tmp_path: Path) -> None:
    with running(SellerOptions(fault="nested-data")) as url:
        assert run(tmp_path, f"--server-url={url}", f"--adcp-record={tmp_path / 'bad.jsonl'}").code == 1
    replay = f"--adcp-replay={tmp_path / 'bad.jsonl'}"
    first = run(tmp_path, replay, "-p", "cacheprovider")
    again = run(tmp_path, replay, "-p", "cacheprovider", "--lf")
    assert (first.code, again.code) == (1, 1)
    assert {finding["outcome"] for finding in again.target["findings"]} == {"failed"}


def test_collect_only_lists_without_judging(tmp_path: Path, recording: Path) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}", "--collect-only", "-q")
    assert done.code == 0
    assert "adcp.extraction::top-level-data[get_products/sample]" in done.out


# -- how it ends ----------------------------------------------------------------------------------------------


def test_conformant_is_0(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"
    assert "conformant:" in done.out


def test_nonconformant_is_1_and_says_what_to_change(tmp_path: Path) -> None:
    with running(SellerOptions(fault="nested-result-fastmcp")) as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 1, done.out
    assert "adcp.extraction.top-level-data" in done.out
    assert "FastMCP" in done.out
    assert "curl" in done.out


def test_unreachable_is_6_with_one_diagnosis(tmp_path: Path, free_port: int) -> None:
    done = run(tmp_path, f"--server-url=http://127.0.0.1:{free_port}/mcp")
    assert done.code == 6, done.out
    assert "connection was refused" in done.out or "refused" in done.out
    assert "1 failed" in done.out or "1 error" in done.out
    assert done.target["findings"] == []


def test_inconclusive_is_6(tmp_path: Path) -> None:
    # In 3.0 there is nothing that a seller has to refuse.
    with running(SellerOptions(fault="accepts-everything", release=Release.V3_0)) as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 6, done.out
    assert done.target["verdict"] == "inconclusive"
    assert "every bad request was accepted" in done.out


def test_a_rule_that_breaks_is_3(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "breaker.py").write_text(
        "import dataclasses\nfrom pytest_adcp.suites.mcp import tools\n"
        "def broken(tools): raise ZeroDivisionError('ours')\n"
        "broken.__module__ = tools.__name__\n"
        "for name, member in list(vars(tools).items()):\n"
        "    if getattr(member, 'adcp_rule', None) and member.adcp_rule.short == 'unique-names':\n"
        "        member.adcp_rule = dataclasses.replace(member.adcp_rule, function=broken)\n"
    )
    done = run(tmp_path, f"--adcp-replay={recording}", "-p", "breaker", env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 3, done.out
    assert "ZeroDivisionError: ours" in done.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b'{"hello": 1}\n', "not a pytest-adcp transcript"),
        (b"\xff\xfe\n", "not JSON"),
        (None, "No such file"),
    ],
)
def test_a_foreign_recording_is_4(tmp_path: Path, content: bytes | None, says: str) -> None:
    file = tmp_path / "foreign.jsonl"
    if content is not None:
        file.write_bytes(content)
    done = run(tmp_path, f"--adcp-replay={file}")
    assert done.code == 4, done.out
    assert "foreign.jsonl" in done.out
    assert says in done.out
    assert "Traceback" not in done.out
    assert not (tmp_path / "adcp-report").exists()


def test_a_truncated_recording_is_4(tmp_path: Path, recording: Path) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(lines[:-1]))
    assert "cut short" in run(tmp_path, f"--adcp-replay={recording}").out
    recording.write_bytes(b"".join(lines)[:-40])
    done = run(tmp_path, f"--adcp-replay={recording}")
    assert done.code == 4
    assert f"line {len(lines)}" in done.out


# -- what it leaves behind ------------------------------------------------------------------------------------


def test_a_replay_gives_the_same_findings(tmp_path: Path) -> None:
    with running(SellerOptions(fault="nested-data")) as url:
        live = run(tmp_path, f"--server-url={url}", f"--adcp-record={tmp_path / 'bad.jsonl'}")
    findings = json.dumps(live.target["findings"])
    again = run(tmp_path, f"--adcp-replay={tmp_path / 'bad.jsonl'}")
    assert json.dumps(again.target["findings"]) == findings
    assert live.code == again.code == 1


def test_xdist_gives_the_same_findings(tmp_path: Path, recording: Path) -> None:
    serial = run(tmp_path, f"--adcp-replay={recording}")
    findings = json.dumps(serial.target["findings"])
    spread = run(tmp_path, f"--adcp-replay={recording}", "-n2")
    assert spread.code == serial.code == 0, spread.out
    assert json.dumps(spread.target["findings"]) == findings


def test_xdist_surveys_once(tmp_path: Path, seller: str) -> None:
    done = run(tmp_path, f"--server-url={seller}", "-n2")
    assert done.code == 0, done.out
    exchanges = Transcript.load(tmp_path / "adcp-report" / "transcript.jsonl").exchanges
    assert [exchange.subject for exchange in exchanges].count("initialize") == 1
    assert done.target["survey"]["requests"] == len(exchanges)


def test_junit_carries_rule_level_and_outcome(tmp_path: Path, recording: Path) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}", "--junitxml=junit.xml")
    assert done.code == 0
    suite = ElementTree.parse(tmp_path / "junit.xml")
    cases = suite.findall(".//testcase")
    assert len(cases) == len(done.target["findings"])
    properties = {item.get("name"): item.get("value") for item in cases[0].findall(".//property")}
    assert set(properties) == {"rule", "level", "outcome", "subject", "source"}


def test_no_transcript(tmp_path: Path, seller: str) -> None:
    done = run(tmp_path, f"--server-url={seller}", "--adcp-no-transcript")
    assert done.code == 0
    assert done.target["transcript"] is None
    names = {path.name for path in (tmp_path / "adcp-report").iterdir()}
    assert {"report.json", "report.md", "badge.json"} <= names
    assert "transcript.jsonl" not in names


def test_plan_prints_and_sends_no_calls(tmp_path: Path, seller: str) -> None:
    done = run(tmp_path, f"--server-url={seller}", "--adcp-plan")
    assert done.code == 0, done.out
    assert "get_products/sample" in done.out
    assert "buying_mode" in done.out
    assert not (tmp_path / "adcp-report").exists()


def test_rules_and_explain(tmp_path: Path) -> None:
    rules = run(tmp_path, "--adcp-rules")
    assert rules.code == 0
    assert "adcp.errors.flagged" in rules.out
    explained = run(tmp_path, "--adcp-explain", "adcp.errors.flagged")
    assert explained.code == 0
    assert "isError" in explained.out
    wrong = run(tmp_path, "--adcp-explain=adcp.errors.flaged")
    assert wrong.code == 4
    assert "did you mean adcp.errors.flagged" in wrong.out


def test_client_profile_needs_no_server(tmp_path: Path) -> None:
    done = run(tmp_path, "--adcp-profile=client")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"
    assert done.target["counts"]["passed"] >= 100


def test_bad_vectors_are_4(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text('{"version": 1, "description": "x", "vectors": [{"id": "a"}]}')
    done = run(tmp_path, "--adcp-profile=client", f"--adcp-vectors={file}")
    assert done.code == 4, done.out
    assert "v.json" in done.out
    assert "/vectors/0" in done.out
