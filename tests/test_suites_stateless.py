"""The rules of mcp.stateless on literal answers, and what is sent for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from evidence import Http, finding, judge_all, on, surveyed, tool_result
from pytest_adcp.harness.calls import PlannedCall, Purpose, Variant
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.probes.stateless import NO_SUCH_VERSION, VARIANTS, subject_of, varied
from pytest_adcp.harness.seller.options import Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.session import HANDSHAKE_REVISIONS, Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Limits, Request, Response, Transcript
from pytest_adcp.harness.verdict import Outcome
from scripted import Call, Reply, scripted
from surveys import survey

PASSED, FAILED, ADVISORY = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY
NA, BLOCKED = Outcome.NOT_APPLICABLE, Outcome.BLOCKED
STATELESS = "2026-07-28"
SUBJECT = "get_products/brief"
CALL = PlannedCall("get_products", "sample", {"brief": "x"}, Purpose.GOOD)
INFO = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "seller", "version": "1"}}}
COMPLETE = {"resultType": "complete", "content": []} | INFO
DISCOVERED = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, "resultType": "complete"}
CACHED = {"ttlMs": 0, "cacheScope": "private"}
TOOLS = {"tools": [{"name": "get_products", "inputSchema": {"type": "object"}}], "resultType": "complete"}


def reply(result: Any, number: str = "discover-1") -> Http:
    return Http({"jsonrpc": "2.0", "id": number, "result": result})


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
    assert on(tool_result(result, revision=STATELESS), "mcp.stateless.result-type", SUBJECT) is expected


def test_an_extension_may_bring_a_type_of_its_own() -> None:
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    served = reply(DISCOVERED | {"capabilities": capabilities})
    for kind, expected in [("task", PASSED), ("", FAILED), (1, FAILED)]:
        evidence = tool_result(COMPLETE | {"resultType": kind}, revision=STATELESS, discover=served)
        assert on(evidence, "mcp.stateless.result-type", SUBJECT) is expected


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
    assert on(tool_result(result, revision=STATELESS), "mcp.stateless.input-required", SUBJECT) is expected


def test_a_list_asks_for_no_input() -> None:
    asking = reply(TOOLS | {"resultType": "input_required", "requestState": "s"}, "list-1")
    evidence = surveyed(revision=STATELESS, pages=[asking])
    assert on(evidence, "mcp.stateless.input-required", "tools/list") is FAILED
    assert on(evidence, "mcp.stateless.cache", "tools/list") is NA


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
    assert on(evidence, "mcp.stateless.cache", method) is expected


def test_calls_are_not_cached() -> None:
    assert on(tool_result(COMPLETE, revision=STATELESS), "mcp.stateless.cache", SUBJECT) is NA


@pytest.mark.parametrize(("second", "expected"), [("private", PASSED), ("public", FAILED)])
def test_pages_have_one_scope(second: str, expected: Outcome) -> None:
    pages = [
        reply(TOOLS | CACHED | {"nextCursor": "2"}, "list-1"),
        reply(TOOLS | {"ttlMs": 5, "cacheScope": second}, "list-2"),
    ]
    evidence = surveyed(revision=STATELESS, pages=pages)
    assert on(evidence, "mcp.stateless.cache-scope", "tools/list") is NA
    assert on(evidence, "mcp.stateless.cache-scope", "tools/list/page-2") is expected


@pytest.mark.parametrize(
    ("meta", "expected"),
    [(INFO, PASSED), ({}, ADVISORY), ({"_meta": {}}, ADVISORY), ({"_meta": {"serverInfo": {}}}, ADVISORY)],
)
def test_results_name_the_server(meta: Any, expected: Outcome) -> None:
    evidence = tool_result({"resultType": "complete", "content": []} | meta, revision=STATELESS)
    assert on(evidence, "mcp.stateless.server-info", SUBJECT) is expected


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
@pytest.mark.parametrize("rule", ["result-type", "cache", "server-info", "self-contained", "unknown-method"])
def test_who_does_not_speak_it_is_not_judged(rule: str, discovered: Any) -> None:
    (found,) = judge_all(surveyed(discover=reply(discovered)), f"mcp.stateless.{rule}")
    assert found.outcome is NA
    assert "does not speak MCP 2026-07-28" in found.message


# -- requests ----------------------------------------------------------------------------------------------------

SERVED = {"result": TOOLS | CACHED | INFO}


def error(code: Any, **members: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no"} | members}


def tried(
    variant: Variant, status: int, body: Any, *, dual: bool = False, raw: bytes | None = None
) -> Evidence:
    """A survey in which a variant got this answer; `dual`: of a server that knows initialize too."""
    message = varied(variant, Session(Era.STATELESS), "v-1", CALL)
    data = raw if raw is not None else json.dumps({"jsonrpc": "2.0", "id": "v-1"} | body).encode()
    response = Response(status, "HTTP/1.1", (("content-type", "application/json"),), data, len(data))
    request = Request("POST", "http://seller.test/mcp", message.headers, message.body)
    base = surveyed(
        revision="2025-11-25" if dual else STATELESS, discover=reply(DISCOVERED | CACHED)
    ).transcript
    exchange = Exchange(
        len(base.exchanges),
        subject_of(variant),
        Kind.VARIANT,
        request,
        response,
        End.COMPLETE,
        era=Era.STATELESS,
        answered=0.1,
    )
    return Evidence(Transcript(base.survey, (*base.exchanges, exchange)), spec="3.1")


V = Variant
SUPPORTED = {"data": {"supported": [STATELESS], "requested": NO_SUCH_VERSION}}
CASES: list[tuple[str, Variant, int, Any, Outcome]] = [
    ("self-contained", V.LIST, 200, SERVED, PASSED),
    ("self-contained", V.LIST, 400, error(-32600), FAILED),
    ("self-contained", V.LIST, 200, error(-32601), FAILED),
    ("self-contained", V.LIST, 500, error(-32603), BLOCKED),
    ("self-contained", V.LIST, 401, error(-32600), BLOCKED),
    ("self-contained", V.LIST, 503, error(-32603), BLOCKED),
    ("session-ignored", V.SESSION, 200, SERVED, PASSED),
    ("session-ignored", V.SESSION, 404, error(-32600), ADVISORY),
    ("client-info-optional", V.NO_CLIENT_INFO, 200, SERVED, PASSED),
    ("client-info-optional", V.NO_CLIENT_INFO, 400, error(-32602), FAILED),
    ("meta-required", V.NO_META, 400, error(-32602), PASSED),
    ("meta-required", V.NO_META, 400, error(-32020), ADVISORY),
    ("meta-required", V.NO_META, 400, error(-32600), FAILED),
    ("meta-required", V.NO_META, 400, error("-32602"), PASSED),  # mcp.jsonrpc.error-object looks at strings
    ("meta-required", V.NO_META, 400, error("invalid"), FAILED),
    ("meta-required", V.NO_META, 200, error(-32602), FAILED),
    ("meta-required", V.NO_META, 200, SERVED, FAILED),
    ("headers-checked", V.NO_METHOD, 400, error(-32020), PASSED),
    ("headers-checked", V.NO_METHOD, 400, error(-32600), PASSED),
    ("headers-checked", V.NO_NAME, 200, SERVED, FAILED),
    ("headers-checked", V.OTHER_VERSION, 200, error(-32020), FAILED),
    ("headers-checked", V.OTHER_VERSION, 403, error(-32020), BLOCKED),
    ("headers-checked", V.NO_NAME, 422, error(-32020), FAILED),
    ("header-code", V.NO_METHOD, 400, error(-32020), PASSED),
    ("header-code", V.NO_METHOD, 400, error(-32022), ADVISORY),
    ("header-code", V.OTHER_VERSION, 400, error(-32022), PASSED),  # of the two faults the other one
    ("header-code", V.OTHER_VERSION, 400, error(-32602), ADVISORY),
    ("header-code", V.NO_NAME, 200, SERVED, NA),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, **SUPPORTED), PASSED),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022), FAILED),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data={"supported": []}), FAILED),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data={"supported": [1]}), FAILED),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32022, data=[STATELESS]), FAILED),
    ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32000), FAILED),
    ("unsupported-version", V.UNKNOWN_VERSION, 200, SERVED, FAILED),
    ("unknown-method", V.UNKNOWN_METHOD, 404, error(-32601), PASSED),
    ("unknown-method", V.UNKNOWN_METHOD, 404, error(-32600), FAILED),
    ("unknown-method", V.UNKNOWN_METHOD, 200, error(-32601), FAILED),
    ("unknown-method", V.UNKNOWN_METHOD, 400, error(-32601), FAILED),
]


@pytest.mark.parametrize(("rule", "variant", "status", "body", "expected"), CASES)
def test_variants(rule: str, variant: Variant, status: int, body: Any, expected: Outcome) -> None:
    evidence = tried(variant, status, body)
    assert on(evidence, f"mcp.stateless.{rule}", subject_of(variant)) is expected
    if expected in (FAILED, ADVISORY):
        found = finding(evidence, f"mcp.stateless.{rule}")
        assert 40 < len(found.message) < 400
        assert f"HTTP {status}" in found.received or "supported" in found.fix
        assert found.curl.startswith("curl ")


@pytest.mark.parametrize("raw", [b"", b"Not Found", b"<h1>404</h1>", b"{}"])
def test_a_404_needs_its_error(raw: bytes) -> None:
    evidence = tried(V.UNKNOWN_METHOD, 404, {}, raw=raw)
    assert on(evidence, "mcp.stateless.unknown-method", subject_of(V.UNKNOWN_METHOD)) is FAILED


@pytest.mark.parametrize(
    ("rule", "variant", "status", "body", "expected"),
    [
        # A request without _meta may be one of an older version to it.
        ("meta-required", V.NO_META, 200, SERVED, ADVISORY),
        ("meta-required", V.NO_META, 400, error(-32000), ADVISORY),
        ("meta-required", V.NO_META, 400, error(-32602), PASSED),
        ("session-ignored", V.SESSION, 404, error(-32001), NA),
        ("unsupported-version", V.UNKNOWN_VERSION, 400, error(-32000), FAILED),
        ("headers-checked", V.NO_METHOD, 200, SERVED, FAILED),
    ],
)
def test_servers_of_both_eras(rule: str, variant: Variant, status: int, body: Any, expected: Outcome) -> None:
    evidence = tried(variant, status, body, dual=True)
    assert on(evidence, f"mcp.stateless.{rule}", subject_of(variant)) is expected


def test_only_good_requests_are_asked_for_a_whole_result() -> None:
    odd = {"result": {"tools": []}}
    assert on(tried(V.SESSION, 200, odd), "mcp.stateless.result-type", subject_of(V.SESSION)) is FAILED
    subjects = [item.subject for item in judge_all(tried(V.NO_META, 200, odd), "mcp.stateless.result-type")]
    assert subject_of(V.NO_META) not in subjects


# -- what is sent ------------------------------------------------------------------------------------------------


def parts(variant: Variant) -> tuple[dict[str, str], dict[str, Any]]:
    message = varied(variant, Session(Era.STATELESS), 7, CALL)
    return {name.lower(): value for name, value in message.headers}, json.loads(message.body)


@pytest.mark.parametrize("variant", Variant)
def test_a_variant_differs_in_one_point(variant: Variant) -> None:
    good_headers, good = parts(Variant.CALL if variant is Variant.NO_NAME else Variant.LIST)
    headers, body = parts(variant)
    changed = {name for name in {*headers, *good_headers} if headers.get(name) != good_headers.get(name)}
    meta, good_meta = body["params"].get("_meta", {}), good["params"]["_meta"]
    lacking = {name.partition("/")[2] for name in good_meta if meta.get(name) != good_meta[name]}
    assert (changed, lacking) == {
        V.LIST: (set(), set()),
        V.CALL: ({"mcp-method", "mcp-name"}, set()),
        V.SESSION: ({"mcp-session-id"}, set()),
        V.NO_CLIENT_INFO: (set(), {"clientInfo"}),
        V.NO_META: (set(), {"protocolVersion", "clientCapabilities", "clientInfo"}),
        V.OTHER_VERSION: ({"mcp-protocol-version"}, set()),
        V.NO_METHOD: ({"mcp-method"}, set()),
        V.NO_NAME: ({"mcp-name"}, set()),
        V.UNKNOWN_VERSION: ({"mcp-protocol-version"}, {"protocolVersion"}),
        V.UNKNOWN_METHOD: ({"mcp-method"}, set()),
    }[variant]
    # A version of the other era would make it a request of that era.
    assert headers["mcp-protocol-version"] not in HANDSHAKE_REVISIONS


def variants(transcript: Transcript) -> list[str]:
    return [item.subject for item in transcript.exchanges if item.kind is Kind.VARIANT]


@pytest.mark.parametrize("eras", Eras)
def test_sent_where_the_version_is_spoken(eras: Eras) -> None:
    with running(SellerOptions(eras=eras)) as url:
        transcript = survey(url)
    expected = [] if eras is Eras.HANDSHAKE else [subject_of(variant) for variant in Variant]
    assert variants(transcript) == expected
    assert len(expected) <= 10
    assert not [left for left in transcript.survey.not_called if left.item == VARIANTS]


def test_on_a_connection_of_its_own_without_a_session() -> None:
    with running(SellerOptions(eras=Eras.BOTH)) as url:
        transcript = survey(url, limits=Limits(request_timeout=2.0, survey_timeout=20.0, concurrency=1))
    sent = [item for item in transcript.exchanges if item.kind is Kind.VARIANT]
    assert [item.subject for item in sent] == [subject_of(variant) for variant in Variant]
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
    assert len(seen["sent"]) == len(Variant) - 1
