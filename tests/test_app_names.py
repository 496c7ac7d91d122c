"""The rules on tool names, on names that are good, bad, and good in a way that a naive check would call bad."""

from __future__ import annotations

import time

import pytest
from apps import app, judged, text_of, tool
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites.connected_apps.words import one_edit, words_of

GOOD, ADVISORY, FAILED, NONE = Outcome.PASSED, Outcome.ADVISORY, Outcome.FAILED, Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("rule", "names", "outcome"),
    [
        ("case", "get_user", GOOD),
        ("case", "getUser get2Users get_user_v2", GOOD),
        ("case", "fetch", GOOD),
        ("case", "find-restaurant", ADVISORY),
        ("case", "Get_User", ADVISORY),
        ("case", "GetUser", ADVISORY),
        ("case", "get__user", ADVISORY),
        ("case", "user.get", ADVISORY),
        ("case", "2fa_check", ADVISORY),
        ("case", "tasks/get", GOOD),  # the slash is the business of mcp.tools.names
        ("one-style", "get_user delete_user ping", GOOD),
        ("one-style", "get_user deleteUser", ADVISORY),
        ("one-style", "get-user deleteUser", ADVISORY),
        ("one-style", "get-user delete-user whoami", GOOD),
        ("one-style", "fetch search", NONE),
        ("one-style", "get_user tasks/get user.list", GOOD),
        ("one-style", "_search get_user", GOOD),
        ("verb-noun", "get_user", GOOD),
        ("verb-noun", "user_list", GOOD),
        ("verb-noun", "getUser", GOOD),
        ("verb-noun", "browser_toggle_grid poll_commands sort_range trace_formula", GOOD),
        ("verb-noun", "shop_orders shop_users shop_get_item", ADVISORY),
        ("verb-noun", "user_profile", ADVISORY),
        ("verb-noun", "search", ADVISORY),
        ("verb-noun", "天気", GOOD),  # no language but English is judged
        ("verb-noun", "-", GOOD),
        ("specific", "run_report execute_query process_payment helper_list", GOOD),
        ("specific", "run", FAILED),
        ("specific", "Execute", FAILED),
        ("specific", "doEverythingTool", FAILED),
        ("specific", "assistant-tool", FAILED),
        ("specific", "handle_content", FAILED),
        ("generic-word", "process_data", ADVISORY),
        ("generic-word", "handle_misc_items", ADVISORY),
        ("generic-word", "manage_user", ADVISORY),
        ("generic-word", "manageUser", ADVISORY),
        ("generic-word", "process_payment list_items handle_dialog", GOOD),
        ("generic-word", "get_manager", GOOD),
        ("generic-word", "crm_data crm_list_users crm_get_user", GOOD),
        ("generic-word", "crm_manage_user crm_list_users crm_get_user", ADVISORY),
        ("generic-word", "execute", GOOD),  # tool-name-specific says it
        ("lookalike", "get_user", GOOD),
        ("lookalike", "get_us\u0435r", ADVISORY),
        ("lookalike", "get_caf\u00e9", ADVISORY),
        ("distinct", "get_user list_users", GOOD),
        ("distinct", "get_product get_products", ADVISORY),
        ("distinct", "get_value set_value", GOOD),
        ("distinct", "merge_cells_left merge_cells_right", GOOD),
        ("distinct", "getUser get_user", ADVISORY),
        ("distinct", "get-user GET_USER", ADVISORY),
        ("distinct", "tasks/get tasks_get", ADVISORY),
        ("distinct", "move_to_x move_to_y", GOOD),
        ("distinct", "get_user get_user", GOOD),  # tool-names-unique says it
        ("distinct", "show_map show_mat", ADVISORY),
        ("distinct", "upload_file_now upload_files", GOOD),
    ],
)
def test_rule(rule: str, names: str, outcome: Outcome) -> None:
    evidence = app(*(tool(name) for name in names.split()))
    assert judged(evidence, f"tool-name-{rule}").outcome is outcome


def test_near_copy_of_a_trusted_name() -> None:
    trusting = changed({}, {"trusted_tools": ["send_payment"]})
    for name, outcome in (
        ("send_payment", GOOD),
        ("send_payments", ADVISORY),
        ("send_paymemt", ADVISORY),
        ("Send_Payment", GOOD),
        ("send_message", GOOD),
    ):
        assert judged(app(tool(name)), "tool-name-lookalike", trusting).outcome is outcome


def test_findings_say_what_to_write() -> None:
    evidence = app(tool("list_users"), tool("find-restaurant"), tool("manage_user"))
    case = judged(evidence, "tool-name-case")
    assert '"name": "find_restaurant"' in case.fix
    assert case.pointer == "/result/tools/1/name"
    assert "find-restaurant" in judged(evidence, "tool-name-one-style").message
    assert "create_user, update_user, delete_user" in judged(evidence, "tool-name-generic-word").fix


@pytest.mark.parametrize("name", ["2fa_check", "-"])
def test_a_name_without_a_nearby_good_one_gets_the_general_advice(name: str) -> None:
    assert judged(app(tool(name)), "tool-name-case").fix.startswith("Rename the tools.")


def test_tools_of_an_interface_may_have_any_name() -> None:
    hidden = tool("run", _meta={"ui": {"visibility": ["app"]}})
    assert judged(app(tool(), hidden), "tool-name-specific").outcome is GOOD
    assert judged(app(hidden), "tool-name-specific").outcome is NONE


def test_verbs_can_be_added() -> None:
    evidence = app(tool("frobnicate_user"))
    assert judged(evidence, "tool-name-verb-noun").outcome is ADVISORY
    known = changed({}, {"verbs": {"add": ["frobnicate"]}})
    assert judged(evidence, "tool-name-verb-noun", known).outcome is GOOD


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get_web_page", "get web page"),
        ("getWebPage", "get web page"),
        ("get-web.page/2", "get web page 2"),
        ("parseHTMLPage", "parse html page"),
        ("listIDs", "list i ds"),
        ("UPPER_CASE", "upper case"),
        ("v2Get", "v2 get"),
        ("", ""),
        ("__", ""),
        ("прочитать_файл", "прочитать файл"),
    ],
)
def test_words(name: str, words: str) -> None:
    assert " ".join(words_of(name)) == words


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("page", "pages", True),
        ("page", "pace", True),
        ("age", "page", True),
        ("page", "page", False),
        ("page", "apge", False),
        ("page", "pagers", False),
        ("", "a", True),
        ("a", "", True),
        ("", "", False),
    ],
)
def test_one_edit(one: str, other: str, expected: bool) -> None:
    assert one_edit(one, other) is expected


@pytest.mark.parametrize(
    "rule", ["case", "one-style", "verb-noun", "specific", "generic-word", "lookalike", "distinct"]
)
def test_hostile_names_are_read_within_bounds(rule: str) -> None:
    names = [
        "a_" * 500_000,
        "-" * 500_000,
        "aB" * 300_000,
        *(f"get_user_{number}" for number in range(3_000)),
    ]
    evidence = app(*({"name": name, "inputSchema": {"type": "object"}} for name in names))
    began = time.perf_counter()
    finding = judged(evidence, f"tool-name-{rule}")
    assert time.perf_counter() - began < 5
    assert len(text_of(finding)) < 3_000
