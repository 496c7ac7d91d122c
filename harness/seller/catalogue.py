"""The fictitious catalogue: products, creative formats and signals, in the wire's form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from .options import Release
from .rpc import Json
from .store import Account, Creative, MediaBuy, PendingTask, Store

AGENT_URL = "https://seller.example/mcp"
PUBLISHER = "harbourtimes.example"
DATA_PROVIDER = "shoreline-data.example"

FORMATS: tuple[Json, ...] = (
    {
        "format_id": {"agent_url": AGENT_URL, "id": "display_300x250"},
        "name": "Medium rectangle",
        "description": "A static image of 300 by 250 pixels.",
        "renders": [{"role": "primary", "dimensions": {"width": 300, "height": 250}}],
        "assets": [
            {
                "item_type": "individual",
                "asset_id": "image",
                "asset_type": "image",
                "required": True,
                "requirements": {"min_width": 300, "max_width": 300, "min_height": 250, "max_height": 250},
            }
        ],
    },
    {
        "format_id": {"agent_url": AGENT_URL, "id": "video_30s"},
        "name": "Video of 30 seconds",
        "description": "A hosted video of 30 seconds in 16:9.",
        "renders": [{"role": "primary", "dimensions": {"width": 1920, "height": 1080}}],
        "assets": [{"item_type": "individual", "asset_id": "video", "asset_type": "video", "required": True}],
    },
    {
        "format_id": {"agent_url": AGENT_URL, "id": "audio_15s"},
        "name": "Audio of 15 seconds",
        "description": "A hosted audio spot of 15 seconds.",
        "assets": [{"item_type": "individual", "asset_id": "audio", "asset_type": "audio", "required": True}],
    },
)

REPORTING: Json = {
    "available_reporting_frequencies": ["daily"],
    "expected_delay_minutes": 240,
    "timezone": "UTC",
    "supports_webhooks": False,
    "available_metrics": ["impressions", "spend"],
    "date_range_support": "date_range",
}


def _product(
    product_id: str,
    name: str,
    description: str,
    channel: str,
    format_id: str,
    price: Json,
    *,
    guaranteed: bool = False,
) -> Json:
    return {
        "product_id": product_id,
        "name": name,
        "description": description,
        "publisher_properties": [{"publisher_domain": PUBLISHER, "selection_type": "all"}],
        "channels": [channel],
        "format_ids": [{"agent_url": AGENT_URL, "id": format_id}],
        "delivery_type": "guaranteed" if guaranteed else "non_guaranteed",
        "pricing_options": [{"currency": "USD", "min_spend_per_package": 100, **price}],
        "reporting_capabilities": REPORTING,
    }


def _cpm(product_id: str, **price: float) -> Json:
    return {"pricing_option_id": f"{product_id}_cpm", "pricing_model": "cpm", **price}


_PRODUCTS = (
    _product(
        "news_display",
        "News run of site",
        "Display on all pages of the Harbour Times, sold by auction.",
        "display",
        "display_300x250",
        _cpm("news_display", floor_price=2.5),
    ),
    _product(
        "sports_olv",
        "Sports video",
        "Pre-roll on sports clips, at a fixed price.",
        "olv",
        "video_30s",
        _cpm("sports_olv", fixed_price=18.0),
    ),
    _product(
        "evening_ctv",
        "Evening CTV",
        "Guaranteed spots in evening programmes; needs a signed insertion order.",
        "ctv",
        "video_30s",
        _cpm("evening_ctv", fixed_price=34.0),
        guaranteed=True,
    ),
    _product(
        "harbour_podcast",
        "Café au port: the podcast",
        "Mid-roll in a weekly podcast on food and the sea.",
        "podcast",
        "audio_15s",
        _cpm("harbour_podcast", fixed_price=22.0),
    ),
    _product(
        "homepage_takeover",
        "Homepage takeover",
        "The homepage for one day; needs a signed insertion order.",
        "display",
        "display_300x250",
        {"pricing_option_id": "homepage_takeover_day", "pricing_model": "flat_rate", "fixed_price": 9000.0},
        guaranteed=True,
    ),
)


PRODUCTS: Mapping[str, Json] = {product["product_id"]: product for product in _PRODUCTS}


def _signal(signal_id: str, name: str, description: str, coverage: float) -> Json:
    return {
        "signal_id": {"source": "catalog", "data_provider_domain": DATA_PROVIDER, "id": signal_id},
        "signal_agent_segment_id": f"seg_{signal_id}",
        "name": name,
        "description": description,
        "value_type": "binary",
        "signal_type": "marketplace",
        "data_provider": "Shoreline Data",
        "coverage_percentage": coverage,
        "deployments": [{"type": "platform", "platform": "harbour-dsp", "is_live": False}],
        "pricing_options": [
            {"pricing_option_id": f"{signal_id}_cpm", "model": "cpm", "cpm": 1.5, "currency": "USD"}
        ],
    }


SIGNALS: tuple[Json, ...] = (
    _signal("sports_fans", "Sports fans", "Households that follow team sports.", 21.5),
    _signal("boat_owners", "Boat owners", "Households that own a boat.", 1.2),
    _signal("weekend_cooks", "Weekend cooks", "People who cook at weekends.", 14.0),
)


def signal(release: Release, entry: Json) -> Json:
    """Return a signal as the release shows it: from 3.1 on it also has a signal_ref."""
    if release is Release.V3_0:
        return entry
    reference = {
        "scope": "data_provider",
        "data_provider_domain": DATA_PROVIDER,
        "signal_id": entry["signal_id"]["id"],
    }
    return {**entry, "signal_ref": reference}


def stocked_store() -> Store:
    """Return a store with a sandbox account, a running media buy, two creatives and a task about to complete."""
    store = Store()
    account = Account(
        "acct_sandbox", "Acme Outdoor (sandbox)", "acmeoutdoor.example", "pinnacle-agency.example"
    )
    store.accounts[account.account_id] = account
    opened = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    for creative_id, name, format_id, asset in (
        ("cr_tent", "Tent banner", "display_300x250", _image("tent.png")),
        ("cr_stove", "Stove banner", "display_300x250", _image("stove.png")),
    ):
        store.creatives[creative_id] = Creative(
            creative_id,
            account.account_id,
            name,
            {"agent_url": AGENT_URL, "id": format_id},
            asset,
            opened,
            opened,
        )
    store.media_buys["mb_spring"] = MediaBuy(
        media_buy_id="mb_spring",
        account_id=account.account_id,
        packages=[
            {
                "package_id": "pkg_spring_1",
                "product_id": "news_display",
                "pricing_option_id": "news_display_cpm",
                "budget": 5000,
                "bid_price": 3.0,
                "creative_assignments": [{"creative_id": "cr_tent"}],
            }
        ],
        start=opened,
        end=datetime(2098, 12, 31, tzinfo=UTC),
        confirmed_at=opened,
        impressions=400_000,
        spend=1200.0,
    )
    store.tasks["task_spring"] = PendingTask(
        task_id="task_spring",
        task_type="update_media_buy",
        created=opened,
        updated=opened,
        finish=lambda _: {"status": "completed", "media_buy_id": "mb_spring", "revision": 1},
        polls=1,
    )
    return store


def _image(file: str) -> Json:
    return {
        "image": {
            "asset_type": "image",
            "url": f"https://cdn.acmeoutdoor.example/{file}",
            "width": 300,
            "height": 250,
        }
    }
