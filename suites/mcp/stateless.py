"""MCP 2026-07-28, where there is no session and every request describes itself. Tried where server/discover lists it."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.calls import Variant
from pytest_adcp.harness.modern import Modern, Varied
from pytest_adcp.harness.probes.stateless import NO_SUCH_VERSION
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.text import quote

_INVALID_PARAMS = -32602
_METHOD_NOT_FOUND = -32601
_HEADER_MISMATCH = -32020
_UNSUPPORTED_VERSION = -32022

_ASKING = ("tools/call", "prompts/get", "resources/read")
_CACHED = ("tools/list", "server/discover")
_CHANGED = {
    Variant.NO_METHOD: "has no Mcp-Method header",
    Variant.NO_NAME: "has no Mcp-Name header",
    Variant.NO_VERSION: "has no MCP-Protocol-Version header",
    Variant.OTHER_VERSION: "names one version in MCP-Protocol-Version and another in _meta",
}
_LACKING = {
    Variant.NO_META: "params._meta",
    Variant.NO_CAPABILITIES: "clientCapabilities in params._meta",
}


def _basic(anchor: str) -> str:
    return mcp("basic/index", anchor, revision=STATELESS_REVISION)


def _transport(anchor: str) -> str:
    return mcp("basic/transports/streamable-http", anchor, revision=STATELESS_REVISION)


# -- results ---------------------------------------------------------------------------------------------------


@rule("mcp.result.result-type", level=Level.MUST, source=_basic("resulttype"))
def results_say_their_type(modern: Modern) -> None:
    """Each result has a resultType: "complete", "input_required", or one of an extension that server/discover names.

    Add "resultType": "complete" to every result, also to those of tools/list and server/discover; an SDK for 2026-07-28
    does it.
    """
    value = modern.result.get("resultType")
    if value in ("complete", "input_required") or (isinstance(value, str) and value and modern.extended):
        return
    raise Broken(
        '"complete" or "input_required"',
        modern.show("resultType"),
        at="/result/resultType",
        because=f"the result of {modern.method} does not say of which type it is; a client takes it for one of an older version"
        if value is None
        else f"the result of {modern.method} has the resultType {quote(value, 40)}, which a client must take for invalid",
    )


@rule(
    "mcp.result.input-required",
    level=Level.MUST,
    source=mcp("basic/patterns/mrtr", "supported-requests", revision=STATELESS_REVISION),
)
def input_is_asked_for_where_it_may_be(modern: Modern) -> None:
    """Only tools/call, prompts/get and resources/read ask for input, with what the client declared that it has.

    Return "complete" from all other methods. Put inputRequests or requestState into a result that asks for input, and answer
    HTTP 400 with -32021 where the client declared no capability for what is asked.
    """
    if modern.result.get("resultType") != "input_required":
        raise NotApplicable("the result asks for no input")
    if modern.method not in _ASKING:
        raise Broken(
            '"resultType": "complete"',
            modern.show("resultType"),
            at="/result/resultType",
            because=f"{modern.method} asks the client for input, which only {', '.join(_ASKING)} may",
        )
    asked = modern.result.get("inputRequests")
    if asked is None and "requestState" not in modern.result:
        raise Broken(
            "inputRequests or requestState",
            quote(modern.result),
            at="/result",
            because="the result asks for input and does not say for which, so a client has nothing to send again",
        )
    if asked:
        raise Broken(
            "no inputRequests, or HTTP 400 with the error -32021",
            modern.show("inputRequests"),
            at="/result/inputRequests",
            because="the result asks the client for something that it declared no capability for, so the call cannot go on",
        )


@rule(
    "mcp.result.cache",
    level=Level.MUST,
    source=mcp("server/utilities/caching", revision=STATELESS_REVISION),
)
def lists_say_how_long_they_hold(modern: Modern) -> None:
    """Complete results of tools/list and server/discover have ttlMs, an integer of 0 or more, and cacheScope.

    Add "ttlMs": 0 where a result must not be kept, else the milliseconds that it may be, and "cacheScope": "public", or
    "private" where it depends on the caller.
    """
    _need_cached(modern)
    ttl, scope = modern.result.get("ttlMs"), modern.result.get("cacheScope")
    if not _is_count(ttl):
        raise Broken(
            "an integer of 0 or more",
            modern.show("ttlMs"),
            at="/result/ttlMs",
            because=f"the result of {modern.method} has no ttlMs that a client can use; strict clients refuse the result",
        )
    if scope not in ("public", "private"):
        raise Broken(
            '"public" or "private"',
            modern.show("cacheScope"),
            at="/result/cacheScope",
            because=f"the result of {modern.method} does not say who may share it; strict clients refuse the result",
        )


@rule(
    "mcp.result.cache-scope",
    level=Level.MUST,
    source=mcp("server/utilities/caching", revision=STATELESS_REVISION),
)
def pages_have_one_scope(modern: Modern) -> None:
    """All pages of a list have the same cacheScope.

    Decide it for the list, not for a page: "private" for all of them, if one depends on the caller.
    """
    _need_cached(modern)
    if modern.first is None:
        raise NotApplicable("it is not a further page of a list")
    scope, first = modern.result.get("cacheScope"), modern.first.get("cacheScope")
    if scope != first:
        raise Broken(
            f"{quote(first, 40)}, as on the first page",
            modern.show("cacheScope"),
            at="/result/cacheScope",
            because="the pages of one list have different cacheScopes, so a shared cache may give a caller a mixed list",
        )


@rule("mcp.result.server-info", level=Level.SHOULD, source=_basic("_meta"))
def results_name_the_server(modern: Modern) -> None:
    """Each result names the server in _meta, under io.modelcontextprotocol/serverInfo.

    Add {"io.modelcontextprotocol/serverInfo": {"name": ..., "version": ...}} to the _meta of every result.
    """
    meta = modern.result.get("_meta")
    info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, Mapping) else None
    if not isinstance(info, Mapping):
        raise Broken(
            "serverInfo, an object with name and version",
            modern.show("_meta"),
            at="/result/_meta",
            because=f"the result of {modern.method} does not say which server it is from, and nothing else does without "
            "initialize",
        )


# -- requests ----------------------------------------------------------------------------------------------------


@rule("mcp.lifecycle.self-contained", level=Level.MUST, source=_basic("statelessness"), probes=[Variant.LIST])
def a_request_is_enough(varied: Varied) -> None:
    """A request that describes itself is served on a new connection, whatever was sent before.

    Read the version and the capabilities out of the request's _meta each time; ask for no initialize and no
    Mcp-Session-Id.
    """
    _need_no_crash(varied)
    if not varied.is_served:
        raise Broken(
            "a result",
            varied.show(),
            because="server/discover offers MCP 2026-07-28, and a plain tools/list of that version is refused on a new "
            "connection; a client that goes by the offer gets no further",
        )


@rule(
    "mcp.http.session-ignored",
    level=Level.SHOULD,
    source=_transport("earlier-streamable-http-revisions"),
    probes=[Variant.SESSION],
)
def a_session_id_means_nothing(varied: Varied) -> None:
    """Servers that speak 2026-07-28 only ignore an Mcp-Session-Id.

    Do not look the header up where the request is of this version; clients and proxies may still send one.
    """
    if varied.server.initialize:
        raise NotApplicable("the server speaks older versions too, in which the header means something")
    _need_no_crash(varied)
    if not varied.is_served:
        raise Broken(
            "the result that the request gets without the header",
            varied.show(),
            because="tools/list is refused because of an Mcp-Session-Id, which MCP 2026-07-28 does not know",
        )


@rule(
    "mcp.lifecycle.client-info-optional",
    level=Level.MUST,
    source=_basic("_meta"),
    probes=[Variant.NO_CLIENT_INFO],
)
def clients_need_not_name_themselves(varied: Varied) -> None:
    """A request without io.modelcontextprotocol/clientInfo is served.

    Ask _meta for protocolVersion and clientCapabilities only; a client should name itself and need not.
    """
    _need_no_crash(varied)
    if not varied.is_served:
        raise Broken(
            "the result that the request gets with clientInfo",
            varied.show(),
            because="tools/list is refused to a client that does not name itself, which it need not do",
        )


@rule("mcp.lifecycle.meta-required", level=Level.MUST, source=_basic("_meta"), probes=list(_LACKING))
def requests_without_meta_are_refused(varied: Varied) -> None:
    """A request without the members that _meta has to have is refused with HTTP 400 and -32602.

    Answer HTTP 400 with the JSON-RPC error -32602 where params._meta lacks io.modelcontextprotocol/protocolVersion or
    io.modelcontextprotocol/clientCapabilities.
    """
    what = f"a tools/list without {_LACKING[varied.variant]}"
    whole = varied.variant is Variant.NO_META
    lenient = (
        "the server speaks older versions too, and may take it for a request of one of those"
        if whole and varied.server.initialize
        else ""
    )
    _need_status(varied, 400, _INVALID_PARAMS, what, lenient)
    if varied.code == _INVALID_PARAMS:
        return
    if whole and varied.code == _HEADER_MISMATCH:
        lenient = "the header and the missing _meta do not fit together either"
    raise Broken(
        f"the error {_INVALID_PARAMS}",
        varied.show(),
        at="/error/code",
        because=f"{what} is refused, but not as one with invalid params, so a client does not learn what it lacks",
        lenient=lenient,
    )


@rule(
    "mcp.http.headers-checked",
    level=Level.MUST,
    source=_transport("server-validation"),
    probes=list(_CHANGED),
)
def headers_are_compared(varied: Varied) -> None:
    """A request whose headers are missing, or say something else than the body, is refused with HTTP 400.

    Compare MCP-Protocol-Version with _meta, Mcp-Method with the method and Mcp-Name with params.name before a request is
    served: proxies act by the headers, and the server by the body.
    """
    if (status := varied.reply.status) == 400:
        return
    what = f"a request that {_CHANGED[varied.variant]}"
    refused = varied.code is not None and not varied.is_served
    came = "served" if varied.is_served else f"answered with HTTP {status}"
    raise Broken(
        f"HTTP 400 and the error {_HEADER_MISMATCH}",
        varied.show(),
        because=f"{what} is refused with {varied.code}, but under HTTP {status}; clients and proxies look for it under 400"
        if refused
        else f"{what} is {came}; who filters by the headers lets through what the body does",
        fix=f"Send the HTTP status 400 with the error {_HEADER_MISMATCH}." if refused else "",
    )


@rule(
    "mcp.http.header-code",
    level=Level.SHOULD,
    source=_transport("server-validation"),
    probes=list(_CHANGED),
)
def header_mismatches_have_their_code(varied: Varied) -> None:
    """The error for headers that are missing, or do not fit the body, is -32020.

    Answer HTTP 400 with the JSON-RPC error -32020; clients take it as the sign to look at their headers.
    """
    if varied.reply.status != 400:
        raise NotApplicable("it was not refused with HTTP 400; mcp.http.headers-checked looks at it")
    about_versions = varied.variant in (Variant.OTHER_VERSION, Variant.NO_VERSION)
    unsupported = about_versions and varied.code == _UNSUPPORTED_VERSION
    if varied.code != _HEADER_MISMATCH and not unsupported:
        raise Broken(
            f"the error {_HEADER_MISMATCH}",
            varied.show(),
            at="/error/code",
            because=f"a request that {_CHANGED[varied.variant]} is refused with another error than {_HEADER_MISMATCH}, so "
            "a client does not learn that it is about the headers",
        )


@rule(
    "mcp.lifecycle.unsupported-version",
    level=Level.MUST,
    source=_transport("protocol-version-header"),
    probes=[Variant.UNKNOWN_VERSION],
)
def unknown_versions_are_refused(varied: Varied) -> None:
    """A request of a version that the server does not speak is refused with HTTP 400, -32022 and the versions it speaks.

    Answer HTTP 400 with {"code": -32022, "data": {"supported": [...], "requested": ...}}; clients choose another version
    out of that list.
    """
    what = f"a tools/list of the version {NO_SUCH_VERSION}"
    _need_status(varied, 400, _UNSUPPORTED_VERSION, what)
    if varied.code != _UNSUPPORTED_VERSION:
        raise Broken(
            f"the error {_UNSUPPORTED_VERSION}",
            varied.show(),
            at="/error/code",
            because=f"{what} is refused with another error than {_UNSUPPORTED_VERSION}; a client takes the server for one "
            "that does not know this protocol",
        )
    error = (varied.reply.response or {})["error"]
    data = error.get("data")
    supported = data.get("supported") if isinstance(data, Mapping) else None
    if (
        not isinstance(supported, list)
        or not supported
        or not all(isinstance(item, str) for item in supported)
    ):
        raise Broken(
            "data.supported, an array of versions",
            quote(error),
            at="/error/data/supported",
            because="the error does not list the versions that the server speaks, so a client has none to go on with",
        )


@rule(
    "mcp.http.method-not-found",
    level=Level.MUST,
    source=_transport("protocol-version-header"),
    probes=[Variant.UNKNOWN_METHOD],
)
def unknown_methods_are_404(varied: Varied) -> None:
    """A request for a method that the server does not have is answered with HTTP 404 and -32601.

    Answer HTTP 404, and put the JSON-RPC error -32601 with the request's id into the body; a 404 without one looks like a
    wrong URL.
    """
    _need_status(varied, 404, _METHOD_NOT_FOUND, "a request for a method that does not exist")
    if varied.code != _METHOD_NOT_FOUND:
        raise Broken(
            f"the error {_METHOD_NOT_FOUND}",
            varied.show(),
            at="/error/code" if varied.reply.response else None,
            because=f"HTTP 404 comes without the error {_METHOD_NOT_FOUND}, so a client takes the whole endpoint for missing",
        )


def _need_no_crash(varied: Varied) -> None:
    if varied.reply.status >= 500:
        raise Blocked(f"HTTP {varied.reply.status}: the server failed")


def _need_status(varied: Varied, status: int, code: int, what: str, lenient: str = "") -> None:
    """Raise Broken unless a request was refused with an HTTP status; `what` is the request, in words."""
    if varied.reply.status == status and not varied.is_served:
        return
    came = "served" if varied.is_served else f"answered with HTTP {varied.reply.status}"
    raise Broken(
        f"HTTP {status} and the error {code}",
        varied.show(),
        because=f"{what} is {came}, and MCP 2026-07-28 asks for HTTP {status} with the error {code}",
        lenient=lenient,
    )


def _need_cached(modern: Modern) -> None:
    if modern.method not in _CACHED or modern.result.get("resultType") not in (None, "complete"):
        raise NotApplicable("it is no complete list of tools, nor a complete result of server/discover")


def _is_count(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer() and value >= 0  # 60000.0 is an integer to JSON
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
