"""Serves vectors over Streamable HTTP, so that a whole client can be tried on them.

    with running_vectors(own()) as server:
        for vector in own():
            ...  # a client of server.url(vector) gets this vector from every tool of an AdCP seller

The endpoint `server.catalogue` lists a tool for each vector. Sessions, eras and content types are those of the
reference seller. A result of the stateless era has resultType and the serverInfo in _meta beside what the vector holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path

from pytest_adcp.vectors.loader import Transport, Vector, VectorError, load, own

from . import rpc
from .adcp import Agent
from .background import in_thread
from .endpoint import JSON_TYPE, Endpoint
from .exchange import Exchange, Hooks
from .http import Reply, listen
from .options import SellerOptions
from .server import Server, origin
from .toolbox import Toolbox
from .vector_tools import Catalogue, OneVector, named

OWN = "own"
_DEFAULT = SellerOptions()


@dataclass(frozen=True, slots=True)
class VectorServer:
    """Vectors that are being served.

    Attributes:
        port: the TCP port.
        catalogue: URL of the endpoint that has a tool for each vector.
        names: how the vectors are called there: by their ids, with the file before it where several share one.
    """

    port: int
    catalogue: str
    names: Mapping[Vector, str] = field(repr=False)
    _origin: str = field(repr=False)
    _path: str = field(repr=False)

    def url(self, vector: Vector) -> str:
        """Return the URL of the endpoint where every tool but get_adcp_capabilities gives this vector.

        Raises:
            KeyError: it is not served here; those that are not of MCP never are.
        """
        return f"{self._origin}/{self.names[vector]}{self._path}"


def chosen(where: str) -> list[Vector]:
    """Return the vectors of a file, of all *.json in a folder, or for `own` those that come with this package.

    Raises:
        VectorError: there are none that can be served, or a file is not in the format.
    """
    if where == OWN:
        return own()
    path = Path(where)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise VectorError(f"{path}: there is no *.json in this folder")
    vectors = [vector for file in files for vector in load(file)]
    if not any(map(_is_served, vectors)):
        raise VectorError(f"{path}: there is no vector of transport mcp, and others cannot be served")
    return vectors


@contextlib.asynccontextmanager
async def serve_vectors(
    vectors: Iterable[Vector], options: SellerOptions = _DEFAULT
) -> AsyncIterator[VectorServer]:
    """Serve those of the vectors that are of MCP on the running event loop; `options.fault` is not looked at.

    Raises:
        OSError: the address cannot be bound.
    """
    names = named(filter(_is_served, vectors))
    server = Server(_Router(names, options).answer, latency=options.latency)
    async with listen(options.host, options.port, server) as port:
        base = origin(options.host, port)
        by_vector = {vector: name for name, vector in names.items()}
        yield VectorServer(port, base + options.path, by_vector, base, options.path)


@contextlib.contextmanager
def running_vectors(vectors: Iterable[Vector], options: SellerOptions = _DEFAULT) -> Iterator[VectorServer]:
    """Serve vectors from a thread while the block runs; raises what `serve_vectors` raises."""
    with in_thread(serve_vectors(vectors, options)) as server:
        yield server


class _Router:
    """Finds the endpoint that a path belongs to."""

    def __init__(self, vectors: Mapping[str, Vector], options: SellerOptions) -> None:
        self._vectors = vectors
        self._options = options
        agent = Agent(options.release, json_text=options.json_text)
        self._seller = Toolbox(agent, Hooks(), options.tools_per_page)
        # Those of single vectors are made when they are first asked for, and kept, since they hold the sessions.
        self._endpoints = {options.path: Endpoint(options, Hooks(), Catalogue(vectors))}

    async def answer(self, exchange: Exchange) -> Reply:
        """Return the response to one HTTP request."""
        path = exchange.request.path
        endpoint = self._endpoints.get(path) or self._opened(path)
        if endpoint is not None:
            return await endpoint.answer(exchange)
        return Reply(HTTPStatus.NOT_FOUND, (("Content-Type", JSON_TYPE),), rpc.encode(self._unknown(path)))

    def _opened(self, path: str) -> Endpoint | None:
        vector = self._vectors.get(self._name(path))
        if vector is None:
            return None
        tools = OneVector(vector, self._seller)
        return self._endpoints.setdefault(path, Endpoint(replace(self._options, path=path), Hooks(), tools))

    def _name(self, path: str) -> str:
        """Return what stands in a path where the name of a vector would; empty where there is no such place."""
        fits = path.startswith("/") and path.endswith(self._options.path)
        return path.removesuffix(self._options.path)[1:] if fits else ""

    def _unknown(self, path: str) -> rpc.Json:
        name = self._name(path)
        what = f"no vector {name[:100]!r}" if name else f"nothing at {path[:100]!r}"
        return {
            "error": f"there is {what}; vectors are at /ID{self._options.path}, all ids at {self._options.path}"
        }


def _is_served(vector: Vector) -> bool:
    return vector.transport is Transport.MCP
