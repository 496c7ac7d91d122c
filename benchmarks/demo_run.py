"""What a whole demo run costs: the wall and the peak memory of `pytest --server-url=demo` in an empty folder.

    python benchmarks/demo_run.py [--rounds 7]

Wall is that of the pytest process, which starts the reference seller and ends it. The first run, which has no bytecode
yet, is left out of the others' best and median. The exit code is 1 when the best takes more than 3 s or 130 MiB.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from processes import environment, run

WALL = 3.0  # seconds
PEAK = 130  # MiB
COMMAND = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--server-url=demo"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with environment() as env, tempfile.TemporaryDirectory() as folder:
        first, *runs = (run(COMMAND, Path(folder), env) for _ in range(1 + rounds))
    assert "conformant: " in first.printed
    wall, peak = min(each.wall for each in runs), min(each.peak for each in runs)
    median = statistics.median(each.wall for each in runs)
    cpu = min(each.cpu for each in runs)
    print(
        f"demo run, wall  {wall:.2f} s  (at most {WALL}; median {median:.2f} s, first {first.wall:.2f} s,"
        f" CPU with the seller's {cpu:.2f} s)"
    )
    print(f"demo run, peak  {peak:.0f} MiB  (at most {PEAK}; the pytest process)")
    return int(wall > WALL or peak > PEAK)


if __name__ == "__main__":
    sys.exit(main())
