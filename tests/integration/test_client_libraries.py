"""Client libraries that buyers use, through the adapters in examples/clients: what docs/clients.md says of them is so."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from documented import JAVASCRIPT, PYTHON, answers, counted, counts, is_given, vectors
from runs import run
from servers import interpreter_with, node_packages

# Deep texts: how deep one may be hangs on the interpreter, and the rules for them never fail.
DEEP = {"extraction.depth", "errors.text", "errors.validation"}
Numbers = tuple[int, int, int]


def adcp(folder: Path) -> tuple[str, ...]:
    """Return the command for PyPI `adcp`, run in a folder with the examples."""
    python = interpreter_with("adcp")
    for source in PYTHON.glob("*.py"):
        shutil.copy(source, folder)
    return python, "adapter.py", "adcp_sdk:extract"


def adcp_sdk(folder: Path) -> tuple[str, ...]:
    """Return the command for npm `@adcp/sdk`; the folder has the examples, and the packages behind a link."""
    node, packages = node_packages()
    modules = Path(packages) / "node_modules"
    if not (modules / "@adcp" / "sdk").is_dir():
        pytest.skip("@adcp/sdk is not there: run tests/integration/setup.sh where npm is")
    for source in JAVASCRIPT.glob("*.mjs"):
        shutil.copy(source, folder)
    (folder / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
    return node, "adapter.mjs", "adcp_sdk.mjs"


COMMANDS = {"adcp": adcp, "@adcp/sdk": adcp_sdk}


@pytest.mark.parametrize("library", COMMANDS)
def test_what_the_page_shows(tmp_path: Path, library: str) -> None:
    command = COMMANDS[library](tmp_path)
    shown = {each.vector: each.gives[library] for each in vectors(tmp_path) if library in each.gives}
    assert len(shown) > 10
    wrong = {
        vector.id: answer
        for vector, answer in answers(command, tmp_path, list(shown))
        if not is_given(answer, shown[vector])
    }
    assert wrong == {}


@pytest.mark.parametrize("library", COMMANDS)
def test_what_the_page_counts(tmp_path: Path, library: str) -> None:
    command = COMMANDS[library](tmp_path)
    done = run(tmp_path, "--adcp-profile=client", f"--adcp-extractor={shlex.join(command)}")
    assert done.code == 1, done.out
    assert settled(counted(done.target["findings"])) == settled(counts(library))


def settled(numbers: Mapping[str, Numbers]) -> dict[str, Numbers | int]:
    """Return the counts; of rules about deep texts only the failures."""
    return {rule: found[1] if rule in DEEP else found for rule, found in numbers.items()}
