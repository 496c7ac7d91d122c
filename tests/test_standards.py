"""The limits and word lists of the connected-apps profile, and what adcp.yaml changes in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pytest_adcp import harness
from pytest_adcp.harness.options import build
from pytest_adcp.harness.standards import changed, packaged

FOLDER = Path(harness.__file__).parent
LISTED: dict[str, Any] = yaml.safe_load((FOLDER / "standards.yaml").read_text("utf-8"))


def test_file_is_what_its_schema_says() -> None:
    schema = json.loads((FOLDER / "standards.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(LISTED)


def test_every_pattern_is_one_and_every_list_is_used() -> None:
    suites = "".join(path.read_text("utf-8") for path in (FOLDER.parent / "suites").rglob("*.py"))
    for name, entry in LISTED["words"].items():
        assert f'"{name}"' in suites, name
        if entry.get("patterns"):
            assert all(re.compile(pattern) for pattern in entry["value"])
    for name in LISTED["limits"]:
        assert f'"{name}"' in suites, name


def test_changes() -> None:
    found = changed({"tools": 40}, {"internal_names": {"add": ["Canary"], "remove": ["setup"]}})
    assert found.limit("tools") == 40
    assert found.whose("tools") == "the limit in adcp.yaml"
    assert found.whose("view_mb") == "the platform's limit"
    assert packaged().whose("tools") == "this harness's limit"
    assert {"canary", "debug"} <= found.among("internal_names")
    assert "setup" not in found.among("internal_names")
    assert "setup" in packaged().among("internal_names")
    assert changed({}, {"internal_names": ["only"]}).among("internal_names") == {"only"}
    assert changed({}, {"ordering_phrases": []}).any_of("ordering_phrases").search("call a before b") is None


@pytest.mark.parametrize(
    ("limits", "words", "said"),
    [
        ({"tool": 1}, {}, 'unknown limit "tool"; did you mean "tools"?'),
        ({}, {"internal_name": []}, 'did you mean "internal_names"?'),
        ({}, {"internal_names": {"remove": ["setups"]}}, 'did you mean "setup"?'),
        ({}, {"ordering_phrases": {"add": ["(call"]}}, "is no regular expression"),
    ],
)
def test_a_wrong_change_names_the_nearest_choice(limits: Any, words: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        changed(limits, words)


@pytest.mark.parametrize("value", ["-1", "1.5", "many", "99999999999999999999"])
def test_a_limit_that_is_no_number_is_told_its_bounds(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.chdir(pytester.path)
    text = f"server_url: demo\nconnected_apps:\n  limits: {{tools: {value}}}\n"
    pytester.path.joinpath("adcp.yaml").write_text(text)
    config = pytester.parseconfig("--adcp-config=adcp.yaml", "--adcp-profile=connected-apps")
    with pytest.raises(pytest.UsageError, match="must be a whole number from 0 to 1000000000000, not "):
        build(config)


def test_a_wrong_change_in_a_file_is_told_with_its_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytester.path)
    pytester.path.joinpath("adcp.yaml").write_text("server_url: demo\nconnected_apps:\n  limits: {tool: 3}\n")
    config = pytester.parseconfig("--adcp-config=adcp.yaml", "--adcp-profile=connected-apps")
    with pytest.raises(pytest.UsageError, match=r"adcp\.yaml, line 3, connected_apps\.limits: unknown limit"):
        build(config)
