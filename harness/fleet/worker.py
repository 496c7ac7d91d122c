"""`python -m pytest_adcp.harness.fleet.worker`: takes jobs on its standard input, one after the other, until that closes.

A job is a pickled record behind its length, from the run's own process; an answer is one line of JSON. Pickle goes one
way only: what has talked to a server sends back plain data.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import sys
import threading
from io import FileIO
from pathlib import Path
from typing import Any

MEMORY = 2 * 1024 * 1024 * 1024  # bytes of a process: a target that takes more harms nobody but itself
RETIRE = 512 * 1024  # KiB of peak memory after which a process takes no further job
SIZE = 8  # bytes of a job's length


def main() -> int:
    """Work until there are no more jobs."""
    # Whatever a library prints must not stand among the answers.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _bound_memory()
    from .jobs import answer

    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(os.fdopen(0, "rb", 0), jobs), daemon=True).start()
    while True:
        text = json.dumps(answer(jobs.get()) | {"retire": _peak() > RETIRE})
        channel.write(text.encode("ascii") + b"\n")
        channel.flush()


def _take(source: FileIO, jobs: queue.SimpleQueue[Any]) -> None:
    """Hand on the jobs; when no more can come, the run is over, however it ended, and so is this process."""
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
        while head := _exactly(source, SIZE):
            jobs.put(pickle.loads(_exactly(source, int.from_bytes(head, "big"))))  # noqa: S301 - from our own process
    os._exit(0)


def _exactly(source: FileIO, size: int) -> bytes:
    found = b""
    while len(found) < size and (part := source.read(size - len(found))):
        found += part
    return found


def _bound_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not every system can
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _peak() -> int:
    """Return the peak of the resident memory in KiB; 0 where the system does not say."""
    # Linux counts into ru_maxrss what the process that started this one had taken; VmHWM is ours alone.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


if __name__ == "__main__":
    sys.exit(main())
