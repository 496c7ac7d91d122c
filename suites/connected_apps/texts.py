"""The texts of a tool that a model reads, and what they tell of parameters. They are a stranger's: all work is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from pytest_adcp.harness.subjects import App, ListedTool
from pytest_adcp.harness.text import quote

from .hits import called
from .instructions import sentences
from .parameters import parameters_of
from .words import words_of

LONGEST = 20_000  # characters of one text that are looked at
_SENTENCE = 1_000  # characters of one sentence
_PLACES = 5_000  # objects and lists of one schema
_TOTAL = 200_000  # characters of one tool's texts
_DATA = frozenset({"default", "examples", "enum", "const", "example"})  # hold values, not texts on them

_HEADER = re.compile(
    r"(?:#{1,6} |\*\*)?(?:args|arguments|param(?:eter)?s|inputs?)\b[^:\n]{0,30}:?\*{0,2}:?", re.I
)
_ENTRY = re.compile(
    r"(?P<bullet>[-*] )?[`*\"']{0,3}(?P<name>[A-Za-z_][\w.-]{0,80})[`*\"']{0,3}"
    r"(?P<type> ?\([^)\n]{0,100}\))?[`*\"']{0,3} ?(?P<mark>:(?!//)| - | – | — )[`*\"']{0,3}(?P<text>.*)"
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$-]{0,200}")
_JOINED = re.compile(r"[A-Za-z0-9][_-]+[A-Za-z0-9]|[a-z0-9][A-Z]")
_MARKED = re.compile(
    r"(?<![\w-])(?=[`'\"]?([A-Za-z_$][\w$-]{0,80})[`'\"]{0,2}(?:[`'\"(:=]| \([^)\n]{0,40}\):))"
)
_BLOCKS = 20
_BLOCK = 400  # lines of one block


@dataclass(frozen=True, slots=True)
class Text:
    """One text: whose it is, the name of the parameter that it stands at, and its place."""

    tool: ListedTool
    parameter: str  # empty: the tool's own text
    text: str  # cut
    own: frozenset[str]  # names of the tool's parameters
    at: str

    @property
    def where(self) -> str:
        """What it is called in a message."""
        return f"{quote(self.parameter, 60)} of {called(self.tool)}" if self.parameter else called(self.tool)

    def sentences(self) -> Iterator[str]:
        """Yield its sentences with white space folded, each cut."""
        return (sentence[:_SENTENCE] for sentence in sentences(self.text))


@dataclass(frozen=True, slots=True)
class Told:
    """What a block such as `Args:` tells of a parameter."""

    name: str
    type: str  # as it stands in brackets, or as the only word after the colon; empty where none is told
    text: str


def set_of(words: str) -> frozenset[str]:
    """Return the words of a text with white space between them, as a set."""
    return frozenset(words.split())


def texts_of(tool: ListedTool) -> Iterator[Text]:
    """Yield the descriptions and titles of a tool and of all that its inputSchema holds."""
    left = _TOTAL
    own = frozenset(parameter.name for parameter in parameters_of(tool))
    for parameter, text, at in _found(tool):
        if left <= 0:
            return
        cut = text[: min(LONGEST, left)]
        left -= len(cut)
        yield Text(tool, parameter, cut, own, tool.at(*at))


def description_of(tool: ListedTool) -> str:
    """Return a tool's description, cut."""
    return tool.description[:LONGEST]


@lru_cache(maxsize=256)
def names_in(text: str) -> frozenset[str]:
    """Return what a text names: identifiers, and words in quotes, before a bracket or before a colon.

    `text` is cut by the caller. A single word counts only where it is marked so: "city" may mean any city.
    """
    marked = {found[1] for found in _MARKED.finditer(text)}
    return frozenset(marked | {word for word in _IDENTIFIER.findall(text) if _JOINED.search(word)})


def is_explained(name: str, text: str) -> bool:
    """Whether a sentence says what is done with something: "cells that hold the query", with one word between at most."""
    words = " ".join(map(re.escape, words_of(name))) or "(?!)"
    pattern = rf"\b(?:the|an?|your|each|given|one|its|this|by) (?:\w{{1,20}} )?{words}\b"
    return re.search(pattern, text, re.IGNORECASE) is not None


def own_names(app: App) -> frozenset[str]:
    """Return the names of all tools, whoever sees them."""
    return frozenset(tool.name for tool in app.tools)


def blocks_of(description: str) -> tuple[tuple[Told, ...], ...]:
    """Return the blocks that tell parameters, such as `Args:`; of each the entries at its own indent."""
    return _blocks(description[:LONGEST])


@lru_cache(maxsize=256)
def _blocks(description: str) -> tuple[tuple[Told, ...], ...]:
    lines = description.expandtabs(4).splitlines()
    headers = [index for index, line in enumerate(lines) if _HEADER.fullmatch(line.strip()[:100])]
    found = (tuple(_entries(lines, index)) for index in headers[:_BLOCKS])
    return tuple(entries for entries in found if entries)


def told_of(description: str) -> Mapping[str, Told]:
    """Return what the blocks of a description tell, by name."""
    return _told_of(description[:LONGEST])


@lru_cache(maxsize=256)
def _told_of(description: str) -> Mapping[str, Told]:
    return {told.name: told for block in _blocks(description) for told in block}


def _entries(lines: list[str], header: int) -> list[Told]:
    outer = _indent(lines[header])
    inner: int | None = None
    found: list[Told] = []
    for line in islice(lines, header + 1, header + 1 + _BLOCK):
        if not line.strip():
            continue
        indent, entry = _indent(line), _ENTRY.fullmatch(line.strip())
        if inner is None:
            inner = indent
        if indent < inner or (indent == inner and entry is None):
            break
        if indent == inner and entry is not None:
            if indent <= outer and not entry["bullet"]:
                break
            found.append(_told(entry))
        elif found:
            last = found[-1]
            found[-1] = Told(last.name, last.type, f"{last.text} {line.strip()}")
    return found


def _told(entry: re.Match[str]) -> Told:
    kind, text = (entry["type"] or "").strip(" ()"), entry["text"].strip()
    if not kind and re.fullmatch(r"[A-Za-z]{3,8}(?:\[[\w\[\], |]{1,40}\])?", text):
        kind = text
    return Told(entry["name"], kind, text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _found(tool: ListedTool) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    for path in (("description",), ("title",), ("annotations", "title")):
        value: Any = tool.value
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            yield "", value, path
    stack: list[tuple[Any, str, tuple[str | int, ...]]] = [
        (tool.value.get("inputSchema"), "", ("inputSchema",))
    ]
    left = _PLACES
    while stack and left:
        left -= 1
        value, parameter, at = stack.pop()
        inner: list[tuple[Any, str, tuple[str | int, ...]]] = []
        if isinstance(value, Mapping):
            named = at[-1] in ("properties", "patternProperties", "$defs", "definitions")
            for key, member in islice(value.items(), _PLACES):
                if isinstance(member, str) and key in ("description", "title") and not named:
                    yield parameter, member, (*at, key)
                elif isinstance(member, Mapping | list) and (named or key not in _DATA):
                    inner.append((member, key if named else parameter, (*at, key)))
        elif isinstance(value, list):
            inner += [(member, parameter, (*at, index)) for index, member in enumerate(value[:_PLACES])]
        stack.extend(reversed(inner))
