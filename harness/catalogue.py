"""Every rule there is."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_adcp import suites

from .rules import Rule, load


def all_rules(extra: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return every packaged rule, in the order of the suites, and those of further modules."""
    return load((*suites.CORE, *suites.CONNECTED_APPS, *suites.CLIENT, *extra))
