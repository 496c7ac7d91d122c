"""How a module of the harness is started in a process of its own, also from a bare checkout."""

from __future__ import annotations

import sys
from pathlib import Path

# A bare checkout has no installed package for -m to find; the first argument is the folder that holds harness/.
_BOOT = """
import importlib.util, sys, types
root, module = sys.argv.pop(1), sys.argv.pop(1)
if importlib.util.find_spec("pytest_adcp") is None:
    package = types.ModuleType("pytest_adcp"); package.__path__ = [root]; sys.modules["pytest_adcp"] = package
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module by its name; nothing in the current folder shadows what it imports."""
    root = str(Path(__file__).resolve().parents[1])
    return [sys.executable, "-P", "-c", _BOOT, root, module, *arguments]
