"""The harness against servers on the official MCP SDK. Needs only `mcp` in this environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs import run
from servers import finding, found, interpreter_with_the_sdk, serving


@pytest.mark.parametrize(
    ("served", "revision"),
    [("sessions", "2025-11-25"), ("stateless-json", "2025-11-25"), ("stateless-era", "2026-07-28")],
)
def test_nothing_is_wrong_with_a_conforming_seller(tmp_path: Path, served: str, revision: str) -> None:
    with serving(interpreter_with_the_sdk(), "official_sdk.py", served, log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"
    assert done.target["server"]["protocol_version"] == revision
    assert not found(done, "failed") | found(done, "advisory") | found(done, "blocked")
    assert [(call["subject"], call["classified"]) for call in done.target["calls"]] == [
        ("get_adcp_capabilities/sample", "success"),
        ("get_products/sample", "success"),
        ("get_products/unsupported-major", "error"),
        ("get_media_buy_delivery/sample", "success"),
        ("get_media_buy_delivery/unknown-id", "error"),
    ]


def test_what_the_sdk_itself_refuses_has_no_adcp_error(tmp_path: Path) -> None:
    (tmp_path / "adcp.yaml").write_text(
        "calls: [{tool: get_products, name: text-for-filters, arguments: {buying_mode: brief, filters: text}, "
        "expect: error}]\n"
    )
    with serving(interpreter_with_the_sdk(), "official_sdk.py", "sessions", log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 0, done.out
    assert done.target["verdict"] == "conformant"
    assert not found(done, "failed") | found(done, "blocked")
    # isError: true and Pydantic's prose, "1 validation error for get_productsArguments ...": no structuredContent.
    assert found(done, "advisory") == {("adcp.errors.structured", "get_products/text-for-filters")}


def test_its_wrapper_is_named(tmp_path: Path) -> None:
    with serving(interpreter_with_the_sdk(), "official_sdk_naive.py", log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 1, done.out
    assert done.target["verdict"] == "nonconformant"
    # structuredContent is {"result": "{\"products\": ..."} of the first and {"result": [{"format_id": ...}]} of the second.
    assert found(done, "failed") == {
        ("adcp.extraction.top-level-data", "get_products/sample"),
        ("adcp.extraction.top-level-data", "list_creative_formats/sample"),
    }
    for tool in ("get_products", "list_creative_formats"):
        wrapped = finding(done, "adcp.extraction.top-level-data", f"{tool}/sample")
        assert wrapped["pointer"] == "/result/structuredContent/result"
        assert str(wrapped["fix"]).startswith("the Python MCP SDK wraps")
    # get_media_buys has no annotation, so the SDK sends no structuredContent; its text is the JSON, which is legal.
    # get_products/wrong-type is refused by Pydantic, in prose.
    assert found(done, "advisory") == {
        ("adcp.extraction.structured-present", "get_media_buys/sample"),
        ("adcp.errors.structured", "get_products/wrong-type"),
    }
    assert not found(done, "blocked")
