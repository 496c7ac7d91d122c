"""Tool results against the outputSchema of their tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.jsontext import truthy
from pytest_adcp.harness.output_schemas import TooCostlyError, UnjudgeableError
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Result
from pytest_adcp.harness.text import quote

_SOURCE = mcp("server/tools", "output-schema")
_REVISIONS = ["2025-06-18", "2025-11-25", STATELESS_REVISION]


@rule("mcp.result.structured-present", level=Level.MUST, source=_SOURCE, revisions=_REVISIONS)
def promised_content_is_there(result: Result) -> None:
    """A tool that lists an outputSchema gives structuredContent with every result that is no error.

    Return the AdCP answer in structuredContent as well as in the text, or take outputSchema out of the definition. A failure
    needs none, but then isError: true.
    """
    _schema(result)
    if not _has_structured(result):
        raise Broken(
            "structuredContent",
            result.show("structuredContent"),
            at=result.at("structuredContent") if "structuredContent" in result.value else result.at(),
            because=f"{quote(result.tool, 60)} lists an outputSchema, and its result has no structuredContent; the official "
            "clients raise an error instead of returning the result",
        )


@rule("mcp.result.output-schema", level=Level.MUST, source=_SOURCE, revisions=_REVISIONS)
def content_is_as_promised(result: Result) -> None:
    """The structuredContent of a result that is no error is valid by the outputSchema of its tool.

    Bring the two together: describe what the tool really returns, with all that AdCP adds (status, context, task_id), or
    return what is described. Best make both from one type, and validate the result in your tests.
    """
    schema = _schema(result)
    if not _has_structured(result):
        raise NotApplicable(
            "the result has no structuredContent; mcp.result.structured-present looks at that"
        )
    try:
        wrong = result.server.output_schemas.mismatch(schema, result.value["structuredContent"])
    except TooCostlyError as error:
        raise Blocked(f"{quote(result.tool, 60)}: {error}") from None
    except UnjudgeableError as error:
        raise NotApplicable(str(error)) from None
    if wrong is not None:
        place = quote(wrong.pointer, 100) if wrong.pointer else "the object itself"
        raise Broken(
            wrong.expected,
            wrong.received,
            at=result.at("structuredContent") + wrong.pointer,
            because=f"the structuredContent of {quote(result.tool, 60)} is not what its outputSchema says: {place} "
            f"{wrong.words}; the official clients raise an error instead of returning the result",
            lenient="" if wrong.is_sure else "engines disagree about patterns that look around",
        )


def _schema(result: Result) -> Any:
    """Return the outputSchema of the tool.

    Raises:
        NotApplicable: it has none, or the result need not match it.
    """
    if result.value.get("resultType") == "input_required":
        raise NotApplicable("the result asks for input (2026-07-28) and carries no content yet")
    if truthy(result.value.get("isError")):
        raise NotApplicable("the result is an error, which needs no structuredContent")
    tool: Mapping[str, Any] = result.server.tool(result.tool) or {}
    if tool.get("outputSchema") is None:
        raise NotApplicable("the tool lists no outputSchema" if tool else "the tool is not listed")
    return tool["outputSchema"]


def _has_structured(result: Result) -> bool:
    if result.revision == STATELESS_REVISION:
        return "structuredContent" in result.value  # null is a value there
    return result.value.get("structuredContent") is not None
