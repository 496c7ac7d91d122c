"""The rules on the endpoint and on OAuth: what is sent for them, and what they make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from apps import app, judged, tool
from evidence import Http, answered
from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import AppRequest, ConfiguredCall
from pytest_adcp.harness.rules import Broken
from pytest_adcp.harness.seller.options import FOR_APPS, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.standards import packaged
from pytest_adcp.harness.subjects import Metadata, Server
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import Exchange, Kind, Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.suites.connected_apps.oauth import the_resource_is_this_host
from runs import run
from scripted import Call, Reply, Seller, scripted
from strangers import KNOWN, TOOLS, guarded
from surveys import judge_app, judge_core, survey, survey_app, with_outcome

PASSED, FAILED, ADVISORY, NA = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY, Outcome.NOT_APPLICABLE
TOKEN = "token-of-the-reference-seller"
OPENED = {"capabilities": {"tools": {}}, "serverInfo": {"name": "app", "version": "1"}}


def at(url: str, evidence: Evidence | None = None) -> Evidence:
    """Return evidence as if it had come from another URL."""
    found = (evidence or app(tool())).transcript
    return Evidence(replace(found, survey=replace(found.survey, url=url)))


def for_apps(transcript: Transcript) -> list[Exchange]:
    """Return what is sent for the profile alone."""
    ours = ("app/", "http/client-info", "http/user-agent", "http/close/client", "http/close/user")
    return [e for e in transcript.exchanges if e.subject.startswith(ours) or "user-context" in e.subject]


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("https://ads.example/v1/mcp", PASSED),
        ("https://ads.example:443/mcp", PASSED),
        ("https://ads.example:8443/mcp", FAILED),
        ("http://ads.example/mcp", FAILED),
        ("http://ads.example:443/mcp", FAILED),
        ("http://127.0.0.1:8000/mcp", NA),
        ("http://[::1]:8000/mcp", NA),
    ],
)
def test_https_443(url: str, outcome: Outcome) -> None:
    assert judged(at(url), "https-443").outcome is outcome


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        *[
            (path, PASSED)
            for path in ("/v1", "/mcp/v2/", "/v1beta/mcp", "/v1.2/mcp", "/V3/mcp", "/2025-11-25/mcp")
        ],
        *[(path, ADVISORY) for path in ("", "/", "/mcp", "/vast/mcp", "/v/mcp", "/mcp?v=1")],
    ],
)
def test_versioned_path(path: str, outcome: Outcome) -> None:
    # a version in the host's name does not count
    assert judged(at(f"https://v1.ads.example{path}"), "versioned-path").outcome is outcome


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_accepted_revisions(revision: str) -> None:
    opened = Http({"jsonrpc": "2.0", "id": 1, "result": {**OPENED, "protocolVersion": revision}})
    body = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}
    assert judged(answered(body, initialize=opened), "protocol-version").outcome is PASSED


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28", "2099-01-01", 7])
def test_other_revisions(revision: Any) -> None:
    opened = Http({"jsonrpc": "2.0", "id": 1, "result": {**OPENED, "protocolVersion": revision}})
    body = {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}
    found = judged(answered(body, initialize=opened), "protocol-version")
    assert (found.outcome, found.pointer) == (FAILED, "/result/protocolVersion")


@pytest.mark.parametrize("there", ["http://seller.test/mcp/", "http://seller.test/rpc"])
def test_a_redirect_for_a_slash_is_an_advisory(there: str) -> None:
    found = app(tool()).transcript
    first, *others = found.exchanges
    moved = Evidence(replace(found, exchanges=(replace(first, redirects=(there,)), *others)))
    assert judged(moved, "single-endpoint").outcome is (ADVISORY if there.endswith("/mcp/") else FAILED)


@pytest.mark.parametrize(
    ("media_type", "outcome"),
    [("application/json; charset=utf-8", PASSED), ("text/plain", FAILED), ("", FAILED)],
)
def test_media_types(media_type: str, outcome: Outcome) -> None:
    evidence = answered(
        {"jsonrpc": "2.0", "id": "call-7", "result": {"content": []}}, content_type=media_type
    )
    assert judged(evidence, "response-media-type").outcome is outcome


# -- what is sent -------------------------------------------------------------------------------------------------


def test_a_core_run_sends_nothing_of_it() -> None:
    with running(SellerOptions()) as url:
        assert for_apps(survey(url)) == []


def test_a_run_for_apps_sends_all_of_it_and_a_replay_says_the_same(tmp_path: Path) -> None:
    options = SellerOptions(bearer=TOKEN, discovery=True, **FOR_APPS)
    with running(options) as url:
        transcript = survey_app(url, credentials=Credentials(bearer=TOKEN), app=AppRequest(verification=True))
    sent = {exchange.subject: exchange for exchange in for_apps(transcript)}
    assert set(sent) == {
        "list_accounts/user-context",
        "http/client-info",
        "http/close/client-info",
        "http/user-agent",
        "http/close/user-agent",
        "app/authorization-server",
        "app/authorization-server/openid",
        "app/verification",
    }
    agents = [
        value for name, value in sent["http/user-agent"].request.headers if name.lower() == "user-agent"
    ]
    assert agents == ["Google"]
    assert json.loads(sent["http/client-info"].request.body)["params"]["clientInfo"]["name"] != "pytest-adcp"
    meta = json.loads(sent["list_accounts/user-context"].request.body)["params"]["_meta"]
    assert set(meta["current_user_location_fine"]) == {
        "latitude_degrees",
        "longitude_degrees",
        "accuracy_meters",
    }
    for name in ("app/authorization-server", "app/verification"):
        assert not any(header.lower() == "authorization" for header, _ in sent[name].request.headers)
    path = tmp_path / "transcript.jsonl"
    transcript.save(path)
    assert judge_app(Transcript.load(path)) == judge_app(transcript)


def test_what_is_sent_for_apps_breaks_no_rule_of_the_core() -> None:
    options = SellerOptions(bearer=TOKEN, discovery=True, **FOR_APPS)
    with running(options) as url:
        transcript = survey_app(url, credentials=Credentials(bearer=TOKEN), app=AppRequest(verification=True))
    assert with_outcome(judge_core(transcript), FAILED) == set()
    assert with_outcome(judge_core(transcript), ADVISORY) == set()
    assert with_outcome(judge_app(transcript), FAILED) == {"connected-apps.domain-verification"}
    assert with_outcome(judge_app(transcript), ADVISORY) == set()


def test_a_server_of_the_old_transport_alone_fails_by_that_rule(tmp_path: Path) -> None:
    with running(SellerOptions(fault="app-legacy-sse", **FOR_APPS)) as url:
        done = run(tmp_path, f"--server-url={url}", "--adcp-profile=connected-apps")
    assert done.code == 1
    assert done.target["verdict"] == "nonconformant"
    assert [found["rule"] for found in done.target["findings"]] == ["connected-apps.no-legacy-sse"]


def test_the_report_tells_the_slowest_call_and_the_largest_answer(tmp_path: Path) -> None:
    done = run(tmp_path, "--server-url=demo", "--adcp-profile=connected-apps")
    assert done.code == 0, done.out
    items = {item["id"]: item["text"] for item in done.target["checklist"]}
    slowest = max(done.target["calls"], key=lambda call: call["seconds"])
    largest = max(call["bytes"] for call in done.target["calls"])
    assert (
        f"{slowest['subject']} with {slowest['seconds']:.3f} s" in items["connected-apps.backend-aggregation"]
    )
    assert f"{largest:,} bytes" in items["connected-apps.backend-aggregation"]


def test_nothing_of_it_goes_without_probes() -> None:
    with running(SellerOptions(**FOR_APPS)) as url:
        assert for_apps(survey_app(url, probes=False)) == []


def test_a_configured_read_of_any_tool_is_made_in_the_context_of_a_user() -> None:
    weather = {**tool(), "annotations": {"readOnlyHint": True}}
    with scripted(lambda _: None, tools=[weather]) as seller:
        transcript = survey_app(seller.url, calls=[ConfiguredCall("get_weather", "oslo", {"city": "Oslo"})])
    (call,) = [call for call in transcript.survey.calls if call.probe is Probe.USER_CONTEXT]
    assert (call.tool, call.arguments, call.baseline) == ("get_weather", {"city": "Oslo"}, "get_weather/oslo")
    assert judged(Evidence(transcript), "meta-tolerated").outcome is PASSED


@pytest.mark.parametrize(("status", "outcome"), [(400, FAILED), (500, FAILED), (502, ADVISORY)])
def test_a_call_in_context_may_be_refused_by_chance(status: int, outcome: Outcome) -> None:
    def hook(call: Call) -> Any:
        return Reply(status=status, body=b"no") if "user_locale" in str(call.message) else None

    weather = {**tool(), "annotations": {"readOnlyHint": True}}
    with scripted(hook, tools=[weather]) as seller:
        transcript = survey_app(seller.url, calls=[ConfiguredCall("get_weather", "oslo", {"city": "Oslo"})])
    assert judged(Evidence(transcript), "meta-tolerated").outcome is outcome


def test_a_configured_change_is_not_made_twice() -> None:
    with scripted(lambda _: None, tools=[tool("set_weather", annotations={"readOnlyHint": False})]) as seller:
        transcript = survey_app(seller.url, calls=[ConfiguredCall("set_weather", "rain", {})])
    assert not [call for call in transcript.survey.calls if call.probe is Probe.USER_CONTEXT]
    assert judged(Evidence(transcript), "meta-tolerated").outcome is NA


# -- documents ----------------------------------------------------------------------------------------------------


@contextmanager
def serving(documents: dict[str, Any]) -> Iterator[Seller]:
    """Serve documents beside an endpoint that asks for credentials; `$origin` in them is the seller's."""

    def hook(call: Call) -> Any:
        if call.verb != "GET":
            return guarded(call)
        found = documents.get(call.path, Reply(status=404))
        if not isinstance(found, dict):
            return found
        body = json.dumps(found).replace("$origin", f"http://{call.header('host')}").encode()
        return Reply(body=body, headers=["Content-Type: application/json"])

    with scripted(hook, tools=TOOLS) as seller:
        yield seller


def surveyed(documents: dict[str, Any], **request: bool) -> Evidence:
    with serving(documents) as seller:
        return Evidence(survey_app(seller.url, credentials=KNOWN, app=AppRequest(**request)))


RESOURCE = "/.well-known/oauth-protected-resource/mcp"
GOOD = {
    "issuer": "$origin",
    "authorization_endpoint": "$origin/authorize",
    "token_endpoint": "$origin/token",
    "registration_endpoint": "$origin/register",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}


def listing(issuer: str) -> dict[str, Any]:
    return {RESOURCE: {"resource": "$origin/mcp", "authorization_servers": [issuer]}}


@pytest.mark.parametrize("place", ["oauth-authorization-server", "openid-configuration"])
@pytest.mark.parametrize("path", ["", "/tenant/1"])
def test_metadata_behind_the_issuers_path_is_found(path: str, place: str) -> None:
    evidence = surveyed({**listing(f"$origin{path}"), f"{path}/.well-known/{place}": GOOD})
    for rule in ("discovery", "registration", "pkce-s256", "resource-matches-host"):
        assert judged(evidence, f"oauth-{rule}").outcome is PASSED


def test_metadata_before_the_issuers_path_is_not_and_both_urls_are_told() -> None:
    evidence = surveyed({**listing("$origin/tenant"), "/.well-known/oauth-authorization-server/tenant": GOOD})
    found = judged(evidence, "oauth-discovery")
    assert found.outcome is FAILED
    assert "/tenant/.well-known/oauth-authorization-server" in found.fix
    assert "/.well-known/oauth-authorization-server/tenant" in found.fix
    assert judged(evidence, "oauth-pkce-s256").outcome is NA


@pytest.mark.parametrize(
    ("resource", "endpoint", "passes"),
    [
        ("https://ads.example/v1/mcp", "https://ads.example/v1/mcp", True),
        ("https://ADS.example./", "https://ads.example/v1/mcp", True),
        ("https://b\u00fccher.example/mcp", "https://xn--bcher-kva.example/mcp", True),
        ("https://eu.ads.example/mcp", "https://ads.example/mcp", False),
        ("ads.example", "https://ads.example/mcp", False),
        ("https://" + "a." * 300 + "example/", "https://ads.example/mcp", False),
        (["https://ads.example/mcp"], "https://ads.example/mcp", False),
    ],
)
def test_a_host_is_one_however_it_is_written(resource: Any, endpoint: str, passes: bool) -> None:
    (exchange,) = [e for e in app(tool()).transcript.exchanges if e.kind is Kind.INITIALIZE]
    document = Metadata("m", exchange, Server(), None, {"resource": resource}, endpoint)
    with nullcontext() if passes else pytest.raises(Broken):
        the_resource_is_this_host(document)


def test_without_a_document_of_its_own_the_origin_is_the_issuer() -> None:
    evidence = surveyed({"/.well-known/oauth-authorization-server": GOOD})
    assert judged(evidence, "oauth-discovery").outcome is PASSED


@pytest.mark.parametrize(
    "change",
    [
        {"authorization_endpoint": None},
        {"token_endpoint": "/token"},
        {"response_types_supported": ["token"]},
        {"response_types_supported": None},
    ],
)
def test_metadata_has_what_the_platform_needs(change: dict[str, Any]) -> None:
    evidence = surveyed({**listing("$origin"), "/.well-known/oauth-authorization-server": {**GOOD, **change}})
    assert judged(evidence, "oauth-discovery").outcome is FAILED


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(401, FAILED), (404, FAILED), (302, ADVISORY), (503, Outcome.BLOCKED)],
)
def test_what_is_no_metadata(status: int, outcome: Outcome) -> None:
    reply = Reply(status=status, headers=["Location: /elsewhere"])
    evidence = surveyed(
        {f"/.well-known/{name}": reply for name in ("oauth-authorization-server", "openid-configuration")}
    )
    assert judged(evidence, "oauth-discovery").outcome is outcome


def test_pkce_is_a_choice_in_oauth_2_0() -> None:
    without = {name: value for name, value in GOOD.items() if name != "code_challenge_methods_supported"}
    evidence = surveyed({**listing("$origin"), "/.well-known/oauth-authorization-server": without})
    assert judged(evidence, "oauth-pkce-s256").outcome is FAILED
    declared = replace(packaged(), oauth="2.0")
    assert judged(evidence, "oauth-pkce-s256", declared).outcome is ADVISORY


def test_an_issuer_on_another_host_is_asked_only_where_the_user_allows_it() -> None:
    with serving({"/.well-known/oauth-authorization-server": {**GOOD, "issuer": "$origin"}}) as issuer:
        where = issuer.url.removesuffix("/mcp")
        kept = surveyed(listing(where))
        assert not [call for call in issuer.calls if call.verb == "GET"]
        found = judged(kept, "oauth-discovery")
        assert found.outcome is NA
        assert "issuer: true" in found.message
        assert judged(surveyed(listing(where), issuer=True), "oauth-discovery").outcome is PASSED
        asked = [call for call in issuer.calls if call.verb == "GET"]
        assert asked
        assert all(call.header("authorization") is None for call in asked)


def test_who_asks_for_no_credentials_needs_no_oauth() -> None:
    with running(SellerOptions(**FOR_APPS)) as url:
        transcript = survey_app(url)
    assert not [e for e in transcript.exchanges if e.kind is Kind.METADATA and e.subject.startswith("app/")]
    assert judged(Evidence(transcript), "oauth-discovery").outcome is NA


PROOF = "/.well-known/google-connected-apps"


@pytest.mark.parametrize(
    ("documents", "outcome"),
    [
        ({PROOF: {"token": "abc"}}, PASSED),
        ({}, FAILED),
        ({PROOF: Reply(body=b"token=abc", headers=["Content-Type: text/plain"])}, FAILED),
        (
            {PROOF: Reply(status=302, headers=["Location: /elsewhere"]), "/elsewhere": {"token": "abc"}},
            FAILED,
        ),
        (
            {PROOF: Reply(status=307, headers=["Location: /elsewhere"]), "/elsewhere": {"token": "abc"}},
            FAILED,
        ),
    ],
)
def test_the_proof_of_the_domain(documents: dict[str, Any], outcome: Outcome) -> None:
    assert judged(surveyed(documents, verification=True), "domain-verification").outcome is outcome


def test_the_proof_is_not_asked_for_unless_somebody_says_that_it_is_there() -> None:
    assert judged(surveyed({PROOF: {"token": "abc"}}), "domain-verification").outcome is NA


def test_a_server_of_the_stateless_era_alone_is_asked_nothing_of_the_handshake() -> None:
    with running(SellerOptions(eras=Eras.STATELESS, **FOR_APPS)) as url:
        transcript = survey_app(url)
    assert {e.subject for e in for_apps(transcript)} == {"list_accounts/user-context"}
    assert judged(Evidence(transcript), "protocol-version").outcome is FAILED
    assert judged(Evidence(transcript), "meta-tolerated").outcome is PASSED
