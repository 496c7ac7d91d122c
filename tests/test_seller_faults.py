"""Every fault of the reference seller changes the bytes that it promises to change, and no others.

A fixed row of requests goes to the clean seller and to the faulty one. A row of the table says in which exchanges the
two differ, and what stands in the first of them.
"""

from __future__ import annotations

import functools
import re
import time
import zlib
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest
from buyers import ACCEPT, HANDSHAKE, META, STATELESS, Buyer, initialize_params
from pytest_adcp.harness.seller import Answers, SellerOptions, running
from pytest_adcp.harness.seller.faults import (
    UnknownFaultError,
    behaviour,
    definitions,
    envelopes,
    events,
    fault_named,
    faults,
    http,
    interop,
    leaks,
    legal,
    modern,
    parameter_headers,
    repeats,
    sessions,
    stateless,
    subscriptions,
)

BRIEF = {"buying_mode": "brief", "brief": "CTV", "context": {"trace": 1}}
CALLS = {
    "good": ("get_products", BRIEF),
    "again": ("get_products", BRIEF),
    "all": ("get_products", {"buying_mode": "wholesale", "context": {"trace": 1}}),
    "bad": ("get_products", {**BRIEF, "adcp_major_version": 99}),
    "lost": ("get_task_status", {"task_id": "x"}),
    "capabilities": ("get_adcp_capabilities", {}),
    "unknown": ("no_such_tool", {}),
}
_OF_CONTENT = (definitions, behaviour, repeats, envelopes, leaks)
_ELSEWHERE = (
    *_OF_CONTENT,
    events,
    stateless,
    modern,
    parameter_headers,
    subscriptions,
    http,
    sessions,
    interop,
    legal,
)
LIMIT = 16 * 1024 * 1024  # bytes read of one answer
HANGS = 0.5  # seconds given to answers that never end
PATIENCE = 20.0

GOOD = "good again all"
BAD = "bad lost"
CALLED = f"{GOOD} {BAD}"
EVERYTHING = f"discover initialize notification {CALLED} capabilities unknown list"
GROUPS = {"GOOD": GOOD, "BAD": BAD, "CALLED": CALLED, "EVERYTHING": EVERYTHING}

# Those of a task that the row of requests leaves out, since it changes what later ones find.
ON_BUYS = {
    "buy-with-empty-errors": lambda bought: bought["errors"] == [],
    "buy-without-packages": lambda bought: "packages" not in bought,
}

# Those of versions that the row of requests does not ask for, and what has to be asked for.
ON_PINS = {
    "major-version-refused": {"adcp_major_version": 3},
    "unknown-release-served": {"adcp_version": "99.0"},
    "conflicting-versions-served": {"adcp_version": "3.1", "adcp_major_version": 2},
    "prerelease-served": {"adcp_version": "3.1-beta.999"},
}

# fault | exchanges that differ | what stands in the first of them: a regular expression
TABLE = r"""
nested-result               | GOOD   | "structuredContent":{"result":{"status"
nested-result-fastmcp       | GOOD   | "structuredContent":{"result":{"status".*"fastmcp":{"wrap_result":true}
nested-result-string        | GOOD   | "structuredContent":{"result":"{.*"fastmcp":{"wrap_result":true}
nested-data                 | GOOD   | "structuredContent":{"status":"completed","data":{"status"
data-list                   | GOOD   | "structuredContent":{"data":\[{"product_id".*"pagination"
nested-payload              | GOOD   | "structuredContent":{"status":"completed","payload":{
nested-response             | GOOD   | "structuredContent":{"response":{
nested-tool-result          | GOOD   | "structuredContent":{"content":\[\],"structuredContent":{
numeric-keys                | GOOD   | "structuredContent":{"0":{.*"4":{
structured-array            | GOOD   | "text":"{.*"structuredContent":\[{
structured-array-only       | GOOD   | "text":"5 of 5 products.".*"structuredContent":\[{
structured-string           | GOOD   | "structuredContent":"{
structured-null             | GOOD   | "text":"{.*"structuredContent":null
text-only                   | GOOD   | "result":{"content":\[{"type":"text","text":"{.*}"}\],"isError":false}
plain-text                  | GOOD   | "result":{"content":\[{"type":"text","text":"Here you are."}\],"isError"
code-fence                  | GOOD   | "text":"```json
text-encoded-twice          | GOOD   | "text":"\\"{
text-array                  | GOOD   | "text":"\[{
text-nan                    | GOOD   | "note\\": NaN
text-bom                    | GOOD   | "text":"\xef\xbb\xbf{
text-duplicate-member       | GOOD   | "text":"{\\"message\\": \\"one\\", \\"message\\": \\"two
text-2mb                    | GOOD   | length 2[0-9]{6}\D
text-5mb                    | GOOD   | length 5[0-9]{6}\D
body-12mb                   | GOOD   | length 12[0-9]{6}\D
prototype-keys              | GOOD   | "__proto__":{.*"constructor":{
lone-surrogate              | GOOD   | "note":"\\ud83d"
large-integer               | GOOD   | "note":1152921504606846977
deep-nesting                | GOOD   | \[{300}
product-without-name        | GOOD   | {"product_id":"[^"]*","description"
cache-scope-missing         | GOOD   | "pagination":{[^}]*},"adcp_version"
empty-payload               | GOOD   | "structuredContent":{},
price-as-string             | GOOD   | "fixed_price":"12.50"
pricing-model-capitals      | GOOD   | "pricing_model":"CPM"
delivery-type-unknown       | GOOD   | "delivery_type":"best_effort"
optional-nulls              | GOOD   | "pagination":null.*"errors":null
context-echo-text           | GOOD   | "context":"acme, spring"
submitted-camel-case        | GOOD   | "status":"submitted".*"taskId":"task_spring"
error-issue-without-value   | BAD    | "discriminator":\[{"property_name":"buying_mode"}\]
errors-of-text              | BAD    | "errors":\["The request was refused."\]
content-missing             | GOOD   | "result":{"structuredContent"
content-null                | GOOD   | "content":null
content-string              | GOOD   | "content":"Done."
unknown-content-block       | GOOD   | {"type":"json"
text-block-without-text     | GOOD   | {"type":"text"}
is-error-number             | CALLED | "isError":0}
is-error-string             | BAD    | "isError":"true"}
meta-list                   | GOOD   | "_meta":\[\]
meta-null                   | GOOD   | "_meta":null
meta-key                    | GOOD   | "_meta":{"_trace":"1"}
meta-keys                   | GOOD   | "_meta":{"trace-id":1,"com.example/":2
duplicate-tool              | list     | "name":"get_adcp_capabilities".*"name":"get_adcp_capabilities"
unknown-tool-success        | unknown  | "text":"Done."
error-unflagged             | BAD    | "context":{"trace":1}}}}
error-only-unflagged        | BAD    | "structuredContent":{"adcp_error":{[^}]*}}}}}
success-flagged             | GOOD   | "products".*"isError":true
error-with-data             | BAD    | "products".*"adcp_error"
success-with-error          | GOOD   | "products".*"adcp_error"
error-as-success            | BAD    | "structuredContent":{"error":"not supported"},"isError":false
error-prose                 | BAD    | "text":"This AdCP version is not supported."}\],"isError":true}
error-errors-only           | BAD    | "structuredContent":{"status":"failed","errors"
error-in-payload            | BAD    | "payload":{"errors":\[
error-layers-disagree       | BAD    | "errors":\[{"code":"POLICY_VIOLATION"
error-without-mirror        | BAD    | "content":\[{"type":"text","text":"This
error-wordy                 | BAD    | "text":"(Something went wrong. ){30}"
error-other-key             | BAD    | "status":"failed",.*"error":{"code"
error-string                | BAD    | "adcp_error":"This
error-array                 | BAD    | "adcp_error":\[{
error-code-missing          | BAD    | "adcp_error":{"message"
error-code-number           | BAD    | "code":400
error-code-long             | BAD    | "code":"X{65}"
error-as-rpc-error          | BAD    | "error":{"code":-32000,"message":"This
error-as-invalid-params     | BAD    | "error":{"code":-32602,.*"data":{"adcp_error":{"code":"VERSION
reserved-code-bare          | good     | "error":{"code":-32029,"message":"[^"]*"}}
rate-limited-once           | good     | "code":"RATE_LIMITED".*"retry_after":1}.*"context":{"trace":1}
rate-limited-without-delay  | good     | "code":"RATE_LIMITED","message":"[^"]*","recovery":"transient"}
refuses-wholesale           | all      | "code":"UNSUPPORTED_FEATURE"
accepts-future-major        | bad      | "products"
accepts-everything          | BAD    | "products"
refuses-everything          | GOOD capabilities | "code":"INVALID_REQUEST"
error-message-absent        | BAD    | "adcp_error":{"code":"VERSION_UNSUPPORTED","recovery"
error-code-lower-case       | BAD    | "code":"version_unsupported"
error-code-unknown          | BAD    | "code":"TIDE_TOO_LOW"
error-code-unexpected       | bad      | "code":"UNSUPPORTED_FEATURE"
recovery-unknown            | BAD    | "recovery":"fatal"
recovery-missing            | BAD    | "message":"This AdCP version is not supported.","details"
recovery-contradicts        | BAD    | "recovery":"terminal"
retry-after-string          | BAD    | "retry_after":"30"
retry-after-a-day           | BAD    | "retry_after":86400
retry-after-fraction        | BAD    | "retry_after":1.5.*"adcp_version":"3.2"
error-too-large             | BAD    | "message":"(Something went wrong. ){200}"
error-details-string        | BAD    | "details":"none"
suggestion-array            | BAD    | "suggestion":\["
error-details-large         | BAD    | "details":{[^}]*"accepted_values":\["value-0".*"value-59"
error-field-disagrees       | BAD    | "field":"brief".*"pointer":"/buying_mode"
capabilities-not-listed       | list         | "tools":\[{"name":"list_accounts"
agent-of-adcp-2               | bad list     | "content":\[{"type":"text","text":"[^{"]*"}\],"isError":true
adcp-block-missing            | capabilities | "structuredContent":{"status":"completed","supported_protocols"
major-versions-missing        | capabilities | "adcp":{"idempotency"
major-versions-as-text        | capabilities | "major_versions":\["3"\]
idempotency-missing           | capabilities | "adcp":{"major_versions":\[3\],"supported_versions"
idempotency-for-a-minute      | capabilities | "replay_ttl_seconds":60}
protocols-missing             | capabilities | "build_version":"[^"]*"},"account"
protocols-empty               | capabilities | "supported_protocols":\[\]
protocol-without-tools        | capabilities | "supported_protocols":\["media_buy","signals","brand"\]
specialism-without-tools      | capabilities | "specialisms":\["sales-guaranteed","property-lists"\]
capabilities-want-arguments   | capabilities | "field":"protocols"
capabilities-want-a-key       | capabilities | "field":"idempotency_key"
tool-with-prefix              | list         | "name":"adcp_get_products"
tool-in-camel-case            | list         | "name":"listCreativeFormats"
test-controller-in-production | list         | "name":"comply_test_controller"
compliance-testing-in-production | capabilities | "compliance_testing":{"scenarios"
supported-versions-missing    | capabilities | "replay_ttl_seconds":86400},"build_version"
supported-versions-missing-3-2 | capabilities | "replay_ttl_seconds":86400},"build_version"
supported-versions-with-patch | capabilities | "supported_versions":\["3.1.27"\]
supported-versions-as-numbers | capabilities | "supported_versions":\[3.0,3.1\]
release-not-named             | CALLED capabilities | "cache_scope":"public","context"
release-not-named-3-2         | GOOD capabilities | "cache_scope":"public","context"
release-with-patch            | GOOD bad     | "adcp_version":"3.1.27"
release-not-listed            | GOOD bad     | "adcp_version":"3.2"
version-code-invalid-request  | bad          | "code":"INVALID_REQUEST"
version-details-missing       | bad          | "recovery":"correctable"}\]
body-nan                    | CALLED | "_meta":{"seller.example/note":NaN}
body-truncated              | CALLED | [^}]\Z
body-bom                    | CALLED | \n\xef\xbb\xbf{
body-not-utf8               | CALLED | "caf\xe9"
duplicate-member            | CALLED | {"jsonrpc":"1.0","jsonrpc":"2.0"
body-array                  | CALLED | \n\[{"jsonrpc".*\]\Z
jsonrpc-missing             | CALLED | \n{"id"
jsonrpc-number              | CALLED | {"jsonrpc":2.0
wrong-id                    | CALLED | "id":987654321
id-type                     | CALLED | "id":"11"
id-null                     | CALLED | "id":null
error-id-null               | unknown  | "id":null,"error"
refusal-id                  | discover | 400 .*"id":"server-error"
result-and-error            | CALLED | "result":{.*"error":{"code":-32603
no-result                   | CALLED | \n{"jsonrpc":"2.0","id":11}\Z
result-array                | CALLED | "result":\[{
error-code-string           | unknown  | "code":"-32602"
error-message-missing       | unknown  | "error":{"code":-32602}
initialize-version-number     | initialize | "protocolVersion":20251125
initialize-capabilities-array | initialize | "capabilities":\["tools"\]
no-server-info                | initialize | "subscribe":false}},"instructions"
server-info-without-version   | initialize | "serverInfo":{"name":"[^"]*","title":"[^"]*"}
version-1999                  | initialize | "protocolVersion":"1999-01-01"
version-2024                  | initialize | "protocolVersion":"2024-11-05"
no-tools-capability           | initialize | "capabilities":{}
discover-without-tools        | discover   | "capabilities":{}
discover-without-versions     | discover   | "result":{"resultType":"complete","capabilities"
sse-ends-early              | CALLED | \n: nothing to say\n\n\Z
sse-unterminated            | CALLED | [^\n]\n\Z
sse-endless-comments        | CALLED | (: still working\n\n)+<never ends>
sse-flood                   | CALLED | length 16777216\D
sse-cr                      | CALLED | event: message\rdata: {.*\r\r\Z
sse-bom                     | CALLED | \n\xef\xbb\xbfevent
sse-data-lines              | CALLED | data: {"jsonrpc":"2.0",\ndata: "id"
empty-200                   | CALLED | 200 application/json\n\Z
accepted-202                | CALLED | 202 \n\Z
html-200                    | CALLED | 200 text/html; charset=utf-8\n<!doctype
notification-answered       | notification | 200 .*"id":null,"result":{}
never-answers               | CALLED | \A<never ends>
trickled-headers            | CALLED | \A<never ends>
trickled-body               | CALLED | 200 .*{"x+<never ends>
http-500-json               | CALLED | 500 application/json\n.*"code":-32603
http-500-html               | CALLED | 500 text/html; charset=utf-8\n<!doctype
http-429                    | CALLED | 429 .*retry-after: 1
http-429-once               | good     | 429 .*retry-after: 1
connection-reset            | CALLED | 200 .*{<lost>
gzip-bomb                   | CALLED | content-encoding: gzip
http-401                    | EVERYTHING | 401 .*www-authenticate: Bearer
http-404                    | EVERYTHING | 404
trailing-slash              | EVERYTHING | 404
redirect                    | EVERYTHING | 307 .*location: /mcp/served
redirect-elsewhere          | EVERYTHING | 307 .*location: https://elsewhere.example/mcp
session-lost                | CALLED capabilities unknown list | 404 .*The session has ended
"""
# What these change is time, which a comparison of bytes does not see.
IN_TIME = {"slow", "sse-in-pieces"}

ROWS = [[cell.strip(" ") for cell in line.split(" | ", 2)] for line in TABLE.strip("\n").split("\n")]


async def exchange(client: httpx.AsyncClient, url: str, message: Mapping[str, Any], deadline: float) -> str:
    """What came for a message: status, telling headers and body, and how it ended if not well."""
    head, body, end = "", bytearray(), "<never ends>"
    try:
        with anyio.move_on_after(deadline):
            async with client.stream(
                "POST", url, json=message, headers=stateless_headers(message)
            ) as response:
                told = ("retry-after", "www-authenticate", "location", "content-encoding")
                extra = [f"{name}: {response.headers[name]}" for name in told if name in response.headers]
                kind = response.headers.get("content-type", "")
                head = " ".join([str(response.status_code), kind, *extra]) + "\n"
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) >= LIMIT:
                        del body[LIMIT:]
                        break
            end = ""
    except httpx.TransportError:
        end = "<lost>"
    shown = body if len(body) < 100_000 else body[:500] + f" length {len(body)} ".encode()
    return head + shown.decode("latin-1") + end


def stateless_headers(message: Mapping[str, Any]) -> dict[str, str]:
    if message["method"] != "server/discover":
        return {}
    return {"mcp-protocol-version": STATELESS, "mcp-method": "server/discover"}


def request(number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def conversation(url: str, deadline: float) -> dict[str, str]:
    """All exchanges of one client with a seller, by name; `deadline` is for the calls that a fault may touch."""
    seen: dict[str, str] = {}
    # verify=False: there is no TLS here, and loading certificates takes longer than the rest.
    client = httpx.AsyncClient(headers={"accept": ACCEPT}, timeout=None, trust_env=False, verify=False)
    async with client:

        async def see(name: str, message: Mapping[str, Any], seconds: float = PATIENCE) -> None:
            seen[name] = await exchange(client, url, message, seconds)

        meta = {f"{META}protocolVersion": STATELESS, f"{META}clientCapabilities": {}}
        await see("discover", request(1, "server/discover", {"_meta": meta}))
        response = await client.post(url, json=request(2, "initialize", initialize_params()))
        await see("initialize", request(2, "initialize", initialize_params()))
        if session := response.headers.get("mcp-session-id"):
            client.headers["mcp-session-id"] = session
        version = re.search(r'"protocolVersion":"([^"]+)"', seen["initialize"])
        client.headers["mcp-protocol-version"] = version[1] if version else HANDSHAKE
        await see("notification", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        requests = {
            name: request(11 + index, "tools/call", {"name": tool, "arguments": arguments})
            for index, (name, (tool, arguments)) in enumerate(CALLS.items())
        }
        await see("good", requests.pop("good"), deadline)
        async with anyio.create_task_group() as group:
            for name, message in requests.items():
                group.start_soon(see, name, message, deadline if name in CALLED else PATIENCE)
            group.start_soon(see, "list", request(30, "tools/list", {}))
    return seen


@functools.cache
def clean(options: SellerOptions) -> Mapping[str, str]:
    with running(options) as url:
        return anyio.run(conversation, url, PATIENCE)


@pytest.mark.parametrize(("name", "exchanges", "pattern"), ROWS, ids=[row[0] for row in ROWS])
def test_fault_changes_what_it_says(name: str, exchanges: str, pattern: str) -> None:
    fault = faults()[name]
    differing = re.sub(r"[A-Z]+", lambda group: GROUPS[group[0]], exchanges).split()
    deadline = HANGS if "<never ends>" in pattern else PATIENCE
    with running(SellerOptions(fault=name)) as url:
        seen = anyio.run(conversation, url, deadline)
    expected = clean(SellerOptions(**fault.needs))
    assert {one for one in seen if seen[one] != expected[one]} == set(differing)
    assert re.search(pattern, seen[differing[0]], re.DOTALL), seen[differing[0]]
    assert not re.search(pattern, expected[differing[0]], re.DOTALL)


def test_slow_answers_are_the_clean_ones() -> None:
    with running(SellerOptions(fault="slow")) as url:
        with Buyer(url) as buyer:
            started = time.monotonic()
            assert buyer.payload("get_products", **BRIEF)["products"]
            assert time.monotonic() - started >= 0.5
        assert anyio.run(conversation, url, PATIENCE) == clean(SellerOptions())


def test_pieces_are_the_clean_event() -> None:
    with running(SellerOptions(fault="sse-in-pieces")) as url, Buyer(url) as buyer:
        message = buyer.message("tools/call", {"name": "get_products", "arguments": BRIEF})
        with buyer.http.stream("POST", url, json=message) as response:
            pieces = list(response.iter_raw())
    assert len(pieces) == 2
    assert (
        b"".join(pieces).decode()
        in clean(SellerOptions(answers=Answers.SSE))["good"]
        .replace('"id":11', f'"id":{message["id"]}')
        .encode("latin-1")
        .decode()
    )


def test_every_fault_is_in_the_table() -> None:
    # Without the token those that need one refuse the whole row: see test_seller_credentials.
    guarded = {name for name, fault in faults().items() if "bearer" in fault.needs}
    others = IN_TIME | ON_BUYS.keys() | ON_PINS.keys() | guarded
    # These show in requests that are repeated, or have members of their own: see test_seller_repeats.
    # And of those the self-test says what they change: the rules that break quote it.
    others |= {fault.name for module in _ELSEWHERE for fault in module.FAULTS}
    others |= {fault.name for fault in faults().values() if fault.is_for_apps}
    assert [row[0] for row in ROWS] == [name for name in faults() if name not in others]
    assert faults().keys() >= IN_TIME | ON_BUYS.keys() | ON_PINS.keys()


@pytest.mark.parametrize("name", ON_PINS)
def test_a_fault_of_versions_shows_when_they_are_asked_for(name: str) -> None:
    failed = {}
    for fault in (None, name):
        with running(SellerOptions(fault=fault)) as url, Buyer(url) as buyer:
            failed[fault] = buyer.call("get_products", **BRIEF, **ON_PINS[name])["isError"]
    assert failed[name] != failed[None]


@pytest.mark.parametrize("name", ON_BUYS)
def test_a_fault_of_bought_packages_shows_when_something_is_bought(name: str) -> None:
    (call,) = faults()[name].calls
    with running(SellerOptions(fault=name)) as url, Buyer(url) as buyer:
        bought = buyer.payload(call["tool"], **call["arguments"])
    assert bought["media_buy_id"]
    assert ON_BUYS[name](bought)


def test_faults_are_well_described() -> None:
    for name, fault in faults().items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert fault.name == name
        assert fault.says.endswith(".")
        assert "\n" not in fault.says
        assert not fault.fails & fault.advises


def test_calls_that_a_fault_needs_can_be_made() -> None:
    for fault in faults().values():
        for call in fault.calls:
            with running(SellerOptions(fault=fault.name)) as url, Buyer(url) as buyer:
                failed = buyer.call(call["tool"], **call["arguments"])["isError"]
            expected = call.get("expect", "any")
            as_said = expected == "any" or "error_codes" in call
            assert failed == ((expected == "error") is as_said), fault.name


def test_a_bomb_is_larger_than_any_client_reads() -> None:
    with running(SellerOptions(fault="gzip-bomb")) as url, Buyer(url) as buyer:
        message = buyer.message("tools/call", {"name": "get_products", "arguments": BRIEF})
        with buyer.http.stream("POST", url, json=message) as response:
            packed = b"".join(response.iter_raw())
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    assert len(packed) < 1_000_000
    assert len(unpacker.decompress(packed, LIMIT + 1)) > LIMIT


def test_unknown_faults_are_named_with_their_neighbours() -> None:
    with pytest.raises(UnknownFaultError, match="did you mean nested-result"):
        fault_named("nested-results")
    with pytest.raises(UnknownFaultError, match=r"no fault 'xyzzy'$"), running(SellerOptions(fault="xyzzy")):
        pass


def test_once_means_once() -> None:
    with running(SellerOptions(fault="session-lost")) as url:
        with Buyer(url) as first:
            assert first.post(first.message("tools/call", {"name": "get_signals"})).status_code == 404
            assert first.post(first.message("ping")).status_code == 404
        with Buyer(url) as second:
            assert second.payload("get_products", **BRIEF)["products"]
