"""Faults of the parameters of tools, as the connected-apps profile sees them."""

from __future__ import annotations

from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.rpc import Json

from .app_texts import on_tool
from .model import Fault, rules


def _with(**properties: Json) -> Hooks:
    """Add arguments to list_accounts, which asks for nothing else."""
    return on_tool(lambda tool: _extended(tool, properties), "list_accounts")


def _extended(tool: Json, properties: Json, required: tuple[str, ...] = ()) -> Json:
    schema = tool["inputSchema"]
    changed = {**schema, "properties": {**schema["properties"], **properties}}
    return {**tool, "inputSchema": changed | ({"required": list(required)} if required else {})}


def _text(description: str, **further: Any) -> Json:
    return {"type": "string", "description": description, **further}


FAULTS = (
    Fault(
        "app-parameter-undescribed",
        "An argument is described nowhere.",
        _with(region={"type": "string"}),
        advises=rules("connected-apps.parameter-described"),
    ),
    Fault(
        "app-parameter-untyped",
        "An argument has no type.",
        _with(region={"description": "A region of the market, such as North."}),
        fails=rules("connected-apps.parameter-typed"),
    ),
    Fault(
        "app-required-ghost",
        "Required names an argument that is not described.",
        on_tool(lambda tool: _extended(tool, {}, ("region",)), "list_accounts"),
        fails=rules("connected-apps.required-listed"),
    ),
    Fault(
        "app-required-only-told",
        "A text calls an argument required and the schema does not.",
        _with(region=_text("Required. A region of the market.")),
        advises=rules("connected-apps.required-listed"),
    ),
    Fault(
        "app-closed-set-untyped",
        "A text lists the only values of an argument, and no enum does.",
        _with(order=_text("In which order. Must be one of: 'name', 'age' or 'size'.")),
        advises=rules("connected-apps.fixed-set-is-enum"),
    ),
    Fault(
        "app-id-is-number",
        "An id is a number.",
        _with(operator_id={"type": "integer", "description": "The operator."}),
        advises=rules("connected-apps.id-is-string"),
    ),
    Fault(
        "app-unit-missing",
        "A number is given without its unit.",
        _with(timeout={"type": "number", "description": "How long to wait."}),
        advises=rules("connected-apps.units-and-formats"),
    ),
    Fault(
        "app-limit-unbounded",
        "A limit states no maximum.",
        _with(limit={"type": "integer", "description": "How many accounts to return."}),
        advises=rules("connected-apps.limit-bounded"),
    ),
    Fault(
        "app-query-unexplained",
        "Nothing tells what may stand in a query.",
        _with(query=_text("Search query.")),
        advises=rules("connected-apps.query-syntax-named"),
    ),
    Fault(
        "app-id-source-untold",
        "Nothing tells where an id comes from.",
        on_tool(
            lambda tool: _extended(
                tool,
                {"account_id": _text("The account.")},
                (*tool["inputSchema"].get("required", ()), "account_id"),
            ),
            "update_media_buy",
        ),
        advises=rules("connected-apps.argument-source-named"),
    ),
    Fault(
        "app-asks-for-conversation",
        "A parameter asks for the conversation.",
        _with(conversation_history=_text("What was said so far.")),
        fails=rules("connected-apps.parameter-name-safe"),
    ),
    Fault(
        "app-asks-for-personal-data",
        "A parameter takes the number of an identity paper.",
        _with(passport_number=_text("Of the person who books.")),
        advises=rules("connected-apps.no-pii-request"),
    ),
    Fault(
        "app-asks-for-credentials",
        "A parameter takes a token.",
        _with(access_token=_text("Of the person who books.")),
        advises=rules("connected-apps.no-credential-parameter"),
    ),
)
