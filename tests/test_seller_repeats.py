"""Faults of the reference seller that show in single requests of a kind, or when requests are repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from buyers import Buyer, key, order
from pytest_adcp.harness.probes.credentials import MADE_UP
from pytest_adcp.harness.probes.tolerance import UNKNOWN_MEMBER
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.seller.faults import behaviour, faults, repeats

PRODUCTS = {"buying_mode": "wholesale"}
PAGE = {**PRODUCTS, "pagination": {"max_results": 1}}
ONE, OTHER = "unknown_0123456789abcdef", "unknown_fedcba9876543210"
KEY = key()

Request = tuple[str, dict[str, Any]]
Results = list[dict[str, Any]]


def products(**more: Any) -> Request:
    return "get_products", {**PRODUCTS, **more}


def following(cursor: str) -> Request:
    return products(pagination={"max_results": 1, "cursor": cursor})


def booking(**changes: Any) -> Request:
    return "create_media_buy", order(idempotency_key=KEY, **changes)


LATER = {"end_time": "2098-02-01T00:00:00Z"}
FAILING = "update_media_buy", {"media_buy_id": ONE, "account": order()["account"], "idempotency_key": KEY}
WITHOUT_KEY = (
    "create_media_buy",
    {name: value for name, value in order().items() if name != "idempotency_key"},
)
FIRST_TWO = [("get_products", PAGE), following("from-1")]
TWO_IDS = [
    ("get_task_status", {"task_id": ONE, "context": {"nested": {}}}),
    ("get_task_status", {"task_id": OTHER}),
]
REPLAY = [booking(), booking()]
CONFLICT = [booking(), booking(**LATER)]


def payload(result: dict[str, Any]) -> dict[str, Any]:
    return result.get("structuredContent", {})


def error(result: dict[str, Any]) -> dict[str, Any]:
    return payload(result).get("adcp_error", {})


def pagination(result: dict[str, Any]) -> dict[str, Any]:
    return payload(result)["pagination"]


# fault | what is asked for | what of it only the faulty seller does
SHOWN: dict[str, tuple[list[Request], Callable[[Results], bool]]] = {
    "strict-arguments": ([products(context_id="c")], lambda r: "Unrecognized key" in str(r[0]["content"])),
    "strict-arguments-3-0": ([products(governance_context="g")], lambda r: r[0]["isError"]),
    "envelope-fields-invalid": (
        [products(governance_context="g")],
        lambda r: error(r[0])["field"] == "idempotency_key" if error(r[0]) else False,
    ),
    "conversation-refused": ([products(context_id="c")], lambda r: r[0]["isError"]),
    "unknown-field-refused": (
        [products(**{UNKNOWN_MEMBER: 1})],
        lambda r: error(r[0]).get("code") == "VALIDATION_ERROR",
    ),
    "credential-accepted": ([products(ext={"api_key": "k"})], lambda r: not r[0]["isError"]),
    "credential-invalid": (
        [products(ext={"api_key": "k"})],
        lambda r: error(r[0])["code"] == "INVALID_REQUEST",
    ),
    "credential-echoed": (
        [products(ext={"api_key": MADE_UP})],
        lambda r: error(r[0])["message"].startswith(MADE_UP),
    ),
    "more-without-cursor": (
        [products()],
        lambda r: pagination(r[0])["has_more"] and "cursor" not in pagination(r[0]),
    ),
    "cursor-at-the-end": (
        [products()],
        lambda r: not pagination(r[0])["has_more"] and "cursor" in pagination(r[0]),
    ),
    "no-has-more": ([products()], lambda r: "has_more" not in pagination(r[0])),
    "cursor-ignored": (
        FIRST_TWO,
        lambda r: (
            payload(r[0])["products"] == payload(r[1])["products"] and pagination(r[0]) == pagination(r[1])
        ),
    ),
    "cursor-without-effect": (
        FIRST_TWO,
        lambda r: (
            payload(r[0])["products"] == payload(r[1])["products"] and pagination(r[0]) != pagination(r[1])
        ),
    ),
    "cursor-refused": (FIRST_TWO, lambda r: error(r[1]).get("code") == "INVALID_REQUEST"),
    "page-size-ignored": (FIRST_TWO[:1], lambda r: len(payload(r[0])["products"]) > 1),
    "total-of-page": (FIRST_TWO[:1], lambda r: pagination(r[0])["total_count"] == 1),
    "total-of-rest": (
        FIRST_TWO,
        lambda r: pagination(r[0])["total_count"] == pagination(r[1])["total_count"] + 1,
    ),
    "total-too-high": (
        [products(pagination={"max_results": 100})],
        lambda r: pagination(r[0])["total_count"] == len(payload(r[0])["products"]) + 1,
    ),
    "not-found-with-id": (TWO_IDS, lambda r: ONE in error(r[0])["message"] and OTHER in error(r[1])["message"]),
    "not-found-denied": (TWO_IDS, lambda r: error(r[0])["code"] == "PERMISSION_DENIED" != error(r[1])["code"]),
    "not-found-found": (TWO_IDS, lambda r: not r[0]["isError"] and r[1]["isError"]),
    "key-not-required": ([WITHOUT_KEY], lambda r: "media_buy_id" in payload(r[0])),
    "key-missing-expired": ([WITHOUT_KEY], lambda r: error(r[0])["code"] == "IDEMPOTENCY_EXPIRED"),
    "replay-books-again": (
        REPLAY,
        lambda r: payload(r[0])["media_buy_id"] != payload(r[1])["media_buy_id"],
    ),
    "replay-refused": (REPLAY, lambda r: error(r[1]).get("code") == "INVALID_STATE"),
    "replay-unmarked": (
        REPLAY,
        lambda r: (
            payload(r[0])["media_buy_id"] == payload(r[1])["media_buy_id"] and "replayed" not in payload(r[1])
        ),
    ),
    "used-key-accepted": (
        CONFLICT,
        lambda r: payload(r[1]).get("media_buy_id", payload(r[0])["media_buy_id"]) != payload(r[0])["media_buy_id"],
    ),
    "used-key-replayed": (
        CONFLICT,
        lambda r: payload(r[1]).get("media_buy_id") == payload(r[0])["media_buy_id"],
    ),
    "used-key-invalid": (CONFLICT, lambda r: error(r[1])["code"] == "INVALID_REQUEST"),
    "used-key-conflict": (CONFLICT, lambda r: error(r[1])["code"] == "CONFLICT"),
    "conflict-with-field": (CONFLICT, lambda r: error(r[1]).get("field") == "packages[0].budget"),
    "conflict-with-key-field": (CONFLICT, lambda r: error(r[1]).get("field") == "idempotency_key"),
    "conflict-with-id": (CONFLICT, lambda r: payload(r[0])["media_buy_id"] in error(r[1])["message"]),
    "conflict-with-data": (
        CONFLICT,
        lambda r: r[1]["isError"] and payload(r[1]).get("media_buy_id") == payload(r[0])["media_buy_id"],
    ),
    "failure-kept": ([FAILING, FAILING], lambda r: payload(r[1]).get("replayed") is True),
    "failure-changes": ([FAILING, FAILING], lambda r: error(r[0])["code"] != error(r[1])["code"]),
}  # fmt: skip


def asked(fault: str | None, requests: list[Request]) -> Results:
    needs = faults()[fault].needs if fault else {}
    with running(SellerOptions(fault=fault, **needs)) as url, Buyer(url) as buyer:
        return [buyer.call(tool, **arguments) for tool, arguments in requests]


@pytest.mark.parametrize("name", SHOWN)
def test_a_fault_shows_and_the_clean_seller_does_not_have_it(name: str) -> None:
    requests, shows = SHOWN[name]
    results = asked(name, requests)
    assert shows(results), json.dumps(results)[:2000]
    assert not shows(asked(None, requests))


def test_every_such_fault_is_shown() -> None:
    assert list(SHOWN) == [fault.name for module in (behaviour, repeats) for fault in module.FAULTS]
