"""The rules on tool granularity, on literal definitions."""

from __future__ import annotations

from typing import Any

import pytest
from apps import app, judged, tool, with_properties
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.verdict import Outcome

GOOD, ADVISORY, FAILED = Outcome.PASSED, Outcome.ADVISORY, Outcome.FAILED
TEXT = {"type": "string"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("name", "parameter", "schema", "required", "outcome"),
    [
        ("manage_user", "action", {"enum": ["create", "update", "delete"]}, True, ADVISORY),
        ("manage_user", "action", {"enum": ["create", "update", "delete"]}, False, ADVISORY),
        ("manage_user", "action", {"anyOf": [{"enum": ["get", "DELETE"]}, {"type": "null"}]}, True, ADVISORY),
        ("edit_user", "operation", {"enum": ["createUser", "removeUser"]}, True, ADVISORY),
        ("edit_user", "operation", {**TEXT, "description": "Either 'add' or \"remove\"."}, True, ADVISORY),
        ("edit_user", "operation", {**TEXT, "description": "Either 'add' or \"remove\"."}, False, GOOD),
        ("edit_user", "operation", {**TEXT, "description": "What to add or remove."}, True, GOOD),
        ("edit_user", "what", {"enum": ["create", "delete"]}, True, GOOD),
        ("show_user", "action", {"enum": ["list", "get"]}, True, GOOD),
        ("change_node", "operation", {"enum": ["cordon", "drain"]}, True, GOOD),
        ("get_products", "buying_mode", {"enum": ["brief", "wholesale", "refine"]}, True, GOOD),
        ("get_products", "mode", {"enum": ["brief", "wholesale", "refine"]}, True, GOOD),
        ("check_rights", "operation", {**TEXT, "description": "'read', 'update' or 'delete'"}, True, GOOD),
        ("call_api", "method", {"enum": ["GET", "POST", "DELETE"]}, True, ADVISORY),
    ],
)
def test_action_switch(name: str, parameter: str, schema: Any, required: bool, outcome: Outcome) -> None:
    needed = [parameter] if required else []
    listed = tool(name, inputSchema=with_properties(required=needed, **{parameter: schema}))
    finding = judged(app(listed), "no-action-switch")
    assert finding.outcome is outcome
    if outcome is ADVISORY:
        assert finding.pointer == f"/result/tools/0/inputSchema/properties/{parameter}"


def test_action_switch_tells_the_tools_to_make() -> None:
    schema = with_properties(action={"enum": ["create", "update", "delete", "list"]})
    finding = judged(app(tool("manage_user", inputSchema=schema)), "no-action-switch")
    assert "create_user, update_user, delete_user" in finding.fix
    assert "(review flags this)" in finding.message


NODE = {"$ref": "#/$defs/node"}


@pytest.mark.parametrize(
    ("schema", "outcome"),
    [
        (of(a=of(b=of(c=TEXT))), GOOD),
        (of(a=of(b=of(c=of(d=TEXT)))), ADVISORY),
        (
            of(rows={"type": "array", "items": of(cells={"type": "array", "items": of(of=of(x=TEXT))})}),
            ADVISORY,
        ),
        (of(a={"anyOf": [of(b=TEXT), {"type": "null"}]}), GOOD),
        ({**of(a={"anyOf": [of(b=TEXT), {"type": "null"}]}), "required": ["a"]}, GOOD),
        ({**of(a={"anyOf": [of(b=TEXT), of(c=TEXT)]}), "required": ["a"]}, ADVISORY),
        ({**of(a={"anyOf": [of(b=TEXT), TEXT]}), "required": ["a"]}, GOOD),
        (of(a={"anyOf": [of(b=TEXT), of(c=TEXT)]}), GOOD),
        ({**of(a=NODE), "$defs": {"node": of(next=NODE, name=TEXT)}}, GOOD),
        ({"type": "object"}, GOOD),
    ],
)
def test_flat_input(schema: Any, outcome: Outcome) -> None:
    assert judged(app(tool(inputSchema=schema)), "flat-input-schema").outcome is outcome


def test_flat_input_of_an_adcp_task() -> None:
    account = {"oneOf": [of(account_id=TEXT), of(brand=TEXT)]}
    task = tool("create_media_buy", inputSchema={**of(account=account), "required": ["account"]})
    assert judged(app(task), "flat-input-schema").outcome is GOOD
    deep = tool("create_media_buy", inputSchema=of(a=of(b=of(c=of(d=TEXT)))))
    finding = judged(app(deep), "flat-input-schema")
    assert finding.outcome is ADVISORY
    assert "AdCP gives its tasks nested requests" in finding.fix
    assert judged(app(deep), "flat-input-schema", changed({"nesting": 4}, {})).outcome is GOOD


def test_tool_count_over_all_pages_without_hidden_ones() -> None:
    pages = [[tool(f"get_{page}{number}") for number in range(12)] for page in "ab"]
    assert judged(app(pages=pages), "tool-count").outcome is GOOD
    hidden = tool("get_c", _meta={"ui": {"visibility": ["app"]}})
    assert judged(app(pages=[*pages, [hidden]]), "tool-count").outcome is GOOD
    finding = judged(app(pages=[*pages, [tool("get_c")]]), "tool-count")
    assert finding.outcome is ADVISORY
    assert "25" in finding.received
    assert (
        judged(app(pages=[*pages, [tool("get_c")]]), "tool-count", changed({"tools": 25}, {})).outcome is GOOD
    )


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("ping", ADVISORY),
        ("health_check", ADVISORY),
        ("get_health", ADVISORY),
        ("echo", ADVISORY),
        ("comply_test_controller", ADVISORY),
        ("test_connection", ADVISORY),
        ("setup_database", ADVISORY),
        ("debugRequest", ADVISORY),
        ("health", ADVISORY),
        ("server_health", ADVISORY),
        ("project_admin", ADVISORY),
        ("ping_server", ADVISORY),
        ("get_customer_health", GOOD),
        ("health_summary", GOOD),
        ("ping_website", GOOD),
        ("add_account_admin", GOOD),
        ("transfer_internal", GOOD),
        ("setup_recurring_payment", GOOD),
        ("test_route_accessibility", GOOD),
        ("seed_keywords", GOOD),
        ("get_latest_contest", GOOD),
        ("start_ab_test", GOOD),
        ("schedule_test_drive", GOOD),
        ("get_health_records", GOOD),
        ("get_administrator", GOOD),
        ("find_seed_varieties", GOOD),
        ("shipping_quote", GOOD),
        ("/", GOOD),
    ],
)
def test_internal_tools(name: str, outcome: Outcome) -> None:
    assert judged(app(tool(name)), "no-internal-tools").outcome is outcome


def test_health_of_what_is_asked_for() -> None:
    of_one = tool(
        "get_service_health", inputSchema=with_properties(required=["city"], city={"type": "string"})
    )
    assert judged(app(of_one), "no-internal-tools").outcome is GOOD
    assert judged(app(tool("get_service_health")), "no-internal-tools").outcome is ADVISORY


def test_internal_tools_behind_a_prefix() -> None:
    names = ["wiki_test_connection", "wiki_search_pages", "wiki_get_page"]
    assert judged(app(*map(tool, names)), "no-internal-tools").outcome is ADVISORY


def test_names_are_unique_over_pages_and_hidden_tools_count() -> None:
    assert judged(app(pages=[[tool("a")], [tool("A")]]), "tool-names-unique").outcome is GOOD
    finding = judged(app(pages=[[tool("a")], [tool("b"), tool("a")]]), "tool-names-unique")
    assert finding.outcome is FAILED
    assert finding.pointer == "/result/tools/1/name"
    assert '"a" 2 times' in finding.received
    hidden = tool("a", _meta={"ui": {"visibility": ["app"]}})
    assert judged(app(tool("a"), hidden), "tool-names-unique").outcome is FAILED
