"""Vectors at the limit that a library declares, and which vectors a library cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.vectors.loader import LONGEST_TEXT, UNTOLD, Kind, Transport, Vector

from .records import Declared, Unit

FILE = "declared-limit"
_HEAD, _TAIL = '{"padding":"', '"}'
_SMALL = '{"products":[]}'


def at_the_limit(declared: Declared) -> list[Vector]:
    """Return vectors around the size that a library declares: read up to it, not read beyond. None where it declares none.

    All their characters are ASCII, so that it does not matter which unit the library counts.
    """
    size = declared.limit.size if declared.limit is not None else None
    if size is None or not len(_HEAD + _TAIL) < size < LONGEST_TEXT:
        return []
    filling = size - len(_HEAD + _TAIL)

    def text(units: int) -> dict[str, object]:
        built = {"$concat": [_HEAD, {"$repeat": ["x", units]}, _TAIL]}
        return {"type": "text", "text": built}

    fits, over = text(filling), text(filling + 1)
    small = {"type": "text", "text": _SMALL}
    padded = {"padding": {"$repeat": ["x", filling]}}
    return [
        _vector("exactly", f"A text of exactly the declared limit, {size:,}, is read", [fits], padded),
        _vector(
            "one-over", f"A text of one more than the declared limit, {size:,}, is not read", [over], None
        ),
        _vector(
            "over-then-small",
            f"A text over the declared limit, {size:,}, is passed over, and the next one read",
            [over, small],
            {"products": []},
        ),
    ]


def _vector(
    name: str, description: str, content: list[object], expected: Mapping[str, object] | None
) -> Vector:
    return Vector(
        id=name,
        description=description,
        kind=Kind.SUCCESS,
        transport=Transport.MCP,
        path="text_fallback",
        expected_action=None,
        expected_retry_after=UNTOLD,
        refused=False,
        requirement="extraction.limit",
        limit=None,
        advisory=False,
        file=FILE,
        _response={"content": content},
        _expected=expected,
    )


def why_not(vector: Vector, declared: Declared) -> str:
    """Say why a library is not asked about a vector; empty where it is."""
    if vector.transport not in declared.transports:
        return f"{declared.name} does not declare that it reads {str(vector.transport).upper()}"
    if vector.kind not in declared.kinds:
        return f"{declared.name} does not declare that it extracts what an answer of kind {vector.kind} holds"
    limit = declared.limit
    if vector.limit is None or (limit is not None and limit.configurable):
        return ""
    if limit is None:
        return f"a vector for a limit of {vector.limit:,} units; {declared.name} declares none"
    if limit.size == vector.limit and limit.unit is Unit.UTF16:
        return ""
    size = "texts of any size" if limit.size is None else f"texts up to {limit.size:,} ({limit.unit})"
    return f"a vector for a limit of {vector.limit:,} units; {declared.name} reads {size}"
