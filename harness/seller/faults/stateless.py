"""Faults of MCP 2026-07-28, where every request describes itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks, MessageHook
from pytest_adcp.harness.seller.handshake import SESSION_HEADER
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Eras
from pytest_adcp.harness.seller.rpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Json,
    RpcError,
)
from pytest_adcp.harness.seller.stateless import PREFIX, VERSION, claims

from .model import breaking

JSON_TYPE = (("Content-Type", "application/json"),)
SESSION = SESSION_HEADER.lower()
META = {f"{PREFIX}protocolVersion": VERSION, f"{PREFIX}clientCapabilities": {}}


def _on_result(method: str, edit: Callable[[Json], Json]) -> Hooks:
    """Change the results of a method in this era."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        if exchange.method != method or "result" not in message or not claims(exchange):
            return message
        return {**message, "result": edit(message["result"])}

    return Hooks(message=hook)


def _on_error(code: int, edit: Callable[[Json], Json]) -> Hooks:
    """Change the errors of a code in this era."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        error = message.get("error", {})
        return (
            {**message, "error": edit(error)} if error.get("code") == code and claims(exchange) else message
        )

    return Hooks(message=hook)


def _with(**members: object) -> Callable[[Json], Json]:
    return lambda value: {**value, **members}


def _without(name: str) -> Callable[[Json], Json]:
    return lambda value: {key: item for key, item in value.items() if key != name}


def refused(when: Callable[[Exchange], bool], status: int, code: int, data: Json | None = None) -> Hooks:
    """Refuse some requests of this era."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if exchange.wants_answer and claims(exchange) and when(exchange):
            refusal = RpcError(code, "This request is not served.", data=data).answer(exchange.id)
            await wire.send(Reply(status, JSON_TYPE, rpc.encode(refusal)))
        else:
            await wire.send(await answer(exchange))

    return Hooks(http=hook)


def mended(mend: Callable[[Exchange], Exchange]) -> Hooks:
    """Serve requests of this era as if they were right."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        good = mend(exchange) if exchange.wants_answer and claims(exchange) else exchange
        await wire.send(await answer(good))

    return Hooks(http=hook)


def _with_meta(exchange: Exchange) -> Exchange:
    params = {**exchange.params, "_meta": {**META, **exchange.params.get("_meta", {})}}
    return replace(exchange, message={**(exchange.message or {}), "params": params})


def _with_meta_if_none(exchange: Exchange) -> Exchange:
    return exchange if "_meta" in exchange.params else _with_meta(exchange)


def _with_whole_meta(exchange: Exchange) -> Exchange:
    return _with_meta(exchange) if "_meta" in exchange.params else exchange


def _with_headers(exchange: Exchange) -> Exchange:
    version = exchange.params.get("_meta", {}).get(f"{PREFIX}protocolVersion", VERSION)
    right = {"mcp-protocol-version": version, "mcp-method": exchange.method, "mcp-name": exchange.tool or ""}
    kept = tuple(item for item in exchange.request.headers if item[0] not in right)
    return replace(exchange, request=replace(exchange.request, headers=(*kept, *right.items())))


def _status(of: int, status: int) -> Hooks:
    """Answer the errors of a code with another status."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        reply = await answer(exchange)
        hit = claims(exchange) and f'"code":{of}'.encode() in reply.body
        await wire.send(replace(reply, status=status) if hit else reply)

    return Hooks(http=hook)


def _second_page_private() -> MessageHook:
    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        if exchange.method != "tools/list" or "cursor" not in exchange.params or "result" not in message:
            return message
        return {**message, "result": {**message["result"], "cacheScope": "private"}}

    return hook


def _has_no_client_info(exchange: Exchange) -> bool:
    return f"{PREFIX}clientInfo" not in exchange.params.get("_meta", {f"{PREFIX}clientInfo": {}})


def _asks_for_sampling(_: Json) -> Json:
    asked = {"draft": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 10}}}
    return {"resultType": "input_required", "inputRequests": asked, "_meta": {f"{PREFIX}serverInfo": {}}}


ONLY = Eras.STATELESS

FAULTS = (
    breaking(
        "result-type-missing",
        "Calls give no resultType.",
        _on_result("tools/call", _without("resultType")),
        "mcp.result.result-type",
    ),
    breaking(
        "result-type-unknown",
        'Calls give the resultType "done".',
        _on_result("tools/call", _with(resultType="done")),
        "mcp.result.result-type",
    ),
    breaking(
        "list-asks-for-input",
        "tools/list asks for input.",
        _on_result("tools/list", _with(resultType="input_required", requestState="s-1")),
        "mcp.result.input-required",
    ),
    breaking(
        "input-not-declared",
        "A call asks for sampling, which the client did not declare.",
        _on_result("tools/call", _asks_for_sampling),
        "mcp.result.input-required",
    ),
    breaking(
        "no-ttl",
        "tools/list has no ttlMs.",
        _on_result("tools/list", _without("ttlMs")),
        "mcp.result.cache",
    ),
    breaking(
        "ttl-text",
        "server/discover has a text as ttlMs.",
        _on_result("server/discover", _with(ttlMs="60000")),
        "mcp.result.cache",
    ),
    breaking(
        "scope-unknown",
        'tools/list has the cacheScope "shared".',
        _on_result("tools/list", _with(cacheScope="shared")),
        "mcp.result.cache",
    ),
    breaking(
        "scope-changes",
        "The second page of tools/list has another cacheScope.",
        Hooks(message=_second_page_private()),
        "mcp.result.cache-scope",
        eras=ONLY,
    ),
    breaking(
        "results-without-server-info",
        "Lists do not name the server.",
        _on_result("tools/list", _without("_meta")),
        advises="mcp.result.server-info",
    ),
    breaking(
        "stateless-needs-session",
        "A plain tools/list of 2026-07-28 is refused without a session.",
        refused(lambda exchange: exchange.method == "tools/list", HTTPStatus.BAD_REQUEST, INVALID_REQUEST),
        "mcp.lifecycle.self-contained",
    ),
    breaking(
        "stateless-knows-sessions",
        "A request of 2026-07-28 with an unknown Mcp-Session-Id is answered with 404.",
        refused(
            lambda exchange: exchange.request.header(SESSION) is not None,
            HTTPStatus.NOT_FOUND,
            INVALID_REQUEST,
        ),
        advises="mcp.http.session-ignored",
        eras=ONLY,
    ),
    breaking(
        "client-info-required",
        "A request without clientInfo is refused.",
        refused(_has_no_client_info, HTTPStatus.BAD_REQUEST, INVALID_PARAMS),
        "mcp.lifecycle.client-info-optional",
    ),
    breaking(
        "meta-optional",
        "A request without _meta is served.",
        mended(_with_meta),
        "mcp.lifecycle.meta-required",
        eras=ONLY,
    ),
    breaking(
        "meta-optional-both-eras",
        "A request without _meta is served, by a server of both eras.",
        mended(_with_meta_if_none),
        advises="mcp.lifecycle.meta-required",
    ),
    breaking(
        "client-capabilities-optional",
        "A request whose _meta lacks clientCapabilities is served.",
        mended(_with_whole_meta),
        "mcp.lifecycle.meta-required",
    ),
    breaking(
        "meta-code",
        "A request without _meta gets the error -32600.",
        _on_error(INVALID_PARAMS, _with(code=INVALID_REQUEST)),
        "mcp.lifecycle.meta-required",
        eras=ONLY,
    ),
    breaking(
        "headers-unchecked",
        "What the headers say is not compared.",
        mended(_with_headers),
        "mcp.http.headers-checked",
    ),
    breaking(
        "header-mismatch-200",
        "A header mismatch is answered with HTTP 200.",
        _status(HEADER_MISMATCH, 200),
        "mcp.http.headers-checked",
    ),
    breaking(
        "header-mismatch-code",
        "A header mismatch gets the error -32600.",
        _on_error(HEADER_MISMATCH, _with(code=INVALID_REQUEST)),
        advises="mcp.http.header-code",
    ),
    breaking(
        "version-code",
        "An unknown version gets the error -32600.",
        _on_error(UNSUPPORTED_VERSION, _with(code=INVALID_REQUEST)),
        "mcp.lifecycle.unsupported-version",
    ),
    breaking(
        "version-without-list",
        "The error for an unknown version lists none.",
        _on_error(UNSUPPORTED_VERSION, _without("data")),
        "mcp.lifecycle.unsupported-version",
    ),
    breaking(
        "version-200",
        "An unknown version is answered with HTTP 200.",
        _status(UNSUPPORTED_VERSION, 200),
        "mcp.lifecycle.unsupported-version",
    ),
    breaking(
        "unknown-method-200",
        "An unknown method is answered with HTTP 200.",
        _status(METHOD_NOT_FOUND, 200),
        "mcp.http.method-not-found",
    ),
    breaking(
        "unknown-method-code",
        "An unknown method gets the error -32600.",
        _on_error(METHOD_NOT_FOUND, _with(code=INVALID_REQUEST)),
        "mcp.http.method-not-found",
    ),
)
