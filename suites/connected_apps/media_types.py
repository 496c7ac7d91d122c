"""Media types as HTTP and MIME write them: names without case, values quoted or not."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PARAMETER = re.compile(r";\s*+([^\s=;]+)\s*+=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"|([^;\s]*+))")
_DIALECTS = {
    "text/html+skybridge": "the OpenAI Apps SDK",
    "text/uri-list": "MCP-UI before MCP Apps",
    "application/vnd.mcp-ui.remote-dom": "MCP-UI before MCP Apps",
}


def media_type(text: str) -> tuple[str, Mapping[str, str]]:
    """Return type/subtype in lower case, and the parameters by their name in lower case."""
    essence, semicolon, rest = text[:1000].partition(";")
    parameters = {
        match[1].lower(): match[2] if match[2] is not None else match[3]
        for match in _PARAMETER.finditer(semicolon + rest)
    }
    return "".join(essence.split()).lower(), parameters


def dialect(essence: str) -> str:
    """Say whose a foreign type is, as a clause to append; empty where nobody knows."""
    owner = _DIALECTS.get(essence)
    return f"; it is the one of {owner}" if owner else ""
