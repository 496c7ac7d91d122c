"""Vectors as tools: one tool for each, or one vector behind all tools of a seller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import PurePath

from pytest_adcp.vectors.loader import Vector

from .exchange import UNTOUCHED_TASK, Exchange
from .rpc import INTERNAL_ERROR, Json, RpcError
from .toolbox import Toolbox, called, paged, unknown_tool

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")  # for the name of a tool
_LONGEST_STEM = 20  # with an id of 100 characters, a point and a number it makes a name of 128 at most


class VerbatimError(RpcError):
    """The JSON-RPC error that a vector holds, whatever it looks like; only its id becomes that of the request."""

    def __init__(self, response: Json) -> None:
        super().__init__(INTERNAL_ERROR, "the answer of a vector")
        self._response = response

    def answer(self, request_id: str | int | None) -> Json:
        """Return the response message."""
        return {**self._response, "jsonrpc": "2.0", "id": request_id}


class Catalogue:
    """A tool for each vector, all on one page."""

    instructions = (
        "Each tool answers with a vector: an answer that AdCP clients have to understand or refuse. "
        "Arguments change nothing."
    )

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = vectors

    def page(self, params: Json) -> Json:
        """Return the page of tools/list."""
        tools = [_definition(name, vector) for name, vector in self._vectors.items()]
        return paged(tools, params, len(tools))

    def call(self, exchange: Exchange) -> Json:
        """Return the answer of the vector that is named."""
        name, _ = called(exchange)
        vector = self._vectors.get(name)
        if vector is None:
            raise unknown_tool()
        return _answer(vector)


class OneVector:
    """The tools of a seller, all but the one for its capabilities with the same answer."""

    def __init__(self, vector: Vector, seller: Toolbox) -> None:
        self._vector = vector
        self._seller = seller
        self.instructions = seller.instructions

    def page(self, params: Json) -> Json:
        """Return one page of the seller's tools/list."""
        return self._seller.page(params)

    def call(self, exchange: Exchange) -> Json:
        """Return the seller's capabilities, or the answer of the vector."""
        name, _ = called(exchange)
        return self._seller.call(exchange) if name == UNTOUCHED_TASK else _answer(self._vector)


def named(vectors: Iterable[Vector]) -> dict[str, Vector]:
    """Return vectors by names that tools may have and that are theirs alone: their ids, where these are."""
    vectors = list(vectors)
    times = Counter(vector.id for vector in vectors)
    taken = set(times)
    names: dict[str, Vector] = {}
    for vector in vectors:
        name = vector.id
        if times[name] > 1:
            stem = _UNFIT.sub("-", PurePath(vector.file).stem)[:_LONGEST_STEM]
            wanted = f"{stem}.{vector.id}"
            further = (f"{wanted}-{number}" for number in count(2))
            name = wanted if wanted not in taken else next(other for other in further if other not in taken)
            taken.add(name)
        names[name] = vector
    return names


def _definition(name: str, vector: Vector) -> Json:
    return {
        "name": name,
        "description": vector.description,
        "inputSchema": {"type": "object", "additionalProperties": True},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def _answer(vector: Vector) -> Json:
    """Return the tool result of a vector, built for this one call.

    Raises:
        VerbatimError: it is a JSON-RPC error.
    """
    response = vector.response
    if "error" in response and ("jsonrpc" in response or vector.path == "jsonrpc_error"):
        raise VerbatimError(response)
    return response
