"""What a survey gives of a server that speaks MCP 2026-07-28, in which one request got a literal answer."""

from __future__ import annotations

import json
from typing import Any

from evidence import Http, surveyed
from pytest_adcp.harness.calls import PlannedCall, Purpose, Variant
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.param_headers import ParamHeaders
from pytest_adcp.harness.probes.stateless import subject_of, varied
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response, Transcript

STATELESS = "2026-07-28"
CALL = PlannedCall("get_products", "sample", {"brief": "x"}, Purpose.GOOD)
ANNOTATED = {"type": "object", "properties": {"brief": {"type": "string", "x-mcp-header": "Brief"}}}
SESSION = Session(
    Era.STATELESS, param_headers=ParamHeaders([{"name": "get_products", "inputSchema": ANNOTATED}]).of
)
INFO = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "seller", "version": "1"}}}
COMPLETE = {"resultType": "complete", "content": []} | INFO
DISCOVERED = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, "resultType": "complete"}
CACHED = {"ttlMs": 0, "cacheScope": "private"}
TOOLS = {"tools": [{"name": "get_products", "inputSchema": {"type": "object"}}], "resultType": "complete"}


def reply(result: Any, number: str = "discover-1") -> Http:
    return Http({"jsonrpc": "2.0", "id": number, "result": result})


SERVED = {"result": TOOLS | CACHED | INFO}


def error(code: Any, **members: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no"} | members}


def tried(
    variant: Variant, status: int, body: Any, *, dual: bool = False, raw: bytes | None = None
) -> Evidence:
    """A survey in which a variant got this answer; `dual`: of a server that knows initialize too."""
    message = varied(variant, SESSION, "v-1", CALL)
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
