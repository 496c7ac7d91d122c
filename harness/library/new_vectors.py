"""Writes a disagreement as a vector in the published format."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from pytest_adcp.harness.jsontext import parse
from pytest_adcp.harness.text import one_line, quote
from pytest_adcp.vectors.loader import Kind, Transport

from .agreement import Found, Signature, is_advisory
from .records import Answer, Extracted, NoAnswer, Threw

_RUN = re.compile(r"(?s)(.{1,12}?)\1{29,}")  # up to twelve characters, as two escapes take, 30 times or more
_DEEPEST = 60  # brackets of a value that is written as it is
_PATHS = frozenset(
    {"structuredContent", "text_fallback", "jsonrpc_error", "artifact", "status_message", "none"}
)
_HUGE = 10**400  # what infinity was before it was read
_REASONS = {
    "is-error": "isError is true to JavaScript",
    "adcp-error-only": "it holds adcp_error and nothing else",
    "text-too-large": "the text is too large",
    "no-json-object": "no text is a JSON object",
    "no-json-text": "no text is JSON",
    "no-text": "there is no text",
    "not-flagged": "the answer is not flagged as an error",
    "no-adcp-error": "there is no adcp_error",
    "adcp-error-not-an-object": "the adcp_error is no object",
    "code-not-a-string": "its code is no string",
    "code-empty": "its code is empty",
    "code-too-long": "its code has more than 64 characters",
    "error-too-large": "it has more than 4,096 characters as JSON",
    "throws": "its code would throw",
    "nested-envelope": "an envelope holds another one",
    "no-state": "the task has no state",
    "unknown-state": "nobody knows the state",
    "no-data-part": "no part holds an object as data",
    "wrapper": "the data is a wrapper",
}


def vector(signature: Signature, response: dict[str, Any], found: Found, answer: Answer) -> dict[str, Any]:
    """Return a vector that fails for the library that gave the answer.

    Args:
        signature: what the disagreement is about; no action is expected in the vector.
        response: plain JSON, which holds none of the names that the format reserves.
        found: what the reference makes of it.
        answer: what the library made of it.
    """
    written = json.dumps(response, sort_keys=True)
    digest = hashlib.sha256(f"{signature.transport} {signature.kind} {written}".encode()).hexdigest()[:8]
    path = found.path if found.path in _PATHS else _place(response)
    made: dict[str, Any] = {
        "id": f"fuzz-{signature.kind}-{digest}",
        "description": f"Found by the fuzzer: the reference {_reference(found)}; the library {_library(answer)}",
        "transport": str(signature.transport),
        "path": path,
        "response": _short(response),
        "expected_data" if signature.kind is Kind.SUCCESS else "expected_error": _expected(found.data),
    }
    if found.refused:
        made["expected_error_type"] = "wrapper_detected"
    if signature.transport is Transport.MCP and is_advisory(response, found):
        made["advisory"] = True
    return made


def _place(response: dict[str, Any]) -> str:
    """Say what a response is about of which nothing is expected."""
    return "structuredContent" if isinstance(response.get("structuredContent"), dict) else "none"


def _reference(found: Found) -> str:
    if found.data is not None:
        return f"finds {quote(found.data, 60)} ({found.path})"
    if found.refused:
        return "refuses the answer"
    return f"finds nothing ({_REASONS.get(found.reason, found.reason or found.path)})"


def _library(answer: Answer) -> str:
    match answer:
        case Threw(type=name, message=message):
            return f"raised {one_line(f'{name}: {message}', 80)}"
        case NoAnswer(why=why):
            return f"gave no answer ({one_line(why, 120)})"
        case Extracted(data=None):
            return "found nothing"
        case Extracted(data=data):
            return f"found {quote(data, 80)}"


# -- values -------------------------------------------------------------------------------------------------------


def _short(value: Any) -> Any:
    """Return a value with long runs of a character written as `$repeat`."""
    if isinstance(value, dict):
        return {name: _short(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return _short_text(value) if isinstance(value, str) else value


def _short_text(text: str) -> Any:
    pieces: list[Any] = []
    at = 0
    for run in _RUN.finditer(text):
        pieces += [text[at : run.start()]] if run.start() > at else []
        pieces.append({"$repeat": [run[1], len(run[0]) // len(run[1])]})
        at = run.end()
    if not pieces:
        return text
    pieces += [text[at:]] if at < len(text) else []
    return pieces[0] if len(pieces) == 1 else {"$concat": pieces}


def _expected(data: Any) -> Any:
    """Return what is expected as it is, or as the text that it is read from where a file cannot hold it."""
    if data is None:
        return None
    text = json.dumps(data)
    parsed = parse(text)
    if parsed.ok and not parsed.objections and text.count("[") + text.count("{") < _DEEPEST:
        return _short(data)
    return {"$json": _short_text(json.dumps(_finite(data), separators=(",", ":")))}


def _finite(value: Any) -> Any:
    """Return a value with numbers in place of the infinities, which are read as these again."""
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return _HUGE if value > 0 else -_HUGE
    return value
