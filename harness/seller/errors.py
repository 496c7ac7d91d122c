"""AdCP errors as the seller raises them."""

from __future__ import annotations

from pytest_adcp.harness.error_codes import ERROR_CODES

from .rpc import Json


class AdcpError(Exception):
    """A task that failed with a standard code; `members` are further members of the error object (field, issues, details ...)."""

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
            "recovery": ERROR_CODES[self._code].recovery.value,
            **self._members,
        }


def not_found(kind: str, code: str, field: str) -> AdcpError:
    """Return the error for an unknown id: the same for every id, and without it."""
    return AdcpError(code, f"No such {kind}.", field=field)
