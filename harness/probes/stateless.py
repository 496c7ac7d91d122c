"""What MCP 2026-07-28 asks of a server, tried where server/discover says that it is spoken.

Good requests on a connection of their own, and then the same ones, each changed in one point. No version of the handshake
era is named anywhere: a server that speaks both eras would rightly take such a request for one of that era.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
from pytest_adcp.harness.calls import NotCalled, PlannedCall, Variant
from pytest_adcp.harness.conversation import Conversation, Said
from pytest_adcp.harness.param_headers import PREFIX as PARAM_PREFIX
from pytest_adcp.harness.reading import no_answer, read
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import STATELESS_REVISION, CallHeaders, Outgoing, Session
from pytest_adcp.harness.transcript import Era, Exchange, Kind
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .streams import call_of

VARIANTS = "probe/stateless"  # how the report names what is sent here
NO_SUCH_VERSION = "2099-01-01"
NO_SUCH_METHOD = "adcp/no-such-method"
MADE_UP_SESSION = "pytest-adcp-made-up-session"

_FIRST = 200  # place among the probes
_SECONDS = 15.0  # for all of them, where the server answers at once
_TIMES = 2.0  # as long as server/discover took: what a variant may take on average
_VERSION = "mcp-protocol-version"
_PREFIX = "io.modelcontextprotocol"
_OTHER_VALUES = {"true": "false", "false": "true"}
# Variants of a call, each of which needs one.
_OF_A_READ = (Variant.CALL, Variant.NO_NAME)
_OF_PARAMS = (Variant.PARAM, Variant.NO_PARAM, Variant.OTHER_PARAM)

Message = dict[str, Any]


def subject_of(variant: Variant) -> str:
    """Return how an exchange is named."""
    return f"stateless/{variant}"


def serves_stateless(result: Mapping[str, Any] | None) -> bool:
    """Whether a result of server/discover says that the server speaks this revision."""
    versions = result.get("supportedVersions") if result is not None else None
    return isinstance(versions, list) and STATELESS_REVISION in versions


async def send(
    talk: Conversation,
    connection: Connection,
    exchanges: Sequence[Exchange],
    calls: Sequence[PlannedCall],
) -> NotCalled | None:
    """Send the variants one after the other, each once; return why not, where the server speaks this revision.

    Args:
        exchanges: the recorded ones, server/discover among them.
        calls: the plan.
    """
    discovered = [exchange for exchange in exchanges if exchange.kind is Kind.DISCOVER]
    if not any(serves_stateless(read(exchange).result) for exchange in discovered):
        return None
    seconds = max(_SECONDS, _TIMES * len(Variant) * max(exchange.seconds for exchange in discovered))
    if talk.stopped:
        return NotCalled(VARIANTS, "the survey ended before it")
    nobody = talk.beside(talk.credentials)
    session = Session(Era.STATELESS, param_headers=talk.session.param_headers)
    plain, with_params = call_of(calls), _with_params(calls, session.param_headers)
    older = talk.session.era is Era.HANDSHAKE
    async with Lane(connection, CookieStore()) as lane:
        with anyio.move_on_after(seconds) as scope:
            if (await _ask(nobody, lane, Variant.LIST, session, None)).reading.result is None:
                return NotCalled(VARIANTS, "a plain tools/list of MCP 2026-07-28 was not served")
            for variant in Variant:
                call = with_params if variant in _OF_PARAMS else plain
                without = call is None and variant in (*_OF_A_READ, *_OF_PARAMS)
                if variant is Variant.LIST or without or (older and variant is Variant.NO_VERSION):
                    continue
                said = await _ask(nobody, lane, variant, session, call)
                if no_answer(said.exchange) or talk.stopped:
                    return NotCalled(VARIANTS, f"{subject_of(variant)} got no answer, and no more was sent")
                # What varies a call that is not served would show nothing.
                if said.reading.result is None:
                    plain = None if variant is Variant.CALL else plain
                    with_params = None if variant is Variant.PARAM else with_params
        if scope.cancelled_caught:
            return NotCalled(VARIANTS, f"{seconds:.0f} s were not enough for all of it")
    return None


def _with_params(calls: Iterable[PlannedCall], headers: CallHeaders) -> PlannedCall | None:
    """Return the read of a tool that asks for one of its arguments in a header."""
    reads = (c for c in calls if c.is_plain_read)
    return next((call for call in reads if headers(call.tool, call.arguments)), None)


async def _ask(
    talk: Conversation, lane: Lane, variant: Variant, session: Session, call: PlannedCall | None
) -> Said:
    return await talk.ask(
        lane,
        (Phase.PROBES, _FIRST + list(Variant).index(variant)),
        lambda session, number: varied(variant, session, number, call),
        kind=Kind.VARIANT,
        subject=subject_of(variant),
        session=session,
    )


def varied(variant: Variant, session: Session, number: str | int, call: PlannedCall | None) -> Outgoing:
    """Return the request of a variant."""
    if variant in (*_OF_A_READ, *_OF_PARAMS) and call is not None:
        params = {"name": call.tool, "arguments": dict(call.arguments)}
        good = session.request(number, "tools/call", params)
    elif variant is Variant.UNKNOWN_METHOD:
        good = session.request(number, NO_SUCH_METHOD)
    else:
        good = session.request(number, "tools/list")
    match variant:
        case Variant.SESSION:
            return Outgoing((*good.headers, ("Mcp-Session-Id", MADE_UP_SESSION)), good.body)
        case Variant.NO_CLIENT_INFO:
            return _edited(good, lambda params: params["_meta"].pop(f"{_PREFIX}/clientInfo"))
        case Variant.NO_CAPABILITIES:
            return _edited(good, lambda params: params["_meta"].pop(f"{_PREFIX}/clientCapabilities"))
        case Variant.NO_META:
            return _edited(good, lambda params: params.pop("_meta"))
        case Variant.OTHER_VERSION:
            return _naming(good, NO_SUCH_VERSION)
        case Variant.NO_METHOD:
            return _without(good, "mcp-method")
        case Variant.NO_NAME:
            return _without(good, "mcp-name")
        case Variant.NO_VERSION:
            return _without(good, _VERSION)
        case Variant.NO_PARAM:
            return _without(good, _first_param(good))
        case Variant.OTHER_PARAM:
            return _with_other_value(good, _first_param(good))
        case Variant.UNKNOWN_VERSION:
            named = {f"{_PREFIX}/protocolVersion": NO_SUCH_VERSION}
            return _naming(_edited(good, lambda params: params["_meta"].update(named)), NO_SUCH_VERSION)
    return good


def _edited(message: Outgoing, edit: Callable[[Message], object]) -> Outgoing:
    body = json.loads(message.body)
    edit(body["params"])
    return Outgoing(message.headers, json.dumps(body).encode())


def _naming(message: Outgoing, version: str) -> Outgoing:
    headers = ((name, version if name.lower() == _VERSION else value) for name, value in message.headers)
    return Outgoing(tuple(headers), message.body)


def _first_param(message: Outgoing) -> str:
    return next(name.lower() for name, _ in message.headers if name.startswith(PARAM_PREFIX))


def _with_other_value(message: Outgoing, header: str) -> Outgoing:
    def other(value: str) -> str:
        return str(int(value) + 1) if value.isdecimal() else _OTHER_VALUES.get(value, "pytest-adcp-other")

    headers = ((name, other(value) if name.lower() == header else value) for name, value in message.headers)
    return Outgoing(tuple(headers), message.body)


def _without(message: Outgoing, header: str) -> Outgoing:
    return Outgoing(tuple(item for item in message.headers if item[0].lower() != header), message.body)
