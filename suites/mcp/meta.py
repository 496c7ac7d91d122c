"""The member _meta of results, tools and content blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pytest_adcp.harness.jsontext import pointer
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Message
from pytest_adcp.harness.text import quote

_SOURCE = mcp("basic", "_meta", "2025-06-18")
_WITH_NAMES = ["2025-06-18", "2025-11-25", STATELESS_REVISION]  # 2025-03-26 has no rule for keys
_LISTS = ("tools", "content")
_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_LONGEST = 1000  # characters of a key that is looked at


@rule("mcp.jsonrpc.meta-object", level=Level.MUST, source=_SOURCE)
def meta_is_an_object(message: Message) -> None:
    """Where a result, a tool or a content block has _meta, it is an object.

    Leave _meta out where there is nothing to say, or send {}: not null, not a list. PHP writes an empty array as []: use
    new stdClass().
    """
    for at, meta in _metas(message):
        if not isinstance(meta, Mapping):
            raise Broken(
                "an object",
                quote(meta),
                at=at,
                because=f"{at} is not an object; typed clients refuse the whole result for it",
            )


@rule("mcp.jsonrpc.meta-keys", level=Level.SHOULD, source=_SOURCE, revisions=_WITH_NAMES)
def meta_keys_have_their_form(message: Message) -> None:
    """Keys of _meta are a name, or a prefix of labels with dots between them, a slash and a name.

    Begin and end the name and each label with a letter or a digit: "com.example/trace-id", not "_trace" and not
    "com.example/trace/id". Use a prefix of your own; those with modelcontextprotocol or mcp as their second label are MCP's.
    """
    # MCP says MUST. No client is known to refuse such a key, so it is no failure.
    for at, meta in _metas(message):
        for key in meta if isinstance(meta, Mapping) else ():
            if len(key) <= _LONGEST and not _KEY.fullmatch(key):
                raise Broken(
                    "a name, or a prefix and a name",
                    quote(key, 100),
                    at=at + pointer(key),
                    because=f"{at} has a key that is no name as MCP has them; clients that sort keys by their prefix misread it",
                )


def _metas(message: Message) -> Iterator[tuple[str, object]]:
    """Yield each _meta of a result and where it stands.

    Raises:
        NotApplicable: there is none.
    """
    result = message.value.get("result")
    found: list[tuple[str, object]] = []
    if isinstance(result, Mapping):
        found += [("/result/_meta", result["_meta"])] if "_meta" in result else []
        for name in _LISTS:
            items = result.get(name)
            for index, item in enumerate(items if isinstance(items, list) else ()):
                if isinstance(item, Mapping) and "_meta" in item:
                    found.append((f"/result/{name}/{index}/_meta", item["_meta"]))
    if not found:
        raise NotApplicable("there is no _meta in it")
    yield from found
