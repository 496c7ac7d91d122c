"""What a client library is asked, and what it answers. All of it is foreign but the questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pytest_adcp.vectors.loader import UNTOLD, Kind, Transport, Untold


class Asks(StrEnum):
    """What a library is given with each question."""

    RESPONSES = "responses"  # the response itself, to an extractor
    CALLS = "calls"  # a call that gets it, to a whole client


@dataclass(frozen=True, slots=True)
class Call:
    """A tools/call that a whole client has to make."""

    url: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to extract.

    Attributes:
        kind: whether the payload of a success is asked for, or the AdCP error.
        transport: what the response came over.
        response: the response as JSON text, so that nothing is lost on the way; None for a whole client, which gets it itself.
        call: how a whole client gets it; None for an extractor.
        limit: UTF-16 units of text that the library is to read, for this question; None: its default.
    """

    kind: Kind
    transport: Transport = Transport.MCP
    response: str | None = field(default=None, repr=False)
    call: Call | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Extracted:
    """What was extracted.

    Attributes:
        data: the payload or the AdCP error; None where there is none.
        path: where the library found it; None where it does not tell.
        action: what it does about the error; None where it does not tell.
        retry_after: seconds that it waits before it tries again, None for a backoff of its own; UNTOLD where it does not tell.
    """

    data: Any = field(repr=False)
    path: str | None = None
    action: str | None = None
    retry_after: float | Untold | None = UNTOLD


@dataclass(frozen=True, slots=True)
class Threw:
    """The library raised an error in place of an answer."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The library gave no answer that can be judged.

    Attributes:
        why: what happened, for its author.
        asked: whether the question was put to it; not, where the library had been given up.
    """

    why: str
    asked: bool = True


Answer = Extracted | Threw | NoAnswer


class Unit(StrEnum):
    """What a limit of text counts."""

    UTF16 = "utf-16"  # as JavaScript's length
    CHARACTERS = "characters"  # code points, as Python's len
    BYTES = "bytes"  # of UTF-8


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest text that a library reads.

    Attributes:
        size: in `unit`; None where it is without bound.
        unit: what is counted.
        configurable: whether the library takes the `limit` of a question.
    """

    size: int | None
    unit: Unit = Unit.UTF16
    configurable: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """What a library says about itself in the handshake.

    Attributes:
        name: of the library.
        version: empty where it does not say.
        transports: what it reads.
        kinds: what it extracts.
        limit: the largest text that it reads; None where it does not say.
    """

    name: str
    version: str = ""
    transports: frozenset[Transport] = frozenset({Transport.MCP})
    kinds: frozenset[Kind] = frozenset(Kind)
    limit: Limit | None = None


class Library(Protocol):
    """A client library that can be asked."""

    @property
    def declared(self) -> Declared:
        """What it says about itself."""

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the answer to each question, in their order; never raises for what the library does."""
