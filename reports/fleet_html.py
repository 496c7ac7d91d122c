"""The report of a fleet as one HTML page that loads nothing and runs nothing.

All text of a report is foreign: what the template prints is escaped for HTML, and what is invisible is written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.text import plural, safe

from . import pages
from .fleet import FAULT, FamilyResult, Fleet, TargetResult, counted
from .fleet_words import alarm, ended, headline, server

if TYPE_CHECKING:
    from jinja2 import Template

_LONG = 2000  # characters of any text
_MARKS = {
    FAULT: "!",
    "failed": "✗",
    "blocked": "…",
    "advisory": "△",
    "known": "≈",
    "passed": "✓",
    "not-applicable": "–",
}
_TOLD = (FAULT, "failed", "blocked")  # outcomes that are told in words


@dataclass(frozen=True, slots=True)
class _Row:
    """A target, what each column of the table shows of it, and links to its own report."""

    target: TargetResult
    cells: tuple[FamilyResult | None, ...]
    told: tuple[FamilyResult, ...]
    headline: str
    alarm: str
    server: str
    report: str
    page: str


def render(fleet: Fleet, folder: Path | None = None) -> str:
    """Return the page.

    Args:
        fleet: built or loaded.
        folder: where the page will lie: a target's report.html is linked to where it is there.
    """
    style, digest = pages.style("fleet.css")
    text: str = _template().render(
        fleet=fleet,
        counted=counted(fleet.targets),
        ended=ended(fleet),
        rows=[_row(target, fleet.families, folder) for target in fleet.targets],
        marks=_MARKS,
        quiet=("passed", "not-applicable"),
        style=style,
        style_hash=f"sha256-{digest}",
    )
    return text


def save(fleet: Fleet, path: Path) -> None:
    """Write the page under a temporary name and rename it; mode 0644."""
    replace_file(path, [render(fleet, path.parent).encode("utf-8", "replace")], mode=0o644)


def _row(target: TargetResult, families: tuple[str, ...], folder: Path | None) -> _Row:
    by_name = {result.family: result for result in target.families}
    report = target.report.file if target.report is not None else ""
    page = str(Path(report).with_name("report.html")) if report else ""
    there = folder is not None and page and (folder / page).is_file()
    return _Row(
        target,
        tuple(by_name.get(name) for name in families),
        tuple(result for result in target.families if result.outcome in _TOLD),
        headline(target),
        alarm(target),
        server(target),
        _link(report),
        _link(page) if there else "",
    )


def _link(path: str) -> str:
    """Return a relative address; a foreign file could name another scheme, so a colon never stands as it is."""
    return f"./{quote(path, safe='/.')}" if path and not path.startswith("/") else ""


@cache
def _template() -> Template:
    templates = pages.environment(_printed)
    templates.globals["plural"] = plural
    return templates.get_template("fleet.html.j2")


def _printed(value: Any) -> Any:
    """Make whatever the template prints visible and bounded text; markup of our own passes."""
    return value if hasattr(value, "__html__") else safe(str(value), _LONG)
