"""Foreign text for terminals, JUnit and reports: nothing invisible, nothing endless.

Whatever came from a server goes through here before a person sees it. Escapes are for one line of plain text;
what a format needs beyond that (HTML, Markdown, XML entities) is its renderer's work.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .session import HANDSHAKE_REVISIONS, OFFERED, STATELESS_REVISION
from .transcript import Request

# Controls, bidi marks, zero-width and other invisible characters, separators, halves of surrogate pairs and
# noncharacters. Prefix signs of Arabic numbers are format characters too, but people see them: they stay.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
# The logs of CI jobs obey `::name::` where it begins a line, as any word may once lines are wrapped, and `##[name]`
# (Azure: `##vso[`) anywhere: their first sign is escaped.
_WITH_COMMANDS = re.compile(rf"{_UNSAFE.pattern}|(?<!\S):(?=:[A-Za-z-]+(?:[ :]|$))|#(?=#(?:vso)?\[)")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DEPTH = 8  # levels of a JSON value that are shown
_LARGE = 1 << 512  # integers beyond are described: their digits may be without end

_REDACTED = re.compile(r"\[redacted\]|%5Bredacted%5D", re.IGNORECASE)
_WRITTEN_BY_CURL = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_ADDED_BY_CURL = ("Accept", "Content-Type", "User-Agent")
_SESSION = "mcp-session-id"
_IN_SESSION = "[redacted]"  # becomes $SESSION
_INITIALIZE = (
    '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "REVISION", '
    '"capabilities": {}, "clientInfo": {"name": "curl", "version": "0"}}}'
)
# With or without a space after the colon; the value as it came, but for white space around it.
_PRINT_SESSION = (
    f'awk \'tolower($0) ~ /^{_SESSION}:/ {{sub(/^[^:]*:[ \\t]*/, ""); sub(/[ \\t\\r]*$/, ""); print}}\''
)
_BODY_SHOWN = 2048  # characters of a request body in a curl line


def safe(text: str, limit: int = 200) -> str:
    r"""Return text on one line with every invisible or misleading character escaped.

    Of a text that takes more than `limit` characters the rest is counted: `abc… (7 more)`.
    """
    shown, kept = _fit(text, limit, _escaped)
    return shown if kept == len(text) else f"{shown}… ({len(text) - kept} more)"


def one_line(text: str, limit: int = 200) -> str:
    """Return text as `safe` does, with every run of white space made one space.

    Only a few times `limit` of the text is looked at.
    """
    head = " ".join(text[: 4 * limit].split())
    if len(text) <= 4 * limit:
        return safe(head, limit)
    return f"{_fit(head, limit, _escaped)[0]}… ({len(text)} characters)"


def plural(count: int, noun: str) -> str:
    """Return `1 retry`, `2 retries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def quote(value: Any, limit: int = 200) -> str:
    """Return a JSON value as short JSON on one line; `…` stands for what was left out.

    Work and result are bounded by `limit`, whatever the size and depth of the value.
    """
    if isinstance(value, str):
        return _string(value, limit)
    shown = ""
    for token in _tokens(value, max(limit // 2, 1), _DEPTH):
        shown += token
        if len(shown) > limit:
            return f"{shown[:limit]}…"
    return shown


def curl(
    request: Request,
    opening: Request | None = None,
    *,
    revision: str | None = None,
    before: Request | None = None,
) -> str:
    """Return a command that sends the request again from a shell.

    Where the record says `[redacted]` stands a shell variable (`$TOKEN`, `$CREDENTIALS`, or the header's name
    in capitals) for the reader to set. A request in an MCP session opens one of its own first: the run has ended
    the one that it used; `opening` is the request whose credentials do that, where its own do not, `revision` the MCP
    revision that it is opened in, and `before` what was sent in it first. A long body is cut, which a comment says.
    """
    if _is_in_session(request):
        steps = [f"SESSION=$({_opening(opening or request, revision)})"]
        steps += [curl(_in_new_session(step)) for step in (before, request) if step is not None]
        return "; ".join(steps)
    words = ["curl", "-sS", "-i", "-X", _shell(request.method)]
    if any(mark in request.url for mark in "[]{}"):
        words.append("--globoff")
    words.append(_shell(request.url, "SECRET"))
    names = {name.lower() for name, _ in request.headers}
    for name, value in request.headers:
        if name.lower() not in _WRITTEN_BY_CURL:
            # curl takes "Name:" as an order to leave the header out, "Name;" is an empty one
            line = f"{name}: {value}" if value else f"{name};"
            words += ["-H", _shell(line, _variable(name, value))]
    for name in _ADDED_BY_CURL:
        if name.lower() not in names and (name != "Content-Type" or request.body):
            words += ["-H", _shell(f"{name}:")]
    return " ".join(words) + _data(request.body)


def _is_in_session(request: Request) -> bool:
    """Whether a request belongs to a session of the run. One of the stateless era does not, whatever it names."""
    headers = {name.lower(): value for name, value in request.headers}
    stateless = headers.get("mcp-protocol-version") == STATELESS_REVISION
    return headers.get(_SESSION, _IN_SESSION) != _IN_SESSION and not stateless


def _opening(request: Request, revision: str | None) -> str:
    """Return a command that opens a session as the request's client would, and prints its id."""
    ours = ("content-type", "accept", _SESSION, "mcp-protocol-version", *_WRITTEN_BY_CURL)
    credentials = tuple((name, value) for name, value in request.headers if name.lower() not in ours)
    headers = (
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        *credentials,
    )
    offered = revision if revision in HANDSHAKE_REVISIONS else OFFERED
    body = _INITIALIZE.replace("REVISION", offered).encode()
    return f"{curl(Request('POST', request.url, headers, body))} | {_PRINT_SESSION}"


def _in_new_session(request: Request) -> Request:
    headers = tuple(
        (name, _IN_SESSION if name.lower() == _SESSION else value) for name, value in request.headers
    )
    return Request(request.method, request.url, headers, request.body)


def _tokens(value: Any, limit: int, depth: int) -> Iterator[str]:
    match value:
        case str():
            yield _string(value, limit)
        case int() if abs(value) > _LARGE:
            yield f"an integer of {value.bit_length()} bits"
        case None | bool() | int() | float():
            yield json.dumps(value)
        case Mapping() | list() | tuple() if value and not depth:
            yield "{…}" if isinstance(value, Mapping) else "[…]"
        case Mapping():
            yield "{"
            for position, (key, item) in enumerate(value.items()):
                yield f"{', ' if position else ''}{_string(str(key), limit)}: "
                yield from _tokens(item, limit, depth - 1)
            yield "}"
        case list() | tuple():
            yield "["
            for position, item in enumerate(value):
                if position:
                    yield ", "
                yield from _tokens(item, limit, depth - 1)
            yield "]"
        case _:
            yield safe(str(value), limit)


def _string(text: str, limit: int) -> str:
    shown, kept = _fit(text, limit, _json_escaped)
    return f'"{shown}"' if kept == len(text) else f'"{shown}…" ({len(text) - kept} more)'


def _fit(text: str, limit: int, escape: Callable[[str], str]) -> tuple[str, int]:
    """Return the escaped head of a text, at most `limit` characters, and how much of the text that is."""
    head = text[:limit]
    shown = escape(head)
    if len(shown) <= limit:
        return shown, len(head)
    lengths = itertools.accumulate(len(escape(character)) for character in head)
    ends = list(itertools.takewhile(lambda end: end <= limit, lengths))
    return (shown[: ends[-1]], len(ends)) if ends else ("", 0)


def _escaped(text: str) -> str:
    return _unsafe(text).sub(_escape, text)


def _unsafe(text: str) -> re.Pattern[str]:
    """Return the pattern of what to escape in a text: a set of characters alone is found twice as fast."""
    return _WITH_COMMANDS if "::" in text or "##" in text else _UNSAFE


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _json_escaped(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)[1:-1]
    return _unsafe(shown).sub(_json_escape, shown)


def _json_escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\u{ord(character):04x}" if character in ":#" else json.dumps(character)[1:-1]


def _variable(name: str, value: str) -> str:
    if name.lower() in ("authorization", "proxy-authorization"):
        return "CREDENTIALS" if value.lower().startswith("basic") else "TOKEN"
    if name.lower() == _SESSION:
        return "SESSION"
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _shell(text: str, variable: str = "") -> str:
    """Return one word of a POSIX shell line; redacted parts become the variable."""
    parts = _REDACTED.split(text) if variable else [text]
    if len(parts) == 1:
        return _word(text)
    plain = re.fullmatch(r"[A-Za-z0-9 :;=,.?&/_-]*", "".join(parts))
    if plain and not any(re.match(r"\w", part) for part in parts[1:]):
        return '"' + f"${variable}".join(parts) + '"'
    return f'"${variable}"'.join(_word(part) if part else "" for part in parts)


def _word(text: str) -> str:
    unsafe = _unsafe(text)
    if not unsafe.search(text):
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{unsafe.sub(_bytes_escape, quoted)}'"


def _bytes_escape(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _data(body: bytes) -> str:
    if not body:
        return ""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return f"  # and a body of {plural(len(body), 'byte')} that no command line can hold"
    if len(text) <= _BODY_SHOWN:
        return f" --data-raw {_word(text)}"
    return f" --data-raw {_word(text[:_BODY_SHOWN])}  # body cut: {_BODY_SHOWN} of {len(text)} characters"
