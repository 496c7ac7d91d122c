"""Functions that misbehave in the process that serves them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_adcp.harness.library.command import CommandLibrary, LibraryError
from pytest_adcp.harness.library.records import Answer, Extracted, NoAnswer, Question, Threw
from pytest_adcp.harness.own_process import command
from pytest_adcp.vectors.loader import Kind


def answers(folder: Path, body: str, number: int = 1) -> list[Answer]:
    (folder / "odd_client.py").write_text(body, encoding="utf-8")
    lib = CommandLibrary(
        command("pytest_adcp.harness.library.host", "odd_client:extract"), folder=folder, answering=5.0
    )
    try:
        return list(lib.ask([Question(Kind.SUCCESS, response="{}")] * number))
    finally:
        lib.close()


def test_the_requests_are_not_on_its_stdin(tmp_path: Path) -> None:
    body = "import sys\ndef extract(request):\n    return {'data': {'read': sys.stdin.read()}}\n"
    found = answers(tmp_path, body, 3)
    assert [each.data for each in found if isinstance(each, Extracted)] == [{"read": ""}] * 3


def test_an_id_of_its_own_is_passed_over(tmp_path: Path) -> None:
    body = "def extract(request):\n    request.clear()\n    return {'id': 99, 'data': None}\n"
    assert isinstance(answers(tmp_path, body)[0], Extracted)


def test_an_error_without_words(tmp_path: Path) -> None:
    body = (
        "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\n"
        "def extract(request):\n    raise Odd\n"
    )
    assert answers(tmp_path, body)[0] == Threw("Odd", "(its text cannot be had)")


def test_what_ends_the_process_is_named(tmp_path: Path) -> None:
    found = answers(tmp_path, "import sys\ndef extract(request):\n    sys.exit(0)\n")[0]
    assert isinstance(found, NoAnswer)
    assert "the function raised SystemExit: 0" in found.why


def test_a_module_that_exits_when_it_is_imported(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="cannot be imported: SystemExit: 3"):
        answers(tmp_path, "raise SystemExit(3)\n")
