"""A server as a platform takes it in: its instructions, and its tools over all pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .rules import Judged
from .subjects import App, Handshake, ListedTool, Page

if TYPE_CHECKING:
    from .evidence import Evidence


def app_of(evidence: Evidence) -> Iterator[App]:
    """Yield the one app that a survey saw; nothing where tools/list gave no list."""
    pages: list[Page] = []
    for entry in evidence.entries(Judged.PAGE):
        # A page that comes again is a fault of paging, not more tools.
        if isinstance(entry, Page) and not (pages and pages[-1].listed == entry.listed):
            pages.append(entry)
    if not pages:
        return
    server = evidence.server
    opened = [*evidence.entries(Judged.HANDSHAKE), *evidence.entries(Judged.DISCOVERY)]
    told = [entry.result.get("instructions") for entry in opened if isinstance(entry, Handshake)]
    instructions = next((text for text in told if isinstance(text, str)), "")
    tools = [
        ListedTool(tool["name"], tool, page, index)
        for page in pages
        for index, tool in enumerate(page.listed)
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    ]
    yield App(
        "tools/list",
        pages[0].exchange,
        server,
        pages[0].revision,
        instructions,
        tuple(tools),
        server.whole,
    )
