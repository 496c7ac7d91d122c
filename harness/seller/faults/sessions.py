"""Faults of sessions, of the negotiation of a version, and of what initialize declares."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller import handshake
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Eras
from pytest_adcp.harness.seller.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json, RpcError

from .http import answering, changing, instead, lacks, rpc_error, with_headers
from .model import Fault, on_method, rules

SESSION = "mcp-session-id"


def _echo(exchange: Exchange, message: Json, _: int) -> Json:
    if exchange.method != "initialize" or "result" not in message:
        return message
    return {
        **message,
        "result": {**message["result"], "protocolVersion": exchange.params.get("protocolVersion")},
    }


def _without_ping(exchange: Exchange, message: Json, _: int) -> Json:
    if exchange.method != "ping" or "result" not in message:
        return message
    return RpcError(METHOD_NOT_FOUND, "Method not found").answer(exchange.id)


def _null_beside_pong(exchange: Exchange, message: Json, _: int) -> Json:
    return {**message, "error": None} if exchange.method == "ping" and "result" in message else message


def _naming_sessions(name: Callable[[str], str]) -> Hooks:
    """Give sessions other ids than the seller itself does."""
    known: dict[str, str] = {}

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        headers = tuple(
            (key, known.get(value, value) if key == SESSION else value)
            for key, value in exchange.request.headers
        )

        def renamed(key: str, value: str) -> tuple[str, str]:
            if key != handshake.SESSION_HEADER:
                return key, value
            new = name(value)
            known[new] = value
            return key, new

        reply = await answer(replace(exchange, request=replace(exchange.request, headers=headers)))
        await wire.send(with_headers(reply, renamed))

    return Hooks(http=hook)


def _lost_is_400(exchange: Exchange, reply: Reply) -> Reply:
    in_session = exchange.request.header(SESSION) is not None
    return Reply(HTTPStatus.BAD_REQUEST) if in_session and reply.status == HTTPStatus.NOT_FOUND else reply


_COUNTER = itertools.count(1)
_NEGOTIATION = rules("mcp.lifecycle.negotiation")
_PING = rules("mcp.lifecycle.ping")

FAULTS = (
    Fault(
        "version-echoed",
        "initialize agrees to any version that is offered.",
        Hooks(message=_echo),
        _NEGOTIATION,
    ),
    Fault(
        "version-fixed",
        "initialize answers with one version, whatever is offered.",
        on_method("initialize", lambda result: {**result, "protocolVersion": handshake.VERSIONS[0]}),
        _NEGOTIATION,
    ),
    Fault(
        "unknown-version-refused",
        "initialize with an unknown version is an error.",
        answering(
            lambda exchange: str(exchange.params.get("protocolVersion")).startswith("2099"),
            rpc_error(INVALID_PARAMS, "Unsupported protocol version"),
        ),
        advises=_NEGOTIATION,
    ),
    Fault(
        "initialize-wants-version",
        "initialize without MCP-Protocol-Version is refused, and no client has one by then.",
        answering(
            lambda exchange: exchange.method == "initialize",
            rpc_error(INVALID_PARAMS, "The header MCP-Protocol-Version is missing"),
        ),
        rules("mcp.lifecycle.initialize"),
        blocks=True,
        ends_survey=True,
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "no-ping",
        "ping is not known.",
        Hooks(message=_without_ping),
        _PING,
    ),
    Fault(
        "ping-array",
        "ping is answered with an empty array.",
        on_method("ping", lambda _: []),  # type: ignore[arg-type, return-value]
        rules("mcp.jsonrpc.result-object"),
    ),
    Fault(
        "ping-error-null",
        "The response to ping has error: null beside the result.",
        Hooks(message=_null_beside_pong),
        rules("mcp.jsonrpc.result-or-error"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "capability-without-methods",
        "initialize declares resources and prompts, and there are no such methods.",
        on_method(
            "initialize",
            lambda result: {
                **result,
                "capabilities": {**result["capabilities"], "resources": {}, "prompts": {}},
            },
        ),
        advises=rules("mcp.lifecycle.capabilities-served"),
    ),
    Fault(
        "session-id-with-space",
        "Session ids hold a space.",
        _naming_sessions(lambda issued: f"session {issued}"),
        rules("mcp.http.session-id-characters"),
    ),
    Fault(
        "session-id-counted",
        "Session ids are counted.",
        _naming_sessions(lambda _: f"s{next(_COUNTER)}"),
        advises=rules("mcp.http.session-id-unguessable"),
    ),
    Fault(
        "session-missing-404",
        "Requests without a session id are answered with 404.",
        instead(lacks(SESSION), Reply(HTTPStatus.NOT_FOUND)),
        advises=rules("mcp.http.session-required"),
        needs={"eras": Eras.HANDSHAKE},
    ),
    Fault(
        "session-delete-400",
        "DELETE of a session is refused with 400.",
        instead(lambda exchange: exchange.request.method == "DELETE", Reply(HTTPStatus.BAD_REQUEST)),
        advises=rules("mcp.http.delete"),
    ),
    Fault(
        "session-never-ends",
        "DELETE is accepted, and the session goes on.",
        instead(lambda exchange: exchange.request.method == "DELETE", Reply(HTTPStatus.NO_CONTENT)),
        rules("mcp.http.session-ended"),
    ),
    Fault(
        "session-lost-400",
        "Requests in a session that has ended, or never was, are answered with 400.",
        changing(_lost_is_400),
        rules("mcp.http.session-ended"),
        advises=rules("mcp.http.session-unknown"),
    ),
)
