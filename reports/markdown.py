"""The report in Markdown: for a pull request, a summary of a CI job, or a file beside report.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.text import one_line, plural, safe
from pytest_adcp.harness.verdict import Outcome, Verdict

from .alarms import sentence, told
from .bounded import Page
from .compare import since
from .marks import code, fenced, link, plain, prose
from .model import Report, ReportedFinding, Target
from .observations import server_log
from .terminal import by, counts_line, new_among, of, verdict_lines

COMMENT = 65_536
"""Bytes that GitHub takes as a comment."""
SUMMARY = 1024 * 1024
"""Bytes that GitHub takes as the summary of a step."""

SIGNS = {
    Verdict.CONFORMANT: "\N{WHITE HEAVY CHECK MARK}",
    Verdict.NONCONFORMANT: "\N{CROSS MARK}",
    Verdict.INCONCLUSIVE: "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}",
}
BAD = "\N{CROSS MARK}"
_MORE = "_There is more in report.json than has room here._"
_SHOWN = 3  # subjects of a rule, messages of a rule; the rest is counted
_CELL = 300  # characters of a message in a table
_LISTED = 100  # rows of a list that is folded away
_TEXT = 600
_COMMAND = 4000
# Of the settings, what changes a judgement.
_SETTINGS = ("spec", "strict", "production", "tools", "schemas", "config", "replay")


def render(report: Report, *, limit: int = COMMENT) -> str:
    """Return the report as CommonMark with GitHub's tables.

    What failed comes first; where there is no room for all of it, the page says that the rest is in report.json.

    Args:
        report: built or loaded; its text is foreign.
        limit: bytes of UTF-8 that the page may take; under 4096 it is taken for 4096.
    """
    page = Page(limit)
    if len(report.targets) > 1:
        rows = (
            row(_named(target), _verdict(target), counts_line(target.counts)) for target in report.targets
        )
        page.add_rows("| Server | Verdict | Checks |\n| --- | --- | --- |", rows)
    for target in report.targets:
        for block in _target(target):
            if not (page.add(block) if isinstance(block, str) else block(page)):
                return page.close(_MORE, _settings(report))
    return page.close(_settings(report))


Block = str | Callable[[Page], bool]
"""A text, or what adds as much as there is room for and says whether that was all."""


def _target(target: Target) -> Iterator[Block]:
    first, *others = verdict_lines(target)
    yield f"## {SIGNS[target.verdict]} AdCP conformance: {target.verdict}"
    yield prose(first.removeprefix(target.verdict).lstrip(":, "), _TEXT)
    if target.alarm is not None:
        sign = BAD if target.alarm.fails else SIGNS[Verdict.CONFORMANT]
        yield f"{sign} **{prose(sentence(target.alarm), _TEXT)}**"
    if others:
        yield "\n".join(f"- also: {prose(reason)}" for reason in others[:_LISTED])
    if target.diagnosis is not None:
        yield f"- cause: {prose(target.diagnosis.cause)}\n- cure: {prose(target.diagnosis.cure)}"
    if target.findings:
        yield prose(counts_line(target.counts))
    if log := server_log(target):
        yield _rows("The server's last words:\n", [f"- {code(line, _TEXT)}" for line in log])
    which = since(target)
    failed = by(of(target, Outcome.FAILED), lambda item: item.rule)
    if failed:
        rows = [
            row(
                f"{link(code(group[0].rule), group[0].source)} ({_level(group)}){new_among(group, which)}",
                _subjects(group),
                prose(one_line(group[0].message, _CELL)),
                prose(one_line(group[0].fix, _CELL)),
            )
            for group in failed
        ]
        heading = (
            "### What failed\n\n| Rule | On | What is wrong | What to change |\n| --- | --- | --- | --- |"
        )
        yield _rows(heading, rows)
        yield from (_details(group) for group in failed)
    yield from _alarms(target)
    yield from _lists(target)


def _reasons(group: Sequence[ReportedFinding]) -> str:
    """Return why failures are accepted."""
    reasons = list(dict.fromkeys(item.reason for item in group if item.reason))[:_SHOWN]
    return f" ({prose('; '.join(reasons), _TEXT)})" if reasons else ""


def _details(group: Sequence[ReportedFinding]) -> str:
    """Return what is known of a failed rule, folded away."""
    first = group[0]
    others = by(group, lambda item: item.message)[1:_SHOWN]
    lines = [prose(first.message), *(f"Also{_on(same)}: {prose(same[0].message)}" for same in others)]
    lines += [f"**expected**: {prose(first.expected)}"] if first.expected else []
    lines += [f"**received**:\n\n{fenced(first.received, _TEXT)}"] if first.received else []
    lines += [f"**at**: {code(first.pointer, _TEXT)}"] if first.pointer else []
    if first.further:
        lines.append("\n".join(f"- also: {prose(text)}" for text in first.further[:_SHOWN]))
    fixes = dict.fromkeys(item.fix for item in group if item.fix)
    lines += [f"**fix**: {prose(fix)}" for fix in list(fixes)[:_SHOWN]]
    lines += [f"**spec**: {link('the text of the rule', first.source)}"] if first.source else []
    lines += [f"**request**:\n\n{fenced(first.curl, _COMMAND, 'sh')}"] if first.curl else []
    return _folded(f"<code>{plain(safe(first.rule))}</code>: expected, received, request", "\n\n".join(lines))


def _lists(target: Target) -> Iterator[Block]:
    known = by(of(target, Outcome.KNOWN), lambda item: item.rule)
    yield from _folded_list(
        f"{plural(len(known), 'rule')} that failed as the baseline says",
        [
            f"{link(code(group[0].rule), group[0].source)}{_on(group)}: {prose(group[0].message)}{_reasons(group)}"
            for group in known
        ],
    )
    advisories = by(of(target, Outcome.ADVISORY), lambda item: item.rule)
    yield from _folded_list(
        f"{plural(len(advisories), 'rule')} that the server should keep, and does not",
        [
            f"{link(code(group[0].rule), group[0].source)}{_on(group)}: {prose(group[0].message)}"
            for group in advisories
        ],
    )
    blocked = by(of(target, Outcome.BLOCKED), lambda item: item.message)
    rules = sum(len({item.rule for item in group}) for group in blocked)
    yield from _folded_list(
        f"{plural(rules, 'rule')} that could not be judged",
        [f"{prose(group[0].message)}: {_some(code(item.rule) for item in group)}" for group in blocked],
    )
    left_out = by(target.not_checked, lambda item: item.why)
    yield from _folded_list(
        f"{plural(len(target.not_checked), 'thing')} not checked",
        [f"{_some(code(item.item) for item in group)}: {prose(group[0].why)}" for group in left_out],
    )
    yield from _folded_list(
        f"{plural(len(target.checklist), 'thing')} for a person to tick: nothing on the wire shows them",
        [f"[ ] {prose(item.text)}" for item in target.checklist],
    )


def _folded_list(title: str, items: Sequence[str]) -> Iterator[Block]:
    """Yield a list that is folded away; what has no room is counted."""
    if not items:
        return
    opening = f"<details>\n<summary>{title}</summary>\n"
    shown = [f"- {item}" for item in items[:_LISTED]]
    if len(items) > _LISTED:
        shown.append(f"- and {len(items) - _LISTED} more, in report.json")
    yield _rows(opening, shown, "\n</details>")


def _folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _alarms(target: Target) -> Iterator[Block]:
    """Yield what the baseline and the comparison with an earlier report say."""
    for section in told(target, _LISTED):
        rows = [f"- {BAD} {prose(problem, _TEXT)}" for problem in section.problems]
        # A line that begins with a dash belongs under the one before it.
        rows += [
            f"  - {prose(text[2:], _TEXT)}" if text.startswith("- ") else f"- {prose(text, _TEXT)}"
            for text in section.paragraphs
        ]
        yield _rows(f"### {prose(section.heading)}\n", rows)


def _rows(opening: str, rows: Sequence[str], closing: str = "") -> Block:
    return lambda page: page.add_rows(opening, rows, closing) == 0


def _settings(report: Report) -> str:
    harness = report.harness
    parts = [f"{harness.name} {harness.version}", f"rules {harness.rules_version}", report.generated_at]
    if profiles := dict.fromkeys(profile for target in report.targets for profile in target.profiles):
        parts.append(f"profiles {', '.join(list(profiles)[:_SHOWN])}")
    schemas = [target.schemas for target in report.targets if target.schemas is not None]
    parts += [f"schemas {schemas[0].source} {schemas[0].version}"] if schemas else []
    parts += [
        f"{name} {one_line(str(report.settings[name]), 60)}"
        for name in _SETTINGS
        if report.settings.get(name)
    ]
    parts += [
        f"transcript {target.transcript.sha256[:12]}"
        for target in report.targets[:1]
        if target.transcript is not None
    ]
    return f"Settings: {prose(one_line('; '.join(parts), _TEXT))}"


def _verdict(target: Target) -> str:
    return f"{SIGNS[target.verdict]} {target.verdict}"


def _named(target: Target) -> str:
    return code(target.name or target.url or ", ".join(target.profiles))


def row(*cells: str) -> str:
    """Return a row of a table; the cells are Markdown already."""
    return f"| {' | '.join(cells)} |"


def _level(group: Sequence[ReportedFinding]) -> Level:
    return Level.MUST if any(item.level is Level.MUST for item in group) else Level.SHOULD


def _on(group: Sequence[ReportedFinding]) -> str:
    subjects = _subjects(group)
    return f" on {subjects}" if subjects else ""


def _subjects(group: Sequence[ReportedFinding]) -> str:
    return _some(code(item.subject) for item in group if item.subject != "-")


def _some(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    rest = len(distinct) - _SHOWN
    return ", ".join(distinct[:_SHOWN]) + (f" +{rest} more" if rest > 0 else "")
