"""Evidence from literal bytes: what a survey records when a good server gives one answer that is under test.

    evidence = tool_result({"content": [], "structuredContent": {"products": []}})
    assert outcome(evidence, "adcp.extraction.extractable") is Outcome.PASSED

`surveyed` is the general form: any of the server's answers can be replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pytest_adcp.harness.calls import Expect, PlannedCall, Purpose
from pytest_adcp.harness.evidence import UNKNOWN_TOOL_SUBJECT, Evidence
from pytest_adcp.harness.rules import Rule, load
from pytest_adcp.harness.schemas import Validators
from pytest_adcp.harness.session import STATELESS_REVISION, Outgoing, Session
from pytest_adcp.harness.transcript import (
    End,
    Era,
    Exchange,
    Kind,
    Limits,
    Request,
    Response,
    Survey,
    Transcript,
)
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.suites import CLIENT, CORE

URL = "http://seller.test/mcp"
REVISION = "2025-11-25"


@dataclass(frozen=True)
class Http:
    """One HTTP response; a body that is no bytes is sent as JSON."""

    body: Any
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = End.COMPLETE
    retried: bool = False

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def answered(
    body: bytes | Any,
    *,
    tool: str = "get_products",
    status: int = 200,
    content_type: str = "application/json",
    request_id: str | int = "call-7",
    headers: Mapping[str, str] | None = None,
    end: End = End.COMPLETE,
    retried: bool = False,
    **survey: Any,
) -> Evidence:
    """Return the evidence of a survey whose one tools/call got this HTTP response.

    Args:
        body: the bytes of the body, or a JSON value (the whole JSON-RPC message).
        survey: what else `surveyed` takes: revision, release, tools, call, limits ...
    """
    answer = Http(body, status, content_type, headers or {}, end, retried)
    return surveyed(answer, tool=tool, request_id=request_id, **survey)


def tool_result(result: Any, *, request_id: str | int = "call-7", **rest: Any) -> Evidence:
    """Return the evidence of a survey whose one tools/call got this result, in a good JSON-RPC response."""
    return answered({"jsonrpc": "2.0", "id": request_id, "result": result}, request_id=request_id, **rest)


def rpc_error(error: Any, *, request_id: str | int = "call-7", **rest: Any) -> Evidence:
    """Return the evidence of a survey whose one tools/call got this JSON-RPC error."""
    return answered({"jsonrpc": "2.0", "id": request_id, "error": error}, request_id=request_id, **rest)


def surveyed(
    answer: Http | None = None,
    *,
    tool: str = "get_products",
    arguments: Mapping[str, Any] | None = None,
    purpose: Purpose = Purpose.GOOD,
    expect: Expect = Expect.ANY,
    error_codes: Sequence[str] = (),
    request_id: str | int = "call-7",
    revision: str = REVISION,
    release: str | None = "3.1",
    tools: Sequence[Any] | None = None,
    limits: Limits | None = None,
    initialize: Http | None = None,
    initialized: Http | None = None,
    discover: Http | None = None,
    pages: Sequence[Http] | None = None,
    unknown_tool: Http | None = None,
    schemas: Validators | None = None,
) -> Evidence:
    """Return the evidence of a survey of a good server, with the answers given here in the place of its own.

    Args:
        answer: the answer to the one tools/call; None makes no call.
        revision: of MCP; 2026-07-28 makes a stateless server, others one that knows initialize only.
        release: the AdCP release that is judged against, as --adcp-spec pins it.
        tools: what tools/list gives; the tool that is called where None.
        pages: the answers to tools/list, page by page, instead of one good answer.
        unknown_tool: the answer to the call of a tool that is not listed; None does not call it.
        schemas: what judges payloads.
    """
    stateless = revision == STATELESS_REVISION
    era = Era.STATELESS if stateless else Era.HANDSHAKE
    session = Session(era, revision=revision)
    call = PlannedCall(tool, "brief", arguments or {}, purpose, expect=expect, error_codes=tuple(error_codes))
    good_list = _result(
        "list-1", {"tools": list(tools) if tools is not None else [_tool(tool)]} | _meta(stateless)
    )
    no_discover = Http(
        {"jsonrpc": "2.0", "id": "discover-1", "error": {"code": -32601, "message": "Method not found"}}
    )
    no_initialize = replace(no_discover, body=no_discover.body | {"id": "init-1"}, status=404)
    if stateless:
        initialize = initialize or no_initialize
        discover = discover or _result("discover-1", _DISCOVER)
    else:
        initialize = initialize or _result("init-1", _INITIALIZE | {"protocolVersion": revision})
        discover = discover or no_discover
    stateless_session = Session(Era.STATELESS)
    log = _Log()
    log.add(
        Kind.INITIALIZE, "initialize", Session(Era.HANDSHAKE).initialize("init-1"), initialize, Era.HANDSHAKE
    )
    log.add(
        Kind.DISCOVER,
        "server/discover",
        stateless_session.request("discover-1", "server/discover"),
        discover,
        Era.STATELESS,
    )
    if not stateless:
        log.add(
            Kind.INITIALIZED,
            "notifications/initialized",
            session.initialized(),
            initialized or Http(b"", 202, ""),
            era,
        )
    for number, page in enumerate(pages or [good_list], start=1):
        name = "tools/list" if number == 1 else f"tools/list/page-{number}"
        log.add(Kind.LIST, name, session.request(f"list-{number}", "tools/list"), page, era)
    if answer is not None:
        params = {"name": tool, "arguments": dict(call.arguments)}
        log.add(Kind.CALL, call.subject, session.request(request_id, "tools/call", params), answer, era)
    if unknown_tool is not None:
        params = {"name": "no_such_tool", "arguments": {}}
        log.add(
            Kind.PROBE,
            UNKNOWN_TOOL_SUBJECT,
            session.request("probe-1", "tools/call", params),
            unknown_tool,
            era,
        )
    survey = Survey(
        harness="test",
        run_id="run",
        started_at="2026-11-29T00:00:00Z",
        url=URL,
        name="seller.test",
        limits=limits or Limits(),
        calls=(call,) if answer is not None else (),
    )
    return Evidence(Transcript(survey, tuple(log.exchanges)), spec=release, schemas=schemas)


def stream(*events: Any) -> bytes:
    """Return an event stream with one event for each JSON value or piece of raw data."""
    texts = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    return b"".join(b"event: message\ndata: " + text + b"\n\n" for text in texts)


def judge_all(evidence: Evidence, rule_id: str, *, strict: bool = False) -> list[Finding]:
    """Try a rule on all of its subjects."""
    rule = find_rule(rule_id)
    return [judge(rule, entry, strict=strict) for entry in evidence.of(rule)]


def finding(evidence: Evidence, rule_id: str) -> Finding:
    """Return the weightiest finding of a rule."""
    order = [Outcome.FAILED, Outcome.ADVISORY, Outcome.BLOCKED, Outcome.PASSED, Outcome.NOT_APPLICABLE]
    return min(judge_all(evidence, rule_id), key=lambda item: order.index(item.outcome))


def outcome(evidence: Evidence, rule_id: str) -> Outcome:
    """Return the weightiest outcome of a rule."""
    return finding(evidence, rule_id).outcome


def on(evidence: Evidence, rule_id: str, subject: str) -> Outcome:
    """Return the outcome of a rule on one subject, such as "get_products/brief"."""
    (found,) = [item for item in judge_all(evidence, rule_id) if item.subject == subject]
    return found.outcome


def broken_rules(evidence: Evidence, family: str) -> dict[str, Outcome]:
    """Return the rules of a family that are failed or advisory, by what follows the family in their id."""
    rules = [rule for rule in _rules(_modules(family)) if rule.family == family]
    found = {rule.short: outcome(evidence, rule.id) for rule in rules}
    return {short: what for short, what in found.items() if what in (Outcome.FAILED, Outcome.ADVISORY)}


def find_rule(rule_id: str) -> Rule:
    """Return a rule by id; the module that is named like its family is looked into first."""
    family = rule_id.rpartition(".")[0]
    modules = sorted(_modules(family), key=lambda module: not module.endswith(family))
    return next(rule for module in modules for rule in _rules((module,)) if rule.id == rule_id)


def _modules(family: str) -> tuple[str, ...]:
    return tuple(module for module in (*CORE, *CLIENT) if module.split(".")[2] == family.split(".")[0])


@cache
def _rules(modules: tuple[str, ...]) -> tuple[Rule, ...]:
    return load(modules)


class _Log:
    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(self, kind: Kind, subject: str, sent: Outgoing, came: Http, era: Era) -> None:
        content_type = (("content-type", came.content_type),) if came.content_type else ()
        response = Response(
            came.status, "HTTP/1.1", (*content_type, *came.headers.items()), came.raw, len(came.raw)
        )
        self.exchanges.append(
            Exchange(
                index=len(self.exchanges),
                subject=subject,
                kind=kind,
                request=Request("POST", URL, sent.headers, sent.body),
                response=response,
                end=came.end,
                era=era,
                retried=came.retried,
            )
        )


def _result(request_id: str, result: Mapping[str, Any]) -> Http:
    return Http({"jsonrpc": "2.0", "id": request_id, "result": result})


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "inputSchema": {"type": "object"}}


def _meta(stateless: bool) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if stateless else {}


_INITIALIZE = {"capabilities": {"tools": {}}, "serverInfo": {"name": "seller", "version": "1"}}
_DISCOVER = {"supportedVersions": [STATELESS_REVISION], "capabilities": {"tools": {}}} | _meta(True)
