"""The report of a fleet, fleet.json: targets x rule families, the gravest first; each target has a report of its own.

fleet.schema.json says what each member means. All text in a built fleet is escaped; a loaded one is a foreign file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.text import plural, quote
from pytest_adcp.harness.verdict import ExitCode, Verdict

from .json_text import json_text
from .model import Alarm, Harness, Server
from .records import ReportError, optional, problem, read_file, read_json, record

SCHEMA_VERSION = "1"
FAULT = "fault"  # beside the outcomes of verdict.Outcome: a rule broke instead of judging

_SCHEMA_FILE = Path(__file__).with_name("fleet.schema.json")
# The gravest first; what is not named here is the least of all.
_OUTCOMES = (FAULT, "failed", "blocked", "known", "advisory", "passed", "not-applicable")


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """What the rules of one family gave on one target."""

    family: str
    outcome: str  # the gravest
    counts: Mapping[str, int]  # findings by outcome
    message: str = ""  # what failed, or kept from judging, rule by rule
    must: bool = True  # whether what is blocked is a MUST


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A target's report.json, as seen from the folder of fleet.json, and its digest."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One target and what became of it.

    Attributes:
        problem: why it has no verdict of its own, where it has none.
        cure: what to do about that.
        alarm: what decides whether it fails; None: it has no baseline, and the verdict alone decides.
        stale: what is wrong with its baseline, a sentence for each entry that is stale or expired.
        seconds: of the survey.
    """

    name: str
    url: str
    verdict: Verdict
    exit_code: int
    reached: bool
    reasons: tuple[str, ...] = ()
    problem: str = ""
    cure: str = ""
    server: Server | None = None
    adcp_version: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    families: tuple[FamilyResult, ...] = ()
    requests: int = 0
    seconds: float = 0.0
    report: ReportFile | None = None
    alarm: Alarm | None = None
    stale: tuple[str, ...] = ()

    @property
    def alarms(self) -> bool:
        """Whether its baseline makes it fail."""
        return self.alarm is not None and self.alarm.fails


class Fate(IntEnum):
    """What became of a target, the gravest first.

    One that could not be asked weighs more than one that fails: until it is, nobody knows how many fail.
    """

    FAULT = 0  # of the harness
    UNREACHED = 1
    FAILS = 2
    INCONCLUSIVE = 3
    NOTHING_JUDGED = 4
    GOOD = 5  # nothing fails that its baseline does not know


_FATES = {
    ExitCode.NONCONFORMANT: Fate.FAILS,
    ExitCode.INCONCLUSIVE: Fate.INCONCLUSIVE,
    ExitCode.NOTHING_SELECTED: Fate.NOTHING_JUDGED,
    ExitCode.CONFORMANT: Fate.GOOD,
}


@dataclass(frozen=True, slots=True)
class ShardOf:
    """Which part of a list this is, counted from 0."""

    index: int
    count: int


@dataclass(frozen=True, slots=True)
class TargetListDigest:
    """The whole list, of all shards: how many targets, and SHA-256 over their names and addresses."""

    targets: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """A run over many targets, or several runs merged."""

    harness: Harness
    generated_at: str  # ISO 8601
    settings: Mapping[str, Any]  # plain JSON, redacted
    listed: TargetListDigest
    shard: ShardOf | None  # None: all of the list
    seconds: float
    targets: tuple[TargetResult, ...]
    schema_version: str = field(default=SCHEMA_VERSION, kw_only=True)

    @property
    def exit_code(self) -> int:
        """The gravest thing that is true of any target."""
        return gravest(self.targets)

    @property
    def families(self) -> tuple[str, ...]:
        """The families that any target was judged by, in the order of the suites."""
        found = (result.family for target in self.targets for result in target.families)
        return tuple(dict.fromkeys(found))


def severity(outcome: str) -> int:
    """Return a number that is the smaller the graver an outcome is."""
    return _OUTCOMES.index(outcome) if outcome in _OUTCOMES else len(_OUTCOMES)


def gravest(targets: Iterable[TargetResult]) -> int:
    """Return the exit code of a run over targets; none at all is a pass, since a shard may be empty."""
    return min(targets, key=fate).exit_code if (targets := tuple(targets)) else ExitCode.CONFORMANT


def worst_first(targets: Iterable[TargetResult]) -> tuple[TargetResult, ...]:
    """Return targets with the gravest first, then those with the most failures, then by name."""
    return tuple(sorted(targets, key=lambda one: (fate(one), -one.counts.get("failed", 0), one.name)))


def fate(target: TargetResult) -> Fate:
    """Return what became of a target, as its exit code says."""
    if target.exit_code == ExitCode.INCONCLUSIVE and not target.reached:
        return Fate.UNREACHED
    return _FATES.get(ExitCode(target.exit_code), Fate.FAULT)


def dumps(fleet: Fleet) -> str:
    """Return the text of fleet.json: valid UTF-8, the same text for the same fleet."""
    members = {"schema_version": fleet.schema_version, "exit_code": int(fleet.exit_code)}
    members |= {item.name: getattr(fleet, item.name) for item in fields(fleet)}
    return json_text(members, indent=1) + "\n"


def save(fleet: Fleet, path: Path) -> None:
    """Write the fleet under a temporary name and rename it; mode 0644. A missing folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [dumps(fleet).encode()], mode=0o644)


def load(path: Path) -> Fleet:
    """Read a saved fleet.

    Raises:
        ReportError: the file cannot be read, is no report of a fleet, or of another schema version.
    """
    data = read_json(path, read_file(path))
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version is not None and "listed" not in data and "targets" in data:
        raise ReportError(
            f"{path}: this is the report of one run and no report of a fleet; `python -m pytest_adcp.reports` reads it "
            "with html, md, badge, sarif and verify"
        )
    if version is None or "listed" not in data:
        raise ReportError(f"{path}: this is no report of a fleet (no fleet.json of pytest-adcp)")
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
    return record(
        Fleet,
        data,
        harness=record(Harness, data["harness"]),
        listed=record(TargetListDigest, data["listed"]),
        shard=optional(ShardOf, data["shard"]),
        targets=tuple(map(result, data["targets"])),
    )


def plain(result: TargetResult) -> dict[str, Any]:
    """Return the result of a target as plain JSON."""
    found: dict[str, Any] = json.loads(json_text(result))
    return found


def result(data: Mapping[str, Any]) -> TargetResult:
    """Return the result of a target from its plain JSON."""
    return record(
        TargetResult,
        data,
        verdict=Verdict(data["verdict"]),
        server=optional(Server, data["server"]),
        families=tuple(record(FamilyResult, item) for item in data["families"]),
        report=optional(ReportFile, data["report"]),
        alarm=optional(Alarm, data.get("alarm")),
    )


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of fleet.json."""
    document: dict[str, Any] = json.loads(_SCHEMA_FILE.read_text(encoding="utf-8"))
    return document


def counted(targets: Sequence[TargetResult]) -> str:
    """Return how many targets there are of each verdict, and on how many there is an alarm, in words."""
    numbers = {verdict: sum(one.verdict is verdict for one in targets) for verdict in Verdict}
    words = [f"{number} {verdict}" for verdict, number in numbers.items() if number]
    if alarms := sum(one.alarms for one in targets):
        words.append(plural(alarms, "alarm"))
    return ", ".join(words) or "no target"
