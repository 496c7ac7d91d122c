"""The rules on annotations and on the revision of definitions, on literal definitions."""

from __future__ import annotations

from typing import Any

import pytest
from apps import app, judged, tool, with_properties
from pytest_adcp.harness.verdict import Outcome

GOOD, ADVISORY, FAILED, NONE = Outcome.PASSED, Outcome.ADVISORY, Outcome.FAILED, Outcome.NOT_APPLICABLE
HINTS = {"r": "readOnlyHint", "d": "destructiveHint", "o": "openWorldHint"}


def hinted(name: str, hints: str, **members: Any) -> dict[str, Any]:
    """Return a tool with hints: a capital is true, a small letter false."""
    return tool(name, annotations={HINTS[letter.lower()]: letter.isupper() for letter in hints}, **members)


@pytest.mark.parametrize(
    ("rule", "name", "hints", "outcome"),
    [
        ("annotations-explicit", "get_user", "RDo", GOOD),
        ("annotations-explicit", "get_user", "Ro", GOOD),
        ("annotations-explicit", "get_user", "R", ADVISORY),
        ("annotations-explicit", "get_user", "ro", ADVISORY),
        ("annotations-explicit", "get_user", "", ADVISORY),
        ("read-only-declared", "get_user", "do", ADVISORY),
        ("read-only-declared", "list_creatives", "d", ADVISORY),
        ("read-only-declared", "get_user", "", NONE),
        ("read-only-declared", "get_user", "r", GOOD),
        ("read-only-declared", "search_and_replace", "do", GOOD),
        ("read-only-declared", "get_or_create_user", "do", GOOD),
        ("read-only-declared", "delete_user", "do", GOOD),
        ("read-only-declared", "describe_user", "do", GOOD),
        ("destructive-declared", "delete_user", "r", GOOD),
        ("destructive-declared", "delete_user", "", GOOD),
        ("destructive-declared", "sync_creatives", "R", FAILED),
        ("destructive-declared", "get_deleted_users", "R", GOOD),
        ("destructive-declared", "preview_update", "R", GOOD),
        ("destructive-declared", "update_history", "R", GOOD),
        ("destructive-declared", "simulate_delete", "R", GOOD),
        ("destructive-declared", "can_delete_user", "R", GOOD),
        ("destructive-declared", "explain_cancel_rules", "R", GOOD),
        ("destructive-declared", "run_report", "R", GOOD),
        ("destructive-declared", "get_products", "R", GOOD),
        ("annotations-consistent", "get_user", "RD", FAILED),
        ("annotations-consistent", "get_user", "Rd", GOOD),
        ("annotations-consistent", "get_user", "rD", GOOD),
        ("write-declared-destructive", "create_user", "rd", ADVISORY),
        ("write-declared-destructive", "create_user", "d", ADVISORY),
        ("write-declared-destructive", "create_user", "r", GOOD),
        ("write-declared-destructive", "create_user", "rD", GOOD),
        ("write-declared-destructive", "create_user", "Rd", GOOD),
        ("write-declared-destructive", "create_media_buy", "rd", ADVISORY),
        ("write-declared-destructive", "get_user", "rd", GOOD),
        ("write-declared-destructive", "scrape_page", "rd", GOOD),
    ],
)
def test_rule(rule: str, name: str, hints: str, outcome: Outcome) -> None:
    assert judged(app(hinted(name, hints)), rule).outcome is outcome


@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        ("delete_user", "Deletes a user.", FAILED),
        ("delete_user", "", FAILED),
        ("delete_user", "L\u00f6scht jemanden.", FAILED),
        ("updateUser", "Permanently changes a user.", FAILED),
        ("updateUser", "Use this tool to rename a user.", FAILED),
        ("user-cancel-order", "An order that is no longer wanted. Cancels it.", FAILED),
        ("send_message", "Please send a message to somebody.", FAILED),
        ("sync_clock", "Sets the clock.", ADVISORY),
        ("create_chart", "Creates a chart.", ADVISORY),
        ("create_chart", "Draws a chart.", GOOD),
        ("add_numbers", "Adds numbers.", ADVISORY),
        ("send_volume_report", "Messages sent per day.", GOOD),
        ("best_send_time", "Estimates when to send a campaign.", GOOD),
        ("update_frequencies", "How often each feed changes.", GOOD),
        ("cancel_fee_table", "Fees by fare class.", GOOD),
        ("delete_candidates", "Returns what a clean-up would delete.", ADVISORY),
        ("updateUser", "Returns the user. Changes the name.", ADVISORY),
        ("updateUser", "", ADVISORY),
    ],
)
def test_a_verb_may_be_a_noun(name: str, text: str, outcome: Outcome) -> None:
    listed = hinted(name, "R", description=text)
    assert judged(app(listed), "destructive-declared").outcome is outcome


@pytest.mark.parametrize("value", [None, "true", 1, [True]])
def test_hints_that_are_no_booleans_are_not_given(value: Any) -> None:
    hints = {"readOnlyHint": True, "openWorldHint": value}
    assert judged(app(tool(annotations=hints)), "annotations-explicit").outcome is ADVISORY
    hints = {"readOnlyHint": value, "destructiveHint": value}
    for rule in ("destructive-declared", "annotations-consistent", "write-declared-destructive"):
        assert judged(app(tool("delete_user", annotations=hints)), rule).outcome is GOOD


@pytest.mark.parametrize(
    ("text", "hints", "outcome"),
    [
        ("Searches the web for a phrase.", "Ro", ADVISORY),
        ("Sends an e-mail to a guest.", "rDo", ADVISORY),
        ("Publishes it to your followers.", "rDo", ADVISORY),
        ("Asks a third party for a rate.", "Ro", ADVISORY),
        ("Searches the web for a phrase.", "RO", GOOD),
        ("Searches the web for a phrase.", "R", GOOD),
        ("Restarts the web server.", "rDo", GOOD),
        ("Searches the web app's log.", "Ro", GOOD),
        ("Writes the result to a file.", "rDo", GOOD),
        ("Finds the e-mail address of a guest.", "Ro", GOOD),
        ("x" * 100_000 + " searches the web.", "Ro", GOOD),
    ],
)
def test_open_world_by_text(text: str, hints: str, outcome: Outcome) -> None:
    listed = hinted("find_phrase", hints, description=text)
    assert judged(app(listed), "open-world-declared").outcome is outcome


@pytest.mark.parametrize(
    ("properties", "outcome"),
    [
        ({"url": {"type": "string"}}, ADVISORY),
        ({"urls": {"type": "array", "items": {"type": "string"}}}, ADVISORY),
        ({"url": {"type": "boolean"}}, GOOD),
        ({"links": {"type": "array"}}, GOOD),
        ({"curl": {"type": "string"}}, GOOD),
        ({"format_id": {"type": "object", "properties": {"url": {"type": "string"}}}}, GOOD),
    ],
)
def test_open_world_by_parameter(properties: Any, outcome: Outcome) -> None:
    listed = hinted("read_page", "Ro", inputSchema=with_properties(**properties))
    assert judged(app(listed), "open-world-declared").outcome is outcome


def test_an_address_that_is_kept_leads_nowhere() -> None:
    listed = hinted("create_link", "rDo", inputSchema=with_properties(url={"type": "string"}))
    assert judged(app(listed), "open-world-declared").outcome is GOOD


def test_annotations_can_be_pasted() -> None:
    finding = judged(app(tool("delete_user", annotations={"title": "X"})), "annotations-explicit")
    assert (
        '"annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true}'
        in finding.fix
    )
    finding = judged(app(tool("get_user", annotations=None)), "annotations-explicit")
    assert '"annotations": {"readOnlyHint": true, "openWorldHint": false}' in finding.fix
    assert finding.pointer == "/result/tools/0"
    finding = judged(app(hinted("delete_user", "Ro")), "destructive-declared")
    assert '{"readOnlyHint": false, "openWorldHint": false, "destructiveHint": true}' in finding.fix
    assert finding.pointer == "/result/tools/0/annotations/readOnlyHint"


@pytest.mark.parametrize(
    ("members", "outcome", "pointer"),
    [
        ({}, GOOD, None),
        ({"_meta": {"x": 1}, "x-own": [], "execution": {"taskSupport": "optional"}}, GOOD, None),
        ({"annotations": {"readOnlyHint": True, "category": "weather"}}, GOOD, None),
        ({"inputSchema": {"type": "object", "oneOf": [{}], "unevaluatedProperties": False}}, GOOD, None),
        ({"inputSchema": {}}, FAILED, "/result/tools/0/inputSchema"),
        ({"outputSchema": {"type": "object"}}, GOOD, None),
        ({"outputSchema": {"type": "array"}}, FAILED, "/result/tools/0/outputSchema"),
        ({"outputSchema": True}, FAILED, "/result/tools/0/outputSchema"),
        (
            {"inputSchema": with_properties(city={"type": "string", "x-mcp-header": "City"})},
            FAILED,
            "/result/tools/0/inputSchema/properties/city/x-mcp-header",
        ),
        (
            {"inputSchema": with_properties(city={"type": "string", "default": {"x-mcp-header": "City"}})},
            GOOD,
            None,
        ),
        ({"title": 7}, FAILED, "/result/tools/0/title"),
        ({"annotations": {"readOnlyHint": "yes"}}, FAILED, "/result/tools/0/annotations/readOnlyHint"),
        ({"execution": {"taskSupport": "always"}}, FAILED, "/result/tools/0/execution/taskSupport"),
        ({"icons": [{"src": "https://a.example/i.png", "sizes": "48x48"}]}, GOOD, None),
    ],
)
def test_definitions_within_revision(members: Any, outcome: Outcome, pointer: str | None) -> None:
    finding = judged(app(tool(**members)), "definitions-within-revision")
    assert finding.outcome is outcome
    assert pointer is None or finding.pointer == pointer
