"""Who may call, and how a caller learns what it needs for that."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.calls import Credentials
from pytest_adcp.harness.classify import Class, classify
from pytest_adcp.harness.extraction import extract_error, extract_success
from pytest_adcp.harness.probes.documents import served
from pytest_adcp.harness.reading import no_answer
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import AUTHENTICATION, adcp, mcp, rfc
from pytest_adcp.harness.subjects import Challenge, Metadata, Refusal
from pytest_adcp.harness.tasks import Task, catalogue
from pytest_adcp.harness.text import quote, safe
from pytest_adcp.harness.transcript import End, Exchange, Kind
from pytest_adcp.harness.urls import UrlError, is_loopback, origin, web_address
from pytest_adcp.harness.wrappers import data_members, find_data, has_root, hidden_error

_WITH = {
    Credentials.NONE: "without credentials",
    Credentials.UNKNOWN: "with credentials that nobody has",
    Credentials.MALFORMED: "with an Authorization header without a scheme",
}
_PAGES_DISAGREE = "AdCP's page on transport errors lets a tool refuse in this way"
_SERVERS_LOOKED_AT = 20
_VALUES_LOOKED_AT = 20_000  # of one answer
_NOTHING: tuple[Any, ...] = (None, [], {}, "")
_PROSE = 1000  # characters before a JSON text


@rule(
    "adcp.security.credentials-required", level=Level.MUST, source=adcp(AUTHENTICATION, "public-operations")
)
def credentials_required(refusal: Refusal) -> None:
    """A task that is not public is refused to a caller without credentials, with HTTP 401 or 403.

    Check the credentials of every request before it reaches a tool, whether it belongs to a session or not, and answer
    HTTP 401 with WWW-Authenticate where there are none.
    """
    if refusal.credentials is not Credentials.NONE:
        raise NotApplicable("this request carries an Authorization header, or another in its place")
    _check_refused(refusal, (401, 403))


@rule("adcp.security.credentials-checked", level=Level.MUST, source=adcp(AUTHENTICATION))
def credentials_checked(refusal: Refusal) -> None:
    """A task that is not public is refused to unknown and to malformed credentials, with HTTP 400, 401 or 403.

    Look the credentials up on every request, and answer HTTP 401 with WWW-Authenticate where they are nobody's or
    cannot be read.
    """
    if refusal.credentials is Credentials.NONE:
        raise NotApplicable("this request carries no credentials")
    _check_refused(refusal, (400, 401, 403))


def _check_refused(refusal: Refusal, statuses: tuple[int, ...]) -> None:
    status, tool, how = refusal.reply.status, safe(refusal.tool, 60), _WITH[refusal.credentials]
    wanted = "HTTP 401 and WWW-Authenticate"
    if given := _given(refusal):
        raise Broken(
            wanted,
            f"HTTP {status} and {given}",
            at="/result",
            because=f"the server gave {tool} to a caller {how}",
        )
    if status in statuses:
        return
    if status >= 500:
        raise Broken(
            wanted,
            f"HTTP {status}",
            because=f"a call of {tool} {how} makes the server fail (HTTP {status})",
            fix="Catch what the check of the credentials raises, and answer HTTP 401.",
        )
    if status >= 300:
        raise Broken(
            wanted,
            f"HTTP {status}",
            because=f"{tool} {how} is refused with HTTP {status}, which tells no client that it lacks "
            "credentials",
            lenient="it gives nothing away, and a server may find something else wrong first",
        )
    raise Broken(
        wanted,
        f"HTTP {status} and {_said(refusal)}",
        because=f"a call of {tool} {how} gets HTTP {status}, so clients and gateways that look at the status see no refusal",
        lenient=_PAGES_DISAGREE,
    )


def _given(refusal: Refusal) -> str:
    """Return what a task gave to the caller, in short; empty where it gave nothing."""
    task = catalogue().get(refusal.tool)
    if task is None:
        return ""
    return _answered(refusal, task) or _hidden(refusal, task)


def _answered(refusal: Refusal, task: Task) -> str:
    """Return what a client would read as the task's answer."""
    response = refusal.reply.response or {}
    result = response.get("result")
    if refusal.reply.status >= 400 or not isinstance(result, Mapping):
        return ""
    extraction = extract_success(result)
    kind = classify(task, result, response, extraction)
    payload = extraction.data
    if payload is None or kind is Class.ERROR:
        return ""
    is_data = (
        has_root(task, payload)
        or payload.get("status") in ("submitted", "working")
        or (find_data(task, payload) is not None and hidden_error(task, payload) is None)
    )
    names = data_members(task, payload)
    return quote({name: payload[name] for name in names} or payload) if is_data else ""


def _hidden(refusal: Refusal, task: Task) -> str:
    """Return the task's data wherever in the body it stands, also beside an error and whatever the status says."""
    waiting: deque[Any] = deque(document.parsed.value for document in refusal.reply.documents)
    left = _VALUES_LOOKED_AT
    while waiting and left > 0:
        item = waiting.popleft()
        left -= 1
        if isinstance(item, Mapping):
            given = {name: item[name] for name in sorted(task.root) if item.get(name) not in _NOTHING}
            if given:
                return quote(given)
            waiting.extend(islice(item.values(), left))
        elif isinstance(item, list):
            waiting.extend(islice(item, left))
        elif isinstance(item, str) and (start := re.search(r"[\[{]", item[:_PROSE])):
            inner = jsontext.parse(item[start.start() :]).value
            # A list without a name may hold the task's items; an error is an object.
            if isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
                return quote(inner)
            waiting.append(inner)
    return ""


def _said(refusal: Refusal) -> str:
    """Quote how a refusal that is none for HTTP says it."""
    response = refusal.reply.response
    if response is None:
        return "no JSON-RPC response"
    result = response.get("result")
    found = extract_error(result if isinstance(result, Mapping) else response).error
    return quote(found or response.get("error", result))


@rule("adcp.security.challenge", level=Level.MUST, source=rfc(9110, "15.5.2"))
def challenge_given(challenge: Challenge) -> None:
    """An answer with HTTP 401 says in WWW-Authenticate how to authenticate.

    Add a header such as `WWW-Authenticate: Bearer` to every answer with HTTP 401, also where a gateway gives it.
    """
    if not challenge.values:
        raise Broken(
            "WWW-Authenticate: Bearer, or another scheme",
            "HTTP 401 without WWW-Authenticate",
            because="an answer with HTTP 401 does not say how to authenticate, so a client cannot tell a missing token from "
            "a server that is not for it",
            lenient="it is no answer of the MCP endpoint" if challenge.exchange.kind is Kind.METADATA else "",
        )


@rule("adcp.security.challenge-metadata", level=Level.MUST, source=rfc(9728, "5.1"))
def challenge_leads_somewhere(challenge: Challenge) -> None:
    """The resource_metadata of a challenge is an https URL at which the document is served.

    Put the absolute URL of the document there, and serve it to everybody as JSON; or leave the parameter out where the
    server knows static keys only.
    """
    if not challenge.documents:
        raise NotApplicable("the challenge names no metadata")
    for url, exchange in challenge.documents:
        _check_secure(url, challenge.exchange.request.url, "resource_metadata in WWW-Authenticate")
        if exchange is not None and served(exchange) is None:
            raise _not_served(url, exchange)


def _not_served(url: str, exchange: Exchange) -> Exception:
    status = exchange.response.status if exchange.response is not None else 0
    if exchange.end is End.INTERRUPTED:
        return NotApplicable("the time for looking the document up was over before it was there")
    if not status or status in (429, 502, 503, 504):
        return Blocked(no_answer(exchange))
    came = f"HTTP {status}" + ("" if status != 200 else " and no JSON object with resource in it")
    return Broken(
        f"the document of RFC 9728 at {quote(url, 120)}",
        came,
        because=f"a challenge sends clients to {quote(url, 120)}, and there is {came}: those that follow it cannot get a token",
    )


@rule("adcp.security.metadata-resource", level=Level.MUST, source=rfc(9728, "3.3"))
def resource_is_the_endpoint(metadata: Metadata) -> None:
    """Where a server serves protected-resource metadata, `resource` is the URL of its MCP endpoint.

    Set `resource` to the URL that buyers are given, to the letter: clients ask for a token for that URL, and compare.
    """
    document = _resource(metadata)
    resource = document.get("resource")
    if resource == metadata.endpoint:
        return
    own, theirs = _place(metadata.endpoint), _place(resource)
    received = quote(resource) if "resource" in document else "no such member"
    if own is None or own == theirs:
        return  # they differ in the default port, in capitals of the host, or in a query
    lenient = ""
    if theirs is not None:
        lenient = _why_another_place(metadata.endpoint, str(resource), own, theirs)
        if not lenient and metadata.exchange.request.url.endswith("/oauth-protected-resource"):
            lenient = "at the root of the host it may be about something else"
    raise Broken(
        quote(metadata.endpoint),
        received,
        at="/resource",
        because="the metadata is not about this endpoint: clients that compare `resource` with the URL they call discard it",
        lenient=lenient,
    )


def _why_another_place(endpoint: str, resource: str, own: tuple[str, str], theirs: tuple[str, str]) -> str:
    """Say what speaks for a resource that is not the endpoint; empty where nothing does."""
    if own[0] != theirs[0]:
        hidden = is_loopback(urlsplit(endpoint).hostname or "") and not is_loopback(
            urlsplit(resource).hostname or ""
        )
        return (
            "the server is reached over loopback here, and buyers may well reach it there" if hidden else ""
        )
    if own[1].rstrip("/") == theirs[1].rstrip("/"):
        return "only a slash at the end differs, and not every client minds"
    covers = own[1].startswith(f"{theirs[1].rstrip('/')}/")
    return "MCP lets a resource stand for all that is below it" if covers else ""


@rule("adcp.security.metadata-servers", level=Level.MUST, source=mcp("basic/authorization"))
def servers_are_listed(metadata: Metadata) -> None:
    """Protected-resource metadata lists in authorization_servers at least one https URL, and nothing else.

    List the issuer URL of each authorization server whose tokens the endpoint takes; serve no such metadata where it
    takes static keys only.
    """
    document = _resource(metadata)
    servers = document.get("authorization_servers")
    if not isinstance(servers, list) or not servers:
        raise Broken(
            "an array of https URLs",
            quote(servers) if "authorization_servers" in document else "no such member",
            at="/authorization_servers",
            because="the metadata names no authorization server, so a client that found it still cannot get a token",
        )
    for index, server in enumerate(servers[:_SERVERS_LOOKED_AT]):
        _check_secure(
            server, metadata.endpoint, "a listed authorization server", f"/authorization_servers/{index}"
        )


@rule("adcp.security.authorization-server", level=Level.MUST, source=rfc(8414, "3.3"))
def server_is_usable(metadata: Metadata) -> None:
    """The metadata of a listed authorization server has that issuer, and a token_endpoint.

    Set `issuer` to the very URL that authorization_servers lists, and `token_endpoint` to the URL that hands out tokens.
    """
    if metadata.issuer is None:
        raise NotApplicable("this document is about the resource")
    document, listed = metadata.value, metadata.issuer
    issuer = document.get("issuer")
    if issuer != listed:
        slash = isinstance(issuer, str) and issuer.rstrip("/") == listed.rstrip("/")
        raise Broken(
            quote(listed),
            quote(issuer) if "issuer" in document else "no such member",
            at="/issuer",
            because="the authorization server calls itself otherwise than the resource does, and clients have to discard "
            "its metadata then",
            lenient="only a slash at the end differs, and not every client minds" if slash else "",
        )
    if "token_endpoint" not in document:
        raise Broken(
            "token_endpoint, an https URL",
            quote(sorted(document)),
            at="/token_endpoint",
            because="the metadata of the authorization server does not say where tokens are had",
        )
    _check_secure(document["token_endpoint"], metadata.endpoint, "token_endpoint", "/token_endpoint")


def _resource(metadata: Metadata) -> Mapping[str, Any]:
    if metadata.issuer is not None:
        raise NotApplicable("this document is about the authorization server")
    return metadata.value


def _place(url: Any) -> tuple[str, str] | None:
    """Return origin and path of a URL; None where it is none."""
    try:
        parts = web_address(url) if isinstance(url, str) else None
    except UrlError:
        return None
    return (origin(parts.geturl()), parts.path or "/") if parts is not None else None


def _check_secure(url: Any, endpoint: str, what: str, at: str | None = None) -> None:
    """Break the rule where something is no https URL; on loopback http will do."""
    place = _place(url)
    if place is not None and (place[0].startswith("https:") or is_loopback(urlsplit(url).hostname or "")):
        return
    same = _place(endpoint)
    plain = place is not None and same is not None and place[0] == same[0]
    raise Broken(
        "an absolute https URL",
        quote(url),
        at=at,
        because=f"{what} is no absolute https URL, and clients that mind where tokens go do not follow it",
        lenient="it follows the plain http of the endpoint" if plain else "",
    )
