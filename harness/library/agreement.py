"""Whether a library makes of a response what the reference algorithm makes of it, for responses that nobody has seen before.

Excused, since a library may rightly differ there:

- a response that breaks its protocol where the library throws or finds nothing: clients with types refuse such a response. Data
  that the reference does not extract is a disagreement there, too;
- numbers beyond double precision: a library that keeps 9007199254740993 is as right as one that reads a double; one
  beyond the range of doubles may be anything that is no finite number;
- a text with such a number, or with more than DEEPEST levels, that a library passes over or throws at: readers may
  have bounds. Then the answer to the response without these texts is as good;
- a response at which the code of the reference itself would throw: any answer but none.

No answer at all (a crash, silence) is never excused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_adcp.harness.a2a import extract_a2a, extract_a2a_error
from pytest_adcp.harness.extraction import (
    MAX_CODE_LENGTH,
    MAX_ERROR_LENGTH,
    ErrorExtraction,
    Reason,
    TextItem,
    extract_error,
    extract_success,
)
from pytest_adcp.harness.jsontext import EXACT_INTEGER, ObjectionKind, equal, stringify_length, utf16_length
from pytest_adcp.vectors.loader import Kind, Transport

from .answer_parts import PROTOTYPES
from .records import Answer, NoAnswer, Threw
from .requirements import malformed

_OF_A_RESULT = {"content", "structuredContent", "isError"}
NOTHING, THROWS, NO_ANSWER, SOMETHING = "finds nothing", "throws", "gives no answer", "extracts something"


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a reference algorithm makes of a response.

    Attributes:
        data: the payload or the AdCP error; None where there is none.
        path: where it stands, as vectors write it: `structuredContent`, ..., `none`.
        reason: why there is none; empty where there is one.
        throws: whether the code of the reference would throw.
        refused: whether a library has to refuse the response, and finding nothing is not enough for the words of the page.
        texts: the text items that were read.
        candidate: an AdCP error before it was checked.
    """

    data: Any = field(repr=False)
    path: str
    reason: str = ""
    throws: bool = False
    refused: bool = False
    texts: tuple[TextItem, ...] = ()
    candidate: Any = field(default=None, repr=False)


Reference = Callable[[Any], Found]


def _mcp_success(response: Any) -> Found:
    found = extract_success(response)
    return Found(
        found.data, str(found.path), str(found.reason or ""), found.reason is Reason.THROWS, texts=found.texts
    )


def _a2a_success(response: Any) -> Found:
    found = extract_a2a(response)
    return Found(found.data, str(found.path), str(found.reason or ""), refused=found.refused)


def _mcp_error(response: Any) -> Found:
    return _error(extract_error(response))


def _a2a_error(response: Any) -> Found:
    return _error(extract_a2a_error(response))


def _error(found: ErrorExtraction) -> Found:
    return Found(
        found.error,
        str(found.path),
        str(found.reason or ""),
        found.reason is Reason.THROWS,
        texts=found.texts,
        candidate=found.candidate,
    )


REFERENCES: Mapping[tuple[Transport, Kind], Reference] = {
    (Transport.MCP, Kind.SUCCESS): _mcp_success,
    (Transport.MCP, Kind.ERROR): _mcp_error,
    (Transport.A2A, Kind.SUCCESS): _a2a_success,
    (Transport.A2A, Kind.ERROR): _a2a_error,
}


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells one disagreement from another; says nothing of the response itself.

    Attributes:
        transport: what the response came over.
        kind: what was asked for.
        reference: where the reference finds it, or why it finds nothing; empty where the library gives no answer.
        library: what the library does instead.
    """

    transport: Transport
    kind: Kind
    reference: str
    library: str

    def is_like(self, other: Signature) -> bool:
        """Whether the library does the same wrong thing in both, whatever the reference finds."""
        if (self.transport, self.kind) != (other.transport, other.kind):
            return False
        return self.library == other.library or (
            self.library.startswith(SOMETHING) and other.library.startswith(SOMETHING)
        )

    def __str__(self) -> str:
        about = f"{self.transport} {self.kind}" + (f", {self.reference}" if self.reference else "")
        return f"{about}: the library {self.library}"


def difference(
    transport: Transport, response: Any, found: Found, answer: Answer, reference: Reference
) -> str:
    """Say what the library does instead of what the reference does; empty where they agree or the library is excused."""
    if isinstance(answer, NoAnswer):
        return NO_ANSWER
    says = _unlike(found, answer)
    if not says or found.throws:
        return ""
    if says in (NOTHING, THROWS) and broken(transport, response):
        return ""
    beyond = {text.index for text in found.texts if _may_be_beyond(text)}
    if beyond:
        content = [item for index, item in enumerate(response["content"]) if index not in beyond]
        without = response | {"content": content}
        if not difference(transport, without, reference(without), answer, reference):
            return ""
    return says


def broken(transport: Transport, response: Any) -> str:
    """Say where a response breaks its protocol, so that a client with types may refuse it; empty where it does not."""
    if transport is Transport.A2A:
        return _malformed_a2a(response)
    if "error" in response and response.keys() & _OF_A_RESULT:
        result = {name: value for name, value in response.items() if name != "error"}
        return malformed(response) or malformed({"content": []} | result)
    return malformed(response)


def _malformed_a2a(response: Any) -> str:
    for _ in range(2):
        if len(response) == 1 and isinstance(inner := next(iter(response.values())), dict):
            response = inner
    status = response.get("status", {"state": ""})
    if not isinstance(status, dict) or not isinstance(status.get("state"), str):
        return "status has no state"
    holders = response.get("artifacts", [])
    if not isinstance(holders, list):
        return "artifacts is no array"
    for holder in [*holders, status.get("message", {"parts": []})]:
        parts = holder.get("parts") if isinstance(holder, dict) else None
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            return "a list of parts holds what is none"
    return ""


def _unlike(found: Found, answer: Answer) -> str:
    if isinstance(answer, Threw):
        return THROWS if found.data is not None else ""
    got, wanted = answer.data, found.data  # type: ignore[union-attr]
    if equal(got, wanted) or equal(_doubles(got), _doubles(wanted)):
        return ""
    if got is None:
        return NOTHING
    if not isinstance(got, dict):
        return f"{SOMETHING} that is no object"
    if wanted is None:
        return SOMETHING
    is_part = any(equal(got, member) for member in wanted.values())
    return f"{SOMETHING} that is a part of it" if is_part else f"{SOMETHING} else"


def _doubles(value: Any) -> Any:
    """Return a value with its numbers as doubles, and null for those that are not finite, as JSON.stringify writes them.

    Does not recurse: the value may be foreign.
    """
    whole: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(value, whole, 0)]
    while stack:
        item, holder, name = stack.pop()
        if isinstance(item, dict):
            holder[name] = {}
            stack.extend((member, holder[name], key) for key, member in item.items())
        elif isinstance(item, list):
            holder[name] = [None] * len(item)
            stack.extend((element, holder[name], index) for index, element in enumerate(item))
        else:
            holder[name] = _double(item)
    return whole[0]


def _double(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT_INTEGER:
        try:
            return float(value)
        except OverflowError:
            return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _may_be_beyond(text: TextItem) -> bool:
    """Whether a text is JSON, and holds what readers with bounds refuse."""
    if text.parsed is None:
        return False
    return any(
        objection.kind is ObjectionKind.DEEP
        or (objection.kind is ObjectionKind.LARGE_NUMBER and "Infinity" in objection.detail)
        for objection in text.parsed.objections
    )


# -- what a response is about -------------------------------------------------------------------------------------


def features(written: str, found: Found) -> frozenset[str]:
    """Return what is odd about a response, so that two faults with one signature can be told apart.

    Args:
        written: the response as JSON.
        found: what the reference makes of it.
    """
    odd = {str(text.parsed.cause) for text in found.texts if text.parsed and text.parsed.cause}
    odd |= {str(item.kind) for text in found.texts if text.parsed for item in text.parsed.objections}
    odd |= {name for name in PROTOTYPES if f'"{name}"' in written or f'"{name}\\"' in written}
    return frozenset(odd)


_BY_CODE_ALONE = frozenset(map(str, ObjectionKind))


def is_advisory(response: Any, found: Found) -> bool:
    """Whether only the code of the reference settles what is right, not the words of the specification.

    That holds for a flag that is no boolean, for what strict readers object to although JSON.parse takes it, and for an
    error that is within the bounds or beyond them as one counts.
    """
    is_odd = bool(features("", found) & _BY_CODE_ALONE)
    flag = response.get("isError", False)
    return is_odd or not isinstance(flag, bool) or _depends_on_units(found.candidate)


def _depends_on_units(error: Any) -> bool:
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        return False
    code = error["code"]
    short, ascii_only = (
        json.dumps(error, ensure_ascii=flag, separators=(",", ":")) for flag in (False, True)
    )
    codes = (utf16_length(code), len(code), _bytes(code))
    sizes = (stringify_length(error), len(short), utf16_length(short), _bytes(short), len(ascii_only))
    return any(
        min(each) <= limit < max(each)
        for each, limit in ((codes, MAX_CODE_LENGTH), (sizes, MAX_ERROR_LENGTH))
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
