"""Tasks on signals."""

from __future__ import annotations

from . import catalogue
from .errors import AdcpError, not_found
from .rpc import Json
from .task import ACCOUNT, PAGINATION, Answer, Desk, Task, paged, strings

DESTINATIONS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "type": {"enum": ["platform", "agent"], "description": "Kind of destination."},
            "platform": {"type": "string", "description": "Name of the platform."},
            "agent_url": {"type": "string", "description": "URL of the agent."},
            "account": {"type": "string", "description": "Account there."},
        },
        "required": ["type"],
        "additionalProperties": True,
    },
    "minItems": 1,
    "description": "Where the signal is to be used.",
}


def _get_signals(desk: Desk, arguments: Json) -> Answer:
    selectors = ("signal_spec", "signal_refs", "signal_ids")
    wholesale = arguments.get("discovery_mode") == "wholesale"
    if not wholesale and not any(key in arguments for key in selectors):
        raise AdcpError(
            "INVALID_REQUEST",
            "One of signal_spec, signal_refs and signal_ids is needed.",
            field="signal_spec",
        )
    wanted = [*arguments.get("signal_ids", []), *arguments.get("signal_refs", [])]
    ids = {entry.get("id", entry.get("signal_id")) for entry in wanted}
    signals = [
        catalogue.signal(desk.release, entry)
        for entry in catalogue.SIGNALS
        if not wanted or entry["signal_id"]["id"] in ids
    ]
    page, pagination = paged(signals[: arguments.get("max_results")], arguments)
    payload: Json = {"signals": page, "pagination": pagination}
    if desk.release >= "3.1":
        payload["cache_scope"] = "public"
    return Answer(payload, f"{len(page)} signals.")


def _activate_signal(_: Desk, arguments: Json) -> Answer:
    segment = arguments["signal_agent_segment_id"]
    if all(entry["signal_agent_segment_id"] != segment for entry in catalogue.SIGNALS):
        raise not_found("signal", "SIGNAL_NOT_FOUND", "signal_agent_segment_id")
    live = arguments.get("action", "activate") == "activate"
    deployments = []
    for index, destination in enumerate(arguments["destinations"]):
        address = "platform" if destination["type"] == "platform" else "agent_url"
        if address not in destination:
            raise AdcpError(
                "INVALID_REQUEST",
                f"A destination of this type needs {address}.",
                field=f"destinations[{index}].{address}",
            )
        deployments.append({"type": destination["type"], address: destination[address], "is_live": live})
    return Answer(
        {"deployments": deployments}, "The signal is live." if live else "The signal is no longer live."
    )


TASKS = (
    Task(
        "get_signals",
        "Find signals",
        "Finds audience signals for a description, by id, or all of them.",
        {
            "discovery_mode": {
                "enum": ["brief", "wholesale"],
                "description": "brief to search, wholesale for the whole catalogue.",
            },
            "signal_spec": {"type": "string", "description": "The audience, in plain words."},
            "signal_ids": {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "description": "Only these signals.",
            },
            "signal_refs": {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "description": "Only these signals.",
            },
            "account": ACCOUNT,
            "destinations": DESTINATIONS,
            "countries": strings("ISO 3166 codes of the countries where the signal is to be used."),
            "max_results": {"type": "integer", "minimum": 1, "description": "At most so many signals."},
            "pagination": PAGINATION,
        },
        _get_signals,
    ),
    Task(
        "activate_signal",
        "Activate a signal",
        "Makes a signal usable at the given destinations, or ends its use there.",
        {
            "action": {"enum": ["activate", "deactivate"], "description": "activate unless given."},
            "signal_agent_segment_id": {"type": "string", "description": "Segment id from get_signals."},
            "destinations": DESTINATIONS,
            "pricing_option_id": {"type": "string", "description": "Pricing option from get_signals."},
            "account": ACCOUNT,
        },
        _activate_signal,
        required=("account", "signal_agent_segment_id", "destinations"),
        mutating=True,
    ),
)
