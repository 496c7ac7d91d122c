"""Definitions that the platform's own pages hold up as good, told anew: no MUST of the profile may find fault with them."""

from __future__ import annotations

from typing import Any

import pytest
from apps import app, judged, tool, with_properties
from pytest_adcp.harness.rules import Level, load
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites import CONNECTED_APPS
from surveys import judge_app


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


CHANGES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
MEETING = tool(
    "plan_meeting",
    description=(
        "Plans a meeting and invites people. Takes a title, a start and a length. If the user says 'tomorrow' or 'next Monday', "
        "work out the day from today's date before you fill in start. Returns a sentence with the time that was booked."
    ),
    inputSchema=with_properties(
        required=["title", "start"],
        title=_text("What the meeting is about"),
        start=_text("ISO 8601 with an offset, e.g. 2026-05-04T09:00:00+02:00"),
        length_minutes={"type": "integer", "description": "In minutes, 30 unless told otherwise"},
    ),
    annotations=CHANGES,
)
NUMBERED = tool(
    "search_table",
    description=(
        "Finds free tables in restaurants.\n\n"
        "CRITICAL USAGE RULES:\n"
        "1. You MUST pass party_size as a whole number; never guess it.\n"
        "2. day MUST be in the future.\n"
        "3. NEVER send both city and near.\n\n"
        "Returns at most ten tables, each with its restaurant and its times."
    ),
    inputSchema=with_properties(
        party_size={"type": "integer", "description": "Guests"},
        day={"type": "string", "format": "date", "description": "The day"},
        city=_text("A city, e.g. Lyon"),
        near=_text("A place to look around, e.g. Gare de Lyon"),
    ),
)
USERS = [
    tool(
        "create_user",
        description="Makes a new user.",
        inputSchema=with_properties(
            required=["email", "role"], email={"type": "string"}, role={"type": "string"}
        ),
        annotations=CHANGES,
    ),
    tool(
        "delete_user",
        description="Deletes a user by id.",
        inputSchema=with_properties(user_id=_text("Id of the user")),
        annotations=CHANGES,
    ),
]
ORDERS = tool(
    "list_orders",
    description=(
        "Lists the orders of a customer. Use it to find an order; once its number is known, use get_order for the details."
    ),
    inputSchema=with_properties(
        status=_text("Only orders of this status. Possible are 'open', 'shipped' and 'returned'"),
        limit={"type": "integer", "maximum": 50, "description": "At most so many"},
    ),
)
ORDER = tool(
    "get_order",
    description="Shows one order.",
    inputSchema=with_properties(order_id=_text("From list_orders")),
)
ROLE_PLAY = (
    "You are the caretaker of a library of old maps. Answer as a specialist for maps who keeps to what the catalogue says. "
    "The server shows what is in the collection; it lends nothing out."
)

SERVERS: dict[str, tuple[list[Any], str]] = {
    "a word of the user that needs work": ([MEETING], ""),
    "numbered rules under a loud heading": ([NUMBERED], ""),
    "e-mail and role of a new user": (USERS, ""),
    "values of a plain string in its text": ([ORDERS, ORDER], ""),
    "role play in the instructions": ([ORDER], ROLE_PLAY),
}


@pytest.mark.parametrize("name", SERVERS)
def test_good_example_breaks_no_must(name: str) -> None:
    tools, instructions = SERVERS[name]
    evidence = app(*tools, instructions=instructions)
    findings = judge_app(evidence.transcript)
    failed = {finding.rule for finding in findings if finding.outcome is Outcome.FAILED}
    assert failed == {"connected-apps.https-443"}  # the tests' server is on plain HTTP
    musts = {rule.id for rule in load(CONNECTED_APPS) if rule.level is Level.MUST}
    assert any(finding.rule in musts and finding.outcome is Outcome.PASSED for finding in findings)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("numbered rules under a loud heading", "no-shouting"),
        ("e-mail and role of a new user", "no-pii-request"),
        ("values of a plain string in its text", "no-foreign-tools"),
        ("values of a plain string in its text", "no-promotion"),
        ("values of a plain string in its text", "limit-bounded"),
        ("a word of the user that needs work", "units-and-formats"),
        ("a word of the user that needs work", "no-model-discretion"),
    ],
)
def test_good_example_gets_no_advice_either(name: str, rule: str) -> None:
    tools, instructions = SERVERS[name]
    assert judged(app(*tools, instructions=instructions), rule).outcome is Outcome.PASSED
