from __future__ import annotations

import time
from typing import Any

import pytest
from evidence import Http, finding, on, outcome, tool_result
from probed import Result, after_sample, error, prose, series
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.verdict import Outcome

REQUIRED = "adcp.envelope.idempotency-key-required"
REPLAY = "adcp.envelope.idempotency-replay"
REPLAYED = "adcp.envelope.idempotency-replayed"
CONFLICT = "adcp.envelope.idempotency-conflict"
LEAK = "adcp.security.conflict-leak"
FIELD = "adcp.security.conflict-field"
KEPT = "adcp.envelope.failure-not-kept"

BOOKED: dict[str, Any] = {"status": "completed", "media_buy_id": "mb-000001", "revision": 1}
AGAIN = {**BOOKED, "replayed": True}
SUBMITTED = {"status": "submitted", "task_id": "task-1"}
NO_KEYS = {"adcp": {"major_versions": [3], "idempotency": {"supported": False}}, "supported_protocols": ["x"]}
SILENT = {"adcp": {"major_versions": [3]}, "supported_protocols": ["media_buy"]}


def booking(probe: Probe, answer: Any, sample: Any = BOOKED, **rest: Any) -> Evidence:
    return after_sample(probe, sample, answer, **{"tool": "create_media_buy", **rest})


# -- without a key ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error("INVALID_REQUEST", field="idempotency_key"), Outcome.PASSED),
        (error("VALIDATION_ERROR"), Outcome.PASSED),
        (prose("1 validation error for call[create_media_buy]\nidempotency_key\n  Missing"), Outcome.PASSED),
        (
            Http({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Invalid params"}}),
            Outcome.PASSED,
        ),
        (BOOKED, Outcome.FAILED),
        (SUBMITTED, Outcome.FAILED),
        (error("X_ACME_KEY_MISSING", "idempotency_key is missing"), Outcome.FAILED),
        (error("BUDGET_TOO_LOW"), Outcome.NOT_APPLICABLE),
        (error("AUTH_REQUIRED"), Outcome.BLOCKED),
    ],
)
def test_a_request_without_a_key(answer: Any, expected: Outcome) -> None:
    assert outcome(booking(Probe.NO_KEY, answer), REQUIRED) is expected
    assert outcome(booking(Probe.NO_KEY, answer, release="3.0"), REQUIRED) is expected


def test_a_seller_that_keeps_no_keys_needs_them_all_the_same() -> None:
    assert outcome(booking(Probe.NO_KEY, BOOKED, capabilities=NO_KEYS), REQUIRED) is Outcome.FAILED


def test_where_the_sample_is_refused_too_a_refusal_shows_nothing() -> None:
    refused = booking(Probe.NO_KEY, error(), sample=error())
    assert outcome(refused, REQUIRED) is Outcome.NOT_APPLICABLE
    accepted = booking(Probe.NO_KEY, BOOKED, sample=error())
    assert outcome(accepted, REQUIRED) is Outcome.FAILED


# -- the same request again ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "answer", "expected"),
    [
        (BOOKED, AGAIN, Outcome.PASSED),
        (BOOKED, BOOKED, Outcome.PASSED),  # adcp.envelope.idempotency-replayed speaks about it
        (BOOKED, {**AGAIN, "revision": 2, "timestamp": "2026-01-01T00:00:00Z"}, Outcome.PASSED),
        (BOOKED, {**AGAIN, "media_buy_id": "mb-000002"}, Outcome.FAILED),
        (BOOKED, SUBMITTED, Outcome.PASSED),
        (SUBMITTED, SUBMITTED, Outcome.PASSED),
        (SUBMITTED, {**SUBMITTED, "task_id": "task-2"}, Outcome.FAILED),
        (SUBMITTED, AGAIN, Outcome.PASSED),  # it is done by now
        (BOOKED, error("IDEMPOTENCY_CONFLICT"), Outcome.FAILED),
        (BOOKED, error("BUDGET_EXCEEDED"), Outcome.FAILED),
        (BOOKED, prose("duplicate key"), Outcome.FAILED),
        (BOOKED, error("IDEMPOTENCY_IN_FLIGHT", details={"retry_after": 2}), Outcome.NOT_APPLICABLE),
        (BOOKED, error("AUTH_INVALID"), Outcome.NOT_APPLICABLE),
    ],
)
def test_a_replay(sample: Any, answer: Any, expected: Outcome) -> None:
    assert outcome(booking(Probe.REPLAY, answer, sample), REPLAY) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"list": {"list_id": "l-1", "name": "a"}}, {"list": {"list_id": "l-2", "name": "a"}}, Outcome.FAILED),
        ({"list": {"list_id": "l-1", "name": "a"}}, {"list": {"list_id": "l-1", "name": "b"}}, Outcome.ADVISORY),
        ({"list": {"list_id": "l-1"}}, {"list": {"list_id": "l-1"}}, Outcome.PASSED),
        # A trace id is the answer's own, and no resource.
        (
            {"list": {"list_id": "l-1", "context_id": "c-1"}},
            {"list": {"list_id": "l-1", "context_id": "c-2"}},
            Outcome.ADVISORY,
        ),
    ],
)  # fmt: skip
def test_ids_inside_what_was_made(first: Any, second: Any, expected: Outcome) -> None:
    evidence = booking(Probe.REPLAY, second, first, tool="create_property_list")
    assert outcome(evidence, REPLAY) is expected


def test_the_message_says_that_it_was_carried_out_twice() -> None:
    found = finding(booking(Probe.REPLAY, {**BOOKED, "media_buy_id": "mb-000002"}), REPLAY)
    assert "another media_buy_id: it was carried out twice" in found.message
    assert found.pointer == "/result/structuredContent/media_buy_id"
    assert "mb-000001" in found.expected
    assert "mb-000002" in found.received


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (AGAIN, Outcome.PASSED),
        (BOOKED, Outcome.FAILED),
        ({**BOOKED, "replayed": False}, Outcome.FAILED),
        ({**BOOKED, "replayed": "true"}, Outcome.FAILED),
        ({**BOOKED, "media_buy_id": "mb-2"}, Outcome.NOT_APPLICABLE),  # no replay at all
        (error("IDEMPOTENCY_CONFLICT"), Outcome.NOT_APPLICABLE),
    ],
)
def test_a_replay_says_so(answer: Any, expected: Outcome) -> None:
    assert outcome(booking(Probe.REPLAY, answer), REPLAYED) is expected


def test_in_3_0_it_is_only_advised_to_say_so() -> None:
    assert outcome(booking(Probe.REPLAY, BOOKED, release="3.0"), REPLAYED) is Outcome.ADVISORY


@pytest.mark.parametrize("rule", [REPLAY, REPLAYED])
def test_what_a_seller_declares_decides_what_it_is_held_to(rule: str) -> None:
    answer = {**BOOKED, "media_buy_id": "mb-000002"} if rule == REPLAY else BOOKED
    assert outcome(booking(Probe.REPLAY, answer), rule) is Outcome.FAILED
    assert outcome(booking(Probe.REPLAY, answer, capabilities=SILENT), rule) is Outcome.ADVISORY
    assert outcome(booking(Probe.REPLAY, answer, capabilities=NO_KEYS), rule) is Outcome.NOT_APPLICABLE


# -- another request with the same key -------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error("IDEMPOTENCY_CONFLICT", "The key was used."), Outcome.PASSED),
        (error("CONFLICT", "The key was used."), Outcome.ADVISORY),
        (error("INVALID_REQUEST", "idempotency_key was used before"), Outcome.FAILED),
        (error("X_ACME_IDEMPOTENCY", "used before"), Outcome.FAILED),
        (prose("Idempotency key reuse"), Outcome.ADVISORY),
        (error("INVALID_REQUEST", "end_time is too late", field="end_time"), Outcome.NOT_APPLICABLE),
        (error("IDEMPOTENCY_IN_FLIGHT"), Outcome.NOT_APPLICABLE),
        (error("AUTH_INVALID"), Outcome.NOT_APPLICABLE),
        (AGAIN, Outcome.FAILED),
        ({**BOOKED, "media_buy_id": "mb-000002"}, Outcome.FAILED),
        (SUBMITTED, Outcome.FAILED),
    ],
)
def test_another_request_with_a_used_key(answer: Any, expected: Outcome) -> None:
    assert outcome(booking(Probe.KEY_CONFLICT, answer), CONFLICT) is expected
    assert (
        outcome(booking(Probe.KEY_CONFLICT, answer, capabilities=NO_KEYS), CONFLICT) is Outcome.NOT_APPLICABLE
    )


def test_an_accepted_conflict_is_told_from_one_that_got_the_old_answer() -> None:
    old = finding(booking(Probe.KEY_CONFLICT, BOOKED), CONFLICT)
    assert "got the answer of the first one" in old.message
    new = finding(booking(Probe.KEY_CONFLICT, {**BOOKED, "media_buy_id": "mb-2"}), CONFLICT)
    assert "was accepted" in new.message


def conflict(**members: Any) -> Result:
    return error("IDEMPOTENCY_CONFLICT", **{"message": "The key was used.", **members})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (conflict(), Outcome.PASSED),
        (conflict(recovery="correctable", suggestion="Make a new key."), Outcome.PASSED),
        (conflict(field=None), Outcome.PASSED),
        (conflict(details={"media_buy_id": "mb-000001"}), Outcome.FAILED),
        (conflict(message="It is that of mb-000001."), Outcome.FAILED),
        (conflict(payload={"media_buy_id": "mb-000009"}), Outcome.FAILED),
        (conflict(payload={"context": {"mine": "mb-000001"}}), Outcome.PASSED),
        (error("CONFLICT", "The revision is stale.", field="revision"), Outcome.NOT_APPLICABLE),
        (BOOKED, Outcome.NOT_APPLICABLE),
        (error("INVALID_REQUEST", field="end_time"), Outcome.NOT_APPLICABLE),
    ],
)
def test_a_conflict_gives_nothing_away(answer: Any, expected: Outcome) -> None:
    arguments = {"context": {"mine": "mb-000001"}} if "mine" in str(answer) else {}
    evidence = booking(Probe.KEY_CONFLICT, answer, arguments=arguments)
    assert outcome(evidence, LEAK) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (conflict(), Outcome.PASSED),
        (conflict(field="packages[0].budget"), Outcome.FAILED),
        (conflict(field=""), Outcome.FAILED),
        (conflict(field=None), Outcome.PASSED),
        (conflict(field="idempotency_key"), Outcome.ADVISORY),
        (error("CONFLICT", "The idempotency key was used.", field="end_time"), Outcome.FAILED),
        (error("CONFLICT", "The revision is stale.", field="revision"), Outcome.NOT_APPLICABLE),
        (error("INVALID_REQUEST", field="end_time"), Outcome.NOT_APPLICABLE),
    ],
)
def test_a_conflict_names_no_field_whatever_call_it_answers(answer: Any, expected: Outcome) -> None:
    evidence = tool_result(answer.value, tool="create_media_buy")
    assert outcome(evidence, FIELD) is expected


def test_an_id_that_the_request_names_itself_is_no_secret() -> None:
    answer = conflict(message="The key was used to update mb-000001.")
    asked = {"media_buy_id": "mb-000001"}
    evidence = booking(Probe.KEY_CONFLICT, answer, tool="update_media_buy", arguments=asked)
    assert outcome(evidence, LEAK) is Outcome.PASSED


def test_an_id_too_short_to_be_told_from_a_word_is_not_looked_for() -> None:
    evidence = booking(Probe.KEY_CONFLICT, conflict(message="The key 12 was used."), {"media_buy_id": "12"})
    assert outcome(evidence, LEAK) is Outcome.PASSED


# -- a failure, again ------------------------------------------------------------------------------

MISSING = error("PRODUCT_NOT_FOUND")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (MISSING, MISSING, Outcome.PASSED),
        (MISSING, error("PRODUCT_NOT_FOUND", "In other words."), Outcome.PASSED),
        (MISSING, error("PRODUCT_NOT_FOUND", payload={"replayed": True}), Outcome.FAILED),
        (MISSING, AGAIN, Outcome.FAILED),
        (MISSING, BOOKED, Outcome.ADVISORY),
        (MISSING, error("INVALID_STATE"), Outcome.ADVISORY),
        (prose("no such product"), prose("no product like that"), Outcome.PASSED),
        (MISSING, error("IDEMPOTENCY_IN_FLIGHT"), Outcome.NOT_APPLICABLE),
        (error("AUTH_INVALID"), error("AUTH_INVALID"), Outcome.NOT_APPLICABLE),
        (BOOKED, AGAIN, Outcome.NOT_APPLICABLE),
    ],
)
def test_a_failure_is_tried_again(first: Any, second: Any, expected: Outcome) -> None:
    evidence = series(Probe.FAILURE_AGAIN, first, second, tool="create_media_buy")
    assert on(evidence, KEPT, "create_media_buy/failure-again-1") is Outcome.NOT_APPLICABLE
    assert on(evidence, KEPT, "create_media_buy/failure-again-2") is expected


def test_an_error_that_looks_like_a_success_is_no_acceptance() -> None:
    answer = {"error": "idempotency_key is missing"}
    assert outcome(booking(Probe.NO_KEY, answer), REQUIRED) is Outcome.PASSED
    assert outcome(booking(Probe.KEY_CONFLICT, {"error": "key in use"}), CONFLICT) is Outcome.NOT_APPLICABLE
    wrapped = {"result": {"media_buy_id": "mb-000002"}}
    assert outcome(booking(Probe.NO_KEY, wrapped), REQUIRED) is Outcome.FAILED


def test_a_conflict_without_end_is_searched_within_bounds() -> None:
    many = {"list": {"list_id": "l-000000", **{f"n{number}_id": f"id-{number:06}" for number in range(5000)}}}
    answer = conflict(details={"notes": [f"note {number}" for number in range(20_000)]})
    started = time.monotonic()
    evidence = booking(Probe.KEY_CONFLICT, answer, many, tool="create_property_list")
    assert outcome(evidence, LEAK) is Outcome.PASSED
    assert time.monotonic() - started < 5
