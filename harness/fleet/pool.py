"""A bounded pool of processes that each do one job at a time. One that dies is told of, and replaced."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from typing import IO, Any, Self

import anyio
import anyio.abc
from pytest_adcp.harness.own_process import command
from pytest_adcp.harness.text import one_line

from .jobs import JudgeJob, SurveyJob
from .worker import SIZE

_LONGEST_ANSWER = 16 * 1024 * 1024  # bytes
_MODULE = "pytest_adcp.harness.fleet.worker"


class LostError(RuntimeError):
    """A process ended, hung, or said what nobody can read, before its job was done. The text says which."""


class _Worker:
    def __init__(self, process: anyio.abc.Process, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors

    @classmethod
    async def start(cls) -> Self:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            process = await anyio.open_process(
                command(_MODULE),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C is for the run, which ends the processes
            )
        except BaseException:
            errors.close()
            raise
        return cls(process, errors)

    async def ask(self, job: bytes) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            await self._process.stdin.send(len(job).to_bytes(SIZE, "big") + job)
            said = b""
            while not said.endswith(b"\n"):
                said += await self._process.stdout.receive()
                if len(said) > _LONGEST_ANSWER:
                    raise LostError("its process said too much, and was ended")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            with anyio.move_on_after(5):
                await self._process.wait()
            raise LostError(f"its process {self._ended()}") from None
        try:
            answer: dict[str, Any] = json.loads(said)
        except ValueError:
            raise LostError("its process said what nobody can read, and was ended") from None
        return answer

    async def end(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    if sys.platform == "win32":
                        self._process.kill()
                    else:
                        os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.aclose()
            self._errors.close()

    def _ended(self) -> str:
        code = self._process.returncode
        if code is None:
            return "closed its output, and was ended"
        with contextlib.suppress(ValueError):
            if code < 0:
                return f"was ended by {signal.Signals(-code).name}"
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 2000))
        lines = self._errors.read().decode("utf-8", "replace").splitlines()
        return f"ended with exit code {code}" + (f": {one_line(lines[-1], 200)}" if lines else "")


class Pool:
    """At most `size` processes, each started when there is a job and no idle one; all are ended with the block."""

    def __init__(self, size: int) -> None:
        self._limiter = anyio.Semaphore(size)
        self._idle: list[_Worker] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._idle:
            await self._idle.pop().end()

    async def do(self, job: SurveyJob | JudgeJob, seconds: float = math.inf) -> dict[str, Any]:
        """Have a job done and return the answer (jobs.answer says what stands there).

        Raises:
            LostError: its process ended, or was ended after `seconds`.
        """
        async with self._limiter:
            worker = self._idle.pop() if self._idle else await _Worker.start()
            keep = False
            try:
                with anyio.fail_after(seconds):
                    answer = await worker.ask(pickle.dumps(job))
                keep = not answer.get("retire")
            except TimeoutError:
                raise LostError(f"its process was not done after {seconds:.0f} s, and was ended") from None
            finally:
                if keep:
                    self._idle.append(worker)
                else:
                    await worker.end()
            return answer
