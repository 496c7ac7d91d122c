"""Tasks that show media buys, report on them and take ratings of them."""

from __future__ import annotations

from datetime import datetime

from . import catalogue
from .arguments import moment
from .errors import not_found
from .rpc import Json
from .store import MediaBuy, rfc3339
from .task import ACCOUNT, PAGINATION, TIME, Answer, Desk, Task, paged, strings


def _get_media_buys(desk: Desk, arguments: Json) -> Answer:
    ids = arguments.get("media_buy_ids")
    # Who names buys wants them whatever their status; who names none wants the running ones.
    statuses = arguments.get("status_filter", None if ids else "active")
    buys = [
        {
            "media_buy_id": buy.media_buy_id,
            "status": buy.status(desk.now),
            "currency": buy.currency,
            "total_budget": buy.budget,
            "start_time": rfc3339(buy.start),
            "end_time": rfc3339(buy.end),
            "confirmed_at": rfc3339(buy.confirmed_at),
            "revision": buy.revision,
            "packages": buy.packages,
        }
        for buy in _visible(desk, arguments)
        if (ids is None or buy.media_buy_id in ids) and _is_in(desk, buy, statuses)
    ]
    page, pagination = paged(buys, arguments)
    return Answer({"media_buys": page, "pagination": pagination}, f"{len(page)} media buys.")


def _visible(desk: Desk, arguments: Json) -> list[MediaBuy]:
    buys = desk.store.media_buys.values()
    if "account" not in arguments:
        return list(buys)
    return [buy for buy in buys if desk.account is not None and buy.account_id == desk.account.account_id]


def _is_in(desk: Desk, buy: MediaBuy, statuses: str | list[str] | None) -> bool:
    status = buy.status(desk.now)
    return statuses is None or status == statuses or (isinstance(statuses, list) and status in statuses)


def _get_media_buy_delivery(desk: Desk, arguments: Json) -> Answer:
    visible = {buy.media_buy_id: buy for buy in _visible(desk, arguments)}
    for index, media_buy_id in enumerate(arguments.get("media_buy_ids", [])):
        if media_buy_id not in visible:
            raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", f"media_buy_ids[{index}]")
    named = [visible[one] for one in arguments.get("media_buy_ids", visible)]
    buys = [buy for buy in named if _is_in(desk, buy, arguments.get("status_filter"))]
    launch = min((buy.start for buy in buys), default=desk.now)
    start = _day(arguments["start_date"], "start_date") if "start_date" in arguments else launch
    end = _day(arguments["end_date"], "end_date") if "end_date" in arguments else desk.now
    payload = {
        "reporting_period": {"start": rfc3339(start), "end": rfc3339(end)},
        "currency": "USD",
        "aggregated_totals": {
            "impressions": sum(buy.impressions for buy in buys),
            "spend": sum(buy.spend for buy in buys),
            "media_buy_count": len(buys),
        },
        "media_buy_deliveries": [_delivery(desk, buy) for buy in buys],
    }
    return Answer(payload, f"Delivery of {len(buys)} media buys.")


def _delivery(desk: Desk, buy: MediaBuy) -> Json:
    share = {"impressions": buy.impressions / len(buy.packages), "spend": buy.spend / len(buy.packages)}
    return {
        "media_buy_id": buy.media_buy_id,
        "status": buy.status(desk.now),
        "totals": {"impressions": buy.impressions, "spend": buy.spend},
        "by_package": [{"package_id": one["package_id"], **_price(one), **share} for one in buy.packages],
    }


def _price(package: Json) -> Json:
    option = catalogue.PRODUCTS[package["product_id"]]["pricing_options"][0]
    rate = option.get("fixed_price", package.get("bid_price", option.get("floor_price")))
    return {"pricing_model": option["pricing_model"], "rate": rate, "currency": option["currency"]}


def _provide_performance_feedback(desk: Desk, arguments: Json) -> Answer:
    if arguments["media_buy_id"] not in desk.store.media_buys:
        raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", "media_buy_id")
    return Answer({"success": True}, "Thank you: the feedback is noted.")


def _day(value: str, field: str) -> datetime:
    return moment(f"{value}T00:00:00Z", field)


STATUS_FILTER: Json = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "description": "A status, or several.",
}
DAY: Json = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "ISO date, in UTC."}

TASKS = (
    Task(
        "get_media_buys",
        "List media buys",
        "Shows media buys with their packages and status; the active ones unless asked otherwise.",
        {
            "account": ACCOUNT,
            "media_buy_ids": strings("Only these media buys."),
            "status_filter": STATUS_FILTER,
            "pagination": PAGINATION,
        },
        _get_media_buys,
    ),
    Task(
        "get_media_buy_delivery",
        "Report delivery",
        "Reports impressions and spend of media buys.",
        {
            "account": ACCOUNT,
            "media_buy_ids": strings("Only these media buys."),
            "status_filter": STATUS_FILTER,
            "start_date": DAY,
            "end_date": DAY,
        },
        _get_media_buy_delivery,
    ),
    Task(
        "provide_performance_feedback",
        "Give performance feedback",
        "Takes the buyer's rating of a media buy's performance.",
        {
            "media_buy_id": {"type": "string", "minLength": 1, "description": "Media buy that is rated."},
            "measurement_period": {
                "type": "object",
                "properties": {"start": TIME, "end": TIME},
                "required": ["start", "end"],
                "additionalProperties": True,
                "description": "When it was measured.",
            },
            "performance_index": {
                "type": "number",
                "minimum": 0,
                "description": "1 is as expected, more is better.",
            },
        },
        _provide_performance_feedback,
        required=("media_buy_id", "measurement_period", "performance_index"),
        mutating=True,
    ),
)
