"""The credentials of a run: options name environment variables, and those hold the secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pytest

from . import values
from .given import Given, Givens
from .redact import looks_secret
from .target import AuthKind, CredentialError, Credentials, OAuthClient
from .text import quote
from .urls import UrlError, display_url

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Held:
    """Credentials of one kind, and the option or key that names them."""

    given: Given
    credentials: Credentials

    @property
    def authorizes(self) -> bool:
        """Whether they fill the Authorization header."""
        headers = [name.lower() for name, _ in self.credentials.extra]
        return self.credentials.kinds != (AuthKind.HEADER,) or "authorization" in headers


def held(givens: Givens, *, from_config: bool) -> list[Held]:
    """Read the credentials of a run; those that adcp.yaml names only with `from_config`.

    Raises:
        pytest.UsageError: a variable that is not set or empty, a value that no header can carry, or two kinds
            of Authorization at once.
    """
    found = list(_each(givens, from_config=from_config))
    authorizing = [item.given.origin for item in found if item.authorizes]
    if len(authorizing) > 1:
        raise pytest.UsageError(f"{' and '.join(authorizing)}: two kinds of Authorization at once; keep one")
    return found


def combined(found: list[Held]) -> Credentials:
    """Return credentials of different kinds as one."""
    result = Credentials()
    for item in found:
        one = item.credentials
        result = Credentials(
            bearer=one.bearer or result.bearer,
            basic=one.basic or result.basic,
            oauth=one.oauth or result.oauth,
            extra=one.extra or result.extra,
        )
    return result


def _each(givens: Givens, *, from_config: bool) -> Iterator[Held]:
    for name in ("bearer-env", "basic-env", "header-env"):
        given = givens.get(name)
        if given is None or (given.from_config and not from_config):
            continue
        if name == "bearer-env":
            yield _usable(given, [given.value], bearer=of_variable(given, given.value))
        elif name == "basic-env":
            yield _usable(given, [given.value], basic=of_variable(given, given.value))
        else:
            pairs = given.read(values.pairs)
            extra = tuple((header, of_variable(given, variable)) for header, variable in pairs)
            yield _usable(given, [variable for _, variable in pairs], extra=extra)
    oauth = givens.key("auth", "oauth") if from_config else None
    if oauth is not None:
        yield _usable(oauth, _client_variables(oauth), oauth=_client(oauth))


def _usable(given: Given, variables: list[str], **kinds: Any) -> Held:
    try:
        return Held(given, Credentials(**kinds))
    except CredentialError as error:
        raise given.fail(f"{error} (in {', '.join(variables)})") from None


def _client(given: Given) -> OAuthClient:
    url = given.value["token_url"]
    variables = _client_variables(given)
    client_id, client_secret = (of_variable(given, variable) for variable in variables)
    try:
        return OAuthClient(url, client_id, client_secret, given.value.get("scope", ""))
    except UrlError as error:
        raise given.fail(f"token_url {quote(display_url(url))} {error}") from None
    except CredentialError as error:
        raise given.fail(f"{error} (in {', '.join(variables)})") from None


def _client_variables(given: Given) -> list[str]:
    return [given.value["client_id_env"], given.value["client_secret_env"]]


def of_variable(given: Given, variable: str) -> str:
    """Return what an environment variable holds that an option or key names.

    Raises:
        pytest.UsageError: it is not set, or empty.
    """
    value = os.environ.get(variable)
    if not _VARIABLE.fullmatch(variable) or (value is None and looks_secret(variable)):
        # Not quoted: what looks like no name may be the secret itself.
        raise given.fail("wants the name of an environment variable; the secret itself is never written here")
    if value is None:
        near = get_close_matches(variable, os.environ, 1, 0.8)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise given.fail(f"the environment variable {variable} is not set{hint}")
    if not value:
        raise given.fail(f"the environment variable {variable} is empty")
    return value
