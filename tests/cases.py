"""The cases in tests/data/cases: answers that a seller may give, and what is to be said of each of them.

Each file holds kinds of answers by name, each kind a list of cases. A case says what comes, in one of these ways:

    structured  the AdCP payload, in structuredContent beside a short text
    failed      the same with isError, its adcp_error once more as JSON in the text
    text        what stands in text items: one string, or several
    result      a tool result, literally
    error       a JSON-RPC error
    message     a JSON-RPC message; see case_server for `$id` and the like
    body        the text of the HTTP body, with `encoding`

beside `status` and `media_type` of the HTTP response, the `tool` (get_products), its `definition`, another `method` that
gets the answer, AdCP `release` (3.1), MCP `revision` (2025-11-25), the `limit` of a client and what the call `sends`
beside the context of the run. In strings `<x*1000>` stands for a thousand times x. What is to be said of it:

    is     success, error, interim, or nothing where there is no answer to classify
    fails  every rule that fails
    warns  every rule that gives an advisory
    says   what the finding on the first of these rules says, in message, fix or quotation
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from case_server import HANDSHAKE, Answer, CaseServer

FOLDER = Path(__file__).with_name("data") / "cases"
_REPEATED = re.compile(r"<(.)\*(\d+)>")
_ANSWERS = ("structured", "failed", "text", "result", "error", "message", "body")


@dataclass(frozen=True)
class Case:
    """One case."""

    id: str  # file, kind and its own name
    kind: str
    server: CaseServer
    limit: int | None
    sends: Mapping[str, Any]
    classified: str
    fails: tuple[str, ...]
    warns: tuple[str, ...]
    says: tuple[str, ...]


def load_cases() -> Iterator[Case]:
    """Read all cases."""
    for file in sorted(FOLDER.glob("*.yaml")):
        kinds = yaml.safe_load(file.read_text(encoding="utf-8"))
        for kind, cases in kinds.items():
            for case in cases:
                yield _case(f"{file.stem}/{kind}", **_expanded(case))


def _case(
    kind: str,
    *,
    id: str,  # noqa: A002 - as in the file
    tool: str = "get_products",
    definition: dict[str, Any] | None = None,
    method: str = "tools/call",
    release: str = "3.1",
    revision: str = HANDSHAKE,
    limit: int | None = None,
    sends: Mapping[str, Any] | None = None,
    fails: str | list[str] = (),
    warns: str | list[str] = (),
    says: str | list[str] = (),
    **rest: Any,
) -> Case:
    (way,) = (each for each in _ANSWERS if each in rest)
    classified = rest.pop("is", "error" if way in ("failed", "error") else "success")
    answer = _answer(way, rest.pop(way), **rest)
    server = CaseServer(tool, answer, method, release, revision, definition or {})
    case_id = f"{kind}/{id}"
    return Case(
        case_id, kind, server, limit, sends or {}, classified, _some(fails), _some(warns), _some(says)
    )


def _answer(
    way: str, what: Any, status: int = 200, media_type: str = "application/json", encoding: str = "utf-8"
) -> Answer:
    http: dict[str, Any] = {"status": status, "media_type": media_type}
    match way:
        case "structured":
            return Answer(result={"content": [_text("Done.")], "structuredContent": what}, **http)
        case "failed":
            mirror = json.dumps({"adcp_error": what.get("adcp_error")})
            content = [_text(mirror), _text("It failed.")] if "adcp_error" in what else [_text("It failed.")]
            return Answer(result={"content": content, "structuredContent": what, "isError": True}, **http)
        case "text":
            return Answer(result={"content": [_text(text) for text in _some(what)]}, **http)
        case "body":
            return Answer(body=what, encoding=encoding, **http)
        case _:
            return Answer(**{way: what}, **http)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _some(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _expanded(value: Any) -> Any:
    """Write out what strings repeat."""
    if isinstance(value, str):
        return _REPEATED.sub(lambda match: match[1] * int(match[2]), value)
    if isinstance(value, dict):
        return {key: _expanded(member) for key, member in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value
