"""Faults of what a seller says that it is: its capabilities, and its list of tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_adcp.harness.seller.exchange import UNTOUCHED_TASK, Hooks, ToolCall
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_method, rules

CAPABILITIES_LISTED = rules("adcp.discovery.capabilities-listed")
MAJOR_VERSIONS = rules("adcp.discovery.major-versions")
IDEMPOTENCY = rules("adcp.discovery.idempotency")
PROTOCOLS = rules("adcp.discovery.protocols")
NO_ARGUMENTS = rules("adcp.discovery.no-arguments")
TOOL_NAMES = rules("adcp.discovery.tool-names")
RESPONSE = rules("adcp.schema.response")
_MEMBERS_OF_3 = ("adcp_major_version", "adcp_version", "idempotency_key")


def on_capabilities(edit: Callable[[Json], Json]) -> Hooks:
    """Change the payload of get_adcp_capabilities."""

    def hook(call: ToolCall, result: Json) -> Json:
        if call.tool != UNTOUCHED_TASK or result["isError"]:
            return result
        return {**result, "structuredContent": edit(result["structuredContent"])}

    return Hooks(result=hook)


def on_adcp_block(edit: Callable[[Json], Json]) -> Hooks:
    """Change `adcp` of get_adcp_capabilities."""
    return on_capabilities(lambda data: {**data, "adcp": edit(data["adcp"])})


def without(*names: str) -> Callable[[Json], Json]:
    """Leave members out."""
    return lambda data: {key: value for key, value in data.items() if key not in names}


def _with(**members: Any) -> Callable[[Json], Json]:
    return lambda data: {**data, **members}


def _listing(edit: Callable[[Json], Json | None]) -> Hooks:
    """Change each listed tool; None takes it out."""
    return on_method(
        "tools/list",
        lambda page: {**page, "tools": [made for tool in page["tools"] if (made := edit(tool)) is not None]},
    )


def _not_listed(tool: Json) -> Json | None:
    return None if tool["name"] == UNTOUCHED_TASK else tool


def _renamed(old: str, new: str) -> Hooks:
    return _listing(lambda tool: {**tool, "name": new} if tool["name"] == old else tool)


def _of_2(tool: Json) -> Json | None:
    """Take out of a tool, and out of the list, what came with AdCP 3."""
    schema = tool["inputSchema"]
    bare = {
        **schema,
        "properties": without(*_MEMBERS_OF_3)(schema["properties"]),
        "required": [name for name in schema.get("required", ()) if name not in _MEMBERS_OF_3],
    }
    return _not_listed({**tool, "inputSchema": bare})


def _plain_error(_: ToolCall, result: Json) -> Json:
    """Say in prose what failed: adcp_error came with AdCP 3."""
    return {"content": result["content"][1:], "isError": True} if result["isError"] else result


def _refused_without_arguments(call: ToolCall, result: Json) -> Json:
    return call.again({"protocols": "all"}) if call.tool == UNTOUCHED_TASK and not call.arguments else result


def _wants_a_key(call: ToolCall, result: Json) -> Json:
    refused = _refused_without_arguments(call, result)
    if refused is result:
        return result
    payload = refused["structuredContent"]
    error = {**payload["adcp_error"], "message": "A value is missing.", "field": "idempotency_key"}
    error.pop("issues", None)
    texts = (json.dumps({"adcp_error": error}), error["message"])
    return {
        **refused,
        "content": [{"type": "text", "text": text} for text in texts],
        "structuredContent": {**payload, "adcp_error": error, "errors": [error]},
    }


def _controller_too(page: Json) -> Json:
    if not any(tool["name"] == UNTOUCHED_TASK for tool in page["tools"]):
        return page
    controller = {
        "name": "comply_test_controller",
        "description": "Forces states for tests.",
        "inputSchema": {"type": "object", "properties": {"scenario": {"type": "string"}}},
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
    }
    return {**page, "tools": [*page["tools"], controller]}


FAULTS = (
    Fault(
        "capabilities-not-listed",
        "tools/list does not name get_adcp_capabilities.",
        _listing(_not_listed),
        advises=CAPABILITIES_LISTED,
    ),
    Fault(
        "agent-of-adcp-2",
        "Nothing is of AdCP 3: neither get_adcp_capabilities nor any member that came with it.",
        replace(_listing(_of_2), result=_plain_error),
        advises=CAPABILITIES_LISTED,
        needs={"release": Release.V3_0},
    ),
    Fault(
        "adcp-block-missing",
        "get_adcp_capabilities has no `adcp`.",
        on_capabilities(without("adcp")),
        MAJOR_VERSIONS,
        fails_schema=RESPONSE,
    ),
    Fault(
        "major-versions-missing",
        "get_adcp_capabilities names supported_versions only, without major_versions.",
        on_adcp_block(without("major_versions")),
        MAJOR_VERSIONS,
        fails_schema=RESPONSE,
    ),
    Fault(
        "major-versions-as-text",
        "major_versions holds strings.",
        on_adcp_block(_with(major_versions=["3"])),
        MAJOR_VERSIONS,
        fails_schema=RESPONSE,
    ),
    Fault(
        "idempotency-missing",
        "get_adcp_capabilities does not say whether retries are safe.",
        on_adcp_block(without("idempotency")),
        IDEMPOTENCY,
        fails_schema=RESPONSE,
    ),
    Fault(
        "idempotency-for-a-minute",
        "Replays are remembered for a minute only.",
        on_adcp_block(_with(idempotency={"supported": True, "replay_ttl_seconds": 60})),
        IDEMPOTENCY,
        fails_schema=RESPONSE,
    ),
    Fault(
        "protocols-missing",
        "get_adcp_capabilities has no supported_protocols.",
        on_capabilities(without("supported_protocols")),
        PROTOCOLS,
        fails_schema=RESPONSE,
    ),
    Fault(
        "protocols-empty",
        "supported_protocols is an empty list.",
        on_capabilities(_with(supported_protocols=[])),
        PROTOCOLS,
        fails_schema=RESPONSE,
    ),
    Fault(
        "protocol-without-tools",
        "supported_protocols names brand, and no tool of it is listed.",
        on_capabilities(
            lambda data: {**data, "supported_protocols": [*data["supported_protocols"], "brand"]}
        ),
        rules("adcp.discovery.protocol-tools"),
    ),
    Fault(
        "specialism-without-tools",
        "A specialism is declared whose tool is not listed.",
        on_capabilities(_with(specialisms=["sales-guaranteed", "property-lists"])),
        rules("adcp.discovery.specialism-tools"),
    ),
    Fault(
        "capabilities-want-arguments",
        "get_adcp_capabilities refuses a request without arguments.",
        Hooks(result=_refused_without_arguments),
        NO_ARGUMENTS,
    ),
    Fault(
        "capabilities-want-a-key",
        "get_adcp_capabilities refuses a request without idempotency_key.",
        Hooks(result=_wants_a_key),
        advises=NO_ARGUMENTS,
    ),
    Fault(
        "tool-with-prefix",
        "get_products is listed as adcp_get_products.",
        _renamed("get_products", "adcp_get_products"),
        TOOL_NAMES,
    ),
    Fault(
        "tool-in-camel-case",
        "list_creative_formats is listed as listCreativeFormats.",
        _renamed("list_creative_formats", "listCreativeFormats"),
        advises=TOOL_NAMES,
    ),
    Fault(
        "test-controller-in-production",
        "A production server lists comply_test_controller.",
        on_method("tools/list", _controller_too),
        rules("adcp.discovery.test-controller"),
        production=True,
    ),
    Fault(
        "compliance-testing-in-production",
        "A production server declares compliance_testing.",
        on_capabilities(_with(compliance_testing={"scenarios": ["force_media_buy_status"]})),
        rules("adcp.discovery.compliance-testing"),
        production=True,
    ),
)
