"""Faults of tool names, granularity, annotations and definitions, as the connected-apps profile sees them."""

from __future__ import annotations

from typing import Any

from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_method, rules

_COLOURS = """
    amber aqua beige black bronze brown coral crimson cyan fuchsia gold green indigo ivory lavender lime magenta maroon mauve
    navy ochre olive orange pink purple scarlet silver teal turquoise violet white yellow
"""
_READS: Json = {"readOnlyHint": True, "openWorldHint": False}


def _tool(name: str = "get_weather", **members: Any) -> Json:
    """Return a good tool of the seller's own with some members changed."""
    return {
        "name": name,
        "title": "Weather",
        "description": "Tells the weather of a city as it is now. Returns degrees Celsius and a sentence on wind and rain.",
        "inputSchema": _takes({}),
        "annotations": _READS,
        **members,
    }


def _takes(properties: Json, **members: Any) -> Json:
    city = {"type": "string", "description": "The city, such as Oslo."}
    return {"type": "object", "properties": {"city": city, **properties}, "required": ["city"], **members}


def _listing(*tools: Json) -> Hooks:
    """Add tools to the last page of the list."""
    return on_method(
        "tools/list",
        lambda result: result if "nextCursor" in result else {**result, "tools": [*result["tools"], *tools]},
    )


def _object(**properties: Json) -> Json:
    return {"type": "object", "description": "One part of the place.", "properties": properties}


def _named(fault: str, says: str, name: str, *ids: str) -> Fault:
    return Fault(
        fault, says, _listing(_tool(name)), advises=rules(*(f"connected-apps.{each}" for each in ids))
    )


def _hinted(fault: str, says: str, name: str, hints: Json, **verdicts: Any) -> Fault:
    return Fault(fault, says, _listing(_tool(name, annotations=hints)), **verdicts)


_ACTION: Json = {
    "type": "string",
    "enum": ["create", "update", "delete"],
    "description": "What is done with the city.",
}
_LEAF: Json = {"type": "string", "description": "The name, such as Grorud."}
_PLACE = _object(region=_object(district=_object(quarter=_LEAF)))
_MIRRORED: Json = {"type": "string", "description": "The country, such as Norway.", "x-mcp-header": "Country"}

FAULTS = (
    _named("app-name-case", "a tool's name has capitals and underscores.", "Get_Weather", "tool-name-case"),
    _named(
        "app-name-style",
        "a tool is named in camelCase among snake_case.",
        "getWeather",
        "tool-name-one-style",
    ),
    _named("app-name-noun", "a tool's name has no verb.", "city_weather", "tool-name-verb-noun"),
    _named(
        "app-name-generic", "a tool's name is of generic words.", "process_data", "tool-name-generic-word"
    ),
    _named("app-name-vague", "a tool manages something.", "manage_city", "tool-name-generic-word"),
    _named(
        "app-name-lookalike",
        "a tool's name has a Cyrillic letter.",
        "get_w\u0435ather",
        "tool-name-lookalike",
    ),
    _named("app-name-near", "two tools' names differ by one letter.", "get_product", "tool-name-distinct"),
    _named("app-tool-internal", "a tool pings the server.", "ping_server", "no-internal-tools"),
    Fault(
        "app-name-catch-all",
        "a tool is called handle_content.",
        _listing(_tool("handle_content")),
        fails=rules("connected-apps.tool-name-specific"),
    ),
    Fault(
        "app-tool-switch",
        "a parameter of a tool chooses between creating and deleting.",
        _listing(
            _tool(
                "edit_city",
                inputSchema=_takes({"action": _ACTION}, required=["city", "action"]),
                annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
            )
        ),
        advises=rules("connected-apps.no-action-switch"),
    ),
    Fault(
        "app-tool-nested",
        "a tool's input is four levels deep.",
        _listing(_tool(inputSchema=_takes({"place": _PLACE}))),
        advises=rules("connected-apps.flat-input-schema"),
    ),
    Fault(
        "app-tools-many",
        "there are more tools than a model can choose among.",
        _listing(*(_tool(f"get_{colour}_weather") for colour in _COLOURS.split())),
        advises=rules("connected-apps.tool-count"),
    ),
    Fault(
        "app-tool-twice",
        "a tool is listed twice.",
        _listing(_tool(), _tool()),
        fails=rules("connected-apps.tool-names-unique"),
    ),
    _hinted(
        "app-hints-missing",
        "a tool leaves openWorldHint out.",
        "get_weather",
        {"readOnlyHint": True},
        advises=rules("connected-apps.annotations-explicit"),
    ),
    _hinted(
        "app-hints-read-unsaid",
        "a tool that reads leaves readOnlyHint out.",
        "get_weather",
        {"destructiveHint": False, "openWorldHint": False},
        advises=rules("connected-apps.annotations-explicit", "connected-apps.read-only-declared"),
    ),
    Fault(
        "app-hints-read-lie",
        "a tool that deletes claims that it only reads.",
        _listing(
            _tool("delete_city", description="Deletes a city and its weather for good. Returns its name.")
        ),
        fails=rules("connected-apps.destructive-declared"),
    ),
    _hinted(
        "app-hints-contradict",
        "a tool only reads, and may destroy.",
        "get_weather",
        {**_READS, "destructiveHint": True},
        fails=rules("connected-apps.annotations-consistent"),
    ),
    _hinted(
        "app-hints-harmless",
        "a tool that creates something says that it destroys nothing.",
        "create_city",
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        advises=rules("connected-apps.write-declared-destructive"),
    ),
    Fault(
        "app-hints-closed-world",
        "a tool that searches the web says that it stays inside.",
        _listing(
            _tool(
                "search_pages",
                description="Searches the web for pages on a city. Returns titles and addresses.",
            )
        ),
        advises=rules("connected-apps.open-world-declared"),
    ),
    Fault(
        "app-definition-newer",
        "a schema has x-mcp-header in it.",
        _listing(_tool(inputSchema=_takes({"country": _MIRRORED}))),
        fails=rules("connected-apps.definitions-within-revision"),
    ),
    Fault(
        "app-definition-output-list",
        "an outputSchema is of a list.",
        _listing(_tool(outputSchema={"type": "array", "items": {"type": "string"}})),
        fails=rules("connected-apps.definitions-within-revision"),
    ),
)
