"""What stands in a user interface (MCP Apps), against the content security policy that the platform builds for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator

from pytest_adcp.harness.markup import Markup, Script, Use
from pytest_adcp.harness.probes.views import SANDBOX, address
from pytest_adcp.harness.reading import END_WORDS
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.script_hints import Hint, HintKind
from pytest_adcp.harness.text import plural, quote
from pytest_adcp.harness.transcript import End, Exchange
from pytest_adcp.harness.urls import display_url
from pytest_adcp.harness.views import View

from .media_types import media_type
from .views import VIEWS, item_of

_SNAKE = {"resourceDomains": "resource_domains", "frameDomains": "frame_domains"}


def _markup(view: View) -> Markup:
    """Return what was found in a view.

    Raises:
        NotApplicable: it could not be read, or there is none.
        Blocked: no answer came at all.
    """
    essence, _ = media_type(str(item_of(view).value.get("mimeType", "")))
    if essence in ("text/javascript", "text/css"):
        raise NotApplicable(f"it is {essence}, no HTML")
    if view.markup is None:
        raise NotApplicable(view.unparsed)
    return view.markup


def _hint(markup: Markup, *kinds: HintKind) -> Hint | None:
    return next((hint for hint in markup.hints if hint.kind in kinds), None)


def _at(view: View) -> str | None:
    return view.item.at(*view.item.bodies) if view.item else None


@rule("connected-apps.ui-csp-schemes", level=Level.MUST, strength=Strength.FAILS, source=VIEWS)
def data_and_blob_are_listed(view: View) -> None:
    """A data: or blob: URL in a user interface loads only where the CSP metadata lists that scheme.

    Add it on the content item: "_meta": {"ui": {"csp": {"resourceDomains": ["data:"]}}} (frameDomains for a frame).
    """
    markup = _markup(view)
    missing = [use for use in markup.uses if not _lists(view, use.key, use.scheme)]
    if missing:
        first = missing[0]
        raise Broken(
            f'"{first.scheme}" in {first.key}',
            f"{first.where}: {quote(first.shown, 60)}",
            at=_at(view),
            because=f"the view has {_counted(missing)}, and its CSP metadata does not list {first.scheme} in {first.key}"
            + (_ELSEWHERE if (first.scheme, first.key) == ("data:", "resourceDomains") else ""),
            fix=f'"_meta": {{"ui": {{"csp": {{"{first.key}": ["{first.scheme}"]}}}}}} on the content item',
            further=[f"{use.where}: {quote(use.shown, 60)}" for use in missing[1:3]],
        )
    made = _hint(markup, HintKind.DATA)
    if made and not _lists(view, "resourceDomains", "data:"):
        raise Broken(
            '"data:" in resourceDomains',
            quote(made.code, 120),
            at=_at(view),
            because="a script of the view seems to make a data: URL, and its CSP metadata does not list data:",
            lenient="it stands in the text of a script, and may never be loaded",
        )


_ELSEWHERE = (
    "; hosts that keep to the extension allow data: images and media by themselves, this platform does not"
)


def _lists(view: View, key: str, scheme: str) -> bool:
    return scheme in {entry.lower() for entry in view.allowed(key, _SNAKE[key])}


def _counted(uses: list[Use]) -> str:
    more = f" and {plural(len(uses) - 1, 'more place')}" if len(uses) > 1 else ""
    return f"a {uses[0].scheme} URL in {uses[0].where}{more}"


@rule("connected-apps.ui-scripts-inline-or-sri", level=Level.MUST, strength=Strength.FAILS, source=VIEWS)
def scripts_are_inline_or_have_their_hash(view: View) -> None:
    """Scripts are part of the user interface, or have an integrity, crossorigin, and their sha256 hash in resourceDomains.

    Bundle the script into the view (vite-plugin-singlefile does), or write <script src="https://..."
    integrity="sha256-..." crossorigin="anonymous"> and add the same "sha256-..." to resourceDomains; an origin there
    allows no scripts on this platform.
    """
    markup = _markup(view)
    allowed = {_hash(entry) for entry in view.allowed("resourceDomains", "resource_domains")}
    faults = [fault for script in markup.scripts for fault in _faults(script, allowed)]
    for lenient in (False, True):
        found = [(script, problem, why) for script, problem, why in faults if bool(why) is lenient]
        if found:
            script, problem, why = found[0]
            raise Broken(
                'an inline script, or integrity="sha256-...", crossorigin="anonymous" and that hash in resourceDomains',
                f"{script.where} {quote(script.shown, 100)}",
                at=_at(view),
                because=f"{problem}; the platform blocks the script",
                lenient=why,
                further=[
                    f"{script.where} {quote(script.shown, 100)}: {problem}"
                    for script, problem, _ in found[1:3]
                ],
            )
    _look_at_the_rest(view, markup, allowed)


def _faults(script: Script, allowed: set[str]) -> Iterator[tuple[Script, str, str]]:
    """Yield what is wrong with a script that is no part of the view, and why it may be right all the same."""
    unused = "it may never be imported" if script.where == "import map" else ""
    if script.is_relative and script.where != "import map":
        yield script, "the address has no host, and leads nowhere from inside the sandbox of a host", ""
    if not script.is_external:
        return  # what is embedded is the business of ui-csp-schemes
    ours = _of_sha256(script.hashes)
    if not ours:
        longer = any(entry.lower().startswith(("sha384-", "sha512-")) for entry in script.hashes)
        problem = (
            "the integrity has no sha256 entry"
            if longer
            else "a script comes from another host without integrity"
        )
        yield script, problem, "the platform's pages speak of sha256 only" if longer else unused
    elif not any(_hash(entry) in allowed for entry in ours):
        yield script, f"resourceDomains does not have its hash {ours[0][:60]}", unused
    if script.crossorigin is None:
        yield script, "crossorigin is missing, so the browser cannot check the integrity", unused
    elif script.crossorigin.lower() == "use-credentials":
        yield (
            script,
            "crossorigin is use-credentials, which does not go with Access-Control-Allow-Origin: *",
            "the script's host may name the origin",
        )


def _look_at_the_rest(view: View, markup: Markup, allowed: set[str]) -> None:
    if loads := _hint(markup, HintKind.LOADS):
        raise Broken(
            "scripts that are part of the view",
            quote(loads.code, 150),
            at=_at(view),
            because="a script of the view seems to load another one from a host; whatever resourceDomains lists, this "
            "platform blocks it",
            lenient="it is read from the text of a script",
        )
    external = any(script.is_external for script in markup.scripts)
    if external and any(_hash(entry) not in allowed for entry in markup.inline):
        raise Broken(
            "the hashes of the inline scripts in resourceDomains too",
            quote(markup.inline[0], 60),
            at=_at(view),
            because="the view has inline scripts beside one with a hash; once a policy has a hash, browsers ignore "
            "unsafe-inline, and the inline scripts may not run",
            lenient="our reading of CSP, not the platform's words",
        )


def _hash(entry: str) -> str:
    """Return a hash source as it is compared: without quotes, in the alphabet of plain base64."""
    algorithm, dash, digest = entry.strip().strip("'").partition("-")
    return algorithm.lower() + dash + digest.replace("-", "+").replace("_", "/").rstrip("=")


@rule("connected-apps.ui-no-eval-blob-worker", level=Level.SHOULD, strength=Strength.FAILS, source=VIEWS)
def scripts_make_no_code(view: View) -> None:
    """Scripts of a user interface do not make code out of text, and start no worker from a blob: URL.

    Compile templates and schemas when the view is built, and run a worker's code on the main thread; WebAssembly is allowed.
    """
    hint = _hint(_markup(view), HintKind.EVALUATES, HintKind.WORKER)
    if hint:
        raise Broken(
            "no eval, no new Function, no worker from a blob: URL",
            quote(hint.code, 150),
            at=_at(view),
            because=f"a script of the view {hint.kind}, which the platform's policy blocks",
            lenient="it is read from the text of a script",
        )


@rule("connected-apps.ui-script-cors", level=Level.MUST, strength=Strength.REQUIRED, source=VIEWS)
def script_hosts_allow_the_sandbox(view: View) -> None:
    """The host of an external script sends Access-Control-Allow-Origin with * or the sandbox's origin, and the hashed bytes.

    Send `Access-Control-Allow-Origin: *` with the script, and compute integrity and resourceDomains from the file that is
    served: openssl dgst -sha256 -binary FILE | openssl base64 -A.
    """
    scripts = [script for script in _markup(view).scripts if script.is_external]
    if not scripts:
        raise NotApplicable("the view has no script of another host")
    if not view.scripts:
        raise NotApplicable(
            "asks a third host: say `third_party: true` under connected_apps in adcp.yaml, or look by hand"
        )
    unread = ""
    for script in scripts:
        exchange = view.scripts.get(display_url(address(script)))
        if exchange is None or exchange.end is not End.COMPLETE or exchange.response is None:
            unread = unread or _why(script, exchange)
            continue
        origins = [value.strip() for name, value in exchange.response.headers if name.lower() == _ALLOWS]
        if not set(origins) & {"*", SANDBOX}:
            raise Broken(
                f"Access-Control-Allow-Origin: * or {SANDBOX}",
                quote(origins[0], 80) if origins else "no such header",
                because=f"the host of {quote(script.shown, 100)} does not let the sandbox have the script",
            )
        _compare(script, exchange.response.status, exchange.response.body)
    if unread:
        raise Blocked(unread)


_ALLOWS = "access-control-allow-origin"


def _why(script: Script, exchange: Exchange | None) -> str:
    why = "it was not asked for" if exchange is None else exchange.detail or END_WORDS.get(exchange.end, "")
    return f"the script {quote(script.shown, 100)} did not come: {why}"


def _compare(script: Script, status: int, body: bytes) -> None:
    if status != 200:
        raise Broken(
            "HTTP 200", f"HTTP {status}", because=f"the script {quote(script.shown, 100)} is not there"
        )
    digest = f"sha256-{base64.b64encode(hashlib.sha256(body).digest()).decode('ascii')}"
    hashes = _of_sha256(script.hashes)
    if hashes and _hash(digest) not in {_hash(entry) for entry in hashes}:
        raise Broken(
            hashes[0][:60],
            digest,
            because=f"the bytes of {quote(script.shown, 100)} have not the hash that the view says; no browser runs it",
        )


def _of_sha256(hashes: Iterable[str]) -> list[str]:
    return [entry for entry in hashes if entry.lower().startswith("sha256-")]
