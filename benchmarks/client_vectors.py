"""How many vectors a second a client library is asked and judged on: a Python function, and a command.

Run it as `python benchmarks/client_vectors.py`. It fails when a rate is under its bound. The library is the smallest there
can be, so that what is measured is the harness: writing the question, the pipe, reading the answer, and the rules.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from pytest_adcp import suites
from pytest_adcp.harness.library.command import CommandLibrary
from pytest_adcp.harness.library.subjects import build, of_rule
from pytest_adcp.harness.own_process import command
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import judge
from pytest_adcp.vectors.loader import Transport, Vector, own

FUNCTION_BOUND = 3_000  # vectors a second
COMMAND_BOUND = 1_000
COPIES = 30
ROUNDS = 3
SMALL = 2_000  # characters of a response as text; the few large vectors measure the pipe
LIBRARY = """
import json

def extract(request):
    structured = json.loads(request["response"]).get("structuredContent")
    return {"data": structured if isinstance(structured, dict) else None}
"""
ADAPTER = """
import json, sys
from library import extract

for line in sys.stdin:
    request = json.loads(line)
    if "adcp_extractor" in request:
        answer = {"adcp_extractor": 1, "name": "smallest", "transports": ["mcp", "a2a"]}
    else:
        answer = {"id": request["id"], **extract(request)}
    print(json.dumps(answer), flush=True)
"""


def vectors() -> list[Vector]:
    small = [
        v for v in own() if v.transport is Transport.MCP and len(str(v.response)) < SMALL and v.limit is None
    ]
    return small * COPIES


def rate(words: list[str], folder: Path) -> tuple[float, float]:
    """Vectors a second: asked, and asked and judged by every rule."""
    library = CommandLibrary(words, folder=folder)
    try:
        tried = build(library, vectors())
        rules = load(suites.CLIENT)
        start = time.perf_counter()
        asked = next(
            entry for rule in rules for entry in of_rule(rule, tried) if hasattr(entry, "asked")
        ).asked
        number = len(asked.answers)
        middle = time.perf_counter()
        for rule in rules:
            for entry in of_rule(rule, tried):
                judge(rule, entry)
        end = time.perf_counter()
        return number / (middle - start), number / (end - start)
    finally:
        library.close()


def main() -> int:
    slow = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "library.py").write_text(LIBRARY, encoding="utf-8")
        (folder / "adapter.py").write_text(ADAPTER, encoding="utf-8")
        function = command("pytest_adcp.harness.library.host", "library:extract")
        for title, words, bound in (
            ("module:function", function, FUNCTION_BOUND),
            ("a command", [sys.executable, "adapter.py"], COMMAND_BOUND),
        ):
            rates = [rate(words, folder) for _ in range(ROUNDS)]
            asked, judged = (max(column) for column in zip(*rates, strict=True))
            slow = slow or judged < bound
            print(f"{title}, asked and judged  {judged:,.0f}  (at least {bound}; asked alone {asked:,.0f})")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
