"""Rules x subjects as pytest items.

Ordinary test functions would be at the mercy of the user's ini files and fixtures and cost three times as much, so the
suites are collected with a Collector and an Item of our own. A rule stays a plain function.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from pytest_adcp.reports.alarms import problem, wrong_entries
from pytest_adcp.reports.compare import Since
from pytest_adcp.reports.fleet import FAULT

from .rules import Level, Rule
from .subjects import Entry
from .text import safe
from .verdict import Finding, Outcome, judge

if TYPE_CHECKING:
    from pytest_adcp.reports import model

    from .alarms import Alarms
    from .conformance import Conformance

_LETTERS: dict[str, tuple[str, dict[str, bool]]] = {
    FAULT: ("E", {"red": True}),
    Outcome.PASSED: (".", {"green": True}),
    Outcome.FAILED: ("F", {"red": True}),
    Outcome.ADVISORY: ("a", {"yellow": True}),
    Outcome.KNOWN: ("k", {"yellow": True}),
    Outcome.NOT_APPLICABLE: ("-", {}),
    Outcome.BLOCKED: ("b", {"yellow": True}),
}
# How pytest's own machinery (JUnit, --lf, -x, exit codes of other plugins) sees each outcome.
_PYTEST = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ADVISORY: "passed",
    Outcome.KNOWN: "skipped",  # an expected failure
    Outcome.NOT_APPLICABLE: "skipped",
    Outcome.BLOCKED: "skipped",
}
_MEMBERS = tuple(member.name for member in fields(Finding))


class Root(pytest.Collector):
    """What stands in the place of the suites."""

    run: Any

    @classmethod
    def from_parent(cls, parent: pytest.Collector, *, path: Path, run: object) -> Self:  # type: ignore[override]
        """Make the collector; node ids start with what is below it, wherever the package is installed."""
        node: Self = super().from_parent(parent, path=path, name="adcp", nodeid="adcp")
        node.run = run
        return node


class Suites(Root):
    """All selected rules, by family."""

    run: Conformance

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        """Yield a collector for each family, in the order of the suites, or the one reason why there is none."""
        if self.run.unusable is not None:
            yield Reachable.from_parent(self, name="reachable", nodeid="survey::reachable", path=self.path)
        families: dict[str, list[Rule]] = {}
        for rule in self.run.rules():
            families.setdefault(rule.family, []).append(rule)
        for family, rules in families.items():
            yield Family.of(self, family, rules)


class Family(pytest.Collector):
    """The rules of one family."""

    rules: list[Rule]
    run: Conformance
    place: str  # of the suites, as seen from the root folder

    @classmethod
    def of(cls, parent: Suites, name: str, rules: list[Rule]) -> Self:
        """Make the collector of a family."""
        node: Self = cls.from_parent(parent, name=name, nodeid=name, path=parent.path)
        node.rules = rules
        node.run = parent.run
        node.place = parent.session._node_location_to_relpath(parent.path)
        node.add_marker(pytest.mark.adcp_family(name))  # its items inherit mark and keyword
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each rule and subject; a rule without a subject still is one."""
        for rule in self.rules:
            for entry in self.run.entries(rule):
                item = RuleItem.of(self, rule, entry)
                if self.run.selection.takes_node(item.nodeid):
                    yield item


class Reachable(pytest.Item):
    """The only item of a run whose target could not be surveyed: it carries the diagnosis."""

    def runtest(self) -> None:
        """Fail with the diagnosis."""
        parent = self.parent
        assert isinstance(parent, Suites)
        assert parent.run.unusable is not None
        # A recording may be a foreign file.
        message, cure = safe(parent.run.unusable.message, 600), safe(parent.run.unusable.cure, 600)
        pytest.fail(f"{message}\n{cure}", pytrace=False)


class RuleItem(pytest.Item):
    """One rule on one subject."""

    rule: Rule
    entry: Entry
    strict: bool
    alarms: Alarms

    @classmethod
    def of(cls, parent: Family, rule: Rule, entry: Entry) -> Self:
        """Make the item; the node id is given, since one made of the parts would not be found again by --lf."""
        name = f"{rule.short}[{safe(entry.label)}]"
        node: Self = cls.from_parent(parent, name=name, nodeid=f"{parent.nodeid}::{name}", path=parent.path)
        node.rule, node.entry, node.strict = rule, entry, parent.run.settings.strict
        node.alarms = parent.run.alarms
        node.add_marker(pytest.mark.adcp_must if rule.level is Level.MUST else pytest.mark.adcp_should)
        node.extra_keyword_matches.add(rule.id)
        return node

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the item stands; the name is the rule's full id."""
        return self.path, None, f"{self.rule.id}[{self.entry.label}]"

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """What pytest makes of reportinfo, but for the place: working that out anew takes as long as judging."""
        assert isinstance(self.parent, Family)
        return self.parent.place, *self.reportinfo()[1:]

    def runtest(self) -> None:
        """Judge the item (pytest requires the method; conformance.py's protocol calls judge_item instead)."""
        judge(self.rule, self.entry, strict=self.strict)


def judge_item(item: RuleItem) -> None:
    """Judge one item and report it the way pytest's own protocol does."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    start = time.time()
    finding: Finding | None = None
    longrepr: Any = None
    expected = ""
    blocked = False
    try:
        finding = item.alarms.excused(item.rule, judge(item.rule, item.entry, strict=item.strict))
    except Exception:
        # Not the target's fault: show where the rule broke, from its own frame on.
        info = pytest.ExceptionInfo.from_current()
        info.traceback = info.traceback.cut(path=item.rule.function.__code__.co_filename)
        longrepr = info.getrepr(style="long", tbfilter=False)
    outcome = "failed"
    if finding is not None:
        since = item.alarms.since(finding)
        item.user_properties.extend(_properties(finding, since))
        # A blocked MUST is no pass: a failed set-up is what every reader of JUnit shows as "could not be tested".
        blocked = finding.outcome is Outcome.BLOCKED and finding.level is Level.MUST
        outcome = "failed" if blocked else _PYTEST[finding.outcome]
        expected = _expected(finding, since, counts=item.alarms.counts(finding))
        outcome = "skipped" if expected else outcome
        if finding.is_broken:
            longrepr = _text(finding)
        elif outcome == "failed":
            longrepr = f"blocked: {finding.message}"
        elif outcome == "skipped":
            # pytest and JUnit say where it was skipped; the rule says more than a path of this machine.
            longrepr = (finding.rule, 0, f"{finding.outcome}: {finding.message}")
    stop = time.time()
    told = told_report(item, outcome, longrepr, when="setup" if blocked else "call", start=start, stop=stop)
    if expected:
        # What pytest and JUnit call an expected failure, with the reason why it is.
        told.wasxfail = expected
    told.adcp = _plain(finding) if finding else {"fault": item.nodeid}  # type: ignore[attr-defined]
    hook.pytest_runtest_logreport(report=told)
    hook.pytest_runtest_logreport(
        report=told_report(item, "passed", None, when="teardown", start=stop, stop=stop)
    )
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def told_report(
    item: pytest.Item, outcome: str, longrepr: object, *, when: str, start: float, stop: float
) -> pytest.TestReport:
    """Return the report of one phase of an item, as pytest's own protocol makes it."""
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={item.name: 1},
        outcome=outcome,  # type: ignore[arg-type]
        longrepr=longrepr,  # type: ignore[arg-type]
        when=when,  # type: ignore[arg-type]
        duration=stop - start,
        start=start,
        stop=stop,
        user_properties=item.user_properties,
    )


def _expected(finding: Finding, since: Since | None, *, counts: bool) -> str:
    """Say why a failure does not alarm; empty where it does, or is none."""
    if finding.outcome is Outcome.KNOWN:
        return finding.reason
    if finding.outcome is not Outcome.FAILED or counts:
        return ""
    return f"{since} since the earlier report, and only new failures alarm"


def baseline_reports(baseline: model.Baseline | None) -> Iterator[pytest.TestReport]:
    """Yield a failed test for each entry of a baseline that fails the run: JUnit has nothing else to show it by."""
    for entry in wrong_entries(baseline):
        assert baseline is not None
        name = f"line {entry.line}"
        yield pytest.TestReport(
            nodeid=f"baseline::{name}",
            location=(baseline.file, entry.line - 1, name),
            keywords={},
            outcome="failed",
            longrepr=problem(baseline, entry),
            when="call",
        )


def status(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]]:
    """Return category, letter and word for a judged item."""
    finding: dict[str, Any] = report.adcp
    outcome = FAULT if "fault" in finding else finding["outcome"]
    if outcome == Outcome.FAILED and hasattr(report, "wasxfail"):
        return "not counted", "f", ("FAILED, not counted", {"yellow": True})
    return shown(outcome)


def shown(outcome: str) -> tuple[str, str, tuple[str, dict[str, bool]]]:
    """Return category, letter and word for an outcome, or for a fault; one that is not known is passed over."""
    letter, markup = _LETTERS.get(outcome, _LETTERS[Outcome.PASSED])
    if outcome == FAULT:
        return "error", letter, ("HARNESS FAULT", markup)
    return outcome, letter, (outcome.upper(), markup)


def _plain(finding: Finding) -> dict[str, Any]:
    """Return a finding as what execnet takes: it knows no enums."""
    # dataclasses.asdict copies every value, and takes longer than judging.
    plain = {name: getattr(finding, name) for name in _MEMBERS}
    return plain | {"outcome": str(finding.outcome), "level": str(finding.level)}


def _properties(finding: Finding, since: Since | None) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = [
        ("rule", finding.rule),
        ("level", str(finding.level)),
        ("outcome", str(finding.outcome)),
        ("subject", finding.subject),
        ("source", finding.source),
    ]
    if finding.pointer is not None:
        found.append(("pointer", finding.pointer))
    if since is not None:
        found.append(("since", str(since)))
    return found


def _text(finding: Finding) -> str:
    lines = [f"{finding.rule} ({finding.level}) on {finding.subject}: {finding.message}"]
    lines += [f"  expected: {finding.expected}", f"  received: {finding.received}"]
    if finding.pointer is not None:
        lines.append(f"  at:       {finding.pointer}")
    lines += [f"  also:     {text}" for text in finding.further]
    lines += [f"  fix:      {finding.fix}", f"  spec:     {finding.source}"]
    if finding.curl:
        lines.append(f"  request:  {finding.curl}")
    return "\n".join(lines)
