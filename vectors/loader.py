"""Reads vector files: our own and, in the same format, those that AdCP publishes or a user writes.

`vectors.schema.json` is the format. A big text is built when it is asked for, so loading costs no memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, ValidationError
from pytest_adcp.harness.jsontext import ObjectionKind, parse, pointer

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

HERE = Path(__file__).parent
SCHEMA = HERE / "vectors.schema.json"
LONGEST_TEXT = 16 * 1024 * 1024  # characters of a built text: a typing error must not eat the memory


class VectorError(ValueError):
    """A vector file that cannot be used; one line that names file, place and reason."""


class Kind(StrEnum):
    """What a vector is about."""

    SUCCESS = "success"
    ERROR = "error"


class Transport(StrEnum):
    """What carries the answer."""

    MCP = "mcp"
    A2A = "a2a"


class Untold(Enum):
    """Stands for what was not said, where null says something."""

    UNTOLD = "untold"


UNTOLD = Untold.UNTOLD
_A2A_PATHS = {"artifact", "status_message"}


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """One answer and what a client must make of it.

    Attributes:
        id: unique in its file.
        description: one sentence.
        kind: whether `expected` is the payload of a success or an AdCP error.
        transport: what the answer came over.
        path: where the expected thing stands; where nothing is expected, what the vector is about.
        expected_action: what the client does with the error; None where the vector says nothing.
        expected_retry_after: whole seconds to wait, None for a backoff of the client's own; UNTOLD where the vector says nothing.
        refused: whether the client must refuse the answer (throw), where finding nothing in it is not enough.
        requirement: the rule that it is for, without `client.`; None where the answer itself tells.
        limit: UTF-16 units of text that the client is configured to read; None: its default.
        advisory: whether the words of the specification leave room, and only its reference code settles the matter.
        file: name of the file that it came from.
    """

    id: str
    description: str
    kind: Kind
    transport: Transport
    path: str
    expected_action: str | None
    expected_retry_after: int | Untold | None
    refused: bool
    requirement: str | None
    limit: int | None
    advisory: bool
    file: str
    _response: Any = field(repr=False)
    _expected: Any = field(repr=False)

    @property
    def response(self) -> dict[str, Any]:
        """What the client is given; built anew on each access."""
        return _built_object(self._response)

    @property
    def expects_nothing(self) -> bool:
        """Whether nothing may be extracted."""
        return self._expected is None

    @property
    def expected(self) -> dict[str, Any] | None:
        """The payload or error that it must extract, or None; built anew on each access."""
        return None if self._expected is None else _built_object(self._expected)


def load(path: Path) -> list[Vector]:
    """Read a vector file.

    Raises:
        VectorError: it cannot be read, or is not in the format.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise VectorError(f"{path}: {error.strerror or error}") from None
    parsed = parse(source)
    if not parsed.ok:
        raise VectorError(f"{path}: {parsed.error}")
    for objection in parsed.objections:
        if objection.kind is not ObjectionKind.LONE_SURROGATE:  # that may be what a vector is about
            raise VectorError(f"{path}: {objection.pointer or '/'}: {objection.detail}")
    for complaint in _validator().iter_errors(parsed.value):
        place = pointer(*complaint.absolute_path) or "/"
        raise VectorError(f"{path}: {place}: {_reason(complaint)}{_named(parsed.value, complaint)}")
    vectors = [_vector(path, index, record) for index, record in enumerate(parsed.value["vectors"])]
    _check_ids(vectors)
    return vectors


@cache
def _own() -> tuple[Vector, ...]:
    files = sorted(file for file in HERE.glob("*.json") if file != SCHEMA)
    vectors = tuple(vector for file in files for vector in load(file))
    _check_ids(vectors)
    return vectors


def own() -> list[Vector]:
    """Return the vectors that come with this package."""
    return list(_own())


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # takes longer to import than all else that a run needs

    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _vector(path: Path, index: int, record: Mapping[str, Any]) -> Vector:
    kind = Kind.ERROR if "expected_error" in record else Kind.SUCCESS
    expected = "expected_error" if kind is Kind.ERROR else "expected_data"
    vector = Vector(
        id=record["id"],
        description=record["description"],
        kind=kind,
        transport=_transport(record),
        path=record["path"],
        expected_action=record.get("expected_action"),
        expected_retry_after=record.get("expected_retry_after", UNTOLD),
        refused="expected_error_type" in record,
        requirement=record.get("requirement"),
        limit=record.get("limit"),
        advisory=record.get("advisory", False),
        file=path.name,
        _response=record["response"],
        _expected=record[expected],
    )
    for key in ("response", expected):
        try:
            if record[key] is not None:
                _built_object(record[key])
        except VectorError as error:
            raise VectorError(
                f"{path}: {pointer('vectors', index, key)}: {error} (vector {vector.id})"
            ) from None
    return vector


def _transport(record: Mapping[str, Any]) -> Transport:
    of_a2a = "status" in record or record["path"] in _A2A_PATHS
    return Transport(record.get("transport", Transport.A2A if of_a2a else Transport.MCP))


def _check_ids(vectors: Iterable[Vector]) -> None:
    seen: dict[str, Vector] = {}
    for vector in vectors:
        first = seen.setdefault(vector.id, vector)
        if first is not vector:
            raise VectorError(f"{vector.file}: the id {vector.id!r} stands twice (first in {first.file})")


# -- building -----------------------------------------------------------------------------------------------


def _built_object(value: Any) -> dict[str, Any]:
    built = _build(value)
    if not isinstance(built, dict):
        raise VectorError("what is built here must be an object")
    return built


def _build(value: Any) -> Any:
    """Replace each of the three forms by what it stands for. The schema has been checked, and the file is not deep."""
    if isinstance(value, list):
        return [_build(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$json" in value:
        parsed = parse(_text(value["$json"]))
        if not parsed.ok:
            raise VectorError(f"$json: {parsed.error}")
        return parsed.value
    if "$repeat" in value or "$concat" in value:
        return _text(value)
    return {name: _build(member) for name, member in value.items()}


def _text(form: Any) -> str:
    if isinstance(form, str):
        return form
    if "$repeat" in form:
        unit, times = str(form["$repeat"][0]), int(form["$repeat"][1])
        if len(unit) * times > LONGEST_TEXT:
            raise VectorError(f"$repeat: builds more than {LONGEST_TEXT:,} characters")
        return unit * times
    text = ""
    for part in form["$concat"]:
        text += _text(part)
        if len(text) > LONGEST_TEXT:
            raise VectorError(f"$concat: builds more than {LONGEST_TEXT:,} characters")
    return text


# -- complaints ---------------------------------------------------------------------------------------------


def _reason(error: ValidationError) -> str:
    """Say in our own words what is wrong, without quoting a value that may be megabytes long."""
    keyword, asked = str(error.validator), _asked(error)
    instance: Any = error.instance
    match keyword:
        case "required":
            missing = next(name for name in asked if name not in instance)
            also = " (or expected_error)" if missing == "expected_data" else ""
            return f"{missing!r}{also} is missing{_lookalike(instance, _known_names())}"
        case "enum" | "const":
            near = get_close_matches(str(instance)[:100], map(str, asked), 1)
            return f"must be {' or '.join(map(str, asked))}" + (f"; nearest: {near[0]!r}" if near else "")
        case "type":
            return f"must be {' or '.join(asked)}"
        case "additionalProperties":
            return f"may hold $repeat or $concat only{_lookalike(instance, ['$repeat', '$concat'])}"
        case "None":  # the schema is false
            return "expected_data may not stand beside expected_error"
        case _:
            return f"breaks {keyword}: {str(asked[0])[:100]}"


def _asked(error: ValidationError) -> list[Any]:
    """Return what a keyword asks for, as a list."""
    value: Any = error.validator_value
    return value if isinstance(value, list) else [value]


def _known_names() -> list[str]:
    schema: Any = _validator().schema
    return [*schema["properties"], *schema["$defs"]["vector"]["properties"]]


def _lookalike(instance: Any, known: list[str]) -> str:
    """Name the key that was probably meant to be another one."""
    for key in instance:
        near = get_close_matches(key[:100], known, 1)
        if near and key not in known:
            return f"; {key[:100]!a} looks like {near[0]!r}"
    return ""


def _named(document: Any, error: ValidationError) -> str:
    """Add the id of the vector that a complaint is about, where it has one."""
    path = list(error.absolute_path)
    if len(path) < 2 or path[0] != "vectors":
        return ""
    record = document["vectors"][path[1]]
    name = record.get("id") if isinstance(record, dict) else None
    return f" (vector {name[:100]!a})" if isinstance(name, str) else ""
