"""The words of a tool's name: what it does and to what, as far as a name tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pytest_adcp.harness.standards import Standards
from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.tasks import catalogue

LONGEST = 200  # characters of a name that are looked at
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+|[^\W_a-zA-Z0-9]+")
_VERBS = ("read_verbs", "write_verbs", "verbs")
_SHARED = 3  # tools whose names begin alike: it is a prefix, and says nothing of one of them


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: getWebPage, get_web_page and get-web-page have the same."""
    return tuple(word.lower() for word in _WORD.findall(name[:LONGEST]))


class Vocabulary:
    """What the names of a server's tools say, by the word lists of the standards.

    A word that three or more names begin with is the server's own prefix (jira_, browser_) unless it is a verb: it is
    left out.
    """

    def __init__(self, app: App) -> None:
        self._standards: Standards = app.standards
        self._verbs = frozenset[str]().union(*(app.standards.among(name) for name in _VERBS))
        firsts = Counter(words[0] for tool in app.tools if len(words := words_of(tool.name)) > 1)
        self._prefixes = {
            word for word, count in firsts.items() if count >= _SHARED and word not in self._verbs
        }

    def words(self, tool: ListedTool) -> tuple[str, ...]:
        """Return the words of a tool's name without the server's prefix."""
        words = words_of(tool.name)
        return words[1:] if len(words) > 1 and words[0] in self._prefixes else words

    def is_verb(self, word: str) -> bool:
        """Whether a word may be a verb."""
        return word in self._verbs

    def first_verb(self, tool: ListedTool) -> str:
        """Return the first word that may be a verb; empty where there is none."""
        return next((word for word in self.words(tool) if word in self._verbs), "")

    def reads(self, tool: ListedTool) -> bool:
        """Whether a tool only looks something up: AdCP says so, or the first verb of its name and no other one denies it."""
        if (task := catalogue().get(tool.name)) is not None:
            return not task.mutating
        return self.first_verb(tool) in self._standards.among("read_verbs") and not self._has(
            tool, "write_verbs"
        )

    def writes(self, tool: ListedTool, verbs: str = "write_verbs") -> bool:
        """Whether a tool changes something: AdCP says so, or the first verb of its name.

        Args:
            verbs: the list that the verb has to be in.
        """
        if (task := catalogue().get(tool.name)) is not None:
            return task.mutating
        if self._has(tool, "read_verbs") or self._has(tool, "asking_words"):
            return False
        return self.first_verb(tool) in self._standards.among(verbs)

    def _has(self, tool: ListedTool, name: str) -> bool:
        return any(word in self._standards.among(name) for word in self.words(tool))


def one_edit(one: str, other: str) -> bool:
    """Whether two words differ by one letter: put in, left out or replaced."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((index for index, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short[at + (len(short) == len(long)) :] == long[at + 1 :]


def joined(words: Iterable[str]) -> str:
    """Return words as a name in snake_case."""
    return "_".join(words)
