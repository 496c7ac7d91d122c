"""Tool definitions keep to a revision of MCP that the platform speaks, as the handshake does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App, ListedTool, Page
from pytest_adcp.harness.text import quote
from pytest_adcp.suites.mcp import definitions, tool_schemas

from .hits import Hit, called, report
from .parameters import parameters_of

NEWEST = "2025-11-25"  # the newest revision that the platform speaks
_MIRRORED = "x-mcp-header"  # MCP 2026-07-28: the argument goes out in an HTTP header too
# What MCP asks of a definition in all of the platform's revisions: a client that checks it refuses what is otherwise.
_SHAPES = (
    definitions.titles_and_descriptions_are_strings,
    definitions.annotations_have_their_types,
    definitions.icons_can_be_read,
    definitions.task_support_is_known,
    tool_schemas.input_schema_is_for_an_object,
)


@rule(
    "connected-apps.definitions-within-revision",
    level=Level.MUST,
    strength=Strength.FAILS,
    source=connected_apps("protocol-and-transport"),
)
def definitions_keep_to_the_revision(app: App) -> None:
    """Tool and schema definitions hold nothing that only a revision after 2025-11-25 has, and what they hold is shaped as in that one.

    Take x-mcp-header out of the schemas, and describe answers by an outputSchema whose type is object. A server that speaks
    2026-07-28 too gives older clients definitions without what is new; members of your own and _meta may stay.
    """
    if not app.tools:
        raise NotApplicable("the server lists no tool")
    if app.revision == STATELESS_REVISION:
        raise NotApplicable(
            f"the tools were listed in MCP {STATELESS_REVISION} only, which the platform does not speak"
        )
    report(
        [hit for tool in app.tools for hit in _newer(tool)],
        f"a definition holds what MCP {NEWEST} does not know",
        f"definitions of MCP {NEWEST} or older",
    )
    pages = {id(tool.page): tool.page for tool in app.tools}
    for page in pages.values():
        for shape in _SHAPES:
            _keeps(shape, page)


def _newer(tool: ListedTool) -> Iterator[Hit]:
    """Yield what only a later revision has."""
    output = tool.value.get("outputSchema")
    if "outputSchema" in tool.value and not (isinstance(output, Mapping) and output.get("type") == "object"):
        what = f"an outputSchema that is {quote(output, 60)}"
        fix = (
            f'In {called(tool)} write "type": "object" into outputSchema, and put a list into a member of it.'
        )
        yield Hit(called(tool), what, tool.at("outputSchema"), fix)
    for parameter in parameters_of(tool):
        if _MIRRORED in parameter.schema:
            what = f"{_MIRRORED} in {quote(parameter.shown, 60)}"
            fix = f"Leave {_MIRRORED} out where the session was opened with initialize."
            yield Hit(called(tool), what, tool.at(*parameter.at, _MIRRORED), fix)


def _keeps(shape: Callable[[Page], None], page: Page) -> None:
    """Try a rule of mcp.tools on a page; what it is lenient about is none of the platform's business."""
    try:
        shape(page)
    except NotApplicable:
        return
    except Broken as broken:
        if not broken.lenient:
            raise
