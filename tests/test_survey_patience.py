"""What a survey bears of a server that keeps it waiting: of one tool, of all of them, of what is sent beside the calls."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import anyio
import pytest
from conduct import conduct
from hostile import endless_stream, silence
from pytest_adcp.harness.calls import PlannedCall, Purpose
from pytest_adcp.harness.patience import Patience
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.recorder import SAME_FAILURES, Phase, Recorder
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.schedule import Schedule
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import End, Exchange, Kind, Limits, Request, Response
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.harness.wire import Sent
from rawserver import Peer
from scripted import TOOLS, Call, Reply, echoed, result, scripted
from surveys import FAST, judge_core, survey

REQUEST = Request("POST", "http://seller.test/mcp", ())


def too_large(peer: Peer) -> None:
    peer.head("Content-Type: application/json", "Content-Length: 1073741824")
    peer.pause()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (silence, "no answer in time"),
        (too_large, "the answer is too large to read"),
        (endless_stream(b"data: {}\n\n" * 500, 0.0), "the event stream never came to the response"),
    ],
    ids=["silence", "size", "events"],
)
def test_a_tool_that_costs_too_much_is_not_called_a_third_time(answer: Any, why: str) -> None:
    with scripted(conduct(lambda call: answer if call.tool == "get_products" else None)) as seller:
        transcript = survey(seller.url, limits=replace(FAST, request_timeout=0.5, concurrency=1))
    assert transcript.survey.complete
    sent = [e for e in transcript.exchanges if e.kind is Kind.CALL and e.subject.startswith("get_products/")]
    assert len(sent) == 2
    words = f"no more calls of get_products were made after 2 in a row: {why}"
    left = [item for item in transcript.survey.not_called if item.why == words]
    assert len(left) > 2
    assert not any(item.blocked for item in left)
    judged = {f.subject.partition("/")[0] for f in judge_core(transcript) if f.outcome is Outcome.PASSED}
    assert judged >= set(TOOLS) - {"get_products"}


def test_ends_that_cost_nothing_and_answers_between_are_borne() -> None:
    patience = Patience(most=1000)

    def over(end: End, answered: float | None = None, size: int = 0) -> bool:
        response = Response(200, "HTTP/1.1", (), b"x" * size, size) if size else None
        exchange = Exchange(0, "t/1", Kind.CALL, REQUEST, response, end, answered=answered)
        return bool(patience.is_over(exchange))

    assert [over(End.RESET) for _ in range(5)] == [False] * 5
    assert not over(End.DEADLINE)
    assert not over(End.COMPLETE)
    assert not over(End.DEADLINE)
    assert not over(End.DEADLINE, answered=0.1)
    assert not over(End.DEADLINE)
    assert over(End.TOO_LARGE)
    assert not over(End.COMPLETE, size=500)
    assert not over(End.COMPLETE, size=501)
    assert over(End.COMPLETE, size=501)


def test_two_calls_are_made_of_a_tool_before_one_has_come_back() -> None:
    calls = [PlannedCall(tool, str(number), {}, Purpose.GOOD) for tool in "tu" for number in range(3)]
    schedule = Schedule(tuple(calls))

    async def main() -> list[str]:
        made = [call for _ in range(4) if (call := await schedule.next()) is not None]
        schedule.finished(made[2], accepted=False, payload=None, heard=False)
        schedule.finished(made[0], accepted=True, payload={})
        made += [call for _ in range(1) if (call := await schedule.next()) is not None]
        return [call.subject for call in made]

    assert anyio.run(main) == ["t/0", "t/1", "u/0", "u/1", "t/2"]


def test_what_the_user_asked_for_is_a_gap_when_it_is_given_up() -> None:
    calls = [PlannedCall("t", str(number), {}, Purpose.CONFIGURED) for number in range(3)]
    calls += [PlannedCall("u", "1", {}, Purpose.GOOD), PlannedCall("u", "2", {}, Purpose.BAD, after="t/2")]
    schedule = Schedule(tuple(calls))

    async def main() -> list[str]:
        first = await schedule.next()
        assert first is not None
        schedule.give_up_on("t", "because")
        schedule.finished(first, accepted=False, payload=None)
        return [call.subject for call in [await schedule.next()] if call is not None]

    assert anyio.run(main) == ["u/1"]
    assert [(left.item, left.why, left.blocked) for left in schedule.not_called] == [
        ("t/1", "because", True),
        ("t/2", "because", True),
    ]


def test_a_configured_call_of_a_tool_that_was_given_up_is_said_to_be_left_out() -> None:
    calls = [ConfiguredCall("get_products", f"mine-{number}", {}) for number in range(3)]
    with scripted(conduct(lambda call: silence if call.tool == "get_products" else None)) as seller:
        transcript = survey(seller.url, calls=calls, limits=replace(FAST, request_timeout=0.3, concurrency=1))
    assert [item.item for item in transcript.survey.not_called if item.blocked][-1] == "get_products/mine-2"


@pytest.mark.parametrize(
    ("end", "tools", "passed", "stops"),
    [
        (End.DEADLINE, ["a"], True, False),
        (End.RESET, ["a"], True, False),
        (End.RESET, ["a", "b"], True, True),
        (End.RESET, ["a", "b"], False, False),
        (End.DEADLINE, ["a", "b"], False, True),
        (End.DEADLINE, ["a"], False, False),
    ],
)
def test_failures_of_one_tool_say_nothing_of_the_others(
    end: End, tools: list[str], passed: bool, stops: bool
) -> None:
    recorder = Recorder(Limits(), Redactor(()), lambda _: None)
    place = (Phase.CALLS, 0)
    if passed:
        answer = Sent(REQUEST, Response(200, "HTTP/1.1", (), b"", 0), End.COMPLETE, answered=0.1)
        recorder.add(place, answer, kind=Kind.CALL, subject="good/1", started=0.0)
    for tool in itertools.islice(itertools.cycle(tools), SAME_FAILURES):
        recorder.add(place, Sent(REQUEST, None, end), kind=Kind.CALL, subject=f"{tool}/1", started=0.0)
    assert bool(recorder.stopped) is stops


def test_a_stranger_that_is_kept_waiting_comes_once() -> None:
    def hook(call: Call) -> Any:
        if call.tool != "list_creatives":
            return None
        payload = {"status": "completed", "adcp_version": "3.1", "creatives": []}
        known = call.header("authorization") == "Bearer t0ken-of-ours"
        return Reply(result=echoed(result(payload), call)) if known else silence

    with scripted(conduct(hook), tools=[*TOOLS, "list_creatives"]) as seller:
        credentials = Credentials(bearer="t0ken-of-ours")
        transcript = survey(seller.url, credentials=credentials, limits=replace(FAST, request_timeout=0.5))
    sent = [e.subject for e in transcript.exchanges if e.kind is Kind.REFUSAL and e.end is End.DEADLINE]
    assert sent == ["credentials/none"]
    left = {item.item: item.why for item in transcript.survey.not_called}
    assert left["probe/credentials"] == "credentials/none got no answer in time, and no more was sent"


def test_a_large_answer_to_delete_takes_nothing_from_the_calls() -> None:
    def hook(call: Call) -> Reply | None:
        return (
            Reply(body=b"x" * (3 << 20), headers=["Content-Type: text/plain"])
            if call.verb == "DELETE"
            else None
        )

    with scripted(conduct(hook)) as seller:
        transcript = survey(seller.url)
    ends = [
        (e.end, len(e.response.body))
        for e in transcript.exchanges
        if e.request.method == "DELETE" and e.response
    ]
    assert transcript.survey.complete
    assert len(ends) > 2
    assert set(ends) == {(End.TOO_LARGE, 0)}
