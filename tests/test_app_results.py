"""The rules on results, on literal answers: what a model can read, and what it should not have to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apps import judged, text_of
from evidence import tool_result
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.verdict import Outcome

PASSED, FAILED, ADVISORY, NA = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE
DATA = {"products": [{"product_id": "p-1"}], "status": "completed"}
JSON = json.dumps(DATA)
SCHEMA = {
    "name": "get_products",
    "description": "A tool.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
}


def result(*texts: str, structured: Any = None, **members: Any) -> dict[str, Any]:
    found = {"content": [{"type": "text", "text": text} for text in texts], **members}
    return found if structured is None else {**found, "structuredContent": structured}


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (result(JSON, structured=DATA), PASSED),
        (result("Found 1 product", JSON, structured=DATA), PASSED),
        (result(f"Found 1 product: {JSON}", structured=DATA), PASSED),
        (result(f"Here it is:\n```json\n{JSON}\n```", structured=DATA), PASSED),
        (result(f"```json\n{JSON}\n```\n", structured=DATA), PASSED),
        (result("```\nFound 1 product\n```", structured=DATA), FAILED),
        (result(f"{JSON}\n\nFrom the cache.", structured=DATA), PASSED),
        (result(f"Found 1:\n{JSON}\nBook it with create_media_buy.", structured=DATA), PASSED),
        (result("Found 1, see [1] for more.", structured=DATA), FAILED),
        (result(JSON + "x" * 1000, structured=DATA), FAILED),
        (result("Found 1 product", structured=DATA), FAILED),
        (result(structured=DATA), FAILED),
        (result("Nothing found.", structured={"products": [], "status": "completed"}), ADVISORY),
        # a sentence or log lines are good answers, and so is what FastMCP wraps
        (result("User 17 was created."), NA),
        (result("12:00 started\n12:01 done"), NA),
        (result("Sunny, 22 °C", structured={"result": "Sunny, 22 °C"}), PASSED),
        (result("5", structured={"result": 5}), PASSED),
        (result("a", "b", structured={"result": ["a", "b"]}), PASSED),
        (result("1", "2", structured={"result": [1, 2]}), PASSED),
        # a failure with a readable text is enough: AdCP's isError and the platform agree there
        (result("No such product.", structured={"adcp_error": {"code": "X"}}, isError=True), NA),
        (
            {
                "content": [{"type": "resource", "resource": {"uri": "a:b", "text": JSON}}],
                "structuredContent": DATA,
            },
            PASSED,
        ),
    ],
)
def test_data_is_text_too(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value), "result-json-text").outcome is outcome


def test_a_declared_output_schema_asks_for_json() -> None:
    told = tool_result(result("All fine."), tools=[SCHEMA])
    assert judged(told, "result-json-text").outcome is FAILED
    assert judged(tool_result(result(JSON), tools=[SCHEMA]), "result-json-text").outcome is PASSED
    empty = tool_result(result("User 17 is gone.", structured={}), tools=[SCHEMA])
    assert judged(empty, "result-json-text").outcome is NA
    failed = tool_result(result("No such product.", isError=True), tools=[SCHEMA])
    assert judged(failed, "result-json-text").outcome is NA


def test_the_finding_can_be_pasted_and_tells_of_the_conflict() -> None:
    found = judged(tool_result(result("Found 1 product", structured=DATA)), "result-json-text")
    assert found.pointer == "/result/content/0/text"
    assert "both can be served" in found.message
    assert "json.dumps(data)" in found.fix
    assert "JSON.stringify(data)" in found.fix


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (result(JSON, structured=DATA), PASSED),
        (result(json.dumps({"status": "completed", "products": DATA["products"]}), structured=DATA), PASSED),
        (result('{"n": 1.0}', structured={"n": 1}), PASSED),
        (result("[1, 2]", structured={"result": [1, 2]}), PASSED),
        (result('{"status": "completed"}', structured=DATA), ADVISORY),
        (result('{"note": 1}', JSON, structured=DATA), PASSED),
        (result("Found 1 product", structured=DATA), NA),
    ],
)
def test_text_and_data_agree(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value), "result-text-equals-structured").outcome is outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (result("1", "2", "3"), ADVISORY),
        (result('{"id": 1}', '{"id": 2}'), ADVISORY),
        (result("a", "b", structured={"result": ["a", "b"]}), ADVISORY),
        (result("[1, 2, 3]"), NA),
        (result("Found one.", JSON, structured=DATA), PASSED),
        (result('{"id": 1}', '{"hint": "x"}'), PASSED),
    ],
)
def test_a_list_is_one_text(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value), "result-single-json").outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("{'id': 1, 'ok': True}", FAILED),
        ("[{'id': 1}]", FAILED),
        ("['a', 'b']", FAILED),
        ("[Product(id='p-1', name=None)]", FAILED),
        ("<app.Product object at 0x7f2a3c>", FAILED),
        ("[object Object]", FAILED),
        ("id='p-1' name='Sports'", FAILED),
        ("user='anna' action=login\nuser='bert' action=logout\n", ADVISORY),
        ("Field(default=1)\nField(default=2)", ADVISORY),
        ("{'id': 1,\n 'ok': True}", FAILED),
        (JSON, PASSED),
        ("The user said 'hello' to {'nobody'}", PASSED),
        ("['tis the season", PASSED),
        ("{not json}", PASSED),
        ("Use get_products(brief='shoes').", PASSED),
        ("{" * 100_000, PASSED),
        ("[" * 50 + "'" * 100_000, PASSED),
    ],
)
def test_a_text_is_no_printout(text: str, outcome: Outcome) -> None:
    assert judged(tool_result(result(text)), "result-not-repr").outcome is outcome


@pytest.mark.parametrize(
    ("tool", "value", "outcome"),
    [
        ("create_media_buy", result(), FAILED),
        ("create_media_buy", result(structured={"media_buy_id": "mb"}), FAILED),
        *[("create_user", result(text), FAILED) for text in ("", " \n", "null", "None", '""', "{}", "[]")],
        ("create_user", result("User 17 was created."), PASSED),
        ("create_user", result("null", isError=True), NA),
        ("createUser", result("null"), FAILED),
        ("list_users", result("[]"), NA),
        ("get_update_history", result("[]"), NA),
        # AdCP says what its tasks do, whatever they are called
        ("get_products", result("[]"), NA),
        ("make_chart", {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, NA),
        ("update_chart", {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, PASSED),
        # a noun that is spelt like a verb
        ("conference_schedule", result("[]"), ADVISORY),
        ("book_reviews", result("[]"), ADVISORY),
        ("delete_reviews", result("[]"), FAILED),
    ],
)
def test_changes_are_confirmed(tool: str, value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value, tool=tool), "result-not-empty").outcome is outcome


def test_what_a_tool_says_of_itself_goes_before_its_name() -> None:
    tool = {
        "name": "create_chart",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    told = tool_result(result("[]"), tool=tool["name"], tools=[tool])
    assert judged(told, "result-not-empty").outcome is NA
    tool = {**tool, "name": "book_table", "annotations": {"readOnlyHint": False}}
    told = tool_result(result("[]"), tool="book_table", tools=[tool])
    assert judged(told, "result-not-empty").outcome is FAILED


def test_size_is_bounded_and_the_bound_can_be_moved() -> None:
    assert judged(tool_result(result("ä" * 50_000)), "result-size").outcome is PASSED
    assert judged(tool_result(result("ä" * 50_000 + "a")), "result-size").outcome is ADVISORY
    wider = changed({"result_bytes": 200_000}, {})
    assert judged(tool_result(result("a" * 100_001)), "result-size", wider).outcome is PASSED


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (result(json.dumps({"order_id": 2**31})), ADVISORY),
        (result(json.dumps({"order_id": 2**31 - 1})), PASSED),
        (result(json.dumps({"order_id": str(2**40)})), PASSED),
        (result(json.dumps({"items": [{"accountId": 2**40}]})), ADVISORY),
        (result(json.dumps({"product_ids": [2**40]})), ADVISORY),
        (result("done", structured={"id": 2**40}), ADVISORY),
        (result(json.dumps({"impressions": 2**40, "paid": 2**40})), NA),
        (result("Order 7205759403792794 is booked."), NA),
    ],
)
def test_large_ids_are_strings(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value), "result-ids-as-strings").outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("See https://a.example/" + "x" * 182, PASSED),
        ("See https://a.example/" + "x" * 183, ADVISORY),
        ("See https://a.example/?a=1&b=2&c=3&d=4", PASSED),
        (json.dumps({"url": "https://a.example/?a=1&b=2&c=3&d=4&e=5"}), ADVISORY),
        ("No link.", NA),
    ],
)
def test_urls_are_short(text: str, outcome: Outcome) -> None:
    assert judged(tool_result(result(text)), "result-urls-short").outcome is outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"rows": [{"n": 1, "p": 2, "q": 3}, {"n": 1, "p": 2, "q": 3}]}, ADVISORY),
        ({"rows": [{"n": 1, "p": 2, "q": 3}]}, PASSED),
        ({"boxes": [{"x": 1, "y": 2, "w": 3, "h": 4, "id": "a"}] * 2}, PASSED),
        ({"names": {"en": "Sport", "de": "Sport", "fr": "Sport"}}, PASSED),
        ({"spend": [{"US": 1, "DE": 2, "JP": 3}]}, PASSED),
        ({"segment_code": "S17"}, ADVISORY),
        ({"segment_code": "S17", "segment_name": "Sailors"}, PASSED),
        ({"segment_code": "S17", "name": "Sailors"}, PASSED),
        ({"country_code": "NO", "currency_code": "NOK", "error_code": 7}, PASSED),
    ],
)
def test_keys_and_codes_say_something(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(result(json.dumps(value))), "result-labelled").outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Card 4111 1111 1111 1111", ADVISORY),
        ("Card 4111-1111-1111-1111", ADVISORY),
        ("Card 4111 1111 1111 1112", PASSED),  # the check digit is wrong
        ("Card **** **** **** 1111", PASSED),
        ('{"card_number": "4111111111111111"}', ADVISORY),
        ('{"ad_id": "4111111111111111"}', PASSED),
        ("SSN 219-09-9999", ADVISORY),
        ("Part 000-12-3456, 666-12-3456, 912-12-3456", PASSED),
        ("Call 212-555-0100", PASSED),
        ("Order 2024-219-09-9999", PASSED),
    ],
)
def test_secrets_are_not_told(text: str, outcome: Outcome) -> None:
    found = judged(tool_result(result(text)), "result-sanitised")
    assert found.outcome is outcome
    assert "4111 1111" not in text_of(found)
    assert "4111111111111111" not in text_of(found)
    assert "219-09" not in text_of(found)
