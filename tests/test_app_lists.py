"""Whole tool lists of the kinds that servers have, each with all that the rules say of its names, grain, hints and definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from apps import app, tool
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import Outcome, judge

MODULES = [
    f"pytest_adcp.suites.connected_apps.{name}"
    for name in ("names", "granularity", "annotations", "revisions")
]
LISTS: Mapping[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "data" / "apps" / "lists.yaml").read_text("utf-8")
)
HINTS = {"r": "readOnlyHint", "d": "destructiveHint", "o": "openWorldHint"}


def _tool(name: str, hints: str, members: Mapping[str, Any] | None = None) -> dict[str, Any]:
    annotations = {HINTS[letter.lower()]: letter.isupper() for letter in hints}
    return tool(name, **{"annotations": annotations or None, **(members or {})})


def _places(names: Sequence[str]) -> str:
    """Return the end of a message that names these places."""
    return f": {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "") + " ("


@pytest.mark.parametrize("name", LISTS)
def test_list_has_exactly_these_findings(name: str) -> None:
    evidence = app(*(_tool(*each) for each in LISTS[name]["tools"]))
    findings = [judge(rule, entry) for rule in load(MODULES) for entry in evidence.of(rule)]
    for outcome, expected in (
        (Outcome.FAILED, LISTS[name].get("fails", {})),
        (Outcome.ADVISORY, LISTS[name].get("advises", {})),
    ):
        found = {f.rule.removeprefix("connected-apps."): f for f in findings if f.outcome is outcome}
        assert found.keys() == expected.keys()
        for rule, places in expected.items():
            assert _places(places) in found[rule].message.replace('"', "")
    assert not any(finding.outcome is Outcome.BLOCKED for finding in findings)
