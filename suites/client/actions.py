"""What a client library does about an error: an extractor may tell it, and then it is judged."""

from __future__ import annotations

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.library.records import Extracted, Threw
from pytest_adcp.harness.library.subjects import VectorRun
from pytest_adcp.harness.rules import Level, NotApplicable, rule
from pytest_adcp.harness.sources import TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.text import quote
from pytest_adcp.vectors.loader import UNTOLD

from .compare import answered, broken

_RECOVERY = adcp(TRANSPORT_ERRORS, "recovery-behavior")


@rule("client.actions.recovery", level=Level.MUST, source=_RECOVERY)
def recovery_decides(vector: VectorRun) -> None:
    """A client tries again after a transient error, asks its caller after a correctable one and a person after a terminal one.

    Decide by `recovery` alone where the error has it, not by the code and never by the message.
    """
    _compare(vector)


@rule("client.actions.unknown-recovery", level=Level.MUST, source=_RECOVERY)
def unknown_recovery_is_terminal(vector: VectorRun) -> None:
    """A recovery that a client does not know counts as terminal.

    Compare exactly; every other value leads to a person, never to a retry.
    """
    _compare(vector)


@rule("client.actions.by-code", level=Level.MUST, source=_RECOVERY)
def the_code_decides_without_recovery(vector: VectorRun) -> None:
    """Without recovery the class of the standard code counts.

    Look the code up in the table of standard codes; a code that is not in it is terminal.
    """
    _compare(vector)


@rule("client.actions.no-error", level=Level.MUST, source=_RECOVERY)
def a_failure_without_an_error_is_a_general_one(vector: VectorRun) -> None:
    """Where no AdCP error can be extracted the failure is handled as a general one: nothing is retried for it.

    Answer `generic_error`; do not take an action from what is no valid AdCP error.
    """
    _compare(vector)


@rule("client.actions.retry-after", level=Level.MUST, source=_RECOVERY)
def waits_are_bounded(vector: VectorRun) -> None:
    """A client waits retry_after seconds, at least 1 and at most 3,600; what is no finite number counts as absent.

    Round up, then bound: max(1, min(3600, ceil(seconds))). Without a usable value take a backoff of your own.
    """
    answer = _extracted(vector)
    if answer.retry_after is UNTOLD:
        raise NotApplicable("the extractor does not tell how long it waits")
    wanted = vector.vector.expected_retry_after
    if answer.retry_after != wanted:
        raise broken(vector, _seconds(wanted), _seconds(answer.retry_after), "the library waits otherwise")


def _seconds(value: object) -> str:
    return "a backoff of its own (null)" if value is None else f"{value} s"


def _compare(vector: VectorRun) -> None:
    answer = _extracted(vector)
    if answer.action is None:
        raise NotApplicable("the extractor does not tell what it does about errors")
    wanted = vector.vector.expected_action
    if answer.action != wanted:
        raise broken(vector, str(wanted), quote(answer.action), "the client does something else")


def _extracted(vector: VectorRun) -> Extracted:
    """Return the answer, if what it extracted is right: what is done about anything else says nothing."""
    answer = answered(vector)
    if isinstance(answer, Threw) or not equal(answer.data, vector.vector.expected):
        raise NotApplicable("the library extracts something else here, which another rule tells")
    return answer
