"""The rules of mcp.jsonrpc, mcp.lifecycle, mcp.result and mcp.tools on literal answers."""

from __future__ import annotations

import json

import pytest
from evidence import Http, answered, broken_rules, find_rule, finding, judge_all, on, stream, surveyed
from mcp_answers import ERROR, GOOD, block, handshake, pages, text, unknown, without
from mcp_faults import FAULTS
from mcp_fine import FINE
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import Level
from pytest_adcp.harness.verdict import Outcome

RULES = {
    "mcp.lifecycle": "initialize-result server-info known-version current-version? tools-capability discover-result",
    "mcp.jsonrpc": "answered json utf8 unique-names version id refusal-id? result-or-error result-object error-object "
    "notification portable?",
    "mcp.tools": "unique-names unknown-tool",
    "mcp.result": "content content-blocks is-error structured-object",
}
LEVELS = {
    f"{family}.{name.rstrip('?')}": Level.SHOULD if name.endswith("?") else Level.MUST
    for family, names in RULES.items()
    for name in names.split()
}


# The rules of MCP 2026-07-28 alone have tests of their own.
MODULES = {f"pytest_adcp.suites.{family}" for family in (*RULES, "mcp.definitions")}


def broken(evidence: Evidence) -> dict[str, Outcome]:
    """The rules of four modules that are failed or advisory, without the leading "mcp."."""
    return {
        f"{family.removeprefix('mcp.')}.{short}": outcome
        for family in RULES
        for short, outcome in broken_rules(evidence, family).items()
        if find_rule(f"{family}.{short}").function.__module__ in MODULES
    }


@pytest.mark.parametrize("rule", LEVELS)
def test_rule_has_its_level_a_fault_and_a_pass(rule: str) -> None:
    assert find_rule(rule).level is LEVELS[rule]
    short = rule.removeprefix("mcp.")
    assert any(short in expected for _, expected in FAULTS.values())
    assert any(short == judged and expected is Outcome.PASSED for _, judged, _, expected in FINE.values())


@pytest.mark.parametrize("name", FAULTS)
def test_fault_breaks_exactly_its_rules(name: str) -> None:
    evidence, expected = FAULTS[name]
    assert broken(evidence) == expected


@pytest.mark.parametrize("name", FAULTS)
def test_finding_can_be_read_aloud(name: str) -> None:
    evidence, expected = FAULTS[name]
    for rule in expected:
        found = finding(evidence, f"mcp.{rule}")
        assert found.message != find_rule(found.rule).requirement
        assert 40 < len(found.message) < 400
        assert found.fix.endswith(".")
        assert 40 < len(found.fix) < 450
        assert found.expected
        assert found.received
        assert found.source.startswith("https://")
        assert found.curl.startswith("curl ")


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine_breaks_nothing(name: str) -> None:
    evidence, rule, subject, expected = FINE[name]
    assert on(evidence, f"mcp.{rule}", subject) is expected
    assert broken(evidence) == {}


MESSAGES = {
    "empty": (answered(b""), "jsonrpc.answered", "the body is empty"),
    "HTML": (
        answered(b"<html>", content_type="text/html"),
        "jsonrpc.answered",
        "the body is text/html, not JSON",
    ),
    "no type": (answered(b"ok", content_type=""), "jsonrpc.answered", "the body is untyped text"),
    "array": (answered([GOOD]), "jsonrpc.answered", "the body is an array"),
    "request": (
        answered({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        "jsonrpc.answered",
        "is a request or",
    ),
    "bare payload": (answered({"products": []}), "jsonrpc.answered", 'JSON without "jsonrpc" and "id"'),
    "stream": (
        answered(b":\n\n", content_type="text/event-stream"),
        "jsonrpc.answered",
        "ended before the response",
    ),
    "unended event": (
        answered(b"data: {}\n", content_type="text/event-stream"),
        "jsonrpc.answered",
        "no blank line ends the last event",
    ),
    "event type": (
        answered(b"event: result\ndata: {}\n\n", content_type="text/event-stream"),
        "jsonrpc.answered",
        'events of type "message" only',
    ),
    "which event": (
        answered(stream({"jsonrpc": "2.0", "method": "a"}, b"{", GOOD), content_type="text/event-stream"),
        "jsonrpc.json",
        "event 2 is not JSON (line 1 column 2",
    ),
    "equal values": (
        answered(text('{"content": [], "_meta": {"a": 1, "a": 1}}')),
        "jsonrpc.unique-names",
        "no reader is misled",
    ),
    "which tools": (pages(["b", "a"], ["a", "a"]), "tools.unique-names", '("a" 3 times)'),
    "which revision": (
        handshake(protocolVersion="7"),
        "lifecycle.known-version",
        'MCP "7", which is no published',
    ),
    "which member": (
        handshake(serverInfo={"name": "s"}),
        "lifecycle.server-info",
        "serverInfo.version is not a string",
    ),
    "no block type": (block({}), "result.content-blocks", "a content block has no type"),
    "block of another revision": (
        block({"type": "resource_link", "uri": "a:b", "name": "n"}, revision="2025-03-26"),
        "result.content-blocks",
        "a type that MCP 2025-03-26 does not know",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message_names_the_cause(name: str) -> None:
    evidence, rule, words = MESSAGES[name]
    assert words in finding(evidence, f"mcp.{rule}").message


FIXES = {
    "NaN": (answered(text('{"a": NaN}')), "jsonrpc.json", "allow_nan=False"),
    "str(dict)": (answered(b"{'a': None}"), "jsonrpc.json", "json.dumps"),
    "cut short": (answered(text("{}")[:-1]), "jsonrpc.json", "Content-Length"),
    "type json": (block({"type": "json", "json": {}}), "result.content-blocks", "structuredContent"),
    "type error": (block({"type": "error", "text": "no"}), "result.content-blocks", "isError: true"),
    "data URL": (
        block({"type": "image", "mimeType": "image/png", "data": "data:image/png;base64,aGk="}),
        "result.content-blocks",
        "after its comma",
    ),
    "padding": (
        block({"type": "image", "mimeType": "image/png", "data": "aGk"}),
        "result.content-blocks",
        "base64.b64encode",
    ),
    "text for an array": (answered(text('{"content": "x"}')), "result.content", "Wrap it in an array"),
}


@pytest.mark.parametrize("name", FIXES)
def test_fix_fits_the_cause(name: str) -> None:
    evidence, rule, words = FIXES[name]
    assert words in finding(evidence, f"mcp.{rule}").fix


POINTERS = {
    "/result/content/1/text": (
        block({"type": "text", "text": ""}, {"type": "text", "text": 5}),
        "result.content-blocks",
    ),
    "/result/content/0": (block({"type": "text"}), "result.content-blocks"),
    "/result/content/0/resource/blob": (
        block({"type": "resource", "resource": {"uri": "a:b", "blob": "!"}}),
        "result.content-blocks",
    ),
    "/result/_meta/x~1y/a": (answered(text('{"_meta": {"x/y": {"a": 1, "a": 2}}}')), "jsonrpc.unique-names"),
    "/result/capabilities": (handshake(capabilities={}), "lifecycle.tools-capability"),
    "/result/serverInfo/name": (handshake(serverInfo={"name": 1, "version": "1"}), "lifecycle.server-info"),
    "/result/isError": (unknown({"result": {"content": [], "isError": False}}), "tools.unknown-tool"),
    "/error/code": (answered(without("result", error=ERROR | {"code": "x"})), "jsonrpc.error-object"),
    "/id": (answered(without(id=1)), "jsonrpc.id"),
}


@pytest.mark.parametrize("pointer", POINTERS)
def test_finding_points_at_the_place(pointer: str) -> None:
    evidence, rule = POINTERS[pointer]
    assert finding(evidence, f"mcp.{rule}").pointer == pointer


def test_differing_values_come_before_equal_ones() -> None:
    evidence = answered(text('{"content": [], "_meta": {"a": 1, "a": 1, "b": 1, "b": 2}}'))
    found = finding(evidence, "mcp.jsonrpc.unique-names")
    assert (found.outcome, found.pointer) == (Outcome.FAILED, "/result/_meta/b")


def test_blocked_reply_says_what_stood_in_the_way() -> None:
    evidence = answered(b"404 page\nnot found", status=404, content_type="text/plain")
    found = finding(evidence, "mcp.jsonrpc.answered")
    assert found.outcome is Outcome.BLOCKED
    assert "HTTP 404 (404 page not found)" in found.message


@pytest.mark.parametrize("rule", ["mcp.jsonrpc.answered", "mcp.jsonrpc.json", "mcp.result.content"])
def test_what_the_server_sends_is_shown_escaped_and_short(rule: str) -> None:
    hostile = "\x1b[31m\u202e" + "x" * 100_000
    evidence = {
        "mcp.jsonrpc.answered": answered(hostile.encode(), content_type=f"text/{hostile[:60]}"),
        "mcp.jsonrpc.json": answered(b"{" + hostile.encode()),
        "mcp.result.content": answered(text(json.dumps({"content": hostile}))),
    }[rule]
    found = finding(evidence, rule)
    assert found.outcome is Outcome.FAILED
    assert len(found.message) + len(found.received) < 1000
    assert (found.message + found.received).isprintable()


def test_all_pages_and_both_eras_are_judged() -> None:
    evidence = surveyed(Http(GOOD), unknown_tool=Http({"jsonrpc": "2.0", "id": "probe-1", "error": ERROR}))
    subjects = [found.subject for found in judge_all(evidence, "mcp.jsonrpc.answered")]
    assert subjects == [
        "initialize",
        "server/discover",
        "tools/list",
        "get_products/brief",
        "probe/unknown-tool",
    ]
