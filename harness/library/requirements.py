"""Which requirement a vector is about, and which answers a client may refuse as they are.

A vector says what it is about, or else what the reference algorithm does with it tells. A requirement is the id of
the rule that judges the vector, without `client.` before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_adcp.harness.error_codes import Recovery
from pytest_adcp.harness.extraction import (
    MAX_CODE_LENGTH,
    MAX_ERROR_LENGTH,
    ErrorExtraction,
    Extraction,
    Path,
    Reason,
    TextItem,
    TextOutcome,
    extract_error,
    extract_success,
)
from pytest_adcp.harness.jsontext import DEEPEST, ObjectionKind, stringify_length, utf16_length
from pytest_adcp.harness.jsonwriter import write
from pytest_adcp.vectors.loader import UNTOLD, Kind, Transport, Vector

PROTOTYPE_NAMES = frozenset(
    {"__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"}
)
_SIZED = 60_000  # units of a text that is about its size
_OBJECTED = {ObjectionKind.DUPLICATE_NAME, ObjectionKind.LARGE_NUMBER, ObjectionKind.LONE_SURROGATE}
_OF_0_3 = re.compile(rb'"kind":|"state":"[a-z-]+"|"role":"(?:agent|user)"')
_OF_1_0 = re.compile(rb'"state":"TASK_STATE_|"role":"ROLE_|^\{"(?:task|statusUpdate|artifactUpdate)":')
_ENVELOPES = {"task", "message", "statusUpdate", "artifactUpdate"}
_INTERIM = {"working", "submitted", "input-required", "auth-required"}
_FINAL = {"completed", "failed", "canceled", "rejected"}


def requirement(vector: Vector) -> str:
    """Return what a vector is about, as `extraction.text`."""
    if vector.requirement is not None:
        return vector.requirement
    if vector.transport is Transport.A2A:
        return _a2a(vector)
    if vector.limit is not None:
        return "extraction.limit"
    response = vector.response
    if vector.kind is Kind.ERROR:
        return _error(response, extract_error(response))
    return _success(response, extract_success(response))


def actions(vector: Vector) -> Iterator[str]:
    """Yield what an error vector tells of the client's action, as `actions.recovery`."""
    if vector.kind is not Kind.ERROR:
        return
    if vector.expected_retry_after is not UNTOLD:
        yield "actions.retry-after"
    if vector.expected_action is None:
        return
    error = vector.expected
    if error is None:
        yield "actions.no-error"
    elif "recovery" not in error:
        yield "actions.by-code"
    else:
        yield "actions.recovery" if error["recovery"] in set(Recovery) else "actions.unknown-recovery"


# -- MCP ------------------------------------------------------------------------------------------------------


def _success(response: dict[str, Any], found: Extraction) -> str:
    if found.path is Path.ERROR or "isError" in response:
        return "extraction.is-error"
    if found.data is not None and _has_prototype_names(found.data):
        return "extraction.prototype-keys"
    if found.data is not None and _depth(found.data) > DEEPEST:
        return "extraction.depth"
    if found.path is Path.STRUCTURED_CONTENT:
        return "extraction.structured-content" if _has_object_text(response) else "extraction.no-duplicate"
    if isinstance(response.get("structuredContent"), dict):
        return "extraction.adcp-error-only"
    if "structuredContent" in response:
        return "extraction.structured-content"
    return _text(response, found.texts)


def _text(response: dict[str, Any], texts: tuple[TextItem, ...]) -> str:
    objections = {objection.kind for text in texts if text.parsed for objection in text.parsed.objections}
    if ObjectionKind.DEEP in objections:
        return "extraction.depth"
    if any(text.outcome is TextOutcome.TOO_LARGE or text.units > _SIZED for text in texts):
        return "extraction.limit"
    if objections & _OBJECTED or any(_is_nearly_json(response, text) for text in texts):
        return "extraction.json"
    if any(text.outcome is TextOutcome.ADCP_ERROR_ONLY for text in texts):
        return "extraction.adcp-error-only"
    return "extraction.text"


def _is_nearly_json(response: dict[str, Any], text: TextItem) -> bool:
    """Whether a text is refused for a fault in its JSON, not for being prose."""
    return text.outcome is TextOutcome.NOT_JSON and "{" in str(response["content"][text.index]["text"])


def _error(response: dict[str, Any], found: ErrorExtraction) -> str:
    if found.reason is Reason.NOT_FLAGGED:
        return "errors.guard"
    if found.error is not None and _has_prototype_names(found.error):
        return "errors.prototype-keys"
    if found.candidate is not None and _is_about_validity(found):
        return "errors.validation"
    if found.error is None:
        return "errors.absent"
    if _is_unusual(found.error):
        return "errors.unchanged"
    if found.path is Path.JSONRPC_ERROR:
        return "errors.jsonrpc"
    if found.path is Path.TEXT_FALLBACK:
        return "errors.detection-order" if "structuredContent" in response else "errors.text"
    if response.get("isError") is not True:
        return "errors.guard"
    return "errors.detection-order" if _has_object_text(response) else "errors.structured-content"


def _is_about_validity(found: ErrorExtraction) -> bool:
    if found.error is None:
        return True
    code = utf16_length(found.error["code"])
    return code >= MAX_CODE_LENGTH // 2 or stringify_length(found.error) > MAX_ERROR_LENGTH * 3 // 4


def _is_unusual(error: dict[str, Any]) -> bool:
    """Whether an error holds what a client is tempted to mend as it extracts it."""
    seconds = error.get("retry_after", 1)
    usual = isinstance(seconds, int) and not isinstance(seconds, bool) and 1 <= seconds <= 3600
    return not usual or error.get("recovery", Recovery.TERMINAL) not in set(Recovery)


def _has_object_text(response: dict[str, Any]) -> bool:
    """Whether a text of a tool result is a JSON object, as the reference reads it."""
    texts = extract_success({"content": response.get("content")}).texts
    return any(text.outcome in (TextOutcome.FOUND, TextOutcome.ADCP_ERROR_ONLY) for text in texts)


def _has_prototype_names(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if PROTOTYPE_NAMES & item.keys():
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def _depth(value: Any) -> int:
    """Return how many containers stand in each other, counted to a little over DEEPEST."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [member for item in inner for member in (item.values() if isinstance(item, dict) else item)]
        depth += bool(inner)
        if not inner:
            break
    return depth


# -- A2A ------------------------------------------------------------------------------------------------------


def _a2a(vector: Vector) -> str:
    if vector.kind is Kind.ERROR:
        return "a2a.error"
    if vector.refused:
        return "a2a.wrapper"
    response = vector.response
    if len(response) == 1 and _ENVELOPES & response.keys():
        return "a2a.envelope"
    if vector.expected is not None and _has_prototype_names(vector.expected):
        return "a2a.unchanged"
    status = response.get("status")
    state = status.get("state") if isinstance(status, dict) else None
    plain = str(state).removeprefix("TASK_STATE_").lower().replace("_", "-")
    if plain in _INTERIM:
        return "a2a.first-part"
    if plain not in _FINAL:
        return "a2a.unknown-state"
    return "a2a.fallback" if vector.path == "status_message" else "a2a.last-part"


# -- answers that a client with types may refuse --------------------------------------------------------------------


def why_refused(vector: Vector) -> str:
    """Say why a client with types may refuse a response as a whole; empty where it may not."""
    if vector.transport is Transport.A2A:
        return _mixed(vector.response)
    broken = malformed(vector.response)
    return f"it breaks MCP: {broken}" if broken else ""


def _mixed(response: dict[str, Any]) -> str:
    """Say that an A2A response holds marks of both editions: a reader of either may refuse it. Published vectors never do."""
    text = write(response)
    old = bool(_OF_0_3.search(text))
    return "it mixes A2A 0.3 and 1.0" if old and _OF_1_0.search(text) else ""


def malformed(response: Any) -> str:
    """Say where an answer breaks MCP; empty where it does not."""
    if not isinstance(response, dict):
        return "it is no object"
    if "error" in response:
        return _malformed_error(response["error"])
    if not isinstance(response.get("isError", False), bool):
        return "isError is no boolean"
    if "structuredContent" in response and not isinstance(response["structuredContent"], dict):
        return "structuredContent is no object"
    if not isinstance(response.get("content"), list):
        return "content is no array"
    for index, item in enumerate(response["content"]):
        if why := _malformed_item(item):
            return f"content[{index}] {why}"
    return ""


def _malformed_error(error: Any) -> str:
    if not isinstance(error, dict):
        return "error is no object"
    code = error.get("code")
    if isinstance(code, bool) or not isinstance(code, (int, float)) or code != int(code):
        return "error.code is no integer"
    return "" if isinstance(error.get("message"), str) else "error.message is no string"


_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}


def _malformed_item(item: Any) -> str:
    if not isinstance(item, dict):
        return "is no object"
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED:
        return "has no type that MCP knows"
    if missing := [name for name in _REQUIRED[kind] if not isinstance(item.get(name), str)]:
        return f"has no {missing[0]}"
    resource = item.get("resource")
    if kind == "resource" and not (isinstance(resource, dict) and isinstance(resource.get("uri"), str)):
        return "has no resource with a uri"
    return ""
