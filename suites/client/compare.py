"""How an answer of a library is held against a vector."""

from __future__ import annotations

from typing import Any

from pytest_adcp.harness.jsontext import equal, pointer
from pytest_adcp.harness.library.records import Answer, Extracted, NoAnswer, Threw
from pytest_adcp.harness.library.subjects import VectorRun
from pytest_adcp.harness.rules import Blocked, Broken, NotApplicable
from pytest_adcp.harness.text import one_line, quote

_BY_CODE_ALONE = "only the reference code settles this, not the words of the specification"
_NULL_IS_ASKED = "the page asks for null; a caller gets no data either way"
_LONGEST = 280  # characters of a response that is shown


def compare(run: VectorRun, *, lenient_when_thrown: str = "") -> None:
    """Hold what a library extracted against what the vector expects.

    Args:
        run: the vector and the answer.
        lenient_when_thrown: why an error in place of data is an advisory; empty: it is a failure.
    """
    vector = run.vector
    answer = answered(run)
    wanted = vector.expected
    if isinstance(answer, Threw):
        if vector.refused:
            return
        if run.refusable:
            raise NotApplicable(f"the library refuses the answer, and may: {run.refusable}")
        if wanted is None and lenient_when_thrown:
            return
        lenient = _NULL_IS_ASKED if wanted is None else lenient_when_thrown
        raise broken(run, quote(wanted), shown(answer), "the library raises an error", lenient)
    if vector.refused and answer.data is not None:
        raise broken(run, "an error, or nothing", quote(answer.data), "the library takes it for data")
    if vector.refused:
        raise broken(
            run, "an error", "null", "the library finds nothing", "the page lets a client log it instead"
        )
    if equal(answer.data, wanted):
        return
    if answer.data is None:
        if run.refusable:
            raise NotApplicable(f"the library finds nothing in the answer, and may: {run.refusable}")
        raise broken(run, quote(wanted), "null", "the library finds nothing")
    if wanted is None:
        raise broken(run, "null", quote(answer.data), "the library extracts something")
    place, expected, received = difference(wanted, answer.data)
    says = (
        f"the library extracts something else at {quote(place)}"
        if place
        else "the library extracts something else"
    )
    raise broken(run, expected, received, says)


def answered(run: VectorRun) -> Extracted | Threw:
    """Return the answer; another rule tells that there is none."""
    answer = run.answer
    if isinstance(answer, NoAnswer):
        raise Blocked(f"the library gave no answer: {answer.why}")
    return answer


def broken(run: VectorRun, expected: str, received: str, says: str, lenient: str = "") -> Broken:
    """Return the finding about a vector: what it is about, what the library makes of it, and the response."""
    vector = run.vector
    return Broken(
        expected,
        received,
        because=f"{vector.description}: {says}",
        lenient=_BY_CODE_ALONE if vector.advisory else lenient,
        further=(f"the response: {quote(vector.response, _LONGEST)}",),
    )


def difference(wanted: Any, got: Any) -> tuple[str, str, str]:
    """Return the JSON pointer of the innermost place that holds all that differs, and what both have there, quoted."""
    place: list[str | int] = []
    while type(wanted) is type(got) and isinstance(wanted, (dict, list)):
        names = range(len(wanted)) if isinstance(wanted, list) else list(wanted)
        if len(wanted) != len(got) or (isinstance(wanted, dict) and wanted.keys() != got.keys()):
            break
        unlike = [name for name in names if not equal(wanted[name], got[name])]
        if len(unlike) != 1:
            break
        place.append(unlike[0])
        wanted, got = wanted[unlike[0]], got[unlike[0]]
    return pointer(*place), quote(wanted), quote(got)


def shown(answer: Answer) -> str:
    """Return an answer in words."""
    match answer:
        case Threw(type=kind, message=message):
            return f"{one_line(kind, 60)}: {one_line(message, 160)}" if message else one_line(kind, 60)
        case NoAnswer(why=why):
            return one_line(why)
        case Extracted(data=data):
            return quote(data)
