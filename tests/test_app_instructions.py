"""The rules on server instructions, on literal texts."""

from __future__ import annotations

import pytest
from apps import app, judged, tool
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.verdict import Outcome

WEATHER = tool(
    "get_weather", description="Tells the weather of a city for one of the next seven days. Be brief."
)
ALERT = tool("set_alert", description="Sets an alert.")
SEARCH = tool("search", description="Searches.")


@pytest.mark.parametrize(
    ("rule", "instructions", "outcome"),
    [
        ("present", "Weather for sailors.", Outcome.PASSED),
        ("present", None, Outcome.ADVISORY),
        ("present", " \n", Outcome.ADVISORY),
        ("no-tool-list", None, Outcome.NOT_APPLICABLE),
        ("no-tool-list", "Weather. Alerts come from set_alert.", Outcome.PASSED),
        ("no-tool-list", "- get_weather: weather\n- set_alert: alerts", Outcome.ADVISORY),
        ("no-tool-list", "You can search and search again, whatever the weather.", Outcome.PASSED),
        ("no-tool-list", "Use `search`, get_weather and set_alert.", Outcome.ADVISORY),
        ("no-tool-list", "get_weather_report and reset_alert are not here.", Outcome.PASSED),
        ("what-not-how", "Call get_weather before set_alert.", Outcome.ADVISORY),
        ("what-not-how", "Always use metric units.", Outcome.PASSED),
        ("what-not-how", "First, call your doctor.", Outcome.PASSED),
        ("what-not-how", "Answer as a specialist of the sea.", Outcome.PASSED),
        (
            "not-duplicated",
            "For sailors. Tells the weather of a city\nfor one of the next seven days.",
            Outcome.ADVISORY,
        ),
        (
            "not-duplicated",
            "It tells the weather of a city for one of the next seven days or so.",
            Outcome.PASSED,
        ),
        ("not-duplicated", "Be brief.", Outcome.PASSED),
        ("concise", "x" * 2000, Outcome.PASSED),
        ("concise", "x" * 2001, Outcome.ADVISORY),
    ],
)
def test_rule(rule: str, instructions: str | None, outcome: Outcome) -> None:
    evidence = app(WEATHER, ALERT, SEARCH, instructions=instructions)
    assert judged(evidence, f"instructions-{rule}").outcome is outcome


def test_finding_shows_where_and_how_strongly_the_source_speaks() -> None:
    found = judged(
        app(WEATHER, ALERT, instructions="Call get_weather before set_alert."), "instructions-what-not-how"
    )
    assert found.pointer == "/result/instructions"
    assert "Call get_weather before set_alert." in found.received
    assert "(guidance of the platform)" in found.message


def test_limit_can_be_changed() -> None:
    evidence = app(WEATHER, instructions="x" * 30)
    short = changed({"instructions_characters": 20}, {})
    assert judged(evidence, "instructions-concise", short).outcome is Outcome.ADVISORY
