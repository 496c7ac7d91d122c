"""The HTML report: what stands in it, and that nothing in it comes to life."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from html_pages import (
    BASELINE,
    CHANGE,
    COMPARISON,
    PAYLOADS,
    Parsed,
    cells_of,
    few,
    finding,
    findings,
    hostile,
    inert,
    of_a_library,
    recorded,
    report,
    rows_of,
    target,
    text_of,
    unusable,
    with_transcript,
)
from pytest_adcp.harness.verdict import Outcome, Verdict
from pytest_adcp.reports import html
from pytest_adcp.reports.alarms import alarm_of
from runs import run


def shape(page: Parsed) -> list[tuple[str, int]]:
    return [
        (element.name, len(element.attrs)) for element in page.elements if element.name not in ("a", "code")
    ]


HOSTILE = (
    report(target(findings=few(), baseline=BASELINE, comparison=COMPARISON)),
    unusable(),
    report(target("one", findings=few()[:1]), target("two", findings=())),
)


@cache
def harmless(number: int) -> list[tuple[str, int]]:
    """The page that words make, where the payload would have stood."""
    return shape(Parsed(html.render(hostile(HOSTILE[number], "word"))))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_foreign_text_stays_text(payload: str) -> None:
    for number, whole in enumerate(HOSTILE):
        page = Parsed(html.render(hostile(whole, payload)))
        inert(page)
        assert shape(page) == harmless(number)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_foreign_bytes_stay_text(payload: str, tmp_path: Path) -> None:
    whole, transcript = with_transcript(report(target(findings=few()[:1])), recorded(payload), tmp_path)
    page = Parsed(html.render(whole, transcripts=[transcript]))
    inert(page)
    assert page.all("mark")


def test_a_template_in_a_report_is_no_template() -> None:
    page = Parsed(html.render(report(target(reasons=("{{ 7 * 7 }} {% if 1 %}",)))))
    assert "{{ 7 * 7 }} {% if 1 %}" in page.text


def test_the_policy_allows_one_style_sheet_and_nothing_else() -> None:
    page = Parsed(html.render(report()))
    (policy,) = (it.attrs["content"] for it in page.all("meta") if "http-equiv" in it.attrs)
    rules = [rule.strip() for rule in policy.split(";")]
    assert rules == [
        "default-src 'none'",
        f"style-src 'sha256-{page.style_hash}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.names.isdisjoint({"script", "link", "img", "iframe", "form"})


@pytest.mark.parametrize(
    ("source", "is_link"),
    [
        ("https://spec.test/a?b=1#c", True),
        ("HTTP://SPEC.TEST/a", True),
        ("javascript:alert(1)", False),
        ("//spec.test/a", False),
        ("https://", False),
        ("https:///path", False),
        ("https://spec.test/a b", False),
        ("https://[spec/", False),
        ("https://spec.test/\nx", False),
        ("mcp-guide", False),
    ],
)
def test_only_addresses_of_the_web_are_links(source: str, is_link: bool) -> None:
    broken = finding("a.b", Outcome.FAILED, "x/y", "no", source=source)
    page = Parsed(html.render(report(target(findings=(broken,), checklist=()))))
    outward = [link for link in page.all("a") if not link.attrs["href"].startswith("#")]
    assert {link.attrs["href"] for link in outward} == ({source} if is_link else set())
    assert all("noreferrer" in link.attrs["rel"] for link in outward)


def test_what_failed_is_said_with_all_that_mends_it(tmp_path: Path) -> None:
    whole, transcript = with_transcript(report(), recorded("camp"), tmp_path)
    page = Parsed(html.render(whole, transcripts=[transcript]))
    assert page.texts("h1") == ["demo ✗ nonconformant"]
    assert page.texts("mark") == ['{"camp": "camp", "products": "camp"}']
    for text in (
        "1 MUST rule failed, in 62 checks.",
        "wrapped",
        "a list",
        "and the second too",
        "/result/structuredContent",
        "return products at the root",
        "curl -sS http://seller.test/mcp",
        "https://spec.test/page#part",
        "further messages of this rule are in report.json",
        "judged as 3.1",
        "changes something",
        "no error was seen",
    ):
        assert text in page.text
    assert page.texts("h2") == [
        "What failed 1 rule",
        "What could not be judged 1 reason",
        "Advisories 1 rule",
        "Coverage",
        "Calls and timings 3 calls",
        "What was not checked",
        "Observations",
        "For a person to tick",
        "Settings and versions",
    ]


def test_a_rule_with_many_messages_shows_some_and_counts_the_rest() -> None:
    page = Parsed(html.render(report()))
    # 61 messages: 3 in full, 40 in a line each.
    assert "More of this rule: 40" in page.texts("summary")
    assert "18 further messages of this rule are in report.json." in page.texts("p")


def test_bytes_are_shown_only_of_the_very_transcript(tmp_path: Path) -> None:
    whole, transcript = with_transcript(report(), recorded("camp"), tmp_path)
    for given, words in (
        (None, "the transcript was not at hand when this page was made"),
        (replace(transcript, sha256="1" * 64), "its SHA-256 is another"),
        (replace(transcript, sha256=""), "its SHA-256 is another"),
    ):
        page = Parsed(html.render(whole, transcripts=[given] if given else []))
        assert not page.all("mark")
        assert words in page.text
    not_kept = replace(whole, targets=(replace(whole.targets[0], transcript=None),))
    assert "the run kept no transcript" in Parsed(html.render(not_kept, transcripts=[transcript])).text


def test_the_transcript_is_looked_for_beside_the_report(tmp_path: Path) -> None:
    whole, transcript = with_transcript(report(), recorded("camp"), tmp_path)
    assert html.recorded(whole, tmp_path) == [transcript]
    assert html.recorded(whole, tmp_path / "elsewhere") == []
    (tmp_path / "transcript.jsonl").write_bytes(b"{}\n")
    assert html.recorded(whole, tmp_path) == []
    assert html.recorded(hostile(whole, "\0"), tmp_path) == []
    assert html.recorded(hostile(whole, "."), tmp_path) == []


def test_coverage_names_tools_calls_and_families() -> None:
    page = Parsed(html.render(report()))
    whole, detailed = (table for table in page.all("table") if table.attrs["class"] == "matrix")
    rows = [[" ".join(cell.split()) for cell in cells_of(row)] for row in rows_of(whole)]
    assert rows == [
        ["", "adcp.extraction", "mcp.result", "mcp.lifecycle"],
        ["Tools"],
        ["get_products", "✗ 61/61", "! 1/2", ""],
        ["list_creatives", "✗ 1/1", "? 1/2", ""],
        ["Others"],
        ["no subject", "", "n/a", ""],
        ["initialize", "", "", "✓ 1"],
    ]
    names = [cells_of(row)[0] for row in rows_of(detailed)]
    assert "get_products/page-7" in names
    assert "get_products/sample" in names  # with what its second try gave


def test_what_is_known_and_what_has_changed() -> None:
    page = Parsed(html.render(report(target(findings=few(), baseline=BASELINE, comparison=COMPARISON))))
    assert "Known failures 1 rule" in page.texts("h2")
    assert "the vendor mends it" in page.text
    assert "9 checks, 1 of them known" in page.text
    assert any("baseline" in heading.lower() for heading in page.texts("h2"))
    assert "(✗) 1/1" in page.text


def test_changes_are_lists_and_long_ones_are_folded() -> None:
    changed = replace(COMPARISON, still=tuple(replace(CHANGE, subject=f"x/{n}") for n in range(9)))
    one = target(findings=few(), comparison=changed, baseline=BASELINE)
    one = replace(one, alarm=alarm_of(one, only_new=False))
    page = Parsed(html.render(report(one)))
    assert "Since 28 November 2026, 12:00 UTC" in page.texts("h2")
    assert "Baseline baseline.yaml" in page.texts("h2")
    lists = {
        len([c for c in it.children if c.name == "li"])
        for it in page.all("ul")
        if it.attrs.get("class") == "changes"
    }
    assert lists == {1, 9}
    assert "still failing: 9" in page.texts("summary")
    assert "new failures: 1" in page.texts("p")
    (alarm,) = (text_of(it) for it in page.all("p") if it.attrs.get("class") == "alarm bad")
    assert "new since 28 November 2026, 12:00 UTC" in alarm


def test_paper_names_the_rules_that_nothing_is_wrong_with() -> None:
    many = [finding(f"mcp.tools.rule-number-{n}", Outcome.PASSED, "tools") for n in range(200)]
    page = Parsed(html.render(report(target(findings=tuple(many)))))
    (text,) = (" ".join(text_of(it).split()) for it in page.all("p") if it.attrs.get("class") == "on-paper")
    assert text.startswith("Passed: 200 rules. mcp.tools rule-number-0, rule-number-1, ")
    assert text.endswith(", rule-number-199")  # however long it gets
    page = Parsed(html.render(report()))
    texts = [" ".join(text_of(it).split()) for it in page.all("p") if it.attrs.get("class") == "on-paper"]
    assert texts == ["Passed: 1 rule. mcp.lifecycle answered"]
    (table,) = (it for it in page.all("table") if it.attrs["class"] == "plain rules")
    hidden = [cells_of(row)[0] for row in rows_of(table) if row.attrs.get("class") == "on-screen"]
    assert hidden == ["mcp.lifecycle.answered"]


def test_the_bars_are_as_long_as_the_calls() -> None:
    page = Parsed(html.render(report()))
    assert [rect.attrs["width"] for rect in page.all("rect")] == ["100.0", "50.0", "0.0"]


def test_a_server_that_was_not_there() -> None:
    whole = unusable()
    (one,) = whole.targets
    assert one.diagnosis is not None
    page = Parsed(
        html.render(replace(whole, targets=(replace(one, reasons=(one.diagnosis.message, "it is late")),)))
    )
    # Nothing is said twice, and nothing of what was not judged.
    assert page.text.count(one.diagnosis.message) == 1
    assert "it is late" in page.texts("li")
    assert "judged as 3.0" not in page.text
    assert not [it for it in page.all("ul") if it.attrs.get("class") == "tiles"]
    assert "nothing listens at seller.test" in page.text
    assert "start the server" in page.text
    assert "Coverage" not in page.texts("h2")


def test_a_library() -> None:
    page = Parsed(html.render(of_a_library()))
    assert "a library" in page.texts("h1")[0]
    assert "it raises" in page.text
    for absent in ("Endpoint", "Requests", "MCP", "AdCP", "transcript"):
        assert absent not in page.texts("dt")
    assert "left out" not in page.text


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Verdict.CONFORMANT, "No requirement that was judged is broken: 2 rules passed, on 3 calls."),
        (Verdict.INCONCLUSIVE, "Nothing failed, and too little could be judged"),
    ],
)
def test_the_verdict_in_a_sentence(verdict: Verdict, sentence: str) -> None:
    fine = tuple(item for item in findings() if item.outcome is Outcome.PASSED)
    page = Parsed(html.render(report(target(verdict=verdict, findings=fine))))
    assert sentence in page.text
    assert f"{verdict}" in page.texts("h1")[0]
    assert "What failed" not in page.text


def test_several_targets_begin_with_a_table() -> None:
    page = Parsed(html.render(report(*(target(f"seller {n}") for n in range(30)))))
    assert page.texts("h1") == ["30 targets"]
    (table,) = (it for it in page.all("table") if it.attrs["class"] == "targets")
    assert len(rows_of(table)) == 31
    assert len([it for it in page.all("article") if it.attrs["class"] == "target"]) == 25
    assert "The first 25 targets follow" in page.text
    ids = [element.attrs["id"] for element in page.elements if "id" in element.attrs]
    assert len(ids) == len(set(ids))
    assert {link.attrs["href"][1:] for link in page.all("a") if link.attrs["href"].startswith("#")} <= set(
        ids
    )


@pytest.mark.parametrize("whole", [report(), report(target("a"), target("b")), unusable(), of_a_library()])
def test_headings_are_in_order_and_tables_are_described(whole: Any) -> None:
    page = Parsed(html.render(whole))
    levels = [int(element.name[1]) for element in page.elements if re.fullmatch("h[1-6]", element.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in page.all("table"):
        assert table.children[0].name == "caption" or any(it.name == "caption" for it in table.children)
    assert all("scope" in cell.attrs for cell in page.all("th"))
    ids = {element.attrs.get("id") for element in page.elements}
    assert all(set(it.attrs["aria-labelledby"].split()) <= ids for it in page.all("section"))


def test_the_page_stays_small() -> None:
    many = tuple(
        finding(f"family-{n % 15}.rule-{n % 300}", Outcome.PASSED, f"get_products/call-{n % 40}")
        for n in range(8000)
    )
    assert len(html.render(report(target(findings=many)))) < 300_000


def test_the_page_stays_small_whatever_stands_in_the_report() -> None:
    long = "x" * 50_000
    many = tuple(
        finding(
            f"f.rule-{n % 30}", Outcome.FAILED, f"{n}{long}", f"{n}{long}", further=(long,) * 50, curl=long
        )
        for n in range(900)
    )
    assert len(html.render(report(target(findings=many)))) < 12_000_000


def test_saving_is_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    html.save(report(), file)
    assert file.read_text(encoding="utf-8") == html.render(report())
    assert file.stat().st_mode & 0o777 == 0o644

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(html, "replace_file", full)
    with pytest.raises(OSError, match="No space left"):
        html.save(report(), file)
    assert list(tmp_path.iterdir()) == []  # no page of another run beside the new report.json


def test_a_run_writes_the_page(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo", "-k", "top-level-data")
    page = (tmp_path / "adcp-report" / "report.html").read_text(encoding="utf-8")
    inert(Parsed(page))
    assert re.search(r"^report: +\S*adcp-report/report.html$", done.out, re.MULTILINE), done.out


def test_a_page_that_cannot_be_written_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "adcp-report" / "report.html").mkdir(parents=True)
    done = run(tmp_path, "--server-url=demo", "-k", "top-level-data")
    assert done.code == 0, done.out
    assert "report.html could not be written: Is a directory" in done.out
    assert (tmp_path / "adcp-report" / "report.json").exists()
