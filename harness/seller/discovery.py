"""Tasks that show what the seller has: capabilities, accounts, products, creative formats."""

from __future__ import annotations

from . import catalogue
from .errors import AdcpError
from .options import Release
from .rpc import Json
from .task import ACCOUNT, BRAND, FORMAT_ID, IDEMPOTENCY_KEY, PAGINATION, Answer, Desk, Task, paged, strings

REPLAY_SECONDS = 86_400
BUILD_VERSIONS = {Release.V3_0: "3.0.18", Release.V3_1: "3.1.27", Release.V3_2: "3.2.4"}


def _get_adcp_capabilities(desk: Desk, arguments: Json) -> Answer:
    release = desk.release
    adcp: Json = {
        "major_versions": [3],
        "idempotency": {"supported": True, "replay_ttl_seconds": REPLAY_SECONDS},
    }
    if release >= Release.V3_1:
        adcp |= {"supported_versions": [release.value], "build_version": BUILD_VERSIONS[release]}
    capabilities: Json = {
        "account": {
            "supported_billing": ["operator", "agent"],
            "require_operator_auth": False,
            "sandbox": True,
        },
        "media_buy": {
            "features": {"inline_creative_management": False, "property_list_filtering": False},
            "portfolio": {
                "publisher_domains": [catalogue.PUBLISHER],
                "primary_channels": ["display", "olv", "ctv", "podcast"],
                "description": "A fictitious publisher.",
            },
        },
        "signals": {"data_provider_domains": [catalogue.DATA_PROVIDER]},
    }
    if release >= Release.V3_1:
        capabilities["media_buy"]["buying_modes"] = ["brief", "wholesale"]
        capabilities["signals"]["discovery_modes"] = ["brief", "wholesale"]
    protocols = ["media_buy", "signals"]
    wanted = arguments.get("protocols", protocols)
    shown = {key: value for key, value in capabilities.items() if key == "account" or key in wanted}
    return Answer(
        {"adcp": adcp, "supported_protocols": protocols, **shown},
        "Media buying and signals, in sandbox accounts.",
    )


def _list_accounts(desk: Desk, arguments: Json) -> Answer:
    wanted = arguments.get("status", "active") == "active" and arguments.get("sandbox", True)
    accounts = [
        {
            "account_id": account.account_id,
            "name": account.name,
            "status": "active",
            "brand": {"domain": account.brand},
            "operator": account.operator,
            "billing": "operator",
            "sandbox": True,
        }
        for account in desk.store.accounts.values()
        if wanted
    ]
    page, pagination = paged(accounts, arguments)
    return Answer({"accounts": page, "pagination": pagination}, f"{len(page)} accounts.")


def _get_products(desk: Desk, arguments: Json) -> Answer:
    mode = arguments["buying_mode"]
    if mode == "refine":
        _refuse_refinement(arguments)
    if mode == "brief" and not arguments.get("brief", "").strip():
        raise AdcpError("INVALID_REQUEST", "buying_mode brief needs a brief.", field="brief")
    if mode == "wholesale" and "brief" in arguments:
        raise AdcpError("INVALID_REQUEST", "buying_mode wholesale takes no brief.", field="brief")
    filters = arguments.get("filters", {})
    products = [
        product
        for product in catalogue.PRODUCTS.values()
        if filters.get("delivery_type", product["delivery_type"]) == product["delivery_type"]
        and set(filters.get("channels", product["channels"])) & set(product["channels"])
    ]
    page, pagination = paged(products, arguments)
    payload: Json = {"products": page, "pagination": pagination}
    if desk.release >= Release.V3_1:
        payload["cache_scope"] = "public"  # prices are the same for everybody
    return Answer(payload, f"{len(page)} of {len(products)} products.")


def _refuse_refinement(arguments: Json) -> None:
    for index, request in enumerate(arguments.get("refine", [])):
        if request.get("scope") == "proposal":
            field = f"refine[{index}].proposal_id"
            raise AdcpError("PROPOSAL_NOT_FOUND", "This seller has made no proposals.", field=field)
    raise AdcpError(
        "UNSUPPORTED_FEATURE", "This seller does not refine: send a new brief.", field="buying_mode"
    )


def _list_creative_formats(_: Desk, arguments: Json) -> Answer:
    wanted = arguments.get("format_ids")
    search = arguments.get("name_search", "").casefold()
    types = set(arguments.get("asset_types", []))
    formats = [
        entry
        for entry in catalogue.FORMATS
        if (wanted is None or any(_same_format(entry["format_id"], one) for one in wanted))
        and search in entry["name"].casefold()
        and (not types or types & {asset["asset_type"] for asset in entry["assets"]})
    ]
    page, pagination = paged(formats, arguments)
    return Answer({"formats": page, "pagination": pagination}, f"{len(page)} creative formats.")


def _same_format(one: Json, other: Json) -> bool:
    return (one["agent_url"], one["id"]) == (other["agent_url"], other["id"])


TASKS = (
    Task(
        "get_adcp_capabilities",
        "Get capabilities",
        "Tells which AdCP protocols, versions and account models this seller supports.",
        {
            "protocols": {
                "type": "array",
                "items": {
                    "enum": [
                        "media_buy",
                        "signals",
                        "governance",
                        "sponsored_intelligence",
                        "creative",
                        "brand",
                        "measurement",
                    ]
                },
                "description": "Show only these protocols in detail.",
            }
        },
        _get_adcp_capabilities,
    ),
    Task(
        "list_accounts",
        "List accounts",
        "Lists the sandbox accounts in which this seller books.",
        {
            "status": {
                "enum": ["active", "pending_approval", "rejected", "payment_required", "suspended", "closed"],
                "description": "Only accounts of this status.",
            },
            "sandbox": {
                "type": "boolean",
                "description": "True for test accounts only, false for real ones only.",
            },
            "pagination": PAGINATION,
        },
        _list_accounts,
    ),
    Task(
        "get_products",
        "Find advertising products",
        "Finds advertising products for a campaign brief, or lists the whole catalogue.",
        {
            "buying_mode": {
                "enum": ["brief", "wholesale", "refine"],
                "description": "brief to search by a brief, wholesale for the whole catalogue.",
            },
            "brief": {"type": "string", "description": "What the campaign is about, in plain words."},
            "refine": {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "description": "Changes to an earlier selection; not offered here.",
            },
            "brand": BRAND,
            "account": ACCOUNT,
            "filters": {
                "type": "object",
                "properties": {
                    "delivery_type": {
                        "enum": ["guaranteed", "non_guaranteed"],
                        "description": "How delivery is promised.",
                    },
                    "channels": strings("Media channels, such as display or ctv."),
                },
                "additionalProperties": True,
                "description": "Only products that fit.",
            },
            "pagination": PAGINATION,
            "idempotency_key": IDEMPOTENCY_KEY,
        },
        _get_products,
        required=("buying_mode",),
    ),
    Task(
        "list_creative_formats",
        "List creative formats",
        "Lists the creative formats that this seller's products take.",
        {
            "format_ids": {
                "type": "array",
                "items": FORMAT_ID,
                "minItems": 1,
                "description": "Only these formats.",
            },
            "asset_types": strings("Only formats with assets of one of these types."),
            "name_search": {"type": "string", "description": "Part of the format's name, in any case."},
            "pagination": PAGINATION,
        },
        _list_creative_formats,
    ),
)
