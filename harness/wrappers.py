"""Where a task's data hides when it does not stand at the root of the payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import jsontext
from .tasks import ENVELOPE, Task

_DEPTH = 3  # wrappers inside wrappers that are looked into
_LONGEST_TEXT = 1 << 20  # characters of a string that is tried as JSON
_ENVELOPE_OF_MCP = frozenset({"content", "structuredContent", "isError"})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Something between the root of the payload and the data."""

    path: tuple[str, ...]  # the member names that lead to it
    value: Any  # what it holds; a JSON text is parsed
    text: bool = False  # it is JSON in a string
    holds_data: bool = False  # the task's own fields were found in it


def unexpected_members(task: Task, payload: Mapping[str, Any]) -> list[str]:
    """Return the root members that are neither envelope nor a scalar field of the task."""
    return [name for name in payload if name not in ENVELOPE and name not in task.scalars and name not in task.root]


def wrappers(task: Task, payload: Mapping[str, Any]) -> Iterator[Wrapper]:
    """Yield what may wrap the data, outermost first: objects, arrays and JSON texts under unexpected members."""
    yield from _inside(task, payload, (), _DEPTH)


def find_data(task: Task, payload: Mapping[str, Any]) -> Wrapper | None:
    """Return the wrapper that holds the task's own fields, or else the one array that may be its list."""
    found = list(wrappers(task, payload))
    for wrapper in found:
        if wrapper.holds_data:
            return wrapper
    lists = [wrapper for wrapper in found if isinstance(wrapper.value, list) and wrapper.path[0] not in task.containers]
    return lists[0] if lists else None


def is_mcp_result(value: Any) -> bool:
    """Whether an object looks like an MCP tool result rather than like AdCP data."""
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), list):
        return False
    return "structuredContent" in value or "isError" in value or _ENVELOPE_OF_MCP.issuperset(value)


def hidden_error(task: Task, payload: Mapping[str, Any]) -> tuple[tuple[str, ...], Any] | None:
    """Return where a payload that carries no data says that the task failed, and what stands there.

    That is an `error` member, an `isError` in an MCP result inside, or either of them inside a wrapper.
    """
    if any(name in payload for name in task.root):
        return None
    if found := _says_failed(task, payload, ()):
        return found
    for wrapper in wrappers(task, payload):
        if isinstance(wrapper.value, Mapping) and (found := _says_failed(task, wrapper.value, wrapper.path)):
            return found
    return None


def _says_failed(
    task: Task, value: Mapping[str, Any], path: tuple[str, ...]
) -> tuple[tuple[str, ...], Any] | None:
    if any(name in value for name in task.root):
        return None
    names = ("error", "adcp_error") if path else ("error",)
    for name in names:
        if isinstance(value.get(name), str | Mapping) and value[name] and name not in task.containers | task.scalars:
            return (*path, name), value[name]
    if is_mcp_result(value) and jsontext.truthy(value.get("isError")):
        return (*path, "isError"), value["isError"]
    return None


def _inside(task: Task, value: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[Wrapper]:
    for name in value if path else unexpected_members(task, value):
        inner = value[name]
        text = False
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "[") and len(inner) <= _LONGEST_TEXT:
            parsed = jsontext.parse(inner)
            inner, text = parsed.value, parsed.ok
        if isinstance(inner, Mapping):
            holds = any(root in inner for root in task.root)
            yield Wrapper((*path, name), inner, text, holds)
            if depth > 1 and not holds:
                yield from _inside(task, inner, (*path, name), depth - 1)
        elif isinstance(inner, list):
            yield Wrapper((*path, name), inner, text)
