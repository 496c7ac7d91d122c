"""What the rules about client libraries judge: a vector with the library's answer to it, and the library itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Protocol

from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.jsonwriter import write
from pytest_adcp.harness.rules import Rule
from pytest_adcp.harness.subjects import Entry, Gap, Server, Subject
from pytest_adcp.vectors.loader import Kind, Transport, Vector

from .command import Behaviour, CommandLibrary
from .fuzz import FuzzResult, fuzz
from .limits import at_the_limit, why_not
from .records import Answer, Call, Declared, Library, Question
from .requirements import actions, requirement, why_refused

_EVERY = ("extractor.answers", "extractor.path")  # judged on each vector
_DEATHS = 200  # of a library that is fuzzed: one that crashes is to be shrunk, too
_OF_FUZZING = frozenset({"client.fuzz.agrees"})
_OF_A_LIBRARY = frozenset(
    {"client.extractor.output", "client.extractor.protocol", "client.extraction.limit-declared"}
)


class Calls(Protocol):
    """A server whose tools answer with vectors."""

    def call(self, vector: Vector) -> Call:
        """Return the call that gets a vector's response."""


class Asked:
    """All questions to a library, asked together when the first answer is wanted."""

    def __init__(self, library: Library, vectors: Sequence[Vector], calls: Calls | None = None) -> None:
        self.library = library
        self._vectors = vectors
        self._calls = calls

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answers, in the order of the vectors."""
        return tuple(self.library.ask(map(self._question, self._vectors)))

    def _question(self, vector: Vector) -> Question:
        limit = self.library.declared.limit
        is_told = vector.limit if limit is not None and limit.configurable else None
        if self._calls is not None:
            return Question(vector.kind, vector.transport, call=self._calls.call(vector), limit=is_told)
        return Question(vector.kind, vector.transport, write(vector.response).decode(), limit=is_told)


@dataclass(frozen=True)
class VectorRun(Subject):
    """A vector and what the library under test makes of it.

    Attributes:
        vector: the vector.
        refusable: why a client with types may refuse the response as a whole; empty where it may not.
        asked: the questions to the library.
        index: which of them is this one.
    """

    vector: Vector
    refusable: str
    asked: Asked
    index: int

    @property
    def answer(self) -> Answer:
        """What the library makes of it."""
        return self.asked.answers[self.index]


@dataclass(frozen=True)
class LibraryRun(Subject):
    """A library after all questions were put to it."""

    asked: Asked

    @property
    def declared(self) -> Declared:
        """What it says about itself."""
        return self.asked.library.declared

    @property
    def behaviour(self) -> Behaviour:
        """How it kept to the protocol; nothing to complain of where it speaks none."""
        _ = self.asked.answers
        return getattr(self.asked.library, "behaviour", Behaviour((), ()))


@dataclass(frozen=True)
class FuzzRun(Subject):
    """Generated responses of one kind, to be given to a library and to the reference.

    Attributes:
        library: is asked when the result is wanted.
        transport, kind: what is asked for.
        examples, seed: how many responses, and which.
        file: where vectors that show a disagreement are written.
    """

    library: Library
    transport: Transport
    kind: Kind
    examples: int
    seed: int
    file: Path

    @cached_property
    def result(self) -> FuzzResult:
        """What came out; the file is there then, if there is a disagreement."""
        if isinstance(self.library, CommandLibrary):
            self.library.allow(_DEATHS)
        found = fuzz(
            self.library, examples=self.examples, seed=self.seed, kinds=[(self.transport, self.kind)]
        )
        if found.disagreements:
            vectors = [each.vector for each in found.disagreements]
            document = {
                "version": 1,
                "description": f"Found by the fuzzer in {self.library.declared.name}",
                "vectors": vectors,
            }
            self.file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.file, [json.dumps(document, indent=2).encode("ascii") + b"\n"], mode=0o644)
        return found


@dataclass(frozen=True)
class Tried:
    """An entry, and the rules that it is for."""

    rules: frozenset[str]
    entry: Entry


def build(
    library: Library, vectors: Sequence[Vector], *, calls: Calls | None = None, prefix: str = ""
) -> tuple[Tried, ...]:
    """Return what the rules are tried on: each vector, and the library.

    Args:
        library: is asked when the first answer is wanted.
        vectors: the packaged ones and the user's.
        calls: where a whole client gets the responses; None for an extractor.
        prefix: of the labels, to tell two libraries of one run apart.
    """
    vectors = (*vectors, *(at_the_limit(library.declared) if calls is None else ()))
    several = len({vector.file for vector in vectors}) > 1
    why = {vector: why_not(vector, library.declared) for vector in vectors}
    asked = Asked(library, [vector for vector in vectors if not why[vector]], calls)
    indices = itertools.count()
    tried: list[Tried] = []
    for vector in vectors:
        label = prefix + (f"{Path(vector.file).stem}/{vector.id}" if several else vector.id)
        rules = frozenset(f"client.{name}" for name in (requirement(vector), *actions(vector), *_EVERY))
        if why[vector]:
            tried.append(Tried(rules, Gap(label, why[vector], blocked=False)))
            continue
        run = VectorRun(label, None, Server(), None, vector, why_refused(vector), asked, next(indices))
        tried.append(Tried(rules, run))
    whole = LibraryRun(f"{prefix}{library.declared.name}", None, Server(), None, asked)
    tried.append(Tried(_OF_A_LIBRARY, whole))
    return tuple(tried)


def fuzzed(library: Library, *, examples: int, seed: int, folder: Path) -> Iterator[Tried]:
    """Yield what the rule about generated responses is tried on: each kind that the library declares."""
    declared = library.declared
    for transport, kind in product(sorted(declared.transports), sorted(declared.kinds)):
        label = f"{transport}/{kind}"
        file = folder / f"fuzz-{transport}-{kind}.json"
        run = FuzzRun(label, None, Server(), None, library, transport, kind, examples, seed, file)
        yield Tried(_OF_FUZZING, run)


def of_rule(rule: Rule, tried: Sequence[Tried]) -> tuple[Entry, ...]:
    """Return what a rule is tried on; never empty."""
    found = tuple(item.entry for item in tried if rule.id in item.rules)
    return found or (Gap("-", "no vector is about this", blocked=False),)


def missing(tried: Sequence[Tried]) -> list[str]:
    """Return what a run over vectors lacks to be conclusive: one judged vector of each kind."""
    kinds = {item.entry.vector.kind for item in tried if isinstance(item.entry, VectorRun)}
    return [f"no {kind} vector was judged" for kind in Kind if kind not in kinds]
