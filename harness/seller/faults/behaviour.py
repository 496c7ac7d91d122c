"""Faults that show when calls are compared: arguments that are not put up with, lists that do not go on, unknown ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection

from pytest_adcp.harness.probes.credentials import MADE_UP
from pytest_adcp.harness.probes.tolerance import UNKNOWN_MEMBER
from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.seller.rpc import Json

from .failures import refused, served
from .model import Fault, on_success, rules

ENVELOPE_FIELDS = rules("adcp.envelope.tolerates-envelope-fields")
UNKNOWN_FIELDS = rules("adcp.envelope.tolerates-unknown-fields")
CREDENTIAL = rules("adcp.security.credential-in-arguments")
COUPLING = rules("adcp.envelope.pagination-coupling")
PAGES = rules("adcp.envelope.pages")
TOTAL_COUNT = rules("adcp.envelope.total-count")
NOT_FOUND = rules("adcp.security.not-found-uniform")

ENVELOPE = ("context_id", "governance_context")
_ASKED_ID = re.compile(r"unknown_[0-9a-f]{16}")


def on_task(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    """Change the results of all tasks that faults may touch, with the call in sight."""
    return Hooks(result=lambda call, result: edit(call, result) if call.ordinal else result)


def error_of(result: Json) -> Json:
    """Return the error object of a failed task; empty where it did not fail."""
    error: Json = result["structuredContent"].get("adcp_error", {})
    return error


def changed(result: Json, edit: Callable[[Json], Json]) -> Json:
    """Change the error object of a failed task in all the places that give it."""
    error = edit(error_of(result))
    payload = {**result["structuredContent"], "adcp_error": error, "errors": [error]}
    texts = (json.dumps({"adcp_error": error}), error["message"])
    content = [{"type": "text", "text": text} for text in texts]
    return {**result, "content": content, "structuredContent": payload}


# -- arguments ------------------------------------------------------------------------------------------------


def _strict(names: Collection[str], refuse: Callable[[Json, str], Json]) -> Hooks:
    def edit(call: ToolCall, result: Json) -> Json:
        found = next((name for name in names if name in call.arguments), None)
        return result if found is None or result["isError"] else refuse(result, found)

    return on_task(edit)


def _as_zod(_: Json, name: str) -> Json:
    text = f"MCP error -32602: Input validation error: Unrecognized key(s) in object: '{name}'"
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _as_invalid(result: Json, name: str) -> Json:
    return refused(
        result, "INVALID_REQUEST", "correctable", message="The request has a member too many.", field=name
    )


def _as_additional(result: Json, name: str) -> Json:
    message = f"Additional properties are not allowed ({name!r} was unexpected)."
    return refused(result, "VALIDATION_ERROR", "correctable", message=message)


def _credential(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        return edit(call, result) if error_of(result).get("code") == "CREDENTIAL_IN_ARGS" else result

    return on_task(hook)


def _called_invalid(_: ToolCall, result: Json) -> Json:
    return changed(
        result,
        lambda error: {
            **error,
            "code": "INVALID_REQUEST",
            "recovery": "correctable",
            "message": "ext.api_key is not allowed.",
        },
    )


def _echoed(_: ToolCall, result: Json) -> Json:
    return changed(result, lambda error: {**error, "message": f"{MADE_UP} has no place in ext."})


# -- lists ----------------------------------------------------------------------------------------------------


def _pagination(edit: Callable[[Json], Json]) -> Hooks:
    def hook(result: Json) -> Json:
        payload = result["structuredContent"]
        if "pagination" not in payload:
            return result
        return {
            **result,
            "structuredContent": {**payload, "pagination": edit(payload["pagination"])},
        }

    return on_success(hook)


def _without(*names: str) -> Callable[[Json], Json]:
    return lambda value: {name: member for name, member in value.items() if name not in names}


def _paged(edit: Callable[[ToolCall, Json, Json], Json]) -> Hooks:
    """Change the answers to requests for a page; edit gets the call, the result and the request's pagination."""

    def hook(call: ToolCall, result: Json) -> Json:
        asked = call.arguments.get("pagination")
        return edit(call, result, asked) if isinstance(asked, dict) and not result["isError"] else result

    return on_task(hook)


def _page(call: ToolCall, asked: Json) -> Json:
    return call.again({**call.arguments, "pagination": asked})


def _first_page_again(call: ToolCall, _: Json, asked: Json) -> Json:
    return _page(call, _without("cursor")(asked))


def _first_items_again(call: ToolCall, result: Json, asked: Json) -> Json:
    """Go on with the cursors, and not with the items."""
    if not result["structuredContent"]["pagination"]["has_more"]:
        return result
    first = _first_page_again(call, result, asked)
    payload = {
        **first["structuredContent"],
        "pagination": result["structuredContent"]["pagination"],
    }
    return {**first, "structuredContent": payload}


def _cursor_refused(_: ToolCall, result: Json, asked: Json) -> Json:
    if "cursor" not in asked:
        return result
    return refused(result, "INVALID_REQUEST", "correctable", message="The cursor is not known.")


def _all_items(call: ToolCall, _: Json, asked: Json) -> Json:
    return _page(call, _without("max_results")(asked))


def _counted(count: Callable[[int, Json], int]) -> Hooks:
    """Count the items of paged lists in a way of one's own, from the number of items on the page and its pagination."""

    def edit(_: ToolCall, result: Json, __: Json) -> Json:
        payload = result["structuredContent"]
        pagination = payload["pagination"]
        size = next(len(member) for member in payload.values() if isinstance(member, list))
        return {
            **result,
            "structuredContent": {
                **payload,
                "pagination": {**pagination, "total_count": count(size, pagination)},
            },
        }

    return _paged(edit)


def _left(size: int, pagination: Json) -> int:
    end = int(pagination.get("cursor", f"from-{pagination['total_count']}").removeprefix("from-"))
    return int(pagination["total_count"]) - end + size


# -- unknown ids ----------------------------------------------------------------------------------------------


def _not_found(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        code = str(error_of(result).get("code", ""))
        return edit(call, result) if code.endswith("_NOT_FOUND") else result

    return on_task(hook)


def _with_the_id(call: ToolCall, result: Json) -> Json:
    asked = _ASKED_ID.search(json.dumps(call.arguments))
    if asked is None:
        return result
    return changed(result, lambda error: {**error, "message": f"There is no {asked[0]}."})


def _for_one(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    """Change the answer to one of two ids: to the one whose request has a context with further members."""
    return _not_found(
        lambda call, result: edit(call, result) if "nested" in call.arguments.get("context", {}) else result
    )


def _as_denied(_: ToolCall, result: Json) -> Json:
    return changed(
        result, lambda error: {**error, "code": "PERMISSION_DENIED", "message": "That is not yours."}
    )


FAULTS = (
    Fault(
        "strict-arguments",
        "The arguments of a task are checked by a strict zod schema, which refuses all that it does not name.",
        _strict((*ENVELOPE, UNKNOWN_MEMBER), _as_zod),
        ENVELOPE_FIELDS | UNKNOWN_FIELDS,
        rules("adcp.errors.structured"),
    ),
    Fault(
        "strict-arguments-3-0",
        "An AdCP 3.0 seller refuses envelope members, which its release only recommends to take.",
        _strict((*ENVELOPE, UNKNOWN_MEMBER), _as_invalid),
        advises=ENVELOPE_FIELDS | UNKNOWN_FIELDS,
        needs={"release": Release.V3_0},
    ),
    Fault(
        "envelope-fields-invalid",
        "A read with envelope members is refused as INVALID_REQUEST.",
        _strict(("governance_context",), lambda result, _: _as_invalid(result, "idempotency_key")),
        ENVELOPE_FIELDS,
    ),
    Fault(
        "conversation-refused",
        "A read with a context_id that the seller did not give is refused.",
        _strict(("context_id",), _as_invalid),
        advises=ENVELOPE_FIELDS,
    ),
    Fault(
        "unknown-field-refused",
        "A request with a member that the task does not know is refused.",
        _strict((UNKNOWN_MEMBER,), _as_additional),
        UNKNOWN_FIELDS,
    ),
    Fault(
        "credential-accepted",
        "A credential among the arguments is passed over.",
        _credential(lambda call, _: call.again({**call.arguments, "ext": {}})),
        advises=CREDENTIAL,
    ),
    Fault(
        "credential-invalid",
        "A credential among the arguments is refused as a member that has no place there.",
        _credential(_called_invalid),
        advises=CREDENTIAL,
    ),
    Fault(
        "credential-echoed",
        "The refusal of a credential repeats the credential.",
        _credential(_echoed),
        rules("adcp.security.credential-echo"),
    ),
    Fault(
        "more-without-cursor",
        "Lists say that there is more, and give no cursor.",
        _pagination(lambda page: {"has_more": True, "total_count": page["total_count"] + 1}),
        COUPLING,
    ),
    Fault(
        "cursor-at-the-end",
        "The last page of a list has a cursor.",
        _pagination(lambda page: page if page["has_more"] else {**page, "cursor": "from-0"}),
        COUPLING,
    ),
    Fault(
        "no-has-more",
        "Lists do not say whether there is more.",
        _pagination(_without("has_more")),
        COUPLING,
        fails_schema=rules("adcp.schema.response"),
    ),
    Fault(
        "cursor-ignored",
        "The cursor of a request is not read: every page is the first one.",
        _paged(_first_page_again),
        PAGES,
    ),
    Fault(
        "cursor-without-effect",
        "Each page has a cursor of its own, and the items of the first one.",
        _paged(_first_items_again),
        PAGES,
    ),
    Fault(
        "cursor-refused",
        "The seller refuses the cursors that it gives.",
        _paged(_cursor_refused),
        PAGES,
    ),
    Fault(
        "page-size-ignored",
        "A list comes whole, whatever page size was asked for.",
        _paged(_all_items),
        advises=rules("adcp.envelope.page-size"),
    ),
    Fault(
        "total-of-page",
        "total_count is the number of items on the page.",
        _counted(lambda size, _: size),
        TOTAL_COUNT,
    ),
    Fault(
        "total-of-rest",
        "total_count is the number of items that are left.",
        _counted(_left),
        TOTAL_COUNT,
    ),
    Fault(
        "total-too-high",
        "total_count is one too many.",
        _counted(lambda _, pagination: int(pagination["total_count"]) + 1),
        advises=TOTAL_COUNT,
    ),
    Fault(
        "not-found-with-id",
        "The error for an unknown id repeats the id.",
        _not_found(_with_the_id),
        NOT_FOUND,
    ),
    Fault(
        "not-found-denied",
        "Of two ids that nobody has, one is said to be somebody else's.",
        _for_one(_as_denied),
        NOT_FOUND,
    ),
    Fault(
        "not-found-found",
        "Of two ids that nobody has, one is answered as if it were there.",
        _for_one(lambda call, _: served(call)),
        NOT_FOUND,
    ),
)
