"""What a started program leaves behind in sessions of its own: found by a mark in its environment, as CI servers do it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_VARIABLE = "PYTEST_ADCP_STARTED"
_PROC = Path("/proc")
_ROUNDS = 20  # a process may start another while it is looked for
_BETWEEN = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Mark:
    """A variable that everything has in its environment which a program starts, and what it starts, and so on."""

    value: str = field(default_factory=lambda: secrets.token_hex(16))

    def environment(self) -> Mapping[str, str]:
        """Return what to start the program with."""
        return {_VARIABLE: self.value}

    def end_all(self) -> None:
        """Kill every process that has the mark. Only Linux tells; elsewhere this does nothing."""
        for _ in range(_ROUNDS):
            found = list(self._processes())
            for process in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            if not found:
                return
            time.sleep(_BETWEEN)

    def _processes(self) -> Iterator[int]:
        entry = f"{_VARIABLE}={self.value}".encode()
        for folder in _PROC.glob("[0-9]*"):
            # Of other users' processes nothing can be read, nor of those that have just ended; a dead one has nothing.
            with contextlib.suppress(OSError):
                if entry in (folder / "environ").read_bytes().split(b"\0"):
                    yield int(folder.name)
