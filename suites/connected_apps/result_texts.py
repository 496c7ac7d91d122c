"""The texts of a tool result, which is what the platform reads, and the data in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_adcp.harness.jsontext import equal, parse
from pytest_adcp.harness.links import Link, path_of

MOST = 4 * 1024 * 1024  # characters of a text that is read
_AROUND = 400  # characters of the words before and behind data
_VALUES = 200_000  # values of one answer that are looked at


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a result: where it stands in the result, and the JSON value in it."""

    place: tuple[str | int, ...]
    text: str
    value: Any  # None where the text is no JSON
    is_json: bool

    @property
    def is_data(self) -> bool:
        """Whether it is a JSON object or array: a plain string, number or word is an answer in words."""
        return isinstance(self.value, dict | list)


def texts_of(result: Mapping[str, Any]) -> tuple[Text, ...]:
    """Return the texts of a result: its text blocks, and the texts of resources that are embedded in it."""
    content = result.get("content")
    return tuple(
        _read(place, text)
        for place, text in _texts(content if isinstance(content, list) else [])
        if len(text) <= MOST
    )


def _texts(content: list[Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for index, block in enumerate(content):
        if not isinstance(block, Mapping):
            continue
        resource = block.get("resource")
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            yield ("content", index, "text"), block["text"]
        elif isinstance(resource, Mapping) and isinstance(resource.get("text"), str):
            yield ("content", index, "resource", "text"), resource["text"]


def _read(place: tuple[str | int, ...], text: str) -> Text:
    parsed = parse(text)
    if parsed.ok:
        return Text(place, text, parsed.value, is_json=True)
    # Data with a sentence before or behind it, or in the fence of Markdown, are data all the same.
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    end = max(text.rfind("}"), text.rfind("]")) + 1
    behind = text[end:].replace("```", "").strip()
    if 0 <= start < _AROUND and end and len(behind) < _AROUND:
        parsed = parse(text[start:end])
        # A bracket in a sentence is none: "see [1] for more".
        if parsed.ok and (_is_rows(parsed.value) or (not behind and isinstance(parsed.value, list))):
            return Text(place, text, parsed.value, is_json=False)
    return Text(place, text, None, is_json=False)


def _is_rows(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(each, dict) for each in value)
    )


def says_the_same(texts: tuple[Text, ...], structured: Mapping[str, Any]) -> bool:
    """Whether a text, or all of them together, hold what structuredContent holds."""
    wrapped = structured["result"] if set(structured) == {"result"} else None
    for text in texts:
        for wanted in (structured, wrapped):
            if wanted is not None and (
                text.text == wanted or (text.value is not None and equal(text.value, wanted))
            ):
                return True
    return isinstance(wrapped, list) and items_of(texts, wrapped)


def items_of(texts: tuple[Text, ...], wanted: list[Any]) -> bool:
    """Whether the texts are the items of a list, one each."""
    return len(texts) == len(wanted) and all(
        text.text == item or (text.is_json and equal(text.value, item))
        for text, item in zip(texts, wanted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object somewhere in an answer."""

    place: tuple[str | int, ...]  # in the result; of a text, the text
    path: tuple[str | int, ...]  # in the value there
    holder: Mapping[str, Any]
    value: Any

    @property
    def name(self) -> str:
        """The member's own name."""
        return str(self.path[-1])


def members(result: Mapping[str, Any]) -> Iterator[Member]:
    """Yield the members of all objects of an answer: those of its JSON texts, else of structuredContent."""
    values = [(text.place, text.value) for text in texts_of(result) if text.is_data]
    if not values:
        values = [(("structuredContent",), result.get("structuredContent"))]
    left = _VALUES
    for place, value in values:
        for link, holder, item in _walk(value):
            left -= 1
            if left < 0:
                return
            yield Member(place, path_of(link), holder, item)


def _walk(root: Any) -> Iterator[tuple[Link, Mapping[str, Any], Any]]:
    stack: list[tuple[Link, Any]] = [(None, root)]
    while stack:
        link, value = stack.pop()
        if isinstance(value, dict):
            for name, item in value.items():
                yield (link, name), value, item
                if isinstance(item, dict | list):
                    stack.append(((link, name), item))
        elif isinstance(value, list):
            stack.extend(
                ((link, index), item) for index, item in enumerate(value) if isinstance(item, dict | list)
            )
