"""--adcp-write-config: a configuration made of what a server lists, that loads and runs, whatever the server is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import OPEN, SANDBOX, TODAY, closed, listed
from pytest_adcp.harness.config import load
from pytest_adcp.harness.given import Given
from pytest_adcp.harness.plan import ConfiguredCall, Plan, PlanRequest, plan
from pytest_adcp.harness.scaffold import Scaffold, Seller, render
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.server import server_of
from pytest_adcp.harness.subjects import Server
from pytest_adcp.harness.transcript import Limits, Survey, Transcript
from runs import run
from told import complaint, quiet, told

HOSTILE = [
    "evil\nserver_url: https://evil.example/mcp",
    "x: y\n- tool: create_media_buy",
    "\u2028calls:\u2029",
    "!!python/object/apply:os.system ['x']",
    "\x1b[31m\u202ered",
    "# &a *a %YAML 2.0",
    "\ud800",
    "ключ 🔑",
]


def seller(tools: Sequence[Mapping[str, Any]], *, name: str = "Acme", **more: Any) -> Seller:
    nothing = server_of(Transcript(Survey("0", "r", "", "", "", Limits()), ()), {})
    members = {item: getattr(nothing, item) for item in Server.__dataclass_fields__}
    server = Server(**(members | {"name": name, "tools": tuple(tools)}))
    about = {
        "url": "https://seller.example/mcp",
        "has_secret": False,
        "account": None,
        "sandbox_account": None,
    }
    return Seller(**(about | {"mutating": False, "server": server} | more))


def written(folder: Path, about: Seller, **more: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the text, and what it says when it is loaded as adcp.yaml."""
    path = folder / "scaffold.yaml"
    text, number = render(
        Scaffold(Given("scaffold.yaml", "--adcp-write-config", folder), path, **more), about
    )
    path.write_text(text, "utf-8")
    values = load(path).values
    assert len(values["calls"]) == number
    return text, values


def planned(tools: Sequence[Mapping[str, Any]], values: Mapping[str, Any], **request: Any) -> Plan:
    calls = tuple(
        ConfiguredCall(item["tool"], item["name"], item["arguments"], item["expect"])
        for item in values["calls"]
    )
    return plan(tools, PlanRequest(today=TODAY, calls=calls, **request), "r1")


def sent(made: Plan) -> dict[str, Any]:
    """Return what a plan sends, by subject; keys differ between two ways to the same call."""
    return {call.subject: (call.arguments, call.takes, call.mutating) for call in made.calls}


@pytest.mark.parametrize(
    "schema", [OPEN, closed("brief", "buying_mode", "context", "account")], ids=["open", "closed"]
)
@pytest.mark.parametrize("account", [None, {"account_id": "a1"}], ids=["none", "account"])
def test_the_file_makes_the_calls_that_are_made_without_it(
    tmp_path: Path, schema: dict[str, Any], account: dict[str, Any] | None
) -> None:
    tools = listed("get_adcp_capabilities", "list_creative_formats", "get_signals", get_products=schema)
    text, values = written(tmp_path, seller(tools, account=account))
    assert values.get("account") == account
    assert "adcp_run" not in text, "the run's own context is no argument of the user's"
    assert sent(planned(tools, values, account=account)) == sent(
        plan(tools, PlanRequest(today=TODAY, account=account), "r1")
    )


def test_mutating_calls_sleep_until_they_are_wanted(tmp_path: Path) -> None:
    tools = listed("get_products", "create_media_buy")
    text, values = written(tmp_path, seller(tools))
    assert [call["tool"] for call in values["calls"]] == ["get_products"]
    assert "sandbox_account" in text
    awake = text.replace("  # - tool: create_media_buy", "  - tool: create_media_buy")
    head, mark, tail = awake.partition("  - tool: create_media_buy\n")
    awake = head + mark + "\n".join(line.replace("  # ", "  ", 1) for line in tail.splitlines())
    (tmp_path / "awake.yaml").write_text(awake)
    made = load(tmp_path / "awake.yaml").values["calls"][1]
    assert made["tool"] == "create_media_buy"
    assert made["arguments"]["idempotency_key"] == "$uuid"
    assert made["arguments"]["packages"][0]["product_id"] == {"from": "get_products#/products/0/product_id"}
    assert "account" not in made["arguments"]


def test_mutating_calls_are_awake_in_a_run_that_makes_them(tmp_path: Path) -> None:
    tools = listed("get_products", "create_media_buy")
    _, values = written(tmp_path, seller(tools, mutating=True, sandbox_account=SANDBOX))
    assert [call["tool"] for call in values["calls"]] == ["get_products", "create_media_buy"]
    assert values["sandbox_account"] == SANDBOX
    assert values["plan"] == {"auto": True, "mutating": True}


def test_what_has_no_call_is_said(tmp_path: Path) -> None:
    tools = listed(
        "get_task_status", "adcp_get_products", "widgets", get_signals=closed("zone", required=("zone",))
    )
    text, values = written(tmp_path, seller(tools))
    assert values["calls"] == []
    assert "# get_task_status has no call: needs task_id" in text
    assert '# get_signals has no call: its inputSchema requires "zone"' in text
    assert (
        "# - adcp_get_products (an AdCP tool has exactly the name of its task: get_products)\n# - widgets\n"
        in text
    )


def test_names_of_variables_and_files_are_taken_over(tmp_path: Path) -> None:
    auth = {"bearer_env": "SELLER_TOKEN", "header_env": {"X-Key": "SELLER_KEY"}}
    _, values = written(tmp_path, seller(listed("get_products")), auth=auth, files={"ca_file": "/etc/ca.pem"})
    assert values["auth"] == auth
    assert values["ca_file"] == "/etc/ca.pem"


def test_a_url_that_holds_a_secret_does_not_get_in(tmp_path: Path) -> None:
    about = seller(listed("get_products"), url="https://[redacted]@seller.example/mcp", has_secret=True)
    text, values = written(tmp_path, about)
    assert "server_url" not in values
    assert "ADCP_SERVER_URL" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_comments(tmp_path: Path, name: str) -> None:
    schema = {"type": "object", "properties": {"brief": {"type": "string"}, name: {"type": "string", "default": name}},
              "required": ["brief", name]}  # fmt: skip
    tools = [
        *listed("get_products"),
        {"name": name, "inputSchema": {}},
        {"name": "get_signals", "inputSchema": schema},
    ]
    text, values = written(tmp_path, seller(tools, name=name))
    assert values["server_url"] == "https://seller.example/mcp"
    assert {call["tool"] for call in values["calls"]} <= {"get_products", "get_signals"}
    assert values.keys() == {"server_url", "plan", "calls"}
    assert "\x1b" not in text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
       | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_whatever_a_server_says_the_file_loads(tmp_path: Path, name: str, value: Any) -> None:
    schema = {"type": "object", "properties": {name: {"const": value}}, "required": [name]}
    tools = [{"name": "get_products", "inputSchema": schema}, {"name": name, "inputSchema": {}}]
    _, values = written(tmp_path, seller(tools, name=name, account={"account_id": name or "a"}))
    assert values["server_url"] == "https://seller.example/mcp"


# -- as a run ------------------------------------------------------------------------------------------------------


def test_the_file_that_is_written_runs(tmp_path: Path) -> None:
    token = {"TOKEN": "bearer-s3cret"}
    with running(SellerOptions(bearer="bearer-s3cret")) as url:
        done = run(
            tmp_path,
            f"--server-url={url}",
            "--adcp-write-config",
            env=token | {"ADCP_BEARER_ENV": "TOKEN"},
        )
        assert done.code == 0, done.out
        assert "adcp: adcp.yaml was written, with 8 calls" in done.out
        assert not (tmp_path / "adcp-report").exists()
        text = (tmp_path / "adcp.yaml").read_text()
        assert yaml.safe_load(text)["auth"] == {"bearer_env": "TOKEN"}
        assert "s3cret" not in text
        again = run(tmp_path, f"--server-url={url}", "--adcp-write-config")
        assert again.code == 4
        assert '--adcp-write-config: "adcp.yaml" is there already and is never overwritten' in again.out
        assert (tmp_path / "adcp.yaml").read_text() == text
        judged = run(tmp_path, "--adcp-config=adcp.yaml", env=token)
        without = run(
            tmp_path, f"--server-url={url}", "--adcp-config=/dev/null", "--adcp-bearer-env=TOKEN", env=token
        )
    assert (judged.code, without.code) == (0, 0), judged.out + without.out
    kinds = [done.target["survey"]["requests_by_kind"] for done in (judged, without)]
    assert kinds[0] == kinds[1], "as many requests as without it"


def test_a_server_that_does_not_answer_gets_no_file(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=http://127.0.0.1:9/mcp", "--adcp-write-config=new.yaml")
    assert done.code == 6, done.out
    assert "gave no answer to initialize: nothing listens at 127.0.0.1:9" in done.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--server-url=demo", "--adcp-write-config=gone/x.yaml"], '"gone/x.yaml" is not a file in a folder that is there'),
        (["--adcp-profile=client", "--adcp-write-config=x.yaml"], "needs a server that lists its tools: pass --server-url=URL"),
        (["--server-url=demo", "--adcp-write-config="], '"" is no name of a file or folder'),
    ],
)  # fmt: skip
def test_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str
) -> None:
    quiet(monkeypatch, tmp_path)
    assert complaint(*arguments) == f"--adcp-write-config: {error}"


def test_a_link_to_nowhere_is_a_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, tmp_path)
    (tmp_path / "adcp.yaml").symlink_to("elsewhere")
    assert "is there already" in complaint("--server-url=demo", "--adcp-write-config")
    assert told("--server-url=demo", "--adcp-write-config=other.yaml").plan_only
