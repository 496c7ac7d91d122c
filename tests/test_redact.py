"""Secrets stay out of whatever is written."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.redact import Redactor, looks_secret, redact_members, secret_header, secret_key

SECRET = "pä+ss/w\"o'r<d\\ &=1"


def go_json(text: str) -> str:
    return "".join(
        f"\\u{ord(c):04x}" if c in "<>&" else json.dumps(c, ensure_ascii=False)[1:-1] for c in text
    )


def dotnet_json(text: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else utf16_escapes(c) for c in text)


def utf16_escapes(character: str) -> str:
    units = character.encode("utf-16-be").hex(" ", 2).upper().split()
    return "".join(f"\\u{unit}" for unit in units)


def mustache(text: str) -> str:
    entities = {
        "&": "amp",
        "<": "lt",
        ">": "gt",
        '"': "quot",
        "'": "#39",
        "/": "#x2F",
        "`": "#x60",
        "=": "#x3D",
    }
    return "".join(f"&{entities[c]};" if c in entities else c for c in text)


ENCODERS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "json, UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json, escaped slash": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "json of Go": go_json,
    "json of .NET": dotnet_json,
    "json in json": lambda text: json.dumps(json.dumps(text))[3:-3],
    "json in json in json": lambda text: json.dumps(json.dumps(json.dumps(text)))[7:-7],
    "url": lambda text: quote(text, safe=""),
    "url path": quote,
    "url, lower case": lambda text: quote(text, safe="").replace("%C3%A4", "%c3%a4").replace("%2F", "%2f"),
    "form": quote_plus,
    "html": html.escape,
    "html, decimal": lambda text: "".join(c if c.isalnum() else f"&#{ord(c)};" for c in text),
    "html, named": lambda text: html.escape(text).replace("ä", "&auml;").replace("&#x27;", "&apos;"),
    "html of mustache": mustache,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, no padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 in json": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        "plain-token_1.2",
        "日本語のひみつ",
        "\U0001f511 key",
        "a\\\\b\\c",
        "+/+/",
        "a\\üb\\<\\\U0001f511",
    ],
)
def test_every_form_of_a_secret_is_found(name: str, secret: str) -> None:
    redactor = Redactor([secret])
    written = ENCODERS[name](secret)
    for around in ("{}", '{{"token": "{}"}}', "before {} after"):
        text = around.format(written)
        assert redactor.text(text) == around.format("[redacted]")
        assert redactor.data(text.encode()).decode() == around.format("[redacted]")


SECRETS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=4, max_size=20)


@given(SECRETS, st.sampled_from(list(ENCODERS)), st.text(max_size=10), st.text(max_size=10))
@settings(deadline=None)
def test_nothing_of_a_secret_is_left(secret: str, name: str, before: str, after: str) -> None:
    written = ENCODERS[name](secret)
    redacted = Redactor([secret]).text(before + written + after)
    assert "[redacted]" in redacted
    assert written not in redacted.replace("[redacted]", "\0")


def test_a_secret_inside_another_leaves_no_rest() -> None:
    redactor = Redactor(["abcd", "abcdefgh", "efghijkl"])
    assert redactor.text("abcdefgh abcd efghijkl") == "[redacted] [redacted] [redacted]"


def test_a_word_of_the_placeholder_is_no_endless_secret() -> None:
    assert Redactor(["redacted"]).text("redacted redacted") == "[redacted] [redacted]"


def test_other_text_stays_as_it_is() -> None:
    body = json.dumps({"a": "\\ / %41 &amp; é", "b": [1, None]}).encode()
    assert Redactor([SECRET]).data(body) == body
    assert Redactor().data(b"\xff\x00") == b"\xff\x00"
    assert Redactor([SECRET]).data(b"\xff\xfe\x00") == b"\xff\xfe\x00"
    assert Redactor(["", ""]).text("text") == "text"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u:", "user", "buyer:"])
@pytest.mark.parametrize("after", ["", "\n", "xy", "tail"])
def test_in_the_base64_of_a_longer_text(encode: Callable[[bytes], bytes], before: str, after: str) -> None:
    token = "sk-live_Az09?>~ä"
    written = encode(f"{before}{token}{after}".encode()).decode()
    shown = Redactor([token]).text(f"<{written}>")
    assert "[redacted]" in shown
    # What is left are the neighbours, and less than a byte of the secret at each end.
    assert len(shown) <= len("<[redacted]>") + (len(before) + len(after)) * 4 // 3 + 6


@pytest.mark.parametrize(
    "escape",
    [
        "\\u00{:02x}",
        "\\u00{:02X}",
        "%{:02X}",
        "%25{:02X}",
        "%252525{:02x}",
        "&#{};",
        "&#x{:X};",
        "&#X00{:x};",
    ],
)
def test_letters_in_escapes_that_nobody_needs(escape: str) -> None:
    token = "sk-live_Az09"
    scrambled = "".join(escape.format(ord(c)) if c.isalnum() else c for c in token)
    redactor = Redactor([token])
    body = f'{{"a": "caf\\u00e9 {scrambled}", "b": "100%41"}}'
    assert redactor.data(body.encode()) == b'{"a": "caf\\u00e9 [redacted]", "b": "100A"}'
    # Where no secret shows, every byte stays.
    assert Redactor(["another"]).data(body.encode()) == body.encode()


def test_lone_surrogates_are_no_obstacle() -> None:
    assert Redactor(["ab\ud800cd"]).text("x ab\ud800cd \udfff") == "x [redacted] \udfff"


@pytest.mark.parametrize("secret", ["\\\\\\a", "a\\b", "/" * 20, '"' * 20, "\\é" * 10])
@pytest.mark.parametrize("unit", [b"\\" * 15 + b"\\u00e9", b"\\", b"\\u005c", b"/", b'\\"', b"&#00", b"%2"])
def test_hostile_bodies_take_no_longer_than_others(secret: str, unit: bytes) -> None:
    body = unit * ((1 << 20) // len(unit))
    began = time.process_time()
    Redactor([secret]).data(body)
    assert time.process_time() - began < 5


def test_a_token_can_be_added_later() -> None:
    first = Redactor(["first-secret"], ["X-Key"])
    second = first.with_secret("issued-token")
    text = "first-secret issued-token"
    assert second.text(text) == "[redacted] [redacted]"
    assert first.text(text) == "[redacted] issued-token"
    assert second.headers([("x-key", "v")]) == (("x-key", "[redacted]"),)


def test_repr_shows_no_secret() -> None:
    assert repr(Redactor(["first-secret"])) == "Redactor(1 secrets)"


def test_headers() -> None:
    redactor = Redactor(["s3cret"], ["X-Tenant"])
    assert redactor.headers(
        [
            ("Authorization", "Bearer something-else"),
            ("proxy-authorization", "Basic abc"),
            ("AUTHORIZATION", "opaque"),
            ("Cookie", "a=b"),
            ("Set-Cookie", "sid=1; Path=/"),
            ("X-Api-Key", "1"),
            ("X-AdCP-Auth", "1"),
            ("x-tenant", "acme"),
            ("Location", "https://h/?t=s3cret"),
            ("WWW-Authenticate", 'Bearer realm="x"'),
            ("Mcp-Session-Id", "abc"),
        ]
    ) == (
        ("Authorization", "Bearer [redacted]"),
        ("proxy-authorization", "Basic [redacted]"),
        ("AUTHORIZATION", "[redacted]"),
        ("Cookie", "[redacted]"),
        ("Set-Cookie", "[redacted]"),
        ("X-Api-Key", "[redacted]"),
        ("X-AdCP-Auth", "[redacted]"),
        ("x-tenant", "[redacted]"),
        ("Location", "https://h/?t=[redacted]"),
        ("WWW-Authenticate", 'Bearer realm="x"'),
        ("Mcp-Session-Id", "abc"),
    )


KEYS = [
    "authorization",
    "credential",
    "credentials",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "password",
    "secret",
    "client_secret",
    "client-secret",
    "refresh_token",
    "access-token",
    "bearer",
    "session_token",
    "offering-token",
    "cookie",
    "set_cookie",
    "Set-Cookie",
    "TOKEN",
]


@pytest.mark.parametrize("key", KEYS)
def test_members_that_hold_credentials_are_redacted(key: str) -> None:
    assert redact_members({"a": [{key: {"deep": 1}, "b": 2}]}) == {"a": [{key: "[redacted]", "b": 2}]}
    assert secret_key(key)


@pytest.mark.parametrize(
    "key", ["tokens", "next_token", "my_password", "cookies", "secretary", "authorization_url", ""]
)
def test_other_members_stay(key: str) -> None:
    assert redact_members({key: ("x", None)}) == {key: ["x", None]}


def test_members_are_copied_in_order_and_not_changed() -> None:
    value = {"z": 1, "token": "t", "a": [{"b": 2}]}
    copy = redact_members(value)
    assert list(copy) == ["z", "token", "a"]
    assert value["token"] == "t"
    assert copy["a"][0] is not value["a"][0]
    assert redact_members("text") == "text"


def test_members_of_a_deep_value() -> None:
    deep: object = {"token": "t"}
    for _ in range(100_000):
        deep = [deep]
    copy = redact_members(deep)
    for _ in range(100_000):
        (copy,) = copy
    assert copy == {"token": "[redacted]"}


@pytest.mark.parametrize(
    "name", ["authorization", "X-Auth-Token", "api-key", "x-adcp-auth", "cookie", "X-Secret"]
)
def test_headers_that_hold_credentials(name: str) -> None:
    assert secret_header(name)


@pytest.mark.parametrize(
    "name", ["www-authenticate", "content-type", "x-request-id", "mcp-session-id", "etag"]
)
def test_headers_that_do_not(name: str) -> None:
    assert not secret_header(name)


@pytest.mark.parametrize(
    "text",
    ["eyJhbGciOi.abc", "sk-live-1", "ghp_abc", "Bearer abc", "AKIAIOSFODNN7EXAMPLE", "0123456789abcdef01"],
)
def test_what_looks_like_a_secret(text: str) -> None:
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text", ["SELLER_TOKEN", "SELLER_TOKEN_2025_PRODUCTION", "token", "a sentence with 16 words", ""]
)
def test_what_looks_like_a_name(text: str) -> None:
    assert not looks_secret(text)
