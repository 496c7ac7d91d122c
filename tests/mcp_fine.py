"""Answers that break no MCP rule, though some look as if they did, and what one rule says to each of them."""

from __future__ import annotations

from evidence import Http, answered, rpc_error, stream, surveyed, tool_result
from mcp_answers import (
    ERROR,
    GOOD,
    PRODUCTS,
    block,
    discovery,
    handshake,
    notified,
    pages,
    text,
    unknown,
    without,
)
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.verdict import Outcome

PASSED, BLOCKED, NA = Outcome.PASSED, Outcome.BLOCKED, Outcome.NOT_APPLICABLE
CALL = "get_products/brief"
UNKNOWN = "probe/unknown-tool"

# What breaks nothing in the four families, and what a rule says to it.
FINE: dict[str, tuple[Evidence, str, str, Outcome]] = {
    "good": (answered(GOOD), "jsonrpc.answered", CALL, PASSED),
    "charset and capitals": (
        answered(GOOD, content_type="Application/JSON; charset=UTF-8"), "jsonrpc.answered", CALL, PASSED
    ),
    "wrong content type, good JSON": (answered(GOOD, content_type="text/plain"), "jsonrpc.json", CALL, PASSED),
    "good event": (answered(stream(GOOD), content_type="text/event-stream"), "jsonrpc.answered", CALL, PASSED),
    "priming event": (
        answered(b"id: 1\ndata:\n\n" + stream(GOOD), content_type="text/event-stream"), "jsonrpc.json", CALL, PASSED
    ),
    "progress and ping before the response": (
        answered(
            stream(
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
                {"jsonrpc": "2.0", "id": "call-7", "method": "ping"},
                GOOD,
            ),
            content_type="text/event-stream",
        ),
        "jsonrpc.id", CALL, PASSED,
    ),
    "response of another request before ours": (
        answered(stream(without(id="other"), GOOD), content_type="text/event-stream"), "jsonrpc.id", CALL, PASSED
    ),
    "several lines of data, CR": (
        answered(stream(GOOD).replace(b'": ', b'":\ndata: ').replace(b"\n", b"\r"), content_type="text/event-stream"),
        "jsonrpc.json", CALL, PASSED,
    ),
    "U+2028 and umlauts": (
        answered(text('{"content": [{"type": "text", "text": "Z\u00fcrich \u2028 \U0001f600"}]}')),
        "jsonrpc.utf8", CALL, PASSED,
    ),
    "paired surrogates": (
        answered(text(r'{"content": [{"type": "text", "text": "\ud83d\ude00"}]}')), "jsonrpc.portable", CALL, PASSED
    ),
    "2^53": (answered(text('{"content": [], "_meta": {"n": 9007199254740992}}')), "jsonrpc.portable", CALL, PASSED),
    "200 levels": (
        answered(text('{"content": [], "_meta": {"n": ' + "[" * 197 + "]" * 197 + "}}")),
        "jsonrpc.portable", CALL, PASSED,
    ),
    "same name in two objects": (
        answered(text('{"content": [], "_meta": {"a": 1, "b": {"a": 2}}}')), "jsonrpc.unique-names", CALL, PASSED
    ),
    "NaN in a text block": (block({"type": "text", "text": '{"cpm": NaN}'}), "jsonrpc.json", CALL, PASSED),
    "white space round JSON": (answered(b" \n" + text('{"content": []}') + b"\n"), "jsonrpc.json", CALL, PASSED),
    "HTML is no JSON": (
        answered(b"nope", status=404, content_type="text/html"), "jsonrpc.json", CALL, NA
    ),
    "empty string as id": (tool_result(PRODUCTS, request_id=""), "jsonrpc.id", CALL, PASSED),
    "0 as id": (tool_result(PRODUCTS, request_id=0), "jsonrpc.id", CALL, PASSED),
    "large number as id": (tool_result(PRODUCTS, request_id=2**53 - 1), "jsonrpc.id", CALL, PASSED),
    "error with 200": (rpc_error(ERROR), "jsonrpc.id", CALL, PASSED),
    "error with 404 and the id": (rpc_error(ERROR, status=404), "jsonrpc.refusal-id", CALL, PASSED),
    "error with 400 and id null": (
        answered(without("result", id=None, error=ERROR), status=400), "jsonrpc.refusal-id", CALL, PASSED
    ),
    "error with 400 and no id": (
        answered(without("result", "id", error=ERROR), status=400), "jsonrpc.answered", CALL, PASSED
    ),
    "refusals are no matter for id": (
        answered(without("result", id=None, error=ERROR), status=400), "jsonrpc.id", CALL, NA
    ),
    "results are no refusals": (answered(GOOD), "jsonrpc.refusal-id", CALL, NA),
    "code with a zero fraction": (
        answered(b'{"jsonrpc":"2.0","id":"call-7","error":{"code":-32602.0,"message":""}}'),
        "jsonrpc.error-object", CALL, PASSED,
    ),
    "error with data": (rpc_error(ERROR | {"data": {"adcp_error": {}}}), "jsonrpc.error-object", CALL, PASSED),
    "version": (answered(GOOD), "jsonrpc.version", CALL, PASSED),
    "empty result": (answered(text('{"content": []}')), "jsonrpc.result-object", CALL, PASSED),
    "extra members of the message": (answered(without(_trace="t")), "jsonrpc.result-or-error", CALL, PASSED),
    # -- who answers -----------------------------------------------------------------------------------------
    "404 of a proxy": (
        answered(b"404 page not found", status=404, content_type="text/plain"), "jsonrpc.answered", CALL, BLOCKED
    ),
    "404 of a web framework": (answered({"detail": "Not Found"}, status=404), "jsonrpc.answered", CALL, BLOCKED),
    "421 for a host name": (
        answered(b"Invalid Host header", status=421, content_type="text/plain"), "jsonrpc.answered", CALL, BLOCKED
    ),
    "413": (answered(b"", status=413, content_type=""), "jsonrpc.answered", CALL, BLOCKED),
    "520": (answered(b"<html>", status=520, content_type="text/html"), "jsonrpc.answered", CALL, BLOCKED),
    "connection lost on the stream": (
        answered(b": ping\n\n", content_type="text/event-stream", end=End.RESET), "jsonrpc.answered", CALL, BLOCKED
    ),
    "stream to be resumed": (
        answered(b"id: 1\nretry: 10\ndata:\n\n", content_type="text/event-stream"), "jsonrpc.answered", CALL, BLOCKED
    ),
    "sent again": (
        answered(b"session expired", status=400, content_type="", retried=True), "jsonrpc.answered", f"{CALL}@1", NA
    ),
    # -- the other era ---------------------------------------------------------------------------------------
    "discover refused in JSON-RPC": (surveyed(Http(GOOD)), "jsonrpc.answered", "server/discover", PASSED),
    "discover refused in text": (
        surveyed(Http(GOOD), discover=Http(b"Bad Request: no session", 400, "text/plain")),
        "jsonrpc.answered", "server/discover", NA,
    ),
    "discover refused by the route": (
        surveyed(Http(GOOD), discover=Http(b"", 405, "")), "jsonrpc.answered", "server/discover", NA
    ),
    "discover crashes an old server": (
        surveyed(Http(GOOD), discover=Http(b"<h1>500</h1>", 500, "text/html")),
        "jsonrpc.answered", "server/discover", NA,
    ),
    "discover refused in bad JSON": (
        surveyed(Http(GOOD), discover=Http(b"{'error': 'no'}", 400)), "jsonrpc.json", "server/discover", NA
    ),
    "discover refused in bad JSON-RPC": (
        surveyed(Http(GOOD), discover=Http({"id": None, "error": "no"}, 400)),
        "jsonrpc.error-object", "server/discover", NA,
    ),
    "discover refused in another way": (
        surveyed(Http(GOOD), discover=Http({"error": "unknown method"}, 400)),
        "jsonrpc.answered", "server/discover", NA,
    ),
    "discover accepted with 202": (
        surveyed(Http(GOOD), discover=Http(b"", 202, "")), "jsonrpc.answered", "server/discover", NA
    ),
    "initialize refused by a stateless server": (
        surveyed(Http(GOOD), revision="2026-07-28", initialize=Http(b"gone", 400, "text/plain")),
        "jsonrpc.answered", "initialize", NA,
    ),
    # The rules of mcp.sse and mcp.http look at a response that is there and hidden from clients.
    "last event not ended": (
        answered(stream(GOOD).removesuffix(b"\n"), content_type="text/event-stream"), "jsonrpc.answered", CALL, NA
    ),
    "events as JSON": (answered(stream(GOOD)), "jsonrpc.json", CALL, NA),
    "JSON as events": (answered(GOOD, content_type="text/event-stream"), "jsonrpc.answered", CALL, NA),
    "unknown tool with 404": (
        unknown({"error": ERROR}, 404), "jsonrpc.answered", UNKNOWN, PASSED
    ),
    # -- notifications ---------------------------------------------------------------------------------------
    "notification accepted": (surveyed(Http(GOOD)), "jsonrpc.notification", "notifications/initialized", PASSED),
    "notification refused": (
        notified({"jsonrpc": "2.0", "error": ERROR}, 400), "jsonrpc.notification", "notifications/initialized", PASSED
    ),
    "notification refused with the old constant": (
        notified({"jsonrpc": "2.0", "id": "server-error", "error": ERROR}, 400),
        "jsonrpc.notification", "notifications/initialized", PASSED,
    ),
    "body that is no JSON-RPC": (
        notified({"status": "ok"}, 202), "jsonrpc.notification", "notifications/initialized", PASSED
    ),
    "text body": (notified(b"Accepted", 202, ""), "jsonrpc.notification", "notifications/initialized", PASSED),
    # -- lifecycle -------------------------------------------------------------------------------------------
    "initialize": (handshake(), "lifecycle.initialize-result", "initialize", PASSED),
    "extra members of initialize": (
        handshake(instructions=None, serverInfo={"name": "s", "version": "", "title": "S"}),
        "lifecycle.server-info", "initialize", PASSED,
    ),
    "invented capabilities": (
        handshake(capabilities={"tools": {"list": True, "call": True}, "adcp": 1}),
        "lifecycle.tools-capability", "initialize", PASSED,
    ),
    "2025-03-26": (handshake(protocolVersion="2025-03-26"), "lifecycle.current-version", "initialize", PASSED),
    "2026-07-28 from initialize": (
        handshake(protocolVersion="2026-07-28"), "lifecycle.known-version", "initialize", PASSED
    ),
    "no tool, none declared": (
        surveyed(tools=[], initialize=Http({"jsonrpc": "2.0", "id": "init-1", "result": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}})),
        "lifecycle.tools-capability", "initialize", NA,
    ),
    "discover": (
        surveyed(Http(GOOD), revision="2026-07-28"), "lifecycle.discover-result", "server/discover", PASSED
    ),
    "discover result under an HTTP error": (
        discovery({}, 404), "lifecycle.discover-result", "server/discover", NA
    ),
    "no discover": (surveyed(Http(GOOD)), "lifecycle.discover-result", "-", NA),
    # -- tools -----------------------------------------------------------------------------------------------
    "names that differ": (pages(["a", "A"], ["b"]), "tools.unique-names", "tools/list", PASSED),
    "no tools": (pages([]), "tools.unique-names", "tools/list", NA),
    "unknown tool gives -32602": (unknown({"error": ERROR}), "tools.unknown-tool", UNKNOWN, PASSED),
    "unknown tool gives -32601": (
        unknown({"error": {"code": -32601, "message": "Tool not found"}}), "tools.unknown-tool", UNKNOWN, PASSED
    ),
    "unknown tool gives isError": (
        unknown({"result": {"content": [{"type": "text", "text": "Unknown tool"}], "isError": True}}),
        "tools.unknown-tool", UNKNOWN, PASSED,
    ),
    # -- tool results ----------------------------------------------------------------------------------------
    "empty content": (tool_result(PRODUCTS), "result.content", CALL, PASSED),
    "nothing in content": (tool_result(PRODUCTS), "result.content-blocks", CALL, NA),
    "question in 2026-07-28": (
        tool_result({"resultType": "input_required", "inputRequests": {}}, revision="2026-07-28"),
        "result.content", CALL, NA,
    ),
    "every block": (
        block(
            {"type": "text", "text": ""},
            {"type": "text", "text": "a", "_meta": {"x": 1}, "annotations": None, "title": 3},
            {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a:b", "text": ""}},
            {"type": "resource", "resource": {"uri": "a:b", "text": None, "blob": "aGk="}},
            {"type": "resource_link", "uri": "a:b", "name": "n", "mimeType": "application/json"},
        ),
        "result.content-blocks", CALL, PASSED,
    ),
    "link in 2025-06-18": (
        block({"type": "resource_link", "uri": "a:b", "name": "n"}, revision="2025-06-18"),
        "result.content-blocks", CALL, PASSED,
    ),
    "extra members of a result": (
        tool_result(PRODUCTS | {"_meta": {"io.example/trace": "t"}, "status": 1}), "result.content", CALL, PASSED
    ),
    "isError false": (tool_result({"content": [], "isError": False}), "result.is-error", CALL, PASSED),
    "no isError": (tool_result(PRODUCTS), "result.is-error", CALL, NA),
    "object": (tool_result(PRODUCTS), "result.structured-object", CALL, PASSED),
    "structuredContent null": (
        tool_result({"content": [], "structuredContent": None}), "result.structured-object", CALL, NA
    ),
    "array in 2026-07-28": (
        tool_result({"resultType": "complete", "content": [], "structuredContent": []}, revision="2026-07-28"),
        "result.structured-object", CALL, NA,
    ),
    "array in 2025-03-26": (
        tool_result({"content": [], "structuredContent": []}, revision="2025-03-26"),
        "result.structured-object", CALL, NA,
    ),
    "error result without structuredContent": (
        tool_result({"content": [{"type": "text", "text": "no"}], "isError": True}), "result.is-error", CALL, PASSED
    ),
}  # fmt: skip
