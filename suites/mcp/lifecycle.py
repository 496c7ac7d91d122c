"""The MCP lifecycle: what initialize and server/discover say about the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http import UNKNOWN_REVISION
from pytest_adcp.harness.probes.http_subjects import METHOD_NOT_FOUND, error_code
from pytest_adcp.harness.probes.stateless import serves_stateless
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, OLD_REVISION, STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Handshake, HttpProbed, Reply
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.transcript import Era

from .http_replies import came
from .replies import OWN_REFUSALS

_REVISIONS = (OLD_REVISION, *HANDSHAKE_REVISIONS, STATELESS_REVISION)


@rule("mcp.lifecycle.initialize", level=Level.MUST, source=mcp("basic/lifecycle", "initialization"))
def initialize_is_served(opening: Reply) -> None:
    """Servers answer initialize with a result, although it carries neither a version header nor a session id.

    Take initialize out of whatever checks MCP-Protocol-Version, Mcp-Session-Id or an earlier initialize: it is the first
    request of every client. A server of 2026-07-28 alone refuses it, and answers server/discover.
    """
    if opening.server.era is Era.STATELESS:
        raise NotApplicable("the server speaks MCP 2026-07-28, which has no initialize")
    response = opening.response
    if response is not None and "result" in response:
        return
    if opening.status not in OWN_REFUSALS and response is None:
        raise NotApplicable("no answer of an MCP server came; mcp.jsonrpc.answered looks at it")
    asks = next(
        (
            f", and names {header}, which no client has before it is answered"
            for header in ("MCP-Protocol-Version", "Mcp-Session-Id")
            if header.lower() in came(opening).lower()
        ),
        "",
    )
    raise Broken(
        "a result with protocolVersion, capabilities and serverInfo",
        came(opening),
        because=f"the server refuses initialize (HTTP {opening.status}){asks}; no client comes further than that",
    )


@rule("mcp.lifecycle.initialize-result", level=Level.MUST, source=mcp("basic/lifecycle", "initialization"))
def initialize_names_version_and_capabilities(handshake: Handshake) -> None:
    """Each result of initialize has a protocolVersion, a string, and capabilities, an object.

    Leave initialize to the SDK (FastMCP and the TypeScript SDK's McpServer answer it), or return both
    members. In PHP an empty array becomes []: write capabilities as new stdClass() or as an array with names
    in it.
    """
    _expect(handshake, "protocolVersion", str, "a string", "what to speak")
    _expect(handshake, "capabilities", Mapping, "an object", "what it may ask for")


@rule("mcp.lifecycle.server-info", level=Level.MUST, source=mcp("basic/lifecycle", "initialization"))
def initialize_names_the_server(handshake: Handshake) -> None:
    """Each result of initialize has a serverInfo with a name and a version, both strings.

    Pass both where the server is made: FastMCP("my-seller", version="1.4.0"), or
    new McpServer({name: "my-seller", version: "1.4.0"}).
    """
    _expect(handshake, "serverInfo", Mapping, "an object", "whom it talks to")
    for member in ("name", "version"):
        _expect(handshake, member, str, "a string", "whom it talks to", within="serverInfo")


@rule("mcp.lifecycle.known-version", level=Level.MUST, source=mcp("basic/lifecycle", "version-negotiation"))
def the_version_exists(handshake: Handshake) -> None:
    """Servers answer initialize with a published revision of MCP as protocolVersion.

    Answer the version that the client offered where you speak it, else the newest that you speak. Do not echo
    whatever comes, and do not put your own version number there; an SDK negotiates it for you.
    """
    version = _version(handshake)
    if version not in _REVISIONS:
        raise Broken(
            f"one of {', '.join(_REVISIONS)}",
            quote(version),
            at="/result/protocolVersion",
            because=f"the server wants to speak MCP {quote(version, 40)}, which is no published revision; "
            "clients end the connection there",
        )


@rule(
    "mcp.lifecycle.current-version", level=Level.SHOULD, source=mcp("basic/lifecycle", "version-negotiation")
)
def the_version_knows_streamable_http(handshake: Handshake) -> None:
    """Servers speak a revision of MCP that has Streamable HTTP, 2025-03-26 or newer.

    Update the MCP SDK (mcp or fastmcp from PyPI, @modelcontextprotocol/sdk from npm); structuredContent,
    which AdCP data rides in, came with 2025-06-18.
    """
    version = _version(handshake)
    if version not in _REVISIONS:
        raise NotApplicable(
            f"{quote(version, 40)} is no revision of MCP; mcp.lifecycle.known-version looks at it"
        )
    if version == OLD_REVISION:
        raise Broken(
            f"{HANDSHAKE_REVISIONS[0]} or newer",
            quote(version),
            at="/result/protocolVersion",
            because=f"{HANDSHAKE_REVISIONS[-1]} was offered and the server chose {OLD_REVISION}, which knows "
            "neither this transport nor structuredContent; a client that keeps to it reads AdCP data from "
            "the text alone",
        )


@rule("mcp.lifecycle.tools-capability", level=Level.MUST, source=mcp("server/tools", "capabilities"))
def tools_are_declared(handshake: Handshake) -> None:
    """Servers that list tools declare capabilities.tools, an object.

    Add "tools": {} to the capabilities of the initialize result. The SDKs do it once a tool is registered;
    with their low-level Server, register the tools/list handler before the server connects (TypeScript:
    capabilities: {tools: {}}).
    """
    _expect_tools(handshake)


@rule(
    "mcp.lifecycle.discover-result",
    level=Level.MUST,
    source=mcp("server/discover", revision=STATELESS_REVISION),
)
def discover_names_versions_and_capabilities(discovery: Handshake) -> None:
    """Each result of server/discover has supportedVersions, an array of strings, and capabilities, an object.

    Return both, or answer -32601 (method not found) where the server does not speak 2026-07-28: a result,
    even an empty one, says that it does.
    """
    if discovery.exchange.response is None or discovery.exchange.response.status != 200:
        raise NotApplicable("a server that does not know server/discover may refuse it in any form")
    _expect(discovery, "supportedVersions", list, "an array", "which revision to speak")
    versions = discovery.result["supportedVersions"]
    for index, version in enumerate(versions):
        if not isinstance(version, str):
            raise Broken(
                "strings",
                quote(versions),
                at=f"/result/supportedVersions/{index}",
                because="supportedVersions holds something else than strings, and typed clients refuse the "
                "whole result",
            )
    _expect(discovery, "capabilities", Mapping, "an object", "what it may ask for")


@rule(
    "mcp.lifecycle.discover-tools",
    level=Level.MUST,
    source=mcp("server/tools", "capabilities", STATELESS_REVISION),
)
def tools_are_declared_to_discover(discovery: Handshake) -> None:
    """Servers that list tools declare capabilities.tools, an object, in server/discover.

    Add "tools": {} to the capabilities of the server/discover result, as to those of initialize.
    """
    if not serves_stateless(discovery.result):
        raise NotApplicable(f"server/discover does not list {STATELESS_REVISION}")
    _expect_tools(discovery)


@rule(
    "mcp.lifecycle.negotiation",
    level=Level.MUST,
    source=mcp("basic/lifecycle", "version-negotiation"),
    probes=[
        HttpProbe.INITIALIZE_UNKNOWN,
        HttpProbe.INITIALIZE_JUNE,
        HttpProbe.INITIALIZE_MARCH,
        HttpProbe.INITIALIZE_OLD,
    ],
)
def versions_are_negotiated(http_probe: HttpProbed) -> None:
    """Servers answer initialize with the version that was offered where they speak it, else with one that they do speak.

    Write return offered if offered in SUPPORTED else SUPPORTED[-1], or leave initialize to the SDK. An unknown version is
    no error: the client decides whether it can go on with yours.
    """
    params = http_probe.reply.sent.get("params")
    offered = params.get("protocolVersion") if isinstance(params, Mapping) else None
    response = http_probe.reply.response or {}
    result = response.get("result")
    if not isinstance(result, Mapping):
        if offered != UNKNOWN_REVISION:
            raise NotApplicable("the server opens no further session with this version")
        raise Broken(
            "a result with a version that the server speaks",
            came(http_probe.reply),
            because=f"initialize with {offered}, which the server cannot know, is refused; a newer client that speaks older "
            "versions too does not learn which",
            lenient="an example in the specification answers with an error",
        )
    version = result.get("protocolVersion")
    if version not in (offered, *_REVISIONS):
        raise NotApplicable("what it answers is no revision of MCP; mcp.lifecycle.known-version looks at it")
    if version == offered == UNKNOWN_REVISION:
        raise Broken(
            "a version that the server speaks",
            quote(version),
            at="/result/protocolVersion",
            because=f"the server agrees to speak {offered}, which does not exist: it echoes what is offered, and a newer "
            "client takes it for newer than it is",
        )
    if version != offered and offered in http_probe.versions:
        raise Broken(
            quote(offered),
            quote(version),
            at="/result/protocolVersion",
            because=f"the server speaks {offered}, as it says elsewhere, and does not agree to it when it is offered; "
            "clients that speak nothing else end the connection",
        )


@rule(
    "mcp.lifecycle.ping",
    level=Level.MUST,
    source=mcp("basic/utilities/ping"),
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.PING],
)
def pings_are_answered(http_probe: HttpProbed) -> None:
    """Each ping gets an empty result, {}, whatever the server has to offer beside.

    Answer "ping" with {"result": {}} in the dispatcher, before any check of capabilities; the SDKs do it. PHP writes an
    empty array as []: use new stdClass().
    """
    response = http_probe.reply.response or {}
    if not isinstance(response.get("result", {}), Mapping):
        raise NotApplicable("the result is not an object; mcp.jsonrpc.result-object looks at it")
    if "result" in response and "error" in response:
        raise NotApplicable("there is an error beside the result; mcp.jsonrpc.result-or-error looks at it")
    if "result" not in response:
        raise Broken(
            '"result": {}',
            came(http_probe.reply),
            because="ping is not answered with an empty result; clients that watch over their connections by it end this "
            "one",
        )


@rule(
    "mcp.lifecycle.capabilities-served",
    level=Level.SHOULD,
    source=mcp("basic/lifecycle", "capability-negotiation"),
    probes=[HttpProbe.RESOURCES, HttpProbe.PROMPTS, HttpProbe.COMPLETIONS, HttpProbe.LOGGING],
)
def declared_capabilities_are_served(http_probe: HttpProbed) -> None:
    """Servers have the methods of each capability that they declare.

    Declare only what has a handler, or answer resources/list and prompts/list with empty lists.
    """
    if error_code(http_probe.reply) == METHOD_NOT_FOUND:
        method = http_probe.reply.method
        raise Broken(
            f"a result of {method}, or no such capability",
            came(http_probe.reply),
            because=f"the server declares a capability and does not know its method {method}; clients ask for it at the "
            "start, and show the error to the user",
        )


def _expect_tools(handshake: Handshake) -> None:
    capabilities = handshake.result.get("capabilities")
    if not handshake.server.tools:
        raise NotApplicable("the server lists no tool")
    if not isinstance(capabilities, Mapping):
        raise NotApplicable("capabilities is no object; another rule looks at that")
    if not isinstance(capabilities.get("tools"), Mapping):
        raise Broken(
            '"tools": {} in the capabilities',
            f"capabilities {quote(capabilities)}",
            at="/result/capabilities/tools" if "tools" in capabilities else "/result/capabilities",
            because="the server lists tools and does not declare them; a client that goes by the "
            "capabilities never asks for the list and shows a server without tools",
        )


def _version(handshake: Handshake) -> str:
    version = handshake.result.get("protocolVersion")
    if not isinstance(version, str):
        raise NotApplicable("protocolVersion is no string; mcp.lifecycle.initialize-result looks at it")
    return version


def _expect(
    handshake: Handshake, member: str, kind: type[Any], expected: str, meaning: str, *, within: str = ""
) -> None:
    """Raise Broken unless a member of the result, or of an object in it, is of a kind."""
    place = handshake.result[within] if within else handshake.result
    path = f"{within}/{member}" if within else member
    if not isinstance(place.get(member), kind):
        raise Broken(
            expected,
            quote(place[member]) if member in place else "no such member",
            at=f"/result/{path}",
            because=f"{path.replace('/', '.')} is not {expected}, so a client does not learn {meaning}; "
            "the official clients end the connection",
        )
