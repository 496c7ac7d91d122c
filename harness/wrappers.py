"""Where the data of a task, or its error, hides when it does not stand where clients look."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from . import jsontext
from .tasks import ENVELOPE, Task

_DEPTH = 3  # wrappers inside wrappers that are looked into
_LONGEST_TEXT = 1 << 20  # characters of a string that is tried as JSON
_ENVELOPE_OF_MCP = frozenset({"content", "structuredContent", "isError"})
_INTERIM = frozenset({"submitted", "working", "input-required", "auth-required"})
_DECLINING = frozenset({"outcome", "reason"})  # root fields that say no rather than hold data
# Where errors stand that are none to a client, in the spelling of `squeezed`.
_ERROR_NAMES = frozenset({"adcperror", "error", "errorcode", "errormessage", "errors", "exception"})
_BAD_STATUS = frozenset({"error", "errored", "fail", "failed", "failure"})  # whatever the capitals
_BAD_FLAGS = {"isError": True, "is_error": True, "success": False, "ok": False}
_NO_ERROR = frozenset({"", "0", "none", "null", "ok", "success"})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Something between the root of the payload and the data."""

    path: tuple[str, ...]  # the member names that lead to it
    value: Any  # what it holds; a JSON text is parsed
    text: bool = False  # it is JSON in a string
    holds_data: bool = False  # the task's own fields were found in it


def is_interim(status: Any) -> bool:
    """Whether a status says that the task is not at its end."""
    return isinstance(status, str) and status in _INTERIM


def has_root(task: Task, payload: Mapping[str, Any]) -> bool:
    """Whether one of the task's own fields stands at the root, be it only to say what became of the request.

    A null stands for absent, and a reason is given for a failure too. So is `success: false`, but where the task says
    in this way that it failed.
    """
    return any(
        payload.get(name) is not None
        and not (name == "success" and payload[name] is False and not owns_error(task))
        for name in task.root - {"reason"}
    )


def owns_error(task: Task) -> bool:
    """Whether the task has a way of its own to give an error, in its member `error`."""
    return "error" in task.containers | task.scalars


def data_fields(task: Task) -> list[str]:
    """Return the task's own fields that hold data: not the reason for a refusal."""
    return sorted(task.root - _DECLINING)


def data_members(task: Task, payload: Mapping[str, Any]) -> list[str]:
    """Return those of them that are there and hold something; `success: false` holds nothing."""
    return [name for name in data_fields(task) if payload.get(name) not in (None, False)]


def squeezed(name: str) -> str:
    """Return a member name without capitals and marks, to find it in another spelling."""
    return name.lower().replace("_", "").replace("-", "")


def unexpected_members(task: Task, payload: Mapping[str, Any]) -> list[str]:
    """Return the root members that are neither envelope nor a scalar field of the task."""
    return [
        name
        for name in payload
        if name not in ENVELOPE and name not in task.scalars and name not in task.root
    ]


def wrappers(task: Task, payload: Mapping[str, Any]) -> Iterator[Wrapper]:
    """Yield what may wrap the data, outermost first: objects, arrays and JSON texts under unexpected members."""
    yield from _inside(task, payload, (), _DEPTH)


def find_data(task: Task, payload: Mapping[str, Any]) -> Wrapper | None:
    """Return the wrapper that holds the task's own fields, or else an array that may be its list."""
    found = list(wrappers(task, payload))
    lists = [
        wrapper
        for wrapper in found
        if isinstance(wrapper.value, list) and wrapper.path[0] not in task.containers
    ]
    filled = (wrapper for wrapper in lists if any(isinstance(item, Mapping) for item in wrapper.value))
    empty = (wrapper for wrapper in lists if not wrapper.value)
    holding = (wrapper for wrapper in found if wrapper.holds_data)
    return next(chain(holding, filled, empty), None)


def misspelt_root(task: Task, payload: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a root member that is one of the task's own fields in another spelling (mediaBuys), and that field."""
    own = {squeezed(name): name for name in task.root}
    return next(
        ((name, own[squeezed(name)]) for name in payload if name not in task.root and squeezed(name) in own),
        None,
    )


def is_mcp_result(value: Any) -> bool:
    """Whether an object looks like an MCP tool result rather than like AdCP data."""
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), list):
        return False
    return "structuredContent" in value or "isError" in value or _ENVELOPE_OF_MCP.issuperset(value)


def hidden_error(task: Task, payload: Mapping[str, Any]) -> tuple[tuple[str, ...], Any] | None:
    """Return where a payload that is not flagged and carries no data says that the task failed, and what stands there.

    That is an error under a name of the server's own, `success: false`, a status that AdCP does not know, or an
    `isError` that was meant for the tool result; at the root or inside a wrapper.
    """
    status = payload.get("status")
    if has_root(task, payload) or is_interim(status) or status in ("rejected", "canceled"):
        return None
    for path, place in _places(task, payload):
        read = () if path else ("adcp_error", "errors")
        if name := _error_member(task, place, read=read) or _says_failed(task, place):
            return (*path, name), place[name]
    return None


def misplaced_error(task: Task, payload: Mapping[str, Any]) -> tuple[tuple[str, ...], Any] | None:
    """Return where the payload of a flagged answer gives its error so that no client finds it, and what stands there."""
    for path, place in _places(task, payload):
        read = {(): ("adcp_error", "errors"), ("payload",): ("errors",)}.get(path, ())
        name = _error_member(task, place, read=read)
        if name is None and not path and place.get("code") and "code" not in task.scalars:
            name = "code"
        if name is not None:
            return (*path, name), place[name]
    return None


def _places(task: Task, payload: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield the root and every wrapper that may hold an error."""
    yield (), payload
    for wrapper in wrappers(task, payload):
        if (
            isinstance(wrapper.value, Mapping)
            and not wrapper.holds_data
            and wrapper.path[0] not in task.containers
        ):
            yield wrapper.path, wrapper.value


def _error_member(task: Task, place: Mapping[str, Any], *, read: Collection[str]) -> str | None:
    """Return a member that holds an error; `read` are names that clients look for here."""
    for name, value in place.items():
        if name in task.containers | task.scalars or (
            name in read and (name != "errors" or isinstance(value, list))
        ):
            continue
        if squeezed(name) in _ERROR_NAMES and _is_error(name, value):
            return name
    if (
        "code" not in task.scalars
        and isinstance(place.get("message"), str)
        and _is_error("error_code", place.get("code"))
    ):
        return "code"
    return None


def _is_error(name: str, value: Any) -> bool:
    match value:
        case str():
            return squeezed(value) not in _NO_ERROR
        case bool():
            return value
        case int() | float():
            return squeezed(name) == "errorcode" and value >= 400
        case _:
            return bool(value)


def _says_failed(task: Task, place: Mapping[str, Any]) -> str | None:
    """Return a member that says in some other way that the task failed."""
    status = place.get("status")
    if isinstance(status, str) and status.lower() in _BAD_STATUS:
        return "status"
    if owns_error(task):
        return None
    return next((name for name, bad in _BAD_FLAGS.items() if place.get(name) is bad), None)


def _inside(task: Task, value: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[Wrapper]:
    for name in value if path else unexpected_members(task, value):
        inner = value[name]
        text = False
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "[") and len(inner) <= _LONGEST_TEXT:
            parsed = jsontext.parse(inner)
            inner, text = parsed.value, parsed.ok
        if isinstance(inner, Mapping):
            holds = has_root(task, inner) or ("task_id" in inner and is_interim(inner.get("status")))
            yield Wrapper((*path, name), inner, text, holds)
            if depth > 1 and not holds:
                yield from _inside(task, inner, (*path, name), depth - 1)
        elif isinstance(inner, list):
            yield Wrapper((*path, name), inner, text)
