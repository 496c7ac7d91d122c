"""Faults of the JSON-RPC message and of the JSON it is written in."""

from __future__ import annotations

from collections.abc import Callable

from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Exchange, Hooks
from pytest_adcp.harness.seller.options import Eras
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_call, rules

JSON = rules("mcp.jsonrpc.json")
UTF8 = rules("mcp.jsonrpc.utf8")
VERSION = rules("mcp.jsonrpc.version")
ID = rules("mcp.jsonrpc.id")
RESULT_OR_ERROR = rules("mcp.jsonrpc.result-or-error")
ERROR_OBJECT = rules("mcp.jsonrpc.error-object")

MARK = "@@mark@@"


def _marked(replacement: bytes, mark: str = f'"{MARK}"') -> Hooks:
    """Write a value into the result that no JSON encoder would."""

    def edit(message: Json) -> bytes:
        marked = {**message, "result": {**message["result"], "_meta": {"seller.example/note": MARK}}}
        return rpc.encode(marked).replace(mark.encode(), replacement)

    return on_call(edit)


def _without(name: str) -> Hooks:
    return on_call(lambda message: {key: value for key, value in message.items() if key != name})


def _with(name: str, value: object) -> Hooks:
    return on_call(lambda message: {**message, name: value})


def _other_type(message: Json) -> Json:
    identifier = message["id"]
    return {**message, "id": str(identifier) if isinstance(identifier, int) else [identifier]}


def _on_error(edit: Callable[[Json], Json]) -> Hooks:
    """Change the JSON-RPC errors: here every AdCP error is a tool result, so unknown tools bring them out."""

    def hook(_: Exchange, message: Json, __: int) -> Json:
        return edit(message) if "error" in message else message

    return Hooks(message=hook)


def _on_error_object(edit: Callable[[Json], Json]) -> Hooks:
    return _on_error(lambda message: {**message, "error": edit(message["error"])})


def _foreign_id_on_refusal(_: Exchange, message: Json, status: int) -> Json:
    return {**message, "id": "server-error"} if status >= 400 else message


FAULTS = (
    Fault("body-nan", "The body contains NaN.", _marked(b"NaN"), JSON),
    Fault(
        "body-truncated",
        "The body ends in the middle of the JSON.",
        on_call(lambda message: rpc.encode(message)[:-20]),
        JSON,
    ),
    Fault(
        "body-bom",
        "The body begins with a byte order mark.",
        on_call(lambda message: b"\xef\xbb\xbf" + rpc.encode(message)),
        UTF8,
    ),
    Fault("body-not-utf8", "The body is not UTF-8.", _marked(b"caf\xe9", MARK), UTF8),
    Fault(
        "duplicate-member",
        "The message has a member twice, with different values.",
        on_call(lambda message: b'{"jsonrpc":"1.0",' + rpc.encode(message)[1:]),
        rules("mcp.jsonrpc.unique-names"),
    ),
    Fault(
        "body-array",
        "The response stands in an array.",
        on_call(lambda message: b"[" + rpc.encode(message) + b"]"),
        rules("mcp.jsonrpc.answered"),
    ),
    Fault("jsonrpc-missing", "The response has no jsonrpc.", _without("jsonrpc"), VERSION),
    Fault("jsonrpc-number", "jsonrpc is the number 2.0.", _with("jsonrpc", 2.0), VERSION),
    Fault(
        "wrong-id",
        "The response has the id of no request.",
        _with("id", 987_654_321),
        ID,
        advises=rules("mcp.interop.results"),
    ),
    Fault("id-type", "The response's id has another type than the request's.", on_call(_other_type), ID),
    Fault("id-null", "The response's id is null.", _with("id", None), ID),
    Fault(
        "error-id-null",
        "JSON-RPC errors have the id null though the request's could be read.",
        _on_error(lambda message: {**message, "id": None}),
        ID,
    ),
    Fault(
        "refusal-id",
        'Refusals with an HTTP error status have the id "server-error".',
        Hooks(message=_foreign_id_on_refusal),
        advises=rules("mcp.jsonrpc.refusal-id", "mcp.jsonrpc.parse-error"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "result-and-error",
        "The response has both result and error.",
        _with("error", {"code": -32603, "message": "Internal error"}),
        RESULT_OR_ERROR,
    ),
    Fault("no-result", "The response has neither result nor error.", _without("result"), RESULT_OR_ERROR),
    Fault(
        "result-array",
        "The result is an array.",
        on_call(lambda message: {**message, "result": [message["result"]]}),
        rules("mcp.jsonrpc.result-object"),
    ),
    Fault(
        "error-code-string",
        "The code of a JSON-RPC error is a string.",
        _on_error_object(lambda error: {**error, "code": str(error["code"])}),
        ERROR_OBJECT,
    ),
    Fault(
        "error-message-missing",
        "A JSON-RPC error has no message.",
        _on_error_object(lambda error: {name: value for name, value in error.items() if name != "message"}),
        ERROR_OBJECT,
    ),
)
