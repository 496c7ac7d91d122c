"""Errors: whether a model can tell from one what was wrong, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.app_wire import Called
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import Message
from pytest_adcp.harness.tasks import UNKNOWN_ID
from pytest_adcp.harness.text import quote

from .result_texts import members, texts_of

ERRORS = connected_apps("responses")
LEGIBLE = 10  # characters of a text that says something
# What JSON-RPC, MCP and AdCP have, and the platform's own table.
_RPC = {
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    -32002,
    -32042,
    -32020,
    -32021,
    -32022,
    -32029,
    -32028,
    -32027,
}
TABLE: Mapping[int, str] = {
    -32300: "USER_RATE_LIMITED",
    -32301: "MISSING_REQUIRED_INFORMATION",
    -32302: "USER_PERMISSION_DENIED",
    -32400: "RUNTIME_ERROR",
    -32401: "NULL_POINTER_EXCEPTION",
    -32402: "OUT_OF_MEMORY",
    -32500: "DEADLINE_EXCEEDED",
    -32501: "RESOURCE_EXHAUSTED",
    -32502: "SERVICE_UNAVAILABLE",
}
_CRASHES = (-32603, -32400, -32401, -32402)
_TERMINAL_CODES = (-32300, -32302, -32500, -32501, -32502)
_CODE_NAMES = {
    "parse error",
    "invalid request",
    "method not found",
    "invalid params",
    "internal error",
    "server error",
    *(name.replace("_", " ").lower() for name in TABLE.values()),
}
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|\n\s{1,20}at [^\n]{1,300}:\d{1,7}(?::\d{1,7})?\)?|File \"[^\"\n]{1,300}\", line \d"
)
_SCANNED = 20_000  # characters of a text
_TERMINAL = 300  # characters of a text that is about nothing else
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")


def _failure(called: Called) -> str:
    """Return the texts of a failed call in one.

    Raises:
        NotApplicable: it did not fail, or not with a tool result.
    """
    if called.result is None:
        raise NotApplicable("no tool result came")
    if not called.is_flagged:
        raise NotApplicable("the result says that the call went well")
    return "\n".join(text.text[:_SCANNED] for text in texts_of(called.result))


def _rpc_error(called: Called) -> Mapping[str, Any]:
    if called.error is None:
        raise NotApplicable("no JSON-RPC error came")
    return called.error


@rule("connected-apps.error-readable", level=Level.MUST, strength=Strength.REQUIRED, source=ERRORS)
def errors_are_readable(called: Called) -> None:
    """A failure that another request can cure comes as a result with a text that says what was wrong.

    Put the sentence into a text block: {"content": [{"type": "text", "text": "No media buy has the id mb_9."}],
    "isError": true}. isError and adcp_error in structuredContent may stand beside it: AdCP wants them, and the
    platform does not mind.
    """
    unknown = called.call is not None and called.call.name == UNKNOWN_ID
    if called.error is not None and unknown:
        message = called.error.get("message")
        if isinstance(message, str) and len(message.strip()) >= LEGIBLE:
            raise Broken(
                "a result with a text",
                f"a JSON-RPC error: {quote(message, 120)}",
                at="/error",
                because="an id that nobody has is answered with a JSON-RPC error, which ends a conversation; the model "
                "could have asked for another one",
                lenient="the error is readable",
            )
    if called.result is None:
        raise NotApplicable("no tool result came")
    if not called.is_flagged and not (unknown and not called.result.get("structuredContent")):
        raise NotApplicable("the result says that the call went well")
    texts = texts_of(called.result)
    if sum(len(text.text.strip()) for text in texts) >= LEGIBLE or (texts and not called.is_flagged):
        return
    structured = called.result.get("structuredContent")
    beside = (
        f", and structuredContent {quote(structured, 100)}, which the platform does not read"
        if structured
        else ""
    )
    raise Broken(
        f"a text of at least {LEGIBLE} characters",
        f"{quote([text.text for text in texts], 80) if texts else 'no text'}{beside}",
        at="/result/content" if "content" in called.result else "/result",
        because=(
            "a call failed, and its text is too short to say why"
            if texts
            else "a call failed, and no text says why"
        )
        + ": a model can neither mend its request nor tell the user",
    )


@rule("connected-apps.error-actionable", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ERRORS)
def errors_say_what_to_do(called: Called) -> None:
    """The text of a failure says what to do next.

    Name the parameter and what it may hold, or the tool that gives a good value: "No product has the id p_9. Call
    get_products for the ids."
    """
    if called.call is None:
        raise NotApplicable("no model calls a tool that is not listed")
    text = _failure(called)
    if len(text.strip()) < LEGIBLE:
        raise NotApplicable("the failure has no text (connected-apps.error-readable)")
    if called.server.standards.any_of("next_step_phrases").search(text):
        return
    words = set(_WORD.findall(text))
    if words & {tool.get("name") for tool in called.server.tools} or words & set(_parameters(called)):
        return
    raise Broken(
        "a next step, or the name of a parameter or tool",
        quote(text, 160),
        at="/result/content",
        because="the text of a failure says what went wrong, and not what to do about it",
    )


def _parameters(called: Called) -> Iterator[str]:
    tool = called.server.tool(called.tool) or {}
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    yield from properties if isinstance(properties, Mapping) else ()
    if called.result is not None:  # AdCP names the parameter in `field` of its error
        yield from (
            word
            for member in members(called.result)
            if member.name == "field" and isinstance(member.value, str)
            for word in _WORD.findall(member.value[:200])
        )


@rule("connected-apps.error-no-crash", level=Level.MUST, strength=Strength.REQUIRED, source=ERRORS)
def bad_input_is_no_crash(called: Called) -> None:
    """A bad request is never answered with HTTP 5xx.

    Check arguments before you use them, and answer what is wrong as a result with isError and a text, or as
    JSON-RPC -32602. Catch what else a handler raises there too.
    """
    if not called.is_bad:
        raise NotApplicable("the request is a good one")
    if called.status >= 500:
        response = called.exchange.response
        body = response.body[:400].decode(errors="replace") if response is not None else ""
        wrong = called.call.violates if called.call is not None else "the tool does not exist"
        raise Broken(
            "a result with isError, or a JSON-RPC error with HTTP 200 or 4xx",
            f"HTTP {called.status}, {quote(body, 120)}",
            because=f"a bad request ({wrong or 'made to be refused'}) gives HTTP {called.status}, as if the server were broken",
            lenient="a gateway may say so for reasons of its own" if called.status in (502, 503, 504) else "",
        )


@rule("connected-apps.error-code-known", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ERRORS)
def codes_are_known(message: Message) -> None:
    """The code of a JSON-RPC error is one that JSON-RPC, MCP, AdCP or the platform's table has.

    Use -32601 for an unknown tool, -32602 for bad arguments, -32300 (rate limit), -32301 (information is
    missing), -32302 (permission), -32500 (deadline), -32502 (unavailable).
    """
    error = message.value.get("error")
    if not isinstance(error, Mapping):
        raise NotApplicable("no JSON-RPC error")
    if message.reply.method == "server/discover":
        raise NotApplicable("how a server refuses a method that the platform does not call is its own affair")
    code = error.get("code")
    if code not in _RPC and code not in TABLE:
        raise Broken(
            "a code out of JSON-RPC's or the platform's table",
            quote(code, 60) if "code" in error else "no code",
            at="/error/code" if "code" in error else "/error",
            because="a JSON-RPC error has a code that neither JSON-RPC, MCP, AdCP nor the platform knows",
        )


@rule("connected-apps.error-code-fits", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ERRORS)
def codes_fit(called: Called) -> None:
    """The code of a JSON-RPC error fits what happened.

    Answer -32602 or -32601 to an unknown tool, and -32602 or -32301 to bad arguments: -32603 and -32400 to -32402
    say that the server failed.
    """
    error = _rpc_error(called)
    if not called.is_bad:
        raise NotApplicable("the request is a good one")
    code = error.get("code")
    unknown = called.call is None
    if (unknown and code not in (-32601, -32602)) or (not unknown and code in _CRASHES):
        what = "an unknown tool" if unknown else "a bad request"
        raise Broken(
            "-32601 or -32602" if unknown else "-32602 or -32301",
            quote(code, 60) if "code" in error else "no code",
            at="/error/code" if "code" in error else "/error",
            because=f"{what} is answered with {_name(code)}, which says something else",
        )


def _name(code: Any) -> str:
    names = {**TABLE, -32603: "Internal error"}
    name = names.get(code) if isinstance(code, int) else None
    return f"{quote(code, 40)} ({name})" if name else f"the code {quote(code, 40)}"


@rule(
    "connected-apps.error-message-for-people", level=Level.SHOULD, strength=Strength.GUIDANCE, source=ERRORS
)
def messages_are_for_people(called: Called) -> None:
    """The message of a JSON-RPC error is a sentence for people.

    Say what was wrong in one sentence, for the model makes the user's own out of it: "There is no tool find_ads;
    tools/list names the tools." No stack trace, and not the code's name alone.
    """
    error = _rpc_error(called)
    message = error.get("message")
    text = message.strip() if isinstance(message, str) else ""
    bare = re.sub(r"[\W_]+", " ", text[:100]).strip().lower()
    if _TRACE.search(text[:_SCANNED]):
        problem = "holds a stack trace"
    elif bare in _CODE_NAMES:
        problem = "is the name of its code and nothing more"
    elif len(text) < LEGIBLE:
        problem = f"has fewer than {LEGIBLE} characters"
    else:
        return
    raise Broken(
        "a sentence that says what was wrong",
        quote(message, 160) if "message" in error else "no message",
        at="/error/message" if "message" in error else "/error",
        because=f"the message of a JSON-RPC error {problem}",
    )


@rule(
    "connected-apps.terminal-error-as-rpc-error",
    level=Level.SHOULD,
    strength=Strength.GUIDANCE,
    source=ERRORS,
)
def terminal_failures_are_rpc_errors(called: Called) -> None:
    """A failure that no other request cures (rate limit, permission, outage) comes as a JSON-RPC error.

    Answer the request with a JSON-RPC error. Python SDK from 2.3: raise MCPError(-32300, "Too many requests; try again
    in a minute."). FastMCP, the TypeScript SDK and earlier Python SDKs turn what a tool raises into a text with isError:
    there the error has to be made below the tool, or the text stays as it is.
    """
    if called.error is not None and called.error.get("code") in _TERMINAL_CODES:
        return
    text = _failure(called)
    if any(member.name == "adcp_error" for member in _data(called)):
        raise NotApplicable(
            "AdCP has such failures in adcp_error, and with a readable text the platform takes that"
        )
    found = called.server.standards.any_of("terminal_phrases").search(text)
    if found is None or len(text) > _TERMINAL:
        raise NotApplicable("nothing in the text says that another request is in vain")
    raise Broken(
        "a JSON-RPC error, such as -32300 (rate limit), -32302 (permission) or -32502 (unavailable)",
        quote(text, 160),
        at="/result",
        because=f"a failure that no other request cures ({quote(found[0], 40)}) comes as a text, and a model will try "
        "again. Very likely the SDK made it one",
    )


def _data(called: Called) -> Iterator[Any]:
    result = called.result or {}
    yield from members(result)
    # Also where the text says it in other words than structuredContent.
    yield from members({"structuredContent": result.get("structuredContent")})
