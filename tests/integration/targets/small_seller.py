"""What a small conforming seller says, whatever it is served with: a payload, and whether it is an error."""

from __future__ import annotations

from typing import Any

Context = dict[str, Any] | None
Said = tuple[dict[str, Any], bool]

_PRODUCT = {
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


def capabilities(context: Context) -> Said:
    adcp = {"major_versions": [3], "idempotency": {"supported": False}}
    return _echoed(
        context, {"status": "completed", "adcp": adcp, "supported_protocols": ["media_buy"]}
    ), False


def products(context: Context, adcp_major_version: int) -> Said:
    if adcp_major_version == 3:
        return _echoed(context, {"status": "completed", "products": [_PRODUCT]}), False
    error = {
        "code": "VERSION_UNSUPPORTED",
        "message": "This seller speaks AdCP 3.",
        "recovery": "correctable",
        "field": "adcp_major_version",
        "details": {"supported_versions": ["3.0"]},
    }
    return _echoed(context, {"status": "failed", "adcp_error": error}), True


def _echoed(context: Context, payload: dict[str, Any]) -> dict[str, Any]:
    return payload if context is None else payload | {"context": context}
