"""The messages of a broken rule on the page: what they share is said once, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from html_pages import (
    Parsed,
    cells_of,
    few,
    finding,
    recorded,
    report,
    rows_of,
    target,
    text_of,
    with_transcript,
)
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.reports import html
from pytest_adcp.reports.model import ReportedFinding

SERVED = "a request with Origin: {} is served: any page can call the server through the browser"


def described(page: Parsed) -> list[list[tuple[str, str]]]:
    """The terms of each message with what is said of them."""
    parts = [it for it in page.all("div") if it.attrs.get("class") == "message"]
    lists = [child for part in parts for child in part.children if child.name == "dl"]
    return [
        [
            (text_of(term), " ".join(text_of(said).split()))
            for term, said in zip(
                *(([c for c in it.children if c.name == n]) for n in ("dt", "dd")), strict=True
            )
        ]
        for it in lists
    ]


def test_what_messages_of_a_rule_share_is_said_once() -> None:
    def served(origin: str, **members: Any) -> ReportedFinding:
        given = {"expected": "HTTP 403", "received": f"HTTP 200, {origin}", "curl": "", "further": ()}
        return finding("a.rule", Outcome.FAILED, f"x/{origin}", SERVED.format(origin), **given | members)

    found = (served("http://evil.example"), served("null"), served("junk", fix="answer 403", expected="403"))
    page = Parsed(html.render(report(target(findings=found))))
    first, second, third = (it for it in page.all("p") if it.attrs.get("class") == "says")
    assert text_of(first) == SERVED.format("http://evil.example")
    assert text_of(second) == "a request with Origin: null is served: …"
    assert text_of(third) == "a request with Origin: junk is served: …"
    cure = ("How to mend it", "return products at the root")
    assert described(page) == [
        [
            ("On", "x/http://evil.example"),
            ("Expected", "HTTP 403"),
            ("Received", "HTTP 200, http://evil.example"),
            cure,
        ],
        [("On", "x/null"), ("Received", "HTTP 200, null"), ("As above", "what is expected, how to mend it")],
        [
            ("On", "x/junk"),
            ("Expected", "403"),
            ("Received", "HTTP 200, junk"),
            ("How to mend it", "answer 403"),
        ],
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("one is late; that is bad", "two is late; that is bad"), "two is late; that is bad"),  # short
        (("without a clause to end the sentence here", "with a clause to end the sentence here"), None),
        (("x: " + "y" * 40, ": " + "y" * 40), None),  # nothing would be left of it
        (("x. " + "y" * 40, "`a` z. " + "y" * 40), "a z. …"),
    ],
)
def test_a_sentence_is_cut_only_where_its_end_is_long_and_a_clause(
    texts: tuple[str, str], said: str | None
) -> None:
    found = [finding("a.rule", Outcome.FAILED, f"x/{n}", text) for n, text in enumerate(texts)]
    page = Parsed(html.render(report(target(findings=tuple(found)))))
    says = [text_of(it) for it in page.all("p") if it.attrs.get("class") == "says"]
    assert says == [texts[0], said or texts[1]]


def test_a_line_of_a_rule_has_the_cure_where_it_is_another() -> None:
    found = tuple(
        finding(
            "a.rule", Outcome.FAILED, f"x/{n}", f"message {n}", fix="another cure" if n == 5 else "the cure"
        )
        for n in range(6)
    )
    page = Parsed(html.render(report(target(findings=found))))
    assert page.text.count("another cure") == 1
    (heads,) = (
        cells_of(rows_of(it)[0])
        for it in page.all("table")
        if it.attrs["class"] == "plain" and "Subject" in text_of(it)
    )
    assert heads == ["Subject", "What is wrong", "Received", "How to mend it"]


def test_received_does_not_repeat_the_bytes(tmp_path: Path) -> None:
    given = {
        "exchange": 1,
        "pointer": None,
        "received": 'HTTP 200, "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": \\"call…" (99 more)',
    }
    whole = report(target(findings=(replace(few()[0], **given),)))
    whole, transcript = with_transcript(whole, recorded("camp"), tmp_path)
    ((*_, received, came, _, _),) = described(Parsed(html.render(whole, transcripts=[transcript])))
    assert received == ("Received", "HTTP 200")
    assert '{"jsonrpc": "2.0"' in came[1]
    (without,) = described(Parsed(html.render(whole)))
    assert ("Received", given["received"]) in without
