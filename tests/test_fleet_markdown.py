"""A fleet in Markdown: what it says, what foreign text may not become there, and how long it gets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_adcp.harness.verdict import Verdict
from pytest_adcp.reports import fleet_words
from pytest_adcp.reports.fleet import Fleet, TargetListDigest, TargetResult, worst_first
from pytest_adcp.reports.fleet_markdown import render
from pytest_adcp.reports.fleet_outputs import write_beside
from pytest_adcp.reports.markdown import SUMMARY
from pytest_adcp.reports.model import Alarm, Harness, Server
from test_markdown import GFM, HOSTILE, links, tokens
from told_reports import spoiled

STALE = Alarm(
    True, 2, 0, "0 of 2 failures counted: what is not known by k.yaml; 1 entry of k.yaml stale or expired"
)
HARNESS = Harness("pytest-adcp", "1.0", "1.0")


def result(name: str, code: int = 0, **members: object) -> TargetResult:
    verdict = {0: Verdict.CONFORMANT, 1: Verdict.NONCONFORMANT}.get(code, Verdict.INCONCLUSIVE)
    known = TargetResult(
        name, f"https://{name}.example/mcp", verdict, code, reached=True, counts={"passed": 3}
    )
    return replace(known, **members)  # type: ignore[arg-type]


def many(*targets: TargetResult) -> Fleet:
    listed = TargetListDigest(len(targets), "a" * 64)
    return Fleet(HARNESS, "2026-01-01", {}, listed, None, 1.0, worst_first(targets))


def several() -> Fleet:
    return many(
        result("fine"),
        result("stale", 1, alarm=STALE, stale=("k.yaml, line 4: x is stale",), counts={"known": 2}),
        result("down", 6, reached=False, problem="nothing listens", counts={}),
    )


def test_a_row_a_target_the_gravest_first() -> None:
    rows = [line for line in render(several()).splitlines() if line.startswith("|")]
    assert rows == [
        "| Target | Verdict | Checks | Alarm | First reason |",
        "| --- | --- | --- | --- | --- |",
        "| `down` | ⚠️ inconclusive | nothing was judged |  | nothing listens |",
        f"| `stale` | ❌ nonconformant | checks: 2 known | ❌ {STALE.summary} | 2 known failures; 0 checks passed |",
        "| `fine` | ✅ conformant | checks: 3 passed |  | 3 checks passed |",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_read_and_never_obeyed(text: str) -> None:
    page = render(spoiled(several(), text))
    kinds = {token.type for token in tokens(page)}
    assert not kinds & {"image", "em_open", "s_open", "strong_open", "html_block", "html_inline"}
    assert links(page) == []
    word = render(spoiled(several(), "word"))
    blocks = [token.type for token in GFM.parse(page)]
    assert blocks == [token.type for token in GFM.parse(word)]


@pytest.mark.parametrize("limit", [0, 4096, 20_000, 65_536])
@pytest.mark.parametrize("foreign", ["", "<`|@#" * 200])
def test_the_page_is_never_longer_than_it_may_be(limit: int, foreign: str) -> None:
    given = many(*(result(f"n{n:04}", 1, stale=("k.yaml, line 4: é",)) for n in range(2000)))
    page = render(spoiled(given, foreign) if foreign else given, limit=limit)
    assert len(page.encode()) <= max(limit, 4096)
    *_, more, _, last = page.splitlines()
    assert more.endswith(" more, in fleet.json_")
    assert last.startswith("Settings: ")
    told = sum(line.startswith("| `n") for line in page.splitlines())
    assert foreign or f"_{2000 - told} targets and " in more


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([], "exit code 0: there was no target to judge"),
        ([result("a")], "exit code 0: every target is conformant"),
        ([result("a"), result("b", verdict=Verdict.NONCONFORMANT)], "exit code 0: every failure is known"),
        (
            [result("a", verdict=Verdict.INCONCLUSIVE)],
            "exit code 0: nothing failed in the part that was judged",
        ),
        ([result("a"), result("b", 1)], "exit code 1: b fails"),
        (
            [result("a", 6), result("b", 1), result("c", 1)],
            "exit code 1: b, c fail; less grave: a is inconclusive",
        ),
        (
            [result("a", 6, reached=False), result("b", 1), result("c", 6)],
            "exit code 6: a could not be surveyed; less grave: b fails; c is inconclusive",
        ),
        ([result("a", 3), result("b", 6, reached=False)],
         "exit code 3: a met a fault of the harness; less grave: b could not be surveyed"),
        ([result(f"n{n}", 1) for n in range(5)], "exit code 1: n0, n1, n2 and 2 more fail"),
    ],
)  # fmt: skip
def test_why_a_fleet_exits_as_it_does(targets: list[TargetResult], words: str) -> None:
    assert fleet_words.ended(many(*targets)) == words


@pytest.mark.parametrize(
    ("server", "release", "words"),
    [
        (None, None, ""),
        (Server("", "", None), None, ""),
        (Server("ads", "", "2025-11-25"), None, "ads, MCP 2025-11-25"),
        (Server("ads", "1.2", None), "3.1", "ads 1.2, AdCP 3.1"),
    ],
)
def test_only_what_is_known_of_a_server_is_said(
    server: Server | None, release: str | None, words: str
) -> None:
    assert fleet_words.server(result("a", server=server, adcp_version=release)) == words


def test_the_summary_of_a_job_never_grows_beyond_what_is_shown(tmp_path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * (SUMMARY - 6000))
    given = many(*(result(f"n{n}") for n in range(500)))
    place = {"GITHUB_STEP_SUMMARY": str(file)}
    assert write_beside(given, tmp_path / "all.json", environment=place) == []
    assert SUMMARY - 3000 < file.stat().st_size <= SUMMARY
    (line,) = write_beside(given, tmp_path / "all.json", environment=place)
    assert line.startswith("$GITHUB_STEP_SUMMARY could not be written: it is full with ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.html", "all.md", "summary"]
    assert (tmp_path / "all.md").read_text("utf-8") == render(given)
