"""The reference seller where it asks for a token: what it serves to whom, and what each of its faults changes about that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
import pytest
from buyers import ACCEPT, HANDSHAKE, initialize_params
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.seller.faults import faults

TOKEN = "token-of-the-reference-seller"
CALLERS = {
    "known": f"Bearer {TOKEN}",
    "none": None,
    "unknown": "Bearer invalid-1",
    "malformed": "invalid-1",
}
DOCUMENTS = {
    "resource": "/.well-known/oauth-protected-resource/mcp",
    "root": "/.well-known/oauth-protected-resource",
    "server": "/.well-known/oauth-authorization-server",
}
NOBODY = "none unknown malformed"

# fault | what differs | what stands in the first of it
TABLE = r"""
read-unprotected              | none unknown malformed | ^200.*"creatives":\[
anonymous-admitted            | none opening           | ^200.*"creatives":\[
any-bearer-admitted           | unknown                | ^200.*"creatives":\[
session-authenticates         | none unknown malformed | ^200.*"creatives":\[
malformed-credentials-crash   | malformed              | ^500
refused-by-tool               | none unknown malformed opening | ^200.*"isError":true|^200.*AUTH_REQUIRED
refused-by-rpc-error          | none unknown malformed opening | ^200.*-32028
refused-as-not-found          | none unknown malformed opening | ^404
challenge-missing             | none unknown malformed opening | ^401 $
challenge-relative            | none unknown malformed opening | resource_metadata="/
challenge-to-nowhere          | none unknown malformed opening | resource_metadata="http://[^"]*/elsewhere"
metadata-of-another           | resource               | "resource":"http://[^"]*/other"
metadata-of-origin            | resource               | "resource":"http://[^"/]*"
metadata-without-servers      | resource               | {"resource":"[^"]*","bearer_methods
metadata-servers-text         | resource               | "authorization_servers":"http
metadata-server-plain         | resource               | "http://login.seller.example"
server-of-another-issuer      | server                 | "issuer":"http://[^"]*/login"
server-without-token-endpoint | server                 | authorize","registration_endpoint
"""
ROWS = [[cell.strip() for cell in line.split(" | ", 2)] for line in TABLE.strip().splitlines()]


def visit(url: str) -> dict[str, str]:
    """What each caller gets of a protected read in a session of a known one, and each document; the port left out."""
    origin = url.removesuffix("/mcp")
    seen: dict[str, str] = {}

    def told(response: httpx.Response) -> str:
        challenge = response.headers.get("www-authenticate", "")
        return re.sub(r"127\.0\.0\.1:\d+", "seller", f"{response.status_code} {challenge}{response.text}")

    def message(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    # verify=False: there is no TLS here, and loading certificates takes longer than the rest.
    with httpx.Client(headers={"accept": ACCEPT}, trust_env=False, verify=False) as client:
        opening = message("initialize", initialize_params())
        seen["opening"] = told(client.post(url, json=opening))
        opened = client.post(url, json=opening, headers={"authorization": CALLERS["known"] or ""})
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": HANDSHAKE}
        read = message("tools/call", {"name": "list_creatives", "arguments": {}})
        for name, value in CALLERS.items():
            headers = session if value is None else {**session, "authorization": value}
            seen[name] = told(client.post(url, json=read, headers=headers))
        for name, path in DOCUMENTS.items():
            seen[name] = told(client.get(origin + path))
    return seen


@cache
def clean(discovery: bool) -> dict[str, str]:
    with running(SellerOptions(bearer=TOKEN, discovery=discovery)) as url:
        return visit(url)


@pytest.mark.parametrize("discovery", [False, True])
def test_a_clean_seller_serves_who_has_the_token_and_documents_where_it_has_them(discovery: bool) -> None:
    seen = clean(discovery)
    assert seen["known"].startswith("200 ")
    for name in (*NOBODY.split(), "opening"):
        assert seen[name].startswith('401 Bearer realm="reference seller"')
        assert ("resource_metadata=" in seen[name]) == discovery
    assert seen["root"].startswith("404")
    for name in ("resource", "server"):
        assert seen[name].startswith("200" if discovery else "404")


@pytest.mark.parametrize(("name", "differing", "pattern"), ROWS, ids=[row[0] for row in ROWS])
def test_fault_changes_what_it_says(name: str, differing: str, pattern: str) -> None:
    fault = faults()[name]
    with running(SellerOptions(fault=name)) as url:
        seen = visit(url)
    expected = clean(fault.needs.get("discovery", False))
    assert {one for one in seen if seen[one] != expected[one]} == set(differing.split())
    first = differing.split()[0]
    assert re.search(pattern, seen[first]), seen[first]
    assert not re.search(pattern, expected[first])


def test_every_fault_that_needs_a_token_is_in_the_table() -> None:
    guarded = [
        fault
        for fault in faults().values()
        if "bearer" in fault.needs and not fault.is_for_apps and not fault.is_legal
    ]
    assert [row[0] for row in ROWS] == [fault.name for fault in guarded]
    assert {fault.needs["bearer"] for fault in guarded} == {TOKEN}
