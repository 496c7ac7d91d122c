"""The demo target: the bundled reference seller, in a process of its own."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from . import own_process

FOR_APPS = ("--path", "/v1/mcp", "--json-text")  # what the connected-apps profile asks for beyond AdCP
_START_SECONDS = 30.0
_END_SECONDS = 5.0


class DemoError(RuntimeError):
    """The reference seller did not start."""


@contextmanager
def demo_seller(*arguments: str) -> Iterator[str]:
    """Start the reference seller on a free loopback port, yield its URL, and end it.

    The child ends by itself when its standard input closes, so it does not outlive a run that is killed.

    Raises:
        DemoError: it ended, or said no address, before it was ready.
    """
    command = own_process.command("pytest_adcp.harness.seller", "--port", "0", *arguments)
    process = subprocess.Popen(  # noqa: S603 - our own module
        [*command, "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,  # Ctrl-C is for the survey, which ends the seller when it has kept what there is
    )
    try:
        assert process.stdout is not None
        watch = threading.Timer(_START_SECONDS, process.kill)
        watch.start()
        try:
            line = process.stdout.readline()
        finally:
            watch.cancel()
        _, found, url = line.strip().partition("listening on ")
        if not found:
            code = process.wait(_END_SECONDS)
            raise DemoError(f"the reference seller did not start (it said {line!r}, exit code {code})")
        yield url
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
