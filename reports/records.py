"""From plain JSON to the records of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pytest_adcp.harness.text import quote, safe

Record = TypeVar("Record")


def record(cls: type[Record], data: Mapping[str, Any], **parts: object) -> Record:
    """Make a record of the members that it knows; arrays become tuples."""
    names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items() if name in names}
    return cls(**(values | parts))


def optional(cls: type[Record], data: Mapping[str, Any] | None) -> Record | None:
    """Make a record where there is one."""
    return None if data is None else record(cls, data)


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
