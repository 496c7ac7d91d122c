"""How many rule items are judged a second: by pytest with all of its reporting, and by judge() alone.

    python benchmarks/judging.py [--copies 40] [--rounds 3]

A survey of the reference seller is saved with its calls repeated, and `pytest --adcp-replay` judges that file in a
process of its own. Its items are divided by all the seconds of CPU that it takes (one core's, since it has one thread),
from the start of the interpreter to the written report. The best of all rounds counts; the exit code is 1 when pytest
judges fewer than 2,000 items a second.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import anyio
from processes import environment, run
from pytest_adcp.harness.demo import demo_seller
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Kind, Limits, Transcript
from pytest_adcp.harness.verdict import judge
from pytest_adcp.harness.wire import Connection
from pytest_adcp.suites import CORE

BOUND = 2000  # items a second


def recorded() -> Transcript:
    """Survey the reference seller."""
    with demo_seller() as url:
        surveyor = Surveyor(Order(Target.parse(url), Connection(), Limits(), PlanRequest(probes=False)))
        anyio.run(surveyor.run)
    return surveyor.transcript()


def repeated(transcript: Transcript, copies: int) -> Transcript:
    """Return the transcript with each call made so many times."""
    calls, exchanges = [], []
    for copy in range(copies):
        calls += [replace(call, name=f"{call.name}-{copy}") for call in transcript.survey.calls]
        exchanges += [
            replace(exchange, subject=f"{exchange.subject}-{copy}")
            if exchange.kind is Kind.CALL
            else exchange
            for exchange in transcript.exchanges
            if exchange.kind is Kind.CALL or copy == 0
        ]
    numbered = (replace(exchange, index=index) for index, exchange in enumerate(exchanges))
    return Transcript(replace(transcript.survey, calls=tuple(calls)), tuple(numbered))


def alone(transcript: Transcript) -> tuple[float, float, int]:
    """Read and judge in this process; return CPU seconds of reading, CPU seconds of judging, and how many items."""
    started = time.process_time()
    evidence = Evidence(transcript)
    items = [(rule, entry) for rule in load(CORE) for entry in evidence.of(rule)]
    read = time.process_time()
    for rule, entry in items:
        judge(rule, entry)
    return read - started, time.process_time() - read, len(items)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    transcript = repeated(recorded(), options.copies)
    with tempfile.TemporaryDirectory() as name, environment() as env:
        folder = Path(name)
        transcript.save(folder / "big.jsonl")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--adcp-replay=big.jsonl"]
        runs = [run(command, folder, env) for _ in range(1 + options.rounds)][1:]
        report = json.loads((folder / "adcp-report" / "report.json").read_text(encoding="utf-8"))
    judged = sum(report["targets"][0]["counts"].values())
    best = min(runs, key=lambda each: each.cpu)
    reading, judging, items = min(alone(transcript) for _ in range(options.rounds))
    assert items == judged
    print(
        f"items a second, pytest  {judged / best.cpu:,.0f}  (at least {BOUND:,}; {judged:,} items,"
        f" CPU {best.cpu:.2f} s, wall {best.wall:.2f} s, {best.peak:.0f} MiB)"
    )
    print(
        f"items a second, judge() alone  {items / judging:,.0f}  (CPU {judging:.2f} s, and {reading:.2f} s for reading)"
    )
    return int(judged / best.cpu < BOUND)


if __name__ == "__main__":
    sys.exit(main())
