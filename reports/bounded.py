"""A text in blocks that never grows beyond its bounds: a block stands there whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterable

_SMALLEST = 4096
_RESERVE = 2000  # bytes kept for what closes a page: that it was cut, and how it came about


class Page:
    """A page of Markdown.

    Args:
        limit: bytes of UTF-8 that it may take; under 4096 it is taken for 4096.
    """

    def __init__(self, limit: int) -> None:
        """Begin an empty page."""
        self._left = max(limit, _SMALLEST) - _RESERVE
        self._blocks: list[str] = []

    def add(self, block: str) -> bool:
        """Add a block where there is room for it; say whether there was."""
        size = _size(block)
        if size > self._left:
            return False
        self._left -= size
        self._blocks.append(block)
        return True

    def add_rows(self, opening: str, rows: Iterable[str], closing: str = "") -> int:
        """Add as many rows as there is room for between two lines; return how many are left out."""
        rows = list(rows)
        room = self._left - _size(opening) - _size(closing)
        kept: list[str] = []
        for row in rows:
            room -= _size(row)
            if room < 0:
                break
            kept.append(row)
        if kept:
            self.add("\n".join([opening, *kept, *([closing] if closing else [])]))
        return len(rows) - len(kept)

    def close(self, *blocks: str) -> str:
        """Return the page with what stands below everything, for which there always is room."""
        return "\n\n".join([*self._blocks, *blocks]) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 2
