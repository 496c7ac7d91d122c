"""A credential among a call's arguments, where none belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_adcp.harness.calls import NotCalled, PlannedCall, Probe

from .candidates import Candidate

MADE_UP = "pytest-adcp-made-up-key"


def calls(candidates: Sequence[Candidate]) -> Iterator[PlannedCall | NotCalled]:
    """Yield one read whose `ext` holds an api_key, to a tool that takes `ext`."""
    takers = [item for item in candidates if not item.task.mutating and item.tool.known.takes("ext", {})]
    takers.sort(key=lambda item: item.task.name not in ("get_products", "get_signals"))
    if not takers:
        yield NotCalled(f"probe/{Probe.CREDENTIAL}", "no read that is called has an argument ext")
        return
    violates = "ext.api_key: a credential among the arguments"
    yield takers[0].varied(Probe.CREDENTIAL, {"ext": {"api_key": MADE_UP}}, violates=violates)
