"""The names of MCP Apps on the wire, and where a tool and a resource carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXTENSION = "io.modelcontextprotocol/ui"
VIEW_TYPE = "text/html;profile=mcp-app"
SCHEME = "ui://"
OLD_KEY = "ui/resourceUri"  # deprecated: of `_meta`, beside `ui`
CAPABILITIES: Mapping[str, Any] = {"extensions": {EXTENSION: {"mimeTypes": [VIEW_TYPE]}}}  # of a host


def meta(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `_meta` of a tool or resource; empty where it has none."""
    found = value.get("_meta")
    return found if isinstance(found, Mapping) else {}


def interface(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what its `_meta` holds under `ui`; empty where it holds nothing."""
    found = meta(value).get("ui")
    return found if isinstance(found, Mapping) else {}


def link(tool: Mapping[str, Any]) -> str | None:
    """Return the URI of the resource that a tool names as its user interface: by the new key, else by the old one."""
    for found in (interface(tool).get("resourceUri"), meta(tool).get(OLD_KEY)):
        if isinstance(found, str):
            return found
    return None
