"""Legal variants: what the plain seller does not do and another may. No rule objects, and the rules about it pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.seller import rpc
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Eras
from pytest_adcp.harness.seller.rpc import Json, RpcError
from pytest_adcp.harness.seller.stateless import claims

from .app_views import SCRIPT, SCRIPT_PATH, from_a_host
from .authentication import WITH_METADATA
from .definitions import HANDSHAKE, added, task
from .discovery import on_capabilities
from .error_objects import with_members
from .model import Fault, on_failure, on_success

_JSON_TYPE = (("Content-Type", "application/json"),)
_VERIFICATION_PATH = "/.well-known/google-connected-apps"
_OF_PRODUCTS = ("products", "cache_scope", "pagination")
_TOO_MANY = -32300  # what connected apps call a rate limit


def _payload(edit: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return lambda result: {**result, "structuredContent": edit(result["structuredContent"])}


def _with(**members: Any) -> Callable[[Json], Json]:
    return _payload(lambda data: {**data, **members})


def _submitted(call: ToolCall, result: Json) -> Json:
    """Take a request for products in, to be answered later."""
    if call.tool != "get_products" or result["isError"]:
        return result
    data = {name: value for name, value in result["structuredContent"].items() if name not in _OF_PRODUCTS}
    submitted = {**data, "status": "submitted", "task_id": "task_spring"}
    return {**result, "structuredContent": submitted}


def _asks_again(exchange: Exchange, message: Json, _: int) -> Json:
    """Have the first call sent again with what the server wants to remember of it, and ask for nothing else."""
    if exchange.ordinal != 1 or "result" not in message or not claims(exchange):
        return message
    state = {"resultType": "input_required", "requestState": "state-1"}
    return {**message, "result": {**state, "_meta": message["result"].get("_meta", {})}}


def _too_busy(exchange: Exchange, message: Json, _: int) -> Json:
    if exchange.tool != "list_creatives":
        return message
    return RpcError(_TOO_MANY, "Too many requests. Try again in a minute.").answer(exchange.id)


def _serving(path: str, headers: Mapping[str, str], body: bytes) -> Hooks:
    """Serve a document beside the endpoint."""

    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        if exchange.request.path == path:
            await wire.send(Reply(200, tuple(headers.items()), body))
        else:
            await wire.send(await answer(exchange))

    return Hooks(http=hook)


FAULTS = (
    Fault(
        "specialism",
        "A specialism is declared, and its tools are listed.",
        on_capabilities(lambda data: {**data, "specialisms": ["sales-guaranteed"]}),
    ),
    Fault("submitted", "get_products is submitted, with its task_id.", Hooks(result=_submitted)),
    Fault("context-id", "Successes name a context_id.", on_success(_with(context_id="ctx_5120"))),
    Fault(
        "governance-context",
        "Successes carry a governance_context.",
        on_success(_with(governance_context="gov_5120")),
    ),
    Fault(
        "timestamp",
        "Errors say when they happened, in UTC.",
        on_failure(_with(timestamp="2026-11-02T09:30:00Z")),
    ),
    Fault(
        "setup-url",
        "The link to the account's setup is https.",
        with_members(details={"setup_url": "https://seller.example/setup/acct_123"}),
    ),
    Fault(
        "challenge-with-metadata",
        "The server asks for a token, and serves the metadata that its challenge names.",
        Hooks(),
        needs=WITH_METADATA,
    ),
    Fault(
        "output-schema",
        "get_products lists an outputSchema and keeps it.",
        task(
            "get_products",
            outputSchema={"type": "object", "properties": {"products": {"type": "array"}}},
        ),
    ),
    Fault(
        "icon",
        "A tool has an icon at an https URL.",
        added(icons=[{"src": "https://seller.example/clock.png", "mimeType": "image/png"}]),
    ),
    Fault(
        "task-support",
        "A tool says that it knows no tasks of MCP.",
        added(execution={"taskSupport": "forbidden"}),
        needs=HANDSHAKE,
    ),
    Fault(
        "schema-dialect",
        "A schema says that it is of draft 7.",
        added(inputSchema={"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
    ),
    Fault(
        "asks-again",
        "The first call is to be sent again, with requestState.",
        Hooks(message=_asks_again),
        needs={"eras": Eras.STATELESS},
    ),
    Fault(
        "app-verified",
        "The document that proves the domain is served.",
        _serving(_VERIFICATION_PATH, dict(_JSON_TYPE), rpc.encode({"token": "challenge-token"})),
        asks={"app": AppRequest(verification=True)},
    ),
    Fault(
        "app-busy",
        "A rate limit is told in a JSON-RPC error.",
        Hooks(message=_too_busy),
        asks={"app": AppRequest()},
    ),
    Fault(
        "app-ui-script",
        "The host of an external script lets other origins have it.",
        Hooks(
            message=from_a_host.message,
            http=_serving(
                SCRIPT_PATH, {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}, SCRIPT
            ).http,
        ),
        needs=HANDSHAKE,
        asks={"app": AppRequest(third_party=True)},
    ),
)
