"""Protocol and transport: what the platform speaks, and where it looks for a server."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pytest_adcp.harness.app_wire import Endpoint, InContext, Looked
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.diagnosis import LEGACY
from pytest_adcp.harness.reading import no_answer, read
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, OFFERED
from pytest_adcp.harness.sources import connected_apps, mcp
from pytest_adcp.harness.subjects import HttpProbed, Reply
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.urls import is_loopback

TRANSPORT = connected_apps("protocol-and-transport")
CONTEXT = connected_apps("tool-context")
TROUBLESHOOTING = connected_apps(page="gpc/troubleshooting")
_TYPES = ("application/json", "text/event-stream")
# /v1, /mcp/v2, /v1beta, /v1.2, /mcp-v1, and a date, which is how MCP itself counts
_VERSION = re.compile(
    r"(?:.*[-_.])?v\d{1,4}(?:\.\d{1,4}){0,3}(?:[-_.]?(?:alpha|beta|rc)\d{0,4})?|\d{4}-\d{2}-\d{2}",
    re.IGNORECASE,
)


@rule("connected-apps.protocol-version", level=Level.MUST, strength=Strength.FAILS, source=TRANSPORT)
def an_accepted_revision_is_spoken(endpoint: Endpoint) -> None:
    """The server answers initialize at a revision of MCP from 2025-03-26 up to and including 2025-11-25.

    Answer initialize at one of the revisions 2025-03-26, 2025-06-18 or 2025-11-25, whatever else the server
    speaks: update the SDK where it knows older ones only, and keep the handshake where it knows 2026-07-28.
    """
    if endpoint.unusable is not None:
        raise NotApplicable(endpoint.unusable.message)
    expected = f"protocolVersion out of {', '.join(HANDSHAKE_REVISIONS)}"
    if endpoint.version is None:
        raise Broken(
            expected,
            _came(endpoint),
            at="",
            because="the server answers no initialize; the platform opens a conversation with it and knows no other way",
            fix="Serve the handshake (initialize, notifications/initialized) beside MCP 2026-07-28: SDKs that know both "
            "eras do so on one endpoint.",
        )
    if endpoint.version not in HANDSHAKE_REVISIONS:
        raise Broken(
            expected,
            quote(endpoint.version, 60),
            at="/result/protocolVersion",
            because=f"the server answered initialize with a revision that the platform does not speak ({OFFERED} was offered)",
        )


def _came(endpoint: Endpoint) -> str:
    response = endpoint.exchange.response if endpoint.exchange is not None else None
    if response is None:
        return "nothing"
    return f"HTTP {response.status}, {quote(response.body[:400].decode(errors='replace'), 160)}"


@rule("connected-apps.single-endpoint", level=Level.MUST, strength=Strength.REQUIRED, source=TRANSPORT)
def one_url_takes_all(endpoint: Endpoint) -> None:
    """One URL takes every POST: initialize, tools/list and tools/call.

    Publish the URL that answers by itself, and route all methods of MCP to it. In Starlette and FastAPI mount the
    app so that the path with and without a slash at its end is served (redirect_slashes=False).
    """
    if endpoint.unusable is not None:
        raise NotApplicable(endpoint.unusable.message)
    moved = [exchange for exchange in endpoint.exchanges if exchange.redirects]
    if not moved:
        return
    asked, there = moved[0].request.url, moved[0].redirects[-1]
    slash = urlsplit(asked).path.rstrip("/") == urlsplit(there).path.rstrip("/")
    raise Broken(
        "an answer from this URL",
        f"a redirect to {quote(there)} ({len(moved)} of {len(endpoint.exchanges)} requests)",
        because=f"{moved[0].subject} is redirected to "
        + ("the same path but for a slash" if slash else "another path")
        + "; the platform has one URL of a server for everything",
        fix=f"Give {there} to the platform, or serve this URL without a redirect.",
        lenient="only the slash differs, and many clients follow it" if slash else "",
    )


@rule("connected-apps.response-media-type", level=Level.MUST, strength=Strength.REQUIRED, source=TRANSPORT)
def answers_are_json_or_events(reply: Reply) -> None:
    """Each answer comes as application/json or as text/event-stream, and says so in Content-Type.

    Send Content-Type: application/json with a JSON body (a charset may follow), or text/event-stream with events.
    A framework that is given text says text/plain or text/html: return its JSON response type, or set the header.
    """
    response = reply.exchange.response
    if response is None or reply.response is None or not 200 <= reply.status < 300:
        raise NotApplicable("no JSON-RPC response came with a status of success")
    if response.media_type not in _TYPES:
        named = response.header("content-type")
        raise Broken(
            " or ".join(_TYPES),
            f"Content-Type: {quote(named, 80)}" if named else "no Content-Type",
            because="the answer does not say that it is JSON or an event stream, the two that the platform's Accept names",
        )


@rule(
    "connected-apps.get-stream-or-405",
    level=Level.MUST,
    strength=Strength.REQUIRED,
    source=mcp("basic/transports", "listening-for-messages-from-the-server"),
    probes=[HttpProbe.GET_STREAM],
)
def get_is_a_stream_or_refused(http_probe: HttpProbed) -> None:
    """GET at the endpoint with Accept: text/event-stream gives an event stream, or HTTP 405.

    Answer 405 with Allow: POST where the server has nothing to say on its own. No page, no health check and no
    404 at this path.
    """
    normal, reply = http_probe.normal, http_probe.reply
    if normal is None or normal.status != 200 or normal.response is None:
        raise NotApplicable("a plain request got no answer either")
    response = reply.exchange.response
    streams = reply.status == 200 and response is not None and response.media_type == "text/event-stream"
    if not streams and reply.status != 405:
        named = (response.header("content-type") if response is not None else None) or "no Content-Type"
        raise Broken(
            "text/event-stream with HTTP 200, or HTTP 405",
            f"HTTP {reply.status}, {quote(named, 80)}",
            because=f"GET at the endpoint gives HTTP {reply.status} and no event stream. The platform names 405 as what it takes for "
            "no stream; MCP allows a stream and 405, and nothing else",
        )


@rule("connected-apps.no-legacy-sse", level=Level.MUST, strength=Strength.FAILS, source=TRANSPORT)
def the_old_transport_is_not_all(endpoint: Endpoint) -> None:
    """The server speaks Streamable HTTP, and not the HTTP+SSE transport of MCP 2024-11-05 alone.

    Serve Streamable HTTP: FastMCP("name").run(transport="http"), StreamableHTTPServerTransport in the TypeScript
    SDK. The old transport may stay at another path for old clients.
    """
    if endpoint.unusable is None:
        return
    if endpoint.unusable.cause != LEGACY:
        raise NotApplicable(endpoint.unusable.message)
    raise Broken(
        "an answer to POST at this URL",
        "an event `endpoint` to GET, and no answer to POST",
        because="the server speaks the HTTP+SSE transport of MCP 2024-11-05 only; the platform does not",
    )


@rule("connected-apps.https-443", level=Level.MUST, strength=Strength.REQUIRED, source=TRANSPORT)
def the_endpoint_is_on_https(endpoint: Endpoint) -> None:
    """The URL of the server is https on port 443.

    Put the server behind a proxy or load balancer that ends TLS on port 443, and give its URL without a port.
    """
    parts = urlsplit(endpoint.url)
    if is_loopback(parts.hostname or ""):
        raise NotApplicable("the server runs on this machine")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme != "https" or port != 443:
        raise Broken(
            "an https:// URL on port 443",
            quote(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"),
            because=f"the server is reached by {parts.scheme} on port {port}, where the platform does not go",
        )


@rule("connected-apps.versioned-path", level=Level.SHOULD, strength=Strength.GUIDANCE, source=TRANSPORT)
def the_path_has_a_version(endpoint: Endpoint) -> None:
    """The path of the endpoint carries a version, such as /v1/mcp.

    Serve the endpoint at /v1/mcp (FastMCP: path="/v1/mcp"; Express: app.all("/v1/mcp", ...)); a change that
    breaks clients then gets /v2/mcp beside it.
    """
    path = urlsplit(endpoint.url).path
    if not any(_VERSION.fullmatch(segment[:80]) for segment in path.split("/")):
        raise Broken(
            "a segment such as /v1 in the path",
            quote(path or "/", 120),
            because="the path of the endpoint carries no version, so tools cannot change without breaking whoever uses them",
        )


@rule(
    "connected-apps.client-info-tolerated",
    level=Level.MUST,
    strength=Strength.FAILS,
    source=TROUBLESHOOTING,
    probes=[HttpProbe.CLIENT_INFO],
)
def every_client_is_welcome(http_probe: HttpProbed) -> None:
    """Initialize is answered whatever client its clientInfo names.

    Take clientInfo for what it is, a name for logs. Where the server or a gateway in front keeps a list of
    clients, add the platform's, or drop the list: who may call is for OAuth to say.
    """
    _must_open(http_probe, "initialize is refused when clientInfo names another client")


@rule(
    "connected-apps.user-agent-tolerated",
    level=Level.SHOULD,
    strength=Strength.FAILS,
    source=connected_apps(page="mcp/mcp-flow"),
    probes=[HttpProbe.USER_AGENT],
)
def the_platform_is_no_bot(http_probe: HttpProbed) -> None:
    """Initialize is answered when it comes with User-Agent: Google, as every request of the platform does.

    Let requests with that User-Agent pass the bot filter, firewall or CDN in front of the endpoint.
    """
    _must_open(
        http_probe,
        "initialize is refused when User-Agent says Google, as it does in each request of the platform",
    )


def _must_open(http_probe: HttpProbed, because: str) -> None:
    normal, reply = http_probe.normal, http_probe.reply
    if normal is None or "result" not in (normal.response or {}):
        raise NotApplicable("the plain initialize got no result either")
    if "result" not in (reply.response or {}):
        body = reply.exchange.response.body if reply.exchange.response else b""
        shown = quote(body[:400].decode(errors="replace"), 160) if body else "no body"
        raise Broken(
            "the result that the plain initialize got", f"HTTP {reply.status}, {shown}", because=because
        )


@rule("connected-apps.meta-tolerated", level=Level.MUST, strength=Strength.FAILS, source=CONTEXT)
def the_users_context_is_no_fault(in_context: InContext) -> None:
    """A tools/call whose params._meta tells the user's language and place is served like one without.

    Read params._meta as an object with any members, and leave those alone that you do not know: no
    additionalProperties: false, extra="forbid" or .strict() on it or on params.
    """
    plain, varied = in_context.without, in_context.with_it
    if plain.result is None and plain.error is None:
        raise NotApplicable("the same call without _meta got no answer either")
    same = (
        varied.result is not None and varied.is_flagged == plain.is_flagged
        if plain.result is not None
        else varied.error is not None and varied.error.get("code") == (plain.error or {}).get("code")
    )
    better = plain.error is not None or plain.is_flagged  # that call may fail for reasons of its own
    if same or (better and varied.result is not None and not varied.is_flagged):
        return
    response = varied.exchange.response
    body = response.body[:600].decode(errors="replace") if response is not None else ""
    raise Broken(
        "what the same call got without _meta",
        f"HTTP {varied.status}, {quote(varied.error or varied.result or body, 200)}",
        at="/error" if varied.error is not None else "/result",
        because="the call is refused when params._meta holds user_locale and the user's location, which the platform sends",
        lenient="a gateway may say so for reasons of its own: run it again"
        if varied.status in (502, 503, 504)
        else "",
    )


@rule(
    "connected-apps.domain-verification",
    level=Level.MUST,
    strength=Strength.REQUIRED,
    source=connected_apps(page="gpc/prerequisites"),
)
def the_domain_is_verified(verification: Looked) -> None:
    """The challenge token is JSON at /.well-known/google-connected-apps, with HTTP 200 and without a redirect.

    Serve the JSON that the console gave you at that very path of the endpoint's host, as application/json, from
    the host itself.
    """
    exchange = verification.exchange
    response = exchange.response
    if why := no_answer(exchange) if response is None else "":
        raise NotApplicable(why)
    assert response is not None
    documents = read(exchange).documents
    if exchange.redirects or response.status != 200:
        where = exchange.redirects[-1] if exchange.redirects else response.header("location")
        raise Broken(
            "HTTP 200 from this URL",
            f"a redirect to {quote(where)}" if where else f"HTTP {response.status}",
            because="the document that proves the domain is not served at its place; the platform follows no redirect",
        )
    if not documents or not documents[0].parsed.ok:
        raise Broken(
            "a JSON document",
            quote(response.body[:200].decode(errors="replace"), 160),
            because="what stands at the place of the document that proves the domain is no JSON",
        )
