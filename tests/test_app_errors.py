"""The rules on errors, on literal answers."""

from __future__ import annotations

from typing import Any

import pytest
from apps import judged
from evidence import REVISION, Http, answered, rpc_error, surveyed, tool_result
from pytest_adcp.harness.calls import Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.verdict import Outcome, judge
from pytest_adcp.suites import CONNECTED_APPS

PASSED, FAILED, ADVISORY, NA = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE
SILENT = {
    "content": [],
    "structuredContent": {"adcp_error": {"code": "X", "message": "No."}},
    "isError": True,
}


def says(text: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True, **members}


def unknown_tool(message: dict[str, Any] | None = None, status: int = 200) -> Evidence:
    body = {"jsonrpc": "2.0", "id": "probe-1", **(message or {})}
    return surveyed(unknown_tool=Http(body, status), revision=REVISION)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (says("No product has the id p-9."), PASSED),
        (says("No product.", structuredContent=SILENT["structuredContent"]), PASSED),
        (SILENT, FAILED),
        (says("Error"), FAILED),
        ({"content": [{"type": "text", "text": "[]"}]}, NA),
    ],
)
def test_errors_are_readable(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value, purpose=Purpose.BAD), "error-readable").outcome is outcome


@pytest.mark.parametrize(
    ("value", "why"), [(says("Error"), "its text is too short"), (SILENT, "no text says why")]
)
def test_a_short_text_is_not_called_none(value: Any, why: str) -> None:
    assert why in judged(tool_result(value), "error-readable").message


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("No product has the id p-9. Call get_products for the ids.", PASSED),
        ("brief must not be empty.", PASSED),
        ("The value of get_products is odd.", PASSED),
        ("An internal problem was found.", ADVISORY),
        ("Error", NA),
    ],
)
def test_errors_say_what_to_do(text: str, outcome: Outcome) -> None:
    assert judged(tool_result(says(text)), "error-actionable").outcome is outcome


def test_the_name_of_a_parameter_is_a_next_step() -> None:
    tool = {
        "name": "book",
        "inputSchema": {"type": "object", "properties": {"start_day": {"type": "string"}}},
    }
    evidence = tool_result(says("start_day lies in the past"), tool="book", tools=[tool])
    assert judged(evidence, "error-actionable").outcome is PASSED


@pytest.mark.parametrize(
    ("status", "purpose", "outcome"),
    [
        (500, Purpose.BAD, FAILED),
        (503, Purpose.BAD, ADVISORY),
        (400, Purpose.BAD, PASSED),
        (500, Purpose.GOOD, NA),
    ],
)
def test_bad_input_is_no_crash(status: int, purpose: Purpose, outcome: Outcome) -> None:
    body = {"jsonrpc": "2.0", "id": "call-7", "error": {"code": -32602, "message": "brief is no text"}}
    assert judged(answered(body, status=status, purpose=purpose), "error-no-crash").outcome is outcome


@pytest.mark.parametrize("code", [-32700, -32602, -32002, -32042, -32029, -32300, -32402, -32502])
def test_known_codes(code: int) -> None:
    evidence = rpc_error({"code": code, "message": "brief is no text"})
    (rule,) = (rule for rule in load(CONNECTED_APPS) if rule.id == "connected-apps.error-code-known")
    outcomes = {judge(rule, entry).outcome for entry in evidence.of(rule)}
    assert outcomes == {PASSED, NA}


@pytest.mark.parametrize("code", [-32099, -32303, 1, "x", None])
def test_other_codes(code: Any) -> None:
    evidence = rpc_error({"code": code, "message": "brief is no text"})
    assert judged(evidence, "error-code-known").outcome is ADVISORY


@pytest.mark.parametrize(
    ("code", "of_unknown_tool", "of_bad_request"),
    [
        (-32602, PASSED, PASSED),
        (-32601, PASSED, PASSED),
        (-32301, ADVISORY, PASSED),
        (-32603, ADVISORY, ADVISORY),
        (-32401, ADVISORY, ADVISORY),
    ],
)
def test_codes_fit(code: int, of_unknown_tool: Outcome, of_bad_request: Outcome) -> None:
    error = {"code": code, "message": "That is not possible here."}
    assert judged(unknown_tool({"error": error}), "error-code-fits").outcome is of_unknown_tool
    assert judged(rpc_error(error, purpose=Purpose.BAD), "error-code-fits").outcome is of_bad_request
    assert judged(rpc_error(error), "error-code-fits").outcome is NA


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("There is no tool find_ads; tools/list names the tools.", PASSED),
        ("MCP error -32602: Tool find_ads not found", PASSED),
        ("Invalid params", ADVISORY),
        ("RUNTIME_ERROR", ADVISORY),
        ("No.", ADVISORY),
        ('Traceback (most recent call last):\n  File "a.py", line 3', ADVISORY),
        ("TypeError: x is undefined\n    at call (/app/index.js:12:3)", ADVISORY),
        (None, ADVISORY),
    ],
)
def test_messages_are_for_people(message: Any, outcome: Outcome) -> None:
    found = judged(unknown_tool({"error": {"code": -32602, "message": message}}), "error-message-for-people")
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (says("Rate limit exceeded. Try again in a minute."), ADVISORY),
        (says("Error executing tool: Unauthorized"), ADVISORY),
        (says("The rate limit of the campaign is a number."), NA),
        (says("Rate limit exceeded.", structuredContent={"adcp_error": {"code": "RATE_LIMITED"}}), NA),
        ({"content": [{"type": "text", "text": "Rate limit exceeded."}]}, NA),
        (says("x " * 200 + "rate limit exceeded"), NA),
    ],
)
def test_terminal_failures(value: Any, outcome: Outcome) -> None:
    assert judged(tool_result(value), "terminal-error-as-rpc-error").outcome is outcome
