"""The differential fuzzer: a library and the reference algorithm are given the same responses, which nobody has seen before.

A disagreement is shrunk while its signature stays the same, and written as a vector.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_adcp.harness.jsontext import truthy
from pytest_adcp.harness.text import plural
from pytest_adcp.vectors.loader import Kind, Transport

from .agreement import NO_ANSWER, REFERENCES, Found, Reference, Signature, broken, difference, features
from .generated_answers import GeneratedAnswers
from .new_vectors import vector
from .records import Answer, Library, NoAnswer, Question
from .requirements import malformed
from .shrinking import Stopped, shrunk

MOST = 5  # disagreements that are reported
_TOGETHER = 32  # responses that are asked about together
_AT_ONCE = 16  # smaller responses that are asked about together
_MOST_SMALLER = 6_000  # responses that are tried to shrink one
_MOST_SHRUNK = 8  # disagreements of one signature: what is shrunk may prove to be known
_GONE = "the library was given up: it gives no answers any more"
_CONTROL = {"content": [], "structuredContent": {"products": []}}  # every library survives this


@dataclass(frozen=True, slots=True, eq=False)
class Disagreement:
    """A response that the library reads otherwise than the reference.

    Attributes:
        kind: what was asked for.
        transport: what the response came over.
        response: shrunk.
        expected: what the reference extracts; None: nothing.
        answer: what the library made of it.
        signature: what the disagreement is about; no other one of the run is about the same.
        vector: the same in the published format; `advisory` in it says that the words of the specification leave room.
    """

    kind: Kind
    transport: Transport
    response: dict[str, Any] = field(repr=False)
    expected: dict[str, Any] | None = field(repr=False)
    answer: Answer
    signature: Signature
    vector: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class FuzzResult:
    """What came out of a run.

    Attributes:
        tried: questions that were put to the library, without those to shrink.
        seconds: that it took.
        disagreements: at most MOST, in the order in which they were found.
        stopped: why less was tried than was asked for, in words; empty where all was.
    """

    tried: int
    seconds: float
    disagreements: tuple[Disagreement, ...]
    stopped: str


class _End(Exception):  # noqa: N818 - it is no error
    """Nothing more can be, or needs to be, found out."""


def fuzz(
    library: Library,
    *,
    examples: int,
    seed: int,
    kinds: Collection[tuple[Transport, Kind]],
    seconds: float = 600.0,
    references: Mapping[tuple[Transport, Kind], Reference] = REFERENCES,
) -> FuzzResult:
    """Look for responses that a library reads otherwise than the reference.

    Args:
        library: is asked about many responses at a time.
        examples: how many responses of each transport are tried; each is asked about in every kind of its transport.
        seed: the same one draws the same responses, as long as the code is the same.
        kinds: what is asked for; what has no reference is left out.
        seconds: after so many nothing more is asked, whether to find or to shrink.
        references: what the library is compared with.
    """
    began = time.monotonic()
    wanted = {key: references[key] for key in sorted(kinds) if key in references}
    run = _Run(library, wanted, began + seconds)
    transports = sorted({transport for transport, _ in wanted})
    responses = _generated(transports, examples, seed) if transports else iter(())
    with contextlib.suppress(_End):
        run.begin()
        while some := list(itertools.islice(responses, _TOGETHER)):
            run.batch(some)
    return FuzzResult(run.tried, time.monotonic() - began, tuple(run.found), run.stopped)


def _generated(transports: Sequence[Transport], count: int, seed: int) -> Iterator[tuple[Transport, Any]]:
    answers = [(transport, GeneratedAnswers(transport, seed)) for transport in transports]
    for _ in range(count):
        for transport, generated in answers:
            yield transport, generated.next()


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A response that is asked about, and what the reference makes of it."""

    transport: Transport
    kind: Kind
    response: Any
    found: Found
    reference: Reference

    def signature(self, answer: Answer) -> Signature | None:
        """Tell how an answer disagrees; None where it does not."""
        says = difference(self.transport, self.response, self.found, answer, self.reference)
        if not says:
            return None
        return Signature(self.transport, self.kind, "" if says == NO_ANSWER else self.outcome(), says)

    def outcome(self) -> str:
        """Say what the reference makes of it, without the data."""
        if self.found.data is not None:
            return self.found.path
        return "refused" if self.found.refused else f"nothing: {self.found.reason or self.found.path}"

    def is_about(self, signature: Signature) -> bool:
        """Whether the reference makes of it what it has to."""
        return signature.reference in ("", self.outcome())

    def features(self) -> frozenset[str]:
        """Return what is odd about the response."""
        return features(json.dumps(self.response), self.found)

    def malformed(self) -> str:
        """Say where the response breaks MCP; empty where it does not."""
        return broken(self.transport, self.response)

    def other(self, response: Any) -> _Case:
        """Return the same for another response."""
        return _Case(self.transport, self.kind, response, self.reference(response), self.reference)


class _Run:
    """What is known at some moment of a run."""

    def __init__(
        self,
        library: Library,
        references: Mapping[tuple[Transport, Kind], Reference],
        until: float,
    ) -> None:
        self.tried = 0
        self.found: list[Disagreement] = []
        self.stopped = ""
        self._library = library
        self._references = references
        self._until = until
        self._known: list[tuple[Signature, frozenset[str]]] = []
        self._times_shrunk: Counter[Signature] = Counter()

    def begin(self) -> None:
        """Make sure that the library answers at all.

        Raises:
            _End: it does not.
        """
        if self._references and self._is_gone():
            self._end("the library does not even answer to plain data")

    def batch(self, responses: Sequence[tuple[Transport, Any]]) -> None:
        """Ask about some responses; disagreements are shrunk and kept.

        Raises:
            _End: enough is known, or no more can be found out; `stopped` says why.
        """
        if time.monotonic() >= self._until:
            self._end("the time was over")
        cases = list(self._cases(responses))
        self.tried += len(cases)
        answers = self._ask(cases)
        silent = next((index for index, answer in enumerate(answers) if isinstance(answer, NoAnswer)), None)
        # After the first that it gave no answer to, it may have been given up: then the others say nothing.
        is_gone = silent is not None and self._is_gone()
        for index, (case, answer) in enumerate(zip(cases, answers, strict=True)):
            signature = case.signature(answer)
            if signature is not None and not (is_gone and isinstance(answer, NoAnswer) and index != silent):
                self._consider(signature, case, answer, is_gone=is_gone)
        if is_gone:
            self._end(_GONE)

    def _consider(self, signature: Signature, case: _Case, answer: Answer, *, is_gone: bool) -> None:
        if self._is_known(signature, case) or self._times_shrunk[signature] == _MOST_SHRUNK:
            return
        self._times_shrunk[signature] += 1
        small = (signature, case, answer) if is_gone else self._smaller(signature, case, answer)
        if not self._is_known(*small[:2]):
            self._report(*small)
        self._known.append((signature, small[1].features()))
        if self.stopped:
            raise _End

    def _cases(self, responses: Sequence[tuple[Transport, Any]]) -> Iterator[_Case]:
        for transport, response in responses:
            for (of, kind), reference in self._references.items():
                if of is transport:
                    yield _Case(transport, kind, response, reference(response), reference)

    def _ask(self, cases: Sequence[_Case]) -> list[Answer]:
        # All answers are taken: those of a library behind a pipe would be mistaken for answers to the next questions.
        return list(
            self._library.ask(
                [Question(case.kind, case.transport, json.dumps(case.response)) for case in cases]
            )
        )

    def _is_gone(self) -> bool:
        """Ask something harmless."""
        transport, kind = next(iter(self._references))
        answers = list(self._library.ask([Question(kind, transport, json.dumps(_CONTROL))]))
        return isinstance(answers[0], NoAnswer)

    def _is_known(self, signature: Signature, case: _Case) -> bool:
        """Whether a disagreement may well be one that was found before."""
        same = [odd for known, odd in self._known if known == signature]
        return bool(same) and any(odd <= case.features() for odd in same)

    def _report(self, signature: Signature, case: _Case, answer: Answer) -> None:
        self._known.append((signature, case.features()))
        made = vector(signature, case.response, case.found, answer)
        self.found.append(
            Disagreement(case.kind, case.transport, case.response, case.found.data, answer, signature, made)
        )
        if len(self.found) == MOST:
            self._end(f"{plural(MOST, 'disagreement')} were found")

    def _end(self, why: str) -> NoReturn:
        self.stopped = why
        raise _End

    # -- shrinking ---------------------------------------------------------------------------------------------

    def _smaller(self, signature: Signature, case: _Case, answer: Answer) -> tuple[Signature, _Case, Answer]:
        """Return the smallest response with the same signature that can be found, and the answer to it.

        Where it takes fewer text items to disagree in a like way, the signature is that of the simpler response.
        """
        while True:
            case, answer = self._shrunk(signature, case, answer)
            simpler = None if isinstance(answer, NoAnswer) else self._with_fewer_items(signature, case)
            if simpler is None:
                return signature, case, answer
            signature, case, answer = simpler

    def _shrunk(self, signature: Signature, case: _Case, answer: Answer) -> tuple[_Case, Answer]:
        best = case, answer
        breaks = case.malformed()

        def first(responses: list[Any]) -> int | None:
            nonlocal best
            if time.monotonic() >= self._until or self.stopped:
                raise Stopped
            others = {
                index: other
                for index, response in enumerate(responses)
                if isinstance(response, dict)
                and broken(case.transport, response) in ("", breaks)
                and (other := case.other(response)).is_about(signature)
            }
            for (index, other), got in zip(others.items(), self._ask([*others.values()]), strict=True):
                if other.signature(got) == signature:
                    if isinstance(got, NoAnswer) and self._is_gone():
                        self.stopped = _GONE
                        raise Stopped
                    best = other, got
                    return index
            return None

        at_once = 1 if isinstance(answer, NoAnswer) else _AT_ONCE  # each of them may cost a new process
        response = case.response
        if breaks:
            with contextlib.suppress(Stopped):
                for mend in _MENDS:
                    mended = mend(response)
                    response = mended if first([mended]) == 0 else response
            breaks = best[0].malformed()
        shrunk(response, first, at_once=at_once, most=_MOST_SMALLER)
        return best

    def _with_fewer_items(self, signature: Signature, case: _Case) -> tuple[Signature, _Case, Answer] | None:
        content = case.response.get("content")
        if case.transport is not Transport.MCP or not isinstance(content, list) or len(content) < 2:
            return None
        if time.monotonic() >= self._until or self.stopped:
            return None
        others = [
            case.other(case.response | {"content": content[:index] + content[index + 1 :]})
            for index in range(len(content))
        ]
        for other, answer in zip(others, self._ask(others), strict=True):
            found = other.signature(answer)
            if found is not None and found.is_like(signature):
                return found, other, answer
        return None


def _with_content(response: dict[str, Any]) -> dict[str, Any]:
    return response if isinstance(response.get("content"), list) else response | {"content": []}


def _with_whole_items(response: dict[str, Any]) -> dict[str, Any]:
    content = response.get("content")
    items = content if isinstance(content, list) else []
    return response | {"content": [item for item in items if not malformed({"content": [item]})]}


def _with_flag(response: dict[str, Any]) -> dict[str, Any]:
    return response | {"isError": truthy(response.get("isError"))}


def _without_odd_data(response: dict[str, Any]) -> dict[str, Any]:
    if isinstance(response.get("structuredContent"), dict):
        return response
    return {name: value for name, value in response.items() if name != "structuredContent"}


_MENDS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    _with_content,
    _with_whole_items,
    _with_flag,
    _without_odd_data,
)
"""What makes a response one of MCP: tried one after the other, so that only what matters breaks it."""
