"""The rules of mcp.interop on literal answers and literal readings of the official client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from evidence import Http
from official_client import findings_of, outcomes, read_by_client, tools
from pytest_adcp.harness.transcript import ClientStep, End, Era
from pytest_adcp.harness.verdict import Finding, Outcome

CALL = "interop/handshake/get_products/sample"
LIST = "interop/handshake/tools/list"
CONNECT = "interop/handshake/connect"
TEXT = {"type": "text", "text": "5 products."}
DATA = {"products": [{"product_id": "p1", "price": 1}], "status": "completed"}
GOOD = {"content": [TEXT], "structuredContent": DATA}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


def gave(reading: Any, subject: str = CALL, era: Era = Era.HANDSHAKE) -> ClientStep:
    return ClientStep(subject, era, reading=json.dumps(reading))


def raised(text: str, *places: str, subject: str = CALL, code: int | None = None) -> ClientStep:
    return ClientStep(subject, Era.HANDSHAKE, raised=text, places=places, code=code)


def judged(step: ClientStep, *answers: Any, **how: Any) -> dict[str, str]:
    return outcomes(findings_of(read_by_client(step, *answers, **how)))


def broken(step: ClientStep, *answers: Any, **how: Any) -> Finding:
    (found,) = [
        finding
        for finding in findings_of(read_by_client(step, *answers, **how))
        if finding.outcome is Outcome.ADVISORY
    ]
    return found


# -- results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("came", "given"),
    [
        (GOOD, GOOD),
        (GOOD | {"isError": False}, GOOD),
        (GOOD, GOOD | {"isError": False}),
        (GOOD | {"isError": True}, GOOD | {"isError": True}),
        (GOOD | {"structuredContent": None}, {"content": [TEXT]}),
        (GOOD | {"_meta": {"a.example/b": 1}}, GOOD),
        (GOOD | {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}, GOOD),
        (GOOD | DATA, GOOD),  # it stands in structuredContent as well
        (GOOD | {"note": None}, GOOD),
        ({"content": [TEXT | {"annotations": {"priority": 1, "x": 2}, "note": 1}]}, {"content": [TEXT]}),
        (GOOD | {"structuredContent": {"cpm": 1}}, GOOD | {"structuredContent": {"cpm": 1.0}}),
        ({"content": []}, {"content": []}),
    ],
)
def test_what_reads_the_same_is_no_finding(came: Any, given: Any) -> None:
    assert judged(gave(given), came) == {
        "results": "passed",
        "same-result": "passed",
        "connects": "not-applicable",
        "tools": "not-applicable",
    }


@pytest.mark.parametrize(
    ("came", "given", "place", "words"),
    [
        ({"isError": "false"}, {"isError": False}, "/result/isError", "a JavaScript client for true"),
        ({"isError": "true"}, {"isError": True}, "/result/isError", "stricter clients refuse"),
        ({"isError": 0}, {"isError": False}, "/result/isError", "stricter clients refuse"),
        ({"products": []}, {}, "/result/products", 'drops "products"'),
        ({"a/b": 1}, {}, "/result/a~1b", 'drops "a/b"'),
        ({"structuredContent": {"a": 1}}, {"structuredContent": {}}, "/result/structuredContent", "another"),
        (
            {"structuredContent": {"a": True}},
            {"structuredContent": {"a": 1}},
            "/result/structuredContent",
            "another",
        ),
        ({"content": [TEXT, TEXT]}, {"content": [TEXT]}, "/result/content", "1 content block of 2"),
        ({"content": [TEXT]}, {"content": [TEXT | {"text": "5"}]}, "/result/content/0/text", "another text"),
    ],
)
def test_what_reads_otherwise_is_named(came: Any, given: Any, place: str, words: str) -> None:
    found = broken(gave(GOOD | given), GOOD | came)
    assert (found.rule, found.subject, found.pointer) == ("mcp.interop.same-result", CALL, place)
    assert words in found.message
    assert "mcp 2.3.0" in found.message


def test_two_differences_are_one_finding() -> None:
    found = broken(gave(GOOD | {"isError": True}), GOOD | {"isError": 1, "products": []})
    assert found.pointer == "/result/isError"
    assert len(found.further) == 1
    assert "products" in found.further[0]


@pytest.mark.parametrize(
    ("result", "place", "pointer"),
    [
        ({"content": None}, "/content", "/result/content"),
        ({"content": [{"type": "json"}]}, "/content/0/TextContent/text", "/result/content/0"),
        ({}, "/content", "/result"),
        (GOOD, "", "/result"),
    ],
)
def test_a_refused_result_quotes_the_exception_and_the_place(result: Any, place: str, pointer: str) -> None:
    found = broken(raised("ValidationError: \x1b[31mno", *([place] if place else [])), result)
    assert (found.rule, found.pointer) == ("mcp.interop.results", pointer)
    assert found.received == "ValidationError: \\x1b[31mno"
    assert "raises an exception in the place of the result" in found.message


def test_a_client_that_waits_without_end() -> None:
    found = broken(ClientStep(CALL, Era.HANDSHAKE, silent=True), GOOD)
    assert found.rule == "mcp.interop.results"
    assert "waits for a result without end" in found.message


def test_a_result_that_it_cannot_take_for_its_label_is_refused() -> None:
    answer = Http({"jsonrpc": "2.0", "id": 1, "result": GOOD}, content_type="text/plain")
    step = raised("MCPError: Unexpected content type: text/plain", code=-32600)
    assert broken(step, answer).rule == "mcp.interop.results"


@pytest.mark.parametrize(
    ("answer", "step"),
    [
        ({"content": [], "resultType": "input_required", "requestState": "s"}, raised("RuntimeError: input")),
        (Http({"jsonrpc": "2.0", "id": 1, "result": []}), raised("MCPError", code=-32700)),
        (Http(b"<html>", 500, "text/html"), raised("MCPError", code=-32603)),
    ],
)
def test_where_the_answer_is_none_the_client_is_not_to_blame(answer: Any, step: ClientStep) -> None:
    found = judged(step, answer)
    assert (found["results"], found["same-result"]) == ("not-applicable", "not-applicable")


def test_a_reading_that_is_too_large_is_not_compared() -> None:
    found = judged(gave({"size": 10_000_000}), GOOD)
    assert (found["results"], found["same-result"]) == ("passed", "not-applicable")


# -- errors ----------------------------------------------------------------------------------------------------


def error(code: Any) -> Http:
    return Http({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}})


def test_an_error_of_the_servers_is_passed_on() -> None:
    found = judged(raised("MCPError: no", code=-32602), error(-32602))
    assert (found["results"], found["same-result"]) == ("not-applicable", "passed")


@pytest.mark.parametrize("code", ["-32602", -32602.5, None, "RATE_LIMITED"])
def test_a_code_that_it_changes_is_named(code: Any) -> None:
    found = broken(raised("MCPError: no", code=-32602), error(code))
    assert (found.rule, found.pointer) == ("mcp.interop.same-result", "/error/code")


# -- lists -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "pages"),
    [
        (["a", "b"], [tools("a", "b")]),
        (["a", "b"], [tools("a"), tools("b")]),
        (["a", "a"], [tools("a", "a")]),
        ([], [tools()]),
        (["a"], [tools("a"), tools("a")]),  # it reads the first page again behind its user's back
    ],
)
def test_every_tool_is_listed(seen: list[str], pages: list[Any]) -> None:
    assert judged(gave({"tools": seen}, LIST), *pages, method="tools/list")["tools"] == "passed"


def test_a_tool_that_it_hides_is_named() -> None:
    listed = tools("get_products", "tool2", properties={"id": {"x-mcp-header": "bad name", "type": "string"}})
    found = broken(gave({"tools": ["tool2"]}, LIST), listed, method="tools/list")
    assert found.rule == "mcp.interop.tools"
    assert '"get_products"' in found.message
    assert "x-mcp-header" in found.message
    assert found.received == '1 of them; hidden: "get_products"'


def test_many_hidden_tools_are_not_all_named() -> None:
    found = broken(gave({"tools": []}, LIST), tools(*"abcdefgh"), method="tools/list")
    assert found.received.endswith('"e" and more')
    assert "x-mcp-header" not in found.message


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("/tools/1/inputSchema", 'because of the tool "b"'),
        ("/tools/7/inputSchema", "refuses the whole list: its users"),
        ("/nextCursor", "refuses the whole list: its users"),
    ],
)
def test_a_refused_list_names_the_tool(place: str, words: str) -> None:
    step = raised("ValidationError: no", place, subject=LIST)
    assert words in broken(step, tools("a", "b"), method="tools/list").message


def test_a_list_that_the_server_refuses_is_no_finding() -> None:
    step = raised("MCPError: no", subject=LIST, code=-32601)
    assert judged(step, error(-32601), method="tools/list")["tools"] == "not-applicable"


# -- connections -----------------------------------------------------------------------------------------------


def test_a_connection() -> None:
    step = gave({"protocolVersion": "2025-11-25"}, CONNECT)
    assert judged(step, HELLO, method="initialize")["connects"] == "passed"


@pytest.mark.parametrize(("version", "outcome"), [("2026-07-28", "passed"), ("2025-11-25", "advisory")])
def test_a_client_that_goes_back_to_initialize_is_told(version: str, outcome: str) -> None:
    step = gave({"protocolVersion": version}, "interop/stateless/connect", Era.STATELESS)
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "shared"}
    findings = findings_of(read_by_client(step, discovered, method="server/discover"))
    assert outcomes(findings)["connects"] == outcome


def test_a_refused_connection_is_named() -> None:
    step = raised("ValidationError: /serverInfo: Field required", "/serverInfo", subject=CONNECT)
    found = broken(step, HELLO, method="initialize")
    assert found.rule == "mcp.interop.connects"
    assert found.received == "ValidationError: /serverInfo: Field required"


def test_a_server_that_refuses_to_connect_is_no_finding() -> None:
    step = raised("MCPError: busy", subject=CONNECT, code=-32000)
    assert judged(step, error(-32000), method="initialize")["connects"] == "not-applicable"


# -- no reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "answers", "outcome"),
    [
        (ClientStep(CALL, Era.HANDSHAKE, lost="it crashed"), [GOOD], "blocked"),
        (ClientStep(CALL, Era.HANDSHAKE, lost="it crashed"), [], "blocked"),
        (ClientStep(CALL, Era.HANDSHAKE, skipped="it never came to it"), [], "not-applicable"),
        (raised("MCPError", code=-32603), [Http(b"", 503, "")], "blocked"),
        (raised("MCPError", code=-32603), [Http(b"", end=End.DEADLINE)], "blocked"),
        (raised("MCPError", code=-32603), [Http(b"", 401, "")], "blocked"),
    ],
)
def test_without_a_reading_nothing_is_said(step: ClientStep, answers: list[Any], outcome: str) -> None:
    found = judged(step, *answers)
    assert (found["results"], found["same-result"]) == (outcome, outcome)
