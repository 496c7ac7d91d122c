"""One finding for a rule and a server, however many tools break it: how many, and three of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_adcp.harness.rules import Broken, NotApplicable
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """One place that breaks a rule."""

    where: str  # what people call it: a tool, a parameter of a tool
    received: str  # quoted, escaped and cut
    at: str  # JSON pointer into the message that holds it
    fix: str = ""  # what to paste or change right there


def report(hits: Iterable[Hit], problem: str, expected: str, *, fix: str = "", lenient: str = "") -> None:
    """Raise one finding about all hits; nothing where there is none.

    Args:
        hits: in the order of the list.
        problem: what is wrong, as a clause that reads on with the places: "a name is in kebab-case".
        expected: what should have come.
        fix: the cure, where no hit has one of its own.
        lenient: why this is an advisory although the rule is a MUST.

    Raises:
        Broken: there is a hit. It shows the first one, counts all, and names three.
    """
    found = list(hits)
    if not found:
        return
    first = found[0]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    count = f" ({len(found)} times)" if len(found) > 1 else ""
    raise Broken(
        expected,
        first.received,
        at=first.at,
        because=f"{problem}{count}: {', '.join(hit.where for hit in found[:SHOWN])}{more}",
        fix=first.fix or fix,
        lenient=lenient,
        further=[f"{hit.where}: {hit.received}" for hit in found[1:SHOWN]],
    )


def tools_of(app: App) -> tuple[ListedTool, ...]:
    """Return the tools that a model sees: those that only a user interface calls are none of them.

    Raises:
        NotApplicable: there is none.
    """
    tools = tuple(tool for tool in app.tools if not is_hidden(tool))
    if not tools:
        raise NotApplicable("the server lists no tool that a model sees")
    return tools


def is_hidden(tool: ListedTool) -> bool:
    """Whether only a user interface may call a tool (MCP Apps: `_meta.ui.visibility` without `model`)."""
    meta = tool.value.get("_meta")
    interface = meta.get("ui") if isinstance(meta, dict) else None
    visibility = interface.get("visibility") if isinstance(interface, dict) else None
    return isinstance(visibility, list) and bool(visibility) and "model" not in visibility


def called(tool: ListedTool) -> str:
    """Return what a tool is called in a message."""
    return quote(tool.name, 60)
