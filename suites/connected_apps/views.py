"""User interfaces (MCP Apps): how tools name them, whether they can be read, their type, size and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.recorder import VIEWS_OVER
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import App
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.ui import OLD_KEY, SCHEME, VIEW_TYPE, interface, meta
from pytest_adcp.harness.views import Item, View

from .hits import Hit, called, report
from .media_types import dialect, media_type

VIEWS = connected_apps("mcp-apps")
EXTENSION = "https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx"

_MIB = 1024 * 1024
_ACCEPTED = ("text/html", "text/javascript", "text/css")
_KEYS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
_SNAKE = {re.sub("(?<=[a-z])(?=[A-Z])", "_", key).lower(): key for key in _KEYS}
_ORIGIN = re.compile(r"(?:https|wss)://(?:\*\.)?[^/\s*?#@]+/?\Z", re.IGNORECASE)
_OTHER_SOURCE = re.compile(
    r"(?:data:|blob:|'?sha(?:256|384|512)-[A-Za-z0-9+/_-]+={0,2}'?|'wasm-unsafe-eval'|'self')\Z",
    re.IGNORECASE,
)
_EMPTY_TEXTS = frozenset({"", "null", "none", '""', "''", "{}", "[]", "undefined"})


def item_of(view: View) -> Item:
    """Return the content item that the first read gave.

    Raises:
        NotApplicable: there is none; ui-resource-readable looks at that.
        Blocked: no answer came at all.
    """
    if view.first.unanswered and not view.first.too_large:
        raise Blocked(view.first.unanswered)
    if view.item is None or view.item.problem:
        raise NotApplicable("no view came; connected-apps.ui-resource-readable looks at it")
    return view.item


@rule("connected-apps.ui-link", level=Level.MUST, strength=Strength.FAILS, source=EXTENSION)
def links_are_spelt_as_the_extension_has_it(app: App) -> None:
    """A tool names its user interface as `_meta.ui.resourceUri`; where the old key stands too, it names the same one.

    Set "_meta": {"ui": {"resourceUri": "ui://..."}} on the tool (registerAppTool of @modelcontextprotocol/ext-apps does),
    and take `ui/resourceUri` out or give it the same value.
    """
    different, old, foreign, found = [], [], [], False
    for tool in app.tools:
        new, before = interface(tool.value).get("resourceUri"), meta(tool.value).get(OLD_KEY)
        where, at = called(tool), tool.at("_meta")
        found = found or new is not None or before is not None
        if new is not None and (not isinstance(new, str) or (before is not None and before != new)):
            received = f"{quote(new, 80)}" + (f" and {quote(before, 80)}" if before is not None else "")
            different.append(Hit(where, received, at))
        elif new is None and before is not None:
            fix = f'"_meta": {{"ui": {{"resourceUri": {quote(before, 200)}}}}} on the tool'
            old.append(Hit(where, quote(before, 80), at, fix))
        elif new is None and isinstance(foreign_link := meta(tool.value).get("openai/outputTemplate"), str):
            foreign.append(Hit(where, quote(foreign_link, 80), at))
    report(
        different,
        "a tool does not name one user interface, but hosts read either key",
        "one URI, a string, under both keys or under the new one alone",
    )
    report(
        old,
        "a tool names its user interface by the deprecated key `ui/resourceUri` only; hosts will stop to read it",
        "_meta.ui.resourceUri",
        lenient="it is still read",
    )
    report(
        foreign,
        "a tool names its user interface in the dialect of another host (openai/outputTemplate), which this platform does not read",
        "_meta.ui.resourceUri",
        lenient="the tool works without it",
    )
    if not found:
        raise NotApplicable("no tool names a user interface")


@rule("connected-apps.ui-resource-readable", level=Level.MUST, strength=Strength.FAILS, source=VIEWS)
def view_can_be_read(view: View) -> None:
    """What a tool names as its user interface is a ui:// resource, and resources/read gives it before any tool is called.

    Register the resource under the very URI that the tool names, when the server starts: the platform reads it once, at
    ingestion, and calls no tool before. Answer with contents: [{uri, mimeType, text}] (or blob instead of text).
    """
    expected = f"a content item with the URI {quote(view.uri, 120)} and either text or blob"
    if not view.uri.startswith(SCHEME):
        tool = view.tools[0]
        raise Broken(
            "a URI that begins with ui://",
            quote(view.uri, 120),
            at=tool.at("_meta", "ui", "resourceUri"),
            because=f"the user interface of {called(tool)} is no ui:// resource, so no host shows it",
        )
    first = view.first
    if first.too_large:
        raise NotApplicable("it is too large; connected-apps.ui-size looks at that")
    if first.unanswered:
        raise Blocked(first.unanswered)
    named = f"the user interface of {called(view.tools[0])}" if view.tools else "a listed user interface"
    if first.error:
        raise Broken(expected, first.error, because=f"{named} cannot be read")
    if first.item is None:
        raise Broken(
            expected,
            f"{first.count} content items, none with that URI",
            at="/result/contents",
            because=f"{named} is not what resources/read gives",
        )
    if first.item.problem:
        raise Broken(
            expected,
            first.item.problem,
            at=first.item.at(),
            because=f"{named} has no body to show",
            fix='Send the HTML as a string: "text": "<!doctype html>...". Only where it has to be base64 send "blob" instead, in the '
            "standard alphabet with its padding: base64.b64encode(html.encode()).decode(), Buffer.from(html).toString('base64').",
        )
    if first.is_other:
        raise Broken(
            expected,
            quote(first.item.value.get("uri"), 120),
            at=first.item.at("uri"),
            because=f"{named} comes under another URI than the one that was asked for",
            lenient="there is only this one item",
        )
    if not view.declared:
        raise Broken(
            '"resources": {} among the capabilities',
            "no such capability",
            because="the view can be read, but the server does not say that it has resources: hosts that look do not ask",
            fix='declare "resources": {} in the result of initialize',
            lenient="the read works",
        )
    if view.tools and view.markup is not None and view.markup.complete and not view.markup.is_html:
        raise Broken(
            "an HTML document",
            f"{first.item.size} bytes without an element",
            at=first.item.at(),
            because=f"{named} is no HTML document",
            fix="Send a whole document in UTF-8: <!doctype html><html>.... A file that was not built often comes as an empty text.",
            lenient="a browser shows the text",
        )


@rule("connected-apps.ui-size", level=Level.MUST, strength=Strength.REQUIRED, source=VIEWS)
def view_is_small_enough(view: View) -> None:
    """One user interface has at most 15 MB, and all of a server's at most 100 MB together.

    Split the view, leave source maps and unused libraries out of the bundle, and let it fetch data by tool calls.
    """
    one, all_together = view.server.standards.limit("view_mb"), view.server.standards.limit("views_mb")
    if view.first.too_large:
        detail = view.first.exchange.detail
        if detail == VIEWS_OVER:
            raise Broken(
                f"at most {all_together} MB of all views together",
                detail,
                because="the server's views are together larger than what this harness keeps of them",
                lenient="escapes in the JSON count here",
            )
        raise Broken(
            f"at most {one} MB",
            detail or "more than is read",
            because=f"the answer with the view is larger than what this harness reads; {one} MB fit in, however they are written",
        )
    size = item_of(view).size
    at = view.item.at() if view.item else None
    if size > one * 1_000_000:
        raise Broken(
            f"at most {one} MB",
            f"{size:,} bytes",
            at=at,
            because=f"the view has {size / 1_000_000:.1f} MB",
            lenient="" if size > one * _MIB else "an MB may mean 1,048,576 bytes",
        )
    total = view.all_bytes
    if total is not None and total > all_together * 1_000_000:
        raise Broken(
            f"at most {all_together} MB of all views together",
            f"{total:,} bytes",
            because=f"the server's views have {total / 1_000_000:.0f} MB together",
            lenient="" if total > all_together * _MIB else "an MB may mean 1,048,576 bytes",
        )


@rule("connected-apps.ui-mime", level=Level.MUST, strength=Strength.FAILS, source=VIEWS)
def view_has_an_accepted_type(view: View) -> None:
    """A user interface is text/html;profile=mcp-app; text/html, text/javascript and text/css are taken as well, nothing else.

    Set mimeType to "text/html;profile=mcp-app" on the content item of resources/read and on the entry of resources/list.
    """
    item = item_of(view)
    given, at = item.value.get("mimeType"), item.at("mimeType")
    if not isinstance(given, str):
        raise Broken(
            f'"{VIEW_TYPE}"',
            quote(given) if "mimeType" in item.value else "no mimeType",
            at=at,
            because="the content item does not say its type; the platform refuses it in validation",
        )
    essence, parameters = media_type(given)
    if essence not in _ACCEPTED:
        other = dialect(essence)
        raise Broken(
            f'"{VIEW_TYPE}"',
            quote(given, 100),
            at=at,
            because=f"the type {quote(given, 60)} is none of the four that the platform takes{other}",
        )
    profile = essence == "text/html" and parameters.get("profile") == "mcp-app"
    extra = sorted(name for name in parameters if not (profile and name == "profile"))
    if extra:
        raise Broken(
            f'"{VIEW_TYPE}"',
            quote(given, 100),
            at=at,
            because=f"the type has a parameter ({quote(extra[0], 40)}) that the platform's list does not have",
            lenient="the type itself is in the list",
        )
    if view.tools and not profile:
        raise Broken(
            f'"{VIEW_TYPE}"',
            quote(given, 100),
            at=at,
            because="what a tool names as its user interface has not the type of MCP Apps: hosts that keep to the extension "
            "do not show it",
            lenient="the platform takes it",
        )
    listed = view.listed.get("mimeType")
    if isinstance(listed, str) and media_type(listed) != (essence, parameters):
        raise Broken(
            quote(given, 100),
            quote(listed, 100),
            at=f"{view.listed_at}/mimeType",
            because="resources/list gives another type than resources/read",
            lenient="the content item counts",
        )


@rule("connected-apps.ui-meta-place", level=Level.SHOULD, strength=Strength.GUIDANCE, source=EXTENSION)
def metadata_is_where_hosts_read_it(view: View) -> None:
    """CSP and permissions stand on the resource, under the extension's keys, and name origins with a scheme.

    Write "_meta": {"ui": {"csp": {"resourceDomains": ["https://cdn.example", "data:"], "connectDomains": [...]}}} on the
    content item of resources/read.
    """
    problems = list(_problems(view))
    if problems:
        expected, received, at, because = problems[0]
        raise Broken(
            expected,
            received,
            at=at,
            because=because,
            further=[f"{because}: {received}" for _, received, _, because in problems[1:4]],
        )


def _problems(view: View) -> Iterator[tuple[str, str, str, str]]:
    """Yield what should have come, what came, where, and what is wrong."""
    for tool in view.tools:
        for key in ("csp", "permissions"):
            if key in interface(tool.value):
                yield (
                    f"{key} on the resource",
                    quote(interface(tool.value)[key], 100),
                    tool.at("_meta", "ui", key),
                    f"{called(tool)} has `{key}` in its _meta.ui, where no host reads it",
                )
    csp = view.metadata.get("csp")
    place = f"{view.metadata_at}/csp"
    if "csp" in view.metadata and not isinstance(csp, Mapping):
        yield "an object", quote(csp, 100), place, "csp is no object, so it is not read"
    for key, entries in csp.items() if isinstance(csp, Mapping) else ():
        if key not in _KEYS:
            cure = f"; it is spelt {_SNAKE[key]}" if key in _SNAKE else ""
            known = f'"{_SNAKE[key]}"' if key in _SNAKE else ", ".join(_KEYS)
            yield known, quote(key, 60), place, f"the extension has no key {quote(key, 60)} under csp{cure}"
        if key not in _KEYS and key not in _SNAKE:
            continue
        if not isinstance(entries, list):
            yield "an array of strings", quote(entries, 100), f"{place}/{key}", f"{key} is no array"
            continue
        for index, entry in enumerate(entries):
            if problem := _odd(entry):
                yield "https://host", quote(entry, 80), f"{place}/{key}/{index}", f"{key} holds {problem}"


def _odd(entry: object) -> str:
    if not isinstance(entry, str):
        return "something that is no string"
    text = entry.strip()
    if _ORIGIN.match(text) or _OTHER_SOURCE.match(text):
        return ""
    if text.lower().startswith(("http:", "ws:")):
        return "an origin without encryption"
    if "://" in text:
        return "a URL that is no origin (a path, a user or a wildcard in the wrong place)"
    return (
        "a host without a scheme"
        if re.match(r"[\w*-]+(?:\.[\w-]+)+(?::\d+)?\Z", text)
        else "an entry that is no source"
    )


@rule("connected-apps.ui-text-fallback", level=Level.MUST, strength=Strength.FAILS, source=EXTENSION)
def results_are_readable_without_the_view(view: View) -> None:
    """The results of a tool with a user interface say in `content` what the view shows: hosts without views have only that.

    Put the data as JSON text beside structuredContent, which this platform does not read yet:
    content: [{"type": "text", "text": JSON.stringify(data)}].
    """
    # Of failures connected-apps.error-readable says the same.
    results = [item for item in view.results if not jsontext.truthy(item.value.get("isError"))]
    if not results:
        raise NotApplicable("no success of its tools came: they were not called, or failed")
    for result in results:
        content = result.value.get("content")
        items = [item for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
        if not any(_says_something(item) for item in items):
            raise Broken(
                "a content item that says something",
                quote(content, 150) if "content" in result.value else "no content",
                at=result.at("content"),
                because=f"{quote(result.tool, 60)} has a user interface, and its result says nothing without it",
            )


def _says_something(item: Mapping[str, object]) -> bool:
    if item.get("type") != "text":
        return True
    text = item.get("text")
    return isinstance(text, str) and text[:100].strip().lower() not in _EMPTY_TEXTS


@rule("connected-apps.ui-stable", level=Level.SHOULD, strength=Strength.GUIDANCE, source=VIEWS)
def view_is_the_same_for_everybody(view: View) -> None:
    """Two reads of a user interface give the same bytes, with nothing of the session in them.

    Serve the view as a static file; let it get what differs (data, user, time, nonce) from the tool's result.
    """
    item = item_of(view)
    if item.shows_session:
        raise Broken(
            "nothing of the session in the view",
            "the session id",
            at=item.at(),
            because="the id of the MCP session stands in the view; the platform reads it once and shows it to everybody",
        )
    again = view.again.item if view.again else None
    if again is None or again.problem:
        raise NotApplicable("the second read gave no view")
    if again.digest != item.digest:
        raise Broken(
            f"the same {item.size:,} bytes",
            f"{again.size:,} bytes with another SHA-256",
            at=again.at(*again.bodies),
            because="two reads gave different views; the platform reads it once, at ingestion, and shows that one",
        )
