"""A run over a fleet as a pytest plugin: survey and judge all targets, then tell each target x family as an item."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.harness import conclusion
from pytest_adcp.harness.config import shown_path
from pytest_adcp.harness.extra_suites import extra_modules
from pytest_adcp.harness.files import why_not_writable
from pytest_adcp.harness.schema_bundle import BundleError, find_bundle
from pytest_adcp.harness.selection import SUITES, Selection
from pytest_adcp.harness.settings import Settings
from pytest_adcp.harness.signals import ended_as_by_ctrl_c
from pytest_adcp.harness.text import plural, safe
from pytest_adcp.harness.verdict import ExitCode
from pytest_adcp.reports import fleet as reported
from pytest_adcp.reports import fleet_outputs, fleet_terminal, fleet_words

from .items import FamilyItem, Targets, status, tell
from .run import FLEET, FleetRunner, fleet_report


class FleetRun:
    """A run over the targets of a list, or over one shard of them."""

    def __init__(self, config: pytest.Config, selection: Selection, settings: Settings) -> None:
        """Take the settings; nothing is sent yet."""
        assert settings.fleet is not None
        self.config = config
        self.selection = selection
        self.settings = settings
        self.fleet = settings.fleet
        self.report: reported.Fleet | None = None
        self._collected = 0
        self._told: dict[str, str] = {}  # outcomes by node id
        self._unwritten: list[str] = []
        self._why = ""  # the exit code and its reason
        self._foreign_failures = 0
        self._is_worker = hasattr(config, "workerinput")
        self._extra = extra_modules(config)

    @property
    def file(self) -> Path:
        """Where the fleet's report is."""
        return self.settings.report_dir / FLEET

    @property
    def results(self) -> tuple[reported.TargetResult, ...]:
        """What became of the targets, the gravest first."""
        return self.report.targets if self.report is not None else ()

    # -- survey and judgement ----------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Survey and judge, once, before anything is collected and before xdist starts its workers."""
        option = session.config.option
        if option.showfixtures or option.show_fixtures_per_test or getattr(option, "cacheshow", None):
            return
        if self._is_worker:
            given: Mapping[str, str] = session.config.workerinput["adcp"]  # type: ignore[attr-defined]
            self.report = reported.load(Path(given["file"]))
            if self._digest() != given["sha256"]:
                raise pytest.UsageError(f"adcp: {given['file']} is not the fleet that the run judged")
            return
        self._check()
        started = time.monotonic()
        runner = FleetRunner(self.fleet, self._ended, self.selection.modules, self._extra)
        self._done = 0
        try:
            with ended_as_by_ctrl_c():
                results = runner.run()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise pytest.UsageError(f"adcp: a report cannot be written: {safe(why)}") from None
        except KeyboardInterrupt:
            pytest.exit(
                f"adcp: interrupted; {self._done} of {plural(len(self.fleet.targets), 'target')} judged, their "
                f"reports are in {shown_path(self.settings.report_dir)}",
                returncode=2,
            )
        self.report = fleet_report(self.fleet, self.settings, results, started)
        reported.save(self.report, self.file)
        self._unwritten = fleet_outputs.write_beside(self.report, self.file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where the results are."""
        node.workerinput["adcp"] = {"file": str(self.file), "sha256": self._digest()}

    def _digest(self) -> str:
        return hashlib.sha256(self.file.read_bytes()).hexdigest() if self.file.is_file() else ""

    def _check(self) -> None:
        """Find out before any server is asked whether schemas can be read and reports be written."""
        folder = self.settings.schemas
        try:
            find_bundle(folder, shown_as=shown_path(folder) if folder else "")
        except BundleError as error:
            raise pytest.UsageError(f"adcp: {safe(str(error), 600)}") from None
        if why := why_not_writable(self.settings.report_dir, make=True):
            shown = safe(str(self.settings.report_dir), 400)
            raise pytest.UsageError(f"adcp: the reports cannot be written to {shown}: {why}")

    def _ended(self, result: reported.TargetResult) -> None:
        self._done += 1
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self.config.option.verbose >= 0:
            number = f"[{self._done}/{len(self.fleet.targets)}]"
            reporter.write_line(f"adcp: {number} {fleet_terminal.line(result)}")

    # -- items -------------------------------------------------------------------------------------------------

    def pytest_report_header(self) -> list[str]:
        """Say what is judged."""
        shard = f", shard {self.fleet.shard} of {self.fleet.total}" if self.fleet.shard else ""
        profiles = ", ".join(self.settings.profiles)
        where = safe(shown_path(self.fleet.file))
        return [
            f"adcp: {plural(len(self.fleet.targets), 'target')} of {where}{shard} (profiles: {profiles}; "
            f"{self.fleet.concurrency} targets at once, {self.fleet.per_host} requests at once to a host)"
        ]

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect targets x families in the place of the suites."""
        return Targets.from_parent(parent, path=path, run=self) if path.resolve() == SUITES else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the items before anything is deselected, to tell a partial run."""
        self._collected = sum(isinstance(item, FamilyItem) for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Tell what was judged; every other item takes pytest's own way."""
        if not isinstance(item, FamilyItem):
            return None
        tell(item)
        return True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Name the outcomes that pytest has no word for."""
        return status(report) if hasattr(report, "adcp_family") else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which items ran, and failures of the user's own tests."""
        outcome = getattr(report, "adcp_family", None)
        if outcome is None:
            self._foreign_failures += report.failed
        else:
            self._told[report.nodeid] = outcome

    # -- conclusion --------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit code: that of the gravest target, or in a partial run of the gravest item."""
        interrupted = exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
        if self._is_worker or interrupted or self.report is None or session.config.option.collectonly:
            return
        if self._narrowed:
            code = self._of_items()
            self._why = f"exit code {int(code)}: by the items that ran"
        else:
            code = self.report.exit_code
            self._why = fleet_words.ended(self.report)
        passed = (ExitCode.CONFORMANT, ExitCode.NOTHING_SELECTED, ExitCode.INCONCLUSIVE)
        if self._foreign_failures and code in passed:
            code = ExitCode.NONCONFORMANT
            self._why = (
                f"exit code {int(code)}: {plural(self._foreign_failures, 'test')} beside the fleet failed"
            )
        session.exitstatus = code

    @property
    def _narrowed(self) -> str:
        left = len(self._told) < self._collected
        how = conclusion.narrowed(self.config, self.selection, None, (), left=left) if self.report else []
        return "".join(how)

    def _of_items(self) -> int:
        """Return what a part says: the fleet as if nothing but the items that ran had been judged."""
        if not self._told:
            return ExitCode.NOTHING_SELECTED
        if reported.FAULT in self._told.values():
            return ExitCode.HARNESS_FAULT
        unreached = {f"{result.name}::survey" for result in self.results if not result.reached}
        if unreached & self._told.keys():
            return ExitCode.INCONCLUSIVE
        return ExitCode.NONCONFORMANT if "failed" in self._told.values() else ExitCode.CONFORMANT

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the fleet, the gravest target first."""
        if self.report is None or self._is_worker:
            return
        files = [file for file in (self.file, *fleet_outputs.beside(self.file)) if file.is_file()]
        lines = fleet_terminal.summary(
            self.report,
            verbosity=self.config.option.verbose,
            files=[shown_path(file) for file in files],
            narrowed=self._narrowed,
            why=self._why,
        )
        for line, markup in lines:
            terminalreporter.write_line(line, **markup)
        for line in self._unwritten:
            terminalreporter.write_line(f"adcp: {line}", red=True)
