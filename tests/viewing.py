"""Servers with one user interface, as the connected-apps profile sees them, from literal answers: no server runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from apps import app, tool
from evidence import REVISION, URL, Http, _Log
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind
from pytest_adcp.harness.views import AGAIN, LIST, READ

URI = "ui://weather/chart.html"
TYPE = "text/html;profile=mcp-app"
PAGE = "<!doctype html><html><body><p>Weather</p><script>start()</script></body></html>"
LINKED = tool(_meta={"ui": {"resourceUri": URI}})


def item(text: str | None = PAGE, *, csp: Any = None, **members: Any) -> dict[str, Any]:
    """Return a good content item with some members changed; None takes one away."""
    good = {"uri": URI, "mimeType": TYPE, "text": text}
    good |= {} if csp is None else {"_meta": {"ui": {"csp": csp}}}
    return {key: value for key, value in {**good, **members}.items() if value is not None}


def with_body(html: str, *resource_domains: str, **csp: Any) -> dict[str, Any]:
    """Return a content item with this in its body, and these entries in resourceDomains."""
    page = f"<!doctype html><html><body>{html}</body></html>"
    return item(page, csp={"resourceDomains": list(resource_domains), **csp})


def viewed(
    *contents: Mapping[str, Any],
    again: Sequence[Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] = (LINKED,),
    listed: Sequence[Mapping[str, Any]] = (),
    error: Mapping[str, Any] | None = None,
    end: End = End.COMPLETE,
    declared: bool = True,
    uri: str = URI,
) -> Evidence:
    """Return the evidence of a survey in which the user interface was read twice; `again` is what the second read gave."""
    evidence = app(*tools)
    log = _Log()
    session = Session(Era.HANDSHAKE, revision=REVISION)

    def add(subject: str, method: str, params: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        answer = Http({"jsonrpc": "2.0", "id": subject, **message}, end=end)
        log.add(Kind.VIEW, subject, session.request(subject, method, params), answer, Era.HANDSHAKE)

    add(f"{LIST}1", "resources/list", {}, {"result": {"resources": list(listed)}})
    for subject, given in ((f"{READ}1", contents), (f"{READ}1{AGAIN}", contents if again is None else again)):
        message = {"error": error} if error else {"result": {"contents": list(given)}}
        add(subject, "resources/read", {"uri": uri}, message)
    exchanges = [*evidence.transcript.exchanges, *log.exchanges]
    if declared:
        exchanges = [_declaring(exchange) for exchange in exchanges]
    numbered = tuple(replace(exchange, index=index) for index, exchange in enumerate(exchanges))
    return Evidence(replace(evidence.transcript, exchanges=numbered))


def _declaring(exchange: Exchange) -> Exchange:
    if exchange.kind is not Kind.INITIALIZE or exchange.response is None:
        return exchange
    body = exchange.response.body.replace(b'"tools": {}', b'"tools": {}, "resources": {}')
    return replace(exchange, response=replace(exchange.response, body=body))


__all__ = ["LINKED", "PAGE", "TYPE", "URI", "URL", "item", "viewed", "with_body"]
