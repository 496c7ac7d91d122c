"""Faults of how a failed task is signalled."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from pytest_adcp.harness.seller.catalogue import FORMATS
from pytest_adcp.harness.seller.exchange import Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import INVALID_PARAMS, Json

from .model import Fault, on_failure, on_success, rules

TOOL_PATH = rules("adcp.errors.tool-path")
READABLE = rules("adcp.errors.readable")

UNREFUSED_VERSIONS = rules(
    "adcp.versions.conflict", "adcp.versions.major-refused", "adcp.versions.release-refused"
)

ACCOUNT: Json = {"account_id": "acct_sandbox"}
# A request that the conforming seller serves, for each task; a fresh idempotency key is added.
GOOD_ARGUMENTS: Mapping[str, Json] = {
    "get_adcp_capabilities": {},
    "list_accounts": {},
    "get_products": {"buying_mode": "wholesale"},
    "list_creative_formats": {},
    "list_creatives": {},
    "sync_creatives": {
        "account": ACCOUNT,
        "dry_run": True,
        "creatives": [
            {
                "creative_id": "cr_lamp",
                "name": "Lamp banner",
                "assets": {},
                "format_id": FORMATS[0]["format_id"],
            }
        ],
    },
    "get_signals": {"signal_spec": "anything"},
    "activate_signal": {
        "account": ACCOUNT,
        "signal_agent_segment_id": "seg_boat_owners",
        "destinations": [{"type": "platform", "platform": "harbour-dsp"}],
    },
    "get_media_buys": {},
    "get_media_buy_delivery": {},
    "create_media_buy": {
        "account": ACCOUNT,
        "brand": {"domain": "acmeoutdoor.example"},
        "start_time": "asap",
        "end_time": "2098-12-31T00:00:00Z",
        "packages": [
            {
                "product_id": "news_display",
                "pricing_option_id": "news_display_cpm",
                "budget": 1000,
                "bid_price": 3,
            }
        ],
    },
    "update_media_buy": {"account": ACCOUNT, "media_buy_id": "mb_spring", "paused": False},
    "provide_performance_feedback": {
        "media_buy_id": "mb_spring",
        "measurement_period": {"start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"},
        "performance_index": 1.1,
    },
    "get_task_status": {"task_id": "task_spring"},
}


def served(call: ToolCall) -> Json:
    """Return the success that a good request of the same task has, with the context of this one."""
    arguments = {**GOOD_ARGUMENTS[call.tool], "idempotency_key": str(uuid.uuid4())}
    context = {"context": call.arguments["context"]} if "context" in call.arguments else {}
    return call.again({**arguments, **context})


def refused(result: Json, code: str, recovery: str, **members: object) -> Json:
    """Turn a success into the error that a conforming seller would send."""
    payload = result["structuredContent"]
    error = {"code": code, "message": "Not now.", "recovery": recovery, **members}
    envelope = {key: payload[key] for key in ("adcp_version", "context") if key in payload}
    texts = (json.dumps({"adcp_error": error}), error["message"])
    return {
        "content": [{"type": "text", "text": text} for text in texts],
        "structuredContent": {"status": "failed", "adcp_error": error, "errors": [error], **envelope},
        "isError": True,
    }


def _payload(edit: Callable[[Json], Json]) -> Hooks:
    return on_failure(lambda result: {**result, "structuredContent": edit(result["structuredContent"])})


def _only(key: str, value: Callable[[Json], Any]) -> Hooks:
    """Send the error under a key and in a form of one's own, in both places, and nowhere else."""

    def edit(result: Json) -> Json:
        payload = result["structuredContent"]
        shown = {key: value(payload["adcp_error"])}
        kept = {name: member for name, member in payload.items() if name not in ("adcp_error", "errors")}
        return {
            **result,
            "content": [{"type": "text", "text": json.dumps(shown)}, *result["content"][1:]],
            "structuredContent": {**kept, **shown},
        }

    return on_failure(edit)


def _unflagged(result: Json) -> Json:
    return {key: value for key, value in result.items() if key != "isError"}


def _as_rpc_error(build: Callable[[Json], Json]) -> Hooks:
    """Send the errors of tasks as JSON-RPC errors."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        result = message.get("result", {})
        if not exchange.ordinal or not result.get("isError"):
            return message
        error = build(result["structuredContent"]["adcp_error"])
        return {"jsonrpc": "2.0", "id": exchange.id, "error": error}

    return Hooks(message=hook)


def _first_call_limited(exchange: Exchange, message: Json, _: int) -> Json:
    if exchange.ordinal != 1:
        return message
    return {"jsonrpc": "2.0", "id": exchange.id, "error": {"code": -32029, "message": "Rate limited"}}


def _first_call(code: str, recovery: str, **members: object) -> Hooks:
    def hook(call: ToolCall, result: Json) -> Json:
        return refused(result, code, recovery, **members) if call.ordinal == 1 else result

    return Hooks(result=hook)


def _with_leftovers(call: ToolCall, result: Json) -> Json:
    if not call.ordinal or not result["isError"]:
        return result
    return {
        **result,
        "structuredContent": {**served(call)["structuredContent"], **result["structuredContent"]},
    }


def _accept_all(call: ToolCall, result: Json) -> Json:
    return served(call) if result["isError"] else result


def _refuse_all(_: ToolCall, result: Json) -> Json:
    return result if result["isError"] else refused(result, "INVALID_REQUEST", "correctable")


def _refuse_wholesale(call: ToolCall, result: Json) -> Json:
    if call.arguments.get("buying_mode") != "wholesale" or result["isError"]:
        return result
    return refused(result, "UNSUPPORTED_FEATURE", "correctable")


def _accept_any_major(call: ToolCall, result: Json) -> Json:
    return served(call) if call.ordinal and call.arguments.get("adcp_major_version") == 99 else result


FUTURE_MAJOR: Json = {
    "tool": "get_products",
    "name": "future-major",
    "arguments": {"buying_mode": "brief", "brief": "CTV", "adcp_major_version": 99},
    "expect": "error",
}
WHOLESALE: Json = {
    "tool": "get_products",
    "name": "all-products",
    "arguments": {"buying_mode": "wholesale"},
    "expect": "success",
}

FAULTS = (
    Fault(
        "error-unflagged",
        "Errors are complete but for isError.",
        on_failure(_unflagged),
        rules("adcp.errors.flagged"),
    ),
    Fault(
        "error-only-unflagged",
        "Errors are adcp_error alone, without isError.",
        on_failure(
            lambda result: {
                "content": result["content"],
                "structuredContent": {"adcp_error": result["structuredContent"]["adcp_error"]},
            }
        ),
        advises=rules("adcp.errors.flag-set"),
    ),
    Fault(
        "success-flagged",
        "Successes have isError true.",
        on_success(lambda result: {**result, "isError": True}),
        rules("adcp.errors.success-not-flagged"),
    ),
    Fault(
        "error-with-data",
        "Errors carry the data of a success too.",
        Hooks(result=_with_leftovers),
        advises=rules("adcp.errors.partial-data"),
    ),
    Fault(
        "success-with-error",
        "Successes carry an adcp_error as a warning.",
        on_success(
            lambda result: {
                **result,
                "structuredContent": {
                    **result["structuredContent"],
                    "adcp_error": {
                        "code": "PRODUCT_UNAVAILABLE",
                        "message": "One is hidden.",
                        "recovery": "correctable",
                    },
                },
            }
        ),
        rules("adcp.errors.warning-channel"),
    ),
    Fault(
        "error-as-success",
        "Errors are successes with a string in `error`.",
        on_failure(
            lambda _: {
                "content": [{"type": "text", "text": "Not supported."}],
                "structuredContent": {"error": "not supported"},
                "isError": False,
            }
        ),
        rules("adcp.errors.flagged", "adcp.extraction.top-level-data"),
    ),
    Fault(
        "error-prose",
        "Errors are prose only.",
        on_failure(lambda result: {"content": result["content"][1:], "isError": True}),
        advises=rules("adcp.errors.structured"),
    ),
    Fault(
        "error-errors-only",
        "Errors are in errors[] only, without adcp_error.",
        on_failure(
            lambda result: {
                **result,
                "content": result["content"][1:],
                "structuredContent": {
                    key: value for key, value in result["structuredContent"].items() if key != "adcp_error"
                },
            }
        ),
        advises=rules("adcp.errors.transport-layer"),
    ),
    Fault(
        "error-in-payload",
        "errors[] stands inside `payload`.",
        _payload(
            lambda data: {
                **{key: value for key, value in data.items() if key != "errors"},
                "payload": {"errors": data["errors"]},
            }
        ),
        advises=rules("adcp.errors.nested-payload"),
    ),
    Fault(
        "error-layers-disagree",
        "adcp_error and errors[] have different codes.",
        _payload(
            lambda data: {
                **data,
                "errors": [{**data["adcp_error"], "code": "POLICY_VIOLATION", "recovery": "correctable"}],
            }
        ),
        advises=rules("adcp.errors.layers-agree"),
    ),
    Fault(
        "error-without-mirror",
        "The texts of an error are prose, not JSON.",
        on_failure(lambda result: {**result, "content": result["content"][1:]}),
        advises=rules("adcp.errors.text-mirror"),
    ),
    Fault(
        "error-wordy",
        "The text of an error for people is long.",
        on_failure(
            lambda result: {
                **result,
                "content": [result["content"][0], {"type": "text", "text": "Something went wrong. " * 30}],
            }
        ),
        advises=rules("adcp.errors.text-terse"),
    ),
    Fault(
        "error-other-key",
        "Errors stand in `error`, not in adcp_error.",
        _only("error", lambda error: error),
        READABLE,
    ),
    Fault(
        "error-string",
        "adcp_error is a string.",
        _only("adcp_error", lambda error: error["message"]),
        READABLE,
    ),
    Fault("error-array", "adcp_error is an array.", _only("adcp_error", lambda error: [error]), READABLE),
    Fault(
        "error-code-missing",
        "adcp_error has no code.",
        _only("adcp_error", lambda error: {key: value for key, value in error.items() if key != "code"}),
        READABLE,
    ),
    Fault(
        "error-code-number",
        "The code is a number.",
        _only("adcp_error", lambda error: {**error, "code": 400}),
        READABLE,
    ),
    Fault(
        "error-code-long",
        "The code has 65 characters.",
        _only("adcp_error", lambda error: {**error, "code": "X" * 65}),
        READABLE,
    ),
    Fault(
        "error-as-rpc-error",
        "Errors of tasks are JSON-RPC errors with the code -32000.",
        _as_rpc_error(lambda error: {"code": -32000, "message": error["message"]}),
        TOOL_PATH,
    ),
    Fault(
        "error-as-invalid-params",
        "Errors of tasks are JSON-RPC errors -32602 that carry the adcp_error.",
        _as_rpc_error(
            lambda error: {"code": INVALID_PARAMS, "message": "Failed", "data": {"adcp_error": error}}
        ),
        TOOL_PATH,
    ),
    Fault(
        "reserved-code-bare",
        "The first call is refused with the JSON-RPC code -32029 without data.adcp_error.",
        Hooks(message=_first_call_limited),
        advises=rules("adcp.errors.reserved-code"),
    ),
    Fault(
        "rate-limited-once",
        "The first call is refused with RATE_LIMITED and a delay of a second.",
        _first_call("RATE_LIMITED", "transient", retry_after=1),
    ),
    Fault(
        "rate-limited-without-delay",
        "The first call is refused with RATE_LIMITED without retry_after.",
        _first_call("RATE_LIMITED", "transient"),
        advises=rules("adcp.errors.rate-limit-delay"),
    ),
    Fault(
        "refuses-wholesale",
        "get_products refuses buying_mode wholesale.",
        Hooks(result=_refuse_wholesale),
        rules("adcp.extraction.expected-success"),
        calls=(WHOLESALE,),
    ),
    Fault(
        "accepts-future-major",
        "A major version of AdCP that does not exist is accepted.",
        Hooks(result=_accept_any_major),
        rules("adcp.errors.expected-error"),
        rules("adcp.versions.major-refused"),
        calls=(FUTURE_MAJOR,),
    ),
    Fault(
        "accepts-everything",
        "Every bad request is served.",
        Hooks(result=_accept_all),
        rules("adcp.versions.prerelease"),
        UNREFUSED_VERSIONS | rules("adcp.security.credential-in-arguments"),
        blocks=True,
    ),
    Fault("refuses-everything", "Every good request is refused.", Hooks(result=_refuse_all), blocks=True),
)
