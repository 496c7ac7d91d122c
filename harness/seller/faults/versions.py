"""Faults of how a seller names AdCP releases, and what it makes of those that it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.seller.rpc import Json

from .discovery import on_adcp_block, without
from .failures import UNREFUSED_VERSIONS
from .model import Fault, rules

SUPPORTED = rules("adcp.versions.supported")
SUPPORTED_FORM = rules("adcp.versions.supported-form")
ECHO = rules("adcp.versions.echo")
ECHO_FORM = rules("adcp.versions.echo-form")
RESPONSE = rules("adcp.schema.response")
V3_2 = {"release": Release.V3_2}
_PINS = ("adcp_major_version", "adcp_version")


def _payloads(edit: Callable[[Json], Json], *, of_tool: str | None = None, of_errors: bool = True) -> Hooks:
    """Change the payloads of a task, or of all, where it succeeds and where it fails."""

    def hook(call: ToolCall, result: Json) -> Json:
        if of_tool not in (None, call.tool) or (result["isError"] and not of_errors):
            return result
        return {**result, "structuredContent": edit(result["structuredContent"])}

    return Hooks(result=hook)


def _accepting(pins: Collection[str], **wanted: object) -> Hooks:
    """Serve requests that name these versions as if they named none of `pins`."""

    def hook(call: ToolCall, result: Json) -> Json:
        named = {pin: call.arguments[pin] for pin in _PINS if pin in call.arguments}
        return call.again(without(*pins)(dict(call.arguments))) if named == wanted else result

    return Hooks(result=hook)


def _refusing_the_major(call: ToolCall, result: Json) -> Json:
    if call.arguments.get("adcp_major_version") != 3:
        return result
    return call.again({**call.arguments, "adcp_major_version": 4})


def _versions_refused(edit: Callable[[Json], Json]) -> Hooks:
    """Change the errors that refuse a version."""

    def hook(_: ToolCall, result: Json) -> Json:
        payload = result["structuredContent"]
        error = payload.get("adcp_error", {})
        if error.get("code") != "VERSION_UNSUPPORTED":
            return result
        changed = edit(error)
        return {
            **result,
            "content": [
                {"type": "text", "text": json.dumps({"adcp_error": changed})},
                *result["content"][1:],
            ],
            "structuredContent": {**payload, "adcp_error": changed, "errors": [changed]},
        }

    return Hooks(result=hook)


def _released_as(*versions: object) -> Hooks:
    return on_adcp_block(lambda block: {**block, "supported_versions": list(versions)})


def _named(version: object) -> Callable[[Json], Json]:
    return lambda data: {**data, "adcp_version": version}


FAULTS = (
    Fault(
        "supported-versions-missing",
        "get_adcp_capabilities has no supported_versions.",
        on_adcp_block(without("supported_versions")),
        advises=SUPPORTED,
    ),
    Fault(
        "supported-versions-missing-3-2",
        "A seller of 3.2 has no supported_versions.",
        on_adcp_block(without("supported_versions")),
        SUPPORTED,
        needs=V3_2,
    ),
    Fault(
        "supported-versions-with-patch",
        "supported_versions names 3.1.27, the version of the schemas.",
        _released_as("3.1.27"),
        SUPPORTED_FORM,
        fails_schema=RESPONSE,
    ),
    Fault(
        "supported-versions-as-numbers",
        "supported_versions holds numbers.",
        _released_as(3.0, 3.1),
        SUPPORTED_FORM,
        fails_schema=RESPONSE,
    ),
    Fault(
        "release-not-named",
        "No answer has adcp_version.",
        _payloads(without("adcp_version")),
        advises=ECHO,
    ),
    Fault(
        "release-not-named-3-2",
        "No success of a seller of 3.2 has adcp_version.",
        _payloads(without("adcp_version"), of_errors=False),
        ECHO,
        needs=V3_2,
    ),
    Fault(
        "release-with-patch",
        "adcp_version is 3.1.27, the version of the schemas.",
        _payloads(_named("3.1.27"), of_tool="get_products"),
        ECHO_FORM,
        fails_schema=RESPONSE,
    ),
    Fault(
        "release-not-listed",
        "adcp_version is a release that supported_versions does not name.",
        _payloads(_named("3.2"), of_tool="get_products"),
        ECHO_FORM,
    ),
    Fault(
        "major-version-refused",
        "Requests that name adcp_major_version 3 are refused.",
        Hooks(result=_refusing_the_major),
        rules("adcp.versions.major-accepted"),
    ),
    Fault(
        "unknown-release-served",
        "Requests for the release 99.0 are served.",
        _accepting(["adcp_version"], adcp_version="99.0"),
        advises=rules("adcp.versions.release-refused"),
    ),
    Fault(
        "conflicting-versions-served",
        "Where adcp_version and adcp_major_version disagree, the latter is not looked at.",
        _accepting(["adcp_major_version"], adcp_version="3.1", adcp_major_version=2),
        advises=rules("adcp.versions.conflict"),
    ),
    Fault(
        "prerelease-served",
        "A pre-release that is not known is served as the release.",
        _accepting(["adcp_version"], adcp_version="3.1-beta.999"),
        rules("adcp.versions.prerelease"),
    ),
    Fault(
        "version-code-invalid-request",
        "Versions that are not served are refused with INVALID_REQUEST.",
        _versions_refused(lambda error: {**error, "code": "INVALID_REQUEST", "field": "adcp_version"}),
        advises=UNREFUSED_VERSIONS | rules("adcp.versions.prerelease"),
    ),
    Fault(
        "version-details-missing",
        "VERSION_UNSUPPORTED does not say which versions are served.",
        _versions_refused(without("details")),
        advises=rules("adcp.versions.refusal-details"),
    ),
)
