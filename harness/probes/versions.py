"""Requests that name an AdCP version: the served one, one that does not exist, two that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate
from .contexts import rich_context, takes_context

_MAJOR, _RELEASE = "adcp_major_version", "adcp_version"
_NO_SUCH_PRERELEASE = "3.1-beta.999"

_ASKED: Mapping[Probe, tuple[Mapping[str, Any], str]] = {
    Probe.SUPPORTED_MAJOR: ({_MAJOR: 3}, ""),
    Probe.UNKNOWN_RELEASE: ({_RELEASE: "99.0"}, f"{_RELEASE} 99.0: there is no such AdCP release"),
    Probe.VERSION_CONFLICT: (
        {_RELEASE: "3.1", _MAJOR: 2},
        f"{_RELEASE} 3.1 and {_MAJOR} 2 contradict each other",
    ),
    Probe.PRERELEASE: (
        {_RELEASE: _NO_SUCH_PRERELEASE},
        f"{_RELEASE} {_NO_SUCH_PRERELEASE}: a pre-release that does not exist, and none may be taken for another",
    ),
}


def calls(candidates: Sequence[Candidate], run_id: str) -> Iterator[PlannedCall | NotCalled]:
    """Yield each request once, to the first read that takes the members which make it; get_products goes first."""
    reads = [item for item in candidates if not item.task.mutating]
    reads.sort(key=lambda item: item.task.name not in ("get_products", "get_signals"))
    for probe, (members, violates) in _ASKED.items():
        takers = [item for item in reads if item.knows(*members)]
        # A tool that names the member reads it; one that takes everything may not.
        takers.sort(key=lambda item: not item.names(*members))
        if not takers:
            names = " and ".join(members)
            yield NotCalled(f"probe/{probe}", f"no read that is called has an argument {names}")
            continue
        context = (
            {"context": rich_context(run_id)}
            if probe is Probe.PRERELEASE and takes_context(takers[0])
            else {}
        )
        yield takers[0].varied(probe, {**members, **context}, violates=violates)
