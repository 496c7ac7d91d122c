"""The harness's own algorithms as a client library: judged like any other where none is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytest_adcp.harness import __version__
from pytest_adcp.harness.a2a import extract_a2a, extract_a2a_error
from pytest_adcp.harness.extraction import (
    DEFAULT_CLIENT_LIMIT,
    ErrorExtraction,
    action,
    extract_error,
    extract_success,
    retry_after,
)
from pytest_adcp.harness.jsontext import parse
from pytest_adcp.vectors.loader import Kind, Transport

from .records import Answer, Declared, Extracted, Limit, NoAnswer, Question, Threw


class ReferenceLibrary:
    """The algorithms that judge servers."""

    declared = Declared(
        "pytest-adcp",
        __version__,
        frozenset(Transport),
        frozenset(Kind),
        Limit(DEFAULT_CLIENT_LIMIT, configurable=True),
    )

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the answer to each question."""
        return map(_answer, questions)


def _answer(question: Question) -> Answer:
    parsed = parse(question.response or "")
    if not parsed.ok:
        return NoAnswer(f"the response is no JSON: {parsed.error}")
    if question.transport is Transport.A2A:
        return _a2a(question.kind, parsed.value)
    if question.kind is Kind.SUCCESS:
        found = extract_success(parsed.value, limit=question.limit or DEFAULT_CLIENT_LIMIT)
        return Extracted(found.data, str(found.path))
    return _failed(extract_error(parsed.value))


def _a2a(kind: Kind, task: Any) -> Answer:
    if kind is Kind.ERROR:
        return _failed(extract_a2a_error(task))
    found = extract_a2a(task)
    if found.refused:
        return Threw("WrapperError", f"{found.pointer} is a wrapper")
    return Extracted(found.data, str(found.path))


def _failed(failed: ErrorExtraction) -> Answer:
    waits = retry_after(failed.error) if failed.error is not None else None
    return Extracted(failed.error, str(failed.path), str(action(failed.error)), waits)
