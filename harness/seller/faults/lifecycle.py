"""Faults of the handshake and of discovery."""

from __future__ import annotations

from dataclasses import replace

from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Wire
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_method, rules

INITIALIZE_RESULT = rules("mcp.lifecycle.initialize-result")
SERVER_INFO = rules("mcp.lifecycle.server-info")


def _without(result: Json, name: str) -> Json:
    return {key: value for key, value in result.items() if key != name}


def _speaking(version: str) -> Hooks:
    """Negotiate a version that the seller does not know, and serve the clients that go on with it."""

    async def accept(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        headers = tuple(
            header for header in exchange.request.headers if header != ("mcp-protocol-version", version)
        )
        await wire.send(await answer(replace(exchange, request=replace(exchange.request, headers=headers))))

    negotiate = on_method("initialize", lambda result: {**result, "protocolVersion": version})
    return replace(negotiate, http=accept)


FAULTS = (
    Fault(
        "initialize-version-number",
        "initialize answers with a number as protocolVersion.",
        on_method("initialize", lambda result: {**result, "protocolVersion": 20251125}),
        INITIALIZE_RESULT,
    ),
    Fault(
        "initialize-capabilities-array",
        "initialize answers with an array as capabilities.",
        on_method("initialize", lambda result: {**result, "capabilities": ["tools"]}),
        INITIALIZE_RESULT,
    ),
    Fault(
        "no-server-info",
        "initialize answers without serverInfo.",
        on_method("initialize", lambda result: _without(result, "serverInfo")),
        SERVER_INFO,
        advises=rules("mcp.interop.connects"),
    ),
    Fault(
        "server-info-without-version",
        "serverInfo has no version.",
        on_method(
            "initialize", lambda result: {**result, "serverInfo": _without(result["serverInfo"], "version")}
        ),
        SERVER_INFO,
    ),
    Fault(
        "version-1999",
        "initialize negotiates the revision 1999-01-01.",
        _speaking("1999-01-01"),
        rules("mcp.lifecycle.known-version"),
    ),
    Fault(
        "version-2024",
        "initialize negotiates the revision 2024-11-05.",
        _speaking("2024-11-05"),
        # server/discover lists others, which it does not agree to either.
        rules("mcp.lifecycle.negotiation"),
        advises=rules("mcp.lifecycle.current-version"),
    ),
    Fault(
        "no-tools-capability",
        "initialize declares no tools.",
        on_method("initialize", lambda result: {**result, "capabilities": {}}),
        rules("mcp.lifecycle.tools-capability"),
    ),
    Fault(
        "discover-without-tools",
        "server/discover declares no tools.",
        on_method("server/discover", lambda result: {**result, "capabilities": {}}),
        rules("mcp.lifecycle.discover-tools"),
    ),
    Fault(
        "discover-without-versions",
        "server/discover answers without supportedVersions.",
        on_method("server/discover", lambda result: _without(result, "supportedVersions")),
        rules("mcp.lifecycle.discover-result"),
    ),
)
