"""The documents of OAuth discovery: how they are named in a transcript, and whether one was served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.reading import read
from pytest_adcp.harness.transcript import Exchange

RESOURCE = "metadata/protected-resource"  # for the path of the endpoint
RESOURCE_ROOT = f"{RESOURCE}/root"
RESOURCE_NAMED = f"{RESOURCE}/named"  # where a challenge says that it is
SERVER = "metadata/authorization-server"
SERVER_OPENID = f"{SERVER}/openid"

_RESOURCE_MEMBERS = frozenset({"resource", "authorization_servers"})
_SERVER_MEMBERS = frozenset({"issuer", "token_endpoint", "authorization_endpoint"})


def served(exchange: Exchange) -> Mapping[str, Any] | None:
    """Return the document that an exchange gave; None for a page that answers whatever is asked for, and for all else."""
    response = exchange.response
    if response is None or response.status != 200 or exchange.answered is None:
        return None
    documents = read(exchange).documents
    value = documents[0].parsed.value if documents else None
    members = _SERVER_MEMBERS if exchange.subject.startswith(SERVER) else _RESOURCE_MEMBERS
    return value if isinstance(value, Mapping) and members.intersection(value) else None


def listed_server(document: Mapping[str, Any]) -> str | None:
    """Return the first authorization server that a resource's document lists, where it is a text."""
    servers = document.get("authorization_servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    return first if isinstance(first, str) else None
