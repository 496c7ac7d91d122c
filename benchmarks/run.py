"""Runs every benchmark, one after the other, and prints one table of what has a bound.

    python benchmarks/run.py [NAME ...]

Names are those of the scripts without .py; none means all. The exit code is 1 when a bound is broken; what the script
said is then printed below the table.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NAMES = (
    "survey_floor",
    "requests",
    "demo_run",
    "judging",
    "fleet",
    "fleet_judging",
    "schemas",
    "plugin_startup",
    "json_and_extraction",
    "client_vectors",
    "wire_concurrency",
)

# `name  1.23 s  (at most 3.0; ...)`, under a title such as `UTF-8: 4,159,257 characters` where names recur.
_TITLE = re.compile(r"(?P<title>\S+): [\d,]+ characters")
_BOUNDED = re.compile(
    r"\s*(?P<name>\S.*?)  +(?P<measured>-?[\d.,]+)(?P<unit> \S+)?  \(at (?P<way>most|least) (?P<bound>[\d.,]+)"
)
_WIRE = re.compile(r"(?P<name>\d+ exchanges, \d+ lanes): .* (?P<measured>\d+) not complete")


def rows(printed: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, measured, bound and their ratio of each line that has a bound."""
    title = ""
    for line in printed.splitlines():
        if found := _TITLE.match(line):
            title = f"{found['title']}, "
        elif found := _BOUNDED.match(line):
            measured, bound = (float(found[key].replace(",", "")) for key in ("measured", "bound"))
            sign = "<=" if found["way"] == "most" else ">="
            yield (
                title + found["name"],
                found["measured"] + (found["unit"] or ""),
                f"{sign} {found['bound']}",
                f"{measured / bound:.2f}",
            )
        elif found := _WIRE.match(line):
            yield f"{found['name']}, faults invented", found["measured"], "<= 0", "-"


def main() -> int:
    names = sys.argv[1:] or NAMES
    broken = []
    print(f"{'name':<44} {'measured':>10} {'bound':>10} {'ratio':>6}", flush=True)
    for name in names:
        command = [sys.executable, str(HERE / f"{name}.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        table = list(rows(done.stdout))
        for title, measured, bound, ratio in table:
            print(f"{title:<44} {measured:>10} {bound:>10} {ratio:>6}", flush=True)
        if done.returncode or not table:
            broken.append(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    for text in broken:
        print(f"\n{text}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
