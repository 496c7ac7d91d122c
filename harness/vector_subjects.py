"""Vectors as subjects of rules: what the algorithms under test make of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.vectors.loader import Kind, Vector, VectorError, load, own

from .extraction import DEFAULT_CLIENT_LIMIT, action, extract_error, extract_success
from .rules import Judged
from .subjects import Entry, Gap, Server, Subject


@dataclass(frozen=True)
class VectorRun(Subject):
    """A vector and what the algorithm under test made of it."""

    vector: Vector
    got: Any  # the extracted data or error; None where nothing was extracted
    path: str
    action: str | None  # errors only


def build(files: Iterable[Path]) -> tuple[Entry, ...]:
    """Run the harness's own algorithms over its own vectors and over further files of the published format.

    Raises:
        pytest.UsageError: a file is no vector file; the text names file, place and reason.
    """
    vectors = list(own())
    try:
        for file in files:
            vectors += load(file)
    except VectorError as error:
        raise pytest.UsageError(f"adcp: {error}") from None
    several = {vector.file for vector in vectors}
    return tuple(
        _run(vector, f"{Path(vector.file).stem}/{vector.id}" if len(several) > 1 else vector.id)
        for vector in vectors
    )


def _run(vector: Vector, label: str) -> Entry:
    if vector.transport != "mcp":
        return Gap(label, f"a vector of transport {vector.transport}; only mcp is read", blocked=False)
    if vector.kind is Kind.SUCCESS:
        found = extract_success(vector.response, limit=vector.limit or DEFAULT_CLIENT_LIMIT)
        return VectorRun(label, None, Server(), None, vector, found.data, str(found.path), None)
    failed = extract_error(vector.response)
    return VectorRun(
        label, None, Server(), None, vector, failed.error, str(failed.path), str(action(failed.error))
    )


def of_kind(kind: Judged, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the vectors that a rule is tried on; never empty."""
    wanted = Kind.SUCCESS if kind is Judged.SUCCESS_VECTOR else Kind.ERROR
    found = tuple(entry for entry in entries if isinstance(entry, VectorRun) and entry.vector.kind is wanted)
    return found or (Gap("-", f"no {wanted} vector was given", blocked=True),)


def missing(entries: Sequence[Entry]) -> list[str]:
    """Return what a run over vectors lacks to be conclusive: one judged vector of each kind."""
    kinds = {entry.vector.kind for entry in entries if isinstance(entry, VectorRun)}
    return [f"no {kind} vector was judged" for kind in ("success", "error") if kind not in kinds]
