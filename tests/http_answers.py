"""What a survey gives in which a request that tries the transport got one literal answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidence import URL, Http, surveyed
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.http import Variant, subject, varied
from pytest_adcp.harness.session import Outgoing, Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response, Transcript

JUNE, MARCH, NOVEMBER, STATELESS = "2025-06-18", "2025-03-26", "2025-11-25", "2026-07-28"
PONG = Http({"jsonrpc": "2.0", "id": "p", "result": {}})
REFUSED = Http({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}, 400)
PAGE = Http(b"<!doctype html><h1>Bad Request</h1>", 400, "text/html")


def result(value: Any, **http: Any) -> Http:
    return Http({"jsonrpc": "2.0", "id": "p", "result": value}, **http)


def error(code: int, status: int = 200, request_id: Any = "p") -> Http:
    return Http({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": "no"}}, status)


def tried(
    probe: HttpProbe,
    answer: Http,
    *,
    revision: str = NOVEMBER,
    normal: Http | None = PONG,
    url: str = URL,
    sent: Outgoing | None = None,
    more: Mapping[HttpProbe, Http] | None = None,
    **survey: Any,
) -> Evidence:
    """Return the evidence of a survey in which a probe got this answer.

    Args:
        normal: what came back to the ping, or server/discover, that it is compared with.
        more: what other probes got.
    """
    era = Era.STATELESS if revision == STATELESS else Era.HANDSHAKE
    evidence = surveyed(revision=revision, **survey)
    session = Session(era, revision=revision, session_id="an-id-of-the-server")
    plain = session.request("p", "ping" if era is Era.HANDSHAKE else "server/discover")
    answers = [(probe, answer, sent or plain), *((p, a, plain) for p, a in (more or {}).items())]
    if normal is not None and era is Era.HANDSHAKE and probe is not HttpProbe.PING:
        answers.append((HttpProbe.PING, normal, plain))
    exchanges = list(evidence.transcript.exchanges)
    for which, came, message in answers:
        content_type = (("content-type", came.content_type),) if came.content_type else ()
        headers = (*content_type, *came.headers.items())
        exchanges.append(
            Exchange(
                index=len(exchanges),
                subject=subject(which),
                kind=Kind.HTTP,
                request=Request("POST", url, message.headers, message.body),
                response=Response(came.status, "HTTP/1.1", headers, came.raw, len(came.raw)),
                end=came.end,
                era=era,
                answered=0.1 if came.end is End.COMPLETE else None,
            )
        )
    return Evidence(Transcript(evidence.transcript.survey, tuple(exchanges)), spec="3.1")


def with_header(name: str, value: str | None, revision: str = NOVEMBER) -> Outgoing:
    session = Session(Era.HANDSHAKE, revision=revision, session_id="an-id-of-the-server")
    return varied(session.request("p", "ping"), Variant(HttpProbe.PING, ((name, value),)))


def opened(session_id: str | None, protocol_version: str = NOVEMBER) -> Http:
    value = {
        "protocolVersion": protocol_version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "seller", "version": "1"},
    }
    headers = {} if session_id is None else {"mcp-session-id": session_id}
    return Http({"jsonrpc": "2.0", "id": "init-1", "result": value}, headers=headers)
