"""Lets a bare checkout run without installing; inert where pytest-adcp is installed from this folder."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _installed_suites() -> Path | None:
    spec = importlib.util.find_spec("pytest_adcp")
    if spec is None:
        return None
    suites = importlib.util.find_spec("pytest_adcp.suites")
    return Path(suites.origin).resolve().parent if suites and suites.origin else None


_found = _installed_suites()
if _found is None:
    _package = types.ModuleType("pytest_adcp")
    _package.__path__ = [str(HERE)]
    sys.modules["pytest_adcp"] = _package
    pytest_plugins = ["pytest_adcp.harness.plugin"]
elif _found != HERE / "suites":
    raise pytest.UsageError(
        f"this checkout ({HERE}) is not the installed pytest-adcp ({_found.parent}); "
        "run 'pip install -e .' here, or run pytest from another folder"
    )
