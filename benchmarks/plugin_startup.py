"""What the plugin costs a project that does not use it: pytest on one empty test, with it and with `-p no:adcp`.

    python benchmarks/plugin_startup.py [--rounds 20]

The two take turns, so that a busy machine slows both; the difference of the best runs counts. The exit code is 1 when
it is over 50 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from processes import environment, run

BOUND = 50  # milliseconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with environment() as env, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing():\n    assert True\n", encoding="utf-8")
        plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        commands = (plain, [*plain, "-p", "no:adcp"])
        runs = [[run(command, folder, env) for command in commands] for _ in range(1 + rounds)][1:]
    (wall, cpu), (least_wall, least_cpu) = (
        (min(each.wall for each in column), min(each.cpu for each in column))
        for column in zip(*runs, strict=True)
    )
    cost = (wall - least_wall) * 1000
    print(
        f"plugin start-up  {cost:.0f} ms  (at most {BOUND}; CPU {(cpu - least_cpu) * 1000:.0f} ms,"
        f" pytest without it {least_wall * 1000:.0f} ms)"
    )
    return int(cost > BOUND)


if __name__ == "__main__":
    sys.exit(main())
