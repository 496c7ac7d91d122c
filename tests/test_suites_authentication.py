"""Rules on callers that a server does not know and on OAuth metadata, tried on literal answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from evidence import finding, judge_all, surveyed
from pytest_adcp.harness.calls import Credentials
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.session import Session
from pytest_adcp.harness.transcript import End, Era, Exchange, Kind, Request, Response, Transcript
from pytest_adcp.harness.verdict import Finding, Outcome
from scripted import failure, result

REQUIRED = "adcp.security.credentials-required"
CHECKED = "adcp.security.credentials-checked"
RESOURCE = "adcp.security.metadata-resource"
SERVERS = "adcp.security.metadata-servers"
SERVER = "adcp.security.authorization-server"
CHALLENGE = "adcp.security.challenge"
CHALLENGE_METADATA = "adcp.security.challenge-metadata"

SELLER = "https://seller.example/mcp"
LOCAL = "http://127.0.0.1:8000/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def evidence_of(*exchanges: Exchange, endpoint: str = SELLER) -> Evidence:
    """Return the evidence of a good survey with further exchanges; each gets its index here."""
    base = surveyed().transcript
    own = [_at(exchange, exchange.index, endpoint) for exchange in base.exchanges]
    more = [_at(exchange, len(own) + n, exchange.request.url) for n, exchange in enumerate(exchanges)]
    return Evidence(Transcript(base.survey, (*own, *more)), spec="3.1")


def _at(exchange: Exchange, index: int, url: str) -> Exchange:
    members = {name: getattr(exchange, name) for name in exchange.__slots__}
    request = Request(exchange.request.method, url, exchange.request.headers, exchange.request.body)
    return Exchange(**(members | {"index": index, "request": request}))


def refusal(
    which: Credentials, status: int, body: Any = None, *, tool: str = "list_creatives", **members: Any
) -> Exchange:
    sent = Session(Era.HANDSHAKE).request("r-1", "tools/call", {"name": tool, "arguments": {}})
    message = b"" if body is None else json.dumps({"jsonrpc": "2.0", "id": "r-1", **body}).encode()
    headers = (("content-type", "application/json"), *members.pop("headers", ()))
    response = Response(status, "HTTP/1.1", headers, message, len(message))
    given: dict[str, Any] = {"end": End.COMPLETE, "answered": 0.1, "era": Era.HANDSHAKE} | members
    request = Request("POST", SELLER, sent.headers, sent.body)
    return Exchange(0, f"credentials/{which}", Kind.REFUSAL, request, response, **given)


def on_refusal(rule: str, which: Credentials, status: int, body: Any = None, **members: Any) -> Finding:
    return finding(evidence_of(refusal(which, status, body, **members)), rule)


GIVEN = {"result": result({"status": "completed", "creatives": [{"creative_id": "c1"}]})}
EMPTY = {"result": result({"status": "completed", "creatives": []})}
NESTED = {"result": result({"status": "completed", "result": {"creatives": [{"creative_id": "c1"}]}})}
LISTED = {"result": result({"items": [{"creative_id": "c1"}]})}
SUBMITTED = {"result": result({"status": "submitted", "task_id": "t1"})}
TOOL_ERROR = {"result": failure("AUTH_REQUIRED", recovery="correctable")}
PROSE = {"result": {"content": [{"type": "text", "text": "Please sign in."}]}}
UNFLAGGED = {"result": result({"error": "unauthorized", "items": []})}
ASKING = {"result": result({"status": "auth-required", "message": "Sign in."})}
RPC_ERROR = {"error": {"code": -32028, "message": "Authentication required"}}


@pytest.mark.parametrize("body", [GIVEN, EMPTY, NESTED, LISTED, SUBMITTED], ids=range(5))
@pytest.mark.parametrize("which", Credentials)
def test_who_is_nobody_is_given_nothing(which: Credentials, body: Any) -> None:
    rule = REQUIRED if which is Credentials.NONE else CHECKED
    found = on_refusal(rule, which, 200, body)
    assert found.outcome is Outcome.FAILED
    assert found.message.startswith("the server gave list_creatives to a caller with")
    assert found.received.startswith('HTTP 200 and {"')


@pytest.mark.parametrize(
    "body",
    [
        {"result": {**GIVEN["result"], "isError": True}},
        {
            "result": {
                "content": [{"type": "text", "text": 'Here is: {"creatives": [{"creative_id": "c1"}]}'}]
            }
        },
        {"result": {"content": [{"type": "text", "text": '[{"creative_id": "c1"}]'}]}},
        {"error": {"code": -32028, "message": "No.", "data": {"creatives": [{"creative_id": "c1"}]}}},
    ],
    ids=range(4),
)
@pytest.mark.parametrize("status", [200, 302, 400, 401])
def test_data_is_given_wherever_it_stands(status: int, body: Any) -> None:
    assert on_refusal(REQUIRED, Credentials.NONE, status, body).outcome is Outcome.FAILED


@pytest.mark.parametrize("body", [TOOL_ERROR, PROSE, UNFLAGGED, ASKING, RPC_ERROR, None], ids=range(6))
@pytest.mark.parametrize("which", Credentials)
def test_a_refusal_below_http_is_an_advisory(which: Credentials, body: Any) -> None:
    rule = REQUIRED if which is Credentials.NONE else CHECKED
    found = on_refusal(rule, which, 200, body)
    assert found.outcome is Outcome.ADVISORY
    assert "gets HTTP 200" in found.message


NONE, UNKNOWN, MALFORMED = Credentials
PASSED, FAILED, ADVISORY, BLOCKED = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.BLOCKED


@pytest.mark.parametrize(
    ("which", "status", "outcome"),
    [
        (NONE, 401, PASSED),
        (NONE, 403, PASSED),
        (NONE, 400, ADVISORY),
        (NONE, 404, ADVISORY),
        (NONE, 302, ADVISORY),
        (NONE, 500, FAILED),
        (NONE, 501, FAILED),
        (NONE, 502, BLOCKED),
        (NONE, 503, BLOCKED),
        (NONE, 504, BLOCKED),
        (NONE, 429, BLOCKED),
        (UNKNOWN, 400, PASSED),
        (UNKNOWN, 401, PASSED),
        (UNKNOWN, 403, PASSED),
        (UNKNOWN, 404, ADVISORY),
        (UNKNOWN, 500, FAILED),
        (MALFORMED, 400, PASSED),
        (MALFORMED, 401, PASSED),
        (MALFORMED, 406, ADVISORY),
        (MALFORMED, 500, FAILED),
        (MALFORMED, 503, BLOCKED),
    ],
)
def test_a_status_says_enough(which: Credentials, status: int, outcome: Outcome) -> None:
    rule = REQUIRED if which is NONE else CHECKED
    for body in (None, RPC_ERROR):
        assert on_refusal(rule, which, status, body).outcome is outcome
    # A status does not take back what the body gives.
    if status in (401, 403):
        assert on_refusal(rule, which, status, GIVEN).outcome is FAILED


def test_each_rule_judges_its_own_kind_of_caller() -> None:
    evidence = evidence_of(*(refusal(which, 200, GIVEN) for which in Credentials))
    assert [f.outcome for f in judge_all(evidence, REQUIRED)] == [FAILED, *[Outcome.NOT_APPLICABLE] * 2]
    assert [f.outcome for f in judge_all(evidence, CHECKED)] == [Outcome.NOT_APPLICABLE, FAILED, FAILED]


def test_a_name_of_a_tool_is_escaped() -> None:
    found = on_refusal(REQUIRED, NONE, 500, tool="\x1b[31mred")
    assert "\x1b" not in found.message


# -- challenges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ((), FAILED),
        ((("WWW-Authenticate", ""),), FAILED),
        ((("www-authenticate", "Bearer"),), PASSED),
        ((("WWW-Authenticate", "ApiKey"),), PASSED),
        ((("WWW-Authenticate", ""), ("WWW-Authenticate", 'Basic realm="a"')), PASSED),
    ],
)
def test_a_401_says_how_to_authenticate(headers: Any, outcome: Outcome) -> None:
    assert on_refusal(CHALLENGE, NONE, 401, headers=headers).outcome is outcome


def test_a_403_need_not() -> None:
    assert on_refusal(CHALLENGE, NONE, 403).outcome is Outcome.NOT_APPLICABLE


def test_any_401_of_a_run_is_looked_at() -> None:
    base = refusal(NONE, 401)
    for kind, subject in (
        (Kind.CALL, "get_products/brief"),
        (Kind.INITIALIZE, "initialize"),
        (Kind.DELETE, "session/delete"),
    ):
        members = {name: getattr(base, name) for name in base.__slots__}
        exchange = Exchange(**(members | {"kind": kind, "subject": subject}))
        (found,) = judge_all(evidence_of(exchange), CHALLENGE)
        assert (found.subject, found.outcome) == (subject, FAILED)


# -- metadata ----------------------------------------------------------------------------------------------------------


def got(url: str, document: Any, subject: str = "metadata/protected-resource", status: int = 200) -> Exchange:
    body = json.dumps(document).encode()
    response = Response(status, "HTTP/1.1", (("content-type", "application/json"),), body, len(body))
    request = Request("GET", url, (("Accept", "application/json"),))
    return Exchange(0, subject, Kind.METADATA, request, response, End.COMPLETE, answered=0.1)


def resource(document: Mapping[str, Any], endpoint: str = SELLER, *, root: bool = False) -> Evidence:
    origin = endpoint.removesuffix("/mcp")
    url = origin + WELL_KNOWN + ("" if root else "/mcp")
    return evidence_of(got(url, document), endpoint=endpoint)


@pytest.mark.parametrize(
    ("endpoint", "value", "outcome"),
    [
        (SELLER, SELLER, PASSED),
        (SELLER, "https://seller.example:443/mcp", PASSED),
        (SELLER, "HTTPS://Seller.EXAMPLE/mcp", PASSED),
        (f"{SELLER}?tenant=acme", SELLER, PASSED),
        (SELLER, f"{SELLER}/", ADVISORY),
        ("https://seller.example/mcp/", SELLER, ADVISORY),
        (SELLER, "https://seller.example", ADVISORY),
        (SELLER, "https://seller.example/", ADVISORY),
        ("https://seller.example/a/mcp", "https://seller.example/a", ADVISORY),
        (SELLER, "https://seller.example/m", FAILED),
        (SELLER, "https://seller.example/MCP", FAILED),
        (SELLER, "https://seller.example/other", FAILED),
        (SELLER, "http://seller.example/mcp", FAILED),
        (SELLER, "https://other.example/mcp", FAILED),
        (SELLER, "https://seller.example:8443/mcp", FAILED),
        (SELLER, LOCAL, FAILED),
        (LOCAL, LOCAL, PASSED),
        (LOCAL, SELLER, ADVISORY),
        (LOCAL, "http://127.0.0.1:8000/other", FAILED),
        (SELLER, "/mcp", FAILED),
        (SELLER, "seller", FAILED),
        (SELLER, "", FAILED),
        (SELLER, None, FAILED),
        (SELLER, [SELLER], FAILED),
        (SELLER, "https://[::1/mcp", FAILED),
        (SELLER, f"{SELLER}#x", FAILED),
    ],
)
def test_the_resource_is_the_endpoint(endpoint: str, value: Any, outcome: Outcome) -> None:
    found = finding(resource({"resource": value}, endpoint), RESOURCE)
    assert found.outcome is outcome
    assert found.pointer == (None if outcome is PASSED else "/resource")


def test_a_resource_that_is_missing_is_no_endpoint() -> None:
    found = finding(resource({"authorization_servers": []}), RESOURCE)
    assert (found.outcome, found.received) == (FAILED, "no such member")


def test_at_the_root_may_stand_what_is_about_something_else() -> None:
    assert (
        finding(resource({"resource": "https://seller.example/api"}, root=True), RESOURCE).outcome is ADVISORY
    )
    assert finding(resource({"resource": SELLER}, root=True), RESOURCE).outcome is PASSED
    assert finding(resource({"resource": "api"}, root=True), RESOURCE).outcome is FAILED


@pytest.mark.parametrize(
    ("servers", "outcome", "at"),
    [
        (["https://login.example"], PASSED, None),
        (["https://login.example", "https://seller.example/login"], PASSED, None),
        (["http://127.0.0.1:9000"], PASSED, None),
        (["http://localhost:9000/realm"], PASSED, None),
        ([], FAILED, "/authorization_servers"),
        ("https://login.example", FAILED, "/authorization_servers"),
        ({"0": "https://login.example"}, FAILED, "/authorization_servers"),
        (None, FAILED, "/authorization_servers"),
        (["http://login.example"], FAILED, "/authorization_servers/0"),
        (["https://login.example", "login.example"], FAILED, "/authorization_servers/1"),
        (["https://login.example", None], FAILED, "/authorization_servers/1"),
        ([{"issuer": "https://login.example"}], FAILED, "/authorization_servers/0"),
        ([""], FAILED, "/authorization_servers/0"),
    ],
)
def test_servers_are_https_urls(servers: Any, outcome: Outcome, at: str | None) -> None:
    found = finding(resource({"resource": SELLER, "authorization_servers": servers}), SERVERS)
    assert (found.outcome, found.pointer) == (outcome, at)


def test_servers_that_are_missing_are_none() -> None:
    found = finding(resource({"resource": SELLER}), SERVERS)
    assert (found.outcome, found.received) == (FAILED, "no such member")


def test_plain_http_of_the_endpoint_s_own_is_an_advisory() -> None:
    document = {"resource": "http://seller.example/mcp", "authorization_servers": ["http://seller.example"]}
    assert finding(resource(document, "http://seller.example/mcp"), SERVERS).outcome is ADVISORY


ISSUER = "https://seller.example/login"


@pytest.mark.parametrize(
    ("document", "outcome", "at"),
    [
        ({"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token"}, PASSED, None),
        ({"issuer": ISSUER, "token_endpoint": "https://tokens.example/"}, PASSED, None),
        ({"issuer": f"{ISSUER}/", "token_endpoint": f"{ISSUER}/token"}, ADVISORY, "/issuer"),
        ({"issuer": "https://seller.example", "token_endpoint": f"{ISSUER}/token"}, FAILED, "/issuer"),
        ({"token_endpoint": f"{ISSUER}/token"}, FAILED, "/issuer"),
        ({"issuer": 7, "token_endpoint": f"{ISSUER}/token"}, FAILED, "/issuer"),
        ({"issuer": ISSUER}, FAILED, "/token_endpoint"),
        ({"issuer": ISSUER, "token_endpoint": "/token"}, FAILED, "/token_endpoint"),
        ({"issuer": ISSUER, "token_endpoint": "http://tokens.example/"}, FAILED, "/token_endpoint"),
        ({"issuer": ISSUER, "token_endpoint": None}, FAILED, "/token_endpoint"),
    ],
)
def test_the_server_is_the_one_that_is_listed(document: Any, outcome: Outcome, at: str | None) -> None:
    own = {"resource": SELLER, "authorization_servers": [ISSUER, "https://other.example"]}
    place = "https://seller.example/.well-known/oauth-authorization-server/login"
    evidence = evidence_of(
        got(f"https://seller.example{WELL_KNOWN}/mcp", own),
        got(place, document, "metadata/authorization-server"),
    )
    found = finding(evidence, SERVER)
    assert (found.outcome, found.pointer) == (outcome, at)
    # Each document is judged as what it is.
    assert [f.outcome for f in judge_all(evidence, RESOURCE)] == [PASSED, Outcome.NOT_APPLICABLE]
    assert [f.outcome for f in judge_all(evidence, SERVERS)] == [PASSED, Outcome.NOT_APPLICABLE]


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"resource": SELLER}, 404),
        ({"resource": SELLER}, 401),
        ([], 200),
        ("resource", 200),
        ({"ok": 1}, 200),
    ],
)
def test_what_is_not_served_is_not_judged(document: Any, status: int) -> None:
    evidence = evidence_of(got(f"https://seller.example{WELL_KNOWN}/mcp", document, status=status))
    for rule in (RESOURCE, SERVERS, SERVER):
        assert finding(evidence, rule).outcome is Outcome.NOT_APPLICABLE
    assert [f.outcome for f in judge_all(evidence, CHALLENGE)] == [
        ADVISORY if status == 401 else Outcome.NOT_APPLICABLE
    ]


@pytest.mark.parametrize(
    ("status", "end", "outcome"),
    [
        (200, End.COMPLETE, PASSED),
        (404, End.COMPLETE, FAILED),
        (401, End.COMPLETE, FAILED),
        (503, End.COMPLETE, BLOCKED),
        (200, End.INTERRUPTED, Outcome.NOT_APPLICABLE),
        (0, End.RESET, BLOCKED),
    ],
)
def test_where_a_challenge_leads_something_is_served(status: int, end: End, outcome: Outcome) -> None:
    url = "https://seller.example/prm"
    document = got(url, {"resource": SELLER}, "metadata/protected-resource/named", status)
    members = {name: getattr(document, name) for name in document.__slots__}
    if end is not End.COMPLETE:
        members |= {"end": end, "answered": None, "response": document.response if status else None}
    challenge = (("WWW-Authenticate", f'Bearer resource_metadata="{url}"'),)
    evidence = evidence_of(refusal(NONE, 401, headers=challenge), Exchange(**members))
    assert on(evidence, "credentials/none") is outcome


def on(evidence: Evidence, subject: str) -> Outcome:
    (found,) = [f for f in judge_all(evidence, CHALLENGE_METADATA) if f.subject == subject]
    return found.outcome
