"""Where the credentials of a run come from, and where they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_adcp.harness.target import AuthKind
from told import AUTH, OAUTH, OWN, complaint, quiet, told


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "auth", "headers", "kinds"),
    [
        (
            ["--adcp-bearer-env=SELLER_TOKEN"],
            "",
            [("Authorization", "Bearer bearer-s3cret")],
            (AuthKind.BEARER,),
        ),
        (
            ["--adcp-basic-env=SELLER_LOGIN"],
            "",
            [("Authorization", "Basic dXNlcjpwYXNzLXMzY3JldA==")],
            (AuthKind.BASIC,),
        ),
        (
            ["--adcp-header-env=X-Key=SELLER_KEY", "--adcp-header-env=X-T=SELLER_TOKEN"],
            "",
            [("X-Key", "key-s3cret"), ("X-T", "bearer-s3cret")],
            (AuthKind.HEADER,),
        ),
        (
            [],
            "{bearer_env: SELLER_TOKEN, header_env: {X-Key: SELLER_KEY}}",
            [("Authorization", "Bearer bearer-s3cret"), ("X-Key", "key-s3cret")],
            (AuthKind.BEARER, AuthKind.HEADER),
        ),
        (
            ["--adcp-bearer-env=SELLER_KEY"],
            "{bearer_env: SELLER_TOKEN}",
            [("Authorization", "Bearer key-s3cret")],
            (AuthKind.BEARER,),
        ),
        (
            ["--adcp-bearer-env=SELLER_KEY"],
            "{bearer_env: UNSET_VARIABLE}",
            [("Authorization", "Bearer key-s3cret")],
            (AuthKind.BEARER,),
        ),
        ([], "{}", [], ()),
    ],
)
def test_credentials(arguments: list[str], auth: str, headers: list, kinds: tuple) -> None:
    target = told(*arguments, yaml=OWN + (f"auth: {auth}\n" if auth else "")).target
    assert target is not None
    assert list(target.credentials.headers()) == headers
    assert target.credentials.kinds == kinds


def test_oauth() -> None:
    target = told(yaml=OWN + OAUTH).target
    assert target is not None
    client = target.credentials.oauth
    assert client is not None
    assert (client.client_id, client.client_secret, client.scope) == ("key-s3cret", "bearer-s3cret", "")


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        (
            OWN + OAUTH.replace("https://auth", "http://auth"),
            'adcp.yaml, line 2, auth.oauth: token_url "http://auth.example/token" is neither https nor on loopback, and the client '
            "secret goes there",
        ),
        (
            OWN + OAUTH.replace("SELLER_TOKEN", "GONE"),
            "adcp.yaml, line 2, auth.oauth: the environment variable GONE is not set",
        ),
        (
            OWN + OAUTH.replace("{oauth", "{bearer_env: SELLER_KEY, oauth"),
            "adcp.yaml, line 2, auth.bearer_env and adcp.yaml, line 2, auth.oauth: two kinds of Authorization at once; keep one",
        ),
        (
            OWN + "auth: {bearer_env: GONE}",
            "adcp.yaml, line 2, auth.bearer_env: the environment variable GONE is not set",
        ),
        (
            OWN + "auth: {bearer_env: as3cretT0ken1234567}",
            "adcp.yaml, line 2, auth.bearer_env: wants the name of an environment variable; the secret itself is never written here",
        ),
    ],
)
def test_credentials_of_the_file_that_are_wrong(yaml: str, words: str) -> None:
    assert complaint(yaml=yaml) == words


@pytest.mark.parametrize("url", ["https://seller.example/other", "https://SELLER.example:443/mcp?x=1"])
def test_credentials_of_the_file_go_to_its_origin(url: str) -> None:
    target = told(f"--server-url={url}", yaml=OWN + AUTH).target
    assert target is not None
    assert target.url == url
    assert target.credentials.kinds == (AuthKind.BEARER, AuthKind.HEADER)


@pytest.mark.parametrize(
    "url", ["https://other.example/mcp", "http://seller.example/mcp", "https://seller.example:8443/mcp"]
)
@pytest.mark.parametrize("own", [OWN, "", "server_url: demo\n", "server_url: nonsense\n"])
def test_credentials_of_the_file_go_nowhere_else(monkeypatch, url: str, own: str) -> None:
    origin = url.removesuffix("/mcp")
    line = 2 if own else 1
    words = (
        f"{origin} is not the origin of server_url in adcp.yaml, and credentials named there "
        f"(adcp.yaml, line {line}, auth) go nowhere else; name those for this server with --adcp-bearer-env, "
        "--adcp-basic-env, --adcp-header-env or --adcp-client-cert, or take another --adcp-config"
    )
    assert complaint(f"--server-url={url}", yaml=own + AUTH) == f"--server-url: {words}"
    monkeypatch.setenv("ADCP_SERVER_URL", url)
    assert complaint() == f"ADCP_SERVER_URL: {words}"


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (["--server-url=https://other.example/", "--adcp-basic-env=SELLER_LOGIN"], (AuthKind.BASIC,)),
        (["--server-url=https://other.example/", "--adcp-header-env=X-Key=SELLER_LOGIN"], (AuthKind.HEADER,)),
        (["--server-url=https://user:passw@other.example/"], (AuthKind.BASIC,)),
    ],
)
def test_another_server_has_its_own_credentials(arguments: list[str], kinds: tuple) -> None:
    target = told(*arguments, yaml=OWN + AUTH).target
    assert target is not None
    assert target.credentials.kinds == kinds
    assert "bearer-s3cret" not in target.secrets()


def test_the_client_certificate_of_the_file_is_a_credential_too() -> None:
    Path("own.pem").touch()
    yaml = OWN + "client_cert: own.pem\n"
    assert told(yaml=yaml).client_cert == Path.cwd() / "own.pem"
    words = complaint("--server-url=https://other.example/", yaml=yaml)
    assert "(adcp.yaml, line 2, client_cert) go nowhere else" in words
    result = told("--server-url=https://other.example/", "--adcp-bearer-env=SELLER_TOKEN", yaml=yaml)
    assert result.client_cert is None
    result = told("--server-url=https://other.example/", "--adcp-client-cert=own.pem", yaml=yaml + AUTH)
    assert result.client_cert == Path.cwd() / "own.pem"
    assert result.target is not None
    assert result.target.credentials.kinds == ()


def test_a_file_without_credentials_hinders_nothing() -> None:
    target = told("--server-url=https://other.example/", yaml=OWN + "strict: true\n").target
    assert target is not None
    assert target.origin == "https://other.example"
