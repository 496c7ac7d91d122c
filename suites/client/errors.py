"""What a client library has to make of an MCP answer that is an error."""

from __future__ import annotations

from pytest_adcp.harness.library.subjects import VectorRun
from pytest_adcp.harness.rules import Level, rule
from pytest_adcp.harness.sources import TRANSPORT_ERRORS, adcp

from .compare import compare

_ORDER = adcp(TRANSPORT_ERRORS, "client-detection-order")
_REQUIREMENTS = adcp(TRANSPORT_ERRORS, "client-library-requirements")


@rule("client.errors.structured-content", level=Level.MUST, source=_ORDER)
def errors_come_from_structured_content(vector: VectorRun) -> None:
    """The AdCP error of a flagged answer is structuredContent.adcp_error.

    Return that object as it is.
    """
    compare(vector)


@rule("client.errors.detection-order", level=Level.MUST, source=_ORDER)
def errors_are_looked_for_in_order(vector: VectorRun) -> None:
    """Where an answer holds several errors the first place in the order counts: structuredContent, then the JSON-RPC error, then the texts.

    Go through the places one by one; one that holds no adcp_error leads to the next, one that does ends the search.
    """
    compare(vector)


@rule("client.errors.text", level=Level.MUST, source=_REQUIREMENTS)
def errors_come_from_texts(vector: VectorRun) -> None:
    """Without an error in structuredContent it comes from the first text of a flagged answer that is a JSON object with adcp_error.

    Parse the text items in their order; most servers of today send their errors there.
    """
    compare(vector)


@rule("client.errors.jsonrpc", level=Level.MUST, source=_ORDER)
def errors_come_from_json_rpc(vector: VectorRun) -> None:
    """The AdCP error of a JSON-RPC error is error.data.adcp_error, whatever its code.

    Look into `data` of every JSON-RPC error that your transport raises.
    """
    compare(vector)


@rule("client.errors.guard", level=Level.MUST, source=_REQUIREMENTS)
def unflagged_answers_hold_no_error(vector: VectorRun) -> None:
    """Out of a tool result that is not flagged with isError a client extracts no error; out of one that is flagged it does.

    Ask for `isError` before structuredContent or a text is looked at.
    """
    compare(vector)


@rule("client.errors.absent", level=Level.MUST, source=_ORDER)
def no_error_is_made_up(vector: VectorRun) -> None:
    """Where no place holds adcp_error there is no AdCP error: other shapes are not read as one.

    Return null, and let the caller handle the failure as a general one; do not guess a code from prose or from the JSON-RPC code.
    """
    compare(vector)


@rule("client.errors.validation", level=Level.MUST, source=_REQUIREMENTS)
def invalid_errors_are_dropped(vector: VectorRun) -> None:
    """An error counts only with a code of 1 to 64 characters, and up to 4,096 characters as JSON; an invalid one ends the search.

    Check code and size of what was found, and return null for what fails; do not go on to the next place.
    """
    compare(vector)


@rule("client.errors.unchanged", level=Level.MUST, source=_REQUIREMENTS)
def errors_come_through_unchanged(vector: VectorRun) -> None:
    """What the error holds comes through as it was sent: recovery, retry_after and everything nobody knows.

    Return the object itself; bound retry_after only where it is used.
    """
    compare(vector)


@rule(
    "client.errors.prototype-keys",
    level=Level.MUST,
    source=adcp(TRANSPORT_ERRORS, "buyer-agent-requirements"),
)
def names_of_prototypes_are_plain_names(vector: VectorRun) -> None:
    """__proto__ and the like inside an error are names as any other.

    Never merge an error into an object; return what the parser gave.
    """
    compare(vector)
