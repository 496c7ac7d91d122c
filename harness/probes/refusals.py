"""A protected read again, with credentials that are none: as a caller that the server does not know."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import anyio
from pytest_adcp.harness.calls import Credentials, NotCalled, PlannedCall, Purpose
from pytest_adcp.harness.conversation import Conversation, Headers
from pytest_adcp.harness.recorder import Phase
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.target import AuthKind, Target, basic_header
from pytest_adcp.harness.target import Credentials as Given
from pytest_adcp.harness.transcript import End, Era, Kind
from pytest_adcp.harness.urls import query_secrets
from pytest_adcp.harness.wire import Connection, CookieStore, Lane

from .subjects import REFUSALS, SESSION

# Reads of what belongs to somebody, in the order of preference. Not among them is what may be public: capabilities,
# products, formats, signals, brands, and what computes on its arguments alone.
PROTECTED = (
    "list_creatives",
    "get_media_buys",
    "list_accounts",
    "get_media_buy_delivery",
    "get_principal",
    "get_account_financials",
    "list_account_changes",
    "list_tasks",
    "get_reporting_status",
    "get_creative_delivery",
    "get_media_buy_artifacts",
    "get_plan_audit_logs",
    "list_property_lists",
    "get_property_list",
    "list_collection_lists",
    "get_collection_list",
)
_SCHEMES = ("bearer", "token")
_CLOSING = 5.0  # seconds for the DELETE, also when the run is interrupted

_GIVE_SOME = (
    "whether a caller that the server does not know is refused can be told from one that it knows: give credentials with "
    "--adcp-bearer-env, --adcp-basic-env or --adcp-header-env; a protected read is then sent again without them, with "
    "made-up ones and with a malformed header"
)
_IN_URL = "the URL holds a credential too: a request without the header is not one without credentials"
_CERTIFICATE = (
    "a client certificate is shown too: a request without the header is not one without credentials"
)
_NONE_ACCEPTED = f"no read of what belongs to somebody ({', '.join(PROTECTED[:4])} ...) succeeded with the credentials given"


def why_not(target: Target, connection: Connection) -> str:
    """Say why a target cannot be asked as an unknown caller; empty where it can."""
    if not target.credentials.kinds:
        return _GIVE_SOME
    if query_secrets(target.url):
        return _IN_URL
    return _CERTIFICATE if connection.identified else ""


def protected(accepted: Iterable[PlannedCall]) -> PlannedCall | None:
    """Return the call to repeat, out of those that succeeded with credentials; None where none is fit."""
    calls = [
        call
        for call in accepted
        if call.tool in PROTECTED and call.purpose in (Purpose.GOOD, Purpose.CONFIGURED)
    ]
    order = (Purpose.GOOD, Purpose.CONFIGURED)
    return min(
        calls,
        key=lambda call: (PROTECTED.index(call.tool), order.index(call.purpose), call.name),
        default=None,
    )


def offered(given: Given, which: Credentials, value: str) -> Headers:
    """Return the headers of a caller that is unknown in one way; `value` is what makes them nobody's."""
    if which is Credentials.NONE:
        return ()
    if which is Credentials.MALFORMED:
        return (("Authorization", value),)
    basic = (("Authorization", basic_header(f"{value}:{value}")),)
    bearer = (("Authorization", f"Bearer {value}"),)
    headers = basic if AuthKind.BASIC in given.kinds else ()
    headers = bearer if {AuthKind.BEARER, AuthKind.OAUTH}.intersection(given.kinds) else headers
    return (*headers, *((name, _like(real, value)) for name, real in given.extra))


def _like(real: str, value: str) -> str:
    """Return a made-up header value of the same scheme. Only known schemes: another first word may be part of a secret."""
    scheme = real.partition(" ")[0]
    if scheme.lower() == "basic":
        return basic_header(f"{value}:{value}")
    return f"{scheme} {value}" if scheme.lower() in _SCHEMES else value


async def send(
    talk: Conversation,
    target: Target,
    connection: Connection,
    accepted: Iterable[PlannedCall],
    lanes: Iterable[Lane],
) -> NotCalled | None:
    """Send a protected read without credentials, with unknown and with malformed ones; return why not, where it is not.

    The connections are new ones and share no cookie with any other, nor with each other: a cookie may stand for
    credentials. So is the session, since the server may well end one in which it saw this. `lanes` rest meanwhile.
    """
    call = protected(accepted)
    why = why_not(target, connection) or ("the survey ended before it" if talk.stopped else "")
    if call is None or why:
        return NotCalled(REFUSALS, why or _NONE_ACCEPTED)
    for lane in lanes:
        await lane.rest()
    async with Lane(connection, CookieStore()) as known, Lane(connection, CookieStore()) as unknown:
        session, caller = talk.session, talk.beside(talk.credentials)
        if session.era is Era.HANDSHAKE:
            said = await caller.ask(
                known,
                (Phase.REFUSALS, 0),
                lambda session, number: session.initialize(number),
                kind=Kind.REFUSAL,
                subject=SESSION,
                session=Session(Era.HANDSHAKE),
            )
            session = Session(Era.HANDSHAKE)
            if not caller.adopt(session, said):
                return NotCalled(REFUSALS, "the server opened no second session, in which they are sent")
            await caller.ask(
                known,
                (Phase.REFUSALS, 1),
                lambda session, _: session.initialized(),
                kind=Kind.REFUSAL,
                subject="credentials/initialized",
                session=session,
            )
            await known.rest()
        try:
            return await _as_nobody(talk, unknown, session, target.credentials, call)
        finally:
            with anyio.move_on_after(_CLOSING, shield=True):
                await unknown.rest()
                await caller.close(known, (Phase.REFUSALS, 5), Kind.REFUSAL, "credentials/delete")


async def _as_nobody(
    talk: Conversation, lane: Lane, session: Session, given: Given, call: PlannedCall
) -> NotCalled | None:
    params = {"name": call.tool, "arguments": dict(call.arguments)}
    for position, which in enumerate(Credentials, start=2):
        if talk.stopped:
            return None
        nobody = talk.beside(offered(given, which, f"invalid-{secrets.token_hex(16)}"), made_up=True)
        said = await nobody.ask(
            lane,
            (Phase.REFUSALS, position),
            lambda session, number: session.request(number, "tools/call", params),
            kind=Kind.REFUSAL,
            subject=f"credentials/{which}",
            session=session,
        )
        if said.exchange.end is End.DEADLINE:
            return NotCalled(REFUSALS, f"credentials/{which} got no answer in time, and no more was sent")
    return None
