"""The harness against a first agent on FastMCP, which is where most of what AdCP clients cannot read comes from."""

from __future__ import annotations

from pathlib import Path

from runs import run
from servers import finding, found, interpreter_with, rules, serving

PAIR = ("not-found-1", "not-found-2")


def test_a_first_agent(tmp_path: Path) -> None:
    with serving(interpreter_with("fastmcp"), "fastmcp_naive.py", log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 1, done.out
    assert done.target["verdict"] == "nonconformant"
    assert found(done, "failed") == {
        # -> str: structuredContent is {"result": "{\"products\": [...]}"}.
        ("adcp.extraction.top-level-data", "get_products/sample"),
        # -> list: structuredContent is {"result": [{"format_id": ...}]}.
        ("adcp.extraction.top-level-data", "list_creative_formats/sample"),
        # {"error": "signals are not sold here"} with isError: false: no signals, and a failure that no client sees.
        ("adcp.extraction.top-level-data", "get_signals/sample"),
        ("adcp.errors.flagged", "get_signals/sample"),
        ("adcp.discovery.idempotency", "get_adcp_capabilities/sample"),
        # "no row for unknown_... in /srv/agent/buys.sqlite"
        *(("adcp.security.file-path", f"get_media_buy_delivery/{name}") for name in ("unknown-id", *PAIR)),
        ("adcp.security.not-found-uniform", "get_media_buy_delivery/not-found-2"),
        # On loopback, and its check of Origin is off by default.
        *(("mcp.http.origin", f"http/origin-{whose}") for whose in ("foreign", "null")),
    }
    assert rules(done, "advisory") == {
        "adcp.envelope.status",  # of a server that serves 3.0
        # "Unexpected keyword argument", of every tool, with the value that was sent
        "adcp.envelope.tolerates-envelope-fields",
        "adcp.envelope.tolerates-unknown-fields",
        "adcp.security.idempotency-key",
        "adcp.errors.structured",
        "mcp.tools.description",  # its functions have no docstrings
        "mcp.tools.open-schemas",  # FastMCP closes each inputSchema
        "mcp.jsonrpc.batch",  # of 2025-03-26, which it agrees to speak
    }
    assert found(done, "advisory") >= {
        # isError: true, and the text is "Error calling tool 'get_media_buy_delivery': no row for unknown_... in /srv/...".
        ("adcp.errors.structured", "get_media_buy_delivery/unknown-id"),
        # isError: true, and the text is Pydantic's "1 validation error for call[...]".
        ("adcp.errors.structured", "get_products/wrong-type"),
        ("adcp.errors.structured", "get_signals/wrong-type"),
    }
    assert not found(done, "blocked")
    for tool in ("get_products", "list_creative_formats"):
        wrapped = finding(done, "adcp.extraction.top-level-data", f"{tool}/sample")
        assert wrapped["pointer"] == "/result/structuredContent/result"
        assert str(wrapped["fix"]).startswith("FastMCP wraps")
    assert (
        finding(done, "adcp.errors.flagged", "get_signals/sample")["pointer"]
        == "/result/structuredContent/error"
    )
    # get_media_buys without an annotation and get_media_buy_delivery -> dict come through as they should.
    classified = {call["subject"]: call["classified"] for call in done.target["calls"]}
    assert classified["get_media_buys/sample"] == classified["get_media_buy_delivery/sample"] == "success"
