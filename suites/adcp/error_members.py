"""What stands inside an AdCP error object: core/error.json and what the pages around it ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pytest_adcp.harness.error_codes import ERROR_CODES, ErrorCode, Recovery
from pytest_adcp.harness.extraction import MAX_CODE_LENGTH, MAX_ERROR_LENGTH
from pytest_adcp.harness.jsontext import stringify_length
from pytest_adcp.harness.release import numbers
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import ERROR_HANDLING, TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote

from .failures import codes_of, kind_of

MAX_DETAILS = 500
_CODE = re.compile(r"[A-Z][A-Z0-9_]*")
_VENDOR_CODE = re.compile(r"X_[A-Z][A-Z0-9]{1,19}_[A-Z][A-Z0-9_]{1,39}")
# The test controller has a vocabulary of its own.
_CONTROLLER_CODES = frozenset({"INVALID_TRANSITION", "FORBIDDEN", "UNKNOWN_SCENARIO", "INVALID_PARAMS"})
_ERROR = adcp(ERROR_HANDLING, "error-object")
_RECOVERY = adcp(ERROR_HANDLING, "recovery")
_RETRY = adcp(TRANSPORT_ERRORS, "retry-after")


@rule("adcp.errors.message", level=Level.MUST, source=_ERROR)
def error_has_a_message(error: Answer) -> None:
    """An AdCP error has a message: a string for people.

    Add "message": one sentence that says what failed.
    """
    for at, found in error.error_objects():
        if not isinstance(found.get("message"), str):
            raise Broken(
                "a string",
                quote(found["message"]) if "message" in found else "no such member",
                at=f"{at}/message",
                because=(
                    f"message is {kind_of(found['message'])}, not a string"
                    if "message" in found
                    else "the error has no message: nobody can be told what failed"
                ),
                lenient=(
                    "the specification's own JSON-RPC examples leave it out, while core/error.json requires it"
                    if error.result is None
                    else ""
                ),
            )
    _nothing_without(error)


@rule("adcp.errors.code", level=Level.MUST, source=adcp(TRANSPORT_ERRORS, "error-codes"))
def error_code_is_upper_case(error: Answer) -> None:
    """An error code is written in capitals, digits and underscores.

    Use the standard code in capitals (INVALID_REQUEST, not invalid_request or InvalidRequest).
    """
    for at, found in error.error_objects():
        code = found.get("code")
        if isinstance(code, str) and code and not _CODE.fullmatch(code):
            near = _near(code)
            raise Broken(
                "capitals, digits and underscores",
                quote(code, 80),
                at=f"{at}/code",
                because=f"{quote(code, 70)} is not written as AdCP codes are; clients compare codes letter by letter",
                fix=f"send {near}" if near else "",
            )
    _nothing_without(error)


@rule("adcp.errors.known-code", level=Level.SHOULD, source=adcp(TRANSPORT_ERRORS, "vendor-codes"))
def error_code_is_known(error: Answer) -> None:
    """An error code is a standard one of some release, or a vendor's own in the form X_VENDOR_CODE.

    Take the nearest standard code, or name your own X_YOURNAME_CODE and set recovery, so that clients know what to do.
    """
    for at, found in error.error_objects():
        code = found.get("code")
        if not isinstance(code, str) or not _CODE.fullmatch(code) or len(code) > MAX_CODE_LENGTH:
            continue
        own = _CONTROLLER_CODES if error.task.name == "comply_test_controller" else frozenset()
        if code not in ERROR_CODES and code not in own and not _VENDOR_CODE.fullmatch(code):
            near = _near(code)
            raise Broken(
                "a standard code, or X_VENDOR_CODE",
                quote(code, 80),
                at=f"{at}/code",
                because=f"{quote(code, 70)} is none of the standard codes that this harness knows, and no vendor's own",
                fix=f"{near} may be what is meant; else name it X_YOURNAME_CODE and set recovery"
                if near
                else "",
            )
    _nothing_without(error)


@rule("adcp.errors.layers-agree", level=Level.SHOULD, source=adcp(ERROR_HANDLING, "two-layer-model"))
def layers_agree(error: Answer) -> None:
    """Where an error is given more than once, the codes are the same.

    Take adcp_error, errors[0] and the text from one error object.
    """
    codes = dict(codes_of(error))
    if len(set(codes.values())) > 1:
        raise Broken(
            "one code",
            ", ".join(f"{place}: {quote(code, 70)}" for place, code in codes.items()),
            at=error.in_payload(),
            because="the places that give the error disagree on its code; clients believe the first one they read",
        )


@rule("adcp.errors.recovery", level=Level.MUST, source=_RECOVERY)
def recovery_is_a_known_class(error: Answer) -> None:
    """recovery, where it is sent, is transient, correctable or terminal.

    Send transient (retry later), correctable (change the request) or terminal (a person has to act).
    """
    for at, found in error.error_objects():
        value = found.get("recovery")
        if "recovery" in found and not (isinstance(value, str) and value in set(Recovery)):
            raise Broken(
                "transient, correctable or terminal",
                quote(value, 80),
                at=f"{at}/recovery",
                because=f"clients do not know recovery {quote(value, 40)} and treat the error as terminal: they give up",
            )
    _nothing_without(error)


@rule("adcp.errors.recovery-present", level=Level.SHOULD, source=_RECOVERY)
def recovery_is_sent(error: Answer) -> None:
    """An error says how it can be recovered from.

    Add "recovery". The schema does not require it, the error-handling page does: so this is an advisory.
    """
    for at, found in error.error_objects():
        if "recovery" not in found:
            code = _standard(found.get("code"))
            raise Broken(
                "recovery",
                "no such member",
                at=f"{at}/recovery",
                because="recovery is missing, and the specification's pages disagree on what a client then assumes",
                fix=f'add "recovery": "{code.recovery}", the class of {code.name}' if code else "",
            )
    _nothing_without(error)


@rule("adcp.errors.recovery-class", level=Level.SHOULD, source=_RECOVERY)
def recovery_fits_the_code(error: Answer) -> None:
    """Recovery is the standard class of the code.

    Send the class that the error-code enum gives, or another code.
    """
    for at, found in error.error_objects():
        code = _standard(found.get("code"))
        value = found.get("recovery")
        if code is not None and isinstance(value, str) and value in set(Recovery) and value != code.recovery:
            raise Broken(
                str(code.recovery),
                quote(value),
                at=f"{at}/recovery",
                because=f"{code.name} is {code.recovery} by the standard, and this error says {value}: clients follow what it says",
            )
    _nothing_without(error)


@rule("adcp.errors.retry-after", level=Level.MUST, source=_RETRY)
def retry_after_is_in_range(error: Answer) -> None:
    """retry_after, where it is sent, is a number of seconds from 1 to 3600; a whole number from AdCP 3.2.

    Send whole seconds between 1 and 3600, as a number, not a string or a date.
    """
    whole = numbers(error.release) >= (3, 2)
    for at, found in error.error_objects():
        if "retry_after" not in found:
            continue
        value = found["retry_after"]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 1 <= value <= 3600:
            because = f"retry_after is {quote(value, 40)}: clients clamp what is out of range, and ignore what is no number"
        elif whole and value != int(value):
            because = f"retry_after is {quote(value, 40)}, and from AdCP 3.2 it is a whole number"
        else:
            continue
        raise Broken(
            "whole seconds from 1 to 3600" if whole else "seconds from 1 to 3600",
            quote(value, 80),
            at=f"{at}/retry_after",
            because=because,
        )
    _nothing_without(error)


@rule("adcp.errors.rate-limit-delay", level=Level.SHOULD, source=_RETRY)
def rate_limit_says_how_long(error: Answer) -> None:
    """RATE_LIMITED says in retry_after how long to wait.

    Add "retry_after": the seconds until the next request will be taken.
    """
    for at, found in error.error_objects():
        if found.get("code") == "RATE_LIMITED" and "retry_after" not in found:
            raise Broken(
                "retry_after",
                "no such member",
                at=f"{at}/retry_after",
                because="the error says to come back later and not when; clients guess, most of them too early",
            )
    _nothing_without(error)


@rule("adcp.errors.size", level=Level.MUST, source=adcp(TRANSPORT_ERRORS, "client-detection-order"))
def error_object_is_small_enough(error: Answer) -> None:
    """adcp_error serialises to at most 4096 characters; clients discard a longer one.

    Shorten message and details; put the rest behind a link or into your log.
    """
    if not isinstance(error.adcp_error, Mapping):
        raise NotApplicable("no adcp_error object came")
    units = stringify_length(error.adcp_error)
    if units > MAX_ERROR_LENGTH:
        raise Broken(
            f"at most {MAX_ERROR_LENGTH} UTF-16 units",
            f"{units} units",
            at=error.adcp_error_pointer,
            because=f"the error object has {units} characters as JSON; clients discard it whole, code and all",
        )


@rule("adcp.errors.details-size", level=Level.SHOULD, source=_ERROR)
def details_are_short(error: Answer) -> None:
    """Details stays under 500 characters.

    Keep rejected_value and accepted_values; leave out what a buyer cannot use.
    """
    for at, found in error.error_objects():
        details = found.get("details")
        if isinstance(details, Mapping) and (size := stringify_length(details)) >= MAX_DETAILS:
            raise Broken(
                f"less than {MAX_DETAILS} characters",
                f"{size} characters",
                at=f"{at}/details",
                because=f"details has {size} characters, and buyers' agents carry it through their context",
            )
    _nothing_without(error)


_NO_NULL = "leave a member out that has no value (Pydantic: model_dump(exclude_none=True))"
_Check = tuple[str, Callable[[Any], bool]]
_MEMBERS: dict[str, _Check] = {
    "field": ("a string", lambda value: isinstance(value, str)),
    "suggestion": ("a string", lambda value: isinstance(value, str)),
    "details": ("an object", lambda value: isinstance(value, Mapping)),
    "issues": ("an array of objects", lambda value: isinstance(value, list)),
}
_MEMBERS_3_1: dict[str, _Check] = {
    "source": ("producer or sdk", lambda value: value in ("producer", "sdk")),
    "sdk_id": ("a string", lambda value: isinstance(value, str)),
}


@rule("adcp.errors.members", level=Level.MUST, source=_ERROR)
def error_members_have_their_types(error: Answer) -> None:
    """The optional members of an error have their types: field and suggestion strings, details an object, issues an array.

    Give each member the type that core/error.json says, or leave it out.
    """
    members = _MEMBERS | (_MEMBERS_3_1 if numbers(error.release) >= (3, 1) else {})
    for at, found in error.error_objects():
        for name, (expected, is_right) in members.items():
            if name in found and not is_right(found[name]):
                raise Broken(
                    expected,
                    quote(found[name]),
                    at=f"{at}/{name}",
                    because=f"`{name}` of the error is not {expected}; typed clients refuse the whole error",
                    fix=_NO_NULL if found[name] is None else "",
                )
        issues = found.get("issues")
        for index, issue in enumerate(issues if isinstance(issues, list) else []):
            missing = [name for name in ("pointer", "message", "keyword") if not _has_string(issue, name)]
            if missing:
                raise Broken(
                    "pointer, message and keyword, all strings",
                    quote(issue),
                    at=f"{at}/issues/{index}",
                    because=f"an entry of issues[] lacks {' and '.join(missing)}",
                )
    _nothing_without(error)


@rule("adcp.errors.issue-field", level=Level.MUST, source=_ERROR, since="3.1")
def field_names_the_first_issue(error: Answer) -> None:
    """Field names the same place as issues[0].pointer, where both are sent.

    Write the pointer of the first issue as a path: /packages/0/budget is packages[0].budget.
    """
    for at, found in error.error_objects():
        issues, field = found.get("issues"), found.get("field")
        first = issues[0] if isinstance(issues, list) and issues else None
        if not _has_string(first, "pointer") or not isinstance(field, str):
            continue
        pointer = first["pointer"]  # type: ignore[index]
        if _plain_pointer(pointer) != _plain_path(field):
            raise Broken(
                f"the place that {quote(pointer, 80)} points to",
                quote(field, 80),
                at=f"{at}/field",
                because="field and issues[0].pointer name different places; a form would mark the wrong input",
            )
    _nothing_without(error)


def _standard(code: Any) -> ErrorCode | None:
    return ERROR_CODES.get(code) if isinstance(code, str) else None


def _nothing_without(error: Answer) -> None:
    """A rule about error objects has nothing to say where none came."""
    if next(error.error_objects(), None) is None:
        raise NotApplicable("no AdCP error object came")


def _has_string(value: object, name: str) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get(name), str)


def _plain_pointer(pointer: str) -> str:
    """Return a JSON pointer with dots: packages.0.budget."""
    steps = pointer.removeprefix("#").split("/")[1:]
    return ".".join(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _plain_path(path: str) -> str:
    """Return the same of `packages[0].budget`, also where it is written as JSONPath or as a pointer."""
    if path.startswith("/"):
        return _plain_pointer(path)
    return re.sub(r"\[['\"]?([^\[\]]*?)['\"]?\]", r".\1", path.removeprefix("$")).strip(".")


def _near(code: str) -> str | None:
    shouted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", code[:64]).upper().replace("-", "_").replace(" ", "_")
    return next(iter(get_close_matches(shouted, ERROR_CODES, n=1, cutoff=0.8)), None)
