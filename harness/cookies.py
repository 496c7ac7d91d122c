"""Cookies of one run: load balancers tie a session to a server with them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime

from .endpoint import Endpoint
from .redact import REDACTED

MAX_COOKIES = 50  # per origin, as browsers do; what comes beyond is not kept
MAX_BYTES = 4096  # name and value together

_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]*")
_SHOWN = frozenset({"domain", "expires", "httponly", "max-age", "partitioned", "path", "samesite", "secure"})


class CookieStore:
    """The cookies that servers set during a run, shared by its lanes; values never show.

    A cookie goes back only to the origin (scheme, host and port) that set it, whatever its Domain says,
    which makes Secure needless. Its Path is honoured. One that is set with a date in the past is dropped;
    no other expiry matters in a run.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], dict[tuple[str, str], str]] = {}

    def store(self, endpoint: Endpoint, values: Iterable[str]) -> None:
        """Keep what the Set-Cookie headers of one response say."""
        jar = self._kept.setdefault(endpoint.origin, {})
        for value in values:
            pair, *rest = value.split(";")
            name, equals, content = (part.strip() for part in pair.partition("="))
            attributes = {
                key.strip().lower(): text.strip() for key, _, text in (part.partition("=") for part in rest)
            }
            path = attributes.get("path", "")
            key = (name, path if path.startswith("/") else "/")
            if not equals or not name or len(pair) > MAX_BYTES or not _SENDABLE.fullmatch(name + content):
                continue
            if _expired(attributes):
                jar.pop(key, None)
            elif key in jar or len(jar) < MAX_COOKIES:
                jar[key] = content

    def header(self, endpoint: Endpoint) -> str | None:
        """Return the Cookie header for a request; None where there is nothing to send."""
        path = endpoint.target.partition("?")[0]
        jar = self._kept.get(endpoint.origin, {})
        return (
            "; ".join(f"{name}={value}" for (name, scope), value in jar.items() if _covers(scope, path))
            or None
        )


def masked(set_cookie: str) -> str:
    """Return a Set-Cookie value as it may be written down: the name and the attributes."""
    pair, *rest = set_cookie.split(";")
    name, equals, _ = pair.partition("=")
    return ";".join(
        [f"{name}={REDACTED}" if equals else REDACTED, *(_masked_attribute(part) for part in rest)]
    )


def _masked_attribute(part: str) -> str:
    name, _, value = part.partition("=")
    # A second cookie squeezed into the same header stands behind an attribute, and brings an equals sign.
    return part if name.strip().lower() in _SHOWN and "=" not in value else f" {REDACTED}"


def _expired(attributes: dict[str, str]) -> bool:
    max_age = attributes.get("max-age", "")
    if re.fullmatch(r"-?[0-9]{1,15}", max_age):
        return int(max_age) <= 0
    try:
        return parsedate_to_datetime(attributes.get("expires", "")).timestamp() <= time.time()
    except (ValueError, OverflowError):
        return False


def _covers(scope: str, path: str) -> bool:
    return path == scope or path.startswith(scope if scope.endswith("/") else f"{scope}/")
