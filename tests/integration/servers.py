"""Real servers for the integration tests: each in a process of its own, on a port of its own, ended by its pid."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
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
def serving_from_npm(package: str, *, log: Path) -> Iterator[str]:
    """Start a server of the MCP Apps examples on a free port, yield its URL, and end it; it writes its log to a file.

    Skips the test where there is no npm. Where there is one, setup.sh has installed the packages.
    """
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, and the server is a package of its registry")
    script = MADE / "npm" / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js"
    assert script.is_file(), f"{package} is not installed: run tests/integration/setup.sh"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            ["node", str(script)],
            env={**os.environ, "PORT": str(port)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            give_up = time.monotonic() + _START_SECONDS
            while b"listening on" not in log.read_bytes():
                assert process.poll() is None, log.read_text(errors="replace")[-2000:]
                assert time.monotonic() < give_up, f"{package} does not start"
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


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
