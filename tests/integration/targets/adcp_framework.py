"""A seller on the server framework of PyPI `adcp`, written with what the framework offers: helpers, errors, defaults."""

from __future__ import annotations

from typing import Any

from adcp.decisioning import AdcpError
from adcp.server import ADCPHandler, create_mcp_server
from adcp.server.helpers import adcp_error
from adcp.server.responses import capabilities_response
from listening import serve

PRODUCT = {
    "product_id": "homepage",
    "name": "Homepage banner",
    "description": "A banner above the fold",
    "publisher_properties": [{"publisher_domain": "news.example", "selection_type": "all"}],
    "channels": ["display"],
    "format_ids": [{"agent_url": "https://formats.example", "id": "banner"}],
    "delivery_type": "guaranteed",
    "pricing_options": [
        {"pricing_option_id": "cpm", "pricing_model": "cpm", "fixed_price": 8.0, "currency": "USD"}
    ],
    "reporting_capabilities": {
        "available_reporting_frequencies": ["daily"],
        "expected_delay_minutes": 60,
        "timezone": "UTC",
        "supports_webhooks": False,
        "available_metrics": ["impressions"],
        "date_range_support": "date_range",
    },
}
PERIOD = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-31T00:00:00Z"}


class Seller(ADCPHandler):
    advertised_tools = frozenset(
        {"get_adcp_capabilities", "get_products", "get_media_buys", "get_media_buy_delivery"}
    )

    async def get_adcp_capabilities(self, params: Any, context: Any = None) -> dict[str, Any]:
        return capabilities_response(
            ["media_buy"], idempotency={"supported": True, "replay_ttl_seconds": 86400}
        )

    async def get_products(self, params: Any, context: Any = None) -> dict[str, Any]:
        return {"status": "completed", "products": [PRODUCT]}

    async def get_media_buys(self, params: Any, context: Any = None) -> dict[str, Any]:
        if params.get("media_buy_ids"):
            raise AdcpError(
                "MEDIA_BUY_NOT_FOUND", message="No media buy has this id.", field="media_buy_ids[0]"
            )
        raise RuntimeError("the database of /srv/seller is away")

    async def get_media_buy_delivery(self, params: Any, context: Any = None) -> dict[str, Any]:
        if params.get("media_buy_ids"):
            return adcp_error("MEDIA_BUY_NOT_FOUND", "No media buy has this id.", field="media_buy_ids[0]")
        return {"reporting_period": PERIOD, "currency": "USD", "media_buy_deliveries": []}


serve(create_mcp_server(Seller(), name="framework-seller").streamable_http_app())
