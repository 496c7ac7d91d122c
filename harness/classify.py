"""Success, error or interim: what an answer of an AdCP task is, however badly it says so."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from . import jsontext
from .extraction import Extraction, Reason
from .jsontext import truthy
from .tasks import Task
from .wrappers import has_root, is_interim


class Class(StrEnum):
    """What an answer is."""

    SUCCESS = "success"
    ERROR = "error"
    INTERIM = "interim"
    UNSUPPORTED = "unsupported"  # the test controller does not implement the scenario


# With one of these a non-empty errors[] reports problems of a task that did not fail.
_NOT_FAILED = {"submitted", "working", "input-required", "completed", "rejected", "canceled"}
_UNKNOWN_SCENARIO = "UNKNOWN_SCENARIO"


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
    if task.name == "comply_test_controller" and result is not None and _knows_no_scenario(result):
        return Class.UNSUPPORTED
    if result is None or "error" in response or truthy(result.get("isError")):
        return Class.ERROR
    if extraction.data is None and result.get("resultType") == "input_required":
        return Class.INTERIM  # MCP 2026-07-28 asks for input in this way
    if extraction.data is None:
        # The payload that holds adcp_error alone is the one way to say failure without the flag.
        return Class.ERROR if extraction.reason is Reason.ADCP_ERROR_ONLY else Class.SUCCESS
    payload = extraction.data
    if is_unflagged_failure(task, payload):
        return Class.ERROR
    if is_interim(payload.get("status")) and not _reports_on_a_task(task, payload):
        return Class.INTERIM
    return Class.SUCCESS


def is_unflagged_failure(task: Task, payload: Mapping[str, Any]) -> bool:
    """Whether a payload without isError says that the task failed."""
    status = payload.get("status")
    if status == "failed" and not _reports_on_a_task(task, payload):
        return True
    if has_root(task, payload):
        return False
    errors = payload.get("errors")
    if isinstance(errors, list) and errors and not (isinstance(status, str) and status in _NOT_FAILED):
        return True
    return payload.get("adcp_error") is not None and len(payload) > 1


def _reports_on_a_task(task: Task, payload: Mapping[str, Any]) -> bool:
    """Whether the payload's status is that of another task, which was asked about."""
    return task.name == "get_task_status" and (has_root(task, payload) or "task_id" in payload)


def _knows_no_scenario(result: Mapping[str, Any]) -> bool:
    """Whether the test controller says, flagged or not, that it does not implement the scenario."""
    content = result.get("content")
    items = content if isinstance(content, list) else []
    texts = (item.get("text") for item in items if isinstance(item, Mapping) and item.get("type") == "text")
    parsed = (
        jsontext.parse(text).value for text in texts if isinstance(text, str) and _UNKNOWN_SCENARIO in text
    )
    for payload in (result.get("structuredContent"), *parsed):
        if isinstance(payload, Mapping):
            errors = payload.get("errors")
            said = [
                payload.get("error"),
                payload.get("adcp_error"),
                *(errors if isinstance(errors, list) else []),
            ]
            if any(error == _UNKNOWN_SCENARIO or _code(error) == _UNKNOWN_SCENARIO for error in said):
                return True
    return False


def _code(error: Any) -> Any:
    return error.get("code") if isinstance(error, Mapping) else None
