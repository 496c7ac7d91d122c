"""Characters of a text that people do not see and a model reads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_SUSPECTS = re.compile(
    "[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_FLAG = re.compile(
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,8}\U000e007f"
)  # of a region, as of Wales
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
)  # directions that such a text needs
_JOINERS = frozenset("\u200c\u200d")
# Scripts in which joiners belong to the spelling, and those that mark the ends of words with a zero-width space.
_JOINED = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff]"
)
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def hidden_in(text: str) -> Iterator[int]:
    """Yield the places of hidden characters: zero-width ones, directions, tags.

    Those that a script or an emoji needs are none: joiners in Persian or Hindi, marks in Hebrew, the parts of a flag, one
    variation selector after a character. Neither is a byte order mark at the beginning, which is a file's.
    """
    shown = _FLAG.sub(lambda found: "\U0001f3f4" * len(found[0]), text)
    turns = _RIGHT_TO_LEFT.search(shown) is not None
    for found in _SUSPECTS.finditer(shown):
        at, character = found.start(), found[0]
        before, after = shown[at - 1 : at], shown[at + 1 : at + 2]
        if not (
            (character == "\ufeff" and at == 0)
            or (character in _MARKS and turns)
            or (
                character in _JOINERS
                and (_JOINED.match(before) or (_is_pictured(before) and _is_pictured(after)))
            )
            or (character == "\u200b" and (_SPACELESS.match(before) or _SPACELESS.match(after)))
            or (_selects(character) and before and not _selects(before) and not before.isspace())
            or (character == "\u180e" and "\u1800" <= before <= "\u18af")
        ):
            yield at


def _selects(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_pictured(character: str) -> bool:
    """Whether a character is of an emoji: a symbol, a skin tone, or what selects its picture."""
    return character == "\ufe0f" or (character != "" and unicodedata.category(character) in ("So", "Sk"))
