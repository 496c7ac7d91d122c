"""What is sent beyond the plain calls of a plan, a file a subject; the rules read what came of it from the transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_adcp.harness.calls import NotCalled, PlannedCall
from pytest_adcp.harness.placeholders import Values

from . import contexts, credentials, discovery, idempotency, lookups, pages, tolerance, versions
from .candidates import Candidate


def calls(
    candidates: Sequence[Candidate], bad: Sequence[PlannedCall], values: Values
) -> Iterator[PlannedCall | NotCalled]:
    """Yield the calls that try single behaviours of a server's tasks, and why one is not made (item `probe/NAME`).

    Args:
        candidates: the tasks whose sample requests are planned.
        bad: the bad requests that are planned.
        values: name the run in contexts and keys.
    """
    run_id = values.run_id
    yield from discovery.calls(candidates)
    yield from contexts.calls(candidates, run_id)
    yield from versions.calls(candidates, run_id)
    yield from tolerance.calls(candidates, run_id)
    yield from credentials.calls(candidates)
    yield from lookups.calls(bad, run_id)
    yield from pages.calls(candidates)
    yield from idempotency.calls(candidates, bad, values)
