"""What pyproject.toml lists by hand is what is there, and nothing is imported under a name that only a checkout has."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("harness", "suites", "vectors", "reports")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def packages() -> set[str]:
    found = {folder.parent for name in FOLDERS for folder in (ROOT / name).rglob("__init__.py")}
    return {"pytest_adcp." + ".".join(path.relative_to(ROOT).parts) for path in found}


def python_files() -> Iterator[Path]:
    for name in (*FOLDERS, "tests", "benchmarks"):
        yield from (ROOT / name).rglob("*.py")


def test_every_package_is_listed() -> None:
    assert packages() == set(SETTINGS["packages"])


def test_every_folder_with_python_is_a_package() -> None:
    folders = {path.parent for name in FOLDERS for path in (ROOT / name).rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_every_data_file_is_packaged() -> None:
    globs = SETTINGS["package-data"]
    for name in FOLDERS:
        for path in (ROOT / name).rglob("*"):
            if path.is_dir() or path.suffix in (".py", ".pyc"):
                continue
            # A folder of data belongs to the package that it stands in.
            home = next(folder for folder in path.parents if (folder / "__init__.py").exists())
            package = "pytest_adcp." + ".".join(home.relative_to(ROOT).parts)
            inside = str(path.relative_to(home))
            assert any(fnmatch(inside, pattern) for pattern in globs.get(package, ())), path


@pytest.mark.parametrize("name", FOLDERS)
def test_typed(name: str) -> None:
    assert (ROOT / name / "py.typed").exists()


def test_no_bare_imports() -> None:
    bare = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [item.name for item in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            bare += [f"{path.name}: {name}" for name in names if name.partition(".")[0] in FOLDERS]
    assert bare == []


def test_imports_go_one_way() -> None:
    """`reports` and the wire know no pytest; nothing imports the plugin; suites import no survey."""
    forbidden = {
        "reports": {"pytest", "pytest_adcp.harness.plugin", "pytest_adcp.harness.survey"},
        "suites": {
            "pytest",
            "pytest_adcp.harness.survey",
            "pytest_adcp.harness.wire",
            "pytest_adcp.harness.plugin",
        },
        "vectors": {"pytest"},
    }
    broken = []
    for folder, names in forbidden.items():
        for path in (ROOT / folder).rglob("*.py"):
            broken += [f"{path}: {name}" for name in _imported(path) & names]
    for name in (
        "wire",
        "http1",
        "sse",
        "jsontext",
        "jsonreader",
        "jsonvalues",
        "extraction",
        "verdict",
        "evidence",
    ):
        broken += [
            f"{name}: pytest" for found in _imported(ROOT / "harness" / f"{name}.py") if found == "pytest"
        ]
    assert broken == []


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            prefix = (
                ""
                if node.level == 0
                else f"pytest_adcp.{path.parent.relative_to(ROOT).as_posix().replace('/', '.')}."
            )
            names.add(f"{prefix}{node.module}")
            names |= {f"{prefix}{node.module}.{item.name}" for item in node.names}
    return names
