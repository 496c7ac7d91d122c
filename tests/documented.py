"""What docs/clients.md says of client libraries: its vectors, what libraries give, and its table of counts."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.library.command import CommandLibrary
from pytest_adcp.harness.library.records import Answer, Extracted, Question, Threw
from pytest_adcp.vectors.loader import Vector, load

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "examples" / "clients" / "python"
JAVASCRIPT = ROOT / "examples" / "clients" / "javascript"
_PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ([a-z0-9-]+\.[a-z0-9-]+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
_COLUMNS = ("adcp", "@adcp/sdk", "adcp-reference-js")


@dataclass(frozen=True)
class Documented:
    """A vector of the page, and what each library gives by its name there."""

    vector: Vector
    gives: dict[str, dict[str, Any]]


def vectors(folder: Path) -> list[Documented]:
    """Return the vectors of the page; a file with them is left in the folder."""
    records = [
        json.loads(text) for text in re.findall(r"^```json\n(.+?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
    ]
    path = folder / "documented.json"
    path.write_text(json.dumps({"version": 1, "vectors": records}), encoding="utf-8")
    return [Documented(vector, record["gives"]) for vector, record in zip(load(path), records, strict=True)]


def counts(library: str) -> dict[str, tuple[int, int, int]]:
    """Return what passed, failed and is an advisory by the rules of the table; a rule of which nothing is said is left out."""
    column = _COLUMNS.index(library)
    said = {rule: cells[column] for rule, *cells in _ROW.findall(_PAGE)}
    return {rule: tuple(map(int, cell.split(" / "))) for rule, cell in said.items() if cell != "–"}  # type: ignore[misc]


def counted(findings: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """Count the findings of a run in the same way."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in findings:
        found[each["rule"].removeprefix("client.")][each["outcome"]] += 1
    said = {rule: (each["passed"], each["failed"], each["advisory"]) for rule, each in found.items()}
    return {rule: numbers for rule, numbers in said.items() if any(numbers)}


def answers(command: Sequence[str], folder: Path, asked: Sequence[Vector]) -> Iterator[tuple[Vector, Answer]]:
    """Ask an adapter about vectors."""
    library = CommandLibrary(command, folder=folder, starting=300.0, answering=60.0)
    try:
        questions = [Question(each.kind, each.transport, json.dumps(each.response)) for each in asked]
        yield from zip(asked, library.ask(questions), strict=True)
    finally:
        library.close()


def is_given(answer: Answer, given: dict[str, Any]) -> bool:
    """Whether an answer is what the page says: `data`, its `members`, its `text`, the type of an `error`, `action`, `retry_after`."""
    if "error" in given:
        return isinstance(answer, Threw) and answer.type == given["error"]
    if not isinstance(answer, Extracted):
        return False
    told = {
        "data": lambda wanted: equal(answer.data, wanted),
        "members": lambda wanted: list(answer.data) == wanted,
        "text": lambda wanted: json.dumps(answer.data) == wanted,
        "action": lambda wanted: answer.action == wanted,
        "retry_after": lambda wanted: answer.retry_after == wanted,
    }
    return all(told[name](wanted) for name, wanted in given.items())
