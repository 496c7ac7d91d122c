"""Runs a server in a thread that has an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def in_thread(served: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Serve from a thread while the block runs; yields what the server gives, raises what its start raises."""
    started: Future[tuple[T, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def work() -> None:
        stop = asyncio.Event()
        async with served as given:
            started.set_result((given, asyncio.get_running_loop(), stop))
            await stop.wait()

    def main() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=main, name="reference-seller", daemon=True)
    thread.start()
    try:
        given, loop, stop = started.result()
        try:
            yield given
        finally:
            loop.call_soon_threadsafe(stop.set)
    finally:
        thread.join()
