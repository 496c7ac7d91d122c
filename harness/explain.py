"""Answers about the rules themselves: --adcp-rules and --adcp-explain."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

import pytest
from pytest_adcp import suites

from .extra_suites import extra_modules
from .rules import Rule, load


def all_rules(extra: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return every packaged rule, in the order of the suites, and those of further modules."""
    return load((*suites.CORE, *suites.CONNECTED_APPS, *suites.CLIENT, *extra))


def answer(config: pytest.Config) -> int:
    """Print what was asked for; the exit code is 0.

    Raises:
        pytest.UsageError: --adcp-explain names no rule, or a suite of another package cannot be used.
    """
    name = config.option.adcp_explain
    rules = all_rules(extra_modules(config))
    text = explain(name, rules) if name else listing(rules)
    sys.stdout.write(f"{text}\n")  # pytest has no terminal reporter yet
    return 0


def listing(rules: Sequence[Rule]) -> str:
    """Return one line a rule: id, level, requirement."""
    width = max(len(rule.id) for rule in rules)
    return "\n".join(f"{rule.id:<{width}}  {rule.level:<6}  {rule.requirement}" for rule in rules)


def explain(name: str, known: Sequence[Rule]) -> str:
    """Return all there is to say about a rule.

    Raises:
        pytest.UsageError: there is no such rule; the text names the nearest ones.
    """
    rules = {rule.id: rule for rule in known}
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
