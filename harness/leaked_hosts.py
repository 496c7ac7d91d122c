"""Addresses and host names in a text that tell of the network behind a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, NetmaskValueError
from urllib.parse import urlsplit

from .leaks import Leak
from .urls import is_loopback

_INTERNAL_V4 = tuple(
    IPv4Network(network)
    for network in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
    )
)
_INTERNAL_V6 = (IPv6Network("fc00::/7"), IPv6Network("fe80::/10"), IPv6Network("::1/128"))
_IPV4 = re.compile(
    r"(?<![\w.-])(?P<host>\d{1,3}+(?:\.\d{1,3}+){3})(?::(?P<port>\d{1,5}))?(?:/(?P<prefix>\d{1,2}))?(?!\.?\w|-)"
)
_IPV6 = re.compile(r"(?<![\w:.])(?P<host>[0-9A-Fa-f:]{3,45}+)(?![\w:])(?:\]:(?P<port>\d{1,5}))?")
_LOCALHOST = re.compile(r"(?i)(?<![\w.-])(?P<host>localhost):(?P<port>\d{1,5})\b")
_HOST_NAME = re.compile(
    r"(?<![\w.-])(?P<host>[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}+)(?!\()(?::(?P<port>\d{1,5}))?"
)
_FAILED_CONNECTION = re.compile(
    r"\b(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|getaddrinfo)\b"
    r"|\bdial tcp\b|\bHTTPS?ConnectionPool\(host=|\bMax retries exceeded with url\b|\bName or service not known\b"
    r"|\bupstream connect error or disconnect/reset\b"
)
# `targeting.local` and `settings.internal` may be fields as well as hosts: something has to say that it is a host.
_SUFFIX = re.compile(r"(?i)\.(?:internal|local|corp|lan|intranet)\Z")
_SURE_SUFFIX = re.compile(r"(?i)\.(?:svc\.cluster\.local|(?:compute|ec2|docker|google)\.internal)\Z")
_HOST_BEFORE = re.compile(
    r"(?i)(?://|@|\b(?:host(?:[ -]?name)?|server|upstream|backend|lookup|resolve|reach|address|connect(?:ing|ion)?(?: to)?))"
    r"\s{0,2}[:=]?\s{0,2}[\"'`(]{0,2}\Z"
)
_ADDRESS_BEFORE = re.compile(
    r"(?i)(?://|@|\b(?:ip|host(?:[ -]?name)?|server|upstream|backend|address|connect(?:ing|ion)?(?: to)?))"
    r"\s{0,2}[:=]?\s{0,2}[\"'`(\[]{0,2}\Z"
)
# A version (Chrome/10.0.0.0) or the caller's own address as the server sees it.
_NO_SERVER_BEFORE = re.compile(
    r"(?i)(?:\w/|\b(?:v|ver|version|release|revision|build|firmware|section|clause|ios|android|os|sdk|agent)\.?\s{0,2}[:=]?\s{0,2}"
    r"|\b(?:your|client|caller|remote|source|buyer)\S{0,2}[ _](?:current |public )?(?:ip|addr(?:ess)?)(?: address)?"
    r"(?: (?:is|was|of))?\s{0,2}[:=]?\s{0,2})[\"'`(]{0,2}\Z"
)
_URL_BEFORE = re.compile(r"(?i)https?://\[?\Z")
_BEFORE = 48  # characters in front of an address that tell what it is


@dataclass(frozen=True, slots=True)
class Home:
    """Where the server under test is reached: no secret to whoever reached it."""

    host: str
    port: int | None

    @classmethod
    def of(cls, url: str) -> Home:
        """Take host and port of the URL that was requested."""
        parts = urlsplit(url)
        return cls((parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme))

    def is_at(self, host: str, port: str | None) -> bool:
        """Whether an address is this one; this machine has several names."""
        same = host.lower() == self.host or (is_loopback(host) and is_loopback(self.host))
        return same and (port is None or int(port) == self.port)


def internal_network(text: str, home: Home) -> Iterator[Leak]:
    """Find addresses of private networks, names that only an internal DNS knows, and failed calls into them."""
    for match in _FAILED_CONNECTION.finditer(text):
        yield Leak("a failed connection of the server's own", match.start(), match.end(), match[0])
    for pattern, is_internal in (
        (_IPV4, _is_internal_v4),
        (_IPV6, _is_internal_v6),
        (_LOCALHOST, lambda _match, _before: True),
        (_HOST_NAME, _is_internal_name),
    ):
        for match in pattern.finditer(text):
            before = text[max(match.start() - _BEFORE, 0) : match.start()]
            if is_internal(match, before) and not _may_be_told(match, before, home):
                yield Leak("an address of an internal network", match.start(), match.end(), match[0])


def public_addresses(text: str, home: Home) -> Iterator[Leak]:
    """Find public IPv4 addresses, where something says that it is an address and no version number."""
    for match in _IPV4.finditer(text):
        address = _address(match["host"])
        before = text[max(match.start() - _BEFORE, 0) : match.start()]
        if address is None or not address.is_global or home.is_at(match["host"], match["port"]):
            continue
        if (match["port"] or _ADDRESS_BEFORE.search(before)) and not _NO_SERVER_BEFORE.search(before):
            yield Leak("a public IP address", match.start(), match.end(), match[0])


def _may_be_told(match: re.Match[str], before: str, home: Home) -> bool:
    """Whether an internal address gives nothing away: it is where we are, or beside it on one machine."""
    if home.is_at(match["host"], match["port"]):
        return True
    neighbour = is_loopback(match["host"]) and is_loopback(home.host)
    return neighbour and _URL_BEFORE.search(before) is not None


def _is_internal_v4(match: re.Match[str], before: str) -> bool:
    address = _address(match["host"])
    if address is None or not any(address in network for network in _INTERNAL_V4) or _names_a_network(match):
        return False
    # Messages about addresses that are refused name this one: alone, it tells nothing.
    if address.is_loopback and not match["port"] and not _HOST_BEFORE.search(before):
        return False
    return _NO_SERVER_BEFORE.search(before) is None


def _is_internal_v6(match: re.Match[str], before: str) -> bool:
    try:
        address = IPv6Address(match["host"])
    except AddressValueError:
        return False
    if address.is_loopback and not match["port"] and not _HOST_BEFORE.search(before.rstrip("[")):
        return False
    return any(address in network for network in _INTERNAL_V6) and _NO_SERVER_BEFORE.search(before) is None


def _is_internal_name(match: re.Match[str], before: str) -> bool:
    host: str = match["host"]
    if _SURE_SUFFIX.search(host):
        return True
    if not _SUFFIX.search(host):
        return False
    return bool(match["port"] or re.search(r"\d|-", host) or _HOST_BEFORE.search(before))


def _names_a_network(match: re.Match[str]) -> bool:
    """Whether a whole range is meant (10.0.0.0/8), as in a message about addresses that are refused."""
    if match["prefix"] is None:
        return False
    try:
        return IPv4Network(f"{match['host']}/{match['prefix']}").prefixlen < 31
    except (AddressValueError, NetmaskValueError, ValueError):
        return False


def _address(host: str) -> IPv4Address | None:
    try:
        return IPv4Address(host)
    except AddressValueError:
        return None
