"""Answers about the rules themselves: --adcp-rules and --adcp-explain."""

from __future__ import annotations

import difflib
import sys

import pytest
from pytest_adcp import suites

from .rules import Rule, load


def all_rules() -> tuple[Rule, ...]:
    """Return every packaged rule, in the order of the suites."""
    return load((*suites.CORE, *suites.CONNECTED_APPS, *suites.CLIENT))


def answer(config: pytest.Config) -> int:
    """Print what was asked for; the exit code is 0.

    Raises:
        pytest.UsageError: --adcp-explain names no rule.
    """
    name = config.option.adcp_explain
    text = explain(name) if name else listing()
    sys.stdout.write(f"{text}\n")  # pytest has no terminal reporter yet
    return 0


def listing() -> str:
    """Return one line a rule: id, level, what it is tried on, requirement."""
    rules = all_rules()
    width = max(len(rule.id) for rule in rules)
    return "\n".join(f"{rule.id:<{width}}  {rule.level:<6}  {rule.requirement}" for rule in rules)


def explain(name: str) -> str:
    """Return all there is to say about a rule.

    Raises:
        pytest.UsageError: there is no such rule; the text names the nearest ones.
    """
    rules = {rule.id: rule for rule in all_rules()}
    rule = rules.get(name)
    if rule is None:
        near = difflib.get_close_matches(name, rules, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise pytest.UsageError(
            f"--adcp-explain: there is no rule {name!r}{hint} (--adcp-rules lists them all)"
        )
    lines = [
        f"{rule.id} ({rule.level})",
        f"  {rule.requirement}",
        "",
        f"  fix:    {rule.fix}",
        f"  spec:   {rule.source}",
    ]
    lines.append(f"  judged: every {rule.judged.replace('_', ' ')}")
    if rule.since:
        weaker = f", SHOULD from {rule.advisory_since}" if rule.advisory_since else ""
        lines.append(f"  since:  AdCP {rule.since}{weaker}")
    if rule.revisions:
        lines.append(f"  MCP:    {', '.join(sorted(rule.revisions))}")
    return "\n".join(lines)
