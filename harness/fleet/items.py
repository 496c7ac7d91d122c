"""Targets x rule families as pytest items: what was judged before is told here once more, item by item.

A fleet has hundreds of thousands of findings, far too many for items of their own; they stand in the targets' reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports import fleet as reported

if TYPE_CHECKING:
    from .session import FleetRun

SURVEY = "survey"  # stands for the families of a target that was not judged
_LETTERS: dict[str, tuple[str, dict[str, bool]]] = {
    reported.FAULT: ("E", {"red": True}),
    Outcome.FAILED: ("F", {"red": True}),
    Outcome.BLOCKED: ("b", {"yellow": True}),
    Outcome.ADVISORY: ("a", {"yellow": True}),
    Outcome.NOT_APPLICABLE: ("-", {}),
}


class Targets(pytest.Collector):
    """All targets of the run."""

    run: FleetRun

    @classmethod
    def from_parent(cls, parent: pytest.Collector, *, path: Path, run: FleetRun) -> Self:  # type: ignore[override]
        """Make the root collector."""
        node: Self = super().from_parent(parent, path=path, name="adcp", nodeid="adcp")
        node.run = run
        return node

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
        families = self.result.families
        if self.result.problem:
            families = (*families, _problem(self.result))
        for family in families:
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
        longrepr = (str(item.path), 0, f"{family.outcome}: {family.message}")
    now = time.time()
    for phase in (when, "teardown"):
        called = phase == when
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={item.name: 1},
            outcome=outcome if called else "passed",  # type: ignore[arg-type]
            longrepr=longrepr if called else None,
            when=phase,  # type: ignore[arg-type]
            duration=0.0,
            start=now,
            stop=now,
            user_properties=item.user_properties,
        )
        if called:
            report.adcp_family = family.outcome  # type: ignore[attr-defined]
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def status(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]]:
    """Return category, letter and word of an item."""
    outcome: str = report.adcp_family
    letter, markup = _LETTERS.get(outcome, (".", {"green": True}))
    category = "error" if outcome == reported.FAULT else outcome
    return category, letter, ("HARNESS FAULT" if outcome == reported.FAULT else outcome.upper(), markup)


def _pytest_outcome(family: reported.FamilyResult) -> tuple[str, str]:
    """Return how pytest's own machinery sees a family, and the phase that it is told for."""
    if family.outcome in (reported.FAULT, Outcome.FAILED):
        return "failed", "call"
    if family.outcome == Outcome.BLOCKED:
        # A blocked MUST is no pass: a failed set-up is what every reader of JUnit shows as "could not be tested".
        return ("failed", "setup") if family.must else ("skipped", "call")
    return ("skipped" if family.outcome == Outcome.NOT_APPLICABLE else "passed"), "call"


def _problem(result: reported.TargetResult) -> reported.FamilyResult:
    outcome = reported.FAULT if result.reached else Outcome.FAILED
    message = "\n".join(filter(None, (result.problem, result.cure)))
    return reported.FamilyResult(SURVEY, str(outcome), {}, message)
