"""Reports with everything in them, hostile ones, and what an HTML5 parser makes of their pages."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from evidence import Http, surveyed
from justhtml import JustHTML
from pytest_adcp.harness.baseline import State
from pytest_adcp.harness.calls import Expect, Purpose
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.transcript import Transcript
from pytest_adcp.harness.verdict import Outcome, Verdict
from pytest_adcp.reports.model import (
    Baseline,
    BaselineEntry,
    Call,
    Change,
    ChecklistItem,
    Comparison,
    Diagnosis,
    Harness,
    NotChecked,
    Observation,
    Report,
    ReportedFinding,
    Schemas,
    Selected,
    Server,
    SurveyCost,
    Target,
    TranscriptFile,
)

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)><a href='",
    "' autofocus onfocus='alert(1)",
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    'https://evil.test/" onmouseover="alert(1)',
    "data:text/html,<script>alert(1)</script>",
    "</style><script>alert(1)</script><style>*{display:none}",
    "}*{background:url(https://evil.test/leak)}/*",
    "</title></pre></code></textarea><base href=https://evil.test/><iframe src=https://evil.test/>",
    "<meta http-equiv=refresh content='0;url=https://evil.test/'><form action=https://evil.test><input name=q>",
    "<!--<![CDATA[<template><plaintext>",
    "{{ 7 * 7 }}{% for x in y %}{# c #}${7*7}`<b>`",
    "\u202eevil\u2066\u200b\x00\x1b[31m\x85\u2028\ud800 &lt;b&gt; &#60;script&#62;",
)
TOOLS = ("get_products", "list_creatives")
LINK = "https://spec.test/page#part"


def finding(rule: str, outcome: Outcome, subject: str, message: str = "", **members: Any) -> ReportedFinding:
    broken = outcome in (Outcome.FAILED, Outcome.KNOWN, Outcome.ADVISORY)
    given: dict[str, Any] = {
        "level": Level.SHOULD if outcome is Outcome.ADVISORY else Level.MUST,
        "source": LINK,
        "fix": "return `products` at the root" if broken else "",
        "expected": "a list" if broken else "",
        "received": "nothing" if broken else "",
        "curl": "curl -sS http://seller.test/mcp" if broken else "",
        "further": ("and the second too",) if broken else (),
    }
    return ReportedFinding(rule, outcome=outcome, subject=subject, message=message, **(given | members))


def findings() -> tuple[ReportedFinding, ...]:
    rule, other = "adcp.extraction.top-level-data", "mcp.result.content"
    return (
        finding(
            rule,
            Outcome.FAILED,
            "get_products/sample",
            "wrapped",
            pointer="/result/structuredContent",
            exchange=1,
        ),
        finding(
            rule, Outcome.FAILED, "list_creatives/sample", "wrapped", fix="return `creatives` at the root"
        ),
        *(
            finding(rule, Outcome.FAILED, f"get_products/page-{n}", f"message {n}", curl="")
            for n in range(60)
        ),
        finding(other, Outcome.ADVISORY, "get_products/sample@2", "late", strength=Level.SHOULD),
        finding(other, Outcome.BLOCKED, "list_creatives/bad", "no error was seen"),
        finding(other, Outcome.NOT_APPLICABLE, "-", "no such thing"),
        *(finding(other, Outcome.PASSED, f"{tool}/sample") for tool in TOOLS),
        finding("mcp.lifecycle.answered", Outcome.PASSED, "initialize"),
    )


def few() -> tuple[ReportedFinding, ...]:
    """One of each kind."""
    return (
        *(item for item in findings() if not item.subject.startswith("get_products/page-")),
        *(finding("a.rule", Outcome.FAILED, f"x/{n}", f"message {n}", expected=str(n)) for n in range(4)),
        *(finding("b.rule", Outcome.FAILED, f"x/{n}", "the same", expected=str(n)) for n in range(2)),
        finding("c.rule", Outcome.KNOWN, "list_creatives/sample", "late", reason="the vendor mends it"),
    )


def call(tool: str, seconds: float, **members: Any) -> Call:
    given: dict[str, Any] = {
        "classified": "success",
        "path": "structuredContent",
        "error_level": None,
    } | members
    return Call(
        f"{tool}/sample", tool, Purpose.GOOD, Expect.SUCCESS, seconds=seconds, bytes=1234, exchange=1, **given
    )


BASELINE = Baseline(
    "baseline.yaml",
    "1.0",
    (BaselineEntry("a.rule", "*", 3, State.STALE, "the vendor mends it", "nothing fails there"),),
    ("z.new",),
)
CHANGE = Change("a.rule", "x/1", Level.MUST, Outcome.PASSED, Outcome.FAILED, "wrapped")
COMPARISON = Comparison(
    "2026-11-28T12:00:00+00:00",
    "https://seller.test/mcp",
    "1.0",
    Verdict.CONFORMANT,
    *((CHANGE,),) * 6,
    *(("some.name",),) * 5,
)


def target(name: str = "demo", **members: Any) -> Target:
    found = members.get("findings", findings())
    given: dict[str, Any] = {
        "url": "https://seller.test/mcp",
        "server": Server("Seller", "1.0", "2025-11-25"),
        "adcp_version": "3.1",
        "schemas": Schemas("the adcp package", "3.1.0"),
        "profiles": ("core", "connected-apps"),
        "verdict": Verdict.NONCONFORMANT,
        "reasons": ("no error was seen",),
        "counts": {str(o): sum(item.outcome is o for item in found) for o in Outcome},
        "transcript": TranscriptFile("transcript.jsonl", "0" * 64),
        "survey": SurveyCost(12, {"call": 12}, 1, 1.5, 0.5),
        "diagnosis": None,
        "findings": found,
        "not_checked": (NotChecked("create_media_buy", "changes something"), NotChecked("probe/x", "no key")),
        "calls": (
            call("get_products", 0.5),
            call("list_creatives", 0.25, classified="error", error_level="text"),
            call("other", 0.0, classified=None, path=None, tries=3, why="nothing came back"),
        ),
        "observations": (Observation("release", "judged as `3.1`", 0),),
        "checklist": (ChecklistItem("apps.look", "Somebody has looked.", LINK),),
        "selection": Selected(False, ("-k products",)),
        "complete": False,
    }
    return Target(name=name, **(given | members))


def report(*targets: Target) -> Report:
    settings = {
        "server_url": "https://seller.test/mcp",
        "plan": {"auto": True, "deep": {"er": 1}},
        "tools": [],
    }
    return Report(
        Harness("pytest-adcp", "1.0", "1.0"), "2026-11-29T12:00:00+00:00", settings, targets or (target(),)
    )


def unusable() -> Report:
    diagnosis = Diagnosis("refused", "nothing listens at seller.test", "start the server")
    left: dict[str, Any] = {"findings": (), "calls": (), "transcript": None, "verdict": Verdict.INCONCLUSIVE}
    return report(target(diagnosis=diagnosis, **left))


def of_a_library() -> Report:
    broken = finding(
        "client.extraction.json", Outcome.FAILED, "json/one", "it raises", curl="", exchange=None
    )
    left: dict[str, Any] = {
        "calls": (),
        "transcript": None,
        "schemas": None,
        "checklist": (),
        "not_checked": (),
    }
    return report(target("a library", url="", findings=(broken,), profiles=("client",), **left))


def hostile(value: Any, payload: str) -> Any:
    """Return a record with every string in it replaced, those of enumerations excepted."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return payload
    if isinstance(value, tuple):
        return tuple(hostile(item, payload) for item in value)
    if isinstance(value, Mapping):
        return {f"{payload}{key}": hostile(item, payload) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (item.name for item in dataclasses.fields(value))
        return replace(value, **{name: hostile(getattr(value, name), payload) for name in names})
    return value


def recorded(text: str) -> Transcript:
    """Return a transcript with a text around the places that findings() point at."""
    result = {"content": [], "structuredContent": {text: text, "products": text}}
    return surveyed(Http({"jsonrpc": "2.0", "id": "call-7", "result": result})).transcript


def with_transcript(report: Report, transcript: Transcript, folder: Path) -> tuple[Report, Transcript]:
    """Save a transcript, and make it that of the report's targets; findings point at its last exchange."""
    digest = transcript.save(folder / "transcript.jsonl")
    last = transcript.exchanges[-1].index

    def pointing(item: ReportedFinding) -> ReportedFinding:
        return replace(item, exchange=last) if item.exchange is not None else item

    targets = tuple(
        replace(
            target,
            transcript=TranscriptFile("transcript.jsonl", digest),
            findings=tuple(map(pointing, target.findings)),
        )
        for target in report.targets
    )
    return replace(report, targets=targets), Transcript.load(folder / "transcript.jsonl")


@dataclass(frozen=True)
class Parsed:
    """A page as an HTML5 parser reads it."""

    html: str

    @cached_property
    def elements(self) -> list[Any]:
        return list(_elements(JustHTML(self.html, sanitize=False).root))

    @property
    def names(self) -> set[str]:
        return {element.name for element in self.elements}

    def all(self, name: str) -> list[Any]:
        return [element for element in self.elements if element.name == name]

    def texts(self, name: str) -> list[str]:
        return [" ".join(text_of(element).split()) for element in self.all(name)]

    @property
    def text(self) -> str:
        return text_of(self.all("body")[0])

    @property
    def style_hash(self) -> str:
        return base64.b64encode(hashlib.sha256(text_of(self.all("style")[0]).encode()).digest()).decode()


def _elements(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        item = stack.pop()
        if item.name[:1] not in ("#", "!"):
            yield item
        stack.extend(reversed(getattr(item, "children", None) or ()))


def text_of(node: Any) -> str:
    pieces, stack = [], [node]
    while stack:
        item = stack.pop()
        if item.name == "#text":
            pieces.append(item.data)
        stack.extend(reversed(getattr(item, "children", None) or ()))
    return "".join(pieces)


def rows_of(table: Any) -> list[Any]:
    return [
        row
        for part in table.children
        if part.name in ("thead", "tbody")
        for row in part.children
        if row.name == "tr"
    ]


def cells_of(row: Any) -> list[str]:
    return [text_of(cell) for cell in row.children if cell.name in ("th", "td")]


ELEMENTS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "main",
        "footer",
        "nav",
        "section",
        "article",
    ),
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "p",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "div",
        "span",
        "b",
        "i",
        "br",
        "code",
        "pre",
    ),
    *(
        "mark",
        "a",
        "details",
        "summary",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "label",
        "input",
    ),
    *("svg", "rect"),
}
ATTRIBUTES = {
    *(
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "id",
        "href",
        "rel",
        "role",
        "tabindex",
        "scope",
    ),
    *(
        "colspan",
        "type",
        "autocomplete",
        "aria-label",
        "aria-labelledby",
        "aria-hidden",
        "focusable",
        "viewBox",
    ),
    *("preserveAspectRatio", "width", "height"),
}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def inert(page: Parsed) -> None:
    """Nothing but the elements and attributes of the templates, addresses of the web, and visible text."""
    assert page.names <= ELEMENTS
    assert {name for element in page.elements for name in element.attrs} <= ATTRIBUTES
    addresses = [element.attrs["href"] for element in page.all("a")]
    assert [it for it in addresses if not re.match(r"#[a-z0-9-]+\Z|https?://", it)] == []
    assert {element.attrs["type"] for element in page.all("input")} <= {"checkbox"}
    assert len(page.all("style")) == len(page.all("title")) == 1
    assert not UNSEEN.search(page.html)
