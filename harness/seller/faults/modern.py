"""Faults of MCP 2026-07-28 beyond its plain requests: codes of errors, and what is left of the handshake era."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller.exchange import Exchange, Hooks
from pytest_adcp.harness.seller.handshake import SESSION_HEADER
from pytest_adcp.harness.seller.http import Reply
from pytest_adcp.harness.seller.rpc import METHOD_NOT_FOUND, Json
from pytest_adcp.harness.seller.stateless import PREFIX, VERSION

from .http import changing, instead
from .model import breaking
from .stateless import ONLY, mended, refused

MISSING_CAPABILITY = -32021
LACKING: Json = {"requiredCapabilities": {"sampling": {}}}


def _is_no_tool(exchange: Exchange) -> bool:
    return (exchange.tool or "").startswith("adcp_no_such_tool")


def _with_version(exchange: Exchange) -> Exchange:
    request = exchange.request
    meta = exchange.params.get("_meta", {})
    if request.header("mcp-protocol-version") is not None or f"{PREFIX}protocolVersion" not in meta:
        return exchange
    headers = (*request.headers, ("mcp-protocol-version", VERSION))
    return replace(exchange, request=replace(request, headers=headers))


def _said_to_initialize(says: str) -> Hooks:
    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        error = {"code": METHOD_NOT_FOUND, "message": says}
        return {**message, "error": error} if exchange.method == "initialize" else message

    return Hooks(message=hook)


def _with_session(_: Exchange, reply: Reply) -> Reply:
    return replace(reply, headers=(*reply.headers, (SESSION_HEADER, "session-of-nobody-0001")))


def _is_delete(exchange: Exchange) -> bool:
    return exchange.request.method == "DELETE"


FAULTS = (
    breaking(
        "no-version-header-served",
        "A request without MCP-Protocol-Version is served.",
        mended(_with_version),
        "mcp.http.headers-checked",
        eras=ONLY,
    ),
    breaking(
        "error-code-reserved",
        "The error for an unknown tool has a code out of MCP's own range.",
        refused(_is_no_tool, HTTPStatus.OK, -32050),
        "mcp.jsonrpc.error-codes",
        eras=ONLY,
    ),
    breaking(
        "error-code-former",
        "The error for an unknown tool has the code that resources had before.",
        refused(_is_no_tool, HTTPStatus.OK, -32002),
        "mcp.jsonrpc.error-codes",
        eras=ONLY,
    ),
    breaking(
        "capability-error-200",
        "A capability that the client lacks is asked for with HTTP 200.",
        refused(_is_no_tool, HTTPStatus.OK, MISSING_CAPABILITY, LACKING),
        "mcp.lifecycle.missing-capability",
        eras=ONLY,
    ),
    breaking(
        "capability-not-named",
        "The error for a capability that the client lacks does not name it.",
        refused(_is_no_tool, HTTPStatus.BAD_REQUEST, MISSING_CAPABILITY),
        "mcp.lifecycle.missing-capability",
        eras=ONLY,
    ),
    breaking(
        "list-needs-capability",
        "tools/list is refused to a client without sampling.",
        refused(
            lambda exchange: exchange.method == "tools/list",
            HTTPStatus.BAD_REQUEST,
            MISSING_CAPABILITY,
            LACKING,
        ),
        "mcp.lifecycle.self-contained",
        advises="mcp.lifecycle.no-capability-needed",
    ),
    breaking(
        "initialize-unexplained",
        "initialize is refused without a word on the version that is spoken.",
        _said_to_initialize("Method not found"),
        advises="mcp.lifecycle.initialize-error",
        eras=ONLY,
    ),
    breaking(
        "session-id-in-stateless-era",
        "Responses of 2026-07-28 carry a session id.",
        changing(_with_session),
        advises="mcp.http.session-none-issued",
        eras=ONLY,
    ),
    breaking(
        "delete-served",
        "DELETE is answered with 200 where there are no sessions.",
        instead(_is_delete, Reply(HTTPStatus.OK)),
        advises="mcp.http.get-refused",
        eras=ONLY,
    ),
    # Legal variants, which no client may stumble over.
    breaking(
        "capability-needed",
        "A call needs a capability that the client lacks, and says which.",
        refused(_is_no_tool, HTTPStatus.BAD_REQUEST, MISSING_CAPABILITY, LACKING),
        eras=ONLY,
    ),
    breaking(
        "error-code-of-its-own",
        "The error for an unknown tool has a code of the server's own.",
        refused(_is_no_tool, HTTPStatus.OK, 4404),
        eras=ONLY,
    ),
    breaking(
        "initialize-in-words",
        "initialize is refused with a message that names the version.",
        _said_to_initialize(f"This server speaks MCP {VERSION} only."),
        eras=ONLY,
    ),
)
