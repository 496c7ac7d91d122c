"""JSON-RPC: what becomes of requests that are none, or not quite."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_adcp.harness import jsontext
from pytest_adcp.harness.calls import HttpProbe
from pytest_adcp.harness.probes.http_subjects import error_code
from pytest_adcp.harness.rules import Broken, Level, rule
from pytest_adcp.harness.sources import json_rpc, mcp
from pytest_adcp.harness.subjects import HttpProbed

from .http_replies import came, must_not_fail

# Invalid request, invalid params, parse error: official SDKs take each of them for a message of another version.
_REFUSALS = (-32600, -32602, -32700)


@rule(
    "mcp.jsonrpc.null-id",
    level=Level.SHOULD,
    source=mcp("basic", "requests"),
    probes=[HttpProbe.ID_NULL],
)
def a_null_id_is_no_failure(http_probe: HttpProbed) -> None:
    """A request with id null, which MCP forbids, is refused, answered or taken for a notification; the server does not fail over it.

    Answer 400 with JSON-RPC error -32600 before the message comes to code that needs an id.
    """
    must_not_fail(http_probe, "a request with id null")


@rule(
    "mcp.jsonrpc.invalid-request",
    level=Level.SHOULD,
    source=json_rpc("error_object"),
    probes=[HttpProbe.OTHER_ENVELOPE],
)
def messages_of_another_version_are_refused(http_probe: HttpProbed) -> None:
    """A message that says another jsonrpc than "2.0" is refused: HTTP 400, JSON-RPC error -32600.

    Check that `jsonrpc` is exactly "2.0" before the method is looked up. -32602 and -32700 are what SDKs answer, and
    are taken for the same.
    """
    must_not_fail(http_probe, 'a message with "jsonrpc": "1.0"')
    reply, code = http_probe.reply, error_code(http_probe.reply)
    if "result" in (reply.response or {}):
        because = 'a message with "jsonrpc": "1.0" is answered as if it were JSON-RPC 2.0'
    elif isinstance(code, int | float) and code not in _REFUSALS:  # mcp.jsonrpc.error-object looks at others
        because = f'a message with "jsonrpc": "1.0" is refused with error {code}, which means something else'
    else:
        return
    raise Broken("HTTP 400 with JSON-RPC error -32600", came(reply), because=because)


@rule(
    "mcp.jsonrpc.invalid-params",
    level=Level.SHOULD,
    source=mcp("server/tools", "error-handling"),
    probes=[HttpProbe.NO_TOOL],
)
def calls_without_a_name_are_refused(http_probe: HttpProbed) -> None:
    """A tools/call whose params name no tool is refused: JSON-RPC error -32602.

    Check the params of tools/call before you look for the tool, and answer {"error": {"code": -32602, "message": ...}}.
    """
    must_not_fail(http_probe, "a tools/call that names no tool")
    result = (http_probe.reply.response or {}).get("result")
    if result is not None and not (isinstance(result, Mapping) and jsontext.truthy(result.get("isError"))):
        raise Broken(
            "JSON-RPC error -32602",
            came(http_probe.reply),
            because="a tools/call that names no tool is answered as if it had succeeded",
        )
