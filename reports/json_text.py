"""How reports are written as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def laid_out(value: Any, levels: int, margin: str = "\n") -> str:
    """Return a value as JSON with so many outer levels indented, and what is deeper in one line.

    A finding a line can be searched and compared; and only JSON without indentation is written by the json module's
    C code, four times as fast.

    Raises:
        ValueError: there is NaN or an infinity in it.
    """
    value = members(value) if is_dataclass(value) else value
    if not levels or not value or not isinstance(value, (Mapping, list, tuple)):
        return json_text(value)
    inner = f"{margin}  "
    if isinstance(value, Mapping):
        parts = [
            f"{json_text(str(name))}: {laid_out(member, levels - 1, inner)}" for name, member in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(parts)}{margin}}}"
    parts = [laid_out(item, levels - 1, inner) for item in value]
    return f"[{inner}{f',{inner}'.join(parts)}{margin}]"


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON that any reader takes; what is no JSON value is written as a string.

    Raises:
        ValueError: there is NaN or an infinity in it.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=members)
    return _SURROGATE.sub("\ufffd", text)


def members(value: object) -> Any:
    """Return a record as a mapping of its members, which may be records; what is no JSON value as a string."""
    # dataclasses.asdict copies everything, which takes three times as long as writing it.
    return (
        {item.name: getattr(value, item.name) for item in fields(value)}
        if is_dataclass(value)
        else str(value)
    )
