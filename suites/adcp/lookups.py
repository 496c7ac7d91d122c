"""Who asks for what is not there, or not theirs, learns no more than that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.placeholders import UNKNOWN_VALUE
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import ERROR_HANDLING, adcp
from pytest_adcp.harness.subjects import Answer, Probed
from pytest_adcp.harness.text import quote

from .barred import not_put_off
from .refusals import ARGUMENT_CODES, accepted, code, is_invalid_params, place, words

# What differs from answer to answer whatever is asked: moments, request ids, counters.
_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{12,}\b"
    r"|\b\d{6,}\b"
)
_FORM = re.compile(r"validation error|input_value=|invalid_type|Input validation", re.IGNORECASE)
_ABSENCE = re.compile(r"not found|no such|unknown [a-z]|not exist|no row", re.IGNORECASE)
_OWN = frozenset({"correlation_id", "request_id", "retry_after", "timestamp", "trace_id"})
_ASKED = "<the id>"
_DEEP = 64  # levels of details that are compared


@rule(
    "adcp.security.not-found-uniform",
    level=Level.MUST,
    source=adcp(ERROR_HANDLING, "standard-error-codes"),
    probes=[Probe.NOT_FOUND],
)
def unknown_ids_get_the_same_answer(probed: Probed) -> None:
    """Every id that a buyer may not see gets the same error, and the message does not repeat the id.

    Build the error from the kind of thing alone ("No such media buy."), with the same code, field and members each time.
    """
    if not probed.before:
        raise NotApplicable("the first of two")
    first, second = probed.before[0], probed.answer
    if accepted(first) and accepted(second):
        raise NotApplicable("unknown ids are answered with a success, such as an empty list")
    for answer in (first, second):
        if not accepted(answer):
            not_put_off(answer)
    if accepted(first) or accepted(second):
        raise Broken(
            "the same answer to both ids",
            f"{_gist(first)} for one, {_gist(second)} for the other",
            at=second.in_payload(),
            because="of two ids that nobody has one is answered and the other refused; whoever tries ids learns something from that",
        )
    if _is_about_form(first) and _is_about_form(second):
        raise NotApplicable("the form of the request is refused, before anything is looked up")
    one, other = dict(_seen(first)), dict(_seen(second))
    for name in dict.fromkeys([*one, *other]):
        if not equal(one.get(name), other.get(name)):
            raise Broken(
                f"the same {name} for both ids",
                f"{quote(one.get(name), 100)} for one, {quote(other.get(name), 100)} for the other",
                at=place(second),
                because=f"two ids that nobody has get errors that differ in {name}; from such a difference whoever tries ids "
                "can learn which of them exist",
            )
    for at, message in _messages(second):
        if asked := UNKNOWN_VALUE.search(message):
            raise Broken(
                "a message without the id",
                quote(message, 160),
                at=at,
                because=f"the message repeats the id that was asked for ({asked[0]}). Both ids get the same words, so it gives "
                "nothing away by itself, but AdCP wants the same bytes for every id",
                fix='leave the id out of the message ("No such media buy."); the buyer knows what it asked for',
            )


def _is_about_form(error: Answer) -> bool:
    """Whether an error is about how the request is written, by its code or in the words of a framework."""
    said, found = words(error), code(error)
    if _ABSENCE.search(said):
        return False
    return found in ARGUMENT_CODES or (
        found is None and (is_invalid_params(error) or bool(_FORM.search(said)))
    )


def _seen(error: Answer) -> Iterator[tuple[str, Any]]:
    """Yield what a buyer can compare of an error, by its name; ids that were asked for stand as one word."""
    yield "the HTTP status", error.exchange.response.status if error.exchange.response else None
    yield "isError", error.is_flagged if error.result is not None else "a JSON-RPC error"
    objects = [found for _, found in error.error_objects()]
    yield "the number of error objects", len(objects)
    for found in objects[:1]:
        for name in sorted(found.keys() - _OWN):
            yield name, _plain(found[name])
    if error.result is None:
        rpc = error.message.get("error")
        yield "the JSON-RPC error", _plain(rpc)
    yield "the members of the payload", sorted(error.payload.keys() - _OWN - {"context"})
    yield (
        "the texts",
        [_uniform(text.text) for text in error.texts if not isinstance(text.parsed.value, Mapping)],
    )


def _messages(error: Answer) -> Iterator[tuple[str, str]]:
    for at, found in error.error_objects():
        if isinstance(found.get("message"), str):
            yield f"{at}/message", found["message"]
    rpc = error.message.get("error") if error.result is None else None
    if isinstance(rpc, Mapping) and isinstance(rpc.get("message"), str):
        yield "/error/message", rpc["message"]
    for text in error.texts:
        if not isinstance(text.parsed.value, Mapping):
            yield error.at("content", text.index, "text"), text.text


def _plain(value: Any, depth: int = _DEEP) -> Any:
    """Return a value without what may differ; what repeats the request (rejected_value) only shows that it is there."""
    if isinstance(value, str):
        return _uniform(value)
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in value] if depth else "..."
    if isinstance(value, Mapping):
        return {
            name: "..." if name == "rejected_value" or not depth else _plain(item, depth - 1)
            for name, item in value.items()
            if name not in _OWN
        }
    return value


def _uniform(text: str) -> str:
    return _CHANGING.sub("<...>", UNKNOWN_VALUE.sub(_ASKED, text))


def _gist(answer: Answer) -> str:
    if accepted(answer):
        return f"a success with {quote(sorted(answer.payload)[:6], 80)}"
    return f"an error ({quote(code(answer), 60)})"
