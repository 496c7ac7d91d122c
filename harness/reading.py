"""The JSON-RPC messages in an exchange, read from its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from . import jsontext
from .jsontext import Cause, Parsed
from .sse import decode
from .transcript import End, Exchange


@dataclass(frozen=True)
class Document:
    """One JSON text of a reply: the body, or the data of an event."""

    parsed: Parsed
    text: bytes
    place: str  # "the body" or "event 3"


@dataclass(frozen=True)
class Reading:
    """What was sent and what came, parsed."""

    sent: Mapping[str, Any]
    documents: tuple[Document, ...]
    document: Document | None  # the one that holds the response
    response: Mapping[str, Any] | None

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The result, where it is an object."""
        result = self.response.get("result") if self.response else None
        return result if isinstance(result, Mapping) else None


def read(exchange: Exchange) -> Reading:
    """Parse an exchange; where several responses came, the one with our id is the response."""
    sent = jsontext.parse(exchange.request.body).value
    sent = sent if isinstance(sent, Mapping) else {}
    documents = tuple(_documents(exchange))
    found = [d for d in documents if isinstance(d.parsed.value, Mapping) and _is_response(d.parsed.value)]
    same = [d for d in found if jsontext.equal(d.parsed.value.get("id"), sent.get("id"))]
    document = next(iter(same or found), None)
    return Reading(sent, documents, document, document.parsed.value if document else None)


def _documents(exchange: Exchange) -> Iterator[Document]:
    response = exchange.response
    if response is None or not response.body:
        return
    if response.media_type == "text/event-stream":
        room = jsontext.MOST_VALUES
        for number, event in enumerate(decode(response.body).events, start=1):
            # An event without data is a priming event or a keep-alive; other event types are not MCP messages.
            if event.data and event.event in ("", "message"):
                text = event.data.encode("utf-8", "surrogatepass")
                room -= jsontext.count_values(text)
                parsed = jsontext.parse(text) if room >= 0 else jsontext.unread(Cause.TOO_MANY)
                yield Document(parsed, text, f"event {number}")
    else:
        yield Document(jsontext.parse(response.body), response.body, "the body")


def _is_response(message: Mapping[str, Any]) -> bool:
    # AdCP data may have an `error` member too; only an envelope makes it a JSON-RPC response.
    enveloped = "jsonrpc" in message or "id" in message
    return enveloped and ("result" in message or "error" in message) and "method" not in message


class Hidden(Enum):
    """Why no client finds the JSON-RPC response that stands in a body: what it is, and what to do about it."""

    UNENDED = (
        "an event stream whose last event, the response, is ended by no blank line: clients throw it away",
        "write two line ends behind every event, the last one too: `data: ...`, LF, LF",
    )
    EVENTS = (
        "an event stream (`data:` lines) whose Content-Type does not say so: clients read it as something else",
        "send Content-Type: text/event-stream with it, or the bare JSON as application/json",
    )
    JSON = (
        "bare JSON under Content-Type: text/event-stream: clients find no event in it",
        "send Content-Type: application/json with it, or write it as an event: `data: ...`, LF, LF",
    )

    def __init__(self, meaning: str, cure: str) -> None:
        self.meaning = meaning
        self.cure = cure


def hidden_response(exchange: Exchange) -> Hidden | None:
    """Say what hides the response in an exchange of which `read` found none; None where there is none either way."""
    response = exchange.response
    if response is None or not response.body:
        return None
    stream = decode(response.body)
    unended = _holds_response(stream.unfinished or b"")
    if response.media_type != "text/event-stream":
        data = (event.data.encode("utf-8", "surrogatepass") for event in stream.events)
        return Hidden.EVENTS if unended or any(map(_holds_response, data)) else None
    if unended:
        return Hidden.UNENDED
    return Hidden.JSON if _holds_response(response.body) else None


def _holds_response(text: bytes) -> bool:
    # What is no object need not be parsed.
    value = jsontext.parse(text).value if text.lstrip().startswith(b"{") else None
    return isinstance(value, Mapping) and _is_response(value)


END_WORDS = {
    End.DEADLINE: "no answer in time",
    End.DNS: "the host name does not resolve",
    End.REFUSED: "the connection was refused",
    End.TLS: "TLS failed",
    End.PROXY: "the proxy failed",
    End.RESET: "the connection was lost",
    End.PROTOCOL: "what came is not HTTP",
    End.HEADERS: "too many response headers",
    End.TOO_LARGE: "the answer is too large to read",
    End.ENCODING: "the content coding cannot be undone",
    End.EVENTS: "the event stream never came to the response",
    End.INTERRUPTED: "the run was stopped",
}


def no_answer(exchange: Exchange) -> str:
    """Say why an exchange gives no verdict on the server's answer; empty where it gives one."""
    if exchange.end is not End.COMPLETE and exchange.answered is None:
        return END_WORDS[exchange.end] + (f": {exchange.detail}" if exchange.detail else "")
    response = exchange.response
    if response is None:
        return "nothing came back"
    if response.status in (401, 403):
        return f"HTTP {response.status}: the server wants other credentials"
    if response.status == 429:
        return "HTTP 429: the server asked for patience to the end"
    if response.status in (502, 503, 504):
        return f"HTTP {response.status}: the gateway has no answer from the server"
    if 300 <= response.status < 400:
        return f"HTTP {response.status}: redirected to {response.header('location') or 'nowhere'}, which is not followed"
    return ""


def why_no_response(exchange: Exchange) -> str:
    """Say what an exchange gave instead of a JSON-RPC response."""
    status = exchange.response.status if exchange.response else 0
    return f"HTTP {status} without a JSON-RPC response"
