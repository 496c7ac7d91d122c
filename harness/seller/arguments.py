"""Checks of a task's arguments: its input schema, moments in time, and credentials that do not belong there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, cast

from .errors import AdcpError
from .rpc import Json

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MAX_ISSUES = 3  # keeps an error object far below the size that clients drop

# Names of arguments that hold a credential.
CREDENTIALS = frozenset(
    {"access_token", "api_key", "authorization", "bearer", "client_secret", "jwk", "jwks", "jwks_uri"}
)
CREDENTIALS_BELONG_HERE = "authentication"  # of a webhook


class Validator:
    """An input schema, ready to check arguments."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> Draft202012Validator:
        # Imported with the first call: a third of the time that a start would take.
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self._schema)

    def check(self, arguments: Json) -> None:
        """Return where the arguments fit.

        Raises:
            AdcpError: INVALID_REQUEST with `field` and `issues`.
        """
        issues = sorted(
            map(_issue, self._validator.iter_errors(arguments)), key=lambda issue: str(issue["pointer"])
        )
        if issues:
            field = _field(issues[0]["pointer"])
            message = f"{field or 'The request'} {issues[0]['message']}."
            raise AdcpError("INVALID_REQUEST", message, field=field, issues=issues[:MAX_ISSUES])


def refuse_credentials(arguments: Json) -> None:
    """Raise AdcpError where an argument's name says that it holds a credential."""
    for pointer in _credentials(arguments, ""):
        raise AdcpError("CREDENTIAL_IN_ARGS", "Credentials belong in HTTP headers.", field=_field(pointer))


def moment(value: str, field: str) -> datetime:
    """Read a date and time that has an offset.

    Raises:
        AdcpError: INVALID_REQUEST that names the field.
    """
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise AdcpError("INVALID_REQUEST", f"{field} is no date and time.", field=field) from None
    if moment.tzinfo is None:
        raise AdcpError("INVALID_REQUEST", f"{field} needs an offset such as Z.", field=field)
    return moment


def _credentials(value: object, pointer: str) -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        if key in CREDENTIALS:
            yield f"{pointer}/{key}"
        elif key != CREDENTIALS_BELONG_HERE:
            yield from _credentials(child, f"{pointer}/{key}")


def _issue(error: ValidationError) -> Json:
    path = list(error.absolute_path)
    keyword = str(error.validator)
    if keyword == "required":
        instance = cast("Json", error.instance)
        missing = next(name for name in cast("list[str]", error.validator_value) if name not in instance)
        return {"pointer": _pointer([*path, missing]), "message": "is required", "keyword": keyword}
    # jsonschema's own message quotes the value, which may be long or secret.
    messages = {"type": f"has to be of type {error.validator_value}", "enum": "is none of the allowed values"}
    return {
        "pointer": _pointer(path),
        "message": messages.get(keyword, f"breaks {keyword}"),
        "keyword": keyword,
    }


def _pointer(path: list[str | int]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _field(pointer: str) -> str:
    """Write a JSON Pointer as the dotted path of an error's `field`."""
    field = ""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        field += f"[{name}]" if name.isdigit() else f".{name}" if field else name
    return field
