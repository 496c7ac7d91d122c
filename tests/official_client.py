"""Stand-ins for the process of the official client, and surveys that ask it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence import Http, surveyed
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.interop import process
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import (
    ClientStep,
    Era,
    Exchange,
    Interop,
    Kind,
    Request,
    Response,
    Transcript,
)
from pytest_adcp.harness.verdict import Finding, judge

FAMILY = "pytest_adcp.suites.mcp.interop"
READY = "import json, os, sys, time; print(json.dumps({'version': '9.9'}), flush=True); job = sys.stdin.readline();"


def pretend(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a script be the official client."""
    argv = [sys.executable, "-c", script]
    monkeypatch.setattr(process, "command", lambda _: argv)


def interop_findings(transcript: Transcript) -> list[Finding]:
    """Judge the rules of the official client."""
    return findings_of(Evidence(transcript))


def findings_of(evidence: Evidence) -> list[Finding]:
    return [judge(rule, entry) for rule in load([FAMILY]) for entry in evidence.of(rule)]


def is_running(pid: int) -> bool:
    """Whether a process is there, and is more than the record of its end."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def read_by_client(
    step: ClientStep, *answers: Any, method: str = "tools/call", status: int = 200, **more: Any
) -> Evidence:
    """Return evidence in which the official client had these results (or whole responses, as Http) in one step."""
    evidence = surveyed(Http({"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}))
    exchanges = list(evidence.transcript.exchanges)
    connects = method in ("initialize", "server/discover")
    subject = f"interop/{step.era}/{method}" if connects else step.subject
    session = Session(Era.HANDSHAKE)
    for number, answer in enumerate(answers, start=1):
        came = (
            answer
            if isinstance(answer, Http)
            else Http({"jsonrpc": "2.0", "id": 1, "result": answer}, status)
        )
        sent = session.request(1, method, {"name": "get_products", "arguments": {}})
        exchanges.append(
            Exchange(
                index=len(exchanges),
                subject=subject if number == 1 else f"{subject}/page-{number}",
                kind=Kind.INTEROP,
                request=Request("POST", "http://seller.test/mcp", sent.headers, sent.body),
                response=Response(
                    came.status, "HTTP/1.1", (("content-type", came.content_type),), came.raw, len(came.raw)
                ),
                end=came.end,
                era=step.era,
                **more,
            )
        )
    survey = replace(evidence.transcript.survey, interop=Interop("2.3.0", (step,)))
    return Evidence(Transcript(survey, tuple(exchanges)), spec="3.1")


def tools(*names: str, **members: Any) -> Mapping[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object", **members}} for name in names]}


def outcomes(findings: Sequence[Finding]) -> dict[str, str]:
    """Return what became of each rule, by what follows the family in its id."""
    return {finding.rule.rpartition(".")[2]: str(finding.outcome) for finding in findings}
