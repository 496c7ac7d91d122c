"""A failed task has to say so where a client looks: isError, and an AdCP error object that it can read."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.classify import Class, is_unflagged_failure
from pytest_adcp.harness.extraction import Reason
from pytest_adcp.harness.jsontext import equal, truthy
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import ERROR_HANDLING, EXTRACTION, TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.subjects import Answer, Expectation
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import data_members, has_root, hidden_error, owns_error, squeezed

from .failures import (
    RESERVED,
    application_error,
    code_of,
    codes_of,
    flag_of,
    flagged_data,
    stray_error,
    unread_error,
    why_a_failure,
    why_unreadable,
)

_TERSE = 200  # characters of the human sentence beside structuredContent
_TOOL_LEVEL = adcp(TRANSPORT_ERRORS, "tool-level-errors")
_DETECTION = adcp(TRANSPORT_ERRORS, "client-detection-order")
_LAYERS = adcp(ERROR_HANDLING, "two-layer-model")


@rule("adcp.errors.flagged", level=Level.MUST, source=_TOOL_LEVEL)
def failure_is_flagged(answer: Answer) -> None:
    """A failed task sets isError: true on the tool result, or answers with a payload whose only key is adcp_error.

    Return isError: true beside the error. In FastMCP return CallToolResult(isError=True, ...): ToolError sets the flag
    too, and keeps nothing of the error but a text; in the TypeScript SDK return { isError: true, ... }.
    """
    if answer.result is None or answer.is_flagged:
        return
    for name, value in answer.result.items():
        if squeezed(name) == "iserror" and value is True:
            raise Broken(
                "isError: true",
                f"{quote(name, 40)}: true",
                at=answer.at(name),
                because=f"the flag is spelt {quote(name, 40)}; on the wire its name is isError, so a client reads this error as a success",
                fix="serialise the result by its wire names (Pydantic: model_dump(by_alias=True))",
            )
    if answer.extraction.reason is Reason.ADCP_ERROR_ONLY:
        if not truthy(answer.payload.get("adcp_error")):
            raise Broken(
                "data, or an error object under adcp_error",
                quote(answer.payload),
                at=answer.in_payload("adcp_error"),
                because="the only member is an empty adcp_error: a client finds neither data nor an error",
                fix="leave adcp_error out of a success, and fill it in a failure",
            )
        return
    payload = answer.payload
    if answer.kind is Class.ERROR and is_unflagged_failure(answer.task, payload):
        raise Broken(
            "isError: true",
            f"isError {flag_of(answer)}, members {quote(list(payload)[:8])}",
            at=answer.at("isError"),
            because=why_a_failure(payload),
        )
    if not has_root(answer.task, payload) and (stray := stray_error(answer)):
        raise Broken(
            "isError: true and an adcp_error",
            f"`{stray.name}`: {quote(stray.value)}",
            at=stray.at,
            because=stray.because,
        )
    hidden = hidden_error(answer.task, payload)
    if hidden is not None:
        path, value = hidden
        name = ".".join(path)
        because = f"`{name}` ({quote(value, 80)}) says that the task failed, and isError is not set, so a client reads this as a success"
        if squeezed(path[-1]) == "iserror":
            because = f"`{name}` stands in the payload; a client looks for isError in the tool result only, and reads this as a success"
        raise Broken(
            "isError: true and an adcp_error",
            f"`{name}`: {quote(value)}",
            at=answer.in_payload(*path),
            because=because,
        )


@rule("adcp.errors.flag-set", level=Level.SHOULD, source=_DETECTION)
def failure_sets_the_flag_too(error: Answer) -> None:
    """A payload that is adcp_error alone sets isError: true as well.

    Add isError: true: without it a client sees that there is no data, but may not read code and message.
    """
    if error.result is None or error.is_flagged:
        return
    if error.extraction.reason is Reason.ADCP_ERROR_ONLY and truthy(error.adcp_error):
        raise Broken(
            "isError: true",
            f"isError {flag_of(error)}",
            at=error.at("isError"),
            because="the payload is adcp_error alone, which counts as a failure, but clients read the error only when isError is set",
        )


@rule("adcp.errors.success-not-flagged", level=Level.MUST, source=adcp(EXTRACTION, "layer-separation"))
def success_is_not_flagged(error: Answer) -> None:
    """A success is not sent with isError: true: clients never look at its data.

    Set isError only when the task failed; report minor problems in errors[] of an unflagged success.
    """
    if found := flagged_data(error):
        raise Broken(
            "isError absent or false",
            f"isError {flag_of(error)} beside `{found}`",
            at=error.at("isError"),
            because=f"the answer carries `{found}` and no error, but isError is set, so every client drops the data",
        )


@rule("adcp.errors.partial-data", level=Level.SHOULD, source=adcp(EXTRACTION, "layer-separation"))
def error_carries_no_data(error: Answer) -> None:
    """An error does not carry the task's data as well.

    Send partial results as a success with errors[], or the error alone.
    """
    found = data_members(error.task, error.payload)
    if error.is_flagged and isinstance(error.adcp_error, Mapping) and found:
        raise Broken(
            "an error without data",
            f"`{found[0]}` beside adcp_error",
            at=error.in_payload(found[0]),
            because=f"`{found[0]}` comes with an error; clients drop it",
        )


@rule("adcp.errors.warning-channel", level=Level.MUST, source=_LAYERS)
def success_carries_no_adcp_error(answer: Answer) -> None:
    """An answer that did not fail reports problems in errors[] only, never in adcp_error.

    Move the warning into errors[]; leave adcp_error out of successes altogether.
    """
    if answer.kind not in (Class.SUCCESS, Class.INTERIM):
        raise NotApplicable("the task failed")
    payload = answer.extraction.data or {}
    if payload.get("adcp_error") is not None:
        raise Broken(
            "no adcp_error beside data",
            quote(payload["adcp_error"]),
            at=answer.in_payload("adcp_error"),
            because="adcp_error stands in an answer that succeeded; some clients report a failure, others the data",
        )
    if "adcp_error" in payload:
        raise Broken(
            "no such member",
            "null",
            at=answer.in_payload("adcp_error"),
            because="adcp_error is null in a success; a client that tests for the key takes it for an error",
            lenient="a null says that there is no error",
        )
    for text in answer.texts:
        value = text.parsed.value
        if isinstance(value, Mapping) and list(value) == ["adcp_error"]:
            raise Broken(
                "no error beside data",
                quote(text.text),
                at=answer.at("content", text.index, "text"),
                because="one text item is an adcp_error and another place holds data; clients disagree on which one counts",
                lenient="extraction finds the data",
            )


@rule("adcp.errors.tool-path", level=Level.MUST, source=adcp(TRANSPORT_ERRORS, "reserved-json-rpc-codes"))
def application_error_is_a_tool_result(error: Answer) -> None:
    """An AdCP error is a tool result with isError, not a JSON-RPC error, which is for the infrastructure.

    Return { isError: true, structuredContent: { adcp_error: {...} } } from the tool. JSON-RPC errors keep to -32029, -32028
    and -32027 (with data.adcp_error) and to protocol faults.
    """
    if what := application_error(error):
        rpc = error.message.get("error")
        raise Broken(
            "a tool result with isError: true",
            f"JSON-RPC error {quote(rpc, 160)}",
            at="/error",
            because=f"{what} comes as a JSON-RPC error (code {quote(code_of(rpc), 40)}); "
            "clients take that for a fault of the connection",
        )


@rule("adcp.errors.readable", level=Level.MUST, source=_DETECTION)
def error_object_can_be_read(error: Answer) -> None:
    """An error object stands under adcp_error (or in errors[]) and has a code: a string of 1 to 64 characters.

    Send {"adcp_error": {"code": "INVALID_REQUEST", "message": "...", "recovery": "correctable"}} as structuredContent.
    """
    found = error.adcp_error
    if error.extraction.reason is Reason.ADCP_ERROR_ONLY and not truthy(found):
        raise NotApplicable("adcp.errors.flagged speaks about it")
    if found is not None:
        if because := why_unreadable(found):
            raise Broken(
                "one object with a code of 1 to 64 characters",
                quote(found),
                at=error.adcp_error_pointer,
                because=f"{because}: clients discard the whole error and look nowhere else for one",
            )
        return
    if error.errors:
        if not isinstance(error.errors[0], Mapping) or not isinstance(error.errors[0].get("code"), str):
            raise Broken(
                "errors[0] with a code",
                quote(error.errors[0]),
                at=error.in_payload("errors", 0),
                because="the first of errors[] has no code, and there is no adcp_error, so a client cannot tell what failed",
            )
        return
    if unread := unread_error(error):
        raise Broken(
            "the error under adcp_error in structuredContent",
            f"`{unread.name}`: {quote(unread.value)}",
            at=unread.at,
            because=unread.because,
        )


@rule("adcp.errors.structured", level=Level.SHOULD, source=adcp(ERROR_HANDLING, "compliance-levels"))
def error_is_structured(error: Answer) -> None:
    """An error carries an AdCP error object with code and message (level 1), not only prose.

    Add structuredContent {"adcp_error": {"code": ..., "message": ..., "recovery": ...}}. Frameworks that check arguments
    before your code runs (FastMCP, zod) need a handler that turns their error into one.
    """
    if error.adcp_error is not None or error.errors or not (error.is_flagged or error.result is None):
        return
    if error.result is None:
        rpc = error.message.get("error")
        if application_error(error) or any(equal(code_of(rpc), code) for code in RESERVED):
            raise NotApplicable("another rule speaks about what came")
        came, at = f"JSON-RPC error {quote(rpc, 160)}", "/error"
    else:
        if flagged_data(error) or unread_error(error):
            raise NotApplicable("another rule speaks about what came")
        if "error" in error.payload and owns_error(error.task):
            raise NotApplicable(f"{error.task.name} has a way of its own to give an error")
        came, at = quote(error.texts[0].text) if error.texts else "no text", error.at("content")
        if error.payload:
            came, at = quote(error.payload), error.in_payload()
    raise Broken(
        "an adcp_error with code and message",
        came,
        at=at,
        because="the failure comes without an AdCP error object, so a client cannot tell what to do about it (level 1 not reached)",
    )


@rule("adcp.errors.transport-layer", level=Level.SHOULD, source=_LAYERS)
def failure_fills_adcp_error(error: Answer) -> None:
    """A failed task fills adcp_error, not only errors[].

    Put the most important of errors[] into adcp_error as well, beside errors[].
    """
    if error.is_flagged and error.adcp_error is None and error.errors:
        raise Broken(
            "adcp_error beside errors[]",
            f"only errors[], with code {quote(code_of(error.errors[0]), 70)}",
            at=error.in_payload("errors"),
            because="the failure stands in errors[] only; clients look for adcp_error first, and some look no further",
        )


@rule("adcp.errors.nested-payload", level=Level.SHOULD, source=_LAYERS)
def errors_are_not_nested(error: Answer) -> None:
    """errors[] stands at the root of the payload, not under `payload`.

    Move errors[] up beside adcp_error. The error-handling page's own example nests it; the MCP guide forbids it.
    """
    nested = error.payload.get("payload")
    if isinstance(nested, Mapping) and "errors" in nested:
        raise Broken(
            "errors[] at the root",
            f"payload: {quote(nested)}",
            at=error.in_payload("payload"),
            because="errors[] stands under `payload`, where clients do not look (two pages of the specification disagree here)",
        )


@rule("adcp.errors.text-mirror", level=Level.SHOULD, source=_TOOL_LEVEL)
def error_is_in_the_text_too(error: Answer) -> None:
    """An error in structuredContent is also in a text item, as JSON, for clients that read only text.

    Put json.dumps({"adcp_error": ...}) into the first text item, and a sentence for people into a second one.
    """
    if (
        not error.is_flagged
        or not isinstance(error.structured, Mapping)
        or "adcp_error" not in error.structured
    ):
        return
    mirrored = (
        isinstance(text.parsed.value, Mapping) and "adcp_error" in text.parsed.value for text in error.texts
    )
    if not any(mirrored):
        raise Broken(
            'a text item with {"adcp_error": ...}',
            quote(error.texts[0].text) if error.texts else "no text item",
            at=error.at("content"),
            because="the error stands in structuredContent only; a client that reads text finds no error object in it",
        )


@rule("adcp.errors.text-terse", level=Level.SHOULD, source=_TOOL_LEVEL)
def error_text_is_short(error: Answer) -> None:
    """The human text beside a structured error is one short sentence.

    Say in one sentence what failed; everything else has its member in adcp_error.
    """
    if not isinstance(error.structured, Mapping):
        return
    for text in error.texts:
        if not text.parsed.ok and len(text.text) > _TERSE:
            raise Broken(
                f"at most {_TERSE} characters",
                f"{len(text.text)} characters: {quote(text.text, 80)}",
                at=error.at("content", text.index, "text"),
                because="the text beside the structured error is long; it goes into the context of a model",
            )


@rule(
    "adcp.errors.reserved-code", level=Level.SHOULD, source=adcp(TRANSPORT_ERRORS, "reserved-json-rpc-codes")
)
def reserved_code_carries_the_error(error: Answer) -> None:
    """A JSON-RPC error with one of AdCP's reserved codes carries the AdCP error in data.adcp_error.

    Add data: {"adcp_error": {"code": ..., "message": ..., "recovery": "transient", "retry_after": ...}}.
    """
    rpc = error.message.get("error") if error.result is None else None
    if not isinstance(rpc, Mapping):
        return
    for code, meaning in RESERVED.items():
        if equal(rpc.get("code"), code) and error.adcp_error is None:
            raise Broken(
                "data.adcp_error",
                f"JSON-RPC error {quote(rpc, 160)}",
                at="/error/data",
                because=f"code {code} stands for {meaning}, but without data.adcp_error a client cannot tell how long to wait or why",
            )


@rule("adcp.errors.expected-error", level=Level.MUST, source=_DETECTION)
def configured_call_fails(expectation: Expectation) -> None:
    """A configured call that says `expect: error` is refused.

    Refuse the request, or mend the call in adcp.yaml.
    """
    if expectation.call.expect is not Expect.ERROR:
        raise NotApplicable("the call does not expect an error")
    if expectation.answer.kind is not Class.ERROR:
        raise Broken(
            "an error",
            quote(expectation.answer.payload),
            at=expectation.answer.in_payload(),
            because="the configuration expects this call to be refused, and it was accepted",
        )


@rule("adcp.errors.expected-code", level=Level.MUST, source=_DETECTION)
def configured_call_fails_with_the_code(expectation: Expectation) -> None:
    """A configured call with `error_codes` fails with one of them.

    Answer with one of the codes, or mend the list in adcp.yaml.
    """
    wanted = expectation.call.error_codes
    if not wanted or expectation.answer.kind is not Class.ERROR:
        raise NotApplicable("no error code is expected, or no error came")
    codes = dict(codes_of(expectation.answer))
    if not set(codes.values()) & set(wanted):
        known = ", ".join(quote(code, 70) for code in dict.fromkeys(codes.values())) or "no code"
        raise Broken(
            f"one of {', '.join(wanted)}",
            known,
            at=expectation.answer.adcp_error_pointer
            if expectation.answer.adcp_error is not None
            else expectation.answer.at(),
            because="the call failed with another code than the configuration expects",
        )
