"""JSON-RPC 2.0 messages: read strictly, built, and written as bytes."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NoReturn

from pytest_adcp.harness.jsonwriter import write

Json = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

MAX_DEPTH = 100  # of a request; far from the recursion limit of the JSON encoder that echoes parts of it


class RpcError(Exception):
    """A request that is answered with a JSON-RPC error under an HTTP status."""

    def __init__(
        self, code: int, message: str, *, status: int = HTTPStatus.OK, data: Json | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data

    def answer(self, request_id: str | int | None) -> Json:
        """Return the response message; the id is null where the request's could not be read."""
        error: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": request_id, "error": error}


def result(request_id: str | int | None, value: Json) -> Json:
    """Return a success response message."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def read(body: bytes) -> tuple[Json | None, RpcError | None]:
    """Read one JSON-RPC message; where it is none, say why and keep what is needed to answer: its id."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None, RpcError(PARSE_ERROR, "The body is not JSON.", status=HTTPStatus.BAD_REQUEST)
    fault = _fault(message)
    if fault is None:
        return message, None
    known = {"id": request_id(message)} if isinstance(message, dict) else None
    return known, RpcError(INVALID_REQUEST, fault, status=HTTPStatus.BAD_REQUEST)


def batch(body: bytes) -> list[Json] | None:
    """Read a batch, as 2025-03-26 has it; None where the body is none, or something in it is no message."""
    try:
        messages = json.loads(body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(messages, list) or not messages or any(_fault(message) for message in messages):
        return None
    return messages


def _fault(message: object) -> str | None:
    if isinstance(message, list):
        return "Batches are not supported: send one message a request."
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "The body is not a JSON-RPC 2.0 message."
    if _too_deep(message):
        return f"The message is nested deeper than {MAX_DEPTH} levels."
    if "method" not in message:
        return (
            None if {"result", "error"} & message.keys() else "The message is of no kind that JSON-RPC knows."
        )
    if not isinstance(message["method"], str) or not message["method"]:
        return "method has to be a non-empty string."
    if not isinstance(message.get("params", {}), dict):
        return "params has to be an object."
    if "id" in message and request_id(message) is None:
        return "id has to be a string or an integer."
    return None


def request_id(message: Json) -> str | int | None:
    """Return the id of a message where it is one that MCP allows."""
    value = message.get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def encode(message: object) -> bytes:
    """Write a message as compact UTF-8 JSON."""
    return write(message)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def _too_deep(message: Json) -> bool:
    level: list[Any] = [message]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
