"""Faults of the AdCP error object."""

from __future__ import annotations

import json
from collections.abc import Callable

from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.options import Release
from pytest_adcp.harness.seller.rpc import Json

from .failures import FUTURE_MAJOR, UNREFUSED_VERSIONS
from .model import Fault, on_failure, rules

RECOVERY = rules("adcp.errors.recovery")
RETRY_AFTER = rules("adcp.errors.retry-after")
MEMBERS = rules("adcp.errors.members")


def _edited(edit: Callable[[Json], Json]) -> Hooks:
    """Change the error object everywhere it stands: in adcp_error, in errors[] and in the text."""

    def change(result: Json) -> Json:
        payload = result["structuredContent"]
        error = edit(payload["adcp_error"])
        return {
            **result,
            "content": [{"type": "text", "text": json.dumps({"adcp_error": error})}, *result["content"][1:]],
            "structuredContent": {**payload, "adcp_error": error, "errors": [error]},
        }

    return on_failure(change)


def with_members(**members: object) -> Hooks:
    """Set members of the error object everywhere it stands; an object is added to what is there."""
    return _edited(
        lambda error: {**error, **{name: _added(error.get(name), members[name]) for name in members}}
    )


def _added(old: object, new: object) -> object:
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new


def _without(name: str) -> Hooks:
    return _edited(lambda error: {key: value for key, value in error.items() if key != name})


FAULTS = (
    Fault(
        "error-message-absent", "Errors have no message.", _without("message"), rules("adcp.errors.message")
    ),
    Fault(
        "error-code-lower-case",
        "Codes are in lower case.",
        _edited(lambda error: {**error, "code": error["code"].lower()}),
        rules("adcp.errors.code"),
    ),
    Fault(
        "error-code-unknown",
        "Codes are of the seller's own making.",
        with_members(code="TIDE_TOO_LOW"),
        advises=rules("adcp.errors.known-code"),
    ),
    Fault(
        "error-code-unexpected",
        "A major version that does not exist is refused with another code than VERSION_UNSUPPORTED.",
        _edited(
            lambda error: {
                **error,
                "code": error["code"].replace("VERSION_UNSUPPORTED", "UNSUPPORTED_FEATURE"),
            }
        ),
        rules("adcp.errors.expected-code"),
        UNREFUSED_VERSIONS | rules("adcp.versions.prerelease"),
        calls=({**FUTURE_MAJOR, "error_codes": ["VERSION_UNSUPPORTED"]},),
    ),
    Fault("recovery-unknown", "recovery is of no class there is.", with_members(recovery="fatal"), RECOVERY),
    Fault(
        "recovery-missing",
        "Errors have no recovery.",
        _without("recovery"),
        advises=rules("adcp.errors.recovery-present"),
    ),
    Fault(
        "recovery-contradicts",
        "recovery is not that of the code.",
        _edited(
            lambda error: {
                **error,
                "recovery": "terminal" if error["recovery"] == "correctable" else "correctable",
            }
        ),
        advises=rules("adcp.errors.recovery-class"),
    ),
    Fault("retry-after-string", "retry_after is a string.", with_members(retry_after="30"), RETRY_AFTER),
    Fault("retry-after-a-day", "retry_after is a day.", with_members(retry_after=86_400), RETRY_AFTER),
    Fault(
        "retry-after-fraction",
        "retry_after is no whole number, as 3.2 wants it.",
        with_members(retry_after=1.5),
        RETRY_AFTER,
        needs={"release": Release.V3_2},
    ),
    Fault(
        "error-too-large",
        "Error objects are larger than clients read.",
        with_members(message="Something went wrong. " * 200),
        rules("adcp.errors.size"),
    ),
    Fault("error-details-string", "details is a string.", with_members(details="none"), MEMBERS),
    Fault("suggestion-array", "suggestion is an array.", with_members(suggestion=["Try again."]), MEMBERS),
    Fault(
        "error-details-large",
        "details is larger than sellers should make it.",
        with_members(details={"accepted_values": [f"value-{number}" for number in range(60)]}),
        advises=rules("adcp.errors.details-size"),
    ),
    Fault(
        "error-field-disagrees",
        "field does not name what the first issue points to.",
        with_members(
            field="brief",
            issues=[
                {"pointer": "/buying_mode", "message": "is none of the allowed values", "keyword": "enum"}
            ],
        ),
        rules("adcp.errors.issue-field"),
    ),
)
