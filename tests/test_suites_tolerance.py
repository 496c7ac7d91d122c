from __future__ import annotations

from typing import Any

import pytest
from evidence import Http, finding, outcome
from probed import Result, after_sample, error, prose
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.credentials import MADE_UP
from pytest_adcp.harness.probes.tolerance import UNKNOWN_MEMBER
from pytest_adcp.harness.verdict import Outcome

ENVELOPE = "adcp.envelope.tolerates-envelope-fields"
UNKNOWN = "adcp.envelope.tolerates-unknown-fields"
CREDENTIAL = "adcp.security.credential-in-arguments"
ECHO = "adcp.security.credential-echo"

PRODUCTS: dict[str, Any] = {"products": []}
PYDANTIC = (
    "1 validation error for call[get_products]\nidempotency_key\n  Unexpected keyword argument "
    "[type=unexpected_keyword_argument, input_value='0f3e', input_type=str]"
)


def enveloped(answer: Any, **rest: Any) -> Evidence:
    return after_sample(Probe.ENVELOPE_FIELDS, PRODUCTS, answer, **rest)


def credential(answer: Any, **rest: Any) -> Evidence:
    return after_sample(Probe.CREDENTIAL, PRODUCTS, answer, **rest)


@pytest.mark.parametrize("answer", [PRODUCTS, {"status": "submitted", "task_id": "t-1"}])
def test_an_answer_of_any_kind_is_acceptance(answer: dict[str, Any]) -> None:
    assert outcome(enveloped(answer), ENVELOPE) is Outcome.PASSED


@pytest.mark.parametrize(
    ("answer", "cure"),
    [
        (prose(PYDANTIC), "FastMCP"),
        (prose("get_products() got an unexpected keyword argument 'context_id'"), "FastMCP"),
        (prose("ext\n  Extra inputs are not permitted [type=extra_forbidden, input_value={}]"), "ConfigDict"),
        (
            prose("MCP error -32602: Input validation error: Unrecognized key(s) in object: 'ext'"),
            "looseObject",
        ),
        (prose('[{"code": "unrecognized_keys", "keys": ["ext"]}]'), "looseObject"),
        (prose("Additional properties are not allowed ('ext' was unexpected)"), "additionalProperties"),
        (error("VALIDATION_ERROR", "must NOT have additional properties"), "additionalProperties"),
        (error("UNSUPPORTED_FEATURE", "Unknown field: governance_context"), "pass over"),
    ],
)
def test_the_cure_is_the_one_of_the_framework_that_refuses(answer: Result, cure: str) -> None:
    found = finding(enveloped(answer), ENVELOPE)
    assert found.outcome is Outcome.FAILED
    assert cure in found.fix
    assert outcome(enveloped(answer, release="3.0"), ENVELOPE) is Outcome.ADVISORY


def test_the_members_that_the_error_names_are_named() -> None:
    issues = [{"pointer": "/idempotency_key", "message": "not allowed", "keyword": "not"}]
    found = finding(enveloped(error("INVALID_REQUEST", "No.", issues=issues)), ENVELOPE)
    assert "because of idempotency_key:" in found.message
    assert "because of these members:" in finding(enveloped(error("INVALID_REQUEST")), ENVELOPE).message
    # "context" is a part of "governance_context", and "ext" of "next": neither is named here.
    assert "because of these members:" in finding(enveloped(error(message="the next text")), ENVELOPE).message


def test_json_rpc_invalid_params_count_as_a_refusal() -> None:
    body = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Invalid params"}}
    assert outcome(enveloped(Http(body)), ENVELOPE) is Outcome.FAILED


@pytest.mark.parametrize(
    "answer",
    [
        error("PERMISSION_DENIED", "governance_context was not issued for this seller"),
        error("INVALID_REQUEST", "brief is empty.", field="brief"),
        error("SESSION_NOT_FOUND", "no such context_id"),
    ],
)
def test_another_reason_is_no_finding(answer: Result) -> None:
    assert outcome(enveloped(answer), ENVELOPE) is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    "answer", [error("AUTH_REQUIRED"), error("SERVICE_UNAVAILABLE", "idempotency_key store is down")]
)
def test_what_would_have_met_any_other_request_says_nothing(answer: Result) -> None:
    assert outcome(enveloped(answer), ENVELOPE) is Outcome.BLOCKED


@pytest.mark.parametrize(
    "answer",
    [
        error("INVALID_REQUEST", "context_id is not known.", field="context_id"),
        error("VALIDATION_ERROR", "governance_context is no token."),
        prose("Something went wrong"),
    ],
)
def test_where_it_is_not_certain_it_is_an_advisory(answer: Result) -> None:
    assert outcome(enveloped(answer), ENVELOPE) is Outcome.ADVISORY


def test_a_sample_that_was_refused_shows_nothing() -> None:
    evidence = after_sample(Probe.ENVELOPE_FIELDS, error(), prose(PYDANTIC))
    assert outcome(evidence, ENVELOPE) is Outcome.NOT_APPLICABLE


def test_an_unknown_member_is_refused() -> None:
    refused = prose(f"{UNKNOWN_MEMBER}\n  Extra inputs are not permitted [type=extra_forbidden]")
    found = finding(after_sample(Probe.UNKNOWN_FIELD, PRODUCTS, refused), UNKNOWN)
    assert found.outcome is Outcome.FAILED
    assert f"without {UNKNOWN_MEMBER}, and refused with it" in found.message
    assert outcome(after_sample(Probe.UNKNOWN_FIELD, PRODUCTS, PRODUCTS), UNKNOWN) is Outcome.PASSED


# -- credentials -----------------------------------------------------------------------------------


def test_a_credential_that_is_refused_by_its_code_passes() -> None:
    evidence = credential(error("CREDENTIAL_IN_ARGS", field="ext.api_key"))
    assert outcome(evidence, CREDENTIAL) is Outcome.PASSED
    assert outcome(evidence, ECHO) is Outcome.PASSED


def test_a_credential_that_is_accepted_is_an_advisory_that_says_since_when_it_is_more() -> None:
    found = finding(credential(PRODUCTS), CREDENTIAL)
    assert found.outcome is Outcome.ADVISORY
    assert "2026-09-16" in found.message
    assert outcome(credential(PRODUCTS, release="3.0"), CREDENTIAL) is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error("INVALID_REQUEST", "ext.api_key is not allowed"), Outcome.ADVISORY),
        (error("INVALID_REQUEST", "brief is empty"), Outcome.NOT_APPLICABLE),
        (error("AUTH_REQUIRED", "api_key missing"), Outcome.NOT_APPLICABLE),
        (prose("Additional properties are not allowed"), Outcome.NOT_APPLICABLE),
    ],
)
def test_other_refusals_of_a_credential(answer: Result, expected: Outcome) -> None:
    assert outcome(credential(answer), CREDENTIAL) is expected


@pytest.mark.parametrize(
    ("answer", "pointer"),
    [
        ({"products": [], "ext": {"api_key": MADE_UP}}, "/result/structuredContent/ext/api_key"),
        (
            error("CREDENTIAL_IN_ARGS", f"{MADE_UP} is a credential"),
            "/result/structuredContent/adcp_error/message",
        ),
        (prose(f"refused: api_key={MADE_UP}"), "/result/content/0/text"),
    ],
)
def test_a_credential_that_comes_back_is_found_where_it_stands(answer: Any, pointer: str) -> None:
    found = finding(credential(answer), ECHO)
    assert found.outcome is Outcome.FAILED
    assert found.pointer == pointer


def test_a_credential_is_found_however_deep_it_stands() -> None:
    value: Any = MADE_UP
    for _ in range(300):
        value = [value]
    found = finding(credential({"products": [], "ext": value}), ECHO)
    assert found.outcome is Outcome.FAILED
    assert found.pointer is not None
    assert found.pointer.startswith("/result/structuredContent/ext/0/0")
