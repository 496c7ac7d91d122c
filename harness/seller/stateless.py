"""The stateless era of MCP (2026-07-28): every request describes itself, there is no session."""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus

from . import views
from .exchange import Exchange
from .handshake import CAPABILITIES, SERVER_INFO
from .handshake import VERSIONS as HANDSHAKE_VERSIONS
from .rpc import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION, Json, RpcError
from .toolbox import Tools

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
CACHE = {"ttlMs": 60_000, "cacheScope": "public"}


class Stateless:
    """The checks and methods of this era."""

    def __init__(self, tools: Tools, *, only: bool) -> None:
        self._tools = tools
        self._supported = [VERSION] if only else [VERSION, *HANDSHAKE_VERSIONS]

    def answer(self, exchange: Exchange) -> Json:
        """Return the result of a request.

        Raises:
            RpcError: the request is refused.
        """
        self._admit(exchange)
        value: Json
        match exchange.method:
            case "server/discover":
                value = {
                    "supportedVersions": self._supported,
                    "capabilities": CAPABILITIES,
                    "instructions": self._tools.instructions,
                    **CACHE,
                }
            case "tools/list":
                value = {**self._tools.page(exchange.params), **CACHE}
            case "tools/call":
                value = self._tools.call(exchange)
            case "resources/list":
                value = {**views.listing(), **CACHE}
            case "resources/read":
                value = {**views.contents(exchange.params, not_found=INVALID_PARAMS), **CACHE}
            case _:
                raise RpcError(
                    METHOD_NOT_FOUND, "This server has no such method.", status=HTTPStatus.NOT_FOUND
                )
        meta = value.get("_meta", {})
        if isinstance(meta, dict):  # a vector may have something else there
            meta = {**meta, f"{PREFIX}serverInfo": SERVER_INFO}
        return {"resultType": "complete", **value, "_meta": meta}

    def _admit(self, exchange: Exchange) -> None:
        if exchange.method == "initialize":
            raise self._unsupported(exchange.params.get("protocolVersion"))
        meta = exchange.params.get("_meta")
        version = meta.get(f"{PREFIX}protocolVersion") if isinstance(meta, dict) else None
        if not isinstance(version, str):
            raise _bad(INVALID_PARAMS, f"params._meta needs {PREFIX}protocolVersion (string).")
        if not isinstance(meta, dict) or not isinstance(meta.get(f"{PREFIX}clientCapabilities"), dict):
            raise _bad(INVALID_PARAMS, f"params._meta needs {PREFIX}clientCapabilities (object).")
        _agree(exchange, "MCP-Protocol-Version", version)
        if version != VERSION:
            raise self._unsupported(version)
        _agree(exchange, "Mcp-Method", exchange.method)
        if exchange.method == "tools/call":
            _agree(exchange, "Mcp-Name", exchange.tool)
        elif exchange.method == "resources/read":
            _agree(exchange, "Mcp-Name", exchange.params.get("uri"))

    def _unsupported(self, requested: object) -> RpcError:
        data = {"supported": self._supported, "requested": requested}
        return RpcError(
            UNSUPPORTED_VERSION,
            "This protocol version is not supported.",
            status=HTTPStatus.BAD_REQUEST,
            data=data,
        )


def claims(exchange: Exchange) -> bool:
    """Tell whether a message is of this era: by its version header, else by what its _meta holds."""
    version = exchange.request.header("mcp-protocol-version")
    if version is not None and (version == VERSION or version in HANDSHAKE_VERSIONS):
        return version == VERSION
    meta = exchange.params.get("_meta")
    return isinstance(meta, dict) and f"{PREFIX}protocolVersion" in meta


def _agree(exchange: Exchange, header: str, expected: str | None) -> None:
    value = exchange.request.header(header.lower())
    if value is None or decoded(value.strip(" \t")) != expected:
        raise _bad(HEADER_MISMATCH, f"The {header} header is missing or does not say what the body says.")


def decoded(value: str) -> str | None:
    """Return what a header says, which may be encoded; None where that cannot be read."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value.removeprefix("=?base64?").removesuffix("?="), validate=True).decode(
            "utf-8"
        )
    except (binascii.Error, UnicodeDecodeError):
        return None


def _bad(code: int, message: str) -> RpcError:
    return RpcError(code, message, status=HTTPStatus.BAD_REQUEST)
