"""A rule for a terminal: --adcp-explain."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from pytest_adcp.harness import __version__
from pytest_adcp.harness.rules import Level, Profile, Rule
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.text import safe

from .examples import Example, Pair, of_rule
from .live import commands, whole
from .words import judged_on

WIDEST = 120
_NARROWEST = 40
_LABEL = 10
_GOES_ON = "\\"
_LONGEST = 1_000  # characters of a line of an example
_HOLDS = timedelta(days=90)  # of an entry in a baseline


def explained(rule: Rule, width: int, today: date) -> Iterator[str]:
    """Yield all there is to say about a rule, in lines of at most `width` columns where they can be broken.

    Links and commands are not broken: they are there to be copied.
    """
    width = max(_NARROWEST, min(width, WIDEST))
    pair = of_rule(rule.family, rule.id)
    yield f"{rule.id} ({rule.level})"
    yield from _wrapped(rule.requirement, "  ", width)
    yield ""
    for label, text in facts(rule, pair):
        if text.startswith("http"):
            yield f"  {label:<{_LABEL}}{text}"
        else:
            yield from _labelled(label, text, width)
    if pair is not None:
        yield from _examples(rule, pair, width)
    yield from _to_do(rule, pair, today)


def listed(rules: Sequence[Rule], width: int) -> Iterator[str]:
    """Yield a line a rule, cut to the width: id, level, requirement."""
    widest = max(len(rule.id) for rule in rules)
    for rule in rules:
        line = f"{rule.id:<{widest}}  {rule.level:<6}  {rule.requirement}"
        yield line if len(line) <= width else f"{line[: width - 1]}…"


def facts(rule: Rule, pair: Pair | None) -> Iterator[tuple[str, str]]:
    """Yield what is to be known about a rule, as a word and a text."""
    yield "judged", judged_on(rule)
    yield "fix", rule.fix
    yield "source", rule.source
    if rule.strength is not None:
        yield "strength", str(rule.strength)
    if rule.since is not None:
        weaker = f"; from {rule.advisory_since} on it is a SHOULD" if rule.advisory_since else ""
        yield "since", f"AdCP {rule.since}{weaker}"
    if rule.revisions is not None:
        yield "MCP", ", ".join(sorted(rule.revisions))
    if rule.profile is not Profile.CORE:
        yield "profile", str(rule.profile)
    if pair is not None and pair.lenient:
        yield "lenient", f"some cases are only advisories: {'; '.join(pair.lenient)}"
    elif rule.level is Level.SHOULD:
        yield "lenient", "an advisory, which fails no run without --adcp-strict"


def baseline_lines(rule: Rule, subject: str, today: date) -> list[str]:
    """Return what stands in a baseline for a failure that is known."""
    return [
        f"rules_version: {__version__}",
        "known:",
        f"  {rule.id}:",
        f"    {yaml_text(subject)}:",
        '      reason: "who mends it, and where that is tracked"',
        f"      expires: {today + _HOLDS}",
    ]


def yaml_text(text: str) -> str:
    """Return a text as a YAML scalar in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def fault_of(pair: Pair | None) -> Fault | None:
    """Return the fault of the reference seller that breaks a rule; None where it has none."""
    return faults().get(pair.fails.fault) if pair is not None else None


def _examples(rule: Rule, pair: Pair, width: int) -> Iterator[str]:
    yield ""
    yield from _wrapped(f"Fails: {pair.fails.how}", "", width)
    yield from _finding(pair.fails, width)
    yield from _exchange(rule, pair.fails, width)
    yield ""
    yield from _wrapped(f"Passes: {pair.passes.how}", "", width)
    yield from _exchange(rule, pair.passes, width)


def _finding(example: Example, width: int) -> Iterator[str]:
    yield from _labelled(example.outcome, example.subject, width)
    yield from _labelled("because", example.message, width)
    if example.pointer is not None:
        yield f"  {'at':<{_LABEL}}{safe(example.pointer, _LONGEST)}"
    yield from _labelled("expected", example.expected, width)
    yield from _labelled("received", example.received, width)
    if example.fix:
        yield from _labelled("fix", example.fix, width)


def _exchange(rule: Rule, example: Example, width: int) -> Iterator[str]:
    """Yield the lines of an exchange; one that is too long goes on below, behind a mark of its own."""
    if example.request or example.response:
        yield ""
    room = width - len("  > ")
    for mark, lines in ((">", example.request), ("<", example.response)):
        for line in lines:
            text = safe(line, _LONGEST)
            for start in range(0, len(text) or 1, room):
                yield f"  {_GOES_ON if start else mark} {text[start : start + room]}".rstrip()
    if left_out := whole(rule, example):
        yield from _wrapped(f"({left_out})", "  ", width)


def _to_do(rule: Rule, pair: Pair | None, today: date) -> Iterator[str]:
    fault = fault_of(pair)
    if fault is not None or rule.profile is Profile.CLIENT:
        yield ""
        yield "See it fail:" if fault is not None else "Try a library:"
        yield from (f"  {line}" for line in commands(rule, fault))
    subject = pair.fails.subject if pair is not None else "*"
    yield ""
    if rule.level is Level.SHOULD:
        # Without it nothing fails, and an entry for it would be stale.
        yield "Known, and to be mended later? With --adcp-strict, in the file of --adcp-baseline:"
    else:
        yield "Known, and to be mended later? In the file of --adcp-baseline:"
    yield from (f"  {line}" for line in baseline_lines(rule, subject, today))


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        safe(text, _LONGEST),
        width,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
        break_on_hyphens=False,
    )


def _wrapped(text: str, indent: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        safe(text, _LONGEST), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
