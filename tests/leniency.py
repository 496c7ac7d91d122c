"""Finds in the code of the suites why a rule that says MUST is sometimes only an advisory."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.rules import Rule


def leniencies(rule: Rule) -> tuple[str, ...]:
    """Return why a MUST may be an advisory, as the code of its suite says it: the texts that it gives as `lenient`."""
    module = sys.modules[rule.function.__module__]
    waiting, seen, found = [rule.function], set(), []
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            if (isinstance(node, ast.keyword) and node.arg in ("lenient", "lenient_when_thrown")) or (
                isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "lenient" for t in node.targets)
            ):
                found += _texts(node.value, vars(module))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = vars(module).get(node.func.id)
                if inspect.isfunction(called) and called.__module__ == module.__name__:
                    waiting.append(called)
    return tuple(dict.fromkeys(found)) if rule.level == "MUST" else ()


def _texts(node: ast.expr, names: Mapping[str, Any]) -> list[str]:
    match node:
        case ast.Constant(value=str(text)) if text:
            return [text]
        case ast.IfExp(body=body, orelse=orelse):
            return _texts(body, names) + _texts(orelse, names)
        case ast.Name(id=name) if isinstance(names.get(name), str):
            return [names[name]]
        case ast.JoinedStr(values=values):
            parts = [v.value if isinstance(v, ast.Constant) else "…" for v in values]
            return ["".join(map(str, parts))]
    return []
