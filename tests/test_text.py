"""Escaping, quoting and curl lines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.text import curl, one_line, plural, quote, safe
from pytest_adcp.harness.transcript import Request
from rawserver import Peer, serve

VISIBLE_FORMAT = {*range(0x0600, 0x0606), 0x06DD, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}


def is_dangerous(code: int) -> bool:
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        return True
    category = unicodedata.category(chr(code))
    return category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and code not in VISIBLE_FORMAT)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ünï ✓ 漢字", "plain – ünï ✓ 漢字"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\nb\r\n\tc", r"a\nb\r\n\tc"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\ud800 \u2028\u2029\x85", r"\ud800 \u2028\u2029\x85"),
        ("\U000e0041\U0001ffff", r"\U000e0041\U0001ffff"),
        ("::add-mask::e", r"\x3a:add-mask::e"),
        ("a ::error file=x::b", r"a \x3a:error file=x::b"),
        ("##[add-mask]e ##vso[x]", r"\x23#[add-mask]e \x23#vso[x]"),
        ("std::vector ::1 a::error::b # ##", "std::vector ::1 a::error::b # ##"),
        ("", ""),
    ],
)
def test_safe_escapes_what_cannot_be_seen(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_every_invisible_or_misleading_character_is_escaped() -> None:
    missed = [hex(code) for code in range(0x110000) if is_dangerous(code) and safe(chr(code)) == chr(code)]
    assert missed == []


def test_letters_of_every_script_stay() -> None:
    letters = [
        chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) in ("Ll", "Lu", "Nd", "Sc")
    ]
    assert safe("".join(letters), 10_000) == "".join(letters)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 10 + "… (1 more)"),
        ("\x1b" * 3, r"\x1b\x1b… (1 more)"),  # an escape is never cut in two
        ("\U000e0041" * 2, r"\U000e0041" + "… (1 more)"),
        ("\u202e" * 11, r"\u202e… (10 more)"),
    ],
)
def test_safe_counts_what_it_leaves_out(text: str, shown: str) -> None:
    assert safe(text, 10) == shown


@given(st.text(st.characters(codec=None), max_size=60), st.integers(0, 40))
def test_safe_is_bounded_and_clean(text: str, limit: int) -> None:
    shown = safe(text, limit)
    assert len(shown) <= limit + len("… (60 more)")
    assert not any(is_dangerous(ord(character)) for character in shown)


def test_one_line_joins_white_space_and_reads_only_the_head() -> None:
    assert one_line("  two\n\n  words \t here\x1b ") == r"two words here\x1b"
    assert one_line("a\n" * 5_000_000, 20) == "a a a a a a a a a a … (10000000 characters)"


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "call", "1 call"),
        (2, "call", "2 calls"),
        (0, "retry", "0 retries"),
        (2, "day", "2 days"),
        (3, "response", "3 responses"),
        (2, "pass", "2 passes"),
        (2, "branch", "2 branches"),
    ],
)
def test_plural(count: int, noun: str, words: str) -> None:
    assert plural(count, noun) == words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (-1.5e300, "-1.5e+300"),
        (12, "12"),
        ('a"b\\c\n\u202e', r'"a\"b\\c\n\u202e"'),
        ("##[x] ::x::", r'"\u0023#[x] \u003a:x::"'),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, {"b": None}], "ü": "x"}, '{"a": [1, {"b": null}], "ü": "x"}'),
        ((1, 2), "[1, 2]"),
        (10**200, "an integer of 665 bits"),
        (b"bytes", "b'bytes'"),
    ],
)
def test_quote_shows_json(value: object, shown: str) -> None:
    assert quote(value) == shown


def test_quote_cuts() -> None:
    assert quote("x" * 12, 10) == '"xxxxxxxxxx…" (2 more)'
    assert quote([1] * 100, 10) == "[1, 1, 1, …"
    assert quote({"key": "x" * 100}, 40) == '{"key": "xxxxxxxxxxxxxxxxxxxx…" (80 more…'
    assert quote([[[[[[[[[[1]]]]]]]]]]) == "[[[[[[[[[…]]]]]]]]]"
    assert len(quote("\x1b" * 1000, 30)) <= 30 + len('""… (1000 more)')


class Endless(Mapping[str, object]):
    """An object without end: whoever walks all of it hangs."""

    def __getitem__(self, key: str) -> object:
        return self

    def __iter__(self) -> Iterator[str]:
        while True:
            yield "key"

    def __len__(self) -> int:
        return 1


def test_quote_does_no_more_than_it_shows() -> None:
    assert quote(Endless(), 20) == '{"key": {"key": {"ke…'
    assert quote(["x" * 16_000_000] * 1000, 20) == '["xxxxxxxxxx…" (1599…'


def test_quote_survives_depth() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    assert quote(deep) == "[[[[[[[[[…]]]]]]]]]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.integers(1, 60))
def test_quote_is_bounded_and_clean(value: object, limit: int) -> None:
    shown = quote(value, limit)
    assert len(shown) <= limit + 30
    assert not any(is_dangerous(ord(character)) for character in shown)


@given(JSON)
@settings(deadline=None)
def test_quote_of_a_small_value_is_its_json(value: object) -> None:
    text = json.dumps(value)
    shown = quote(value, 10_000)
    if "integer of" not in shown and "[…]" not in shown and "{…}" not in shown:
        assert json.dumps(json.loads(shown)) == text


def request(
    body: bytes = b"",
    *headers: tuple[str, str],
    url: str = "https://seller.example/mcp",
    method: str = "POST",
) -> Request:
    return Request(method, url, headers, body)


ALL = (("Accept", "application/json, text/event-stream"), ("User-Agent", "pytest-adcp/1"))
JSON_TYPE = ("Content-Type", "application/json")


@pytest.fixture
def words(tmp_path):
    """Return a function that lets a shell split a line and returns what curl would be given."""
    fake = tmp_path / "curl"
    fake.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    fake.chmod(0o755)

    def run(line: str, shell: str = "sh", **variables: str) -> list[str]:
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", **variables}
        done = subprocess.run(
            [shell, "-c", line], env=environment, capture_output=True, check=True, timeout=20
        )
        assert done.stderr == b""
        (printed,) = done.stdout.splitlines()
        return json.loads(printed)

    return run


def test_curl_is_what_was_sent(words) -> None:
    body = json.dumps({"method": 'it\'s "$HOME" `id` \\ !'}).encode()
    line = curl(
        request(body, JSON_TYPE, *ALL, ("Host", "seller.example"), ("Content-Length", "9"), ("X-Empty", ""))
    )
    assert words(line) == [
        *("-sS", "-i", "-X", "POST", "https://seller.example/mcp"),
        *("-H", "Content-Type: application/json"),
        *("-H", "Accept: application/json, text/event-stream"),
        *("-H", "User-Agent: pytest-adcp/1"),
        *("-H", "X-Empty;"),
        *("--data-raw", body.decode()),
    ]


def test_curl_adds_nothing_that_was_not_sent(words) -> None:
    assert words(curl(request(method="DELETE"))) == [
        *("-sS", "-i", "-X", "DELETE", "https://seller.example/mcp", "-H", "Accept:", "-H", "User-Agent:"),
    ]
    assert "Content-Type:" in words(curl(request(b"{}", *ALL)))


def test_curl_asks_for_redacted_values_by_name(words) -> None:
    line = curl(request(b"", *ALL, ("Authorization", "Bearer [redacted]"), ("X-Api-Key", "[redacted]")))
    assert '-H "Authorization: Bearer $TOKEN"' in line
    assert '-H "X-Api-Key: $X_API_KEY"' in line
    sent = words(line, TOKEN="a b", X_API_KEY="k")
    assert "Authorization: Bearer a b" in sent
    assert "X-Api-Key: k" in sent
    assert '"Authorization: Basic $CREDENTIALS"' in curl(request(b"", ("Authorization", "Basic [redacted]")))


def test_curl_keeps_the_rest_of_a_redacted_value_literal(words) -> None:
    header = ("Cookie", "a=$HOME`id`[redacted]x; b=[redacted]")
    url = "https://[redacted]@h.example/mcp?key=%5Bredacted%5D&x={1}"
    sent = words(curl(request(b"", *ALL, header, url=url)), COOKIE="c", SECRET="s")
    assert "Cookie: a=$HOME`id`cx; b=c" in sent
    assert "https://s@h.example/mcp?key=s&x={1}" in sent
    assert "--globoff" in sent


def test_curl_cuts_long_bodies_and_says_so(words) -> None:
    line = curl(request(b"x" * 5000, JSON_TYPE, *ALL))
    assert words(line)[-1] == "x" * 2048
    assert line.endswith("# body cut: 2048 of 5000 characters")


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a\x00b"])
def test_curl_does_not_show_a_body_that_no_command_line_can_hold(body: bytes, words) -> None:
    line = curl(request(body, JSON_TYPE, *ALL))
    assert "--data-raw" not in words(line)
    assert line.endswith(f"# and a body of {len(body)} bytes that no command line can hold")


@pytest.mark.skipif(shutil.which("bash") is None, reason="control characters need $'...' of bash or zsh")
def test_curl_sends_control_characters_but_does_not_show_them(words) -> None:
    body = '{"a": "it\'s \\\\ \x1b[2J\u202e\u2028\n"}'
    line = curl(request(body.encode(), JSON_TYPE, *ALL, ("X-Odd", "s\x07\x9b")))
    assert not any(is_dangerous(ord(character)) for character in line)
    sent = words(line, shell="bash")
    assert sent[-1] == body
    assert "X-Odd: s\x07\x9b" in sent


@pytest.mark.skipif(shutil.which("bash") is None, reason="control characters need $'...' of bash or zsh")
@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_shell_gives_back_any_text(text: str) -> None:
    line = curl(request(text.encode(), JSON_TYPE, *ALL))
    printed = re.sub(r"^curl .*--data-raw", "printf %s", line, count=1)
    done = subprocess.run(["bash", "-c", printed], env={"LC_ALL": "C.UTF-8"}, capture_output=True, timeout=20)
    assert done.stdout.decode() == text
    assert not any(is_dangerous(ord(character)) for character in line)


@pytest.mark.skipif(shutil.which("curl") is None, reason="runs curl")
def test_a_request_in_a_session_opens_its_own() -> None:
    with running(SellerOptions(bearer="open-sesame")) as url:
        headers = (
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Session-Id", "ended-long-ago"),
            ("Authorization", "Bearer [redacted]"),
        )
        body = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get_products", "arguments": {}}}'
        line = curl(Request("POST", url, headers, body))
        assert "ended-long-ago" not in line
        done = subprocess.run(
            ["sh", "-c", line],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            env={**os.environ, "TOKEN": "open-sesame"},
        )
    assert "HTTP/1.1 200" in done.stdout
    assert '"id": 7' in done.stdout or '"id":7' in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="runs curl")
@pytest.mark.parametrize(
    "header", ["mcp-session-id:abc", "MCP-Session-ID:  abc def \t", "Mcp-Session-Id: a:b"]
)
def test_the_shell_reads_the_session_id_as_a_client_does(header: str) -> None:
    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(f"HTTP/1.1 200 OK\r\n{header}\r\nContent-Length: 2\r\n\r\n{{}}".encode())

    before = Request("DELETE", "", (("Mcp-Session-Id", "ended-long-ago"),), b"")
    with serve(script) as server:
        line = curl(
            Request("POST", server.url, (("Mcp-Session-Id", "ended-long-ago"), JSON_TYPE), b'{"id": 7}'),
            revision="2025-06-18",
            before=replace(before, url=server.url),
        )
        subprocess.run(["sh", "-c", line], capture_output=True, timeout=20, check=True)
        opened, ended, again = server.requests
    assert json.loads(opened.body)["params"]["protocolVersion"] == "2025-06-18"
    assert (ended.line.split()[0], again.line.split()[0], again.body) == ("DELETE", "POST", b'{"id": 7}')
    value = header.partition(":")[2].strip()
    assert [request.header("mcp-session-id") for request in (opened, ended, again)] == [None, value, value]
