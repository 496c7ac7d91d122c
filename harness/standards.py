"""Limits and word lists of the connected-apps profile (standards.yaml), and what adcp.yaml changes in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from . import values

_FILE = Path(__file__).with_name("standards.yaml")


@dataclass(frozen=True)
class Standards:
    """The limits and word lists that rules judge by. Words are in lower case, patterns as they stand."""

    limits: Mapping[str, int]
    words: Mapping[str, tuple[str, ...]]
    chosen_by_us: frozenset[str] = frozenset()  # names of limits that the platform's pages do not give
    chosen_by_operator: frozenset[str] = frozenset()  # names of limits that adcp.yaml gives
    oauth: str = "2.1"  # the version that the operator declares to the platform

    def limit(self, name: str) -> int:
        """Return a limit."""
        return self.limits[name]

    def among(self, name: str) -> frozenset[str]:
        """Return a word list as a set."""
        return self._sets[name]

    def any_of(self, name: str) -> re.Pattern[str]:
        """Return a pattern that finds what any entry of a list of patterns finds, without case."""
        if name not in self._patterns:
            self._patterns[name] = re.compile(
                "|".join(f"(?:{entry})" for entry in self.words[name]) or "(?!)", re.IGNORECASE
            )
        return self._patterns[name]

    def whose(self, name: str) -> str:
        """Say whose limit it is, for messages."""
        if name in self.chosen_by_operator:
            return "the limit in adcp.yaml"
        return "this harness's limit" if name in self.chosen_by_us else "the platform's limit"

    def changes(self) -> dict[str, dict[str, Any]]:
        """Return what differs from the packaged standards, as `changed` takes it again."""
        base = packaged()
        return {
            "limits": {name: self.limits[name] for name in sorted(self.chosen_by_operator)},
            "words": {name: list(words) for name, words in self.words.items() if words != base.words[name]},
        }

    @cached_property
    def _sets(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(entries) for name, entries in self.words.items()}

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {}


@cache
def packaged() -> Standards:
    """Return the standards as the package has them."""
    found = _packaged()
    return Standards(
        MappingProxyType({name: entry["value"] for name, entry in found["limits"].items()}),
        MappingProxyType({name: _entries(entry, entry["value"]) for name, entry in found["words"].items()}),
        frozenset(name for name, entry in found["limits"].items() if entry["by"] == "ours"),
    )


def changed(limits: Mapping[str, int], words: Mapping[str, Any]) -> Standards:
    """Return the packaged standards with the changes of adcp.yaml.

    Args:
        limits: new values by name.
        words: by name, a list that replaces the packaged one, or a mapping with `add` and `remove`.

    Raises:
        ValueError: no limit or list has that name, an entry is no regular expression where the list holds
            those, or what is to be removed is not there. The text names the nearest valid choice.
    """
    base = packaged()
    for name in limits:
        values.choice(name, sorted(base.limits), "limit")
    lists = {values.choice(name, sorted(base.words), "word list"): new for name, new in words.items()}
    return Standards(
        {**base.limits, **limits},
        {**base.words, **{name: _changed(name, base.words[name], new) for name, new in lists.items()}},
        base.chosen_by_us,
        frozenset(limits),
    )


def _changed(name: str, old: tuple[str, ...], new: Any) -> tuple[str, ...]:
    entry = _packaged()["words"][name]
    if not isinstance(new, Mapping):
        return _entries(entry, new)
    for word in (removed := _entries(entry, new.get("remove", ()))):
        values.choice(word, old, f"entry of {name}")
    kept = [word for word in old if word not in removed]
    return tuple(dict.fromkeys((*kept, *_entries(entry, new.get("add", ())))))


def _entries(entry: Mapping[str, Any], given: Sequence[str]) -> tuple[str, ...]:
    if not entry.get("patterns", False):
        return tuple(word.lower() for word in given)
    for text in given:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return tuple(given)


@cache
def _packaged() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(_FILE.read_text("utf-8"))
    return found
