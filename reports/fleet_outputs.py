"""What is written beside fleet.json. An output that cannot be written harms neither the others nor the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from . import fleet_html, fleet_markdown
from .fleet import Fleet
from .outputs import STEP_SUMMARY, add_to_summary, tried, write_text


def write_beside(fleet: Fleet, file: Path, *, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Write the page and the Markdown of a fleet beside its fleet.json, under the name of that.

    Args:
        fleet: built, merged or loaded.
        file: fleet.json, which stands there already.
        environment: its GITHUB_STEP_SUMMARY names a file to which the Markdown is added.

    Returns:
        One line for each output that could not be made, and why.
    """
    page, text = beside(file)
    outputs: dict[str, Callable[[], None]] = {
        page.name: lambda: fleet_html.save(fleet, page),
        text.name: lambda: write_text(text, fleet_markdown.render(fleet)),
    }
    if summary := environment.get(STEP_SUMMARY):
        render = partial(fleet_markdown.render, fleet)
        outputs[f"${STEP_SUMMARY}"] = lambda: add_to_summary(render, Path(summary))
    return tried(outputs)


def beside(file: Path) -> tuple[Path, Path]:
    """Return the page and the Markdown that belong to a fleet.json."""
    return file.with_suffix(".html"), file.with_suffix(".md")
