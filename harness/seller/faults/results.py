"""Faults of the MCP tool result and of the tool list."""

from __future__ import annotations

from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_failure, on_method, on_success, rules

CONTENT = rules("mcp.result.content")
BLOCKS = rules("mcp.result.content-blocks")
IS_ERROR = rules("mcp.result.is-error")


def _content(value: object) -> Hooks:
    return on_success(lambda result: {**result, "content": value})


def _further_block(block: Json) -> Hooks:
    return on_success(lambda result: {**result, "content": [*result["content"], block]})


def _meta(value: object) -> Hooks:
    return on_success(lambda result: {**result, "_meta": value})


def _flag_as_number(call: ToolCall, result: Json) -> Json:
    return {**result, "isError": int(result["isError"])} if call.ordinal else result


def _without(name: str) -> Hooks:
    return on_success(lambda result: {key: value for key, value in result.items() if key != name})


def _answer_unknown_tools(exchange: Exchange, message: Json, _: int) -> Json:
    unknown = exchange.tool is not None and message.get("error", {}).get("code") == rpc.INVALID_PARAMS
    if not unknown:
        return message
    result = {"content": [{"type": "text", "text": "Done."}], "structuredContent": {}, "isError": False}
    return {"jsonrpc": "2.0", "id": exchange.id, "result": result}


FAULTS = (
    Fault("content-missing", "The tool result has no content.", _without("content"), CONTENT),
    Fault("content-null", "The content of the tool result is null.", _content(None), CONTENT),
    Fault("content-string", "The content of the tool result is a string.", _content("Done."), CONTENT),
    Fault(
        "unknown-content-block",
        "A content block is of a type that MCP does not know.",
        _further_block({"type": "json", "json": {}}),
        BLOCKS,
        advises=rules("mcp.interop.results"),
    ),
    Fault("text-block-without-text", "A text block has no text.", _further_block({"type": "text"}), BLOCKS),
    Fault("is-error-number", "isError is 0 or 1.", Hooks(result=_flag_as_number), IS_ERROR),
    Fault(
        "is-error-string",
        'isError is the string "true".',
        on_failure(lambda result: {**result, "isError": "true"}),
        IS_ERROR,
        advises=rules("mcp.interop.same-result"),
    ),
    Fault(
        "meta-list", "The _meta of the tool result is an array.", _meta([]), rules("mcp.jsonrpc.meta-object")
    ),
    Fault(
        "meta-null", "The _meta of the tool result is null.", _meta(None), rules("mcp.jsonrpc.meta-object")
    ),
    Fault(
        "meta-key",
        "A key in the _meta of the tool result begins with an underscore.",
        _meta({"_trace": "1"}),
        advises=rules("mcp.jsonrpc.meta-keys"),
    ),
    Fault(
        "meta-keys",  # legal, all of them
        "The _meta of the tool result has keys of every form.",
        _meta({"trace-id": 1, "com.example/": 2, "example/a.b_c": 3, "com.ex-ample.v2/x": 4, "": 5}),
    ),
    Fault(
        "duplicate-tool",
        "tools/list names a tool twice.",
        on_method("tools/list", lambda result: {**result, "tools": [*result["tools"], result["tools"][0]]}),
        rules("mcp.tools.unique-names"),
    ),
    Fault(
        "unknown-tool-success",
        "A call of a tool that is not listed succeeds.",
        Hooks(message=_answer_unknown_tools),
        rules("mcp.tools.unknown-tool"),
    ),
)
