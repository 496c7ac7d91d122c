"""Runs pytest in a process of its own, the way a user does, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS = 180
_BYTECODE = Path(tempfile.gettempdir()) / f"pytest-adcp-bytecode-{os.getuid()}"


@dataclass(frozen=True)
class Run:
    """How a run ended and what it left behind."""

    code: int
    out: str
    folder: Path

    @property
    def report(self) -> dict[str, Any]:
        return json.loads((self.folder / "adcp-report" / "report.json").read_text(encoding="utf-8"))

    @property
    def target(self) -> dict[str, Any]:
        (target,) = self.report["targets"]
        return target


def run(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Run:
    """Run pytest with arguments; the environment has nothing of the outer pytest's in it."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "ADCP_"))}
    clean.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile all of pytest again
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments],
        cwd=folder,
        env={**clean, "COLUMNS": "120", "PYTHONPYCACHEPREFIX": str(_BYTECODE), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Run(done.returncode, done.stdout + done.stderr, folder)
