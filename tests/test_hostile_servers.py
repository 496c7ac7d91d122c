"""Servers that turn on whoever tries their transport, or on everybody after a while, as a user meets them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conduct import conduct
from hostile import everything, silence
from hostile_runs import Bounded, bounded, harmless
from hostile_servers import (
    HTTP_2,
    after,
    decorated,
    every_second_closed,
    hostile_to_listeners,
    hostile_to_probes,
    new_session_every_time,
    silent_calls,
    slow,
)
from scripted import Hook, scripted

__all__ = ["bounded"]

GOOD = conduct(lambda _: None)


@dataclass(frozen=True)
class Case:
    """A server, and how a run on it ends: with this exit code, these words, and these MUST rules failed."""

    hook: Hook
    code: int
    says: tuple[str, ...]
    failed: tuple[str, ...] = ()
    passed: int = 0  # checks at least
    blocked: tuple[str, ...] = ()  # rules, beside others


CASES = {
    "hostile to probes": Case(
        conduct(hostile_to_probes),
        1,
        ("no response headers after", "no end of the body after", "no response after"),
        failed=("mcp.http.session-ended",),
        passed=800,
        blocked=("mcp.http.accepted", "mcp.http.origin", "mcp.jsonrpc.batch", "mcp.jsonrpc.malformed"),
    ),
    "hostile to listeners": Case(conduct(hostile_to_listeners), 0, ("conformant:",), passed=800),
    "every second request closed": Case(
        conduct(every_second_closed()),
        6,
        ("the connection was reset before any byte of a response",),
        passed=200,
    ),
    "silent after 20 requests": Case(
        conduct(after(20, silence)),
        6,
        (
            "the survey ended early: 5 exchanges in a row ended the same way, where calls had passed before: no answer in time",
        ),
        passed=200,
    ),
    "silent to every call": Case(
        conduct(silent_calls),
        6,
        ("5 exchanges in a row ended the same way, and no call had passed before: no answer in time",),
        passed=50,
    ),
    "slow": Case(slow(0.15, GOOD), 0, ("conformant:",), passed=800),
    "another session with every answer": Case(
        new_session_every_time(),
        1,
        ("nonconformant",),
        failed=(
            "mcp.http.session-ended",
            "mcp.http.origin",
            "mcp.lifecycle.version-header",
            "mcp.jsonrpc.malformed",
        ),
        passed=800,
    ),
    "cookies and early hints around everything": Case(decorated(GOOD), 0, ("conformant:",), passed=800),
    "HTTP/2 in place of everything": Case(everything(HTTP_2), 6, ("not HTTP/1.1 but HTTP/2",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_server_that_turns_hostile(case: Case, bounded: Bounded, tmp_path: Path) -> None:
    with scripted(case.hook) as seller:
        done = bounded(seller.url, survey=20.0)
    assert done.code == case.code, done.out
    shown = " ".join(done.out.split()) + json.dumps(done.report)
    assert [words for words in case.says if words not in shown] == []
    assert with_outcome(done.target, "failed") == set(case.failed)
    assert with_outcome(done.target, "blocked") >= set(case.blocked)
    assert not case.passed or done.target["counts"]["passed"] > case.passed
    assert case.code == 6 or done.target["complete"], done.target["reasons"]
    harmless(tmp_path, done)


def with_outcome(target: dict[str, Any], outcome: str) -> set[str]:
    return {f["rule"] for f in target["findings"] if f["outcome"] == outcome}
