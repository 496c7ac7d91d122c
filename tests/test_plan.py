from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from bundle import ACCOUNTS, RELEASES, answered, bundle
from plans import OPEN, SANDBOX, TEXT, call, closed, listed, mutating, planned, subjects, why
from pytest_adcp.harness.calls import Expect, NotCalled, Purpose, Take
from pytest_adcp.harness.plan import MAX_AUTOMATIC, ConfiguredCall
from pytest_adcp.harness.tasks import catalogue

# -- automatic calls -------------------------------------------------------------------------------


def test_calls_come_in_the_order_of_the_catalogue_whatever_the_server_says() -> None:
    names = ["get_signals", "zoom", "get_products", "get_adcp_capabilities"]
    made = planned(listed(*names))
    assert made == planned(listed(*reversed(names)))
    assert list(dict.fromkeys(call.tool for call in made.calls)) == [
        "get_adcp_capabilities",
        "get_products",
        "get_signals",
    ]
    assert [c.name for c in made.calls if c.tool == "get_products"] == [
        "sample",
        "unsupported-major",
        "unknown-id",
        "wrong-type",
    ]


def test_each_bad_request_waits_for_the_one_before_it() -> None:
    made = planned(listed("get_products"))
    assert [call.after for call in made.calls] == [
        None,
        None,
        "get_products/unsupported-major",
        "get_products/unknown-id",
    ]
    assert [call.purpose for call in made.calls] == [Purpose.GOOD, Purpose.BAD, Purpose.BAD, Purpose.BAD]
    assert {call.expect for call in made.calls} == {Expect.ANY}
    major = call(made, "get_products/unsupported-major")
    assert major.arguments["adcp_major_version"] == 99
    assert major.error_codes == ("VERSION_UNSUPPORTED",)
    assert "no such AdCP version" in major.violates
    assert (
        "brief" not in call(made, "get_products/unknown-id").arguments
    )  # null in the catalogue takes it out


def test_only_arguments_that_the_tool_knows_are_sent() -> None:
    made = planned(listed(get_products=closed("brief", "context", "promoted_offering")))
    assert call(made, "get_products/sample").arguments == {
        "brief": "Video and display for an outdoor brand in the United States",
        "context": {"adcp_run": "r1"},
    }
    # A bad request without the argument that makes it bad would be a good one.
    assert subjects(made) == ["get_products/sample", "get_products/wrong-type"]
    assert call(made, "get_products/wrong-type").arguments["brief"] == {"not": "text"}


def test_no_argument_at_all_leaves_the_sample_and_says_so() -> None:
    made = planned(listed(get_adcp_capabilities={"type": "object", "additionalProperties": False}))
    assert [(call.subject, call.arguments) for call in made.calls] == [("get_adcp_capabilities/sample", {})]
    assert made.not_called == (
        NotCalled("get_adcp_capabilities, a bad request", "the tool has no argument for it"),
    )


def test_a_required_argument_that_nobody_knows_stops_the_call_and_says_what_to_do() -> None:
    made = planned(listed(get_signals=closed("signal_spec", "deliver_to", required=("deliver_to",))))
    assert made.calls == ()
    assert '"deliver_to"' in why(made, "get_signals")
    assert "`calls:` in adcp.yaml" in why(made, "get_signals")


def test_the_run_is_named_in_context_only_where_the_task_has_one() -> None:
    made = planned(listed("get_signals", "validate_input", list_creatives=closed("context", "filters")))
    assert call(made, "get_signals/sample").arguments["context"] == {"adcp_run": "r1"}
    assert call(made, "list_creatives/sample").arguments == {"context": {"adcp_run": "r1"}}
    assert all("context" not in c.arguments for c in made.calls if c.tool == "validate_input")
    texts = planned(listed(list_creatives={"properties": {"context": TEXT}}))
    assert call(texts, "list_creatives/sample").arguments == {}


def test_the_account_goes_where_the_task_and_the_tool_have_it() -> None:
    tools = listed("get_products", "get_content_standards", get_signals=closed("signal_spec"))
    made = planned(tools, account={"account_id": "a-1"})
    assert {json.dumps(c.arguments.get("account")) for c in made.calls if c.tool == "get_products"} == {
        '{"account_id": "a-1"}'
    }
    assert all("account" not in c.arguments for c in made.calls if c.tool != "get_products")
    assert all("account" not in c.arguments for c in planned(tools).calls)


def test_a_request_that_spoils_the_account_keeps_its_own() -> None:
    made = planned(listed("get_account_financials"), account={"account_id": "a-1"})
    assert call(made, "get_account_financials/sample").arguments["account"] == {"account_id": "a-1"}
    assert (
        call(made, "get_account_financials/unknown-id")
        .arguments["account"]["account_id"]
        .startswith("unknown_")
    )
    assert call(made, "get_account_financials/wrong-type").arguments["account"] == "text"


def test_the_brand_is_the_one_of_the_account() -> None:
    account = {"brand": {"domain": "mine.example"}, "operator": "me.example", "sandbox": True}
    tools = listed("get_products", "request_proposals")
    made = planned(tools, account=account, sandbox_account=account, allow_mutating=True)
    assert call(made, "get_products/sample").arguments["brand"] == {"domain": "mine.example"}
    assert "brand" not in call(made, "request_proposals/sample").arguments
    made_up = mutating(tools)
    assert call(made_up, "get_products/sample").arguments["brand"] == {"domain": "acmeoutdoor.example"}
    assert call(made_up, "request_proposals/sample").arguments["brand"] == {"domain": "acmeoutdoor.example"}


def test_a_request_is_nested_in_the_one_parameter_that_takes_it() -> None:
    inner = {"type": "object", "properties": {"list_id": TEXT, "context": {"type": "object"}}}
    schema = {"properties": {"params": {"$ref": "#/$defs/P"}}, "required": ["params"], "$defs": {"P": inner}}
    made = planned(listed("list_property_lists", get_property_list=schema))
    sample = call(made, "get_property_list/sample")
    assert sample.arguments == {"params": {"list_id": None, "context": {"adcp_run": "r1"}}}
    assert sample.takes == (Take("/params/list_id", "list_property_lists", "/lists/0/list_id"),)
    assert call(made, "get_property_list/unknown-id").arguments["params"]["list_id"].startswith("unknown_")


# -- values from earlier answers -------------------------------------------------------------------


def test_an_id_is_taken_from_an_earlier_answer() -> None:
    made = planned(listed("list_property_lists", "get_property_list"))
    sample = call(made, "get_property_list/sample")
    assert sample.takes == (Take("/list_id", "list_property_lists", "/lists/0/list_id"),)
    assert sample.arguments["list_id"] is None
    bad = [c for c in made.calls if c.tool == "get_property_list" and c.purpose is Purpose.BAD]
    assert [(c.name, c.after, bool(c.takes)) for c in bad] == [
        ("unknown-id", None, False),
        ("unsupported-major", "get_property_list/unknown-id", True),
        ("wrong-type", "get_property_list/unsupported-major", False),
    ]


def test_without_an_earlier_answer_only_the_unknown_id_is_asked_for() -> None:
    made = planned(listed("get_media_buy_artifacts", "si_get_offering"))
    assert subjects(made) == [
        "get_media_buy_artifacts/unknown-id",
        "si_get_offering/unknown-id",
    ]
    assert "get_media_buys, which is not listed" in why(made, "get_media_buy_artifacts/sample")
    assert "offering_id, which only the seller can name" in why(made, "si_get_offering/sample")


def test_a_tool_that_is_only_asked_for_nonsense_gives_no_ids() -> None:
    tools = listed(
        "get_signals", list_property_lists=closed("tenant", required=("tenant",)), get_property_list=OPEN
    )
    made = planned(tools)
    assert "get_property_list/sample" not in subjects(made)
    assert "get_property_list/unknown-id" in subjects(made)
    configured = ConfiguredCall("list_property_lists", "mine", {"tenant": "t"})
    assert "get_property_list/sample" in subjects(planned(tools, calls=(configured,)))


def test_values_that_wait_for_each_other_are_never_waited_for() -> None:
    calls = (
        ConfiguredCall("get_signals", "one", {"signal_spec": {"from": "get_products#/products/0/name"}}),
        ConfiguredCall("get_products", "two", {"brief": {"from": "get_signals#/signals/0/name"}}),
    )
    made = planned(listed("get_signals", "get_products"), auto=False, calls=calls)
    assert made.calls == ()
    assert [left.item for left in made.not_called] == ["get_signals/one", "get_products/two"]


# -- mutating tasks --------------------------------------------------------------------------------


def test_mutating_tasks_are_left_out_with_one_line_that_names_the_options() -> None:
    tools = listed("create_media_buy", "sync_creatives", "check_governance", "get_products")
    made = planned(tools)
    assert {call.tool for call in made.calls} == {"get_products"}
    reason = why(made, "create_media_buy, sync_creatives, check_governance")
    assert "--adcp-allow-mutating" in reason
    assert "--adcp-sandbox-account" in reason
    assert planned(tools, allow_mutating=True).calls == made.calls, "never without a sandbox account"
    assert planned(tools, sandbox_account=SANDBOX).calls == made.calls


def test_every_mutating_call_names_the_sandbox_account_where_its_task_has_one() -> None:
    tasks = [task.name for task in catalogue().values() if task.mutating and task.account and task.auto]
    made = mutating(
        listed(*tasks, "list_products", "get_products", "get_signals", "get_rights", "list_creative_formats"),
        account={"account_id": "p"},
    )
    calls = [c for c in made.calls if c.mutating]
    only_the_seller_can_name_their_ids = {"sync_reporting_status", "sync_reporting_receipts"}
    assert {c.tool for c in calls} == set(tasks) - only_the_seller_can_name_their_ids
    assert all(c.arguments["account"] == SANDBOX for c in calls)


def test_without_a_place_for_the_sandbox_account_nothing_is_changed() -> None:
    schema = closed("media_buy_id", "paused", "idempotency_key")
    made = mutating(listed(update_media_buy=schema, sync_creatives=closed("creatives")))
    assert made.calls == ()
    assert "no argument for the sandbox account" in why(made, "update_media_buy")
    typed = {"properties": {"account": TEXT, "creatives": {}, "idempotency_key": TEXT}}
    assert mutating(listed(sync_creatives=typed)).calls == ()


def test_what_is_changed_is_what_the_run_created() -> None:
    tools = ["get_products", "get_media_buys", "create_media_buy", "update_media_buy"]
    update = call(mutating(listed(*tools)), "update_media_buy/sample")
    assert update.takes == (Take("/media_buy_id", "create_media_buy", "/media_buy_id"),)
    assert update.mutating
    assert "update_media_buy/sample" not in subjects(mutating(listed("get_media_buys", "update_media_buy")))


def test_the_test_controller_is_called_only_when_configured() -> None:
    tools = listed("comply_test_controller")
    assert mutating(tools).calls == ()
    assert "only called when configured" in why(mutating(tools), "comply_test_controller")
    configured = ConfiguredCall("comply_test_controller", "list", {"scenario": "list_scenarios"})
    assert subjects(mutating(tools, calls=(configured,))) == ["comply_test_controller/list"]


# -- ids and dates ---------------------------------------------------------------------------------


def test_keys_are_fresh_for_each_call_and_run_and_the_same_again_for_the_same_run() -> None:
    tools = listed("create_property_list", "sync_accounts", "log_event", "sync_event_sources")
    made = mutating(tools)
    keys = [c.arguments["idempotency_key"] for c in made.calls]
    assert len(set(keys)) == len(keys) > 6
    assert all(str(uuid.UUID(key)) == key and uuid.UUID(key).version == 4 for key in keys)
    again = planned(tools, allow_mutating=True, sandbox_account=SANDBOX)
    assert again == made
    other = planned(tools, "r2", allow_mutating=True, sandbox_account=SANDBOX)
    assert not set(keys) & {c.arguments["idempotency_key"] for c in other.calls}
    event = call(made, "log_event/sample")
    assert event.arguments["events"][0]["event_id"] != event.arguments["idempotency_key"]


def test_unknown_ids_differ_from_call_to_call_and_run_to_run() -> None:
    tools = listed("get_brand_identity", "get_content_standards")
    ids = {
        c.arguments.get("brand_id") or c.arguments["standards_id"]
        for run in ("r1", "r2")
        for c in planned(tools, run).calls
        if c.name == "unknown-id"
    }
    assert len(ids) == 4


def test_dates_count_from_today() -> None:
    sample = call(mutating(listed("get_products", "create_media_buy")), "create_media_buy/sample").arguments
    assert (sample["start_time"], sample["end_time"]) == ("2030-01-15T00:00:00Z", "2030-01-29T00:00:00Z")


def test_plans_share_nothing_that_can_change() -> None:
    first = planned(listed("get_products"))
    first.calls[2].arguments["refine"][0]["ask"] = "changed"
    first.calls[0].arguments["context"]["adcp_run"] = "changed"
    assert "changed" not in str(planned(listed("get_products")))
    assert "changed" not in str(first.calls[1].arguments)


# -- against the published schemas -----------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("account", ACCOUNTS, ids=["account-id", "natural-key"])
def test_a_server_that_checks_requests_strictly_finds_no_fault(release: str, account: dict[str, Any]) -> None:
    published = bundle(release)
    made = planned(published.input_schemas(), allow_mutating=True, account=account, sandbox_account=account)
    assert len(made.calls) == MAX_AUTOMATIC
    for c in made.calls:
        errors = published.errors(published.request(c.tool), answered(c.arguments, c.takes))
        assert bool(errors) == (c.name == "wrong-type"), (c.subject, errors)


@pytest.mark.parametrize(
    "given", [{"default": "production"}, {"const": "production"}, {"enum": ["production"]}]
)
def test_no_mutating_call_goes_to_an_account_that_the_server_names(given: dict[str, Any]) -> None:
    account = {"type": "string", **given}
    schema = {"properties": {"account": account, "packages": {}, "brand": {}}, "required": ["account"]}
    made = mutating(listed("get_products", create_media_buy=schema))
    assert [c for c in made.calls if c.tool == "create_media_buy"] == []
    assert "no argument for the sandbox account" in why(made, "create_media_buy")
