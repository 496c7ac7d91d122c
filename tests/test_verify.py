"""Verification: a report is what its transcript gives, or it is said what differs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence import URL, Http, surveyed
from pytest_adcp.harness import __version__
from pytest_adcp.harness.schema_bundle import find_bundle
from pytest_adcp.reports import __main__ as command
from pytest_adcp.reports import model
from pytest_adcp.reports.records import ReportError
from pytest_adcp.reports.verify import verify
from reported import hostile_server, unusable
from runs import run
from small_bundle import write_bundle

RULE = "mcp.lifecycle.initialize"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report folder of a run that judged with every setting that decides a judgement."""
    folder = tmp_path_factory.mktemp("run")
    tool = {"name": "get_products", "description": "x" * 400, "inputSchema": {"type": "object"}}
    result = {
        "jsonrpc": "2.0",
        "id": "call-7",
        "result": {"content": [], "structuredContent": {"products": [{"a": 1}]}},
    }
    surveyed(Http(result), tools=[tool, tool | {"name": "list_creatives"}]).transcript.save(
        folder / "run.jsonl"
    )
    (folder / "adcp.yaml").write_text(
        "profiles: [core, connected-apps]\n"
        "connected_apps: {limits: {tools: 1}, words: {internal_names: {add: [canary]}}, oauth: '2.0'}\n"
    )
    done = run(
        *(folder, "--adcp-replay=run.jsonl", "--adcp-config=adcp.yaml", "--adcp-spec=3.1", "--adcp-strict"),
        *("--adcp-production", "-q"),
    )
    assert done.code == 1
    return folder / "adcp-report"


Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Callable[[Change], list[str]]:
    """Return a function that gives the differences of a report with a change."""

    def differences(change: Change) -> list[str]:
        document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        change(document)
        given = model.loads(json.dumps(document))
        return list(verify(given, folder.parent / "run.jsonl").differences)

    return differences


def finding(document: dict[str, Any], rule: str = RULE) -> dict[str, Any]:
    return next(each for each in document["targets"][0]["findings"] if each["rule"] == rule)


def test_a_report_of_every_setting_is_what_its_transcript_gives(folder: Path, capsys) -> None:
    done = verify(model.load(folder / "report.json"), folder.parent / "run.jsonl")
    assert (done.differences, done.notes) == ((), ())
    assert command.main(["verify", str(folder / "report.json")]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{folder}/report.json is what this transcript gives: nonconformant, ")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("strict", False),
        ("production", False),
        ("spec", "3.0"),
        ("connected_apps", None),
        ("tools", ["nothing"]),
    ],
)
def test_every_setting_decides_something(changed, setting: str, value: Any) -> None:
    assert changed(lambda document: document["settings"].update({setting: value}))


def other_outcome(document: dict[str, Any]) -> None:
    finding(document)["outcome"] = "failed"


def other_message(document: dict[str, Any]) -> None:
    next(each for each in document["targets"][0]["findings"] if each["outcome"] == "failed")["message"] = (
        "it is fine"
    )


def one_less(document: dict[str, Any]) -> None:
    document["targets"][0]["findings"].remove(finding(document))


def one_more(document: dict[str, Any]) -> None:
    document["targets"][0]["findings"].append(finding(document) | {"rule": "mcp.made.up", "subject": "x\x1b"})


def many(document: dict[str, Any]) -> None:
    for each in document["targets"][0]["findings"][:40]:
        each["source"] = "https://evil.test"


CHANGES: dict[str, tuple[Change, list[str]]] = {
    "verdict": (
        lambda document: document["targets"][0].update(verdict="conformant"),
        ["verdict: conformant in the report, nonconformant by this transcript"],
    ),
    "outcome": (
        other_outcome,
        [f"  {RULE} on initialize: failed in the report, passed by this transcript"],
    ),
    "message": (other_message, ['message: "it is fine" in the report']),
    "one less": (one_less, [f"  {RULE} on initialize: passed by this transcript, not in the report"]),
    "one more": (one_more, ["  mcp.made.up on x\\x1b: passed in the report, not found by this transcript"]),
    "many": (many, ["findings: 40 differ, of ", "by this transcript, the first 5:"]),
    "counts": (
        lambda document: document["targets"][0]["counts"].update(failed=0),
        ["counts: not those of the findings that the report lists"],
    ),
    "url": (
        lambda document: document["targets"][0].update(url="https://other.test"),
        [f'url: "https://other.test" in the report, "{URL}" by this transcript'],
    ),
    "calls": (lambda document: document["targets"][0].update(calls=[]), ["calls: nothing in the report, {"]),
    "not checked": (
        lambda document: document["targets"][0].update(not_checked=[]),
        ["not_checked: nothing in the report, {"],
    ),
    "checklist": (
        lambda document: document["targets"][0].update(checklist=[]),
        ["checklist: nothing in the report, {"],
    ),
    "digest": (
        lambda document: document["targets"][0]["transcript"].update(sha256="0" * 64),
        [f"digest: the report names sha256 {'0' * 64}, and the file has "],
    ),
    "no digest": (
        lambda document: document["targets"][0].update(transcript=None),
        ["digest: the report names no transcript"],
    ),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_every_change_is_found(changed, change: Change, words: list[str]) -> None:
    lines = changed(change)
    for expected in words:
        assert any(expected in line for line in lines), lines
    assert len(lines) <= 9


def accepted(document: dict[str, Any]) -> None:
    """Say of one failure that it is known."""
    target = document["targets"][0]
    failed = next(each for each in target["findings"] if each["outcome"] == "failed")
    failed |= {"outcome": "known", "reason": "ours"}
    target["counts"]["failed"] -= 1
    target["counts"]["known"] += 1


def test_what_a_baseline_accepts_did_fail(folder: Path, changed) -> None:
    assert changed(accepted) == ["baseline: 1 failure said to be known, and the report names no baseline"]
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    accepted(document)
    document["targets"][0]["baseline"] = {
        "file": "known.yaml",
        "rules_version": __version__,
        "entries": [],
        "new_rules": [],
    }
    done = verify(model.loads(json.dumps(document)), folder.parent / "run.jsonl")
    assert done.differences == ()
    assert done.notes == (
        "1 failure known by the baseline known.yaml: a transcript shows that they are failures, not who accepts them",
    )


def test_another_version_may_judge_otherwise(folder: Path) -> None:
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    document["harness"]["rules_version"] = "0.0.1"
    done = verify(model.loads(json.dumps(document)), folder.parent / "run.jsonl")
    assert done.notes == (
        f"the report is by the rules of pytest-adcp 0.0.1, and this is {__version__}: another version may judge otherwise",
    )
    assert done.differences == ()


def saved(evidence: Any, folder: Path) -> None:
    evidence.transcript.save(folder / "run.jsonl")


@pytest.mark.parametrize("evidence", [hostile_server, unusable])
def test_servers_that_are_hostile_or_down(tmp_path: Path, evidence) -> None:
    saved(evidence(), tmp_path)
    run(tmp_path, "--adcp-replay=run.jsonl", "-q")
    assert command.main(["verify", str(tmp_path / "adcp-report" / "report.json")]) == 0


@pytest.mark.parametrize("narrow", [("-k", "lifecycle"), ("--adcp-tool=get_*",), ("mcp.http",)])
def test_of_a_part_the_part_is_compared(
    folder: Path, tmp_path: Path, narrow: tuple[str, ...], capsys
) -> None:
    shutil.copy(folder.parent / "run.jsonl", tmp_path)
    run(tmp_path, "--adcp-replay=run.jsonl", "-q", *narrow)
    assert command.main(["verify", str(tmp_path / "adcp-report" / "report.json")]) == 0
    told = capsys.readouterr().out
    assert ("only a part was judged in the run" in told) == (narrow[0] != "--adcp-tool=get_*")


def test_the_schemas_have_to_be_the_same(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(surveyed(), tmp_path)
    write_bundle(tmp_path / "bundle")
    run(tmp_path, "--adcp-replay=run.jsonl", "--adcp-schemas=bundle", "--adcp-spec=3.1", "-q")
    report = str(tmp_path / "adcp-report" / "report.json")
    assert model.load(Path(report)).targets[0].schemas is not None
    assert command.main(["verify", report]) == 0
    (tmp_path / "bundle").rename(tmp_path / "moved")
    monkeypatch.setattr("pytest_adcp.reports.verify.find_bundle", _only_folders())
    capsys.readouterr()
    assert command.main(["verify", report]) == 2
    assert "and here are none; pass --schemas DIR" in capsys.readouterr().err
    assert command.main(["verify", report, "--schemas", str(tmp_path / "moved")]) == 0


def _only_folders() -> Callable[..., Any]:
    return lambda folder, **more: find_bundle(folder, **more) if folder else None


def test_client_libraries_leave_nothing_in_a_transcript(folder: Path, tmp_path: Path, capsys) -> None:
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    target = document["targets"][0]
    target["profiles"].append("client")
    target["reasons"].append("no vector of some kind was judged")
    target["findings"].append(finding(document) | {"rule": "client.extraction.data", "subject": "vector-1"})
    target["counts"]["passed"] += 1
    target["transcript"]["file"] = str(folder.parent / "run.jsonl")
    (tmp_path / "report.json").write_text(json.dumps(document))
    assert command.main(["verify", str(tmp_path / "report.json")]) == 0
    assert (
        "1 finding about client libraries left out: a transcript does not show them"
        in capsys.readouterr().out
    )
    target["profiles"] = ["client"]
    (tmp_path / "report.json").write_text(json.dumps(document))
    assert command.main(["verify", str(tmp_path / "report.json")]) == 2
    assert "of which a transcript shows nothing" in capsys.readouterr().err


def test_one_of_several_targets(folder: Path, tmp_path: Path) -> None:
    given = model.load(folder / "report.json")
    (target,) = given.targets
    another = model.TranscriptFile("other.jsonl", "0" * 64)
    both = replace(given, targets=(replace(target, transcript=another), target))
    assert verify(both, folder.parent / "run.jsonl").differences == ()
    for forged in (replace(target, transcript=None), replace(target, name="twin")):
        more = verify(replace(given, targets=(*given.targets, forged)), folder.parent / "run.jsonl")
        (line,) = more.differences
        assert line.startswith(f"targets: {forged.name} ({URL}) names ")
    saved(surveyed(), tmp_path)
    with pytest.raises(
        ReportError, match="none of the 2 targets of the report names a transcript with sha256"
    ):
        verify(both, tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"spec": "9"}, "settings, spec: unknown AdCP release"),
        ({"tools": 7}, "settings, tools: "),
        ({"connected_apps": "x"}, "settings, connected_apps: "),
        ({"connected_apps": {"limits": {"nope": 1}}}, "settings, connected_apps: "),
    ],
)
def test_settings_of_no_use_are_named(folder: Path, settings: dict[str, Any], words: str) -> None:
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    document["settings"].update(settings)
    with pytest.raises(ReportError) as raised:
        verify(model.loads(json.dumps(document)), folder.parent / "run.jsonl")
    assert str(raised.value).startswith(words)
