"""The GitHub Action, the CI examples and the pre-commit hook: what they run, and that no input ever becomes shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_adcp.harness.options import OPTIONS
from pytest_adcp.harness.seller import SellerOptions, running
from runs import _BYTECODE

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXAMPLES = sorted((ROOT / "examples" / "ci").glob("*.yml"))
WORKFLOWS = [path for path in EXAMPLES if path.name != "gitlab-ci.yml"]
SCRIPT = ROOT / ".github" / "action" / "run.sh"


def steps(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the steps of a workflow or of a composite action."""
    yield from document.get("runs", {}).get("steps", ())
    for job in document.get("jobs", {}).values():
        yield from job["steps"]


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def act(folder: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run the script as the runner does; return how it ended and the outputs."""
    outputs = folder / "outputs"
    outputs.touch()
    usual = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {f"ADCP_ACTION_{name.upper()}": value for name, value in inputs.items()}
    env = {**usual, "ADCP_ACTION_PYTHON": sys.executable, "GITHUB_OUTPUT": str(outputs), "PYTHONPYCACHEPREFIX": str(_BYTECODE),
           "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "SELLER_TOKEN": "bearer-s3cret", **given}  # fmt: skip
    done = subprocess.run(
        ["bash", str(SCRIPT)], cwd=folder, env=env, capture_output=True, text=True, timeout=90, check=False
    )
    lines = outputs.read_text().splitlines()
    return done, dict(line.partition("=")[::2] for line in lines)


# -- the script ----------------------------------------------------------------------------------------------------


def test_the_demo_is_judged_and_told_of(tmp_path: Path) -> None:
    done, outputs = act(
        tmp_path, server_url="demo", options="--adcp-concurrency=2\n-q\r\n\n", report_dir="out put"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert outputs == {"verdict": "conformant", "exit-code": "0", "report-dir": str(tmp_path / "out put")}
    assert '"concurrency": 2' in (tmp_path / "out put" / "report.json").read_text()


def test_a_quick_look(tmp_path: Path) -> None:
    done, outputs = act(tmp_path, server_url="demo", quick="true", bearer_env="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outputs["verdict"] == "inconclusive"


def test_a_server_that_is_down(tmp_path: Path) -> None:
    (tmp_path / "adcp-report").mkdir()
    (tmp_path / "adcp-report" / "report.json").write_text('{"targets": [{"verdict": "conformant"}]}')
    done, outputs = act(
        tmp_path, server_url="http://127.0.0.1:9/mcp", bearer_env="SELLER_TOKEN", compare="none.json"
    )
    assert done.returncode == 6, done.stdout
    assert (outputs["verdict"], outputs["exit-code"]) == ("inconclusive", "6")
    assert "::notice::there is no earlier report" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


def test_a_fleet_has_the_gravest_verdict(tmp_path: Path) -> None:
    with running(SellerOptions()) as url:
        (tmp_path / "targets.yaml").write_text(
            f"- {{name: up, url: '{url}'}}\n- {{name: down, url: 'http://127.0.0.1:9/mcp'}}\n"
        )
        done, outputs = act(tmp_path, options="--adcp-targets=targets.yaml\n--adcp-quick")
    assert done.returncode == 6, done.stdout
    assert (outputs["verdict"], outputs["exit-code"]) == ("inconclusive", "6")
    assert "| up |" in (tmp_path / "summary.md").read_text().replace("`", "")


def test_wrong_usage_leaves_no_verdict_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "adcp-report").mkdir()
    (tmp_path / "adcp-report" / "report.json").write_text('{"targets": [{"verdict": "conformant"}]}')
    done, outputs = act(tmp_path, server_url="demo", profile="cor")
    assert done.returncode == 4
    assert outputs["verdict"] == ""
    assert 'did you mean "core"?' in done.stderr


@pytest.mark.parametrize("name", ["quick", "strict"])
def test_a_flag_is_true_or_false(tmp_path: Path, name: str) -> None:
    done, _ = act(tmp_path, server_url="demo", **{name: "yes please"})
    assert done.returncode == 4
    assert f"::error::--adcp-{name} is true or false" in done.stdout


def test_no_input_is_shell(tmp_path: Path) -> None:
    evil = "$(touch evil) `touch evil`; touch evil #' \" * --"
    inputs = [name.replace("-", "_") for name in ACTION["inputs"]]
    left_out = {"quick", "strict", "working_directory", "python_version", "extras"}
    done, outputs = act(tmp_path, **{name: evil for name in inputs if name not in left_out})
    assert done.returncode == 4, done.stdout
    assert not (tmp_path / "evil").exists()
    assert set(outputs) == {"verdict", "exit-code", "report-dir"}


def test_an_output_is_one_line(tmp_path: Path) -> None:
    _, outputs = act(tmp_path, server_url="demo", profile="cor", report_dir="a\nverdict=conformant")
    assert outputs["verdict"] == ""
    assert len((tmp_path / "outputs").read_text().splitlines()) == 3


def test_extras_are_names(tmp_path: Path) -> None:
    usual = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT)}
    env = {
        **usual,
        "GITHUB_ENV": str(tmp_path / "env"),
        "ADCP_ACTION_BASE_PYTHON": sys.executable,
        "ADCP_ACTION_EXTRAS": "a] -r x",
    }
    install = ROOT / ".github" / "action" / "install.sh"
    done = subprocess.run(
        ["bash", str(install)], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4
    assert "extras must be names" in done.stdout
    assert list(tmp_path.iterdir()) == []


# -- the YAML ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_expressions_stand_nowhere_in_shell(path: Path) -> None:
    found = list(steps(loaded(path)))
    assert found
    for step in found:
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_what_is_used_is_pinned(path: Path) -> None:
    used = [step["uses"] for step in steps(loaded(path)) if "uses" in step]
    foreign = [name for name in used if not name.startswith("OWNER/pytest-adcp@")]
    assert foreign
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in foreign), foreign


def test_every_input_is_passed_on_and_nothing_else() -> None:
    wanted = {name for step in steps(ACTION) for value in step.get("env", {}).values()
              for name in re.findall(r"inputs\.([a-z-]+)", value)}  # fmt: skip
    assert wanted | {"python-version", "working-directory"} == set(ACTION["inputs"])
    passed = {name for step in steps(ACTION) if step.get("id") == "judge" for name in step["env"]}
    assert passed | {"ADCP_ACTION_PYTHON"} == set(re.findall(r"ADCP_ACTION_[A-Z_]+", SCRIPT.read_text())) - {
        "ADCP_ACTION_"
    }


def test_the_scripts_are_what_the_action_runs() -> None:
    runs = [step["run"] for step in steps(ACTION) if "run" in step]
    assert [re.fullmatch(r'bash "\$GITHUB_ACTION_PATH/(.+)"', text)[1] for text in runs] == [
        ".github/action/install.sh",
        ".github/action/run.sh",
    ]
    assert all((ROOT / ".github" / "action" / name).is_file() for name in ("install.sh", "run.sh"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_ask_for_little(path: Path) -> None:
    document = loaded(path)
    assert document["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in document["jobs"].values())
    given = [step["with"] for step in steps(document) if step.get("uses", "").startswith("OWNER/")]
    assert given
    assert all(set(inputs) <= set(ACTION["inputs"]) for inputs in given)


@pytest.mark.parametrize(
    "path", [*EXAMPLES, SCRIPT, ROOT / ".pre-commit-hooks.yaml", ROOT / "examples/docker/Dockerfile"], ids=lambda path: path.name
)  # fmt: skip
def test_options_exist(path: Path) -> None:
    named = set(re.findall(r"--adcp-[a-z-]+[a-z]", path.read_text(encoding="utf-8")))
    assert named <= {option.flag for option in OPTIONS}


def test_the_hook_of_pre_commit() -> None:
    (hook,) = loaded(ROOT / ".pre-commit-hooks.yaml")
    assert hook["id"] == "adcp-quick"
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False


def test_the_gitlab_example_is_a_job() -> None:
    job = loaded(ROOT / "examples" / "ci" / "gitlab-ci.yml")["adcp"]
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", job["image"])
    script = "\n".join(job["script"])
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False, timeout=10).returncode == 0
    assert job["artifacts"]["reports"]["junit"] in script


def test_the_image_is_not_run_by_root() -> None:
    lines = (ROOT / "examples" / "docker" / "Dockerfile").read_text().splitlines()
    words = [line.split() for line in lines if line and not line.startswith(("#", " "))]
    assert [parts[1] for parts in words if parts[0] == "USER"] == ["10001"]
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", parts[1]) for parts in words if parts[0] == "FROM")
    assert [parts[0] for parts in words].index("USER") < [parts[0] for parts in words].index("ENTRYPOINT")
