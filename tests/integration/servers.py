"""Real servers for the integration tests: each in a process of its own, on a port of its own, ended by its pid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from runs import Run

HERE = Path(__file__).parent
TARGETS = HERE / "targets"
MADE = HERE.parents[1] / ".integration"  # what setup.sh makes
_START_SECONDS = 120  # PyPI `adcp` takes 15 s to import, more on a busy machine
_END_SECONDS = 10


def interpreter_with(package: str) -> str:
    """Return the interpreter that a package is installed for: the named one, else the one that setup.sh made.

    Skips the test where there is none. A name that leads nowhere is an error: somebody meant the test to run.
    """
    variable = f"PYTEST_ADCP_{package.upper()}_PYTHON"
    if named := os.environ.get(variable):
        assert Path(named).is_file(), f"{variable} names {named}, which is no file"
        return named
    made = MADE / package / "bin" / "python"
    if not made.is_file():
        pytest.skip(f"no interpreter with {package}: run tests/integration/setup.sh, or set {variable}")
    return str(made)


def node_packages() -> tuple[str, str]:
    """Return node, and the folder with the packages of the TypeScript SDK: the named one, else what setup.sh made."""
    node = shutil.which("node")
    named = os.environ.get("PYTEST_ADCP_TYPESCRIPT_PACKAGES")
    folder = Path(named) if named else MADE / "typescript"
    there = (folder / "node_modules" / "@modelcontextprotocol" / "sdk").is_dir()
    assert there or not named, f"PYTEST_ADCP_TYPESCRIPT_PACKAGES names {named}, where the SDK is not"
    if node is None or not there:
        pytest.skip("no node with the TypeScript SDK: run tests/integration/setup.sh where npm is")
    return node, str(folder)


def interpreter_with_the_sdk() -> str:
    """Return this interpreter if it has the official SDK; skip the test if not."""
    try:
        major = int(version("mcp").partition(".")[0])
    except PackageNotFoundError:
        major = 0
    if major < 2:
        pytest.skip("the official MCP SDK is not in this environment: pip install 'mcp>=2.3'")
    return sys.executable


@contextmanager
def serving(python: str, target: str, *arguments: str, log: Path) -> Iterator[str]:
    """Start a target (a script in targets/), yield the URL that it says, and end it. It writes its log to a file."""
    command = [python, str(TARGETS / target), *arguments]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        too_late = threading.Timer(_START_SECONDS, process.kill)
        too_late.start()
        try:
            assert process.stdout is not None
            url = next((line.strip() for line in process.stdout if line.startswith("http://")), None)
            too_late.cancel()
            assert url, f"{target} said no URL; its log ends with:\n{log.read_text(errors='replace')[-2000:]}"
            yield url
        finally:
            too_late.cancel()
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def found(run: Run, outcome: str) -> set[tuple[str, str]]:
    """Return what has an outcome, as (rule, subject)."""
    return {
        (finding["rule"], finding["subject"])
        for finding in run.target["findings"]
        if finding["outcome"] == outcome
    }


def rules(run: Run, outcome: str) -> set[str]:
    """Return the rules that have an outcome anywhere."""
    return {rule for rule, _ in found(run, outcome)}


def finding(run: Run, rule: str, subject: str) -> dict[str, object]:
    """Return one finding."""
    (one,) = [f for f in run.target["findings"] if (f["rule"], f["subject"]) == (rule, subject)]
    return one
