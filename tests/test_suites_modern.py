"""What MCP 2026-07-28 asks beyond its plain requests, on literal answers: annotations, errors, _meta, subscriptions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from evidence import Http, finding, on, outcome, stream, surveyed, tool_result
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.subscriptions import METHOD, SUBSCRIPTION, asked_for
from pytest_adcp.harness.seller.options import Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response, Transcript
from pytest_adcp.harness.verdict import Outcome
from stateless_answers import CACHED, COMPLETE, DISCOVERED, INFO, STATELESS, TOOLS, reply
from surveys import survey

PASSED, FAILED, ADVISORY = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY
NA, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED
NOVEMBER, JUNE, MARCH = "2025-11-25", "2025-06-18", "2025-03-26"
TEXT = {"type": "string", "x-mcp-header": "Text"}


# -- x-mcp-header ------------------------------------------------------------------------------------------------


def listed(schema: Any, revision: str = STATELESS) -> Evidence:
    tools = [{"name": "get_products", "inputSchema": schema}]
    return surveyed(revision=revision, pages=[reply(TOOLS | CACHED | INFO | {"tools": tools}, "list-1")])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, NA),
        ({"properties": {"x-mcp-header": {"type": "string"}}}, NA),  # an argument of that name
        ({"properties": {"a": {"const": {"x-mcp-header": 7}}}}, NA),  # data
        ({"properties": {"a": TEXT}}, PASSED),
        ({"properties": {"a": TEXT, "b": TEXT | {"x-mcp-header": "Text-2"}}}, PASSED),
        ({"properties": {"a": TEXT | {"x-mcp-header": "!#$%&'*+-.^_`|~9"}}}, PASSED),
        ({"properties": {"a": {"properties": {"b": TEXT | {"type": "boolean"}}}}}, PASSED),
        ({"properties": {"a": TEXT | {"type": "number"}}}, FAILED),
        ({"properties": {"a": TEXT | {"type": ["string", "null"]}}}, FAILED),
        ({"properties": {"a": {"x-mcp-header": "Text", "enum": ["x"]}}}, FAILED),
        ({"properties": {"a": TEXT | {"x-mcp-header": ""}}}, FAILED),
        ({"properties": {"a": TEXT | {"x-mcp-header": "a b"}}}, FAILED),
        ({"properties": {"a": TEXT | {"x-mcp-header": "a\n"}}}, FAILED),
        ({"properties": {"a": TEXT | {"x-mcp-header": "Gr\u00f6sse"}}}, FAILED),
        ({"properties": {"a": TEXT | {"x-mcp-header": None}}}, FAILED),
        ({"properties": {"a": TEXT, "b": TEXT | {"x-mcp-header": "TEXT"}}}, FAILED),
        ({"properties": {"a": {"type": "array", "items": TEXT}}}, FAILED),
        ({"properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}}, FAILED),
        ({"$defs": {"a": TEXT}, "properties": {"a": {"$ref": "#/$defs/a"}}}, FAILED),
        ({"properties": {"a": {"type": "object", "additionalProperties": TEXT}}}, FAILED),
        ({"x-mcp-header": "Root", "type": "object"}, FAILED),
    ],
)
def test_header_annotations(schema: Any, expected: Outcome) -> None:
    evidence = listed(schema)
    assert on(evidence, "mcp.tools.header-annotations", "tools/list") is expected
    if expected is FAILED:
        found = finding(evidence, "mcp.tools.header-annotations")
        assert found.pointer.startswith("/result/tools/0/inputSchema")
        assert "leave the tool out" in found.message


def test_annotations_mean_nothing_before() -> None:
    evidence = listed({"properties": {"a": TEXT | {"x-mcp-header": "a b"}}}, NOVEMBER)
    assert outcome(evidence, "mcp.tools.header-annotations") is NA


# -- errors ------------------------------------------------------------------------------------------------------


def refused(code: Any, status: int = 200, *, revision: str = STATELESS, **members: Any) -> Evidence:
    error = {"code": code, "message": "no"} | members
    body = {"jsonrpc": "2.0", "id": "probe-1", "error": error}
    return surveyed(revision=revision, unknown_tool=Http(body, status))


UNKNOWN = "probe/unknown-tool"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (-32602, PASSED),
        (-32603, PASSED),
        (4404, PASSED),
        (-1, PASSED),
        (-32000, PASSED),  # older than the rule
        (-32001, PASSED),
        (-32019, PASSED),
        (-32020, PASSED),
        (-32021, PASSED),
        (-32022, PASSED),
        (-32023, FAILED),
        (-32099, FAILED),
        (-32100, PASSED),
        (-32002, FAILED),
        (-32042, FAILED),
        ("-32042", FAILED),
        ("none", NA),
    ],
)
def test_error_codes(code: Any, expected: Outcome) -> None:
    assert on(refused(code), "mcp.jsonrpc.error-codes", UNKNOWN) is expected
    assert outcome(refused(code, revision=NOVEMBER), "mcp.jsonrpc.error-codes") is NA


LACKING = {"requiredCapabilities": {"elicitation": {}}}


@pytest.mark.parametrize(
    ("status", "data", "expected"),
    [
        (400, LACKING, PASSED),
        (400, {"requiredCapabilities": {}}, PASSED),
        (200, LACKING, FAILED),
        (400, None, FAILED),
        (400, {"requiredCapabilities": ["elicitation"]}, FAILED),
        (400, ["elicitation"], FAILED),
    ],
)
def test_missing_capabilities(status: int, data: Any, expected: Outcome) -> None:
    assert on(refused(-32021, status, data=data), "mcp.lifecycle.missing-capability", UNKNOWN) is expected
    assert on(refused(-32602, status, data=data), "mcp.lifecycle.missing-capability", UNKNOWN) is NA


def test_reads_need_no_capability() -> None:
    rule, subject = "mcp.lifecycle.no-capability-needed", "get_products/brief"
    assert on(tool_result(COMPLETE, revision=STATELESS), rule, subject) is PASSED
    for code, expected in ((-32021, ADVISORY), (-32602, NA)):
        error = {"jsonrpc": "2.0", "id": "call-7", "error": {"code": code, "message": "no"}}
        assert on(surveyed(Http(error, 400), revision=STATELESS), rule, subject) is expected
    assert on(refused(-32021, 400, data=LACKING), rule, UNKNOWN) is NA  # no read


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Http({"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "no", "data": {"supported": [STATELESS]}}}, 400), PASSED),
        (Http({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "2026-07-28 only"}}, 404), PASSED),
        (Http(b"This server speaks MCP 2026-07-28.", 400, "text/plain"), PASSED),
        (Http({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}, 404), ADVISORY),
        (Http(b"", 400, ""), ADVISORY),
        (Http(b"", 503, ""), NA),  # of a gateway
    ],
)  # fmt: skip
def test_errors_to_initialize_name_the_version(answer: Http, expected: Outcome) -> None:
    evidence = surveyed(revision=STATELESS, initialize=answer)
    assert outcome(evidence, "mcp.lifecycle.initialize-error") is expected


def test_who_answers_initialize_has_no_error_to_it() -> None:
    both = surveyed(discover=reply(DISCOVERED | CACHED))
    assert outcome(both, "mcp.lifecycle.initialize-error") is NA


@pytest.mark.parametrize(("issued", "expected"), [({}, PASSED), ({"Mcp-Session-Id": "s-1"}, ADVISORY)])
def test_no_session_id_is_issued(issued: dict[str, str], expected: Outcome) -> None:
    page = Http(reply(TOOLS | CACHED | INFO, "list-1").body, headers=issued)
    rule = "mcp.http.session-none-issued"
    assert on(surveyed(revision=STATELESS, pages=[page]), rule, "tools/list") is expected
    assert outcome(surveyed(pages=[page]), rule) is NA


# -- _meta -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "is_object", "keys"),
    [
        ({}, PASSED, PASSED),
        ({"trace": 1, "a.b-c_d": 2, "9": 3, "": 4}, PASSED, PASSED),
        ({"com.example/trace": 1, "io.modelcontextprotocol/serverInfo": {}, "x/": 2}, PASSED, PASSED),
        ({"fastmcp": {"wrap_result": True}, "openai/outputTemplate": "ui://x"}, PASSED, PASSED),
        ({"_fastmcp": {}}, PASSED, ADVISORY),
        ({"trace_": 1}, PASSED, ADVISORY),
        ({"two words": 1}, PASSED, ADVISORY),
        ({"com.example/a/b": 1}, PASSED, ADVISORY),
        ({"/trace": 1}, PASSED, ADVISORY),
        ({"com..example/a": 1}, PASSED, ADVISORY),
        ({"9com/a": 1}, PASSED, ADVISORY),
        ({"com-/a": 1}, PASSED, ADVISORY),
        ({"\u00e9": 1}, PASSED, ADVISORY),
        (None, FAILED, PASSED),
        ([], FAILED, PASSED),
        ("x", FAILED, PASSED),
    ],
)
def test_meta(meta: Any, is_object: Outcome, keys: Outcome) -> None:
    subject = "get_products/brief"
    for result in (
        {"content": [], "_meta": meta},
        {"content": [{"type": "text", "text": "x", "_meta": meta}]},
    ):
        evidence = tool_result(result)
        assert on(evidence, "mcp.jsonrpc.meta-object", subject) is is_object
        assert on(evidence, "mcp.jsonrpc.meta-keys", subject) is keys
    tools = [{"name": "get_products", "inputSchema": {"type": "object"}, "_meta": meta}]
    assert on(surveyed(tools=tools), "mcp.jsonrpc.meta-object", "tools/list") is is_object
    assert (
        on(tool_result({"content": [], "_meta": meta}, revision=MARCH), "mcp.jsonrpc.meta-keys", subject)
        is NA
    )


def test_without_meta_there_is_nothing_to_judge() -> None:
    assert on(tool_result({"content": []}), "mcp.jsonrpc.meta-object", "get_products/brief") is NA
    assert on(tool_result({"content": [7, None]}), "mcp.jsonrpc.meta-keys", "get_products/brief") is NA


# -- subscriptions -------------------------------------------------------------------------------------------------

ID = "io.modelcontextprotocol/subscriptionId"
CHANGED = {"listChanged": True}


def said(kind: str, number: Any = "l-1", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{kind}", "params": params | {"_meta": {ID: number}}}


ACKNOWLEDGED = said("subscriptions/acknowledged", notifications={"toolsListChanged": True})
TOOLS_CHANGED = said("tools/list_changed")


def listening(answer: Http, end: End = End.COMPLETE, seconds: float = 0.6) -> Evidence:
    """A survey in which subscriptions/listen got this answer."""
    base = surveyed(revision=STATELESS, discover=reply(DISCOVERED | CACHED)).transcript
    message = Session(Era.STATELESS).request("l-1", METHOD, {"notifications": {"toolsListChanged": True}})
    headers = (("content-type", answer.content_type),) if answer.content_type else ()
    exchange = Exchange(
        len(base.exchanges),
        SUBSCRIPTION,
        Kind.STREAM,
        Request("POST", "http://seller.test/mcp", message.headers, message.body),
        Response(answer.status, "HTTP/1.1", headers, answer.raw, len(answer.raw)),
        end,
        era=Era.STATELESS,
        answered=0.1 if end is End.COMPLETE else None,
        seconds=seconds,
    )
    return Evidence(Transcript(base.survey, (*base.exchanges, exchange)), spec="3.1")


def events(*messages: Any) -> Http:
    return Http(stream(*messages), content_type="text/event-stream")


def error(code: int, status: int = 200) -> Http:
    return Http({"jsonrpc": "2.0", "id": "l-1", "error": {"code": code, "message": "no"}}, status)


@pytest.mark.parametrize(
    ("answer", "served", "first", "ids", "opted_in"),
    [
        (events(ACKNOWLEDGED), PASSED, PASSED, PASSED, PASSED),
        (events(ACKNOWLEDGED, TOOLS_CHANGED), PASSED, PASSED, PASSED, PASSED),
        (events(said("subscriptions/acknowledged", notifications={})), PASSED, PASSED, PASSED, PASSED),
        (events(ACKNOWLEDGED, said("cancelled", requestId="l-1")), PASSED, PASSED, PASSED, PASSED),
        (
            events(ACKNOWLEDGED, {"jsonrpc": "2.0", "id": "l-1", "result": {"resultType": "complete"}}),
            PASSED, PASSED, PASSED, PASSED,
        ),  # the server ends it
        (events(TOOLS_CHANGED, ACKNOWLEDGED), PASSED, FAILED, PASSED, PASSED),
        (events(said("subscriptions/acknowledged")), PASSED, FAILED, PASSED, PASSED),
        (events(said("subscriptions/acknowledged", notifications=[])), PASSED, FAILED, PASSED, PASSED),
        (events(said("subscriptions/acknowledged", 7, notifications={})), PASSED, PASSED, FAILED, PASSED),
        (events(ACKNOWLEDGED, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), PASSED, PASSED, FAILED, PASSED),
        (events(ACKNOWLEDGED, said("prompts/list_changed")), PASSED, PASSED, PASSED, FAILED),
        (events(ACKNOWLEDGED, said("message", level="info", data="x")), PASSED, PASSED, PASSED, FAILED),
        (
            events(said("subscriptions/acknowledged", notifications={"promptsListChanged": True})),
            PASSED, PASSED, PASSED, FAILED,
        ),
        (
            events(said("subscriptions/acknowledged", notifications={"promptsListChanged": False})),
            PASSED, PASSED, PASSED, PASSED,
        ),
        (Http({"jsonrpc": "2.0", "id": "l-1", "result": {}}), PASSED, FAILED, NA, NA),
        (error(-32601, 404), ADVISORY, NA, NA, NA),
        (error(-32603), ADVISORY, NA, NA, NA),
        (Http(b"", 503, ""), BLOCKED, BLOCKED, BLOCKED, BLOCKED),
    ],
)  # fmt: skip
def test_subscriptions(
    answer: Http, served: Outcome, first: Outcome, ids: Outcome, opted_in: Outcome
) -> None:
    evidence = listening(answer)
    rules = ("served", "acknowledged", "id", "opted-in")
    found = [outcome(evidence, f"mcp.sse.subscription-{rule}") for rule in rules]
    assert found == [served, first, ids, opted_in]


def test_a_stream_that_says_nothing_may_still_come_to_it() -> None:
    evidence = listening(Http(b": open\n\n", content_type="text/event-stream"), End.DEADLINE, 3.0)
    found = finding(evidence, "mcp.sse.subscription-acknowledged")
    assert (found.outcome, found.received) == (ADVISORY, "no message within 3 s")
    evidence = listening(Http(b"", content_type=""), End.DEADLINE, 3.0)
    assert outcome(evidence, "mcp.sse.subscription-acknowledged") is BLOCKED


@pytest.mark.parametrize(
    ("capabilities", "asked"),
    [
        ({}, {}),
        (None, {}),
        ({"tools": {}, "prompts": {"listChanged": False}, "resources": {"subscribe": True}}, {}),
        ({"tools": {"listChanged": "true"}}, {}),
        ({"tools": CHANGED}, {"toolsListChanged": True}),
        (
            {"prompts": CHANGED, "resources": CHANGED},
            {"promptsListChanged": True, "resourcesListChanged": True},
        ),
    ],
)
def test_what_is_declared_is_asked_for(capabilities: Any, asked: Any) -> None:
    assert asked_for({"capabilities": capabilities}) == asked


@pytest.mark.parametrize(("fault", "sent"), [("subscription", 1), (None, 0)])
@pytest.mark.parametrize("eras", [Eras.STATELESS, Eras.BOTH])
def test_the_stream_is_read_for_a_moment(fault: str | None, sent: int, eras: Eras) -> None:
    with running(SellerOptions(fault=fault, eras=eras)) as url:
        transcript = survey(url, tools=("get_adcp_capabilities",))
    found = [item for item in transcript.exchanges if item.subject == SUBSCRIPTION]
    assert len(found) == sent
    for item in found:
        assert item.end is End.COMPLETE
        assert 0.3 < item.seconds < 3.0
        assert json.loads(item.request.body)["params"]["notifications"] == {"toolsListChanged": True}
