"""Faults of the transport that only a request beyond the plain ones shows, and of what comes with answers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Answers, Eras
from pytest_adcp.harness.seller.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json, RpcError

from .model import Fault, rules

VERSION = "mcp-protocol-version"
JSON_TYPE = (("Content-Type", "application/json"),)
HTML_TYPE = (("Content-Type", "text/html; charset=utf-8"),)
PLAIN_ACCEPT = "application/json, text/event-stream"
PAGE = b"<!doctype html><title>MCP</title><h1>It works</h1>\n"


def changing(change: Callable[[Exchange, Reply], Reply]) -> Hooks:
    """Change what the seller sends."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        await wire.send(change(exchange, await answer(exchange)))

    return Hooks(http=hook)


def instead(of: Callable[[Exchange], bool], reply: Reply) -> Hooks:
    """Send something else in the place of some answers."""
    return answering(of, lambda _: reply)


def answering(of: Callable[[Exchange], bool], make: Callable[[Exchange], Reply]) -> Hooks:
    """Answer some requests in another way."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        await wire.send(make(exchange) if of(exchange) else await answer(exchange))

    return Hooks(http=hook)


def _reading(change: Callable[[Exchange], Exchange]) -> Hooks:
    """Take requests for others."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        await wire.send(await answer(change(exchange)))

    return Hooks(http=hook)


def _without(exchange: Exchange, name: str) -> Exchange:
    headers = tuple(header for header in exchange.request.headers if header[0] != name)
    return replace(exchange, request=replace(exchange.request, headers=headers))


def with_headers(reply: Reply, change: Callable[[str, str], tuple[str, str] | None]) -> Reply:
    """Change the headers of a reply; None takes one away."""
    changed = (change(name, value) for name, value in reply.headers)
    return replace(reply, headers=tuple(header for header in changed if header is not None))


def _typed(value: str | None) -> Hooks:
    """Send the answers to calls with another content type, or with none."""

    def header(name: str, old: str) -> tuple[str, str] | None:
        if name != "Content-Type":
            return name, old
        return None if value is None else (name, value)

    return changing(lambda exchange, reply: with_headers(reply, header) if exchange.ordinal else reply)


def _packed(exchange: Exchange, reply: Reply) -> Reply:
    if not exchange.ordinal or reply.stream is not None:
        return reply
    return replace(
        reply, headers=(*reply.headers, ("Content-Encoding", "gzip")), body=gzip.compress(reply.body)
    )


def _accepted_as(reply: Reply) -> Hooks:
    return changing(lambda _, sent: reply if sent.status == HTTPStatus.ACCEPTED else sent)


def _is_post(exchange: Exchange) -> bool:
    return exchange.request.method == "POST"


def _has_no_such_cursor(exchange: Exchange) -> bool:
    return "no-such-cursor" in str(exchange.params.get("cursor"))


def _without_cursor(exchange: Exchange) -> Exchange:
    if not _has_no_such_cursor(exchange):
        return exchange
    params = {name: value for name, value in exchange.params.items() if name != "cursor"}
    return replace(exchange, message={**(exchange.message or {}), "params": params})


def _has_no_id(exchange: Exchange) -> bool:
    return exchange.id == ""


def _has_null_id(exchange: Exchange) -> bool:
    return b'"id": null' in exchange.request.body


def _is_of_another_version(exchange: Exchange) -> bool:
    return b'"jsonrpc": "1.0"' in exchange.request.body


def _names_no_tool(exchange: Exchange) -> bool:
    return exchange.method == "tools/call" and "name" not in exchange.params


def _is_foreign(exchange: Exchange) -> bool:
    origin = exchange.request.header("origin")
    return origin is not None and "127.0.0.1" not in origin


def _is_unknown_version(exchange: Exchange) -> bool:
    version = exchange.request.header(VERSION)
    return version is not None and not version.startswith("20")


def lacks(name: str) -> Callable[[Exchange], bool]:
    """Find the messages after initialize that come without a header (lower-case name)."""
    return lambda exchange: bool(
        exchange.method and exchange.method != "initialize" and exchange.request.header(name) is None
    )


def _is_malformed(exchange: Exchange) -> bool:
    return _is_post(exchange) and exchange.problem is not None and exchange.problem.code == rpc.PARSE_ERROR


def _is_no_method(exchange: Exchange) -> bool:
    return exchange.wants_answer and "no-such-method" in exchange.method


def _is_no_notification(exchange: Exchange) -> bool:
    return "no-such-notification" in exchange.method


def rpc_error(code: int, message: str) -> Callable[[Exchange], Reply]:
    """Answer with a JSON-RPC error under HTTP 200."""
    error = RpcError(code, message)
    return lambda exchange: Reply(HTTPStatus.OK, JSON_TYPE, rpc.encode(error.answer(exchange.id)))


def _with_numeric_id(_: Exchange, message: Json, __: int) -> Json:
    number = message.get("id")
    return {**message, "id": int(number)} if isinstance(number, str) and number.isdecimal() else message


_CONTENT_TYPE = rules("mcp.http.content-type")
_ACCEPTED = rules("mcp.http.accepted")
_IDS = rules("mcp.jsonrpc.ids")
_ORIGIN = rules("mcp.http.origin")
_VERSION_HEADER = rules("mcp.lifecycle.version-header")
_MALFORMED = rules("mcp.jsonrpc.malformed")
_PARSE_ERROR = rules("mcp.jsonrpc.parse-error")
_NOT_404 = rules("mcp.http.method-not-found")
_UNKNOWN_METHOD = rules("mcp.jsonrpc.unknown-method")
_UNKNOWN_NOTIFICATION = rules("mcp.jsonrpc.unknown-notification")
_GET = rules("mcp.http.get")

ELSEWHERE = Reply(HTTPStatus.TEMPORARY_REDIRECT, (("Location", "https://elsewhere.example/mcp"),))

FAULTS = (
    Fault(
        "calls-redirected",
        "Calls are redirected to another origin with 307.",
        instead(lambda exchange: bool(exchange.ordinal), ELSEWHERE),
        rules("mcp.http.redirect"),
        blocks=True,
    ),
    Fault("no-content-type", "Answers to calls have no Content-Type.", _typed(None), _CONTENT_TYPE),
    Fault("text-content-type", "Answers to calls come as text/plain.", _typed("text/plain"), _CONTENT_TYPE),
    Fault(
        "json-rpc-content-type",
        "Answers to calls come as application/json-rpc.",
        _typed("application/json-rpc"),
        _CONTENT_TYPE,
    ),
    Fault(
        "json-as-sse",
        "Answers to calls are JSON that comes as text/event-stream.",
        _typed("text/event-stream"),
        _CONTENT_TYPE,
    ),
    Fault(
        "sse-as-json",
        "Answers to calls are event streams that come as application/json.",
        _typed("application/json"),
        _CONTENT_TYPE,
        needs={"answers": Answers.SSE},
    ),
    Fault(
        "gzip-unasked",
        "Answers to calls are compressed, whatever Accept-Encoding says.",
        changing(_packed),
        advises=rules("mcp.http.content-coding"),
    ),
    Fault(
        "notification-204",
        "Notifications are answered with 204.",
        _accepted_as(Reply(HTTPStatus.NO_CONTENT)),
        _ACCEPTED,
    ),
    Fault(
        "notification-body",
        "Notifications are answered with 202 and a text.",
        _accepted_as(Reply(HTTPStatus.ACCEPTED, (("Content-Type", "text/plain"),), b"Accepted")),
        advises=_ACCEPTED,
    ),
    Fault(
        "accept-compared",
        "Accept is compared with one text.",
        instead(
            lambda exchange: _is_post(exchange) and exchange.request.header("accept") != PLAIN_ACCEPT,
            Reply(HTTPStatus.NOT_ACCEPTABLE),
        ),
        rules("mcp.http.accept"),
        advises=rules("mcp.http.accept-case"),
    ),
    Fault(
        "accept-json-500",
        "A request that accepts JSON only is answered with 500.",
        instead(
            lambda exchange: exchange.request.header("accept") == "application/json",
            Reply(HTTPStatus.INTERNAL_SERVER_ERROR),
        ),
        advises=rules("mcp.http.accept-narrow"),
    ),
    Fault(
        "unknown-cursor-500",
        "tools/list with a cursor that was never given is answered with 500.",
        instead(_has_no_such_cursor, Reply(HTTPStatus.INTERNAL_SERVER_ERROR)),
        advises=rules("mcp.tools.unknown-cursor"),
    ),
    Fault(
        "null-id-500",
        "A request with id null is answered with 500.",
        instead(_has_null_id, Reply(HTTPStatus.INTERNAL_SERVER_ERROR)),
        advises=rules("mcp.jsonrpc.null-id"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "any-json-rpc",
        "A message that says another version of JSON-RPC is answered like any other.",
        answering(
            _is_of_another_version,
            lambda _: Reply(HTTPStatus.OK, JSON_TYPE, rpc.encode(rpc.result("envelope", {}))),
        ),
        advises=rules("mcp.jsonrpc.invalid-request"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "nameless-call-served",
        "A tools/call that names no tool succeeds.",
        answering(
            _names_no_tool,
            lambda exchange: Reply(
                HTTPStatus.OK, JSON_TYPE, rpc.encode(rpc.result(exchange.id, {"content": []}))
            ),
        ),
        advises=rules("mcp.jsonrpc.invalid-params"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "content-type-compared",
        "The Content-Type of requests is compared with one text.",
        instead(
            lambda exchange: (
                _is_post(exchange) and exchange.request.header("content-type") != "application/json"
            ),
            Reply(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        ),
        rules("mcp.http.charset"),
    ),
    Fault("numeric-id", "An id of digits comes back as a number.", Hooks(message=_with_numeric_id), _IDS),
    Fault(
        "empty-id-is-none",
        "A request with an empty id is taken for a notification.",
        instead(_has_no_id, Reply(HTTPStatus.ACCEPTED)),
        _IDS,
    ),
    Fault(
        "version-header-required",
        "Requests without MCP-Protocol-Version are refused.",
        instead(lacks(VERSION), Reply(HTTPStatus.BAD_REQUEST)),
        advises=rules("mcp.lifecycle.version-absent"),
    ),
    Fault(
        "any-origin",
        "Requests of any origin are served.",
        _reading(lambda exchange: _without(exchange, "origin")),
        _ORIGIN,
    ),
    Fault(
        "foreign-origin-400",
        "Requests of a foreign origin are refused with 400.",
        instead(_is_foreign, Reply(HTTPStatus.BAD_REQUEST)),
        _ORIGIN,
    ),
    Fault(
        "no-origin",
        "Requests of any origin are refused, of its own too.",
        instead(lambda exchange: exchange.request.header("origin") is not None, Reply(HTTPStatus.FORBIDDEN)),
        rules("mcp.http.own-origin"),
    ),
    Fault(
        "any-version-header",
        "MCP-Protocol-Version may have any value.",
        _reading(lambda exchange: _without(exchange, VERSION) if _is_unknown_version(exchange) else exchange),
        _VERSION_HEADER,
    ),
    Fault(
        "version-header-422",
        "An unknown MCP-Protocol-Version is refused with 422.",
        instead(_is_unknown_version, Reply(HTTPStatus.UNPROCESSABLE_ENTITY)),
        advises=_VERSION_HEADER,
    ),
    Fault(
        "malformed-accepted",
        "A body that is no JSON is accepted.",
        instead(_is_malformed, Reply(HTTPStatus.ACCEPTED)),
        _MALFORMED,
    ),
    Fault(
        "malformed-page",
        "A body that is no JSON is refused with an HTML page.",
        instead(_is_malformed, Reply(HTTPStatus.BAD_REQUEST, HTML_TYPE, PAGE)),
        advises=_PARSE_ERROR,
    ),
    Fault(
        "malformed-500",
        "A body that is no JSON is answered with 500.",
        instead(_is_malformed, Reply(HTTPStatus.INTERNAL_SERVER_ERROR)),
        advises=_PARSE_ERROR,
    ),
    Fault(
        "batch-refused",
        "Batches are refused in 2025-03-26 too.",
        instead(lambda exchange: exchange.request.body.startswith(b"["), Reply(HTTPStatus.BAD_REQUEST)),
        advises=rules("mcp.jsonrpc.batch"),
    ),
    Fault(
        "any-method",
        "Methods that do not exist have a result.",
        answering(
            _is_no_method,
            lambda exchange: Reply(HTTPStatus.OK, JSON_TYPE, rpc.encode(rpc.result(exchange.id, {}))),
        ),
        _UNKNOWN_METHOD | _NOT_404,
    ),
    Fault(
        "unknown-method-params",
        "Methods that do not exist are refused for their parameters.",
        answering(_is_no_method, rpc_error(INVALID_PARAMS, "Invalid request parameters")),
        _NOT_404,
        advises=_UNKNOWN_METHOD,
    ),
    Fault(
        "unknown-notification-error",
        "Notifications that do not exist get a JSON-RPC error.",
        answering(_is_no_notification, rpc_error(METHOD_NOT_FOUND, "Method not found")),
        _UNKNOWN_NOTIFICATION,
    ),
    Fault(
        "get-404",
        "GET is answered with 404.",
        instead(lambda exchange: exchange.request.method == "GET", Reply(HTTPStatus.NOT_FOUND)),
        _GET,
    ),
    Fault(
        "get-page",
        "GET is answered with a page.",
        instead(lambda exchange: exchange.request.method == "GET", Reply(HTTPStatus.OK, HTML_TYPE, PAGE)),
        _GET,
    ),
    Fault(
        "get-page-stateless",
        "GET is answered with a page, in 2026-07-28.",
        instead(lambda exchange: exchange.request.method == "GET", Reply(HTTPStatus.OK, HTML_TYPE, PAGE)),
        advises=rules("mcp.http.get-refused"),
        needs={"eras": Eras.STATELESS},
    ),
    # Legal variants, which no client may stumble over.
    Fault(
        "unknown-cursor-ignored",
        "tools/list with a cursor that was never given gets the first page.",
        _reading(_without_cursor),
    ),
)
