"""The server under test: its URL, and the credentials that must never be written down."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self
from urllib.parse import quote_plus, unquote, urlunsplit

from .urls import UrlError, display_url, is_loopback, origin, query_secrets, web_address

SHORTEST_SECRET = 4  # characters; a shorter one cannot be replaced in a report without damage
_SAYS_SECRET = re.compile("auth|cookie|cred|key|pass|pin|secret|session|sign|token", re.IGNORECASE)
# Letters and separators only, as in `default` or `media-buy`: no credential, where the header's name says nothing of one.
_WORDS = re.compile(r"(?=.{1,24}\Z)[A-Za-z]+(?:[._-][A-Za-z]+)*")
_MEMBER = re.compile(r'([A-Za-z0-9_.-]+)=(?:"([^"]*)"|([^\s;,"]+))')
_SHORTEST_MEMBER = 8  # characters of one whose name says nothing of a credential
_FIELD_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Headers that carry the protocol itself: a credential in one of them would break a run, or fake it.
_PROTOCOL_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "origin",
        "te",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    }
)


class CredentialError(ValueError):
    """A credential that cannot be used. The text says why and never holds it."""


class AuthKind(StrEnum):
    """The kinds of credentials."""

    BEARER = "bearer"
    BASIC = "basic"
    OAUTH = "oauth"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """An OAuth 2 client that gets its tokens by the client credentials grant.

    Raises:
        CredentialError: an empty or unusable id or secret.
        UrlError: a token URL that is neither https nor on loopback.
    """

    token_url: str
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    scope: str = ""

    def __post_init__(self) -> None:
        address = web_address(self.token_url)
        if address.scheme != "https" and not is_loopback(address.hostname or ""):
            raise UrlError("is neither https nor on loopback, and the client secret goes there")
        if "@" in address.netloc:
            raise UrlError("holds user:password; the client id and secret have variables of their own")
        _check_text("the client id", self.client_id)
        _check_secret("the client secret", self.client_secret)


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """What every request carries to say who sends it; at most one of bearer, basic and oauth.

    Raises:
        CredentialError: a value that no header can carry, a secret under four characters, or two kinds of
            Authorization.
    """

    bearer: str | None = None
    basic: str | None = None  # user:password
    oauth: OAuthClient | None = None
    extra: tuple[tuple[str, str], ...] = ()  # further headers: names and values

    def __post_init__(self) -> None:
        if self.bearer is not None:
            _check_bearer(self.bearer)
        if self.basic is not None:
            user, colon, password = self.basic.partition(":")
            if not colon:
                raise CredentialError("is not of the form user:password")
            _check_text("the user name", user)
            _check_secret("the password" if password else "the user name", password or user)
        for name, value in self.extra:
            _check_header(name, value)
        names = [name.lower() for name, _ in self.extra]
        for name in names:
            if names.count(name) > 1:
                raise CredentialError(f"the header {name} is given twice")
        kinds = [str(kind) for kind in self.kinds if kind is not AuthKind.HEADER]
        kinds += ["an Authorization header"] * ("authorization" in names)
        if len(kinds) > 1:
            raise CredentialError(f"two kinds of Authorization at once ({' and '.join(kinds)}); keep one")

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self.kinds) or 'none'})"

    @property
    def kinds(self) -> tuple[AuthKind, ...]:
        """What is configured; empty for none."""
        present = {
            AuthKind.BEARER: self.bearer is not None,
            AuthKind.BASIC: self.basic is not None,
            AuthKind.OAUTH: self.oauth is not None,
            AuthKind.HEADER: bool(self.extra),
        }
        return tuple(kind for kind, there in present.items() if there)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers that go with every request to the target's origin, but for an OAuth token."""
        if self.bearer is not None:
            return (("Authorization", f"Bearer {self.bearer}"), *self.extra)
        if self.basic is not None:
            return (("Authorization", basic_header(self.basic)), *self.extra)
        return self.extra

    def secrets(self) -> tuple[str, ...]:
        """Return every string that must not be written anywhere, for a Redactor."""
        found: list[str] = []
        if self.bearer is not None:
            found.append(self.bearer)
        if self.basic is not None:
            user, _, password = self.basic.partition(":")
            found += [self.basic, password or user]
        if self.oauth is not None:
            client = self.oauth
            # as a Basic header has it
            pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
            found += [client.client_secret, f"{client.client_id}:{client.client_secret}", pair]
        for name, value in self.extra:
            if _WORDS.fullmatch(value) and not says_secret(name):
                continue  # a tenant or an environment: cut out of every answer, it would spoil what is judged
            scheme, space, rest = value.partition(" ")
            found.append(value)
            if space and scheme.isalpha() and len(rest) >= SHORTEST_SECRET:
                found.append(rest)
            found += _members(value)
        return tuple(dict.fromkeys(found))

    @property
    def secret_header_names(self) -> frozenset[str]:
        """The lower-case names of the headers whose whole value is secret."""
        return frozenset({"authorization", *(name.lower() for name, _ in self.extra)})


@dataclass(frozen=True, slots=True)
class Target:
    """A server under test.

    `url` is what is requested and may hold a token in its query; whatever is shown or written takes
    `display_url`. Credentials go to `origin` and nowhere else.
    """

    url: str = field(repr=False)
    display_url: str
    name: str
    origin: str
    credentials: Credentials = field(default_factory=Credentials)

    @classmethod
    def parse(cls, url: str, *, name: str = "", credentials: Credentials | None = None) -> Self:
        """Return the target behind a URL; user:password in the URL becomes its basic credentials.

        Raises:
            UrlError: the URL cannot be requested; the text may hold a hint.
            CredentialError: the URL's user and password cannot be used, or are not the only Authorization.
        """
        parts = web_address(url)
        credentials = credentials or Credentials()
        userinfo, at, address = parts.netloc.rpartition("@")
        if at:
            if credentials.basic is not None:
                raise CredentialError("two kinds of Authorization at once (also in the URL); keep one")
            user, _, password = userinfo.partition(":")
            credentials = Credentials(
                bearer=credentials.bearer,
                basic=f"{unquote(user)}:{unquote(password)}",
                oauth=credentials.oauth,
                extra=credentials.extra,
            )
        sent = urlunsplit(parts._replace(netloc=address))
        return cls(sent, display_url(url), name or address, origin(sent), credentials)

    def secrets(self) -> tuple[str, ...]:
        """Return the credentials' secrets and the tokens in the URL's query."""
        tokens = [token for token in query_secrets(self.url) if len(token) >= SHORTEST_SECRET]
        return (*self.credentials.secrets(), *tokens)


def says_secret(name: str) -> bool:
    """Whether the name of a header or of a variable says that its value is a credential."""
    return _SAYS_SECRET.search(name) is not None


def basic_header(pair: str) -> str:
    """Return the Authorization value for user:password."""
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _members(value: str) -> Iterator[str]:
    """Yield the credentials among the members of a header's value: `sid=...; theme=dark`, `Signature keyid="...",...`."""
    for name, quoted, plain in _MEMBER.findall(value):
        member = quoted or plain
        shortest = SHORTEST_SECRET if says_secret(name) else _SHORTEST_MEMBER
        if len(member) >= shortest and not _WORDS.fullmatch(member):
            yield member


def _check_text(what: str, value: str) -> None:
    if not value:
        raise CredentialError(f"{what} is empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CredentialError(f"{what} is not UTF-8 text") from None
    if value != value.strip():
        raise CredentialError(f"{what} begins or ends with a space or a line break")
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise CredentialError(f"{what} holds a control character or a line break")


def _check_secret(what: str, value: str) -> None:
    _check_text(what, value)
    if len(value) < SHORTEST_SECRET:
        raise CredentialError(
            f"{what} has fewer than {SHORTEST_SECRET} characters: too short to be kept out of the report"
        )


def _check_bearer(token: str) -> None:
    _check_secret("the token", token)
    if re.match(r"(?:bearer|basic) ", token, re.IGNORECASE):
        raise CredentialError("the token stands alone in its variable, without the word before it")
    if not re.fullmatch(r"[!-~]+", token):
        raise CredentialError("the token holds characters other than visible ASCII")


def _check_header(name: str, value: str) -> None:
    if not _FIELD_NAME.fullmatch(name):
        raise CredentialError("the name before = is no header name")
    if name.lower() in _PROTOCOL_HEADERS:
        raise CredentialError(f"the header {name} belongs to the protocol and is set by the harness")
    _check_secret(f"the value of {name}", value)
    if not re.fullmatch(r"[ -~]+", value):
        raise CredentialError(f"the value of {name} holds characters other than ASCII")
