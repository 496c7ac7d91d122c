"""What rules are judged on, in words for somebody who has never seen this code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_adcp.harness.rules import Judged, Rule

WORDS: Mapping[Judged, str] = MappingProxyType(
    {
        Judged.REPLY: "every HTTP answer to a JSON-RPC request of the run",
        Judged.RESPONSE: "every HTTP answer to a JSON-RPC request, also to those that try the transport",
        Judged.MESSAGE: "every JSON-RPC response",
        Judged.NOTIFICATION: "the HTTP answer to a notification (notifications/initialized)",
        Judged.OPENING: "the HTTP answer to initialize",
        Judged.HANDSHAKE: "the result of initialize",
        Judged.DISCOVERY: "the result of server/discover",
        Judged.STREAM: "every answer that is an event stream, and the stream that GET opens",
        Judged.LISTENING: "the GET stream that was held open while a tool was called",
        Judged.CLOSING: "an event stream that was read on for two seconds after the response",
        Judged.MODERN: "every result in MCP 2026-07-28",
        Judged.MODERN_REPLY: "every answer in MCP 2026-07-28, a result or an error",
        Judged.SUBSCRIPTION: "what came back to subscriptions/listen",
        Judged.VARIED: "the answer to a request of MCP 2026-07-28 that differs from a plain one in a single point",
        Judged.TOOLS: "all tools that tools/list gives, over all its pages",
        Judged.PAGE: "each page of tools/list",
        Judged.UNKNOWN_TOOL: "the answer to a call of a tool that does not exist",
        Judged.RESULT: "the result of every tools/call",
        Judged.ANSWER: "every answer of an AdCP task, a tool result or a JSON-RPC error",
        Judged.SUCCESS: "every answer of an AdCP task that carries its data",
        Judged.ERROR: "every answer of an AdCP task that says it failed",
        Judged.INTERIM: "every answer of an AdCP task that is not finished yet (submitted, working, input-required, auth-required)",
        Judged.EXPECTATION: "every call of adcp.yaml that says what it must give",
        Judged.PROBED: "the answer to a call that tries one behaviour of a task, beside the call that it varies",
        Judged.HTTP_PROBE: "the answer to a request that tries one behaviour of the transport or the lifecycle",
        Judged.CAPABILITIES: "what get_adcp_capabilities says, beside what the server lists",
        Judged.REFUSAL: "the answer to credentials that open nothing, from a server that asks for some",
        Judged.CHALLENGE: "every HTTP 401, and how it says to authenticate",
        Judged.METADATA: "the documents of OAuth discovery that the server publishes",
        Judged.APP: "what a platform takes in of a server: its instructions and all its tools",
        Judged.CLIENT_SESSION: "the connection that MCP's official Python client makes",
        Judged.CLIENT_LIST: "the tools that MCP's official Python client reads",
        Judged.CLIENT_RESULT: "the results that MCP's official Python client reads",
        Judged.ENDPOINT: "the URL of the server, and what comes of requests there",
        Judged.CALLED: "every tools/call, whatever came back to it",
        Judged.IN_CONTEXT: "a call that says where its user is and what they speak, beside the same call without",
        Judged.LOGIN: "what OAuth discovery gives to a client that is asked to log in",
        Judged.VERIFICATION: "the document that proves a domain to a platform",
        Judged.VIEW: "every user interface that the server serves, and the tools that name it",
        Judged.VECTOR: "every vector of the rule, and what the client library makes of it",
        Judged.LIBRARY: "the client library, after all that it was asked",
        Judged.FUZZED: "the client library beside the reference, on generated responses",
    }
)


def judged_on(rule: Rule) -> str:
    """Return what a rule is judged on; where it chooses among the requests that try something, which ones."""
    if not rule.probes:
        return WORDS[rule.judged]
    return f"{WORDS[rule.judged]}: {', '.join(sorted(rule.probes))}"
