"""AdCP payloads against AdCP's published schemas: what is wrong with one, in words that a seller can act on."""

from __future__ import annotations

import marshal
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .schema_bundle import ERROR_OBJECT, Bundle, BundleError
from .schema_engines import Factory, Path, best_engine
from .schema_places import Documents
from .schema_words import Problem, Wording
from .text import quote

SHOWN = 20  # problems of a payload that are put into words
_COUNTED = 500  # further ones are not even counted
_DEEPEST = 64  # levels that are judged: an engine in Rust dies of very deep instances, one in Python gives up
_LARGE = 4000  # values in an instance beyond which its long lists are looked at piece by piece
_PIECE = 10  # items of a long list that are looked at together
_PIECES = 1000
_VALUES = 3000  # in the pieces that are looked at together


class Kind(StrEnum):
    """What a payload is judged as."""

    RESPONSE = "response"
    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    ERROR = "error"  # one AdCP error object


class NoSchemaError(LookupError):
    """There is no schema for a payload of this kind; the text says why."""


@dataclass(frozen=True, slots=True)
class Problems:
    """What is wrong with a payload: the first ones in words, and how many there are."""

    shown: tuple[Problem, ...] = ()
    total: int = 0
    more: bool = False  # there are more than `total`


class Validators:
    """The schemas of a bundle, each made ready when it is first asked for."""

    def __init__(self, bundle: Bundle, engine: Factory | None = None) -> None:
        self._bundle = bundle
        self._engine = engine or best_engine()
        self._ready: dict[tuple[str, str], Validator] = {}

    @property
    def source(self) -> str:
        """Where the schemas come from, as "adcp 9.2.0"."""
        return self._bundle.source

    @property
    def versions(self) -> Mapping[str, str]:
        """The version that each release is judged with: 3.1 by 3.1.27."""
        return {name: release.version for name, release in self._bundle.releases.items()}

    def for_task(self, release: str, task: str, kind: Kind) -> Validator:
        """Return what judges a task's payload of a kind.

        Raises:
            NoSchemaError: the release is not in the bundle, or it has no schema for this.
            BundleError: the schema refers to something that the bundle lacks.
        """
        found = self._bundle.releases.get(release)
        if found is None:
            held = ", ".join(sorted(self._bundle.releases))
            raise NoSchemaError(
                f"the server serves AdCP {release}, and the schemas at hand ({self.source}) are those of {held}"
            )
        match kind:
            case Kind.ERROR:
                file: str | None = ERROR_OBJECT
            case Kind.RESPONSE:
                file = found.response(task)
            case _:
                file = found.interim(task, kind)
        if file is None:
            raise NoSchemaError(f"AdCP {release} has no schema for {task}, {kind}")
        if (release, file) not in self._ready:
            documents = found.closure(file)
            try:
                self._ready[release, file] = Validator(found.url(file), documents, self._engine)
            except Exception as error:  # each engine has errors of its own
                raise BundleError(f"the schema {file} of {self.source} cannot be used: {error}") from None
        return self._ready[release, file]


class Validator:
    """Judges payloads by one schema."""

    def __init__(self, url: str, documents: Mapping[str, Any], engine: Factory) -> None:
        self._url = url
        self._engine = engine(url, documents)
        self._wording = Wording(Documents(url, documents))

    def problems(self, value: Any) -> Problems:
        """Return what is wrong with a payload; never raises, whatever the payload is."""
        if self._is_valid(value):
            return Problems()
        value = _judged(value)
        if self._engine.is_valid(value):
            return Problems()
        found: dict[tuple[Path, str], Problem] = {}
        for piece in _pieces(value):
            for failure in self._engine.failures(piece.value):
                for problem in self._wording.problems(failure, piece.value):
                    same = replace(problem, path=piece.original(problem.path))
                    key = same.path, same.message
                    found[key] = min(same, found.get(key, same), key=lambda each: each.schema)
                if len(found) > _COUNTED:
                    break
            if len(found) > _COUNTED:
                break
        if not found:
            return Problems((self._somewhere(value),), 1)
        ordered = sorted(found.values(), key=_importance)
        total = min(len(ordered), _COUNTED)
        return Problems(tuple(ordered[:SHOWN]), total, more=len(ordered) > _COUNTED)

    def _is_valid(self, value: Any) -> bool:
        """Whether a payload is valid as it came; False also where an engine cannot take it."""
        try:
            # The fastest way to learn that a value is at most 2,000 levels deep: some engines die of far deeper ones.
            marshal.dumps(value)
            return self._engine.is_valid(value)
        except (
            ValueError,
            RecursionError,
        ):  # too deep, or half a surrogate pair, which is a UnicodeEncodeError
            return False

    def _somewhere(self, value: Any) -> Problem:
        words = "a list as a whole breaks its rules: it is too long, or holds the same twice"
        return Problem((), "list", words, "lists as the schema has them", quote(value), self._url)


def _importance(problem: Problem) -> tuple[Any, ...]:
    """Order problems for the reader: formats last, else from the root down and in the order of the payload."""
    steps = tuple((isinstance(token, str), str(token).zfill(9)) for token in problem.path)
    return problem.keyword == "format", len(steps), steps, problem.message


def _judged(value: Any, depth: int = 0) -> Any:
    """Return a payload as engines can take it.

    It is no deeper than they go, half a surrogate pair is U+FFFD, infinity the largest number, and NaN null, as
    JSON.stringify writes it.
    """
    if isinstance(value, str):
        whole = value.isascii()
        return value if whole else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else math.copysign(sys.float_info.max, value)
    if isinstance(value, dict):
        items = value.items() if depth < _DEEPEST else ()
        return {_judged(name): _judged(inner, depth + 1) for name, inner in items}
    if isinstance(value, list):
        return [_judged(inner, depth + 1) for inner in value] if depth < _DEEPEST else []
    return value


class _Piece:
    """A payload of which long lists are cut to a few items, so that not even the worst one takes long to explain."""

    def __init__(self, value: Any, start: int | None = None) -> None:
        self._moved: dict[Path, int] = {}
        self._left = _VALUES
        self.value = value if start is None else self._cut(value, (), start)

    def original(self, path: Path) -> Path:
        """Return the path in the whole payload of what stands at a path in this one."""
        if not self._moved:
            return path
        return tuple(
            token + self._moved.get(path[:index], 0) if isinstance(token, int) else token
            for index, token in enumerate(path)
        )

    def _cut(self, value: Any, path: Path, start: int) -> Any:
        if isinstance(value, dict):
            self._left -= len(value)
            return {name: self._cut(inner, (*path, name), start) for name, inner in value.items()}
        if not isinstance(value, list):
            return value
        first = start if len(value) > max(start, _PIECE) else 0
        self._moved[path] = first
        items = value[first : first + _PIECE]
        self._left -= len(items)
        if self._left < 0:
            items = items[:1]
        return [self._cut(inner, (*path, index), start) for index, inner in enumerate(items)]


def _pieces(value: Any) -> Iterable[_Piece]:
    """Return the payload itself, or pieces that hold each item of its long lists once."""
    size, longest, stack = 1, 0, [value]
    while stack:
        node = stack.pop()
        if isinstance(node, list | dict):
            size += len(node)
            stack.extend(node if isinstance(node, list) else node.values())
        if isinstance(node, list):
            longest = max(longest, len(node))
    if size <= _LARGE:
        return (_Piece(value),)
    return (_Piece(value, start) for start in range(0, min(longest, _PIECE * _PIECES), _PIECE))
