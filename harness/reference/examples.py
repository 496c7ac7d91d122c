"""The examples of the rules: recorded once from the reference seller and its faults, and packaged.

One file a family, named after it. `python tests/generate_rules.py --refresh` records them again. All text in them is escaped
(harness/text.py) and holds no port, time or id of the run that it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pytest_adcp.harness import records

FOLDER = Path(__file__).parent
FORMAT = 1


class ExamplesError(ValueError):
    """A file that holds no examples; the text names it and what is wrong."""


@dataclass(frozen=True, slots=True)
class Example:
    """What one party does, and what the rule says to it.

    Attributes:
        fault: the fault of the reference seller; empty: it has none, or it is a client library.
        how: what the party is or does, in words.
        subject: what was judged.
        outcome: failed, advisory or passed.
        message, expected, received, pointer, fix: of the finding.
        request: lines of what was sent; none where nothing was, or where it is what the other example shows.
        response: lines of what came.
        size: characters of the whole answer; in the lines `…` stands for what was left out.
    """

    fault: str
    how: str
    subject: str
    outcome: str
    message: str = ""
    expected: str = ""
    received: str = ""
    pointer: str | None = None
    fix: str = ""
    request: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """The examples of a rule; `lenient` holds the cases in which it is an advisory although its source says MUST."""

    fails: Example
    passes: Example
    lenient: tuple[str, ...] = ()


@cache
def of_family(family: str) -> Mapping[str, Pair]:
    """Return the examples of a family's rules by rule id; empty where it has no file, as a family of an extra suite.

    Raises:
        ExamplesError: the file is damaged.
    """
    path = FOLDER / f"{family}.json"
    if not path.is_file():
        return {}
    try:
        record = records.loads(path.read_bytes())
        if record.get("format") != FORMAT or not isinstance(record.get("rules"), dict):
            raise records.RecordError(f"no examples in format {FORMAT}")
        return {name: records.build(Pair, value, name) for name, value in record["rules"].items()}
    except (OSError, UnicodeDecodeError, records.RecordError) as error:
        raise ExamplesError(f"{path}: {error}") from None


def of_rule(family: str, rule: str) -> Pair | None:
    """Return the examples of a rule; None where there are none, as for a rule of an extra suite."""
    return of_family(family).get(rule)


def dumps(pairs: Mapping[str, Pair]) -> bytes:
    """Return the text of a family's file: the same for the same examples, a line an item."""
    record: dict[str, Any] = {"format": FORMAT, "rules": {name: asdict(pairs[name]) for name in pairs}}
    return json.dumps(record, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"
