"""An HTML view, read by an HTML5 tokenizer: what it loads, and what its scripts seem to do.

Hostile markup costs a bounded time: tokens are counted, and what is quadratic in the tokenizer is not given to it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from .modules import imports
from .script_hints import Hint, hints

INSTALL = "pip install 'pytest-adcp[connected-apps]'"

MOST_TOKENS = 100_000  # of one view; real ones have a few thousand, the scripts in them count as one each
MOST_KEPT = 100  # of each kind of thing that is found
_MOST_COMMENT_WORK = 2_000_000_000  # comments times characters: the tokenizer looks to the end for each
_SHOWN = 120  # characters of a URL

_SCRIPT_TYPES = re.compile(
    r"(?:(?:text|application)/(?:x-)?(?:java|ecma)script|text/(?:javascript1\.[0-5]|jscript|livescript)|module|)",
    re.IGNORECASE,
)
# What stands in a string or a comment of a style sheet is no use of a URL.
_CSS = re.compile(
    r"/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
    r"|url\(\s*+(?:\"(?P<double>(?:[^\"\\\n]|\\.)*+)\"?|'(?P<single>(?:[^'\\\n]|\\.)*+)'?|(?P<bare>[^)\"'\s]*+))",
    re.IGNORECASE | re.DOTALL,
)
_IN_SRCSET = re.compile(r"(?:^|[\s,])(?P<scheme>data|blob):", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,40}:", re.IGNORECASE)
_SPACES = " \t\n\f\r"

# By element: the attributes whose URL is fetched, and the list of the metadata that governs it.
_FETCHED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "img": (("src", "srcset"), "resourceDomains"),
    "source": (("src", "srcset"), "resourceDomains"),
    "video": (("src", "poster"), "resourceDomains"),
    "audio": (("src",), "resourceDomains"),
    "track": (("src",), "resourceDomains"),
    "input": (("src",), "resourceDomains"),
    "image": (("href", "xlink:href"), "resourceDomains"),
    "script": (("src",), "resourceDomains"),
    "iframe": (("src",), "frameDomains"),
    "frame": (("src",), "frameDomains"),
}


class ParserMissingError(ImportError):
    """The HTML5 parser is not installed."""


@dataclass(frozen=True, slots=True)
class Use:
    """A `data:` or `blob:` URL that the browser fetches by itself."""

    scheme: str  # with its colon
    key: str  # the list that has to hold it
    where: str  # `<img src>`, `url() in a style sheet`
    shown: str  # the beginning of the URL


@dataclass(frozen=True, slots=True)
class Script:
    """A script that is no part of the document. The URL is as it stands, or resolved where a <base> gives it a host."""

    where: str  # `<script src>`, `<link rel="modulepreload">`, `import`, `import map`
    url: str
    integrity: str | None = None
    crossorigin: str | None = None

    @property
    def shown(self) -> str:
        """Its URL, cut."""
        return self.url[:_SHOWN]

    @property
    def is_relative(self) -> bool:
        """Whether the URL has no host, which leads nowhere from inside a sandbox."""
        return not self.url.startswith("//") and not _SCHEME.match(self.url)

    @property
    def is_external(self) -> bool:
        """Whether the URL leads to a host."""
        return self.url.startswith("//") or self.url.lower().startswith(("http:", "https:"))

    @property
    def hashes(self) -> tuple[str, ...]:
        """The entries of its integrity."""
        return tuple(entry.partition("?")[0] for entry in (self.integrity or "").split())


@dataclass(frozen=True, slots=True)
class Markup:
    """What was found in a view; at most MOST_KEPT of each."""

    uses: tuple[Use, ...]
    scripts: tuple[Script, ...]
    inline: tuple[str, ...]  # sha256-… of each inline script
    hints: tuple[Hint, ...]
    is_html: bool  # there is an element at all
    complete: bool  # it was read to its end


def read_markup(html: str) -> Markup:
    """Read a view.

    Raises:
        ParserMissingError: justhtml is not installed.
        ValueError: it would take too long; the text says why.
    """
    try:
        from justhtml import stream  # an extra: only the connected-apps profile needs it
    except ImportError:
        raise ParserMissingError(f"needs an HTML5 parser: {INSTALL}") from None
    if html.count("<!--") * len(html) > _MOST_COMMENT_WORK:
        raise ValueError("it holds so many comments that reading it would take too long")
    reader = _Reader()
    for count, token in enumerate(stream(html), start=1):
        if count > MOST_TOKENS:
            return reader.markup(complete=False)
        if token[0] == "start":
            reader.start(*token[1])
        elif token[0] == "text":
            reader.text(token[1])
        elif token[0] == "end":
            reader.end(token[1])
    return reader.markup(complete=True)


class _Reader:
    """Takes tokens in, and remembers what counts."""

    def __init__(self) -> None:
        self._uses: list[Use] = []
        self._scripts: list[Script] = []
        self._inline: list[str] = []
        self._hints: dict[str, Hint] = {}
        self._integrity: Mapping[str, Any] = {}  # of the import map
        self._base = ""
        self._templates = self._drawings = 0
        self._open = ""  # the script or style whose text comes next
        self._elements = 0

    def start(self, name: str, attributes: Mapping[str, str | None]) -> None:
        self._elements += 1
        self._open = ""
        if name == "template":
            self._templates += 1
        elif name == "svg":
            self._drawings += 1
        if self._templates:
            return  # nothing in it is loaded
        given = {key: (value or "").strip(_SPACES) for key, value in attributes.items()}
        if name == "base" and not self._base and _SCHEME.match(given.get("href", "")):
            self._base = given["href"]
        self._look_at_urls(name, given)
        if name == "script":
            self._script(given)
        elif name == "style" and given.get("type", "").lower() in ("", "text/css"):
            self._open = "style"
        elif name == "link":
            self._link(given)
        if "style" in given:
            self._style(given["style"], "a style attribute")

    def text(self, text: str) -> None:
        kind = self._open
        if kind == "style":
            self._style(text, "a style sheet")
        elif kind == "importmap":
            self._import_map(text)
        elif kind in ("script", "module"):
            digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
            _keep(self._inline, f"sha256-{base64.b64encode(digest).decode('ascii')}")
            for hint in hints(text):
                self._hints.setdefault(hint.kind, hint)
            if kind == "module":
                for url in imports(text):
                    self._add(Script("import", url, crossorigin=""))

    def end(self, name: str) -> None:
        self._open = ""
        if name == "template":
            self._templates = max(0, self._templates - 1)
        elif name == "svg":
            self._drawings = max(0, self._drawings - 1)

    def markup(self, *, complete: bool) -> Markup:
        return Markup(
            tuple(self._uses),
            tuple(self._with_integrity(script) for script in self._scripts),
            tuple(self._inline),
            tuple(self._hints.values()),
            self._elements > 0,
            complete,
        )

    def _look_at_urls(self, name: str, given: Mapping[str, str]) -> None:
        attributes, key = _FETCHED.get(name, ((), ""))
        if name == "input" and given.get("type", "").lower() != "image":
            return
        if name == "script" and not _runs(given):
            return
        for attribute in attributes:
            value = given.get(attribute, "")
            found = _IN_SRCSET.search(value) if attribute == "srcset" else _IN_SRCSET.match(value)
            if found:
                self._use(found["scheme"], key, f"<{name} {attribute}>", value[found.start("scheme") :])

    def _script(self, given: Mapping[str, str]) -> None:
        kind = given.get("type", "").lower()
        if kind == "importmap":
            self._open = "importmap"
        if not _runs(given):
            return
        # In a drawing a script is named by href, and src means nothing; elsewhere it is the other way round.
        source = (
            given.get("href", given.get("xlink:href", "")) if self._drawings else given.get("src")
        ) or None
        if source is None:
            self._open = "module" if kind == "module" else "script"
        else:
            self._add(Script("<script src>", source, given.get("integrity"), given.get("crossorigin")))

    def _link(self, given: Mapping[str, str]) -> None:
        relations, href = given.get("rel", "").lower().split(), given.get("href", "")
        kind = given.get("as", "").lower()
        if not href:
            return
        if "modulepreload" in relations or ("preload" in relations and kind in ("script", "worker")):
            where = f'<link rel="{"modulepreload" if "modulepreload" in relations else "preload"}">'
            self._add(Script(where, href, given.get("integrity"), given.get("crossorigin")))
        if {"stylesheet", "preload", "modulepreload"}.intersection(relations) and (
            found := _IN_SRCSET.match(href)
        ):
            self._use(found["scheme"], "resourceDomains", "<link href>", href)

    def _style(self, text: str, where: str) -> None:
        for found in _CSS.finditer(text):
            url = found[found.lastgroup] if found.lastgroup else ""
            if embedded := _IN_SRCSET.match(url):
                self._use(embedded["scheme"], "resourceDomains", f"url() in {where}", url)

    def _import_map(self, text: str) -> None:
        for name, url in _addresses(text):
            if name == "integrity":
                self._integrity = url
            elif isinstance(url, str):
                self._add(Script("import map", url.strip(_SPACES), crossorigin=""))

    def _add(self, script: Script) -> None:
        if self._base.lower().startswith(("http:", "https:")) and script.is_relative:
            script = Script(
                script.where, urljoin(self._base, script.url), script.integrity, script.crossorigin
            )
        _keep(self._scripts, script)

    def _use(self, scheme: str, key: str, where: str, url: str) -> None:
        _keep(self._uses, Use(f"{scheme.lower()}:", key, where, url[:_SHOWN]))

    def _with_integrity(self, script: Script) -> Script:
        """Give what a module imports the integrity that the import map has for it."""
        given = self._integrity.get(script.url)
        if script.integrity is None and isinstance(given, str):
            return Script(script.where, script.url, given, script.crossorigin)
        return script


def _runs(given: Mapping[str, str]) -> bool:
    """Whether a script element is run by a browser of today, and not only read by the page."""
    return "nomodule" not in given and _SCRIPT_TYPES.fullmatch(given.get("type", "")) is not None


def _addresses(text: str) -> Iterator[tuple[str, Any]]:
    """Yield `imports` and the addresses of an import map, and `integrity` with its mapping."""
    try:
        found = json.loads(text) if len(text) <= 100_000 else None
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict):
        if isinstance(found.get("integrity"), dict):
            yield "integrity", found["integrity"]
        if isinstance(found.get("imports"), dict):
            yield from (("imports", url) for url in found["imports"].values())


def _keep(kept: list[Any], item: Any) -> None:
    if len(kept) < MOST_KEPT:
        kept.append(item)
