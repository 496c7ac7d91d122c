"""How a reference seller is to behave, faults aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Answers(StrEnum):
    """The content type of an answer to a JSON-RPC request."""

    JSON = "json"
    SSE = "sse"


class Eras(StrEnum):
    """Which lifecycles of MCP the seller speaks."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"
    BOTH = "both"


class Release(StrEnum):
    """The AdCP release the seller serves."""

    V3_0 = "3.0"
    V3_1 = "3.1"
    V3_2 = "3.2"


@dataclass(frozen=True, slots=True)
class SellerOptions:
    """One seller. `port` 0 picks a free one; `latency` is seconds before each POST is looked at."""

    fault: str | None = None
    release: Release = Release.V3_1
    answers: Answers = Answers.JSON
    sessions: bool = True  # of the handshake era; the stateless one has none
    eras: Eras = Eras.BOTH
    latency: float = 0.0
    host: str = "127.0.0.1"
    port: int = 0
    bearer: str | None = field(default=None, repr=False)  # a token that every request must carry
    discovery: bool = False  # serves OAuth metadata, and names it where it asks for the token
    tools_per_page: int = 8  # so small that a client has to follow nextCursor
    path: str = "/mcp"  # of the MCP endpoint
    json_text: bool = False  # a success gives its data as JSON text too, beside structuredContent


# What a platform of connected apps asks for and AdCP leaves open: members of SellerOptions.
FOR_APPS: Mapping[str, Any] = MappingProxyType({"path": "/v1/mcp", "json_text": True})
