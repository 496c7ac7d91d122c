"""Faults of errors, as the connected-apps profile sees them."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from pytest_adcp.harness.seller.exchange import Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.http import Reply
from pytest_adcp.harness.seller.rpc import Json, RpcError

from .http import changing
from .model import Fault, on_failure, rules

_BUSY = "Rate limit exceeded. Try again in a minute."


def _says(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _crash(exchange: Exchange, reply: Reply) -> Reply:
    failed = exchange.ordinal and b'"isError":true' in (reply.body or b"")
    return Reply(HTTPStatus.INTERNAL_SERVER_ERROR) if failed else reply


def _busy(call: ToolCall, result: Json) -> Json:
    return _says(_BUSY) if call.tool == "list_creatives" else result


def _error(when: Callable[[Exchange, Json], bool], **members: Any) -> Hooks:
    """Change the JSON-RPC error of some answers."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        if "error" not in message or not when(exchange, message["error"]):
            return message
        return {**message, "error": {**message["error"], **members}}

    return Hooks(message=hook)


def _odd(exchange: Exchange, message: Json, _: int) -> Json:
    result = message.get("result", {})
    if not exchange.ordinal or not result.get("isError"):
        return message
    error = result["structuredContent"]["adcp_error"]
    odd = RpcError(-32099, error["message"]).answer(exchange.id)
    return odd if error["code"] == "VERSION_UNSUPPORTED" else message


def _unknown_tool(exchange: Exchange, _: Json) -> bool:
    return exchange.method == "tools/call"


FAULTS = (
    Fault(
        "app-silent-errors",
        "A failure has no text.",
        on_failure(lambda result: {**result, "content": []}),
        fails=rules("connected-apps.error-readable"),
    ),
    Fault(
        "app-vague-errors",
        "A failure says that something went wrong.",
        on_failure(lambda result: {**result, "content": [{"type": "text", "text": "Something went wrong."}]}),
        advises=rules("connected-apps.error-actionable"),
    ),
    Fault(
        "app-crash",
        "Bad requests are answered with HTTP 500.",
        changing(_crash),
        fails=rules("connected-apps.error-no-crash"),
        blocks=True,
    ),
    Fault(
        "app-odd-code",
        "A JSON-RPC error has a code of the server's own.",
        Hooks(message=_odd),
        advises=rules("connected-apps.error-code-known"),
    ),
    Fault(
        "app-unfit-code",
        "An unknown tool is answered with -32603.",
        _error(_unknown_tool, code=-32603),
        advises=rules("connected-apps.error-code-fits"),
    ),
    Fault(
        "app-terse-message",
        "The message of a JSON-RPC error is the name of its code.",
        _error(_unknown_tool, message="Invalid params"),
        advises=rules("connected-apps.error-message-for-people"),
    ),
    Fault(
        "app-busy-text",
        "A rate limit is told in a text.",
        Hooks(result=_busy),
        advises=rules("connected-apps.terminal-error-as-rpc-error"),
    ),
)
