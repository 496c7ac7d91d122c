"""How many saved transcripts are judged again and reported in a second, by one process and by two.

    python benchmarks/fleet_judging.py [--transcripts 100] [--rounds 3]

One survey of the reference seller is judged again and again; each time its report is written. One process and two take
turns, and the best of each counts. The exit code is 1 when two do not do 1.7 x as much as one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from pytest_adcp.harness.demo import demo_seller
from pytest_adcp.harness.fleet.jobs import TRANSCRIPT, JudgeJob, SurveyJob
from pytest_adcp.harness.fleet.run import judge_all
from pytest_adcp.harness.options import OPTIONS
from pytest_adcp.harness.settings import Settings, resolve

RATIO = 1.7
FOLDERS = 20  # of reports, each written again and again: a report takes two megabytes


def told(url: str, folder: Path) -> Settings:
    """Return the settings of a plain run."""
    given = Namespace(**{option.dest: None for option in OPTIONS} | {"adcp_server_url": url})
    return replace(resolve(given, folder), report_dir=folder, interop=False)


def rate(jobs: list[JudgeJob], processes: int) -> float:
    """Judge all; return transcripts a second of what the processes do once they have started."""
    started = time.perf_counter()
    results = judge_all(jobs, processes)
    seconds = time.perf_counter() - started
    assert {result.verdict for result in results} == {"conformant"}
    return len(jobs) / seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--transcripts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        with demo_seller() as url:
            settings = told(url, folder)
            SurveyJob(settings, 60.0).run()
        jobs = []
        for number in range(arguments.transcripts):
            out = folder / str(number % FOLDERS)
            out.mkdir(exist_ok=True)
            jobs.append(JudgeJob(f"t{number}", replace(settings, report_dir=out), folder / TRANSCRIPT))
        rounds = [(rate(jobs, 1), rate(jobs, 2)) for _ in range(arguments.rounds)]
    one, two = (max(rates) for rates in zip(*rounds, strict=True))
    print(f"{arguments.transcripts} transcripts: {one:.1f} a second by one process, {two:.1f} by two")
    print(f"judged again, two processes / one  {two / one:.2f}  (at least {RATIO})")
    return int(two / one < RATIO)


if __name__ == "__main__":
    sys.exit(main())
