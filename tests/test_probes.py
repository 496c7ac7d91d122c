"""Which probes a plan has, and what single ones send; test_probes_series.py is about those that belong together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bundle import RELEASES, bundle
from plans import OPEN, TEXT, call, changing, closed, listed, of, probe_subjects, probing, subjects, why
from pytest_adcp.harness.calls import Probe, Purpose, Take
from pytest_adcp.harness.probes import contexts, pages, tolerance
from pytest_adcp.harness.probes.credentials import MADE_UP
from pytest_adcp.harness.tasks import catalogue

ENVELOPE = {"idempotency_key", "context_id", "governance_context", "ext"}
OBJECT = {"type": "object"}
VERSIONS = ("adcp_version", "adcp_major_version")


# -- in general ------------------------------------------------------------------------------------


def test_probes_come_after_all_plain_calls_and_only_where_they_are_wanted() -> None:
    tools = listed("get_products", "list_creatives", "get_adcp_capabilities")
    made = probing(tools)
    first = next(index for index, item in enumerate(made.calls) if item.probe)
    assert all(item.probe is None for item in made.calls[:first])
    assert all(item.probe is not None for item in made.calls[first:])
    assert {item.purpose for item in made.calls[first:]} == {Purpose.PROBE}
    assert made == probing(tools)
    for without in ({"probes": False}, {"auto": False}):
        assert not any(item.probe for item in probing(tools, **without).calls)


def test_a_variation_waits_for_the_sample_and_is_compared_with_it() -> None:
    made = probing(listed("get_products"))
    varied = [item for item in made.calls if item.probe and item.probe not in (Probe.NOT_FOUND, Probe.PAGE)]
    assert len(varied) >= 7
    assert {(item.after, item.baseline) for item in varied} == {
        ("get_products/sample", "get_products/sample")
    }


def test_a_sample_that_cannot_be_made_is_not_varied() -> None:
    made = probing(listed(get_signals=closed("signal_spec", "tenant", required=("tenant",))))
    assert made.calls == ()
    assert why(made, "probe/unknown-release")


def test_values_that_are_taken_from_an_answer_are_taken_again_unless_they_are_replaced() -> None:
    made = probing(listed("list_property_lists", "get_content_standards", "list_content_standards"))
    (sample,) = [item for item in made.calls if item.subject == "get_content_standards/sample"]
    enveloped = call(made, "get_content_standards/envelope-fields")
    assert (
        enveloped.takes
        == sample.takes
        == (Take("/standards_id", "list_content_standards", "/standards/0/standards_id"),)
    )
    conflict = changing(listed("get_products", "create_media_buy"))
    assert call(conflict, "create_media_buy/replay").takes == call(conflict, "create_media_buy/sample").takes


def test_in_a_tool_with_one_parameter_everything_goes_into_that() -> None:
    inner = {"type": "object", "properties": {"pagination": OBJECT, "context": OBJECT, "brand_id": TEXT}}
    wrapped = {"type": "object", "properties": {"params": inner}, "required": ["params"]}
    made = probing(listed(list_creatives=wrapped, get_brand_identity=wrapped))
    for item in made.calls:
        assert set(item.arguments) == {"params"}, item.subject
    assert call(made, "list_creatives/envelope-fields").arguments["params"].keys() >= ENVELOPE
    first = call(made, "list_creatives/page-1")
    assert first.arguments["params"]["pagination"] == {"max_results": 1}
    second = pages.following(first, {"pagination": {"has_more": True, "cursor": "c"}})
    assert second is not None
    assert second.arguments["params"]["pagination"] == {"max_results": 1, "cursor": "c"}
    assert first.arguments["params"]["pagination"] == {"max_results": 1}, "the first page is left as it was"
    one, other = of(made, Probe.NOT_FOUND)
    assert one.arguments["params"]["context"] == contexts.rich_context("r1")
    assert other.arguments["params"]["context"] == {"adcp_run": "r1"}


# -- what a server has to put up with --------------------------------------------------------------


def test_envelope_members_are_sent_to_reads_whatever_their_schema_says() -> None:
    strict = {**closed("brief"), "additionalProperties": False}
    made = probing(listed("list_creatives", get_products=strict))
    assert probe_subjects(made, Probe.ENVELOPE_FIELDS) == [
        "get_products/envelope-fields",
        "list_creatives/envelope-fields",
    ]
    for item in of(made, Probe.ENVELOPE_FIELDS):
        sample = call(made, f"{item.tool}/sample").arguments
        assert item.arguments.keys() - sample.keys() == ENVELOPE
        assert {name: item.arguments[name] for name in sample} == sample
        assert "push_notification_config" not in item.arguments
    keys = [item.arguments["idempotency_key"] for item in of(made, Probe.ENVELOPE_FIELDS)]
    assert len(set(keys)) == 2
    assert all(16 <= len(key) <= 255 for key in keys)


def test_no_more_than_eight_reads_are_tried_with_envelope_members() -> None:
    names = [task.name for task in catalogue().values() if not task.mutating]
    reads = [
        name for name in names if name not in tolerance.CLOSED and "sample" in str(probing(listed(name)))
    ]
    made = probing(listed(*reads[: tolerance.MAX_READS + 2]))
    assert len(of(made, Probe.ENVELOPE_FIELDS)) == tolerance.MAX_READS


@pytest.mark.parametrize(
    "schema", [OPEN, closed("brief"), {**closed("brief"), "additionalProperties": False}]
)
def test_one_read_gets_a_member_that_nobody_knows(schema: dict[str, Any]) -> None:
    made = probing(listed("get_adcp_capabilities", "list_creatives", get_products=schema))
    (item,) = of(made, Probe.UNKNOWN_FIELD)
    assert item.tool == "get_products"
    assert (
        item.arguments.keys() - call(made, "get_products/sample").arguments.keys()
        == {tolerance.UNKNOWN_MEMBER}
    )  # fmt: skip


def test_reads_that_adcp_itself_closes_are_left_alone() -> None:
    made = probing(listed("list_property_lists", "get_property_list"))
    assert "list_property_lists/sample" in subjects(made)
    assert of(made, Probe.ENVELOPE_FIELDS) == of(made, Probe.UNKNOWN_FIELD) == []
    assert "may hold further members" in why(made, "probe/envelope-fields, probe/unknown-field")


@pytest.mark.parametrize("release", RELEASES)
def test_the_closed_requests_are_the_ones_of_the_published_schemas(release: str) -> None:
    published = bundle(release)
    shut = {
        name
        for name in published.tools
        if name in catalogue() and not catalogue()[name].mutating
        if published.request(name)[1].get("additionalProperties") is False
    }
    assert shut <= tolerance.CLOSED


def test_mutating_tasks_are_never_asked_what_they_put_up_with() -> None:
    made = changing(listed("get_products", "create_media_buy"))
    keys = (Probe.NO_KEY, Probe.REPLAY, Probe.KEY_CONFLICT, Probe.FAILURE_AGAIN)
    assert {item.probe for item in made.calls if item.probe and item.mutating} == set(keys)


def test_a_credential_goes_to_a_read_that_takes_ext() -> None:
    made = probing(listed(list_creatives=closed("ext"), get_products=closed("brief", "ext")))
    (item,) = of(made, Probe.CREDENTIAL)
    assert item.tool == "get_products"
    assert item.arguments["ext"] == {"api_key": MADE_UP}
    assert "ext.api_key" in item.violates
    texts = {"type": "object", "properties": {"ext": TEXT}}
    for schema in (closed("brief"), texts):
        assert why(probing(listed(get_products=schema)), "probe/credential")


# -- versions, contexts, discovery -----------------------------------------------------------------


def test_versions_are_asked_for_where_the_tool_names_them() -> None:
    made = probing(listed(get_products=closed("brief", *VERSIONS), list_creatives=closed(*VERSIONS)))
    sent = {
        str(item.probe): {name: item.arguments[name] for name in VERSIONS if name in item.arguments}
        for item in made.calls
        if item.probe and item.probe is not Probe.ENVELOPE_FIELDS and item.arguments.keys() & {*VERSIONS}
    }
    assert sent == {
        "supported-major": {"adcp_major_version": 3},
        "unknown-release": {"adcp_version": "99.0"},
        "version-conflict": {"adcp_version": "3.1", "adcp_major_version": 2},
        "prerelease": {"adcp_version": "3.1-beta.999"},
    }
    assert {item.tool for item in made.calls if str(item.probe) in sent} == {"get_products"}
    assert not call(made, "get_products/supported-major").violates
    assert call(made, "get_products/prerelease").violates


def test_a_tool_that_names_a_version_goes_before_one_that_takes_anything() -> None:
    made = probing(listed("get_products", list_creatives=closed("adcp_version")))
    assert probe_subjects(made, Probe.UNKNOWN_RELEASE) == ["list_creatives/unknown-release"]
    assert probe_subjects(made, Probe.SUPPORTED_MAJOR) == ["get_products/supported-major"]


def test_a_tool_without_version_arguments_is_not_asked() -> None:
    made = probing(listed(get_products=closed("brief", "adcp_major_version")))
    assert probe_subjects(made, Probe.SUPPORTED_MAJOR) == ["get_products/supported-major"]
    assert why(made, "probe/unknown-release").endswith("adcp_version")
    assert why(made, "probe/version-conflict").endswith("adcp_version and adcp_major_version")


def test_a_context_holds_every_kind_of_value_and_the_run() -> None:
    context = contexts.rich_context("r1")
    assert context["adcp_run"] == "r1"
    assert {type(value) for value in context.values()} == {str, dict, int, bool, list}
    assert "1.0" not in json.dumps(context)
    made = probing(listed("get_products", "list_creatives"))
    assert probe_subjects(made, Probe.CONTEXT) == ["get_products/context"]
    assert call(made, "get_products/context").arguments["context"] == context
    without = probing(listed(get_products=closed("brief")))
    assert why(without, "probe/context")


def test_capabilities_are_asked_for_with_nothing_at_all() -> None:
    schema = {**closed("tenant", required=("tenant",)), "properties": {"tenant": {"const": "t"}}}
    made = probing(listed(get_adcp_capabilities=schema))
    assert call(made, "get_adcp_capabilities/sample").arguments["tenant"] == "t"
    item = call(made, "get_adcp_capabilities/no-arguments")
    assert (item.arguments, item.after) == ({}, None)
    assert why(probing(listed("get_products")), "probe/no-arguments")
