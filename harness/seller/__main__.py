"""`python -m pytest_adcp.harness.seller`: serve the reference seller, or vectors, until told to end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from pytest_adcp.vectors.loader import Vector, VectorError

from .faults import UnknownFaultError, faults
from .options import Answers, Eras, Release, SellerOptions
from .server import serve
from .vectors import OWN, chosen, serve_vectors


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.list_faults:
        sys.stdout.write(_fault_list())
        return 0
    vectors = _vectors(parser, arguments)
    bearer = None
    if arguments.bearer_env is not None:
        bearer = os.environ.get(arguments.bearer_env)
        if not bearer:
            parser.error(f"--bearer-env: the environment variable {arguments.bearer_env} is not set or empty")
    options = SellerOptions(
        fault=arguments.fault,
        release=arguments.version,
        answers=arguments.answers,
        sessions=arguments.sessions,
        eras=arguments.era,
        latency=arguments.latency,
        host=arguments.host,
        port=arguments.port,
        bearer=bearer,
        path=arguments.path,
        json_text=arguments.json_text,
    )
    served = serve(options) if vectors is None else _catalogue(vectors, options)
    try:
        asyncio.run(_serve(served, until_stdin_closes=arguments.until_stdin_closes))
    except UnknownFaultError as error:
        parser.error(f"--fault: {error}")
    except OSError as error:
        parser.exit(1, f"{parser.prog}: cannot listen on {options.host}:{options.port}: {error.strerror}\n")
    return 0


class _Once(argparse.Action):
    """An option that is refused the second time, where the last one would win without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, option: Any = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option}: a seller has one fault; start another seller for the next")
        setattr(namespace, self.dest, value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_adcp.harness.seller",
        description="A conforming AdCP seller over MCP Streamable HTTP, or one with a named fault.",
    )
    add = parser.add_argument
    add("--port", type=int, default=8765, help="0 picks a free one (default %(default)s)")
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add(
        "--vectors",
        metavar="DIR",
        help="serve vectors in place of a seller, as the tools of /mcp and each one as a seller at /ID/mcp: "
        f"those of a folder or a file in the published format, or `{OWN}`, those of this package",
    )
    add("--fault", action=_Once, metavar="NAME", help="what to do wrong: one fault; see --list-faults")
    add("--list-faults", action="store_true", help="print every fault and the rules it breaks, and end")
    add(
        "--version",
        type=Release,
        choices=tuple(Release),
        default=Release.V3_1,
        help="AdCP release (default %(default)s)",
    )
    add("--answers", type=Answers, choices=tuple(Answers), default=Answers.JSON, help="(default %(default)s)")
    add("--sessions", action=argparse.BooleanOptionalAction, default=True, help="hand out MCP session ids")
    add(
        "--era",
        type=Eras,
        choices=tuple(Eras),
        default=Eras.BOTH,
        help="MCP lifecycles (default %(default)s)",
    )
    add("--latency", type=float, default=0.0, metavar="SECONDS", help="wait before each POST")
    add("--path", type=_path, default="/mcp", help="of the MCP endpoint (default %(default)s)")
    add("--json-text", action="store_true", help="give the data of a success as JSON text too")
    add("--bearer-env", metavar="VAR", help="environment variable with a token that every request must carry")
    add("--until-stdin-closes", action="store_true", help="end with the parent process")
    return parser


def _path(text: str) -> str:
    if not re.fullmatch(r"(?:/[\w.~-]+)+", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no path such as /v1/mcp")
    return text


def _fault_list() -> str:
    lines = []
    for fault in faults().values():
        lines.append(f"{fault.name}: {fault.says}")
        lines += [f"    calls:    {json.dumps(call)}   # needed in adcp.yaml" for call in fault.calls]
        if "bearer" in fault.needs:
            lines.append(f"    token:    {fault.needs['bearer']}   # asked for in Authorization: Bearer")
        lines += [f"    failed    {rule}" for rule in sorted(fault.fails)]
        lines += [f"    advisory  {rule}" for rule in sorted(fault.advises)]
    return "\n".join(lines) + "\n"


def _vectors(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[Vector] | None:
    if arguments.vectors is None:
        return None
    if arguments.fault is not None:
        parser.error("--fault: not with --vectors, whose answers are what the vectors say")
    try:
        return chosen(arguments.vectors)
    except VectorError as error:
        parser.error(f"--vectors: {error}")


@contextlib.asynccontextmanager
async def _catalogue(vectors: Sequence[Vector], options: SellerOptions) -> AsyncIterator[str]:
    async with serve_vectors(vectors, options) as server:
        yield server.catalogue


async def _serve(served: AbstractAsyncContextManager[str], *, until_stdin_closes: bool) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    if until_stdin_closes:
        _watch_stdin(loop, stop)
    async with served as url:
        sys.stdout.write(f"listening on {url}\n")
        sys.stdout.flush()
        await stop.wait()


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    def wait() -> None:
        # Not sys.stdin.buffer: its lock, held here, would abort the interpreter as it ends.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(stop.set)

    # A thread, since pipes cannot be polled everywhere; a daemon, since it may never come back.
    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
