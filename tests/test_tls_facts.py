"""What is known of TLS: recorded once, told as an observation, the same in a replay, and nothing secret in it."""

from __future__ import annotations

import json
import ssl
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
import trustme
from evidence import surveyed as good_survey
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.tls import ssl_context
from pytest_adcp.harness.transcript import Tls, Transcript
from pytest_adcp.harness.wire import Connection
from pytest_adcp.reports.observations import observe
from rawserver import Peer, serve
from scripted import Call, good
from surveys import FAST
from transcripts import saved

TOKEN = "t0ken-of-the-buyer"
SILENT = Tls("", "", "", "", "")
NOW = datetime.now(UTC)


def seller(peer: Peer) -> None:
    while (request := peer.request()) is not None:
        message = json.loads(request.body) if request.body.startswith(b"{") else {}
        reply = good(Call(request, message, 1, 0.0))
        body, media_type = reply.content(Call(request, message, 1, 0.0))
        peer.answer(body, *reply.headers, f"Content-Type: {media_type}", status=f"{reply.status} Status")


def surveyed(folder: Path, days: int, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Transcript:
    """Survey a seller whose certificate ends in so many days, and an hour."""
    authority = trustme.CA(organization_name="Authority of tests")
    end = NOW + timedelta(days=days, hours=1)
    leaf = authority.issue_cert("127.0.0.1", organization_name="Seller of tests", not_after=end)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    leaf.configure_cert(context)
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    with serve(seller, tls=context) as server:
        target = Target.parse(server.url, credentials=Credentials(bearer=TOKEN))
        surveyor = Surveyor(Order(target, Connection(ssl_context(ca_file)), FAST, PlanRequest(probes=False)))
        anyio.run(surveyor.run)
    return surveyor.transcript()


def observed(transcript: Transcript) -> dict[str, str]:
    return {item.id: item.note for item in observe(Evidence(transcript))}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_facts_of_the_connection_are_recorded_and_told(version: ssl.TLSVersion, tmp_path: Path) -> None:
    transcript = surveyed(tmp_path, 90, version)
    assert transcript.survey.unusable is None
    tls = transcript.survey.tls
    assert tls is not None
    assert tls.version == {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version]
    assert "AES" in tls.cipher or "CHACHA20" in tls.cipher
    assert "O=Seller of tests" in tls.subject
    assert "O=Authority of tests" in tls.issuer
    assert abs(datetime.fromisoformat(tls.not_after) - NOW - timedelta(days=90, hours=1)) < timedelta(
        minutes=1
    )
    notes = observed(transcript)
    assert all(value in notes["tls"] for value in asdict(tls).values())
    assert not {"certificate-ends", "plain-http"} & set(notes)
    path = saved(transcript, tmp_path)
    assert TOKEN.encode() not in path.read_bytes()
    assert observed(Transcript.load(path)) == notes


@pytest.mark.parametrize(
    ("days", "said"), [(31, None), (30, None), (29, "29 days"), (1, "1 day ("), (0, "0 days")]
)
def test_a_certificate_that_ends_soon_is_worth_a_word(days: int, said: str | None, tmp_path: Path) -> None:
    base = surveyed_over_tls()
    end = datetime.fromisoformat(base.survey.started_at) + timedelta(days=days, seconds=1)
    assert base.survey.tls is not None
    tls = replace(base.survey.tls, not_after=end.isoformat())
    notes = observed(Transcript(replace(base.survey, tls=tls), base.exchanges))
    assert ("certificate-ends" in notes) == (said is not None)
    assert said is None or said in notes["certificate-ends"]


def surveyed_over_tls(url: str = "https://seller.example/mcp", tls: Tls | None = SILENT) -> Transcript:
    base = good_survey().transcript
    exchanges = tuple(replace(e, request=replace(e.request, url=url)) for e in base.exchanges)
    return Transcript(replace(base.survey, tls=tls), exchanges)


def test_a_certificate_that_says_nothing_is_no_fault() -> None:
    assert "nobody" in observed(surveyed_over_tls())["tls"]
    hostile = Tls("\x1b[31m", "c", "s\n", "i", "9999-99-99")
    notes = observed(surveyed_over_tls(tls=hostile))
    assert "\x1b" not in notes["tls"]
    assert "\n" not in notes["tls"]
    assert "certificate-ends" not in notes


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://seller.example/mcp", True),
        ("http://10.0.0.1:8000/mcp", True),
        ("http://127.0.0.1:8000/mcp", False),
        ("http://[::1]/mcp", False),
        ("http://localhost/mcp", False),
        ("https://seller.example/mcp", False),
    ],
)
def test_plain_http_is_told_unless_it_stays_on_the_machine(url: str, plain: bool) -> None:
    assert ("plain-http" in observed(surveyed_over_tls(url, None))) == plain
