"""What a run writes beside report.json. An output that cannot be written harms neither the others nor the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.text import safe
from pytest_adcp.harness.transcript import Transcript

from . import badge, html, markdown, sarif
from .model import Report

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
PAGE = "report.html"
_MARKDOWN = "report.md"
_BADGE = "badge.json"


def write_outputs(
    report: Report,
    folder: Path,
    *,
    transcript: Transcript | None = None,
    sarif_file: Path | None = None,
    requirements: Mapping[str, str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> list[str]:
    """Write every output of a run into its report folder; report.json stands there already.

    Args:
        report: what was found.
        folder: the report folder, which is there.
        transcript: what was judged, for the bytes on the page.
        sarif_file: where SARIF was asked for.
        requirements: what each rule asks for, by its id.
        environment: its GITHUB_STEP_SUMMARY names a file to which the Markdown is added.

    Returns:
        One line for each output that could not be made, and why.
    """
    outputs: dict[str, Callable[[], None]] = {
        PAGE: lambda: html.save(report, folder / PAGE, transcript),
        _MARKDOWN: lambda: write_text(folder / _MARKDOWN, markdown.render(report)),
        _BADGE: lambda: write_text(folder / _BADGE, badge.endpoint(report)),
    }
    if sarif_file is not None:
        outputs[str(sarif_file)] = lambda: write_text(
            sarif_file, sarif.render(report, requirements=requirements)
        )
    if summary := environment.get(STEP_SUMMARY):
        outputs[f"${STEP_SUMMARY}"] = lambda: add_to_summary(partial(markdown.render, report), Path(summary))
    return tried(outputs)


def remove(folder: Path) -> None:
    """Remove the reports that stand in a folder; what cannot be removed stays."""
    for name in ("report.json", PAGE, _MARKDOWN, _BADGE):
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)


class _Rendered(Protocol):
    """Returns Markdown of at most `limit` bytes."""

    def __call__(self, *, limit: int) -> str: ...


def add_to_summary(render: _Rendered, path: Path) -> None:
    """Add Markdown to the summary of a step of GitHub Actions, in what room the steps before have left.

    Raises:
        OSError: the file cannot be written.
    """
    taken = path.stat().st_size if path.exists() else 0
    text = render(limit=markdown.SUMMARY - taken - 2)
    data = f"{text}\n".encode("utf-8", "replace")
    # A summary that is too large is not shown at all: rather none of ours than none of anybody's.
    if taken + len(data) > markdown.SUMMARY:
        raise OSError(f"it is full with {taken} of {markdown.SUMMARY} bytes")
    with path.open("ab") as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a text under a temporary name and rename it; mode 0644."""
    replace_file(path, [text.encode("utf-8", "replace")], mode=0o644)


def tried(outputs: Mapping[str, Callable[[], None]]) -> list[str]:
    """Write each output, and return a line for each that could not be made, and why."""
    return [line for name, write in outputs.items() if (line := _tried(name, write))]


def _tried(name: str, write: Callable[[], None]) -> str:
    """Return why an output could not be made; empty where it was."""
    try:
        write()
    except OSError as error:
        why = error.strerror or str(error)
    except Exception as error:
        # A renderer that breaks is our fault, and no reason to lose the rest of the run.
        why = f"{type(error).__name__}: {error}"
    else:
        return ""
    return f"{safe(name, 400)} could not be written: {safe(why, 300)}"
