"""The report in Markdown: what it says, what it may not become, and how long it gets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pytest_adcp.harness.verdict import Outcome, Verdict
from pytest_adcp.reports import markdown
from pytest_adcp.reports.marks import code, fenced, link, prose
from pytest_adcp.reports.model import Report
from told_reports import CURL, SPEC, alarmed, everything, failed, found, report, spoiled, target

LABELS = ("expected", "received", "at", "fix", "spec", "request")
GFM = MarkdownIt("gfm-like")
OURS = re.compile(r"(?:</?(?:details|summary|code)>|\s|[^<>])*")


def tokens(text: str) -> Iterator[Token]:
    """Yield all tokens of a page, those inside paragraphs too."""
    for token in GFM.parse(text):
        yield token
        yield from token.children or ()


def links(text: str) -> list[str]:
    return [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]


def shown(text: str) -> str:
    """Return what a reader sees, without what only keeps words apart."""
    words = [token.content for token in tokens(text) if token.type in ("text", "code_inline", "fence")]
    return " ".join(words).replace("\u200b", "")


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</details></summary><h1>big",
    "<!-- hidden",
    "&lt;b&gt; &amp; &#x3c;",
    "[click](javascript:alert(1))",
    "[click](https://evil.test) ![pixel](https://evil.test/p.png)",
    "[x]: https://evil.test\n[x]",
    "<https://evil.test>",
    "https://evil.test/a(b)",
    "see www.evil.test or mail me@evil.test or mailto:me@evil.test xmpp:a@b.test ftp://evil.test/",
    "`code` ``code`` ```\nfence\n```",
    "~~~\nfence",
    "a | b | c \\| d",
    "\\| ` \\` |",
    "# heading\n## heading\n---\n===\n> quote\n- item\n1. item\n***",
    "**bold** __bold__ *it* _it_ ~~gone~~",
    "@octocat @org/team #123 GH-123 owner/repo#1 owner/repo@deadbeef :tada: :+1:",
    "$$x^2$$ $`y`$",
    "\u202eevil\u2066 \x1b[31m \x00 \ud800 \ufffe",
    "\r\n\r\n\t\tcode",
    "    code",
    "- item",
    "+ item",
    "7. item",
    "7) item",
    "===",
    ": definition",
    "https://evil.test/`|<b>",
    "a`b|c`d `e|f` `g`",
    "[[wiki]] [^1] {{ braces }} {% raw %}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_read_and_never_obeyed(text: str) -> None:
    page = markdown.render(spoiled(everything(), text))
    seen = list(tokens(page))
    for token, following in pairwise(seen):
        assert token.type not in ("image", "em_open", "s_open")
        # Bold are our own labels only.
        assert token.type != "strong_open" or following.content in LABELS
        if token.type in ("html_block", "html_inline"):
            assert OURS.fullmatch(token.content), token.content
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)
    assert set(links(page)) == {SPEC}


@pytest.mark.parametrize("text", HOSTILE)
def test_the_structure_of_the_page_is_the_same_whatever_the_text(text: str) -> None:
    def structure(page: str) -> list[str]:
        inline = ("inline", "text", "code_inline", "softbreak", "html_inline", "text_special")
        return [token.type for token in GFM.parse(page) if token.type not in inline]

    assert structure(markdown.render(spoiled(everything(), text))) == structure(
        markdown.render(spoiled(everything(), "word"))
    )


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("write", [prose, code])
def test_all_characters_of_a_text_are_shown(text: str, write) -> None:
    from pytest_adcp.harness.text import safe

    inline = GFM.parse(f"x {write(text)} y")[1]
    found = "".join(child.content for child in inline.children or ()).replace("\u200b", "")
    wanted = f"x {safe(text, 600)} y"
    # Backticks around words become code, which has none.
    assert found.replace("`", "") == wanted.replace("`", "")


def test_names_that_github_links_are_kept_apart() -> None:
    page = prose("@octocat, #12, GH-3, o/r#4, o/r@abc, a@b.test, www.x.test, :tada:, ftp://x")
    for name in ("@octocat", "#12", "GH-3", "r#4", "r@abc", "a@b", "www.x", ":tada:", "://"):
        assert name not in page.replace("&#8203;", "\u200b"), name
    assert "@" in page
    assert prose("at 12:00:00, a # b, user @ host") == "at 12:00:00, a # b, user @ host"


def test_a_table_keeps_its_cells() -> None:
    page = markdown.render(report(target(failed(message="a | b \\| c", fix="`x|y` | z"))))
    rows = [token for token in tokens(page) if token.type == "td_open"]
    assert len(rows) == 4


def test_links_lead_to_web_pages_only() -> None:
    assert link("a", "https://spec.test/x#y") == "[a](<https://spec.test/x#y>)"
    assert links(link("a", "https://spec.test/(x)>[y](z)<b>`|\\")) == [
        "https://spec.test/%28x%29%3E%5By%5D%28z%29%3Cb%3E%60%7C%5C"
    ]
    for url in (
        "javascript:alert(1)",
        "//evil.test",
        "data:text/html,x",
        "https://a b",
        "vbscript:x",
        " https://x",
    ):
        assert links(link("a", url)) == []
    assert link("a", "") == "a"


def test_code_that_nothing_ends() -> None:
    block = fenced("a ``` b ```` c", 100, "sh")
    (token,) = GFM.parse(block)
    assert (token.type, token.info, token.content) == ("fence", "sh", "a ``` b ```` c\n")
    assert GFM.parse(fenced("~~~", 100))[0].content == "~~~\n"


# -- what it says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "heading", "line"),
    [
        (
            target([found("a", Outcome.PASSED)]),
            "✅ AdCP conformance: conformant",
            "1 rule passed (`https://seller.test/mcp`,",
        ),
        (
            target(failed()),
            "❌ AdCP conformance: nonconformant",
            "1 MUST rule failed (`https://seller.test/mcp`,",
        ),
        (
            target(verdict=Verdict.INCONCLUSIVE, reasons=("no error was seen",)),
            "⚠️ AdCP conformance: inconclusive",
            "no error was seen (`https://seller.test/mcp`,",
        ),
    ],
)
def test_the_verdict_comes_first(given, heading: str, line: str) -> None:
    lines = markdown.render(report(given)).splitlines()
    assert lines[0] == f"## {heading}"
    assert lines[2].startswith(line)


def test_what_failed_is_a_table_and_details() -> None:
    page = markdown.render(report(target(failed("adcp.x", *(f"get_products/{name}" for name in "abcde")))))
    assert (
        f"| [`adcp.x`](<{SPEC}>) (MUST) | `get_products/a`, `get_products/b`, `get_products/c` +2 more "
        "| the data is wrapped in `result` | Return the object itself. |"
    ) in page.splitlines()
    details = page[page.index("<details>") : page.index("</details>")]
    assert "<summary><code>adcp.x</code>: expected, received, request</summary>" in details
    assert "**expected**: products" in details
    assert '```\n{"result": …}\n```' in details
    assert "**at**: `/result/structuredContent`" in details
    assert f"```sh\n{CURL}\n```" in details
    assert f"[the text of the rule](<{SPEC}>)" in details


def test_everything_else_is_counted_and_folded_away() -> None:
    page = markdown.render(everything())
    summaries = re.findall("<summary>(.*?)</summary>", page)
    assert summaries[2:] == [
        "1 rule that the server should keep, and does not",
        "1 rule that could not be judged",
        "2 things not checked",
        "1 thing for a person to tick: nothing on the wire shows them",
    ]
    assert "- every bad request was accepted: `adcp.d`" in page
    assert "- `schemas`: no bundle" in page
    assert "- [ ] look at it" in page
    assert "- also: something was blocked" in page
    assert "- cause: refused\n- cure: start the server" in page
    assert page.count("<details>") == page.count("</details>") == 6


def test_several_servers_start_with_a_table() -> None:
    page = markdown.render(everything())
    assert page.startswith("| Server | Verdict | Checks |")
    assert (
        "| `seller.test` | ❌ nonconformant | checks: 1 passed, 4 failed, 1 advisory, 1 not applicable, 1 blocked |"
        in page
    )


def test_the_last_line_says_how_it_came_about() -> None:
    last = markdown.render(everything()).splitlines()[-1]
    assert last == (
        "Settings: pytest-adcp 1.0; rules 1.0; 2026-11-29T00:00:00+00:00; profiles core; schemas adcp 9.2.0 3.1.19; "
        "strict True; tools &#91;'get&#95;&#42;'&#93;; config adcp.yaml; transcript 0f0f0f0f0f0f"
    )


def test_what_is_known_and_what_is_new_is_told() -> None:
    lines = markdown.render(report(alarmed())).splitlines()
    counted = "ALARM: 1 of 3 failures counted: what is new since yesterday, and not known by known.yaml"
    assert f"\N{CROSS MARK} **{counted}; 1 entry of known.yaml stale or expired**" in lines
    (row,) = [line for line in lines if line.startswith("| [`adcp.b`")]
    assert "(MUST) NEW | `get_products/brief` |" in row
    (row,) = [line for line in lines if line.startswith("| [`adcp.a`")]
    assert "NEW" not in row
    start = lines.index("### BASELINE known.yaml")
    assert lines[start + 2].startswith(
        "- \N{CROSS MARK} known.yaml, line 4: adcp.z on x is stale: it is gone; "
    )
    assert lines[lines.index("- new failures: 1") + 1].startswith("  - adcp.b (MUST) on get")
    assert any("`adcp.c`" in line and "(ticket 7)" in line for line in lines)


# -- bounds ---------------------------------------------------------------------------------------------------


def large(number: int) -> Report:
    findings = [
        finding
        for index in range(number)
        for finding in failed(f"adcp.rule-{index}", message=f"message {index} " + "é" * 400, curl="c" * 4000)
    ]
    return report(target(findings))


@pytest.mark.parametrize("limit", [0, 4096, 20_000, 65_536, 1 << 20])
@pytest.mark.parametrize("given", [large(300), everything(), spoiled(large(40), "<`|@#" * 900)])
def test_the_page_is_never_longer_than_it_may_be(given: Report, limit: int) -> None:
    page = markdown.render(given, limit=limit)
    assert len(page.encode()) <= max(limit, 4096)
    assert page.count("<details>") == page.count("</details>")
    assert page.splitlines()[-1].startswith("Settings: ")
    whole = len(markdown.render(given, limit=1 << 30))
    assert ("_There is more in report.json than has room here._" in page) == (len(page) < whole)


def test_what_failed_has_room_before_details() -> None:
    page = markdown.render(large(60), limit=65_536)
    assert page.count("| [`adcp.rule-") == 60
    assert page.count("<details>") < 60


def test_eight_thousand_findings_are_soon_written() -> None:
    findings = [
        found(
            f"adcp.rule-{n % 170}",
            Outcome.FAILED if n % 10 == 0 else Outcome.PASSED,
            f"get_products/{n}",
            f"m {n % 7}",
        )
        for n in range(8000)
    ]
    given = report(target(findings))
    start = time.process_time()
    markdown.render(given)
    assert time.process_time() - start < 1.0


def test_a_whole_page_is_the_same_each_time() -> None:
    assert markdown.render(everything()) == markdown.render(replace(everything()))
