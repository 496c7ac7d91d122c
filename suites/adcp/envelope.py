"""The status of an answer stands at the root of its payload, and what stands beside it fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import ERROR_HANDLING, TASK_LIFECYCLE, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import data_members, hidden_error, squeezed, wrappers

from .failures import kind_of
from .roots import data_root, error_root, is_error_alone, root, speaks

_STATUS = adcp(TASK_LIFECYCLE, "status-values")
_STRUCTURE = adcp(TASK_LIFECYCLE, "response-structure")
_ARMS = adcp(ERROR_HANDLING, "envelope-vs-payload-errors-the-two-layer-model")

STATUSES = (
    "submitted",
    "working",
    "input-required",
    "completed",
    "canceled",
    "failed",
    "rejected",
    "auth-required",
    "unknown",
)
_SPELLINGS = {squeezed(status): status for status in STATUSES} | {"cancelled": "canceled"}
_MCP_SPELLINGS = ("cancelled", "input_required")
# Tasks whose response schema does not ask for the envelope's status, or has no place for it.
_WITHOUT_STATUS = frozenset(
    {
        "check_governance",
        "decline_proposals",
        "list_products",
        "refine_proposals",
        "report_plan_adjustment",
        "report_plan_outcome",
        "request_proposals",
    }
)
# What became of a media buy, which 3.0 has under `status` and 3.1 still knows there.
_BUYS = frozenset({"create_media_buy", "update_media_buy"})
_LONGEST_STATUS = 40
_BUY_STATUSES = frozenset({"pending_creatives", "pending_start", "active", "paused"})
# Where a task says no without an error: the member that says so from a release on, and what does not go with it.
_REJECTIONS = {
    "get_products": ("status", "3.2", ("adcp_error", "errors", "products", "proposals")),
    "acquire_rights": ("rights_status", "3.1", ("errors",)),
    "creative_approval": ("approval_status", "3.1", ("errors",)),
}


# -- status ------------------------------------------------------------------------------------------------


@rule("adcp.envelope.status", level=Level.MUST, source=_STRUCTURE, since="3.1", advisory_since="3.0")
def status_is_there(success: Answer) -> None:
    """Every answer has `status` at the root of its payload; it is "completed" where the task is done.

    Put "status": "completed" beside the task's own fields, in structuredContent, in that of get_adcp_capabilities too.
    """
    payload = data_root(success)
    if payload.get("status") is not None:
        return
    if success.task.name in _WITHOUT_STATUS:
        raise NotApplicable(f"the response schema of {success.task.name} does not ask for status")
    beside = "structuredContent" if isinstance(success.structured, Mapping) else "content"
    because = "the answer has no status, so a buyer has to guess that the task is done"
    at = success.in_payload()
    if "status" in payload:
        because = "status is null, so a buyer has to guess that the task is done"
        at = success.in_payload("status")
    elif isinstance((success.result or {}).get("status"), str):
        because = f"status stands in the tool result, beside {beside}; buyers look for it inside the payload"
        at = success.at("status")
    elif inside := _status_inside(success, payload):
        because = f"status stands inside `{'.'.join(inside)}`, not at the root, where buyers look for it"
        at = success.in_payload(*inside, "status")
    raise Broken(
        'status: "completed" at the root',
        "null" if "status" in payload else "no status there",
        at=at,
        because=because,
        lenient="" if speaks(success, "3.1") else _not_in_3_0(success),
    )


def _not_in_3_0(answer: Answer) -> str:
    also = "the server lists 3.0 too, which" if len(answer.server.supported) > 1 else "AdCP 3.0"
    return f"{also} does not check it"


def _status_inside(success: Answer, payload: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return where a status of the envelope stands instead."""
    for wrapper in wrappers(success.task, payload):
        if (
            isinstance(wrapper.value, Mapping)
            and wrapper.value.get("status") in STATUSES
            and not wrapper.text
        ):
            return wrapper.path
    return None


@rule("adcp.envelope.error-status", level=Level.SHOULD, source=_STRUCTURE, since="3.1")
def error_has_a_status(error: Answer) -> None:
    """An error has `status` at the root of its payload, and it is not "completed".

    Put "status": "failed" beside adcp_error.
    """
    payload = error_root(error)
    if is_error_alone(error):
        raise NotApplicable("the payload is adcp_error alone, which is accepted")
    status = payload.get("status")
    if status is None or (status == "completed" and error.task.name != "get_task_status"):
        because = "status says completed beside an error" if status else "the error has no status"
        raise Broken(
            'status: "failed"',
            quote(status) if "status" in payload else "no status",
            at=error.in_payload("status"),
            because=f"{because}; buyers that go by status cannot tell that the task failed",
        )


@rule("adcp.envelope.status-value", level=Level.MUST, source=_STATUS, since="3.1", advisory_since="3.0")
def status_is_known(answer: Answer) -> None:
    """`status` is submitted, working, input-required, completed, canceled, failed, rejected, auth-required or unknown.

    Spell it as AdCP does, with hyphens and one l in canceled. What became of a media buy or of rights has members of
    its own: media_buy_status, rights_status, approval_status.
    """
    payload = error_root(answer) if answer.kind is Class.ERROR else answer.extraction.data or {}
    status = payload.get("status")
    if status is None:
        raise NotApplicable("no status came")
    if status in STATUSES:
        return
    hidden = hidden_error(answer.task, payload) if answer.kind is not Class.ERROR else None
    if hidden and hidden[0] == ("status",):
        raise NotApplicable("adcp.errors.flagged says that this is a failure")
    expected = "one of AdCP's task states"
    because, lenient = f"status is {kind_of(status)}, not a string", ""
    if isinstance(status, str):
        known = _SPELLINGS.get(squeezed(status[:_LONGEST_STATUS]))
        expected = quote(known) if known else expected
        because = _why_unknown(answer, status, known)
        if _is_of_the_buy(answer, status) and not speaks(answer, "3.2"):
            lenient = "3.1 deprecates it there, and its schemas disagree"
    if not lenient and not speaks(answer, "3.1"):
        lenient = _not_in_3_0(answer)
    raise Broken(expected, quote(status), at=answer.in_payload("status"), because=because, lenient=lenient)


def _why_unknown(answer: Answer, status: str, known: str | None) -> str:
    """Say what is wrong with a status.

    Raises:
        NotApplicable: it may be the task's own.
    """
    shown = quote(status, 60)
    if status in _MCP_SPELLINGS:
        return f"status is {shown}, as MCP spells the state of its own tasks; AdCP spells it {quote(known)}"
    if known:
        return f"status is {shown}, and AdCP spells it {quote(known)}; buyers compare it letter by letter"
    if not speaks(answer, "3.1"):
        raise NotApplicable("before 3.1 a task may have a status of its own")
    if answer.task.name in _WITHOUT_STATUS:
        raise NotApplicable(f"the response schema of {answer.task.name} does not say what status is")
    if _is_of_the_buy(answer, status):
        return f"status is {shown}, which is the media buy's and goes into media_buy_status; status is the task's"
    return f"status is {shown}, which no buyer knows"


def _is_of_the_buy(answer: Answer, status: str) -> bool:
    return answer.task.name in _BUYS and status in _BUY_STATUSES


@rule("adcp.envelope.legacy-status", level=Level.MUST, source=_STRUCTURE)
def no_legacy_status(answer: Answer) -> None:
    """No answer has task_status or response_status at the root of its payload.

    Leave them out, also as null: `status` alone says how far the task is.
    """
    payload = root(answer)
    for name in ("task_status", "response_status"):
        if name in payload:
            raise Broken(
                "status alone",
                f"{name}: {quote(payload[name], 80)}",
                at=answer.in_payload(name),
                because=f"{name} is a name of old for status, and buyers may find the two disagree",
            )


# -- what goes with a status -----------------------------------------------------------------------------------


@rule("adcp.envelope.task-id", level=Level.MUST, source=_STATUS)
def submitted_task_has_an_id(interim: Answer) -> None:
    """A submitted answer has a `task_id`, a string that is not empty.

    Put the id under which get_task_status knows the task into task_id, at the root beside status.
    """
    payload = _submitted(interim)
    value = payload.get("task_id")
    if isinstance(value, str) and value:
        return
    alias = next((name for name in payload if name != "task_id" and squeezed(name) == "taskid"), None)
    came = "there is no task_id"
    if value is not None:
        came = "task_id is empty" if value == "" else f"task_id is {kind_of(value)}, not a string"
    elif alias is not None:
        came = f"the id stands in {quote(alias, 40)}, not in task_id"
    elif "task_id" in payload:
        came = "task_id is null"
    raise Broken(
        "a task_id",
        quote(payload[alias]) if alias else quote(value) if "task_id" in payload else "no such member",
        at=interim.in_payload(alias or "task_id"),
        because=f"the task is submitted, and {came}; a buyer can never ask what became of it",
    )


@rule("adcp.envelope.submitted-data", level=Level.MUST, source=_STATUS, since="3.1", advisory_since="3.0")
def submitted_task_has_no_data(interim: Answer) -> None:
    """A submitted answer carries none of the fields that the task's success has.

    Send status, task_id and message now, and the data when the task is completed.
    """
    payload = _submitted(interim)
    if found := data_members(interim.task, payload):
        raise Broken(
            "no data before the task is done",
            f"{found[0]}: {quote(payload[found[0]], 120)}",
            at=interim.in_payload(found[0]),
            because=f"the task is submitted, and `{found[0]}` is there already; buyers cannot tell whether it is done",
        )


def _submitted(interim: Answer) -> Mapping[str, Any]:
    payload = data_root(interim)
    if payload.get("status") != "submitted":
        raise NotApplicable("the task is not submitted")
    return payload


@rule("adcp.envelope.rejection", level=Level.MUST, source=_ARMS)
def rejection_is_no_error(answer: Answer) -> None:
    """A task that is declined in the way that its response provides for (status rejected and a reason) carries no error.

    Say why in reason and leave errors[] out; get_products leaves adcp_error, products and proposals out as well.
    """
    payload = answer.payload
    member, since, excluded = _REJECTIONS.get(answer.task.name, ("", "", ()))
    if not speaks(answer, since or "3.0"):
        # In 3.0 rights tasks say it under status; get_products could not decline in this way.
        member = "status" if answer.task.name != "get_products" and not speaks(answer, "3.1") else ""
    if not member or payload.get(member) != "rejected":
        raise NotApplicable("nothing was declined")
    found = [name for name in excluded if payload.get(name) is not None]
    if found:
        raise Broken(
            "reason alone",
            f"{found[0]}: {quote(payload[found[0]], 120)}",
            at=answer.in_payload(found[0]),
            because=f"{member} says rejected, and {_named(found)} {'stands' if len(found) == 1 else 'stand'} beside it; "
            "buyers cannot tell a decision from a failure",
        )


def _named(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
