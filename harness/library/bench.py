"""The client libraries of a run: started, put before the rules, and ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from pytest_adcp.harness.rules import Rule
from pytest_adcp.harness.seller.vectors import VectorServer, running_vectors
from pytest_adcp.harness.subjects import Entry
from pytest_adcp.vectors.loader import Transport, Vector, VectorError, load, own

from .command import CommandLibrary
from .records import Call, Declared, Library
from .settings import LibrarySettings
from .subjects import Tried, build, fuzzed, missing, of_rule


@dataclass(frozen=True, slots=True)
class Libraries:
    """What is judged, and on what."""

    declared: tuple[Declared, ...]
    tried: tuple[Tried, ...]

    def entries(self, rule: Rule) -> tuple[Entry, ...]:
        """Return what a rule is tried on; never empty."""
        return of_rule(rule, self.tried)

    def names(self) -> str:
        """Return the libraries with their versions, for a person."""
        return ", ".join(f"{each.name} {each.version}".strip() for each in self.declared)

    def declared_names(self) -> list[tuple[str, str]]:
        """Return the name and the version of each library, as it declares them."""
        return [(each.name, each.version) for each in self.declared]

    def missing(self) -> list[str]:
        """Return what the run lacks to be conclusive."""
        return missing(self.tried)


@contextlib.contextmanager
def libraries(settings: LibrarySettings) -> Iterator[Libraries]:
    """Start what is to be judged; it is ended with the block.

    Raises:
        pytest.UsageError: a file holds no vectors, or a library cannot be asked.
    """
    vectors = _vectors(settings)
    with contextlib.ExitStack() as stack:
        opened: list[Library] = []
        tried: list[Tried] = []
        if settings.extractor is not None or settings.client is None:
            extractor = _kept(stack, settings.open_extractor())
            opened.append(extractor)
            tried += build(extractor, vectors)
            if settings.fuzz:
                tried += fuzzed(
                    extractor, examples=settings.fuzz, seed=settings.seed, folder=settings.report_dir
                )
        if settings.client is not None:
            served = stack.enter_context(running_vectors(vectors))
            client = settings.open_client()
            stack.callback(client.close)
            opened.append(client)
            over_mcp = [vector for vector in vectors if vector.transport is Transport.MCP]
            prefix = "client:" if len(opened) > 1 else ""
            tried += build(client, over_mcp, calls=_Calls(served), prefix=prefix)
        yield Libraries(tuple(library.declared for library in opened), tuple(tried))


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls a task that every client knows, at the URL where it gives a vector."""

    server: VectorServer

    def call(self, vector: Vector) -> Call:
        return Call(self.server.url(vector), "get_products", {"buying_mode": "brief", "brief": "CTV, sports"})


def _kept(stack: contextlib.ExitStack, library: Library) -> Library:
    if isinstance(library, CommandLibrary):
        stack.callback(library.close)
    return library


def _vectors(settings: LibrarySettings) -> Sequence[Vector]:
    vectors = list(own())
    try:
        for file in settings.vectors:
            vectors += load(file)
    except VectorError as error:
        raise pytest.UsageError(f"adcp: {error}") from None
    return vectors
