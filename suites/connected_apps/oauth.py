"""OAuth: what a platform finds out about where its users log in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import idna
from pytest_adcp.harness.app_wire import Login
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, Strength, rule
from pytest_adcp.harness.sources import connected_apps
from pytest_adcp.harness.subjects import Metadata
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.urls import UrlError, web_address

OAUTH = connected_apps(page="mcp/oauth")
_URLS = ("authorization_endpoint", "token_endpoint")


def _found(login: Login) -> Mapping[str, Any]:
    if login.found is None:
        raise NotApplicable(
            "no metadata of an authorization server was found (connected-apps.oauth-discovery)"
        )
    return login.found


@rule("connected-apps.oauth-discovery", level=Level.MUST, strength=Strength.FAILS, source=OAUTH)
def the_authorization_server_is_found(login: Login) -> None:
    """Where credentials are asked for, the metadata of the authorization server is where the platform looks.

    Serve, at the issuer's URL followed by /.well-known/oauth-authorization-server (or
    /.well-known/openid-configuration), a JSON object with authorization_endpoint, token_endpoint and
    response_types_supported that holds "code".
    """
    if login.found is None:
        looked = " or ".join(login.appended)
        if login.inserted:
            raise Broken(
                f"the document at {login.appended[0]}",
                f"a document at {quote(login.inserted)} alone",
                because="the metadata of the authorization server stands where RFC 8414 has it for an issuer with a path, before the "
                "path; the platform appends to the path, and looks nowhere else",
                fix=f"Serve the same document at {login.appended[0]} too, beside {login.inserted}.",
            )
        response = login.exchange.response if login.exchange is not None else None
        came = f"HTTP {response.status}" if response is not None else "nothing"
        raise Broken(
            f"HTTP 200 and JSON at {looked}",
            f"{came} without such a document",
            because="the endpoint asks for credentials, and the platform cannot find out where a user logs in: the only credentials "
            "that it has are those that OAuth gives it",
            lenient="it may follow the redirect"
            if response is not None and 300 <= response.status < 400
            else "",
        )
    for name in _URLS:
        value = login.found.get(name)
        if not _is_url(value):
            raise Broken(
                f"{name}, a URL",
                quote(value) if name in login.found else "no such member",
                at=f"/{name}" if name in login.found else "",
                because=f"the metadata of the authorization server has no usable {name}",
            )
    types = login.found.get("response_types_supported")
    if not isinstance(types, list) or "code" not in types:
        raise Broken(
            'response_types_supported with "code"',
            quote(types) if "response_types_supported" in login.found else "no such member",
            at="/response_types_supported" if "response_types_supported" in login.found else "",
            because="the metadata of the authorization server does not offer the authorization code grant, the one that the platform "
            "uses",
            fix='Add "response_types_supported": ["code"] (and serve that grant).',
        )


@rule("connected-apps.oauth-registration", level=Level.SHOULD, strength=Strength.GUIDANCE, source=OAUTH)
def clients_register_themselves(login: Login) -> None:
    """The metadata of the authorization server has a registration_endpoint (RFC 7591).

    Add "registration_endpoint" where the authorization server registers clients by itself. Else there is nothing
    to change: type the client id and secret into the platform's console.
    """
    found = _found(login)
    if not _is_url(found.get("registration_endpoint")):
        raise Broken(
            "registration_endpoint, a URL",
            quote(found["registration_endpoint"]) if "registration_endpoint" in found else "no such member",
            at="/registration_endpoint" if "registration_endpoint" in found else "",
            because="the platform cannot register itself; it needs a client id and secret from its console",
        )


@rule("connected-apps.oauth-pkce-s256", level=Level.MUST, strength=Strength.REQUIRED, source=OAUTH)
def codes_are_bound_to_their_client(login: Login) -> None:
    """The metadata of the authorization server lists S256 in code_challenge_methods_supported.

    Add "code_challenge_methods_supported": ["S256"], once the authorization server checks code_verifier. Where it
    speaks OAuth 2.0 and no PKCE, declare that: `connected_apps: {oauth: "2.0"}` in adcp.yaml.
    """
    found = _found(login)
    methods = found.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" in methods:
        return
    declared = login.server.standards.oauth
    raise Broken(
        'code_challenge_methods_supported with "S256"',
        quote(methods) if "code_challenge_methods_supported" in found else "no such member",
        at="/code_challenge_methods_supported" if "code_challenge_methods_supported" in found else "",
        because=f"the authorization server does not say that it knows PKCE with S256 (declared: OAuth {declared})",
        lenient="PKCE is a choice in OAuth 2.0" if declared == "2.0" else "",
    )


@rule(
    "connected-apps.oauth-resource-matches-host",
    level=Level.MUST,
    strength=Strength.FAILS,
    source=connected_apps(page="gpc/troubleshooting"),
)
def the_resource_is_this_host(metadata: Metadata) -> None:
    """The server's own document of OAuth discovery names a resource on the endpoint's host.

    Build `resource` from the host under which clients reach the server (X-Forwarded-Host behind a proxy), not
    from the one that the process sees or from another deployment.
    """
    if "resource" not in metadata.value:
        raise NotApplicable("a document of an authorization server, which names no resource")
    resource = metadata.value["resource"]
    host = urlsplit(metadata.endpoint).hostname or ""
    if not _is_url(resource) or _ascii(urlsplit(resource).hostname or "") != _ascii(host):
        raise Broken(
            f"a URL on {host}",
            quote(resource),
            at="/resource",
            because="the document says that tokens are for another host than the one that the endpoint is on",
        )


def _ascii(host: str) -> str:
    """Return a host name as DNS has it: in ASCII, without the dot of the root."""
    try:
        return idna.encode(host.rstrip("."), uts46=True).decode("ascii")
    except idna.IDNAError:
        return host.rstrip(".")


def _is_url(value: Any) -> bool:
    try:
        web_address(value if isinstance(value, str) else "")
    except UrlError:
        return False
    return True
