from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from pytest_adcp.harness.calls import Expect, NotCalled, PlannedCall, Purpose, Take
from pytest_adcp.harness.plan import MAX_AUTOMATIC, ConfiguredCall, Plan, PlanRequest, describe, plan
from pytest_adcp.harness.tasks import catalogue

TODAY = date(2030, 1, 1)
SANDBOX = {"account_id": "sandbox-1"}
TEXT = {"type": "string"}
OPEN: dict[str, Any] = {"type": "object"}


def listed(*names: str, **schemas: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": OPEN} for name in names] + [
        {"name": name, "inputSchema": schema} for name, schema in schemas.items()
    ]


def closed(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in names}, "required": list(required)}


def planned(listing: list[dict[str, Any]], run_id: str = "r1", **request: Any) -> Plan:
    return plan(listing, PlanRequest(today=TODAY, **request), run_id)


def mutating(listing: list[dict[str, Any]], **request: Any) -> Plan:
    return planned(listing, allow_mutating=True, sandbox_account=SANDBOX, **request)


def subjects(made: Plan) -> list[str]:
    return [call.subject for call in made.calls]


def call(made: Plan, subject: str) -> PlannedCall:
    (found,) = [call for call in made.calls if call.subject == subject]
    return found


def why(made: Plan, item: str) -> str:
    (found,) = [left.why for left in made.not_called if left.item == item]
    return found


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
    assert "get_media_buys, which is not called" in why(made, "get_media_buy_artifacts/sample")
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


# -- configured calls ------------------------------------------------------------------------------


def test_configured_calls_are_sent_whole_in_the_order_of_the_file() -> None:
    calls = (
        ConfiguredCall("get_products", "b", {"x": 1}, Expect.ERROR, ("INVALID_REQUEST",)),
        ConfiguredCall("get_products", "a", {"brief": "y"}, Expect.SUCCESS),
        ConfiguredCall("get_adcp_capabilities", "c"),
    )
    tools = listed("get_adcp_capabilities", get_products=closed("brief"))
    made = planned(tools, auto=False, calls=calls)
    assert subjects(made) == ["get_adcp_capabilities/c", "get_products/b", "get_products/a"]
    b = call(made, "get_products/b")
    assert (b.arguments, b.expect, b.error_codes, b.purpose) == (
        {"x": 1},
        Expect.ERROR,
        ("INVALID_REQUEST",),
        Purpose.CONFIGURED,
    )
    assert made.not_called == ()
    with_auto = subjects(planned(tools, calls=calls))
    assert with_auto[-4:] == [
        "get_products/sample",
        "get_products/wrong-type",
        "get_products/b",
        "get_products/a",
    ]


@pytest.mark.parametrize("schema", [OPEN, closed("account", "context", "brief")], ids=["open", "closed"])
def test_account_and_run_go_into_configured_calls_that_do_not_say_otherwise(schema: dict[str, Any]) -> None:
    calls = (
        ConfiguredCall("get_products", "plain", {"brief": "x"}),
        ConfiguredCall("get_products", "own", {"account": None, "context": {"mine": 1}}),
    )
    made = planned(listed(get_products=schema), auto=False, calls=calls, account={"account_id": "a"})
    assert call(made, "get_products/plain").arguments == {
        "account": {"account_id": "a"},
        "context": {"adcp_run": "r1"},
        "brief": "x",
    }
    assert call(made, "get_products/own").arguments == {"account": None, "context": {"mine": 1}}


def test_a_tool_outside_the_catalogue_gets_what_its_schema_names_only() -> None:
    tools = listed("vendor_open", vendor_closed=closed("account"))
    calls = (ConfiguredCall("vendor_open", "x", {"a": 1}), ConfiguredCall("vendor_closed", "x", {"a": 1}))
    made = planned(tools, calls=calls, account={"account_id": "a"})
    assert call(made, "vendor_open/x").arguments == {"a": 1}
    assert call(made, "vendor_closed/x").arguments == {"account": {"account_id": "a"}, "a": 1}
    assert all(c.mutating for c in made.calls), "nobody knows what it does"


def test_placeholders_work_in_configured_calls() -> None:
    arguments = {
        "key": "$uuid",
        "who": {"account": "$account"},
        "from": "$time-1",
        "cost": "$5",
        "id": {"from": "get_signals#/signals/0/name"},
    }
    tools = listed("get_signals", "get_rights")
    calls = (ConfiguredCall("get_rights", "x", arguments),)
    made = call(planned(tools, calls=calls, account={"account_id": "a"}), "get_rights/x")
    assert uuid.UUID(made.arguments["key"])
    assert made.arguments["who"] == {"account": {"account_id": "a"}}
    assert made.arguments["from"] == "2029-12-31T00:00:00Z"
    assert made.arguments["cost"] == "$5"
    assert made.takes == (Take("/id", "get_signals", "/signals/0/name"),)
    assert "`account:`" in why(planned(tools, calls=calls), "get_rights/x")


def test_a_configured_call_stands_in_for_the_automatic_one_of_its_name() -> None:
    calls = (ConfiguredCall("get_products", "sample", {"brief": "mine"}),)
    made = planned(listed("get_products"), calls=calls)
    assert sorted(subjects(made)) == sorted(set(subjects(made)))
    assert call(made, "get_products/sample").arguments["brief"] == "mine"
    assert call(made, "get_products/sample").purpose is Purpose.CONFIGURED
    assert "get_products/unsupported-major" in subjects(made)


def test_a_configured_tool_that_is_not_listed_is_a_gap() -> None:
    calls = (ConfiguredCall("get_products", "x"), ConfiguredCall("widgets", "y"))
    made = planned(listed("adcp_get_products", "get_signals"), auto=False, calls=calls)
    assert made.not_called == (
        NotCalled(
            "get_products/x", 'tools/list does not name get_products, but "adcp_get_products"', blocked=True
        ),
        NotCalled("widgets/y", "tools/list does not name widgets", blocked=True),
    )


@pytest.mark.parametrize("tool", ["create_media_buy", "adcp_create_media_buy", "createMediaBuy"])
def test_a_configured_mutating_call_needs_the_option_too(tool: str) -> None:
    calls = (ConfiguredCall(tool, "x"),)
    made = planned(listed(tool), auto=False, calls=calls)
    assert made.calls == ()
    assert made.not_called[0].item == f"{tool}/x"
    assert "--adcp-allow-mutating" in made.not_called[0].why
    assert not made.not_called[0].blocked
    assert call(mutating(listed(tool), auto=False, calls=calls), f"{tool}/x").mutating


def test_tools_are_chosen_by_glob_and_discovery_stays() -> None:
    tools = listed("get_adcp_capabilities", "get_products", "get_signals", "list_accounts")
    calls = (ConfiguredCall("list_accounts", "x"), ConfiguredCall("get_signals", "y"))
    made = planned(tools, tools=("get_s*", "nothing"), calls=calls)
    assert {c.tool for c in made.calls} == {"get_adcp_capabilities", "get_signals"}
    assert why(made, "list_accounts, get_products") == "not chosen by --adcp-tool"
    assert why(made, "list_accounts/x") == "not chosen by --adcp-tool"


# -- bounds, diagnosis, description ----------------------------------------------------------------


def test_a_plan_is_bounded_and_keeps_the_samples() -> None:
    tasks = list(catalogue())
    configured = tuple(ConfiguredCall("get_products", f"c{index}") for index in range(3))
    made = mutating(listed(*tasks), calls=configured)
    automatic = [c for c in made.calls if c.purpose is not Purpose.CONFIGURED]
    assert len(automatic) == MAX_AUTOMATIC
    assert len(made.calls) == MAX_AUTOMATIC + 3
    assert "--adcp-tool" in made.not_called[-1].why
    here = set(subjects(made))
    assert all(c.after in here for c in automatic if c.after)
    samples = {c.tool for c in made.calls if c.name == "sample"}
    assert len(samples) > 70
    assert all(take.tool in samples for c in automatic for take in c.takes)


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([], ["tools/list is empty"]),
        (
            [{"name": "adcp_get_products"}, {"name": "getSignals"}, {"name": "widgets"}],
            [
                '"adcp_get_products" looks like get_products',
                '"getSignals" looks like get_signals',
                "widgets",
                "3 tools",
            ],
        ),
        ([{"name": f"t{index}"} for index in range(100)], ["100 tools", "and 90 more"]),
        ([{"name": "a\x1b[31m\u202eb" * 100}, {}, {"name": None}, {"name": 5}], ["\\u001b", "\\u202e"]),
    ],
)
def test_no_adcp_task_gives_one_diagnosis(tools: list[dict[str, Any]], told: list[str]) -> None:
    made = planned(tools)
    assert made.calls == ()
    text = "\n".join(made.problems)
    assert all(part in text for part in told), text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 1500


def test_one_task_is_enough_for_no_diagnosis() -> None:
    assert planned(listed("adcp_get_products", "get_signals")).problems == ()


@pytest.mark.parametrize("schema", [None, [], "x", 7, {"$ref": "#"}, {"type": "array"}])
def test_tool_lists_that_make_no_sense_are_survived(schema: object) -> None:
    tools = [
        {"name": "get_products", "inputSchema": schema},
        {"inputSchema": schema},
        {"name": ["get_signals"]},
    ]
    assert call(planned(tools), "get_products/sample").arguments["buying_mode"] == "brief"
    assert "get_products/sample" in subjects(planned([{"name": "get_products"}]))


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    made = planned([*listed(get_products=closed("brief")), *listed("get_products")])
    assert set(call(made, "get_products/sample").arguments) == {"brief"}


def test_a_great_many_tools_take_no_time() -> None:
    tools: list[Mapping[str, Any]] = [
        {"name": f"tool_{index}", "inputSchema": OPEN} for index in range(10_000)
    ]
    started = time.process_time()
    made = plan(tools, PlanRequest(today=TODAY, calls=(ConfiguredCall("gone", "x"),)), "r1")
    assert time.process_time() - started < 2
    assert made.calls == ()


def test_the_description_shows_every_call_and_every_reason() -> None:
    tools = listed("list_property_lists", "get_property_list", "create_media_buy", "get_products", evil=OPEN)
    calls = (
        ConfiguredCall("evil", "x\x1b[31m", {"a": "b\u202ec\n" * 3}),
        ConfiguredCall("create_media_buy", "m"),
    )
    made = planned(tools, calls=calls)
    text = describe(made)
    assert all(c.subject in text or "evil" in c.subject for c in made.calls)
    assert all(left.item in text and left.why in text for left in made.not_called)
    assert "/list_id: /lists/0/list_id from an answer of list_property_lists" in text
    assert (
        "to be refused, if the seller accepts get_products/unsupported-major: refine: names something" in text
    )
    assert '"brief": "Video and display' in text
    assert "evil/x\\x1b[31m (mutating)" in text
    assert '"b\\u202ec\\nb\\u202ec' in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "tools/list is empty" in describe(planned([]))
