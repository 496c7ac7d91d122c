"""What the rules on the transport ask of a reply: whether it was served, and how to show what came."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_adcp.harness.rules import Broken, NotApplicable
from pytest_adcp.harness.subjects import HttpProbed, Reply
from pytest_adcp.harness.text import quote
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


def is_within_reach(reply: Reply) -> bool:
    """Tell whether DNS rebinding reaches the server: it is on loopback, or speaks plain HTTP."""
    parts = urlsplit(reply.exchange.request.url)
    return parts.scheme == "http" or is_loopback(parts.hostname or "")
