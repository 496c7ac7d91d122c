"""JSON-RPC 2.0 as MCP speaks it: one well-formed response to each request, none to a notification."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.jsontext import UNREAD, Cause, ObjectionKind, equal
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import json_rpc, mcp, rfc
from pytest_adcp.harness.subjects import Message, Reply
from pytest_adcp.harness.text import quote

from .replies import (
    broken_events,
    excuse,
    instead_of_a_response,
    is_meant_as_response,
    json_texts,
    looks_at_hidden,
    must_answer,
    must_be_json_rpc,
    objections,
    texts_to_judge,
)

_NOT_STR = "Serialise with json.dumps(value); str(value) writes None, True and single quotes."
_JSON_FIXES = {
    Cause.NON_FINITE: "Send null where there is no number; json.dumps(..., allow_nan=False) finds the place.",
    Cause.FOREIGN_LITERAL: _NOT_STR,
    Cause.SINGLE_QUOTES: _NOT_STR,
    Cause.CONTROL_CHARACTER: "Let a JSON library write the strings; it escapes line breaks and tabs in them.",
    Cause.TRAILING_DATA: "Write one JSON value and nothing after it: no second message, no log line.",
    Cause.TRUNCATED: "Count Content-Length in bytes of the encoded body, not in characters, and send it all.",
}
_PORTABILITY = {
    ObjectionKind.LONE_SURROGATE: "half of a surrogate pair stands alone in a string; JavaScript takes it, "
    "but Python clients (Pydantic, orjson) refuse the whole message",
    ObjectionKind.LARGE_NUMBER: "a number is beyond what a double holds; JavaScript clients see another one",
    ObjectionKind.DEEP: "the message is nested so deeply that the official Python client refuses it",
}


@rule(
    "mcp.jsonrpc.answered",
    level=Level.MUST,
    source=mcp("basic/transports", "sending-messages-to-the-server"),
)
def requests_are_answered(reply: Reply) -> None:
    """Each request gets one JSON-RPC response, in the body or on the event stream of its own POST.

    Answer every message that has an id with {"jsonrpc": "2.0", "id": <the same>} and a "result" or an
    "error"; 202 and empty bodies are for notifications. Mount the SDK's own handler (FastMCP's http_app(),
    the TypeScript SDK's transport.handleRequest) and let no framework's error page or response wrapper stand
    in its way.
    """
    if "id" not in reply.sent or "method" not in reply.sent:
        raise NotApplicable("what was sent is no request")
    if reply.status == 202:
        raise NotApplicable("HTTP 202 came; mcp.http.request-not-accepted looks at that")
    if reply.exchange.retried:
        raise NotApplicable("the request was sent again; the last answer counts")
    must_answer(reply)
    if any(is_meant_as_response(document.parsed.value) for document in reply.documents):
        return
    if rule_id := looks_at_hidden(reply):
        raise NotApplicable(f"the response is there and cannot be read; {rule_id} looks at it")
    broken = next((text for text in json_texts(reply) if not text.parsed.ok), None)
    if broken is not None:
        raise NotApplicable(
            f"{broken.place} is meant as JSON and cannot be read; mcp.jsonrpc.json looks at it"
        )
    excuse(reply)
    came, meaning = instead_of_a_response(reply)
    raise Broken(
        f"one JSON-RPC response to {reply.method}, with the id of the request",
        came,
        because=f"{reply.method} got HTTP {reply.status} and no JSON-RPC response: {meaning}. "
        "A client waits for one until its time is up, or reports a transport error without a reason",
    )


@rule("mcp.jsonrpc.json", level=Level.MUST, source=rfc(8259, "2"))
def messages_are_json(reply: Reply) -> None:
    """Whatever is sent as JSON, in the body or in an event, is JSON as JSON.parse reads it.

    Serialise each message once with a JSON library (json.dumps(value, allow_nan=False),
    JSON.stringify(value)) and send exactly that: no string templates, nothing before it and nothing after it.
    """
    texts = texts_to_judge(reply)
    for text in texts:
        parsed = text.parsed
        if parsed.ok or parsed.cause in UNREAD or any(objections([text], ObjectionKind.INVALID_UTF8)):
            continue
        raise Broken(
            "a JSON text that JSON.parse accepts",
            quote(text.text[:400].decode(errors="replace")),
            because=f"{text.place} is not JSON ({parsed.error}), so a client can read none of it",
            fix=_JSON_FIXES.get(parsed.cause, "") if parsed.cause else "",
            lenient="an HTTP error came with it, and clients go by that" if reply.status >= 400 else "",
        )
    for text in texts:
        if text.parsed.cause in UNREAD:
            raise Blocked(f"{text.place} has {text.parsed.error}")


@rule("mcp.jsonrpc.utf8", level=Level.MUST, source=rfc(8259, "8.1"))
def messages_are_utf8(reply: Reply) -> None:
    """JSON text is UTF-8 and does not begin with a byte order mark.

    Encode with plain UTF-8: in Python "utf-8" and not "utf-8-sig", in C# new UTF8Encoding(false); read
    templates and data files with the encoding they are stored in. A charset parameter makes no other encoding
    legal.
    """
    texts = texts_to_judge(reply)
    for text, objection in objections(texts, ObjectionKind.BOM, ObjectionKind.INVALID_UTF8):
        if objection.kind is ObjectionKind.BOM:
            raise Broken(
                "JSON from the first byte on",
                f"bytes EF BB BF before {quote(text.text[3:100].decode(errors='replace'), 60)}",
                because=f"{text.place} begins with a byte order mark; the official Python client refuses it",
            )
        raise Broken(
            "UTF-8",
            objection.detail,
            because=f"{text.place} is not UTF-8; strict clients refuse it, the others show a replacement "
            "character where a letter was",
        )
    for place in broken_events(reply):
        raise Broken(
            "UTF-8",
            f"bytes in {place} that are not UTF-8",
            because=f"{place} is not UTF-8; clients show a replacement character where a letter was",
        )


@rule("mcp.jsonrpc.unique-names", level=Level.MUST, source=rfc(8259, "4"))
def member_names_are_unique(reply: Reply) -> None:
    """No object of a message has the same member name twice with different values.

    Build each object as one map and serialise that. A name stands twice where pieces of JSON are glued
    together, or where a serialiser writes a field and then a map of extra fields that holds the same name.
    """
    found = [found for _, found in objections(texts_to_judge(reply), ObjectionKind.DUPLICATE_NAME)]
    worst = next((objection for objection in found if objection.differs), found[0] if found else None)
    if worst is not None:
        raise Broken(
            "each name once in its object",
            f"{worst.pointer}: {worst.detail}",
            at=worst.pointer,
            because="a member name stands twice in one object; some readers take the first value, some the "
            "last, and some refuse the message",
            lenient="" if worst.differs else "the values are equal here, so no reader is misled",
        )


@rule("mcp.jsonrpc.version", level=Level.MUST, source=json_rpc("response_object"))
def responses_name_the_version(message: Message) -> None:
    """Each response says "jsonrpc": "2.0", as a string.

    Put "jsonrpc": "2.0" into every message, with quotation marks round 2.0; an SDK does it for you.
    """
    must_be_json_rpc(message)
    if message.value.get("jsonrpc") != "2.0":
        raise Broken(
            '"jsonrpc": "2.0"',
            message.show("jsonrpc"),
            at="/jsonrpc",
            because='the response does not say "jsonrpc": "2.0", and the official clients drop it',
        )


@rule("mcp.jsonrpc.id", level=Level.MUST, source=mcp("basic", "responses"))
def responses_echo_the_id(message: Message) -> None:
    """Each response carries the id of its request: the same value in the same JSON type.

    Copy the request's id into the response as it came: no int(id), no str(id), no constant, and not null
    where a tool raised an exception after the request had been read.
    """
    must_be_json_rpc(message)
    sent, came = message.reply.sent.get("id"), message.value.get("id")
    if not isinstance(sent, str | int) or isinstance(sent, bool):
        raise NotApplicable("the request had no id to be echoed")
    if message.reply.status >= 400 and "error" in message.value:
        raise NotApplicable(
            "an HTTP error may come before the id is read; mcp.jsonrpc.refusal-id looks at it"
        )
    if not equal(sent, came):
        raise Broken(
            f'"id": {quote(sent)}',
            message.show("id"),
            at="/id",
            because="the response does not carry the id of its request; a client cannot tell which call it "
            "answers and waits until its time is up",
        )
    if isinstance(came, float):
        raise Broken(
            f'"id": {quote(sent)}',
            message.show("id"),
            at="/id",
            because="the id came back with a decimal point; the official Python client refuses it",
            lenient="it is the same number to JSON",
        )


@rule("mcp.jsonrpc.refusal-id", level=Level.SHOULD, source=json_rpc("response_object"))
def refusals_carry_no_foreign_id(message: Message) -> None:
    """JSON-RPC errors that come with an HTTP error status carry the request's id, or null, or none.

    Echo the id, or send null where the request was turned down unread. The constant "server-error" comes from the
    Python SDK's transport, which newer releases of it send in fewer places.
    """
    if not is_meant_as_response(message.value) or message.reply.status < 400 or "error" not in message.value:
        raise NotApplicable("it is no JSON-RPC error with an HTTP error status")
    came = message.value.get("id")
    if came is not None and not equal(came, message.reply.sent.get("id")):
        raise Broken(
            "the id of the request, null, or no id",
            message.show("id"),
            at="/id",
            because=f"HTTP {message.reply.status} came with an id that was not sent; a client that finds "
            "requests by id never learns that this one was refused",
        )


@rule("mcp.jsonrpc.result-or-error", level=Level.MUST, source=json_rpc("response_object"))
def responses_are_a_result_or_an_error(response: Reply) -> None:
    """Each response has either "result" or "error", and exactly one of them.

    Leave out the member that does not apply: "error": null beside a result is JSON-RPC 1.0. With Pydantic,
    serialise with model_dump(exclude_none=True).
    """
    must_answer(response)
    values = [
        text.parsed.value for text in ([response.document] if response.document else response.documents)
    ]
    message = next((value for value in values if is_meant_as_response(value)), None)
    if message is None:
        raise NotApplicable("no JSON-RPC response came")
    members = [f'"{name}": {quote(message[name], 80)}' for name in ("result", "error") if name in message]
    if not members:
        raise Broken(
            '"result" or "error"',
            quote(message),
            at="",
            because="the response has neither a result nor an error, so a client does not take it for one",
        )
    if len(members) == 2:
        raise Broken(
            '"result" or "error"',
            ", ".join(members),
            at="",
            because="the response has a result and an error; some clients take the error, strict ones neither",
        )


@rule("mcp.jsonrpc.result-object", level=Level.MUST, source=mcp("basic", "result-responses"))
def results_are_objects(message: Message) -> None:
    """Each result of a response is a JSON object.

    Return an object, {} where there is nothing to say. PHP writes an empty array as []: use new stdClass().
    """
    must_be_json_rpc(message)
    if "result" not in message.value:
        raise NotApplicable("the response is an error")
    if not isinstance(message.value["result"], Mapping):
        raise Broken(
            "an object",
            message.show("result"),
            at="/result",
            because="the result is not an object, as it is in every client's types: reading it fails",
        )


@rule("mcp.jsonrpc.error-object", level=Level.MUST, source=json_rpc("error_object"))
def errors_have_a_code_and_a_message(message: Message) -> None:
    """Each JSON-RPC error is an object with an integer "code" and a string "message".

    Use the numbers of JSON-RPC, such as -32602 for invalid parameters and -32603 for an internal error. An
    AdCP code such as RATE_LIMITED is none: return it in a tool result with isError: true, in adcp_error.code.
    """
    must_be_json_rpc(message)
    error = message.value.get("error")
    if "error" not in message.value or (error is None and "result" in message.value):
        raise NotApplicable("the response is no error")
    if not isinstance(error, Mapping):
        raise Broken(
            'an object with "code" and "message"',
            message.show("error"),
            at="/error",
            because="the error is not an object, so a client finds neither its code nor its message",
        )
    code, text = error.get("code"), error.get("message")
    if not isinstance(code, int | float) or isinstance(code, bool) or code % 1 != 0:
        raise Broken(
            "an integer",
            quote(code) if "code" in error else "no such member",
            at="/error/code" if "code" in error else "/error",
            because="the error's code is not an integer; strict clients drop the response and wait on",
        )
    if not isinstance(text, str):
        raise Broken(
            "a string",
            quote(text) if "message" in error else "no such member",
            at="/error/message" if "message" in error else "/error",
            because="the error's message is not a string; strict clients drop the response and wait on",
        )


@rule("mcp.jsonrpc.notification", level=Level.MUST, source=mcp("basic", "notifications"))
def notifications_are_not_answered(notification: Reply) -> None:
    """No notification gets a JSON-RPC response.

    Answer a message without an id with HTTP 202 and an empty body, before it comes to the code that makes
    responses.
    """
    for document in notification.documents:
        value = document.parsed.value
        for message in value if isinstance(value, list) else [value]:
            # A notification that is not accepted may be refused by an HTTP error with a JSON-RPC error in it.
            refused = notification.status >= 400 and isinstance(message, Mapping) and "error" in message
            if is_meant_as_response(message) and not refused:
                raise Broken(
                    "HTTP 202 without a body",
                    quote(message),
                    because=f"{notification.method} was answered with a JSON-RPC message; no client waits "
                    "for one, and strict ones take it for a fault of the connection",
                )


@rule("mcp.jsonrpc.portable", level=Level.SHOULD, source=rfc(7493, "2"))
def messages_are_portable(reply: Reply) -> None:
    """Messages keep to JSON that every reader takes alike: whole characters, modest numbers and nesting.

    Cut text between characters and not through an emoji (JavaScript's text.slice(0, n) may), send identifiers
    and integers beyond 2^53 as strings, and stay below 200 levels of nesting.
    """
    for text, objection in objections(texts_to_judge(reply), *_PORTABILITY):
        raise Broken(
            "JSON that every reader takes alike",
            f"{text.place}, {objection.pointer or 'the whole text'}: {objection.detail}",
            at=objection.pointer,
            because=_PORTABILITY[objection.kind],
        )
