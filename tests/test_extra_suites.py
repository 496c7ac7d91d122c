"""Suites of other packages: the example package as it is installed, and every way in which one is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import run

EXAMPLE = Path(__file__).parents[1] / "examples" / "extra_suite"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example package, without any network."""
    folder = tmp_path_factory.mktemp("extra")
    source = shutil.copytree(EXAMPLE, folder / "source")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-index",
        "--no-deps",
    ]
    command = [*pip, "--no-build-isolation", "--target", str(folder / "site"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def paths(*folders: Path) -> dict[str, str]:
    known = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {"PYTHONPATH": os.pathsep.join([*map(str, folders), *known])}


def test_its_rule_is_judged_with_the_core_profile(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("server_url: demo\nplan: {probes: false}\n")
    done = run(tmp_path, "--adcp-config=adcp.yaml", env=paths(installed))
    assert done.code == 0, done.out
    found = [item for item in done.target["findings"] if item["rule"] == "house.products.described"]
    assert {item["outcome"] for item in found} == {"passed", "not-applicable"}
    assert {item["subject"] for item in found if item["outcome"] == "passed"} == {"get_products/sample"}
    assert found[0]["source"] == "https://wiki.example/house-rules#products"
    assert [item["rule"] for item in done.target["findings"]][-1] == "house.products.described", (
        "after the packaged ones"
    )


def test_its_report_can_be_verified(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("server_url: demo\nplan: {probes: false}\n")
    assert run(tmp_path, "--adcp-config=adcp.yaml", env=paths(installed)).code == 0

    def verify(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest_adcp.reports", "verify", "adcp-report/report.json", *more]
        env = os.environ | paths(installed)
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60
        )

    done = verify("--suite=house_rules.products")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is what this transcript gives: conformant" in done.stdout
    done = verify()
    assert done.returncode == 2
    assert "house.products.described: name each of its modules with --suite MODULE" in done.stderr
    done = verify("--suite=house_rules.nothing")
    assert done.returncode == 2
    assert "the suite house_rules.nothing cannot be loaded: ModuleNotFoundError" in done.stderr


def test_under_xdist_too_and_chosen_by_name(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "adcp.yaml").write_text("server_url: demo\nplan: {probes: false}\n")
    done = run(
        tmp_path, "--adcp-config=adcp.yaml", "-n1", "-k", "house.products.described", env=paths(installed)
    )
    assert done.code == 0, done.out
    assert {item["rule"] for item in done.target["findings"]} == {"house.products.described"}


def test_other_profiles_leave_it_out(tmp_path: Path, installed: Path) -> None:
    done = run(tmp_path, "--adcp-profile=client", "-k", "house", env=paths(installed))
    assert done.code == 5, done.out


def test_it_is_listed_and_explained(tmp_path: Path, installed: Path) -> None:
    listed = run(tmp_path, "--adcp-rules", env=paths(installed))
    assert "house.products.described" in listed.out
    explained = run(tmp_path, "--adcp-explain=house.products.described", env=paths(installed))
    assert explained.code == 0
    assert "Give each product a description" in explained.out
    assert "house" not in run(tmp_path, "--adcp-rules").out


def test_a_plain_run_imports_nothing_of_it(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\ndef test_mine(): assert not {'house_rules.products', 'yaml'} & sys.modules.keys()\n"
    )
    done = run(tmp_path, "-p", "no:anyio", "-p", "no:xdist", env=paths(installed))
    assert done.code == 0, done.out


def test_its_own_tests_pass(tmp_path: Path, installed: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = run(tmp_path, "tests", env=paths(installed))
    assert done.code == 0, done.out


RULE = """
from pytest_adcp.harness.rules import Level, rule
@rule({id!r}, level=Level.MUST, source="https://x.example")
def one(success):
    '''It is so.

    Make it so.
    '''
"""


def suite(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(text)


@pytest.mark.parametrize(
    ("module", "text", "error"),
    [
        ("mine", None, "the suite mine: it cannot be loaded: ModuleNotFoundError: No module named 'mine'"),
        ("mine", "1 / 0", "the suite mine: it cannot be loaded: ZeroDivisionError: division by zero"),
        ("mine", "", "the suite mine: there is no rule in it"),
        ("mine", RULE.format(id="adcp.errors.mine"),
         "the suite mine: the id \"adcp.errors.mine\" begins with 'adcp', which is for the packaged rules"),
        ("mine", RULE.format(id="connected-apps.mine"), "begins with 'connected-apps'"),
        ("mine", RULE.format(id="Acme.products"), 'the id "Acme.products" is no dotted name'),
        ("mine", RULE.format(id="acme"), 'the id "acme" is no dotted name'),
        ("pytest_adcp.suites.mcp.tools", None, "begins with 'mcp', which is for the packaged rules"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, module: str, text: str | None, error: str) -> None:
    if text is not None:
        suite(tmp_path, module, text)
    suite(tmp_path, "naming", f"def pytest_adcp_suites(): return [{module!r}]\n")
    done = run(tmp_path, "-p", "naming", "--adcp-rules", env=paths(tmp_path))
    assert done.code == 4, done.out
    assert error in done.out
    assert "Traceback" not in done.out


def test_a_run_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    suite(tmp_path, "naming", "def pytest_adcp_suites(): return ['gone']\n")
    done = run(tmp_path, "-p", "naming", "--server-url=http://127.0.0.1:9/mcp", env=paths(tmp_path))
    assert done.code == 4, done.out
    assert "adcp: the suite gone: it cannot be loaded" in done.out


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("acme.a", "acme.a", "begin with 'acme', and so do those of one"),
        ("acme.a", "acme.b", "begin with 'acme', and so do those of one"),
    ],
)
def test_two_packages_keep_apart(tmp_path: Path, first: str, second: str, error: str) -> None:
    suite(tmp_path, "one", RULE.format(id=first))
    suite(tmp_path, "two", RULE.format(id=second))
    suite(tmp_path, "naming", "def pytest_adcp_suites(): return ['one', 'two']\n")
    done = run(tmp_path, "-p", "naming", "--adcp-rules", env=paths(tmp_path))
    assert done.code == 4
    assert error in done.out


def test_two_modules_of_a_package_share_a_name_but_no_id(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    suite(tmp_path / "acme", "__init__", "")
    suite(tmp_path / "acme", "one", RULE.format(id="acme.a"))
    suite(tmp_path / "acme", "two", RULE.format(id="acme.a"))
    suite(tmp_path, "naming", "def pytest_adcp_suites(): return ['acme.one', 'acme.two']\n")
    done = run(tmp_path, "-p", "naming", "--adcp-rules", env=paths(tmp_path))
    assert 'the suite acme.two: the rule "acme.a" is there already, in acme.one' in done.out
    suite(tmp_path / "acme", "two", RULE.format(id="acme.b"))
    assert run(tmp_path, "-p", "naming", "--adcp-rules", env=paths(tmp_path)).code == 0


def test_a_hook_that_gives_no_list(tmp_path: Path) -> None:
    suite(tmp_path, "naming", "def pytest_adcp_suites(): return 'mine'\n")
    done = run(tmp_path, "-p", "naming", "--adcp-rules", env=paths(tmp_path))
    assert done.code == 4
    assert 'the hook pytest_adcp_suites returns a list of names of modules, not "mine"' in done.out
