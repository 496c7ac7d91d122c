"""A context with every kind of JSON value in it, which has to come back as it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate


def rich_context(run_id: str) -> Mapping[str, Any]:
    """Return a context that a careless server changes. Whole numbers only: 1.0 may come back as 1."""
    return {
        "adcp_run": run_id,
        "nested": {"list": [1, "two", {"three": 3}], "empty_object": {}},
        "unicode": "Zürich, 東京, 🎧",
        "number": 42,
        "text_number": "007",
        "yes": True,
        "empty_list": [],
        "empty_text": "",
    }


def calls(candidates: Sequence[Candidate], run_id: str) -> Iterator[PlannedCall | NotCalled]:
    """Yield one read with a rich context. A request to be refused carries another, see lookups and versions."""
    takers = [item for item in candidates if not item.task.mutating and takes_context(item)]
    if not takers:
        yield NotCalled(f"probe/{Probe.CONTEXT}", "no read that is called takes a context")
        return
    products = (item for item in takers if item.task.name == "get_products")
    yield next(products, takers[-1]).varied(Probe.CONTEXT, {"context": rich_context(run_id)})


def takes_context(candidate: Candidate) -> bool:
    """Whether a task's request has a context, and the tool takes it."""
    return candidate.task.context and candidate.knows("context")
