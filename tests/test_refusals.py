"""A protected read as a caller that the server does not know: what is sent, on which connection, and what is kept of it."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from bundle import validators
from pytest_adcp.harness import calls
from pytest_adcp.harness.calls import PlannedCall, Purpose
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import ConfiguredCall, PlanRequest
from pytest_adcp.harness.probes.http import SESSIONS
from pytest_adcp.harness.probes.refusals import offered, protected
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.seller import Answers, Eras, SellerOptions, running
from pytest_adcp.harness.subjects import Gap
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.transcript import End, Kind, Transcript
from pytest_adcp.harness.verdict import Outcome
from pytest_adcp.harness.wire import Connection
from rawserver import Peer, serve
from reported import report
from scripted import Call, Reply, good, initialized, message_of, scripted
from strangers import CHALLENGE, KNOWN, NOBODY, READ, TOKEN, TOOLS, guarded, header, statuses, tried, why_not
from surveys import FAST, judge_core, survey, with_outcome
from test_oauth import client

# -- a seller that checks credentials --------------------------------------------------------------------------------


@pytest.mark.parametrize("discovery", [False, True], ids=["static", "discovery"])
@pytest.mark.parametrize("sessions", [True, False], ids=["sessions", "no-sessions"])
@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize("era", Eras)
def test_a_clean_seller_refuses_and_passes_every_rule(
    era: Eras, answers: Answers, sessions: bool, discovery: bool, tmp_path: Path
) -> None:
    options = SellerOptions(eras=era, answers=answers, sessions=sessions, bearer=TOKEN, discovery=discovery)
    with running(options) as url:
        transcript = survey(url, credentials=KNOWN)
    assert statuses(transcript) == [401, 401, 401]
    findings = judge_core(transcript, validators())
    assert not [f for f in findings if f.outcome not in (Outcome.PASSED, Outcome.NOT_APPLICABLE)]
    passed = with_outcome(findings, Outcome.PASSED)
    names = ("credentials-required", "credentials-checked", "challenge")
    served = ("challenge-metadata", "metadata-resource", "metadata-servers", "authorization-server")
    assert {f"adcp.security.{name}" for name in names} <= passed
    assert {f"adcp.security.{name}" for name in served} & passed == (
        {f"adcp.security.{name}" for name in served} if discovery else set()
    )
    assert transcript.survey.complete
    assert why_not(transcript) == []
    transcript.save(tmp_path / "t.jsonl")
    assert TOKEN.encode() not in (tmp_path / "t.jsonl").read_bytes()
    assert judge_core(Transcript.load(tmp_path / "t.jsonl")) == judge_core(transcript)


@pytest.mark.parametrize("stateless", [False, True])
def test_what_nobody_sends_is_recorded_as_it_was_sent(stateless: bool) -> None:
    era = Eras.STATELESS if stateless else Eras.HANDSHAKE
    with running(SellerOptions(eras=era, bearer=TOKEN)) as url:
        transcript = survey(url, credentials=KNOWN)
    sent = {name: header(exchange, "authorization") for name, exchange in tried(transcript).items()}
    assert sent["none"] is None
    assert NOBODY.fullmatch((sent["unknown"] or "").removeprefix("Bearer "))
    assert NOBODY.fullmatch(sent["malformed"] or "")
    own = [e for e in transcript.exchanges if e.kind not in (Kind.REFUSAL, Kind.METADATA)]
    assert {header(e, "authorization") for e in own} == {"Bearer [redacted]"}
    bodies = [json.loads(exchange.request.body)["params"] for exchange in tried(transcript).values()]
    (sample,) = [e for e in transcript.exchanges if e.subject == f"{READ}/sample"]
    assert [body["arguments"] for body in bodies] == [
        json.loads(sample.request.body)["params"]["arguments"]
    ] * 3
    assert {body["name"] for body in bodies} == {READ}
    beside = [
        e.subject
        for e in transcript.exchanges
        if e.kind is Kind.REFUSAL and e not in tried(transcript).values()
    ]
    opened = ["credentials/session", "credentials/initialized", "credentials/delete"]
    assert beside == ([] if stateless else opened)


def test_a_session_of_its_own_is_opened_and_ended() -> None:
    ended: list[str | None] = []

    def hook(call: Call) -> Reply | None:
        if call.method == "initialize" and call.header("authorization"):
            return initialized(session=f"session-{call.times}")
        if call.header("mcp-session-id") in ended:
            return Reply(status=404)
        if call.verb == "DELETE" or (call.tool and not call.header("authorization")):
            ended.append(call.header("mcp-session-id"))  # as a server that is upset
        return guarded(call)

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    others = 1 + len(SESSIONS)  # the stream that is held open beside the calls, and probes of the transport
    assert len(seller.of("initialize")) == 2 + others
    (session,) = {header(e, "mcp-session-id") for e in tried(transcript).values()}
    assert session in ended
    assert session != "session-1"
    assert (ended[-1], len(ended)) == ("session-1", 2 + others)
    assert statuses(transcript) == [401, 404, 404]
    deleted = [call.header("mcp-session-id") for call in seller.of("DELETE")]
    assert deleted == ended
    calls_made = [e for e in transcript.exchanges if e.kind is Kind.CALL]
    assert {e.response.status for e in calls_made if e.response} == {200}


def test_no_cookie_speaks_for_nobody() -> None:
    def hook(call: Call) -> Reply | None:
        reply = guarded(call)
        if call.method == "initialize" and reply is None:
            return initialized("2025-11-25", "Set-Cookie: login=yes; Path=/")
        return None if "login=yes" in (call.header("cookie") or "") else reply

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    assert statuses(transcript) == [401, 401, 401]
    strangers = [call for call in seller.calls if call.header("authorization") != f"Bearer {TOKEN}"]
    assert len(strangers) >= 3
    assert {call.header("cookie") for call in strangers} == {None}


def test_a_server_of_one_connection_at_a_time_is_asked_too() -> None:
    one = threading.Lock()

    def script(peer: Peer) -> None:
        with one:
            while (request := peer.request()) is not None:
                call = Call(request, message_of(request.body), 1, 0.0)
                reply = guarded(call) or good(
                    call, [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
                )
                body, media_type = reply.content(call)
                peer.answer(
                    body, *reply.headers, f"Content-Type: {media_type}", status=f"{reply.status} Status"
                )

    with serve(script) as server:
        transcript = survey(server.url, credentials=KNOWN, limits=replace(FAST, concurrency=1))
    assert transcript.survey.complete
    assert statuses(transcript) == [401, 401, 401]
    assert {e.end for e in transcript.exchanges} == {End.COMPLETE}


# -- which call, and as whom ------------------------------------------------------------------------------------------


def planned(tool: str, name: str = "sample", purpose: Purpose = Purpose.GOOD) -> PlannedCall:
    return PlannedCall(tool, name, {}, purpose)


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ([], None),
        ([planned("get_adcp_capabilities"), planned("get_products"), planned("list_creative_formats")], None),
        ([planned("get_signals"), planned("get_brand_identity"), planned("create_media_buy")], None),
        ([planned("get_media_buys", "unknown-id", Purpose.BAD)], None),
        ([planned("list_creatives", "page", Purpose.PROBE)], None),
        (
            [planned("get_media_buy_delivery"), planned("get_media_buys"), planned("list_accounts")],
            "get_media_buys/sample",
        ),
        ([planned("list_accounts"), planned(READ, "a", Purpose.CONFIGURED), planned(READ, "b")], f"{READ}/b"),
        ([planned("list_tasks"), planned("list_accounts", "mine", Purpose.CONFIGURED)], "list_accounts/mine"),
        ([planned("get_plan_audit_logs")], "get_plan_audit_logs/sample"),
    ],
)
def test_the_read_is_of_what_belongs_to_somebody(accepted: list[PlannedCall], chosen: str | None) -> None:
    for order in (accepted, accepted[::-1]):
        call = protected(order)
        assert (call.subject if call else None) == chosen


BASIC = "Basic " + base64.b64encode(b"invalid-1:invalid-1").decode()


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        (Credentials(bearer="s3cret-bearer"), [("Authorization", "Bearer invalid-1")]),
        (Credentials(basic="user:s3cret-word"), [("Authorization", BASIC)]),
        (Credentials(oauth=client("http://127.0.0.1/token")), [("Authorization", "Bearer invalid-1")]),
        (Credentials(extra=(("X-Api-Key", "s3cret-key"),)), [("X-Api-Key", "invalid-1")]),
        (Credentials(extra=(("X-Api-Key", "my s3cret words"),)), [("X-Api-Key", "invalid-1")]),
        (Credentials(extra=(("Authorization", "Token s3cret"),)), [("Authorization", "Token invalid-1")]),
        (Credentials(extra=(("Authorization", "Basic czNjcmV0OnM="),)), [("Authorization", BASIC)]),
        (
            Credentials(bearer="s3cret-bearer", extra=(("X-Tenant", "s3cret-tenant"),)),
            [("Authorization", "Bearer invalid-1"), ("X-Tenant", "invalid-1")],
        ),
    ],
)
def test_each_kind_of_credentials_has_one_that_nobody_has(
    given: Credentials, unknown: list[tuple[str, str]]
) -> None:
    assert list(offered(given, calls.Credentials.UNKNOWN, "invalid-1")) == unknown
    assert offered(given, calls.Credentials.NONE, "invalid-1") == ()
    assert offered(given, calls.Credentials.MALFORMED, "invalid-1") == (("Authorization", "invalid-1"),)


def test_another_header_than_authorization_is_left_out_and_made_up(tmp_path: Path) -> None:
    def hook(call: Call) -> Reply | None:
        if call.verb != "GET" and call.header("x-api-key") != "k3y-of-the-buyer":
            return Reply(status=403)
        return guarded(replace(call, http=replace(call.http, headers=[("Authorization", f"Bearer {TOKEN}")])))

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=Credentials(extra=(("X-Api-Key", "k3y-of-the-buyer"),)))
    sent = [(header(e, "x-api-key"), header(e, "authorization")) for e in tried(transcript).values()]
    assert sent[0] == (None, None)
    assert NOBODY.fullmatch(sent[1][0] or "")
    assert sent[1][1] is None
    assert sent[2][0] is None
    assert NOBODY.fullmatch(sent[2][1] or "")
    assert statuses(transcript) == [403, 403, 403]
    transcript.save(tmp_path / "t.jsonl")
    assert b"k3y-of-the-buyer" not in (tmp_path / "t.jsonl").read_bytes()


def test_made_up_values_differ_from_run_to_run() -> None:
    values = set()
    with scripted(guarded, tools=TOOLS) as seller:
        for _ in range(2):
            for exchange in tried(survey(seller.url, credentials=KNOWN)).values():
                values.update(NOBODY.findall(header(exchange, "authorization") or ""))
    assert len(values) == 4


# -- where nothing is sent ---------------------------------------------------------------------------------------------


def surveyed(url: str, connection: Connection, credentials: Credentials) -> Transcript:
    order = Order(Target.parse(url, credentials=credentials), connection, FAST, PlanRequest())
    surveyor = Surveyor(order)
    anyio.run(surveyor.run)
    return surveyor.transcript()


@pytest.mark.parametrize(
    ("query", "connection", "credentials", "tools", "why"),
    [
        ("", Connection(), Credentials(), TOOLS, "give credentials with --adcp-bearer-env"),
        ("?token=t0ken-in-the-url", Connection(), KNOWN, TOOLS, "the URL holds a credential too"),
        ("", Connection(identified=True), KNOWN, TOOLS, "a client certificate is shown too"),
        ("", Connection(), KNOWN, ["get_adcp_capabilities", "get_products"], f"({READ}, get_media_buys"),
    ],
    ids=["no credentials", "token in the URL", "client certificate", "nothing protected"],
)
def test_why_nothing_is_sent_is_said_once(
    query: str, connection: Connection, credentials: Credentials, tools: Any, why: str
) -> None:
    with scripted(tools=tools) as seller:
        transcript = surveyed(seller.url + query, connection, credentials)
    assert tried(transcript) == {}
    (said,) = why_not(transcript)
    assert why in said
    (entry,) = Evidence(transcript).entries(Judged.REFUSAL)
    assert isinstance(entry, Gap)
    assert (entry.why, entry.blocked) == (said, False)
    left_out = [
        left.why
        for left in report(Evidence(transcript)).targets[0].not_checked
        if left.item == "probe/credentials"
    ]
    assert left_out == [said]
    own = ("adcp.security.credentials-required", "adcp.security.credentials-checked")
    findings = [f for f in judge_core(transcript) if f.rule in own]
    assert [f.outcome for f in findings] == [Outcome.NOT_APPLICABLE] * 2


def test_a_read_that_is_refused_to_the_buyer_says_nothing_about_others() -> None:
    with scripted(lambda call: Reply(status=403) if call.tool == READ else None, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    assert tried(transcript) == {}
    assert "succeeded with the credentials given" in why_not(transcript)[0]


@pytest.mark.parametrize("how", [{"probes": False}, {"auto": False}])
def test_where_only_plain_calls_are_wanted_there_are_no_others(how: dict[str, Any]) -> None:
    mine = ConfiguredCall(READ, "mine")
    with scripted(guarded, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN, calls=[mine], **how)
    assert {e.kind for e in transcript.exchanges}.isdisjoint({Kind.REFUSAL, Kind.METADATA})
    assert why_not(transcript) == []


def test_a_survey_that_ended_early_says_so() -> None:
    def hook(call: Call) -> Reply | None:
        return Reply(status=401, headers=CHALLENGE) if call.tool not in ("", *TOOLS) else guarded(call)

    tools = [*TOOLS, "get_media_buys", "list_accounts", "get_signals", "get_products"]
    with scripted(hook, tools=tools) as seller:
        transcript = survey(seller.url, credentials=KNOWN, limits=replace(FAST, concurrency=1))
    assert transcript.survey.stopped
    assert why_not(transcript) == ["the survey ended before it"]


def test_a_second_session_that_is_not_opened_is_the_reason() -> None:
    def hook(call: Call) -> Reply | None:
        return Reply(status=503) if call.method == "initialize" and call.times > 1 else guarded(call)

    with scripted(hook, tools=TOOLS) as seller:
        transcript = survey(seller.url, credentials=KNOWN)
    assert why_not(transcript) == ["the server opened no second session, in which they are sent"]
    assert transcript.survey.complete
