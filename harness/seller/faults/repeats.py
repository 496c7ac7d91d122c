"""Faults of idempotency: keys that are not asked for, replays that are none, conflicts that say too much."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json
from pytest_adcp.harness.seller.store import Shelf

from .behaviour import changed, error_of, on_task
from .failures import refused
from .model import Fault, rules

KEY_REQUIRED = rules("adcp.envelope.idempotency-key-required")
REPLAY = rules("adcp.envelope.idempotency-replay")
CONFLICT = rules("adcp.envelope.idempotency-conflict")
CONFLICT_FIELD = rules("adcp.security.conflict-field")
CONFLICT_LEAK = rules("adcp.security.conflict-leak")
NOT_KEPT = rules("adcp.envelope.failure-not-kept")

_KEY = "idempotency_key"


def _afresh(call: ToolCall, _: Json) -> Json:
    return call.again({**call.arguments, _KEY: str(uuid.uuid4())})


def _without_key(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        missing = error_of(result).get("field") == _KEY and _KEY not in call.arguments
        return edit(call, result) if missing else result

    return on_task(hook)


def _key_expired(_: ToolCall, result: Json) -> Json:
    return changed(
        result,
        lambda error: {
            **{name: member for name, member in error.items() if name not in ("field", "issues")},
            "code": "IDEMPOTENCY_EXPIRED",
            "message": "Send an idempotency_key.",
        },
    )


def _replay(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        return edit(call, result) if result["structuredContent"].get("replayed") is True else result

    return on_task(hook)


def _unmarked(_: ToolCall, result: Json) -> Json:
    payload = {name: value for name, value in result["structuredContent"].items() if name != "replayed"}
    return {**result, "structuredContent": payload}


def _conflict(edit: Callable[[ToolCall, Json], Json]) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        return edit(call, result) if error_of(result).get("code") == "IDEMPOTENCY_CONFLICT" else result

    return on_task(hook)


def _conflict_with(**members: object) -> Hooks:
    return _conflict(lambda _, result: changed(result, lambda error: {**error, **members}))


def _remembering(edit: Callable[[ToolCall, Json, Json], Json]) -> Hooks:
    """Change conflicts in the knowledge of the first result that a key had."""
    firsts: Shelf[Json] = Shelf()

    def hook(call: ToolCall, result: Json) -> Json:
        key = str(call.arguments.get(_KEY))
        if not result["isError"]:
            firsts.setdefault(key, result)
        conflict = error_of(result).get("code") == "IDEMPOTENCY_CONFLICT"
        return edit(call, result, firsts[key]) if conflict and key in firsts else result

    return on_task(hook)


def _first_again(_: ToolCall, __: Json, first: Json) -> Json:
    return {**first, "structuredContent": {**first["structuredContent"], "replayed": True}}


def _telling(_: ToolCall, result: Json, first: Json) -> Json:
    message = f"The key belongs to {first['structuredContent']['media_buy_id']}."
    return changed(result, lambda error: {**error, "message": message})


def _with_data(_: ToolCall, result: Json, first: Json) -> Json:
    booked = {"media_buy_id": first["structuredContent"]["media_buy_id"]}
    return {**result, "structuredContent": {**result["structuredContent"], **booked}}


def _second_failure(edit: Callable[[Json], Json]) -> Hooks:
    """Change the error of a request whose key another failure had before."""
    failed: Shelf[bool] = Shelf()

    def hook(call: ToolCall, result: Json) -> Json:
        key = call.arguments.get(_KEY)
        if not result["isError"] or not isinstance(key, str):
            return result
        again = key in failed
        failed[key] = True
        return edit(result) if again else result

    return on_task(hook)


def _kept(result: Json) -> Json:
    return {**result, "structuredContent": {**result["structuredContent"], "replayed": True}}


def _otherwise(result: Json) -> Json:
    again = {"code": "INVALID_STATE", "message": "The request has failed before.", "recovery": "correctable"}
    return changed(result, lambda _: again)


FAULTS = (
    Fault(
        "key-not-required",
        "A mutating request without idempotency_key is carried out.",
        _without_key(_afresh),
        KEY_REQUIRED,
        mutating=True,
    ),
    Fault(
        "key-missing-expired",
        "A mutating request without idempotency_key is refused as if its key were too old.",
        _without_key(_key_expired),
        KEY_REQUIRED,
        mutating=True,
    ),
    Fault(
        "replay-books-again",
        "The same request with the same key is carried out again.",
        _replay(_afresh),
        REPLAY,
        mutating=True,
    ),
    Fault(
        "replay-refused",
        "The same request with the same key is refused.",
        _replay(
            lambda _, result: refused(
                result, "INVALID_STATE", "correctable", message="That was booked already."
            )
        ),
        REPLAY,
        mutating=True,
    ),
    Fault(
        "replay-unmarked",
        "A replay does not say that it is one.",
        _replay(_unmarked),
        rules("adcp.envelope.idempotency-replayed"),
        mutating=True,
    ),
    Fault(
        "used-key-accepted",
        "Another request with a key that was used is carried out.",
        _conflict(_afresh),
        CONFLICT,
        mutating=True,
    ),
    Fault(
        "used-key-replayed",
        "Another request with a key that was used gets the answer of the first one.",
        _remembering(_first_again),
        CONFLICT,
        mutating=True,
    ),
    Fault(
        "used-key-invalid",
        "A key that was used is refused as INVALID_REQUEST.",
        _conflict_with(code="INVALID_REQUEST"),
        CONFLICT,
        mutating=True,
    ),
    Fault(
        "used-key-conflict",
        "A key that was used is refused as CONFLICT.",
        _conflict_with(code="CONFLICT", recovery="transient"),
        advises=CONFLICT,
        mutating=True,
    ),
    Fault(
        "conflict-with-field",
        "IDEMPOTENCY_CONFLICT names the field that differs.",
        _conflict_with(field="packages[0].budget"),
        CONFLICT_FIELD,
        mutating=True,
    ),
    Fault(
        "conflict-with-key-field",
        "IDEMPOTENCY_CONFLICT has idempotency_key as its field.",
        _conflict_with(field=_KEY),
        advises=CONFLICT_FIELD,
        mutating=True,
    ),
    Fault(
        "conflict-with-id",
        "IDEMPOTENCY_CONFLICT names what the first request booked.",
        _remembering(_telling),
        CONFLICT_LEAK,
        mutating=True,
    ),
    Fault(
        "conflict-with-data",
        "IDEMPOTENCY_CONFLICT comes with the answer of the first request.",
        _remembering(_with_data),
        CONFLICT_LEAK,
        advises=rules("adcp.errors.partial-data"),
        mutating=True,
    ),
    Fault(
        "failure-kept",
        "A failure is kept, and given again for the same key.",
        _second_failure(_kept),
        NOT_KEPT,
        mutating=True,
    ),
    Fault(
        "failure-changes",
        "A request that failed fails in another way when it comes again.",
        _second_failure(_otherwise),
        advises=NOT_KEPT,
        mutating=True,
    ),
)
