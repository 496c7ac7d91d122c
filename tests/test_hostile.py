"""Servers that mean harm, as a user meets them: the run ends within its limits, and says what was wrong."""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from conduct import conduct
from hostile import SERVERS, Hostile, evil_schema, evil_strings
from hostile_runs import Bounded, bounded, harmless
from rawserver import Peer, serve
from scripted import scripted

__all__ = ["bounded"]

SLOW = os.environ.get("ADCP_SLOW") == "1"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="measures memory the POSIX way")


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(
            server, id=name, marks=pytest.mark.skipif(server.slow and not SLOW, reason="ADCP_SLOW=1 runs it")
        )
        for name, server in SERVERS.items()
    ],
)
def test_a_hostile_server(server: Hostile, bounded: Bounded, tmp_path: Path) -> None:
    with scripted(conduct(server.hook)) as seller:
        done = bounded(seller.url, seconds=server.seconds)
    assert done.code == server.code, done.out
    assert server.says in " ".join(done.out.split()) or server.says in json.dumps(done.report), done.out
    if server.judged:
        assert done.target["counts"]["passed"] > 200
        assert done.target["complete"], done.target["reasons"]
    harmless(tmp_path, done)
    if server.failed:
        assert {f["rule"] for f in done.target["findings"] if f["outcome"] == "failed"} == set(server.failed)


# -- beyond the connection ------------------------------------------------------------------------------------------


def test_no_reference_is_followed(bounded: Bounded) -> None:
    with (
        serve(Peer.until_closed) as other,
        scripted(conduct(evil_schema(f"127.0.0.1:{other.port}"))) as seller,
    ):
        done = bounded(seller.url)
    assert seller.tools["list_creative_formats"]
    assert "root:" not in done.out + json.dumps(done.report)
    assert other.connections == 0


def test_nothing_invisible_is_shown(bounded: Bounded, tmp_path: Path) -> None:
    with scripted(conduct(evil_strings)) as seller:
        done = bounded(seller.url, "-v")
    assert done.code == 1
    for name in ("adcp-report/report.json", "junit.xml"):
        assert "owned" in (tmp_path / name).read_text(encoding="utf-8")  # it is shown, and harmless
    assert "owned" in done.out
    harmless(tmp_path, done)
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
    bounded: Bounded,
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
