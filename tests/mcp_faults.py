"""Faults of MCP servers, as literal answers, and the rules that each of them breaks."""

from __future__ import annotations

import base64
import json

from evidence import Http, answered, rpc_error, stream, surveyed, tool_result
from mcp_answers import (
    ERROR,
    GOOD,
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
from pytest_adcp.harness.verdict import Outcome

FAILED, ADVISORY = Outcome.FAILED, Outcome.ADVISORY

# What an answer breaks, rule by rule: these rules of the four families, and no other.
FAULTS: dict[str, tuple[Evidence, dict[str, Outcome]]] = {
    # -- a request gets one response -------------------------------------------------------------------------
    "empty body": (answered(b""), {"jsonrpc.answered": FAILED}),
    "white space": (answered(b"\r\n \n"), {"jsonrpc.answered": FAILED}),
    "204": (answered(b"", status=204, content_type=""), {"jsonrpc.answered": FAILED}),
    "HTML": (answered(b"<html>Welcome</html>", content_type="text/html"), {"jsonrpc.answered": FAILED}),
    "plain text": (answered(b"[done]", content_type="text/plain"), {"jsonrpc.answered": FAILED}),
    "array": (answered([GOOD]), {"jsonrpc.answered": FAILED}),
    "empty array": (answered([]), {"jsonrpc.answered": FAILED}),
    "JSON string": (answered(json.dumps(GOOD)), {"jsonrpc.answered": FAILED}),
    "bare payload": (answered({"products": []}), {"jsonrpc.answered": FAILED}),
    "REST error": (answered({"error": "brief is too short"}), {"jsonrpc.answered": FAILED}),
    "REST error with 400": (answered({"error": "brief is too short"}, status=400), {"jsonrpc.answered": FAILED}),
    "validation error of the web framework": (answered({"detail": []}, status=422), {"jsonrpc.answered": FAILED}),
    "400 in plain text": (answered(b"Bad Request", status=400, content_type=""), {"jsonrpc.answered": FAILED}),
    "406 in plain text": (answered(b"", status=406, content_type="text/plain"), {"jsonrpc.answered": FAILED}),
    "500 in HTML": (answered(b"<h1>Oops</h1>", status=500, content_type="text/html"), {"jsonrpc.answered": FAILED}),
    "only a notification": (
        answered(stream({"jsonrpc": "2.0", "method": "notifications/message"}), content_type="text/event-stream"),
        {"jsonrpc.answered": FAILED},
    ),
    "only a request of the server": (
        answered({"jsonrpc": "2.0", "id": "call-7", "method": "ping"}),
        {"jsonrpc.answered": FAILED},
    ),
    "stream that ends": (answered(b": ping\n\n", content_type="text/event-stream"), {"jsonrpc.answered": FAILED}),
    "stream without bytes": (answered(b"", content_type="text/event-stream"), {"jsonrpc.answered": FAILED}),
    "event of another type": (
        answered(stream(GOOD).replace(b"event: message", b"event: result"), content_type="text/event-stream"),
        {"jsonrpc.answered": FAILED},
    ),
    "unknown tool in plain text": (
        surveyed(Http(GOOD), unknown_tool=Http(b"no such tool", 400, "text/plain")),
        {"jsonrpc.answered": FAILED},
    ),
    "initialize in HTML with 200 from a stateless server": (
        surveyed(Http(GOOD), revision="2026-07-28", initialize=Http(b"<html>", 200, "text/html")),
        {"jsonrpc.answered": FAILED},
    ),
    # -- JSON text -------------------------------------------------------------------------------------------
    "NaN": (answered(text('{"content": [], "structuredContent": {"cpm": NaN}}')), {"jsonrpc.json": FAILED}),
    "str(dict)": (answered(b"{'jsonrpc': '2.0', 'id': 'call-7'}"), {"jsonrpc.json": FAILED}),
    "cut short": (answered(text("{}")[:-3]), {"jsonrpc.json": FAILED}),
    "cut short without a content type": (answered(text("{}")[:-3], content_type=""), {"jsonrpc.json": FAILED}),
    "two messages": (answered(text('{"content": []}') * 2), {"jsonrpc.json": FAILED}),
    "raw line break in a string": (
        answered(text('{"content": [{"type": "text", "text": "a\nb"}]}')),
        {"jsonrpc.json": FAILED},
    ),
    "prose as application/json": (answered(b"Internal error"), {"jsonrpc.json": FAILED}),
    "broken event before the response": (
        answered(stream(b"{oops", GOOD), content_type="text/event-stream"),
        {"jsonrpc.json": FAILED},
    ),
    "broken event, no response": (
        answered(stream(b"{oops"), content_type="text/event-stream"),
        {"jsonrpc.json": FAILED},
    ),
    "broken JSON under an HTTP error": (answered(b"{oops", status=400), {"jsonrpc.json": ADVISORY}),
    "byte order mark": (answered(b"\xef\xbb\xbf" + text('{"content": []}')), {"jsonrpc.utf8": FAILED}),
    "byte order mark in an event": (
        answered(stream(b"\xef\xbb\xbf" + text('{"content": []}')), content_type="text/event-stream"),
        {"jsonrpc.utf8": FAILED},
    ),
    "Latin-1": (
        answered(text('{"content": [{"type": "text", "text": "Zürich"}]}').decode().encode("latin-1")),
        {"jsonrpc.utf8": FAILED},
    ),
    "Latin-1 in an event": (
        answered(
            stream(text('{"content": [{"type": "text", "text": "Zürich"}]}').decode().encode("latin-1")),
            content_type="text/event-stream",
        ),
        {"jsonrpc.utf8": FAILED},
    ),
    "UTF-16": (
        answered(text("{}").decode().encode("utf-16"), content_type="application/json; charset=utf-16"),
        {"jsonrpc.utf8": FAILED},
    ),
    "name twice": (
        answered(text('{"content": [], "structuredContent": {"status": "failed", "status": "completed"}}')),
        {"jsonrpc.unique-names": FAILED},
    ),
    "name twice in an event": (
        answered(stream(text('{"content": [], "_meta": {"a": 1, "a": 2}}')), content_type="text/event-stream"),
        {"jsonrpc.unique-names": FAILED},
    ),
    "name twice, equal values": (
        answered(text('{"content": [], "_meta": {"a": [1], "a": [1.0]}}')),
        {"jsonrpc.unique-names": ADVISORY},
    ),
    "half of an emoji": (
        answered(text(r'{"content": [{"type": "text", "text": "\ud83d"}]}')),
        {"jsonrpc.portable": ADVISORY},
    ),
    "number beyond a double": (
        answered(text('{"content": [], "_meta": {"id": 9007199254740993}}')),
        {"jsonrpc.portable": ADVISORY},
    ),
    "infinite number": (answered(text('{"content": [], "_meta": {"n": 1e400}}')), {"jsonrpc.portable": ADVISORY}),
    "nested deeply": (
        answered(text('{"content": [], "_meta": {"n": ' + "[" * 300 + "]" * 300 + "}}")),
        {"jsonrpc.portable": ADVISORY},
    ),
    # -- the message -----------------------------------------------------------------------------------------
    "no jsonrpc": (answered(without("jsonrpc")), {"jsonrpc.version": FAILED}),
    "jsonrpc is a number": (answered(without(jsonrpc=2.0)), {"jsonrpc.version": FAILED}),
    "jsonrpc 1.0": (answered(without(jsonrpc="1.0")), {"jsonrpc.version": FAILED}),
    "number for a string": (answered(without(id=1), request_id="1"), {"jsonrpc.id": FAILED}),
    "string for a number": (answered(without(id="7"), request_id=7), {"jsonrpc.id": FAILED}),
    "always 0": (answered(without(id=0), request_id=7), {"jsonrpc.id": FAILED}),
    "true for 1": (answered(without(id=True), request_id=1), {"jsonrpc.id": FAILED}),
    "false for the empty string": (answered(without(id=False), request_id=""), {"jsonrpc.id": FAILED}),
    "null for the empty string": (answered(without(id=None), request_id=""), {"jsonrpc.id": FAILED}),
    "null in a result": (answered(without(id=None)), {"jsonrpc.id": FAILED}),
    "no id in a result": (answered(without("id")), {"jsonrpc.id": FAILED}),
    "id in an array": (answered(without(id=["call-7"])), {"jsonrpc.id": FAILED}),
    "id of another event": (
        answered(stream(without(id="call-6")), content_type="text/event-stream"),
        {"jsonrpc.id": FAILED},
    ),
    "7.0 for 7": (
        answered(text('{"content": []}').replace(b'"call-7"', b"7.0"), request_id=7),
        {"jsonrpc.id": ADVISORY},
    ),
    "null in an error with 200": (answered(without("result", id=None, error=ERROR)), {"jsonrpc.id": FAILED}),
    "no id in an error with 200": (answered(without("result", "id", error=ERROR)), {"jsonrpc.id": FAILED}),
    "foreign id in a result with 400": (answered(without(id="x"), status=400), {"jsonrpc.id": FAILED}),
    "server-error": (
        answered(without("result", id="server-error", error=ERROR), status=406),
        {"jsonrpc.refusal-id": ADVISORY},
    ),
    "another's number in a refusal": (
        answered(without("result", id=0, error=ERROR), status=400, request_id=7),
        {"jsonrpc.refusal-id": ADVISORY},
    ),
    "neither result nor error": (answered(without("result")), {"jsonrpc.result-or-error": FAILED}),
    "neither, in an event": (
        answered(stream(without("result")), content_type="text/event-stream"),
        {"jsonrpc.result-or-error": FAILED},
    ),
    "result and error": (answered(without(error=ERROR)), {"jsonrpc.result-or-error": FAILED}),
    "result and error null": (answered(without(error=None)), {"jsonrpc.result-or-error": FAILED}),
    "error and result null": (
        answered(without(result=None, error=ERROR)),
        {"jsonrpc.result-or-error": FAILED, "jsonrpc.result-object": FAILED},
    ),
    "result is an array": (tool_result([]), {"jsonrpc.result-object": FAILED}),
    "result is null": (tool_result(None), {"jsonrpc.result-object": FAILED}),
    "result is a string": (tool_result("ok"), {"jsonrpc.result-object": FAILED}),
    "error is a string": (rpc_error("no"), {"jsonrpc.error-object": FAILED}),
    "error is null": (rpc_error(None), {"jsonrpc.error-object": FAILED}),
    "code is a name": (rpc_error({"code": "RATE_LIMITED", "message": "slow"}), {"jsonrpc.error-object": FAILED}),
    "code is digits": (rpc_error({"code": "-32602", "message": "no"}), {"jsonrpc.error-object": FAILED}),
    "code has a fraction": (rpc_error({"code": -32602.5, "message": "no"}), {"jsonrpc.error-object": FAILED}),
    "code is true": (rpc_error({"code": True, "message": "no"}), {"jsonrpc.error-object": FAILED}),
    "no code": (rpc_error({"message": "no"}), {"jsonrpc.error-object": FAILED}),
    "no message": (rpc_error({"code": -32602}), {"jsonrpc.error-object": FAILED}),
    "message is null": (rpc_error({"code": -32602, "message": None}), {"jsonrpc.error-object": FAILED}),
    "bad error with 400": (rpc_error({"code": -32602}, status=400), {"jsonrpc.error-object": FAILED}),
    # -- notifications ---------------------------------------------------------------------------------------
    "notification gets an empty message": (notified({"jsonrpc": "2.0", "id": None}), {"jsonrpc.notification": FAILED}),
    "notification gets a result": (notified({"jsonrpc": "2.0", "result": {}}), {"jsonrpc.notification": FAILED}),
    "notification gets a result with 202": (
        notified({"jsonrpc": "2.0", "id": None, "result": {}}, 202),
        {"jsonrpc.notification": FAILED},
    ),
    "notification gets an error with 200": (
        notified({"jsonrpc": "2.0", "id": None, "error": ERROR}),
        {"jsonrpc.notification": FAILED},
    ),
    "notification gets an event": (
        notified(stream({"jsonrpc": "2.0", "id": 0, "result": {}}), 200, "text/event-stream"),
        {"jsonrpc.notification": FAILED},
    ),
    "notification gets a batch": (
        notified([{"jsonrpc": "2.0", "id": None, "error": ERROR}]),
        {"jsonrpc.notification": FAILED},
    ),
    # -- lifecycle -------------------------------------------------------------------------------------------
    "no protocolVersion": (handshake(protocolVersion=...), {"lifecycle.initialize-result": FAILED}),
    "protocolVersion is a number": (handshake(protocolVersion=2025), {"lifecycle.initialize-result": FAILED}),
    "no capabilities": (handshake(capabilities=...), {"lifecycle.initialize-result": FAILED}),
    "capabilities are []": (handshake(capabilities=[]), {"lifecycle.initialize-result": FAILED}),
    "no serverInfo": (handshake(serverInfo=...), {"lifecycle.server-info": FAILED}),
    "serverInfo without version": (handshake(serverInfo={"name": "s"}), {"lifecycle.server-info": FAILED}),
    "serverInfo without name": (handshake(serverInfo={"version": "1"}), {"lifecycle.server-info": FAILED}),
    "version of the server is a number": (
        handshake(serverInfo={"name": "s", "version": 1.0}),
        {"lifecycle.server-info": FAILED},
    ),
    "echo of a version that is none": (handshake(protocolVersion="1999-01-01"), {"lifecycle.known-version": FAILED}),
    "own version as revision": (handshake(protocolVersion="1.0"), {"lifecycle.known-version": FAILED}),
    "2024-11-05": (handshake(protocolVersion="2024-11-05"), {"lifecycle.current-version": ADVISORY}),
    "tools not declared": (handshake(capabilities={}), {"lifecycle.tools-capability": FAILED}),
    "tools declared as null": (handshake(capabilities={"tools": None}), {"lifecycle.tools-capability": FAILED}),
    "tools declared as true": (handshake(capabilities={"tools": True}), {"lifecycle.tools-capability": FAILED}),
    "discover without versions": (discovery({"capabilities": {}}), {"lifecycle.discover-result": FAILED}),
    "discover with one version as a string": (
        discovery({"supportedVersions": "2026-07-28", "capabilities": {}}),
        {"lifecycle.discover-result": FAILED},
    ),
    "discover with versions that are no strings": (
        discovery({"supportedVersions": [20260728], "capabilities": {}}),
        {"lifecycle.discover-result": FAILED},
    ),
    "discover without capabilities": (
        discovery({"supportedVersions": ["2026-07-28"]}),
        {"lifecycle.discover-result": FAILED},
    ),
    "a result for every method": (discovery({}), {"lifecycle.discover-result": FAILED}),
    # -- tools -----------------------------------------------------------------------------------------------
    "tool twice": (pages(["a", "b", "a"]), {"tools.unique-names": FAILED}),
    "tool twice over pages": (pages(["a", "b"], ["b"]), {"tools.unique-names": FAILED}),
    "names that are none": (pages([None, None, 5, 5]), {"tools.definitions": FAILED}),
    "unknown tool gives success": (unknown({"result": {"content": []}}), {"tools.unknown-tool": FAILED}),
    "unknown tool gives isError false": (
        unknown({"result": {"content": [], "isError": False}}),
        {"tools.unknown-tool": FAILED},
    ),
    # -- tool results ----------------------------------------------------------------------------------------
    "no content": (tool_result({"structuredContent": {}}), {"result.content": FAILED}),
    "content is null": (tool_result({"content": None}), {"result.content": FAILED}),
    "content is a string": (tool_result({"content": '{"products":[]}'}), {"result.content": FAILED}),
    "content is an object": (tool_result({"content": {"type": "text", "text": ""}}), {"result.content": FAILED}),
    "no content in 2026-07-28": (
        tool_result({"resultType": "complete", "structuredContent": []}, revision="2026-07-28"),
        {"result.content": FAILED},
    ),
    "type error": (block({"type": "error", "text": "no"}), {"result.content-blocks": FAILED}),
    "type json": (block({"type": "json", "json": {}}), {"result.content-blocks": FAILED}),
    "type chart beside good data": (
        tool_result({"content": [{"type": "chart"}], "structuredContent": {"products": []}}),
        {"result.content-blocks": FAILED},
    ),
    "type Text": (block({"type": "Text", "text": "no"}), {"result.content-blocks": FAILED}),
    "no type": (block({"text": "{}", "structuredContent": None}), {"result.content-blocks": FAILED}),
    "type is an array": (block({"type": ["text"], "text": ""}), {"result.content-blocks": FAILED}),
    "block is a string": (block("done"), {"result.content-blocks": FAILED}),
    "block is null": (block({"type": "text", "text": ""}, None), {"result.content-blocks": FAILED}),
    "text is an object": (block({"type": "text", "text": {"products": []}}), {"result.content-blocks": FAILED}),
    "text is missing": (block({"type": "text"}), {"result.content-blocks": FAILED}),
    "image without mimeType": (block({"type": "image", "data": "aGk="}), {"result.content-blocks": FAILED}),
    "image as a data URL": (
        block({"type": "image", "mimeType": "image/png", "data": "data:image/png;base64,aGk="}),
        {"result.content-blocks": FAILED},
    ),
    "audio with line breaks": (
        block({"type": "audio", "mimeType": "audio/wav", "data": base64.encodebytes(b"x" * 80).decode()}),
        {"result.content-blocks": FAILED},
    ),
    "image without padding": (
        block({"type": "image", "mimeType": "image/png", "data": "aGk"}),
        {"result.content-blocks": FAILED},
    ),
    "image in the URL alphabet": (
        block({"type": "image", "mimeType": "image/png", "data": "_-8="}),
        {"result.content-blocks": FAILED},
    ),
    "resource without resource": (block({"type": "resource", "uri": "a:b"}), {"result.content-blocks": FAILED}),
    "resource without uri": (block({"type": "resource", "resource": {"text": ""}}), {"result.content-blocks": FAILED}),
    "resource without data": (
        block({"type": "resource", "resource": {"uri": "a:b"}}),
        {"result.content-blocks": FAILED},
    ),
    "resource with a broken blob": (
        block({"type": "resource", "resource": {"uri": "a:b", "blob": "ä"}}),
        {"result.content-blocks": FAILED},
    ),
    "link without name": (block({"type": "resource_link", "uri": "a:b"}), {"result.content-blocks": FAILED}),
    "link in 2025-03-26": (
        block({"type": "resource_link", "uri": "a:b", "name": "n"}, revision="2025-03-26"),
        {"result.content-blocks": FAILED},
    ),
    "isError is a string": (tool_result({"content": [], "isError": "true"}), {"result.is-error": FAILED}),
    "isError is a number": (tool_result({"content": [], "isError": 1}), {"result.is-error": FAILED}),
    "isError is null": (tool_result({"content": [], "isError": None}), {"result.is-error": FAILED}),
    "structuredContent is an array": (
        tool_result({"content": [], "structuredContent": [{"product_id": "p"}]}),
        {"result.structured-object": FAILED},
    ),
    "structuredContent is []": (
        tool_result({"content": [], "structuredContent": []}, revision="2025-06-18"),
        {"result.structured-object": FAILED},
    ),
    "structuredContent is a string": (
        tool_result({"content": [], "structuredContent": "{}"}),
        {"result.structured-object": FAILED},
    ),
}  # fmt: skip
