"""Foreign text in Markdown that GitHub shows: what it says is read, and nothing in it is obeyed.

Characters that mean something become character references, which no Markdown parser takes for markup. Names that
GitHub makes links of after the Markdown is read (@name, #123, GH-123, addresses) are kept apart with a zero-width space.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from pytest_adcp.harness.text import safe

_SPACE = "&#8203;"  # zero-width
# An underscore between letters or digits is one: names of tools stay readable in the source.
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_LINKED = re.compile(
    r"[@#](?=\w)"  # mentions, references, addresses of mail
    r"|\bGH-(?=[0-9])"
    r"|:(?=//)"
    r"|\b(?:www\.|(?:mailto|xmpp):)(?=\S)"
    r"|:(?=[a-z+-][\w+-]*:)",  # short names of emoji
    re.IGNORECASE,
)
# A web address, or what stands between backticks already: both are shown as code.
_CODE = re.compile(r"https?://[^\s,;`|<>()\[\]{}\"']+|`[^`|\s](?:[^`|]*[^`|\s])?`")
# What begins a heading, a list, a line below a heading or a block of code, where it begins a line.
_BEGINS = re.compile(r"\A([0-9]{1,9}(?=[.)])|(?=[#+=:\s-]))(.)")
_WEB = re.compile(r"https?://[!-~]+")
_TICKS = re.compile("`+")


def prose(text: str, limit: int = 600) -> str:
    """Return text for a paragraph, a list or a table; web addresses and words in backticks stand as code."""
    shown = safe(text, limit)
    parts: list[str] = []
    end = 0
    for match in _CODE.finditer(shown):
        parts += [plain(shown[end : match.start()]), f"`{match[0].strip('`')}`"]
        end = match.end()
    return _line("".join([*parts, plain(shown[end:])]))


def plain(text: str) -> str:
    """Return safe text as Markdown and HTML at once: also for what stands inside a tag on the same line."""
    apart = _LINKED.sub(lambda match: f"{match[0]}\0", text)
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", apart).replace("\0", _SPACE)


def code(text: str, limit: int = 200) -> str:
    """Return text as a code span; where a span cannot hold it, as plain text."""
    shown = safe(text, limit)
    fits = shown and shown == shown.strip() and "`" not in shown and "|" not in shown
    return f"`{shown}`" if fits else _line(plain(shown))


def _line(written: str) -> str:
    """Return what may begin a line."""
    return _BEGINS.sub(lambda match: f"{match[1]}&#{ord(match[2])};", written)


def fenced(text: str, limit: int, language: str = "") -> str:
    """Return text as a block of code that nothing in it can end."""
    shown = safe(text, limit)
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def link(text: str, url: str) -> str:
    """Return a link to a web page, or the text and the address alone where it is none."""
    if not _WEB.fullmatch(url):
        return f"{text}: {code(url)}" if url else text
    return f"[{text}](<{quote(url, safe=':/?#@!$&+,;=%-._~')}>)"
