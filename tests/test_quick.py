"""--adcp-quick: one call a tool, nothing beyond, and a verdict that says so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from plans import SANDBOX, listed, mutating, planned, subjects
from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.seller import SellerOptions, running
from runs import run
from told import URL, quiet, told


def test_one_call_a_tool_the_users_first() -> None:
    calls = (
        ConfiguredCall("get_products", "mine", {"brief": "x"}, Expect.SUCCESS),
        ConfiguredCall("get_products", "more"),
    )
    tools = listed("get_adcp_capabilities", "get_products", "get_signals", "create_media_buy")
    made = planned(tools, calls=calls, quick=True)
    assert sorted(subjects(made)) == [
        "get_adcp_capabilities/sample",
        "get_products/mine",
        "get_signals/sample",
    ]
    booked = mutating(tools, calls=calls, quick=True)
    assert max(Counter(call.tool for call in booked.calls).values()) == 1
    assert "create_media_buy/sample" in subjects(booked)
    assert SANDBOX in [call.arguments.get("account") for call in booked.calls]


def test_it_leaves_out_probes_and_the_official_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet(monkeypatch, tmp_path)
    quick = told(URL, "--adcp-quick")
    assert (quick.quick, quick.probes, quick.interop) == (True, False, False)
    assert told(URL, yaml="quick: true").quick


def test_a_seller_that_is_fine(tmp_path: Path) -> None:
    with running(SellerOptions()) as url:
        done = run(tmp_path, f"--server-url={url}", "--adcp-quick")
    assert done.code == 0, done.out
    assert "inconclusive: only a part was judged (--adcp-quick)" in done.out
    assert done.target["reasons"] == ["only a part was judged (--adcp-quick)"]
    assert done.target["counts"]["blocked"] == 0
    assert done.target["survey"]["requests"] <= 2 * 8, "8 read tasks"
    again = run(tmp_path, "--adcp-replay=adcp-report/transcript.jsonl")
    assert (again.code, again.target["reasons"]) == (0, done.target["reasons"])


def test_a_seller_that_is_not(tmp_path: Path) -> None:
    with running(SellerOptions(fault="nested-result-fastmcp")) as url:
        done = run(tmp_path, f"--server-url={url}", "--adcp-quick")
    assert done.code == 1, done.out
    assert done.target["verdict"] == "nonconformant"
