"""Client libraries with a fault each: the harness's own algorithms with a change to what they answer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from pytest_adcp.harness.extraction import extract_error, extract_success
from pytest_adcp.harness.library.command import Behaviour
from pytest_adcp.harness.library.records import (
    Answer,
    Extracted,
    NoAnswer,
    Question,
)
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.harness.library.requirements import requirement
from pytest_adcp.vectors.loader import Kind, Transport, Vector, own

Change = Callable[[dict[str, Any], Question, Any], Answer]


class Changed(ReferenceLibrary):
    """The reference with a change to its answers."""

    def __init__(
        self,
        change: Change,
        kinds: Iterable[Kind] = Kind,
        behaviour: Behaviour | None = None,
        transport: Transport = Transport.MCP,
    ) -> None:
        self._change = change
        self.transport = transport
        self._kinds = set(kinds)
        self.behaviour = behaviour or Behaviour((), ())

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            (answer,) = super().ask([question])
            is_wanted = isinstance(answer, Extracted) or self.transport is Transport.A2A
            if is_wanted and question.kind in self._kinds and question.transport is self.transport:
                yield self._change(json.loads(question.response or ""), question, answer)
            else:
                yield answer


def of(answer: Extracted, data: Any) -> Extracted:
    """The same answer with other data, and nothing told about what is done then."""
    return Extracted(data)


@cache
def vectors(transport: Transport = Transport.MCP) -> tuple[Vector, ...]:
    """The packaged vectors of a transport that are quick to read."""
    slow = ("extraction.limit", "extraction.depth")
    return tuple(v for v in own() if v.transport is transport and requirement(v) not in slow)


# -- one fault a rule ---------------------------------------------------------------------------------------------


def ignores_the_flag(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, extract_success({**response, "isError": False}).data)


def ignores_structured_content_beside_json(
    response: dict[str, Any], question: Question, answer: Extracted
) -> Answer:
    if answer.data is None or not isinstance(response.get("structuredContent"), dict):
        return answer
    from_text = extract_success({"content": response.get("content")}).data
    return of(answer, from_text) if from_text is not None else answer


def takes_arrays(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    for item in response.get("content") or []:
        if answer.data is None and "isError" not in response and isinstance(item, dict):
            text = str(item.get("text"))
            if text.startswith("[") and text.endswith("]") and "NaN" not in text:
                return of(answer, json.loads(text))
    return answer


def takes_an_error_for_data(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent")
    alone = isinstance(structured, dict) and structured.keys() == {"adcp_error"}
    return of(answer, structured) if alone and not response.get("isError") else answer


def wants_a_copy_in_the_text(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    odd = any(word in str(response) for word in ("isError", "proto"))
    is_alone = (
        response.get("content") == [] and response.keys() == {"content", "structuredContent"} and not odd
    )
    return of(answer, None) if is_alone else answer


def takes_nan(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    for item in response.get("content") or []:
        if answer.data is None and isinstance(item, dict) and '"ctr":NaN' in str(item.get("text")):
            return of(answer, json.loads(item["text"]))
    return answer


def loses_prototype_names(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    if not isinstance(answer.data, dict) or "__proto__" not in answer.data:
        return answer
    return of(answer, {name: value for name, value in answer.data.items() if name != "__proto__"})


def reads_no_text_of_an_error(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    plain = answer.path == "text_fallback" and "structuredContent" not in response
    return of(answer, None) if plain and answer.data is not None else answer


def stops_at_structured_content(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, None) if answer.path == "text_fallback" and "structuredContent" in response else answer


def reads_no_json_rpc(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    return of(answer, None) if answer.path == "jsonrpc_error" and answer.data is not None else answer


def takes_unflagged_errors(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    unflagged = answer.data is None and not response.get("isError") and "error" not in response
    return of(answer, extract_error({**response, "isError": True}).error) if unflagged else answer


def takes_any_code(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent") if response.get("isError") is True else None
    found = structured.get("adcp_error") if isinstance(structured, dict) else None
    return of(answer, found) if answer.data is None and isinstance(found, dict) else answer


def guesses_from_errors(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    structured = response.get("structuredContent")
    errors = structured.get("errors") if isinstance(structured, dict) else None
    return of(answer, errors[0]) if answer.data is None and errors else answer


def bounds_too_early(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    if not isinstance(answer.data, dict) or not isinstance(answer.data.get("retry_after"), int):
        return answer
    seconds = max(1, min(3600, answer.data["retry_after"]))
    return (
        answer
        if seconds == answer.data["retry_after"]
        else of(answer, {**answer.data, "retry_after": seconds})
    )


def only_from_text(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    plain = (
        answer.path == "structuredContent" and question.kind is Kind.ERROR and response.get("isError") is True
    )
    usual = isinstance(answer.data, dict) and answer.data.keys() == {"code"}
    return of(answer, None) if plain and usual else answer


def acts(recovery: Any, action: str) -> Change:
    def change(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
        found = answer.data.get("recovery", ...) if isinstance(answer.data, dict) else None
        return replace_action(answer, action) if found == recovery else answer

    return change


def replace_action(answer: Extracted, action: str) -> Extracted:
    return Extracted(answer.data, answer.path, action, answer.retry_after)


def waits_as_told(response: dict[str, Any], question: Question, answer: Extracted) -> Answer:
    told = answer.data.get("retry_after") if isinstance(answer.data, dict) else None
    seconds = told if isinstance(told, (int, float)) and math.isfinite(told) else answer.retry_after
    return Extracted(answer.data, answer.path, answer.action, seconds)


# -- A2A -----------------------------------------------------------------------------------------------------------


@cache
def responses(requirement: str) -> frozenset[str]:
    """The responses of the A2A vectors for a requirement that are none of another one."""
    by_rule: dict[bool, set[str]] = {True: set(), False: set()}
    for vector in vectors(Transport.A2A):
        by_rule[vector.requirement == f"a2a.{requirement}"].add(json.dumps(vector.response, sort_keys=True))
    return frozenset(by_rule[True] - by_rule[False])


def loses(requirement: str) -> Change:
    """Find nothing in the vectors of a requirement where there is something, and something where there is nothing."""

    def change(task: dict[str, Any], question: Question, answer: Any) -> Answer:
        if json.dumps(task, sort_keys=True) not in responses(requirement):
            return answer
        found = answer.data if isinstance(answer, Extracted) else None
        return Extracted({"lost": True} if found is None else None)

    return change


def over_a2a(requirement: str, kind: Kind = Kind.SUCCESS) -> Changed:
    return Changed(loses(requirement), [kind], transport=Transport.A2A)


FAULTS: dict[str, Changed] = {
    "client.extraction.is-error": Changed(ignores_the_flag, [Kind.SUCCESS]),
    "client.extraction.structured-content": Changed(ignores_structured_content_beside_json, [Kind.SUCCESS]),
    "client.extraction.text": Changed(takes_arrays, [Kind.SUCCESS]),
    "client.extraction.adcp-error-only": Changed(takes_an_error_for_data, [Kind.SUCCESS]),
    "client.extraction.no-duplicate": Changed(wants_a_copy_in_the_text, [Kind.SUCCESS]),
    "client.extraction.json": Changed(takes_nan, [Kind.SUCCESS]),
    "client.extraction.prototype-keys": Changed(loses_prototype_names, [Kind.SUCCESS]),
    "client.errors.structured-content": Changed(only_from_text),
    "client.errors.detection-order": Changed(stops_at_structured_content, [Kind.ERROR]),
    "client.errors.text": Changed(reads_no_text_of_an_error, [Kind.ERROR]),
    "client.errors.jsonrpc": Changed(reads_no_json_rpc, [Kind.ERROR]),
    "client.errors.guard": Changed(takes_unflagged_errors, [Kind.ERROR]),
    "client.errors.absent": Changed(guesses_from_errors, [Kind.ERROR]),
    "client.errors.validation": Changed(takes_any_code, [Kind.ERROR]),
    "client.errors.unchanged": Changed(bounds_too_early, [Kind.ERROR]),
    "client.errors.prototype-keys": Changed(loses_prototype_names, [Kind.ERROR]),
    "client.actions.recovery": Changed(acts("terminal", "retry"), [Kind.ERROR]),
    "client.actions.unknown-recovery": Changed(acts("fatal", "retry"), [Kind.ERROR]),
    "client.actions.by-code": Changed(acts(..., "surface_to_caller"), [Kind.ERROR]),
    "client.actions.no-error": Changed(acts(None, "retry"), [Kind.ERROR]),
    "client.actions.retry-after": Changed(waits_as_told, [Kind.ERROR]),
    **{
        f"client.a2a.{name}": over_a2a(name)
        for name in (
            *("envelope", "states", "parts", "last-part", "first-part", "wrapper", "fallback"),
            *("unknown-state", "unchanged"),
        )
    },
    "client.a2a.error": over_a2a("error", Kind.ERROR),
    "client.a2a.error-validation": over_a2a("error-validation", Kind.ERROR),
    "client.extractor.answers": Changed(lambda *_: NoAnswer("exit code 3"), [Kind.SUCCESS]),
    "client.extractor.protocol": Changed(
        lambda *it: it[2], behaviour=Behaviour((), ("request 1 was answered again",))
    ),
}
