"""AdCP data has to be where a client looks for it: structuredContent is the answer, or a text item holds it as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.jsontext import Cause, ObjectionKind
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import EXTRACTION, MCP_GUIDE, adcp, rfc
from pytest_adcp.harness.subjects import Answer, Expectation
from pytest_adcp.harness.text import plural, quote
from pytest_adcp.harness.wrappers import Wrapper, find_data, is_mcp_result, unexpected_members

_OLD_LIMIT = 1024 * 1024  # UTF-16 units: the size limit of the older editions
_ALGORITHM = adcp(EXTRACTION, "extraction-algorithm")
_PREFERRED = adcp(EXTRACTION, "structuredcontent-preferred")


@rule("adcp.extraction.extractable", level=Level.MUST, source=_ALGORITHM)
def data_can_be_extracted(success: Answer) -> None:
    """A successful answer yields a JSON object: structuredContent, or a text item that is JSON.

    Return the response object as structuredContent, or its JSON (and nothing else) as the text of one content item.
    In FastMCP annotate the tool with a dict, a dataclass or a pydantic model; elsewhere set structuredContent. If the
    call failed, say so with isError: true.
    """
    if success.extraction.data is not None:
        return
    because, received, at, fix = _why_null(success)
    raise Broken(
        "a JSON object in structuredContent, or in a text item",
        received,
        at=at,
        because=f"no client can read this answer: {because}",
        fix=fix,
    )


def _why_null(success: Answer) -> tuple[str, str, str, str]:
    """Return cause, what came, where, and a fix that is more precise than the rule's own (or nothing)."""
    result = success.result or {}
    content = result.get("content")
    prefix = ""
    if success.structured is not None:
        prefix = f"structuredContent is {_kind(success.structured)}, which is skipped; then "
    if not isinstance(content, list):
        came = quote(content) if "content" in result else "no such member"
        return f"{prefix}content is not an array", came, success.at("content"), ""
    if not success.extraction.texts:
        kinds = [quote(item.get("type")) if isinstance(item, Mapping) else quote(item, 40) for item in content[:3]]
        items = f"only {', '.join(kinds)}" if kinds else "nothing"
        return f"{prefix}content holds {items}, and only text items are read", quote(content), success.at("content"), ""
    worst = max(success.extraction.texts, key=lambda item: item.units)
    at = success.at("content", worst.index, "text")
    limit = success.client_limit
    if worst.units > limit:
        return (
            f"{prefix}the text is {worst.units} UTF-16 units long, and clients skip a text over {limit}",
            f"{worst.units} units",
            at,
            "page the answer (pagination.max_results) or send it as structuredContent, which has no such limit",
        )
    text = str(content[worst.index].get("text")) if isinstance(content[worst.index], Mapping) else ""
    if worst.parsed is None or worst.parsed.ok:
        kind = _kind(worst.value)
        double = isinstance(worst.value, str) and worst.value.lstrip()[:1] in ("{", "[")
        because = f"{prefix}the text is JSON for {kind}, not for an object" + (": it was encoded twice" if double else "")
        return because, quote(text, 120), at, "encode the response once" if double else ""
    because = f"{prefix}the text is not JSON that JSON.parse takes: {worst.parsed.error}"
    return because, quote(text, 120), at, _TEXT_FIXES.get(worst.parsed.cause, "")


_TEXT_FIXES: dict[Cause | None, str] = {
    Cause.BOM: "encode the text without a byte order mark (utf-8, not utf-8-sig)",
    Cause.CODE_FENCE: "send the bare JSON: no client strips Markdown",
    Cause.NON_FINITE: "send null or leave the member out where a number is NaN or infinite (json.dumps(..., allow_nan=False) finds them)",
    Cause.FOREIGN_LITERAL: "build the text with json.dumps or JSON.stringify, not with str() or repr()",
    Cause.SINGLE_QUOTES: "build the text with json.dumps or JSON.stringify, not with str() or repr()",
    Cause.CONTROL_CHARACTER: "build the text with a JSON library, which escapes line feeds in strings",
    Cause.TRAILING_DATA: "send one JSON value a text item, and nothing behind it",
    Cause.TRUNCATED: "send the whole text: something cuts it",
}


@rule("adcp.extraction.structured-object", level=Level.MUST, source=_ALGORITHM)
def structured_content_is_an_object(success: Answer) -> None:
    """structuredContent, where there is one, is a JSON object: AdCP's extraction takes nothing else in any MCP revision.

    Put the list under the task's own field: {"products": [...]}, not [...]. PHP encodes an empty array as []: cast it to
    an object. A string is a JSON text that was encoded once too often.
    """
    value = success.structured
    if value is None or isinstance(value, Mapping):
        return
    raise Broken(
        "a JSON object",
        quote(value),
        at=success.at("structuredContent"),
        because=f"structuredContent is {_kind(value)}; an AdCP client skips it and looks at the text items instead",
    )


@rule("adcp.extraction.structured-null", level=Level.SHOULD, source=_ALGORITHM)
def structured_content_is_not_null(success: Answer) -> None:
    """StructuredContent is left out rather than sent as null.

    Leave the member out where there is nothing to send, or send the response there.
    """
    result = success.result or {}
    if "structuredContent" in result and result["structuredContent"] is None:
        raise Broken(
            "an object, or no such member",
            "null",
            at=success.at("structuredContent"),
            because="structuredContent is null; most clients take that for absent, strict ones refuse the result",
        )


@rule("adcp.extraction.structured-present", level=Level.SHOULD, source=adcp(EXTRACTION, "extraction-paths"))
def structured_content_is_sent(success: Answer) -> None:
    """A server on an MCP revision that has structuredContent sends the answer there.

    Add structuredContent with the same object that the text holds.
    """
    if success.revision == "2025-03-26":
        raise NotApplicable("MCP 2025-03-26 has no structuredContent")
    if success.extraction.data is None or "structuredContent" in (success.result or {}):
        return
    raise Broken(
        "structuredContent",
        "the answer as JSON in a text item",
        at="/result",
        because="the answer comes as text only; clients read it, but models and typed clients prefer structuredContent",
    )


@rule("adcp.extraction.top-level-data", level=Level.MUST, source=adcp(MCP_GUIDE, "mcp-response-format"))
def task_fields_are_at_the_top_level(success: Answer) -> None:
    """Task fields (products, media_buy_id, formats ...) sit at the root of the payload, not inside a wrapper object.

    Return the AdCP response itself: {"status": "completed", "products": [...]}.
    """
    payload = success.extraction.data
    if payload is None:
        raise NotApplicable("nothing could be extracted")
    if success.has_root or payload.get("status") in ("rejected", "canceled"):
        return
    unexpected = unexpected_members(success.task, payload)
    if not unexpected:
        return
    wanted = " or ".join(f"`{name}`" for name in sorted(success.task.root)[:4])
    if is_mcp_result(payload):
        raise Broken(
            f"{wanted} at the root",
            quote(payload),
            at=success.in_payload(),
            because="the payload is a whole MCP tool result; a client takes it for the AdCP answer, and an isError inside stays unseen",
            fix="pass on the inner result as it is instead of wrapping it (a gateway or proxy usually does this)",
        )
    found = find_data(success.task, payload)
    if found is None:
        raise Broken(
            f"{wanted} at the root",
            f"members {quote(list(payload)[:8])}",
            at=success.in_payload(),
            because=f"the payload has none of the fields that make it an answer of {success.task.name}",
        )
    name = ".".join(found.path)
    inside = "a JSON text" if found.text else ("an array" if isinstance(found.value, list) else "an object")
    raise Broken(
        f"{wanted} at the root",
        f"members {quote(list(payload)[:8])}",
        at=success.in_payload(*found.path),
        because=f"the data is wrapped: it stands in {inside} under `{name}`, where no AdCP client looks for it",
        fix=_unwrap(success, found),
    )


def _unwrap(success: Answer, wrapper: Wrapper) -> str:
    """Name the framework that wraps, where it shows, and what to change there."""
    name = wrapper.path[0]
    target = f"at the root: {{{quote(sorted(success.task.root)[0])}: ...}}"
    meta = (success.result or {}).get("_meta")
    fastmcp = meta.get("fastmcp") if isinstance(meta, Mapping) else None
    tool = success.server.tool(success.call.tool) or {}
    schema = tool.get("outputSchema")
    schema = schema if isinstance(schema, Mapping) else {}
    marked = (isinstance(fastmcp, Mapping) and fastmcp.get("wrap_result")) or schema.get("x-fastmcp-wrap-result")
    if name == "result" and marked:
        return (
            "FastMCP wraps what is no object in {\"result\": ...}: annotate the tool `-> dict` (or a model) instead of "
            f"`-> str` or `-> list`, and return the response {target}"
        )
    properties = schema.get("properties")
    if name == "result" and isinstance(properties, Mapping) and list(properties) == ["result"]:
        return (
            "the Python MCP SDK wraps return types that are no object in {\"result\": ...}: annotate the tool `-> dict` "
            f"(or a model), and return the response {target}"
        )
    if name == "payload":
        return f"`payload` in the envelope's schema only groups fields on paper; put them {target}"
    if name == "data":
        return f"a `data` wrapper belongs to AdCP before 3.0; put its members {target}"
    if name == "response":
        return f"a `response` wrapper comes from A2A frameworks; put its members {target}"
    return f"put the members of `{'.'.join(wrapper.path)}` {target}"


@rule("adcp.extraction.json-text", level=Level.MUST, source=rfc(8259, "4"))
def text_data_is_strict_json(success: Answer) -> None:
    """JSON text that carries the answer reads the same everywhere: no member twice with different values.

    Build the text with a JSON library from one object, so that a member cannot stand in it twice.
    """
    text = success.data_text
    if text is None:
        raise NotApplicable("the answer is not carried by a text item")
    for objection in text.parsed.objections if text.parsed else ():
        if objection.kind is ObjectionKind.DUPLICATE_NAME:
            raise Broken(
                "every member once",
                quote(objection.pointer),
                at=success.in_payload(),
                because=f"in the JSON text {objection.detail}; parsers disagree on which one they keep",
                lenient="" if objection.differs else "RFC 8259 says SHOULD, and the values are the same",
            )


@rule("adcp.extraction.text-size", level=Level.SHOULD, source=_ALGORITHM)
def text_data_is_small_enough_for_older_clients(success: Answer) -> None:
    """A text that carries the answer is at most 1 MiB (1,048,576 UTF-16 units), the limit of older client libraries.

    Page the answer (pagination.max_results), or send it as structuredContent.
    """
    text = success.data_text
    if text is None:
        raise NotApplicable("the answer is not carried by a text item")
    if text.units > _OLD_LIMIT:
        raise Broken(
            f"at most {_OLD_LIMIT} UTF-16 units",
            f"{text.units} units",
            at=success.in_payload(),
            because=f"the text that carries the answer has {text.units} UTF-16 units; clients of older editions skip it",
        )


@rule("adcp.extraction.answer-size", level=Level.SHOULD, source=adcp(EXTRACTION, "size-limits"))
def answer_is_small_enough_for_clients(success: Answer) -> None:
    """A whole answer stays within what client libraries read (4 MiB unless configured).

    Page the answer: honour pagination.max_results, and choose a smaller default page.
    """
    size = len(success.document.text)
    if size > success.client_limit:
        raise Broken(
            f"at most {success.client_limit} bytes",
            f"{size} bytes",
            at="",
            because=f"the answer has {plural(size, 'byte')}; client libraries stop reading at {success.client_limit}",
        )


@rule("adcp.extraction.expected-success", level=Level.MUST, source=_PREFERRED)
def configured_call_succeeds(expectation: Expectation) -> None:
    """A configured call that says `expect: success` succeeds.

    Mend what the error says, or the call's arguments in adcp.yaml.
    """
    if expectation.call.expect is not Expect.SUCCESS:
        raise NotApplicable("the call does not expect success")
    if expectation.answer.kind is Class.ERROR:
        raise Broken(
            "a success",
            quote(expectation.answer.result or expectation.answer.message.get("error")),
            at="/result" if expectation.answer.result is not None else "/error",
            because="the configuration expects this call to succeed, and it failed",
        )


def _kind(value: object) -> str:
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
