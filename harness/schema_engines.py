"""The two engines that validate, behind one face: jsonschema-rs where it is installed, else jsonschema.

An engine only says which keyword of which schema an instance broke. What that means to a seller is said once, for
both, in schema_words.py. Neither ever fetches what a schema refers to: all of it is handed over.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from .schema_formats import FORMATS, ecma_pattern

Path = tuple[str | int, ...]
_LONGEST_MATCHED = 4096  # characters of a string that Python's backtracking `re` is let loose on


@dataclass(frozen=True, slots=True)
class Failure:
    """A keyword that an instance broke."""

    at: Path  # of the value in the instance
    keyword: Path  # of the keyword, from the root schema on; `$ref` may be left out of it
    branches: tuple[
        tuple[Failure, ...], ...
    ] = ()  # what is wrong with each branch of an anyOf or oneOf that none fits


class Engine(Protocol):
    """A validator of one schema."""

    def is_valid(self, instance: Any) -> bool:
        """Whether an instance is valid."""

    def failures(self, instance: Any) -> Iterator[Failure]:
        """Yield what an instance breaks, in any order, a keyword perhaps several times."""


Factory = Callable[[str, Mapping[str, Any]], Engine]
"""Takes the address of a schema and all documents that it reaches, by address."""


@cache
def best_engine() -> Factory:
    """Return jsonschema-rs, and jsonschema on platforms that it has no wheel for."""
    try:
        importlib.import_module("jsonschema_rs")
    except ImportError:
        return PythonEngine
    return RustEngine


class RustEngine:
    """jsonschema-rs: some hundred times as fast. It overflows the stack on very deep instances (schemas.py cuts them)."""

    def __init__(self, url: str, documents: Mapping[str, Any]) -> None:
        import jsonschema_rs

        registry = jsonschema_rs.Registry(list(documents.items()), draft=jsonschema_rs.Draft7)
        # Without `offline` it fetches http and file references that the registry lacks.
        self._validator = jsonschema_rs.Draft7Validator(
            {"$ref": url}, registry=registry, offline=True, formats=dict(FORMATS), validate_formats=True
        )

    def is_valid(self, instance: Any) -> bool:
        """Whether an instance is valid."""
        return self._validator.is_valid(instance)

    def failures(self, instance: Any) -> Iterator[Failure]:
        """Yield what an instance breaks."""
        return map(_of_rust, self._validator.iter_errors(instance))


def _of_rust(error: Any) -> Failure:
    context: Iterable[Iterable[Any]] = getattr(error.kind, "context", None) or ()
    branches = tuple(tuple(map(_of_rust, branch)) for branch in context)
    return Failure(tuple(error.instance_path), tuple(error.evaluation_path), branches)


class PythonEngine:
    """jsonschema, with regular expressions and formats as jsonschema-rs has them."""

    def __init__(self, url: str, documents: Mapping[str, Any]) -> None:
        from jsonschema import FormatChecker
        from referencing import Registry
        from referencing.jsonschema import DRAFT7

        checker = FormatChecker(formats=())
        for name, is_right in FORMATS.items():
            checker.checks(name)(_only_strings(is_right))
        # For a document that names its dialect jsonschema would change over to its own idea of that dialect.
        plain = {
            address: {key: value for key, value in document.items() if key != "$schema"}
            for address, document in documents.items()
        }
        resources = ((address, DRAFT7.create_resource(document)) for address, document in plain.items())
        registry: Registry[Any] = Registry().with_resources(resources).crawl()
        self._validator = _dialect()({"$ref": url}, registry=registry, format_checker=checker)

    def is_valid(self, instance: Any) -> bool:
        """Whether an instance is valid."""
        return bool(self._validator.is_valid(instance))

    def failures(self, instance: Any) -> Iterator[Failure]:
        """Yield what an instance breaks."""
        return map(_of_python, self._validator.iter_errors(instance))


def _of_python(error: Any) -> Failure:
    branches: dict[int, list[Failure]] = {}
    for inner in error.context:
        branches.setdefault(inner.relative_schema_path[0], []).append(_of_python(inner))
    ordered = tuple(tuple(branches[index]) for index in sorted(branches))
    return Failure(tuple(error.absolute_path), tuple(error.absolute_schema_path), ordered)


@cache
def _dialect() -> Any:
    from jsonschema import Draft7Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not _matches(wanted, instance):
            yield ValidationError("pattern")

    def pattern_properties(
        validator: Any, wanted: Mapping[str, Any], instance: Any, _: Any
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for expression, schema in wanted.items():
                for name, value in instance.items():
                    if _matches(expression, name):
                        yield from validator.descend(value, schema, path=name, schema_path=expression)

    def additional_properties(
        validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for name in additional_members(instance, schema):
                if wanted is False:
                    yield ValidationError("additionalProperties")
                    return
                yield from validator.descend(instance[name], wanted, path=name)

    dialect: Any = extend(  # type: ignore[no-untyped-call]
        Draft7Validator,
        {
            "pattern": pattern,
            "patternProperties": pattern_properties,
            "additionalProperties": additional_properties,
        },
    )
    descend = dialect.descend

    def descend_and_say_where(
        self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, resolver: Any = None
    ) -> Iterator[ValidationError]:
        """Go into a schema; jsonschema's own way forgets where a schema stands that is false."""
        if schema is not False:
            yield from descend(self, instance, schema, path, schema_path, resolver)
            return
        error = ValidationError("false")
        error.path.extend([] if path is None else [path])
        error.schema_path.extend([] if schema_path is None else [schema_path])
        yield error

    dialect.descend = descend_and_say_where
    return dialect


def additional_members(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the members of an object that neither `properties` nor `patternProperties` of its schema names."""
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [
        name
        for name in instance
        if name not in named and not any(_matches(expression, name) for expression in patterns)
    ]


def _matches(pattern: str, text: str) -> bool:
    """Whether a text matches; a very long one is taken to, since a hostile one could take minutes to say no."""
    return len(text) > _LONGEST_MATCHED or ecma_pattern(pattern).search(text) is not None


def _only_strings(is_right: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or is_right(value)
