"""The connected-apps rules on descriptions as documentation, and on their agreement with the schemas."""

from __future__ import annotations

from typing import Any

import pytest
from apps import app, judged, text_of, tool, with_properties
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.verdict import Outcome

TEXT = {"type": "string"}
OK, BAD, HINT, NOTHING = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("name", "description", "outcome"),
    [
        ("git_branch", "List Git branches", OK),
        ("git_branch", None, BAD),
        ("git_branch", " \n", BAD),
        ("git_branch", 7, BAD),
        ("get_weather", "Get weather", HINT),
        ("get_weather", "Weather", HINT),
        ("ping_server", "Checks liveness.", OK),
    ],
)
def test_description_present(name: str, description: Any, outcome: Outcome) -> None:
    assert judged(app(tool(name, description=description)), "description-present").outcome is outcome


def test_tools_of_the_interface_only_need_no_description() -> None:
    hidden = tool("paint", description=None, _meta={"ui": {"visibility": ["app"]}})
    assert judged(app(hidden, tool()), "description-present").outcome is OK
    assert judged(app(hidden), "description-present").outcome is NOTHING


def test_missing_descriptions_are_one_finding() -> None:
    found = judged(app(*(tool(f"get_{name}", description=None) for name in "abcde")), "description-present")
    assert "(5 times)" in found.message
    assert "and 2 more" in found.message
    assert found.pointer == "/result/tools/0"


@pytest.mark.parametrize(
    ("name", "schema", "text", "outcome"),
    [
        ("city", {**TEXT, "description": "A city."}, "Finds.", OK),
        ("city", {**TEXT, "description": " "}, "Finds.", HINT),
        ("city", TEXT, "Finds.", HINT),
        ("city", TEXT, "Finds.\n\nArgs:\n    city: A city.\n", OK),
        ("city", TEXT, "Finds.\n\nParameters:\n- city: A city.\n", OK),
        ("city", TEXT, "Finds the `city`.", OK),
        ("city", TEXT, "Tells the weather of a city.", OK),
        ("city_name", TEXT, "city_name is as in the atlas.", OK),
        ("city_name", TEXT, "The other_city_name is as in the atlas.", HINT),
        ("city", {"anyOf": [{**TEXT, "description": "A city."}, {"type": "null"}]}, "Finds.", OK),
    ],
)
def test_parameter_described(name: str, schema: Any, text: str, outcome: Outcome) -> None:
    listed = tool(description=text, inputSchema=with_properties(**{name: schema}))
    assert judged(app(listed), "parameter-described").outcome is outcome


@pytest.mark.parametrize(
    ("told", "schema", "outcome"),
    [
        ("city (integer): A city.", TEXT, HINT),
        ("city (str, optional): A city.", TEXT, OK),
        ("city: int", TEXT, HINT),
        ("city: str", TEXT, OK),
        ("city (number): A city.", {"type": "integer"}, OK),
        ("city (int): A city.", {"type": "number"}, OK),
        ("city (List[str]): Cities.", {"type": "array"}, OK),
        ("city (List[str]): Cities.", TEXT, HINT),
        ("city (Optional[str]): A city.", {"anyOf": [TEXT, {"type": "null"}]}, OK),
        ("city (str or list): Cities.", {"type": "array"}, OK),
        ("city (date): A day.", TEXT, OK),
        ("city (default: 5): A city.", TEXT, OK),
        ("city (see the atlas): A city.", TEXT, OK),
        ("city: Integer numbers are no cities.", TEXT, OK),
        ("city (integer): A city.", {"description": "No type."}, OK),
    ],
)
def test_description_types_match(told: str, schema: Any, outcome: Outcome) -> None:
    listed = tool(description=f"Finds.\n\nArgs:\n    {told}\n", inputSchema=with_properties(city=schema))
    assert judged(app(listed), "description-types-match").outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Args:\n    city: A city.\n    days: How many.\n", HINT),
        ("Args:\n    city: A city.\n        note: it is big\n", OK),
        ("Args:\n    city: A city, see\n        https://example.com/cities\n", OK),
        ("Args:\n    city: A city.\n\nReturns:\n    degrees: A number.\n", OK),
        ("Args:\n    city: A city.\n    https://example.com/cities\n", OK),
        ("Args:\n    city: A city.\n    Note: it is big.\n", OK),
        ("Inputs:\n    degrees: A number.\n", OK),
        ("The `day_count` parameter says how many.", HINT),
        ("The argument 'dayCount' says how many.", HINT),
        ("The `city` parameter says which.", OK),
        ("Call set_alert with the `alert_level` parameter.", OK),
        ("The `next_page` parameter of the response says more.", OK),
        ("The `other` parameter is not one of these.", OK),
    ],
)
def test_description_names_real_parameters(text: str, outcome: Outcome) -> None:
    alert = tool("set_alert", inputSchema=with_properties(alert_level=TEXT))
    listed = tool(description=f"Finds.\n\n{text}", inputSchema=with_properties(city=TEXT))
    assert judged(app(listed, alert), "description-names-real-parameters").outcome is outcome


def test_ghost_that_is_called_required_says_so() -> None:
    listed = tool(
        description="Finds.\n\nArgs:\n    city: A city.\n    days (int): How many, required.\n",
        inputSchema=with_properties(city=TEXT),
    )
    found = judged(app(listed), "description-names-real-parameters")
    assert found.outcome is HINT
    assert "calls it required" in text_of(found)


SILENT = tool("book_room", description="Books a room at a hotel.", annotations={})


def test_returns_described_is_told_as_a_share() -> None:
    assert judged(app(tool(), SILENT), "returns-described").outcome is OK
    found = judged(app(tool(), SILENT, SILENT), "returns-described")
    assert found.outcome is HINT
    assert "of 3 descriptions most are silent on what comes back (2 times)" in found.message
    strict = changed({"undescribed_results_percent": 10}, {})
    assert judged(app(tool(), SILENT), "returns-described", strict).outcome is HINT


@pytest.mark.parametrize(
    "more",
    [
        {"outputSchema": {"type": "object"}},
        {"description": "Lists rooms."},
        {"description": "Books. Returns the number."},
    ],
)
def test_returns_described_elsewhere(more: Any) -> None:
    assert (
        judged(app(tool("book_room", **{"description": "Books.", **more})), "returns-described").outcome is OK
    )


@pytest.mark.parametrize(("text", "outcome"), [("Body battery of a day.", OK), ("A part of the desk.", HINT)])
def test_what_a_get_tool_names_is_what_comes_back(text: str, outcome: Outcome) -> None:
    assert judged(app(tool("get_body_battery", description=text)), "returns-described").outcome is outcome


@pytest.mark.parametrize(
    ("name", "text", "hints", "outcome"),
    [
        ("seat_map", "Seats of a flight.", {"readOnlyHint": True}, OK),
        ("repos_index", "Repositories of an owner.", {"readOnlyHint": True}, OK),
        ("seat_map", "Seats of a flight.", {}, HINT),
        ("pick_seat", "Gone from then on.", {"readOnlyHint": True}, HINT),
    ],
)
def test_what_a_reading_tool_names_is_what_comes_back(
    name: str, text: str, hints: Any, outcome: Outcome
) -> None:
    listed = tool(name, description=text, annotations=hints)
    assert judged(app(listed), "returns-described").outcome is outcome


LIST = tool("list_orders", description="Lists orders.")


@pytest.mark.parametrize(
    ("name", "text", "description", "others", "required", "outcome"),
    [
        ("update_order", "Changes an order.", "The order.", [LIST], True, HINT),
        ("update_order", "Changes an order.", "The order.", [LIST], False, OK),
        ("update_order", "Changes an order.", "The order.", [], True, OK),
        ("update_order", "Changes an order.", "Id that list_orders returns.", [LIST], True, OK),
        ("update_order", "Changes an order that list_orders finds.", "The order.", [LIST], True, OK),
        ("update_order", "Changes an order.", "Such as A-17.", [LIST], True, OK),
        ("get_order", "Shows an order.", "The order.", [LIST], True, OK),
        ("update_order", "Changes an order.", "The order.", [tool("list_stock_orders")], True, OK),
        ("update_stock_order", "Changes an order.", "The order.", [tool("list_stock_orders")], True, HINT),
        ("shop_update_order", "Changes an order.", "The order.", [tool("bank_list_orders")], True, OK),
    ],
)
def test_argument_source_named(
    name: str, text: str, description: str, others: list[Any], required: bool, outcome: Outcome
) -> None:
    inputs = with_properties(
        required=["order_id"] if required else [], order_id={"type": "string", "description": description}
    )
    listed = tool(name, description=text, inputSchema=inputs)
    assert judged(app(listed, *others), "argument-source-named").outcome is outcome
