"""Faults of OAuth discovery, as the connected-apps profile sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from pytest_adcp.harness.seller import metadata, rpc
from pytest_adcp.harness.seller.exchange import Answer, Exchange, Hooks
from pytest_adcp.harness.seller.http import Reply, Wire
from pytest_adcp.harness.seller.options import FOR_APPS
from pytest_adcp.harness.seller.rpc import Json

from .authentication import WITH_METADATA
from .http import instead
from .model import Fault, rules

DISCOVERY = rules("connected-apps.oauth-discovery")
_TENANT = "/tenant-1"


def _document(path: str, edit: Callable[[Json], Json]) -> Hooks:
    async def hook(exchange: Exchange, answer: Answer, wire: Wire) -> None:
        reply = await answer(exchange)
        if exchange.request.path == path and reply.status == HTTPStatus.OK:
            reply = replace(reply, body=rpc.encode(edit(json.loads(reply.body))))
        await wire.send(reply)

    return Hooks(http=hook)


def _without(name: str) -> Hooks:
    return _document(
        metadata.SERVER, lambda found: {key: value for key, value in found.items() if key != name}
    )


async def _insert(exchange: Exchange, answer: Answer, wire: Wire) -> None:
    """Have an issuer with a path, and its metadata where RFC 8414 puts it."""
    request = exchange.request
    if request.path == metadata.SERVER + _TENANT:
        found = json.loads((await answer(_at(exchange, metadata.SERVER))).body)
        issuer = found["issuer"] + _TENANT
        await wire.send(Reply(HTTPStatus.OK, _JSON, rpc.encode({**found, "issuer": issuer})))
    elif request.path == metadata.SERVER:
        await wire.send(Reply(HTTPStatus.NOT_FOUND))
    elif request.path == metadata.RESOURCE + FOR_APPS["path"]:
        found = json.loads((await answer(exchange)).body)
        servers = [found["authorization_servers"][0] + _TENANT]
        await wire.send(Reply(HTTPStatus.OK, _JSON, rpc.encode({**found, "authorization_servers": servers})))
    else:
        await wire.send(await answer(exchange))


def _at(exchange: Exchange, path: str) -> Exchange:
    return replace(exchange, request=replace(exchange.request, path=path))


_JSON = (("Content-Type", "application/json"),)

FAULTS = (
    Fault(
        "app-oauth-not-found",
        "The metadata of the authorization server is not served.",
        instead(lambda exchange: exchange.request.path == metadata.SERVER, Reply(HTTPStatus.NOT_FOUND)),
        fails=DISCOVERY,
        needs=WITH_METADATA,
    ),
    Fault(
        "app-oauth-inserted",
        "The metadata of an issuer with a path stands where RFC 8414 has it, and nowhere else.",
        Hooks(http=_insert),
        fails=DISCOVERY,
        needs=WITH_METADATA,
    ),
    Fault(
        "app-oauth-no-code",
        "The metadata of the authorization server does not offer the authorization code grant.",
        _document(metadata.SERVER, lambda found: {**found, "response_types_supported": ["token"]}),
        fails=DISCOVERY,
        needs=WITH_METADATA,
    ),
    Fault(
        "app-oauth-no-registration",
        "The metadata of the authorization server has no registration_endpoint.",
        _without("registration_endpoint"),
        advises=rules("connected-apps.oauth-registration"),
        needs=WITH_METADATA,
    ),
    Fault(
        "app-oauth-no-pkce",
        "The metadata of the authorization server does not say that it knows PKCE.",
        _without("code_challenge_methods_supported"),
        fails=rules("connected-apps.oauth-pkce-s256"),
        needs=WITH_METADATA,
    ),
    Fault(
        "app-oauth-other-host",
        "The server's own document is about another host.",
        _document(
            metadata.RESOURCE + FOR_APPS["path"],
            lambda found: {**found, "resource": "https://seller.internal.example/v1/mcp"},
        ),
        fails=rules("connected-apps.oauth-resource-matches-host"),
        needs=WITH_METADATA,
    ),
)
