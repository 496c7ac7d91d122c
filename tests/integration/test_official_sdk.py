"""The harness against servers on the official MCP SDK. Needs only `mcp` in this environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import run
from servers import finding, found, interpreter_with_the_sdk, rules, serving

BATCH = ("mcp.jsonrpc.batch", "http/batch")


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
    assert not found(done, "failed") | found(done, "blocked")
    # The SDK agrees to speak 2025-03-26, and refuses the batches of that revision.
    assert found(done, "advisory") == ({BATCH} if revision == "2025-11-25" else set())
    assert [
        (call["subject"], call["classified"]) for call in done.target["calls"] if call["purpose"] != "probe"
    ] == [
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
    # isError: true and Pydantic's prose, "Error executing tool get_products: 1 validation error for ...".
    assert found(done, "advisory") == {("adcp.errors.structured", "get_products/text-for-filters"), BATCH}


def test_its_wrapper_is_named(tmp_path: Path) -> None:
    with serving(interpreter_with_the_sdk(), "official_sdk_naive.py", log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 1, done.out
    assert done.target["verdict"] == "nonconformant"
    assert rules(done, "failed") == {
        "adcp.discovery.idempotency",  # its capabilities do not say what a repeated key does
        "adcp.envelope.context",  # a schema without properties takes a context, and the tool forgets it
        "adcp.extraction.top-level-data",
    }
    # A schema without properties takes everything, so the two tools without arguments accept the bad requests too.
    always = ("sample", "unsupported-major", "wrong-type")
    # -> str gives structuredContent {"result": "{\"products\": ..."}, -> list gives {"result": [{"format_id": ...}]}.
    wrapped = [("adcp.extraction.top-level-data", "get_products/sample")]
    wrapped += [("adcp.extraction.top-level-data", f"list_creative_formats/{name}") for name in always]
    assert set(wrapped) <= found(done, "failed")
    for rule, subject in wrapped:
        assert finding(done, rule, subject)["pointer"] == "/result/structuredContent/result"
        assert str(finding(done, rule, subject)["fix"]).startswith("the Python MCP SDK wraps")
    assert rules(done, "advisory") == {
        "adcp.envelope.status",  # of a server that serves 3.0
        "adcp.errors.structured",
        "adcp.extraction.structured-present",
        "mcp.tools.description",  # its functions have no docstrings
        "mcp.jsonrpc.batch",
    }
    assert found(done, "advisory") >= {
        # No annotation, no structuredContent: the answer is the JSON in the text, which is legal.
        *(("adcp.extraction.structured-present", f"get_media_buys/{name}") for name in always),
        # isError: true and Pydantic's prose, "Error executing tool get_products: 1 validation error for ...".
        ("adcp.errors.structured", "get_products/wrong-type"),
    }
    assert not found(done, "blocked")
