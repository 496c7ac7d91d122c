"""The import statements at the head of a JavaScript module.

Only the head is read: there everything is a comment or an import, and nothing can be mistaken for one, as the text of a
string further down could.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST = 100  # statements
_LONGEST = 10_000  # characters of one
_BLANK = re.compile(r"(?:[\s;]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRICT = re.compile(r"(?:\"use strict\"|'use strict')")
_IMPORT = re.compile(
    r"import(?![\w$])[\w$*{},\s]{0,9000}+(?P<quote>[\"'])(?P<url>[^\"'\\\n]*+)(?P=quote)"
    r"(?:\s*+(?:with|assert)\s*+\{[^}]{0,500}\})?"
)


def imports(text: str) -> Iterator[str]:
    """Yield the addresses with a host that the import statements at the head of a module name."""
    place = 0
    for _ in range(_MOST):
        blank = _BLANK.match(text, place)
        place = blank.end() if blank else place
        if strict := _STRICT.match(text, place):
            place = strict.end()
            continue
        found = _IMPORT.match(text, place, place + _LONGEST)
        if found is None:
            return
        if found["url"].lower().startswith(("http://", "https://", "//")):
            yield found["url"]
        place = found.end()
