"""Which tools back what a seller declares (protocols.yaml)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .release import numbers

_FILE = Path(__file__).with_name("protocols.yaml")


def expected_of_protocol(protocol: str, tools: Collection[str], release: str | None) -> str | None:
    """Return the tool to expect of a protocol none of whose tools is listed; None where one is, or none has to be."""
    known: Mapping[str, Any] = _data()["protocols"].get(protocol, {})
    own: list[str] = known.get("tools", [])
    needs_none = not own or ("until" in known and numbers(release) > numbers(known["until"]))
    return None if needs_none or any(tool in tools for tool in own) else own[0]


def missing_of_specialism(specialism: str, tools: Collection[str]) -> list[str]:
    """Return the tools that a specialism needs and that are not listed, each as `one, or another that does as well`."""
    data = _data()
    needed: list[str] = data["specialisms"].get(specialism, [])
    ways = {tool: [tool, *data["instead"].get(tool, [])] for tool in needed}
    return [" or ".join(each) for each in ways.values() if not any(tool in tools for tool in each)]


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return data
