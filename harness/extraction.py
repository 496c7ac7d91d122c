"""How a client gets AdCP data and AdCP errors out of MCP answers: the two reference algorithms, and what it does then.

Both follow the reference code of the AdCP pages "MCP response extraction" and "Transport error mapping", written in
JavaScript, to the letter: truthiness, UTF-16 lengths, JSON.parse. Where that code would throw, the reason says so.
Everything here is a pure function of its arguments and never raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .error_codes import ERROR_CODES, Recovery
from .jsontext import Parsed, parse, pointer, stringify_length, to_string, truthy, utf16_length

DEFAULT_CLIENT_LIMIT = 4 * 1024 * 1024
"""UTF-16 units of a text item that a client reads by default; older editions of the page say 1,048,576."""
MAX_CODE_LENGTH = 64  # UTF-16 units
MAX_ERROR_LENGTH = 4096  # UTF-16 units of the error object as JSON.stringify writes it


class Path(StrEnum):
    """Where a client finds what it looks for."""

    STRUCTURED_CONTENT = "structuredContent"
    TEXT_FALLBACK = "text_fallback"
    JSONRPC_ERROR = "jsonrpc_error"  # errors only
    ARTIFACT = "artifact"  # of an A2A task, as the next one
    STATUS_MESSAGE = "status_message"
    ERROR = "error"  # successes only: the answer is flagged, so there is no success to extract
    NONE = "none"


class Reason(StrEnum):
    """Why nothing could be extracted."""

    THROWS = "throws"  # the reference code would throw a TypeError
    # of a success
    IS_ERROR = "is-error"
    ADCP_ERROR_ONLY = "adcp-error-only"
    TEXT_TOO_LARGE = "text-too-large"
    NO_JSON_OBJECT = "no-json-object"  # some text is JSON, but none is an object
    NO_JSON_TEXT = "no-json-text"
    NO_TEXT = "no-text"
    # of an A2A task
    NESTED_ENVELOPE = "nested-envelope"  # errors too
    NO_STATE = "no-state"
    UNKNOWN_STATE = "unknown-state"
    NO_DATA_PART = "no-data-part"
    WRAPPER = "wrapper"
    # of an error
    NOT_FLAGGED = "not-flagged"
    NO_ADCP_ERROR = "no-adcp-error"
    NOT_AN_OBJECT = "adcp-error-not-an-object"
    CODE_NOT_A_STRING = "code-not-a-string"  # missing counts
    CODE_EMPTY = "code-empty"
    CODE_TOO_LONG = "code-too-long"
    ERROR_TOO_LARGE = "error-too-large"


class TextOutcome(StrEnum):
    """What a client makes of one text item."""

    FOUND = "found"
    EMPTY = "empty"  # no text, or one that JavaScript counts as false
    TOO_LARGE = "too-large"  # not parsed
    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    ADCP_ERROR_ONLY = "adcp-error-only"  # successes only
    NO_ADCP_ERROR = "no-adcp-error"  # errors only


@dataclass(frozen=True, slots=True, eq=False)
class TextItem:
    """One item of `content` whose type is `text`, up to the one that settled the matter.

    Attributes:
        index: its place in `content`.
        outcome: what the client makes of it.
        units: length in UTF-16 units; 0 where there is no string.
        parsed: what JSON.parse makes of it; None where it is not called.
    """

    index: int
    outcome: TextOutcome
    units: int
    parsed: Parsed | None = None

    @property
    def value(self) -> Any:
        """The parsed value; None where there is none."""
        return self.parsed.value if self.parsed else None

    @property
    def pointer(self) -> str:
        """JSON pointer of the text in the tool result."""
        return pointer("content", self.index, "text")


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """What success extraction gives.

    Attributes:
        data: the AdCP payload, or None.
        path: where it was found.
        pointer: JSON pointer into the tool result of where it was found, or of the value that ended the search.
        reason: why there is none; None where there is one.
        texts: the text items that were read. None are read where structuredContent or isError decides.
    """

    data: dict[str, Any] | None = field(repr=False)
    path: Path
    pointer: str = ""
    reason: Reason | None = None
    texts: tuple[TextItem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ErrorExtraction:
    """What error extraction gives.

    Attributes:
        error: the AdCP error, or None.
        path: where it was found, also where it is invalid.
        pointer: JSON pointer into the response of where it was found, or of the value that ended the search.
        reason: why there is none; None where there is one.
        candidate: what was found under `adcp_error`, valid or not.
        texts: the text items that were read.
    """

    error: dict[str, Any] | None = field(repr=False)
    path: Path
    pointer: str = ""
    reason: Reason | None = None
    candidate: Any = field(default=None, repr=False)
    texts: tuple[TextItem, ...] = ()


class Action(StrEnum):
    """What a client does about an answer that carries no data."""

    RETRY = "retry"
    SURFACE_TO_CALLER = "surface_to_caller"
    ESCALATE_TO_HUMAN = "escalate_to_human"
    GENERIC_ERROR = "generic_error"


# -- success ------------------------------------------------------------------------------------------------


def extract_success(result: Any, *, limit: int = DEFAULT_CLIENT_LIMIT) -> Extraction:
    """Extract the AdCP payload from an MCP tool result.

    Args:
        result: the tool result as it came, of any shape.
        limit: texts of more UTF-16 units are skipped unread.
    """
    if result is None:
        return Extraction(None, Path.NONE, reason=Reason.THROWS)
    if truthy(member(result, "isError")):
        return Extraction(None, Path.ERROR, pointer("isError"), Reason.IS_ERROR)
    structured = member(result, "structuredContent")
    if isinstance(structured, dict):
        place = pointer("structuredContent")
        if structured.keys() == {"adcp_error"}:
            return Extraction(None, Path.NONE, place, Reason.ADCP_ERROR_ONLY)
        return Extraction(structured, Path.STRUCTURED_CONTENT, place)
    content = member(result, "content")
    return _success_from_text(content if isinstance(content, list) else [], limit)


def _success_from_text(content: list[Any], limit: int) -> Extraction:
    texts: list[TextItem] = []
    for index, item in enumerate(content):
        if item is None:
            return Extraction(None, Path.NONE, pointer("content", index), Reason.THROWS, tuple(texts))
        if member(item, "type") != "text":
            continue
        text = member(item, "text")
        if _length_throws(text):
            place = pointer("content", index, "text")
            return Extraction(None, Path.NONE, place, Reason.THROWS, tuple(texts))
        read = _read_text(index, text, limit)
        if read.outcome is TextOutcome.FOUND and read.value.keys() == {"adcp_error"}:
            read = TextItem(index, TextOutcome.ADCP_ERROR_ONLY, read.units, read.parsed)
        texts.append(read)
        if read.outcome is TextOutcome.FOUND:
            return Extraction(read.value, Path.TEXT_FALLBACK, read.pointer, texts=tuple(texts))
    outcomes = {text.outcome for text in texts}
    reason = next(
        (reason for outcome, reason in _SUCCESS_REASONS.items() if outcome in outcomes), Reason.NO_TEXT
    )
    return Extraction(None, Path.NONE, reason=reason, texts=tuple(texts))


# The most telling first: data may hide in a text that was not read.
_SUCCESS_REASONS = {
    TextOutcome.TOO_LARGE: Reason.TEXT_TOO_LARGE,
    TextOutcome.ADCP_ERROR_ONLY: Reason.ADCP_ERROR_ONLY,
    TextOutcome.NOT_AN_OBJECT: Reason.NO_JSON_OBJECT,
    TextOutcome.NOT_JSON: Reason.NO_JSON_TEXT,
}


def member(value: Any, name: str) -> Any:
    """Read a property as JavaScript does of a value that came out of JSON: only objects have these."""
    return value.get(name) if isinstance(value, dict) else None


def _read_text(index: int, text: Any, limit: float) -> TextItem:
    if not truthy(text):
        return TextItem(index, TextOutcome.EMPTY, 0)
    units = utf16_length(text) if isinstance(text, str) else 0
    # JavaScript also asks arrays for their length, and turns everything that is no string into one before it parses.
    length = len(text) if isinstance(text, list) else units
    if length > limit:
        return TextItem(index, TextOutcome.TOO_LARGE, units)
    try:
        parsed = parse(to_string(text))
    except TypeError:
        return TextItem(index, TextOutcome.NOT_JSON, units)
    if not parsed.ok:
        return TextItem(index, TextOutcome.NOT_JSON, units, parsed)
    outcome = TextOutcome.FOUND if isinstance(parsed.value, dict) else TextOutcome.NOT_AN_OBJECT
    return TextItem(index, outcome, units, parsed)


def _length_throws(text: Any) -> bool:
    """Tell whether comparing the `length` of a text throws: an object in there hides its toString."""
    try:
        to_string(member(text, "length"))
    except TypeError:
        return True
    return False


# -- error --------------------------------------------------------------------------------------------------


def extract_error(response: Any) -> ErrorExtraction:
    """Extract the AdCP error from an MCP tool result, or from a JSON-RPC response that holds `error`.

    An invalid adcp_error ends the search: no later place is tried.
    """
    if response is None:
        return ErrorExtraction(None, Path.NONE, reason=Reason.THROWS)
    is_flagged = truthy(member(response, "isError"))
    structured = member(member(response, "structuredContent"), "adcp_error")
    if is_flagged and truthy(structured):
        return checked(structured, Path.STRUCTURED_CONTENT, pointer("structuredContent", "adcp_error"))
    carried = member(member(member(response, "error"), "data"), "adcp_error")
    if truthy(carried):
        return checked(carried, Path.JSONRPC_ERROR, pointer("error", "data", "adcp_error"))
    if is_flagged:
        return _error_from_text(member(response, "content"))
    # A JSON-RPC error without adcp_error says that something failed; nothing is missing a flag.
    reason = Reason.NO_ADCP_ERROR if truthy(member(response, "error")) else Reason.NOT_FLAGGED
    return ErrorExtraction(None, Path.NONE, reason=reason)


def _error_from_text(content: Any) -> ErrorExtraction:
    if truthy(content) and not isinstance(content, (list, str)):
        return ErrorExtraction(None, Path.NONE, pointer("content"), Reason.THROWS)  # it is not iterable
    texts: list[TextItem] = []
    for index, item in enumerate(content if isinstance(content, list) else []):
        if item is None:
            return ErrorExtraction(
                None, Path.NONE, pointer("content", index), Reason.THROWS, texts=tuple(texts)
            )
        if member(item, "type") != "text":
            continue
        read = _read_text(index, member(item, "text"), math.inf)
        found = member(read.value, "adcp_error")
        if read.outcome is TextOutcome.FOUND and not truthy(found):
            read = TextItem(index, TextOutcome.NO_ADCP_ERROR, read.units, read.parsed)
        texts.append(read)
        if read.outcome is TextOutcome.FOUND:
            return checked(found, Path.TEXT_FALLBACK, read.pointer, tuple(texts))
    return ErrorExtraction(None, Path.NONE, reason=Reason.NO_ADCP_ERROR, texts=tuple(texts))


def checked(candidate: Any, path: Path, place: str, texts: tuple[TextItem, ...] = ()) -> ErrorExtraction:
    """Return what becomes of a value that was found under `adcp_error` at `place`: only a valid one counts."""
    reason = _why_invalid(candidate)
    return ErrorExtraction(None if reason else candidate, path, place, reason, candidate, texts)


def _why_invalid(error: Any) -> Reason | None:
    if not isinstance(error, dict):
        return Reason.NOT_AN_OBJECT
    code = error.get("code")
    if not isinstance(code, str):
        return Reason.CODE_NOT_A_STRING
    if not code:
        return Reason.CODE_EMPTY
    if utf16_length(code) > MAX_CODE_LENGTH:
        return Reason.CODE_TOO_LONG
    return Reason.ERROR_TOO_LARGE if stringify_length(error) > MAX_ERROR_LENGTH else None


# -- what a client does then --------------------------------------------------------------------------------


def action(error: dict[str, Any] | None) -> Action:
    """Say what a client does about an extracted error; None means that none could be extracted.

    Without `recovery` the standard class of the code counts. For a code that is not standard either, the published
    vectors escalate, while the newest text of the page retries within bounds: this follows the vectors.
    """
    if error is None:
        return Action.GENERIC_ERROR
    recovery = error.get("recovery")
    if "recovery" not in error:
        known = ERROR_CODES.get(error["code"])
        recovery = known.recovery if known else None
    if recovery == Recovery.TRANSIENT:
        return Action.RETRY
    return Action.SURFACE_TO_CALLER if recovery == Recovery.CORRECTABLE else Action.ESCALATE_TO_HUMAN


def retry_after(error: dict[str, Any]) -> int | None:
    """Return the whole seconds to wait, rounded up and then held within 1 and 3600; None where it says nothing usable."""
    seconds = error.get("retry_after")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        return None
    return max(1, min(3600, math.ceil(seconds)))
