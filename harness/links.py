"""The way from the root of a JSON value to a place in it, as a walk builds it: a link is its parent's link and a name."""

from __future__ import annotations

from typing import Any

Link = tuple[Any, str | int] | None  # None: the root


def path_of(link: Link) -> tuple[str | int, ...]:
    """Return the names and indexes that lead to a place."""
    tokens: list[str | int] = []
    while link is not None:
        link, token = link
        tokens.append(token)
    return tuple(reversed(tokens))
