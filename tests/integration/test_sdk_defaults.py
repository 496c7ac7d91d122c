"""Small conforming sellers on the official SDKs with default settings: all that the harness has to say of them, exactly.

No failure that the authors of an SDK could rightly dispute: Origin on loopback is the only one, where an SDK does not check it
unless told to. Whatever is new here is a false alarm, or has a sentence of the specification behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from runs import run
from servers import (
    found,
    interpreter_with,
    interpreter_with_the_sdk,
    node_packages,
    rules,
    serving,
)

# They agree to speak 2025-03-26, and refuse its batches (MCP 2025-03-26, basic, "Batching").
BATCH = "mcp.jsonrpc.batch"
ORIGIN = {("mcp.http.origin", "http/origin-foreign"), ("mcp.http.origin", "http/origin-null")}


@dataclass(frozen=True)
class Expected:
    """What is found."""

    revision: str
    failed: frozenset[tuple[str, str]] = frozenset()
    advisory: frozenset[str] = frozenset()


PYTHON_1 = Expected(
    "2025-11-25",
    advisory=frozenset(
        {
            BATCH,
            "mcp.http.accept-case",  # compares the text; RFC 9110 8.3.1: media types have no case
            # Refusals by its transport have the id "server-error": MCP, basic, "Error Responses": the id of the request.
            "mcp.jsonrpc.refusal-id",
            "mcp.jsonrpc.parse-error",  # -32700, and that id
            "mcp.jsonrpc.unknown-method",  # -32602 instead of -32601 (JSON-RPC 5.1); it is refused all the same
        }
    ),
)
PYTHON_2 = Expected("2025-11-25", advisory=frozenset({BATCH}))
FASTMCP = Expected(
    "2025-11-25",
    failed=frozenset(ORIGIN),  # it checks Origin only when told to
    advisory=frozenset(
        {
            BATCH,
            # Its inputSchemas are closed: what a tool does not name is refused, in prose, with the values that were sent.
            "adcp.envelope.tolerates-envelope-fields",
            "adcp.envelope.tolerates-unknown-fields",
            "adcp.errors.structured",
            "adcp.security.idempotency-key",
        }
    ),
)
TYPESCRIPT = Expected(
    "2025-11-25",
    failed=frozenset(ORIGIN),  # its transport checks Origin only when told to
    advisory=frozenset(
        {
            "mcp.http.accept-case",  # compares the text
            "mcp.jsonrpc.parse-error",  # express.json() answers with a page before the SDK reads the body
        }
    ),
)


def check(folder: Path, url: str, expected: Expected) -> None:
    done = run(folder, f"--server-url={url}")
    assert done.target["server"]["protocol_version"] == expected.revision
    assert found(done, "failed") == expected.failed
    assert rules(done, "advisory") == expected.advisory
    assert not found(done, "blocked")
    assert done.code == (1 if expected.failed else 0), done.out
    success, error = ("get_products/sample", "success"), ("get_products/unsupported-major", "error")
    assert {success, error} <= {(call["subject"], call["classified"]) for call in done.target["calls"]}


def test_python_sdk_1(tmp_path: Path) -> None:
    with serving(interpreter_with("mcp"), "official_sdk_1.py", log=tmp_path / "log") as url:
        check(tmp_path, url, PYTHON_1)


@pytest.mark.parametrize("served", ["sessions", "stateless-json"])
def test_python_sdk_2(tmp_path: Path, served: str) -> None:
    with serving(interpreter_with_the_sdk(), "official_sdk.py", served, log=tmp_path / "log") as url:
        check(tmp_path, url, PYTHON_2)


def test_fastmcp(tmp_path: Path) -> None:
    with serving(interpreter_with("fastmcp"), "fastmcp_seller.py", log=tmp_path / "log") as url:
        check(tmp_path, url, FASTMCP)


def test_typescript_sdk(tmp_path: Path) -> None:
    node, packages = node_packages()
    with serving(node, "typescript_sdk.mjs", packages, log=tmp_path / "log") as url:
        check(tmp_path, url, TYPESCRIPT)
