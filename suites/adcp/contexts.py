"""The buyer's context comes back as it was sent, with every answer; a seller makes up none of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.links import Link, path_of
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import CONTEXT, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import squeezed

from .failures import kind_of
from .roots import data_root, error_root, is_error_alone, root, sent_arguments

_SOURCE = adcp(CONTEXT, "normative-echo-contract")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where what came back differs from what was sent; one of the two may be absent there."""

    path: tuple[str | int, ...]
    sent: Any
    received: Any
    renamed: str = ""  # the name under which an absent member came back

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer into the context."""
        return jsontext.pointer(*self.path)

    @property
    def words(self) -> str:
        """What happened there."""
        place = quote(self.pointer, 80)
        if self.renamed:
            return f"{place} came back as {quote(self.renamed, 40)}"
        if self.received is _ABSENT:
            return f"{place} is missing, {quote(self.sent, 60)} was sent"
        if self.sent is _ABSENT:
            return f"{place} was added, {quote(self.received, 60)}"
        return f"at {place} {quote(self.sent, 60)} was sent and {quote(self.received, 60)} came back"


@rule("adcp.envelope.context", level=Level.MUST, source=_SOURCE)
def context_comes_back(answer: Answer) -> None:
    """An answer that did not fail holds, at its root, the `context` object of the request unchanged.

    Copy the request's context into the answer as it is: no member added, dropped, renamed or turned into another type.
    """
    payload = data_root(answer)
    sent = _sent_context(answer)
    received = payload.get("context", _ABSENT)
    if received is _ABSENT or received is None:
        raise _missing(answer, sent, received)
    asked_about = answer.task.name == "get_task_status"
    _compare(
        answer, sent, received, "it may be the context that the task was begun with" if asked_about else ""
    )


@rule("adcp.envelope.error-context", level=Level.MUST, source=_SOURCE)
def error_context_comes_back(error: Answer) -> None:
    """An error holds, at the root of its payload, the `context` object of the request unchanged.

    Put the request's context beside adcp_error, with isError: true. Do it where errors are built, for every one of them.
    """
    payload = error_root(error)
    sent = _sent_context(error)
    received = payload.get("context", _ABSENT)
    if received is not _ABSENT and received is not None:
        _compare(error, sent, received)
        return
    if is_error_alone(error):
        if not error.is_flagged:
            raise NotApplicable("without isError, adcp_error has to stand alone")
        raise _missing(
            error,
            sent,
            received,
            lenient="the specification's own example of an error is adcp_error alone",
        )
    raise _missing(error, sent, received)


@rule("adcp.envelope.context-invented", level=Level.MUST, source=_SOURCE)
def context_is_not_made_up(answer: Answer) -> None:
    """An answer to a request without `context` has none either.

    Leave context to the buyer, and leave it out where the request had none; what is yours goes into context_id or ext.
    """
    payload = root(answer)
    if sent_arguments(answer).get("context") is not None:
        raise NotApplicable("the request had a context")
    if answer.task.name == "get_task_status":
        raise NotApplicable("the status of a task may come with the context that the task was begun with")
    received = payload.get("context")
    if received is not None:
        raise Broken(
            "no context",
            quote(received),
            at=answer.in_payload("context"),
            because=f"the request had no context, and the answer has one, {quote(received, 120)}; what stands there is the buyer's alone",
        )


def _sent_context(answer: Answer) -> Mapping[str, Any]:
    sent = sent_arguments(answer).get("context")
    if isinstance(sent, Mapping):
        return sent
    why = "the request had no context" if sent is None else f"the context of the request was {kind_of(sent)}"
    raise NotApplicable(why)


def _missing(answer: Answer, sent: Mapping[str, Any], received: Any, lenient: str = "") -> Broken:
    because = "the request had a context, and the answer has none; a buyer cannot tell what it answers"
    if received is None:
        because = "the request had a context, and the answer's is null; a buyer cannot tell what it answers"
    elif answer.result is not None and answer.result.get("context") is not None:
        beside = "structuredContent" if answer.structured is not None else "content"
        because = f"context stands in the tool result, beside {beside}; buyers look for it inside the payload"
    return Broken(
        f"context: {quote(sent, 160)}",
        "null" if received is None else "no context",
        at=answer.in_payload("context"),
        because=because,
        lenient=lenient,
    )


def _compare(answer: Answer, sent: Mapping[str, Any], received: Any, lenient: str = "") -> None:
    found = first_difference(sent, received)
    if found is None:
        return
    at = answer.in_payload("context")
    if not isinstance(received, Mapping):
        is_text = isinstance(received, str) and jsontext.equal(jsontext.parse(received).value, sent)
        what = (
            "JSON in a string, encoded once too often" if is_text else f"{kind_of(received)}, not an object"
        )
        raise Broken(f"context: {quote(sent, 160)}", quote(received), at=at, because=f"context is {what}")
    raise Broken(
        "no such member" if found.sent is _ABSENT else quote(found.sent),
        "no such member" if found.received is _ABSENT else quote(found.received),
        at=at if at.endswith("/text") else at + found.pointer,
        because=f"context came back changed: {found.words}",
        lenient=lenient,
    )


def first_difference(sent: Any, received: Any) -> Difference | None:
    """Return where two JSON values differ first, in the order of what was sent; added members come after an object's own."""
    stack: list[tuple[Link, Any, Any, str]] = [(None, sent, received, "")]
    while stack:
        link, one, other, renamed = stack.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            added = {squeezed(name): name for name in reversed(other) if name not in one}
            children = [
                (
                    (link, name),
                    one.get(name, _ABSENT),
                    other.get(name, _ABSENT),
                    added.get(squeezed(name), ""),
                )
                for name in (*one, *(name for name in other if name not in one))
            ]
        elif isinstance(one, list) and isinstance(other, list):
            pairs = zip_longest(one, other, fillvalue=_ABSENT)
            children = [((link, index), mine, theirs, "") for index, (mine, theirs) in enumerate(pairs)]
        elif one is _ABSENT or other is _ABSENT or not jsontext.equal(one, other):
            return Difference(path_of(link), one, other, renamed if other is _ABSENT else "")
        else:
            continue
        stack.extend(reversed(children))
    return None
