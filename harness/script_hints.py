"""What the text of a script seems to do that a content security policy stops. No proof: what is found is worth a look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_NEAR = 200  # characters: two words so near each other belong together
_SHOWN = 100
_TRIED = 1000  # places that are looked at, for each word


class HintKind(StrEnum):
    """What a script seems to do."""

    LOADS = "loads another script"
    EVALUATES = "makes code out of text"
    WORKER = "starts a worker from a blob: URL"
    DATA = "makes a data: URL of an image, a font or a script"


@dataclass(frozen=True, slots=True)
class Hint:
    """Something that a script seems to do, and the code that looks like it."""

    kind: HintKind
    code: str


_MAKES_SCRIPT = re.compile(r"([\w$]{1,40})\s{0,5}=\s{0,5}[\w$.]{1,80}createElement\([\"'`]script[\"'`]\)")
_IMPORTS = re.compile(r"(?<![\w$.])import(?:Scripts)?\(\s?[\"'`]https?:")
# An empty body is how libraries ask whether they may, and live with a no.
_EVALUATES = re.compile(r"(?<![\w$.])new Function\((?!\s?(?:\)|\"\"|''|``))|(?<![\w$.'\"`])eval\((?!\s?\))")
_PROBE = re.compile(r"try\s?\{[^{}]{0,60}\Z")  # what is tried may fail
_WORKER = re.compile(r"new (?:Shared)?Worker\(")
_FROM_BLOB = re.compile(r"createObjectURL|[\"'`]blob:")
_DATA = re.compile(r"(?<=[\"'`(])data:(?:image/|font/|text/javascript)")


def hints(text: str) -> Iterator[Hint]:
    """Yield one hint of each kind that a script gives."""
    for kind, found in (
        (HintKind.LOADS, _loads(text)),
        (HintKind.EVALUATES, _evaluates(text)),
        (HintKind.WORKER, _worker(text)),
        (HintKind.DATA, next(_matches(_DATA, text, "data:image/", "data:font/", "data:text/"), None)),
    ):
        if found is not None:
            yield Hint(kind, text[max(0, found.start() - 10) : found.end() + _SHOWN])


def _loads(text: str) -> re.Match[str] | None:
    for place in _places("createElement(", text):
        made = _MAKES_SCRIPT.search(text, max(0, place - 130), place + 40)
        if made and re.compile(rf"(?<![\w$]){re.escape(made[1])}\.src\s?=").search(
            text, made.end(), made.end() + _NEAR
        ):
            return made
    return next(_matches(_IMPORTS, text, "import(", "importScripts("), None)


def _evaluates(text: str) -> re.Match[str] | None:
    for found in _matches(_EVALUATES, text, "new Function(", "eval("):
        if not _PROBE.search(text, max(0, found.start() - 100), found.start()):
            return found
    return None


def _worker(text: str) -> re.Match[str] | None:
    for found in _matches(_WORKER, text, "new Worker(", "new SharedWorker("):
        if _FROM_BLOB.search(text, max(0, found.start() - _NEAR), found.end() + _NEAR):
            return found
    return None


def _matches(pattern: re.Pattern[str], text: str, *words: str) -> Iterator[re.Match[str]]:
    """Yield where a pattern matches at one of the words that it can begin with: a search for words is far quicker."""
    for word in words:
        for place in _places(word, text):
            if found := pattern.match(text, place):
                yield found


def _places(word: str, text: str) -> Iterator[int]:
    place = -1
    for _ in range(_TRIED):
        place = text.find(word, place + 1)
        if place < 0:
            return
        yield place
