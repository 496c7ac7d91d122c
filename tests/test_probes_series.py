"""Probes that are compared with each other: ids that nobody has, pages, keys; and what a server gets of all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bundle import ACCOUNTS, RELEASES, answered, bundle
from plans import SANDBOX, TEXT, call, changing, closed, listed, of, probe_subjects, probing, why
from pytest_adcp.harness.calls import PlannedCall, Probe
from pytest_adcp.harness.probes import contexts, pages
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.tasks import catalogue
from surveys import survey

OBJECT = {"type": "object"}


# -- ids that nobody has ---------------------------------------------------------------------------


def test_two_unknown_ids_are_asked_for_in_the_same_way() -> None:
    made = probing(listed("get_brand_identity", "get_content_standards"))
    assert len(of(made, Probe.NOT_FOUND)) == 4
    one, other = [item for item in of(made, Probe.NOT_FOUND) if item.tool == "get_brand_identity"]
    assert (one.baseline, other.baseline) == (None, one.subject)
    assert one.after is other.after is None
    assert one.arguments["brand_id"] != other.arguments["brand_id"]
    assert one.arguments["brand_id"] != call(made, "get_brand_identity/unknown-id").arguments["brand_id"]
    assert all(item.arguments["brand_id"].startswith("unknown_") for item in (one, other))
    rest = [{k: v for k, v in item.arguments.items() if k not in ("brand_id", "context")} for item in (one, other)]  # fmt: skip
    assert rest[0] == rest[1]
    assert one.arguments["context"] == contexts.rich_context("r1")
    assert other.arguments["context"] == {"adcp_run": "r1"}


def test_single_ids_go_before_refinements_and_those_before_lists_of_ids() -> None:
    tools = ("get_products", "get_media_buy_delivery", "get_brand_identity")
    made = probing(listed(*tools))
    assert [item.tool for item in of(made, Probe.NOT_FOUND)] == ["get_brand_identity"] * 2 + [
        "get_products"
    ] * 2
    made = probing(listed(*tools[:2]))
    assert [item.tool for item in of(made, Probe.NOT_FOUND)] == ["get_products"] * 2 + [
        "get_media_buy_delivery"
    ] * 2


def test_mutating_tasks_are_not_asked_for_unknown_ids_twice() -> None:
    made = changing(listed("update_media_buy"))
    assert of(made, Probe.NOT_FOUND) == []
    assert why(made, "probe/not-found")


# -- pages -----------------------------------------------------------------------------------------


def test_lists_are_read_an_item_a_page_where_the_tool_names_pagination() -> None:
    paged = {"type": "object", "properties": {"pagination": OBJECT}}
    made = probing(
        listed("list_accounts", list_creatives=paged, list_creative_formats=paged, get_signals=paged)
    )
    first = of(made, Probe.PAGE)
    assert len(first) == pages.MAX_LISTS == 2
    # list_accounts has an open schema that does not name pagination.
    assert {item.tool for item in first} < {"list_creatives", "list_creative_formats", "get_signals"}
    assert all(item.arguments["pagination"] == {"max_results": 1} for item in first)
    assert all(item.baseline is None and item.after == f"{item.tool}/sample" for item in first)


@pytest.mark.parametrize(
    "tools",
    [
        listed("list_creatives"),
        listed(list_creatives={"properties": {"pagination": TEXT}}),
        listed(
            "get_media_buys",
            get_creative_delivery={"properties": {"pagination": OBJECT, "media_buy_ids": {}}},
        ),
        listed(get_media_buy_delivery={"properties": {"pagination": OBJECT}}),
    ],
)
def test_what_takes_no_pagination_with_a_cursor_is_not_paged(tools: list[dict[str, Any]]) -> None:
    assert why(probing(tools), "probe/page")


def first_page() -> PlannedCall:
    tools = listed(list_creatives={"properties": {"pagination": OBJECT}})
    return call(probing(tools), "list_creatives/page-1")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"pagination": None},
        {"pagination": {"has_more": True}},
        {"pagination": {"has_more": True, "cursor": ""}},
        {"pagination": {"has_more": True, "cursor": 7}},
        {"pagination": {"has_more": False, "cursor": "c"}},
        {"pagination": {"has_more": True, "cursor": "c" * (pages.LONGEST_CURSOR + 1)}},
    ],
)
def test_the_last_page_is_followed_by_none(payload: dict[str, Any]) -> None:
    assert pages.following(first_page(), payload) is None


def test_pages_are_followed_five_times_at_most() -> None:
    item: PlannedCall | None = first_page()
    seen = []
    while item is not None:
        seen.append((item.name, item.baseline, item.after))
        item = pages.following(item, {"pagination": {"cursor": "c" * pages.LONGEST_CURSOR}})
    assert [name for name, _, _ in seen] == [f"page-{number}" for number in range(1, 6)]
    assert seen[4][1:] == ("list_creatives/page-4", "list_creatives/page-4")


# -- keys ------------------------------------------------------------------------------------------


def test_what_is_sent_about_keys() -> None:
    made = changing(listed("get_products", "create_media_buy"))
    sample = call(made, "create_media_buy/sample")
    bad = call(made, "create_media_buy/unknown-id")
    missing = call(made, "create_media_buy/no-key")
    assert missing.arguments == {k: v for k, v in sample.arguments.items() if k != "idempotency_key"}
    assert (missing.after, missing.baseline) == (None, sample.subject)
    assert call(made, "create_media_buy/replay").arguments == sample.arguments
    conflict = call(made, "create_media_buy/key-conflict")
    assert conflict.arguments["idempotency_key"] == sample.arguments["idempotency_key"]
    assert conflict.arguments["end_time"] != sample.arguments["end_time"]
    assert (conflict.after, conflict.baseline) == (sample.subject, sample.subject)
    one, other = of(made, Probe.FAILURE_AGAIN)
    assert one.arguments == other.arguments
    assert one.arguments["packages"] == bad.arguments["packages"]
    assert one.arguments["idempotency_key"] not in (
        bad.arguments["idempotency_key"],
        sample.arguments["idempotency_key"],
    )
    assert (one.baseline, other.baseline, other.after) == (None, one.subject, None)
    assert one.violates == bad.violates
    assert all(item.arguments["account"] == SANDBOX for item in made.calls if item.mutating)


def test_without_leave_nothing_is_asked_about_keys() -> None:
    made = probing(listed("get_products", "create_media_buy"))
    assert not any(item.mutating for item in made.calls)
    assert why(made, "probe/no-key, probe/replay, probe/key-conflict, probe/failure-again")


def test_a_dry_run_is_not_asked_for_again() -> None:
    made = changing(listed("sync_accounts"))
    assert call(made, "sync_accounts/sample").arguments["dry_run"] is True
    assert probe_subjects(made, Probe.NO_KEY) == ["sync_accounts/no-key"]
    assert "dry runs" in why(made, "probe/replay")
    made = changing(listed("sync_accounts", "create_property_list"))
    assert probe_subjects(made, Probe.REPLAY) == ["create_property_list/replay"]
    assert why(made, "probe/key-conflict")


def test_create_media_buy_goes_first_and_a_request_that_can_be_changed_is_next() -> None:
    made = changing(listed("get_products", "create_media_buy", "create_property_list"))
    assert probe_subjects(made, Probe.REPLAY) == ["create_media_buy/replay"]
    tools = listed(
        "get_products",
        "create_property_list",
        create_media_buy=closed("account", "packages", "idempotency_key"),
    )
    assert probe_subjects(changing(tools), Probe.KEY_CONFLICT) == []


@pytest.mark.parametrize("release", RELEASES)
def test_every_key_that_is_left_out_is_one_that_adcp_requires(release: str) -> None:
    published = bundle(release)
    with_key = [task for task in catalogue().values() if task.mutating and "idempotency_key" in task.request]
    tested = 0
    for task in with_key:
        if task.name in published.tools:
            _, request = published.request(task.name)
            parts = [request, *request.get("allOf", [])]
            assert any("idempotency_key" in part.get("required", []) for part in parts), task.name
            tested += 1
    assert tested > 20


# -- against the published schemas, and a server ---------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("account", ACCOUNTS, ids=["account-id", "natural-key"])
def test_what_should_be_accepted_is_valid(release: str, account: dict[str, Any]) -> None:
    published = bundle(release)
    seen: set[Probe] = set()
    for tool in published.input_schemas():  # all at once there are more calls than a plan has
        made = probing([tool], allow_mutating=True, account=account, sandbox_account=account)
        for item in made.calls:
            if item.probe and not item.violates:
                errors = published.errors(published.request(item.tool), answered(item.arguments, item.takes))
                assert not errors, (item.subject, errors)
                seen.add(item.probe)
    assert {Probe.ENVELOPE_FIELDS, Probe.UNKNOWN_FIELD, Probe.PAGE, Probe.CONTEXT, Probe.REPLAY} <= seen


def test_a_replay_is_the_same_bytes_as_the_sample_also_where_values_were_taken() -> None:
    with running(SellerOptions()) as url:
        transcript = survey(url, allow_mutating=True, sandbox_account=DEMO_ACCOUNT)
    sent = {
        exchange.subject: json.loads(exchange.request.body)["params"]["arguments"]
        for exchange in transcript.exchanges
        if exchange.subject.startswith("create_media_buy/")
    }
    assert sent["create_media_buy/replay"] == sent["create_media_buy/sample"]
    assert sent["create_media_buy/sample"]["packages"][0]["product_id"] is not None
    conflict = {**sent["create_media_buy/key-conflict"], "end_time": None}
    assert conflict == {**sent["create_media_buy/sample"], "end_time": None}
