"""Fills in the placeholders of sample and configured requests; the head of tasks.yaml lists them."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from .calls import Take
from .jsonvalues import pointer

UNKNOWN = "$unknown"
UNKNOWN_VALUE = re.compile(r"unknown_[0-9a-f]{16}")  # what it is filled with
_NEEDED = "$needed"
_BRAND = {"domain": "acmeoutdoor.example"}
_ABSENT = object()
_TIME = re.compile(r"\$time([+-][0-9]{1,4})")
_SOURCE = re.compile(r"(?P<tool>[^#\s]{1,128})#(?P<value>/\S*)")


@dataclass(frozen=True, slots=True)
class Values:
    """What placeholders stand for in one call. The same values give the same request again."""

    run_id: str
    subject: str  # the call's subject: another call of the run gets other ids
    today: date
    account: Mapping[str, Any] | None = None

    @property
    def brand(self) -> Mapping[str, Any] | None:
        """The brand that the account names; None where it names none."""
        brand = (self.account or {}).get("brand")
        return brand if isinstance(brand, Mapping) else None

    def token(self, where: str) -> bytes:
        """Return 32 bytes that are this call's and this place's own."""
        text = f"{self.run_id}\n{self.subject}\n{where}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class Filled:
    """A request with its placeholders filled in; a value to be taken stands as None where it will go."""

    arguments: dict[str, Any] = field(default_factory=dict)
    takes: list[Take] = field(default_factory=list)
    needed: list[str] = field(default_factory=list)  # pointers to what only the seller can name
    wants_account: bool = False  # $account stands in it, and there is none


def fill(request: Mapping[str, Any], values: Values) -> Filled:
    """Fill in a request. The result is new through and through."""
    filled = Filled()
    filled.arguments = _members(request, (), values, filled)
    return filled


def waits(request: object) -> bool:
    """Whether a request has a place for a value that is not known before the run."""
    return any(item == _NEEDED or _source(item) is not None for item in _walk(request))


def _walk(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _walk(item)


def _source(value: object) -> re.Match[str] | None:
    """Return tool and pointer of {from: "tool#/pointer"}, None for everything else."""
    if isinstance(value, Mapping) and list(value) == ["from"] and isinstance(value["from"], str):
        return _SOURCE.fullmatch(value["from"])
    return None


def _members(
    members: Mapping[str, Any], path: tuple[str | int, ...], values: Values, filled: Filled
) -> dict[str, Any]:
    found = {name: _value(item, (*path, name), values, filled) for name, item in members.items()}
    return {name: item for name, item in found.items() if item is not _ABSENT}


def _value(value: object, path: tuple[str | int, ...], values: Values, filled: Filled) -> object:
    if source := _source(value):
        filled.takes.append(Take(pointer(*path), source["tool"], source["value"]))
        return None
    if isinstance(value, Mapping):
        return _members(value, path, values, filled)
    if isinstance(value, list):
        return [_value(item, (*path, index), values, filled) for index, item in enumerate(value)]
    if isinstance(value, str) and value.startswith("$"):
        return _named(value, pointer(*path), values, filled)
    return value


def _named(name: str, where: str, values: Values, filled: Filled) -> object:
    match name:
        case "$uuid":
            return str(uuid.UUID(bytes=values.token(where)[:16], version=4))
        case "$unknown":
            return f"unknown_{values.token('')[:8].hex()}"
        case "$name":
            return f"pytest-adcp {values.run_id}"
        case "$account":
            filled.wants_account |= values.account is None
            return values.account and dict(values.account)
        case "$brand":
            return dict(values.brand or _BRAND)
        case "$brand_apart":
            return _ABSENT if values.brand else dict(_BRAND)
        case "$needed":
            filled.needed.append(where)
            return None
    if match := _TIME.fullmatch(name):
        return f"{values.today + timedelta(days=int(match[1]))}T00:00:00Z"
    return name  # a text that happens to begin with a dollar sign
