"""What stands in the data of an answer: ids, keys, codes, URLs, and what should not be there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import Result
from pytest_adcp.harness.text import plural, quote

from .result_texts import Member, members, texts_of
from .results import RESPONSES

LARGEST = 2**31 - 1  # what 32 bits hold
_ID = re.compile(r"(?:.*_)?ids?|.*[a-z]Ids?")
_URL = re.compile(r"https?://[^\s\"'<>\\)\]}]{1,5000}")
_SHOWN = 3
_SHORT = 2  # letters of a key that says nothing
_ENOUGH = 3  # such keys in one object
_NAMES = ("name", "label", "title", "description", "message", "display_name", "text")
_SCANNED = 1_000_000  # characters of a text
_CARD = re.compile(r"(?<![\w-])(?:\d{4}[ -]){3}\d{4}(?![\w-])|(?<![\w-])3[47]\d\d[ -]\d{6}[ -]\d{5}(?![\w-])")
_IN_ONE = re.compile(r"\d{13,19}")
_CARD_KEY = re.compile(r"(?:.*_)?(?:card_?number|credit_?card|pan|ccn)", re.IGNORECASE)
_SSN = re.compile(r"(?<![\w.-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")


def _members(result: Result) -> list[Member]:
    """Return the members of all objects of an answer.

    Raises:
        NotApplicable: it has none.
    """
    found = list(members(result.value))
    if not found:
        raise NotApplicable("the answer has no structured data")
    return found


def _shown(found: list[Any]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _at(result: Result, member: Member) -> str:
    """Return where a member stands: the text, where it is in one."""
    return result.at(*member.place, *(member.path if member.place[0] == "structuredContent" else ()))


def _dotted(member: Member) -> str:
    return quote(".".join(str(token) for token in member.path), 80)


@rule(
    "connected-apps.result-ids-as-strings", level=Level.SHOULD, strength=Strength.REQUIRED, source=RESPONSES
)
def ids_are_strings(result: Result) -> None:
    """Ids in answers are strings where they have more than 32 bits.

    Send them as strings ("id": "7205759403792794"), and take strings in the parameters: str(id), String(id), or
    CAST in the query.
    """
    ids = [member for member in _members(result) if _ID.fullmatch(member.name[:200])]
    if not ids:
        raise NotApplicable("the answer has no id")
    hits = [member for member in ids if any(map(_is_large, _all(member.value)))]
    if hits:
        raise Broken(
            "a string",
            f"{_dotted(hits[0])}: {quote(hits[0].value, 60)}",
            at=_at(result, hits[0]),
            because=f"ids in an answer are numbers over {LARGEST}: {_shown([_dotted(hit) for hit in hits])}. "
            "The platform may cut numbers to 32 bits, and the next call then comes with an id that nobody has",
        )


def _all(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST


@rule("connected-apps.result-urls-short", level=Level.SHOULD, strength=Strength.REQUIRED, source=RESPONSES)
def urls_are_short(result: Result) -> None:
    """URLs in answers are short and carry few parameters.

    Return a short link of your own that redirects, or the id from which another call makes the URL; cut tracking
    parameters. A signed URL of an asset may have to stay as it is.
    """
    standards = result.server.standards
    longest, most = standards.limit("url_characters"), standards.limit("url_parameters")
    urls = dict.fromkeys(_urls(result))
    if not urls:
        raise NotApplicable("the answer has no URL")
    long = [url for url in urls if len(url) > longest or _parameters(url) > most]
    if long:
        url = max(long, key=len)
        raise Broken(
            f"URLs of at most {longest} characters and {plural(most, 'parameter')} ({standards.whose('url_characters')})",
            f"{len(url)} characters, {plural(_parameters(url), 'parameter')}: {quote(url, 120)}",
            at=result.at("content"),
            because=f"long URLs ({len(long)} of {len(urls)} in this answer) cost a model many tokens, and are easily copied wrong",
        )


def _urls(result: Result) -> Iterator[str]:
    texts = texts_of(result.value)
    for text in texts:
        if not text.is_data:
            yield from _URL.findall(text.text[:_SCANNED])
    for member in members(result.value):
        for value in _all(member.value):
            if isinstance(value, str) and "://" in value:
                yield from _URL.findall(value[:_SCANNED])


def _parameters(url: str) -> int:
    try:
        query = urlsplit(url).query
    except ValueError:
        return 0
    return sum(bool(part) for part in query.split("&"))


@rule("connected-apps.result-labelled", level=Level.SHOULD, strength=Strength.GUIDANCE, source=RESPONSES)
def keys_are_spelt_out(result: Result) -> None:
    """Keys in answers are spelt out, and a code comes with the name of what it stands for.

    Write "price" for "p", and put "segment_name": "Sailors" beside "segment_code": "S17": a model has no other
    source for what they mean.
    """
    standards = result.server.standards
    plain, known = standards.among("plain_keys"), standards.among("plain_codes")
    rows: dict[tuple[str | int, ...], dict[frozenset[str], int]] = {}
    seen: set[int] = set()
    bare: list[Member] = []
    for member in _members(result):
        if id(member.holder) not in seen and len(member.path) > 1 and isinstance(member.path[-2], int):
            seen.add(id(member.holder))
            counts = rows.setdefault((*member.place, *member.path[:-2]), {})
            keys = frozenset(map(str, member.holder))
            counts[keys] = counts.get(keys, 0) + 1
        if _is_bare(member, known):
            bare.append(member)
    for place, counts in rows.items():
        for keys, number in counts.items():
            short = [key for key in sorted(keys) if len(key) <= _SHORT and key.lower() not in plain]
            # The same keys in several objects: a map by country or language has each once.
            if number > 1 and len(short) >= _ENOUGH and len(short) * 2 > len(keys):
                raise Broken(
                    "keys that are words",
                    quote(sorted(keys), 120),
                    at=result.at(*(place[:1] if place[0] == "structuredContent" else place[:3])),
                    because=f"{len(short)} of {len(keys)} keys of the objects in a list have one or two letters, which "
                    "say nothing to a model",
                )
    if bare:
        raise Broken(
            f"{bare[0].name.removesuffix('_code')}_name or a label beside it",
            f"{_dotted(bare[0])}: {quote(bare[0].value, 60)}",
            at=_at(result, bare[0]),
            because=f"a code comes without the name of what it stands for: {_shown(list(dict.fromkeys(quote(m.name, 60) for m in bare)))}",
        )


def _is_bare(member: Member, known: frozenset[str]) -> bool:
    name = member.name
    if (
        not name.endswith("_code")
        or not isinstance(member.value, str | int)
        or isinstance(member.value, bool)
    ):
        return False
    stem = name.removesuffix("_code")
    if not set(stem.lower().split("_")).isdisjoint(known):
        return False
    # Something beside it says it in words: its own name or label, or that of the object it belongs to.
    return stem not in member.holder and not any(
        other in _NAMES or other.endswith(("_name", "_label", "_title", "_description"))
        for other in map(str, member.holder)
    )


@rule(
    "connected-apps.result-sanitised",
    level=Level.SHOULD,
    strength=Strength.NEVER,
    source=connected_apps("security"),
)
def nothing_secret_is_told(result: Result) -> None:
    """No answer holds what looks like a card number or a social security number.

    Take it out before you answer, or leave its last four digits.
    """
    texts = texts_of(result.value)
    if not texts and not isinstance(result.value.get("structuredContent"), Mapping):
        raise NotApplicable("the result has no text")
    for place, text in _strings(result):
        for pattern, what in ((_CARD, "card number"), (_SSN, "social security number")):
            found = next(
                (m for m in pattern.findall(text[:_SCANNED]) if pattern is _SSN or _is_card(m)), None
            )
            if found is not None:
                raise _told(place, what, found)
    for member in members(result.value):
        digits = str(member.value) if isinstance(member.value, str | int) else ""
        if _CARD_KEY.fullmatch(member.name[:200]) and _IN_ONE.fullmatch(digits[:40]) and _is_card(digits):
            raise _told(_at(result, member), "card number", digits)


def _strings(result: Result) -> Iterator[tuple[str, str]]:
    for text in texts_of(result.value):
        yield result.at(*text.place), text.text
    for member in members(result.value):
        if member.place[0] == "structuredContent" and isinstance(member.value, str):
            yield _at(result, member), member.value


def _told(at: str, what: str, found: str) -> Broken:
    masked = re.sub(r"\d", "*", found[:-4]) + found[-4:]
    return Broken(
        f"no {what}",
        quote(masked, 40),
        at=at,
        because=f"an answer holds what looks like a {what}; whatever a model is told may be told on",
    )


def _is_card(text: str) -> bool:
    """Whether digits have the check digit of a card number, and begin like one."""
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return digits[0] in (3, 4, 5, 6) and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
