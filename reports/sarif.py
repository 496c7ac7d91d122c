"""What failed in SARIF 2.1.0, as code scanning of GitHub and others read it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import one_line, safe
from pytest_adcp.harness.verdict import Outcome

from .alarms import problem, sentence, wrong_entries
from .compare import Since, since
from .json_text import json_text
from .marks import link, prose
from .model import Report, ReportedFinding, Target

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RESULTS = 25_000
"""Results that GitHub takes of a run."""

# A finding that a baseline knows is broken too: it stays an alert, and a suppression says that it is accepted.
_LEVELS = {"failed": "error", "advisory": "warning", "blocked": "note", "known": "note"}
_ROOT = "%SRCROOT%"
_TRY = re.compile(r"@[0-9]+$")  # patience decides how often a call is tried
_WEB = re.compile(r"https?://[!-~]+")
_TITLE = 250  # characters that GitHub shows of a rule's short description
_TEXT = 1000


def render(*reports: Report, requirements: Mapping[str, str] | None = None) -> str:
    """Return a SARIF log: a run for each target, with a result for each finding that failed, advises or is blocked.

    Args:
        reports: built or loaded; their text is foreign.
        requirements: what a rule asks for, by its id, for the titles of alerts; a rule that is not there goes by its id.
    """
    runs = [_run(report, target, requirements or {}) for report in reports for target in report.targets]
    for run, count in _numbered([run["automationDetails"]["id"] for run in runs]):
        # Two runs of one category in a file are refused.
        if count:
            runs[run]["automationDetails"]["id"] += f"{count + 1}/"
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}) + "\n"


def _run(report: Report, target: Target, requirements: Mapping[str, str]) -> dict[str, Any]:
    broken = [finding for finding in target.findings if str(finding.outcome) in _LEVELS]
    broken.sort(key=lambda finding: list(_LEVELS).index(str(finding.outcome)))  # what is cut is worth least
    broken = broken[:RESULTS]
    rules: dict[str, ReportedFinding] = {}
    for finding in broken:
        # The first that tells of a fix: a blocked one has none.
        if finding.rule not in rules or (finding.fix and not rules[finding.rule].fix):
            rules[finding.rule] = finding
    index = {rule: number for number, rule in enumerate(rules)}
    place = _Places(report, target)
    which = since(target)
    identities = [f"{finding.rule}\0{_TRY.sub('', finding.subject)}" for finding in broken]
    occurrences = dict(_numbered(identities))
    baseline = target.baseline
    problems = (
        [safe(problem(baseline, entry), _TEXT) for entry in wrong_entries(baseline)] if baseline else []
    )
    return {
        "tool": {
            "driver": {
                "name": "pytest-adcp",
                "semanticVersion": safe(report.harness.version),
                "rules": [_rule(finding, requirements.get(finding.rule, "")) for finding in rules.values()],
            }
        },
        "automationDetails": {"id": f"pytest-adcp/{_category(target)}/"},
        "results": [
            _result(
                finding,
                index[finding.rule],
                place,
                f"{identities[number]}\0{occurrences[number]}",
                which(finding),
            )
            for number, finding in enumerate(broken)
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "verdict": str(target.verdict),
            "target": safe(target.url or target.name),
            **({"alarm": safe(sentence(target.alarm), _TEXT)} if target.alarm is not None else {}),
            **({"baseline": problems} if problems else {}),
        },
    }


def _rule(finding: ReportedFinding, requirement: str) -> dict[str, Any]:
    name = safe(finding.rule)
    title = f"{name}: {requirement}" if requirement else name
    fix = finding.fix or "The rule could not be judged: see the message."
    family = name.rpartition(".")[0]
    described: dict[str, Any] = {
        "id": name,
        "shortDescription": {"text": one_line(title, _TITLE)},
        "fullDescription": {"text": one_line(requirement or finding.message or name, _TEXT)},
        "help": {
            "text": f"{safe(fix, _TEXT)}\nSpecification: {safe(finding.source, _TEXT)}",
            "markdown": f"{prose(fix, _TEXT)}\n\n{link('Specification', finding.source)}",
        },
        "defaultConfiguration": {"level": "error" if finding.strength is Level.MUST else "warning"},
        "properties": {
            "tags": list(dict.fromkeys(["adcp", *([family] if family else [])])),
            "precision": "very-high",
        },
    }
    if _WEB.fullmatch(finding.source):
        described["helpUri"] = quote(finding.source, safe=":/?#@!$&+,;=%-._~()'*")
    return described


def _result(
    finding: ReportedFinding, rule: int, places: _Places, identity: str, since: Since | None
) -> dict[str, Any]:
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]
    result: dict[str, Any] = {
        "ruleId": safe(finding.rule),
        "ruleIndex": rule,
        "level": _LEVELS[str(finding.outcome)],
        "message": _message(finding),
        "locations": [places.of(finding)],
        # GitHub reads the first; both say which finding it is in whatever place and words.
        "partialFingerprints": {"primaryLocationLineHash": f"{digest[:16]}:1", "adcpFinding/v1": digest},
        "properties": {
            "subject": safe(finding.subject),
            "outcome": str(finding.outcome),
            **({"pointer": safe(finding.pointer)} if finding.pointer is not None else {}),
        },
    }
    if since is not None:
        result["baselineState"] = "unchanged" if since is Since.STILL else "new"
    if finding.outcome is Outcome.KNOWN:
        why = safe(finding.reason, _TEXT) or "in the baseline"
        result["suppressions"] = [{"kind": "external", "justification": why}]
    return result


def _message(finding: ReportedFinding) -> dict[str, str]:
    lines = [f"On {safe(finding.subject)}: {safe(finding.message, _TEXT)}"]
    for label, text in (
        ("expected", finding.expected),
        ("received", finding.received),
        ("at", finding.pointer or ""),
        ("fix", finding.fix),
    ):
        if text:
            lines.append(f"{label}: {safe(text, _TEXT)}")
    # In a plain message `[words](place)` is a link.
    return {"text": "\n".join(lines).replace("](", "] (")}


class _Places:
    """Where a finding is shown: nobody's source has it, so in the file that configures the run, or in the transcript."""

    def __init__(self, report: Report, target: Target) -> None:
        config = report.settings.get("config")
        folder = report.settings.get("report_dir")
        folder = folder if isinstance(folder, str) and folder else "adcp-report"
        self._has_lines = False
        if isinstance(config, str) and config:
            self._artifact = _artifact(config)
        elif target.transcript is not None:
            self._artifact = _artifact(f"{folder}/{target.transcript.file}")
            self._has_lines = True
        else:
            self._artifact = _artifact(f"{folder}/report.json")

    def of(self, finding: ReportedFinding) -> dict[str, Any]:
        """Return the location of a finding."""
        # The first line of a transcript is the survey's.
        line = finding.exchange + 2 if self._has_lines and finding.exchange is not None else 1
        return {
            "physicalLocation": {"artifactLocation": self._artifact, "region": {"startLine": line}},
            "logicalLocations": [{"fullyQualifiedName": safe(finding.subject), "kind": "member"}],
        }


def _artifact(path: str) -> dict[str, str]:
    windows = PureWindowsPath(path)
    pure = PurePosixPath(windows.as_posix() if windows.drive or "\\" in path else path)
    parts: list[str] = []
    for part in pure.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    uri = quote("/".join(parts).replace("//", "/"), safe="/", errors="replace")
    if pure.is_absolute():
        return {"uri": f"file://{uri}"}
    if windows.drive:
        return {"uri": f"file:///{uri}"}
    return {"uri": uri} if parts and parts[0] == ".." else {"uri": uri, "uriBaseId": _ROOT}


def _category(target: Target) -> str:
    """Return what tells the runs of several targets apart; GitHub reads all before the last slash."""
    name = target.name or target.url or "-".join(target.profiles)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", safe(name, 100)).strip("-") or "target"


def _numbered(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of each name and how many equal ones stand before it."""
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        yield index, seen[name]
        seen[name] += 1
