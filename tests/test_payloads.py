"""Payloads that sellers send, judged by the published schemas of each release."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from bundle import RELEASES, WHY_SKIPPED, validators
from evidence import finding, tool_result
from pytest_adcp.harness.jsonvalues import resolve
from pytest_adcp.harness.seller.adcp import Agent
from pytest_adcp.harness.seller.faults.failures import GOOD_ARGUMENTS
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.verdict import Outcome

FILE = Path(__file__).parent / "data" / "payloads.yaml"
KEY = {"idempotency_key": "key-of-the-payload-tests"}


def cases() -> Iterator[Any]:
    for kind, listed in yaml.safe_load(FILE.read_text()).items():
        for case in listed:
            for release in case.get("releases", RELEASES):
                yield pytest.param(case, release, id=f"{kind}-{case['id']}-{release}".replace(" ", "_"))


@cache
def conforming(tool: str, release: str) -> dict[str, Any]:
    """Return what the reference seller answers to a good request."""
    agent = Agent(Release(release))
    result = agent.call(agent.tasks[tool], {**GOOD_ARGUMENTS[tool], **KEY})
    assert not result["isError"]
    payload: dict[str, Any] = result["structuredContent"]
    return payload


def payload_of(case: dict[str, Any], release: str) -> Any:
    if "payload" in case:
        return case["payload"]
    payload = copy.deepcopy(conforming(case["tool"], release))
    for place, value in [*case.get("set", {}).items(), *((place, ...) for place in case.get("remove", ()))]:
        parent, _, last = place.rpartition("/")
        holder = resolve(payload, parent)
        member = int(last) if isinstance(holder, list) else last
        if value is ...:
            holder.pop(member, None) if isinstance(holder, dict) else holder.pop(member)
        else:
            holder[member] = value
    return payload


@pytest.mark.parametrize(("case", "release"), list(cases()))
def test_payload(case: dict[str, Any], release: str) -> None:
    schemas = validators()
    if schemas is None:
        pytest.skip(WHY_SKIPPED)
    result = {"content": [], "structuredContent": payload_of(case, release)}
    evidence = tool_result(result, tool=case["tool"], release=release, schemas=schemas)
    found = finding(evidence, case.get("rule", "adcp.schema.response"))
    wrong = case.get("fails", case.get("warns"))
    if wrong is None:
        assert found.outcome is Outcome.PASSED, found
        return
    assert found.outcome is (Outcome.FAILED if "fails" in case else Outcome.ADVISORY)
    assert found.pointer == f"/result/structuredContent{wrong}"
    assert case.get("says", "") in " ".join((found.message, *found.further))
    assert "given schemas" not in found.message
    assert len(found.further) < 5  # one edit is no heap of findings
