"""Writes the pages of the rule reference: an index, and a page a family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_adcp.harness.catalogue import all_rules
from pytest_adcp.harness.reference.examples import Example, Pair, of_rule
from pytest_adcp.harness.reference.explained import facts, fault_of
from pytest_adcp.harness.reference.live import REPORT, WHOLE, commands, whole
from pytest_adcp.harness.rules import Level, Profile, Rule

COMMAND = "python tests/generate_rules.py"
_MADE = f"<!-- Made by `{COMMAND}`; changes belong into suites/ and harness/seller/faults/. -->"
_SPECIAL = re.compile(r"([\\*_{}\[\]<>|#~])")
_SPANS = re.compile(r"(`[^`]+`|`+)")
TITLES = {
    Profile.CORE: "What every AdCP server over MCP is judged by (profile `core`)",
    Profile.CONNECTED_APPS: "What a platform of connected apps asks for beyond that (profile `connected-apps`)",
    Profile.CLIENT: "What client libraries are judged by (profile `client`)",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    families: dict[str, list[Rule]] = {}
    for rule in all_rules():
        families.setdefault(rule.family, []).append(rule)
    made = {f"{family}.md": _text(_page(family, rules)) for family, rules in families.items()}
    return {"README.md": _text(_index(families)), **made}


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def anchor(rule: Rule) -> str:
    """Return the anchor of a rule on its family's page."""
    return rule.id.replace(".", "-")


def _index(families: Mapping[str, Sequence[Rule]]) -> Iterator[str]:
    rules = [rule for group in families.values() for rule in group]
    levels = Counter(rule.level for rule in rules)
    yield from (_MADE, "", "# Rules", "")
    yield (
        f"{len(rules)} rules: {levels[Level.MUST]} MUST, which fail a run, and {levels[Level.SHOULD]} SHOULD, which are "
        "advisories (`--adcp-strict` lets them fail it too)."
    )
    yield "`pytest --adcp-explain RULE` says the same in a terminal, `pytest --adcp-explain FAMILY` lists a family."
    yield ""
    yield (
        "Each rule comes with an exchange that breaks it and one that keeps it. They are recorded: the first from the "
        "reference seller with a fault (`python -m pytest_adcp.harness.seller --fault NAME`), the second from the same "
        "seller without, or from one that conforms in another way. Addresses, ids and times of the recording are replaced by "
        "fixed ones, and headers that every message has are not shown."
    )
    yield ""
    yield (
        '`…` stands for what was left out. The commands under "See it fail" write all that was sent and came into '
        f"`{REPORT}`. The recordings of both examples stand in `tests/data/rules/`, each with no more exchanges "
        f"than the rule needs; `{WHOLE} RULE` writes them into two files, which `pytest --adcp-replay=FILE -k RULE` judges again."
    )
    for profile, title in TITLES.items():
        yield from ("", f"## {title}", "", "| Family | Rules | MUST | SHOULD |", "|---|---:|---:|---:|")
        for family, group in families.items():
            if group[0].profile is profile:
                count = Counter(rule.level for rule in group)
                numbers = f"{len(group)} | {count[Level.MUST]} | {count[Level.SHOULD]}"
                yield f"| [{family}]({family}.md) | {numbers} |"
    yield from ("", "## All rules", "", "| Rule | Level | What it asks for |", "|---|---|---|")
    for rule in rules:
        link = f"[{rule.id}]({rule.family}.md#{anchor(rule)})"
        yield f"| {link} | {rule.level} | {plain(rule.requirement)} |"


def _page(family: str, rules: Sequence[Rule]) -> Iterator[str]:
    count = Counter(rule.level for rule in rules)
    yield from (_MADE, "", f"# {family}", "")
    yield f"{len(rules)} rules: {count[Level.MUST]} MUST, {count[Level.SHOULD]} SHOULD. [All rules](README.md)"
    yield ""
    for rule in rules:
        yield f"- [{rule.id}](#{anchor(rule)}) ({rule.level}): {plain(rule.requirement)}"
    for rule in rules:
        yield ""
        yield f'<a id="{anchor(rule)}"></a>'
        yield ""
        yield from _rule(rule, of_rule(rule.family, rule.id))


def _rule(rule: Rule, pair: Pair | None) -> Iterator[str]:
    yield f"## {rule.id}"
    yield from ("", f"**{rule.level}** {plain(rule.requirement)}", "")
    for label, text in facts(rule, pair):
        yield f"- {label}: {f'<{text}>' if text.startswith('http') else plain(text)}"
    if pair is None:
        return
    yield from ("", "### Fails", "", plain(_sentence(pair.fails.how)), "")
    yield from _finding(pair.fails)
    yield from _exchange(rule, pair.fails)
    yield from ("", "### Passes", "", plain(_sentence(pair.passes.how)))
    yield from _exchange(rule, pair.passes)
    fault = fault_of(pair)
    if fault is not None:
        yield from ("", "See it fail:", "", *_fence(list(commands(rule, fault))))


def _sentence(how: str) -> str:
    return how if how.endswith(".") else f"{how[0].upper()}{how[1:]}."


def _finding(example: Example) -> Iterator[str]:
    yield f"- {example.outcome}: {code(example.subject)}"
    yield f"- because: {plain(example.message)}"
    if example.pointer is not None:
        yield f"- at: {code(example.pointer)}"
    if example.expected:
        yield f"- expected: {plain(example.expected)}"
    if example.received:
        yield f"- received: {code(example.received)}"
    if example.fix:
        yield f"- fix: {plain(example.fix)}"


def _exchange(rule: Rule, example: Example) -> Iterator[str]:
    for lines in (example.request, example.response):
        if lines:
            yield from ("", *_fence(lines))
    if left_out := whole(rule, example):
        yield from ("", f"{plain(left_out)}.")


def _fence(lines: Sequence[str]) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    mark = "`" * max(3, longest + 1)
    return [f"{mark}text", *lines, mark]


def plain(text: str) -> str:
    """Return text that Markdown shows as it is; what stands between backquotes is a code span."""
    return "".join(
        (code(piece[1:-1]) if len(piece) > 2 else code(piece))
        if piece.startswith("`")
        else _SPECIAL.sub(r"\\\1", piece)
        for piece in _SPANS.split(text)
    )


def code(text: str) -> str:
    """Return a code span; it may hold backquotes."""
    mark = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{mark}{pad}{text or '(empty)'}{pad}{mark}"
