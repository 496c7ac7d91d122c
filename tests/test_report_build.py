"""report.json: what is told of a target."""

from __future__ import annotations

import json

import pytest
from evidence import Http, rpc_error, surveyed, tool_result
from pytest_adcp.harness.calls import Expect, NotCalled, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.transcript import Kind
from pytest_adcp.reports import model
from pytest_adcp.reports.model import NotChecked, Schemas
from reported import (
    ERROR,
    SUCCESS,
    report,
    with_calls,
    with_survey,
)


def only_call(evidence: Evidence) -> model.Call:
    ((call,),) = (target.calls for target in report(evidence).targets)
    return call


ADCP_ERROR = {"adcp_error": {"code": "X", "message": "no"}}
TEXT = [{"type": "text", "text": json.dumps(ADCP_ERROR)}]
PROSE = [{"type": "text", "text": "no"}]
PRODUCTS_TEXT = {"content": [{"type": "text", "text": '{"products": []}'}]}
TOO_LONG = {"isError": True, "structuredContent": {"adcp_error": {"code": "X" * 65}}}


@pytest.mark.parametrize(
    ("evidence", "classified", "path", "level"),
    [
        (tool_result(SUCCESS), "success", "structuredContent", None),
        (tool_result(PRODUCTS_TEXT), "success", "text_fallback", None),
        (tool_result({"content": PROSE}), "success", "none", None),
        (tool_result({"structuredContent": {"status": "working"}}), "interim", "structuredContent", None),
        (tool_result({"structuredContent": {"status": "failed"}}), "error", "none", "none"),
        (tool_result({"structuredContent": ADCP_ERROR}), "error", "none", "none"),
        (tool_result({"isError": True, "content": PROSE}), "error", "none", "flag"),
        (tool_result(TOO_LONG), "error", "structuredContent", "flag"),
        (tool_result({"isError": True, "content": TEXT}), "error", "text_fallback", "text"),
        (tool_result(ERROR), "error", "structuredContent", "structured"),
        (rpc_error({"code": -32000, "message": "no"}), "error", "none", "flag"),
        (rpc_error({"code": -32029, "data": ADCP_ERROR}), "error", "jsonrpc_error", "structured"),
        (surveyed(Http(b"", 502)), None, None, None),
        (
            tool_result({"structuredContent": {"error": "UNKNOWN_SCENARIO"}}, tool="comply_test_controller"),
            "unsupported",
            None,
            None,
        ),
        (tool_result(SUCCESS, tool="hello"), None, None, None),
    ],
)
def test_a_call_says_what_a_client_makes_of_it(
    evidence: Evidence, classified: str | None, path: str | None, level: str | None
) -> None:
    call = only_call(evidence)
    assert (call.classified, call.path, call.error_level) == (classified, path, level)
    assert bool(call.why) == (path is None)
    assert call.exchange == evidence.transcript.exchanges[-1].index


@pytest.mark.parametrize(
    ("purpose", "asked", "expect"),
    [
        (Purpose.GOOD, Expect.ANY, Expect.SUCCESS),
        (Purpose.BAD, Expect.ANY, Expect.ERROR),
        (Purpose.CONFIGURED, Expect.ANY, Expect.ANY),
        (Purpose.CONFIGURED, Expect.ERROR, Expect.ERROR),
    ],
)
def test_a_call_says_what_it_was_made_for(purpose: Purpose, asked: Expect, expect: Expect) -> None:
    call = only_call(tool_result(SUCCESS, purpose=purpose, expect=asked))
    assert (call.subject, call.tool, call.purpose, call.expect) == (
        "get_products/brief",
        "get_products",
        purpose,
        expect,
    )


def limited_twice() -> Evidence:
    """A call that was asked for patience once, and answered then."""
    limited = surveyed(Http(b"", 429, headers={"retry-after": "1"}, retried=True))
    body = json.dumps({"jsonrpc": "2.0", "id": "call-7", "result": SUCCESS}).encode()
    response = surveyed(Http(body)).transcript.exchanges[-1].response
    return with_calls(
        limited, {"response": response, "retried": False, "attempt": 2, "seconds": 9.0, "answered": 0.12345}
    )


def test_a_call_that_was_sent_again_is_one_call() -> None:
    evidence = limited_twice()
    call = only_call(evidence)
    assert (call.classified, call.tries, call.seconds) == ("success", 2, 0.123)
    assert call.bytes == len(evidence.transcript.exchanges[-1].response.body)  # type: ignore[union-attr]
    assert report(evidence).targets[0].survey.retries == 1


def test_requests_count_followed_redirects() -> None:
    plain = tool_result(SUCCESS)
    led = with_calls(plain, {"redirects": ("http://seller.test/a", "http://seller.test/b")})
    (target,) = report(led).targets
    assert target.survey.requests == len(plain.transcript.exchanges) + 3


WITH_CAPABILITIES = [{"name": name, "inputSchema": {}} for name in ("get_products", "get_adcp_capabilities")]


def test_the_server_names_itself() -> None:
    (target,) = report(tool_result(SUCCESS), schemas=Schemas("adcp 9.2.0", "3.1.19")).targets
    assert (target.url, target.name) == ("http://seller.test/mcp", "seller.test")
    assert target.server == model.Server("seller", "1", "2025-11-25")
    assert (target.adcp_version, target.complete, target.selection.complete) == ("3.1", True, True)
    (stateless,) = report(
        tool_result(SUCCESS, revision="2026-07-28", release=None, tools=WITH_CAPABILITIES)
    ).targets
    assert (stateless.server.protocol_version, stateless.adcp_version) == ("2026-07-28", None)
    (old,) = report(tool_result(SUCCESS, release=None)).targets
    assert old.adcp_version == "2.x"


def test_what_was_left_out_is_told_once() -> None:
    evidence = with_survey(tool_result(SUCCESS), not_called=(NotCalled("a", "b"), NotCalled("c", "d")))
    (target,) = report(
        evidence, not_checked=[NotChecked("c", "d"), NotChecked("schemas", "no bundle")]
    ).targets
    assert [(left.item, left.why) for left in target.not_checked] == [
        ("a", "b"),
        ("c", "d"),
        ("schemas", "no bundle"),
    ]


def observed(evidence: Evidence) -> dict[str, str]:
    return {item.id: item.note for target in report(evidence).targets for item in target.observations}


def test_observations() -> None:
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
    both = Http({"jsonrpc": "2.0", "id": "discover-1", "result": discovered})
    names = ("get_products", "getSignals", "adcp_get_products", "hello")
    evidence = tool_result(
        SUCCESS,
        purpose=Purpose.BAD,
        discover=both,
        tools=[{"name": name, "inputSchema": {}} for name in names],
    )
    # A redirect that was followed is a finding of its own, and told there.
    led = {"kind": Kind.PROBE, "redirects": ("http://seller.test/b",), "retried": True}
    host = {"kind": Kind.HTTP, "subject": "http/host-foreign"}
    notes = observed(with_calls(evidence, led, host))
    assert list(notes) == [
        "release",
        "both-eras",
        "plain-http",
        "other-tools",
        "bad-request-accepted",
        "retries",
        "foreign-host",
    ]
    assert "--adcp-spec" in notes["release"]
    assert "handshake era" in notes["both-eras"]
    assert notes["other-tools"].startswith("1 listed tool ")
    assert "get_products/brief" in notes["bad-request-accepted"]
    assert "evil.example is served" in notes["foreign-host"]


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (tool_result(ERROR), 'code "UNSUPPORTED", message "no"'),
        (tool_result({"isError": True, "content": PROSE}), '"no"'),
        (tool_result({"isError": True, "structuredContent": {"a": 1}}), '{"a": 1}'),
        (rpc_error({"code": -32602, "message": "bad"}), '{"code": -32602, "message": "bad"}'),
    ],
)
def test_a_refused_good_request_is_quoted(evidence: Evidence, said: str) -> None:
    assert observed(evidence)["good-request-refused"].endswith(f"refused: {said}")


def test_where_the_release_was_read() -> None:
    capabilities = {"content": [], "structuredContent": {"adcp": {"supported_versions": ["3.0", "3.1"]}}}
    evidence = tool_result(capabilities, tool="get_adcp_capabilities", release=None)
    (target,) = report(evidence).targets
    assert target.adcp_version == "3.1"
    (release,) = [item for item in target.observations if item.id == "release"]
    assert "supported_versions" in release.note
    assert release.exchange == evidence.transcript.exchanges[-1].index
    assert "release-unknown" in observed(tool_result(SUCCESS, release=None, tools=WITH_CAPABILITIES))
