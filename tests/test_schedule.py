"""In which order calls go, and that none of them is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.calls import PlannedCall, Purpose, Take
from pytest_adcp.harness.schedule import Schedule

Answers = Mapping[str, Mapping[str, Any] | None]  # by subject; None refuses, what is not there is accepted


def good(tool: str, name: str = "sample", *takes: Take, **arguments: Any) -> PlannedCall:
    return PlannedCall(tool, name, arguments, Purpose.GOOD, takes=takes)


def bad(tool: str, name: str, after: str | None = None, *takes: Take) -> PlannedCall:
    return PlannedCall(tool, name, {"id": None}, Purpose.BAD, after=after, takes=takes)


def product(tool: str = "get_products", argument: str = "/product_id") -> Take:
    return Take(argument, tool, "/products/0/product_id")


PRODUCTS = {"products": [{"product_id": "p1"}]}


def play(calls: list[PlannedCall], answers: Answers | None = None, lanes: int = 4) -> Schedule:
    """Make all calls over some lanes, each taking a moment; the schedule must come to its end."""
    schedule = Schedule(tuple(calls))

    async def work() -> None:
        while (call := await schedule.next()) is not None:
            await anyio.sleep(0)
            payload = (answers or {}).get(call.subject, {})
            schedule.finished(call, accepted=payload is not None, payload=payload)

    async def main() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for _ in range(lanes):
                    group.start_soon(work)

    anyio.run(main)
    return schedule


def made(schedule: Schedule) -> list[str]:
    return [call.subject for call in schedule.made]


def left_out(schedule: Schedule) -> dict[str, str]:
    return {left.item: left.why for left in schedule.not_called}


def test_nothing_planned_is_nothing_to_do() -> None:
    schedule = play([])
    assert made(schedule) == []
    assert schedule.not_called == []
    assert schedule.unmade() == []


def test_calls_go_in_plan_order() -> None:
    calls = [good("b"), good("a"), bad("a", "bad"), good("c")]
    assert made(play(calls, lanes=1)) == ["b/sample", "a/sample", "a/bad", "c/sample"]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"t/1": None}, ["t/1"]),
        ({"t/2": None}, ["t/1", "t/2"]),
        ({}, ["t/1", "t/2", "t/3"]),
    ],
)
def test_the_next_bad_request_goes_only_when_the_one_before_was_accepted(
    answers: Answers, expected: list[str]
) -> None:
    calls = [bad("t", "1"), bad("t", "2", "t/1"), bad("t", "3", "t/2")]
    schedule = play(calls, answers)
    assert made(schedule) == expected
    assert schedule.not_called == []  # that the others are not needed is no gap


def test_a_chain_goes_on_behind_a_request_that_cannot_be_made() -> None:
    calls = [good("get_products"), bad("t", "1", None, product()), bad("t", "2", "t/1"), bad("t", "3", "t/2")]
    schedule = play(calls, {"get_products/sample": {"products": []}, "t/2": None})
    assert made(schedule) == ["get_products/sample", "t/2"]
    assert left_out(schedule) == {"t/1": "get_products gave no product_id to ask for"}


def test_a_chain_need_not_stand_in_its_order() -> None:
    calls = [bad("t", "3", "t/2"), bad("t", "2", "t/1"), bad("t", "1", None, product("nobody"))]
    schedule = play(calls)
    assert made(schedule) == ["t/2", "t/3"]
    assert list(left_out(schedule)) == ["t/1"]


def test_what_follows_a_call_outside_the_plan_goes() -> None:
    assert made(play([bad("t", "1", "elsewhere/0")])) == ["t/1"]


def test_a_value_is_taken_from_the_first_answer_that_has_it_in_plan_order() -> None:
    calls = [
        good("buy", "sample", product()),
        good("get_products", "none"),
        good("get_products", "first"),
        good("get_products", "second"),
    ]
    answers = {
        "get_products/none": {"products": []},
        "get_products/first": PRODUCTS,
        "get_products/second": {"products": [{"product_id": "p2"}]},
    }
    for lanes in (1, 4):
        schedule = play(calls, answers, lanes)
        assert made(schedule)[-1] == "buy/sample"
        assert schedule.made[-1].arguments == {"product_id": "p1"}
    assert calls[0].arguments == {}  # the plan stays as it was


def test_a_refused_giver_leaves_the_taker_out() -> None:
    schedule = play([good("get_products"), good("buy", "sample", product())], {"get_products/sample": None})
    assert made(schedule) == ["get_products/sample"]
    assert left_out(schedule) == {"buy/sample": "get_products gave no product_id to ask for"}


def test_bad_requests_give_nothing() -> None:
    calls = [bad("get_products", "odd"), good("buy", "sample", product())]
    assert list(left_out(play(calls, {"get_products/odd": PRODUCTS}))) == ["buy/sample"]


def test_a_row_of_takers_falls_as_a_whole() -> None:
    calls = [good("a"), good("b", "sample", product("a")), good("c", "sample", product("b"))]
    schedule = play(calls)
    assert made(schedule) == ["a/sample"]
    assert list(left_out(schedule)) == ["b/sample", "c/sample"]


def test_tools_that_take_from_each_other_use_what_there_is() -> None:
    calls = [
        good("a", "first"),
        good("a", "second", product("b")),
        good("b", "only", product("a")),
        good("c", "sample", product("c")),
    ]
    schedule = play(calls, {"a/first": PRODUCTS, "b/only": PRODUCTS})
    assert sorted([*made(schedule), *left_out(schedule)]) == sorted(call.subject for call in calls)
    assert "b/only" in made(schedule)
    assert "b gave no product_id" in left_out(schedule)["a/second"]


def test_chains_that_lead_back_to_themselves_are_named() -> None:
    calls = [bad("t", "1", "t/2"), bad("t", "2", "t/1"), bad("u", "1", "u/1"), good("v")]
    schedule = play(calls)
    assert made(schedule) == ["v/sample"]
    assert list(left_out(schedule)) == ["t/1", "t/2", "u/1"]
    assert left_out(schedule)["t/1"] == "waits for t/2, which waits for it"


_DEEP: Any = "x"
for _ in range(5000):
    _DEEP = [_DEEP]


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, "", "x" * 1025, [], {}, [1], {"product_id": "p"}, _DEEP, float("nan"), float("inf")],
    ids=lambda value: repr(value)[:20] if value is not _DEEP else "deep",
)
def test_only_short_texts_and_integers_are_taken(value: Any) -> None:
    calls = [good("get_products"), good("buy", "sample", product())]
    answers = {"get_products/sample": {"products": [{"product_id": value}]}}
    assert list(left_out(play(calls, answers))) == ["buy/sample"]


@pytest.mark.parametrize("value", ["p1", "x" * 1024, 0, 7, 2**53, "\ud800", "\x00", "ключ"])
def test_a_taken_value_is_the_very_one(value: Any) -> None:
    calls = [good("get_products"), good("buy", "sample", product(), other=1)]
    schedule = play(calls, {"get_products/sample": {"products": [{"product_id": value}]}})
    assert schedule.made[-1].arguments == {"product_id": value, "other": 1}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"products": None},
        {"products": {"0": {"product_id": "p"}}},
        {"products": ["p1"]},
        {"products": []},
        {"products": [{}]},
        {"products": [_DEEP]},
    ],
    ids=range(7),
)
def test_an_answer_of_another_shape_gives_nothing(payload: dict[str, Any]) -> None:
    calls = [good("get_products"), good("buy", "sample", product())]
    schedule = play(calls, {"get_products/sample": payload})
    taken = [call.arguments for call in schedule.made if call.tool == "buy"]
    assert taken in ([], [{"product_id": "p"}])
    assert len(schedule.made) + len(schedule.not_called) == 2


def test_a_value_goes_where_it_is_wanted() -> None:
    takes = (product(argument="/packages/1/product_id"), product(argument="/a~1b/0"))
    call = good("buy", "sample", *takes, **{"packages": [{}, {"product_id": None}], "a/b": [None, 2]})
    schedule = play([good("get_products"), call], {"get_products/sample": PRODUCTS})
    assert schedule.made[-1].arguments == {"packages": [{}, {"product_id": "p1"}], "a/b": ["p1", 2]}


def test_a_closed_schedule_wakes_the_lanes_that_wait() -> None:
    schedule = Schedule(
        (good("get_products"), good("buy", "sample", product()), bad("t", "1"), bad("t", "2", "t/1"))
    )
    got: list[PlannedCall | None] = []

    async def wait() -> None:
        got.append(await schedule.next())

    async def main() -> None:
        running = await schedule.next()
        assert running is not None
        assert (await schedule.next()).subject == "t/1"  # type: ignore[union-attr]
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                assert got == []
                schedule.close()
        assert await schedule.next() is None

    anyio.run(main)
    assert got == [None, None]
    # t/2 hangs on the answer to t/1, which nobody has
    assert [call.subject for call in schedule.unmade()] == ["buy/sample"]


def _plans(draw: Callable[..., Any]) -> list[PlannedCall]:
    tools = st.sampled_from("abc")
    subjects = st.sampled_from([f"{tool}/{number}" for tool in "abc" for number in range(9)])
    calls = []
    for number in range(draw(st.integers(0, 9))):
        tool = draw(tools)
        takes = tuple(product(draw(tools), "/id") for _ in range(draw(st.integers(0, 2))))
        after = draw(st.none() | subjects) if draw(st.booleans()) else None
        purpose = Purpose.BAD if after or draw(st.booleans()) else Purpose.GOOD
        calls.append(PlannedCall(tool, str(number), {"id": None}, purpose, after=after, takes=takes))
    return calls


@settings(max_examples=300, deadline=None)
@given(plan=st.composite(_plans)(), data=st.data(), lanes=st.integers(1, 3))
def test_every_call_is_made_or_left_out_or_not_needed(
    plan: list[PlannedCall], data: st.DataObject, lanes: int
) -> None:
    payloads = st.sampled_from([None, {}, PRODUCTS])
    answers = {call.subject: data.draw(payloads) for call in plan}
    schedule = play(plan, answers, lanes)
    done, left = made(schedule), list(left_out(schedule))
    assert len({*done, *left}) == len(done) + len(left)
    # Nobody hears of the rest of a chain in which one was refused; everything else has to be somewhere.
    refused = {subject for subject in done if answers[subject] is None}
    silent = {call.subject: call.after for call in plan}
    for subject in (*done, *left):
        del silent[subject]
    for subject in silent:
        before: str | None = subject
        for _ in plan:
            before = silent.get(before or "", before)
        assert before in refused
    assert schedule.unmade() == []
