"""URLs of servers: what is wrong with one, which was meant, and how it may be shown."""

from __future__ import annotations

import ipaddress
import re
from difflib import get_close_matches
from urllib.parse import SplitResult, unquote_plus, urlsplit

import idna

from .redact import REDACTED, looks_secret
from .text import safe

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192  # characters
_HOST_NAME = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_IPV4 = re.compile(r"[0-9.]+")
_QUERY_SECRET = re.compile(r"token|key|secret|passw|pwd|auth|sig|credential|session|jwt|code", re.IGNORECASE)


class UrlError(ValueError):
    """A URL that cannot be requested. The text is a predicate ("names no host") and holds no secret."""


def web_address(url: str) -> SplitResult:
    """Return the parts of an absolute http or https URL.

    Raises:
        UrlError: what is wrong with it, and which URL may have been meant.
    """
    if problem := _problem(url):
        raise UrlError(problem + _hint(url))
    return urlsplit(url)


def origin(url: str) -> str:
    """Return scheme, host and, where it is not the scheme's own, port of a URL that web_address accepts."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default = parts.port in (None, _DEFAULT_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" if default else f"{parts.scheme}://{host}:{parts.port}"


def is_loopback(host: str) -> bool:
    """Whether a host name or address stands for this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def display_url(url: str) -> str:
    """Return a URL as it may be shown: userinfo and tokens in the query are `[redacted]`.

    Takes any text, also one that is no valid URL; then everything before the last `@` counts as userinfo.
    """
    try:
        userinfo, at, _ = web_address(url).netloc.rpartition("@")
        shown = url.replace(userinfo + at, f"{REDACTED}@", 1) if at else url
    except UrlError:
        shown = re.sub(r"(?s)^([A-Za-z0-9+.-]*:?//)?.*@", rf"\1{REDACTED}@", url).partition("#")[0]
    address, question, query = shown.partition("?")
    pairs = [_shown_pair(pair) for pair in query.split("&")] if question else []
    return safe(address + question + "&".join(pairs), _LONGEST)


def without_userinfo(shown: str) -> str:
    """Return what display_url gave without `[redacted]@`, which urlsplit would take for the address of a host."""
    return shown.replace(f"{REDACTED}@", "", 1)


def query_secrets(url: str) -> tuple[str, ...]:
    """Return the tokens in a URL's query, as they stand there and decoded."""
    found: list[str] = []
    for pair in urlsplit(url).query.split("&"):
        name, equals, value = pair.partition("=")
        secret = value if equals else name
        if secret and _shown_pair(pair) != pair:
            found += [secret, unquote_plus(secret)]
    return tuple(dict.fromkeys(found))


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals:
        return REDACTED if looks_secret(name) else name
    secret = value and (_QUERY_SECRET.search(unquote_plus(name)) or looks_secret(unquote_plus(value)))
    return f"{name}={REDACTED}" if secret else pair


def _problem(url: str) -> str:
    if len(url) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if re.search(r"[\s\x00-\x20\x7f]", url):
        return "holds a space or a control character"
    if re.search(r"[\ud800-\udfff]", url):
        return "holds half of a surrogate pair"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:  # its text may quote the user and password, so only its kind is told
        return f"has no valid {'port' if 'port' in str(error).lower() else 'host'}"
    if parts.scheme not in _DEFAULT_PORTS:
        return "has a scheme other than http and https" if "://" in url else "has no scheme (https://)"
    if not parts.hostname:
        return "names no host"
    if port == 0 or parts.netloc.endswith(":"):
        return "has no valid port"
    if not _requestable(parts.hostname):
        return "has no valid host"
    if "#" in url:
        return "has a fragment (#...), which is never sent"
    return ""


def _hint(url: str) -> str:
    """Return `; did you mean ...?` where a URL can be repaired into a valid one."""
    meant, _, fragment = url.strip().partition("#")
    if "@" in fragment:  # it is part of a password, and so may be what stands before it
        return ""
    if meant.lower() == "demo":
        return '; did you mean "demo"?'
    scheme, separator, rest = meant.partition("://")
    if not separator:
        scheme, rest = "", re.sub(r"^(?:https?:)?/*", "", meant, flags=re.IGNORECASE)
    host = re.split(r"[:/?]", rest.rpartition("@")[2])[0]
    usual = "http" if is_loopback(host) else "https"
    near = get_close_matches(scheme.lower(), _DEFAULT_PORTS, 1, 0.7)
    candidate = f"{near[0] if near else usual}://{rest}"
    return "" if candidate == url or _problem(candidate) else f"; did you mean {display_url(candidate)}?"


def _requestable(host: str) -> bool:
    if ":" in host:
        return "%" not in host and _is_address(host)
    if _IPV4.fullmatch(host):
        return _is_address(host)
    if not _HOST_NAME.fullmatch(host) or len(host) > 253:
        return False
    try:
        return host.isascii() or bool(idna.encode(host))
    except idna.IDNAError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
