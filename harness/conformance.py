"""One conformance run as a pytest plugin: survey, collect, judge, conclude, report. Registered only when one is asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp import suites
from pytest_adcp.reports import build, model, outputs, terminal

from . import conclusion, judging, options, scaffold
from .alarms import Alarms
from .config import shown_path
from .evidence import Evidence
from .extra_suites import extra_modules
from .files import why_not_writable
from .given import DEMO
from .items import RuleItem, Suites, baseline_reports, judge_item, status
from .library.bench import Libraries, libraries
from .plan import Plan, describe
from .progress import Progress
from .redact import Redactor
from .rules import Level, Profile, Rule
from .schema_bundle import BundleError, find_bundle
from .schemas import Validators
from .selection import SUITES, Selection
from .settings import Settings
from .subjects import Entry
from .surveying import SurveyInterrupted, survey
from .text import safe
from .transcript import Diagnosis, Transcript, TranscriptError, file_digest
from .verdict import ExitCode, Finding, Outcome

_OURS = ("survey::", "baseline::")  # items that are no rule
_TRANSCRIPT = "transcript.jsonl"
_REPORT = "report.json"


def plugin_for(config: pytest.Config, selection: Selection) -> object:
    """Return the plugin that runs what was selected."""
    if selection.missed:
        return NothingSelected()
    run = Conformance(config, selection)
    if run.settings.fleet is not None:
        from .fleet.session import FleetRun  # only fleets need it

        return FleetRun(config, selection, run.settings)
    return run


class NothingSelected:
    """A verdict was asked for, and a path keeps the suites out: green would mean nothing."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Turn a pass of other tests into 'nothing selected'."""
        if exitstatus == 0 and not hasattr(session.config, "workerinput"):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why."""
        terminalreporter.write_line(
            "adcp: no conformance rule was collected, because a path was given (on the command line or in addopts); "
            f"add --pyargs {suites.__name__}, or give no path"
        )


class Conformance:
    """A run: its settings, its transcript, and what was found."""

    def __init__(self, config: pytest.Config, selection: Selection) -> None:
        """Work out the settings.

        Raises:
            pytest.UsageError: an option, a variable or adcp.yaml is wrong.
        """
        self.config = config
        self.selection = selection
        self.settings: Settings = options.build(config)
        self._extra = extra_modules(config)
        self.alarms = Alarms(self.settings.alarms, self._extra)
        self.evidence: Evidence | None = None
        self._schemas: Validators | None = None
        self.findings: list[Finding] = []
        self._libraries: Libraries | None = None
        self._faults = 0
        self._collected = 0
        self._foreign_failures = 0
        self._transcript: Transcript | None = None
        self._file: Path | None = None
        self._digest = ""
        self._plan: Plan | None = None
        self._wrote = ""  # what to say of the configuration that was written
        self._report: model.Report | None = None
        self._beside: list[Path] = []  # what was written beside report.json
        self._unwritten: list[str] = []
        self._wrote_report = False
        self._cleanup = ExitStack()
        self._is_worker = hasattr(config, "workerinput")

    # -- survey ------------------------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Survey the target, once, before anything is collected and before xdist starts its workers."""
        option = session.config.option
        if (
            option.showfixtures
            or option.show_fixtures_per_test
            or getattr(option, "cacheshow", None) is not None
        ):
            return
        if Profile.CLIENT in self.settings.profiles:
            self._libraries = self._cleanup.enter_context(
                libraries(replace(self.settings.library, secrets=self.settings.secrets()))
            )
        if self._judges_server:
            self._find_schemas()
        if self._is_worker and self._judges_server:
            given: Mapping[str, str] = session.config.workerinput["adcp"]  # type: ignore[attr-defined]
            self._read(Path(given["file"]))
            if given["sha256"] != self._digest:
                raise pytest.UsageError(f"adcp: {given['file']} is not the transcript that the run recorded")
        elif self.settings.replay is not None:
            self._read(self.settings.replay)
        self.alarms.read(*self._named(), is_worker=self._is_worker)
        if not self._is_worker:
            # Only when everything that is read has been read, and before a server is asked for anything.
            self._check_report_folder()
        if self._judges_server and self.evidence is None:
            self._survey()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker which transcript to judge."""
        node.workerinput["adcp"] = {"file": str(self._file or ""), "sha256": self._digest}

    def _named(self) -> tuple[str, str]:
        """Return name and URL of what is judged, as far as they are known before the survey."""
        if self.evidence is not None:
            return safe(self.evidence.transcript.survey.name), self.evidence.transcript.survey.url
        if self.settings.demo:
            return DEMO, ""
        if self.settings.target is not None:
            return safe(self.settings.target.name), self.settings.target.display_url
        library = self._library()
        return library.name if library else "", ""

    def _find_schemas(self) -> None:
        folder = self.settings.schemas
        try:
            bundle = find_bundle(folder, shown_as=shown_path(folder) if folder else "")
        except BundleError as error:
            raise pytest.UsageError(f"adcp: {safe(str(error), 600)}") from None
        self._schemas = Validators(bundle) if bundle else None

    def _check_report_folder(self) -> None:
        """Find out before the survey whether its report can be written."""
        folder = self.settings.report_dir
        if self.settings.plan_only:
            return
        if why := why_not_writable(folder, make=True):
            raise pytest.UsageError(f"adcp: the report cannot be written to {safe(str(folder), 400)}: {why}")

    def _read(self, path: Path) -> None:
        try:
            self._transcript = Transcript.load(path)
            self._file, self._digest = path, file_digest(path)
        except (TranscriptError, OSError) as error:
            raise pytest.UsageError(f"adcp: {safe(str(error), 600)}") from None
        self.evidence = self._evidence(self._transcript)

    def _evidence(self, transcript: Transcript) -> Evidence:
        return judging.evidence_of(transcript, self.settings, self._schemas)

    def _survey(self) -> None:
        try:
            found = survey(self.settings, Progress(self.config, trace=self.settings.trace))
        except SurveyInterrupted as interrupted:
            self._keep(interrupted.transcript)
            # Those of an earlier run are not about this transcript, and would pass for the reports of this one.
            outputs.remove(self.settings.report_dir)
            kept = len(interrupted.transcript.exchanges)
            pytest.exit(f"adcp: survey interrupted; {kept} exchanges kept in {self._file}", returncode=2)
        self._plan = found.plan
        if not self.settings.plan_only:
            self._keep(found.transcript)
        self.evidence = self._evidence(found.transcript)
        if self.settings.scaffold is not None and self.unusable is None:
            self._wrote = scaffold.write(self.settings.scaffold, self._seller())

    def _seller(self) -> scaffold.Seller:
        assert self.evidence is not None
        settings, target = self.settings, self.settings.target
        return scaffold.Seller(
            url=DEMO if target is None else target.display_url,
            has_secret=target is not None and target.display_url != target.url,
            server=self.evidence.server,
            account=settings.account,
            sandbox_account=settings.sandbox_account,
            mutating=settings.mutating,
        )

    def _keep(self, transcript: Transcript) -> None:
        """Save the transcript where it was asked for; workers and the report read it from there."""
        self._transcript = transcript
        folder = self.settings.report_dir
        if not self.settings.keep_transcript:
            folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="pytest-adcp-")))
        self._file = folder / _TRANSCRIPT
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._digest = transcript.save(self._file)
            if self.settings.record is not None:
                transcript.save(self.settings.record)
        except OSError as error:
            raise pytest.UsageError(
                f"adcp: the transcript cannot be written: {error.strerror or type(error).__name__}"
            ) from None
        self._transcript = replace(transcript, sha256=self._digest)

    # -- collection and judgement --------------------------------------------------------------------------------

    def pytest_report_header(self) -> list[str]:
        """Say what is judged."""
        target = self.evidence.transcript.survey.url if self.evidence else ""
        if self._libraries is not None:
            target = ", ".join(filter(None, (target, self._libraries.names())))
        profiles = ", ".join(self.settings.profiles)
        used = conclusion.schemas_used(self.evidence)
        by = f", schemas: {safe(used[1])} of {safe(used[0])}" if used else ""
        return [f"adcp: {safe(target)} (profiles: {profiles}{by})"]

    @property
    def _judges_server(self) -> bool:
        """Whether a profile was chosen that is about a server."""
        return any(profile is not Profile.CLIENT for profile in self.settings.profiles)

    def rules(self) -> list[Rule]:
        """Return the rules that this run tries; one stands for all where the target could not be surveyed."""
        if self.settings.plan_only:
            return []
        return judging.rules_of(
            self.settings,
            self.selection.takes,
            server=self.evidence is not None,
            unusable=self.unusable,
            extra=self._extra,
        )

    def entries(self, rule: Rule) -> tuple[Entry, ...]:
        """Return what a rule is tried on."""
        if rule.profile is Profile.CLIENT:
            assert self._libraries is not None
            return self._libraries.entries(rule)
        assert self.evidence is not None
        return judging.entries_of(self.evidence, rule, self.settings.tools)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the packaged suites as rules x subjects."""
        if path.resolve() != SUITES:
            return None
        return Suites.from_parent(parent, path=path, run=self)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what of the user's own could not be collected."""
        self._foreign_failures += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the rules before anything is deselected, to tell a partial run."""
        self._collected = sum(isinstance(item, RuleItem) for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Judge a rule item; every other item takes pytest's own way."""
        if not isinstance(item, RuleItem):
            return None
        judge_item(item)
        return True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Name the outcomes that pytest has no word for."""
        return status(report) if hasattr(report, "adcp") else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather findings; a report carries its finding as a plain dict, also across xdist."""
        found: dict[str, Any] | None = getattr(report, "adcp", None)
        if found is None:
            self._foreign_failures += report.failed and not report.nodeid.startswith(_OURS)
            return
        if "fault" in found:
            self._faults += 1
        else:
            enums = {"outcome": Outcome(found["outcome"]), "level": Level(found["level"])}
            self.findings.append(Finding(**(found | enums)))

    # -- conclusion ----------------------------------------------------------------------------------------------

    @property
    def unusable(self) -> Diagnosis | None:
        """Why the target could not be surveyed; None where it could, or none was asked for."""
        return self.evidence.transcript.survey.unusable if self.evidence is not None else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Conclude: verdict, report, exit code."""
        if self._is_worker or exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
            return
        if self.settings.plan_only:
            session.exitstatus = ExitCode.INCONCLUSIVE if self.unusable else ExitCode.CONFORMANT
            return
        if session.config.option.collectonly:
            return
        left = len(self.findings) + self._faults < self._collected
        narrowed = conclusion.narrowed(
            self.config, self.selection, self.evidence, self.settings.tools, left=left
        )
        concluded = conclusion.concluded(
            self.evidence,
            self.findings,
            tools=self.settings.tools,
            profiles=self.settings.profiles,
            narrowed=narrowed,
            further=self._libraries.missing() if self._libraries is not None else [],
        )
        self.alarms.conclude(
            self.findings,
            whole=not narrowed and (self.evidence is None or self.evidence.transcript.survey.complete),
            usable=self.unusable is None and not self._faults,
            left_out=conclusion.left_out(self.evidence),
        )
        self._report = self.alarms.completed(self._build_report(concluded))
        self._wrote_report = self._write()
        page = self.settings.report_dir / outputs.PAGE
        self._beside = [page] if page.exists() else []
        (target,) = self._report.targets
        for report in baseline_reports(target.baseline):
            session.config.hook.pytest_runtest_logreport(report=report)
        alarm = target.alarm.fails if target.alarm is not None else None
        code = concluded.exit_code(faults=self._faults, alarm=alarm)
        if not (self.alarms.wrote and self._wrote_report):
            code = ExitCode.HARNESS_FAULT
        # Tests of the user's own ran beside the rules: their failures count as everywhere.
        failed_too = self._foreign_failures and code in (
            ExitCode.CONFORMANT,
            ExitCode.NOTHING_SELECTED,
            ExitCode.INCONCLUSIVE,
        )
        session.exitstatus = ExitCode.NONCONFORMANT if failed_too else code

    def _write(self) -> bool:
        """Write report.json and what is made of it; say whether report.json is there."""
        assert self._report is not None
        try:
            model.save(self._report, self.settings.report_dir / _REPORT)
        except OSError as error:
            self._unwritten = [f"{_REPORT} could not be written: {error.strerror or type(error).__name__}"]
            return False
        self._unwritten = outputs.write_outputs(
            self._report,
            self.settings.report_dir,
            transcript=self._transcript,
            sarif_file=self.settings.sarif,
            requirements={rule.id: rule.requirement for rule in self.rules()},
        )
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the plan that was asked for, or the verdict and what to do about it."""
        write = terminalreporter.write_line
        if self._wrote:
            write(self._wrote)
        elif self.settings.plan_only and self.unusable is not None:
            write(safe(self.unusable.message, 1500))
            write(safe(self.unusable.cure, 600))
        elif self.settings.plan_only and self._plan is not None:
            for line in Redactor(self.settings.secrets()).text(describe(self._plan)).splitlines():
                write(line)
        if self._report is None:
            return
        width = terminalreporter._tw.fullwidth
        for line in self.alarms.told():
            write(line)
        for line, markup in terminal.summary(
            self._report,
            width=width,
            verbosity=self.config.option.verbose,
            report_file=self.settings.report_dir / _REPORT if self._wrote_report else None,
            beside=self._beside,
        ):
            write(line, **markup)
        for line in self._unwritten:
            write(f"adcp: {line}", red=True)

    def pytest_unconfigure(self) -> None:
        """Remove what was only kept for the run."""
        self._cleanup.close()

    def _library(self) -> model.Server | None:
        if self._libraries is None:
            return None
        names, versions = (
            safe(", ".join(filter(None, parts)))
            for parts in zip(*self._libraries.declared_names(), strict=True)
        )
        return model.Server(names, versions, None)

    def _build_report(self, concluded: conclusion.Conclusion) -> model.Report:
        folder = self.settings.report_dir
        kept = self._file is not None and (self.settings.keep_transcript or self.settings.replay is not None)
        file = os.path.relpath(self._file, folder) if kept and self._file is not None else None
        facts = build.facts_of(
            self.evidence,
            self.rules(),
            self.findings,
            concluded,
            profiles=self.settings.profiles,
            transcript=model.TranscriptFile(file, self._digest) if file else None,
            library=self._library() if self.evidence is None else None,
            baseline=self.alarms.baseline(self.rules()),
        )
        return build.build([facts], settings=self.settings.public(), generated_at=datetime.now(UTC))
