"""What two reports of one target say otherwise: the saved one, and the one that its transcript gives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import Any

from pytest_adcp.harness.rules import Profile
from pytest_adcp.harness.text import plural, quote, safe
from pytest_adcp.harness.verdict import Finding, Outcome, Verdict

from .json_text import json_text
from .model import ReportedFinding, Target

_SHOWN = 5  # findings that differ; the rest is counted
_TEXT = 160
# What no transcript shows, or is compared in words of its own. Baseline and comparison are about others.
_BESIDE = (
    "findings",
    "verdict",
    "transcript",
    "selection",
    "counts",
    "schemas",
    "comparison",
    "baseline",
    "alarm",
)
_CLIENT = f"{Profile.CLIENT}."
# A baseline accepts what failed; the transcript knows of no baseline.
_WITHOUT_BASELINE = {"known": "failed"}


def differences(target: Target, again: Target) -> Iterator[str]:
    """Yield what the report says otherwise than its transcript, the gravest first."""
    if target.verdict is not again.verdict and not _is_only_missing_client(target, again):
        yield f"verdict: {target.verdict} in the report, {again.verdict} by this transcript"
    yield from _findings([one for one in target.findings if not is_of_client(one)], again.findings)
    if target.baseline is None and (known := known_failures(target)):
        yield f"baseline: {plural(known, 'failure')} said to be known, and the report names no baseline"
    if +Counter(target.counts) != Counter(str(finding.outcome) for finding in target.findings):
        yield "counts: not those of the findings that the report lists"
    if target.selection.complete and not again.selection.complete:
        yield f"selection: whole in the report; by this transcript {'; '.join(again.selection.how)}"
    for name in (item.name for item in fields(Target)):
        if name in _BESIDE or (name == "reasons" and Profile.CLIENT in target.profiles):
            continue
        told, found = getattr(target, name), getattr(again, name)
        if name == "reasons":
            # They come in the order of the findings, which workers of xdist decide.
            told, found = tuple(sorted(told)), tuple(sorted(found))
        if told != found:
            one, other = _apart(told, found)
            yield f"{name}: {one} in the report, {other} by this transcript"


def _findings(told: Sequence[ReportedFinding], found: Sequence[ReportedFinding]) -> Iterator[str]:
    """Yield how many findings differ, and the first of them."""
    ours, theirs = _numbered(found), _numbered(told)
    lines = []
    for key, finding in theirs.items():
        other = ours.get(key)
        if other is None:
            lines.append(f"{_name(finding)}: {finding.outcome} in the report, not found by this transcript")
        elif words := _difference(finding, other):
            lines.append(f"{_name(finding)}: {words}")
    lines += [
        f"{_name(finding)}: {finding.outcome} by this transcript, not in the report"
        for key, finding in ours.items()
        if key not in theirs
    ]
    if lines:
        more = f", the first {_SHOWN}" if len(lines) > _SHOWN else ""
        yield f"findings: {len(lines)} differ, of {len(told)} in the report and {len(found)} by this transcript{more}:"
        yield from (f"  {line}" for line in lines[:_SHOWN])


def _numbered(findings: Sequence[ReportedFinding]) -> dict[tuple[str, str, int | None, int], ReportedFinding]:
    """Return findings by rule, subject, exchange, and which of those it is."""
    numbered: dict[tuple[str, str, int | None, int], ReportedFinding] = {}
    seen: Counter[tuple[str, str, int | None]] = Counter()
    for finding in findings:
        key = (finding.rule, finding.subject, finding.exchange)
        numbered[*key, seen[key]] = finding
        seen[key] += 1
    return numbered


def _difference(told: ReportedFinding, found: ReportedFinding) -> str:
    """Say how two findings about the same thing differ; empty where they do not."""
    outcome = _WITHOUT_BASELINE.get(str(told.outcome), str(told.outcome))
    if outcome != str(found.outcome):
        return f"{told.outcome} in the report, {found.outcome} by this transcript"
    for item in fields(Finding):
        one, other = getattr(told, item.name), getattr(found, item.name)
        if item.name not in ("outcome", "reason") and one != other:  # the reason is the baseline's
            one, other = _apart(one, other)
            return f"{item.name}: {one} in the report, {other} by this transcript"
    return ""


def _apart(told: Any, found: Any) -> tuple[str, str]:
    """Return two values that differ, as text; of two lists the first entries that do."""
    if isinstance(told, tuple) and isinstance(found, tuple):
        missing = object()
        pairs = zip_longest(told, found, fillvalue=missing)
        told, found = next((one, other) for one, other in pairs if one != other)
        return tuple("nothing" if one is missing else _shown(one) for one in (told, found))  # type: ignore[return-value]
    return _shown(told), _shown(found)


def _shown(value: Any) -> str:
    return quote(json.loads(json_text(value)), _TEXT)


def _name(finding: ReportedFinding) -> str:
    return f"{safe(finding.rule)} on {safe(finding.subject)}"


def is_of_client(finding: Finding) -> bool:
    """Whether a finding is about a client library: no transcript shows that."""
    return finding.rule.startswith(_CLIENT)


def known_failures(target: Target) -> int:
    """Return how many failures a baseline accepts."""
    return sum(finding.outcome is Outcome.KNOWN for finding in target.findings)


def _is_only_missing_client(target: Target, again: Target) -> bool:
    """Whether the verdict differs by what a client library gave, or kept open."""
    return Profile.CLIENT in target.profiles and (
        again.verdict is Verdict.CONFORMANT
        or any(finding.outcome is Outcome.FAILED and is_of_client(finding) for finding in target.findings)
    )
