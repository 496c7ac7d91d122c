"""What a refusal says, for rules that compare a call with another one: its code, its words, and what it is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import hidden_error

from .failures import code_of, stray_error

ARGUMENT_CODES = frozenset({"INVALID_REQUEST", "VALIDATION_ERROR"})
INVALID_PARAMS = -32602
_LONGEST = 20_000  # characters of one text that are searched
# Refusals that would have met any other request at that moment just as well.
_UNRELATED = frozenset({"CONFIGURATION_ERROR", "RATE_LIMITED", "SERVICE_UNAVAILABLE"})


def accepted(answer: Answer) -> bool:
    """Whether a task took the request, now or for later.

    An error that is not flagged as one looks like a success; adcp.errors.flagged speaks about it.
    """
    if answer.kind not in (Class.SUCCESS, Class.INTERIM):
        return False
    return stray_error(answer) is None and hidden_error(answer.task, answer.payload) is None


def code(error: Answer) -> str | None:
    """Return the AdCP code of an error; None where it has none."""
    for found in (error.adcp_error, error.errors[0] if error.errors else None):
        if isinstance(found, Mapping) and isinstance(found.get("code"), str):
            return str(found["code"])
    return None


def is_unrelated(error: Answer) -> bool:
    """Whether an error is about the caller's rights or the server's state, and says nothing about the request."""
    found = code(error) or ""
    numbers = {-32029, -32028, -32027}
    rpc = error.message.get("error") if error.result is None else None
    return found in _UNRELATED or found.startswith(("AUTH_", "AGENT_")) or code_of(rpc) in numbers


def is_invalid_params(error: Answer) -> bool:
    """Whether an error is JSON-RPC's own for arguments that do not fit."""
    return error.result is None and code_of(error.message.get("error")) == INVALID_PARAMS


def words(error: Answer) -> str:
    """Return all that an error says about the request, in one text: messages, fields, issues, texts."""
    return "\n".join(dict.fromkeys(text[:_LONGEST] for text in _words(error)))


def gist(error: Answer) -> str:
    """Return code and message of an error, quoted; the text of one that has no code."""
    said, found = quote(next(_words(error), ""), 160), code(error)
    return f"{quote(found, 70)}: {said}" if found is not None else f"an error without a code: {said}"


def place(error: Answer) -> str:
    """Return the JSON pointer of the error in the message."""
    if isinstance(error.adcp_error, Mapping):
        return error.adcp_error_pointer
    if error.errors:
        return error.in_payload("errors", 0)
    return "/error" if error.result is None else error.at("content")


def named(names: Collection[str], text: str) -> list[str]:
    """Return those of some member names that stand in a text as words of their own."""
    return [name for name in names if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text)]


def _words(error: Answer) -> Iterator[str]:
    for _, found in error.error_objects():
        for name in ("message", "field", "suggestion"):
            if isinstance(found.get(name), str):
                yield found[name]
        for issue in _list(found.get("issues")):
            members = issue.values() if isinstance(issue, Mapping) else ()
            yield from (value for value in members if isinstance(value, str))
    rpc = error.message.get("error") if error.result is None else None
    if isinstance(rpc, Mapping) and isinstance(rpc.get("message"), str):
        yield rpc["message"]
    if error.result is not None:
        yield from (text.text for text in error.texts)


def _list(value: Any) -> list[Any]:
    return value[:100] if isinstance(value, list) else []
