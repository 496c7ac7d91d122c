"""Faults inside a payload that only AdCP's schemas can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json

from .error_objects import with_members
from .failures import GOOD_ARGUMENTS
from .model import Fault, on_failure, rules

RESPONSE = rules("adcp.schema.response")
INTERIM = rules("adcp.schema.interim")
ERROR = rules("adcp.schema.error")

# A buy, whose success has several forms in the schema; the account is that of the run.
BUY: Json = {
    "tool": "create_media_buy",
    "name": "spring",
    "arguments": {**GOOD_ARGUMENTS["create_media_buy"], "idempotency_key": "fault-buy-0001-of-this-run"},
}


def _answering(tool: str, edit: Callable[[Json], Json]) -> Hooks:
    """Change the payload of a task's successes."""

    def hook(call: ToolCall, result: Json) -> Json:
        if call.tool != tool or result["isError"]:
            return result
        return {**result, "structuredContent": edit(result["structuredContent"])}

    return Hooks(result=hook)


def _each_product(edit: Callable[[Json], Json]) -> Hooks:
    return _answering(
        "get_products", lambda data: {**data, "products": [edit(item) for item in data["products"]]}
    )


def _each_price(edit: Callable[[Json], Json]) -> Hooks:
    return _each_product(
        lambda product: {
            **product,
            "pricing_options": [edit(option) for option in product["pricing_options"]],
        }
    )


def _without(name: str) -> Callable[[Json], Json]:
    return lambda data: {key: value for key, value in data.items() if key != name}


def _with(**members: Any) -> Callable[[Json], Json]:
    return lambda data: {**data, **members}


def _submitted(members: Json) -> Hooks:
    return _answering(
        "get_products", lambda data: {**_without("products")(data), "status": "submitted", **members}
    )


FAULTS = (
    Fault(
        "product-without-name",
        "Products have no name.",
        _each_product(_without("name")),
        fails_schema=RESPONSE,
    ),
    Fault(
        "cache-scope-missing",
        "get_products does not say for whom its answer may be cached.",
        _answering("get_products", _without("cache_scope")),
        fails_schema=RESPONSE,
    ),
    Fault(
        "empty-payload",
        "The payload of get_products is an empty object.",
        _answering("get_products", lambda _: {}),
        rules("adcp.envelope.status", "adcp.envelope.context"),
        rules("adcp.versions.echo"),
        fails_schema=RESPONSE,
    ),
    Fault(
        "price-as-string",
        "Prices are decimals in strings.",
        _each_price(_with(fixed_price="12.50")),
        fails_schema=RESPONSE,
    ),
    Fault(
        "pricing-model-capitals",
        "Pricing models are in capitals: CPM for cpm.",
        _each_price(lambda option: {**option, "pricing_model": option["pricing_model"].upper()}),
        fails_schema=RESPONSE,
    ),
    Fault(
        "delivery-type-unknown",
        "Products have a delivery type that AdCP does not know.",
        _each_product(_with(delivery_type="best_effort")),
        fails_schema=RESPONSE,
    ),
    Fault(
        "optional-nulls",
        "Members without a value are null instead of absent.",
        _answering("get_products", _with(pagination=None, errors=None)),
        fails_schema=RESPONSE,
    ),
    Fault(
        "context-echo-text",
        "The context comes back as text.",
        _answering("get_products", _with(context="acme, spring")),
        rules("adcp.envelope.context"),
        fails_schema=RESPONSE,
    ),
    Fault(
        "buy-with-empty-errors",
        "A media buy that was created carries an empty errors[].",
        _answering("create_media_buy", _with(errors=[])),
        fails_schema=RESPONSE,
        calls=(BUY,),
    ),
    Fault(
        "buy-without-packages",
        "A media buy that was created comes without its packages.",
        _answering("create_media_buy", _without("packages")),
        fails_schema=RESPONSE,
        calls=(BUY,),
    ),
    Fault(
        "submitted-camel-case",
        "A submitted answer has taskId for task_id.",
        _submitted({"taskId": "task_spring"}),
        rules("adcp.envelope.task-id"),
        fails_schema=INTERIM,
    ),
    Fault(
        "error-issue-without-value",
        "The discriminator of an issue lacks its value.",
        with_members(
            field="buying_mode",
            issues=[
                {
                    "pointer": "/buying_mode",
                    "message": "is none of the allowed values",
                    "keyword": "enum",
                    "discriminator": [{"property_name": "buying_mode"}],
                }
            ],
        ),
        fails_schema=ERROR,
    ),
    Fault(
        "errors-of-text",
        "errors[] holds sentences beside a good adcp_error.",
        on_failure(
            lambda result: {
                **result,
                "structuredContent": {**result["structuredContent"], "errors": ["The request was refused."]},
            }
        ),
        fails_schema=ERROR,
    ),
)
