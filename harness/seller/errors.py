"""AdCP errors as the seller raises them."""

from __future__ import annotations

from .rpc import Json

# The recovery class of each code this seller uses: the specification's, and the same in every release.
RECOVERY = {
    "ACCOUNT_NOT_FOUND": "terminal",
    "BUDGET_TOO_LOW": "correctable",
    "CONFLICT": "transient",
    "CREATIVE_NOT_FOUND": "correctable",
    "CREDENTIAL_IN_ARGS": "terminal",
    "IDEMPOTENCY_CONFLICT": "correctable",
    "INVALID_REQUEST": "correctable",
    "INVALID_STATE": "correctable",
    "MEDIA_BUY_NOT_FOUND": "correctable",
    "NOT_CANCELLABLE": "correctable",
    "PACKAGE_NOT_FOUND": "correctable",
    "PRODUCT_NOT_FOUND": "correctable",
    "PROPOSAL_NOT_FOUND": "correctable",
    "REFERENCE_NOT_FOUND": "correctable",
    "SIGNAL_NOT_FOUND": "correctable",
    "UNSUPPORTED_FEATURE": "correctable",
    "VALIDATION_ERROR": "correctable",
    "VERSION_UNSUPPORTED": "correctable",
}


class AdcpError(Exception):
    """A task that failed; `members` are further members of the error object (field, issues, details ...)."""

    def __init__(self, code: str, message: str, **members: object) -> None:
        super().__init__(message)
        self._code = code
        self._message = message
        self._members = members

    def to_json(self) -> Json:
        """Return the error object."""
        return {
            "code": self._code,
            "message": self._message,
            "recovery": RECOVERY[self._code],
            **self._members,
        }


def not_found(kind: str, code: str, field: str) -> AdcpError:
    """Return the error for an unknown id: the same for every id, and without it."""
    return AdcpError(code, f"No such {kind}.", field=field)
