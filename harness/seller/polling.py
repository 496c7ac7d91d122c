"""The task that follows submitted operations."""

from __future__ import annotations

from .errors import not_found
from .options import Release
from .rpc import Json
from .store import rfc3339
from .task import ACCOUNT, Answer, Desk, Task

POLLS_UNTIL_DONE = 2  # so that a client sees `working` once


def _get_task_status(desk: Desk, arguments: Json) -> Answer:
    task = desk.store.tasks.get(arguments["task_id"])
    if task is None:
        raise not_found("task", "REFERENCE_NOT_FOUND", "task_id")
    task.polls += 1
    if task.polls <= POLLS_UNTIL_DONE:
        task.updated = desk.now
    if task.polls == POLLS_UNTIL_DONE:
        task.result = task.finish(desk.now)
    done = task.result is not None
    payload: Json = {
        "status": "completed" if done else "working",
        "task_id": task.task_id,
        "task_type": task.task_type,
        "protocol": "media-buy",
        "created_at": rfc3339(task.created),
        "updated_at": rfc3339(task.updated),
    }
    if done:
        payload["completed_at"] = rfc3339(task.updated)
    if done and arguments.get("include_result"):
        payload["result"] = task.result
    return Answer(payload, "The task is done." if done else "The task is under way.")


TASKS = (
    Task(
        "get_task_status",
        "Get the status of a task",
        "Tells how far a submitted operation is, and what came of it.",
        {
            "task_id": {"type": "string", "description": "Id that the submitted answer gave."},
            "account": ACCOUNT,
            "include_history": {"type": "boolean", "description": "Has no effect: no history is kept."},
            "include_result": {
                "type": "boolean",
                "description": "True to get the result of a completed task.",
            },
        },
        _get_task_status,
        required=("task_id",),
        since=Release.V3_1,
    ),
)
