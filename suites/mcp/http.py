"""Streamable HTTP: what a server serves, and what it says about its answers."""

from __future__ import annotations

from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.reading import Hidden
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, STATELESS_REVISION
from pytest_adcp.harness.sources import mcp, rfc
from pytest_adcp.harness.subjects import HttpProbed, Reply
from pytest_adcp.harness.text import quote

from .http_replies import (
    WITH_VERSION_HEADER,
    came,
    is_within_reach,
    must_be_served,
    must_not_fail,
    plain_answer,
    why_not_followed,
)
from .replies import hidden_in, must_answer

_SENDING = mcp("basic/transports", "sending-messages-to-the-server")
_TYPES = ("application/json", "text/event-stream")


# -- what comes with every answer ---------------------------------------------------------------------------------


@rule("mcp.http.content-type", level=Level.MUST, source=_SENDING)
def answers_name_their_type(reply: Reply) -> None:
    """Each response to a request comes as application/json or as text/event-stream, and says so in Content-Type.

    Send Content-Type: application/json with a JSON body (parameters such as charset are fine). A framework that is given
    text or bytes says text/plain, text/html or nothing: return its JSON response type, or set the header.
    """
    must_answer(reply)
    response, hidden = reply.exchange.response, hidden_in(reply)
    succeeded = response is not None and 200 <= reply.status < 300
    if succeeded and hidden in (Hidden.EVENTS, Hidden.JSON):
        events = hidden is Hidden.EVENTS
        raise Broken(
            "Content-Type: text/event-stream" if events else "Content-Type: application/json",
            came(reply),
            because=f"{reply.method} is answered by {hidden.meaning}",
            fix=f"{hidden.cure[0].upper()}{hidden.cure[1:]}.",
        )
    if response is None or reply.response is None or not succeeded:
        raise NotApplicable("no JSON-RPC response came with a status of success")
    if response.media_type not in _TYPES:
        named = response.header("content-type")
        raise Broken(
            " or ".join(_TYPES),
            f"Content-Type: {quote(named, 80)}" if named else "no Content-Type",
            because="the response does not say that it is JSON, and the official clients refuse it without reading on",
        )


@rule("mcp.http.content-coding", level=Level.SHOULD, source=rfc(9110, "12.5.3"))
def answers_are_not_coded_unasked(reply: Reply) -> None:
    """Answers have no content coding where the client asks for none (Accept-Encoding: identity).

    Compress only what the request's Accept-Encoding allows; leave that to the web server's or framework's own middleware
    (nginx gzip, Starlette's GZipMiddleware), which looks at it, and do not compress event streams.
    """
    must_answer(reply)
    response = reply.exchange.response
    coding = response.header("content-encoding") if response is not None else None
    if coding is not None and coding.strip().lower() not in ("", "identity"):
        raise Broken(
            "no Content-Encoding",
            f"Content-Encoding: {quote(coding, 60)}",
            because="the answer is compressed although the request asks for identity; a client that cannot undo it reads "
            "nothing",
        )


@rule("mcp.http.direct", level=Level.SHOULD, source=_SENDING)
def the_endpoint_answers_itself(reply: Reply) -> None:
    """The URL of the server is that of the endpoint: it answers there and does not redirect.

    Publish the URL that answers. In Starlette and FastAPI mount the app so that the path with and without a slash at its
    end are served (redirect_slashes=False), in Django set APPEND_SLASH = False for it.
    """
    if not reply.exchange.redirects:
        return
    asked, there = reply.exchange.request.url, reply.exchange.redirects[-1]
    slash = there.rstrip("/") == asked.rstrip("/")
    difference = "a slash at its end" if len(there) > len(asked) else "no slash at its end"
    raise Broken(
        "an answer from this URL",
        f"a redirect to {quote(there)}",
        because=f"the endpoint redirects to {'the same URL with ' + difference if slash else 'another path'}; many "
        "clients do not follow a redirect of a POST, or lose the body or the credentials on it",
        fix=f"Give {there} to clients, or serve this URL without a redirect." if slash else "",
    )


@rule("mcp.http.redirect", level=Level.MUST, source=_SENDING)
def redirects_can_be_followed(reply: Reply) -> None:
    """Where the endpoint redirects, it does so with 307 or 308, and to its own scheme, host and port.

    Serve the URL itself. Behind a proxy that ends TLS, tell the application so (uvicorn --proxy-headers with
    --forwarded-allow-ips, Express "trust proxy"), else its redirects lead to http: and lose the credentials.
    """
    status = reply.status
    if not 300 <= status < 400:
        if reply.exchange.redirects:
            return  # it was followed, as every client can
        raise NotApplicable("no redirect came")
    location = reply.exchange.response.header("location") if reply.exchange.response is not None else None
    asked = ([reply.exchange.request.url, *reply.exchange.redirects])[-1]
    why, lenient = why_not_followed(status, asked, location)
    raise Broken(
        "an answer, or a redirect that keeps method, scheme, host and port",
        f"HTTP {status}, " + (f"Location: {quote(location, 200)}" if location else "no Location"),
        because=f"{reply.method} is redirected {why}",
        lenient=lenient,
    )


@rule("mcp.http.request-not-accepted", level=Level.MUST, source=_SENDING)
def requests_do_not_get_202(reply: Reply) -> None:
    """No request is answered with HTTP 202, which accepts notifications and responses.

    Tell a request from a notification by whether it has an id, and answer it with its response: HTTP 200, in the body or on
    an event stream.
    """
    if "id" not in reply.sent:
        raise NotApplicable("what was sent is no request")
    if reply.status == 202:
        raise Broken(
            "HTTP 200 and a JSON-RPC response",
            came(reply),
            because=f"{reply.method} has an id and got HTTP 202, as if it were a notification; a client waits for the "
            "response until its time is up",
        )


@rule("mcp.http.accepted", level=Level.MUST, source=_SENDING, revisions=HANDSHAKE_REVISIONS)
def notifications_get_202(notification: Reply) -> None:
    """Each notification that the server accepts gets HTTP 202 and no body.

    Answer a message without an id with 202 and end the response there; 200 and 204 are something else to strict
    clients. The handlers of the SDKs do so.
    """
    if not 200 <= notification.status < 300:
        raise NotApplicable(f"the notification was not accepted (HTTP {notification.status})")
    body = notification.exchange.response.body if notification.exchange.response else b""
    if notification.status != 202:
        raise Broken(
            "HTTP 202 without a body",
            came(notification),
            because=f"{notification.method} got HTTP {notification.status}; strict clients take anything but 202 for a "
            "failed connection",
        )
    if body.strip():
        raise Broken(
            "HTTP 202 without a body",
            came(notification),
            because=f"{notification.method} got 202 and a body that no client has a use for",
            lenient="clients go by the status",
        )


# -- what has to be served ----------------------------------------------------------------------------------------


@rule(
    "mcp.http.accept",
    level=Level.MUST,
    source=rfc(9110, "12.5.1"),
    probes=[HttpProbe.ACCEPT_ORDER],
)
def accept_is_a_list(http_probe: HttpProbed) -> None:
    """Requests whose Accept lists application/json and text/event-stream in any order, with or without q, are served.

    Read Accept as a list: split it at commas, drop the parameters behind ";", compare in lower case, in any order. Do not
    compare the header with one fixed text.
    """
    must_be_served(
        http_probe,
        "the server refuses an Accept that lists both types in another order and with a quality; many clients write it so",
    )


@rule(
    "mcp.http.accept-case",
    level=Level.SHOULD,
    source=rfc(9110, "8.3.1"),
    probes=[HttpProbe.ACCEPT_CASE],
)
def accept_has_no_case(http_probe: HttpProbed) -> None:
    """Media types in Accept are compared without regard to case.

    Lower the header before you compare it. The official TypeScript SDK compares it as it is written; there is nothing to
    change where that is all that reads it.
    """
    must_be_served(
        http_probe, "the server refuses an Accept that lists both types, in other letters than it expects"
    )


@rule(
    "mcp.http.accept-narrow",
    level=Level.SHOULD,
    source=rfc(9110, "12.5.1"),
    probes=[HttpProbe.ACCEPT_JSON, HttpProbe.ACCEPT_ANY],
)
def a_narrow_accept_is_no_failure(http_probe: HttpProbed) -> None:
    """Requests whose Accept is application/json alone, or */*, are served or refused; the server does not fail over them.

    Answer them as you would with both types listed, or with HTTP 406. Clients of MCP list both; scripts and health checks
    do not.
    """
    sent = next(v for n, v in http_probe.exchange.request.headers if n.lower() == "accept")
    must_not_fail(http_probe, f"a request with Accept: {sent}")


@rule("mcp.http.charset", level=Level.MUST, source=rfc(9110, "8.3.1"), probes=[HttpProbe.CHARSET])
def a_charset_is_no_other_type(http_probe: HttpProbed) -> None:
    """Requests with Content-Type: application/json; charset=utf-8 are served.

    Compare the media type alone: what stands before the first ";", in lower case.
    """
    must_be_served(
        http_probe,
        "the server refuses application/json with a charset parameter, as HTTP clients of Java, .NET and PHP send it",
    )


@rule(
    "mcp.jsonrpc.ids",
    level=Level.MUST,
    source=mcp("basic", "requests"),
    probes=[HttpProbe.ID_DIGITS, HttpProbe.ID_LARGE, HttpProbe.ID_EMPTY, HttpProbe.ID_UNICODE],
)
def every_legal_id_is_echoed(http_probe: HttpProbed) -> None:
    """Every string and every integer is served as a request's id, and comes back as the same value in the same type.

    Tell a request from a notification by whether it has the member "id" ("id" in message), not by whether the id is
    true: "" and 0 are ids. Keep it as it was parsed, without int(), Number() or a 32-bit field.
    """
    sent = http_probe.reply.sent.get("id")
    must_be_served(
        http_probe, f"a request with the id {quote(sent, 40)} is not served, which is as good as any"
    )
    response = http_probe.reply.response or {}
    if not equal(response.get("id"), sent):
        raise Broken(
            quote(sent),
            quote(response["id"]) if "id" in response else "no such member",
            at="/id" if "id" in response else "",
            because=f"the id {quote(sent, 40)} came back as another value or type; the client that sent it waits on",
        )


@rule(
    "mcp.lifecycle.version-absent",
    level=Level.SHOULD,
    source=mcp("basic/transports", "protocol-version-header"),
    revisions=WITH_VERSION_HEADER,
    probes=[HttpProbe.VERSION_ABSENT],
)
def a_missing_version_is_no_fault(http_probe: HttpProbed) -> None:
    """Requests without MCP-Protocol-Version are served, as those of a client of 2025-03-26.

    Take a missing header for 2025-03-26, or for what the session has agreed on; refuse only a value that you do not
    know.
    """
    must_be_served(
        http_probe,
        "the server refuses a request without MCP-Protocol-Version, which clients of 2025-03-26 do not send",
    )


@rule(
    "mcp.http.own-origin",
    level=Level.MUST,
    source=mcp("basic/transports", "security-warning"),
    probes=[HttpProbe.ORIGIN_OWN],
)
def the_own_origin_is_served(http_probe: HttpProbed) -> None:
    """Requests with the server's own origin as Origin are served.

    List the origin under which the server is reached among those that are allowed, with its port
    (http://localhost:8000).
    """
    must_be_served(
        http_probe,
        "the server refuses its own origin; inspectors and pages that it serves itself cannot call it",
        lenient="" if is_within_reach(http_probe.reply) else "a server without pages may refuse every Origin",
    )


# -- GET ----------------------------------------------------------------------------------------------------------


@rule(
    "mcp.http.get",
    level=Level.MUST,
    source=mcp("basic/transports", "listening-for-messages-from-the-server"),
    revisions=HANDSHAKE_REVISIONS,
    probes=[HttpProbe.GET_STREAM],
)
def get_is_a_stream_or_not_allowed(http_probe: HttpProbed) -> None:
    """GET with Accept: text/event-stream gets an event stream, or HTTP 405.

    Answer 405 where the server has nothing to say on its own (Allow: POST). No page, no health check and no 404 at this
    path: clients open the stream right after initialize, and end at anything else.
    """
    plain_answer(http_probe)
    reply = http_probe.reply
    response = reply.exchange.response
    streams = reply.status == 200 and response is not None and response.media_type == "text/event-stream"
    if not streams and reply.status != 405:
        named = (response.header("content-type") if response is not None else None) or "no Content-Type"
        raise Broken(
            "text/event-stream with HTTP 200, or HTTP 405",
            f"HTTP {reply.status}, {quote(named, 80)}",
            because="GET at the endpoint gives neither an event stream nor 405, the two answers that clients know",
        )


@rule(
    "mcp.http.get-refused",
    level=Level.SHOULD,
    source=mcp("basic/transports/streamable-http", revision=STATELESS_REVISION),
    revisions=[STATELESS_REVISION],
    probes=[HttpProbe.GET_STREAM, HttpProbe.DELETE],
)
def get_is_not_allowed_without_sessions(http_probe: HttpProbed) -> None:
    """Servers that speak 2026-07-28 only refuse GET and DELETE with HTTP 405.

    Answer 405 with Allow: POST; neither the stream that earlier revisions open with GET exists any more, nor the sessions
    that they end with DELETE.
    """
    if http_probe.versions.intersection(HANDSHAKE_REVISIONS):
        raise NotApplicable("the server speaks earlier revisions too, in which GET has a meaning")
    if http_probe.reply.status != 405:
        raise Broken(
            "HTTP 405",
            f"HTTP {http_probe.reply.status}",
            because=f"{http_probe.exchange.request.method} is not refused with 405; a client of an earlier revision takes "
            "the server for one of its own",
        )
