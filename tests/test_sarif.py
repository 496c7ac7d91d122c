"""SARIF: what code scanning asks for, and that findings keep their identity from run to run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports import sarif
from pytest_adcp.reports.model import Report, TranscriptFile
from test_markdown import HOSTILE, links
from told_reports import SPEC, alarmed, everything, failed, found, report, spoiled, target

# The schema that OASIS publishes, where tests/integration/setup.sh has brought it.
OFFICIAL = (
    Path(__file__).parents[1]
    / ".integration/sarif/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
)
SETTINGS = {"config": "adcp.yaml", "report_dir": "adcp-report"}


def log(*reports: Report, **more: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sarif.render(*reports, **more))
    check(document)
    return document


def run(given: Report, **more: Any) -> dict[str, Any]:
    (found,) = log(given, **more)["runs"]
    return found


def check(document: dict[str, Any]) -> None:
    """Check all that GitHub says it needs, and what it cuts."""
    assert document["$schema"].endswith("sarif-2.1.0.json")
    assert document["version"] == "2.1.0"
    categories = [run["automationDetails"]["id"] for run in document["runs"]]
    assert len(set(categories)) == len(categories)
    assert all(category.endswith("/") for category in categories)
    for run in document["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"] == "pytest-adcp"
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"]
            assert len(rule["shortDescription"]["text"]) <= 1024
            assert rule["fullDescription"]["text"]
            assert len(rule["fullDescription"]["text"]) <= 1024
            assert rule["help"]["text"]
            assert rule["help"]["markdown"]
            assert rule["defaultConfiguration"]["level"] in ("error", "warning")
            assert len(set(rule["properties"]["tags"])) == len(rule["properties"]["tags"]) <= 20
            assert rule.get("helpUri", "https://").startswith(("https://", "http://"))
        assert len(run["results"]) <= 25_000
        for result in run["results"]:
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in ("error", "warning", "note")
            assert result["message"]["text"]
            (location,) = result["locations"]
            physical = location["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert uri.isascii()
            assert " " not in uri
            assert physical["region"]["startLine"] >= 1
            assert result["partialFingerprints"]["primaryLocationLineHash"]


@pytest.mark.skipif(not OFFICIAL.is_file(), reason="the schema is not here: see tests/integration/README.md")
@pytest.mark.parametrize("text", ["", *HOSTILE])
def test_the_official_schema_takes_it(text: str) -> None:
    schema = json.loads(OFFICIAL.read_text(encoding="utf-8"))
    given = spoiled(everything(), text) if text else everything()
    jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker()).validate(
        log(given)
    )


def test_what_failed_advises_or_is_blocked_is_a_result() -> None:
    results = run(report(everything().targets[0]))["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        *[("adcp.a", "error")] * 3,
        ("adcp.b", "error"),
        ("adcp.c", "warning"),
        ("adcp.d", "note"),
    ]


def test_a_rule_says_what_it_asks_for_and_what_to_change() -> None:
    (rule,) = run(report(target(failed("adcp.x"))), requirements={"adcp.x": "Fields sit at the root."})[
        "tool"
    ]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "adcp.x: Fields sit at the root."
    assert rule["fullDescription"]["text"] == "Fields sit at the root."
    assert rule["help"]["text"] == f"Return the object itself.\nSpecification: {SPEC}"
    assert links(rule["help"]["markdown"]) == [SPEC]
    assert rule["helpUri"] == SPEC
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["properties"]["tags"] == ["adcp"]


def test_a_rule_that_is_not_known_here_goes_by_its_id() -> None:
    weak = failed("adcp.y", strength=Level.SHOULD)
    (rule,) = run(report(target(weak)))["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "adcp.y"
    assert rule["fullDescription"]["text"] == "the data is wrapped in `result`"
    assert rule["defaultConfiguration"] == {"level": "warning"}


def test_a_result_says_what_came_and_where() -> None:
    (result,) = run(report(target(failed("adcp.x"))))["results"]
    assert result["message"]["text"].splitlines() == [
        "On get_products/brief: the data is wrapped in `result`",
        "expected: products",
        'received: {"result": …}',
        "at: /result/structuredContent",
        "fix: Return the object itself.",
    ]
    assert result["properties"] == {
        "subject": "get_products/brief",
        "outcome": "failed",
        "pointer": "/result/structuredContent",
    }
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "get_products/brief"


PLACES = {
    "the configuration": ({"config": "adcp.yaml"}, {"uri": "adcp.yaml", "uriBaseId": "%SRCROOT%"}, 1),
    "in a folder": ({"config": "./conf/a b.yaml"}, {"uri": "conf/a%20b.yaml", "uriBaseId": "%SRCROOT%"}, 1),
    "absolute": ({"config": "/etc/adcp.yaml"}, {"uri": "file:///etc/adcp.yaml"}, 1),
    "outside": ({"config": "../adcp.yaml"}, {"uri": "../adcp.yaml"}, 1),
    "of Windows": ({"config": "C:\\seller\\adcp.yaml"}, {"uri": "file:///C%3A/seller/adcp.yaml"}, 1),
    "a folder of Windows": (
        {"config": "conf\\adcp.yaml"},
        {"uri": "conf/adcp.yaml", "uriBaseId": "%SRCROOT%"},
        1,
    ),
    "the transcript": ({"report_dir": "out"}, {"uri": "out/transcript.jsonl", "uriBaseId": "%SRCROOT%"}, 6),
    "no word of it": ({}, {"uri": "adcp-report/transcript.jsonl", "uriBaseId": "%SRCROOT%"}, 6),
    "of another type": (
        {"config": 7, "report_dir": []},
        {"uri": "adcp-report/transcript.jsonl", "uriBaseId": "%SRCROOT%"},
        6,
    ),
}


@pytest.mark.parametrize(("settings", "artifact", "line"), PLACES.values(), ids=PLACES)
def test_a_finding_is_shown_where_the_run_is_configured(settings, artifact, line: int) -> None:
    (result,) = run(report(target(failed()), **settings))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": artifact, "region": {"startLine": line}}


def test_where_no_transcript_was_kept_the_report_is_the_place() -> None:
    (result,) = run(report(target(failed(), transcript=None)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "adcp-report/report.json"
    elsewhere = target(failed(), transcript=TranscriptFile("../saved/run.jsonl", "0" * 64))
    (result,) = run(report(elsewhere))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "saved/run.jsonl"


def fingerprints(*findings: Any) -> list[str]:
    results = run(report(target([*findings])))["results"]
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]


def test_a_finding_keeps_its_identity_whatever_came() -> None:
    (first,) = fingerprints(*failed("adcp.x", "a"))
    other = failed("adcp.x", "a", message="in other words", exchange=9, pointer="/x", received="else")
    assert fingerprints(*other) == [first]
    assert fingerprints(*failed("adcp.x", "a@2")) == [first]
    assert fingerprints(found("adcp.x", Outcome.ADVISORY, "a")) == [first]


def test_findings_have_identities_of_their_own() -> None:
    every = [*failed("adcp.x", "a", "b", "a"), *failed("adcp.y", "a")]
    assert len(set(fingerprints(*every))) == 4
    assert fingerprints(*every) == fingerprints(*every)


def test_each_target_is_a_run_of_its_own_category() -> None:
    one, two = target(failed()), replace(target(failed()), name="Other / seller <x>")
    document = log(report(one, two), report(one), report(target(failed(), name="", url="")))
    assert [each["automationDetails"]["id"] for each in document["runs"]] == [
        "pytest-adcp/seller.test/",
        "pytest-adcp/Other-seller-x/",
        "pytest-adcp/seller.test/2/",
        "pytest-adcp/core/",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_makes_no_link_and_no_markup(text: str) -> None:
    document = log(spoiled(everything(), text))
    for each in document["runs"]:
        for result in each["results"]:
            assert "](" not in result["message"]["text"]
        for rule in each["tool"]["driver"]["rules"]:
            blocks = MarkdownIt("gfm-like").parse(rule["help"]["markdown"])
            tokens = [token for block in blocks for token in (block, *(block.children or ()))]
            assert not {token.type for token in tokens} & {"html_block", "html_inline", "image"}
            assert links(rule["help"]["markdown"]) == [SPEC]


def test_what_a_baseline_knows_is_suppressed() -> None:
    known = replace(failed()[0], outcome=Outcome.KNOWN, reason="ticket 7")
    (result,) = run(report(target([known])))["results"]
    assert result["level"] == "note"
    assert result["suppressions"] == [{"kind": "external", "justification": "ticket 7"}]
    assert "baselineState" not in result


def test_what_is_new_is_told_from_what_is_not() -> None:
    made = run(report(alarmed()))
    states = {result["ruleId"]: result.get("baselineState") for result in made["results"]}
    assert states == {"adcp.a": "unchanged", "adcp.b": "new", "adcp.c": "unchanged"}
    assert made["properties"]["alarm"].startswith("ALARM: 1 of 3 failures counted: ")
    (problem,) = made["properties"]["baseline"]
    assert problem.startswith("known.yaml, line 4: adcp.z on x is stale")


def test_what_github_does_not_take_is_left_out_the_weakest_first(monkeypatch) -> None:
    assert sarif.RESULTS == 25_000
    monkeypatch.setattr(sarif, "RESULTS", 30)
    findings = [found(f"adcp.{n % 9}", Outcome.BLOCKED, str(n)) for n in range(30)] + failed("adcp.x")
    results = run(report(target(findings)))["results"]
    assert len(results) == 30
    assert results[0]["ruleId"] == "adcp.x"
