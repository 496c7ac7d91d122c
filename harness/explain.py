"""Answers about the rules themselves: --adcp-rules and --adcp-explain."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

import pytest

from .catalogue import all_rules
from .extra_suites import extra_modules
from .reference.explained import explained, listed
from .rules import Rule
from .text import safe


def answer(config: pytest.Config) -> int:
    """Print what was asked for; the exit code is 0.

    Raises:
        pytest.UsageError: --adcp-explain names no rule, or a suite of another package cannot be used.
    """
    name = config.option.adcp_explain
    rules = all_rules(extra_modules(config))
    width = shutil.get_terminal_size().columns
    text = explain(name, width, date.today(), rules) if name else listing(rules)
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal may know fewer characters than the examples have.
    sys.stdout.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
    return 0


def listing(rules: Sequence[Rule]) -> str:
    """Return one line a rule: id, level, requirement."""
    width = max(len(rule.id) for rule in rules)
    return "\n".join(f"{rule.id:<{width}}  {rule.level:<6}  {rule.requirement}" for rule in rules)


def explain(names: str, width: int, today: date, known: Sequence[Rule]) -> str:
    """Return all there is to say about a rule, or about several; of a family or a pattern, a line for each of its rules.

    Args:
        names: ids of rules, families as `adcp.errors`, patterns as `*.context*`; with commas between.
        width: columns of the terminal.
        known: every rule there is.
        today: from which the date in the entry of a baseline is counted.

    Raises:
        pytest.UsageError: there is no such rule; the text names the nearest ones.
    """
    rules = {rule.id: rule for rule in known}
    parts = [name.strip() for name in names.split(",") if name.strip()] or [names]
    return "\n\n\n".join("\n".join(_told(name, rules, width, today)) for name in parts)


def _told(name: str, rules: dict[str, Rule], width: int, today: date) -> Iterator[str]:
    if name in rules:
        return explained(rules[name], width, today)
    family = name.removesuffix(".*").removesuffix(".")
    found = [
        rule for rule in rules.values() if rule.id.startswith(f"{family}.") or fnmatchcase(rule.id, name)
    ]
    if not found:
        near = difflib.get_close_matches(
            name[:200], [*rules, *{rule.family for rule in rules.values()}], n=3, cutoff=0.4
        )
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise pytest.UsageError(
            f"--adcp-explain: there is no rule {safe(name)!r}{hint} (--adcp-rules lists them all)"
        )
    return listed(found, width)
