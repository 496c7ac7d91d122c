"""Whose run is this? Decided from the raw arguments, before any conftest is loaded."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_SELECTING = ("--server-url", "--adcp-config", "--adcp-replay", "--adcp-profile")
_LARGEST = 1 << 20  # bytes of a conftest that are looked at


def asks_without_path(config: pytest.Config, args: list[str]) -> bool:
    """Whether a conformance run is asked for and no path or node id is given."""
    asked = any(arg.partition("=")[0] in _SELECTING for arg in args)
    if not asked and not os.environ.get("ADCP_SERVER_URL"):
        return False
    # --server-url is not registered yet, so "--server-url URL" leaves its value among the paths.
    values = {after for before, after in itertools.pairwise(args) if before == "--server-url"}
    return all(path in values for path in config.known_args_namespace.file_or_dir)


def owned_by_conftest(config: pytest.Config) -> bool:
    """Whether a conftest that pytest would load at start-up speaks of --server-url itself."""
    return any(_mentions(path) for path in _initial_conftests(config))


def _initial_conftests(config: pytest.Config) -> Iterator[Path]:
    here = config.invocation_params.dir
    top = config.rootpath
    for folder in (here, *here.parents):
        yield folder / "conftest.py"
        if folder == top:
            break
    for folder in {here, top}:
        yield from sorted(folder.glob("test*/conftest.py"))
    for name in config.getini("testpaths"):
        yield top / name / "conftest.py"


def _mentions(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"--server-url" in file.read(_LARGEST)
    except OSError:
        return False
