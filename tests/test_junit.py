"""JUnit, written by pytest itself: properties on every case, and XML that any parser takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

import pytest
from evidence import Http, surveyed
from pytest_adcp.harness.transcript import Diagnosis, Transcript
from reported import hostile_server
from runs import Run, run

NASTY = "]]> <b>&amp;</b> \x1b[31m red \x00 \x08 \ufffe \u202e \U0001f600 \ud800"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Transcripts of servers that put into every place what XML cannot hold."""
    folder = tmp_path_factory.mktemp("recordings")
    broken = {"code": NASTY, "message": NASTY, "recovery": NASTY, NASTY: NASTY}
    body = {
        "jsonrpc": "2.0",
        "id": "call-7",
        "result": {
            "isError": True,
            "content": [{"type": "text", "text": NASTY}],
            "structuredContent": {"adcp_error": broken},
        },
    }
    tool = {
        "name": "get_products",
        "title": NASTY,
        "description": NASTY,
        "inputSchema": {"type": "object", NASTY: NASTY},
    }
    files = {"hostile": folder / "hostile.jsonl", "nasty": folder / "nasty.jsonl"}
    hostile_server().transcript.save(files["hostile"])
    surveyed(Http(body), tools=[tool]).transcript.save(files["nasty"])
    return files


def cases(done: Run) -> list[ElementTree.Element]:
    data = (done.folder / "junit.xml").read_bytes()
    strict = expat.ParserCreate()
    strict.Parse(data, True)
    return list(ElementTree.fromstring(data).iter("testcase"))


def properties(case: ElementTree.Element) -> dict[str, str]:
    return {str(item.get("name")): str(item.get("value")) for item in case.iter("property")}


@pytest.mark.parametrize(
    ("name", "family", "workers"),
    [
        ("hostile", "xunit1", ()),
        ("hostile", "xunit2", ("-n", "2")),
        ("nasty", "xunit1", ("-n", "2")),
        ("nasty", "xunit2", ()),
    ],
)
def test_every_case_says_what_was_judged_and_the_file_is_xml(
    tmp_path: Path, recordings: dict[str, Path], name: str, workers: tuple[str, ...], family: str
) -> None:
    replay = f"--adcp-replay={recordings[name]}"
    done = run(tmp_path, replay, "--junitxml=junit.xml", "-o", f"junit_family={family}", "-q", *workers)
    found = [properties(case) for case in cases(done)]
    findings = done.target["findings"]
    assert len(found) == len(findings) > 100
    said = ("rule", "level", "outcome", "source", "pointer")
    assert Counter(tuple(each.get(name) for name in said) for each in found) == Counter(
        tuple(each[name] for name in said) for each in findings
    )
    for each in found:
        assert set(each) - {"pointer"} == {*said, "subject"} - {"pointer"}
        assert each["source"].startswith("https://")


def test_a_failure_tells_the_whole_story_in_plain_characters(
    tmp_path: Path, recordings: dict[str, Path]
) -> None:
    done = run(tmp_path, f"--adcp-replay={recordings['nasty']}", "--junitxml=junit.xml", "-q")
    failures = {
        properties(case)["rule"]: "".join(part.itertext())
        for case in cases(done)
        for part in case.iter("failure")
    }
    assert failures
    for rule, text in failures.items():
        assert text.startswith(rule)
        for label in ("expected: ", "received: ", "fix: ", "spec: "):
            assert label in text
        assert not any(ord(character) < 32 and character != "\n" for character in text)
        assert "\u202e" not in text
    assert any("]]>" in text for text in failures.values())
    skipped = [part for case in cases(done) for part in case.iter("skipped")]
    assert skipped
    for part in skipped:
        assert (part.text or "").startswith(("mcp.", "adcp.")), "where: the rule, and no path of this machine"
    blocked = [part for case in cases(done) for part in case.iter("error")]
    assert len(blocked) == sum(
        each["outcome"] == "blocked" and each["level"] == "MUST" for each in done.target["findings"]
    )


def test_a_server_that_cannot_be_surveyed_is_one_failure(tmp_path: Path) -> None:
    survey = replace(
        surveyed().transcript.survey, unusable=Diagnosis("refused", NASTY, NASTY), complete=False
    )
    Transcript(survey, ()).save(tmp_path / "down.jsonl")
    done = run(tmp_path, "--adcp-replay=down.jsonl", "--junitxml=junit.xml")
    (case,) = cases(done)
    (failure,) = case.iter("failure")
    assert "]]> <b>&amp;</b> \\x1b[31m red" in "".join(failure.itertext())
    assert "\x1b" not in done.out
