"""Tasks on the creative library."""

from __future__ import annotations

from . import catalogue
from .errors import AdcpError
from .options import Release
from .rpc import Json
from .store import Creative, rfc3339
from .task import ACCOUNT, FORMAT_ID, PAGINATION, Answer, Desk, Task, paged, strings


def _list_creatives(desk: Desk, arguments: Json) -> Answer:
    ids = arguments.get("filters", {}).get("creative_ids")
    creatives = [
        _listed(creative)
        for creative in desk.store.creatives.values()
        if (ids is None or creative.creative_id in ids) and _is_of(desk, arguments, creative)
    ]
    page, pagination = paged(creatives, arguments)
    summary = {"total_matching": len(creatives), "returned": len(page)}
    payload = {"query_summary": summary, "pagination": pagination, "creatives": page}
    return Answer(payload, f"{len(page)} of {len(creatives)} creatives.")


def _is_of(desk: Desk, arguments: Json, creative: Creative) -> bool:
    if "account" not in arguments:
        return True
    return desk.account is not None and creative.account_id == desk.account.account_id


def _listed(creative: Creative) -> Json:
    return {
        "creative_id": creative.creative_id,
        "name": creative.name,
        "format_id": creative.format_id,
        "status": "approved",
        "created_date": rfc3339(creative.created),
        "updated_date": rfc3339(creative.updated),
        "assets": creative.assets,
    }


def _sync_creatives(desk: Desk, arguments: Json) -> Answer:
    account = desk.paying_account()
    if "creatives" not in arguments:
        raise AdcpError("INVALID_REQUEST", "There are no creatives to sync.", field="creatives")
    dry_run = arguments.get("dry_run", False)
    results = [_sync(desk, account.account_id, creative, dry_run) for creative in arguments["creatives"]]
    payload: Json = {"creatives": results, **({"dry_run": True} if dry_run else {})}
    return Answer(payload, f"{len(results)} creatives looked at.")


def _sync(desk: Desk, account_id: str, request: Json, dry_run: bool) -> Json:
    creative_id = request["creative_id"]
    if "format_id" not in request or not _is_known(request["format_id"]):
        message = "The format is none that list_creative_formats shows."
        error = AdcpError("VALIDATION_ERROR", message, field="format_id")
        return {"creative_id": creative_id, "action": "failed", "errors": [error.to_json()]}
    known = desk.store.creatives.get(creative_id)
    changed = known is None or (known.name, known.format_id, known.assets) != (
        request["name"],
        request["format_id"],
        request["assets"],
    )
    if changed and not dry_run:
        desk.store.creatives[creative_id] = Creative(
            creative_id,
            account_id,
            request["name"],
            request["format_id"],
            request["assets"],
            created=known.created if known else desk.now,
            updated=desk.now,
        )
    action = "created" if known is None else "updated" if changed else "unchanged"
    review = {} if desk.release is Release.V3_0 else {"status": "approved"}
    return {"creative_id": creative_id, "action": action, **review}


def _is_known(format_id: Json) -> bool:
    return any(entry["format_id"].items() <= format_id.items() for entry in catalogue.FORMATS)


TASKS = (
    Task(
        "list_creatives",
        "List creatives",
        "Lists the creatives of the library.",
        {
            "account": ACCOUNT,
            "filters": {
                "type": "object",
                "properties": {"creative_ids": strings("Only these creatives.")},
                "additionalProperties": True,
                "description": "Only creatives that fit.",
            },
            "pagination": PAGINATION,
        },
        _list_creatives,
    ),
    Task(
        "sync_creatives",
        "Sync creatives",
        "Adds creatives to the library or replaces those it has.",
        {
            "account": ACCOUNT,
            "creatives": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "creative_id": {"type": "string", "description": "Id that the buyer gives."},
                        "name": {"type": "string", "description": "Name for people."},
                        "format_id": FORMAT_ID,
                        "assets": {
                            "type": "object",
                            "additionalProperties": True,
                            "description": "Assets by id.",
                        },
                    },
                    "required": ["creative_id", "name", "assets"],
                    "additionalProperties": True,
                },
                "minItems": 1,
                "maxItems": 100,
                "description": "The creatives.",
            },
            "dry_run": {"type": "boolean", "description": "True to check only."},
        },
        _sync_creatives,
        required=("account",),
        mutating=True,
    ),
)
