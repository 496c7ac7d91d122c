"""OAuth discovery of the seller: its own document (RFC 9728) and that of an authorization server at its origin (RFC 8414).

The token endpoint that they name hands out nothing: the documents are what a client is tried on.
"""

from __future__ import annotations

from .rpc import Json

RESOURCE = "/.well-known/oauth-protected-resource"  # the path of the endpoint follows
SERVER = "/.well-known/oauth-authorization-server"


def document(path: str, origin: str, endpoint: str) -> Json | None:
    """Return the document at a path, for an endpoint at another of the same origin; None where there is none."""
    if path == RESOURCE + endpoint:
        return {
            "resource": origin + endpoint,
            "authorization_servers": [origin],
            "bearer_methods_supported": ["header"],
            "resource_name": "Reference seller",
        }
    if path == SERVER:
        return {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }
    return None


def challenge(origin: str, endpoint: str) -> str:
    """Return the parameter of a challenge that names the seller's own document."""
    return f'resource_metadata="{origin}{RESOURCE}{endpoint}"'
