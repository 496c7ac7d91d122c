"""The example list and the example manifests: they parse, name options that there are, and count shards alike."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_adcp.harness import __version__
from pytest_adcp.harness.fleet.shard import Shard
from pytest_adcp.harness.options import OPTIONS
from told import quiet, told

EXAMPLES = Path(__file__).parents[1] / "examples" / "fleet"
FLAGS = {option.flag for option in OPTIONS}


def example(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text("utf-8"))


def shards(words: list[str], variables: dict[str, str], pattern: str) -> Shard:
    """Return the shard that options ask for, all of them being ours; `pattern` is how a variable is written."""
    given = dict(re.sub(pattern, lambda found: variables[found[1]], word).split("=", 1) for word in words)
    assert given.keys() <= FLAGS
    return Shard.parse(given["--adcp-shard"])


def test_the_list_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, tmp_path)
    monkeypatch.setenv("ACME_TOKEN", "t0ken-1")
    monkeypatch.setenv("NORTH_KEY", "k3y-2")
    shutil.copy(EXAMPLES / "targets.yaml", tmp_path)
    fleet = told("--adcp-targets=targets.yaml").fleet
    assert fleet is not None
    assert [target.name for target in fleet.targets] == ["acme", "north-video", "podcasts"]


def test_the_matrix_judges_every_shard_and_merges_them() -> None:
    flow = example("github-matrix.yaml")
    assert flow["permissions"] == {"contents": "read"}
    judge, report = flow["jobs"]["judge"], flow["jobs"]["report"]
    numbers = judge["strategy"]["matrix"]["shard"]
    (step,) = (step for step in judge["steps"] if "--adcp-shard" in step.get("run", ""))
    assert "${{" not in step["run"]  # what comes from outside comes through the environment
    pytest, *options = shlex.split(step["run"].partition("||")[0])
    assert pytest == "pytest"
    count = str(len(numbers))
    taken = {str(shards(options, {"SHARD": str(n), "SHARDS": count}, r"\$(\w+)")) for n in numbers}
    assert taken == {"0/4", "1/4", "2/4", "3/4"}
    assert judge["strategy"]["fail-fast"] is False
    assert report["needs"] == "judge"
    assert any("pytest_adcp.reports merge -o" in step.get("run", "") for step in report["steps"])
    for job in (judge, report):
        assert job["timeout-minutes"] <= 90
        assert all("uses" in step or "run" in step for step in job["steps"])


def test_the_indexed_job_judges_every_shard() -> None:
    job = example("kubernetes-job.yaml")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", 8)
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    own = {item["name"]: item["value"] for item in container["env"]}
    assert own == {"SHARDS": str(spec["completions"])}
    # What the image of examples/docker runs is pytest; a shell would not find more than stands on its path.
    assert "command" not in container
    index = "JOB_COMPLETION_INDEX"
    taken = {
        str(shards(container["args"], own | {index: str(n)}, r"\$\((\w+)\)"))
        for n in range(spec["completions"])
    }
    assert len(taken) == 8
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }


def test_what_judges_is_pinned() -> None:
    flow = example("github-matrix.yaml")
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    used = {step["uses"] for step in steps if "uses" in step}
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in used)
    folder = EXAMPLES.parents[1]
    files = [folder / "action.yml", *(folder / "examples" / "ci").glob("*.yml")]
    elsewhere = {
        name
        for file in files
        for name in re.findall(r"uses: ([\w./-]+@[0-9a-f]{40})", file.read_text("utf-8"))
    }
    shared = {name.partition("@")[0] for name in used} & {name.partition("@")[0] for name in elsewhere}
    assert len(shared) == 3
    assert {name for name in used if name.partition("@")[0] in shared} <= elsewhere
    installed = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    assert len(installed) == 2
    assert all(re.search(rf'"pytest-adcp(\[\w+\])?=={re.escape(__version__)}"', text) for text in installed)
    image = example("kubernetes-job.yaml")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.endswith(f":{__version__}")


def test_the_image_has_pytest_and_python_on_its_path() -> None:
    lines = (EXAMPLES.parent / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    (entry,) = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("ENTRYPOINT")]
    (path,) = re.findall(r"^ENV PATH=([^:]+):\$PATH", "\n".join(lines), re.MULTILINE)
    assert entry[0] == f"{path}/pytest"
    venv = Path(path).parent
    assert f"COPY --from=build {venv} {venv}" in lines
