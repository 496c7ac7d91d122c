"""adcp.versions.* on answers: what they name, and what a seller makes of the versions that it is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import finding, judge_all, rpc_error, tool_result
from further_calls import probe_of, with_call
from pytest_adcp.harness.calls import PlannedCall, Probe, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.verdict import Finding, Outcome
from test_suites_discovery import good, listing, refused

P, F, A, N, B = (
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.ADVISORY,
    Outcome.NOT_APPLICABLE,
    Outcome.BLOCKED,
)
PINS = {"type": "object", "properties": {"brief": {}, "adcp_version": {}, "adcp_major_version": {}}}
NAMED = [listing(["get_adcp_capabilities", "get_products"], get_products=PINS)]
UNNAMED = [listing(["get_adcp_capabilities", "get_products"])]
PRODUCTS: dict[str, Any] = {"status": "completed", "products": [], "adcp_version": "3.1"}


def ok(payload: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "structuredContent": payload}


def serving(*supported: str) -> dict[str, Any]:
    """Return the capabilities of a seller that lists releases and names none of its answers'."""
    payload = good("3.1")
    payload["adcp"]["supported_versions"] = list(supported)
    del payload["adcp_version"]
    return payload


def of_seller(capabilities: dict[str, Any], answer: dict[str, Any], **arguments: Any) -> Evidence:
    """Return the evidence of a seller that says what it serves, and then gives an answer to get_products."""
    first = tool_result(ok(capabilities), tool="get_adcp_capabilities", release=None, pages=NAMED)
    call = PlannedCall("get_products", "sample", arguments, Purpose.GOOD)
    return with_call(first, call, answer)


def of_products(evidence: Evidence, rule: str) -> Finding:
    (found,) = [found for found in judge_all(evidence, rule) if found.subject.startswith("get_products/")]
    return found


# -- adcp_version of answers -------------------------------------------------------------------------------------

SILENT = {"result": ok({"status": "completed", "products": []})}
FAILED = {
    "result": {
        "content": [],
        "structuredContent": {
            "status": "failed",
            "adcp_error": {"code": "INVALID_REQUEST", "message": "No."},
        },
        "isError": True,
    }
}


@pytest.mark.parametrize(
    ("capabilities", "answer", "arguments", "outcome"),
    [
        (good("3.1"), {"result": ok(PRODUCTS)}, {}, P),
        (good("3.1"), SILENT, {}, A),
        (good("3.2"), SILENT, {}, F),
        (good("3.0"), SILENT, {}, N),
        (good("3.2"), {"result": ok({"status": "completed", "products": [], "adcp_version": None})}, {}, F),
        (good("3.2"), {"result": ok({"status": "submitted", "task_id": "t-1"})}, {}, F),
        # Who also serves 3.0 may answer in it, where no release was asked for.
        (serving("3.0", "3.1", "3.2"), SILENT, {}, N),
        (serving("3.0", "3.1", "3.2"), SILENT, {"adcp_version": "3.0"}, N),
        (serving("3.0", "3.1", "3.2"), SILENT, {"adcp_version": "3.1"}, A),
        (serving("3.0", "3.1", "3.2"), SILENT, {"adcp_version": "3.2"}, F),
        (serving("3.1", "3.2"), SILENT, {}, A),
        (serving("3.2"), SILENT, {}, F),
        # Errors.
        (good("3.1"), FAILED, {}, A),
        (good("3.2"), FAILED, {}, A),
        (serving("3.0", "3.2"), FAILED, {"adcp_version": "3.2"}, N),
        (good("3.2"), refused("INVALID_REQUEST"), {}, N),
        (good("3.2"), {"error": {"code": -32602, "message": "Invalid params"}}, {}, N),
        (good("3.2"), {"result": {"content": [{"type": "text", "text": "No."}], "isError": True}}, {}, N),
        # What other rules say.
        (good("3.2"), {"result": {"content": [{"type": "text", "text": "Here."}]}}, {}, N),
        (good("3.2"), {"result": ok({"result": {"products": []}})}, {}, N),
    ],
)
def test_answers_name_their_release(
    capabilities: dict[str, Any], answer: dict[str, Any], arguments: dict[str, Any], outcome: Outcome
) -> None:
    found = of_products(of_seller(capabilities, answer, **arguments), "adcp.versions.echo")
    assert found.outcome is outcome, found.message


def test_a_pin_asks_for_the_echo_of_its_release() -> None:
    for release, outcome in (("3.0", N), ("3.1", A), ("3.2", F)):
        evidence = tool_result(SILENT["result"], release=release)
        assert finding(evidence, "adcp.versions.echo").outcome is outcome


@pytest.mark.parametrize(
    ("echo", "outcome", "says"),
    [
        ("3.1", P, ""),
        ("3.1-beta.5", P, ""),
        ("3.1-snapshot.20261129.123456.0f3c9a1e", P, ""),
        (None, N, "has no adcp_version"),
        ("3.1.27", F, "the release is 3.1"),
        ("3.1.0-beta.5", F, "the release is 3.1"),
        ("v3.1", F, "no release such as 3.1"),
        ("3", F, "no release such as 3.1"),
        ("", F, "no release such as 3.1"),
        ("3.1 ", F, "no release such as 3.1"),
        (3.1, F, "a number, not a string"),
        (["3.1"], F, "an array, not a string"),
        ("3.2", F, "which supported_versions does not name"),
        ("3." + "1" * 5000, F, "no release such as 3.1"),
    ],
)
def test_the_echo_is_a_supported_release(echo: Any, outcome: Outcome, says: str) -> None:
    evidence = of_seller(good("3.1"), {"result": ok({**PRODUCTS, "adcp_version": echo})})
    found = of_products(evidence, "adcp.versions.echo-form")
    assert found.outcome is outcome, found.message
    assert says in found.message
    if outcome is F:
        assert found.pointer == "/result/structuredContent/adcp_version"


def test_without_supported_versions_any_release_may_be_echoed() -> None:
    evidence = of_seller(good("3.0"), {"result": ok({**PRODUCTS, "adcp_version": "3.0"})})
    assert of_products(evidence, "adcp.versions.echo-form").outcome is P


# -- versions that are asked for ---------------------------------------------------------------------------------

UNSUPPORTED = refused("VERSION_UNSUPPORTED", details={"supported_versions": ["3.1"]})
SERVED = {"result": ok(PRODUCTS)}
PROSE = {"result": {"content": [{"type": "text", "text": "No such version."}], "isError": True}}
INVALID_PARAMS = {"error": {"code": -32602, "message": "Invalid params"}}
PROBES = {
    "adcp.versions.major-accepted": (Probe.SUPPORTED_MAJOR, {"adcp_major_version": 3}),
    "adcp.versions.release-refused": (Probe.UNKNOWN_RELEASE, {"adcp_version": "99.0"}),
    "adcp.versions.conflict": (
        Probe.VERSION_CONFLICT,
        {"adcp_version": "3.1", "adcp_major_version": 2},
    ),
    "adcp.versions.prerelease": (Probe.PRERELEASE, {"adcp_version": "3.1-beta.999"}),
}


def asked(rule: str, answer: dict[str, Any], *, release: str = "3.1", pages: Any = NAMED) -> Finding:
    probe, arguments = PROBES[rule]
    sample = surveyed_products(release, pages)
    return finding(with_call(sample, probe_of(probe, arguments), answer, release=release), rule)


def surveyed_products(release: str, pages: Any) -> Evidence:
    return tool_result(ok(PRODUCTS), release=release, pages=pages)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (SERVED, P),
        ({"result": ok({"status": "submitted", "task_id": "t-1"})}, P),
        (UNSUPPORTED, F),
        (refused("INVALID_REQUEST"), F),
        (PROSE, F),
        (INVALID_PARAMS, F),
        (refused("AUTH_MISSING"), B),
        (refused("RATE_LIMITED", retry_after=3600), B),
        ({"error": {"code": -32027, "message": "Down"}}, B),
    ],
)
@pytest.mark.parametrize("release", ["3.0", "3.1", "3.2"])
def test_the_major_version_that_is_served_is_accepted(
    answer: dict[str, Any], outcome: Outcome, release: str
) -> None:
    found = asked("adcp.versions.major-accepted", answer, release=release)
    assert found.outcome is outcome, found.message


@pytest.mark.parametrize("rule", [rule for rule in PROBES if rule != "adcp.versions.major-accepted"])
def test_versions_that_are_not_served_are_refused(rule: str) -> None:
    worst = F if rule == "adcp.versions.prerelease" else A
    for answer, outcome in (
        (UNSUPPORTED, P),
        (SERVED, worst),
        (refused("INVALID_REQUEST"), A),
        (PROSE, N),
        (INVALID_PARAMS, N),
        (refused("version_unsupported"), N),
        ({"result": ok({"error": "no such version"})}, N),
        (refused("AUTH_MISSING"), B),
    ):
        found = asked(rule, answer)
        assert found.outcome is outcome, (answer, found.message)
    assert asked(rule, SERVED, release="3.0").outcome is N
    assert asked(rule, SERVED, release="3.2").outcome is worst


def test_a_prerelease_may_go_unread_where_the_tool_names_no_version() -> None:
    found = asked("adcp.versions.prerelease", SERVED, pages=UNNAMED)
    assert found.outcome is A
    assert "does not name adcp_version" in found.message
    assert asked("adcp.versions.prerelease", UNSUPPORTED, pages=UNNAMED).outcome is P


def test_who_serves_3_0_too_need_not_know_prereleases() -> None:
    evidence = of_seller(serving("3.0", "3.1"), {"result": ok({**PRODUCTS, "adcp_version": "3.0"})})
    probe, arguments = PROBES["adcp.versions.prerelease"]
    call = PlannedCall(
        "get_products", str(probe), arguments, Purpose.PROBE, probe=probe, baseline="get_products/sample"
    )
    answer = {"result": ok({"status": "completed", "products": []})}
    found = of_products(with_call(evidence, call, answer), "adcp.versions.prerelease")
    assert found.outcome is A
    assert "also serves AdCP 3.0" in found.message


@pytest.mark.parametrize(
    ("answer", "pages", "outcome"),
    [
        (UNSUPPORTED, NAMED, P),
        (SERVED, NAMED, A),
        (SERVED, UNNAMED, N),
        (refused("INVALID_REQUEST"), NAMED, A),
        (PROSE, NAMED, N),
    ],
)
@pytest.mark.parametrize("release", ["3.0", "3.2"])
def test_a_major_version_that_is_not_served_is_refused(
    answer: dict[str, Any], pages: Any, outcome: Outcome, release: str
) -> None:
    call = PlannedCall("get_products", "unsupported-major", {"adcp_major_version": 99}, Purpose.BAD)
    evidence = with_call(surveyed_products(release, pages), call, answer, release=release)
    found = next(
        found
        for found in judge_all(evidence, "adcp.versions.major-refused")
        if found.subject.endswith("unsupported-major")
    )
    assert found.outcome is outcome, found.message


def test_only_that_request_is_judged_for_its_major_version() -> None:
    call = PlannedCall("get_products", "wrong-type", {"brief": 5}, Purpose.BAD)
    evidence = with_call(surveyed_products("3.1", NAMED), call, SERVED, release="3.1")
    assert {found.outcome for found in judge_all(evidence, "adcp.versions.major-refused")} == {N}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (UNSUPPORTED, P),
        (refused("VERSION_UNSUPPORTED", data={"supported_versions": ["3.1"]}), P),
        (refused("VERSION_UNSUPPORTED"), A),
        (refused("VERSION_UNSUPPORTED", details={"supported_majors": [3]}), A),
        (refused("VERSION_UNSUPPORTED", details={"supported_versions": []}), A),
        (refused("VERSION_UNSUPPORTED", details={"supported_versions": "3.1"}), A),
        (refused("VERSION_UNSUPPORTED", details="3.1"), N),
        (refused("INVALID_REQUEST"), N),
        (PROSE, N),
    ],
)
def test_a_refusal_names_what_is_supported(answer: dict[str, Any], outcome: Outcome) -> None:
    evidence = tool_result(answer["result"], purpose=Purpose.BAD)
    found = finding(evidence, "adcp.versions.refusal-details")
    assert found.outcome is outcome, found.message


def test_a_refusal_may_name_it_in_the_data_of_a_json_rpc_error() -> None:
    error = {"code": "VERSION_UNSUPPORTED", "message": "No.", "recovery": "correctable"}
    rpc = {"code": -32602, "message": "No.", "data": {"adcp_error": error}}
    assert finding(rpc_error(rpc), "adcp.versions.refusal-details").outcome is A
    rpc["data"] = {"adcp_error": error, "supported_versions": ["3.1"]}
    assert finding(rpc_error(rpc), "adcp.versions.refusal-details").outcome is P
