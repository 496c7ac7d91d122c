"""What an answer must not do to the client that reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_adcp.harness.links import Link, path_of
from pytest_adcp.harness.rules import Broken, Level, rule
from pytest_adcp.harness.sources import EXTRACTION, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote

_PROTOTYPE_KEYS = frozenset({"__proto__", "constructor", "prototype"})


@rule("adcp.security.prototype-keys", level=Level.SHOULD, source=adcp(EXTRACTION, "security-considerations"))
def no_prototype_keys(answer: Answer) -> None:
    """No member of an answer is called __proto__, constructor or prototype.

    Rename the member. Extraction keeps it, but a JavaScript client that merges objects hands it to the prototype.
    """
    for link, name in _members(answer.payload):
        if name in _PROTOTYPE_KEYS:
            raise Broken(
                "no such member name",
                quote(name),
                at=answer.in_payload(*path_of(link), name),
                because=f"a member is called `{name}`; JavaScript clients that merge objects are attacked this way",
            )


def _members(value: Mapping[str, Any]) -> Iterator[tuple[Link, str]]:
    """Yield every member name in a value and the link of its object; iterative, since an answer may be deep."""
    stack: list[tuple[Link, Any]] = [(None, value)]
    while stack:
        link, item = stack.pop()
        is_object = isinstance(item, dict)
        if is_object:
            for name in item:
                yield link, name
        members: Iterable[tuple[str | int, Any]] = item.items() if is_object else enumerate(item)
        stack.extend([((link, key), inner) for key, inner in members if isinstance(inner, (dict, list))])
