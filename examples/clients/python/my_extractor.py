"""A complete small extractor: what a buyer's client makes of a seller's answer, over MCP and over A2A.

    pytest --adcp-profile=client --adcp-extractor=my_extractor:extract

Nothing in here merges what a seller sent into an object of ours: what is returned is what the parser gave.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from adcp_codes import RECOVERY

LIMIT = 4 * 1024 * 1024  # UTF-16 units of a text that is parsed
ADCP_EXTRACTOR = {
    "name": "my-extractor",
    "version": "1.0.0",
    "transports": ["mcp", "a2a"],
    "limit": {"size": LIMIT, "unit": "utf-16", "configurable": True},
}

FINAL = {"completed", "failed", "canceled", "rejected"}
INTERIM = {"working", "submitted", "input-required", "auth-required"}
ENVELOPES = {"task", "message", "statusUpdate", "artifactUpdate"}


def extract(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of the extractor protocol."""
    response = parse(request["response"])
    over_mcp = request["transport"] == "mcp"
    if request["kind"] == "success":
        return {"data": mcp_data(response, request.get("limit", LIMIT)) if over_mcp else a2a_data(response)}
    return told(mcp_error(response) if over_mcp else a2a_error(response))


def told(error: dict[str, Any] | None) -> dict[str, Any]:
    """Answer with an error, and with what is done about it."""
    return {"data": error, "action": what_to_do(error), "retry_after": seconds_to_wait(error)}


# -- MCP ------------------------------------------------------------------------------------------------------


def mcp_data(result: dict[str, Any], limit: int = LIMIT) -> dict[str, Any] | None:
    """Return the payload of a tool result, or None."""
    if is_flagged(result):
        return None
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        return None if structured.keys() == {"adcp_error"} else structured
    return next((found for found in objects(result, limit) if found.keys() != {"adcp_error"}), None)


def mcp_error(response: dict[str, Any]) -> dict[str, Any] | None:
    """Return the AdCP error of a tool result or of a JSON-RPC error response, or None."""
    flagged = is_flagged(response)
    if flagged and (found := member(response.get("structuredContent"), "adcp_error")):
        return valid(found)
    if found := member(member(response.get("error"), "data"), "adcp_error"):
        return valid(found)
    errors = (found["adcp_error"] for found in objects(response, math.inf) if found.get("adcp_error"))
    return valid(next(errors, None)) if flagged else None


def is_flagged(response: dict[str, Any]) -> bool:
    """Tell whether isError is set; a seller that sends "true" or 1 means it, too."""
    flag = response.get("isError")
    return isinstance(flag, (dict, list)) or bool(flag)  # an empty list is true in JavaScript


def objects(result: dict[str, Any], limit: float) -> Iterator[dict[str, Any]]:
    """Yield the text items that are JSON objects, in their order; a longer one than the limit is not parsed."""
    content = result.get("content")
    for item in content if isinstance(content, list) else []:
        text = member(item, "text") if member(item, "type") == "text" else None
        if not isinstance(text, str) or utf16_length(text) > limit:
            continue
        try:
            found = parse(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


# -- A2A ------------------------------------------------------------------------------------------------------


class WrapperError(Exception):
    """A framework has wrapped the payload into {"response": ...}."""


def a2a_data(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the payload of a task or an update of its status, or None.

    Raises:
        WrapperError: the payload is wrapped.
    """
    task = unwrapped(answer)
    state = member(task.get("status"), "state")
    state = state.removeprefix("TASK_STATE_") if isinstance(state, str) else ""
    state = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in state).replace("_", "-")
    if state in FINAL:
        artifacts = task.get("artifacts")
        first = artifacts[0] if isinstance(artifacts, list) and artifacts else None
        if found := list(data_parts(first)):
            if found[-1].keys() == {"response"} and isinstance(found[-1]["response"], dict):
                raise WrapperError("the DataPart is the wrapper of a framework")
            return found[-1]
    return next(data_parts(member(task.get("status"), "message")), None) if state in FINAL | INTERIM else None


def a2a_error(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the AdCP error of a task, or None: of any artifact, else of the message of its status."""
    task = unwrapped(answer)
    artifacts = task.get("artifacts")
    places = [*(artifacts if isinstance(artifacts, list) else []), member(task.get("status"), "message")]
    errors = (data["adcp_error"] for place in places for data in data_parts(place) if data.get("adcp_error"))
    return valid(next(errors, None))


def unwrapped(answer: dict[str, Any]) -> dict[str, Any]:
    """Open the envelope, once; one inside another gives an empty task."""
    if len(answer) == 1 and answer.keys() <= ENVELOPES:
        (inner,) = answer.values()
        if isinstance(inner, dict):
            return {} if is_envelope(inner) else inner
    return answer


def is_envelope(inner: dict[str, Any]) -> bool:
    """Tell whether what was in an envelope is one again."""
    return bool(inner.keys() & ENVELOPES)


def data_parts(place: Any) -> Iterator[dict[str, Any]]:
    """Yield the data of the DataParts of an artifact or a message: any part whose data is an object is one."""
    parts = member(place, "parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(data := member(part, "data"), dict):
            yield data


# -- errors ---------------------------------------------------------------------------------------------------


def valid(error: Any) -> dict[str, Any] | None:
    """Return an error if it is one: with a code of 1 to 64 characters, and not larger than 4096."""
    code = member(error, "code")
    if not isinstance(code, str) or not 1 <= utf16_length(code) <= 64:
        return None
    written = json.dumps(error, ensure_ascii=False, separators=(",", ":"))
    halves = sum("\ud800" <= character <= "\udfff" for character in written)  # JSON.stringify escapes these
    return error if utf16_length(written) + halves * len("ud800") <= 4096 else None


def what_to_do(error: dict[str, Any] | None) -> str:
    """Choose by `recovery`, and by the code only where it is absent; never by what a message says."""
    if error is None:
        return "generic_error"
    recovery = error["recovery"] if "recovery" in error else RECOVERY.get(error["code"])
    if recovery == "transient":
        return "retry"
    return "surface_to_caller" if recovery == "correctable" else "escalate_to_human"


def seconds_to_wait(error: dict[str, Any] | None) -> int | None:
    """Return the seconds to wait before another try, 1 to 3600; None: take a backoff of our own."""
    seconds = member(error, "retry_after")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        return None
    return max(1, min(3600, math.ceil(seconds)))


# -- JSON -----------------------------------------------------------------------------------------------------


def parse(text: str) -> Any:
    """Read strict JSON, numbers as doubles.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply for us.
    """
    return json.loads(text, parse_constant=_refuse, parse_int=_number, parse_float=_number)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _number(digits: str) -> float:
    """Return a double, as an int where that is the same number: JSON has one kind of number, and 5.0 is 5."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def member(value: Any, name: str) -> Any:
    """Return a member of an object; None where the value is none, or has none of that name."""
    return value.get(name) if isinstance(value, dict) else None


def utf16_length(text: str) -> int:
    """Count as JavaScript does: a character beyond the basic plane is two."""
    return len(text) + sum(character > "\uffff" for character in text)
