"""Records the examples of rules about the extractor protocol itself: what adapters read and write, line by line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from leniency import leniencies
from pytest_adcp.harness.library import messages
from pytest_adcp.harness.library.command import CommandLibrary
from pytest_adcp.harness.library.records import Answer, Asks, Question
from pytest_adcp.harness.library.subjects import Asked, LibraryRun
from pytest_adcp.harness.reference.examples import Example, Pair
from pytest_adcp.harness.rules import Rule
from pytest_adcp.harness.subjects import Server
from pytest_adcp.harness.text import safe
from pytest_adcp.harness.verdict import Finding, judge
from pytest_adcp.vectors.loader import Kind, Transport, Vector, own

_SECONDS = 60.0
_LINE = 400  # characters of a line that are shown
_SCRIPT = """
import json, sys

def say(message):
    print(json.dumps(message), flush=True)

sys.stdin.readline()
say({"adcp_extractor": 1, "name": "my-adcp-client", HANDSHAKE})
for line in sys.stdin:
    request = json.loads(line)
    data = json.loads(request["response"])["structuredContent"]
    ANSWER
"""
_LIMIT = '"limit": {"size": 4194304, "unit": "utf-16"}'
_SAY = 'say({"id": request["id"], "data": data})'


@dataclass(frozen=True)
class Adapter:
    """A program, and what it does."""

    how: str
    handshake: str = _LIMIT
    answer: str = _SAY

    @property
    def script(self) -> str:
        return _SCRIPT.replace("HANDSHAKE", self.handshake).replace("ANSWER", self.answer)


_RIGHT = Adapter("an adapter that keeps to the protocol")
FAULTY: Mapping[str, Adapter] = {
    "client.extraction.limit-declared": Adapter(
        "An adapter whose library declares no limit.", handshake='"version": "2.4.0"'
    ),
    "client.extractor.protocol": Adapter(
        "An adapter that answers a request twice.",
        answer=f'for _ in range(2 if request["id"] == 1 else 1): {_SAY}',
    ),
    "client.extractor.output": Adapter(
        "An adapter whose library prints.", answer=f'print("found", *data, flush=True); {_SAY}'
    ),
}


def pair(rule: Rule) -> Pair:
    """Return the examples of a rule."""
    return Pair(_example(rule, FAULTY[rule.id]), _example(rule, _RIGHT), leniencies(rule))


def _vectors() -> list[Vector]:
    """Return the two shortest vectors with something in structuredContent."""
    plain = [v for v in own() if v.kind is Kind.SUCCESS and v.transport is Transport.MCP and v.limit is None]
    filled = [
        v
        for v in plain
        if v.path == "structuredContent" and isinstance(v.response["structuredContent"], dict)
    ]
    return sorted(
        filled, key=lambda vector: (not vector.response["structuredContent"], len(str(vector.response)))
    )[:2]


def _example(rule: Rule, adapter: Adapter) -> Example:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adapter.py"
        path.write_text(adapter.script, encoding="utf-8")
        command = [sys.executable, str(path)]
        with _Asked(command, Path(folder)) as library:
            run = LibraryRun(library.declared.name, None, Server(), None, Asked(library, _vectors(), None))
            finding = judge(rule, run)
            sent = [messages.hello(Asks.RESPONSES), *library.sent]
        came = subprocess.run(
            command,
            input=b"".join(line + b"\n" for line in sent),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        ).stdout
    return _of(adapter, finding, sent, came.splitlines())


class _Asked(CommandLibrary):
    """A library that ends with the block, and keeps the lines that it is sent."""

    def __init__(self, command: list[str], folder: Path) -> None:
        super().__init__(command, folder=folder)
        self.sent: list[bytes] = []

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        asked = list(questions)
        self.sent += [messages.request(number, question) for number, question in enumerate(asked, start=1)]
        return super().ask(asked)

    def __enter__(self) -> _Asked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _of(adapter: Adapter, finding: Finding, sent: list[bytes], came: list[bytes]) -> Example:
    def lines(of: list[bytes]) -> tuple[str, ...]:
        return tuple(safe(line.decode("utf-8"), _LINE) for line in of)

    return Example(
        fault="",
        how=adapter.how,
        subject=finding.subject,
        outcome=str(finding.outcome),
        message=finding.message,
        expected=finding.expected,
        received=finding.received,
        pointer=finding.pointer,
        request=lines(sent),
        response=lines(came),
    )
