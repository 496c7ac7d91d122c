"""The pages of tools/list, and whether the list stays the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import HttpProbed, Page, Tools
from pytest_adcp.harness.text import plural, quote

from .http_replies import must_not_fail

_PAGING = mcp("server/utilities/pagination", "response-format")
_STABLE = mcp("server/tools", "listing-tools", STATELESS_REVISION)
_STATELESS = [STATELESS_REVISION]
_SHOWN = 5
_MOST_EMPTY = 50  # pages without a tool, one after the other, that may still lead to one


@rule("mcp.tools.next-cursor", level=Level.MUST, source=_PAGING)
def next_cursor_is_a_string(page: Page) -> None:
    """Where nextCursor stands in an answer to tools/list, it is a string; the last page has none.

    Leave nextCursor out of the last page: neither null nor "". On the others send a string, also where it is only a number.
    """
    if "nextCursor" not in page.result:
        raise NotApplicable("the page has no nextCursor, which ends the list")
    cursor = page.result["nextCursor"]
    if cursor is None:
        raise Broken(
            "a string, or no nextCursor",
            "null",
            at=page.at("nextCursor"),
            because="nextCursor is null; some clients send it back, others refuse the list",
            lenient="most clients take null for the end",
        )
    if cursor == "" and page.revision != STATELESS_REVISION:
        raise Broken(
            "a string that is not empty, or no nextCursor",
            '""',
            at=page.at("nextCursor"),
            because="nextCursor is the empty string; some clients take it for the end of the list, others for a cursor "
            "and read the first page for ever",
            lenient="MCP does not say so before 2026-07-28, from which on it is a cursor",
        )
    if not isinstance(cursor, str):
        raise Broken(
            "a string, or no nextCursor",
            quote(cursor),
            at=page.at("nextCursor"),
            because="nextCursor is not a string; the official clients refuse the whole page for it",
        )


@rule("mcp.tools.paging-ends", level=Level.MUST, source=_PAGING)
def pages_come_to_an_end(tools: Tools) -> None:
    """A client that follows nextCursor comes to the end of tools/list: no cursor is given twice.

    Read `cursor` from the params of tools/list, and leave nextCursor out of the last page. A server with few tools needs no
    pages at all.
    """
    cursors = [cursor for page in tools.pages if isinstance(cursor := page.result.get("nextCursor"), str)]
    if not any(_follows(tools, cursor) for cursor in cursors):
        raise NotApplicable("the list has one page")
    twice = [cursor for cursor, count in Counter(cursors).items() if count > 1]
    if twice and _follows(tools, twice[0]):
        same = len(tools.pages) > 1 and equal(list(tools.pages[-1].listed), list(tools.pages[-2].listed))
        raise Broken(
            "another nextCursor on each page, and none on the last",
            f"{quote(twice[0], 100)} on {plural(cursors.count(twice[0]), 'page')}",
            at="/result/nextCursor",
            because="tools/list gives the same nextCursor twice"
            + (", with the same tools: the cursor is ignored" if same else "")
            + "; clients that follow it never come to an end",
        )
    if tools.refused is None and tools.exchange is not tools.pages[-1].exchange:
        raise NotApplicable("a page got no answer that is a list, so nobody knows where the list ends")
    last = tools.pages[-1].result.get("nextCursor")
    if isinstance(last, str) and _follows(tools, last) and tools.refused is None:
        empty = sum(1 for _ in takewhile(lambda page: not page.listed, reversed(tools.pages)))
        if empty > _MOST_EMPTY:
            raise Broken(
                "a last page without nextCursor",
                f"{empty} pages without a tool, one after the other, each with a further nextCursor",
                at="/result/nextCursor",
                because=f"the last {empty} pages of tools/list that were read have no tool, and each leads to another: the "
                "list has no end, and clients that follow nextCursor never come to one",
                fix="Leave nextCursor out where no tool is left, and of an empty page above all.",
            )
        raise Broken(
            "a last page without nextCursor",
            f"{plural(len(tools.pages), 'page')} with {plural(len(tools.listed), 'tool')}, and a further nextCursor",
            at="/result/nextCursor",
            because=f"tools/list was read for {plural(len(tools.pages), 'page')} and had no end by then",
            lenient="it may end later",
        )


def _follows(tools: Tools, cursor: str) -> bool:
    """Whether a cursor leads to another page: the empty one ends the list before 2026-07-28."""
    return cursor != "" or tools.revision == STATELESS_REVISION


@rule("mcp.tools.cursor-accepted", level=Level.MUST, source=_PAGING)
def given_cursors_are_accepted(tools: Tools) -> None:
    """A cursor that tools/list has given as nextCursor is not refused when it comes back.

    Take the cursor as `params.cursor`, exactly as it was given. Where several processes serve the endpoint, a cursor has to
    mean the same to each of them: put the place into the cursor, not into the memory of one.
    """
    given = [page for page in tools.pages if page.result.get("nextCursor") is not None]
    if not given:
        raise NotApplicable("no page has a nextCursor")
    if tools.refused is not None:
        raise Broken(
            "the next page",
            tools.refused.show("error"),
            at="/error",
            because=f"the nextCursor {quote(given[-1].result['nextCursor'], 80)}, which the server gave itself, was refused; "
            "no client learns of the tools on the further pages",
        )


@rule("mcp.tools.unknown-cursor", level=Level.SHOULD, source=_PAGING, probes=[HttpProbe.BOGUS_CURSOR])
def unknown_cursors_are_handled(http_probe: HttpProbed) -> None:
    """tools/list with a cursor that was never given is refused or answered; the server does not fail over it.

    Answer the JSON-RPC error -32602 where a cursor cannot be read. The official SDKs give the first page, which does no
    harm either; an exception in the code that decodes the cursor does.
    """
    must_not_fail(http_probe, "tools/list with a cursor that was never given")


# -- twice the same --------------------------------------------------------------------------------------------


@rule("mcp.tools.stable", level=Level.MUST, source=_STABLE)
def list_stays_the_same(tools: Tools) -> None:
    """tools/list gives the same tools before and after other requests.

    Register all tools when the server starts, and keep times, counters and random values out of their definitions. What
    depends on the caller may depend on the credentials only.
    """
    first, second = _both(tools)
    lenient = ""
    if tools.revision != STATELESS_REVISION:
        if _announces_changes(tools):
            raise NotApplicable("the server declares tools.listChanged: its list may change")
        lenient = "MCP says so from 2026-07-28 on; before, capabilities.tools.listChanged would say that the list may change"
    gone, new = sorted(first.keys() - second.keys()), sorted(second.keys() - first.keys())
    changed = [name for name in first if name in second and not equal(first[name], second[name])]
    told = [
        f"{words} {', '.join(quote(name, 60) for name in names[:_SHOWN])}"
        + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for words, names in (("gone:", gone), ("new:", new), ("changed:", changed))
        if names
    ]
    if told:
        raise Broken(
            "the same tools",
            "; ".join(told),
            at="/result/tools",
            because=f"tools/list gave other tools at the end of the run than at its beginning ({'; '.join(told)}); clients "
            "keep the list, and call what is not there any more",
            lenient=lenient,
        )


@rule("mcp.tools.order", level=Level.SHOULD, source=_STABLE)
def list_keeps_its_order(tools: Tools) -> None:
    """tools/list gives the same tools in the same order every time.

    Keep the tools in a list, or sort them by name. Models that have read a prompt before take it from a cache only where it
    is the same, and the tools stand at its beginning.
    """
    first, second = _both(tools)
    if first.keys() != second.keys():
        raise NotApplicable("the tools differ; mcp.tools.stable looks at that")
    before, after = list(first), list(second)
    if before != after:
        place = next(index for index, name in enumerate(before) if name != after[index])
        raise Broken(
            f"{quote(before[place], 60)} at place {place + 1}, as before",
            quote(after[place], 60),
            at="/result/tools",
            because="tools/list gave the same tools in another order at the end of the run; caches of prompts are lost by it",
        )


def _both(tools: Tools) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tools of both readings by name.

    Raises:
        NotApplicable: there was one reading, or one of them is not whole.
    """
    if not tools.again:
        raise NotApplicable("tools/list was not read a second time")
    ends = (pages[-1].result.get("nextCursor") for pages in (tools.pages, tools.again))
    if tools.refused is not None or any(isinstance(c, str) and _follows(tools, c) for c in ends):
        raise NotApplicable("tools/list was not read to its end twice")
    return dict(_named(tools.pages)), dict(_named(tools.again))


def _named(pages: tuple[Page, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for page in pages:
        for tool in page.listed:
            if isinstance(tool, Mapping) and isinstance(name := tool.get("name"), str):
                yield name, tool


def _announces_changes(tools: Tools) -> bool:
    capabilities = tools.server.initialize.get("capabilities")
    declared = capabilities.get("tools") if isinstance(capabilities, Mapping) else None
    return isinstance(declared, Mapping) and declared.get("listChanged") is True
