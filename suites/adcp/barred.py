"""Requests that a seller would not look at, and what an error says in short."""

from __future__ import annotations

from pytest_adcp.harness.rules import Blocked
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote

from .refusals import code, is_unrelated

_RIGHTS = frozenset({"AUTHORIZATION_REQUIRED", "PERMISSION_DENIED", "SCOPE_INSUFFICIENT"})


def not_put_off(error: Answer) -> None:
    """Let errors pass that would not have met any other request as well.

    Raises:
        Blocked: the seller asks for other credentials or for patience, so what it makes of the request is not known.
    """
    if is_unrelated(error):
        raise Blocked(f"the request was refused before it was looked at: {shown(error)}")


def not_barred(error: Answer) -> None:
    """Let errors pass that are about the request, and not about what the caller may do.

    Raises:
        Blocked: what the seller makes of the request is not known.
    """
    not_put_off(error)
    if code(error) in _RIGHTS:
        raise Blocked(f"the request was refused for want of rights: {shown(error)}")


def shown(error: Answer) -> str:
    """Quote what an error says."""
    if error.adcp_error is not None or error.errors:
        return quote(error.adcp_error if error.adcp_error is not None else error.errors[0])
    if error.result is None:
        return f"JSON-RPC error {quote(error.message.get('error'), 160)}"
    return quote(error.texts[0].text if error.texts else error.result)
