"""Starts and stops a reference seller."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from dataclasses import replace

from . import rpc
from .endpoint import Endpoint
from .exchange import UNTOUCHED_TASK, Exchange, Hooks
from .faults import fault_named
from .http import Request, Wire, listen
from .options import SellerOptions


class Server:
    """Takes HTTP requests for one endpoint: numbers the calls, and lets an HTTP fault take over."""

    def __init__(self, options: SellerOptions, hooks: Hooks) -> None:
        self._latency = options.latency
        self._http_hook = hooks.http
        self._endpoint = Endpoint(options, hooks)
        self._ordinals = itertools.count(1)

    async def __call__(self, request: Request, wire: Wire) -> None:
        """Answer one request on its connection."""
        if self._latency and request.method == "POST":
            await asyncio.sleep(self._latency)
        exchange = self._exchange(request)
        if self._http_hook is not None:
            await self._http_hook(exchange, self._endpoint.answer, wire)
        else:
            await wire.send(await self._endpoint.answer(exchange))

    def _exchange(self, request: Request) -> Exchange:
        message, problem = rpc.read(request.body) if request.method == "POST" else (None, None)
        exchange = Exchange(request, message, problem)
        if exchange.tool in self._endpoint.tasks and exchange.tool != UNTOUCHED_TASK:
            return replace(exchange, ordinal=next(self._ordinals))
        return exchange


@contextlib.asynccontextmanager
async def serve(options: SellerOptions) -> AsyncIterator[str]:
    """Serve a seller on the running event loop; yields the URL of its MCP endpoint.

    Raises:
        UnknownFaultError: there is no fault of that name.
        OSError: the address cannot be bound.
    """
    hooks = Hooks()
    if options.fault is not None:
        fault = fault_named(options.fault)
        hooks, options = fault.hooks, replace(options, **fault.needs)
    async with listen(options.host, options.port, Server(options, hooks)) as port:
        host = f"[{options.host}]" if ":" in options.host else options.host
        yield f"http://{host}:{port}{options.path}"


@contextlib.contextmanager
def running(options: SellerOptions) -> Iterator[str]:
    """Serve a seller from a thread while the block runs; yields its URL, raises what `serve` raises."""
    started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def work() -> None:
        stop = asyncio.Event()
        async with serve(options) as url:
            started.set_result((url, asyncio.get_running_loop(), stop))
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
        url, loop, stop = started.result()
        try:
            yield url
        finally:
            loop.call_soon_threadsafe(stop.set)
    finally:
        thread.join()
