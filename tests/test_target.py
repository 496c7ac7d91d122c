"""URLs, targets and credentials."""

from __future__ import annotations

import base64
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.endpoint import Endpoint
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.target import (
    AuthKind,
    CredentialError,
    Credentials,
    OAuthClient,
    Target,
    basic_header,
)
from pytest_adcp.harness.urls import UrlError, display_url, is_loopback, query_secrets, web_address

# fmt: off
BAD_URLS = [
    ("", "has no scheme (https://)"),
    ("seller.example/mcp", "has no scheme (https://); did you mean https://seller.example/mcp?"),
    ("localhost:8000/mcp", "has no scheme (https://); did you mean http://localhost:8000/mcp?"),
    ("127.0.0.1:8000", "has no scheme (https://); did you mean http://127.0.0.1:8000?"),
    ("//seller.example/mcp", "has no scheme (https://); did you mean https://seller.example/mcp?"),
    ("Demo", 'has no scheme (https://); did you mean "demo"?'),
    ("ftp://seller.example/", "has a scheme other than http and https; did you mean https://seller.example/?"),
    ("htps://seller.example/", "has a scheme other than http and https; did you mean https://seller.example/?"),
    ("htp://seller.example/", "has a scheme other than http and https; did you mean http://seller.example/?"),
    ("file:///etc/passwd", "has a scheme other than http and https"),
    ("https:/seller.example/", "names no host; did you mean https://seller.example/?"),
    ("https://", "names no host"),
    ("https:///mcp", "names no host"),
    ("https://:8080/", "names no host"),
    ("https://seller.example:port/", "has no valid port"),
    ("https://seller.example:0/", "has no valid port"),
    ("https://seller.example:65536/", "has no valid port"),
    ("https://seller.example:/", "has no valid port"),
    ("https://sel ler.example/", "holds a space or a control character"),
    (" https://seller.example/\n", "holds a space or a control character; did you mean https://seller.example/?"),
    ("https://seller.example/\x1b", "holds a space or a control character"),
    ("https://seller.example/#x", "has a fragment (#...), which is never sent; did you mean https://seller.example/?"),
    ("https://seller.example#", "has a fragment (#...), which is never sent; did you mean https://seller.example?"),
    ("https://user:80#pass@seller.example", "has a fragment (#...), which is never sent"),
    ("https://[::1/", "has no valid host"),
    ("https://[::g]/", "has no valid host"),
    ("https://999.1.1.1/", "has no valid host"),
    ("https://a..b/", "has no valid host"),
    ("https://sel\\ler.example/", "has no valid host"),
    ("https://" + "a" * 64 + ".example/", "has no valid host"),
    ("https://☃\u200d.example/", "has no valid host"),
    ("https://seller.example/" + "a" * 9000, "is longer than 8192 characters"),
]
# fmt: on


@pytest.mark.parametrize(("url", "problem"), BAD_URLS)
def test_a_bad_url_is_told_and_put_right(url: str, problem: str) -> None:
    with pytest.raises(UrlError) as caught:
        web_address(url)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "url",
    [
        "https://seller.example",
        "http://localhost:8080/mcp?x=1",
        "https://[::1]:8443/mcp",
        "HTTPS://Seller.Example/",
        "https://bücher.example/",
        "https://under_score.example./@scope/x",
        "http://10.0.0.1/",
    ],
)
def test_a_good_url_is_taken(url: str) -> None:
    assert Target.parse(url).url == url.replace("HTTPS", "https")


@given(st.text() | st.from_regex(r"(https?:/{0,3})?[a-z.@:#?\[\]-]{0,12}(/[!-~]{0,9})?", fullmatch=True))
@settings(deadline=None)
def test_what_is_taken_can_be_requested(url: str) -> None:
    try:
        target = Target.parse(url)
    except (UrlError, CredentialError):
        return
    assert Endpoint.parse(target.url).host


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Seller.Example/mcp", "https://seller.example"),
        ("https://seller.example:443/", "https://seller.example"),
        ("https://seller.example:8443/", "https://seller.example:8443"),
        ("http://seller.example:80", "http://seller.example"),
        ("http://seller.example:443", "http://seller.example:443"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_origin(url: str, origin: str) -> None:
    assert Target.parse(url).origin == origin


def test_the_name_is_the_host_unless_given() -> None:
    assert Target.parse("https://u:passw@seller.example:8443/mcp").name == "seller.example:8443"
    assert Target.parse("https://seller.example/mcp", name="Acme").name == "Acme"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://seller.example/@scope?x=1&y", "https://seller.example/@scope?x=1&y"),
        ("https://user:pass@seller.example/@scope", "https://[redacted]@seller.example/@scope"),
        (
            "https://h.example/?api_key=abc&x=1&Session=2",
            "https://h.example/?api_key=[redacted]&x=1&Session=[redacted]",
        ),
        ("https://h.example/?x=0123456789abcdef", "https://h.example/?x=[redacted]"),
        ("https://h.example/?eyJhbGciOi.x", "https://h.example/?[redacted]"),
        ("https://h.example/?token=&access%5Ftoken=x", "https://h.example/?token=&access%5Ftoken=[redacted]"),
        ("https://user:pa/ss@h.example/", "https://[redacted]@h.example/"),
        ("https://user:pa?s@s@h.example/", "https://[redacted]@h.example/"),
        ("https://user:pa#ss@h.example/", "https://[redacted]@h.example/"),
        ("user:pass@h.example/mcp", "[redacted]@h.example/mcp"),
        ("ftp://user:pass@h.example/#frag", "ftp://[redacted]@h.example/"),
        ("https://h.example/\x1b[31m", "https://h.example/\\x1b[31m"),
    ],
)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert display_url(url) == shown


def test_tokens_of_the_query_are_secrets() -> None:
    url = "https://h.example/?api_key=ab%2Fcd&x=1&key=abc"
    assert query_secrets(url) == ("ab%2Fcd", "ab/cd", "abc")
    assert Target.parse(url).secrets() == ("ab%2Fcd", "ab/cd")
    assert Target.parse(url).url == url


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["seller.example", "localhost.example", "10.0.0.1", "0.0.0.0", "", "2130706433"]
)
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_userinfo_becomes_basic_credentials_and_is_not_sent() -> None:
    target = Target.parse("https://us%40er:pa%3Ass%2F@seller.example/mcp?x=1")
    assert target.url == "https://seller.example/mcp?x=1"
    assert target.credentials.headers() == (("Authorization", basic_header("us@er:pa:ss/")),)
    assert target.credentials.kinds == (AuthKind.BASIC,)


def test_other_headers_go_with_userinfo() -> None:
    target = Target.parse(
        "https://user:passw@seller.example/", credentials=Credentials(extra=(("X-Tenant", "acme"),))
    )
    assert target.credentials.headers() == (
        ("Authorization", basic_header("user:passw")),
        ("X-Tenant", "acme"),
    )


@pytest.mark.parametrize(
    ("credentials", "problem"),
    [
        (Credentials(bearer="token"), "two kinds of Authorization at once (bearer and basic); keep one"),
        (Credentials(basic="u:passw"), "two kinds of Authorization at once (also in the URL); keep one"),
        (
            Credentials(extra=(("authorization", "Token abcd"),)),
            "two kinds of Authorization at once (basic and an Authorization header); keep one",
        ),
    ],
)
def test_userinfo_and_another_authorization(credentials: Credentials, problem: str) -> None:
    with pytest.raises(CredentialError) as caught:
        Target.parse("https://user:passw@seller.example/", credentials=credentials)
    assert str(caught.value) == problem


@pytest.mark.parametrize("userinfo", ["user:abc", ":", "", "ab", "us\x7fer:passw", "user:pass%0Aword"])
def test_userinfo_that_cannot_be_used(userinfo: str) -> None:
    with pytest.raises((CredentialError, UrlError)):
        Target.parse(f"https://{userinfo}@seller.example/")


# fmt: off
BAD_CREDENTIALS = [
    ({"bearer": ""}, "the token is empty"),
    ({"bearer": "abc"}, "the token has fewer than 4 characters: too short to be kept out of the report"),
    ({"bearer": "token\n"}, "the token begins or ends with a space or a line break"),
    ({"bearer": "to\nken"}, "the token holds a control character or a line break"),
    ({"bearer": "to ken"}, "the token holds characters other than visible ASCII"),
    ({"bearer": "töken"}, "the token holds characters other than visible ASCII"),
    ({"bearer": "tok\udcffen"}, "the token is not UTF-8 text"),
    ({"bearer": "Bearer token"}, "the token stands alone in its variable, without the word before it"),
    ({"basic": "user"}, "is not of the form user:password"),
    ({"basic": ":password"}, "the user name is empty"),
    ({"basic": "user:abc"}, "the password has fewer than 4 characters: too short to be kept out of the report"),
    ({"basic": "usr:"}, "the user name has fewer than 4 characters: too short to be kept out of the report"),
    ({"extra": (("X Y", "value"),)}, "the name before = is no header name"),
    ({"extra": (("", "value"),)}, "the name before = is no header name"),
    ({"extra": (("Host", "value"),)}, "the header Host belongs to the protocol and is set by the harness"),
    ({"extra": (("X-Key", "abc"),)}, "the value of X-Key has fewer than 4 characters: too short to be kept out of the report"),
    ({"extra": (("X-Key", "a\r\nX: b"),)}, "the value of X-Key holds a control character or a line break"),
    ({"extra": (("X-Key", "välue"),)}, "the value of X-Key holds characters other than ASCII"),
    ({"extra": (("X-Key", "value"), ("x-key", "other"))}, "the header x-key is given twice"),
    ({"bearer": "token", "basic": "u:passw"}, "two kinds of Authorization at once (bearer and basic); keep one"),
]
# fmt: on


@pytest.mark.parametrize(("values", "problem"), BAD_CREDENTIALS)
def test_credentials_that_cannot_be_used(values: dict, problem: str) -> None:
    with pytest.raises(CredentialError) as caught:
        Credentials(**values)
    assert str(caught.value) == problem


def test_none_bearer_header() -> None:
    assert Credentials().headers() == ()
    assert Credentials().kinds == ()
    both = Credentials(bearer="t0ken", extra=(("X-Key", "s3cret"),))
    assert both.headers() == (("Authorization", "Bearer t0ken"), ("X-Key", "s3cret"))
    assert both.kinds == (AuthKind.BEARER, AuthKind.HEADER)
    assert both.secret_header_names == {"authorization", "x-key"}


def test_every_form_that_goes_out_is_redacted() -> None:
    client = OAuthClient("https://auth.example/token", "id entity", "cl!ent/secret", "adcp")
    targets = [
        Target.parse(
            "https://h/", credentials=Credentials(bearer="t0ken/=", extra=(("X-Key", "Token s3cret"),))
        ),
        Target.parse("https://user:pässwörd@h/?token=in-the-url"),
        Target.parse("https://onlyuser@h/"),
        Target.parse("https://h/", credentials=Credentials(oauth=client)),
    ]
    for target, secrets in zip(
        targets,
        [("t0ken/=", "s3cret"), ("pässwörd", "in-the-url"), ("onlyuser",), ("cl!ent/secret",)],
        strict=True,
    ):
        redactor = Redactor(target.secrets())
        for name, value in target.credentials.headers():
            assert redactor.text(value).split()[-1] == "[redacted]", name
        for secret in secrets:
            assert redactor.text(f"<{secret}>") == "<[redacted]>"
    pair = base64.b64encode(b"id+entity:cl%21ent%2Fsecret").decode()
    assert Redactor(targets[-1].secrets()).text(f"Basic {pair}") == "Basic [redacted]"


def test_nothing_secret_in_any_repr() -> None:
    client = OAuthClient("https://auth.example/token", "the-identity", "hidden-client", "adcp")
    shown = repr(
        [
            Target.parse("https://h/?token=hidden-token", credentials=Credentials(bearer="hidden-bearer")),
            Target.parse(
                "https://user:hidden-pass@h/", credentials=Credentials(extra=(("X-Key", "hidden-value"),))
            ),
            Credentials(oauth=client),
            client,
        ]
    )
    assert "hidden" not in shown
    assert "Credentials(bearer)" in shown
    assert "Credentials(basic, header)" in shown


@pytest.mark.parametrize(
    "url", ["https://auth.example/token", "http://127.0.0.1:8000/token", "http://localhost/t"]
)
def test_token_urls(url: str) -> None:
    assert OAuthClient(url, "id", "secret").token_url == url


@pytest.mark.parametrize(
    ("values", "kind", "problem"),
    [
        (
            {"token_url": "http://auth.example/token"},
            UrlError,
            "is neither https nor on loopback, and the client secret goes there",
        ),
        (
            {"token_url": "https://a:b@auth.example/"},
            UrlError,
            "holds user:password; the client id and secret have variables of their own",
        ),
        (
            {"token_url": "auth.example"},
            UrlError,
            "has no scheme (https://); did you mean https://auth.example?",
        ),
        ({"client_id": ""}, CredentialError, "the client id is empty"),
        (
            {"client_secret": "abc"},
            CredentialError,
            "the client secret has fewer than 4 characters: too short to be kept out of the report",
        ),
    ],
)
def test_oauth_clients_that_cannot_be_used(values: dict, kind: type, problem: str) -> None:
    good = {"token_url": "https://auth.example/token", "client_id": "id", "client_secret": "secret"}
    with pytest.raises(kind) as caught:
        OAuthClient(**good | values)
    assert str(caught.value) == problem


def test_records_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Target.parse("https://h/").url = "https://other/"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("X-Tenant", "default", False),  # a word that answers and schemas are full of
        ("X-Tenant", "media-buy.eu", False),
        ("X-Tenant", "acme42", True),
        ("X-Tenant", "word-" * 8 + "word", True),
        ("X-Api-Key", "default", True),
        ("X-Seller-Pass", "opensesame", True),
    ],
)
def test_a_word_in_a_header_that_names_no_secret_is_none(name: str, value: str, secret: bool) -> None:
    credentials = Credentials(extra=((name, value),))
    assert (value in credentials.secrets()) == secret
    assert name.lower() in credentials.secret_header_names  # where it is a header, it is not written anyway
