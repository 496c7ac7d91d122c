from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from plans import OPEN, TODAY, call, closed, listed, mutating, planned, subjects, why
from pytest_adcp.harness.calls import Expect, NotCalled, Purpose, Take
from pytest_adcp.harness.plan import MAX_AUTOMATIC, ConfiguredCall, PlanRequest, describe, plan
from pytest_adcp.harness.tasks import catalogue

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
    tools: list[dict[str, Any]] = [
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


def test_a_configured_call_stands_in_for_the_probe_of_its_name() -> None:
    paged = {"type": "object", "properties": {"pagination": {"type": "object"}}}
    made = planned(
        listed(list_creatives=paged), probes=True, calls=(ConfiguredCall("list_creatives", "page-1"),)
    )
    assert sorted(subjects(made)) == sorted(set(subjects(made)))
    assert call(made, "list_creatives/page-1").purpose is Purpose.CONFIGURED
