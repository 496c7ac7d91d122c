"""No credential is ever written: not by a server that hands back in every form whatever it was given."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from rawserver import Peer, serve
from runs import Run, run
from scripted import Call, Reply, definition, failure, good, initialized, scripted
from wireclient import exchange

SECRET = 'hush "s3cret"/+\\é&pass<x'  # with something to escape in every format
PLAIN = "hush-s3cret-pass.word/+="  # what a header can carry
COOKIE = "c00kie-s3cret-of-a-lane"
TOKEN = "oauth-s3cret-t0ken-1"


EVERYTHING = ("--junitxml=junit.xml", "--adcp-sarif=x.sarif", "--adcp-write-baseline=known.yaml")
"""Every output that has to be asked for."""


def forms(secret: str) -> set[str]:
    """Return a secret as text formats write it."""
    raw = secret.encode()
    escaped = json.dumps(secret)[1:-1]
    return {
        secret,
        escaped,
        json.dumps(escaped)[1:-1],
        quote(secret),
        quote_plus(secret),
        html.escape(secret),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    }


def given(call: Call) -> str:
    """Return everything that came with a request: its headers, and what stands behind their words and codings."""
    values = [f"{name}: {value}" for name, value in call.http.headers if name.lower() != "cookie"]
    values += [part for _, value in call.http.headers for part in value.split(" ") if len(part) > 8]
    decoded = []
    for part in values:
        try:
            decoded.append(base64.b64decode(part, validate=True).decode())
        except ValueError:
            continue
    values = [value for value in (*values, *decoded) if COOKIE not in value]
    return " ".join([*values, *(form for value in values for form in sorted(forms(value)))])


def echo(call: Call) -> Reply:
    """Answer badly in many ways, and hand back whatever was given in headers, names, errors and data."""
    said = given(call)
    shown = said.encode("ascii", "backslashreplace").decode()[:20_000]
    headers = [f"X-Echo: {shown}", f"WWW-Authenticate: Bearer {call.header('authorization')}"]
    if call.method == "initialize":
        good_one = initialized("2025-11-25", f"Set-Cookie: lb={COOKIE}")
        result = good_one.result | {"instructions": said, "serverInfo": {"name": said, "version": said}}
        return Reply(result=result, headers=[*good_one.headers, *headers])
    if call.method == "tools/list":
        odd = {"name": said[:3000], "description": said, "inputSchema": said}
        tools = [definition("get_products"), definition("list_creative_formats"), odd]
        return Reply(result={"tools": tools}, headers=headers)
    if call.tool == "get_products":
        bad = failure("AUTH_REQUIRED", recovery=said, details=said)
        bad["structuredContent"]["adcp_error"]["message"] = said
        return Reply(result=bad, headers=headers)
    if call.tool == "list_creative_formats":
        mixed = {"content": [{"type": "text", "text": said}], "structuredContent": {said: said}}
        return Reply(result=mixed, headers=headers)
    if call.tool:
        return Reply(error={"code": said, "message": said, "data": said}, headers=headers, status=401)
    reply = good(call)
    return Reply(reply.result, reply.error, status=reply.status, headers=headers)


def clean(done: Run, *secrets: str) -> None:
    """Look for secrets in what was printed and in every file of the run but adcp.yaml."""
    texts = {"the terminal": done.out}
    for path in done.folder.rglob("*"):
        if path.is_file() and path.name != "adcp.yaml":
            texts[str(path.relative_to(done.folder))] = path.read_bytes().decode("utf-8", "surrogateescape")
    assert len(texts) >= 3
    for where, text in texts.items():
        for secret in secrets:
            for form in forms(secret):
                assert form not in text, f"{where} holds {form}"
    assert "[redacted]" in texts["adcp-report/transcript.jsonl"]


def surveyed(folder: Path, *arguments: str, env: dict[str, str], url: str = "") -> Run:
    with scripted(echo) as seller:
        address = url.replace("{origin}", seller.url) if url else seller.url
        done = run(
            folder,
            f"--server-url={address}",
            "--adcp-trace",
            "-vv",
            *EVERYTHING,
            *arguments,
            env={"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), **env},
        )
        assert len(seller.calls) > 8
    assert done.code == 1, done.out
    assert len(done.target["findings"]) > 20
    assert {path.name for path in folder.iterdir()} >= {"junit.xml", "x.sarif", "known.yaml", "summary.md"}
    clean(done, COOKIE)
    return done


def test_a_bearer_token(tmp_path: Path) -> None:
    clean(surveyed(tmp_path, "--adcp-bearer-env=SELLER", env={"SELLER": PLAIN}), PLAIN)


def test_user_and_password(tmp_path: Path) -> None:
    done = surveyed(tmp_path, "--adcp-basic-env=SELLER", env={"SELLER": f"buyer:{SECRET}"})
    clean(done, SECRET, f"buyer:{SECRET}")


def test_further_headers(tmp_path: Path) -> None:
    done = surveyed(
        tmp_path,
        "--adcp-header-env=X-Tenant=ONE",
        "--adcp-header-env=X-Api-Key=TWO",
        env={"ONE": PLAIN, "TWO": f"Token {PLAIN}2"},
    )
    clean(done, PLAIN, f"{PLAIN}2")


def test_members_of_a_header(tmp_path: Path) -> None:
    """Of a cookie and of a signature the server may show the credential alone."""
    sid, signature = "sid-s3cret-of-ours", "c2lnbmF0dXJlLXMzY3JldA=="
    shown = (sid, signature)

    def alone(call: Call) -> Reply:
        reply = echo(call)
        return replace(reply, headers=[f"X-Seen: {' '.join(shown)}"])

    with scripted(alone) as seller:
        done = run(
            tmp_path,
            f"--server-url={seller.url}",
            "--adcp-header-env=Cookie=ONE",
            "--adcp-header-env=X-Auth=TWO",
            *EVERYTHING,
            "--adcp-trace",
            env={
                "ONE": f"sid={sid}; theme=dark",
                "TWO": f'Signature keyid="a",signature="{signature}"',
            },
        )
    clean(done, *shown)


def test_a_fleet_with_every_kind_of_credential(tmp_path: Path) -> None:
    def token(peer: Peer) -> None:
        while peer.request():
            peer.answer(json.dumps({"access_token": TOKEN, "token_type": "bearer"}).encode())

    kinds = {
        "bearer": "{bearer_env: ONE}",
        "basic": "{basic_env: TWO}",
        "header": "{header_env: {X-Api-Key: THREE}}",
        "oauth": "{oauth: {token_url: '%s', client_id_env: ID, client_secret_env: FOUR}}",
    }
    with serve(token) as authority, scripted(echo) as seller:
        targets = "".join(
            f"- name: {name}\n  url: {seller.url}\n  auth: {auth.replace('%s', authority.url)}\n"
            for name, auth in kinds.items()
        )
        (tmp_path / "targets.yaml").write_text(
            f"{targets}- name: query\n  url: '{seller.url}?api_key={quote(PLAIN, safe='')}'\n"
        )
        done = run(
            tmp_path,
            "--adcp-targets=targets.yaml",
            "--junitxml=junit.xml",
            "-vv",
            env={
                "ONE": PLAIN,
                "TWO": f"buyer:{SECRET}",
                "THREE": f"{PLAIN}3",
                "ID": "buyer",
                "FOUR": SECRET,
                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            },
        )
        sent = {call.header("authorization") or call.header("x-api-key") for call in seller.calls}
    assert {f"Bearer {PLAIN}", f"{PLAIN}3", f"Bearer {TOKEN}"} <= sent
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "targets.yaml"]
    assert len([path for path in files if path.name == "transcript.jsonl"]) == 5
    for where, text in [
        ("terminal", done.out),
        *((str(p), p.read_bytes().decode("utf-8", "surrogateescape")) for p in files),
    ]:
        for secret in (PLAIN, f"{PLAIN}3", SECRET, TOKEN):
            for form in forms(secret):
                assert form not in text, f"{where} holds {form}"


def test_tokens_in_the_url(tmp_path: Path) -> None:
    url = f"{{origin}}?access_token={quote(PLAIN, safe='')}&tenant=acme"
    done = surveyed(tmp_path, env={}, url=url)
    clean(done, PLAIN)
    assert "tenant=acme" in done.out


def test_user_and_password_in_the_url(tmp_path: Path) -> None:
    with scripted(echo) as seller:
        url = seller.url.replace("http://", f"http://buyer:{quote(SECRET, safe='')}@")
        done = run(tmp_path, f"--server-url={url}", "--adcp-trace")
        basic = base64.b64encode(f"buyer:{SECRET}".encode()).decode()
        sent = {call.header("authorization") for call in seller.calls if call.verb != "GET"}
        assert sent == {f"Basic {basic}"}
    assert done.code == 1, done.out
    clean(done, SECRET)


def test_an_oauth_client_and_its_tokens(tmp_path: Path) -> None:
    issued: list[str] = []

    def token(peer: Peer) -> None:
        while peer.request():
            issued.append(f"{TOKEN}{len(issued)}")
            peer.answer(json.dumps({"access_token": issued[-1], "token_type": "bearer"}).encode())

    def expiring(call: Call) -> Any:
        # The first token ends when the first tool is called; what refuses it hands it back.
        old = call.tool and (call.header("authorization") or "").endswith(issued[0])
        return Reply(status=401, body=given(call).encode()) if old else echo(call)

    with serve(token) as authority, scripted(expiring) as seller:
        (tmp_path / "adcp.yaml").write_text(
            f"server_url: {seller.url}\nauth: {{oauth: {{token_url: '{authority.url}', client_id_env: ID, client_secret_env: SECRET}}}}\n"
        )
        done = run(
            tmp_path, f"--server-url={seller.url}", "--adcp-trace", env={"ID": "buyer", "SECRET": SECRET}
        )
    assert len(issued) == 2
    assert done.code == 1, done.out
    clean(done, SECRET, *issued)


def test_a_proxy(tmp_path: Path) -> None:
    """The proxy is the scripted server itself: for http:// it gets whole requests."""
    with scripted(echo) as proxy:
        where = proxy.url.removesuffix("/mcp").replace("http://", f"http://p:{quote(SECRET, safe='')}@")
        done = run(tmp_path, "--server-url=http://seller.test/mcp", f"--adcp-proxy={where}", "--adcp-trace")
        assert proxy.calls[0].header("proxy-authorization")
    assert done.code == 1, done.out
    clean(done, SECRET)


@pytest.mark.parametrize("arguments", [("--adcp-plan",), ("--adcp-no-transcript",)])
def test_other_ways_to_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with scripted(echo) as seller:
        done = run(
            tmp_path,
            f"--server-url={seller.url}",
            "--adcp-bearer-env=SELLER",
            *arguments,
            env={"SELLER": PLAIN},
        )
    texts = [done.out, *(path.read_text() for path in tmp_path.rglob("*") if path.is_file())]
    assert not any(form in text for text in texts for form in (*forms(PLAIN), *forms(COOKIE)))
    assert not (tmp_path / "adcp-report" / "transcript.jsonl").exists()


def test_the_echo_gives_back_what_it_is_given() -> None:
    """Without this the tests above would prove nothing."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_products"}}
    headers = [("Authorization", f"Bearer {PLAIN}")]
    with scripted(echo) as seller:
        sent = exchange(seller.url, headers=headers, body=json.dumps(call).encode())
    assert sent.response is not None
    error = json.loads(sent.response.body)["result"]["structuredContent"]["adcp_error"]
    assert all(form in error["message"] for form in forms(PLAIN))
