"""A badge: the verdict for shields.io as endpoint JSON, and as an SVG that needs nobody's service."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass

from pytest_adcp.harness.text import safe
from pytest_adcp.harness.verdict import Verdict

from .alarms import wrong_entries
from .compare import new_failures
from .json_text import json_text
from .model import Report, Target

LABEL = "AdCP"

# From bad to good; the worst of several targets is the colour of all. Names and values of shields.io.
_COLOURS = {
    Verdict.NONCONFORMANT: ("red", "#b3261e"),
    Verdict.INCONCLUSIVE: ("yellow", "#8a6100"),
    Verdict.CONFORMANT: ("brightgreen", "#22762b"),
}
_NOTHING = ("lightgrey", "#5a5a5a")
_LIMIT = 60  # characters of a message

# Widths of characters in Verdana at 11 px, in tenths of a pixel; what is not here takes the widest of its kind.
_NARROW = dict.fromkeys("ijlI.,:;'|!()[] ", 45) | dict.fromkeys("ftr/-", 48)
_WIDE = dict.fromkeys("mwMW@%", 106) | dict.fromkeys("·", 45)
_OTHER = {True: 81, False: 70}  # upper case, and everything else in ASCII
_BEYOND = 115  # what is not ASCII
_MARGIN = 50

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>\
<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11" text-anchor="middle">
<text x="{middle_left}" y="14" textLength="{text_left}" lengthAdjust="spacingAndGlyphs">{label}</text>
<text x="{middle_right}" y="14" textLength="{text_right}" lengthAdjust="spacingAndGlyphs">{message}</text>
</g>
</svg>
"""


@dataclass(frozen=True, slots=True)
class Badge:
    """What a badge says, and the colour of its right side: a name that shields.io knows, and a value."""

    label: str
    message: str
    colour: str
    value: str


def badge(report: Report) -> Badge:
    """Return what the badge of a report says: the verdict and the release, or how many targets are conformant."""
    verdicts = Counter(target.verdict for target in report.targets)
    worst = next((verdict for verdict in _COLOURS if verdicts[verdict]), None)
    if worst is Verdict.CONFORMANT and any(target.alarm and target.alarm.fails for target in report.targets):
        worst = Verdict.INCONCLUSIVE  # the run failed: a baseline is out of date
    colour, value = _COLOURS[worst] if worst is not None else _NOTHING
    if not report.targets:
        message = "nothing judged"
    elif len(report.targets) == 1:
        (target,) = report.targets
        words = [str(target.verdict), _beside(target), target.adcp_version or ""]
        message = " · ".join(filter(None, words))
    else:
        message = f"{verdicts[Verdict.CONFORMANT]} of {len(report.targets)} conformant"
    return Badge(LABEL, safe(message, _LIMIT), colour, value)


def _beside(target: Target) -> str:
    """Return in a word or two what a baseline or an earlier report makes of the verdict."""
    if target.alarm is None:
        return ""
    if target.alarm.counted:
        new = len(new_failures(target)) if target.comparison is not None else 0
        return f"{new} new" if new else ""
    if wrong_entries(target.baseline):
        return "baseline out of date"
    return "known" if target.alarm.failures else ""


def endpoint(report: Report) -> str:
    """Return the JSON of an endpoint badge: https://img.shields.io/endpoint?url=... shows it."""
    found = badge(report)
    members = {
        "schemaVersion": 1,
        "label": found.label,
        "message": found.message,
        "color": found.colour,
    }
    return json_text(members, indent=2) + "\n"


def svg(report: Report) -> str:
    """Return the badge as an SVG with a title for screen readers; it asks nothing of a network or of fonts."""
    found = badge(report)
    text_left, text_right = _width(found.label), _width(found.message)
    left, right = round((text_left + 2 * _MARGIN) / 10), round((text_right + 2 * _MARGIN) / 10)
    return _SVG.format(
        width=left + right,
        left=left,
        right=right,
        colour=found.value,
        title=html.escape(f"{found.label}: {found.message}"),
        label=html.escape(found.label),
        message=html.escape(found.message),
        middle_left=left / 2,
        middle_right=left + right / 2,
        text_left=text_left / 10,
        text_right=text_right / 10,
    )


def _width(text: str) -> int:
    """Return how wide a text is, in tenths of a pixel; the SVG stretches the glyphs to just that."""
    return sum(
        _NARROW.get(character)
        or _WIDE.get(character)
        or (_OTHER[character.isupper()] if character.isascii() else _BEYOND)
        for character in text
    )
