"""Tasks that book a media buy and change it."""

from __future__ import annotations

from datetime import datetime

from . import catalogue
from .arguments import moment
from .errors import AdcpError, not_found
from .options import Release
from .rpc import Json
from .store import MediaBuy, PendingTask, rfc3339
from .task import ACCOUNT, BRAND, TIME, Answer, Desk, Task

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
    account = desk.paying_account()
    if "proposal_id" in arguments:
        raise AdcpError("PROPOSAL_NOT_FOUND", "This seller has made no proposals.", field="proposal_id")
    if "packages" not in arguments:
        raise AdcpError("INVALID_REQUEST", "A media buy needs packages.", field="packages")
    start = desk.now if arguments["start_time"] == "asap" else moment(arguments["start_time"], "start_time")
    end = moment(arguments["end_time"], "end_time")
    if start < desk.now:
        raise AdcpError("INVALID_REQUEST", "start_time lies in the past.", field="start_time")
    if end <= start:
        raise AdcpError("INVALID_REQUEST", "end_time has to lie after start_time.", field="end_time")
    ordered = [
        _ordered(desk, package, f"packages[{index}]") for index, package in enumerate(arguments["packages"])
    ]
    buy = MediaBuy(
        media_buy_id=desk.store.new_id("mb"),
        account_id=account.account_id,
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


def _ordered(desk: Desk, package: Json, where: str) -> Json:
    """Check a package request and return its product."""
    _check_assignments(desk, package, where)
    product = catalogue.PRODUCTS.get(package["product_id"])
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


def _check_assignments(desk: Desk, package: Json, where: str) -> None:
    for index, assignment in enumerate(package.get("creative_assignments", [])):
        if assignment["creative_id"] not in desk.store.creatives:
            field = f"{where}.creative_assignments[{index}].creative_id"
            raise not_found("creative", "CREATIVE_NOT_FOUND", field)


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

    def finish(now: datetime) -> Json:
        buy.confirmed_at = now
        desk.store.media_buys[buy.media_buy_id] = buy
        return {"status": "completed", **_confirmation(desk, buy), "sandbox": True}

    task = PendingTask(desk.store.new_id("task"), "create_media_buy", desk.now, desk.now, finish)
    desk.store.tasks[task.task_id] = task
    if desk.release is Release.V3_0:
        finish(desk.now)  # 3.0 has no task to poll: the buy itself shows that it is booked
    return Answer(
        {"status": "submitted", "task_id": task.task_id},
        "The insertion order waits to be signed: poll the task.",
    )


def _update_media_buy(desk: Desk, arguments: Json) -> Answer:
    buy = desk.store.media_buys.get(arguments["media_buy_id"])
    if buy is None or buy.account_id != desk.paying_account().account_id:
        raise not_found("media buy", "MEDIA_BUY_NOT_FOUND", "media_buy_id")
    if buy.canceled:
        code = "NOT_CANCELLABLE" if arguments.get("canceled") else "INVALID_STATE"
        raise AdcpError(code, "The media buy is canceled.", field="media_buy_id")
    if arguments.get("revision", buy.revision) != buy.revision:
        raise AdcpError("CONFLICT", "The media buy has changed since: read it again.", field="revision")
    updates = arguments.get("packages", [])
    packages = [_package(desk, buy, update, f"packages[{index}]") for index, update in enumerate(updates)]
    end = moment(arguments["end_time"], "end_time") if "end_time" in arguments else buy.end
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


def _package(desk: Desk, buy: MediaBuy, update: Json, where: str) -> Json:
    """Check a package update and return the package that it changes."""
    _check_assignments(desk, update, where)
    package = next((one for one in buy.packages if one["package_id"] == update["package_id"]), None)
    if package is None:
        raise not_found("package", "PACKAGE_NOT_FOUND", f"{where}.package_id")
    return package


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
    "items": {
        "type": "object",
        "properties": {"creative_id": {"type": "string", "description": "Creative of the library."}},
        "required": ["creative_id"],
        "additionalProperties": True,
    },
    "description": "Creatives of the library that run here.",
}
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
            "media_buy_id": {
                "type": "string",
                "description": "Id of the media buy, as create_media_buy or get_media_buys gives it.",
            },
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
)
