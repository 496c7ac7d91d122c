"""A run over many targets: each judged by itself, none in the way of the others, and one item a target and family."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fleets import QUICK, by_name, fleet, fleet_run, listed
from hostile import silence
from pytest_adcp.harness.fleet.shard import Shard
from pytest_adcp.harness.seller.options import Release, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.reports import fleet as reported
from pytest_adcp.reports import model
from runs import Run
from scripted import Call, Reply, failure, good, initialized, scripted

DOWN = "http://127.0.0.1:1/mcp"
WRAPPED = "adcp.extraction.top-level-data"


def slow_and_large(call: Call) -> Any:
    """Answer no tool, and flood whoever lists them a second time."""
    return silence if call.tool else None


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run over a good seller, a faulty one, one that is down, a hostile one, and one of another AdCP release."""
    folder = tmp_path_factory.mktemp("five")
    with ExitStack() as stack:
        sellers = {
            "good": stack.enter_context(running(SellerOptions(bearer="g00d-s3cret"))),
            "faulty": stack.enter_context(running(SellerOptions(fault="nested-data"))),
            "down": DOWN,
            "hostile": stack.enter_context(scripted(slow_and_large)).url,
            "older": stack.enter_context(running(SellerOptions(release=Release.V3_0))),
        }
        targets: list[dict[str, Any]] = [{"name": name, "url": url} for name, url in sellers.items()]
        targets[0]["auth"] = {"bearer_env": "GOOD_TOKEN"}
        targets[1]["calls"] = [{"tool": "get_products", "name": "mine", "arguments": {}}]
        listed(folder, *targets)
        yield fleet_run(folder, "--junitxml=junit.xml", env={"GOOD_TOKEN": "g00d-s3cret"})


def test_each_target_is_judged_by_itself(five: Run) -> None:
    targets = by_name(five)
    assert {name: target["verdict"] for name, target in targets.items()} == {
        "good": "conformant",
        "faulty": "nonconformant",
        "down": "inconclusive",
        "hostile": "inconclusive",
        "older": "conformant",
    }
    assert targets["older"]["adcp_version"] == "3.0"
    assert targets["down"]["problem"].endswith("nothing listens at 127.0.0.1:1")
    assert five.code == fleet(five)["exit_code"] == 6, five.out  # one could not be reached


def test_the_gravest_target_comes_first(five: Run) -> None:
    names = [target["name"] for target in fleet(five)["targets"]]
    assert names == ["down", "faulty", "hostile", "good", "older"]
    summary = five.out.partition("fleet: 5 targets: ")[2].splitlines()
    assert summary[0].startswith("2 conformant, 1 nonconformant, 2 inconclusive, in ")
    assert [line.split(":")[0] for line in summary[1:6]] == [
        "inconclusive down",
        "nonconformant faulty",
        "inconclusive hostile",
        "conformant good",
        "conformant older",
    ]


def test_each_target_has_a_report_and_a_transcript(five: Run) -> None:
    for name, target in by_name(five).items():
        folder = five.folder / "adcp-report" / name
        report = model.load(folder / "report.json")
        (one,) = report.targets
        assert (one.name, one.verdict, dict(one.counts)) == (name, target["verdict"], target["counts"])
        assert target["report"]["file"] == f"{name}/report.json"
        assert one.transcript is not None
        assert (folder / one.transcript.file).is_file()
    called = {
        call.subject for call in model.load(five.folder / "adcp-report/faulty/report.json").targets[0].calls
    }
    assert "get_products/mine" in called
    called = {
        call.subject for call in model.load(five.folder / "adcp-report/good/report.json").targets[0].calls
    }
    assert "get_products/mine" not in called


def test_a_line_tells_when_a_target_is_done(five: Run) -> None:
    lines = [line for line in five.out.splitlines() if line.startswith("adcp: [")]
    assert [line.split()[1] for line in lines] == [f"[{number}/5]" for number in range(1, 6)]


def test_an_item_is_a_target_and_a_family(five: Run) -> None:
    cases = list(ElementTree.parse(five.folder / "junit.xml").iter("testcase"))
    results = {(case.get("classname"), case.get("name")): case for case in cases}
    assert len(results) == len(cases) < 100
    failed = results["faulty", "adcp.extraction"].find("failure")
    assert failed is not None
    assert WRAPPED in str(failed.get("message"))
    assert results["good", "adcp.extraction"].find("failure") is None
    assert results["down", "survey"].find("failure") is not None
    found = {item.get("name"): item.get("value") for item in results["good", "mcp.http"].iter("property")}
    assert (found["target"], found["family"], found["outcome"]) == ("good", "mcp.http", "passed")
    assert "FAILED faulty::adcp.extraction - adcp.extraction.top-level-data (MUST)" in five.out


def test_the_schema_of_a_fleet_holds_and_a_fleet_can_be_read_again(five: Run) -> None:
    file = five.folder / "adcp-report" / "fleet.json"
    loaded = reported.load(file)
    assert reported.dumps(loaded) == file.read_text("utf-8")
    assert loaded.listed.targets == 5
    assert (five.folder / "adcp-report" / "fleet.html").read_text("utf-8").count("<details") == 5


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a list of a good and a faulty seller, which run as long as tests of this module do."""
    folder = tmp_path_factory.mktemp("two")
    with running(SellerOptions()) as fine, running(SellerOptions(fault="nested-data")) as faulty:
        listed(folder, {"name": "fine", "url": fine}, {"name": "faulty", "url": faulty})
        yield folder


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["-k", "fine"], 0, "the exit code speaks of a part: only a part was judged (-k fine)"),
        (["-k", "extraction", "-x"], 1, "1 failed"),
        (["fine::adcp.errors"], 0, "1 passed"),
        (["-n2"], 1, "FAILED faulty::adcp.extraction"),
        (["-q"], 1, "fleet: 2 targets: 1 conformant, 1 nonconformant"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_selecting_works_as_everywhere(two: Path, arguments: list[str], code: int, told: str) -> None:
    done = fleet_run(two, *arguments)
    assert (done.code, told in done.out) == (code, True), done.out
    assert fleet(done)["exit_code"] == 1  # whatever items ran


def test_the_last_failed_run_again(two: Path) -> None:
    cached = ("-p", "cacheprovider")
    assert fleet_run(two, *cached).code == 1
    done = fleet_run(two, *cached, "--lf")
    assert "1 failed, 27 deselected" in done.out
    assert done.code == 1


def test_what_an_earlier_run_said_is_gone(two: Path) -> None:
    (two / "adcp-report" / "fine").mkdir(parents=True, exist_ok=True)
    stale = two / "adcp-report" / "fine" / "report.html"
    stale.write_text("of another run")
    assert fleet_run(two, "-k", "fine", "--adcp-no-transcript").code == 0
    assert stale.read_text() != "of another run"
    assert not (stale.parent / "transcript.jsonl").exists()
    assert (stale.parent / "report.json").exists()


def test_an_empty_shard_is_no_failure_and_says_so(two: Path) -> None:
    taken = next(index for index in range(4) if Shard(index, 4).takes("fine"))
    empty = next(index for index in range(4) if not any(map(Shard(index, 4).takes, ("fine", "faulty"))))
    for index, names in ((taken, {"fine"}), (empty, set())):
        done = fleet_run(two, f"--adcp-shard={index}/4", f"--adcp-report-dir=shard-{index}")
        found = reported.load(two / f"shard-{index}" / "fleet.json")
        assert {target.name for target in found.targets} >= names
        assert (found.shard, found.listed.targets) == (reported.ShardOf(index, 4), 2)
        assert ("no target falls into this shard" in done.out) is (not names)
    assert done.code == 0, done.out


def echo(call: Call) -> Reply | None:
    """Hand back the credentials that came with a request."""
    said = str(call.header("authorization"))
    if call.method == "initialize":
        known = initialized("2025-11-25")
        return Reply(result=known.result | {"instructions": said}, headers=known.headers)
    if call.tool == "get_products":
        return Reply(result=failure("AUTH_REQUIRED", recovery=said, details={"said": said}))
    return good(call)


def test_credentials_go_to_their_own_server_and_into_no_file(tmp_path: Path) -> None:
    tokens = {"one": "t0ken-of-the-f1rst-seller", "two": "t0ken-of-the-sec0nd-seller"}
    with scripted(echo) as one, scripted(echo) as two:
        listed(
            tmp_path,
            {"name": "one", "url": one.url, "auth": {"bearer_env": "ONE"}},
            {"name": "two", "url": two.url, "auth": {"header_env": {"X-Api-Key": "TWO"}}},
            yaml=QUICK.replace("probes: false, ", ""),
        )
        done = fleet_run(
            tmp_path, "--junitxml=j.xml", "-vv", env={"ONE": tokens["one"], "TWO": tokens["two"]}
        )
    assert done.code == 1, done.out
    for seller, own, other in ((one, "one", "two"), (two, "two", "one")):
        came = json.dumps(
            [[call.http.line, call.http.headers, call.http.body.decode()] for call in seller.calls]
        )
        assert tokens[own] in came
        assert tokens[other] not in came
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 7
    for text in (done.out, *(path.read_text("utf-8", "replace") for path in files)):
        assert not any(token in text for token in tokens.values())
