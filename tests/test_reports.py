"""report.json: what is written and what is read back."""

from __future__ import annotations

import json
import random
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import told_reports
from evidence import surveyed, tool_result
from pytest_adcp.harness import text
from pytest_adcp.harness.baseline import State
from pytest_adcp.harness.calls import Expect, NotCalled, PlannedCall, Purpose
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.extraction import Path as Found
from pytest_adcp.harness.rules import Broken, Level
from pytest_adcp.harness.transcript import Transcript
from pytest_adcp.harness.verdict import Finding, Outcome, Verdict, conclude
from pytest_adcp.reports import model, terminal
from pytest_adcp.reports.build import TargetFacts, build
from pytest_adcp.reports.model import Schemas, TranscriptFile, dumps, loads
from pytest_adcp.reports.records import ReportError
from reported import (
    ERROR,
    HOSTILE,
    NOW,
    RULES,
    SUCCESS,
    facts,
    hostile_server,
    judged,
    report,
    report_of,
    unusable,
    with_calls,
    with_survey,
)

VARIANTS = {
    "passed": lambda: report(tool_result(SUCCESS), schemas=Schemas("adcp 9.2.0", "3.1.19")),
    "failed": lambda: report(tool_result({"structuredContent": {"products": [{}]}})),
    "an error": lambda: report(tool_result(ERROR), transcript=TranscriptFile("transcript.jsonl", "a1" * 32)),
    "cut short": lambda: report(with_survey(tool_result(SUCCESS), complete=False), gaps=["it was late"]),
    "partial": lambda: report(tool_result(SUCCESS), selection=["-k errors"]),
    "no call": lambda: report(surveyed()),
    "stateless": lambda: report(tool_result(SUCCESS, revision="2026-07-28", release=None)),
    "unusable": lambda: report(unusable(), findings=[]),
    "client": lambda: report_of(TargetFacts(None, RULES, [], conclude([], gaps=["no vector"]), ["client"])),
    "two": lambda: report_of(facts(tool_result(SUCCESS)), facts(tool_result(ERROR))),
    "hostile": lambda: report(hostile_server()),
    "alarmed": lambda: told_reports.report(told_reports.alarmed()),
}


# -- the schema -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_report_matches_the_schema_and_comes_back_the_same(variant: str) -> None:
    made = VARIANTS[variant]()
    written = dumps(made)
    jsonschema.Draft202012Validator(model.schema()).validate(json.loads(written))
    assert loads(written) == made
    assert loads(written.encode()) == made


def members(schema: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, member in schema.get("properties", {}).items():
        yield f"{place}/{name}", member
        yield from members(member, f"{place}/{name}")
    for name, definition in schema.get("$defs", {}).items():
        yield f"#{name}", definition
        yield from members(definition, f"#{name}")


# Members that reports of before do not have.
OPTIONAL = {"#target": {"baseline", "comparison", "alarm"}, "#finding": {"reason"}}


def test_the_schema_describes_every_member_in_a_sentence() -> None:
    schema = model.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    described = dict(members(schema))
    assert len(described) > 80
    for place, member in described.items():
        assert member["description"].endswith("."), place
        assert member.get("additionalProperties", True) is True, place


@pytest.mark.parametrize(
    ("place", "record"),
    [
        ("", model.Report),
        ("/harness", model.Harness),
        ("#target", model.Target),
        ("#target/server", model.Server),
        ("#target/schemas", model.Schemas),
        ("#target/transcript", model.TranscriptFile),
        ("#target/survey", model.SurveyCost),
        ("#target/diagnosis", model.Diagnosis),
        ("#target/selection", model.Selected),
        ("#baseline", model.Baseline),
        ("#baseline_entry", model.BaselineEntry),
        ("#comparison", model.Comparison),
        ("#alarm", model.Alarm),
        ("#change", model.Change),
        ("#finding", model.ReportedFinding),
        ("#not_checked", model.NotChecked),
        ("#call", model.Call),
        ("#observation", model.Observation),
        ("#checklist_item", model.ChecklistItem),
    ],
)
def test_the_schema_has_the_members_of_the_model(place: str, record: type) -> None:
    schema = {"": model.schema()} | dict(members(model.schema()))
    names = {field.name for field in fields(record)}
    assert set(schema[place]["properties"]) == names
    assert set(schema[place]["required"]) == names - OPTIONAL.get(place, set())


@pytest.mark.parametrize(
    ("place", "values"),
    [
        ("#finding/level", Level),
        ("#finding/strength", Level),
        ("#finding/outcome", Outcome),
        ("#target/verdict", Verdict),
        ("#comparison/verdict", Verdict),
        ("#change/level", Level),
        ("#change/before", [*Outcome, None]),
        ("#change/now", [*Outcome, None]),
        ("#baseline_entry/state", State),
        ("#call/purpose", Purpose),
        ("#call/expect", Expect),
        ("#call/classified", [*Class, None]),
        ("#call/path", [*Found, None]),
    ],
)
def test_the_schema_has_the_values_of_the_code(place: str, values: Any) -> None:
    assert set(dict(members(model.schema()))[place]["enum"]) == {value and str(value) for value in values}


# -- reading --------------------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> str:
    """Return a report with one member replaced, taken out where the value is ..."""
    document = json.loads(dumps(report(tool_result(SUCCESS))))
    place: Any = document
    *way, last = path.split("/")
    for token in way:
        place = place[int(token) if isinstance(place, list) else token]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


NO_REPORTS: dict[str, tuple[str | bytes, str]] = {
    "no utf-8": (b"\xff\xfe{}", "not UTF-8 at byte 0"),
    "empty": (b"", "line 1: not JSON"),
    "cut short": ('{\n  "schema_version": "1",\n', "line 3: not JSON"),
    "deep": ("[" * 200_000, "not JSON that can be read"),
    "nan": ('{"schema_version": NaN}', "NaN is no JSON"),
    "twice": ('{"a": {"verdict": 1, "verdict": 2}}', 'the member "verdict" stands twice in an object'),
    "list": ("[]", "not a pytest-adcp report"),
    "foreign": ('{"verdict": "conformant"}', "not a pytest-adcp report"),
    "newer": ('{"schema_version": "2"}', 'this release reads schema_version "1", not "2"'),
    "number": ('{"schema_version": 1}', 'this release reads schema_version "1", not 1'),
    "member": (changed("harness", ...), "the document: 'harness' is a required property"),
    "verdict": (changed("targets/0/verdict", ...), "/targets/0: 'verdict' is a required property"),
    "value": (changed("targets/0/verdict", "green"), '/targets/0/verdict: "green" does not fit enum: ["conf'),
    "minimum": (
        changed("targets/0/findings/0/exchange", -1),
        "/findings/0/exchange: -1 does not fit minimum: 0",
    ),
    "type": (changed("targets/0/survey/seconds", "2"), '/survey/seconds: "2" does not fit type: "number"'),
    "long": (changed("targets", "x" * 100_000), '/targets: "xxx'),
    "nested": (changed("targets/0/name", deep(400)), "/targets/0/name: [[["),
}


@pytest.mark.parametrize(("written", "problem"), NO_REPORTS.values(), ids=NO_REPORTS)
def test_what_is_no_report_is_named(written: str | bytes, problem: str) -> None:
    with pytest.raises(ReportError) as raised:
        loads(written, "old/report.json")
    assert str(raised.value).startswith("old/report.json")
    assert problem in str(raised.value)
    assert len(str(raised.value)) < 600


def test_no_depth_of_nesting_is_a_fault_of_the_harness() -> None:
    # Some depth lies between what the JSON parser takes and what can be shown of it.
    template = changed("targets/0/name", "@")
    for levels in range(800, 1000, 3):
        with pytest.raises(ReportError):
            loads(template.replace('"@"', "[" * levels + "]" * levels))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none\.json: No such file"):
        model.load(tmp_path / "none.json")


def test_members_of_later_releases_are_left_out() -> None:
    made = report(tool_result(SUCCESS))
    document = json.loads(dumps(made))
    document["later"] = {"a": 1}
    document["targets"][0]["later"] = [1]
    document["targets"][0]["findings"][0]["later"] = None
    assert loads(json.dumps(document)) == made


# -- writing --------------------------------------------------------------------------------------------------


def test_saved_readable_for_all_and_nothing_left_beside_it(tmp_path: Path) -> None:
    made = report(tool_result(SUCCESS))
    file = tmp_path / "new" / "folder" / "report.json"
    model.save(made, file)
    model.save(made, file)
    assert model.load(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    made = report(tool_result(SUCCESS))
    model.save(made, file)
    with pytest.raises(ValueError, match="not JSON compliant"):
        model.save(replace(made, settings={"rate": float("inf")}), file)
    assert model.load(file) == made
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_settings_become_plain_json() -> None:
    made = report_of(settings={"ca": Path("ca.pem"), "limits": (1, 2), "odd": "\udc80"})
    assert made.settings == {"ca": "ca.pem", "limits": [1, 2], "odd": "\ufffd"}
    assert loads(dumps(made)) == made


def test_lone_surrogates_never_reach_the_file() -> None:
    made = replace(report(tool_result(SUCCESS)), generated_at="\udfff")
    assert dumps(made).encode("utf-8").decode("utf-8").count("\ufffd") == 1


def test_the_same_run_gives_the_same_text_whatever_the_order_of_findings() -> None:
    evidence = with_calls(tool_result(SUCCESS), *({"subject": f"get_products/{n}"} for n in range(9)))
    calls = tuple(PlannedCall("get_products", str(n), {}, Purpose.GOOD) for n in range(9))
    evidence = with_survey(evidence, calls=(*evidence.transcript.survey.calls, *calls))
    first = facts(evidence)
    shuffled = list(first.findings)
    random.Random(7).shuffle(shuffled)
    assert shuffled != list(first.findings)
    assert dumps(report_of(replace(first, findings=shuffled))) == dumps(report_of(first))


def test_findings_follow_the_rules_and_then_the_subjects() -> None:
    evidence = with_calls(tool_result(SUCCESS), {"subject": "get_products/a"})
    call = PlannedCall("get_products", "a", {}, Purpose.GOOD)
    evidence = with_survey(evidence, calls=(*evidence.transcript.survey.calls, call))
    extra = Finding("unheard.of", Level.SHOULD, Outcome.PASSED, "x")
    (target,) = report(evidence, findings=[extra, *reversed(judged(evidence))]).targets
    assert [(finding.rule, finding.subject) for finding in target.findings] == [
        ("z.first", "get_products/a"),
        ("z.first", "get_products/brief"),
        ("b.second", "get_products/a"),
        ("b.second", "get_products/brief"),
        ("a.third", "-"),
        ("unheard.of", "x"),
    ]
    assert target.counts == dict.fromkeys(Outcome, 0) | {"passed": 5, "blocked": 1}


def test_strength_is_the_level_of_the_source() -> None:
    def lenient(success: Any) -> None:
        raise Broken("a", "b", lenient="two texts disagree")

    rule = replace(RULES[0], function=lenient)
    evidence = tool_result(SUCCESS)
    (target,) = report(evidence, rules=[rule], findings=judged(evidence, [rule])).targets
    (finding,) = target.findings
    assert (finding.level, finding.strength, finding.outcome) == (Level.SHOULD, Level.MUST, Outcome.ADVISORY)


def test_a_replay_differs_in_date_and_settings_only(tmp_path: Path) -> None:
    live = with_survey(tool_result(ERROR), not_called=(NotCalled("a", "b"),), seconds=1.23456)
    digest = live.transcript.save(tmp_path / "transcript.jsonl")
    replayed = Evidence(Transcript.load(tmp_path / "transcript.jsonl"), spec="3.1")
    kept = TranscriptFile("transcript.jsonl", digest)
    first = build([facts(live, transcript=kept)], settings={"replay": None}, generated_at=NOW)
    then = NOW + timedelta(days=1)
    again = build([facts(replayed, transcript=kept)], settings={"replay": "t"}, generated_at=then)
    assert again != first
    assert replace(again, generated_at=first.generated_at, settings=first.settings) == first


def test_the_date_is_utc() -> None:
    made = build(
        [], settings={}, generated_at=NOW.astimezone(timezone(timedelta(hours=5))), rules_version="7"
    )
    assert made.generated_at == "2026-11-29T12:00:00+00:00"
    assert (made.harness.name, made.harness.rules_version) == ("pytest-adcp", "7")


# -- hostile servers ------------------------------------------------------------------------------------------


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def test_a_hostile_server_gives_a_bounded_report_of_visible_characters() -> None:
    evil = Finding("z.first", Level.MUST, Outcome.PASSED, HOSTILE)
    made = report(hostile_server(), findings=[evil])
    written = dumps(made)
    assert len(written.encode("utf-8")) < 60_000
    found = list(strings(json.loads(written)))
    assert any("\\x1b]0;owned" in string for string in found)
    for string in found:
        assert text.safe(string, 10_000) == string
    assert len(made.targets[0].not_checked) == 1


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_a_foreign_report_is_harmless_on_a_terminal(verbosity: int) -> None:
    document = json.loads(dumps(report(tool_result({"structuredContent": {"products": [{}]}}))))
    spoil(document["targets"])
    lines = terminal.summary(loads(json.dumps(document)), width=80, verbosity=verbosity)
    assert len(lines) > 1
    assert sum(len(line) for line, _ in lines) < 100_000
    for line, _ in lines:
        assert text.safe(line, 20_000) == line


def spoil(value: Any) -> None:
    """Replace every string that no enum holds back."""
    kept = {"level", "outcome", "verdict", "strength", "purpose", "expect", "classified", "path", "sha256"}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        if isinstance(item, dict | list):
            spoil(item)
        elif isinstance(item, str) and key not in kept:
            value[key] = HOSTILE + "x" * 200_000


def test_reports_need_no_pytest() -> None:
    code = (
        "import sys, pytest_adcp.reports.build, pytest_adcp.reports.terminal\n"
        "print([name for name in ('pytest', '_pytest', 'jsonschema', 'httpx', 'mcp') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
