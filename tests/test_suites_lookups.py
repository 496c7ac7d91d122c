from __future__ import annotations

from typing import Any

import pytest
from evidence import Http, finding, on, outcome
from probed import Result, error, prose, series
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.verdict import Outcome

UNIFORM = "adcp.security.not-found-uniform"
ONE, OTHER = "unknown_0123456789abcdef", "unknown_fedcba9876543210"


def looked_up(first: Any, second: Any) -> Evidence:
    return series(Probe.NOT_FOUND, first, second, tool="get_task_status")


def judged(first: Any, second: Any) -> Outcome:
    evidence = looked_up(first, second)
    assert on(evidence, UNIFORM, "get_task_status/not-found-1") is Outcome.NOT_APPLICABLE
    return on(evidence, UNIFORM, "get_task_status/not-found-2")


def missing(message: str = "No such task.", **members: Any) -> Result:
    return error("REFERENCE_NOT_FOUND", message, **members)


def rpc(status: int = 200, **members: Any) -> Http:
    return Http({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "No.", **members}}, status)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (missing(), missing()),
        (missing(field="task_id", recovery="correctable"), missing(field="task_id", recovery="correctable")),
        # Whatever is asked, these differ: what repeats the request, moments, ids of requests.
        (
            missing(details={"rejected_value": ONE}, payload={"context": {"n": {"a": 1}}}),
            missing(details={"rejected_value": OTHER}, payload={"context": {"n": 1}}),
        ),
        (
            missing(
                "No such task (2026-11-30T00:00:01.123Z).", payload={"timestamp": "2026-11-30T00:00:01Z"}
            ),
            missing(
                "No such task (2026-11-30T00:00:02.456Z).", payload={"timestamp": "2026-11-30T00:00:02Z"}
            ),
        ),
        (
            missing("No such task. Request 5f7b1c1e-94a4-4b35-8a1e-0d5a7e6d1c11."),
            missing("No such task. Request 6a1d3e2f-11b2-4c3d-9e4f-5a6b7c8d9e0f."),
        ),
        (
            missing(details={"request_id": "req-a"}, correlation_id="a"),
            missing(details={"request_id": "req-b"}, correlation_id="b"),
        ),
        (missing(payload={"context": {"big": 1}}), missing()),
        (prose("No such task."), prose("No such task.")),
    ],
)
def test_the_same_answer_to_every_id(first: Any, second: Any) -> None:
    assert judged(first, second) is Outcome.PASSED


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (missing(), error("PERMISSION_DENIED", "No such task."), "code"),
        (missing(), missing("That task is not yours."), "message"),
        (missing(), missing(field="task_id"), "field"),
        (missing(details={"owner": None}), missing(details={"expired": True}), "details"),
        (missing(), missing(payload={"task_type": "create_media_buy"}), "the members of the payload"),
        (missing(), prose("No such task."), "the number of error objects"),
        (missing(), rpc(), "isError"),
        (rpc(), rpc(404), "the HTTP status"),
        (rpc(), rpc(message="Not yours."), "the JSON-RPC error"),
        (prose("No such task."), prose("Not your task."), "the texts"),
    ],
)
def test_a_difference_is_named(first: Any, second: Any, name: str) -> None:
    found = finding(looked_up(first, second), UNIFORM)
    assert found.outcome is Outcome.FAILED
    assert f"differ in {name};" in found.message


def test_a_message_that_repeats_the_id_is_one_finding_and_said_to_give_nothing_away_by_itself() -> None:
    evidence = looked_up(missing(f"Task {ONE} not found"), missing(f"Task {OTHER} not found"))
    found = finding(evidence, UNIFORM)
    assert found.outcome is Outcome.FAILED
    assert OTHER in found.message
    assert "gives nothing away by itself" in found.message
    assert found.pointer == "/result/structuredContent/adcp_error/message"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (prose(f"Task {ONE} not found"), prose(f"Task {OTHER} not found")),
        (rpc(message=f"no {ONE}"), rpc(message=f"no {OTHER}")),
    ],
)
def test_the_id_is_found_in_prose_and_in_json_rpc_errors(first: Any, second: Any) -> None:
    assert judged(first, second) is Outcome.FAILED


def test_an_id_beside_other_differences_is_no_second_finding() -> None:
    found = finding(looked_up(missing(f"{ONE} is gone"), missing(f"{OTHER} is not yours")), UNIFORM)
    assert "differ in message;" in found.message


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"task_type": "x"}, {"task_type": "x"}, Outcome.NOT_APPLICABLE),
        ({"task_type": "x"}, missing(), Outcome.FAILED),
        (missing(), {"task_type": "x"}, Outcome.FAILED),
        (missing(), error("AUTH_INVALID"), Outcome.BLOCKED),
        (error("SERVICE_UNAVAILABLE"), {"task_type": "x"}, Outcome.BLOCKED),
        # Refused for how the id is written, which a framework quotes, and cuts.
        (
            prose("1 validation error\n  Input should be an integer [input_value={'task_id': 'unkn...f'}]"),
            prose("1 validation error\n  Input should be an integer [input_value={'task_id': 'unkn...0'}]"),
            Outcome.NOT_APPLICABLE,
        ),
        (
            error("INVALID_REQUEST", f"task_id {ONE} has to begin with t_"),
            error("INVALID_REQUEST", f"task_id {OTHER} has to begin with t_"),
            Outcome.NOT_APPLICABLE,
        ),
        (rpc(code=-32602), rpc(code=-32602), Outcome.NOT_APPLICABLE),
        (
            error("INVALID_REQUEST", f"Task {ONE} not found"),
            error("INVALID_REQUEST", f"Task {OTHER} not found"),
            Outcome.FAILED,
        ),
        (error("INVALID_REQUEST", "No."), missing(), Outcome.FAILED),
    ],
)
def test_answers_that_are_no_pair_of_errors(first: Any, second: Any, expected: Outcome) -> None:
    assert judged(first, second) is expected


def test_deep_details_are_compared_as_far_as_they_go() -> None:
    def deep(leaf: str, levels: int) -> Any:
        value: Any = leaf
        for _ in range(levels):
            value = {"inner": value}
        return value

    assert judged(missing(details=deep("a", 500)), missing(details=deep("b", 500))) is Outcome.PASSED
    assert judged(missing(details=deep("a", 5)), missing(details=deep("b", 5))) is Outcome.FAILED
    assert outcome(looked_up(missing(), missing()), UNIFORM) is Outcome.PASSED
