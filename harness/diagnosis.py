"""Why a target cannot be surveyed: one cause, one cure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from .conversation import Conversation, Said
from .reading import hidden_response, no_answer, read
from .readings import over_a_limit
from .recorder import Phase
from .session import Outgoing, Session, speaks
from .sse import Event, decode
from .target import Target
from .text import quote, safe
from .transcript import Diagnosis, End, Era, Exchange
from .urls import display_url
from .wire import Lane

_CURES = {
    End.DNS: "check the host name in the URL",
    End.REFUSED: "start the server, or check host and port in the URL",
    End.TLS: "mend the certificate, or pass its authority with --adcp-ca-file; where the port speaks plain HTTP, use http://",
    End.PROXY: "check --adcp-proxy",
    End.RESET: "look into the server's log: it closed the connection without an answer",
    End.PROTOCOL: "check the port: what listens there does not speak HTTP/1.1",
    End.DEADLINE: "look into the server's log: it took the request and did not answer; --adcp-request-timeout gives it longer",
    End.HEADERS: "look at what adds so many headers to the answer",
    End.TOO_LARGE: "look at what the endpoint sends in place of a short answer to initialize",
    End.ENCODING: "send the answer without a content coding: the request asks for identity",
    End.EVENTS: "send the response to initialize on the stream that answers it",
    End.INTERRUPTED: "run it again",
}


LEGACY = "legacy-sse"  # the cause where only the transport of 2024-11-05 is spoken
NO_LEGACY = "connected-apps.no-legacy-sse"  # the rule that is about it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found near an endpoint that does not answer."""

    working: str = ""  # a neighbouring URL that answers initialize, as it may be shown
    legacy_sse: bool = False  # the 2024-11-05 transport answers there


async def look_around(talk: Conversation, lane: Lane, target: Target, refused: Exchange) -> Surroundings:
    """Try the usual slips where the endpoint answers, but not as an MCP endpoint: a trailing slash, /mcp, the old transport."""
    status = refused.response.status if refused.response is not None else 0
    if status not in (200, 400, 404, 405, 406, 410, 415, 426, 501):
        return Surroundings()
    message = Session(Era.HANDSHAKE).initialize(1)
    for position, url in enumerate(_neighbours(target.url), start=1):
        found = await talk.look(
            lane, (Phase.NEIGHBOURS, position), "POST", url, message, lambda event: bool(event.data)
        )
        result = read(found).result
        if result is not None and speaks(result.get("protocolVersion")) is not None:
            return Surroundings(working=display_url(url))
    listening = Outgoing((("Accept", "text/event-stream"),), b"")
    found = await talk.look(lane, (Phase.NEIGHBOURS, 0), "GET", target.url, listening, _is_endpoint)
    response = found.response
    if response is None or response.media_type != "text/event-stream":
        return Surroundings()
    return Surroundings(legacy_sse=any(map(_is_endpoint, decode(response.body).events)))


def _is_endpoint(event: Event) -> bool:
    return event.event == "endpoint"


def _neighbours(url: str) -> list[str]:
    parts = urlsplit(url)
    path = parts.path
    others = [path.rstrip("/") if path.endswith("/") and path != "/" else f"{path.rstrip('/')}/"]
    if not path.rstrip("/").endswith("/mcp"):
        others.append(f"{path.rstrip('/')}/mcp")
    return [
        urlunsplit((parts.scheme, parts.netloc, other, parts.query, "")) for other in others if other != path
    ]


def diagnose(target: Target, initialize: Said, seen: Surroundings) -> Diagnosis:
    """Return the one thing to say about a target that answers neither initialize nor server/discover."""
    exchange = initialize.exchange
    where = safe(target.display_url)
    if exchange.end is not End.COMPLETE or exchange.response is None:
        detail = f": {exchange.detail}" if exchange.detail else ""
        return Diagnosis(
            str(exchange.end), f"{where} gave no answer to initialize{detail}", _CURES[exchange.end]
        )
    response = exchange.response
    status = response.status
    if status in (401, 403):
        return unauthorized(target, exchange)
    if status in (429, 503):
        return Diagnosis(
            "busy",
            f"{where} does not serve now: {no_answer(exchange)}",
            "run it again later; --adcp-rate and --adcp-survey-timeout say how patient a run is",
        )
    if seen.working:
        return Diagnosis(
            "endpoint",
            f"{where} answers HTTP {status}, and its neighbour {safe(seen.working)} answers initialize",
            f"use --server-url={safe(seen.working)}",
        )
    if seen.legacy_sse:
        return Diagnosis(
            LEGACY,
            f"{where} speaks the HTTP+SSE transport of MCP 2024-11-05, which Streamable HTTP replaced",
            'serve Streamable HTTP (in most SDKs another transport class or `transport="http"`), and use that URL',
        )
    if 300 <= status < 400:
        location = response.header("location")
        return Diagnosis(
            "redirect",
            f"{where} redirects (HTTP {status}) to {quote(location)}; credentials do not follow to another origin or scheme",
            "use the URL that it leads to, if that is your server",
        )
    if status == 404:
        return Diagnosis(
            "not-found",
            f"{where} answers HTTP 404",
            "check the path of the MCP endpoint, /mcp in most servers",
        )
    error = initialize.reading.response.get("error") if initialize.reading.response else None
    if error is not None:
        return Diagnosis(
            "refused",
            f"{where} refuses initialize (HTTP {status}): {quote(error)}",
            "make initialize answer a result; the offer was protocolVersion 2025-11-25 with no capabilities",
        )
    if initialize.reading.response is not None:
        result = initialize.reading.response.get("result")
        return Diagnosis(
            "handshake",
            f"{where} answers initialize with {quote(result)}, which has no protocolVersion string",
            "answer initialize with protocolVersion, capabilities and serverInfo",
        )
    if limit := over_a_limit(initialize.reading):
        return Diagnosis("unread", f"{where} answers initialize with {_limit(limit)}", _CURES[End.TOO_LARGE])
    if hidden := hidden_response(exchange):
        return Diagnosis(
            "framing",
            f"{where} answers initialize, and no client can read it: the answer is {hidden.meaning}",
            hidden.cure,
        )
    kind = quote(response.header("content-type")) if response.header("content-type") else "no content type"
    return Diagnosis(
        "not-mcp",
        f"{where} answers initialize with HTTP {status}, {kind} and {_start(response.body)}: no JSON-RPC response",
        "check that the URL is the MCP endpoint; it must answer a POST with application/json or text/event-stream",
    )


def _limit(words: str) -> str:
    return f"what is over a limit of this harness: {words.partition(';')[0]}"


def _start(body: bytes) -> str:
    return quote(body[:400].decode("utf-8", "replace"), 80) if body else "an empty body"


def unauthorized(target: Target, exchange: Exchange) -> Diagnosis:
    """Return what to say about an answer with HTTP 401 or 403: what it asks for, never what was given."""
    where = safe(target.display_url)
    response = exchange.response
    status = response.status if response else 0
    challenge = response.header("www-authenticate") if response else None
    asks = (
        f"; it asks for {quote(challenge)}"
        if challenge
        else "; it does not say (no WWW-Authenticate) what it wants"
    )
    if target.credentials.kinds:
        kinds = " and ".join(str(kind) for kind in target.credentials.kinds)
        return Diagnosis(
            "credentials-refused",
            f"{where} refuses the credentials given ({kinds}): HTTP {status}{asks}",
            "check the value in the environment variable",
        )
    return Diagnosis(
        "credentials-wanted",
        f"{where} wants credentials: HTTP {status}{asks}",
        "pass --adcp-bearer-env VAR, --adcp-header-env NAME=VAR or --adcp-basic-env VAR, or auth: in adcp.yaml",
    )


def no_tools(target: Target, said: Said) -> Diagnosis:
    """Return what to say about a target that lists no tools."""
    response, message = said.exchange.response, said.reading.response or {}
    if response is not None and response.status in (401, 403):
        return unauthorized(target, said.exchange)
    refused = f"it was refused: {quote(message['error'])}" if "error" in message else ""
    limit = over_a_limit(said.reading)
    unread = f"the answer is {_limit(limit)}" if limit else ""
    hidden = None if said.reading.response is not None else hidden_response(said.exchange)
    misread = f"the answer is {hidden.meaning}" if hidden else ""
    why = no_answer(said.exchange) or refused or unread or misread or "the answer holds no `tools` array"
    return Diagnosis(
        "tools-list",
        f"the handshake worked, but tools/list did not: {why}",
        hidden.cure
        if hidden and why == misread
        else 'make tools/list answer {"tools": [...]}; without it no client knows what to call',
    )
