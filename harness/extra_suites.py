"""Suites of other packages: found by a hook, checked, and judged like the packaged ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pytest_adcp import suites

from .rules import PACKAGED, Rule, load
from .text import quote, safe

_ID = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)+")


def extra_modules(config: pytest.Config) -> tuple[str, ...]:
    """Return the modules of further rules that the installed plugins name, each once.

    Raises:
        pytest.UsageError: one cannot be imported, holds no rule, or has a rule whose id is not its package's own.
    """
    modules = tuple(dict.fromkeys(_named(config)))
    if not modules:
        return ()
    packaged = {rule.id: rule for rule in load((*suites.CORE, *suites.CONNECTED_APPS, *suites.CLIENT))}
    homes: dict[str, str] = {}  # first name of an id -> the package that has it
    seen: dict[str, str] = {}
    for module in modules:
        for rule in _rules(module):
            _check(rule, module, homes)
            if rule.id in packaged or rule.id in seen:
                where = seen.get(rule.id, "this release")
                raise _error(module, f"the rule {quote(rule.id, 100)} is there already, in {where}")
            seen[rule.id] = module
    return modules


def _named(config: pytest.Config) -> Iterator[str]:
    # Plugins answer last registered first; a report has the suites in the order of their plugins.
    for names in reversed(config.hook.pytest_adcp_suites(config=config)):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise pytest.UsageError(
                f"adcp: the hook pytest_adcp_suites returns a list of names of modules, not {quote(names, 100)}"
            )
        yield from names


def _rules(module: str) -> tuple[Rule, ...]:
    try:
        found = load([module])
    except Exception as error:  # whatever its import raises is the package's own fault
        raise _error(
            module, f"it cannot be loaded: {type(error).__name__}: {safe(str(error), 300)}"
        ) from error
    if not found:
        raise _error(
            module, "there is no rule in it; a rule is a function under @rule, defined in the module itself"
        )
    return found


def _check(rule: Rule, module: str, homes: dict[str, str]) -> None:
    first = rule.id.partition(".")[0]
    if not _ID.fullmatch(rule.id):
        raise _error(
            module,
            f"the id {quote(rule.id, 100)} is no dotted name of small letters, digits and dashes, as acme.products.priced",
        )
    if first in PACKAGED:
        raise _error(
            module,
            f"the id {quote(rule.id, 100)} begins with {first!r}, which is for the packaged rules; begin it with a name of "
            "your own",
        )
    package = module.partition(".")[0]
    owner = homes.setdefault(first, package)
    if owner != package:
        raise _error(
            module,
            f"its rules begin with {first!r}, and so do those of {owner}; begin them with a name of their own",
        )


def _error(module: str, why: str) -> pytest.UsageError:
    return pytest.UsageError(f"adcp: the suite {safe(module)}: {why}")
