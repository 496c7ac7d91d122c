"""Schemas in whole runs: which ones judged, what the report and the terminal say, and what happens without any."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from bundle import folder
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.reports import model
from runs import Run, run
from small_bundle import RESPONSE, write_bundle

RULE = "adcp.schema.response"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recorded")
    with running(SellerOptions()) as url:
        run(place, f"--server-url={url}", f"--adcp-record={place / 'seller.jsonl'}")
    return place / "seller.jsonl"


def findings(done: Run, rule: str = RULE) -> list[dict[str, Any]]:
    return [found for found in done.target["findings"] if found["rule"] == rule]


def outcomes(done: Run) -> dict[str, str]:
    return {found["subject"]: found["outcome"] for found in findings(done)}


def test_the_report_says_which_schemas_judged(tmp_path: Path, recording: Path) -> None:
    write_bundle(tmp_path / "bundles" / "adcp-3.1.7")
    done = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=bundles")
    assert done.code == 0, done.out
    assert done.target["schemas"] == {"source": "bundles", "version": "3.1.7"}
    assert "schemas: 3.1.7 of bundles" in done.out
    assert "schemas not checked" not in done.out
    assert outcomes(done)["get_products/sample"] == "passed"
    assert outcomes(done)["get_media_buys/sample"] == "not-applicable"  # this bundle lacks the task
    assert not [left for left in done.target["not_checked"] if "schemas" in left["item"]]


def test_a_payload_that_does_not_match_fails_the_run(tmp_path: Path, recording: Path) -> None:
    strict = {**RESPONSE, "required": ["products", *(f"member_{number}" for number in range(30))]}
    write_bundle(tmp_path / "strict", **{"media-buy/get-products-response.json": strict})
    serial = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=strict")
    assert serial.code == 1, serial.out
    (found,) = (f for f in findings(serial) if f["subject"] == "get_products/sample")
    assert found["message"] == "/member_0: `member_0` is missing"
    assert found["further"][-1] == "and 10 other problems"
    assert len(found["further"]) == 20
    assert "  also:     /member_1: `member_1` is missing" in serial.out
    parallel = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=strict", "-n2")
    assert parallel.code == 1, parallel.out
    assert parallel.target["findings"] == serial.target["findings"]
    model.load(tmp_path / "adcp-report" / "report.json")


def test_a_wrong_folder_is_wrong_usage(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=empty")
    assert done.code == 4, done.out
    assert "holds no AdCP schemas" in done.out
    assert "Traceback" not in done.out


def test_a_release_that_the_bundle_lacks_is_not_checked(tmp_path: Path, recording: Path) -> None:
    write_bundle(tmp_path / "old", "3.0.2")
    done = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=old")
    assert done.code == 0, done.out
    assert done.target["schemas"] is None
    assert "schemas not checked" in done.out
    (left,) = (left for left in done.target["not_checked"] if "schemas" in left["item"])
    assert left["why"].startswith("the server serves AdCP 3.1, and old has 3.0.2; install the schemas extra")
    pinned = run(tmp_path, f"--adcp-replay={recording}", "--adcp-schemas=old", "--adcp-spec=3.0")
    assert pinned.target["schemas"] == {"source": "old", "version": "3.0.2"}


@pytest.mark.skipif(importlib.util.find_spec("adcp") is not None, reason="the adcp package is installed here")
def test_without_schemas_the_terminal_says_how_to_get_them(tmp_path: Path, recording: Path) -> None:
    done = run(tmp_path, f"--adcp-replay={recording}")
    assert done.code == 0, done.out
    assert done.target["schemas"] is None
    assert set(outcomes(done).values()) == {"not-applicable"}
    assert "schemas not checked)" in done.out
    (left,) = (left for left in done.target["not_checked"] if "schemas" in left["item"])
    assert "pip install 'pytest-adcp[schemas]'" in left["why"]
    assert "--adcp-schemas DIR" in left["why"]
    assert done.out.count("pytest-adcp[schemas]") == 1


@pytest.mark.skipif(folder() is None, reason="no AdCP schemas are at hand")
def test_the_published_schemas_pass_the_demo(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo", f"--adcp-schemas={folder()}")
    assert done.code == 0, done.out
    assert done.target["schemas"]["version"].startswith("3.1.")
    assert outcomes(done)["get_products/sample"] == "passed"
