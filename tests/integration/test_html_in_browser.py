"""The HTML report in a real browser: it reads well, for everybody, and a hostile one does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import Page, browser
from html_pages import (
    BASELINE,
    COMPARISON,
    PAYLOADS,
    few,
    hostile,
    of_a_library,
    recorded,
    report,
    target,
    unusable,
    with_transcript,
)
from pytest_adcp.reports import html
from pytest_adcp.reports.alarms import alarm_of
from pytest_adcp.reports.model import Report, Target


def alarmed() -> Target:
    one = target(findings=few(), baseline=BASELINE, comparison=COMPARISON)
    return replace(one, alarm=alarm_of(one, only_new=False))


REPORTS = {
    "one": report(alarmed()),
    "several": report(target("one", findings=few()[:1]), target("two", findings=few()[:2])),
    "unusable": unusable(),
    "library": of_a_library(),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


def written(folder: Path, whole: Report) -> Path:
    whole, transcript = with_transcript(whole, recorded("camp"), folder)
    html.save(whole, folder / "report.html", transcript)
    return folder / "report.html"


def only(page: Page, file: Path) -> None:
    """Nothing was asked for but the page, and nothing was said, by it or about it."""
    assert page.requests == [file.as_uri()]
    assert page.alarms == []


@pytest.mark.parametrize("name", REPORTS)
def test_everybody_can_read_it(name: str, page: Page, tmp_path: Path) -> None:
    file = written(tmp_path, REPORTS[name])
    page.open(file)
    page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    for dark in (False, True):
        page.look(dark=dark)
        assert page.axe() == []
    only(page, file)


def test_light_and_dark_differ(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, REPORTS["one"]))
    colours = set()
    for dark in (False, True):
        page.look(dark=dark)
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    page.look(dark=True, media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_only_tables_scroll_sideways(width: int, page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, REPORTS["one"]))
    page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    page.look(width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_keyboard_reaches_everything_and_one_sees_where_it_is(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, REPORTS["one"]))
    page.look()
    seen = []
    for _ in range(14):
        page.press("Tab")
        seen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
        style = "getComputedStyle(document.activeElement)"
        assert page.evaluate(f"{style}.outlineStyle != 'none' && parseFloat({style}.outlineWidth) >= 2"), (
            seen[-1]
        )
    assert 'class="skip"' in seen[0]
    assert len(set(seen)) == len(seen)
    # A closed part opens by key.
    page.evaluate("document.querySelector('summary').focus()")
    page.press("Enter")
    assert page.evaluate("document.querySelector('details').open")


def test_paper_shows_what_the_screen_folds_away(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, REPORTS["one"]))
    page.look(media="print")
    shown = "it => it.checkVisibility({contentVisibilityAuto: true}) && it.getBoundingClientRect().height > 0"
    assert page.evaluate(f"[...document.querySelectorAll('details:not(.on-screen) pre')].every({shown})")
    assert page.evaluate(f"![...document.querySelectorAll('nav, .on-screen')].some({shown})")
    printed = ".on-paper, .calls td, .settings tbody td"
    assert page.evaluate(f"[...document.querySelectorAll('{printed}')].every({shown})")
    # What is said beside the data is never larger than it.
    beside = ".note, .count, .spec, .quiet, td.not-applicable"
    size = "parseFloat(getComputedStyle({}).fontSize)"
    smaller = f"it => {size.format('it')} <= {size.format('it.parentElement')}"
    assert page.evaluate(f"[...document.querySelectorAll('{beside}')].every({smaller})")
    assert page.evaluate(f"[...document.querySelectorAll('input')].every({shown})")
    assert page.pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_hostile_report_does_nothing(payload: str, page: Page, tmp_path: Path) -> None:
    whole, transcript = with_transcript(report(target(findings=few())), recorded(payload), tmp_path)
    for number, (evil, given) in enumerate([(hostile(whole, payload), None), (whole, transcript)]):
        file = tmp_path / f"{number}.html"
        html.save(evil, file, given)
        page.open(file)
        page.look()
        page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
        page.press("Tab")
        only(page, file)
        assert (
            page.evaluate("document.querySelectorAll('script, img, iframe, base, link, form, object').length")
            == 0
        )
        assert page.evaluate(
            "[...document.querySelectorAll('a')].every(it => /^(https?|file):/.test(it.href))"
        )
        assert page.evaluate("getComputedStyle(document.querySelector('main')).display") != "none"
