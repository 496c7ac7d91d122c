"""Badges: what they say of one server and of several, and that their SVG stands by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from pytest_adcp.harness.verdict import Outcome, Verdict
from pytest_adcp.reports import badge
from pytest_adcp.reports.model import Alarm, Report
from told_reports import alarmed, everything, failed, found, report, spoiled, target

GOOD = target([found("a", Outcome.PASSED)])
BAD = target(failed())
OPEN = target(verdict=Verdict.INCONCLUSIVE)
SVG = "{http://www.w3.org/2000/svg}"

SAYS = {
    "conformant": ([GOOD], "conformant · 3.1", "brightgreen"),
    "nonconformant": ([BAD], "nonconformant · 3.1", "red"),
    "inconclusive": ([OPEN], "inconclusive · 3.1", "yellow"),
    "unknown release": ([replace(GOOD, adcp_version=None)], "conformant", "brightgreen"),
    "all good": ([GOOD, GOOD], "2 of 2 conformant", "brightgreen"),
    "one open": ([GOOD, OPEN, GOOD], "2 of 3 conformant", "yellow"),
    "one bad": ([GOOD, OPEN, BAD], "1 of 3 conformant", "red"),
    "some new": ([alarmed()], "nonconformant · 1 new · 3.1", "red"),
    "out of date": ([replace(GOOD, alarm=Alarm(True, 0, 0, "stale"))], "conformant · 3.1", "yellow"),
    "none": ([], "nothing judged", "lightgrey"),
}


@pytest.mark.parametrize(("targets", "message", "colour"), SAYS.values(), ids=SAYS)
def test_the_endpoint_is_what_shields_reads(targets, message: str, colour: str) -> None:
    assert json.loads(badge.endpoint(report(*targets))) == {
        "schemaVersion": 1,
        "label": "AdCP",
        "message": message,
        "color": colour,
    }


def pictured(given: Report) -> ElementTree.Element:
    return ElementTree.fromstring(badge.svg(given))


@pytest.mark.parametrize(("targets", "message", "colour"), SAYS.values(), ids=SAYS)
def test_the_picture_says_the_same_and_has_a_title(targets, message: str, colour: str) -> None:
    image = pictured(report(*targets))
    assert image.get("role") == "img"
    assert image.get("aria-label") == f"AdCP: {message}"
    assert image.findtext(f"{SVG}title") == f"AdCP: {message}"
    assert [text.text for text in image.iter(f"{SVG}text")] == ["AdCP", message]
    left, right = image.findall(f"{SVG}g/{SVG}rect")
    assert right.get("fill") == {"brightgreen": "#22762b", "red": "#b3261e", "yellow": "#8a6100"}.get(
        colour, "#5a5a5a"
    )
    assert float(left.get("width", 0)) + float(right.get("width", 0)) == float(image.get("width", 0))


def test_the_text_has_room_and_grows_with_its_length() -> None:
    for targets, _, _ in SAYS.values():
        image = pictured(report(*targets))
        for box, text in zip(image.findall(f"{SVG}g/{SVG}rect"), image.iter(f"{SVG}text"), strict=True):
            assert float(box.get("width", 0)) >= float(text.get("textLength", 0)) + 8
            middle = float(box.get("x", 0)) + float(box.get("width", 0)) / 2
            assert float(text.get("x", 0)) == middle
    assert float(pictured(report(BAD)).get("width", 0)) > float(pictured(report(GOOD)).get("width", 0)) > 100


def luminance(colour: str) -> float:
    colour = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_white_text_can_be_read_on_every_colour() -> None:
    for targets, _, _ in SAYS.values():
        for box in pictured(report(*targets)).findall(f"{SVG}g/{SVG}rect"):
            assert 1.05 / (luminance(str(box.get("fill"))) + 0.05) >= 4.5


def test_the_picture_asks_nothing_of_a_network() -> None:
    picture = badge.svg(report(GOOD)).replace("http://www.w3.org/2000/svg", "")
    for word in ("http", "href", "url(h", "<script", "@import", "<foreignObject", "<style"):
        assert word not in picture


@pytest.mark.parametrize(
    "text", ["</title><script>x</script>", "\"'&]]>", "\x00\x1b[31m\u202e\ud800", "x" * 10_000]
)
def test_foreign_text_stays_text(text: str) -> None:
    given = spoiled(report(GOOD), text)
    image = pictured(given)
    assert {child.tag.removeprefix(SVG) for child in image.iter()} == {
        "svg",
        "title",
        "clipPath",
        "rect",
        "g",
        "text",
    }
    assert len(badge.svg(given)) < 3000
    assert len(json.loads(badge.endpoint(given))["message"]) < 80
    assert json.loads(badge.endpoint(spoiled(everything(), text)))["message"] == "0 of 2 conformant"
