"""What a client library has to make of MCP answers, judged on vectors."""

from __future__ import annotations

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import EXTRACTION, TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.vector_subjects import VectorRun

_BY_CODE_ALONE = "only the reference code settles this, not the words of the specification"


@rule("client.extraction.data", level=Level.MUST, source=adcp(EXTRACTION, "extraction-algorithm"))
def success_data_is_extracted(success_vector: VectorRun) -> None:
    """A client extracts the AdCP payload that the reference algorithm extracts, and nothing where that extracts nothing.

    Follow the algorithm step by step: isError first, then structuredContent if it is an object, then the text items in order.
    """
    _compare(success_vector)


@rule("client.errors.error", level=Level.MUST, source=adcp(TRANSPORT_ERRORS, "client-detection-order"))
def error_is_extracted(error_vector: VectorRun) -> None:
    """A client extracts the AdCP error that the reference algorithm extracts, and none where that extracts none.

    Follow the detection order; an adcp_error that is found and invalid ends the search.
    """
    _compare(error_vector)


@rule("client.errors.action", level=Level.MUST, source=adcp(TRANSPORT_ERRORS, "recovery"))
def error_leads_to_the_right_action(error_vector: VectorRun) -> None:
    """A client retries, asks the caller or escalates as the recovery class of the error says.

    Take recovery from the error, else the class of the standard code; treat what is unknown as terminal.
    """
    wanted = error_vector.vector.expected_action
    if wanted is None:
        raise NotApplicable("the vector expects no action")
    if error_vector.action != wanted:
        raise Broken(
            wanted,
            str(error_vector.action),
            because=f"{error_vector.vector.description}: the client's action is another one",
            lenient=_BY_CODE_ALONE if error_vector.vector.advisory else "",
        )


def _compare(vector: VectorRun) -> None:
    wanted = vector.vector.expected
    if equal(vector.got, wanted):
        return
    raise Broken(
        quote(wanted),
        quote(vector.got),
        because=f"{vector.vector.description}: the client reads something else",
        lenient=_BY_CODE_ALONE if vector.vector.advisory else "",
    )
