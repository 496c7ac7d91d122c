"""The rules of MCP 2026-07-28 on literal answers, and what is sent for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from evidence import finding, judge_all, on, surveyed, tool_result
from pytest_adcp.harness.calls import Variant
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes import stateless
from pytest_adcp.harness.probes.stateless import NO_SUCH_VERSION, VARIANTS, subject_of, varied
from pytest_adcp.harness.rules import load
from pytest_adcp.harness.seller.options import Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS
from pytest_adcp.harness.transcript import Kind, Limits, Transcript
from pytest_adcp.harness.verdict import Outcome, judge
from scripted import Call, Reply, scripted
from stateless_answers import (
    CACHED,
    CALL,
    COMPLETE,
    DISCOVERED,
    INFO,
    SERVED,
    SESSION,
    STATELESS,
    TOOLS,
    error,
    reply,
    tried,
)
from surveys import survey

PASSED, FAILED, ADVISORY = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY
NA, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED
SUBJECT = "get_products/brief"


# -- results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (COMPLETE, PASSED),
        ({"content": []}, FAILED),
        (COMPLETE | {"resultType": None}, FAILED),
        (COMPLETE | {"resultType": "done"}, FAILED),
        (COMPLETE | {"resultType": "input_required"}, PASSED),
    ],
)
def test_results_say_their_type(result: Any, expected: Outcome) -> None:
    assert on(tool_result(result, revision=STATELESS), "mcp.result.result-type", SUBJECT) is expected


def test_an_extension_may_bring_a_type_of_its_own() -> None:
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    served = reply(DISCOVERED | {"capabilities": capabilities})
    for kind, expected in [("task", PASSED), ("", FAILED), (1, FAILED)]:
        evidence = tool_result(COMPLETE | {"resultType": kind}, revision=STATELESS, discover=served)
        assert on(evidence, "mcp.result.result-type", SUBJECT) is expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (COMPLETE, NA),
        ({"resultType": "input_required", "requestState": "s"}, PASSED),
        ({"resultType": "input_required", "requestState": "s", "inputRequests": {}}, PASSED),
        ({"resultType": "input_required"}, FAILED),
        ({"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}, FAILED),
    ],
)
def test_input_may_be_asked_for(result: Any, expected: Outcome) -> None:
    assert on(tool_result(result, revision=STATELESS), "mcp.result.input-required", SUBJECT) is expected


def test_a_list_asks_for_no_input() -> None:
    asking = reply(TOOLS | {"resultType": "input_required", "requestState": "s"}, "list-1")
    evidence = surveyed(revision=STATELESS, pages=[asking])
    assert on(evidence, "mcp.result.input-required", "tools/list") is FAILED
    assert on(evidence, "mcp.result.cache", "tools/list") is NA


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (CACHED, PASSED),
        ({"ttlMs": 60_000, "cacheScope": "public"}, PASSED),
        ({"ttlMs": 60_000.0, "cacheScope": "public"}, PASSED),  # the same number to JSON
        ({"ttlMs": -1, "cacheScope": "public"}, FAILED),
        ({"ttlMs": 0.5, "cacheScope": "public"}, FAILED),
        ({"ttlMs": True, "cacheScope": "public"}, FAILED),
        ({"ttlMs": "0", "cacheScope": "public"}, FAILED),
        ({"cacheScope": "public"}, FAILED),
        ({"ttlMs": 0}, FAILED),
        ({"ttlMs": 0, "cacheScope": "Public"}, FAILED),
        ({"ttlMs": 0, "cacheScope": ["public"]}, FAILED),
    ],
)
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_lists_say_how_long_they_hold(method: str, members: Any, expected: Outcome) -> None:
    if method == "tools/list":
        evidence = surveyed(revision=STATELESS, pages=[reply(TOOLS | members, "list-1")])
    else:
        evidence = surveyed(revision=STATELESS, discover=reply(DISCOVERED | members))
    assert on(evidence, "mcp.result.cache", method) is expected


def test_calls_are_not_cached() -> None:
    assert on(tool_result(COMPLETE, revision=STATELESS), "mcp.result.cache", SUBJECT) is NA


@pytest.mark.parametrize(("second", "expected"), [("private", PASSED), ("public", FAILED)])
def test_pages_have_one_scope(second: str, expected: Outcome) -> None:
    pages = [
        reply(TOOLS | CACHED | {"nextCursor": "2"}, "list-1"),
        reply(TOOLS | {"ttlMs": 5, "cacheScope": second}, "list-2"),
    ]
    evidence = surveyed(revision=STATELESS, pages=pages)
    assert on(evidence, "mcp.result.cache-scope", "tools/list") is NA
    assert on(evidence, "mcp.result.cache-scope", "tools/list/page-2") is expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [(INFO, PASSED), ({}, ADVISORY), ({"_meta": {}}, ADVISORY), ({"_meta": {"serverInfo": {}}}, ADVISORY)],
)
def test_results_name_the_server(meta: Any, expected: Outcome) -> None:
    evidence = tool_result({"resultType": "complete", "content": []} | meta, revision=STATELESS)
    assert on(evidence, "mcp.result.server-info", SUBJECT) is expected


@pytest.mark.parametrize(
    "discovered",
    [
        {},
        {"supportedVersions": []},
        {"supportedVersions": "2026-07-28"},
        {"supportedVersions": ["2025-11-25"]},
        {"supportedVersions": None},
    ],
)
@pytest.mark.parametrize(
    "rule",
    [
        "result.result-type",
        "result.cache",
        "result.server-info",
        "lifecycle.self-contained",
        "http.method-not-found",
    ],
)
def test_who_does_not_speak_it_is_not_judged(rule: str, discovered: Any) -> None:
    (found,) = judge_all(surveyed(discover=reply(discovered)), f"mcp.{rule}")
    assert found.outcome is NA
    assert "does not speak MCP 2026-07-28" in found.message


# -- requests ----------------------------------------------------------------------------------------------------

V = Variant
SUPPORTED = {"data": {"supported": [STATELESS], "requested": NO_SUCH_VERSION}}
CASES: list[tuple[str, Variant, int, Any, Outcome]] = [
    ("lifecycle.self-contained", V.LIST, 200, SERVED, PASSED),
    ("lifecycle.self-contained", V.LIST, 400, error(-32600), FAILED),
    ("lifecycle.self-contained", V.LIST, 200, error(-32601), FAILED),
    ("lifecycle.self-contained", V.LIST, 500, error(-32603), BLOCKED),
    ("lifecycle.self-contained", V.LIST, 401, error(-32600), BLOCKED),
    ("lifecycle.self-contained", V.LIST, 503, error(-32603), BLOCKED),
    ("http.session-ignored", V.SESSION, 200, SERVED, PASSED),
    ("http.session-ignored", V.SESSION, 404, error(-32600), ADVISORY),
    ("lifecycle.client-info-optional", V.NO_CLIENT_INFO, 200, SERVED, PASSED),
    ("lifecycle.client-info-optional", V.NO_CLIENT_INFO, 400, error(-32602), FAILED),
    ("lifecycle.meta-required", V.NO_META, 400, error(-32602), PASSED),
    ("lifecycle.meta-required", V.NO_META, 400, error(-32020), ADVISORY),
    ("lifecycle.meta-required", V.NO_META, 400, error(-32600), FAILED),
    (
        "lifecycle.meta-required",
        V.NO_META,
        400,
        error("-32602"),
        PASSED,
    ),  # mcp.jsonrpc.error-object looks at strings
    ("lifecycle.meta-required", V.NO_META, 400, error("invalid"), FAILED),
    ("lifecycle.meta-required", V.NO_META, 200, error(-32602), FAILED),
    ("lifecycle.meta-required", V.NO_META, 200, SERVED, FAILED),
    ("lifecycle.meta-required", V.NO_CAPABILITIES, 400, error(-32602), PASSED),
    ("lifecycle.meta-required", V.NO_CAPABILITIES, 400, error(-32020), FAILED),
    ("lifecycle.meta-required", V.NO_CAPABILITIES, 200, SERVED, FAILED),
    ("http.headers-checked", V.NO_METHOD, 400, error(-32020), PASSED),
    ("http.headers-checked", V.NO_METHOD, 400, error(-32600), PASSED),
    ("http.headers-checked", V.NO_VERSION, 400, error(-32020), PASSED),
    ("http.headers-checked", V.NO_VERSION, 200, SERVED, FAILED),
    ("http.header-code", V.NO_VERSION, 400, error(-32022, **SUPPORTED), PASSED),  # read as another version's
    ("http.header-code", V.NO_VERSION, 400, error(-32602), ADVISORY),
    ("http.parameter-headers", V.NO_PARAM, 400, error(-32020), PASSED),
    ("http.parameter-headers", V.NO_PARAM, 400, error("-32020"), PASSED),
    ("http.parameter-headers", V.NO_PARAM, 400, error(-32602), FAILED),
    ("http.parameter-headers", V.NO_PARAM, 200, SERVED, FAILED),
    ("http.parameter-headers", V.OTHER_PARAM, 200, error(-32020), FAILED),
    ("http.parameter-headers", V.OTHER_PARAM, 400, error(-32020), PASSED),
    ("http.parameter-headers", V.OTHER_PARAM, 401, error(-32020), BLOCKED),
    ("http.headers-checked", V.NO_NAME, 200, SERVED, FAILED),
    ("http.headers-checked", V.OTHER_VERSION, 200, error(-32020), FAILED),
    ("http.headers-checked", V.OTHER_VERSION, 403, error(-32020), BLOCKED),
    ("http.headers-checked", V.NO_NAME, 422, error(-32020), FAILED),
    ("http.header-code", V.NO_METHOD, 400, error(-32020), PASSED),
    ("http.header-code", V.NO_METHOD, 400, error(-32022), ADVISORY),
    ("http.header-code", V.OTHER_VERSION, 400, error(-32022), PASSED),  # of the two faults the other one
    ("http.header-code", V.OTHER_VERSION, 400, error(-32602), ADVISORY),
    ("http.header-code", V.NO_NAME, 200, SERVED, NA),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, **SUPPORTED), PASSED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022), FAILED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data={"supported": []}), FAILED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data={"supported": [1]}), FAILED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data=[STATELESS]), FAILED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32000), FAILED),
    ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 200, SERVED, FAILED),
    ("http.method-not-found", V.UNKNOWN_METHOD, 404, error(-32601), PASSED),
    ("http.method-not-found", V.UNKNOWN_METHOD, 404, error(-32600), FAILED),
    ("http.method-not-found", V.UNKNOWN_METHOD, 200, error(-32601), FAILED),
    ("http.method-not-found", V.UNKNOWN_METHOD, 400, error(-32601), FAILED),
]


@pytest.mark.parametrize(("rule", "variant", "status", "body", "expected"), CASES)
def test_variants(rule: str, variant: Variant, status: int, body: Any, expected: Outcome) -> None:
    evidence = tried(variant, status, body)
    assert on(evidence, f"mcp.{rule}", subject_of(variant)) is expected
    if expected in (FAILED, ADVISORY):
        found = finding(evidence, f"mcp.{rule}")
        assert 40 < len(found.message) < 400
        assert f"HTTP {status}" in found.received or "supported" in found.fix
        assert found.curl.startswith("curl ")


@pytest.mark.parametrize(
    ("body", "says", "fix"),
    [
        (error(-32020), "is refused with -32020, but under HTTP 200", "Send the HTTP status 400"),
        (SERVED, "is served; who filters by the headers lets through", "Compare MCP-Protocol-Version"),
    ],
)
def test_what_is_refused_is_not_called_let_through(body: Any, says: str, fix: str) -> None:
    found = finding(tried(V.NO_METHOD, 200, body), "mcp.http.headers-checked")
    assert found.outcome is FAILED
    assert says in found.message
    assert found.fix.startswith(fix)


@pytest.mark.parametrize("raw", [b"", b"Not Found", b"<h1>404</h1>", b"{}"])
def test_a_404_needs_its_error(raw: bytes) -> None:
    evidence = tried(V.UNKNOWN_METHOD, 404, {}, raw=raw)
    assert on(evidence, "mcp.http.method-not-found", subject_of(V.UNKNOWN_METHOD)) is FAILED


@pytest.mark.parametrize(
    ("rule", "variant", "status", "body", "expected"),
    [
        # A request without _meta may be one of an older version to it.
        ("lifecycle.meta-required", V.NO_META, 200, SERVED, ADVISORY),
        ("lifecycle.meta-required", V.NO_META, 400, error(-32000), ADVISORY),
        ("lifecycle.meta-required", V.NO_META, 400, error(-32602), PASSED),
        ("lifecycle.meta-required", V.NO_CAPABILITIES, 200, SERVED, FAILED),  # the version is there
        ("http.session-ignored", V.SESSION, 404, error(-32001), NA),
        ("lifecycle.unsupported-version", V.UNKNOWN_VERSION, 400, error(-32000), FAILED),
        ("http.headers-checked", V.NO_METHOD, 200, SERVED, FAILED),
    ],
)
def test_servers_of_both_eras(rule: str, variant: Variant, status: int, body: Any, expected: Outcome) -> None:
    evidence = tried(variant, status, body, dual=True)
    assert on(evidence, f"mcp.{rule}", subject_of(variant)) is expected


def test_only_good_requests_are_asked_for_a_whole_result() -> None:
    odd = {"result": {"tools": []}}
    assert on(tried(V.SESSION, 200, odd), "mcp.result.result-type", subject_of(V.SESSION)) is FAILED
    subjects = [item.subject for item in judge_all(tried(V.NO_META, 200, odd), "mcp.result.result-type")]
    assert subject_of(V.NO_META) not in subjects


# -- what is sent ------------------------------------------------------------------------------------------------


def parts(variant: Variant) -> tuple[dict[str, str], dict[str, Any]]:
    message = varied(variant, SESSION, 7, CALL)
    return {name.lower(): value for name, value in message.headers}, json.loads(message.body)


@pytest.mark.parametrize("variant", Variant)
def test_a_variant_differs_in_one_point(variant: Variant) -> None:
    calls = (V.NO_NAME, V.PARAM, V.NO_PARAM, V.OTHER_PARAM)
    good_headers, good = parts(Variant.CALL if variant in calls else Variant.LIST)
    headers, body = parts(variant)
    changed = {name for name in {*headers, *good_headers} if headers.get(name) != good_headers.get(name)}
    meta, good_meta = body["params"].get("_meta", {}), good["params"]["_meta"]
    lacking = {name.partition("/")[2] for name in good_meta if meta.get(name) != good_meta[name]}
    assert (changed, lacking) == {
        V.LIST: (set(), set()),
        V.CALL: ({"mcp-method", "mcp-name", "mcp-param-brief"}, set()),
        V.SESSION: ({"mcp-session-id"}, set()),
        V.NO_CLIENT_INFO: (set(), {"clientInfo"}),
        V.NO_META: (set(), {"protocolVersion", "clientCapabilities", "clientInfo"}),
        V.NO_CAPABILITIES: (set(), {"clientCapabilities"}),
        V.OTHER_VERSION: ({"mcp-protocol-version"}, set()),
        V.NO_METHOD: ({"mcp-method"}, set()),
        V.NO_NAME: ({"mcp-name"}, set()),
        V.NO_VERSION: ({"mcp-protocol-version"}, set()),
        V.PARAM: (set(), set()),
        V.NO_PARAM: ({"mcp-param-brief"}, set()),
        V.OTHER_PARAM: ({"mcp-param-brief"}, set()),
        V.UNKNOWN_VERSION: ({"mcp-protocol-version"}, {"protocolVersion"}),
        V.UNKNOWN_METHOD: ({"mcp-method"}, set()),
    }[variant]
    # A version of the other era would make it a request of that era.
    assert headers.get("mcp-protocol-version") not in HANDSHAKE_REVISIONS


# What is sent to a server of both eras that asks for no argument in a header.
PLAIN = [v for v in Variant if v not in (V.NO_VERSION, V.PARAM, V.NO_PARAM, V.OTHER_PARAM)]


def variants(transcript: Transcript) -> list[str]:
    return [item.subject for item in transcript.exchanges if item.kind is Kind.VARIANT]


@pytest.mark.parametrize("eras", Eras)
def test_sent_where_the_version_is_spoken(eras: Eras) -> None:
    with running(SellerOptions(eras=eras)) as url:
        transcript = survey(url)
    expected = [] if eras is Eras.HANDSHAKE else [subject_of(variant) for variant in PLAIN]
    expected += [subject_of(V.NO_VERSION)] if eras is Eras.STATELESS else []
    assert sorted(variants(transcript)) == sorted(expected)
    assert len(expected) <= 12
    assert not [left for left in transcript.survey.not_called if left.item == VARIANTS]


@pytest.mark.parametrize("times", [2.0, 0.0])
def test_a_slow_server_gets_the_time_that_it_needs(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    monkeypatch.setattr(stateless, "_SECONDS", 0.2)
    monkeypatch.setattr(stateless, "_TIMES", times)
    with running(SellerOptions(latency=0.1)) as url:
        transcript = survey(url)
    left = [item.why for item in transcript.survey.not_called if item.item == VARIANTS]
    assert left == ([] if times else ["0 s were not enough for all of it"])
    # What was cut short keeps no rule from being judged: it is as if it had not been sent.
    tried = Evidence(transcript)
    found = [
        judge(rule, entry) for rule in load(["pytest_adcp.suites.mcp.stateless"]) for entry in tried.of(rule)
    ]
    assert {one.outcome for one in found} <= {PASSED, NA}


def test_on_a_connection_of_its_own_without_a_session() -> None:
    with running(SellerOptions(eras=Eras.BOTH)) as url:
        transcript = survey(url, limits=Limits(request_timeout=2.0, survey_timeout=20.0, concurrency=1))
    sent = [item for item in transcript.exchanges if item.kind is Kind.VARIANT]
    assert [item.subject for item in sent] == [subject_of(variant) for variant in PLAIN]
    for item in sent:
        names = {name.lower() for name, _ in item.request.headers}
        assert ("mcp-session-id" in names) is (item.subject == subject_of(V.SESSION))


def modern(refused: str, **members: Any) -> Mapping[str, Any]:
    """What a scripted seller of both eras says: one request of 2026-07-28 is refused."""

    def hook(call: Call) -> Reply | None:
        if call.header("MCP-Protocol-Version") != STATELESS:
            return None
        if call.name == refused:
            return Reply(**members)
        if call.method == "server/discover":
            return Reply(result=DISCOVERED | CACHED)
        return Reply(result=TOOLS | CACHED)

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    left = [item.why for item in transcript.survey.not_called if item.item == VARIANTS]
    return {"sent": variants(transcript), "left": left}


def test_no_more_is_sent_where_a_plain_list_is_refused() -> None:
    seen = modern("tools/list", status=400, error={"code": -32600, "message": "no session"})
    assert seen["sent"] == [subject_of(V.LIST)]
    assert seen["left"] == ["a plain tools/list of MCP 2026-07-28 was not served"]


def test_no_more_is_sent_where_no_answer_comes() -> None:
    seen = modern("get_adcp_capabilities", status=503)
    assert seen["sent"] == [subject_of(V.LIST), subject_of(V.CALL)]
    assert seen["left"] == ["stateless/call got no answer, and no more was sent"]


def test_without_a_call_that_is_served_its_variant_is_left_out() -> None:
    seen = modern("get_adcp_capabilities", error={"code": -32602, "message": "no"})
    assert subject_of(V.NO_NAME) not in seen["sent"]
    assert len(seen["sent"]) == len(PLAIN) - 1
