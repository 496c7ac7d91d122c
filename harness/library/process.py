"""A client library behind a command: started, asked within bounds, started anew when it dies, and ended with all it started.

Every pipe has a thread of its own, so that neither a library that does not read nor one that does not stop to write can
hold the run up.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from pytest_adcp.harness.process_marks import Mark

LONGEST_LINE = 64 * 1024 * 1024  # bytes
_CHUNK = 256 * 1024
_TAIL = 4096  # bytes of stderr that are kept
_PATIENCE = 2.0  # seconds that a process gets to end by itself


class Ended(Exception):  # noqa: N818 - it is news, not an error of ours
    """The process is of no more use; the text says why."""


class Process:
    """One run of the command. Lines are bytes without their end."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._mark = Mark()
        self._process = subprocess.Popen(  # noqa: S603 - the user's own command is what is under test
            list(command),
            cwd=folder,
            env={**environment, **self._mark.environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for pytest; and all that it starts can be ended with it
        )
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._incoming: queue.Queue[list[bytes] | Ended] = queue.Queue(
            maxsize=4
        )  # read no further than asked
        self._tail = b""
        self._given_up = threading.Event()
        # Daemons: a process that the command has left behind may hold a pipe open for good.
        threads = [
            threading.Thread(target=w, daemon=True) for w in (self._write, self._read, self._keep_tail)
        ]
        self._tail_reader = threads[-1]
        for thread in threads:
            thread.start()

    def send(self, line: bytes) -> None:
        """Have a line written; never blocks."""
        self._outgoing.put(line + b"\n")

    def receive(self, seconds: float) -> list[bytes]:
        """Return the next lines; none where nothing came in time.

        Raises:
            Ended: it has closed its stdout, or wrote a line that is too long.
        """
        try:
            news = self._incoming.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return []
        if isinstance(news, Ended):
            raise news
        return news

    def last_words(self) -> str:
        """Return the end of what it wrote to stderr, raw; to be asked when it has ended."""
        self._tail_reader.join(_PATIENCE)
        return self._tail.decode("utf-8", "replace").strip()

    def end(self, patience: float = _PATIENCE) -> int | None:
        """End it with all that it started, gently at first; return its exit code, None where it had to be killed."""
        self._given_up.set()
        self._outgoing.put(None)
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(patience)
        self._kill()
        self._process.wait()
        return code

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._mark.end_all()

    # -- threads -----------------------------------------------------------------------------------------------

    def _write(self) -> None:
        pipe = self._pipe(self._process.stdin)
        with contextlib.suppress(OSError, ValueError):
            while (line := self._outgoing.get()) is not None:
                pipe.write(line)
                if self._outgoing.empty():
                    pipe.flush()
        with contextlib.suppress(OSError, ValueError):
            pipe.close()

    def _read(self) -> None:
        pipe = self._pipe(self._process.stdout)
        why = ""
        parts: list[bytes] = []
        size = 0
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _CHUNK):
                head, newline, rest = chunk.rpartition(b"\n")
                if newline:
                    self._tell(b"".join((*parts, head)).split(b"\n"))
                    parts, size = [], 0
                parts.append(rest)
                size += len(rest)
                if size > LONGEST_LINE:
                    why = f"it wrote a line of more than {LONGEST_LINE:,} bytes"
                    break
        self._tell(Ended(why))
        with contextlib.suppress(OSError):
            pipe.close()

    def _tell(self, news: list[bytes] | Ended) -> None:
        while not self._given_up.is_set():
            with contextlib.suppress(queue.Full):
                self._incoming.put(news, timeout=0.2)
                return

    def _keep_tail(self) -> None:
        pipe = self._pipe(self._process.stderr)
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _CHUNK):
                self._tail = (self._tail + chunk)[-_TAIL:]
        with contextlib.suppress(OSError):
            pipe.close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe
