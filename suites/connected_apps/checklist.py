"""What a person has to look at, since nothing on the wire shows it (checklist.yaml)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml
from pytest_adcp.harness.sources import connected_apps

_FILE = Path(__file__).with_name("checklist.yaml")


def checklist() -> Iterator[tuple[str, str, str]]:
    """Yield id, text and source of each item, in the order of the platform's pages."""
    for item in yaml.safe_load(_FILE.read_text("utf-8")):
        page = {"page": item["page"]} if "page" in item else {}
        yield f"connected-apps.{item['id']}", item["text"], connected_apps(item.get("anchor", ""), **page)
