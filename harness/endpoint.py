"""Where a URL leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urljoin, urlsplit

import idna

_PORTS = {"http": 80, "https": 443}
_PATH = "/%:@!$&'()*+,;=~[]"  # left as they are; everything else that is not unreserved gets percent-encoded
_QUERY = _PATH + "?"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What an exchange needs of a URL: host (lower case, IDNA), port, and target (path and query)."""

    scheme: str
    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read an http or https URL. Userinfo and fragment are dropped: neither is ever sent.

        Raises:
            ValueError: it is none; the text does not quote it.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
            host = parts.hostname or ""
            host = host if host.isascii() else idna.encode(host).decode("ascii")
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in _PORTS:
            raise ValueError("not an http:// or https:// URL with a host")
        target = quote(parts.path or "/", _PATH) + (f"?{quote(parts.query, _QUERY)}" if parts.query else "")
        return cls(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: what credentials and cookies are bound to."""
        return self.scheme, self.host, self.port

    @property
    def address(self) -> str:
        """`host:port`, for people and for CONNECT."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        return self.address if self.port != _PORTS[self.scheme] else self.address.rpartition(":")[0]

    @property
    def url(self) -> str:
        """The URL that is dialled, in ASCII."""
        return f"{self.scheme}://{self.authority}{self.target}"

    def join(self, location: str) -> Endpoint | None:
        """Return where a Location header leads from here; None where it is no usable URL."""
        try:
            return Endpoint.parse(urljoin(self.url, location))
        except ValueError:
            return None
