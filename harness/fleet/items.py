"""Targets x rule families as pytest items: what was judged before is told here once more, item by item.

A fleet has hundreds of thousands of findings, far too many for items of their own; they stand in the targets' reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from pytest_adcp.harness.items import Root, shown, told_report
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports import fleet as reported

if TYPE_CHECKING:
    from .session import FleetRun

SURVEY = "survey"  # stands for the families of a target that was not judged
BASELINE = "baseline"  # stands for what is wrong with a target's baseline


class Targets(Root):
    """All targets of the run."""

    run: FleetRun

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield a collector a target, the gravest first."""
        for result in self.run.results:
            yield OneTarget.of(self, result)


class OneTarget(pytest.Collector):
    """The families of one target, or the one reason why there are none."""

    result: reported.TargetResult
    run: FleetRun

    @classmethod
    def of(cls, parent: Targets, result: reported.TargetResult) -> Self:
        """Make the collector of a target."""
        node: Self = cls.from_parent(parent, name=result.name, nodeid=result.name, path=parent.path)
        node.result, node.run = result, parent.run
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each family."""
        for family in (*self.result.families, *_beside(self.result)):
            item = FamilyItem.of(self, family)
            if self.run.selection.takes_node(item.nodeid):
                yield item


class FamilyItem(pytest.Item):
    """What the rules of one family gave on one target."""

    target: reported.TargetResult
    family: reported.FamilyResult

    @classmethod
    def of(cls, parent: OneTarget, family: reported.FamilyResult) -> Self:
        """Make the item: NAME::adcp.errors."""
        nodeid = f"{parent.nodeid}::{family.family}"
        node: Self = cls.from_parent(parent, name=family.family, nodeid=nodeid, path=parent.path)
        node.target, node.family = parent.result, family
        node.add_marker(pytest.mark.adcp_family(family.family))
        return node

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the item stands."""
        return self.path, None, self.nodeid

    def runtest(self) -> None:
        """Fail as it was judged (pytest requires the method; FleetRun's protocol calls tell instead)."""
        if _pytest_outcome(self.family)[0] == "failed":
            pytest.fail(self.family.message, pytrace=False)


def tell(item: FamilyItem) -> None:
    """Report an item the way pytest's own protocol does."""
    hook, family = item.ihook, item.family
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    item.user_properties += [
        ("target", item.target.name),
        ("url", item.target.url),
        ("family", family.family),
        ("outcome", family.outcome),
        ("counts", ", ".join(f"{number} {name}" for name, number in family.counts.items())),
    ]
    outcome, when = _pytest_outcome(family)
    longrepr: Any = None
    if outcome == "failed":
        longrepr = f"{family.message}\n({family.outcome}: {item.target.name}, {item.target.url})"
    elif outcome == "skipped":
        longrepr = (family.family, 0, f"{family.outcome}: {family.message}")
    now = time.time()
    report = told_report(item, outcome, longrepr, when=when, start=now, stop=now)
    report.adcp_family = family.outcome  # type: ignore[attr-defined]
    if family.outcome == Outcome.KNOWN:
        report.wasxfail = family.message  # what pytest and JUnit call an expected failure
    hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logreport(
        report=told_report(item, "passed", None, when="teardown", start=now, stop=now)
    )
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def status(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]]:
    """Return category, letter and word of an item."""
    return shown(report.adcp_family)


def _pytest_outcome(family: reported.FamilyResult) -> tuple[str, str]:
    """Return how pytest's own machinery sees a family, and the phase that it is told for."""
    if family.outcome in (reported.FAULT, Outcome.FAILED):
        return "failed", "call"
    if family.outcome == Outcome.BLOCKED:
        # A blocked MUST is no pass: a failed set-up is what every reader of JUnit shows as "could not be tested".
        return ("failed", "setup") if family.must else ("skipped", "call")
    skipped = family.outcome in (Outcome.NOT_APPLICABLE, Outcome.KNOWN)
    return ("skipped" if skipped else "passed"), "call"


def _beside(result: reported.TargetResult) -> Iterator[reported.FamilyResult]:
    """Yield what makes a target fail, or keeps it from being judged, beside its rules."""
    if result.problem:
        outcome = reported.FAULT if result.reached else Outcome.FAILED
        message = "\n".join(filter(None, (result.problem, result.cure)))
        yield reported.FamilyResult(SURVEY, str(outcome), {}, message)
    if result.stale:
        yield reported.FamilyResult(BASELINE, Outcome.FAILED, {}, "\n".join(result.stale))
