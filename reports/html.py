"""The report as one HTML page that loads nothing and runs nothing.

All text of a report is foreign. What a template prints goes through `_printed` and Jinja's escaping, so that no template
can forget it: markup is text, and what is invisible or turns the direction of reading is written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.text import plural, safe
from pytest_adcp.harness.transcript import Transcript, TranscriptError
from pytest_adcp.harness.verdict import Outcome, Verdict

from . import html_groups as groups
from . import pages
from .alarms import sentence, told
from .html_causes import causes
from .html_excerpt import Excerpts
from .model import Report, Target

if TYPE_CHECKING:
    from jinja2 import Template

_PARAGRAPH = 1000  # characters of any text: a report may be a foreign file
_COMMAND = 10_000
_REASONS = 60  # why rules had nothing to judge
_SETTINGS = 200
_ALARMS = 40  # of each list of what has changed
_IN_FULL = 25  # targets; further ones are a line in the table
_VERDICT_MARKS = {Verdict.CONFORMANT: "✓", Verdict.NONCONFORMANT: "✗", Verdict.INCONCLUSIVE: "?"}
_CODE = re.compile(r"`([^`\n]{1,200})`")
_WEB_ADDRESS = re.compile(r"https?://[\x21-\x7e]+", re.IGNORECASE)


def render(*reports: Report, transcripts: Sequence[Transcript] = ()) -> str:
    """Return one page.

    Args:
        reports: built or loaded; the targets of all of them follow each other.
        transcripts: loaded from the files that the reports name (see `recorded`): around what failed, the page then
            shows the bytes that came. A target whose transcript has another digest is shown without, and the page says
            so.
    """
    targets = [target for report in reports for target in report.targets]
    views = [
        _target(target, transcripts, number if len(targets) > 1 else 0)
        for number, target in enumerate(targets[:_IN_FULL], start=1)
    ]
    css, digest = _style()
    return _template().render(
        css=css,
        style_hash=digest,
        harness=reports[0].harness,
        when=_when(reports[0].generated_at) if len(reports) == 1 else plural(len(reports), "report"),
        targets=views,
        others=targets[_IN_FULL:],
        runs=[_run(report) for report in reports],
    )


def save(report: Report, path: Path, transcript: Transcript | None = None) -> None:
    """Write the page under a temporary name and rename it; mode 0644.

    Raises:
        OSError: it cannot be written; a page that was there before, of another run, is then gone.
    """
    transcripts = () if transcript is None else (transcript,)
    try:
        replace_file(path, [render(report, transcripts=transcripts).encode()], mode=0o644)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def recorded(report: Report, folder: Path) -> list[Transcript]:
    """Load the transcripts that a report names, of the targets that a page shows in full.

    Args:
        report: loaded.
        folder: where report.json lies.

    Returns:
        Those that are there and are the ones that were judged.
    """
    found = {}
    for target in report.targets[:_IN_FULL]:
        if target.transcript is None or target.transcript.sha256 in found:
            continue
        with suppress(TranscriptError, ValueError):  # ValueError: a name with a NUL in it
            file = folder / target.transcript.file
            transcript = Transcript.load(file) if file.is_file() else None
            if transcript is not None and transcript.sha256 == target.transcript.sha256:
                found[transcript.sha256] = transcript
    return list(found.values())


def _run(report: Report) -> Mapping[str, Any]:
    """Gather what the template says of one run."""
    names = [target.name or target.url or "unnamed" for target in report.targets]
    return {
        "report": report,
        "targets": groups.some(names),
        "settings": list(groups.flat(report.settings))[:_SETTINGS],
    }


def _target(target: Target, transcripts: Sequence[Transcript], number: int) -> Mapping[str, Any]:
    """Gather what the template says of one target; it has a number where it is not the only one."""
    excerpts, why_not = _excerpts(target, transcripts, alone=not number)
    reasons = groups.reasons(target, Outcome.NOT_APPLICABLE)
    rules = groups.rules(target)
    return {
        "anchor": f"t{number}-" if number else "",
        "number": number,
        "target": target,
        "headline": groups.headline(target),
        "reasons": [
            it for it in target.reasons if target.diagnosis is None or it != target.diagnosis.message
        ],
        "was_judged": bool(target.findings or target.calls),
        "alarm": _dated(sentence(target.alarm), target) if target.alarm is not None else "",
        "failed": causes(target, Outcome.FAILED, excerpts),
        "known": causes(target, Outcome.KNOWN, excerpts),
        "alarms": [groups.told(it, _heading(it.heading, target)) for it in told(target, _ALARMS)],
        "advisory": causes(target, Outcome.ADVISORY, excerpts),
        "blocked": groups.reasons(target, Outcome.BLOCKED),
        "inapplicable": reasons[:_REASONS],
        "inapplicable_left": len(reasons[_REASONS:]),
        "matrix": groups.matrix(target),
        "rules": rules,
        "remarkable": any(row.is_remarkable for rows in rules.values() for row in rows),
        "unremarkable": list(groups.unremarkable(rules)),
        "timings": groups.timings(target.calls),
        "left_out": groups.left_out(target),
        "why_no_bytes": why_not,
    }


def _dated(text: str, target: Target) -> str:
    """Return a text that names the earlier report with its date as people write it."""
    earlier = target.comparison.generated_at if target.comparison is not None else ""
    return text.replace(earlier, _when(earlier)) if earlier else text


def _heading(text: str, target: Target) -> str:
    """Return a heading for a page, where no word is in capitals."""
    word, space, rest = text.partition(" ")
    return f"{word.capitalize()}{space}{_dated(rest, target)}"


def _excerpts(
    target: Target, transcripts: Sequence[Transcript], *, alone: bool
) -> tuple[Excerpts | None, str]:
    """Return what cuts bytes out of the target's transcript, or why there is nothing to cut."""
    if target.transcript is None:
        return None, "the run kept no transcript" if target.url else ""
    for transcript in transcripts:
        if transcript.sha256 == target.transcript.sha256:
            return Excerpts(transcript), ""
    if transcripts and alone:
        return None, "the transcript at hand is not the one that was judged: its SHA-256 is another"
    return None, "the transcript was not at hand when this page was made"


def _style() -> tuple[object, str]:
    """Return the style sheet, as markup, and what the policy has to allow."""
    css, digest = pages.style("report.css")
    return css, f"sha256-{digest}"


@cache
def _template() -> Template:
    templates = pages.environment(_printed)
    templates.filters |= {"command": _command, "excerpted": _excerpted, "prose": _prose}
    templates.globals |= {
        "Outcome": Outcome,
        "Verdict": Verdict,
        "link": _link,
        "COLUMNS": groups.COLUMNS,
        "plural": plural,
        "verdict_marks": _VERDICT_MARKS,
    }
    return templates.get_template("report.html.j2")


def _printed(value: Any) -> Any:
    """Make whatever a template prints visible and bounded text; markup of our own passes."""
    return value if hasattr(value, "__html__") else _visible(str(value))


@lru_cache(maxsize=4096)  # names and outcomes are printed over and over
def _visible(text: str) -> str:
    return safe(text, _PARAGRAPH)


def _prose(text: str) -> object:
    """Return a sentence with what stands in backticks set as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_visible(text)))))  # noqa: S704 - escaped just now


def _command(text: str) -> object:
    """Return a command: it may be longer than other text."""
    from markupsafe import escape

    return escape(safe(text, _COMMAND))


def _excerpted(text: str) -> object:
    """Return a piece of an answer with its line ends, for JSON that was written to be read."""
    from markupsafe import escape

    return escape("\n".join(safe(line, _PARAGRAPH) for line in text.split("\n")))


@lru_cache(maxsize=4096)
def _link(text: str) -> str:
    """Return the address that a text is; empty where it is none of the web."""
    if not _WEB_ADDRESS.fullmatch(text) or len(text) > _PARAGRAPH:
        return ""
    try:
        return text if urlsplit(text).hostname else ""
    except ValueError:
        return ""


def _when(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return text
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
