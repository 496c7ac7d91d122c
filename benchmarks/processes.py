"""Runs a command and says what it cost."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """Wall and CPU in seconds, the peak of the resident memory in MiB, and what the command printed."""

    wall: float
    cpu: float
    peak: float
    printed: str


@contextmanager
def environment() -> Iterator[Mapping[str, str]]:
    """Yield an environment as a user has it: bytecode is kept from run to run (here in a folder that goes in the end),
    and no option of ours or of pytest's is set."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "ADCP_"))}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        yield {**kept, "PYTHONPYCACHEPREFIX": cache, "COLUMNS": "100"}


def run(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Cost:
    """Run a command to its end.

    The peak is that of the largest process among it and its children, since the system keeps no other: right where the
    children are smaller. CPU is that of all of them.

    Raises:
        RuntimeError: it failed; the text is what it printed.
    """
    with tempfile.TemporaryFile("w+") as out:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read()
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}:\n{printed}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


class Memory:
    """Watches the memory of a process and of all that it starts; `peak` is in MiB, `processes` how many there were at once.

    Memory that processes share is counted once, so that the sum is what the machine has to have. Linux only; elsewhere 0.
    """

    def __init__(self, pid: int, every: float = 0.5) -> None:
        self.peak = 0.0
        self.processes = 0
        self._pid = pid
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            sizes = [_proportional(pid) for pid in _descendants(self._pid)]
            self.processes = max(self.processes, len(sizes))
            self.peak = max(self.peak, sum(sizes) / 1024)


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def _proportional(pid: int) -> int:
    """Return the proportional set size of a process in KiB."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
