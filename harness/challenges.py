"""WWW-Authenticate: what an HTTP 401 asks for (RFC 9110, 11.6.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .transcript import Response

# A parameter, or a quoted string or word of something else. Every repetition is possessive: the header is the server's.
_ITEM = re.compile(
    r"""(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]++)(?:\s*+=\s*+(?P<value>"(?:[^"\\]|\\.)*+"?|[^\s,"]*+))?|"(?:[^"\\]|\\.)*+"?|."""
)


def challenges(response: Response) -> tuple[str, ...]:
    """Return the challenges of an answer, a header each, those that say nothing left out."""
    values = (value.strip() for name, value in response.headers if name.lower() == "www-authenticate")
    return tuple(filter(None, values))


def named_metadata(challenge: str) -> Iterator[str]:
    """Yield what a challenge gives as resource_metadata: the URL of the document of RFC 9728."""
    for item in _ITEM.finditer(challenge):
        value = item["value"]
        if value is not None and item["name"].lower() == "resource_metadata":
            yield re.sub(r"\\(.)", r"\1", value.strip('"')) if value.startswith('"') else value
