"""adcp.yaml: read, checked against its schema, with a line for every complaint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import OPTIONS
from .text import quote, safe
from .yamlfile import Place, YamlError, read

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

SCHEMA_FILE = Path(__file__).with_name("config.schema.json")

# Keys that people write when they mean to put the secret itself into the file, and what to write instead.
_LITERAL_SECRETS = {
    "access_token": "bearer_env",
    "api_key": "bearer_env",
    "apikey": "bearer_env",
    "authorization": "bearer_env",
    "basic": "basic_env",
    "bearer": "bearer_env",
    "bearer_token": "bearer_env",
    "client_id": "client_id_env",
    "client_secret": "client_secret_env",
    "cookie": "header_env",
    "credentials": "basic_env",
    "header": "header_env",
    "headers": "header_env",
    "password": "basic_env",
    "secret": "bearer_env",
    "token": "bearer_env",
    "user": "basic_env",
    "username": "basic_env",
}
_TYPES = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}
_NO_ECHO = ("auth", "server_url", "url", "proxy", "server")  # below these a value may be a secret


class ConfigError(ValueError):
    """A file that cannot be used. The text has file, line, key and reason, and nothing secret."""


@dataclass(frozen=True, slots=True)
class Config:
    """A valid file: its values as they stand there, and where each stands."""

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[Place, int]

    def get(self, *keys: str) -> Any:
        """Return the value behind nested keys; None where there is none."""
        value: Any = self.values
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def where(self, *place: str | int) -> str:
        """Return the file, line and key of a value, for messages: `adcp.yaml, line 7, calls[0].expect`."""
        return _where(self.path, self.lines.get(place), place)


def load(path: Path, schema_file: Path = SCHEMA_FILE) -> Config:
    """Read a configuration file, or another one that a schema describes in the same way (titles for messages).

    Raises:
        ConfigError: it is no YAML, or not what the schema asks for.
    """
    return checked(path, json.loads(schema_file.read_bytes()), {})


def checked(path: Path, schema: Mapping[str, Any], empty: Any) -> Config:
    """Read a YAML file that is to match a schema; `empty` is what an empty file says.

    Raises:
        ConfigError: it is no YAML, or not what the schema asks for.
    """
    try:
        document = read(path)
    except YamlError as error:
        raise ConfigError(f"{_where(path, error.line, error.place)}: {error.reason}") from None
    values = empty if document.value is None else document.value
    complaints = [
        (_line(document.lines, place), rank, place, reason)
        for error in _validator(schema).iter_errors(values)
        for rank, place, reason in _complaints(error)
    ]
    if complaints:
        line, _, place, reason = min(complaints, key=lambda complaint: complaint[:2])
        raise ConfigError(f"{_where(path, line, place)}: {reason}")
    return Config(path, values, document.lines)


def _validator(schema: Mapping[str, Any]) -> Validator:
    # Imported here, since it takes longer than all else that a run without adcp.yaml needs.
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def match(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
        # As JSON Schema means it: in Python "$" would also match before a last line break.
        if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
            yield ValidationError(f"does not match {pattern}")

    validator: Validator = extend(Draft202012Validator, {"pattern": match})(schema)  # type: ignore[no-untyped-call]
    return validator


def _complaints(error: ValidationError) -> Iterator[tuple[int, Place, str]]:
    """Yield rank, place and reason: an unknown key (0) may be why another one is missing (1)."""
    place: Place = tuple(error.absolute_path)
    own = _own(place)
    value: Any = error.instance
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(schema["properties"])
        for key in set(value).difference(known):
            yield 0, (*place, key), _unknown(key, own, known)
    elif error.validator == "required":
        missing = [key for key in schema["required"] if key not in value]
        yield 1, place, f"the key {' and '.join(quote(key) for key in missing)} is missing"
    else:
        title = schema["title"] if place or schema["type"] == "array" else "a mapping of keys to values"
        choices = schema["enum"] if error.validator == "enum" else ()
        instead = _kind(value) if error.validator == "type" else _instead(value, own, choices)
        yield 1, place, f"must be {title}{instead}"


def _own(place: Place) -> Place:
    """Return a place as seen from the target of a fleet that it is in."""
    rest = place[1:] if place[:1] == ("targets",) else place
    return rest[1:] if rest and isinstance(rest[0], int) else place


def _kind(value: object) -> str:
    return f", not {_TYPES.get(type(value), 'empty')}"


def _instead(value: object, place: Place, choices: Sequence[object]) -> str:
    if place and place[0] in _NO_ECHO:
        hidden = place[0] == "auth" or place[:2] == ("server", "env")
        return "; a secret itself never stands in this file" if hidden else ""
    near = get_close_matches(str(value)[:100], [str(choice) for choice in choices], 1)
    return f", not {quote(value, 60)}" + (f"; did you mean {quote(near[0])}?" if near else "")


def _unknown(key: str, place: Place, known: list[str]) -> str:
    plain = key.lower().replace("-", "_").removeprefix("adcp_")
    if plain in _LITERAL_SECRETS and place[:1] in ((), ("auth",)):
        return (
            "a secret itself never stands in this file; put it into an environment variable and name that "
            f"in {'' if place else 'auth.'}{_LITERAL_SECRETS[plain]}"
        )
    elsewhere = [
        ".".join(option.key)
        for option in OPTIONS
        if option.key and option.key[0] in known and option.name.replace("-", "_") == plain
    ]
    near = get_close_matches(plain[:100], known, 1) or (elsewhere if not place else [])
    return (
        f"unknown key; did you mean {quote(near[0])}?"
        if near
        else f"unknown key; known here: {', '.join(known)}"
    )


def _line(lines: Mapping[Place, int], place: Place) -> int:
    return lines.get(place, 1)


def _where(path: Path, line: int | None, place: Place) -> str:
    shown = safe(shown_path(path))
    if line is not None:
        shown += f", line {line}"
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{_key(part)}" for part in place)
    return f"{shown}, {key.removeprefix('.')}" if key else shown


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else quote(key, 40)


def shown_path(path: Path) -> str:
    """Return a path as people write it: from the current folder where it lies below, else as it is."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
