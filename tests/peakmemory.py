"""A pytest plugin that writes down how much memory its process needed: `-p peakmemory`, with PEAK_FILE saying where."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def pytest_unconfigure() -> None:
    Path(os.environ["PEAK_FILE"]).write_text(str(_peak()))


def _peak() -> int:
    """Return bytes."""
    try:
        # What getrusage says after fork and exec may still be the parent's.
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
