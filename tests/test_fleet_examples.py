"""The example list and the example manifests: they parse, name options that there are, and count shards alike."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_adcp.harness.fleet.shard import Shard
from pytest_adcp.harness.options import OPTIONS
from told import quiet, told

EXAMPLES = Path(__file__).parents[1] / "examples" / "fleet"
FLAGS = {option.flag for option in OPTIONS}


def example(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text("utf-8"))


def shards(command: str, variables: dict[str, str]) -> Shard:
    """Return the shard that a command asks for, all its options being ours or pytest's."""
    words = shlex.split(re.sub(r"\$(\w+)", lambda found: variables[found[1]], command.partition("||")[0]))
    assert words[0] == "pytest"
    given = dict(word.split("=", 1) for word in words if word.startswith("--"))
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
    taken = {
        str(shards(step["run"], {"SHARD": str(n), "SHARDS": str(len(numbers)), "code": ""})) for n in numbers
    }
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
    (command,) = container["args"]
    taken = {str(shards(command, own | {"JOB_COMPLETION_INDEX": str(n)})) for n in range(spec["completions"])}
    assert len(taken) == 8
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }
