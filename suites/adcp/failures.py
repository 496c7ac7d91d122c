"""How an answer says that its task failed, where it says it as AdCP wants it and where it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_adcp.harness.error_codes import ERROR_CODES
from pytest_adcp.harness.extraction import MAX_CODE_LENGTH
from pytest_adcp.harness.jsontext import equal, utf16_length
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import data_members, misplaced_error, squeezed

RESERVED = {-32029: "RATE_LIMITED", -32028: "AUTH_MISSING", -32027: "SERVICE_UNAVAILABLE"}
_PROTOCOL = {-32700, -32600, -32601, -32602, -32603, -32002, -32042, -32020, -32021, -32022}
_ERRORS = frozenset({"adcperror", "error", "errors"})
_MESSAGE = 1000  # characters of a JSON-RPC message that are searched for a code
_WORD = re.compile(r"[A-Z]+(?:_[A-Z]+)+")


@dataclass(frozen=True, slots=True)
class Unread:
    """An error that no client reads: the member that holds it, what stands there, where, and why it is not read."""

    name: str
    value: Any
    at: str
    because: str


def flagged_data(error: Answer) -> str | None:
    """Return a field of the task in an answer that is flagged and says nothing of an error."""
    if not error.is_flagged or error.adcp_error is not None or error.errors:
        return None
    if error.payload.get("status") in ("failed", "rejected", "canceled") or unread_error(error):
        return None
    return next(iter(data_members(error.task, error.payload)), None)


def why_a_failure(payload: Mapping[str, Any]) -> str:
    """Say by what a payload that is not flagged is a failure all the same, and what a client makes of it."""
    if payload.get("adcp_error") is not None:
        return (
            f"adcp_error stands beside other members ({quote(list(payload)[:8])}) and isError is not set, so a client takes "
            "the whole object for a success: extraction only recognises adcp_error when it is the only key"
        )
    if payload.get("status") == "failed":
        return "status says failed and isError is not set, so a client reads this as a success"
    return (
        "the payload holds errors[] and no data, and isError is not set, so a client reads this as a success"
    )


def stray_error(answer: Answer) -> Unread | None:
    """Find an error in the tool result itself, beside the members that MCP knows."""
    for name, value in (answer.result or {}).items():
        if not isinstance(value, Mapping) or not value:
            continue
        is_misspelt = squeezed(name) == "structuredcontent" and name != "structuredContent"
        if squeezed(name) in _ERRORS or (is_misspelt and any(squeezed(inner) in _ERRORS for inner in value)):
            because = f"the error stands in {quote(name, 40)} of the tool result itself, where no AdCP client looks for it"
            return Unread(name, value, answer.at(name), because)
    return None


def unread_error(error: Answer) -> Unread | None:
    """Find an error that stands where clients do not look."""
    if stray := stray_error(error):
        return stray
    found = misplaced_error(error.task, error.payload)
    if found is None:
        return None
    path, value = found
    name = ".".join(path)
    because = f"the error stands under `{name}`, where no AdCP client looks for it"
    if path == ("errors",):
        because = f"errors is {kind_of(value)}, and clients only read an array of error objects"
    return Unread(name, value, error.in_payload(*path), because)


def why_unreadable(found: Any) -> str:
    """Say why clients discard what stands under adcp_error; empty where they read it."""
    if isinstance(found, str) and found.lstrip().startswith("{"):
        return "adcp_error is JSON in a string, encoded once too often"
    if not isinstance(found, Mapping):
        return f"adcp_error is {kind_of(found)}, not an object"
    code = found.get("code")
    if not isinstance(code, str):
        return f"code is {kind_of(code)}, not a string" if "code" in found else "code is missing"
    units = utf16_length(code)
    if units > MAX_CODE_LENGTH:
        return f"code has {units} characters, and {MAX_CODE_LENGTH} are allowed"
    return "" if code else "code is empty"


def application_error(error: Answer) -> str | None:
    """Return in words the application error that comes as a JSON-RPC error; None for protocol faults and refusals."""
    if error.result is not None:
        return None
    rpc = error.message.get("error")
    number = code_of(rpc)
    if any(equal(number, reserved) for reserved in RESERVED):
        return None
    if error.adcp_error is not None or (code := _standard_code(rpc)):
        return (
            f"the AdCP error {quote(code_of(error.adcp_error) if error.adcp_error is not None else code, 70)}"
        )
    refused = error.exchange.response is not None and error.exchange.response.status >= 400
    is_protocol = not isinstance(number, int) or number in _PROTOCOL
    return None if is_protocol or refused else "an application error"


def _standard_code(rpc: Any) -> str | None:
    """Return a standard AdCP code that stands in a JSON-RPC error, elsewhere than in data.adcp_error."""
    rpc = rpc if isinstance(rpc, Mapping) else {}
    data = rpc.get("data")
    inner = [data, *(data.get(name) for name in ("error", "errors"))] if isinstance(data, Mapping) else [data]
    codes = [code_of(each[0] if isinstance(each, list) and each else each) for each in inner]
    # INVALID_REQUEST is also what JSON-RPC calls its own -32600.
    message = rpc.get("message")
    words = _WORD.findall(message[:_MESSAGE]) if isinstance(message, str) else []
    codes += [word for word in words if word != "INVALID_REQUEST"]
    return next((code for code in codes if isinstance(code, str) and code in ERROR_CODES), None)


def codes_of(error: Answer) -> Iterator[tuple[str, str]]:
    """Yield the places that give the error, in words, and the code that each of them gives."""
    candidates = [("adcp_error", error.adcp_error), ("errors[0]", error.errors[0] if error.errors else None)]
    for text in error.texts:
        value = text.parsed.value
        if isinstance(value, Mapping) and error.structured is not None:
            candidates.append((f"the text of content[{text.index}]", value.get("adcp_error")))
    for place, found in candidates:
        if isinstance(found, Mapping) and isinstance(found.get("code"), str):
            yield place, found["code"]


def flag_of(answer: Answer) -> str:
    """Quote isError, or say that it is absent."""
    result = answer.result or {}
    return quote(result["isError"], 40) if "isError" in result else "absent"


def code_of(error: Any) -> Any:
    """Return the code of an error object; what is no object stands for itself."""
    return error.get("code") if isinstance(error, Mapping) else error


def kind_of(value: object) -> str:
    """Return what a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"
