"""How processes of our own are started: a module of the harness, also from a bare checkout, and in what environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

# Variables that a program needs to run at all.
USUAL = (
    *(
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "PATH",
        "PYTHONPATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
    ),
    *("APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "WINDIR"),
)
# A bare checkout has no installed package for -m to find; the first argument is the folder that holds harness/.
_BOOT = """
import importlib.util, sys, types
root, module = sys.argv.pop(1), sys.argv.pop(1)
if importlib.util.find_spec("pytest_adcp") is None:
    package = types.ModuleType("pytest_adcp"); package.__path__ = [root]; sys.modules["pytest_adcp"] = package
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def environment_without(secrets: Collection[str]) -> dict[str, str]:
    """Return the environment of this process without the variables that hold one of the secrets."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in USUAL or not any(secret in value for secret in secrets)
    }


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module by its name; nothing in the current folder shadows what it imports."""
    root = str(Path(__file__).resolve().parents[1])
    return [sys.executable, "-P", "-c", _BOOT, root, module, *arguments]
