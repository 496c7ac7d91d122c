"""TLS and proxies: whom a lane trusts, and how it names what fails on the way."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from pytest_adcp.harness.tls import ssl_context
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.wire import Connection, Sent
from rawserver import Peer, serve
from wireclient import exchange, exchanges

NOW = datetime.datetime.now(tz=datetime.UTC)
DAY = datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(ca: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(str(path))
    return path


def server_side(cert: trustme.LeafCert, *, client_ca: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    cert.configure_cert(context)
    if client_ca is not None:
        client_ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def answering(peer: Peer) -> None:
    while peer.request():
        peer.answer()


def trusting(ca_file: Path | None = None) -> Connection:
    return Connection(tls=ssl_context(ca_file))


# -- certificates ---------------------------------------------------------------------------------


def test_a_trusted_server_over_a_kept_connection(ca: trustme.CA, ca_file: Path) -> None:
    with serve(answering, tls=server_side(ca.issue_cert("127.0.0.1"))) as server:
        sent = exchanges(server.url, 3, connection=trusting(ca_file))
    assert [each.end for each in sent] == [End.COMPLETE] * 3
    assert server.connections == 1


def refused(cert: trustme.LeafCert, connection: Connection, host: str = "127.0.0.1") -> str:
    with serve(answering, tls=server_side(cert)) as server:
        sent = exchange(server.url.replace("127.0.0.1", host), connection=connection)
    assert (sent.end, sent.response, server.requests) == (End.TLS, None, [])
    return sent.detail


def test_an_authority_that_nobody_trusts(ca: trustme.CA) -> None:
    for connection in (Connection(), trusting()):
        detail = refused(ca.issue_cert("127.0.0.1"), connection)
        assert detail.startswith("the certificate of 127.0.0.1 comes from an authority that is not trusted")


def test_a_self_signed_certificate(tmp_path: Path) -> None:
    own = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = tmp_path / "own.pem"
    path.write_bytes(own.private_key_pem.bytes() + own.cert_pem.bytes())
    context.load_cert_chain(path)
    with serve(answering, tls=context) as server:
        sent = exchange(server.url)
    assert (sent.end, sent.detail) == (
        End.TLS,
        "the certificate of 127.0.0.1 is self-signed, and no trusted authority vouches for it",
    )


@pytest.mark.parametrize(("start", "end", "words"), [(-2, -1, "has expired"), (1, 2, "is not valid yet")])
def test_a_certificate_out_of_its_time(
    ca: trustme.CA, ca_file: Path, start: int, end: int, words: str
) -> None:
    cert = ca.issue_cert("127.0.0.1", not_before=NOW + start * DAY, not_after=NOW + end * DAY)
    assert refused(cert, trusting(ca_file)) == f"the certificate of 127.0.0.1 {words}"


def test_a_certificate_for_somebody_else(ca: trustme.CA, ca_file: Path) -> None:
    cert = ca.issue_cert("other.example")
    assert refused(cert, trusting(ca_file)) == "the certificate of 127.0.0.1 is for another IP address"
    assert (
        refused(cert, trusting(ca_file), "localhost")
        == "the certificate of localhost is for another host name"
    )


def test_plain_http_behind_an_https_url() -> None:
    def plain(peer: Peer) -> None:
        peer.socket.recv(100)
        peer.answer(b"this port speaks plain HTTP", status="400 Bad Request")
        peer.until_closed()

    with serve(plain) as server:
        sent = exchange(server.url.replace("http:", "https:"))
    assert (sent.end, sent.detail) == (End.TLS, "127.0.0.1 does not answer in TLS; is it an http:// URL?")


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_connection_that_closes_during_the_handshake(reset: bool) -> None:
    def hang_up(peer: Peer) -> None:
        peer.socket.recv(100_000)
        if reset:
            peer.reset()

    with serve(hang_up) as server:
        sent = exchange(server.url.replace("http:", "https:"))
    assert (sent.end, sent.detail) == (End.TLS, "127.0.0.1 closed the connection during the TLS handshake")


def test_no_common_version(ca: trustme.CA, ca_file: Path) -> None:
    context = server_side(ca.issue_cert("127.0.0.1"))
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = ssl_context(ca_file)
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    with serve(answering, tls=context) as server:
        sent = exchange(server.url, connection=Connection(tls=client))
    assert (sent.end, sent.detail) == (End.TLS, "127.0.0.1 does not offer TLS 1.2 or later")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_certificates(ca: trustme.CA, ca_file: Path, tmp_path: Path, version: ssl.TLSVersion) -> None:
    context = server_side(ca.issue_cert("127.0.0.1"), client_ca=ca)
    context.minimum_version = context.maximum_version = version
    mine = tmp_path / "client.pem"
    ca.issue_cert("client.example").private_key_and_cert_chain_pem.write_to_path(str(mine))
    with serve(answering, tls=context) as server:
        without = exchange(server.url, connection=trusting(ca_file))
        with_it = exchange(server.url, connection=Connection(tls=ssl_context(ca_file, mine)))
    assert without.end is End.TLS
    assert "client certificate" in without.detail
    assert with_it.end is End.COMPLETE


def test_a_body_that_ends_without_a_tls_goodbye(ca: trustme.CA, ca_file: Path) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    with serve(script, tls=server_side(ca.issue_cert("127.0.0.1"))) as server:
        sent = exchange(server.url, connection=trusting(ca_file))
    assert (sent.end, sent.response and sent.response.body) == (End.COMPLETE, b"until the end")


# -- the context ----------------------------------------------------------------------------------


def test_the_environment_changes_nothing(
    ca: trustme.CA, ca_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.log"
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, str(ca_file))
    monkeypatch.setenv("SSL_CERT_DIR", str(ca_file.parent))
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    cert = server_side(ca.issue_cert("127.0.0.1"))
    with serve(answering, tls=cert) as server:
        assert exchange(server.url, connection=trusting()).end is End.TLS
        assert exchange(server.url, connection=trusting(ca_file)).end is End.COMPLETE
    with serve(answering) as server:
        assert exchange(server.url).end is End.COMPLETE
    assert not keys.exists()


def test_files_that_cannot_be_used_are_named(tmp_path: Path, ca_file: Path) -> None:
    missing, empty, encrypted = tmp_path / "missing.pem", tmp_path / "empty.pem", tmp_path / "encrypted.pem"
    empty.write_text("")
    cert = trustme.CA().issue_cert("client.example")
    key = load_pem_private_key(cert.private_key_pem.bytes(), None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw"))
    encrypted.write_bytes(pem + cert.cert_chain_pems[0].bytes())
    for path in (missing, empty):
        with pytest.raises(ValueError, match=f"{path.name}: no CA certificates in PEM"):
            ssl_context(path)
        with pytest.raises(ValueError, match=f"{path.name}: no client certificate and key in PEM"):
            ssl_context(ca_file, path)
    with pytest.raises(ValueError, match=r"encrypted\.pem: the private key is encrypted"):
        ssl_context(ca_file, encrypted)


# -- proxies --------------------------------------------------------------------------------------


def tunnel(context: ssl.SSLContext | None = None, status: str = "200 Connection established") -> Any:
    """Take a CONNECT, and then play the server behind it."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.head(status=status)
        if context is not None:
            peer.tls(context)
            answering(peer)

    return script


def through(proxy: str, url: str, ca_file: Path | None = None, **options: Any) -> Sent:
    return exchange(url, connection=Connection(tls=ssl_context(ca_file), proxy=proxy), **options)


def test_a_forwarding_proxy_gets_the_whole_url_and_its_own_credentials() -> None:
    with serve(answering) as proxy:
        url = f"http://user:p%40ss@127.0.0.1:{proxy.port}"
        sent = through(url, "http://seller.example/mcp?a", headers=(("Authorization", "Bearer x"),))
    (request,) = proxy.requests
    assert request.line == "POST http://seller.example/mcp?a HTTP/1.1"
    assert request.header("host") == "seller.example"
    assert request.header("proxy-authorization") == "Basic dXNlcjpwQHNz"
    assert sent.end is End.COMPLETE
    assert "proxy-authorization" not in {name.lower() for name, _ in sent.request.headers}


def test_a_tunnel_hides_everything_but_the_address(ca: trustme.CA, ca_file: Path) -> None:
    with serve(tunnel(server_side(ca.issue_cert("seller.example")))) as proxy:
        url = f"http://user:pass@127.0.0.1:{proxy.port}"
        sent = through(url, "https://seller.example/mcp", ca_file, headers=(("Authorization", "Bearer x"),))
    connect, request = proxy.requests
    assert connect.line == "CONNECT seller.example:443 HTTP/1.1"
    assert connect.headers == [("Host", "seller.example:443"), ("Proxy-Authorization", "Basic dXNlcjpwYXNz")]
    assert (request.line, request.header("proxy-authorization")) == ("POST /mcp HTTP/1.1", None)
    assert sent.end is End.COMPLETE


def test_a_tunnel_through_a_proxy_that_speaks_tls(ca: trustme.CA, ca_file: Path) -> None:
    with serve(tunnel(), tls=server_side(ca.issue_cert("localhost"))) as proxy:
        sent = through(f"https://localhost:{proxy.port}", "http://seller.example/mcp", ca_file)
        wrong = through(f"https://127.0.0.1:{proxy.port}", "http://seller.example/mcp", ca_file)
    assert (sent.end, proxy.requests[0].line) == (End.COMPLETE, "POST http://seller.example/mcp HTTP/1.1")
    assert wrong.end is End.PROXY
    assert wrong.detail.endswith("the certificate of 127.0.0.1 is for another IP address")


def test_tls_of_the_server_behind_a_proxy_is_the_servers_fault(ca: trustme.CA) -> None:
    with serve(tunnel(server_side(ca.issue_cert("seller.example")))) as proxy:
        sent = through(f"http://127.0.0.1:{proxy.port}", "https://seller.example/mcp")
    assert sent.end is End.TLS
    assert sent.detail.startswith("the certificate of seller.example ")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("407 Proxy Authentication Required", "answered CONNECT with HTTP 407"),
        ("502 Bad Gateway", "answered CONNECT with HTTP 502"),
        ("301 Moved", "answered CONNECT with HTTP 301"),
    ],
)
def test_a_proxy_that_gives_no_tunnel(status: str, words: str) -> None:
    with serve(tunnel(status=status)) as proxy:
        sent = through(f"http://user:secret@127.0.0.1:{proxy.port}", "https://seller.example/mcp")
    assert (sent.end, sent.detail) == (End.PROXY, f"proxy 127.0.0.1:{proxy.port}: {words}")


def test_a_forwarding_proxy_that_wants_credentials() -> None:
    with serve(lambda peer: peer.request() and peer.answer(b"no", status="407 Who are you")) as proxy:
        sent = through(f"http://127.0.0.1:{proxy.port}", "http://seller.example/mcp")
    assert (sent.end, sent.detail) == (End.PROXY, "the proxy asks for credentials, or for others")
    assert sent.response is not None
    assert sent.response.status == 407


@pytest.mark.parametrize("url", ["http://seller.example/mcp", "https://seller.example/mcp"])
def test_a_proxy_that_is_not_there(url: str) -> None:
    with serve(answering) as gone:
        pass
    sent = through(f"http://127.0.0.1:{gone.port}", url)
    assert sent.end is End.PROXY
    assert sent.detail == f"proxy 127.0.0.1:{gone.port}: nothing listens at 127.0.0.1:{gone.port}"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (lambda peer: peer.request(), "the connection was closed before any byte of a response"),
        (lambda peer: peer.request() and peer.send(b"garbage\r\n\r\n"), "the answer is not HTTP/1.1; it starts with b'garbage'"),
        (lambda peer: peer.request() and peer.send(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000), "more than 65536 bytes of headers"),
    ],
    ids=["closes", "garbage", "headers"],
)  # fmt: skip
def test_a_broken_proxy(script: Any, words: str) -> None:
    with serve(script) as proxy:
        sent = through(f"http://127.0.0.1:{proxy.port}", "https://seller.example/mcp")
    assert (sent.end, sent.detail) == (End.PROXY, f"proxy 127.0.0.1:{proxy.port}: {words}")


def test_a_silent_proxy() -> None:
    with serve(lambda peer: peer.pause()) as proxy:
        sent = through(f"http://127.0.0.1:{proxy.port}", "https://seller.example/mcp", deadline=0.4)
    assert (sent.end, sent.detail) == (
        End.DEADLINE,
        f"no tunnel from the proxy 127.0.0.1:{proxy.port} after 0.4 s",
    )
