"""Keeps credentials out of everything that is written or shown."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from html.entities import codepoint2name
from typing import Any

REDACTED = "[redacted]"

# The keys that AdCP's runner contract asks every report to redact, at any depth.
_KEY = re.compile(
    r"(?:authorization|credentials?|token|api[_-]?key|password|secret|client[_-]secret|refresh[_-]token"
    r"|access[_-]token|bearer|session[_-]token|offering[_-]token|cookie|set[_-]cookie)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?:.*-)?(?:auth|authorization|credentials?|token|api-?key|password|secret|bearer|cookie)", re.IGNORECASE
)
_TOKEN_PREFIX = re.compile(
    r"(?:[Bb]earer|[Bb]asic) |eyJ|(?:sk|pk)[-_]|gh[opsu]_|github_pat_|glpat-|xox[abp]-|AKIA"
)
_SCHEME = re.compile(r"(?:Basic|Bearer|Digest|Negotiate) ", re.IGNORECASE)
# A letter or digit written as a JSON, URL or HTML escape, which no encoder does without need.
_ALNUM = b"3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]"
_ESCAPED_LETTER = re.compile(
    rb"(?<!\\)\\u00(?P<json>" + _ALNUM + rb")|%(?:25){0,3}(?P<url>" + _ALNUM + rb")"
    rb"|&#[xX]0{0,5}(?P<hex>"
    + _ALNUM
    + rb");|&#0{0,5}(?P<decimal>4[89]|5[0-7]|6[5-9]|[78][0-9]|9[0-9]|1[01][0-9]|12[0-2]);"
)
_SHORTEST_CORE = 8  # characters of base64
_MOST_BACKSLASHES = 7  # before an escaped character, in JSON inside JSON inside JSON
_BACKSLASHES = rf"\\{{1,{_MOST_BACKSLASHES}}}+"


def secret_key(name: str) -> bool:
    """Whether a JSON member or query parameter of that name holds a credential."""
    return _KEY.fullmatch(name) is not None


def secret_header(name: str) -> bool:
    """Whether a header of that name holds a credential, whoever sends it."""
    return _HEADER.fullmatch(name) is not None


def looks_secret(text: str) -> bool:
    """Whether a text looks like a credential rather than like a name or a word."""
    if _TOKEN_PREFIX.match(text):
        return True
    digits, letters = re.search(r"[0-9]", text), re.search(r"[A-Za-z]", text)
    return len(text) >= 16 and digits is not None and letters is not None and not re.search(r"[ _,;:]", text)


def redact_members(value: Any) -> Any:
    """Return a copy of a JSON value, however deep, without the values of members that hold credentials."""
    copy: list[Any] = [value]
    waiting: list[tuple[Any, Any]] = [(copy, 0)]
    while waiting:
        parent, place = waiting.pop()
        item = parent[place]
        if isinstance(item, Mapping):
            members = {key: REDACTED if secret_key(str(key)) else member for key, member in item.items()}
            parent[place] = members
            waiting.extend((members, key) for key in members)
        elif isinstance(item, (list, tuple)):
            parent[place] = list(item)
            waiting.extend((parent[place], index) for index in range(len(item)))
    return copy[0]


class Redactor:
    """Replaces known secrets by `[redacted]`, as they are and as text formats write them.

    Found are the secret itself, any mixture of its JSON, URL and HTML escapes (also JSON inside JSON), and
    its base64 forms. What a server scrambles on purpose cannot be found.
    """

    def __init__(self, secrets: Iterable[str] = (), header_names: Iterable[str] = ()) -> None:
        """Take the secrets, and the names of headers whose whole value is one."""
        self._secrets = frozenset(filter(None, secrets))
        self._header_names = frozenset(name.lower() for name in header_names)
        forms = {form for secret in self._secrets for form in (secret, *_base64_forms(secret))}
        # The longest first, so that a secret that is part of another does not leave the rest behind.
        pattern = "|".join(_pattern(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        self._data = re.compile(pattern.encode("utf-8", "surrogatepass")) if pattern else None

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    def with_secret(self, *secrets: str) -> Redactor:
        """Return a redactor that knows these secrets too, such as an OAuth token that was just issued."""
        return Redactor(self._secrets.union(secrets), self._header_names)

    def text(self, text: str) -> str:
        """Return text without the secrets."""
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return a body without the secrets; UTF-8 and ASCII bodies are covered.

        Where a secret shows only when letters and digits are read out of their escapes, all of these are undone.
        """
        if self._data is None:
            return data
        clean = self._data.sub(REDACTED.encode(), data)
        if _ESCAPED_LETTER.search(clean):
            plain = _ESCAPED_LETTER.sub(_letter, clean)
            if self._data.search(plain):
                return self._data.sub(REDACTED.encode(), plain)
        return clean

    def headers(
        self, pairs: Iterable[tuple[str, str]], made_up: frozenset[str] = frozenset()
    ) -> tuple[tuple[str, str], ...]:
        """Return headers without the secrets, and without any value of a header that holds credentials.

        The scheme of an Authorization value stays: `Bearer [redacted]`. So does all of a value that is `made_up`: no
        credential of anybody's.
        """
        return tuple(
            (name, self.text(value) if value in made_up else self._header(name, value))
            for name, value in pairs
        )

    def _header(self, name: str, value: str) -> str:
        if name.lower() not in self._header_names and not secret_header(name):
            return self.text(value)
        scheme = _SCHEME.match(value)
        return f"{scheme[0] if scheme else ''}{REDACTED}"


def _letter(match: re.Match[bytes]) -> bytes:
    if (decimal := match["decimal"]) is not None:
        return bytes([int(decimal)])
    return bytes([int(match["json"] or match["url"] or match["hex"], 16)])


def _base64_forms(secret: str) -> set[str]:
    """Return a secret in base64, by itself and as the part of a longer text that shows it alone."""
    data = secret.encode("utf-8", "surrogatepass")
    forms: set[str] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        padded = encode(data).decode()
        forms |= {padded, padded.rstrip("=")}
        for before in range(3):  # bytes in the group that the secret begins in
            core = encode(bytes(before) + data).decode()[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            forms |= {core} if len(core) >= _SHORTEST_CORE else set()
    return forms


def _pattern(secret: str) -> str:
    """Return a regular expression for a secret in which every special character may be escaped in any way."""
    return "".join(
        part if part.isascii() and part.isalnum() else _special(part)
        for part in re.findall(r"[A-Za-z0-9]+|\\+[^A-Za-z0-9\\]?|[^A-Za-z0-9\\]", secret)
    )


def _special(part: str) -> str:
    """Return the pattern of backslashes, of another special character, or of backslashes with one behind them."""
    count = len(part) - len(part.lstrip("\\"))
    last = part[count:]
    plain = rf"(?:\\{{0,{_MOST_BACKSLASHES}}}+{re.escape(last)}|{_encoded(last)})" if last else ""
    if not count:
        return plain
    # All backslashes are taken at once, or a hostile text would have them tried in every number: those of the escape of
    # what follows are among them.
    most = count * (_MOST_BACKSLASHES + 1) + _MOST_BACKSLASHES
    behind = rf"(?:{re.escape(last)}|{_encoded(last, backslashes='')})" if last else ""
    return rf"(?:\\{{{count},{most}}}+{behind}|(?:{_encoded(chr(92))}){{{count}}}{plain})"


def _encoded(character: str, backslashes: str = _BACKSLASHES) -> str:
    """Return the alternatives for one character written as a JSON, URL or HTML escape.

    Args:
        character: any.
        backslashes: the pattern of those before the first JSON escape.
    """
    units = character.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    octets = character.encode("utf-8", "surrogatepass").hex(" ").split()
    code = ord(character)
    alternatives = [
        backslashes + _BACKSLASHES.join(rf"u(?i:{unit})" for unit in units),
        "".join(f"%(?:25){{0,3}}(?i:{octet})" for octet in octets),
        f"&#0{{0,5}}{code};",
        f"&#(?i:x0{{0,5}}{code:x});",
    ]
    if name := "apos" if character == "'" else codepoint2name.get(code):
        alternatives.append(f"&{name};")
    if character == " ":
        alternatives.append(r"\+")
    return "|".join(alternatives)
