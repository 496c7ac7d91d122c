"""From plain JSON to the records of a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from pytest_adcp.harness.text import quote, safe

Record = TypeVar("Record")
_LARGEST = 256 << 20  # bytes


class ReportError(ValueError):
    """A file that is no report; the text names the file and what is wrong with it."""


def record(cls: type[Record], data: Mapping[str, Any], **parts: object) -> Record:
    """Make a record of the members that it knows; arrays become tuples."""
    names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items() if name in names}
    return cls(**(values | parts))


def optional(cls: type[Record], data: Mapping[str, Any] | None) -> Record | None:
    """Make a record where there is one."""
    return None if data is None else record(cls, data)


def read_json(path: Path | str, data: bytes | str) -> Any:
    """Return what a JSON text holds: valid UTF-8, no NaN, no member twice, since two readers might take two values.

    Args:
        path: the name of the file, for the error.
        data: its text.

    Raises:
        ReportError: it is none.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return json.loads(text, parse_constant=refuse, object_pairs_hook=_members)
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ReportError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: not JSON that can be read: {safe(str(error))}") from None


def read_file(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        ReportError: it cannot be read, or is far larger than any report.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror or error}") from None
    if len(data) > _LARGEST:
        raise ReportError(f"{path}: it holds more than {_LARGEST >> 20} MiB, as no report does")
    return data


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {quote(twice, 60)} stands twice in an object")
    return members


def refuse(constant: str) -> None:
    """Take no NaN and no infinity; for json.loads."""
    raise ValueError(f"{constant} is no JSON")


def problem(data: object, schema: Mapping[str, Any]) -> str:
    """Say where a document first departs from a schema; empty where it does not."""
    import jsonschema  # takes longer to import than everything else here, and only readers of reports need it

    error = next(jsonschema.Draft202012Validator(schema).iter_errors(data), None)
    if error is None:
        return ""
    place = safe("".join(f"/{part}" for part in error.absolute_path)) or "the document"
    if error.validator == "required":
        return f"{place}: {error.message}"
    # The library's own message quotes the whole value, which may be the whole report.
    return (
        f"{place}: {quote(error.instance, 80)} does not fit {error.validator}: {quote(error.validator_value)}"
    )
