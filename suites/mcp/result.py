"""The shape of a tool result: content, its blocks, isError and structuredContent."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Result
from pytest_adcp.harness.text import quote

_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": (),  # what it requires stands one level deeper
    "resource_link": ("uri", "name"),
}
_WITHOUT_LINKS = {"2024-11-05", "2025-03-26"}
_DATA_FIX = 'Put the object into structuredContent and its JSON into a block {"type": "text", "text": "..."}.'
_TYPE_FIXES = {
    "json": _DATA_FIX,
    "object": _DATA_FIX,
    "error": 'Send the message in a block {"type": "text", "text": "..."} and set isError: true.',
}


@rule("mcp.result.content", level=Level.MUST, source=mcp("schema", "calltoolresult"))
def content_is_an_array(result: Result) -> None:
    """Each tool result has content, an array of blocks; it may be empty and may not be left out.

    Return content: [] or, better, one text block with a short summary beside structuredContent. Where a
    handler returns its data as the result itself, let the SDK build the result (FastMCP: return the dict from
    the tool).
    """
    _must_be_complete(result)
    content = result.value.get("content")
    if not isinstance(content, list):
        raise Broken(
            "an array",
            result.show("content"),
            at=result.at("content") if "content" in result.value else result.at(),
            because="the result has no content that is an array; the official clients refuse the whole "
            "result for that, structuredContent included",
            fix='Wrap it in an array: content: [{"type": "text", "text": "..."}].' if content else "",
        )


@rule("mcp.result.content-blocks", level=Level.MUST, source=mcp("server/tools", "tool-result"))
def content_blocks_are_complete(result: Result) -> None:
    """Every content block has a type that the MCP revision knows and the members that this type requires.

    Use text {text}, image and audio {data, mimeType}, resource {resource: {uri, text or blob}}, resource_link
    {uri, name} (from 2025-06-18) and nothing else. Data of a task belongs in structuredContent, not in a
    block of its own.
    """
    content = result.value.get("content")
    if not isinstance(content, list) or not content:
        raise NotApplicable("there is no content block")
    for index, block in enumerate(content):
        _judge_block(result, index, block)


@rule("mcp.result.is-error", level=Level.MUST, source=mcp("schema", "calltoolresult"))
def is_error_is_a_boolean(result: Result) -> None:
    """Where isError stands in a tool result, it is true or false.

    Set the JSON literal true on failures, false or nothing on successes: not "true", not 1, not null. With
    Pydantic, serialise with model_dump(exclude_none=True).
    """
    if "isError" not in result.value:
        raise NotApplicable("the result has no isError, which says that the call went well")
    if not isinstance(result.value["isError"], bool):
        raise Broken(
            "true or false",
            result.show("isError"),
            at=result.at("isError"),
            because="isError is not a boolean; some clients refuse the result, and the others disagree: "
            'the string "false" says failure to JavaScript and success to Python',
        )


@rule(
    "mcp.result.structured-object",
    level=Level.MUST,
    source=mcp("server/tools", "structured-content"),
    revisions=["2025-06-18", "2025-11-25"],
)
def structured_content_is_an_object(result: Result) -> None:
    """Where structuredContent stands in a tool result, it is a JSON object (MCP 2025-06-18 and 2025-11-25).

    Return the AdCP response object itself, {"products": [...]} and not [...]; in FastMCP let the tool return
    a dict or a Pydantic model. PHP writes an empty array as []: use new stdClass() there.
    """
    structured = result.value.get("structuredContent")
    if structured is None:
        raise NotApplicable("the result has no structuredContent")
    if not isinstance(structured, Mapping):
        raise Broken(
            "an object",
            quote(structured),
            at=result.at("structuredContent"),
            because="structuredContent is not an object, as this revision of MCP wants it; the official "
            "clients refuse the whole result, also where its text is good",
        )


def _must_be_complete(result: Result) -> None:
    if result.value.get("resultType") == "input_required":
        raise NotApplicable("the result asks for input (2026-07-28) and carries no content yet")


def _judge_block(result: Result, index: int, block: object) -> None:
    """Raise Broken where a content block cannot be read."""
    at: tuple[str | int, ...] = ("content", index)
    if not isinstance(block, Mapping):
        raise Broken(
            'an object such as {"type": "text", "text": "..."}',
            quote(block),
            at=result.at(*at),
            because="a content block is not an object; the official clients refuse the whole result for it",
        )
    kind = block.get("type")
    known = [name for name in _REQUIRED if name != "resource_link" or result.revision not in _WITHOUT_LINKS]
    if kind not in known:
        raise Broken(
            f"a type out of {', '.join(known)}",
            quote(kind) if "type" in block else f"no type in {quote(block, 100)}",
            at=result.at(*at, "type") if "type" in block else result.at(*at),
            because="a content block has "
            + (f"a type that MCP {result.revision or ''} does not know" if "type" in block else "no type")
            + "; the official clients refuse the whole result for it",
            fix=_TYPE_FIXES.get(kind, "") if isinstance(kind, str) else "",
        )
    if kind != "resource":
        for member in _REQUIRED[kind]:
            _judge_member(result, at, block, member)
        return
    resource = block.get("resource")
    if not isinstance(resource, Mapping):
        raise _unreadable(result, at, block, "resource", "an object with uri and text or blob")
    is_binary = isinstance(resource.get("blob"), str) and not isinstance(resource.get("text"), str)
    for member in ("uri", "blob" if is_binary else "text"):
        _judge_member(result, (*at, "resource"), resource, member)


def _judge_member(result: Result, path: tuple[str | int, ...], place: Mapping[str, Any], member: str) -> None:
    value = place.get(member)
    if not isinstance(value, str):
        raise _unreadable(result, path, place, member, "a string")
    if member in ("data", "blob") and not _is_base64(value):
        fix = f"Cut the data: URL off after its comma; {member} is the base64 alone."
        if not value.startswith("data:"):
            fix = "Encode with base64.b64encode(data).decode() or buffer.toString('base64'), in one line."
        raise _unreadable(result, path, place, member, "base64", fix)


def _unreadable(
    result: Result,
    path: tuple[str | int, ...],
    place: Mapping[str, Any],
    member: str,
    expected: str,
    fix: str = "",
) -> Broken:
    effect = "decoding it fails" if expected == "base64" else "the official clients refuse the whole result"
    return Broken(
        expected,
        quote(place[member], 80) if member in place else "no such member",
        at=result.at(*path, member) if member in place else result.at(*path),
        because=f"a content block's {member} is not {expected}; {effect}",
        fix=fix,
    )


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
