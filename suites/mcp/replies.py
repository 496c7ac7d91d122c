"""What the JSON-RPC rules ask of a reply: which texts are meant as JSON, what came instead of a response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.evidence import UNKNOWN_TOOL_SUBJECT
from pytest_adcp.harness.jsontext import Cause, Objection, ObjectionKind
from pytest_adcp.harness.reading import Document, Hidden, hidden_response, no_answer
from pytest_adcp.harness.rules import Blocked, NotApplicable
from pytest_adcp.harness.sse import decode
from pytest_adcp.harness.subjects import Message, Reply
from pytest_adcp.harness.text import one_line, quote
from pytest_adcp.harness.transcript import End, Era, Kind

# Statuses with which an MCP server itself turns a request down; any other comes from what stands before it.
OWN_REFUSALS = {400, 406, 409, 415, 422, 500}
_BOM = b"\xef\xbb\xbf"


def must_be_json_rpc(message: Message) -> None:
    """Raise NotApplicable where the message is a framework's own error body, or may have any form."""
    must_answer(message.reply)
    if not is_meant_as_response(message.value):
        raise NotApplicable('the body is JSON without "jsonrpc" and "id"; mcp.jsonrpc.answered looks at it')


def must_answer(reply: Reply) -> None:
    """Raise NotApplicable where the request belongs to the other era and may be refused in any form."""
    kind = reply.exchange.kind
    foreign = kind is Kind.DISCOVER or (kind is Kind.INITIALIZE and reply.server.era is Era.STATELESS)
    if foreign and reply.status != 200:
        raise NotApplicable(
            f"a server without {reply.method} may refuse it in any form (HTTP {reply.status})"
        )


def is_meant_as_response(value: object) -> bool:
    """Tell whether a JSON value was meant as a JSON-RPC response, whatever it lacks."""
    if not isinstance(value, Mapping) or "method" in value:
        return False
    return "jsonrpc" in value or ("id" in value and ("result" in value or "error" in value))


def hidden_in(reply: Reply) -> Hidden | None:
    """Say what hides the response in a reply that a client finds none in."""
    return None if reply.response is not None else hidden_response(reply.exchange)


def looks_at_hidden(reply: Reply) -> str:
    """Return the rule that looks at a response that is hidden; "" where none is."""
    hidden = hidden_in(reply)
    if hidden is None:
        return ""
    if hidden is Hidden.UNENDED:
        return "mcp.sse.event-ended" if reply.exchange.end is End.COMPLETE else ""
    return "mcp.http.content-type" if 200 <= reply.status < 300 else ""


def json_texts(reply: Reply) -> list[Document]:
    """Return the texts that are meant as JSON: by their content type, as an event, or by how they begin."""
    if hidden_in(reply) is Hidden.EVENTS:
        return []
    media_type = reply.exchange.response.media_type if reply.exchange.response else ""
    declared = "json" in media_type or _is_stream(reply)
    return [
        document
        for document in reply.documents
        if document.parsed.cause is not Cause.EMPTY
        and (declared or document.parsed.ok or document.text.removeprefix(_BOM).lstrip().startswith(b"{"))
    ]


def texts_to_judge(reply: Reply) -> list[Document]:
    """Return the texts that are meant as JSON.

    Raises:
        NotApplicable: there is none, or the server may refuse the request in any form.
    """
    must_answer(reply)
    texts = json_texts(reply)
    if not texts:
        raise NotApplicable("nothing came that is meant as JSON")
    return texts


def objections(documents: list[Document], *kinds: ObjectionKind) -> Iterator[tuple[Document, Objection]]:
    """Give what a strict reader objects to in some texts, in their order."""
    for document in documents:
        for objection in document.parsed.objections:
            if objection.kind in kinds:
                yield document, objection


def broken_events(reply: Reply) -> list[str]:
    """Return the events whose bytes are not UTF-8 ("event 3"); replacement characters stand in their data."""
    if not _is_stream(reply):
        return []
    events = enumerate(decode(_body(reply)).events, start=1)
    return [f"event {number}" for number, event in events if not event.valid_utf8]


def excuse(reply: Reply) -> None:
    """Raise where a missing response says nothing about how the server answers.

    Raises:
        Blocked: something before the server answered, or the response was to be fetched otherwise.
        NotApplicable: it was a probe, which may be refused.
    """
    if 300 <= reply.status < 400:
        raise Blocked(no_answer(reply.exchange))
    if reply.status >= 400:
        if reply.exchange.kind is Kind.PROBE and reply.label != UNKNOWN_TOOL_SUBJECT:
            raise NotApplicable(f"the probe was refused with HTTP {reply.status}")
        if reply.status not in OWN_REFUSALS:
            shown = one_line(_start(reply), 80) or "no body"
            raise Blocked(
                f"HTTP {reply.status} ({shown}) without a JSON-RPC response: from a proxy, a route or a "
                "limit, or for a session that is gone; it does not show what the server makes of the request"
            )
    elif _is_stream(reply) and any(event.id for event in decode(_body(reply)).events):
        raise Blocked("the event stream ended early for the client to resume it, which this run does not do")


def instead_of_a_response(reply: Reply) -> tuple[str, str]:
    """Return what came, quoted, and what it is, in words."""
    values = [document.parsed.value for document in reply.documents if document.parsed.ok]
    if _is_stream(reply):
        return _instead_on_a_stream(reply, values)
    if not _body(reply).strip():
        return "an empty body", "the body is empty"
    if not values:
        media_type = reply.exchange.response.media_type if reply.exchange.response else ""
        return quote(_start(reply)), f"the body is {one_line(media_type, 60) or 'untyped text'}, not JSON"
    meaning = 'the body is JSON without "jsonrpc" and "id"'
    if isinstance(values[0], list):
        meaning = "the body is an array, and a request that came alone is answered by one object"
    elif isinstance(values[0], Mapping) and "method" in values[0]:
        meaning = "the body is a request or a notification, not a response"
    return quote(values[0]), meaning


def _instead_on_a_stream(reply: Reply, values: list[Any]) -> tuple[str, str]:
    stream = decode(_body(reply))
    if stream.unfinished:
        meaning = "no blank line ends the last event, and clients drop an event that is not ended"
        return quote(stream.unfinished[:400].decode(errors="replace")), meaning
    unread = [event.event for event in stream.events if event.event != "message"]
    if unread:
        return f"an event of type {quote(unread[0], 60)}", 'clients read events of type "message" only'
    methods = [quote(item["method"], 60) for item in values if isinstance(item, Mapping) and "method" in item]
    came = (
        f"an event stream with nothing but {', '.join(methods[:3])}"
        if methods
        else "an event stream without it"
    )
    return came, "the event stream ended before the response"


def _is_stream(reply: Reply) -> bool:
    return reply.exchange.response is not None and reply.exchange.response.media_type == "text/event-stream"


def _body(reply: Reply) -> bytes:
    return reply.exchange.response.body if reply.exchange.response else b""


def _start(reply: Reply) -> str:
    return _body(reply)[:400].decode(errors="replace")
