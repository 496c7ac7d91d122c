"""Servers that mean harm, as a user meets them: the run ends within its limits, and says what was wrong."""

from __future__ import annotations

import json
import re
import ssl
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from hostile import SERVERS, Hostile, evil_schema, evil_strings
from rawserver import Peer, serve
from runs import Run, run
from scripted import scripted

SURVEY = 8.0  # seconds; twice as long where answers are large
SLACK = 50.0  # to start pytest, and to judge, on a machine that has much else to do
MOST_MEMORY = 300 * 1024 * 1024
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="measures memory the POSIX way")
Record = Callable[[str, object], None]


@pytest.fixture
def bounded(tmp_path: Path, record_property: Record) -> Callable[..., Run]:
    """Run pytest on a server, and see to it that time and memory keep within their limits."""

    def measured(url: str, *arguments: str, seconds: float = 0.6) -> Run:
        survey = SURVEY if seconds < 1 else 2 * SURVEY
        peak_file = tmp_path / "peak"
        # The servers are good ones but for what is tried here; what is asked of their transport has tests of its own.
        (tmp_path / "adcp.yaml").write_text("plan: {probes: false}")
        started = time.monotonic()
        done = run(
            tmp_path,
            f"--server-url={url}",
            f"--adcp-request-timeout={seconds}",
            f"--adcp-survey-timeout={survey}",
            "--junitxml=junit.xml",
            "-p",
            "peakmemory",
            *arguments,
            env={"PYTHONPATH": str(HERE), "PEAK_FILE": str(peak_file)},
        )
        took, peak = time.monotonic() - started, int(peak_file.read_text())
        record_property("seconds", round(took, 1))
        record_property("mebibytes", peak // 1024**2)
        assert "Traceback" not in done.out
        assert "HARNESS FAULT" not in done.out
        assert took < survey + SLACK
        assert peak < MOST_MEMORY
        return done

    return measured


@pytest.mark.parametrize("server", SERVERS.values(), ids=list(SERVERS))
def test_a_hostile_server(server: Hostile, bounded: Callable[..., Run]) -> None:
    with scripted(server.hook) as seller:
        done = bounded(seller.url, seconds=server.seconds)
    assert done.code == server.code, done.out
    assert server.says in " ".join(done.out.split()) or server.says in json.dumps(done.report), done.out
    if server.judged:
        assert done.target["counts"]["passed"] > 20
    if server.failed:
        assert {f["rule"] for f in done.target["findings"] if f["outcome"] == "failed"} == set(server.failed)


# -- beyond the connection ------------------------------------------------------------------------------------------


def test_no_reference_is_followed(bounded: Callable[..., Run]) -> None:
    with serve(Peer.until_closed) as other, scripted(evil_schema(f"127.0.0.1:{other.port}")) as seller:
        done = bounded(seller.url)
    assert seller.tools["list_creative_formats"]
    assert "root:" not in done.out + json.dumps(done.report)
    assert other.connections == 0


def test_nothing_invisible_is_shown(bounded: Callable[..., Run], tmp_path: Path) -> None:
    with scripted(evil_strings) as seller:
        done = bounded(seller.url, "-v")
    assert done.code == 1
    for text in (
        done.out,
        (tmp_path / "adcp-report" / "report.json").read_text(encoding="utf-8"),
        (tmp_path / "junit.xml").read_text(encoding="utf-8"),
    ):
        assert "owned" in text  # it is shown, and harmless
        assert not (found := UNSAFE.search(text)), ascii(text[found.start() - 60 : found.start() + 20])
    assert "<script>" not in (tmp_path / "junit.xml").read_text(encoding="utf-8")


# -- TLS --------------------------------------------------------------------------------------------------------------


def self_signed(ca: trustme.CA, folder: Path) -> ssl.SSLContext:
    path = folder / "own.pem"
    path.write_bytes(ca.private_key_pem.bytes() + ca.cert_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def issued(ca: trustme.CA, host: str, **times: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(host, **times).configure_cert(context)
    return context


LONG_AGO = {
    "not_before": datetime.now(tz=UTC) - timedelta(days=2),
    "not_after": datetime.now(tz=UTC) - timedelta(days=1),
}


@pytest.mark.parametrize(
    ("context", "says"),
    [
        (lambda ca, _: issued(ca, "127.0.0.1", **LONG_AGO), "the certificate of 127.0.0.1 has expired"),
        (lambda ca, _: issued(ca, "other.example"), "the certificate of 127.0.0.1 is for another IP address"),
        (lambda _, folder: self_signed(trustme.CA(), folder), "is self-signed"),
        (lambda *_: issued(trustme.CA(), "127.0.0.1"), "from an authority that is not trusted"),
    ],
    ids=["expired", "for another host", "self-signed", "of nobody that is trusted"],
)
def test_a_certificate_that_proves_nothing(
    context: Callable[[trustme.CA, Path], ssl.SSLContext],
    says: str,
    bounded: Callable[..., Run],
    tmp_path: Path,
) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve(Peer.until_closed, tls=context(ca, tmp_path)) as server:
        done = bounded(server.url, "--adcp-ca-file=ca.pem")
    assert done.code == 6
    assert done.target["diagnosis"]["cause"] == "tls"
    assert says in done.target["diagnosis"]["message"]
    assert server.requests == []
