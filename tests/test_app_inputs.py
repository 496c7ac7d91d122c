"""The connected-apps rules on parameters as their schema says them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apps import app, judged, tool, with_properties
from pytest_adcp.harness.verdict import Outcome

TEXT = {"type": "string", "description": "A text."}
ANY = {"description": "A thing."}
OK, BAD, HINT, NOTHING = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE


def _outcome(
    rule: str, name: str, schema: Any, *, text: str = "Finds things.", required: tuple[str, ...] = ()
) -> Outcome:
    listed = tool(
        "find_thing", description=text, inputSchema=with_properties(required=required, **{name: schema})
    )
    return judged(app(listed), rule).outcome


@pytest.mark.parametrize(
    ("schema", "outcome"),
    [
        ({}, BAD),
        (True, BAD),
        (ANY, BAD),
        ({"anyOf": [{}, {"type": "null"}]}, BAD),
        ({"nullable": True, "description": "A thing."}, BAD),
        ({"format": "date"}, BAD),
        ({"pattern": "^a"}, OK),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, OK),
        ({"type": ["string", "null"]}, OK),
        ({"enum": ["a", "b"]}, OK),
        ({"const": 1}, OK),
        ({"$ref": "#/$defs/known"}, OK),
        ({"$ref": "#/$defs/any"}, BAD),
        ({"$ref": "#/$defs/round"}, OK),
        ({"$ref": "https://example.com/schema.json"}, OK),
        ({"properties": {"a": TEXT}}, OK),
        ({"allOf": [{"$ref": "#/$defs/known"}]}, OK),
        ({"not": {"type": "null"}}, OK),
    ],
)
def test_parameter_typed(schema: Any, outcome: Outcome) -> None:
    definitions = {"known": {"type": "string"}, "any": ANY, "round": {"$ref": "#/$defs/round"}}
    inputs = {**with_properties(thing=schema), "$defs": definitions}
    assert judged(app(tool(inputSchema=inputs)), "parameter-typed").outcome is outcome


def test_deeper_values_may_be_of_any_type() -> None:
    inner = {"type": "object", "properties": {"value": {}}}
    assert _outcome("parameter-typed", "filter", inner) is OK


def test_without_parameters_there_is_nothing_to_judge() -> None:
    assert judged(app(tool(inputSchema={"type": "object"})), "parameter-typed").outcome is NOTHING


@pytest.mark.parametrize(
    ("inputs", "outcome"),
    [
        (with_properties(required=["city"], city=TEXT), OK),
        (with_properties(required=["town"], city=TEXT), BAD),
        ({"type": "object", "properties": {"city": TEXT}}, OK),
        (with_properties(required=["town"], city=TEXT, town=None), OK),
        ({**with_properties(required=["x_a"], city=TEXT), "patternProperties": {"^x_": TEXT}}, OK),
        ({**with_properties(required=["town"], city=TEXT), "allOf": [{"properties": {"town": TEXT}}]}, OK),
        ({"type": "object", "required": ["town"], "additionalProperties": TEXT}, NOTHING),
        ({**with_properties(required=["town"], city=TEXT), "additionalProperties": TEXT}, OK),
        ({**with_properties(required=["town"], city=TEXT), "additionalProperties": False}, BAD),
        ({"type": "object", "required": ["town"], "properties": {}, "additionalProperties": False}, BAD),
        (with_properties(city={"type": "string", "description": "Required. A city."}), HINT),
        (with_properties(city={"type": "string", "description": "A city (required)."}), HINT),
        (with_properties(city={"type": "string", "description": "Required for updates."}), OK),
        (with_properties(city={"type": "string", "description": "Required. A city.", "default": "Oslo"}), OK),
        (with_properties(city={"type": "string", "description": "Not a required one."}), OK),
        (with_properties(required=["city"], city={"type": "string", "description": "Required."}), OK),
    ],
)
def test_required_listed(inputs: Any, outcome: Outcome) -> None:
    assert judged(app(tool(inputSchema=inputs)), "required-listed").outcome is outcome


def test_required_in_the_tools_text() -> None:
    text = "Finds.\n\nArgs:\n    city (str, required): A city.\n"
    assert _outcome("required-listed", "city", {"type": "string"}, text=text) is HINT


@pytest.mark.parametrize(
    ("description", "outcome"),
    [
        ("Must be 'asc' or 'desc'.", HINT),
        ('One of: "open", "closed", "all"', HINT),
        ("Can be OPEN, CLOSED or ALL.", HINT),
        ("Options: `day` (default), `week` (seven days), or `month`", HINT),
        ("Either 'left' or 'right'.", HINT),
        ("Format, one of: json|yaml|wide", HINT),
        ("The status: 'open' or 'closed' are frequent.", OK),
        ("Can be e.g. 'red' or 'blue'.", OK),
        ("Fields, such as one of 'a', 'b'.", OK),
        ("Comma-separated options: 'a', 'b'.", OK),
        ("Common values: 'read', 'write'.", OK),
        ("Can be 'today', 'tomorrow' or a date.", OK),
        ("Use the id of one of the connect tools.", OK),
        ("Use either this or that.", OK),
        ("What to filter by (either 'page' or 'table' may be found).", OK),
        ("Must be UPPER case.", OK),
        ("Either 'text' or 'file' is given.", OK),
        ("Options: 'a', 'b', etc.", OK),
    ],
)
def test_fixed_set_is_enum(description: str, outcome: Outcome) -> None:
    inputs = with_properties(text={"type": "string", "description": description}, file=TEXT)
    assert judged(app(tool(inputSchema=inputs)), "fixed-set-is-enum").outcome is outcome


@pytest.mark.parametrize(
    ("description", "values"),
    [
        ("Must be 'asc' or 'desc'.", ["asc", "desc"]),
        ("One of: json|yaml | wide", ["json", "yaml", "wide"]),
        ("Can be OPEN (new ones) or CLOSED.", ["OPEN", "CLOSED"]),
    ],
)
def test_enum_can_be_pasted(description: str, values: list[str]) -> None:
    inputs = with_properties(order={"type": "string", "description": description})
    found = judged(app(tool(inputSchema=inputs)), "fixed-set-is-enum")
    assert json.loads("{" + found.fix.partition(": ")[2] + "}")["order"]["enum"] == values


@pytest.mark.parametrize("given", [{"enum": ["a", "b"]}, {"const": "a"}, {"pattern": "^[ab]$"}])
def test_fixed_set_in_the_schema(given: Any) -> None:
    assert (
        _outcome(
            "fixed-set-is-enum", "order", {"type": "string", "description": "Must be 'a' or 'b'.", **given}
        )
        is OK
    )


@pytest.mark.parametrize(
    ("name", "schema", "outcome"),
    [
        ("user_id", {"type": "integer"}, HINT),
        ("userId", {"type": ["number", "null"]}, HINT),
        ("user_ids", {"type": "array", "items": {"type": "integer"}}, HINT),
        ("id", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, HINT),
        ("user_id", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, OK),
        ("user_id", {"type": "string"}, OK),
        ("user_ids", {"type": "array", "items": {"type": "string"}}, OK),
        ("grid", {"type": "integer"}, OK),
        ("paid", {"type": "integer"}, OK),
        ("id_count", {"type": "integer"}, OK),
    ],
)
def test_id_is_string(name: str, schema: Any, outcome: Outcome) -> None:
    assert _outcome("id-is-string", name, schema) is outcome


@pytest.mark.parametrize(
    ("name", "schema", "outcome"),
    [
        ("timeout", {"type": "number", "description": "How long."}, HINT),
        ("timeout_seconds", {"type": "number"}, OK),
        ("timeoutMs", {"type": "integer"}, OK),
        ("timeout", {"type": "number", "description": "In milliseconds."}, OK),
        ("timeout", {"type": "string", "description": "How long."}, OK),
        ("search_radius", {"type": "integer"}, HINT),
        ("perPage", {"type": "integer"}, OK),
        ("max_distance", {"type": "number", "description": "Cosine distance."}, OK),
        ("start_date", {"type": "string"}, HINT),
        ("start_date", {"type": "string", "format": "date"}, OK),
        ("start_date", {"type": "string", "description": "As YYYY-MM-DD"}, OK),
        ("start_date", {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, OK),
        ("createdAt", {"type": "string"}, HINT),
        ("insert_columns_at", {"type": "string"}, OK),
        ("look_at", {"type": "string"}, OK),
        ("start_time", {"type": "string", "description": "When it begins."}, HINT),
        ("response_time", {"type": "string"}, OK),
        ("update", {"type": "string"}, OK),
        ("date", {"enum": ["today", "tomorrow"]}, OK),
    ],
)
def test_units_and_formats(name: str, schema: Any, outcome: Outcome) -> None:
    assert _outcome("units-and-formats", name, schema) is outcome


def test_unit_may_stand_beside() -> None:
    inputs = with_properties(duration={"type": "integer"}, unit={"enum": ["days", "hours"]})
    assert judged(app(tool(inputSchema=inputs)), "units-and-formats").outcome is OK


@pytest.mark.parametrize(
    ("name", "schema", "outcome"),
    [
        ("limit", {"type": "integer"}, HINT),
        ("limit", {"type": "integer", "maximum": 50}, OK),
        ("limit", {"type": "integer", "maximum": 2**53 - 1}, HINT),
        ("limit", {"type": "integer", "description": "Maximum number of rows. Default 10"}, HINT),
        ("pageSize", {"type": "integer", "description": "Rows a page (1-100)"}, OK),
        ("max_results", {"type": "integer", "description": "Up to 20."}, OK),
        ("per_page", {"type": "integer", "description": "default 30, max 100"}, OK),
        ("limit", {"type": "integer", "description": "Max. 50"}, OK),
        ("limit", {"type": "integer", "description": "The maximum. Counts from 1."}, HINT),
        ("limit", {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]}, OK),
        ("speed_limit", {"type": "integer"}, OK),
        ("limit", {"type": "boolean"}, OK),
    ],
)
def test_limit_bounded(name: str, schema: Any, outcome: Outcome) -> None:
    assert _outcome("limit-bounded", name, schema) is outcome


@pytest.mark.parametrize(
    ("description", "text", "outcome"),
    [
        ("", "Searches.", HINT),
        ("The search query", "Searches.", HINT),
        ("Key words", "Searches.", OK),
        ("Query by name or number", "Searches.", OK),
        ("", "Searches with the syntax of the shop, e.g. colour:red.", OK),
        ("", "Finds cells that hold the query.", OK),
        ("", "Runs a GraphQL document.", OK),
    ],
)
def test_query_syntax_named(description: str, text: str, outcome: Outcome) -> None:
    assert (
        _outcome("query-syntax-named", "query", {"type": "string", "description": description}, text=text)
        is outcome
    )


@pytest.mark.parametrize("name", ["sql", "jql"])
def test_a_query_named_for_its_language(name: str) -> None:
    assert _outcome("query-syntax-named", name, TEXT, text="Plans.") is OK


@pytest.mark.parametrize(
    ("rule", "name", "schema", "outcome"),
    [
        ("parameter-name-safe", "system_prompt", TEXT, BAD),
        ("parameter-name-safe", "chatHistory", TEXT, BAD),
        ("parameter-name-safe", "full_context", {"type": ["string", "null"]}, BAD),
        ("parameter-name-safe", "full_context", {"type": "boolean"}, OK),
        ("parameter-name-safe", "chat_history", {"type": "integer"}, OK),
        ("parameter-name-safe", "system_prompt", {"enum": ["short", "long"]}, OK),
        ("parameter-name-safe", "context", TEXT, OK),
        ("parameter-name-safe", "messages", TEXT, OK),
        ("parameter-name-safe", "prompt", TEXT, OK),
        ("no-pii-request", "ssn", TEXT, HINT),
        ("no-pii-request", "dateOfBirth", TEXT, HINT),
        ("no-pii-request", "diagnosis", {"type": "boolean"}, OK),
        ("no-pii-request", "email", TEXT, OK),
        ("no-pii-request", "ip_address", TEXT, OK),
        ("no-pii-request", "AddressSid", TEXT, OK),
        ("no-credential-parameter", "api_key", TEXT, HINT),
        ("no-credential-parameter", "accessToken", TEXT, HINT),
        ("no-credential-parameter", "password", TEXT, OK),
        ("no-credential-parameter", "secretType", TEXT, OK),
        ("no-credential-parameter", "CredentialListSid", TEXT, OK),
        ("no-credential-parameter", "webhook", {"type": "object", "properties": {"auth_token": TEXT}}, OK),
    ],
)
def test_what_is_not_a_tools_to_know(rule: str, name: str, schema: Any, outcome: Outcome) -> None:
    assert _outcome(rule, name, schema) is outcome


@pytest.mark.parametrize(
    ("rule", "name", "cure"),
    [
        ("parameter-name-safe", "system_prompt", "ask for what the tool needs to know"),
        ("no-pii-request", "ssn", "take a reference to"),
        ("no-credential-parameter", "api_key", "from the Authorization header"),
    ],
)
def test_the_cure_says_what_to_do_instead(rule: str, name: str, cure: str) -> None:
    found = judged(app(tool(inputSchema=with_properties(**{name: TEXT}))), rule)
    assert found.fix.startswith(f'take "{name}" out of the schema, and ')
    assert cure in found.fix


def test_prompt_of_an_assistant_that_is_made_is_data() -> None:
    listed = tool("create_assistant", inputSchema=with_properties(system_prompt=TEXT))
    assert judged(app(listed), "parameter-name-safe").outcome is OK


def test_personal_data_is_told_once_a_name() -> None:
    inputs = with_properties(passport=TEXT)
    found = judged(app(tool("a_b", inputSchema=inputs), tool("c_d", inputSchema=inputs)), "no-pii-request")
    assert "times" not in found.message
    assert found.pointer == "/result/tools/0/inputSchema/properties/passport"
