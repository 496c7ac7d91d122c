"""Faults of the user interface, as the connected-apps profile sees them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.seller import views
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks, ToolCall
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import Eras
from pytest_adcp.harness.seller.rpc import Json

from .model import Fault, on_method, rules

_HANDSHAKE: dict[str, Any] = {"eras": Eras.HANDSHAKE}
SCRIPT = b"document.title = 'Delivery';"
SCRIPT_PATH = "/static/chart.js"
_HASH = f"sha256-{base64.b64encode(hashlib.sha256(SCRIPT).digest()).decode('ascii')}"


def _on_tool(meta: Mapping[str, Any]) -> Hooks:
    """Give the tool another `_meta`."""

    def edit(result: Json) -> Json:
        tools = [
            {**tool, "_meta": dict(meta)} if tool["name"] == views.TOOL else tool for tool in result["tools"]
        ]
        return {**result, "tools": tools}

    return on_method("tools/list", edit)


def _on_item(edit: Callable[[Exchange, Json], Json]) -> Hooks:
    """Change the content item that resources/read gives."""

    def hook(exchange: Exchange, message: Json, _: int) -> Json:
        if exchange.method != "resources/read" or "result" not in message:
            return message
        item = message["result"]["contents"][0]
        return {**message, "result": {**message["result"], "contents": [edit(exchange, item)]}}

    return Hooks(message=hook)


def _with(html: str) -> Hooks:
    """Put something at the end of the view."""
    return _on_item(lambda _, item: {**item, "text": item["text"] + html})


def _unreadable(exchange: Exchange, message: Json, _: int) -> Json:
    if exchange.method != "resources/read" or "result" not in message:
        return message
    error = {"code": views.NOT_FOUND, "message": "This server has no such resource."}
    return {"jsonrpc": "2.0", "id": exchange.id, "error": error}


def _silent(call: ToolCall, result: Json) -> Json:
    silent = call.tool == views.TOOL and not result["isError"]
    return {**result, "content": []} if silent else result


def _of_a_host(exchange: Exchange, item: Json) -> Json:
    """Take the view's script from the seller's own host, as the platform wants it."""
    url = f"http://{exchange.request.header('host')}{SCRIPT_PATH}"
    script = f'<script src="{url}" integrity="{_HASH}" crossorigin="anonymous"></script>'
    csp = {"resourceDomains": ["data:", _HASH]}
    html = item["text"].replace(f"<script>{views.SCRIPT}</script>", script)
    return {**item, "text": html, "_meta": {"ui": {"csp": csp}}}


from_a_host = _on_item(_of_a_host)


async def _without_cors(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    if exchange.request.path == SCRIPT_PATH:
        await wire.send(Reply(200, (("Content-Type", "text/javascript"),), SCRIPT))
    else:
        await wire.send(await answer(exchange))


FAULTS = (
    Fault(
        "app-ui-two-links",
        "A tool names one user interface by the new key and another by the old one.",
        _on_tool({"ui": {"resourceUri": views.URI}, "ui/resourceUri": "ui://delivery/old.html"}),
        fails=rules("connected-apps.ui-link"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-old-link",
        "A tool names its user interface by the deprecated key alone.",
        _on_tool({"ui/resourceUri": views.URI}),
        advises=rules("connected-apps.ui-link"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-unreadable",
        "The user interface that a tool names is not there.",
        Hooks(message=_unreadable),
        fails=rules("connected-apps.ui-resource-readable"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-large",
        "The user interface is over 15 MiB.",
        _on_item(lambda _, item: {**item, "text": f"{item['text']}<!--{'x' * (15 << 20)}-->"}),
        fails=rules("connected-apps.ui-size"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-type",
        "The user interface has the media type of another host.",
        _on_item(lambda _, item: {**item, "mimeType": "text/html+skybridge"}),
        fails=rules("connected-apps.ui-mime"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-csp-on-tool",
        "The CSP metadata stands on the tool as well.",
        _on_tool({"ui": {"resourceUri": views.URI, "csp": {"resourceDomains": ["data:"]}}}),
        advises=rules("connected-apps.ui-meta-place"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-data-not-listed",
        "The user interface has a data: image, and its CSP metadata does not list data:.",
        _on_item(lambda _, item: {**item, "_meta": {"ui": {"csp": {"resourceDomains": []}}}}),
        fails=rules("connected-apps.ui-csp-schemes"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-external-script",
        "The user interface takes a script from another host, with neither integrity nor crossorigin.",
        _with('<script src="https://cdn.example.com/chart.js"></script>'),
        fails=rules("connected-apps.ui-scripts-inline-or-sri"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-eval",
        "A script of the user interface makes code out of text.",
        _with("<script>const draw = new Function('data', template);</script>"),
        advises=rules("connected-apps.ui-no-eval-blob-worker"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-result-empty",
        "The results of a tool with a user interface have no content.",
        Hooks(result=_silent),
        fails=rules("connected-apps.ui-text-fallback", "connected-apps.result-json-text"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-changes",
        "Each read of the user interface gives other bytes.",
        _on_item(lambda exchange, item: {**item, "text": f"{item['text']}<!-- {exchange.id} -->"}),
        advises=rules("connected-apps.ui-stable"),
        needs=_HANDSHAKE,
    ),
    Fault(
        "app-ui-script-without-cors",
        "The host of an external script does not let other origins have it.",
        Hooks(message=from_a_host.message, http=_without_cors),
        fails=rules("connected-apps.ui-script-cors"),
        needs=_HANDSHAKE,
        asks={"app": AppRequest(third_party=True)},
    ),
)
