"""Success, error or interim: what an answer of an AdCP task is, however badly it says so."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from .extraction import Extraction, Reason
from .jsontext import truthy
from .tasks import Task


class Class(StrEnum):
    """What an answer is."""

    SUCCESS = "success"
    ERROR = "error"
    INTERIM = "interim"
    UNSUPPORTED = "unsupported"  # the test controller does not implement the scenario


_INTERIM = {"submitted", "working", "input-required", "auth-required"}
# With one of these a non-empty errors[] reports problems of a task that did not fail.
_NOT_FAILED = {"submitted", "working", "input-required", "completed", "rejected", "canceled"}


def classify(
    task: Task, result: Mapping[str, Any] | None, response: Mapping[str, Any], extraction: Extraction
) -> Class:
    """Classify an answer.

    Args:
        task: the task that was called.
        result: the tool result, or None for a JSON-RPC error.
        response: the whole JSON-RPC response.
        extraction: what success extraction makes of the result.
    """
    if result is None or "error" in response or truthy(result.get("isError")):
        return Class.ERROR
    if extraction.data is None:
        # The payload that holds adcp_error alone is the one way to say failure without the flag.
        return Class.ERROR if extraction.reason is Reason.ADCP_ERROR_ONLY else Class.SUCCESS
    payload = extraction.data
    if task.name == "comply_test_controller" and payload.get("error") == "UNKNOWN_SCENARIO":
        return Class.UNSUPPORTED
    if is_unflagged_failure(task, payload):
        return Class.ERROR
    status = payload.get("status")
    return Class.INTERIM if isinstance(status, str) and status in _INTERIM else Class.SUCCESS


def is_unflagged_failure(task: Task, payload: Mapping[str, Any]) -> bool:
    """Whether a payload without isError says that the task failed."""
    status = payload.get("status")
    if status == "failed":
        return True
    if any(name in payload for name in task.root):
        return False
    errors = payload.get("errors")
    if isinstance(errors, list) and errors and not (isinstance(status, str) and status in _NOT_FAILED):
        return True
    return payload.get("adcp_error") is not None and len(payload) > 1
