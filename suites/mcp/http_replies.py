"""What the rules on the transport ask of a reply: whether it was served, and how to show what came."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from pytest_adcp.harness.reading import END_WORDS
from pytest_adcp.harness.rules import Broken, NotApplicable
from pytest_adcp.harness.subjects import HttpProbed, Reply
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.urls import is_loopback

WITH_VERSION_HEADER = (
    "2025-06-18",
    "2025-11-25",
)  # revisions of the handshake era that have the version header


def came(reply: Reply) -> str:
    """Return the status and the beginning of the body, in words."""
    body = reply.exchange.response.body if reply.exchange.response else b""
    shown = quote(body[:400].decode(errors="replace"), 160) if body else "no body"
    return f"HTTP {reply.status}, {shown}"


def is_served(reply: Reply) -> bool:
    """Tell whether a request got a JSON-RPC result."""
    return 200 <= reply.status < 300 and "result" in (reply.response or {})


def plain_answer(http_probe: HttpProbed) -> Reply:
    """Return the answer to the plain request.

    Raises:
        NotApplicable: that one was not answered either.
    """
    normal = http_probe.normal
    if normal is None or normal.status != 200 or normal.response is None:
        raise NotApplicable("the same request in its plain form got no answer either")
    return normal


def must_be_served(http_probe: HttpProbed, because: str, *, lenient: str = "") -> None:
    """Raise Broken unless a request fared as the plain one did."""
    normal, reply = plain_answer(http_probe), http_probe.reply
    answered = 200 <= reply.status < 300 and reply.response is not None
    if answered and (is_served(reply) or not is_served(normal)):
        return
    raise Broken(
        "the answer that the same request in its plain form got",
        came(reply),
        because=because,
        lenient=lenient,
    )


def must_not_fail(http_probe: HttpProbed, what: str) -> None:
    """Raise Broken where the server failed over a request, or gave no answer; `what` it was, in words."""
    plain_answer(http_probe)
    reply = http_probe.reply
    if reply.exchange.end is not End.DEADLINE and reply.status < 500:
        return
    came_to = f"HTTP {reply.status}: the server fails" if reply.status else "no answer at all"
    raise Broken(
        "a result, or a refusal with HTTP 4xx or a JSON-RPC error",
        came(reply) if reply.status else END_WORDS[reply.exchange.end],
        because=f"{what} gets {came_to}, while the same request in its plain form is answered",
    )


def is_within_reach(reply: Reply) -> bool:
    """Tell whether DNS rebinding reaches the server: it is on loopback, or speaks plain HTTP."""
    parts = urlsplit(reply.exchange.request.url)
    return parts.scheme == "http" or is_loopback(parts.hostname or "")


def why_not_followed(status: int, asked: str, location: str | None) -> tuple[str, str]:
    """Say why no client follows a redirect with a POST and its credentials, and why that would be the user's matter."""
    if location is None:
        return f"with HTTP {status} and leads nowhere", ""
    try:
        here, there = urlsplit(asked), urlsplit(urljoin(asked, location))
        same = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
    except ValueError:
        return "to what is no URL", ""
    if not same and (here.scheme, there.scheme) == ("http", "https") and here.hostname == there.hostname:
        return "to https; clients keep their credentials from another origin", "it is the URL to use"
    if not same and (here.scheme, there.scheme) == ("https", "http"):
        return (
            "from https to http: clients send neither the request nor its credentials there in the clear",
            "",
        )
    if not same:
        return "to another origin, and clients keep their credentials from that", ""
    if status not in (307, 308):
        return f"with HTTP {status}: clients go there with GET and without the body, or not at all", ""
    return "again and again, and clients give up", ""
