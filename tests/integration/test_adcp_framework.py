"""The harness against a seller on the server framework of PyPI `adcp` 9.2.0."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import run
from servers import finding, found, interpreter_with, rules, serving

# The error is in structuredContent; the text says "CODE: message" or "CODE[field]: message", which is no JSON.
PROSE = "adcp.errors.text-mirror"
OUTPUT_SCHEMA = "mcp.result.output-schema"
ADVISORIES = {
    "mcp.jsonrpc.batch",  # of 2025-03-26, which it agrees to speak
    "mcp.jsonrpc.refusal-id",  # "server-error", for a session that is missing or gone
    "mcp.interop.results",  # the official client raises where a result does not fit the outputSchema
    PROSE,
    "adcp.envelope.error-status",
    "adcp.envelope.status",  # of a server that serves 3.0 too
    # An exception becomes isError: true and "Error executing tool get_media_buys": masked, and without a code.
    "adcp.errors.structured",
    "adcp.security.credential-in-arguments",
    "adcp.versions.conflict",  # adcp_version 3.1 beside adcp_major_version 2 is served
}
CALLS = """
calls:
  - {tool: get_products, name: wrong-type, arguments: {buying_mode: 5}, expect: error, error_codes: [VALIDATION_ERROR]}
  - {tool: get_media_buys, name: raised, arguments: {media_buy_ids: [x]}, expect: error, error_codes: [MEDIA_BUY_NOT_FOUND]}
  - tool: get_media_buy_delivery
    name: returned
    arguments: {media_buy_ids: [x]}
    expect: error
    error_codes: [MEDIA_BUY_NOT_FOUND]
"""


@pytest.fixture(scope="module")
def seller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("adcp") / "log"
    with serving(interpreter_with("adcp"), "adcp_framework.py", log=log) as url:
        yield url


def test_its_defaults_conform_but_for_the_output_schemas(tmp_path: Path, seller: str) -> None:
    done = run(tmp_path, f"--server-url={seller}")
    assert done.code == 1, done.out
    assert done.target["adcp_version"] == "3.2"  # the highest of its supported_versions that is a release
    assert rules(done, "advisory") == ADVISORIES
    masked = [subject for rule, subject in found(done, "advisory") if rule == "adcp.errors.structured"]
    assert masked == ["get_media_buys/sample"]
    # The framework lists the schemas of AdCP 3.2 as outputSchema, whatever release the answer is written in.
    assert rules(done, "failed") == {OUTPUT_SCHEMA}
    assert not found(done, "blocked")


def test_how_a_sellers_own_errors_come_through(tmp_path: Path, seller: str) -> None:
    (tmp_path / "adcp.yaml").write_text(CALLS)
    done = run(tmp_path, f"--server-url={seller}")
    assert done.code == 1, done.out
    assert done.target["verdict"] == "nonconformant"
    # What adcp_error() returns is taken for a success, fails its schema, and goes out as VALIDATION_ERROR.
    assert rules(done, "failed") == {"adcp.errors.expected-code", OUTPUT_SCHEMA}
    lost = finding(done, "adcp.errors.expected-code", "get_media_buy_delivery/returned")
    assert "VALIDATION_ERROR" in str(lost["received"])
    # AdcpError says recovery "terminal" unless told otherwise; the enum says correctable for MEDIA_BUY_NOT_FOUND.
    assert rules(done, "advisory") == ADVISORIES | {"adcp.errors.recovery-class"}
    assert found(done, "advisory") >= {
        (PROSE, "get_products/wrong-type"),
        (PROSE, "get_media_buys/raised"),
        (PROSE, "get_media_buy_delivery/returned"),
        ("adcp.errors.recovery-class", "get_media_buys/raised"),
    }
    assert not found(done, "blocked")
