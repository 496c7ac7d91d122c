"""The run of a fleet: targets are surveyed side by side within bounds, and judged as their transcripts are complete."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from pytest_adcp.harness import __version__
from pytest_adcp.harness.settings import Settings
from pytest_adcp.harness.verdict import ExitCode, Verdict
from pytest_adcp.reports import fleet as reported
from pytest_adcp.reports.model import Harness

from .jobs import TRANSCRIPT, JudgeJob, SurveyJob
from .pool import LostError, Pool
from .settings import Fleet, FleetTarget
from .shard import Shard
from .worker import MEMORY

FLEET = "fleet.json"
_GRACE = 60.0  # seconds beyond its own time limit after which a survey's process is taken for hung
_JUDGE_SECONDS = 600.0  # for one transcript: a report that takes longer never comes
_STALE = (
    "transcript.jsonl",
    "report.*",
    "report-*",
    "badge.*",
    "results.*",
)  # what an earlier run may have left

Ended = Callable[[reported.TargetResult], None]


def cores() -> int:
    """Return how many processes can judge at once."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Room:
    """How many requests may run at once to each host, in lanes: a target enters when all of its lanes have room.

    Counted are lanes of surveys that run, whatever these are doing, so nothing has to be agreed on between processes,
    and one that dies leaves nothing taken.
    """

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._taken: Counter[str] = Counter()

    def take(self, waiting: list[FleetTarget]) -> FleetTarget | None:
        """Take the first target out whose host has room; None where none has."""
        for target in waiting:
            lanes = target.settings.limits.concurrency
            if self._taken[target.host] + lanes <= self._per_host:
                self._taken[target.host] += lanes
                waiting.remove(target)
                return target
        return None

    def leave(self, target: FleetTarget) -> None:
        """Make room again."""
        self._taken[target.host] -= target.settings.limits.concurrency


@dataclass(eq=False)
class FleetRunner:
    """Surveys and judges the targets of a fleet.

    Args:
        ended: is told each result as it is there.
        modules: the suites that were selected, as dotted prefixes; none: all of them.
        extra: the modules of further rules.
    """

    fleet: Fleet
    ended: Ended
    modules: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def run(self) -> list[reported.TargetResult]:
        """Do it all; whatever becomes of a target is its result, and none of it is raised.

        Raises:
            OSError: a folder of reports cannot be written to.
        """
        for target in self.fleet.targets:
            _clear(target.folder)
        self._results: list[reported.TargetResult] = []
        anyio.run(self._run)
        return self._results

    async def _run(self) -> None:
        waiting = list(self.fleet.targets)
        room = Room(self.fleet.per_host)
        self._left = anyio.Event()
        running = 0
        deadline = anyio.current_time() + self.fleet.timeout
        async with Pool(self.fleet.concurrency) as surveys, Pool(cores()) as judges:

            async def see_to(target: FleetTarget) -> None:
                nonlocal running
                try:
                    problem = await self._surveyed(surveys, target, deadline - anyio.current_time())
                finally:
                    room.leave(target)
                    running -= 1
                    self._left.set()
                self._end(problem or await judged(judges, job_of(target, self.modules, self.extra)))

            async with anyio.create_task_group() as group:
                while waiting:
                    if anyio.current_time() >= deadline:
                        break
                    target = room.take(waiting) if running < self.fleet.concurrency else None
                    if target is not None:
                        running += 1
                        group.start_soon(see_to, target)
                        continue
                    self._left = anyio.Event()
                    with anyio.move_on_at(deadline):
                        await self._left.wait()
        for target in waiting:
            why = f"the time for the fleet ({self.fleet.timeout:g} s) was up before its turn"
            self._end(
                unjudged(target, ExitCode.INCONCLUSIVE, why, "raise --adcp-fleet-timeout, or shard the fleet")
            )

    def _end(self, result: reported.TargetResult) -> None:
        self._results.append(result)
        self.ended(result)

    async def _surveyed(
        self, surveys: Pool, target: FleetTarget, seconds: float
    ) -> reported.TargetResult | None:
        """Survey a target; return a result where that gives nothing to judge."""
        settings = target.settings
        seconds = max(seconds, 1.0)
        try:
            answer = await surveys.do(
                SurveyJob(settings, seconds), min(settings.limits.survey_timeout, seconds) + _GRACE
            )
        except LostError as lost:
            return unjudged(target, ExitCode.HARNESS_FAULT, f"the survey was lost: {lost}", _ALONE)
        return _problem(target, answer, "survey")


def job_of(target: FleetTarget, modules: tuple[str, ...] = (), extra: tuple[str, ...] = ()) -> JudgeJob:
    """Return the job that judges what was recorded of a target."""
    return JudgeJob(target.name, target.settings, target.folder / TRANSCRIPT, target.baseline, modules, extra)


async def judged(judges: Pool, job: JudgeJob) -> reported.TargetResult:
    """Have a transcript judged in a process of the pool; whatever becomes of that is the result."""
    target = FleetTarget(job.name, "", job.settings)
    try:
        answer = await judges.do(job, _JUDGE_SECONDS)
    except LostError as lost:
        return unjudged(target, ExitCode.HARNESS_FAULT, f"the judgement was lost: {lost}", _ALONE)
    return _problem(target, answer, "judgement") or reported.result(answer["done"])


def judge_all(jobs: Iterable[JudgeJob], processes: int) -> list[reported.TargetResult]:
    """Judge saved transcripts in a pool of processes; the results are in the order of the jobs."""

    async def run() -> list[reported.TargetResult]:
        given = list(jobs)
        results: dict[int, reported.TargetResult] = {}

        async def judge(index: int) -> None:
            results[index] = await judged(pool, given[index])

        async with Pool(processes) as pool, anyio.create_task_group() as group:
            for index in range(len(given)):
                group.start_soon(judge, index)
        return [results[index] for index in range(len(given))]

    return anyio.run(run)


_ALONE = "run it alone with --server-url, and report this as a fault of the harness if it happens again"


def _problem(target: FleetTarget, answer: dict[str, Any], what: str) -> reported.TargetResult | None:
    if "memory" in answer:
        why = f"its {what} took more than {MEMORY >> 20} MiB of memory, and was ended"
        cure = "lower --adcp-max-response-bytes or --adcp-concurrency for it"
        return unjudged(target, ExitCode.INCONCLUSIVE, why, cure)
    if "fault" in answer:
        last = answer["fault"][-1] if answer["fault"] else ""
        return unjudged(target, ExitCode.HARNESS_FAULT, f"the {what} broke: {last}", _ALONE)
    return None


def unjudged(target: FleetTarget, code: ExitCode, problem: str, cure: str) -> reported.TargetResult:
    """Return the result of a target that there is no judgement of."""
    return reported.TargetResult(
        name=target.name,
        url=target.settings.target.display_url if target.settings.target else "",
        verdict=Verdict.INCONCLUSIVE,
        exit_code=int(code),
        reached=code is not ExitCode.INCONCLUSIVE,
        reasons=(problem,),
        problem=problem,
        cure=cure,
    )


def fleet_report(
    fleet: Fleet, settings: Settings, results: Sequence[reported.TargetResult], started: float
) -> reported.Fleet:
    """Return the report of a run over a fleet.

    Args:
        settings: of the run.
        started: time.monotonic() when it began.
    """
    shard: Shard | None = fleet.shard
    return reported.Fleet(
        harness=Harness("pytest-adcp", __version__, __version__),
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=settings.public(),
        listed=reported.TargetListDigest(fleet.total, fleet.digest),
        shard=reported.ShardOf(shard.index, shard.count) if shard else None,
        seconds=round(time.monotonic() - started, 3),
        targets=reported.worst_first(results),
    )


def _clear(folder: Path) -> None:
    """Make a target's folder, and leave nothing in it that an earlier run has said."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in _STALE:
        for path in folder.glob(pattern):
            if path.is_file():
                path.unlink()
