"""What a whole demo run costs: the wall and the peak memory of `pytest --server-url=demo` in an empty folder.

    python benchmarks/demo_run.py [--rounds 7]

Wall is that of the pytest process, which starts the reference seller and ends it. All pytest plugins of the environment
are loaded, as they are for a user; what the run takes without them is printed beside it. The first run, which has no
bytecode yet, is left out of best and median. The exit code is 1 when the best takes more than 3 s or 130 MiB.
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
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_adcp.harness.plugin"}
COMMAND = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--server-url=demo"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with environment() as env, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, *runs = (run(COMMAND, folder, env) for _ in range(1 + rounds))
        _, *bare = (run(COMMAND, folder, {**env, **BARE}) for _ in range(1 + rounds))
    assert all("conformant: " in each.printed for each in (*runs, *bare))
    walls = [each.wall for each in runs]
    peak = min(each.peak for each in runs)
    print(
        f"demo run, wall  {min(walls):.2f} s  (at most {WALL}; median {statistics.median(walls):.2f} s, first"
        f" {first.wall:.2f} s, CPU with the seller's {min(each.cpu for each in runs):.2f} s; without other plugins"
        f" {min(each.wall for each in bare):.2f} s, CPU {min(each.cpu for each in bare):.2f} s)"
    )
    print(
        f"demo run, peak  {peak:.0f} MiB  (at most {PEAK}; without other plugins"
        f" {min(each.peak for each in bare):.0f} MiB)"
    )
    return int(min(walls) > WALL or peak > PEAK)


if __name__ == "__main__":
    sys.exit(main())
