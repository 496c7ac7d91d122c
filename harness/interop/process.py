"""The official client's process: started early, told one job, heard within bounds, and ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import anyio
import anyio.abc
from pytest_adcp.harness.own_process import command

from .client import MEMORY, OUT_OF_MEMORY

INSTALL = 'pip install "pytest-adcp[interop]"'
TURNS = 8  # ticks in a row without anything else, after which nothing more is expected

_OLDEST = (2, 3)  # of the mcp package
_LONGEST_LINE = 1024 * 1024  # bytes
_MOST = 8 * 1024 * 1024  # bytes of all it says
_MOST_EVENTS = 1000  # a tick four times a second, and one of each step
# Of the environment: what an interpreter may need to start and to find its packages.
KEPT = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPYCACHEPREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
)


class ClientFailure(Exception):  # noqa: N818 - it says nothing about the server
    """The client's process is of no more use; the text says why."""


def why_not() -> str:
    """Say why there is no official client to be had; empty where there is."""
    try:
        installed = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        return f"the official MCP client is not installed: {INSTALL}"
    numbers = tuple(int(part) if part.isdecimal() else 0 for part in installed.split(".")[:2])
    if numbers < _OLDEST:
        return f"the installed official MCP client, mcp {installed}, is too old: {INSTALL}"
    return ""


@dataclass(frozen=True, slots=True)
class ClientProcess:
    """A running client that waits for its job."""

    process: anyio.abc.Process

    async def work(
        self, job: Mapping[str, Any], is_busy: Callable[[], bool]
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Give it its job and yield what it says, until it ends, or until there are only ticks: the last one is yielded.

        Args:
            is_busy: whether it has been waiting for somebody else since it was last asked.

        Raises:
            ClientFailure: it ended otherwise than well, or said what it should not.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.process.stdin.send(json.dumps(job).encode("ascii") + b"\n")
        quiet = 0
        async with contextlib.aclosing(self._events()) as events:
            async for event in events:
                quiet = quiet + 1 if "tick" in event and not is_busy() else 0
                if quiet == TURNS or "tick" not in event:
                    yield event
                if quiet == TURNS:
                    return
        if code := await self.process.wait():
            raise ClientFailure(_ended(code))

    async def _events(self) -> AsyncGenerator[Mapping[str, Any], None]:
        assert self.process.stdout is not None
        said, events, rest = 0, 0, b""
        async for chunk in self.process.stdout:
            said += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            events += len(lines)
            if said > _MOST or events > _MOST_EVENTS or len(rest) > _LONGEST_LINE:
                raise ClientFailure("the official client's process said too much, and was ended")
            for line in lines:
                yield _event(line)


def _event(line: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise ClientFailure("the official client's process said what nobody can read, and was ended")
    return event


def _ended(code: int) -> str:
    if code == OUT_OF_MEMORY:
        return f"the official client's process took more than {MEMORY >> 20} MiB"
    with contextlib.suppress(ValueError):
        if code < 0:
            return f"the official client's process was ended by {signal.Signals(-code).name}"
    return f"the official client's process ended with exit code {code}"


@contextlib.asynccontextmanager
async def started(secrets: Iterable[str]) -> AsyncIterator[ClientProcess]:
    """Start the client, which loads what it needs while others work; it is ended with the block.

    Args:
        secrets: what stands in no variable that it gets; of the environment it gets a handful.

    Raises:
        OSError: it cannot be started.
    """
    process = await anyio.open_process(
        command("pytest_adcp.harness.interop.client"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(tuple(secrets)),
        start_new_session=True,  # Ctrl-C is for the survey; and all that it starts can be ended with it
    )
    try:
        yield ClientProcess(process)
    finally:
        with anyio.CancelScope(shield=True):
            _kill(process)
            await process.aclose()


def _environment(secrets: tuple[str, ...]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        name: value
        for name, value in kept.items()
        if not any(secret in value for secret in secrets if secret)
    }


def _kill(process: anyio.abc.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
