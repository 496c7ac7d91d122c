"""How user interfaces are read: what is asked, in which order, within which bounds, and what another host gets to see."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from pytest_adcp.harness import recorder
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.markup import read_markup
from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.probes import views as probe
from pytest_adcp.harness.seller.exchange import Exchange as Asked
from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.faults import Fault
from pytest_adcp.harness.seller.options import Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.rpc import Json
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.seller.views import HTML, URI
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import End, Exchange, Kind, Limits, Transcript
from pytest_adcp.harness.ui import CAPABILITIES
from pytest_adcp.harness.verdict import Finding, Outcome
from pytest_adcp.harness.views import resource
from pytest_adcp.harness.wire import Connection, CookieStore, Lane, send
from rawserver import Peer, serve
from surveys import judge_app, survey, survey_app

TOKEN = "tok-4f1c88aa21"


def of_views(transcript: Transcript) -> list[Exchange]:
    return [exchange for exchange in transcript.exchanges if exchange.kind is Kind.VIEW]


def finding(transcript: Transcript, rule: str) -> Finding:
    (found,) = [f for f in judge_app(transcript) if f.rule == f"connected-apps.{rule}"]
    return found


def serving(monkeypatch: pytest.MonkeyPatch, message: Any) -> SellerOptions:
    """Return the options of a seller whose JSON-RPC answers go through a function."""
    fault = Fault("for-this-test", "", Hooks(message=message))
    monkeypatch.setattr("pytest_adcp.harness.seller.server.fault_named", lambda _: fault)
    return SellerOptions(fault=fault.name, eras=Eras.HANDSHAKE)


def sent(exchange: Exchange) -> dict[str, Any]:
    return json.loads(exchange.request.body)


@pytest.mark.parametrize("eras", Eras)
def test_views_are_read_twice_before_any_call(eras: Eras) -> None:
    with running(SellerOptions(eras=eras)) as url:
        transcript = survey_app(url)
    read = of_views(transcript)
    assert [(e.subject, sent(e)["method"]) for e in read] == [
        ("resources/list/page-1", "resources/list"),
        ("view/1", "resources/read"),
        ("view/1/again", "resources/read"),
    ]
    assert [sent(e)["params"]["uri"] for e in read[1:]] == [URI, URI]
    first_call = min(e.started for e in transcript.exchanges if e.kind in (Kind.CALL, Kind.PROBE))
    assert max(e.started for e in read) < first_call
    assert finding(transcript, "ui-resource-readable").outcome is Outcome.PASSED


@pytest.mark.parametrize("app", [None, AppRequest()])
def test_extension_is_announced_to_whom_it_may_concern(app: AppRequest | None) -> None:
    with running(SellerOptions(eras=Eras.HANDSHAKE)) as url:
        transcript = survey(url, app=app, auto=False)
    (opened,) = [e for e in transcript.exchanges if e.kind is Kind.INITIALIZE]
    assert sent(opened)["params"]["capabilities"] == (CAPABILITIES if app else {})
    assert bool(of_views(transcript)) is (app is not None)


def test_transcript_without_views_says_how_to_get_them() -> None:
    with running(SellerOptions(eras=Eras.HANDSHAKE)) as url:
        transcript = survey(url, auto=False)
    found = finding(transcript, "ui-size")
    assert found.outcome is Outcome.BLOCKED
    assert "record it again" in found.message


@pytest.mark.parametrize("fault", ["app-ui-changes", "app-ui-large", "app-ui-script-without-cors"])
def test_saved_transcript_gives_the_same_findings(tmp_path: Path, fault: str) -> None:
    with running(SellerOptions(fault=fault)) as url:
        transcript = survey_app(url, app=AppRequest(third_party=True), auto=False)
    transcript.save(tmp_path / "transcript.jsonl")
    assert judge_app(Transcript.load(tmp_path / "transcript.jsonl")) == judge_app(transcript)


def test_views_take_nothing_of_what_the_calls_may_cost() -> None:
    with running(SellerOptions(fault="app-ui-large")) as url:
        transcript = survey_app(url)
    assert transcript.survey.complete
    assert not [e for e in transcript.exchanges if e.kind is Kind.CALL and e.end is not End.COMPLETE]
    assert Evidence(transcript).transcript.exchanges == transcript.exchanges  # nothing was left out


def test_views_over_what_is_kept_are_said_to_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "VIEWS_BUDGET", 1000)
    with running(SellerOptions()) as url:
        transcript = survey_app(url, auto=False)
    assert transcript.survey.complete
    found = finding(transcript, "ui-size")
    assert (found.outcome, found.received) == (Outcome.ADVISORY, recorder.VIEWS_OVER)


def test_one_view_over_what_is_read_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "MAX_BYTES", 1 << 20)
    with running(SellerOptions(fault="app-ui-large")) as url:
        transcript = survey_app(url, limits=Limits(max_response_bytes=1 << 20), auto=False)
    assert finding(transcript, "ui-size").outcome is Outcome.FAILED


def test_as_many_views_as_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "MOST_VIEWS", 3)

    def many(exchange: Asked, message: Json, _: int) -> Json:
        if exchange.method != "resources/list":
            return message
        number = int(exchange.params.get("cursor", 0))
        entries = [{"uri": f"ui://{number}/{index}", "name": "view"} for index in range(2)]
        entries += [
            {"uri": "file:///etc/passwd", "name": "file"},
            {"uri": "ui://" + "x" * 3000, "name": "long"},
        ]
        return {**message, "result": {"resources": entries, "nextCursor": str(number + 1)}}

    with running(serving(monkeypatch, many)) as url:
        transcript = survey_app(url, auto=False)
    asked = [sent(e) for e in of_views(transcript)]
    assert sum(message["method"] == "resources/list" for message in asked) == 20
    uris = [message["params"]["uri"] for message in asked if message["method"] == "resources/read"]
    assert uris == [URI, "ui://0/0", "ui://0/1"] * 2
    unread = [f for f in judge_app(transcript) if f.subject == "ui://1/0"]
    assert {f.outcome for f in unread} == {Outcome.NOT_APPLICABLE}


def test_session_id_in_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(exchange: Asked, message: Json, _: int) -> Json:
        if exchange.method == "resources/read":
            session = exchange.request.header("mcp-session-id")
            message["result"]["contents"][0]["text"] = f"{HTML}<!-- {session} -->"
        return message

    with running(serving(monkeypatch, telling)) as url:
        transcript = survey_app(url, auto=False)
    found = finding(transcript, "ui-stable")
    assert (found.outcome, found.received) == (Outcome.ADVISORY, "the session id")


@pytest.mark.parametrize("third_party", [True, False])
def test_script_hosts_see_no_credentials(third_party: bool) -> None:
    with running(SellerOptions(fault="app-ui-script-without-cors", bearer=TOKEN)) as url:
        transcript = survey_app(
            url,
            app=AppRequest(third_party=third_party),
            credentials=Credentials(bearer=TOKEN),
            auto=False,
        )
    fetched = [exchange for exchange in of_views(transcript) if exchange.request.method == "GET"]
    assert len(fetched) == third_party
    for exchange in fetched:
        headers = {name.lower(): value for name, value in exchange.request.headers}
        assert headers.keys() == {"host", "accept", "origin", "user-agent", "accept-encoding"}
        assert headers["origin"] == "https://scf.usercontent.goog"
    expected = Outcome.FAILED if third_party else Outcome.NOT_APPLICABLE
    assert finding(transcript, "ui-script-cors").outcome is expected


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::1]"])
def test_private_addresses_are_not_asked(host: str) -> None:
    def silent(peer: Peer) -> None:
        raise AssertionError("nobody should have come")

    async def ask(port: str) -> tuple[End, str]:
        async with Lane(Connection(only_public=True), CookieStore()) as lane:
            done = await send(lane, "GET", f"http://{host}:{port}/", (), deadline=5, limits=Limits())
        return done.end, done.detail

    with serve(silent) as server:
        end, detail = anyio.run(ask, server.url.rpartition(":")[2].strip("/"))
    assert end is End.REFUSED
    assert "private network" in detail or host == "2130706433"  # which no resolver has to take


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 400_000,
        "<script>" + "createElement" * 150_000,
        "<style>" + "/*" * 1_000_000,
        "<style>" + '\\"' * 1_000_000,
        "<script type=module>" + "/*a*/;" * 300_000,
        "<script><!--<script>" * 100_000,
        "<!--a-->" * 250_000,
    ],
    ids=["deep", "words", "comment", "string", "module", "scripts", "comments"],
)
def test_hostile_markup_takes_no_longer_than_it_is_long(html: str) -> None:
    begun = time.process_time()
    with suppress(ValueError):  # it would take too long, and so is not done
        read_markup(html)
    assert time.process_time() - begun < 10


def test_view_comes_in_an_event_stream_too() -> None:
    with running(SellerOptions(answers=Answers.SSE, eras=Eras.HANDSHAKE)) as url:
        transcript = survey_app(url, auto=False)
    assert resource(of_views(transcript)[1], URI).html == HTML
