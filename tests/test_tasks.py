from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest
from bundle import ACCOUNTS, RELEASES, Bundle, answered, bundle
from pytest_adcp.harness.placeholders import Filled, Values, fill, waits
from pytest_adcp.harness.tasks import ENVELOPE, Change, Task, catalogue, look_alike

TASKS = list(catalogue().values())
SCALARS = {"string", "number", "integer", "boolean", "null"}
# What an error or an interim answer requires.
NOT_SUCCESS = {"errors", "error", "adcp_error", "task_id"}

each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def releases(task: Task) -> list[Bundle]:
    return [bundle(release) for release in RELEASES if task.since <= release <= (task.until or RELEASES[-1])]


def values(account: Mapping[str, Any] | None = ACCOUNTS[0]) -> Values:
    return Values("run", "task/call", date(2030, 1, 1), account)


def request(
    task: Task, change: Change | None = None, account: Mapping[str, Any] = ACCOUNTS[0]
) -> dict[str, Any]:
    members = {**task.request, **(change.members if change else {})}
    filled = fill({name: value for name, value in members.items() if value is not None}, values(account))
    return answered(filled.arguments, filled.takes, filled.needed)


def bad(task: Task, name: str) -> list[Change]:
    return [change for item in task.bad if item.name == name for change in item.changes]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from strings(item)


# -- the file by itself -------------------------------------------------------------------------------------


def test_the_catalogue_has_every_task_and_discovery_comes_first() -> None:
    assert len(TASKS) == 79
    assert TASKS[0].name == "get_adcp_capabilities"
    with pytest.raises(TypeError):
        catalogue()["get_products"] = TASKS[0]  # type: ignore[index]


@each_task
def test_root_fields_are_named_once_and_none_is_of_the_envelope(task: Task) -> None:
    assert task.root
    fields = [*task.root, *task.scalars, *task.containers]
    assert len(fields) == len(set(fields))
    assert not ENVELOPE & set(fields)
    assert "payload" not in fields, "payload is what a wrapper is called"


def test_payload_is_no_part_of_the_envelope() -> None:
    assert "payload" not in ENVELOPE
    assert {"status", "context", "errors", "adcp_error", "task_id"} <= ENVELOPE


def test_only_tasks_that_look_something_up_count_as_read() -> None:
    verbs = re.compile(r"(get|list|search|validate|verify|preview|si_get)_")
    assert [task.name for task in TASKS if not task.mutating and not verbs.match(task.name)] == []
    assert {"check_governance", "get_creative_features"} <= {task.name for task in TASKS if task.mutating}
    assert not catalogue()["get_products"].mutating


@each_task
def test_requests_hold_only_placeholders_that_are_known(task: Task) -> None:
    written = [task.request, *(change.members for item in task.bad for change in item.changes)]
    sent = [request(task, Change(members, (), "")) for members in written]
    assert [text for text in strings(sent) if text.startswith("$")] == []


@each_task
def test_bad_requests_come_in_order_of_trust_and_the_first_needs_no_answer(task: Task) -> None:
    names = [item.name for item in task.bad]
    order = ["unsupported-major", "unknown-id", "wrong-type"]
    if waits(task.request) and "unknown-id" in names:
        order.remove("unknown-id")
        order.insert(0, "unknown-id")
        change = bad(task, "unknown-id")[0]
        members = {
            name: value for name, value in {**task.request, **change.members}.items() if value is not None
        }
        assert not waits(members), "the unknown id has to stand for everything that an answer would give"
    assert names == [name for name in order if name in names]
    for item in task.bad:
        assert item.codes
        for change in item.changes:
            assert change.decisive
            assert set(change.decisive) <= set(change.members)
            assert change.violates.startswith(change.decisive[0])


@each_task
def test_values_are_taken_from_tasks_of_the_catalogue(task: Task) -> None:
    for take in fill(task.request, values()).takes:
        assert take.tool in catalogue()
        assert take.tool != task.name


@pytest.mark.parametrize("task", [task for task in TASKS if task.mutating], ids=lambda task: task.name)
def test_mutating_tasks_touch_only_what_the_run_made_itself(task: Task) -> None:
    if re.match(
        r"(update|delete|control|provide|creative_approval|si_send|si_terminate|report|calibrate)", task.name
    ):
        sources = {take.tool for take in fill(task.request, values()).takes}
        assert all(catalogue()[source].mutating for source in sources)


@each_task
def test_idempotency_keys_are_fresh_in_every_call(task: Task) -> None:
    keyless = {"si_terminate_session", "check_governance", "get_creative_features", "comply_test_controller"}
    assert ("idempotency_key" in task.request) == (task.mutating and task.name not in keyless)
    assert task.request.get("idempotency_key", "$uuid") == "$uuid"


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("adcp_get_products", "get_products"),
        ("getProducts", "get_products"),
        ("GetProducts", "get_products"),
        ("get-products", "get_products"),
        ("adcp.get_products", "get_products"),
        ("AdCPGetProducts", "get_products"),
        ("getproducts", "get_products"),
        ("get_products_v2", "get_products"),
        ("acme__update-media-buy", "update_media_buy"),
        ("x_si_get_offering", "si_get_offering"),
        ("get_products", None),
        ("forget_products", None),
        ("get_product", None),
        ("widgets", None),
        ("", None),
        ("_" * 50_000 + "get_products", None),
    ],
)
def test_names_that_look_like_a_task(name: str, task: str | None) -> None:
    assert look_alike(name) == task


# -- the file against the published schemas -----------------------------------------------------------------


def test_the_schemas_have_the_same_tasks() -> None:
    tools = {release: bundle(release).tools for release in RELEASES}
    published = {
        name: [release for release in RELEASES if name in tools[release]]
        for name in set().union(*tools.values())
    }
    ours = {
        task.name: [r for r in RELEASES if task.since <= r <= (task.until or RELEASES[-1])] for task in TASKS
    }
    assert ours == published


@each_task
def test_the_protocol_is_the_published_one(task: Task) -> None:
    assert {release.tools[task.name]["protocol"] for release in releases(task)} == {task.protocol}


@each_task
@pytest.mark.parametrize("account", ACCOUNTS, ids=["account-id", "natural-key"])
def test_the_sample_is_valid_in_every_release(task: Task, account: Mapping[str, Any]) -> None:
    for release in releases(task):
        assert release.errors(release.request(task.name), request(task, account=account)) == []


@each_task
@pytest.mark.parametrize("name", ["unsupported-major", "unknown-id"])
def test_bad_requests_are_well_formed_where_their_defect_is_no_matter_of_form(task: Task, name: str) -> None:
    for release in releases(task):
        for change in bad(task, name):
            assert release.errors(release.request(task.name), request(task, change)) == []


@each_task
def test_wrong_types_are_wrong_in_every_release(task: Task) -> None:
    for release in releases(task):
        for change in bad(task, "wrong-type"):
            assert release.errors(release.request(task.name), request(task, change)), change.violates


@each_task
def test_members_that_the_run_adds_are_there(task: Task) -> None:
    members = {name for release in releases(task) for name in release.members(release.request(task.name))}
    assert task.account == ("account" in members)
    assert task.context == ("context" in members)
    assert bool(bad(task, "unsupported-major")) == ("adcp_major_version" in members)
    for release in releases(task):
        if places := release.members(release.request(task.name)).get("context"):
            assert release.types(places) == {"object"}


@each_task
def test_error_codes_are_published(task: Task) -> None:
    codes = set().union(*(release.error_codes for release in releases(task)))
    assert {code for item in task.bad for code in item.codes} <= codes


@each_task
def test_every_root_field_is_known(task: Task) -> None:
    types: dict[str, set[str]] = {}
    for release in releases(task):
        for name, places in release.members(release.response(task.name)).items():
            types.setdefault(name, set()).update(release.types(places))
    fields = {name: found for name, found in types.items() if name not in ENVELOPE | {"payload"}}
    assert task.root <= set(fields)
    others = {name: found for name, found in fields.items() if name not in task.root}
    assert sorted(task.scalars) == sorted(
        name for name, found in others.items() if found and found <= SCALARS
    )
    assert sorted(task.containers) == sorted(
        name for name, found in others.items() if not found or not found <= SCALARS
    )


@each_task
def test_every_success_has_a_root_field(task: Task) -> None:
    others = NOT_SUCCESS - ({"task_id"} if task.name == "get_task_status" else set())
    required: set[str] = set()
    for release in releases(task):
        place = release.response(task.name)
        assert release.always_has(place, task.root | others), release.manifest["adcp_version"]
        assert not release.always_has(place, others), "then nothing is a success"
        required |= release.required(place)
    assert task.root - required <= {"result"}  # of get_task_status: there when the task has finished


@each_task
def test_what_is_taken_is_a_string_or_a_number_of_the_source(task: Task) -> None:
    filled: Filled = fill(task.request, values())
    for take in filled.takes:
        source = catalogue()[take.tool]
        common = [release for release in releases(task) if source.name in release.tools]
        types = [release.types(release.at(release.response(source.name), take.value)) for release in common]
        assert any(types), f"{take.tool} gives no {take.value}"
        assert set().union(*types) <= {"string", "integer"}
