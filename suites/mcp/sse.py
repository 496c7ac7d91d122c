"""Answers as event streams: what a client can read of them, and what may stand on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.probes.streams import CLOSING_LINGER
from pytest_adcp.harness.reading import Hidden
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import json_rpc, mcp
from pytest_adcp.harness.streams import EventStream
from pytest_adcp.harness.text import quote

from .replies import hidden_in

_WHATWG = "https://html.spec.whatwg.org/multipage/server-sent-events.html"
_SENDING = mcp("basic/transports", "sending-messages-to-the-server")
_TYPES = ("", "message")
# What a server may ask of a client that declared the capability for it; ours declares none.
_ASKING = (
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
)
_OLD = "2025-03-26"  # the last revision that only recommends to keep to what was negotiated


@rule("mcp.sse.event-ended", level=Level.MUST, source=f"{_WHATWG}#event-stream-interpretation")
def the_last_event_is_ended(stream: EventStream) -> None:
    """Each event of a stream is ended by a blank line, the last one too.

    Write two line ends behind every event: `data: ...`, LF, LF. Check it where the stream is closed: an event that was
    begun and not ended is thrown away by every client.
    """
    unfinished = stream.stream.unfinished
    if not stream.ended:
        raise NotApplicable("the stream was not read to its end")
    if not stream.stream.events and not unfinished:
        raise NotApplicable("there is no event on the stream")
    if not unfinished:
        return
    lost = not (stream.is_listening or stream.responses)
    if lost and hidden_in(stream.reply) is not Hidden.UNENDED:
        raise NotApplicable("the response is not on the stream; mcp.jsonrpc.answered looks at it")
    raise Broken(
        "a blank line behind the last event",
        quote(unfinished[:400].decode(errors="replace")),
        because="no blank line ends the event with the response, and clients throw it away: they wait until their time is up"
        if lost
        else "the stream ends in the middle of an event, and clients throw away what no blank line ends",
    )


@rule("mcp.sse.bom", level=Level.SHOULD, source=f"{_WHATWG}#parsing-an-event-stream")
def streams_begin_without_bom(stream: EventStream) -> None:
    """Event streams begin with the first event, not with a byte order mark.

    Encode with plain UTF-8: in Python "utf-8" and not "utf-8-sig", in C# new UTF8Encoding(false), in Java without a
    writer that adds the mark.
    """
    if not stream.exchange.response or not stream.exchange.response.body:
        raise NotApplicable("nothing came on the stream")
    if stream.stream.bom:
        raise Broken(
            "the first event at the first byte",
            "bytes EF BB BF at the start of the stream",
            because="the stream begins with a byte order mark; browsers drop it, and the official clients read it "
            "as a part of the first field name and lose the first event",
        )


@rule("mcp.sse.event-type", level=Level.SHOULD, source=f"{_WHATWG}#event-stream-interpretation")
def messages_are_message_events(stream: EventStream) -> None:
    """Events that carry JSON-RPC messages have the type "message", or no type.

    Leave the `event:` line out, or write `event: message`; which JSON-RPC method it is stands in the data.
    """
    _need_messages(stream)
    for said in stream.messages:
        if said.event.event in _TYPES:
            continue
        if said.is_response and stream.reply.response is None:
            raise NotApplicable("no client reads the response; mcp.jsonrpc.answered looks at it")
        raise Broken(
            '"event: message", or no such line',
            f"event {said.number} of type {quote(said.event.event, 60)}: {quote(said.value, 200)}",
            because=f"event {said.number} carries a JSON-RPC message and has the type {quote(said.event.event, 60)}; "
            'the official clients read events of type "message" only',
        )


@rule("mcp.sse.one-response", level=Level.MUST, source=json_rpc("response_object"))
def one_response_a_stream(stream: EventStream) -> None:
    """The stream of a request carries one response, the one to that request.

    End the stream when the response is written. Answers to other requests belong on the streams of those: keep what is
    to be written apart by request, not in one queue for the session.
    """
    responses = stream.responses
    if stream.is_listening:
        raise NotApplicable("it is the GET stream; mcp.sse.get-stream looks at it")
    if "method" not in stream.reply.sent:
        raise NotApplicable("a batch was sent, which has as many responses as requests")
    if not responses:
        raise NotApplicable("there is no response on the stream")
    if len(responses) == 1:
        return
    ours = [said for said in responses if stream.is_ours(said)]
    other = next((said for said in responses if not stream.is_ours(said)), None)
    second = other if other is not None and ours else responses[1]
    meaning = (
        f"a response with the id {quote(second.value.get('id'), 60)} came too, which was not the request's"
        if second is other
        else f"the response came {len(responses)} times"
    )
    raise Broken(
        f"one response, with the id {quote(stream.reply.sent.get('id'), 60)}",
        f"event {second.number}: {quote(second.value, 300)}",
        because=f"{meaning}; clients stop reading at the first, so what the others say never arrives",
    )


@rule("mcp.sse.server-requests", level=Level.MUST, source=mcp("basic/lifecycle", "operation"))
def servers_ask_only_what_was_declared(stream: EventStream) -> None:
    """Servers send no request for which the client declared no capability, and none at all in 2026-07-28.

    Look at the capabilities that the client sent with initialize before asking for sampling, elicitation or roots, and do
    without where they are missing. In 2026-07-28 return a result with "resultType": "input_required" instead.
    """
    _need_messages(stream)
    for said in stream.messages:
        method = said.value.get("method")
        if not said.is_request or (method == "ping" and stream.revision != STATELESS_REVISION):
            continue
        if stream.revision == STATELESS_REVISION:
            why, lenient = "MCP 2026-07-28 has no requests of the server's", ""
        else:
            why = "this client declared no capability for that"
            lenient = "" if method in _ASKING else "it is no request that MCP knows"
            lenient = lenient or ("2025-03-26 only recommends it" if stream.revision == _OLD else "")
        raise Broken(
            "no request of the server's" if not lenient else "no request that was not negotiated",
            f"event {said.number}: {quote(said.value, 300)}",
            because=f"the server sent {quote(method, 60)} and waits for the answer, but {why}; the call hangs or fails "
            "with clients that are like it",
            lenient=lenient,
        )


@rule("mcp.sse.progress", level=Level.MUST, source=mcp("basic/utilities/progress", "behavior-requirements"))
def progress_is_for_a_token_that_was_sent(stream: EventStream) -> None:
    """Progress is told under a progressToken of a request, with a number that rises.

    Send notifications/progress only where the request has params._meta.progressToken, with that token, and a greater
    `progress` each time; an SDK's report_progress does both.
    """
    told = [said for said in stream.messages if said.value.get("method") == "notifications/progress"]
    sent = _meta(stream).get("progressToken")
    last: float | None = None
    for said in told:
        params = said.value.get("params")
        params = params if isinstance(params, Mapping) else {}
        token, progress = params.get("progressToken"), params.get("progress")
        shown = f"event {said.number}: {quote(said.value, 300)}"
        if sent is None or not equal(token, sent):
            raise Broken(
                "no progress: no token was sent" if sent is None else f"progress for {quote(sent, 60)} only",
                shown,
                because=f"the server tells the progress of {quote(token, 60)}, which no request on this stream has as "
                "its progressToken; nobody sees it",
                lenient="clients drop what they cannot place",
            )
        if not isinstance(progress, int | float) or isinstance(progress, bool):
            raise Broken(
                "a number as params.progress",
                shown,
                because="a progress notification has no number in params.progress, and typed clients refuse it",
            )
        if last is not None and progress <= last:
            raise Broken(
                f"a progress over {last:g}",
                shown,
                because="the progress does not rise from one notification to the next; a client that shows it goes back",
            )
        last = progress
    if not told:
        raise NotApplicable("no progress was told")


@rule(
    "mcp.sse.log-level",
    level=Level.MUST,
    source=mcp("server/utilities/logging", revision=STATELESS_REVISION),
    revisions=[STATELESS_REVISION],
)
def log_messages_are_asked_for(stream: EventStream) -> None:
    """Servers send notifications/message only where the request names a log level.

    Send log messages only for requests whose params._meta has io.modelcontextprotocol/logLevel; write all else to a log of
    your own.
    """
    said = next(
        (item for item in stream.messages if item.value.get("method") == "notifications/message"), None
    )
    if "io.modelcontextprotocol/logLevel" in _meta(stream):
        raise NotApplicable("the request asks for log messages")
    if said is not None:
        raise Broken(
            "no notifications/message: the request names no log level",
            f"event {said.number}: {quote(said.value, 300)}",
            because="the server sent a log message for a request that asked for none",
        )


@rule(
    "mcp.sse.event-ids",
    level=Level.MUST,
    source=mcp("basic/transports", "resumability-and-redelivery"),
    revisions=["2025-11-25", STATELESS_REVISION],
)
def event_ids_are_unique(stream: EventStream) -> None:
    """Event ids, where there are some, are unique in their session; 2026-07-28 has none.

    Take ids out of a counter of the session, not of the stream, or put the stream's name before them. Leave the `id:` lines
    out where streams cannot be resumed, and in 2026-07-28.
    """
    ids = [event.id for event in stream.stream.events if event.id]
    if not ids:
        raise NotApplicable("no event has an id")
    if stream.revision == STATELESS_REVISION:
        raise Broken(
            "events without ids",
            f"id {quote(ids[0], 80)}",
            because="the events have ids, as if the stream could be resumed by them; MCP 2026-07-28 knows no such thing",
            lenient="clients read over them",
        )
    twice = next((name for index, name in enumerate(ids) if name in ids[:index]), None)
    again = next((name for name in ids if name in stream.used_ids), None)
    if twice is None and again is None:
        return
    where = "twice on this stream" if twice is not None else "on another stream of the session too"
    raise Broken(
        "ids that are unique in the session",
        f"id {quote(twice or again, 80)} {where}",
        because=f"an event id stands {where}; a client that resumes after it gets the wrong events",
        lenient=_why_ids_matter_little(stream),
    )


def _why_ids_matter_little(stream: EventStream) -> str:
    if stream.session is None:
        return "the server has no sessions, and cannot tell its clients apart"
    return "" if stream.resumable else "the server refuses GET, with which a client would resume"


@rule("mcp.sse.after-response", level=Level.SHOULD, source=_SENDING)
def nothing_follows_the_response(stream: EventStream) -> None:
    """No message follows the response on its stream.

    Send notifications about a request before its response, and end the stream with that.
    """
    ours = next((said for said in stream.responses if stream.is_ours(said)), None)
    if stream.is_listening or ours is None:
        raise NotApplicable("there is no response on the stream")
    later = [said for said in stream.messages if said.number > ours.number and not said.is_response]
    if later:
        raise Broken(
            "the response as the last message",
            f"event {later[0].number}: {quote(later[0].value, 300)}",
            because=f"{quote(later[0].value.get('method'), 60)} came after the response; clients stop reading there, and "
            "never see it",
        )


@rule("mcp.sse.closed", level=Level.SHOULD, source=_SENDING)
def streams_end_with_the_response(closing: EventStream) -> None:
    """Servers end the stream of a request when the response is written.

    Return from the function that writes the stream after the response, and stop the task that sends keep-alive comments.
    """
    if closing.ended:
        return
    raise Broken(
        "the end of the stream",
        f"a stream that was open {CLOSING_LINGER:g} s after the response",
        because=f"the stream stays open after the response, {CLOSING_LINGER:g} s at least; clients that read to its end "
        "wait for ever, and each call keeps a connection",
    )


@rule(
    "mcp.sse.get-stream",
    level=Level.MUST,
    source=mcp("basic/transports", "listening-for-messages-from-the-server"),
)
def no_response_on_the_get_stream(listening: EventStream) -> None:
    """The GET stream carries no response: those belong on the streams of their own requests.

    Write each response to the answer of the POST that brought the request, also while the client holds a GET stream open;
    do not send everything of a session to all of its streams.
    """
    if not listening.responses:
        return
    said = listening.responses[0]
    call = listening.call
    ours = call is not None and said.value.get("id") == call.sent.get("id")
    twice = call is not None and call.response is not None
    where = "and on the stream of its request too" if twice else "and nowhere else"
    raise Broken(
        "no response on the GET stream",
        f"event {said.number}: {quote(said.value, 300)}",
        because=f"the response to a call came on the GET stream {where}; a client looks for it in the answer to its POST"
        if ours
        else "a response came on the GET stream; a client looks for it in the answer to its POST",
    )


@rule(
    "mcp.sse.buffering",
    level=Level.SHOULD,
    source=mcp("basic/transports/streamable-http", "receiving-messages", revision=STATELESS_REVISION),
    revisions=[STATELESS_REVISION],
)
def proxies_are_told_not_to_buffer(stream: EventStream) -> None:
    """Event streams carry the header X-Accel-Buffering: no.

    Add the header X-Accel-Buffering: no to every response of type text/event-stream; nginx and others then pass events on
    as they come.
    """
    response = stream.exchange.response
    value = response.header("x-accel-buffering") if response is not None else None
    if value is None or value.strip().lower() != "no":
        raise Broken(
            "X-Accel-Buffering: no",
            "no such header" if value is None else quote(value, 60),
            because="the stream does not ask proxies to pass events on at once; behind nginx a client sees nothing before "
            "the end",
        )


def _need_messages(stream: EventStream) -> None:
    if not stream.messages:
        raise NotApplicable("there is no JSON-RPC message on the stream")


def _meta(stream: EventStream) -> Mapping[str, Any]:
    # What is told of a call may come on the GET stream as well.
    reply = stream.reply if stream.call is None else stream.call
    params = reply.sent.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}
