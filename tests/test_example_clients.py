"""The adapters in examples/clients, run as real commands: those that are there as right agree with the vectors."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from documented import JAVASCRIPT, PYTHON, answers, counted, counts, is_given, vectors
from javascript import needs_node
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.library.command import CommandLibrary
from pytest_adcp.harness.library.records import Answer, Asks, Call, Extracted, Question, Threw
from pytest_adcp.harness.seller.vectors import running_vectors
from pytest_adcp.vectors.loader import Kind, Transport, Vector, own
from runs import Run, run

FUNCTION = "my_extractor:extract"
COMMAND = f"'{sys.executable}' adapter.py {FUNCTION}"
REFERENCE = "node adapter.mjs reference.mjs"
# Python reads no text that is nested more deeply than its stack.
DEEP = {"client.extraction.depth", "client.errors.text", "client.errors.validation"}
CALLED = ("error-sc-every-field", "error-rpc-rate-limited", "items-many", "sc-text-differs", "text-nan")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the examples into a folder of their own, where a run may leave its report."""
    for source in (*PYTHON.glob("*.py"), *JAVASCRIPT.glob("*.mjs")):
        shutil.copy(source, tmp_path)
    return tmp_path


def judged(folder: Path, extractor: str) -> Run:
    return run(folder, "--adcp-profile=client", f"--adcp-extractor={extractor}")


@pytest.mark.parametrize("extractor", [FUNCTION, COMMAND])
def test_the_example_in_python_conforms(folder: Path, extractor: str) -> None:
    done = judged(folder, extractor)
    assert done.code == 0, done.out
    findings = done.target["findings"]
    assert {each["rule"] for each in findings if each["outcome"] in ("failed", "blocked")} == set()
    assert {each["rule"] for each in findings if each["outcome"] == "advisory"} <= DEEP


@needs_node
def test_the_reference_code_gives_what_the_page_says(folder: Path) -> None:
    done = judged(folder, REFERENCE)
    assert done.code == 1, done.out  # the text of a page refuses what its code reads
    assert counted(done.target["findings"]) == counts("adcp-reference-js")


def is_right(vector: Vector, answer: Answer) -> bool:
    if vector.refused:
        return isinstance(answer, Threw)
    if not isinstance(answer, Extracted) or not equal(answer.data, vector.expected):
        return False
    return vector.expected_action in (None, answer.action)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param((sys.executable, "adapter.py", FUNCTION), id="python"),
        pytest.param(tuple(REFERENCE.split()), id="javascript", marks=needs_node),
    ],
)
def test_the_vectors_of_the_page(folder: Path, command: tuple[str, ...]) -> None:
    documented = {each.vector: each for each in vectors(folder)}
    assert len(documented) > 15
    for vector, answer in answers(command, folder, list(documented)):
        given = documented[vector].gives.get("adcp-reference-js") if command[0] == "node" else None
        assert is_given(answer, given) if given else is_right(vector, answer), vector.id


@pytest.mark.parametrize(
    "command", [pytest.param((sys.executable, "adapter.py", "whole_client:call"), id="python")]
)
def test_a_whole_client_makes_the_calls(folder: Path, command: tuple[str, ...]) -> None:
    called = [vector for vector in own() if vector.id in CALLED]
    assert len(called) == len(CALLED)
    with running_vectors(called) as server:
        client = CommandLibrary(command, folder=folder, asks=Asks.CALLS, answering=30.0)
        try:
            for vector, answer in zip(called, client.ask(_calls(called, server.url)), strict=True):
                assert is_right(vector, answer), (vector.id, answer)
        finally:
            client.close()
    assert {vector.kind for vector in called} == set(Kind)
    assert {vector.transport for vector in called} == {Transport.MCP}


def _calls(called: list[Vector], url: object) -> list[Question]:
    assert callable(url)
    return [Question(each.kind, call=Call(url(each), "get_products", {})) for each in called]


def test_the_list_of_the_examples_is_whole() -> None:
    text = (PYTHON.parent / "README.md").read_text(encoding="utf-8")
    there = {path.name for path in (*PYTHON.glob("*.py"), *JAVASCRIPT.glob("*.mjs"))}
    assert set(re.findall(r"[a-z_]+\.(?:py|mjs)\b", text)) == there
