"""Tasks on media buys: book, change, look up, report, rate."""

from __future__ import annotations

from datetime import datetime

from . import catalogue
from .errors import AdcpError, not_found
from .options import Release
from .rpc import Json
from .store import MediaBuy, PendingTask, rfc3339
from .task import ACCOUNT, BRAND, PAGINATION, Answer, Desk, Task, paged, strings

SENT_ON = (
    "product_id",
    "pricing_option_id",
    "budget",
    "bid_price",
    "pacing",
    "paused",
    "creative_assignments",
)
CHANGEABLE = ("budget", "bid_price", "pacing", "paused", "creative_assignments")


def _create_media_buy(desk: Desk, arguments: Json) -> Answer:
    assert desk.account is not None  # noqa: S101 - the agent admits mutating tasks with an account only
    if "proposal_id" in arguments:
        raise AdcpError("PROPOSAL_NOT_FOUND", "This seller has made no proposals.", field="proposal_id")
    if "packages" not in arguments:
        raise AdcpError("INVALID_REQUEST", "A media buy needs packages.", field="packages")
    start = desk.now if arguments["start_time"] == "asap" else _moment(arguments["start_time"], "start_time")
    end = _moment(arguments["end_time"], "end_time")
    if start < desk.now:
        raise AdcpError("INVALID_REQUEST", "start_time lies in the past.", field="start_time")
    if end <= start:
        raise AdcpError("INVALID_REQUEST", "end_time has to lie after start_time.", field="end_time")
    ordered = [_ordered(package, f"packages[{index}]") for index, package in enumerate(arguments["packages"])]
    buy = MediaBuy(
        media_buy_id=desk.store.new_id("mb"),
        account_id=desk.account.account_id,
        packages=[
            {"package_id": desk.store.new_id("pkg"), **_kept(package)} for package in arguments["packages"]
        ],
        start=start,
        end=end,
        confirmed_at=desk.now,
    )
    if "io_acceptance" not in arguments and any(
        product["delivery_type"] == "guaranteed" for product in ordered
    ):
        return _submit(desk, buy)
    return _book(desk, buy)


def _ordered(package: Json, where: str) -> Json:
    """Check a package request and return its product."""
    product = catalogue.product(package["product_id"])
    if product is None:
        raise not_found("product", "PRODUCT_NOT_FOUND", f"{where}.product_id")
    option = product["pricing_options"][0]
    if package["pricing_option_id"] != option["pricing_option_id"]:
        raise AdcpError(
            "INVALID_REQUEST", "The product has no such pricing option.", field=f"{where}.pricing_option_id"
        )
    if package.get("budget", 0) < option["min_spend_per_package"]:
        raise AdcpError(
            "BUDGET_TOO_LOW", "The budget is below the minimum of the product.", field=f"{where}.budget"
        )
    if "floor_price" in option and package.get("bid_price", option["floor_price"]) < option["floor_price"]:
        raise AdcpError("INVALID_REQUEST", "The bid is below the floor price.", field=f"{where}.bid_price")
    return product


def _kept(package: Json) -> Json:
    return {key: package[key] for key in SENT_ON if key in package}


def _book(desk: Desk, buy: MediaBuy) -> Answer:
    desk.store.media_buys[buy.media_buy_id] = buy
    return Answer(_confirmation(desk, buy), f"Media buy {buy.media_buy_id} is booked in the sandbox.")


def _confirmation(desk: Desk, buy: MediaBuy) -> Json:
    return {**_state(desk, buy), "confirmed_at": rfc3339(buy.confirmed_at), "packages": _copied(buy.packages)}


def _copied(packages: list[Json]) -> list[Json]:
    # An answer that is kept for a replay must not change with the buy.
    return [dict(package) for package in packages]


def _state(desk: Desk, buy: MediaBuy) -> Json:
    # Until 3.0 `status` was the buy's own; since 3.1 it is the task's, which the envelope adds.
    key = "status" if desk.release is Release.V3_0 else "media_buy_status"
    return {"media_buy_id": buy.media_buy_id, key: buy.status(desk.now), "revision": buy.revision}


def _submit(desk: Desk, buy: MediaBuy) -> Answer:
    """Leave the booking to a person, who signs the insertion order: polling its task completes it."""
    desk.store.media_buys[buy.media_buy_id] = buy
    result = {"status": "completed", **_confirmation(desk, buy), "sandbox": True}
    task = PendingTask(desk.store.new_id("task"), "create_media_buy", desk.now, desk.now, result)
    desk.store.tasks[task.task_id] = task
    return Answer(
        {"status": "submitted", "task_id": task.task_id},
        "The insertion order waits to be signed: poll the task.",
    )


def _update_media_buy(desk: Desk, arguments: Json) -> Answer:
    buy = desk.store.media_buys.get(arguments["media_buy_id"])
    if buy is None or desk.account is None or buy.account_id != desk.account.account_id:
        raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", "media_buy_id")
    if buy.canceled:
        code = "NOT_CANCELLABLE" if arguments.get("canceled") else "INVALID_STATE"
        raise AdcpError(code, "The media buy is canceled.", field="media_buy_id")
    if arguments.get("revision", buy.revision) != buy.revision:
        raise AdcpError("CONFLICT", "The media buy has changed since: read it again.", field="revision")
    updates = arguments.get("packages", [])
    packages = [_package(buy, update, f"packages[{index}]") for index, update in enumerate(updates)]
    end = _moment(arguments["end_time"], "end_time") if "end_time" in arguments else buy.end
    if end <= buy.start:
        raise AdcpError("INVALID_REQUEST", "end_time has to lie after start_time.", field="end_time")
    for package, update in zip(packages, updates, strict=True):
        package.update({key: update[key] for key in CHANGEABLE if key in update})
    buy.end = end
    buy.paused = arguments.get("paused", buy.paused)
    buy.canceled = arguments.get("canceled", False)
    buy.revision += 1
    payload = {
        **_state(desk, buy),
        "implementation_date": rfc3339(desk.now),
        "affected_packages": _copied(packages),
    }
    return Answer(payload, f"Media buy {buy.media_buy_id} is at revision {buy.revision}.")


def _package(buy: MediaBuy, update: Json, where: str) -> Json:
    package = next((one for one in buy.packages if one["package_id"] == update["package_id"]), None)
    if package is None:
        raise not_found("package", "PACKAGE_NOT_FOUND", f"{where}.package_id")
    return package


def _get_media_buys(desk: Desk, arguments: Json) -> Answer:
    ids = arguments.get("media_buy_ids")
    # A reader who names buys wants them whatever their status; else it is the running ones.
    states = arguments.get("status_filter", None if ids else "active")
    wanted = [states] if isinstance(states, str) else states
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
        if (ids is None or buy.media_buy_id in ids) and (wanted is None or buy.status(desk.now) in wanted)
    ]
    page, pagination = paged(buys, arguments)
    return Answer({"media_buys": page, "pagination": pagination}, f"{len(page)} media buys.")


def _visible(desk: Desk, arguments: Json) -> list[MediaBuy]:
    buys = desk.store.media_buys.values()
    if "account" not in arguments:
        return list(buys)
    return [buy for buy in buys if desk.account is not None and buy.account_id == desk.account.account_id]


def _get_media_buy_delivery(desk: Desk, arguments: Json) -> Answer:
    visible = {buy.media_buy_id: buy for buy in _visible(desk, arguments)}
    for index, media_buy_id in enumerate(arguments.get("media_buy_ids", [])):
        if media_buy_id not in visible:
            raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", f"media_buy_ids[{index}]")
    buys = [visible[one] for one in arguments.get("media_buy_ids", visible)]
    start = _moment(arguments.get("start_date", "2026-01-05") + "T00:00:00Z", "start_date")
    end = _moment(arguments["end_date"] + "T00:00:00Z", "end_date") if "end_date" in arguments else desk.now
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
    product = catalogue.product(package["product_id"])
    assert product is not None  # noqa: S101 - no package is booked without its product
    option = product["pricing_options"][0]
    rate = option.get("fixed_price", package.get("bid_price", option.get("floor_price")))
    return {"pricing_model": option["pricing_model"], "rate": rate, "currency": option["currency"]}


def _provide_performance_feedback(desk: Desk, arguments: Json) -> Answer:
    if arguments["media_buy_id"] not in desk.store.media_buys:
        raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", "media_buy_id")
    return Answer({"success": True}, "Thank you: the feedback is noted.")


def _moment(value: str, field: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise AdcpError("INVALID_REQUEST", f"{field} is no date and time.", field=field) from None
    if moment.tzinfo is None:
        raise AdcpError("INVALID_REQUEST", f"{field} needs an offset such as Z.", field=field)
    return moment


TIME: Json = {"type": "string", "format": "date-time", "description": "ISO 8601 with an offset."}
STATUS_FILTER: Json = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "description": "A status, or several.",
}
BUDGET: Json = {
    "type": "number",
    "minimum": 0,
    "description": "Money, in the currency of the pricing option.",
}
BID: Json = {"type": "number", "minimum": 0, "description": "What the buyer bids, in that currency."}
PAUSED: Json = {"type": "boolean", "description": "True to hold, false to run."}
PACING: Json = {
    "enum": ["even", "asap", "front_loaded"],
    "description": "How the budget is spread over time.",
}
ASSIGNMENTS: Json = {
    "type": "array",
    "items": {"type": "object", "required": ["creative_id"], "additionalProperties": True},
    "description": "Creatives of the library that run here.",
}
DAY: Json = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "ISO date, in UTC."}

PACKAGE_REQUEST: Json = {
    "type": "object",
    "properties": {
        "product_id": {"type": "string", "description": "Product from get_products."},
        "pricing_option_id": {"type": "string", "description": "Pricing option of that product."},
        "budget": BUDGET,
        "bid_price": BID,
        "pacing": PACING,
        "paused": PAUSED,
        "creative_assignments": ASSIGNMENTS,
    },
    "required": ["product_id", "pricing_option_id"],
    "additionalProperties": True,
}
PACKAGE_UPDATE: Json = {
    "type": "object",
    "properties": {
        "package_id": {"type": "string", "description": "Package of the media buy."},
        "budget": BUDGET,
        "bid_price": BID,
        "pacing": PACING,
        "paused": PAUSED,
        "creative_assignments": ASSIGNMENTS,
    },
    "required": ["package_id"],
    "additionalProperties": True,
}

TASKS = (
    Task(
        "create_media_buy",
        "Book a media buy",
        "Books a campaign in a sandbox account. Guaranteed products wait for a signature first.",
        {
            "account": ACCOUNT,
            "brand": BRAND,
            "packages": {
                "type": "array",
                "items": PACKAGE_REQUEST,
                "minItems": 1,
                "description": "What is bought, a product each.",
            },
            "start_time": {"type": "string", "description": "ISO 8601 with an offset, or the word asap."},
            "end_time": TIME,
            "proposal_id": {"type": "string", "description": "A proposal to accept; this seller makes none."},
            "po_number": {"type": "string", "description": "The buyer's own order number."},
            "io_acceptance": {
                "type": "object",
                "additionalProperties": True,
                "description": "Signed insertion order, for guaranteed products.",
            },
        },
        _create_media_buy,
        required=("account", "brand", "start_time", "end_time"),
        mutating=True,
    ),
    Task(
        "update_media_buy",
        "Change a media buy",
        "Pauses, resumes, extends or cancels a media buy, or changes its packages.",
        {
            "account": ACCOUNT,
            "media_buy_id": {"type": "string", "description": "Media buy to change."},
            "revision": {"type": "integer", "minimum": 1, "description": "Revision the change was made for."},
            "paused": PAUSED,
            "canceled": {"const": True, "description": "True to cancel for good."},
            "end_time": TIME,
            "packages": {
                "type": "array",
                "items": PACKAGE_UPDATE,
                "minItems": 1,
                "description": "Changes to packages.",
            },
        },
        _update_media_buy,
        required=("account", "media_buy_id"),
        mutating=True,
    ),
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
