"""What a nightly run alarms on: the baseline, the earlier report that it is compared with, and which failures count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.reports import alarms, compare, model
from pytest_adcp.reports.records import ReportError

from . import __version__, values
from .baseline import PLACEHOLDER, Baseline, Reviewed, State
from .baseline_file import read_baseline, write_baseline
from .catalogue import all_rules
from .config import ConfigError, shown_path
from .files import why_not_writable
from .given import Givens, existing, located
from .rules import Rule
from .text import quote, safe
from .verdict import Finding, Outcome


class FailOn(StrEnum):
    """Which failures make the exit code 1."""

    FAILED = "failed"
    NEW = "new"  # those that the earlier report does not have


@dataclass(frozen=True, slots=True)
class AlarmSettings:
    """What was asked for. Paths are absolute."""

    baseline: Path | None = None
    write_baseline: Path | None = None
    compare: Path | None = None
    fail_on: FailOn = FailOn.FAILED

    def public(self) -> dict[str, Any]:
        """Return the settings as JSON data for a report."""
        files = {
            "baseline": self.baseline,
            "write_baseline": self.write_baseline,
            "compare": self.compare,
        }
        shown = {name: shown_path(path) if path else None for name, path in files.items()}
        return shown | {"fail_on": str(self.fail_on)}


def alarm_settings(givens: Givens) -> AlarmSettings:
    """Work out what to alarm on.

    Raises:
        pytest.UsageError: a file is missing or cannot be one, or there is nothing to compare with.
    """
    write = givens.get("write-baseline")
    written = located(write, write.value) if write else None
    if write is not None and written is not None and (written.is_dir() or not written.parent.is_dir()):
        raise write.fail(f"{quote(write.value, 100)} is not a file in a folder that is there")
    found = givens.get("baseline")
    read = located(found, found.value) if found else None
    # A baseline that this run is to write need not be there yet.
    if found is not None and read is not None and (written is None or read.resolve() != written.resolve()):
        if read is not None and not read.exists():
            raise found.fail(
                f"there is no {quote(found.value, 100)}; --adcp-write-baseline FILE writes the first one"
            )
        read = existing(found, found.value)
    compare = givens.file("compare")
    fail_on = givens.get("fail-on")
    which = fail_on.read(_fail_on) if fail_on else FailOn.FAILED
    if fail_on is not None and which is FailOn.NEW and compare is None:
        raise fail_on.fail("new needs an earlier report.json to compare with: --adcp-compare FILE")
    return AlarmSettings(read, written, compare, which)


def _fail_on(value: object) -> FailOn:
    return FailOn(values.choice(value, list(FailOn), "kind of failure"))


class Alarms:
    """The baseline and the earlier report of one target in one run."""

    def __init__(self, settings: AlarmSettings, extra: Sequence[str] = ()) -> None:
        """Remember what was asked for; read() reads the files. `extra` are the modules of further rules."""
        self._extra = extra
        self._settings = settings
        self._today = datetime.now(UTC).date()
        self._baseline: Baseline | None = None
        self._written_over: Baseline | None = None  # what the file to write holds
        self._previous: model.Report | None = None
        self._earlier: compare.Earlier | None = None
        self._reviewed: Sequence[Reviewed] = ()
        self._told: list[str] = []
        self.wrote = True  # False: a baseline was asked for and could not be written

    # -- before anything is sent -----------------------------------------------------------------------------

    def read(self, name: str, url: str, *, is_worker: bool = False) -> None:
        """Read all files.

        Args:
            name: of the target of this run, to be found in the earlier report.
            url: of that target.
            is_worker: whether this is a process that judges and writes nothing.

        Raises:
            pytest.UsageError: a file cannot be used, or written.
        """
        read, write = self._settings.baseline, self._settings.write_baseline
        if read is not None and read.exists():
            self._baseline = _read(read, self._extra)
        if self._settings.compare is not None:
            self._previous = _previous(self._settings.compare, name, url)
            earlier = compare.matching(self._previous, name, url)
            assert earlier is not None
            self._earlier = compare.Earlier(self._previous, earlier, __version__)
        if write is not None and not is_worker:
            same = read is not None and read.resolve() == write.resolve()
            self._written_over = (
                self._baseline if same else _read(write, self._extra) if write.exists() else None
            )
            _try_to_write(write)

    # -- while rules are judged ------------------------------------------------------------------------------

    def excused(self, rule: Rule, finding: Finding) -> Finding:
        """Return a finding as the baseline sees it."""
        return finding if self._baseline is None else self._baseline.excused(rule, finding, self._today)

    # -- afterwards ------------------------------------------------------------------------------------------

    def conclude(
        self, findings: Sequence[Finding], *, whole: bool, usable: bool, left_out: Collection[str]
    ) -> None:
        """Hold the baseline against what was found, and write the one that was asked for.

        Args:
            findings: everything judged.
            whole: whether nothing narrowed the run and the survey came to its end.
            usable: whether the run says anything at all: the target was surveyed, and no rule broke.
            left_out: calls and tools that the plan left out.
        """
        if self._baseline is not None:
            self._reviewed = self._baseline.review(
                findings, whole=whole and usable, left_out=left_out, today=self._today
            )
        path = self._settings.write_baseline
        if path is None:
            return
        shown = safe(shown_path(path), 400)
        if not usable or not findings:
            self._told.append(f"baseline not written: nothing to go by; {shown} is as it was")
            return
        old = self._written_over
        reviewed = old.review(findings, whole=whole, left_out=left_out, today=self._today) if old else []
        try:
            written = write_baseline(path, old, reviewed, findings, whole=whole)
        except (OSError, ConfigError) as error:
            self.wrote = False
            why = f"{shown}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            self._told.append(f"baseline not written: {safe(why, 600)}")
            return
        part = "" if whole else ", of a run that judged only a part"
        self._told.append(f"baseline written: {shown}: {written}{part}")

    def told(self) -> list[str]:
        """Return what there is to say about the baseline that was to be written."""
        return self._told

    def baseline(self, rules: Sequence[Rule]) -> model.Baseline | None:
        """Return what the report says of the baseline; `rules` are those that ran."""
        if self._baseline is None:
            return None
        rewritten = self._written_over is self._baseline and self.wrote
        entries = [
            model.BaselineEntry(
                safe(item.entry.rule),
                safe(item.entry.subject, 600),
                item.entry.line,
                item.state,
                safe(item.entry.reason, 600),
                safe(item.why, 600),
            )
            for item in self._reviewed
            if (item.state is not State.USED or item.entry.reason == PLACEHOLDER)
            # A stale entry of a file that this run wrote anew is gone already.
            and not (item.state is State.STALE and rewritten)
        ]
        newer = [rule.id for rule in rules if not self._baseline.knows(rule)]
        file = safe(shown_path(self._baseline.path), 400)
        return model.Baseline(file, safe(self._baseline.rules_version), tuple(entries), tuple(newer))

    def since(self, finding: Finding) -> compare.Since | None:
        """Return what a failure is beside the earlier report; None where it is none, or there is no such report."""
        if self._earlier is None or not finding.is_broken:
            return None
        return self._earlier.since(finding.rule, finding.subject)

    def counts(self, finding: Finding) -> bool:
        """Whether a finding is a failure that alarms."""
        only_new = self._settings.fail_on is FailOn.NEW
        return finding.outcome is Outcome.FAILED and (
            not only_new or self.since(finding) is compare.Since.NEW
        )

    def completed(self, report: model.Report) -> model.Report:
        """Return a report of one target with what has changed since the earlier one, and what decides over the run."""
        if self._previous is not None:
            report = compare.with_comparison(self._previous, report)
        (target,) = report.targets
        alarm = alarms.alarm_of(target, only_new=self._settings.fail_on is FailOn.NEW)
        return replace(report, targets=(replace(target, alarm=alarm),))


def _read(path: Path, extra: Sequence[str]) -> Baseline:
    try:
        return read_baseline(path, {rule.id for rule in all_rules(extra)})
    except ConfigError as error:
        raise pytest.UsageError(f"adcp: {error}") from None


def _try_to_write(path: Path) -> None:
    if why := why_not_writable(path.resolve().parent, make=False):
        raise pytest.UsageError(f"adcp: the baseline cannot be written to {safe(str(path), 400)}: {why}")


def _previous(path: Path, name: str, url: str) -> model.Report:
    try:
        previous = model.load(path)
    except ReportError as error:
        raise pytest.UsageError(f"adcp: --adcp-compare: {safe(str(error), 600)}") from None
    if compare.matching(previous, name, url) is None:
        has = ", ".join(f"{target.name} ({target.url})" for target in previous.targets) or "no target"
        raise pytest.UsageError(
            f"adcp: --adcp-compare: {safe(shown_path(path), 400)} is about another target: it has {safe(has, 400)}, "
            f"and this run judges {safe(name)} ({safe(url)})"
        )
    return previous
