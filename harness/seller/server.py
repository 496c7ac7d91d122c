"""Starts and stops a reference seller."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import replace

from . import rpc
from .adcp import Agent
from .background import in_thread
from .endpoint import Endpoint
from .exchange import UNTOUCHED_TASK, Answer, Exchange, Hooks, HttpHook
from .faults import fault_named
from .http import Request, Wire, listen
from .options import SellerOptions
from .toolbox import Toolbox


class Server:
    """Takes HTTP requests: numbers the calls, and lets an HTTP fault take over."""

    def __init__(
        self,
        answer: Answer,
        *,
        latency: float,
        numbered: Collection[str] = (),
        http_hook: HttpHook | None = None,
    ) -> None:
        self._answer = answer
        self._latency = latency
        self._numbered = numbered  # tools
        self._http_hook = http_hook
        self._ordinals = itertools.count(1)

    async def __call__(self, request: Request, wire: Wire) -> None:
        """Answer one request on its connection."""
        if self._latency and request.method == "POST":
            await asyncio.sleep(self._latency)
        exchange = self._exchange(request)
        if self._http_hook is not None:
            await self._http_hook(exchange, self._answer, wire)
        else:
            await wire.send(await self._answer(exchange))

    def _exchange(self, request: Request) -> Exchange:
        message, problem = rpc.read(request.body) if request.method == "POST" else (None, None)
        exchange = Exchange(request, message, problem)
        if exchange.tool in self._numbered and exchange.tool != UNTOUCHED_TASK:
            return replace(exchange, ordinal=next(self._ordinals))
        return exchange


def origin(host: str, port: int) -> str:
    """Return the origin of the URLs of a server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
    agent = Agent(options.release, json_text=options.json_text)
    endpoint = Endpoint(options, hooks, Toolbox(agent, hooks, options.tools_per_page))
    server = Server(endpoint.answer, latency=options.latency, numbered=agent.tasks, http_hook=hooks.http)
    async with listen(options.host, options.port, server) as port:
        yield origin(options.host, port) + options.path


@contextlib.contextmanager
def running(options: SellerOptions) -> Iterator[str]:
    """Serve a seller from a thread while the block runs; yields its URL, raises what `serve` raises."""
    with in_thread(serve(options)) as url:
        yield url
