"""Payloads against AdCP's published JSON Schemas, of the release that the server says it serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.release import PINNED, RELEASES, release_of_version
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.schema_bundle import HOW_TO_GET, BundleError
from pytest_adcp.harness.schema_words import Problem
from pytest_adcp.harness.schemas import Kind, NoSchemaError, Problems, Validators
from pytest_adcp.harness.sources import ERROR_HANDLING, SCHEMAS, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import plural
from pytest_adcp.harness.wrappers import has_root, unexpected_members

_SOURCE = adcp(SCHEMAS)
_NULL = "leave a member out that has no value (Pydantic: model_dump(exclude_none=True))"
_LENIENT = "draft-07 leaves it to each validator whether a format counts"
# What adcp.errors.* says of an error object, and says better; the rest is left to the schema.
_ERROR_MEMBERS = frozenset(
    {"code", "details", "field", "message", "recovery", "retry_after", "sdk_id", "source", "suggestion"}
)
_ISSUE_MEMBERS = frozenset({"keyword", "message", "pointer"})


@rule("adcp.schema.response", level=Level.MUST, source=_SOURCE)
def success_matches_its_schema(success: Answer) -> None:
    """A success is valid by the response schema of its task, in the AdCP release that the server serves.

    Send each member that the schema requires, in its type and with one of its values. Members that the schema does not
    know are fine. Build the answer from the release's own types, or validate it in your tests.
    """
    validators = _validators(success)
    payload = success.extraction.data
    if payload is None:
        raise NotApplicable("nothing could be extracted")
    if not has_root(success.task, payload):
        if payload.get("status") in ("rejected", "canceled"):
            raise NotApplicable(
                f"the task was {payload['status']}: a schema of a success says nothing about that"
            )
        if unexpected_members(success.task, payload):
            raise NotApplicable(
                "adcp.extraction.top-level-data says that the task's fields are not at the root"
            )
    _judge(success, payload, validators, Kind.RESPONSE)


@rule("adcp.schema.interim", level=Level.MUST, source=_SOURCE)
def interim_answer_matches_its_schema(interim: Answer) -> None:
    """An answer that is submitted, working or input-required is valid by the task's own schema for that state.

    A submitted answer has `status` and `task_id`, and no data yet; names are in snake case.
    """
    validators = _validators(interim)
    payload = interim.extraction.data
    status = payload.get("status") if payload is not None else None
    if payload is None or status not in set(Kind):
        raise NotApplicable("AdCP has schemas for submitted, working and input-required only")
    _judge(interim, payload, validators, Kind(status))


@rule("adcp.schema.error", level=Level.MUST, source=adcp(ERROR_HANDLING, "error-object"))
def error_objects_match_their_schema(error: Answer) -> None:
    """adcp_error and each of errors[] are valid by core/error.json.

    Give each of errors[] as an object with code and message, and take each entry of issues[] as core/error.json has it.
    """
    validators = _validators(error)
    judged = False
    for path, value in _error_objects(error):
        judged = True
        problems = _problems(error, value, validators, Kind.ERROR)
        own = [problem for problem in problems.shown if not _is_said_elsewhere(value, problem)]
        if own:
            raise _broken(own, path, problems.total - len(problems.shown), more=problems.more)
    if not judged:
        raise NotApplicable("no AdCP error object came")


def _error_objects(error: Answer) -> Iterator[tuple[str, Any]]:
    """Yield what stands where an error object should, objects or not, and where."""
    if isinstance(error.adcp_error, Mapping):
        yield error.adcp_error_pointer, error.adcp_error
    for index, item in enumerate(error.errors):
        # Alone, the first of errors[] is what adcp.errors.readable looks at.
        if index or error.adcp_error is not None or isinstance(item, Mapping):
            yield error.in_payload("errors", index), item


def _is_said_elsewhere(value: Any, problem: Problem) -> bool:
    match problem.path:
        case (str(member), *_) if member in _ERROR_MEMBERS:
            return True
        case ("issues", *rest):
            entry = rest[1] if len(rest) > 1 else None
            issues = value["issues"]
            lacks = isinstance(issues, list) and rest and not isinstance(issues[int(rest[0])], Mapping)
            return not rest or bool(lacks) or entry in _ISSUE_MEMBERS
    return False


# -- which schemas, and what they say --------------------------------------------------------------------------


def _validators(answer: Answer) -> Validators:
    if answer.server.schemas is None:
        raise NotApplicable(f"no AdCP schemas are at hand: {HOW_TO_GET}")
    return answer.server.schemas


def _releases(answer: Answer) -> tuple[str, ...]:
    """Return the releases of which one has to fit: the one that is pinned, or that the answer names, or those listed."""
    server = answer.server
    if server.release_source == PINNED and server.release:
        return (server.release,)
    echo = release_of_version(answer.payload.get("adcp_version"))
    if echo:
        return (echo,)
    if server.release_source == "supported_versions":
        return server.supported
    if server.release_source == "major_versions":
        return (
            RELEASES  # it names 3, and a server of 3.1 need not say more; the oldest speaks where none fits
        )
    return (server.release or "3.0",)


def _problems(answer: Answer, value: Any, validators: Validators, kind: Kind) -> Problems:
    """Return what is wrong by the newest release that the server may mean; nothing, where any of them fits."""
    found: Problems | None = None
    reason = ""
    for release in _releases(answer):
        try:
            problems = validators.for_task(release, answer.task.name, kind).problems(value)
        except NoSchemaError as error:
            reason = reason or str(error)
            continue
        except BundleError as error:
            raise Blocked(str(error)) from None
        if not problems.total:
            return problems
        found = found or problems
    if found is None:
        raise NotApplicable(reason)
    return found


def _judge(answer: Answer, payload: Mapping[str, Any], validators: Validators, kind: Kind) -> None:
    problems = _problems(answer, payload, validators, kind)
    if problems.total:
        place = answer.in_payload()
        rest = problems.total - len(problems.shown)
        raise _broken(problems.shown, place, rest, more=problems.more)


def _broken(problems: tuple[Problem, ...] | list[Problem], place: str, rest: int, *, more: bool) -> Broken:
    first = problems[0]
    is_null = first.received == "null" and first.keyword not in ("const", "enum")
    more_words = (
        [f"and {'more than ' if more else ''}{plural(rest, 'other problem')}"] if rest or more else []
    )
    return Broken(
        first.expected,
        first.received,
        # Of a JSON text the pointer can name the text only; the message says where in it.
        at=place if place.endswith("/text") else place + first.pointer,
        because=first.text,
        fix=f"{_NULL}; the schema: {first.schema}"
        if is_null
        else f"send {first.expected}; the schema: {first.schema}",
        lenient=_LENIENT if first.keyword == "format" else "",
        further=[*(problem.text for problem in problems[1:]), *more_words],
    )
