"""The file of a baseline: read with a line for every complaint, and written so that people can read it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from . import __version__
from .baseline import PLACEHOLDER, Baseline, BaselineEntry, Reviewed, State, exactly
from .config import Config, ConfigError, load, shown_path
from .files import replace_file
from .text import plural, quote, safe
from .verdict import Finding

RULES_VERSION = re.match(r"[0-9.]*[0-9]", __version__)[0]  # type: ignore[index]  # without rc1 and the like
SCHEMA_FILE = Path(__file__).with_name("baseline.schema.json")
# Any reader of YAML takes these for text, also as a key.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)+")
_COMMENT = 200  # characters of a message
_HEAD = """\
# Known failures, for pytest --adcp-baseline; written by pytest-adcp {version} (--adcp-write-baseline).
# Give each entry a reason of its own. Beside it may stand the last day on which it holds, expires: YYYY-MM-DD.
# In a subject, * stands for any characters and [*] for a star. Writing keeps entries, and makes all comments anew.
rules_version: {rules_version}
"""


def read_baseline(path: Path, rules: Collection[str]) -> Baseline:
    """Read a baseline.

    Args:
        path: the file.
        rules: the ids of all rules that there are.

    Raises:
        ConfigError: it cannot be used; the text has file, line, key, and the nearest rule where a rule is unknown.
    """
    file = load(path, SCHEMA_FILE)
    entries = tuple(_entries(file, rules))
    return Baseline(path, str(file.get("rules_version")), entries)


def _entries(file: Config, rules: Collection[str]) -> Iterator[BaselineEntry]:
    for rule, subjects in (file.get("known") or {}).items():
        if rule not in rules:
            near = get_close_matches(rule[:200], rules, 1)
            hint = f"; did you mean {near[0]}?" if near else " (--adcp-rules lists them all)"
            raise ConfigError(f"{file.where('known', rule)}: there is no such rule{hint}")
        for subject, entry in subjects.items():
            place = ("known", rule, subject)
            yield BaselineEntry(
                rule, subject, entry["reason"], _date(file, entry, place), file.lines.get(place, 1)
            )


def _date(file: Config, entry: Mapping[str, Any], place: tuple[str, ...]) -> date | None:
    if "expires" not in entry:
        return None
    try:
        return date.fromisoformat(entry["expires"])
    except ValueError:
        raise ConfigError(
            f"{file.where(*place, 'expires')}: {quote(entry['expires'])} is no day of the calendar"
        ) from None


@dataclass(frozen=True, slots=True)
class Written:
    """What writing a baseline changed: numbers of entries."""

    kept: int
    added: int
    dropped: int

    def __str__(self) -> str:
        changes = [f"{self.kept} kept", f"{self.added} added", f"{self.dropped} dropped"]
        return f"{plural(self.kept + self.added, 'known failure')} ({', '.join(changes)})"


def write_baseline(
    path: Path,
    old: Baseline | None,
    reviewed: Sequence[Reviewed],
    findings: Sequence[Finding],
    *,
    whole: bool,
) -> Written:
    """Write the failures of a run into a baseline, whole or not at all.

    Entries of the old one stay as they are, and those that are stale go. What fails and is in none gets an entry of
    its own, for one rule on one subject.

    Args:
        path: the file to write.
        old: what it holds now; None where there is no such file.
        reviewed: the entries of the old one after the run.
        findings: everything judged.
        whole: whether all rules were tried on everything, so that the file is up to date with the rule set.

    Raises:
        OSError: it cannot be written.
        ConfigError: it could not be read again (too many failures).
    """
    broken = [finding for finding in findings if finding.is_broken]
    kept = [item.entry for item in reviewed if item.state is not State.STALE]
    added: dict[tuple[str, str], BaselineEntry] = {}
    for finding in broken:
        if old is None or not old.covering(finding):
            key = finding.rule, exactly(finding.subject)
            added[key] = BaselineEntry(*key, PLACEHOLDER)
    version = RULES_VERSION if whole or old is None else old.rules_version
    made = Baseline(path, version, (*kept, *added.values()))
    data = _text(made, broken).encode()
    path = path.resolve()
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    _check(made, data, path)
    replace_file(path, [data], mode=mode)
    return Written(len(kept), len(added), len(reviewed) - len(kept))


def _check(made: Baseline, data: bytes, path: Path) -> None:
    """Read what is to be written: a file that the next run refuses is worth nothing."""
    with tempfile.TemporaryDirectory(prefix="pytest-adcp-") as folder:
        draft = Path(folder) / path.name
        draft.write_bytes(data)
        try:
            again = read_baseline(draft, {entry.rule for entry in made.entries})
        except ConfigError:
            size = f"{plural(len(made.entries), 'failure')}, {len(data)} bytes"
            raise ConfigError(
                f"{safe(shown_path(path))}: too much for a baseline ({size}); write entries with * by hand"
            ) from None
    assert {replace(entry, line=0) for entry in again.entries} == {
        replace(entry, line=0) for entry in made.entries
    }


def _text(baseline: Baseline, broken: Sequence[Finding]) -> str:
    by_place: dict[tuple[str, str], list[Finding]] = {}
    for finding in broken:
        by_place.setdefault((finding.rule, exactly(finding.subject)), []).append(finding)
    lines = [_HEAD.format(version=__version__, rules_version=_scalar(baseline.rules_version))]
    lines.append("known:\n" if baseline.entries else "known: {}\n")
    rule = ""
    for entry in sorted(baseline.entries, key=lambda entry: (entry.rule, entry.subject)):
        if entry.rule != rule:
            rule = entry.rule
            lines.append(f"  {_scalar(rule)}:\n")
        # Most entries are about one subject; looking through all failures for each takes long where there are thousands.
        found = by_place.get((rule, entry.subject)) or [
            finding for finding in broken if finding.rule == rule and entry.covers(finding.subject)
        ]
        lines.append(f"    # {_comment(found)}\n    {_scalar(entry.subject)}:\n")
        lines.append(f"      reason: {_quoted(entry.reason)}\n")
        if entry.expires is not None:
            lines.append(f"      expires: {entry.expires.isoformat()}\n")
    return "".join(lines)


def _comment(found: Sequence[Finding]) -> str:
    if not found:
        return "Did not fail in the run that wrote this."
    messages = list(dict.fromkeys(finding.message for finding in found))
    more = f" (and {plural(len(messages) - 1, 'other message')})" if len(messages) > 1 else ""
    return f"{found[0].level}: {safe(messages[0], _COMMENT)}{more}"


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=float("inf")).strip()
