"""Faults of arguments that go into headers (x-mcp-header), in MCP 2026-07-28."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.rpc import HEADER_MISMATCH, INVALID_PARAMS, Json, RpcError
from pytest_adcp.harness.seller.stateless import claims, decoded

from .model import breaking, on_method
from .stateless import ONLY

TOOL, ARGUMENT, HEADER = "get_products", "brief", "Brief"
JSON_TYPE = (("Content-Type", "application/json"),)

Edit = Callable[[Json], object]  # of an inputSchema


def _listed(edit: Edit) -> Hooks:
    """Change the inputSchema of one tool."""

    def changed(result: Json) -> Json:
        tools = copy.deepcopy(result["tools"])
        for tool in tools:
            if tool["name"] == TOOL:
                edit(tool["inputSchema"])
        return {**result, "tools": tools}

    return on_method("tools/list", changed)


def _on(argument: str = ARGUMENT, header: Any = HEADER) -> Edit:
    return lambda schema: schema["properties"][argument].update({"x-mcp-header": header})


def _twice(schema: Json) -> None:
    _on()(schema)
    _on("buying_mode", HEADER.lower())(schema)


def _further(members: Mapping[str, Any]) -> Edit:
    return lambda schema: schema["properties"].update({"x_example": members})


def _compared(*, code: int = HEADER_MISMATCH, missing: bool = True) -> Hooks:
    """Ask for an argument in a header, and compare them; `missing`: refuse where there is no header."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        arguments = exchange.params.get("arguments", {})
        if exchange.tool == TOOL and claims(exchange) and arguments.get(ARGUMENT) is not None:
            header = exchange.request.header(f"mcp-param-{HEADER.lower()}")
            wrong = missing if header is None else decoded(header) != arguments[ARGUMENT]
            if wrong:
                refusal = RpcError(code, "The Mcp-Param-Brief header does not say what brief says.")
                body = rpc.encode(refusal.answer(exchange.id))
                await wire.send(Reply(HTTPStatus.BAD_REQUEST, JSON_TYPE, body))
                return
        await wire.send(await answer(exchange))

    return Hooks(message=_listed(_on()).message, http=hook)


CHECKED = "mcp.http.parameter-headers"
ANNOTATIONS = "mcp.tools.header-annotations"

FAULTS = (
    breaking(
        "param-headers-unchecked",
        "An argument is asked for in a header, which is not looked at.",
        _listed(_on()),
        CHECKED,
    ),
    breaking(
        "param-headers-may-lack",
        "An argument is asked for in a header, and calls without it are served.",
        _compared(missing=False),
        CHECKED,
    ),
    breaking(
        "param-headers-code",
        "A header that differs from its argument gets the error -32602.",
        _compared(code=INVALID_PARAMS),
        CHECKED,
        eras=ONLY,
    ),
    breaking(
        "header-annotation-space",
        "An x-mcp-header has a space in it.",
        _listed(_on(header="The Brief")),
        ANNOTATIONS,
        eras=ONLY,
    ),
    breaking(
        "header-annotation-twice", "Two x-mcp-headers differ in case only.", _listed(_twice), ANNOTATIONS
    ),
    breaking(
        "header-annotation-number",
        "An x-mcp-header is on a number.",
        _listed(_further({"type": "number", "x-mcp-header": "Example"})),
        ANNOTATIONS,
    ),
    breaking(
        "header-annotation-items",
        "An x-mcp-header is on the items of an array.",
        _listed(_further({"type": "array", "items": {"type": "string", "x-mcp-header": "Example"}})),
        ANNOTATIONS,
    ),
    # Legal variants, which no client may stumble over.
    breaking("param-headers", "An argument is asked for in a header, and compared.", _compared()),
    breaking("param-headers-stateless", "The same in the stateless era alone.", _compared(), eras=ONLY),
    breaking(
        "header-annotation-nested",
        "An x-mcp-header is on an argument within another, and one in an example is none.",
        _listed(
            _further(
                {
                    "type": "object",
                    "properties": {"region": {"type": "string", "x-mcp-header": "X-Region"}},
                    "examples": [{"x-mcp-header": "no annotation"}],
                }
            )
        ),
    ),
)
