"""The texts of an error: every string that a buyer, or a model in its place, gets to read, within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from .jsonvalues import pointer
from .links import Link, path_of
from .subjects import Answer
from .wrappers import data_fields

MAX_STRING = 64 * 1024  # characters of one string that are read
MAX_TEXT = 256 * 1024  # characters of one error
MAX_VALUES = 20_000  # JSON values of one error

# What the client sent or asked for, and places in documents: they look like paths and are none.
_ECHOED = frozenset({"context", "governance_context"})  # at the root
_PLACES = frozenset(
    {"field", "idempotency_key", "pointer", "rejected_value", "schema_id", "schema_path", "schemaPath"}
)
_OF_MCP = frozenset({"_meta", "content", "isError", "resultType", "structuredContent"})


@dataclass(frozen=True, slots=True)
class ErrorText:
    """One string: where it stands in the message, the name of the member that holds it, and its head."""

    root: str  # the JSON pointer of the value that was walked
    link: Link = field(repr=False)
    name: str
    text: str = field(repr=False)

    @property
    def at(self) -> str:
        """Where it stands, as a JSON pointer; made when it is asked for, since it may be as long as the answer is deep."""
        return self.root + pointer(*path_of(self.link))


def error_texts(error: Answer) -> Iterator[ErrorText]:
    """Yield the strings of an error, the payload's before those of text items, outer ones before inner ones.

    Left out are echoes of the request, pointers, links (`*_url`, which have a rule of their own) and the data of the task.
    """
    left = MAX_TEXT
    for text in islice(_texts(error), MAX_VALUES):
        head = text.text[: min(MAX_STRING, left)]
        left -= len(head)
        if head:
            yield replace(text, text=head)
        if left <= 0:
            return


def sent_strings(error: Answer) -> tuple[str, ...]:
    """Return the strings and member names of the arguments that the answered request carried."""
    arguments = error.sent
    found = [text for _, _, text in _strings(arguments, (), names=True)]
    return tuple(dict.fromkeys(text for text in found if text))


def _texts(error: Answer) -> Iterator[ErrorText]:
    if error.result is None:
        rpc = error.message.get("error")
        data = rpc.get("data") if isinstance(rpc, Mapping) else None
        yield from _walk("/error", {**rpc, "data": None} if isinstance(rpc, Mapping) else rpc)
        yield from _walk("/error/data", data, _ECHOED)
        return
    data_of_task = _ECHOED.union(data_fields(error.task))
    yield from _walk("/result/structuredContent", error.structured, data_of_task)
    yield from _walk("/result", {name: value for name, value in error.result.items() if name not in _OF_MCP})
    for text in error.texts:
        at = error.at("content", text.index, "text")
        if isinstance(text.parsed.value, Mapping):
            for _, name, inner in _strings(text.parsed.value, data_of_task):
                yield ErrorText(at, None, name, inner)
        else:
            yield ErrorText(at, None, "text", text.text)


def _walk(root: str, value: Any, skip: Collection[str] = ()) -> Iterator[ErrorText]:
    for link, name, text in _strings(value, skip):
        yield ErrorText(root, link, name, text)


def _strings(value: Any, skip: Collection[str], *, names: bool = False) -> Iterator[tuple[Link, str, str]]:
    """Yield every string in a value with its link and the name of its member, breadth first: an answer may be deep.

    Args:
        value: any JSON value.
        skip: members of the root that are left out.
        names: yield member names too, and leave nothing out.
    """
    waiting: deque[tuple[Link, str, Any]] = deque([(None, "", value)])
    room = MAX_VALUES
    while waiting:
        link, name, item = waiting.popleft()
        if isinstance(item, str):
            yield link, name, item
        elif isinstance(item, Mapping | list):
            members: Iterable[tuple[str | int, Any]]
            members = item.items() if isinstance(item, Mapping) else enumerate(item)
            for key, inner in islice(members, room):
                room -= 1
                own = key if isinstance(key, str) else name
                if names and isinstance(key, str):
                    yield link, name, key
                elif (link is None and own in skip) or own in _PLACES or own.lower().endswith("_url"):
                    continue
                waiting.append(((link, key), own, inner))
