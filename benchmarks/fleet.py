"""What a fleet costs: wall, CPU, requests, and the memory of all its processes, for a small fleet and a large one.

    python benchmarks/fleet.py [--few 50] [--many 200] [--latency 0.05]

Reference sellers run in two processes of their own, which are not counted. The two fleets are compared: memory must not
grow with the number of targets, and CPU must grow no faster than it. The exit code is 1 when it does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from processes import Memory, environment
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.seller.server import serve

SELLER_PROCESSES = 2
AT_ONCE = 16  # targets
MEMORY_RATIO, CPU_RATIO, PEAK = 1.25, 1.15, 1200.0


@dataclass(frozen=True)
class Cost:
    """Seconds, MiB, and counts."""

    wall: float
    cpu: float
    peak: float
    processes: int
    requests: int


async def _serve(count: int, latency: float) -> None:
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(serve(SellerOptions(latency=latency))) for _ in range(count)]
        print(json.dumps(urls), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def sellers(count: int, latency: float) -> Iterator[list[str]]:
    """Serve that many sellers from a few processes; yields their URLs."""
    with ExitStack() as stack:
        processes = []
        for number in range(SELLER_PROCESSES):
            share = (count + number) // SELLER_PROCESSES
            command = [sys.executable, __file__, "--serve", str(share), "--latency", str(latency)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            processes.append(stack.enter_context(process))
        yield [url for process in processes for url in json.loads(process.stdout.readline())]
        for process in processes:
            process.stdin.close()


def measure(urls: list[str], env: dict[str, str]) -> Cost:
    """Run pytest over a fleet once."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+") as out:
        folder = Path(name)
        targets = [{"name": f"seller-{number}", "url": url} for number, url in enumerate(urls)]
        (folder / "targets.json").write_text(json.dumps(targets))
        (folder / "adcp.yaml").write_text("plan: {interop: false}\n")
        bounds = (f"--adcp-fleet-concurrency={AT_ONCE}", "--adcp-fleet-per-host=64")
        command = [sys.executable, "-m", "pytest", "--adcp-targets=targets.json", *bounds, "-q"]
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out)
        with Memory(process.pid) as memory:
            _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode:
            raise RuntimeError(f"exit code {process.returncode}:\n{out.read()}")
        fleet = json.loads((folder / "adcp-report" / "fleet.json").read_text())
        assert {target["verdict"] for target in fleet["targets"]} == {"conformant"}
        requests = sum(target["requests"] for target in fleet["targets"])
    return Cost(wall, usage.ru_utime + usage.ru_stime, memory.peak, memory.processes, requests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--many", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        asyncio.run(_serve(arguments.serve, arguments.latency))
        return 0
    few, many = arguments.few, arguments.many
    with environment() as env, sellers(many, arguments.latency) as urls:
        measure(urls[:2], dict(env))  # bytecode
        costs = {count: measure(urls[:count], dict(env)) for count in (few, many)}
    for count, cost in costs.items():
        print(
            f"{count} targets: {cost.wall:.1f} s, {cost.cpu:.1f} s of CPU, {cost.requests:,} requests, "
            f"{cost.peak:.0f} MiB in {cost.processes} processes"
        )
    memory = costs[many].peak / costs[few].peak if costs[few].peak else 1.0
    cpu = costs[many].cpu / many / (costs[few].cpu / few)
    print(f"fleet memory, {many} / {few} targets  {memory:.2f}  (at most {MEMORY_RATIO})")
    print(f"fleet CPU a target, {many} / {few}  {cpu:.2f}  (at most {CPU_RATIO})")
    print(f"fleet memory, {many} targets  {costs[many].peak:.0f} MiB  (at most {PEAK:.0f})")
    return int(memory > MEMORY_RATIO or cpu > CPU_RATIO or costs[many].peak > PEAK)


if __name__ == "__main__":
    sys.exit(main())
