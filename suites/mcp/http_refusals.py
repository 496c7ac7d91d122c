"""Streamable HTTP: what a server has to refuse, and how."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http_subjects import METHOD_NOT_FOUND, error_code
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, STATELESS_REVISION
from pytest_adcp.harness.sources import json_rpc, mcp
from pytest_adcp.harness.subjects import HttpProbed, Reply

from .http_replies import WITH_VERSION_HEADER, came, is_within_reach, plain_answer
from .replies import is_meant_as_response

PARSE_ERROR = -32700

_EXACT = ("2025-11-25", STATELESS_REVISION)  # revisions that ask for 403, not for any refusal


@rule(
    "mcp.http.origin",
    level=Level.MUST,
    source=mcp("basic/transports", "security-warning"),
    probes=[HttpProbe.ORIGIN_FOREIGN, HttpProbe.ORIGIN_NULL],
)
def foreign_origins_are_refused(http_probe: HttpProbed) -> None:
    """Requests with a foreign Origin are refused with HTTP 403; requests without Origin are served.

    Answer 403 to every Origin but those of your own pages. FastMCP: run(transport="http", host_origin_protection=True,
    allowed_hosts=[...]). Python SDK: TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=[...],
    allowed_origins=[...]). Both refuse every host that is not listed. TypeScript: enableDnsRebindingProtection, or the
    hostHeaderValidation middleware.
    """
    reply = http_probe.reply
    if reply.status == 403:
        return
    plain_answer(http_probe)
    sent = next(v for n, v in http_probe.exchange.request.headers if n.lower() == "origin")
    refused = 400 <= reply.status < 500
    if refused and http_probe.revision not in _EXACT:
        return
    elsewhere = (
        ""
        if is_within_reach(reply)
        else "a server that any page may call can say that no origin is foreign to it"
    )
    raise Broken(
        "HTTP 403",
        came(reply),
        because=f"a request with Origin: {sent} is refused with HTTP {reply.status}; from 2025-11-25 it is 403"
        if refused
        else f"a request with Origin: {sent} is served: any page that a user of this machine or network has open can call "
        "the server through the browser (DNS rebinding). Official SDKs leave this open by default",
        lenient=elsewhere,
    )


@rule(
    "mcp.lifecycle.version-header",
    level=Level.MUST,
    source=mcp("basic/transports", "protocol-version-header"),
    revisions=WITH_VERSION_HEADER,
    probes=[HttpProbe.VERSION_JUNK, HttpProbe.VERSION_1999],
)
def unknown_versions_are_bad_requests(http_probe: HttpProbed) -> None:
    """Requests with an MCP-Protocol-Version that is invalid or not supported get HTTP 400.

    Compare the header, where it is there, with the revisions that you speak before the request is handled, and answer
    400 to any other value.
    """
    reply = http_probe.reply
    if reply.status == 400:
        return
    plain_answer(http_probe)
    sent = next(v for n, v in http_probe.exchange.request.headers if n.lower() == "mcp-protocol-version")
    refused = reply.status > 400
    raise Broken(
        "HTTP 400",
        came(reply),
        because=f"a request with MCP-Protocol-Version: {sent} "
        + (
            f"is refused with HTTP {reply.status}, not 400"
            if refused
            else "is served; a client of a later revision gets an answer that may mean something else to it"
        ),
        lenient="it is refused all the same" if refused else "",
    )


@rule(
    "mcp.jsonrpc.malformed", level=Level.MUST, source=json_rpc("error_object"), probes=[HttpProbe.MALFORMED]
)
def malformed_bodies_are_refused(http_probe: HttpProbed) -> None:
    """Bodies that are no JSON are refused.

    Answer HTTP 400 with {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}, and do
    nothing else with the body.
    """
    reply = http_probe.reply
    if reply.status < 400 and "error" not in (reply.response or {}):
        raise Broken(
            f"HTTP 400 with JSON-RPC error {PARSE_ERROR}",
            came(reply),
            because="a body that ends in the middle of its JSON is taken for good; a client never learns that its request "
            "was cut on the way",
        )


@rule(
    "mcp.jsonrpc.parse-error",
    level=Level.SHOULD,
    source=json_rpc("error_object"),
    probes=[HttpProbe.MALFORMED],
)
def malformed_bodies_get_a_parse_error(http_probe: HttpProbed) -> None:
    """Bodies that are no JSON get JSON-RPC error -32700 with id null, or without an id, under an HTTP error status below 500.

    Parse the body yourself, or give the framework's JSON middleware an error handler that answers this way: its own
    answer is often an HTML page (express.json()) or HTTP 500.
    """
    reply = http_probe.reply
    if reply.status < 400 and "error" not in (reply.response or {}):
        raise NotApplicable("the body was not refused; mcp.jsonrpc.malformed looks at it")
    if reply.status >= 500:
        because = f"a body that is no JSON makes the server fail (HTTP {reply.status}), which reads as its own fault"
    elif _code(reply) != PARSE_ERROR:
        because = f"a body that is no JSON is refused without JSON-RPC error {PARSE_ERROR}, so a client does not learn why"
    elif (reply.response or {}).get("id") is not None:
        because = (
            "the id of a body that could not be read is made up; a client may take it for one of its own"
        )
    else:
        return
    raise Broken(f"HTTP 400 with JSON-RPC error {PARSE_ERROR} and id null", came(reply), because=because)


@rule(
    "mcp.jsonrpc.batch",
    level=Level.SHOULD,
    source=mcp("basic", "batching", "2025-03-26"),
    probes=[HttpProbe.BATCH],
)
def batches_are_for_march_2025(http_probe: HttpProbed) -> None:
    """Batches are answered in sessions of 2025-03-26, and refused in any later revision.

    Read an array of messages in sessions of 2025-03-26 and answer with an array, or do not offer that revision; answer
    400 and -32600 to an array otherwise.
    """
    reply = http_probe.reply
    answered = 200 <= reply.status < 300 and any("result" in message for message in _messages(reply))
    if http_probe.revision == HANDSHAKE_REVISIONS[0]:
        if not answered:
            raise Broken(
                "an array of two responses",
                came(reply),
                because="the server agreed to speak 2025-03-26 and refuses a batch, which clients of it may send",
            )
    elif answered:
        raise Broken(
            "HTTP 400",
            came(reply),
            because=f"the server answers a batch in a session of {http_probe.revision}, where a body is one message; no "
            "other server will",
        )


@rule(
    "mcp.jsonrpc.unknown-method",
    level=Level.MUST,
    source=json_rpc("error_object"),
    revisions=HANDSHAKE_REVISIONS,  # from then on mcp.http.method-not-found looks at status and code
    probes=[HttpProbe.UNKNOWN_METHOD],
)
def unknown_methods_are_not_found(http_probe: HttpProbed) -> None:
    """Requests for a method that the server does not have get JSON-RPC error -32601.

    Answer {"error": {"code": -32601, "message": "Method not found"}} in the default branch of the dispatcher, with the
    request's id.
    """
    reply = http_probe.reply
    plain_answer(http_probe)
    if _code(reply) == METHOD_NOT_FOUND:
        return
    answered = "result" in (reply.response or {}) and "error" not in (reply.response or {})
    raise Broken(
        f"JSON-RPC error {METHOD_NOT_FOUND}",
        came(reply),
        because="a method that does not exist is answered with a result; a client takes the feature for there"
        if answered
        else "a method that does not exist is refused with something else, so a client cannot tell it from a bad request",
        lenient="" if answered else "it is refused all the same",
    )


@rule(
    "mcp.jsonrpc.unknown-notification",
    level=Level.MUST,
    source=mcp("basic", "notifications"),
    probes=[HttpProbe.UNKNOWN_NOTIFICATION],
)
def unknown_notifications_are_not_answered(http_probe: HttpProbed) -> None:
    """Notifications that the server does not know get HTTP 202, or an HTTP error; never a JSON-RPC response.

    Answer every message without an id before it comes to the code that makes responses, "method not found" too.
    """
    reply = http_probe.reply
    answers = [message for message in _messages(reply) if is_meant_as_response(message)]
    if reply.status < 400 and answers:
        raise Broken(
            "HTTP 202 without a body, or HTTP 4xx",
            came(reply),
            because="a notification that the server does not know is answered with a JSON-RPC message; no client waits for "
            "one, and newer clients send notifications that older servers do not know",
        )


def _code(reply: Reply) -> object:
    """Return the code of a JSON-RPC error; None where there is none.

    Raises:
        NotApplicable: it is no number.
    """
    code = error_code(reply)
    if code is not None and not isinstance(code, int | float):
        raise NotApplicable("the error's code is no number; mcp.jsonrpc.error-object looks at such codes")
    return code


def _messages(reply: Reply) -> list[Mapping[str, object]]:
    """Return the JSON objects that came, those of a batch too."""
    values = [document.parsed.value for document in reply.documents]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in flat if isinstance(item, Mapping)]
