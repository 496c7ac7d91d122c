"""adcp.schema.*: which payload is judged by which schema, and what the finding says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence import finding, outcome, rpc_error, tool_result
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.schema_bundle import find_bundle
from pytest_adcp.harness.schemas import Validators
from pytest_adcp.harness.verdict import Finding, Outcome
from small_bundle import RESPONSE, small_validators, write_bundle

RULES = ("adcp.schema.response", "adcp.schema.interim", "adcp.schema.error")
WRONG = {"products": [{"name": 5}]}
STRICT = {**RESPONSE, "required": ["products", "cache_scope"]}


@pytest.fixture
def schemas(tmp_path: Path) -> Validators:
    """3.0 and 3.2 ask for products, 3.1 for cache_scope as well."""
    for version, response in (("3.0.2", RESPONSE), ("3.1.7", STRICT), ("3.2.0", RESPONSE)):
        write_bundle(tmp_path / version, version, **{"media-buy/get-products-response.json": response})
    bundle = find_bundle(tmp_path)
    assert bundle is not None
    return Validators(bundle)


def success(payload: Any, schemas: Validators | None, **more: Any) -> Evidence:
    return tool_result({"content": [], "structuredContent": payload}, schemas=schemas, **more)


def failure(payload: Any, schemas: Validators | None, **more: Any) -> Evidence:
    return tool_result(
        {"content": [], "structuredContent": payload, "isError": True}, schemas=schemas, **more
    )


def judged(evidence: Evidence) -> Finding:
    return finding(evidence, "adcp.schema.response")


# -- success --------------------------------------------------------------------------------------------------


def test_a_success_is_judged_by_its_response_schema(schemas: Validators) -> None:
    assert judged(success({"products": []}, schemas, release="3.0")).outcome is Outcome.PASSED
    found = judged(success(WRONG, schemas, release="3.0"))
    assert found.outcome is Outcome.FAILED
    assert found.message == "/products/0/name: `name` is the number 5, not a string"
    assert found.pointer == "/result/structuredContent/products/0/name"
    assert (found.expected, found.received, found.further) == ("a string", "5", ())
    assert (
        found.fix == "send a string; the schema: "
        "https://adcontextprotocol.org/schemas/3.0.2/core/product.json#/properties/name/type"
    )


def test_unknown_members_are_fine(schemas: Validators) -> None:
    payload = {"products": [{"name": "x", "vendor_hint": 1}], "ext": {}, "vendor": {}}
    assert judged(success(payload, schemas, release="3.0")).outcome is Outcome.PASSED


def test_of_data_in_a_text_the_message_names_the_place(schemas: Validators) -> None:
    text = {"type": "text", "text": json.dumps(WRONG)}
    found = judged(tool_result({"content": [text]}, schemas=schemas, release="3.0"))
    assert (found.pointer, found.message[:17]) == ("/result/content/0/text", "/products/0/name:")


def test_all_problems_stand_in_one_finding(schemas: Validators) -> None:
    payload = {"products": [{"name": number} for number in range(25)], "context": None}
    found = judged(success(payload, schemas, release="3.0"))
    assert found.message == "/context: `context` is null, not an object: leave out what has no value"
    assert found.fix.startswith(
        "leave a member out that has no value (Pydantic: model_dump(exclude_none=True));"
    )
    assert len(found.further) == 20
    assert found.further[0] == "/products/0/name: `name` is the number 0, not a string"
    assert found.further[-1] == "and 6 other problems"


def test_a_format_alone_is_an_advisory(schemas: Validators) -> None:
    found = judged(success({"products": [{"name": "x", "updated": "today"}]}, schemas, release="3.0"))
    assert found.outcome is Outcome.ADVISORY
    assert "date and time with its offset" in found.message
    mixed = {"products": [{"name": "x", "updated": "today"}, {}]}
    assert judged(success(mixed, schemas, release="3.0")).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"result": {"products": []}}, "adcp.extraction.top-level-data says"),
        ({"status": "rejected", "reason": "none"}, "the task was rejected"),
        ({"status": "canceled"}, "the task was canceled"),
    ],
)
def test_what_other_rules_say_is_not_said_again(schemas: Validators, payload: Any, why: str) -> None:
    found = judged(success(payload, schemas, release="3.0"))
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert why in found.message


def test_nothing_to_extract_is_not_judged(schemas: Validators) -> None:
    evidence = tool_result({"content": [{"type": "text", "text": "Done."}]}, schemas=schemas)
    assert judged(evidence).outcome is Outcome.NOT_APPLICABLE


def test_an_empty_payload_is_wrong(schemas: Validators) -> None:
    assert judged(success({}, schemas, release="3.0")).message == "/products: `products` is missing"


def test_an_error_is_never_judged_as_a_success(schemas: Validators) -> None:
    error = {"status": "failed", "adcp_error": {"code": "X", "message": "y"}}
    evidence = failure(error, schemas)
    assert judged(evidence).outcome is Outcome.BLOCKED  # there was no success
    assert outcome(evidence, "adcp.schema.error") is Outcome.PASSED


# -- which release --------------------------------------------------------------------------------------------


def serving(evidence: Evidence, **server: Any) -> Evidence:
    evidence.server = replace(evidence.server, **server)
    return evidence


def test_the_answers_own_echo_decides(schemas: Validators) -> None:
    payload = {"products": []}
    assert judged(serving(success(payload, schemas, release=None), release="3.1")).outcome is Outcome.FAILED
    echo = {**payload, "adcp_version": "3.0"}
    assert judged(serving(success(echo, schemas, release=None), release="3.1")).outcome is Outcome.PASSED
    assert judged(success(echo, schemas, release="3.1")).outcome is Outcome.FAILED  # --adcp-spec pins


def test_without_an_echo_any_listed_release_will_do(schemas: Validators) -> None:
    listed = {"release": "3.1", "release_source": "supported_versions", "supported": ("3.1", "3.0")}
    assert (
        judged(serving(success({"products": []}, schemas, release=None), **listed)).outcome is Outcome.PASSED
    )
    found = judged(serving(success(WRONG, schemas, release=None), **listed))
    assert "schemas/3.1.7/" in found.fix  # told by the newest


def test_a_major_version_alone_stands_for_all_its_releases(schemas: Validators) -> None:
    major = {"release": "3.0", "release_source": "major_versions"}
    newer = {"products": [], "cache_scope": "public"}
    for payload in ({"products": []}, newer):
        assert judged(serving(success(payload, schemas, release=None), **major)).outcome is Outcome.PASSED
    found = judged(serving(success(WRONG, schemas, release=None), **major))
    assert "schemas/3.0.2/" in found.fix  # told by the oldest


def test_without_capabilities_it_is_3_0(schemas: Validators) -> None:
    listed = [{"name": name, "inputSchema": {}} for name in ("get_products", "get_adcp_capabilities")]
    assert "schemas/3.0.2/" in judged(success(WRONG, schemas, release=None, tools=listed)).fix


def test_a_release_without_schemas_is_not_judged(schemas: Validators) -> None:
    found = judged(success(WRONG, schemas, release="3.3"))
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert "the server serves AdCP 3.3, and the schemas at hand" in found.message
    signals = success({"signals": []}, schemas, tool="get_signals", release="3.0")
    assert judged(signals).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("rule", RULES)
def test_without_schemas_every_rule_says_how_to_get_them(rule: str) -> None:
    working = {"status": "working"}
    for evidence in (
        success(WRONG, None),
        success(working, None),
        failure({"adcp_error": {"code": "X"}}, None),
    ):
        found = finding(evidence, rule)
        assert found.outcome in (Outcome.NOT_APPLICABLE, Outcome.BLOCKED)
        if found.outcome is Outcome.NOT_APPLICABLE and found.subject != "-":
            assert "pip install 'pytest-adcp[schemas]'" in found.message
            assert "--adcp-schemas DIR" in found.message


def test_a_bundle_with_a_hole_blocks(tmp_path: Path) -> None:
    holed = small_validators(tmp_path, **{"core/product.json": None})
    found = judged(success(WRONG, holed))
    assert found.outcome is Outcome.BLOCKED
    assert "core/product.json cannot be read" in found.message


# -- interim --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"status": "submitted", "task_id": "t"}, Outcome.PASSED),
        ({"status": "submitted", "taskId": "t"}, Outcome.FAILED),
        ({"status": "working", "percentage": 45}, Outcome.NOT_APPLICABLE),  # this bundle has none for it
        ({"status": "auth-required"}, Outcome.NOT_APPLICABLE),
    ],
)
def test_interim_states_have_schemas_of_their_own(
    schemas: Validators, payload: Any, expected: Outcome
) -> None:
    evidence = success(payload, schemas)
    assert outcome(evidence, "adcp.schema.interim") is expected
    assert judged(evidence).outcome is Outcome.BLOCKED


# -- errors ---------------------------------------------------------------------------------------------------

GOOD = {"code": "X", "message": "y"}


@pytest.mark.parametrize(
    ("payload", "expected", "pointer"),
    [
        ({"adcp_error": GOOD, "errors": [GOOD]}, Outcome.PASSED, None),
        ({"adcp_error": GOOD, "errors": [GOOD, "text"]}, Outcome.FAILED, "/errors/1"),
        ({"adcp_error": GOOD, "errors": ["text"]}, Outcome.FAILED, "/errors/0"),
        (
            {"adcp_error": {**GOOD, "issues": [{"schema_id": 5}]}},
            Outcome.FAILED,
            "/adcp_error/issues/0/schema_id",
        ),
        # What adcp.errors.* says.
        ({"adcp_error": {"code": "X"}}, Outcome.PASSED, None),
        ({"adcp_error": {"code": 5, "message": None}}, Outcome.PASSED, None),
        ({"adcp_error": {**GOOD, "issues": "none"}}, Outcome.PASSED, None),
        ({"adcp_error": {**GOOD, "issues": ["none"]}}, Outcome.PASSED, None),
        ({"errors": ["text"]}, Outcome.NOT_APPLICABLE, None),
        ({"adcp_error": "text"}, Outcome.NOT_APPLICABLE, None),
    ],
)
def test_error_objects(schemas: Validators, payload: Any, expected: Outcome, pointer: str | None) -> None:
    found = finding(failure(payload, schemas), "adcp.schema.error")
    assert found.outcome is expected
    assert found.pointer == (pointer and f"/result/structuredContent{pointer}")


def test_an_error_object_in_a_json_rpc_error(schemas: Validators) -> None:
    error = {"code": -32029, "message": "x", "data": {"adcp_error": {**GOOD, "issues": [{"schema_id": 5}]}}}
    found = finding(rpc_error(error, schemas=schemas), "adcp.schema.error")
    assert found.outcome is Outcome.FAILED
    assert found.pointer == "/error/data/adcp_error/issues/0/schema_id"
