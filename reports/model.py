"""The report of a run, report.json: what every output is made of.

report.schema.json says what each member means. All text in a built report is escaped (harness/text.py); a
loaded report is a foreign file, and its text is foreign text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pytest_adcp.harness.baseline import State
from pytest_adcp.harness.calls import Expect, Purpose
from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.verdict import Finding, Outcome, Verdict

from .json_text import laid_out, members
from .records import ReportError, problem, read_file, read_json
from .records import optional as _optional
from .records import record as _record

SCHEMA_VERSION = "1"

_SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


@dataclass(frozen=True, slots=True)
class Harness:
    """What judged."""

    name: str
    version: str
    rules_version: str


@dataclass(frozen=True, slots=True)
class Server:
    """What the server says about itself; empty and None where it does not."""

    name: str
    version: str
    protocol_version: str | None  # the MCP revision that calls ran in


@dataclass(frozen=True, slots=True)
class Schemas:
    """The AdCP schemas that payloads were checked with."""

    source: str
    version: str


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """Where the recorded exchanges lie, as seen from the folder of report.json, and their digest."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class SurveyCost:
    """What the survey took. Times in seconds."""

    requests: int
    requests_by_kind: Mapping[str, int]
    retries: int
    seconds: float
    longest_chain_seconds: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a target could not be surveyed at all, and what to do."""

    cause: str
    message: str
    cure: str


@dataclass(frozen=True, slots=True)
class ReportedFinding(Finding):
    """A finding, and how strongly its source speaks: `level` is lower where it counted for less."""

    strength: Level = Level.MUST


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Something that the run left out, and why."""

    item: str
    why: str


@dataclass(frozen=True, slots=True)
class Call:
    """One tools/call and what a client makes of the answer. Seconds until the answer, bytes of the body."""

    subject: str
    tool: str
    purpose: Purpose
    expect: Expect
    classified: str | None  # None: it gave no answer to classify, and `why` says why
    path: str | None
    error_level: str | None  # None: the answer is no error
    seconds: float
    bytes: int
    exchange: int
    tries: int = 1
    why: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """Something worth knowing that no rule is about."""

    id: str
    note: str
    exchange: int | None = None


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """Something that cannot be seen on the wire: a person has to look."""

    id: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Selected:
    """Whether all rules ran on everything, and what narrowed the run where they did not."""

    complete: bool
    how: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """An entry of a baseline of which there is something to say: its state after the run, and why."""

    rule: str
    subject: str
    line: int
    state: State
    reason: str
    why: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The baseline that the run was told, after the run. Stale and expired entries fail it."""

    file: str
    rules_version: str
    entries: tuple[BaselineEntry, ...]
    new_rules: tuple[str, ...]  # ids of rules that ran and are newer: their failures are not scored


@dataclass(frozen=True, slots=True)
class Change:
    """A rule on a subject, then and now; None where there was no such finding."""

    rule: str
    subject: str
    level: Level
    before: Outcome | None
    now: Outcome | None
    message: str


@dataclass(frozen=True, slots=True)
class Alarm:
    """What decides whether the run fails where it was told a baseline or an earlier report; the verdict is the same."""

    fails: bool
    failures: int  # all of them
    counted: int  # those that count
    summary: str  # a sentence


@dataclass(frozen=True, slots=True)
class Comparison:
    """What has changed since an earlier report (compare.py)."""

    generated_at: str  # of the earlier report
    url: str
    rules_version: str
    verdict: Verdict
    new: tuple[Change, ...]
    not_scored: tuple[Change, ...]  # failures of rules that the earlier rule set did not have
    fixed: tuple[Change, ...]
    still: tuple[Change, ...]
    unjudged: tuple[Change, ...]  # failed then, and nobody knows now
    blocked: tuple[Change, ...]  # blocked now, and not then
    new_rules: tuple[str, ...]
    gone_rules: tuple[str, ...]
    new_subjects: tuple[str, ...]
    gone_subjects: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """One server and what became of it."""

    url: str
    name: str
    server: Server
    adcp_version: str | None
    schemas: Schemas | None
    profiles: tuple[str, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    counts: Mapping[str, int]
    transcript: TranscriptFile | None
    survey: SurveyCost
    diagnosis: Diagnosis | None
    findings: tuple[ReportedFinding, ...]
    not_checked: tuple[NotChecked, ...]
    calls: tuple[Call, ...]
    observations: tuple[Observation, ...]
    checklist: tuple[ChecklistItem, ...]
    selection: Selected
    complete: bool
    baseline: Baseline | None = None  # None: the run was told none
    comparison: Comparison | None = None  # None: nothing to compare with was given
    alarm: Alarm | None = None  # None: neither was given, and the verdict alone decides


@dataclass(frozen=True, slots=True)
class Report:
    """A run."""

    harness: Harness
    generated_at: str  # ISO 8601
    settings: Mapping[str, Any]  # plain JSON, redacted
    targets: tuple[Target, ...]
    schema_version: str = field(default=SCHEMA_VERSION, kw_only=True)


_LEVELS = 4  # report, targets, target, its lists: an item of those stands in a line


def dumps(report: Report) -> str:
    """Return the text of report.json: valid UTF-8, the same text for the same report.

    Raises:
        ValueError: the settings hold NaN or an infinity.
    """
    return laid_out({"schema_version": report.schema_version} | members(report), _LEVELS) + "\n"


def save(report: Report, path: Path) -> None:
    """Write the report under a temporary name and rename it; mode 0644. A missing folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [dumps(report).encode()], mode=0o644)


def load(path: Path) -> Report:
    """Read a saved report.

    Raises:
        ReportError: the file cannot be read or is no report.
    """
    return loads(read_file(path), path)


def loads(text: str | bytes, path: Path | str = "report.json") -> Report:
    """Return the report that a text holds; members that this release does not know are left out.

    Args:
        text: report.json.
        path: the name of the file, for the error.

    Raises:
        ReportError: it is no JSON, of another schema version, or does not match the schema.
    """
    data = read_json(path, text)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version is None:
        raise ReportError(f"{path}: this is not a pytest-adcp report (no schema_version)")
    if "listed" in data:  # what is listed is of a fleet
        raise ReportError(
            f"{path}: this is the report of a fleet, which `python -m pytest_adcp.reports fleet` reads (with --md it "
            "writes Markdown); the report.json of each target lies in the folder of its name"
        )
    if version != SCHEMA_VERSION:
        raise ReportError(
            f'{path}: this release reads schema_version "{SCHEMA_VERSION}", not {quote(version, 40)}'
        )
    try:
        wrong = problem(data, schema())
    except RecursionError:
        wrong = "nested too deeply"
    if wrong:
        raise ReportError(f"{path}: {wrong}")
    return _record(
        Report,
        data,
        harness=_record(Harness, data["harness"]),
        targets=tuple(_target(target) for target in data["targets"]),
    )


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of report.json."""
    document: dict[str, Any] = json.loads(_SCHEMA_FILE.read_text(encoding="utf-8"))
    return document


def _target(data: Mapping[str, Any]) -> Target:
    return _record(
        Target,
        data,
        server=_record(Server, data["server"]),
        schemas=_optional(Schemas, data["schemas"]),
        verdict=Verdict(data["verdict"]),
        transcript=_optional(TranscriptFile, data["transcript"]),
        survey=_record(SurveyCost, data["survey"]),
        diagnosis=_optional(Diagnosis, data["diagnosis"]),
        findings=tuple(_finding(item) for item in data["findings"]),
        not_checked=tuple(_record(NotChecked, item) for item in data["not_checked"]),
        calls=tuple(_call(item) for item in data["calls"]),
        observations=tuple(_record(Observation, item) for item in data["observations"]),
        checklist=tuple(_record(ChecklistItem, item) for item in data["checklist"]),
        selection=_record(Selected, data["selection"]),
        baseline=_baseline(data.get("baseline")),
        comparison=_comparison(data.get("comparison")),
        alarm=_optional(Alarm, data.get("alarm")),
    )


def _baseline(data: Mapping[str, Any] | None) -> Baseline | None:
    if data is None:
        return None
    entries = tuple(_record(BaselineEntry, item, state=State(item["state"])) for item in data["entries"])
    return _record(Baseline, data, entries=entries)


def _comparison(data: Mapping[str, Any] | None) -> Comparison | None:
    if data is None:
        return None
    changes = {
        name: tuple(_change(item) for item in data[name])
        for name in ("new", "not_scored", "fixed", "still", "unjudged", "blocked")
    }
    return _record(Comparison, data, verdict=Verdict(data["verdict"]), **changes)


def _change(data: Mapping[str, Any]) -> Change:
    before, now = (None if data[name] is None else Outcome(data[name]) for name in ("before", "now"))
    return _record(Change, data, level=Level(data["level"]), before=before, now=now)


def _finding(data: Mapping[str, Any]) -> ReportedFinding:
    return _record(
        ReportedFinding,
        data,
        level=Level(data["level"]),
        outcome=Outcome(data["outcome"]),
        strength=Level(data["strength"]),
    )


def _call(data: Mapping[str, Any]) -> Call:
    return _record(Call, data, purpose=Purpose(data["purpose"]), expect=Expect(data["expect"]))
