"""The seller's one user interface (MCP Apps): a page that shows the delivery of media buys."""

from __future__ import annotations

from .rpc import INVALID_PARAMS, Json, RpcError

URI = "ui://delivery/report.html"
TOOL = "get_media_buy_delivery"
TYPE = "text/html;profile=mcp-app"
NOT_FOUND = -32002  # of 2025-11-25 and before; 2026-07-28 has INVALID_PARAMS

SCRIPT = """
const send = (message) => parent.postMessage({jsonrpc: "2.0", ...message}, "*");
addEventListener("message", ({data}) => {
  if (data && data.id === 1) send({method: "ui/notifications/initialized", params: {}});
  if (!data || data.method !== "ui/notifications/tool-result") return;
  const texts = (data.params.content || []).filter((item) => item.type === "text").map((item) => item.text);
  document.getElementById("summary").textContent = texts.join(" ");
});
const appInfo = {name: "delivery-report", version: "1"};
send({id: 1, method: "ui/initialize", params: {protocolVersion: "2026-01-26", appInfo, appCapabilities: {}}});
"""
HTML = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Delivery</title>
<style>
body {{ font: 14px/1.5 sans-serif }}
h1 {{ font-size: 16px }}
</style>
</head>
<body>
<h1><img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="> Delivery</h1>
<p id="summary">No report yet.</p>
<script>{SCRIPT}</script>
</body>
</html>
"""
_ENTRY: Json = {
    "uri": URI,
    "name": "delivery-report",
    "title": "Delivery report",
    "description": "Shows the delivery of media buys.",
    "mimeType": TYPE,
}


def shown(tool: Json) -> Json:
    """Return a tool definition with the user interface that belongs to it, if one does."""
    if tool["name"] != TOOL:
        return tool
    return {**tool, "_meta": {"ui": {"resourceUri": URI, "visibility": ["model", "app"]}}}


def listing() -> Json:
    """Return the one page of resources/list."""
    return {"resources": [_ENTRY]}


def contents(params: Json, *, not_found: int = NOT_FOUND) -> Json:
    """Return the result of resources/read.

    Raises:
        RpcError: there is no such resource.
    """
    if not isinstance(params.get("uri"), str):
        raise RpcError(INVALID_PARAMS, "resources/read needs uri (string).")
    if params["uri"] != URI:
        raise RpcError(not_found, "This server has no such resource.", data={"uri": params["uri"]})
    csp: Json = {"connectDomains": [], "resourceDomains": ["data:"]}
    return {
        "contents": [
            {
                "uri": URI,
                "mimeType": TYPE,
                "text": HTML,
                "_meta": {"ui": {"csp": csp, "prefersBorder": True}},
            }
        ]
    }
