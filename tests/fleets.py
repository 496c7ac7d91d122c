"""Lists of targets, and what a run over them left behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runs import Run, run

# Plain calls alone: what fleets do with what came does not hang on how much is asked.
QUICK = "plan: {probes: false, interop: false}\nrequest_timeout: 2\nsurvey_timeout: 10\n"


def listed(folder: Path, *targets: Mapping[str, Any], yaml: str = QUICK) -> None:
    """Write a list of targets, and what holds for all of them."""
    (folder / "fleet.json").write_text(json.dumps(targets, indent="\t"), "utf-8")
    (folder / "adcp.yaml").write_text(yaml, "utf-8")


def fleet_run(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Run:
    """Run pytest over the list."""
    return run(folder, "--adcp-targets=fleet.json", *arguments, env=env)


def fleet(done: Run) -> dict[str, Any]:
    """Return what fleet.json says."""
    return json.loads((done.folder / "adcp-report" / "fleet.json").read_text("utf-8"))


def by_name(done: Run) -> dict[str, dict[str, Any]]:
    """Return the targets of fleet.json."""
    return {target["name"]: target for target in fleet(done)["targets"]}
