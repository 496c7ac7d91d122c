"""The root of an AdCP payload, where the members of its envelope stand, and the arguments that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.arguments import shape
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.release import PINNED, numbers, release_of_version
from pytest_adcp.harness.rules import NotApplicable
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.wrappers import has_root, unexpected_members

_COMMON = ("context", "account", "idempotency_key")  # arguments that show where the request stands


def root(answer: Answer) -> Mapping[str, Any]:
    """Return the payload whose root is to be judged.

    Raises:
        NotApplicable: there is none that speaks AdCP, or another rule says that it stands inside a wrapper.
    """
    return error_root(answer) if answer.kind is Class.ERROR else data_root(answer)


def data_root(answer: Answer) -> Mapping[str, Any]:
    """Return the payload of a success or an interim answer.

    Raises:
        NotApplicable: see `root`; or the task failed.
    """
    if answer.kind is Class.ERROR:
        raise NotApplicable("the task failed")
    payload = answer.extraction.data
    if payload is None:
        raise NotApplicable("nothing could be extracted")
    ended = payload.get("status") in ("rejected", "canceled")
    wrapped = not has_root(answer.task, payload) and unexpected_members(answer.task, payload)
    if answer.kind is Class.SUCCESS and wrapped and not ended:
        raise NotApplicable("adcp.extraction.top-level-data says that the task's fields are not at the root")
    return payload


def error_root(error: Answer) -> Mapping[str, Any]:
    """Return the payload of an error that holds an AdCP error object.

    Raises:
        NotApplicable: it is a JSON-RPC error, or prose, which frameworks send before the task sees the request.
    """
    if error.result is None:
        raise NotApplicable("a JSON-RPC error has no AdCP envelope")
    if error.adcp_error is None and not error.errors:
        raise NotApplicable("no AdCP error object came")
    return error.payload


def is_error_alone(error: Answer) -> bool:
    """Whether adcp_error is all that the payload holds, the one shape that says failure without isError."""
    return error.payload.keys() <= {"adcp_error"}


def speaks(answer: Answer, release: str) -> bool:
    """Whether an answer is certainly of that AdCP release or a later one; a server that lists older ones may mean these."""
    server = answer.server
    if server.release_source == PINNED:
        return numbers(server.release) >= numbers(release)
    echo = release_of_version(answer.payload.get("adcp_version"))
    spoken = (echo,) if echo else server.supported or (server.release,)
    return all(numbers(each) >= numbers(release) for each in spoken)


def sent_arguments(answer: Answer) -> Mapping[str, Any]:
    """Return the members of the request as they went over the wire, out of the parameter that wraps them where one does."""
    arguments = answer.sent
    tool = answer.server.tool(answer.call.tool)
    if tool is None or any(name in arguments for name in _COMMON):
        return arguments
    wrapper = shape(tool.get("inputSchema"), answer.task.arguments).wrapper
    inner = arguments.get(wrapper) if wrapper is not None else None
    return inner if isinstance(inner, Mapping) else arguments
