"""Faults of the success payload: where it stands, in what shape, and in what text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_success, rules

TOP_LEVEL = rules("adcp.extraction.top-level-data")
EXTRACTABLE = rules("adcp.extraction.extractable")
NO_OBJECT = rules("adcp.extraction.structured-object", "mcp.result.structured-object")
NO_STRUCTURED = rules("adcp.extraction.structured-present")
MIB = 1024 * 1024


def _wrapped(wrap: Callable[[Json], Json]) -> Hooks:
    return on_success(lambda result: {**result, "structuredContent": wrap(result["structuredContent"])})


def _as_fastmcp(wrap: Callable[[Json], Any]) -> Hooks:
    """Wrap as FastMCP does for tools whose return annotation is no object: the text holds the bare value."""

    def edit(result: Json) -> Json:
        value = result["structuredContent"]
        return {
            **result,
            "content": [{"type": "text", "text": json.dumps(value)}],
            "structuredContent": {"result": wrap(value)},
            "_meta": {"fastmcp": {"wrap_result": True}},
        }

    return on_success(edit)


def _with_text(structured: Callable[[Json], Any]) -> Hooks:
    """Replace structuredContent, and leave the data readable as JSON text."""

    def edit(result: Json) -> Json:
        value = result["structuredContent"]
        text = {"type": "text", "text": json.dumps(value)}
        return {**result, "content": [text], "structuredContent": structured(value)}

    return on_success(edit)


def _as_text(write: Callable[[Json], str]) -> Hooks:
    """Send a text and no structuredContent."""

    def edit(result: Json) -> Json:
        text = {"type": "text", "text": write(result["structuredContent"])}
        return {"content": [text], "isError": False}

    return on_success(edit)


def _for_products(edit: Callable[[Json], Json]) -> Hooks:
    """Change the answers of one task only: a large body for each would only cost time."""

    def hook(call: ToolCall, result: Json) -> Json:
        return edit(result) if call.tool == "get_products" and not result["isError"] else result

    return Hooks(result=hook)


def _long_text(units: int) -> Hooks:
    def edit(result: Json) -> Json:
        text = {"type": "text", "text": json.dumps(_extended(result["structuredContent"], "x" * units))}
        return {"content": [text], "isError": False}

    return _for_products(edit)


def _extended(payload: Json, value: object) -> Json:
    """Add an extension, which AdCP allows everywhere."""
    return {**payload, "ext": {"harbour_times": {"note": value}}}


def _main_list(payload: Json) -> list[Any]:
    """Return what the payload is about as a list."""
    return next((value for value in payload.values() if isinstance(value, list)), [payload])


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


FAULTS = (
    Fault(
        "nested-result",
        "The payload stands inside `result`.",
        _wrapped(lambda data: {"result": data}),
        TOP_LEVEL,
    ),
    Fault(
        "nested-result-fastmcp",
        "FastMCP wraps the payload in `result` and says so in _meta.",
        _as_fastmcp(lambda data: data),
        TOP_LEVEL,
    ),
    Fault(
        "nested-result-string",
        "FastMCP wraps the payload, written as a JSON string, in `result`.",
        _as_fastmcp(json.dumps),
        TOP_LEVEL,
    ),
    Fault(
        "nested-data",
        "The payload stands inside `data`, beside `status`.",
        _wrapped(lambda data: {"status": "completed", "data": data}),
        TOP_LEVEL,
    ),
    Fault(
        "data-list",
        "The list of the answer stands in `data`, whatever its own name.",
        _wrapped(lambda data: {"data": _main_list(data), "pagination": {"has_more": False}}),
        TOP_LEVEL,
    ),
    Fault(
        "nested-payload",
        "The payload stands inside `payload`.",
        _wrapped(lambda data: {"status": "completed", "payload": data}),
        TOP_LEVEL,
    ),
    Fault(
        "nested-response",
        "The payload stands inside `response`.",
        _wrapped(lambda data: {"response": data}),
        TOP_LEVEL,
    ),
    Fault(
        "nested-tool-result",
        "A whole MCP tool result stands inside structuredContent.",
        _wrapped(lambda data: {"content": [], "structuredContent": data, "isError": False}),
        TOP_LEVEL,
    ),
    Fault(
        "numeric-keys",
        "The list of the answer was cast to an object with the keys 0, 1, 2 ...",
        _wrapped(lambda data: {str(index): item for index, item in enumerate(_main_list(data))}),
        TOP_LEVEL,
    ),
    Fault(
        "structured-array",
        "structuredContent is an array; the text has the data.",
        _with_text(_main_list),
        NO_OBJECT,
    ),
    Fault(
        "structured-array-only",
        "structuredContent is an array, and the text is a sentence.",
        on_success(lambda result: {**result, "structuredContent": _main_list(result["structuredContent"])}),
        NO_OBJECT | EXTRACTABLE,
    ),
    Fault(
        "structured-string",
        "structuredContent is a JSON string; the text has the data.",
        _with_text(json.dumps),
        NO_OBJECT,
    ),
    Fault(
        "structured-null",
        "structuredContent is null; the text has the data.",
        _with_text(lambda _: None),
        advises=rules("adcp.extraction.structured-null"),
    ),
    Fault("text-only", "The data comes as JSON text only.", _as_text(json.dumps), advises=NO_STRUCTURED),
    Fault(
        "plain-text",
        "The answer is a sentence without data.",
        _as_text(lambda _: "Here you are."),
        EXTRACTABLE,
    ),
    Fault(
        "code-fence",
        "The JSON text stands in a Markdown code fence.",
        _as_text(lambda data: f"```json\n{json.dumps(data)}\n```"),
        EXTRACTABLE,
    ),
    Fault(
        "text-encoded-twice",
        "The text is a JSON string that holds the JSON.",
        _as_text(lambda data: json.dumps(json.dumps(data))),
        EXTRACTABLE,
    ),
    Fault(
        "text-array",
        "The text is a JSON array.",
        _as_text(lambda data: json.dumps([data])),
        EXTRACTABLE,
    ),
    Fault(
        "text-nan",
        "The JSON text contains NaN.",
        _as_text(lambda data: json.dumps(_extended(data, float("nan")))),
        EXTRACTABLE,
    ),
    Fault(
        "text-bom",
        "The JSON text begins with a byte order mark.",
        _as_text(lambda data: "\ufeff" + json.dumps(data)),
        EXTRACTABLE,
    ),
    Fault(
        "text-duplicate-member",
        "The JSON text has a member twice, with different values.",
        _as_text(lambda data: '{"message": "one", "message": "two", ' + json.dumps(data)[1:]),
        rules("adcp.extraction.json-text"),
        NO_STRUCTURED,
    ),
    Fault(
        "text-2mb",
        "The data comes as JSON text of 2 MiB only.",
        _long_text(2 * MIB),
        advises=NO_STRUCTURED | rules("adcp.extraction.text-size"),
    ),
    Fault(
        "text-5mb",
        "The data comes as JSON text of 5 MiB only, more than clients read.",
        _long_text(5 * MIB),
        EXTRACTABLE,
        rules("adcp.extraction.answer-size"),
    ),
    Fault(
        "body-12mb",
        "The answer has 12 MiB.",
        _for_products(
            lambda result: {
                **result,
                "structuredContent": _extended(result["structuredContent"], "x" * (12 * MIB)),
            }
        ),
        advises=rules("adcp.extraction.answer-size"),
        blocks=True,  # several such answers are more than one survey keeps
    ),
    Fault(
        "prototype-keys",
        "The payload has members named __proto__ and constructor.",
        _wrapped(
            lambda data: _extended(data, {"__proto__": {"admin": True}, "constructor": {"prototype": {}}}),
        ),
        advises=rules("adcp.security.prototype-keys"),
    ),
    Fault(
        "lone-surrogate",
        "A string holds half a surrogate pair.",
        _wrapped(lambda data: _extended(data, "\ud83d")),
        advises=rules("mcp.jsonrpc.portable"),
    ),
    Fault(
        "large-integer",
        "An integer is larger than a double holds exactly.",
        _wrapped(lambda data: _extended(data, 2**60 + 1)),
        advises=rules("mcp.jsonrpc.portable"),
    ),
    Fault(
        "deep-nesting",
        "The payload is nested 300 levels deep.",
        _wrapped(lambda data: _extended(data, _nested(300))),
        advises=rules("mcp.jsonrpc.portable"),
    ),
)
