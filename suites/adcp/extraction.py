"""AdCP data has to be where a client looks for it: structuredContent is the answer, or a text item holds it as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.jsontext import UNREAD, ObjectionKind
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import EXTRACTION, MCP_GUIDE, adcp, rfc
from pytest_adcp.harness.subjects import Answer, Expectation
from pytest_adcp.harness.text import plural, quote
from pytest_adcp.harness.wrappers import data_fields, has_root, unexpected_members

from .causes import why_not_at_the_root, why_nothing
from .failures import kind_of

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
    for text in success.extraction.texts:
        if text.parsed is not None and text.parsed.cause in UNREAD:
            raise Blocked(
                f"the JSON text at {success.at('content', text.index, 'text')} has {text.parsed.error}"
            )
    why = why_nothing(success)
    raise Broken(
        "a JSON object in structuredContent, or in a text item",
        why.received,
        at=why.at,
        because=f"no client can read this answer: {why.because}",
        fix=why.fix,
    )


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
        because=f"structuredContent is {kind_of(value)}; an AdCP client skips it and looks at the text items instead",
    )


@rule("adcp.extraction.structured-null", level=Level.SHOULD, source=_ALGORITHM)
def structured_content_is_not_null(success: Answer) -> None:
    """A structuredContent of null is left out.

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
    if has_root(success.task, payload) or payload.get("status") in ("rejected", "canceled"):
        return
    if not unexpected_members(success.task, payload):
        return
    why = why_not_at_the_root(success, payload)
    wanted = " or ".join(f"`{name}`" for name in data_fields(success.task)[:4])
    raise Broken(f"{wanted} at the root", why.received, at=why.at, because=why.because, fix=why.fix)


@rule("adcp.extraction.json-text", level=Level.MUST, source=rfc(8259, "4"))
def text_data_is_strict_json(success: Answer) -> None:
    """JSON text that carries the answer reads the same everywhere: no member twice with different values.

    Build the text with a JSON library from one object, so that a member cannot stand in it twice; send integers beyond
    2^53 as strings, and cut text between characters.
    """
    text = success.data_text
    if text is None:
        raise NotApplicable("the answer is not carried by a text item")
    objections = text.parsed.objections if text.parsed else ()
    worst = next((objection for objection in objections if objection.differs), next(iter(objections), None))
    if worst is None:
        return
    twice = worst.kind is ObjectionKind.DUPLICATE_NAME
    raise Broken(
        "every member once" if twice else "JSON that every reader takes alike",
        quote(worst.pointer),
        at=success.in_payload(),
        because=f"in the JSON text, at {quote(worst.pointer, 80)}: {worst.detail}"
        + ("; parsers disagree on which one they keep" if worst.differs else ""),
        lenient=""
        if worst.differs
        else "JSON.parse takes it, and so do the AdCP clients that are built on it",
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
