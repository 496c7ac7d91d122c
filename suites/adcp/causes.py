"""Why a client does not find the data of a success: the cause, and the cure that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_adcp.harness.extraction import Reason
from pytest_adcp.harness.jsontext import Cause, resolve
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.tasks import ENVELOPE, catalogue
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import (
    data_fields,
    find_data,
    hidden_error,
    is_mcp_result,
    misspelt_root,
    squeezed,
)

from .failures import kind_of

_BY_WIRE_NAMES = "serialise the result by its wire names (Pydantic: model_dump(by_alias=True))"
_NOT_STR = "build the text with json.dumps or JSON.stringify, not by hand and not with str() or repr()"
_TEXT_FIXES: dict[Cause | None, str] = {
    Cause.PROSE: "send the response as structuredContent, and prose beside it; if the call failed, set isError: true",
    Cause.COMMENT: "leave comments out: JSON has none",
    Cause.TRAILING_COMMA: _NOT_STR,
    Cause.UNQUOTED_NAME: _NOT_STR,
    Cause.NUMBER: _NOT_STR,
    Cause.ESCAPE: _NOT_STR,
    Cause.BOM: "encode the text without a byte order mark (utf-8, not utf-8-sig)",
    Cause.CODE_FENCE: "send the bare JSON: no client strips Markdown",
    Cause.NON_FINITE: "send null or leave the member out where a number is NaN or infinite "
    "(json.dumps(..., allow_nan=False) finds them)",
    Cause.FOREIGN_LITERAL: _NOT_STR,
    Cause.SINGLE_QUOTES: _NOT_STR,
    Cause.CONTROL_CHARACTER: "build the text with a JSON library, which escapes line feeds in strings",
    Cause.TRAILING_DATA: "send one JSON value a text item, and nothing behind it",
    Cause.TRUNCATED: "send the whole text: something cuts it",
}


@dataclass(frozen=True, slots=True)
class Why:
    """The cause in words, what came, where (a JSON pointer), and a fix that fits better than the rule's own, or none."""

    because: str
    received: str
    at: str
    fix: str = ""


# -- nothing can be extracted --------------------------------------------------------------------------------


def why_nothing(success: Answer) -> Why:
    """Say why no client gets an object out of a tool result."""
    result = success.result or {}
    content = result.get("content")
    if stray := _stray_data(success):
        return stray
    skipped = ""
    if success.structured is not None:
        skipped = f"structuredContent is {kind_of(success.structured)}, which is skipped; then "
    if not isinstance(content, list):
        came = quote(content) if "content" in result else "no such member"
        return Why(f"{skipped}content is not an array", came, success.at("content"))
    if success.extraction.reason is Reason.THROWS:
        place = success.extraction.pointer
        because = f"{skipped}an item of content that is no object ends the search (a TypeError in JavaScript)"
        return Why(because, quote(resolve(result, place)), f"/result{place}", "send objects in content")
    if not success.extraction.texts:
        items = f"only {', '.join(_item(item) for item in content[:3])}" if content else "nothing"
        because = f"{skipped}content holds {items}, and only text items are read"
        return Why(because, quote(content), success.at("content"))
    return _why_no_text(success, skipped)


def _stray_data(success: Answer) -> Why | None:
    """Find the data in the tool result itself, beside the members that MCP knows."""
    for name, value in (success.result or {}).items():
        if (
            squeezed(name) == "structuredcontent"
            and name != "structuredContent"
            and isinstance(value, Mapping)
        ):
            because = (
                f"the data stands under {quote(name, 40)}, and the name on the wire is structuredContent"
            )
            return Why(because, quote(value), success.at(name), _BY_WIRE_NAMES)
        if name in success.task.root and value is not None:
            because = f"`{name}` stands in the tool result itself, beside content"
            fix = "put the response into structuredContent: a tool result has no other place for it"
            return Why(because, quote(value), success.at(name), fix)
    return None


def _item(item: object) -> str:
    if not isinstance(item, Mapping):
        return quote(item, 40)
    return f"an item of type {quote(item['type'], 40)}" if "type" in item else "an item without a type"


def _why_no_text(success: Answer, skipped: str) -> Why:
    """Say why the longest text gives no object."""
    worst = max(success.extraction.texts, key=lambda item: item.units)
    at = success.at("content", worst.index, "text")
    limit = success.client_limit
    if worst.units > limit:
        because = (
            f"{skipped}the text is {worst.units} UTF-16 units long, and clients skip a text over {limit}"
        )
        fix = "page the answer: honour pagination.max_results, and choose a smaller default page"
        return Why(because, f"{worst.units} units", at, fix)
    item = (success.result or {})["content"][worst.index]
    came = quote(item["text"], 120) if "text" in item else "no such member"
    if worst.parsed is None:
        return Why(f"{skipped}the text is empty", came, at)
    if came.startswith('"[object '):
        because = f"{skipped}the text is what JavaScript makes of an object that is used as a string"
        return Why(because, came, at, "build the text with JSON.stringify")
    if not worst.parsed.ok:
        because = f"{skipped}the text is not JSON that JSON.parse takes: {worst.parsed.error}"
        return Why(because, came, at, _TEXT_FIXES.get(worst.parsed.cause, ""))
    because = f"{skipped}the text is JSON for {kind_of(worst.value)}, not for an object"
    if isinstance(worst.value, str) and worst.value.lstrip()[:1] in ("{", "["):
        return Why(f"{because}: it was encoded twice", came, at, "encode the response once")
    return Why(because, came, at)


# -- an object that is not the answer ------------------------------------------------------------------------


def why_not_at_the_root(success: Answer, payload: Mapping[str, Any]) -> Why:
    """Say where the data of a payload is that has none of the task's own fields at its root."""
    task = success.task
    came = f"members {quote(list(payload)[:8])}"
    if is_mcp_result(payload):
        because = "the payload is a whole MCP tool result; a client takes it for the AdCP answer, and an isError inside stays unseen"
        fix = (
            "pass on the inner result as it is instead of wrapping it (a gateway or proxy usually does this)"
        )
        return Why(because, quote(payload), success.in_payload(), fix)
    if "jsonrpc" in payload:
        because = "the payload is a whole JSON-RPC message, and a client takes it for the AdCP answer"
        return Why(
            because,
            quote(payload),
            success.in_payload(),
            "pass on what stands in the message's result as the result",
        )
    if misspelt := misspelt_root(task, payload):
        name, right = misspelt
        because = f"{quote(name, 60)} is not how AdCP spells it: clients look for `{right}`"
        fix = (
            f"call it `{right}`: serialise by the names of the AdCP schema, not by those of your own classes"
        )
        return Why(because, came, success.in_payload(name), fix)
    if other := _other_task(success, payload):
        name, owner = other
        because = f"`{name}` is the data of {owner}, and none of the fields of {task.name} is there"
        return Why(
            because,
            came,
            success.in_payload(name),
            f"return the answer of {task.name}, with its fields {_target(success)}",
        )
    found = find_data(task, payload)
    hidden = None if found is not None and found.holds_data else hidden_error(task, payload)
    if hidden is not None:
        name = ".".join(hidden[0])
        because = f"the payload has none of the fields of {task.name}, and `{name}` says that the task failed"
        fix = "send the failure as one: isError: true, and the error under adcp_error in structuredContent"
        return Why(because, came, success.in_payload(*hidden[0]), fix)
    if found is not None:
        name = ".".join(found.path)
        inside = (
            "a JSON text" if found.text else ("an array" if isinstance(found.value, list) else "an object")
        )
        because = (
            f"the data is wrapped: it stands in {inside} under `{name}`, where no AdCP client looks for it"
        )
        if not found.holds_data:
            because = f"none of the fields of {task.name} is there; an array stands under `{name}`, where no AdCP client looks for data"
        return Why(because, came, success.in_payload(*found.path), _unwrap(success, found.path))
    if payload and all(name.isdigit() for name in payload):
        because = "the payload is a list that was made an object: its members are called by their numbers"
        return Why(because, came, success.in_payload(), f"return the list under its name, {_target(success)}")
    because = f"the payload has none of the fields that make it an answer of {task.name}"
    is_wrapped = list(payload) == ["result"] and _wraps_results(success)
    fix = (
        _unwrap(success, ("result",))
        if is_wrapped
        else f"return the AdCP response itself, with its fields {_target(success)}"
    )
    return Why(because, came, success.in_payload(), fix)


def _other_task(success: Answer, payload: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a member that is another task's own field, and that task: a handler that answers for the wrong one."""
    for name, value in payload.items():
        if isinstance(value, list) and name not in success.task.containers | ENVELOPE | {"result"}:
            owners = [other.name for other in catalogue().values() if name in other.root]
            if owners:
                return name, owners[0]
    return None


def _target(success: Answer) -> str:
    return f"at the root: {{{quote(data_fields(success.task)[0])}: ...}}"


def _wraps_results(success: Answer) -> str:
    """Name the framework that wraps results, where it shows; empty where it does not."""
    meta = (success.result or {}).get("_meta")
    fastmcp = meta.get("fastmcp") if isinstance(meta, Mapping) else None
    schema = (success.server.tool(success.call.tool) or {}).get("outputSchema")
    schema = schema if isinstance(schema, Mapping) else {}
    if schema.get("x-fastmcp-wrap-result") or (isinstance(fastmcp, Mapping) and fastmcp.get("wrap_result")):
        return "FastMCP"
    properties = schema.get("properties")
    is_only = isinstance(properties, Mapping) and list(properties) == ["result"]
    return "the Python MCP SDK" if is_only else ""


def _unwrap(success: Answer, path: tuple[str, ...]) -> str:
    """Say what to change where this wrapper is made."""
    target = _target(success)
    match path[0]:
        case "result":
            framework = _wraps_results(success) or "a framework (FastMCP and the Python MCP SDK do)"
            return (
                f'{framework} wraps what is no object in {{"result": ...}}: annotate the tool `-> dict[str, Any]` (or a model) '
                f"instead of `-> str` or `-> list`, and return the response {target}"
            )
        case "payload":
            return (
                f"`payload` in the envelope's schema only groups fields on paper; put what it holds {target}"
            )
        case "data":
            return f"a `data` wrapper belongs to AdCP before 3.0; put what it holds {target}"
        case "response":
            return f"a `response` wrapper comes from A2A frameworks; put what it holds {target}"
        case _:
            return f"put what `{'.'.join(path)}` holds {target}"
