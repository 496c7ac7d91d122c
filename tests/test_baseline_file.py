"""The file of a baseline: what is said about a bad one, and what writing keeps, adds and drops."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pytest_adcp.harness import baseline_file
from pytest_adcp.harness.baseline import PLACEHOLDER, Baseline, BaselineEntry
from pytest_adcp.harness.baseline_file import RULES_VERSION, SCHEMA_FILE, read_baseline, write_baseline
from pytest_adcp.harness.config import ConfigError
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import safe
from pytest_adcp.harness.verdict import Finding, Outcome

RULES = {"adcp.errors.flagged", "adcp.envelope.status", "mcp.tools.name"}
TODAY = date(2026, 11, 30)
GOOD = """\
rules_version: 0.1.0
known:
  adcp.envelope.status:
    "*":
      reason: ticket 7
  adcp.errors.flagged:
    get_products/x: {reason: "of the old gateway", expires: 2027-01-31}
    get_products/*: {reason: ticket 8}
"""
HEAD = "rules_version: 0.1.0\nknown:\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str) -> Baseline:
    path = Path.cwd() / "b.yaml"
    path.write_text(text, "utf-8")
    return read_baseline(path, RULES)


def test_what_is_read() -> None:
    assert read(GOOD) == Baseline(
        Path.cwd() / "b.yaml",
        "0.1.0",
        (
            BaselineEntry("adcp.envelope.status", "*", "ticket 7", None, 4),
            BaselineEntry(
                "adcp.errors.flagged", "get_products/x", "of the old gateway", date(2027, 1, 31), 7
            ),
            BaselineEntry("adcp.errors.flagged", "get_products/*", "ticket 8", None, 8),
        ),
    )
    assert read("rules_version: 0.1.0\nknown:\n").entries == ()
    assert read("rules_version: 0.1.0\nknown: {}\n").entries == ()


# fmt: off
WRONG = [
    ("", 'b.yaml, line 1: the key "rules_version" and "known" is missing'),
    ("known: {}", 'b.yaml, line 1: the key "rules_version" is missing'),
    ("- a", "b.yaml, line 1: must be a mapping of keys to values, not a list"),
    ("rules_version: 0.1\nknown: {}", "b.yaml, line 1, rules_version: must be a version of pytest-adcp, such as 0.1.0, not a number"),
    ("rules_version: newest\nknown: {}",
     'b.yaml, line 1, rules_version: must be a version of pytest-adcp, such as 0.1.0, not "newest"'),
    ("rules_version: 0.1.0\nknwon: {}", 'b.yaml, line 1: the key "known" is missing'),
    ("rules_version: 0.1.0\nstrict: true\nknown: {}", "b.yaml, line 2, strict: unknown key; known here: rules_version, known"),
    (HEAD + "  adcp.error.flagged:\n    x: {reason: y}",
     'b.yaml, line 3, known."adcp.error.flagged": there is no such rule; did you mean adcp.errors.flagged?'),
    (HEAD + "  zzz:\n    x: {reason: y}", "b.yaml, line 3, known.zzz: there is no such rule (--adcp-rules lists them all)"),
    (HEAD + "  mcp.tools.name:\n", 'b.yaml, line 3, known."mcp.tools.name": must be a mapping of subjects to entries, not empty'),
    (HEAD + "  mcp.tools.name: {x: because}",
     'b.yaml, line 3, known."mcp.tools.name".x: must be a mapping with reason, and with expires where it has to end, not text'),
    (HEAD + "  mcp.tools.name:\n    x: {}", 'b.yaml, line 4, known."mcp.tools.name".x: the key "reason" is missing'),
    (HEAD + "  mcp.tools.name:\n    x: {raeson: y}",
     'b.yaml, line 4, known."mcp.tools.name".x.raeson: unknown key; did you mean "reason"?'),
    (HEAD + "  mcp.tools.name:\n    x:\n      reason: ' '",
     'b.yaml, line 5, known."mcp.tools.name".x.reason: must be a text that says why the failure is known, not " "'),
    (HEAD + "  mcp.tools.name:\n    x: {reason: y, expires: tomorrow}",
     'b.yaml, line 4, known."mcp.tools.name".x.expires: must be a date, such as 2027-01-31, not "tomorrow"'),
    (HEAD + "  mcp.tools.name:\n    x: {reason: y, expires: 2027-02-30}",
     'b.yaml, line 4, known."mcp.tools.name".x.expires: "2027-02-30" is no day of the calendar'),
    (HEAD + "  mcp.tools.name:\n    x: {reason: y}\n    x: {reason: z}",
     'b.yaml, line 5, known."mcp.tools.name".x: the key is given twice, first in line 4'),
]
# fmt: on


@pytest.mark.parametrize(("text", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value) == words


def test_the_schema_is_one() -> None:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$defs"]["entry"]["required"] == ["reason"]


# -- writing --------------------------------------------------------------------------------------------------


def failed(rule: str, subject: str, message: str = "it is wrong") -> Finding:
    return Finding(rule, Level.MUST, Outcome.FAILED, subject, message)


def write(*findings: Finding, whole: bool = True, old: Baseline | None = None) -> str:
    path = Path.cwd() / "b.yaml"
    reviewed = old.review(findings, whole=whole, left_out=(), today=TODAY) if old else []
    write_baseline(path, old, reviewed, findings, whole=whole)
    return path.read_text("utf-8")


def test_the_first_one_is_sorted_and_commented() -> None:
    text = write(
        failed("mcp.tools.name", "-", "the name\\nhas a line break"),
        failed("adcp.errors.flagged", "get_products/x@2", "m" * 300),
        failed("adcp.errors.flagged", "get_products/x", "m" * 300),
        failed("adcp.errors.flagged", "a*b"),
        Finding("adcp.envelope.status", Level.MUST, Outcome.PASSED, "get_products/x"),
    )
    head, _, rest = text.partition("rules_version")
    assert all(line.startswith("# ") for line in head.splitlines())
    assert f"rules_version{rest}" == (
        f'rules_version: "{RULES_VERSION}"\n'
        "known:\n"
        "  adcp.errors.flagged:\n"
        "    # MUST: it is wrong\n"
        '    "a[*]b":\n'
        f'      reason: "{PLACEHOLDER}"\n'
        f"    # MUST: {'m' * 200}… (100 more)\n"
        "    get_products/x:\n"
        f'      reason: "{PLACEHOLDER}"\n'
        "  mcp.tools.name:\n"
        "    # MUST: the name\\nhas a line break\n"
        '    "-":\n'
        f'      reason: "{PLACEHOLDER}"\n'
    )
    assert [entry.subject for entry in read(text).entries] == ["a[*]b", "get_products/x", "-"]


def test_nothing_failed_is_a_baseline_too() -> None:
    assert read(write()).entries == ()


def test_entries_stay_as_they_are_stale_ones_go_and_new_ones_are_narrow() -> None:
    old = read(GOOD)
    findings = [
        failed("adcp.errors.flagged", "get_products/y"),
        failed("adcp.errors.flagged", "list_accounts/z"),
        Finding("adcp.envelope.status", Level.MUST, Outcome.PASSED, "get_products/y"),
    ]
    made = read(write(*findings, old=old))
    assert [(e.rule, e.subject, e.reason, e.expires) for e in made.entries] == [
        ("adcp.errors.flagged", "get_products/*", "ticket 8", None),
        ("adcp.errors.flagged", "list_accounts/z", PLACEHOLDER, None),
    ]


def test_an_expired_entry_is_not_prolonged() -> None:
    old = read(HEAD + "  mcp.tools.name:\n    get_*: {reason: r, expires: 2020-01-01}\n")
    made = read(write(failed("mcp.tools.name", "get_products"), old=old))
    assert [(e.subject, e.expires) for e in made.entries] == [("get_*", date(2020, 1, 1))]


def test_a_run_of_a_part_drops_nothing_and_knows_no_new_rules() -> None:
    old = read(GOOD.replace("0.1.0", "0.0.9"))
    made = read(write(failed("mcp.tools.name", "x"), old=old, whole=False))
    assert made.rules_version == "0.0.9"
    assert len(made.entries) == 4
    assert read(write(failed("mcp.tools.name", "x"), old=old)).rules_version == RULES_VERSION


def test_writing_again_changes_nothing() -> None:
    findings = [failed("mcp.tools.name", "x"), failed("adcp.errors.flagged", "y z: #")]
    first = write(*findings)
    assert write(*findings, old=read(first)) == first


def test_mode_and_links_stay(folder: Path) -> None:
    (folder / "real.yaml").write_text(GOOD)
    (folder / "real.yaml").chmod(0o640)
    (folder / "b.yaml").symlink_to("real.yaml")
    write(failed("mcp.tools.name", "x"), old=read_baseline(folder / "b.yaml", RULES))
    assert (folder / "b.yaml").is_symlink()
    assert (folder / "real.yaml").stat().st_mode & 0o777 == 0o640
    assert "mcp.tools.name" in (folder / "real.yaml").read_text()


def test_what_could_not_be_read_again_is_not_written(folder: Path) -> None:
    old = read(GOOD)
    many = [failed("mcp.tools.name", f"tool/{n}-{'x' * 150}") for n in range(6000)]
    with pytest.raises(ConfigError, match=r"b\.yaml: too much for a baseline \(600\d failures, "):
        write(*many, old=old)
    assert (folder / "b.yaml").read_text() == GOOD
    assert [path.name for path in folder.iterdir()] == ["b.yaml"]


def test_an_error_leaves_the_file_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = read(GOOD)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(baseline_file, "replace_file", full)
    with pytest.raises(OSError, match="No space"):
        write(failed("mcp.tools.name", "x"), old=old)
    assert (folder / "b.yaml").read_text() == GOOD


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@given(st.lists(st.tuples(st.sampled_from(sorted(RULES)), TEXT, TEXT), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_whatever_a_server_says_comes_back(given: list[tuple[str, str, str]]) -> None:
    findings = [failed(rule, safe(subject), safe(message)) for rule, subject, message in given]
    made = read(write(*findings))
    for finding in findings:
        assert made.covering(finding)
    # ... and a reason of the user's own too.
    own = Baseline(
        made.path,
        made.rules_version,
        tuple(BaselineEntry(e.rule, e.subject, f"r{given[0][2]}") for e in made.entries),
    )
    assert {entry.reason for entry in read(write(*findings, old=own)).entries} == {
        entry.reason for entry in own.entries
    }
