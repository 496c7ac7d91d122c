"""How long a server asks to be left alone, and that it is."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.patience import Pace, asked_delay
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import Answer, Gap
from pytest_adcp.harness.transcript import End, Exchange, Kind, Request, Response, Transcript
from pytest_adcp.harness.verdict import Outcome
from scripted import Call, Reply, failure, scripted
from surveys import FAST, judge_core, with_outcome
from surveys import plain_survey as survey


def asked(
    message: Any = None, status: int = 200, retry_after: str | None = None, attempt: int = 1
) -> float | None:
    headers = (("Retry-After", retry_after),) if retry_after is not None else ()
    response = Response(status, "HTTP/1.1", headers, b"", 0)
    request = Request("POST", "http://seller.test/", ())
    exchange = Exchange(0, "t/1", Kind.CALL, request, response, End.COMPLETE, attempt=attempt)
    return asked_delay(exchange, message)


def limited(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": failure("RATE_LIMITED", **members)}


def reserved(**adcp_error: Any) -> dict[str, Any]:
    data = (
        {"data": {"adcp_error": {"code": "RATE_LIMITED", "message": "m", **adcp_error}}} if adcp_error else {}
    )
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32029, "message": "slow down"} | data}


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (asked(status=200), None),
        (asked(status=429, retry_after="7"), 7),
        (asked(status=429, retry_after=" 7 "), 7),
        (asked(status=429, retry_after="0"), 0),
        (asked(status=429), 1),
        (asked(status=429, attempt=2), 2),
        (asked(status=429, retry_after="soon"), 1),
        (asked(status=429, retry_after="-5"), 1),
        (asked(status=429, retry_after="1.5"), 1),
        (asked(status=429, retry_after="²"), 1),
        (asked(status=429, retry_after="9" * 5000), 999_999_999),
        (asked(status=503), None),
        (asked(status=503, retry_after="3"), 3),
        (asked(status=503, retry_after="?"), 1),
        (asked(status=500, retry_after="3"), None),
        (asked(status=200, retry_after="3"), None),
        (asked(limited(retry_after=4)), 4),
        (asked(limited(retry_after=1.5)), 1.5),
        (asked(limited(retry_after="4")), 1),
        (asked(limited(retry_after=-4)), 1),
        (asked(limited(retry_after=True)), 1),
        (asked(limited(), attempt=3), 4),
        (asked(reserved()), 1),
        (asked(reserved(retry_after=4)), 4),
        (asked({"jsonrpc": "2.0", "id": 1, "error": {"code": -32028, "message": "m"}}), None),
        (asked({"jsonrpc": "2.0", "id": 1, "error": "-32029"}), None),
        # where both speak, the longer one counts
        (asked(limited(retry_after=4), status=429), 4),
        (asked(limited(retry_after=4), status=429, retry_after="9"), 9),
        (asked(limited(retry_after=9), status=429, retry_after="4"), 9),
        (asked(limited(retry_after=4), retry_after="9"), 9),
        # another error, or an unflagged one
        (asked({"jsonrpc": "2.0", "id": 1, "result": failure("RATE_LIMIT")}), None),
        (asked({"jsonrpc": "2.0", "id": 1, "result": failure("RATE_LIMITED") | {"isError": False}}), None),
        (asked(limited(retry_after=float("inf"))), float("inf")),
    ],
)
def test_what_is_asked_for(delay: float | None, expected: float | None) -> None:
    assert delay == expected


@pytest.mark.parametrize("seconds", [-3600, 0, 30, 86_400])
def test_a_date_is_a_time_from_now(seconds: int) -> None:
    when = datetime.now(UTC) + timedelta(seconds=seconds)
    for text in (format_datetime(when, usegmt=True), when.strftime("%a, %d %b %Y %H:%M:%S -0000")):
        delay = asked(status=429, retry_after=text)
        assert delay == pytest.approx(max(0, seconds), abs=2)


@given(
    st.text(max_size=60)
    | st.from_regex(r"[A-Za-z]{3}, \d{1,12} [A-Za-z]{3} \d{1,12} \d+:\d+:\d+ [+-]?\w{1,12}")
)
def test_no_header_breaks_it(text: str) -> None:
    delay = asked(status=429, retry_after=text)
    assert delay is not None
    assert delay >= 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["RATE_LIMITED", "code", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["code", "retry_after", "data", "adcp_error", "message"]), inner)
    ),
    max_leaves=8,
)


@given(json_values, st.booleans())
def test_no_message_breaks_it(value: Any, flagged: bool) -> None:
    for message in (
        {"error": value},
        {"result": {"isError": flagged, "structuredContent": value}},
        {"result": {"isError": flagged, "content": [{"type": "text", "text": json.dumps(value)}]}},
    ):
        delay = asked(message)
        assert delay is None or delay >= 0


# -- the gate ---------------------------------------------------------------------------------------------------


def starts(rate: float | None, requests: int, hold: float = 0.0) -> list[float]:
    """Send requests at once through a gate, which is told to hold when all of them wait; return when each passed."""
    times: list[float] = []

    async def main() -> None:
        pace = Pace(rate)
        begin = anyio.current_time()

        async def one() -> None:
            await pace.turn()
            times.append(anyio.current_time() - begin)

        async with anyio.create_task_group() as group:
            for _ in range(requests):
                group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            if hold:
                pace.hold(hold)

    anyio.run(main)
    return times


def test_a_rate_spaces_requests() -> None:
    times = starts(20, 4)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert times[0] < 0.04
    assert all(gap >= 0.049 for gap in gaps)


def test_without_a_rate_nothing_waits() -> None:
    assert max(starts(None, 50)) < 0.5


def test_quiet_is_for_those_that_wait_already_too() -> None:
    first, *others = starts(20, 4, hold=0.4)
    assert first < 0.04
    assert min(others) >= 0.399
    assert max(others) - min(others) >= 0.099  # and they do not all come at once then


# -- over HTTP --------------------------------------------------------------------------------------------------


def http(status: int, retry_after: str | None) -> Reply:
    return Reply(status=status, headers=[f"Retry-After: {retry_after}"] if retry_after else [])


def in_a_second() -> str:
    # An HTTP date has whole seconds: two from now is at least one.
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


def pleading(kind: str) -> Reply:
    return {
        "429": lambda: http(429, "1"),
        "429 with a date": lambda: http(429, in_a_second()),
        "429 alone": lambda: http(429, None),
        "503": lambda: http(503, "1"),
        "-32029": lambda: Reply(error=reserved(retry_after=1)["error"]),
        "-32029 alone": lambda: Reply(error=reserved()["error"]),
        "RATE_LIMITED": lambda: Reply(result=failure("RATE_LIMITED", retry_after=1, recovery="transient")),
    }[kind]()


KINDS = ["429", "429 with a date", "429 alone", "503", "-32029", "-32029 alone", "RATE_LIMITED"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_is_left_alone_by_every_lane(kind: str) -> None:
    def hook(call: Call) -> Reply | None:
        return pleading(kind) if call.tool == "get_adcp_capabilities" and call.times == 1 else None

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    plea = seller.of("get_adcp_capabilities")[0]
    later = [call.at - plea.at for call in seller.calls if call.at > plea.at]
    # Some requests may be on their way when the answer comes; after that there is quiet, and then they all come.
    assert [at for at in later if 0.5 < at < 0.95] == []
    assert len([at for at in later if at >= 0.95]) >= 2
    assert transcript.retries == 1
    tries = [e for e in transcript.exchanges if e.subject == seller_subject(transcript, plea)]
    assert [(e.attempt, e.retried) for e in tries] == [(1, True), (2, False)]
    assert transcript.survey.complete
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def seller_subject(transcript: Transcript, call: Call) -> str:
    """Return the subject of the exchange whose request this is."""
    (found,) = [e.subject for e in transcript.exchanges if e.request.body == call.http.body]
    return found


def test_a_second_try_is_the_same_call() -> None:
    def hook(call: Call) -> Reply | None:
        return http(429, "0") if call.tool == "sync_accounts" and call.times == 1 else None

    with scripted(hook, tools=["get_adcp_capabilities", "sync_accounts"]) as seller:
        transcript = survey(seller.url, allow_mutating=True, sandbox_account={"account_id": "sandbox-1"})
    first = seller.of("sync_accounts")[0]
    subject = seller_subject(transcript, first)
    again = [json.loads(e.request.body) for e in transcript.exchanges if e.subject == subject]
    assert len(again) == 2
    assert again[0]["params"] == again[1]["params"]
    assert len(again[0]["params"]["arguments"]["idempotency_key"]) >= 16
    assert again[0]["id"] != again[1]["id"]
    keys = [call.arguments["idempotency_key"] for call in seller.of("sync_accounts")]
    assert len(set(keys)) == len(keys) - 1  # only the repeated call has the same key


@pytest.mark.parametrize("kind", ["429", "-32029", "RATE_LIMITED"])
def test_three_tries_and_then_the_call_is_blocked(kind: str) -> None:
    def hook(call: Call) -> Reply | None:
        if call.tool != "get_products" or "adcp_major_version" in call.arguments:
            return None
        return pleading(kind)

    with scripted(hook) as seller:
        transcript = survey(seller.url)
    tries = [e for e in transcript.exchanges if e.subject == "get_products/sample"]
    assert [(e.attempt, e.retried) for e in tries] == [(1, True), (2, True), (3, False)]
    assert transcript.retries == 2
    evidence = Evidence(transcript)
    mine = [entry for entry in evidence.answers if entry.label.startswith("get_products/sample")]
    (gap,) = [entry for entry in mine if isinstance(entry, Gap)]
    assert gap.blocked
    assert "to the end" in gap.why
    # What was said is judged all the same, try by try, where there is something to judge.
    pleas = [entry for entry in mine if isinstance(entry, Answer)]
    assert [entry.label for entry in pleas] == (
        [] if kind == "429" else [f"get_products/sample@{attempt}" for attempt in (1, 2, 3)]
    )
    assert {entry.kind for entry in pleas} <= {"error"}
    blocked = [f for f in judge_core(transcript) if f.outcome is Outcome.BLOCKED]
    assert {finding.subject for finding in blocked} == {"get_products/sample"}


def test_what_is_expected_of_a_call_is_not_asked_of_a_plea() -> None:
    def hook(call: Call) -> Reply | None:
        return pleading("RATE_LIMITED") if call.arguments.get("brief") == "mine" else None

    mine = ConfiguredCall("get_products", "mine", {"buying_mode": "brief", "brief": "mine"}, "success")
    with scripted(hook) as seller:
        transcript = survey(seller.url, calls=[mine], auto=False)
    (entry,) = Evidence(transcript).entries(Judged.EXPECTATION)
    assert isinstance(entry, Gap)
    assert entry.blocked


@pytest.mark.parametrize("kind", ["429", "RATE_LIMITED"])
def test_what_is_longer_than_the_survey_is_not_waited_for(kind: str) -> None:
    def hook(call: Call) -> Reply | None:
        if call.tool != "get_products":
            return None
        if kind == "429":
            return http(429, "60")
        return Reply(result=failure("RATE_LIMITED", retry_after=3600))

    began = time.monotonic()
    with scripted(hook) as seller:
        transcript = survey(seller.url, limits=replace(FAST, survey_timeout=30))
    assert time.monotonic() - began < 10
    assert transcript.retries == 0
    assert transcript.survey.complete
    assert all(e.attempt == 1 for e in transcript.exchanges)
    assert "get_products/sample" in {e.label for e in Evidence(transcript).answers if isinstance(e, Gap)}


@pytest.mark.parametrize("name", ["initialize", "notifications/initialized", "tools/list"])
def test_also_what_comes_before_the_calls_is_repeated(name: str) -> None:
    with scripted(lambda call: http(429, "0") if call.name == name and call.times == 1 else None) as seller:
        transcript = survey(seller.url)
    assert len(seller.of(name)) == 2
    assert transcript.retries == 1
    assert not with_outcome(judge_core(transcript), Outcome.BLOCKED)


def test_time_that_runs_out_while_waiting_loses_nothing() -> None:
    # Two requests a second: initialize at 0, discover at 0.5, ..., the first call at 2.5 s, its second try at 3.
    limits = replace(FAST, survey_timeout=2.8, concurrency=1, rate=2)
    with scripted(lambda call: http(429, "0") if call.tool == "get_adcp_capabilities" else None) as seller:
        transcript = survey(seller.url, limits=limits)
    assert not transcript.survey.complete
    assert seller.tools["get_adcp_capabilities"] == 1
    assert [call.subject for call in transcript.survey.calls] == ["get_adcp_capabilities/sample"]
    (last,) = [e for e in transcript.exchanges if e.kind is Kind.CALL]
    assert not last.retried  # no later exchange repeats it
    assert "get_adcp_capabilities/sample" in {e.label for e in Evidence(transcript).answers}
    left = [item.item for item in transcript.survey.not_called]
    assert left[0] == "get_adcp_capabilities/unsupported-major"
    assert "list_creative_formats/sample" in left
