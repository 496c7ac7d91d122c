"""What a text gives away about the inside of a server: the patterns, and what looks like them and is none.

Every finder takes one text of bounded length (harness/error_texts.py cuts them) and works in time that grows with that
length only: each repetition has a bound, or cannot be taken back (possessive), and none begins inside another.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .redact import REDACTED

_FEW = 16  # characters: of a shorter secret nothing is shown but its length
_SHOWN = 120  # characters of a leak that are shown


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that an error should not give away: what it is, in words with an article, and where it stands."""

    what: str
    start: int
    end: int
    text: str = field(repr=False)  # as it stands there: it may be a secret


Finder = Callable[[str], Iterator[Leak]]
_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def _patterns(alternatives: Mapping[str, tuple[str, ...]]) -> _Patterns:
    """Return one expression for each thing that is named."""
    return tuple((what, re.compile("|".join(patterns))) for what, patterns in alternatives.items())


def _all(patterns: _Patterns, text: str) -> Iterator[Leak]:
    for what, pattern in patterns:
        for match in pattern.finditer(text):
            yield Leak(what, match.start(), match.end(), match[0])


# -- stack traces ---------------------------------------------------------------------------------------------------

_TRACES = _patterns(
    {
        "a Python traceback": (
            r"Traceback \(most recent call last\)",
            r"File \\{0,3}\"[^\"\n]{1,300}+\", line \d{1,7}",
        ),
        "a Java stack trace": (
            r"(?<![\w$])[\w$]{1,100}+\.(?:java|kt|scala|groovy|clj):\d{1,7}\)",
            r"\((?:Native Method|Unknown Source)\)",
            r"Exception in thread \"",
        ),
        "a .NET stack trace": (r"(?<![\w-])[\w-]{1,100}+\.(?:cs|vb|fs):line \d{1,7}",),
        "a Go panic": (
            r"goroutine \d{1,10} \[[^\]\n]{1,60}+\]",
            r"(?<![^\n])panic:(?= \S)",
            r"panic: runtime error",
            r"(?<![\w-])[\w-]{1,100}+\.go:\d{1,7} \+0x[0-9a-f]{1,16}",
        ),
        "a Ruby backtrace": (r"(?<![\w-])[\w-]{1,100}+\.rb:\d{1,7}:in [`']",),
        "a PHP stack trace": (
            r"(?<![\w-])[\w-]{1,100}+\.php(?:\(\d{1,7}\)| on line \d{1,7})",
            r"PHP (?:Fatal|Parse) error",
        ),
        "a Rust panic": (r"thread '[^'\n]{1,100}+' (?:\(\d{1,10}\) )?panicked at",),
    }
)
# Places end in line and column, and no time of day (`at noon (12:30:15)`) or origin does so behind a slash.
_FRAME = re.compile(
    r"\bat (?:[^\s()]{1,100}+ ){1,4}+\((?:[^\s():]{1,200}+:){2,6}+\d{1,7}\)"
    r"|\bat (?:async )?(?:[^\s():]{1,200}+:){2,6}+\d{1,7}\b"
)
_LINE_AND_COLUMN = re.compile(r":\d{1,7}:\d{1,7}\)?\Z")
_SCRIPT = re.compile(r"[/\\]|\.[cm]?[jt]sx?:|<anonymous>")


def stack_traces(text: str) -> Iterator[Leak]:
    """Find tracebacks, stack frames and panics of the usual languages."""
    yield from _all(_TRACES, text)
    for match in _FRAME.finditer(text):
        if _LINE_AND_COLUMN.search(match[0]) and _SCRIPT.search(match[0]):
            yield Leak("a JavaScript stack trace", match.start(), match.end(), match[0])


# -- file paths -----------------------------------------------------------------------------------------------------

_SEGMENT = r"/[\w.@+-]{1,100}+"
_CODE = "py|pyc|js|mjs|cjs|jsx|ts|tsx|go|rb|php|java|class|cs|rs|kt|scala|ex|sh|sql|env|conf|ini|toml|sock|db|sqlite|log|pem|key|so"
_PATHS = _patterns(
    {
        "a file path": (
            # Roots that nothing but a file system has, and that JSON pointers and routes of an API do not begin with.
            rf"(?<![\w./~$)}}\]-])/(?:etc|proc|srv|usr|var)(?:{_SEGMENT}){{1,20}}+",
            rf"(?<![\w./~$)}}\]-])/(?:home|opt|private|root|Users)(?:{_SEGMENT}){{2,20}}+",
            # /tmp/identity is a route of the Trusted Match Protocol.
            rf"(?<![\w./~$)}}\]-])/tmp(?:{_SEGMENT}){{0,20}}?/[\w@+-]{{1,100}}\.\w{{2,6}}\b",
            r"(?:file|sqlite)://[^\s\"'<>]{1,300}+",
            r"[\\/](?:site-packages|dist-packages|node_modules)\b",
            r"\b(?:site-packages|dist-packages|node_modules)[\\/]",
        ),
        "a place in the code": (
            r"(?<![\w.-])(?:[\w-]{1,100}+[/\\]){0,20}+[\w-]{1,100}+\.(?:py|js|mjs|cjs|ts|tsx|go|rb|php|java|cs|kt):\d{1,7}\b",
        ),
        "a Windows path": (
            r"(?<![A-Za-z])[A-Za-z]:\\{1,2}(?:Users|Windows|Program Files|ProgramData|inetpub|Temp|src|app|dev|projects)\b"
            r"[\w\\.-]{0,300}+",
        ),
    }
)
# Other folders are also routes of an API (/app/v1/products) and JSON pointers (/data/0/name): they need a file.
_ELSEWHERE = re.compile(
    rf"(?<![\w./~$)}}\]-])/(?:app|apps|build|code|data|dist|home|lib|mnt|opt|root|src|workspace)(?:{_SEGMENT}){{1,20}}+"
)
_FILE = re.compile(rf"[\w-]\.(?:{_CODE})\Z|/\.env\Z")
_WEB_ADDRESS = re.compile(r"(?i)https?://[^\s\"'<>]{1,4000}+")
_ROUTE = re.compile(r"(?:DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) \Z")


def file_paths(text: str) -> Iterator[Leak]:
    """Find paths of files and places in source code; web addresses, routes and JSON pointers are none."""
    text = _WEB_ADDRESS.sub(lambda match: " " * len(match[0]), text)
    for leak in _all(_PATHS, text):
        if not _ROUTE.search(text[max(leak.start - 8, 0) : leak.start]):
            yield leak
    for match in _ELSEWHERE.finditer(text):
        route = _ROUTE.search(text[max(match.start() - 8, 0) : match.start()])
        if _FILE.search(match[0].rstrip(".")) and not route:
            yield Leak("a file path", match.start(), match.end(), match[0])


# -- databases ------------------------------------------------------------------------------------------------------

_NAME = r"[\w.\"`\[\]]{1,100}+"
_DATABASES = _patterns(
    {
        "an SQL statement": (
            rf"\bSELECT\s(?:(?!\. )[^;]){{1,200}}?\sFROM\s{{1,10}}+{_NAME}",
            rf"(?i:\bselect\s{{1,10}}+\*\s{{1,10}}+from\s{{1,10}}+){_NAME}",
            rf"\bINSERT\s{{1,10}}+INTO\s{{1,10}}+{_NAME}",
            rf"(?i:\binsert into ){_NAME} ?\([^)]{{0,300}}+\) (?i:values)",
            rf"(?i:\bupdate\s{{1,10}}+){_NAME}(?i:\s{{1,10}}+set\s{{1,10}}+){_NAME}\s{{0,10}}+=",
            rf"(?i:\bdelete\s{{1,10}}+from\s{{1,10}}+){_NAME}(?i:\s{{1,10}}+where\s{{1,10}}+){_NAME}\s{{0,10}}+(?:[=<>]|(?i:in)\b)",
        ),
        "a database error": (
            r"\bSQLSTATE(?:\[\w{1,10}\]|\b)",
            r"\bORA-\d{5}\b",
            r"duplicate key value violates",
            r"violates (?:foreign key|unique|not-null|check|exclusion) constraint",
            r"relation \\{0,3}\"[^\"]{1,100}+\" does not exist",
            r"null value in column \\{0,3}\"",
            r"syntax error at or near",
            r"(?:UNIQUE|NOT NULL|FOREIGN KEY|CHECK) constraint failed",
            r"\bSQLITE_[A-Z]{3,20}",
            r"\bno such (?:table|column): ",
            r"\bER_(?:DUP_ENTRY|NO_SUCH_TABLE|BAD_FIELD_ERROR|BAD_DB_ERROR|PARSE_ERROR|ACCESS_DENIED_ERROR|LOCK_DEADLOCK"
            r"|LOCK_WAIT_TIMEOUT|NO_REFERENCED_ROW|ROW_IS_REFERENCED|CON_COUNT_ERROR)",
            r"Duplicate entry '[^'\n]{0,200}+' for key",
            r"Unknown column '[^'\n]{1,100}+' in",
            r"Table '[^'\n]{1,100}+' doesn't exist",
            r"You have an error in your SQL syntax",
            r"\bE11000 duplicate key",
            r"\bMongo(?:Server|Network|Bulk[A-Z]\w{1,20}+)Error\b",
            r"\bpq: \S",
        ),
        "the name of a database library": (
            r"(?i:\b(?:psycopg|sqlalchemy|sqlalche\.me|asyncpg|pymongo|pymysql|mysql2?\.connector)\b|\bpsycopg[23]\b)",
            r"\bsqlite3\.\w{1,40}+Error\b",
            r"\bPrismaClient\w{0,40}",
            r"\bActiveRecord::",
            r"\borg\.hibernate\b|\bjava\.sql\.|\bcom\.mysql\.",
        ),
    }
)


def database_texts(text: str) -> Iterator[Leak]:
    """Find SQL and the words of databases and their libraries."""
    return _all(_DATABASES, text)


# -- dumps of frameworks --------------------------------------------------------------------------------------------

_DUMPS = _patterns(
    {
        "a Pydantic validation dump": (
            r"\b\d{1,6} validation errors? for [^\s:]{1,100}+",
            r"\berrors\.pydantic\.dev\b",
            r"\[type=\w{1,60}+, input_value=",
        ),
        "a zod issue list": (
            r"\"code\\{0,3}\":\s{0,5}\\{0,3}\"(?:invalid_\w{1,40}+|unrecognized_keys|too_small|too_big|custom)\\{0,3}\",",
            r"\bZodError\b",
        ),
    }
)


def validation_dumps(text: str) -> Iterator[Leak]:
    """Find what Pydantic and zod print for their own programmers."""
    return _all(_DUMPS, text)


# -- credentials ----------------------------------------------------------------------------------------------------

_TOKENS: _Patterns = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        (
            "a bearer token",
            r"(?i:\bbearer)\s{1,3}+(?P<secret>(?=[^\s\d]{0,4096}+\d)[A-Za-z0-9._~+/=-]{16,4096}+)",
        ),
        ("a JWT", r"(?<![\w-])(?P<secret>eyJ[\w-]{8,8192}+\.[\w-]{0,8192}+\.[\w-]{4,})"),
        ("an AWS access key", r"(?<![A-Z0-9])(?P<secret>A[KS]IA[A-Z0-9]{16})(?![A-Z0-9])"),
        ("a Google API key", r"(?<![\w-])(?P<secret>AIza[\w-]{35})(?![\w-])"),
        (
            "an access token of a vendor",
            r"(?<![\w-])(?P<secret>(?:gh[opsu]_|github_pat_|glpat-|xox[abp]-|[rs]k_(?:live|test)_)[\w-]{20,300}+"
            r"|sk-(?:[a-z0-9]{2,6}-){0,2}+[A-Za-z0-9_]{20,300}+)",
        ),
        ("a private key", r"(?P<secret>-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----[^-]{0,8192}+)"),
        (
            "a URL with a password",
            r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://"
            r"(?!user(?:name)?:(?:pass(?:word)?|pwd)@)[^\s/@:\"'<>]{0,100}+:(?P<secret>[^\s/@\"'<>]{1,300}+)@",
        ),
    )
)
_BASIC = re.compile(r"\b(?i:basic) (?P<secret>[A-Za-z0-9+/]{8,4096}+={0,2})")
_CREDENTIAL_NAME = (
    r"(?i:password|passwd|pwd|passphrase|(?:client[_-]?)?secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|(?:access|auth|refresh)[_-]?token)"
)
_ASSIGNED = re.compile(
    rf"(?<![A-Za-z0-9]){_CREDENTIAL_NAME}\\?[\"']?\s{{0,2}}(?P<sign>[=:])\s{{0,2}}(?P<quote>\\?[\"']?)(?P<secret>[^\s\"'\\,;&)}}\]]{{3,300}}+)"
)
_MEMBER = re.compile(_CREDENTIAL_NAME)
# What stands in the place of a secret that somebody has taken out, or says of one what is wrong with it.
_NO_SECRET = re.compile(
    r"[*•.xX#_-]+|[\[<{$%(].*|.*(?:\*{3}|\.{3}|…).*|"
    r"(?i:redacted|hidden|masked|filtered|removed|your[-_].*|none|null|nil|undefined|true|false|required|missing|invalid|empty"
    r"|string|str|any|value|expected|unknown|expired|must|is|not|was|too|may|should|cannot|field|wrong|incorrect)\.?"
)


def credentials(text: str) -> Iterator[Leak]:
    """Find passwords, tokens and keys; what is masked, and what only speaks about one, is none."""
    for what, pattern in _TOKENS:
        for match in pattern.finditer(text):
            if not _NO_SECRET.fullmatch(match["secret"]):
                yield _secret(what, match)
    for match in _BASIC.finditer(text):
        if _is_user_and_password(match["secret"]):
            yield _secret("a Basic credential", match)
    for match in _ASSIGNED.finditer(text):
        value, is_prose = match["secret"], match["sign"] == ":" and not match["quote"]
        if not _NO_SECRET.fullmatch(value) and not (is_prose and not _is_random(value)):
            yield _secret("a password or key", match)


def credential_member(name: str, value: str) -> Iterator[Leak]:
    """Find a secret that a member's name tells."""
    if _MEMBER.fullmatch(name) and _is_random(value) and not _NO_SECRET.fullmatch(value):
        yield Leak("a password or key", 0, len(value), value)


def _secret(what: str, match: re.Match[str]) -> Leak:
    return Leak(what, *match.span("secret"), match["secret"])


def _is_random(value: str) -> bool:
    """Whether a value is rather a secret than a word: no spaces, and letters are not all there is in it."""
    return (
        len(value) >= 6
        and re.search(r"\s", value) is None
        and re.search(r"[0-9!#$%^*+=?@~]", value) is not None
    )


def _is_user_and_password(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def masked(secret: str) -> str:
    """Return how a secret may be shown: its first four characters if it is long, and its length."""
    if len(secret) < _FEW:
        return f"({len(secret)} characters, not shown)"
    return f"{secret[:4]}… ({len(secret)} characters)"


def excerpt(text: str, leak: Leak) -> str:
    """Return a leak as it may be shown, on however many lines: cut, and without the secrets that stand in it."""
    shown, position = "", leak.start
    for secret in sorted(credentials(text), key=lambda found: found.start):
        if position <= secret.end and secret.start < leak.end:
            shown += text[position : max(secret.start, position)] + REDACTED
            position = max(secret.end, position)
    shown += text[position : leak.end]
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
