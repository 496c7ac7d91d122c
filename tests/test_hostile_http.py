"""A server of which single tools mean harm: each is found out by name, and all others are judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conduct import conduct
from hostile import redirect_to
from hostile_http import BROKEN, ELSEWHERE, READ, REDIRECTED, SLOW, Answer
from hostile_runs import Bounded, bounded, harmless
from pytest_adcp.harness.tasks import catalogue
from rawserver import Peer, serve
from runs import Run
from scripted import TOOLS, Call, Raw, Reply, echoed, failure, scripted

__all__ = ["bounded"]

_READS = [name for name, task in catalogue().items() if not task.mutating and name not in TOOLS]
_NAMES = [*BROKEN]
GROUPS = {
    "slow": SLOW,
    "broken": {name: BROKEN[name] for name in _NAMES[::2]},
    "broken_too": {name: BROKEN[name] for name in _NAMES[1::2]},
}


def seller_of(
    answers: Mapping[str, Answer],
) -> tuple[Callable[[Call], Raw | Reply | None], dict[str, str], list[str]]:
    """Return a hook, the kind of each hostile tool, and all tools: every second one refuses what it is asked, as it may."""
    hostile = dict(zip(_READS[1::2], answers, strict=False))
    assert len(hostile) == len(answers)
    polite = _READS[: 2 * len(answers) : 2]

    def hook(call: Call) -> Raw | Reply | None:
        if call.tool in hostile:
            return answers[hostile[call.tool]].make(call)
        if call.tool in polite and call.arguments.get("adcp_major_version", 3) == 3:
            return Reply(result=echoed(failure("REFERENCE_NOT_FOUND", recovery="correctable"), call))
        return None

    return conduct(hook), hostile, [*TOOLS, *polite, *hostile]


def findings(done: Run) -> dict[str, list[dict[str, Any]]]:
    """Return what the report says of the calls of each tool."""
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in done.target["findings"]:
        found.setdefault(str(finding["subject"]).partition("/")[0], []).append(finding)
    return found


def passed(found: list[dict[str, Any]]) -> set[str]:
    return {finding["rule"] for finding in found if finding["outcome"] == "passed"}


@pytest.mark.parametrize("answers", GROUPS.values(), ids=list(GROUPS))
def test_tools_that_mean_harm(answers: Mapping[str, Answer], bounded: Bounded, tmp_path: Path) -> None:
    with serve(Peer.until_closed) as other:
        elsewhere = redirect_to(f"http://127.0.0.1:{other.port}/mcp")
        answers = {
            **answers,
            **({ELSEWHERE: Answer(lambda _: elsewhere, REDIRECTED)} if ELSEWHERE in answers else {}),
        }
        hook, hostile, tools = seller_of(answers)
        with scripted(hook, tools=tools) as seller:
            done = bounded(seller.url)
    # A redirect that nobody follows fails a rule; what gives no verdict is blocked.
    redirected = any("redirect" in kind for kind in answers)
    assert done.code == (1 if redirected else 6), done.out
    said = {tool: json.dumps(found) for tool, found in findings(done).items()}
    missing = {
        kind: said.get(tool, "")[:300]
        for tool, kind in hostile.items()
        if answers[kind].says not in said.get(tool, "")
    }
    assert not missing, missing
    assert done.target["complete"], done.target["reasons"]
    assert done.target["counts"]["passed"] > 500
    judged = {
        tool
        for tool, found in findings(done).items()
        if any(rule.startswith("adcp.") for rule in passed(found))
    }
    assert judged >= {*TOOLS, *(tool for tool in tools if tool not in hostile)}
    assert other.connections == 0
    harmless(tmp_path, done)


def test_what_is_odd_and_legal_is_read(bounded: Bounded, tmp_path: Path) -> None:
    hook, hostile, tools = seller_of(READ)
    with scripted(hook, tools=tools) as seller:
        done = bounded(seller.url)
    assert done.code == 0, done.out
    for tool, kind in hostile.items():
        assert {"mcp.jsonrpc.answered", "mcp.jsonrpc.id", "mcp.http.content-type"} <= passed(
            findings(done)[tool]
        ), kind
    harmless(tmp_path, done)
