"""The reference seller as an AdCP agent: payloads of every release, errors, idempotency, submitted orders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bundle import bundle
from buyers import ACCOUNT, Buyer, key, order
from pytest_adcp.harness.error_codes import ERROR_CODES
from pytest_adcp.harness.seller import Release, SellerOptions, running

FORMAT = {"agent_url": "https://seller.example/mcp", "id": "display_300x250"}
CREATIVE = {"creative_id": "cr_new", "name": "New", "assets": {}, "format_id": FORMAT}
FEEDBACK = {
    "media_buy_id": "mb_spring",
    "measurement_period": {"start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"},
    "performance_index": 1.2,
}
ACTIVATION = {
    "signal_agent_segment_id": "seg_boat_owners",
    "destinations": [{"type": "platform", "platform": "dsp"}],
    "account": ACCOUNT,
}
UPDATE = {"account": {"account_id": "acct_sandbox"}, "media_buy_id": "mb_spring"}
BRIEF = {"buying_mode": "brief", "brief": "CTV for a tent maker"}


@pytest.fixture
def buyer() -> Iterator[Buyer]:
    with running(SellerOptions()) as url, Buyer(url) as one:
        yield one


def shopping(buyer: Buyer, release: Release) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every task with the requests that lead to its different answers: task and payload."""

    def ask(task: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return task, buyer.payload(task, **arguments, context={"trace": [1, "é"]})

    yield ask("get_adcp_capabilities")
    yield ask("get_adcp_capabilities", protocols=["signals"])
    yield ask("list_accounts", sandbox=True)
    yield ask("list_accounts", status="suspended")
    yield ask("get_products", **BRIEF)
    yield ask("get_products", buying_mode="wholesale", pagination={"max_results": 2})
    yield ask("get_products", **BRIEF, filters={"delivery_type": "guaranteed", "channels": ["ctv"]})
    yield ask("list_creative_formats", asset_types=["video"])
    yield ask("list_creative_formats", format_ids=[FORMAT])
    yield ask("get_signals", signal_spec="sailors")
    yield ask(
        "get_signals",
        signal_ids=[{"source": "catalog", "data_provider_domain": "x.example", "id": "boat_owners"}],
    )
    yield ask("activate_signal", idempotency_key=key(), **ACTIVATION)
    yield ask("sync_creatives", idempotency_key=key(), account=ACCOUNT, creatives=[CREATIVE], dry_run=True)
    unknown = {**CREATIVE, "format_id": {**FORMAT, "id": "nope"}}
    yield ask("sync_creatives", idempotency_key=key(), account=ACCOUNT, creatives=[CREATIVE, unknown])
    yield ask("list_creatives", account=ACCOUNT)
    task, booked = ask("create_media_buy", **order())
    yield task, booked
    changes = [
        {
            "package_id": booked["packages"][0]["package_id"],
            "budget": 2000,
            "creative_assignments": [{"creative_id": "cr_tent"}],
        }
    ]
    named = {"media_buy_id": booked["media_buy_id"], "account": ACCOUNT}
    yield ask("update_media_buy", idempotency_key=key(), packages=changes, **named)
    yield ask("update_media_buy", idempotency_key=key(), canceled=True, **named)
    yield ask("get_media_buys")
    yield ask("get_media_buys", status_filter=["active", "canceled"], account=ACCOUNT)
    yield ask("get_media_buy_delivery")
    yield ask(
        "get_media_buy_delivery", media_buy_ids=["mb_spring"], start_date="2026-02-01", end_date="2026-03-01"
    )
    yield ask("provide_performance_feedback", idempotency_key=key(), **FEEDBACK)
    submitted = ask("create_media_buy", **order("evening_ctv"))
    yield submitted
    if release is not Release.V3_0:
        for _ in range(2):
            yield ask("get_task_status", task_id=submitted[1]["task_id"], include_result=True)
    yield ask("get_media_buys", account=ACCOUNT, status_filter="pending_creatives")


@pytest.mark.parametrize("release", Release)
def test_payloads_are_valid_in_their_release(release: Release) -> None:
    schemas = bundle(release.value)
    with running(SellerOptions(release=release)) as url, Buyer(url) as buyer:
        seen = set()
        for task, payload in shopping(buyer, release):
            assert not schemas.errors(schemas.response(task), payload), (task, payload)
            seen.add(task)
        assert seen == {tool["name"] for tool in buyer.tools()}


@pytest.mark.parametrize("release", Release)
def test_every_answer_has_its_envelope(release: Release) -> None:
    with running(SellerOptions(release=release)) as url, Buyer(url) as buyer:
        for task, payload in shopping(buyer, release):
            assert payload["context"] == {"trace": [1, "é"]}
            assert payload.get("adcp_version") == (None if release is Release.V3_0 else release.value)
            own_status = release is Release.V3_0 and "media_buy_id" in payload
            expected = (
                {"pending_creatives", "active", "canceled"}
                if own_status
                else {"completed", "submitted", "working"}
            )
            assert payload["status"] in expected, task
            assert "adcp_error" not in payload
            assert ("cache_scope" in payload) == (
                task in ("get_products", "get_signals") and release is not Release.V3_0
            )


ERRORS: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("get_products", {**BRIEF, "adcp_major_version": 99}, "VERSION_UNSUPPORTED", None),
    ("get_products", {**BRIEF, "adcp_version": "99.0"}, "VERSION_UNSUPPORTED", None),
    ("get_products", {**BRIEF, "adcp_version": "3.1", "adcp_major_version": 2}, "VERSION_UNSUPPORTED", None),
    ("get_products", {**BRIEF, "adcp_version": "3.1-beta.9"}, "VERSION_UNSUPPORTED", None),
    ("get_products", {**BRIEF, "adcp_version": 3}, "INVALID_REQUEST", "adcp_version"),
    ("get_products", {}, "INVALID_REQUEST", "buying_mode"),
    ("get_products", {"buying_mode": 5}, "INVALID_REQUEST", "buying_mode"),
    ("get_products", {"buying_mode": "brief"}, "INVALID_REQUEST", "brief"),
    ("get_products", {"buying_mode": "wholesale", "brief": "x"}, "INVALID_REQUEST", "brief"),
    (
        "get_products",
        {**BRIEF, "pagination": {"max_results": "ten"}},
        "INVALID_REQUEST",
        "pagination.max_results",
    ),
    ("get_products", {**BRIEF, "pagination": {"cursor": "x"}}, "INVALID_REQUEST", "pagination.cursor"),
    ("get_products", {**BRIEF, "account": {"operator": "x"}}, "INVALID_REQUEST", "account"),
    ("get_products", {**BRIEF, "ext": {"a": [{"api_key": "x"}]}}, "CREDENTIAL_IN_ARGS", "ext.a[0].api_key"),
    ("get_products", {"buying_mode": "refine"}, "UNSUPPORTED_FEATURE", "buying_mode"),
    (
        "get_products",
        {"buying_mode": "refine", "refine": [{"scope": "proposal", "proposal_id": "x"}]},
        "PROPOSAL_NOT_FOUND",
        "refine[0].proposal_id",
    ),
    (
        "get_media_buy_delivery",
        {"media_buy_ids": ["id_nobody_has"]},
        "MEDIA_BUY_NOT_FOUND",
        "media_buy_ids[0]",
    ),
    ("get_media_buy_delivery", {"start_date": "2026-13-01"}, "INVALID_REQUEST", "start_date"),
    ("get_task_status", {"task_id": "id_nobody_has"}, "REFERENCE_NOT_FOUND", "task_id"),
    ("get_signals", {}, "INVALID_REQUEST", "signal_spec"),
    ("create_media_buy", order("id_nobody_has"), "PRODUCT_NOT_FOUND", "packages[0].product_id"),
    ("create_media_buy", order(end_time="2026-01-01T00:00:00Z"), "INVALID_REQUEST", "end_time"),
    ("create_media_buy", order(end_time="tomorrow"), "INVALID_REQUEST", "end_time"),
    ("create_media_buy", order(start_time="2026-01-01T00:00:00Z"), "INVALID_REQUEST", "start_time"),
    ("create_media_buy", order(start_time="2097-01-01T00:00:00"), "INVALID_REQUEST", "start_time"),
    ("create_media_buy", order(idempotency_key="short"), "INVALID_REQUEST", "idempotency_key"),
    ("create_media_buy", order(account={"account_id": "id_nobody_has"}), "ACCOUNT_NOT_FOUND", "account"),
    ("create_media_buy", order(account={**ACCOUNT, "sandbox": False}), "ACCOUNT_NOT_FOUND", "account"),
    ("create_media_buy", order(proposal_id="id_nobody_has"), "PROPOSAL_NOT_FOUND", "proposal_id"),
    ("update_media_buy", {**UPDATE, "media_buy_id": "id_nobody_has"}, "MEDIA_BUY_NOT_FOUND", "media_buy_id"),
    (
        "update_media_buy",
        {**UPDATE, "account": ACCOUNT | {"operator": "b.example"}},
        "MEDIA_BUY_NOT_FOUND",
        "media_buy_id",
    ),
    ("update_media_buy", {**UPDATE, "revision": 9}, "CONFLICT", "revision"),
    ("update_media_buy", {**UPDATE, "end_time": "2020-01-01T00:00:00Z"}, "INVALID_REQUEST", "end_time"),
    (
        "update_media_buy",
        {**UPDATE, "packages": [{"package_id": "id_nobody_has"}]},
        "PACKAGE_NOT_FOUND",
        "packages[0].package_id",
    ),
    (
        "update_media_buy",
        {
            **UPDATE,
            "packages": [
                {"package_id": "pkg_spring_1", "creative_assignments": [{"creative_id": "id_nobody_has"}]}
            ],
        },
        "CREATIVE_NOT_FOUND",
        "packages[0].creative_assignments[0].creative_id",
    ),
    (
        "activate_signal",
        {**ACTIVATION, "signal_agent_segment_id": "id_nobody_has"},
        "SIGNAL_NOT_FOUND",
        "signal_agent_segment_id",
    ),
    (
        "activate_signal",
        {**ACTIVATION, "destinations": [{"type": "agent"}]},
        "INVALID_REQUEST",
        "destinations[0].agent_url",
    ),
    ("sync_creatives", {"account": ACCOUNT}, "INVALID_REQUEST", "creatives"),
    (
        "provide_performance_feedback",
        {**FEEDBACK, "media_buy_id": "id_nobody_has"},
        "MEDIA_BUY_NOT_FOUND",
        "media_buy_id",
    ),
]


@pytest.mark.parametrize(("task", "arguments", "code", "field"), ERRORS)
def test_bad_requests_are_refused(
    buyer: Buyer, task: str, arguments: dict[str, Any], code: str, field: str | None
) -> None:
    mutating = not task.startswith("get_")
    arguments = {**({"idempotency_key": key()} if mutating else {}), **arguments, "context": {"trace": 1}}
    result = buyer.call(task, **arguments)
    payload = result["structuredContent"]
    error = payload["adcp_error"]
    assert result["isError"] is True
    assert (error["code"], error.get("field")) == (code, field), error
    assert error["recovery"] == ERROR_CODES[code].recovery
    assert payload["errors"] == [error]
    assert (payload["status"], payload["context"]) == ("failed", {"trace": 1})
    assert [item["type"] for item in result["content"]] == ["text", "text"]
    assert json.loads(result["content"][0]["text"]) == {"adcp_error": error}
    assert result["content"][1]["text"] == error["message"]
    assert len(error["message"]) <= 200
    assert "id_nobody_has" not in json.dumps(error)
    assert payload.keys() == {"status", "adcp_error", "errors", "context", "adcp_version"}


def test_errors_say_what_would_be_right(buyer: Buyer) -> None:
    details = buyer.error("get_products", **BRIEF, adcp_major_version=99)["details"]
    assert details == {"supported_versions": ["3.1"], "supported_majors": [3]}
    error = buyer.error("get_products", buying_mode=5, filters=[], pagination={"max_results": 0, "cursor": 1})
    assert error["issues"] == [
        {"pointer": "/buying_mode", "message": "is none of the allowed values", "keyword": "enum"},
        {"pointer": "/filters", "message": "has to be of type object", "keyword": "type"},
        {"pointer": "/pagination/cursor", "message": "has to be of type string", "keyword": "type"},
    ]


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("create_media_buy", order()),
        ("create_media_buy", order("evening_ctv")),
        ("update_media_buy", {**UPDATE, "paused": True, "idempotency_key": key()}),
        ("sync_creatives", {"account": ACCOUNT, "creatives": [CREATIVE], "idempotency_key": key()}),
        ("activate_signal", {**ACTIVATION, "idempotency_key": key()}),
        ("provide_performance_feedback", {**FEEDBACK, "idempotency_key": key()}),
    ],
)
def test_a_key_is_used_once(buyer: Buyer, task: str, arguments: dict[str, Any]) -> None:
    first = buyer.payload(task, **arguments, context={"try": 1})
    again = buyer.payload(task, **arguments, context={"try": 2})
    assert "replayed" not in first
    assert again == {**first, "replayed": True, "context": {"try": 2}}
    conflict = buyer.error(task, **arguments, ext={"other": {}})
    assert (conflict["code"], conflict.get("field")) == ("IDEMPOTENCY_CONFLICT", None)
    without = {name: value for name, value in arguments.items() if name != "idempotency_key"}
    assert buyer.error(task, **without)["field"] == "idempotency_key"


def test_a_failed_request_does_not_use_up_its_key(buyer: Buyer) -> None:
    arguments = order("nope")
    for _ in range(2):
        assert buyer.error("create_media_buy", **arguments)["code"] == "PRODUCT_NOT_FOUND"
    good = order(idempotency_key=arguments["idempotency_key"])
    assert "replayed" not in buyer.payload("create_media_buy", **good)


def test_at_once_a_key_still_is_used_once(buyer: Buyer) -> None:
    arguments = order()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: buyer.payload("create_media_buy", **arguments), range(8)))
    assert len({answer["media_buy_id"] for answer in answers}) == 1
    assert sum("replayed" not in answer for answer in answers) == 1


def test_guaranteed_products_are_submitted_first(buyer: Buyer) -> None:
    arguments = order("evening_ctv")
    submitted = buyer.payload("create_media_buy", **arguments)
    assert submitted.keys() == {"status", "task_id", "sandbox", "adcp_version"}
    everything = {"account": ACCOUNT, "status_filter": "pending_creatives"}
    assert buyer.payload("get_media_buys", **everything)["media_buys"] == []
    poll = {"task_id": submitted["task_id"], "include_result": True}
    working, completed, later = (buyer.payload("get_task_status", **poll) for _ in range(3))
    assert (working["status"], "result" in working) == ("working", False)
    assert (completed["status"], completed["task_type"]) == ("completed", "create_media_buy")
    assert completed == later
    [buy] = buyer.payload("get_media_buys", **everything)["media_buys"]
    assert buy["media_buy_id"] == completed["result"]["media_buy_id"]
    assert "result" not in buyer.payload("get_task_status", task_id=submitted["task_id"])
    signed = buyer.payload("create_media_buy", **order("evening_ctv", io_acceptance={"io_id": "x"}))
    assert signed["media_buy_status"] == "pending_creatives"


def test_a_buy_goes_through_its_life(buyer: Buyer) -> None:
    def update(**changes: Any) -> dict[str, Any]:
        return buyer.payload("update_media_buy", idempotency_key=key(), **UPDATE, **changes)

    assert update(paused=True)["media_buy_status"] == "paused"
    assert update(paused=False, revision=2)["media_buy_status"] == "active"
    assert update(end_time="2026-02-01T00:00:00Z")["media_buy_status"] == "completed"
    assert update(canceled=True) | {"implementation_date": ""} == {
        "media_buy_id": "mb_spring",
        "media_buy_status": "canceled",
        "revision": 5,
        "implementation_date": "",
        "affected_packages": [],
        "status": "completed",
        "sandbox": True,
        "adcp_version": "3.1",
    }
    late = {**UPDATE, "idempotency_key": key()}
    assert buyer.error("update_media_buy", **late, canceled=True)["code"] == "NOT_CANCELLABLE"
    assert buyer.error("update_media_buy", **late, paused=True)["code"] == "INVALID_STATE"


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_products_come_in_pages(buyer: Buyer, size: int) -> None:
    ids: list[str] = []
    asked: dict[str, Any] = {"max_results": size}
    while True:
        answer = buyer.payload("get_products", buying_mode="wholesale", pagination=asked)
        ids += [product["product_id"] for product in answer["products"]]
        page = answer["pagination"]
        assert page["total_count"] == 5
        assert page["has_more"] == ("cursor" in page)
        if not page["has_more"]:
            break
        asked = {"max_results": size, "cursor": page["cursor"]}
    assert len(ids) == len(set(ids)) == 5


def test_library_is_synced(buyer: Buyer) -> None:
    def sync(name: str, *, dry_run: bool = False) -> str:
        creative = {**CREATIVE, "name": name}
        answer = buyer.payload(
            "sync_creatives", idempotency_key=key(), account=ACCOUNT, creatives=[creative], dry_run=dry_run
        )
        return answer["creatives"][0]["action"]

    steps = [sync("A", dry_run=True), sync("A"), sync("A"), sync("B", dry_run=True), sync("B")]
    assert steps == ["created", "created", "unchanged", "updated", "updated"]
    [listed] = buyer.payload("list_creatives", filters={"creative_ids": ["cr_new"]})["creatives"]
    assert (listed["name"], listed["format_id"]) == ("B", FORMAT)


@pytest.mark.parametrize(
    "context", [{}, {"é": "\ud83d", "n": [1, 2**70, 1.5, None, True], "deep": {"er": {"": []}}}]
)
def test_context_comes_back_unchanged(buyer: Buyer, context: dict[str, Any]) -> None:
    assert buyer.payload("get_products", **BRIEF, context=context)["context"] == context
    failed = buyer.call("get_products", **BRIEF, context=context, adcp_major_version=4)
    assert failed["structuredContent"]["context"] == context


def test_context_and_sandbox_are_not_made_up(buyer: Buyer) -> None:
    assert not {"context", "sandbox", "replayed"} & buyer.payload("get_products", **BRIEF).keys()
    assert "context" not in buyer.call("get_products")["structuredContent"]
    assert buyer.payload("get_products", **BRIEF, account=ACCOUNT)["sandbox"] is True
    assert buyer.payload("get_products", **BRIEF, account={"account_id": "acct_sandbox"})["sandbox"] is True
    assert "sandbox" not in buyer.payload("get_products", **BRIEF, account={"account_id": "other"})


def test_reads_open_no_accounts(buyer: Buyer) -> None:
    stranger = {**ACCOUNT, "operator": "stranger.example"}
    assert buyer.payload("get_media_buys", account=stranger)["media_buys"] == []
    assert len(buyer.payload("list_accounts")["accounts"]) == 1
    buyer.payload("create_media_buy", **order(account=stranger))
    assert len(buyer.payload("list_accounts")["accounts"]) == 2


@pytest.mark.parametrize("release", Release)
def test_versions_of_the_major_are_served(release: Release) -> None:
    with running(SellerOptions(release=release)) as url, Buyer(url) as buyer:
        for pins in ({"adcp_major_version": 3}, {"adcp_version": "3.0"}, {"adcp_version": "3.2"}):
            assert buyer.payload("get_products", **BRIEF, **pins).get("adcp_version") in (None, release.value)
        adcp = buyer.payload("get_adcp_capabilities")["adcp"]
        assert adcp["major_versions"] == [3]
        assert adcp.get("supported_versions") == (None if release is Release.V3_0 else [release.value])
