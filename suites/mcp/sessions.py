"""Sessions of Streamable HTTP, 2025-03-26 to 2025-11-25: how they begin, what names them, and how they end."""

from __future__ import annotations

import re

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.modern import Modern
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.subjects import Handshake, HttpProbed
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.transcript import Exchange

from .http_replies import came, is_served, plain_answer

HEADER = "Mcp-Session-Id"
SHORTEST = 16  # characters of an id that nobody guesses

_SESSIONS = mcp("basic/transports", "session-management")
_VISIBLE = re.compile("[\x21-\x7e]+")


@rule("mcp.http.session-id-characters", level=Level.MUST, source=_SESSIONS)
def session_ids_are_visible_ascii(handshake: Handshake) -> None:
    """Each session id consists of visible ASCII characters (0x21 to 0x7E).

    Make it of a UUID or of secrets.token_urlsafe(24) (crypto.randomUUID() in JavaScript). A name, a path or encrypted
    bytes have to be encoded first, with base64url for example.
    """
    issued = _issued(handshake.exchange)
    if issued is None:
        raise NotApplicable("the server issues no session id")
    if not _VISIBLE.fullmatch(issued):
        raise Broken(
            "visible ASCII characters, no space among them",
            f"{HEADER}: {quote(issued)}" if issued else f"an empty {HEADER}",
            because="the session id holds characters that clients and proxies do not carry back as they came, so the "
            "server does not find the session again",
        )


@rule(
    "mcp.http.session-id-unguessable",
    level=Level.SHOULD,
    source=_SESSIONS,
    probes=[HttpProbe.INITIALIZE_JUNE],
)
def session_ids_are_unique_and_long(http_probe: HttpProbed) -> None:
    """Each initialize that opens a session gets an id of its own, too long to guess.

    Draw 128 random bits for each session (uuid.uuid4(), secrets.token_urlsafe(24), crypto.randomUUID()); no counter, no
    clock, no constant, nothing that is derived from the caller alone.
    """
    issued = _issued(http_probe.exchange)
    if issued is None:
        raise NotApplicable("the server issues no session id")
    if http_probe.normal is not None and _issued(http_probe.normal.exchange) == issued:
        raise Broken(
            "another id than that of the session before",
            f"{HEADER}: {quote(issued)} for both",
            because="two sessions have the same id: what one client sets or ends there, it does to the other",
        )
    if len(issued) < SHORTEST:
        raise Broken(
            f"{SHORTEST} characters or more",
            f"{HEADER}: {quote(issued)}",
            because=f"the session id has only {len(issued)} characters; who guesses one is in another's session",
        )


@rule(
    "mcp.http.session-required",
    level=Level.SHOULD,
    source=_SESSIONS,
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.SESSION_ABSENT],
)
def a_missing_session_id_is_a_bad_request(http_probe: HttpProbed) -> None:
    """Servers that need a session id refuse a request without one with HTTP 400.

    Answer 400 where the header is missing and 404 where its session is gone: at a 404 a client begins anew, at a 400 it
    knows that its request was wrong.
    """
    plain_answer(http_probe)
    if http_probe.reply.status < 400:
        raise NotApplicable("the server serves requests without a session id too: it does not need one")
    if http_probe.reply.status != 400:
        raise Broken(
            "HTTP 400",
            came(http_probe.reply),
            because=f"a request without {HEADER} was refused with HTTP {http_probe.reply.status}, which tells a client "
            "something else than that the header is missing",
        )


@rule(
    "mcp.http.delete",
    level=Level.SHOULD,
    source=_SESSIONS,
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.SESSION_DELETE],
)
def sessions_end_or_may_not_be_ended(http_probe: HttpProbed) -> None:
    """DELETE with the id of an open session ends it (2xx), or is refused with HTTP 405.

    Answer 200 or 204 when the session is gone, and 405 with Allow: POST where clients may not end sessions.
    """
    status = http_probe.reply.status
    if not 200 <= status < 300 and status != 405:
        raise Broken(
            "HTTP 200, 204 or 405",
            came(http_probe.reply),
            because=f"DELETE of a session that was just opened got HTTP {status}; a client takes that for a fault and "
            "leaves the session behind",
        )


@rule(
    "mcp.http.session-ended",
    level=Level.MUST,
    source=_SESSIONS,
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.SESSION_ENDED],
)
def ended_sessions_are_not_found(http_probe: HttpProbed) -> None:
    """Requests in a session that was ended get HTTP 404.

    Forget the session when DELETE is answered with 2xx (or answer DELETE with 405), and answer 404 for any id that is not
    among the open sessions. Clients initialize again at a 404 and at nothing else. Behind a load balancer all
    instances have to know of the end.
    """
    if http_probe.reply.status == 404:
        return
    ended = http_probe.normal.status if http_probe.normal is not None else 0
    served = http_probe.reply.status < 400
    raise Broken(
        "HTTP 404",
        came(http_probe.reply),
        because=f"DELETE was answered with HTTP {ended}, and a request in that session then "
        + (
            "was served: the session goes on, for whoever has its id"
            if served
            else f"got HTTP {http_probe.reply.status}: a client does not learn that it has to initialize again"
        ),
    )


@rule(
    "mcp.http.session-unknown",
    level=Level.SHOULD,
    source=_SESSIONS,
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.SESSION_UNKNOWN],
)
def unknown_sessions_are_not_found(http_probe: HttpProbed) -> None:
    """Servers that issue session ids answer a request with one that they did not issue with HTTP 404.

    Answer 404 for every id that is not among the open sessions: after a restart all of them are unknown, and clients
    initialize again at a 404 only. Do not open a session under an id that a client made up.
    """
    if http_probe.reply.status == 404:
        return
    plain_answer(http_probe)
    raise Broken(
        "HTTP 404",
        came(http_probe.reply),
        because="a session id that the server never issued is served like one of its own"
        if is_served(http_probe.reply)
        else f"an unknown session id got HTTP {http_probe.reply.status}; after a restart of the server clients do not "
        "learn that they have to initialize again",
    )


@rule(
    "mcp.http.session-none-issued",
    level=Level.SHOULD,
    source=mcp(
        "basic/transports/streamable-http", "earlier-streamable-http-revisions", revision=STATELESS_REVISION
    ),
)
def no_session_is_opened_without_sessions(modern: Modern) -> None:
    """Servers that speak 2026-07-28 only issue no session id.

    Leave Mcp-Session-Id out of responses: no client of this version sends it back, and one of an older version takes the
    server for one of its own.
    """
    if modern.server.initialize:
        raise NotApplicable("the server speaks older versions too, which have sessions")
    issued = _issued(modern.exchange)
    if issued is not None:
        raise Broken(
            f"no {HEADER}",
            f"{HEADER}: {quote(issued)}",
            because=f"the result of {modern.method} comes with a session id, which MCP 2026-07-28 does not know",
        )


def _issued(exchange: Exchange) -> str | None:
    return exchange.response.header(HEADER) if exchange.response is not None else None
