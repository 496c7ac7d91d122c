"""What an AdCP task is to this seller: a tool definition and a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from .errors import AdcpError
from .options import Release
from .rpc import Json
from .store import Account, Store


class Answer(NamedTuple):
    """The fields of a success, without the envelope, and the sentence that goes beside them."""

    payload: Json
    text: str


@dataclass(frozen=True, slots=True)
class Desk:
    """What a task works with."""

    release: Release
    store: Store
    now: datetime
    account: Account | None  # the account the request names, where the seller knows it

    def paying_account(self) -> Account:
        """Return the account, for tasks that cannot do without.

        Raises:
            AdcpError: the request names none.
        """
        if self.account is None:
            raise AdcpError("INVALID_REQUEST", "account is needed.", field="account")
        return self.account


@dataclass(frozen=True, slots=True)
class Task:
    """One AdCP task."""

    name: str
    title: str
    description: str
    properties: Mapping[str, Json]
    run: Callable[[Desk, Json], Answer]
    required: tuple[str, ...] = ()
    mutating: bool = False
    since: Release = Release.V3_0

    def input_schema(self, release: Release) -> Json:
        """Return the JSON Schema of the arguments; as in AdCP, further ones are allowed."""
        envelope = {**ENVELOPE, **(SINCE_3_1 if release >= Release.V3_1 else {})}
        key = {"idempotency_key": IDEMPOTENCY_KEY} if self.mutating else {}
        schema: Json = {
            "type": "object",
            "properties": {**key, **self.properties, **envelope},
            "additionalProperties": True,
        }
        required = [*key, *self.required]
        return {**schema, "required": required} if required else schema

    def definition(self, release: Release) -> Json:
        """Return the tool as tools/list shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema(release),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.mutating,
                "destructiveHint": self.mutating,  # each of them replaces or commits something
                "idempotentHint": True,  # reads by nature, the others by their idempotency_key
                "openWorldHint": self.mutating,  # bookings go out to publishers
            },
        }


IDEMPOTENCY_KEY: Json = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_.:-]{16,255}$",
    "description": "The buyer's key for this operation, such as a UUID; repeating it repeats nothing.",
}

ENVELOPE: Mapping[str, Json] = {
    "adcp_major_version": {
        "type": "integer",
        "minimum": 1,
        "maximum": 99,
        "description": "The AdCP major version the request is written in.",
    },
    "context": {
        "type": "object",
        "additionalProperties": True,
        "description": "Anything the buyer wants back: it is returned unchanged.",
    },
    "ext": {"type": "object", "additionalProperties": True, "description": "Extensions, a namespace each."},
}

SINCE_3_1: Mapping[str, Json] = {
    "adcp_version": {
        "type": "string",
        "pattern": r"^\d+\.\d+(-[a-zA-Z0-9.-]+)?$",
        "description": "The AdCP release the request is written in, such as 3.1.",
    }
}

TIME: Json = {"type": "string", "format": "date-time", "description": "ISO 8601 with an offset."}

BRAND: Json = {
    "type": "object",
    "properties": {"domain": {"type": "string", "description": "Domain of the brand."}},
    "required": ["domain"],
    "additionalProperties": True,
    "description": "The advertised brand.",
}

ACCOUNT: Json = {
    "type": "object",
    "properties": {
        "account_id": {"type": "string", "description": "Id from list_accounts."},
        "brand": {"type": "object", "additionalProperties": True, "description": "Brand, by its domain."},
        "operator": {"type": "string", "description": "Domain of the company that buys for the brand."},
        "sandbox": {"type": "boolean", "description": "True for a test account."},
    },
    "anyOf": [{"required": ["account_id"]}, {"required": ["brand", "operator"]}],
    "additionalProperties": True,
    "description": "The account: account_id, or brand and operator with sandbox true.",
}

PAGINATION: Json = {
    "type": "object",
    "properties": {
        "max_results": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Items a page."},
        "cursor": {"type": "string", "description": "Where the page before ended."},
    },
    "additionalProperties": False,
    "description": "Which page of a long answer.",
}

FORMAT_ID: Json = {
    "type": "object",
    "properties": {
        "agent_url": {"type": "string", "description": "URL of the agent that defines the format."},
        "id": {"type": "string", "description": "Id of the format there."},
    },
    "required": ["agent_url", "id"],
    "additionalProperties": True,
    "description": "A creative format.",
}


def strings(description: str) -> Json:
    """Return the schema of a non-empty list of strings."""
    return {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": description}


def paged(items: list[Json], arguments: Json) -> tuple[list[Json], Json]:
    """Return the page of items that the request's pagination asks for, and the pagination of the answer.

    Raises:
        AdcpError: the cursor is none of this list.
    """
    pagination = arguments.get("pagination", {})
    cursor = pagination.get("cursor", "from-0")
    number = cursor.removeprefix("from-")
    start = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else len(items) + 1
    if start > len(items):
        raise AdcpError("INVALID_REQUEST", "The cursor is not one of this list.", field="pagination.cursor")
    end = start + int(pagination.get("max_results", 50))
    more = end < len(items)
    page: Json = {"has_more": more, "total_count": len(items), **({"cursor": f"from-{end}"} if more else {})}
    return items[start:end], page
