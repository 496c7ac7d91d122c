"""Faults of the envelope: status, context and the other members beside a task's own fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.seller.exchange import UNTOUCHED_TASK, Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_failure, on_success, rules

STATUS = rules("adcp.envelope.status")
STATUS_VALUE = rules("adcp.envelope.status-value")
ERROR_STATUS = rules("adcp.envelope.error-status")
CONTEXT = rules("adcp.envelope.context")
ERROR_CONTEXT = rules("adcp.envelope.error-context")
SCHEMA = rules("adcp.schema.response")

SANDBOX_CALL: Json = {
    "tool": "get_products",
    "name": "sandbox",
    "arguments": {
        "buying_mode": "wholesale",
        "account": {"brand": {"domain": "acme.example"}, "operator": "agency.example", "sandbox": True},
    },
}
HIDES_CONTEXT = "list_accounts"  # a tool that is listed as one without `context`


def _edited(edit: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return lambda result: {**result, "structuredContent": edit(result["structuredContent"])}


def _successes(edit: Callable[[Json], Json]) -> Hooks:
    return on_success(_edited(edit))


def _errors(edit: Callable[[Json], Json]) -> Hooks:
    return on_failure(_edited(edit))


def _all(edit: Callable[[Json], Json]) -> Hooks:
    """Change successes and errors alike."""

    def hook(call: ToolCall, result: Json) -> Json:
        return _edited(edit)(result) if call.ordinal else result

    return Hooks(result=hook)


def _of(tool: str, edit: Callable[[Json], Json]) -> Hooks:
    """Change the whole payload of one task's successes."""

    def hook(call: ToolCall, result: Json) -> Json:
        return _edited(edit)(result) if call.tool == tool and not result["isError"] else result

    return Hooks(result=hook)


def _with(**members: Any) -> Callable[[Json], Json]:
    return lambda data: {**data, **members}


def _without(*names: str) -> Callable[[Json], Json]:
    return lambda data: {name: value for name, value in data.items() if name not in names}


def _context(edit: Callable[[Any], Any]) -> Callable[[Json], Json]:
    """Change the context that comes back."""
    return lambda data: {**data, "context": edit(data["context"])} if "context" in data else data


def _deep(edit: Callable[[Any], Any], value: Any) -> Any:
    """Change every value in a JSON value, from the inside out."""
    if isinstance(value, dict):
        value = {name: _deep(edit, member) for name, member in value.items()}
    elif isinstance(value, list):
        value = [_deep(edit, item) for item in value]
    return edit(value)


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if member not in (None, [], {})}


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _beside(result: Json) -> Json:
    payload = result["structuredContent"]
    return {"status": payload["status"], **result, "structuredContent": _without("status")(payload)}


def _in_meta(data: Json) -> Json:
    return {**_without("status")(data), "meta": {"status": data["status"]}}


def _asks_back(data: Json) -> Json:
    return {
        **_without("products", "cache_scope", "pagination", "sandbox")(data),
        "status": "input_required",
        "message": "Which market?",
    }


def _submitted(**members: Any) -> Hooks:
    edit = _without("products", "cache_scope", "pagination")
    return _of("get_products", lambda data: {**edit(data), "status": "submitted", **members})


def _error_alone(result: Json) -> Json:
    return {**result, "structuredContent": {"adcp_error": result["structuredContent"]["adcp_error"]}}


def _hide_context(exchange: Exchange, message: Json, _: int) -> Json:
    """List one tool as if it had no `context`."""
    if exchange.method != "tools/list" or "result" not in message:
        return message
    tools = [
        {
            **tool,
            "inputSchema": {
                **tool["inputSchema"],
                "properties": _without("context")(tool["inputSchema"]["properties"]),
                "additionalProperties": False,
            },
        }
        if tool["name"] == HIDES_CONTEXT
        else tool
        for tool in message["result"]["tools"]
    ]
    return {**message, "result": {**message["result"], "tools": tools}}


def _own_context(call: ToolCall, result: Json) -> Json:
    if "context" in call.arguments:
        return result
    return _edited(_with(context={"request_id": f"req-{call.ordinal}"}))(result)


def _declined(**members: Any) -> Hooks:
    edit = _without("products", "cache_scope", "pagination", "sandbox")
    return _of(
        "get_products",
        lambda data: {
            **edit(data),
            "status": "rejected",
            "reason": "We do not sell to this brand.",
            **members,
        },
    )


FAULTS = (
    Fault(
        "status-missing",
        "Successes have no status.",
        _successes(_without("status")),
        STATUS,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-missing-capabilities",
        "get_adcp_capabilities has no status, all else has.",
        _of(UNTOUCHED_TASK, _without("status")),
        STATUS,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-null",
        "The status of a success is null.",
        _successes(_with(status=None)),
        STATUS,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-beside-structured",
        "The status stands in the tool result, beside structuredContent.",
        on_success(_beside),
        STATUS,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-in-meta",
        "The status stands inside `meta`, beside the data.",
        _successes(_in_meta),
        STATUS,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-missing-3-0",
        "Successes of AdCP 3.0 have no status.",
        _successes(_without("status")),
        advises=STATUS,
        needs={"release": Release.V3_0},
    ),
    Fault(
        "status-capitals",
        "The status is written as the name of an enum: COMPLETED.",
        _successes(lambda data: {**data, "status": data["status"].upper()}),
        STATUS_VALUE,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-success",
        "The status of a success is success.",
        _successes(_with(status="success")),
        STATUS_VALUE,
        fails_schema=SCHEMA,
    ),
    Fault(
        "status-mcp-spelling",
        "get_products asks back with the status input_required, as MCP spells it.",
        _of("get_products", _asks_back),
        STATUS_VALUE,
        fails_schema=SCHEMA,
    ),
    Fault(
        "legacy-status",
        "task_status stands beside status.",
        _successes(lambda data: {**data, "task_status": data["status"]}),
        rules("adcp.envelope.legacy-status"),
        fails_schema=SCHEMA,
    ),
    Fault(
        "error-status-missing",
        "Errors have no status.",
        _errors(_without("status")),
        advises=ERROR_STATUS,
    ),
    Fault(
        "error-status-completed",
        "The status of an error is completed.",
        _errors(_with(status="completed")),
        advises=ERROR_STATUS,
    ),
    Fault(
        "context-missing",
        "Successes come without the context of the request.",
        _successes(_without("context")),
        CONTEXT,
    ),
    Fault(
        "context-missing-error",
        "Errors come without the context of the request.",
        _errors(_without("context")),
        ERROR_CONTEXT,
    ),
    Fault(
        "context-error-alone",
        "The payload of an error is adcp_error alone, without the context of the request.",
        on_failure(_error_alone),
        advises=ERROR_CONTEXT,
    ),
    Fault(
        "context-null",
        "The context of an answer is null, as model_dump writes it without exclude_none.",
        _all(_with(context=None)),
        CONTEXT | ERROR_CONTEXT,
        fails_schema=SCHEMA,
    ),
    Fault(
        "context-string",
        "The context comes back as JSON in a string.",
        _all(_context(json.dumps)),
        CONTEXT | ERROR_CONTEXT,
        fails_schema=SCHEMA,
    ),
    Fault(
        "context-camel-case",
        "The members of the context come back in camel case.",
        _all(_context(lambda context: {_camel_case(name): value for name, value in context.items()})),
        CONTEXT | ERROR_CONTEXT,
    ),
    Fault(
        "context-extended",
        "The server adds its request id to the context.",
        _all(_context(lambda context: {**context, "request_id": "req-5"})),
        CONTEXT | ERROR_CONTEXT,
    ),
    Fault(
        "context-numbers-as-text",
        "Numbers in a context come back as strings.",
        _all(_context(lambda context: _deep(_as_text, context))),
        CONTEXT | ERROR_CONTEXT,
    ),
    Fault(
        "context-empty-dropped",
        "Empty members of a context are dropped, at any depth.",
        _all(_context(lambda context: _deep(_without_empty, context))),
        CONTEXT | ERROR_CONTEXT,
    ),
    Fault(
        "context-invented",
        "Where the request has no context, the server puts its own into the answer.",
        Hooks(message=_hide_context, result=_own_context),
        rules("adcp.envelope.context-invented"),
        rules("mcp.tools.open-schemas"),
    ),
    Fault(
        "context-id-number",
        "context_id is a number.",
        _successes(_with(context_id=5120)),
        rules("adcp.envelope.context-id"),
        fails_schema=SCHEMA,
    ),
    Fault(
        "timestamp-local",
        "The timestamp of an error is the server's local time, without an offset.",
        _errors(_with(timestamp="2026-11-02T09:30:00.125000")),
        rules("adcp.envelope.timestamp"),
    ),
    Fault(
        "timestamp-epoch",
        "The timestamp of an error counts seconds since 1970.",
        _errors(_with(timestamp=1793611800)),
        rules("adcp.envelope.timestamp"),
    ),
    Fault(
        "times-without-offset",
        "Products say when they were read, in local time without an offset.",
        _of(
            "get_products",
            lambda data: {
                **data,
                "products": [{**product, "read_at": "2026-11-02T09:30:00"} for product in data["products"]],
            },
        ),
        advises=rules("adcp.envelope.time-offsets"),
    ),
    Fault(
        "replayed-string",
        "replayed is the string false.",
        _successes(_with(replayed="false")),
        rules("adcp.envelope.replayed"),
        fails_schema=SCHEMA,
    ),
    Fault(
        "replayed-always",
        "replayed is true in every success.",
        _successes(_with(replayed=True)),
        rules("adcp.envelope.replayed"),
    ),
    Fault(
        "governance-context-empty",
        "governance_context is an empty string where there is none.",
        _successes(_with(governance_context="")),
        rules("adcp.envelope.governance-context"),
        fails_schema=SCHEMA,
    ),
    Fault(
        "submitted-without-id",
        "get_products is submitted and gives no task_id.",
        _submitted(),
        rules("adcp.envelope.task-id"),
        fails_schema=rules("adcp.schema.interim"),
    ),
    Fault(
        "submitted-with-data",
        "get_products is submitted and gives products already.",
        _submitted(task_id="task_spring", products=[]),
        rules("adcp.envelope.submitted-data"),
        fails_schema=rules("adcp.schema.interim"),
    ),
    Fault(
        "declined",
        "get_products declines, as AdCP 3.2 provides for.",
        _declined(),
        needs={"release": Release.V3_2},
    ),
    Fault(
        "declined-with-errors",
        "get_products declines with a reason, and with errors[] beside it.",
        _declined(
            errors=[{"code": "POLICY_VIOLATION", "message": "Not to this brand.", "recovery": "terminal"}]
        ),
        rules("adcp.envelope.rejection"),
        needs={"release": Release.V3_2},
    ),
    Fault(
        "sandbox-unconfirmed",
        "Successes of a sandbox account do not say sandbox: true.",
        _successes(_without("sandbox")),
        advises=rules("adcp.envelope.sandbox"),
        calls=(SANDBOX_CALL,),
    ),
)
