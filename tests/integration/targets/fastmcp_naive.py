"""A first agent on FastMCP: it works in a chat window, and no AdCP client can read most of it."""

from __future__ import annotations

import json

from fastmcp import FastMCP
from listening import serve

server = FastMCP("first-agent")
PRODUCTS = {
    "products": [{"product_id": "homepage", "name": "Homepage banner", "delivery_type": "guaranteed"}]
}


@server.tool
def get_adcp_capabilities() -> dict:
    return {"adcp": {"major_versions": [3]}, "supported_protocols": ["media_buy", "signals"]}


@server.tool
def get_products(brief: str = "") -> str:
    return json.dumps(PRODUCTS)


@server.tool
def list_creative_formats() -> list[dict]:
    return [{"format_id": {"agent_url": "https://formats.example", "id": "banner"}, "name": "Banner"}]


@server.tool
def get_media_buys():
    return {"media_buys": []}


@server.tool
def get_media_buy_delivery(media_buy_ids: list[str] | None = None) -> dict:
    if media_buy_ids:
        raise LookupError(f"no row for {media_buy_ids[0]} in /srv/agent/buys.sqlite")
    return {"reporting_period": {"start": "2026-01-01", "end": "2026-01-31"}, "media_buy_deliveries": []}


@server.tool
def get_signals(signal_spec: str = "") -> dict:
    return {"error": "signals are not sold here"}


serve(server.http_app())
