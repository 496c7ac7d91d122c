"""A survey over HTTP: handshake, tools/list, calls, and where it ends early."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pytest_adcp.harness import listing
from pytest_adcp.harness.evidence import LIST_AGAIN_SUBJECT, Evidence
from pytest_adcp.harness.seller import Answers, Eras, SellerOptions, running
from pytest_adcp.harness.transcript import Era, Exchange, Kind, Transcript
from pytest_adcp.harness.verdict import Outcome
from scripted import NOT_FOUND, TOOLS, Call, Reply, definition, initialized, result, scripted
from surveys import FAST, judge_core, survey, with_outcome


def subjects(transcript: Transcript, kind: Kind) -> list[str]:
    return [exchange.subject for exchange in transcript.exchanges if exchange.kind is kind]


def header(exchange: Exchange, name: str) -> str | None:
    return next((value for key, value in exchange.request.headers if key.lower() == name), None)


# -- the two eras -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize(
    ("eras", "era", "revision"),
    [
        (Eras.HANDSHAKE, Era.HANDSHAKE, "2025-11-25"),
        (Eras.BOTH, Era.HANDSHAKE, "2025-11-25"),
        (Eras.STATELESS, Era.STATELESS, "2026-07-28"),
    ],
)
def test_both_eras_are_offered_once_and_the_handshake_is_used_where_it_is_offered(
    eras: Eras, era: Era, revision: str, answers: Answers
) -> None:
    with running(SellerOptions(eras=eras, answers=answers)) as url:
        transcript = survey(url)
    assert subjects(transcript, Kind.INITIALIZE) == ["initialize"]
    assert subjects(transcript, Kind.DISCOVER) == ["server/discover"]
    first, second = transcript.exchanges[:2]
    assert json.loads(first.request.body)["params"]["protocolVersion"] == "2025-11-25"
    assert header(first, "mcp-protocol-version") is None
    assert header(second, "mcp-protocol-version") == "2026-07-28"
    assert bool(subjects(transcript, Kind.INITIALIZED)) == (era is Era.HANDSHAKE)
    calls = [e for e in transcript.exchanges if e.kind in (Kind.LIST, Kind.CALL, Kind.PROBE)]
    assert len(calls) > 10
    assert {e.era for e in calls} == {era}
    assert {header(e, "mcp-protocol-version") for e in calls} == {revision}
    assert Evidence(transcript).server.era is era
    findings = judge_core(transcript)
    assert not with_outcome(findings, Outcome.FAILED)
    assert not with_outcome(findings, Outcome.BLOCKED)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_one_lane_is_enough_for_two_eras(concurrency: int) -> None:
    with scripted() as seller:
        transcript = survey(seller.url, limits=replace(FAST, concurrency=concurrency))
    assert set(seller.names[:2]) == {"initialize", "server/discover"}
    assert transcript.survey.complete


@pytest.mark.parametrize(
    ("answered", "spoken", "outcome"),
    [
        ("2025-03-26", "2025-03-26", None),
        ("2025-06-18", "2025-06-18", None),
        ("2024-11-05", "2024-11-05", Outcome.ADVISORY),
        ("2099-01-01", "2025-11-25", Outcome.FAILED),
        ("", "2025-11-25", Outcome.FAILED),
    ],
)
def test_a_survey_goes_on_whatever_version_is_answered(
    answered: str, spoken: str, outcome: Outcome | None
) -> None:
    with scripted(lambda call: initialized(answered) if call.method == "initialize" else None) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.unusable is None
    assert len([call for call in transcript.survey.calls if call.probe is None]) == 6
    assert {call.header("mcp-protocol-version") for call in seller.calls if call.tool} == {spoken}
    findings = judge_core(transcript)
    rules = {Outcome.ADVISORY: "mcp.lifecycle.current-version", Outcome.FAILED: "mcp.lifecycle.known-version"}
    for kind, rule in rules.items():
        assert (rule in with_outcome(findings, kind)) == (kind is outcome)


def test_a_stateless_server_must_say_that_it_is_one() -> None:
    def hook(call: Call) -> Reply | None:
        if call.method == "initialize":
            return Reply(error=NOT_FOUND)
        return (
            Reply(result={"supportedVersions": ["2031-01-01"]}) if call.method == "server/discover" else None
        )

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert transcript.survey.unusable is not None
    assert seller.of("tools/list") == []


# -- tools/list ---------------------------------------------------------------------------------------------------


def pages(*listed: tuple[list[Any], Any], stateless: bool = False) -> Callable[[Call], Reply | None]:
    """Return a hook that gives pages of tools, each with its nextCursor (... for none)."""

    def hook(call: Call) -> Reply | None:
        if stateless and call.method == "initialize":
            return Reply(error=NOT_FOUND)
        if stateless and call.method == "server/discover":
            return Reply(result={"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        if call.method != "tools/list":
            return None
        tools, cursor = listed[min(call.times, len(listed)) - 1]
        return Reply(result={"tools": tools} | ({} if cursor is ... else {"nextCursor": cursor}))

    return hook


FIRST, SECOND = [definition(TOOLS[0])], [definition(TOOLS[1])]


def cursors(transcript: Transcript) -> list[Any]:
    bodies = [json.loads(e.request.body) for e in transcript.exchanges if e.kind is Kind.LIST]
    return [body.get("params", {}).get("cursor") for body in bodies]


@pytest.mark.parametrize(
    ("hook", "asked", "tools"),
    [
        (pages((FIRST, ...)), [None], 1),
        (pages((FIRST, "c1"), (SECOND, None)), [None, "c1"], 2),
        (pages((FIRST, "c1"), (SECOND, ""), (SECOND, ...)), [None, "c1"], 2),
        (pages((FIRST, "c1"), (SECOND, ""), (SECOND, ...), stateless=True), [None, "c1", ""], 2),
        (pages((FIRST, "c1"), (SECOND, "c2"), (SECOND, "c1")), [None, "c1", "c2"], 2),
        (pages((FIRST, "same"), (SECOND, "same")), [None, "same"], 2),
        (pages((FIRST, 2)), [None], 1),
        (pages((FIRST, {"cursor": "c"})), [None], 1),
        (pages((FIRST, False)), [None], 1),
        (pages(([], "c1"), (SECOND, ...)), [None, "c1"], 1),
        (pages((FIRST, "c1"), ({"get_products": {}}, "c2")), [None, "c1"], 1),  # type: ignore[arg-type]
        (pages(([1, None, "get_products", {}, {"name": 7}, *FIRST], ...)), [None], 1),
    ],
    ids=["one", "two", "empty", "empty-stateless", "circle", "repeated", "number", "object", "false", "none", "odd", "junk"],
)  # fmt: skip
def test_pages_are_followed_as_far_as_it_makes_sense(hook: Any, asked: list[Any], tools: int) -> None:
    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert cursors(transcript) == asked
    assert len({call.tool for call in transcript.survey.calls}) == tools
    assert len(subjects(transcript, Kind.LIST)) == len(set(subjects(transcript, Kind.LIST)))


def test_a_list_whose_cursor_is_empty_is_read_again_to_its_end() -> None:
    first_page = pages((FIRST, ""), stateless=True)

    def hook(call: Call) -> Reply | None:
        if call.method == "tools/list" and call.message["params"].get("cursor") == "":
            return Reply(result={"tools": SECOND})
        return first_page(call)

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    again = [name for name in subjects(transcript, Kind.PROBE) if name.startswith(LIST_AGAIN_SUBJECT)]
    assert again == [LIST_AGAIN_SUBJECT, f"{LIST_AGAIN_SUBJECT}/page-2"]
    found = [item for item in judge_core(transcript) if item.rule == "mcp.tools.stable"]
    assert [item.outcome for item in found] == [Outcome.PASSED]


def test_cursors_without_end_are_left_after_200_pages() -> None:
    def hook(call: Call) -> Reply | None:
        page = {"tools": FIRST, "nextCursor": f"c{call.times}"}
        return Reply(result=page) if call.method == "tools/list" else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert len(subjects(transcript, Kind.LIST)) == listing.MAX_PAGES == 200
    assert {call.tool for call in transcript.survey.calls} == {TOOLS[0]}


def test_tools_without_end_are_left_after_10000() -> None:
    many = [definition(f"tool_{number}") for number in range(4000)]

    def hook(call: Call) -> Reply | None:
        page = {"tools": many, "nextCursor": f"c{call.times}"}
        return Reply(result=page) if call.method == "tools/list" else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert len(subjects(transcript, Kind.LIST)) == 3
    assert transcript.survey.complete
    assert "no AdCP task is among the 4000 tools" in transcript.survey.problems[0]


def test_a_page_that_fails_keeps_the_ones_before() -> None:
    def hook(call: Call) -> Reply | None:
        if call.method != "tools/list":
            return None
        return Reply(result={"tools": FIRST, "nextCursor": "c"}) if call.times == 1 else Reply(status=500)

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    assert {call.tool for call in transcript.survey.calls} == {TOOLS[0]}
    assert transcript.survey.unusable is None


# -- calls ----------------------------------------------------------------------------------------------------------


def test_a_run_id_rides_in_the_context() -> None:
    closed = definition("get_products", properties={"brief": {"type": "string"}}, additionalProperties=False)
    with scripted(tools=["get_adcp_capabilities", closed]) as seller:
        transcript = survey(seller.url)
    contexts = [call.arguments.get("context") for call in seller.of("get_adcp_capabilities")]
    assert {context["adcp_run"] for context in contexts if context} == {transcript.survey.run_id}
    assert contexts.count(None) == 1  # the call without any argument
    sample, *tolerance = seller.of("get_products")
    assert frozenset(sample.arguments) == {"brief"}
    assert all("context" not in call.arguments for call in tolerance)


def test_an_unknown_tool_is_called_once_by_a_name_that_nobody_lists() -> None:
    with scripted() as seller:
        transcript = survey(seller.url)
    (name,) = {call.tool for call in seller.calls if call.tool} - set(TOOLS)
    assert re.fullmatch(r"adcp_no_such_tool_[0-9a-f]{6}", name)
    assert subjects(transcript, Kind.PROBE) == ["probe/unknown-tool", "probe/tools-list-again"]


def test_ids_are_numbers_and_texts_and_never_repeat() -> None:
    with scripted() as seller:
        survey(seller.url)
    ids = [call.message["id"] for call in seller.calls if "id" in call.message]
    ids.remove(None)  # of the probe that tries it
    assert len(set(map(str, ids))) == len(ids)
    assert {type(number) for number in ids} == {int, str}


def polled(*statuses: str) -> Any:
    """Return a hook: get_products is submitted, and asking about each task of it gives these, one after the other."""
    asked: Counter[str] = Counter()

    def hook(call: Call) -> Reply | None:
        if call.tool == "get_products":
            return Reply(result=result({"status": "submitted", "task_id": f"task-{call.times}"}))
        if call.tool == "get_task_status":
            task = str(call.arguments.get("task_id"))
            asked[task] += 1
            status = statuses[min(asked[task], len(statuses)) - 1]
            return Reply(result=result({"status": status, "task_id": task, "task_type": "get_products"}))
        return None

    return hook


@pytest.mark.parametrize(
    ("statuses", "polls"),
    [(("completed",), 1), (("working", "completed"), 2), (("working",), 3), (("failed",), 1)],
)
def test_a_task_that_is_not_done_is_asked_for_three_times_at_most(statuses: Any, polls: int) -> None:
    with scripted(polled(*statuses), tools=["get_products", "get_task_status"]) as seller:
        transcript = survey(seller.url, tools=("get_products",))
    of_sample = [
        s for s in subjects(transcript, Kind.POLL) if s.startswith("get_task_status/get_products-sample-")
    ]
    assert of_sample == [f"get_task_status/get_products-sample-{number + 1}" for number in range(polls)]
    assert set(subjects(transcript, Kind.POLL)) < {call.subject for call in transcript.survey.calls}


@pytest.mark.parametrize(
    "task_id", [None, 7, "x" * 1025, ["task-1"]], ids=["none", "number", "long", "array"]
)
def test_a_task_without_a_usable_id_is_not_asked_for(task_id: Any) -> None:
    def hook(call: Call) -> Reply | None:
        pending = {"status": "submitted", "task_id": task_id}
        return Reply(result=result(pending)) if call.tool == "get_products" else None

    with scripted(hook, tools=["get_products", "get_task_status"]) as seller:
        transcript = survey(seller.url, tools=("get_products",))
    assert subjects(transcript, Kind.POLL) == []


def test_where_no_status_can_be_asked_nothing_is() -> None:
    with scripted(polled("working")) as seller:
        survey(seller.url)
    assert seller.of("get_task_status") == []


def test_the_longest_chain_counts_what_waits_for_answers() -> None:
    def hook(call: Call) -> Reply | None:
        if call.tool == "list_accounts":
            return Reply(result=result({"accounts": [{"account_id": "a1"}]}), pause=0.3)
        if call.tool == "get_account_financials":
            return Reply(result=result({"account": {"account_id": "a1"}}), pause=0.2)
        return None

    with scripted(hook, tools=["list_accounts", "get_account_financials"]) as seller:
        transcript = survey(seller.url)
    taken = [call.arguments["account"] for call in seller.of("get_account_financials")]
    assert {"account_id": "a1"} in taken
    assert transcript.survey.longest_chain >= 0.5
