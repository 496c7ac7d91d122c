"""What a client library has to make of an A2A task."""

from __future__ import annotations

from pytest_adcp.harness.library.subjects import VectorRun
from pytest_adcp.harness.rules import Level, rule
from pytest_adcp.harness.sources import A2A_EXTRACTION, TRANSPORT_ERRORS, adcp

from .compare import compare

_ALGORITHM = adcp(A2A_EXTRACTION, "extraction-algorithm")
_REQUIREMENTS = adcp(A2A_EXTRACTION, "client-library-requirements")
_ORDER = adcp(TRANSPORT_ERRORS, "client-detection-order")


@rule("client.a2a.envelope", level=Level.MUST, source=_REQUIREMENTS)
def envelopes_are_opened_once(vector: VectorRun) -> None:
    """An object with task, message, statusUpdate or artifactUpdate as its only key is an envelope; it is opened once (requirement 1).

    Replace it by its value before anything is read; an envelope inside an envelope is refused: null.
    """
    compare(vector)


@rule("client.a2a.states", level=Level.MUST, source=_REQUIREMENTS)
def states_are_read_in_both_spellings(vector: VectorRun) -> None:
    """A state is read as A2A 1.0 writes it (TASK_STATE_COMPLETED) and as 0.3 does (completed), and is nothing else (requirement 2).

    Take TASK_STATE_ away, make ASCII letters lower case, make _ into -, and compare exactly: no trimming, no folding of other letters.
    """
    compare(vector)


@rule("client.a2a.parts", level=Level.MUST, source=_REQUIREMENTS)
def data_parts_are_known_by_their_data(vector: VectorRun) -> None:
    """A part is a DataPart if its data is an object, with kind or without (requirement 2).

    Look at `data`, not at `kind`; a part whose data is null, a string, a number or an array is passed over.
    """
    compare(vector)


@rule("client.a2a.last-part", level=Level.MUST, source=_REQUIREMENTS)
def the_last_part_counts_at_the_end(vector: VectorRun) -> None:
    """In a final state the last DataPart of the first artifact is the data (requirements 3 and 4).

    Read artifacts[0] alone, and of its parts the last one that has an object as data.
    """
    compare(vector)


@rule("client.a2a.first-part", level=Level.MUST, source=_REQUIREMENTS)
def the_first_part_counts_on_the_way(vector: VectorRun) -> None:
    """In an interim state the first DataPart of status.message is the data (requirement 5).

    Read status.message.parts, and take the first that has an object as data; artifacts are not looked at.
    """
    compare(vector)


@rule("client.a2a.wrapper", level=Level.MUST, source=_REQUIREMENTS)
def wrappers_are_refused(vector: VectorRun) -> None:
    """Data that is {"response": {...}} and nothing else is the wrapper of a framework, and refused (requirement 6).

    Raise an error that names the wrapper; do not unwrap it. With other keys beside it, or with null or an array in it, it is data.
    """
    compare(vector)


@rule("client.a2a.fallback", level=Level.MUST, source=_REQUIREMENTS)
def the_message_is_the_fallback(vector: VectorRun) -> None:
    """Where the artifacts of a final state hold no data, status.message is read (requirement 7).

    Look for the first DataPart of status.message.parts then.
    """
    compare(vector)


@rule("client.a2a.unknown-state", level=Level.MUST, source=_REQUIREMENTS)
def unknown_states_give_nothing(vector: VectorRun) -> None:
    """In a state that nobody knows, and without one, nothing is extracted and nothing raised (requirement 8).

    Return null.
    """
    compare(vector)


@rule("client.a2a.unchanged", level=Level.MUST, source=_ALGORITHM)
def data_comes_through_unchanged(vector: VectorRun) -> None:
    """The data comes through as it is: its own status is not overwritten, and no name in it is special.

    Return the object itself; never merge the state of the task or another part into it.
    """
    compare(vector)


@rule("client.a2a.error", level=Level.MUST, source=_ORDER)
def errors_are_found(vector: VectorRun) -> None:
    """The AdCP error of a task is the adcp_error of a part of an artifact, else of a part of status.message.

    Go over all artifacts, then over status.message; the first adcp_error counts.
    """
    compare(vector)


@rule(
    "client.a2a.error-validation",
    level=Level.MUST,
    source=adcp(TRANSPORT_ERRORS, "client-library-requirements"),
)
def invalid_errors_are_dropped(vector: VectorRun) -> None:
    """An error counts only with a code of 1 to 64 characters, and up to 4,096 characters as JSON; an invalid one ends the search.

    Check code and size of what was found, and return null for what fails.
    """
    compare(vector)
