"""The official MCP client, in a process of its own, which may hang, fail or grow as it likes.

It is told one job on standard input, as JSON on one line, and says on standard output, also as JSON lines, what came of it:

    {"version": "2.3.0"}                                    ready for the job
    {"step": SUBJECT, "reading": JSON text}                 what the client gave
    {"step": SUBJECT, "raised": text, "code": int or null, "places": [pointer, ...]}
    {"tick": true}                                          its event loop runs, and it has nothing to say
    {"end": ERA}                                            the session of an era is over

A reading has the members `protocolVersion` (of a connection), `tools` (the names) or those of the tool result; of one that is longer
than LONGEST_READING it has only `size`. The job names neither the server nor any credential: the client talks to a tap.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .steps import CONNECT, LIST

if TYPE_CHECKING:
    from mcp import Client

LONGEST_READING = 256 * 1024  # characters of JSON
TICK = 0.25  # seconds

OUT_OF_MEMORY = 3  # exit code

# A run takes 50 MiB of data and 70 MiB resident. Data is what the system counts in what the process fills; address space
# is the bound where it does not, and larger, since allocators reserve much that they never fill.
MEMORY = 192 << 20  # bytes of data
_ADDRESSES = 640 << 20  # bytes
_PROCESSOR = 30  # seconds
_PAGES = 20
_SHOWN = 600  # characters of an exception
_PLACES = 10

Say = Callable[[Mapping[str, Any]], None]


def main() -> None:
    """Do one job."""
    _limit()
    say = _only_voice()
    from importlib.metadata import version

    import anyio
    import httpx2  # noqa: F401 - what takes long is done before the job comes
    import mcp.client.streamable_http  # noqa: F401

    say({"version": version("mcp")})
    line = sys.stdin.buffer.readline()
    if line:
        try:
            anyio.run(_work, json.loads(line), say)
        except BaseException as error:
            _end_without_memory(error)
            raise


def _limit() -> None:
    """Bound what a hostile answer can make of this process, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR, _PROCESSOR))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))


def _only_voice() -> Say:
    """Return what writes to standard output, where nobody else can write any more."""
    voice = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(event: Mapping[str, Any]) -> None:
        voice.write(json.dumps(event).encode("ascii") + b"\n")
        voice.flush()

    return say


async def _work(job: Mapping[str, Any], say: Say) -> None:
    import anyio

    async def tick() -> None:
        while True:
            await anyio.sleep(TICK)
            say({"tick": True})

    async with anyio.create_task_group() as ticking:
        ticking.start_soon(tick)
        async with anyio.create_task_group() as group:
            for era in job["eras"]:
                group.start_soon(_Visit(era, say).run)
        ticking.cancel_scope.cancel()


class _Visit:
    """One session in one era: connect, list, call."""

    def __init__(self, era: Mapping[str, Any], say: Say) -> None:
        self._era = era
        self._say = say
        self._begun: list[str] = []  # what has not come to an end

    async def run(self) -> None:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        try:
            # Deadlines are the parent's. Nothing here is HTTPS, so no certificates need to be loaded.
            async with httpx2.AsyncClient(trust_env=False, timeout=None, verify=False) as http:
                transport = streamable_http_client(self._era["url"], http_client=http)
                connect = self._begin(CONNECT)
                async with Client(transport, mode=self._era["mode"], cache=None) as client:
                    self._give(connect, {"protocolVersion": client.protocol_version})
                    if self._era["only"] in (None, client.protocol_version):
                        await self._use(client)
        except Exception as error:
            # A session that breaks cancels what waits on it, and says why only here.
            for step in tuple(self._begun):
                self._fail(step, error)
        self._say({"end": self._era["era"]})

    async def _use(self, client: Client) -> None:
        import anyio

        step = self._begin(LIST)
        try:
            self._give(step, {"tools": await _names(client)})
        except Exception as error:
            self._fail(step, error)
            return  # with each call it would ask for the list again, and refuse it again
        async with anyio.create_task_group() as group:
            for call in self._era["calls"]:
                group.start_soon(self._call, client, call)

    async def _call(self, client: Client, call: Mapping[str, Any]) -> None:
        step = self._begin(call["step"])
        try:
            result = await client.call_tool(call["tool"], call["arguments"])
            self._give(step, result.model_dump(by_alias=True, mode="json", exclude_unset=True))
        except Exception as error:
            self._fail(step, error)

    # -- what is said ------------------------------------------------------------------------------------------

    def _begin(self, name: str) -> str:
        step = f"{self._era['prefix']}/{name}"
        self._begun.append(step)
        return step

    def _give(self, step: str, reading: Mapping[str, Any]) -> None:
        text = json.dumps(reading)
        if len(text) > LONGEST_READING:
            text = json.dumps({"size": len(text)})
        self._begun.remove(step)
        self._say({"step": step, "reading": text})

    def _fail(self, step: str, error: Exception) -> None:
        cause = next(_causes(error), error)
        _end_without_memory(error)
        if step in self._begun:
            self._begun.remove(step)
            self._say({"step": step, **_told(cause)})


async def _names(client: Client) -> list[str]:
    """Return the names of all tools, page by page."""
    names: list[str] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if not cursor or cursor in cursors:
            break
        cursors.add(cursor)
    return names


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors in an error, those in groups one by one."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error


def _end_without_memory(error: BaseException) -> None:
    """End the process where there was no more memory: the limit is ours."""
    if any(isinstance(cause, MemoryError) for cause in _causes(error)):
        os._exit(OUT_OF_MEMORY)


def _told(error: BaseException) -> dict[str, Any]:
    """Return an exception as text; of a validation error what is wrong, and where in the result."""
    from mcp import MCPError
    from pydantic import ValidationError

    code, places = None, []
    text = str(error)
    if isinstance(error, MCPError):
        code = error.error.code
        text = error.error.message
    elif isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        places = [_pointer(problem["loc"]) for problem in problems[:_PLACES]]
        text = f"{places[0] or '/'}: {problems[0]['msg']}"
        text += f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    name = type(error).__name__
    return {"raised": f"{name}: {text[:_SHOWN]}" if text else name, "code": code, "places": places}


def _pointer(place: tuple[str | int, ...]) -> str:
    tokens = (str(token).replace("~", "~0").replace("/", "~1") for token in place)
    return "".join(f"/{token}" for token in tokens)[:_SHOWN]


if __name__ == "__main__":
    main()
