"""What errors of MCP 2026-07-28 say, and what a request of it may be refused for."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.modern import ModernReply
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp

from .http_replies import came

_MISSING_CAPABILITY = -32021
_RESERVED = range(-32099, -32019)  # MCP's own
_DEFINED = {-32020, _MISSING_CAPABILITY, -32022}
_FORMER = {
    -32002: "which meant until 2025-11-25 that a resource is not found, and is -32602 now",
    -32042: "which meant in 2025-11-25 that a URL has to be visited first",
}


def _basic(anchor: str) -> str:
    return mcp("basic/index", anchor, revision=STATELESS_REVISION)


@rule("mcp.jsonrpc.error-codes", level=Level.MUST, source=_basic("error-codes"))
def codes_are_not_taken_from_mcp(modern_reply: ModernReply) -> None:
    """Errors have no code between -32099 and -32020 but the three that MCP defines, and neither -32002 nor -32042.

    Give errors of your own a code outside -32768 to -32000, or use JSON-RPC's -32602 and -32603. An SDK for 2026-07-28
    sends MCP's own three where they belong.
    """
    code = modern_reply.code
    if code is None:
        raise NotApplicable("it is no JSON-RPC error with a code that is an integer")
    # -32000 to -32019 go back to before this rule: SDKs use them, and new servers should not.
    if code in _FORMER or (code in _RESERVED and code not in _DEFINED):
        why = _FORMER.get(code, "in the range that MCP keeps for itself, and none that it defines")
        raise Broken(
            "a code that is the server's to give",
            modern_reply.show_error(),
            at="/error/code",
            because=f"the error has the code {code}, {why}; clients of 2026-07-28 may take it for something else",
        )


@rule("mcp.lifecycle.missing-capability", level=Level.MUST, source=_basic("_meta"))
def missing_capabilities_are_named(modern_reply: ModernReply) -> None:
    """The error -32021 comes with HTTP 400, and names in data.requiredCapabilities what the client lacks.

    Answer HTTP 400 with {"code": -32021, "data": {"requiredCapabilities": {"elicitation": {}}}}, an object like the
    clientCapabilities of the request.
    """
    if modern_reply.code != _MISSING_CAPABILITY:
        raise NotApplicable(f"it is no error {_MISSING_CAPABILITY}")
    status, data = modern_reply.reply.status, modern_reply.error.get("data")
    if status != 400:
        raise Broken(
            "HTTP 400",
            modern_reply.show_error(),
            because=f"the error {_MISSING_CAPABILITY} comes with HTTP {status}; clients look for it under 400",
        )
    if not isinstance(data, Mapping) or not isinstance(data.get("requiredCapabilities"), Mapping):
        raise Broken(
            "data.requiredCapabilities, an object",
            modern_reply.show_error(),
            at="/error/data/requiredCapabilities",
            because="the error does not say which capability the client lacks, so nobody can mend it",
        )


@rule("mcp.lifecycle.no-capability-needed", level=Level.SHOULD, source=_basic("_meta"))
def reads_need_no_capability(modern_reply: ModernReply) -> None:
    """Plain reads are served to a client that declares no capability.

    Do without sampling, elicitation and roots where data is only looked up, or take another way where clientCapabilities
    does not name them; most buyers' agents declare none.
    """
    if not modern_reply.is_read:
        raise NotApplicable("it is no plain read")
    if modern_reply.code == _MISSING_CAPABILITY:
        raise Broken(
            "a result",
            modern_reply.show_error(),
            at="/error/code",
            because=f"{modern_reply.reply.method} only looks something up, and is refused to a client that declares no "
            "capabilities",
        )
    if "result" not in (modern_reply.reply.response or {}):
        raise NotApplicable("it is refused for something else")


@rule(
    "mcp.lifecycle.initialize-error",
    level=Level.SHOULD,
    source=mcp(
        "basic/versioning", "backward-compatibility-with-initialization-based-versions", STATELESS_REVISION
    ),
)
def older_clients_learn_the_version(modern_reply: ModernReply) -> None:
    """Servers that speak 2026-07-28 only name the versions that they speak in their answer to initialize.

    Refuse initialize with the error -32022 and {"supported": ["2026-07-28"]} as its data, or write the version into the
    message: an older client can show nothing else to its user.
    """
    reply = modern_reply.reply
    if reply.method != "initialize":
        raise NotApplicable("it is no answer to initialize")
    body = reply.exchange.response.body.decode(errors="replace") if reply.exchange.response else ""
    if not any(version in body for version in (STATELESS_REVISION, *modern_reply.versions) if version):
        raise Broken(
            f"an error that names {STATELESS_REVISION}",
            came(reply),
            because="initialize is refused without a word on the version that the server speaks; the user of an older client "
            "does not learn why it does not connect",
        )
