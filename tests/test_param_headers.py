"""Arguments in headers (x-mcp-header): which, how they are written, and what comes over the wire."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from pytest_adcp.harness.param_headers import PREFIX, ParamHeaders, annotations_of
from pytest_adcp.harness.seller.options import Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import Session, header_value
from pytest_adcp.harness.transcript import Era, Kind
from surveys import survey

TEXT = {"type": "string", "x-mcp-header": "Text"}


def headers(properties: dict[str, Any], arguments: dict[str, Any], **schema: Any) -> dict[str, str]:
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": properties} | schema}
    return dict(ParamHeaders([tool]).of("t", arguments))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # The table of the specification.
        ("us-west1", "us-west1"),
        ("Hello, \u4e16\u754c", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
        ("two words", "two words"),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("del\x7f", "=?base64?ZGVsfw==?="),
        ("=?base64?open", "=?base64?open"),
        ("=?utf-8?q?x?=", "=?utf-8?q?x?="),
    ],
)
def test_values_are_written_so_that_a_header_holds_them(text: str, value: str) -> None:
    assert header_value(text) == value
    if value != text:
        assert base64.b64decode(value[9:-2]).decode() == text


def test_half_of_a_surrogate_pair_does_not_end_the_survey() -> None:
    assert header_value("\ud83d").startswith("=?base64?")


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("x", "x"),
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (-7, "-7"),
        (42.0, "42"),
        (2**53 - 1, "9007199254740991"),
        (2**53, None),  # not to be sent as an integer
        (1.5, None),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_what_has_a_header(value: Any, sent: str | None) -> None:
    for kind in ("string", "integer", "boolean"):
        found = headers({"a": {"type": kind, "x-mcp-header": "A"}}, {"a": value})
        assert found == ({} if sent is None else {f"{PREFIX}A": sent})


def test_an_argument_that_is_not_there_has_no_header() -> None:
    assert headers({"a": TEXT}, {}) == {}
    assert headers({"a": TEXT}, {"b": "x"}) == {}
    assert ParamHeaders().of("no-such-tool", {"a": "x"}) == ()


def test_an_argument_within_another_is_found() -> None:
    nested = {
        "a": {"type": "object", "properties": {"properties": {"type": "object", "properties": {"b": TEXT}}}}
    }
    assert headers(nested, {"a": {"properties": {"b": "x"}}}) == {f"{PREFIX}Text": "x"}
    assert headers(nested, {"a": "no object"}) == {}


@pytest.mark.parametrize(
    "properties",
    [
        {"a": TEXT | {"x-mcp-header": ""}},
        {"a": TEXT | {"x-mcp-header": "two words"}},
        {"a": TEXT | {"x-mcp-header": "a\r\nSet-Cookie: b"}},
        {"a": TEXT | {"x-mcp-header": "\u00e9"}},
        {"a": TEXT | {"x-mcp-header": 7}},
        {"a": TEXT | {"type": "number"}},
        {"a": TEXT | {"type": ["string", "null"]}},
        {"a": {"x-mcp-header": "Text"}},
        {"a": TEXT, "b": TEXT | {"x-mcp-header": "TEXT"}},
        {"a": TEXT, "b": {"type": "array", "items": TEXT | {"x-mcp-header": "Other"}}},
    ],
)
def test_a_tool_that_clients_leave_out_gets_no_header(properties: dict[str, Any]) -> None:
    assert headers(properties, {"a": "x", "b": "y"}) == {}


def test_data_in_a_schema_is_no_annotation() -> None:
    schema = {
        "properties": {"x-mcp-header": {"type": "string"}, "a": {"const": {"x-mcp-header": "A"}}},
        "examples": [{"x-mcp-header": "B"}],
    }
    assert list(annotations_of(schema)) == []


@pytest.mark.parametrize("schema", [None, True, [], "x", {"properties": [TEXT]}, {"properties": {"a": None}}])
def test_odd_schemas_have_no_annotation(schema: Any) -> None:
    assert list(annotations_of(schema)) == []


def test_a_schema_without_end_is_not_looked_at() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(3000):
        schema = {"properties": {"a": schema}}
    assert list(annotations_of(schema)) == []


@pytest.mark.parametrize("era", Era)
def test_only_the_stateless_era_has_them(era: Era) -> None:
    tool = {"name": "t", "inputSchema": {"properties": {"a": TEXT}}}
    session = Session(era, param_headers=ParamHeaders([tool]).of)
    message = session.request(1, "tools/call", {"name": "t", "arguments": {"a": "\u00e9"}})
    found = [value for name, value in message.headers if name.startswith(PREFIX)]
    assert found == (["=?base64?w6k=?="] if era is Era.STATELESS else [])
    assert json.loads(message.body)["params"]["arguments"] == {"a": "\u00e9"}


@pytest.mark.parametrize("eras", [Eras.STATELESS, Eras.BOTH])
def test_calls_carry_them_and_three_requests_try_them(eras: Eras) -> None:
    with running(SellerOptions(fault="param-headers", eras=eras)) as url:
        transcript = survey(url, tools=("get_adcp_capabilities", "get_products"))
    sent = {
        exchange.subject: [value for name, value in exchange.request.headers if name == f"{PREFIX}Brief"]
        for exchange in transcript.exchanges
        if b'"name": "get_products"' in exchange.request.body
    }
    brief = sent["stateless/param-header"]
    assert len(brief) == 1
    assert sent["get_products/sample"] == (brief if eras is Eras.STATELESS else [])
    assert sent["stateless/no-param-header"] == []
    assert sent["stateless/other-param-header"] not in ([], brief)
    asked = [e.subject for e in transcript.exchanges if e.kind is Kind.VARIANT and "param" in e.subject]
    assert len(asked) == 3
