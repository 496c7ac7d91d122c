"""adcp.discovery.*, and the rules of adcp.versions.* on capabilities: every case of data/capabilities.yaml and what else is new."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from bundle import RELEASES, bundle
from evidence import Http, find_rule, finding, judge_all, surveyed, tool_result
from further_calls import probe_of, with_call
from pytest_adcp.harness import declared
from pytest_adcp.harness.calls import Probe, Purpose
from pytest_adcp.harness.conclusion import gaps
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.release import BEFORE_3, WHY_BEFORE_3
from pytest_adcp.harness.rules import Profile, load
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.tasks import CAPABILITIES
from pytest_adcp.harness.verdict import Outcome, judge
from pytest_adcp.reports.observations import observe
from pytest_adcp.suites import CORE
from runs import run
from surveys import survey

FILE = Path(__file__).with_name("data") / "capabilities.yaml"
CASES = {
    f"{rule.removeprefix('adcp.')}: {case['id']}": (rule, case)
    for rule, cases in yaml.safe_load(FILE.read_text(encoding="utf-8")).items()
    for case in cases
}
OPEN = {"type": "object"}


def listing(tools: list[str], *, more: bool = False, **schemas: Any) -> Http:
    result: dict[str, Any] = {
        "tools": [{"name": name, "inputSchema": schemas.get(name, OPEN)} for name in tools]
    }
    if more:
        result["nextCursor"] = "there-is-more"
    return Http({"jsonrpc": "2.0", "id": "list-1", "result": result})


def good(release: str) -> dict[str, Any]:
    named = [] if release in ("none", "3.0") else [release]
    block: dict[str, Any] = {"major_versions": [3], "idempotency": {"supported": False}}
    payload: dict[str, Any] = {"status": "completed", "supported_protocols": ["media_buy"], "adcp": block}
    if named:
        block["supported_versions"] = named
        payload["adcp_version"] = release
    return payload


def answer_of(case: dict[str, Any]) -> dict[str, Any]:
    payload = good(case.get("release", "3.1"))
    for name in case.get("without", ()):
        payload.pop(name, None)
        payload.get("adcp", {}).pop(name, None)
    if "adcp" in payload:
        payload["adcp"] |= copy.deepcopy(case.get("adcp", {}))
    return case.get("whole", payload | case.get("payload", {}))


def evidence_of(case: dict[str, Any]) -> Evidence:
    tools = case.get("tools", [CAPABILITIES, "get_products"])
    page = listing(tools, more=case.get("more", False))
    if CAPABILITIES in tools:
        result = {"content": [], "structuredContent": answer_of(case)}
        answered = tool_result(result, tool=CAPABILITIES, release=None, pages=[page])
    else:
        answered = surveyed(None, release=None, pages=[page])
    return Evidence(answered.transcript, production=case.get("production", False))


@pytest.mark.parametrize(("rule", "case"), CASES.values(), ids=CASES)
def test_case(rule: str, case: dict[str, Any]) -> None:
    found = finding(evidence_of(case), rule)
    assert found.outcome == case["is"], found.message
    said = f"{found.message} ({found.expected} {found.received}) {found.fix}"
    for words in [case["says"]] if isinstance(case.get("says"), str) else case.get("says", []):
        assert words in said
    for words in case.get("further", ()):
        assert words in "\n".join(found.further)
    if found.outcome in (Outcome.FAILED, Outcome.ADVISORY):
        assert found.message != find_rule(rule).requirement
        assert 30 < len(found.message) < 450
        assert found.fix
        assert found.received
        assert (found.pointer or "").endswith(case.get("at", ""))
        assert found.source.startswith("https://docs.adcontextprotocol.org/docs/")


def test_every_rule_has_cases_that_fail_and_that_pass() -> None:
    outcomes: dict[str, set[str]] = {}
    for rule, case in CASES.values():
        outcomes.setdefault(rule, set()).add(case["is"])
    wanted = {
        rule.id
        for rule in load(["pytest_adcp.suites.adcp.discovery", "pytest_adcp.suites.adcp.versions"])
        if rule.judged in ("tools", "capabilities")
    }
    assert wanted == set(outcomes)
    assert all("passed" in seen and seen & {"failed", "advisory"} for seen in outcomes.values())


# -- a request without arguments -------------------------------------------------------------------------------

BARE = probe_of(Probe.NO_ARGUMENTS, {}, tool=CAPABILITIES)
PLAIN = {"content": [], "structuredContent": good("3.1")}


def refused(code: str, message: str = "Refused.", **members: Any) -> dict[str, Any]:
    error = {"code": code, "message": message, "recovery": "correctable", **members}
    return {"result": {"content": [], "structuredContent": {"adcp_error": error}, "isError": True}}


def without_arguments(
    answer: dict[str, Any], *, plain: dict[str, Any] = PLAIN, release: str = "3.1"
) -> Evidence:
    return with_call(tool_result(plain, tool=CAPABILITIES, release=release), BARE, answer, release=release)


PROSE = {"result": {"content": [{"type": "text", "text": "context: Field required"}], "isError": True}}
KEY = refused("INVALID_REQUEST", "idempotency_key is required", field="idempotency_key")


@pytest.mark.parametrize(
    ("answer", "release", "outcome", "says"),
    [
        ({"result": PLAIN}, "3.1", Outcome.PASSED, ""),
        (PROSE, "3.1", Outcome.FAILED, "without arguments"),
        (refused("INVALID_REQUEST", "protocols is required", field="protocols"), "3.0", Outcome.FAILED, ""),
        (KEY, "3.0", Outcome.ADVISORY, "storyboards of 3.0 and 3.1"),
        (KEY, "3.1", Outcome.ADVISORY, "storyboards of 3.0 and 3.1"),
        (KEY, "3.2", Outcome.FAILED, "without arguments"),
        ({"error": {"code": -32602, "message": "Invalid params"}}, "3.1", Outcome.FAILED, ""),
        (refused("AUTH_REQUIRED"), "3.1", Outcome.BLOCKED, "before it was looked at"),
        (refused("AUTHORIZATION_REQUIRED"), "3.1", Outcome.BLOCKED, "AUTHORIZATION_REQUIRED"),
        (refused("SERVICE_UNAVAILABLE"), "3.1", Outcome.BLOCKED, "before it was looked at"),
    ],
)
def test_capabilities_without_arguments(answer: Any, release: str, outcome: Outcome, says: str) -> None:
    found = finding(without_arguments(answer, release=release), "adcp.discovery.no-arguments")
    assert found.outcome is outcome
    assert says in found.message


def test_where_capabilities_are_refused_anyway_the_arguments_are_not_to_blame() -> None:
    evidence = without_arguments(PROSE, plain=refused("INVALID_REQUEST")["result"])
    found = finding(evidence, "adcp.discovery.no-arguments")
    assert found.outcome is Outcome.BLOCKED
    assert "with arguments too" in found.message


# -- which answers are capabilities ------------------------------------------------------------------------------


def test_only_plain_answers_are_capabilities() -> None:
    bad = tool_result(PLAIN, tool=CAPABILITIES, purpose=Purpose.BAD)
    assert finding(bad, "adcp.discovery.protocols").outcome is Outcome.BLOCKED
    probed = without_arguments({"result": {"content": [], "structuredContent": {"adcp": 5}}})
    assert [found.outcome for found in judge_all(probed, "adcp.discovery.major-versions")] == [Outcome.PASSED]


def test_capabilities_that_nobody_asked_for_block_nothing() -> None:
    evidence = tool_result({"content": [], "structuredContent": {"products": []}})
    found = finding(evidence, "adcp.discovery.protocols")
    assert (found.outcome, found.message) == (Outcome.NOT_APPLICABLE, f"{CAPABILITIES} was not called")


# -- servers of AdCP 2.x -----------------------------------------------------------------------------------------

OLD = {"content": [{"type": "text", "text": "Found none."}], "structuredContent": {"products": []}}
OLD_LIST = listing(["get_products", "list_authorized_properties"])


def judged(evidence: Evidence) -> Iterator[tuple[str, Outcome, str]]:
    for rule in load(CORE):
        for entry in evidence.of(rule):
            found = judge(rule, entry)
            yield rule.id, found.outcome, found.message


def test_a_server_without_a_sign_of_adcp_3_is_judged_on_extraction_only() -> None:
    evidence = tool_result(OLD, release=None, pages=[OLD_LIST])
    assert evidence.server.release == BEFORE_3
    spared = {rule for rule, outcome, why in judged(evidence) if why == WHY_BEFORE_3}
    tried = {rule for rule, _, _ in judged(evidence) if rule.startswith("adcp.")} - spared
    assert {"adcp.schema.response", "adcp.errors.readable", "adcp.discovery.no-arguments"} <= spared
    assert {rule.rpartition(".")[0] for rule in tried} == {"adcp.extraction", "adcp.errors", "adcp.discovery"}
    assert {rule for rule in tried if not rule.startswith("adcp.extraction.")} == {
        "adcp.discovery.capabilities-listed",
        "adcp.errors.expected-code",
        "adcp.errors.expected-error",
        "adcp.errors.flagged",
    }
    outcomes = {rule: outcome for rule, outcome, _ in judged(evidence)}
    assert outcomes["adcp.extraction.extractable"] is Outcome.PASSED
    assert outcomes["mcp.result.content"] is Outcome.PASSED
    assert WHY_BEFORE_3 in "".join(gaps(evidence, (), [Profile.CORE]))
    assert [item.note for item in observe(evidence) if item.id == "release"] == [WHY_BEFORE_3]


SIGNS: dict[str, Evidence] = {
    "adcp_version": tool_result(
        {**OLD, "structuredContent": {"products": [], "adcp_version": "3.1"}}, release=None, pages=[OLD_LIST]
    ),
    "adcp_error": tool_result(refused("INVALID_REQUEST")["result"], release=None, pages=[OLD_LIST]),
    "adcp_error in a text": tool_result(
        {"content": [{"type": "text", "text": '{"adcp_error": {"code": "X", "message": "y"}}'}]},
        release=None,
        pages=[OLD_LIST],
    ),
    "an argument": tool_result(
        OLD,
        release=None,
        pages=[listing(["get_products"], get_products={"properties": {"adcp_major_version": {}}})],
    ),
    "an argument in a parameter": tool_result(
        OLD,
        release=None,
        pages=[
            listing(
                ["get_products"],
                get_products={
                    "properties": {
                        "request": {"type": "object", "properties": {"brief": {}, "idempotency_key": {}}}
                    }
                },
            )
        ],
    ),
    "a list without end": tool_result(OLD, release=None, pages=[listing(["get_products"], more=True)]),
    "no AdCP task": surveyed(None, release=None, pages=[listing(["search"])]),
    "capabilities that are not answered": tool_result(
        OLD, release=None, pages=[listing(["get_products", CAPABILITIES])]
    ),
}


@pytest.mark.parametrize("evidence", SIGNS.values(), ids=SIGNS)
def test_any_sign_of_adcp_3_makes_a_server_of_3_0(evidence: Evidence) -> None:
    assert evidence.server.release is None
    assert not [why for _, _, why in judged(evidence) if why == WHY_BEFORE_3]


def test_a_pin_judges_an_old_server_in_full() -> None:
    evidence = tool_result(OLD, release="3.1", pages=[OLD_LIST])
    assert evidence.server.release == "3.1"
    assert not [why for _, _, why in judged(evidence) if why == WHY_BEFORE_3]
    assert finding(evidence, "adcp.discovery.capabilities-listed").outcome is Outcome.ADVISORY


def test_a_run_on_an_old_server_is_inconclusive(tmp_path: Path) -> None:
    with running(SellerOptions(fault="agent-of-adcp-2", release="3.0")) as url:  # type: ignore[arg-type]
        done = run(tmp_path, f"--server-url={url}")
    assert done.code == 6
    assert done.target["verdict"] == "inconclusive"
    assert done.target["adcp_version"] == BEFORE_3
    assert done.target["reasons"] == [f"hardly anything was judged: {WHY_BEFORE_3}"]
    assert done.target["counts"]["blocked"] == 0
    assert "test controller" not in str(done.target["not_checked"])


# -- production servers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["option", "variable", "file"])
def test_a_recording_can_be_judged_as_a_production_server(tmp_path: Path, way: str) -> None:
    with running(SellerOptions(fault="compliance-testing-in-production")) as url:
        survey(url).save(tmp_path / "recorded.jsonl")
    (tmp_path / "adcp.yaml").write_text("production: true\n" if way == "file" else "strict: false\n")
    replay = "--adcp-replay=recorded.jsonl"
    rule = "adcp.discovery.compliance-testing"
    if way == "option":
        done = run(tmp_path, replay, "--adcp-production")
    else:
        done = run(tmp_path, replay, env={"ADCP_PRODUCTION": "1"} if way == "variable" else None)
    failed = [found["rule"] for found in done.target["findings"] if found["outcome"] == "failed"]
    assert (done.code, failed) == (1, [rule])
    assert "production: true" not in str(done.target["not_checked"])
    (tmp_path / "adcp.yaml").unlink()
    done = run(tmp_path, replay)
    assert rule not in [found["rule"] for found in done.target["findings"] if found["outcome"] == "failed"]
    (left,) = [left for left in done.target["not_checked"] if "test controller" in left["item"]]
    assert left["why"] == "say `production: true` in adcp.yaml, or pass --adcp-production"


# -- protocols.yaml against the published manifests ----------------------------------------------------------------

# Our names for them, and the manifests' own.
PROTOCOLS = {
    "media_buy": {"media-buy"},
    "signals": {"signals"},
    "creative": {"creative"},
    "governance": {"governance", "content-standards", "property", "collection"},
    "brand": {"brand"},
    "sponsored_intelligence": {"sponsored-intelligence"},
}
SHARED = {"creative": {"build_creative", "list_creative_formats"}, "governance": {"get_creative_features"}}
OF_BUYERS = ("buyer-", "orchestrator-")
DATA = declared._data()


def manifests() -> list[dict[str, Any]]:
    return [bundle(release).manifest for release in RELEASES]


def test_protocols_have_the_tools_of_the_manifests() -> None:
    tools = {name: tool for manifest in manifests() for name, tool in manifest["tools"].items()}
    assert PROTOCOLS.keys() == DATA["protocols"].keys()
    for protocol, names in PROTOCOLS.items():
        own = {name for name, tool in tools.items() if tool["protocol"] in names}
        listed = DATA["protocols"][protocol]["tools"]
        assert set(listed) == own | SHARED.get(protocol, set())
        assert len(listed) == len(set(listed))


def test_specialisms_have_the_entry_points_that_all_manifests_share() -> None:
    needed: dict[str, set[str]] = {}
    for manifest in manifests():
        for name, specialism in manifest["specialisms"].items():
            tools = set(specialism["entry_point_tools"]) - {"comply_test_controller"}
            name = name.replace("_", "-")
            needed[name] = needed.get(name, tools) & tools
    wanted = {name: tools for name, tools in needed.items() if tools and not name.startswith(OF_BUYERS)}
    assert {name: set(tools) for name, tools in DATA["specialisms"].items()} == wanted


def test_what_does_as_well_is_what_the_manifests_say() -> None:
    newest = manifests()[-1]["tools"]
    for tool, others in DATA["instead"].items():
        for other in others:
            superseded = other in newest[tool].get("superseded_by", ())
            falls_back = newest[tool].get("legacy_fallback", {}).get("tool") == other
            accounts = {tool, other} == {"list_accounts", "sync_accounts"}
            assert superseded or falls_back or accounts, (tool, other)


def test_the_expected_tool_of_a_protocol_is_one_of_the_release_in_which_it_began() -> None:
    for protocol, entry in DATA["protocols"].items():
        assert entry["tools"][0] in manifests()[0]["tools"], protocol


@pytest.mark.parametrize(("release", "known"), [("3.0", True), ("3.9", True), ("2.5", False), ("4.0", False)])
def test_a_release_of_which_nothing_is_known_is_no_conformance(release: str, known: bool) -> None:
    evidence = surveyed(release=None)
    evidence.server = replace(evidence.server, release=release)
    assert any("of which nothing is known" in gap for gap in gaps(evidence, (), [Profile.CORE])) is not known
