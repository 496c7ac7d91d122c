"""A protocol bundle of a few schemas, written like AdCP's own, for tests that have to run without these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_adcp.harness.schema_bundle import find_bundle
from pytest_adcp.harness.schemas import Validators

DRAFT = "http://json-schema.org/draft-07/schema#"
ERROR = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "minLength": 1},
        "message": {"type": "string"},
        "issues": {
            "type": "array",
            "items": {"type": "object", "properties": {"schema_id": {"type": "string"}}},
        },
    },
    "required": ["code", "message"],
}
PRODUCT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "updated": {"type": "string", "format": "date-time"},
        "price": {
            "oneOf": [
                {
                    "title": "Fixed Price",
                    "properties": {"model": {"const": "cpm"}, "fixed": {"type": "number", "minimum": 0}},
                    "required": ["model", "fixed"],
                },
                {
                    "title": "Auction",
                    "properties": {"model": {"const": "auction"}, "floor": {"type": "number"}},
                    "required": ["model", "floor"],
                },
            ]
        },
    },
    "required": ["name"],
}
RESPONSE = {
    "type": "object",
    "properties": {
        "products": {"type": "array", "items": {"$ref": "../core/product.json"}},
        "context": {"type": "object"},
        "errors": {"type": "array", "items": {"$ref": "../core/error.json"}},
    },
    "required": ["products"],
}
SUBMITTED = {
    "properties": {"status": {"const": "submitted"}, "task_id": {"type": "string"}},
    "required": ["task_id"],
}
FILES: Mapping[str, Any] = {
    "core/error.json": ERROR,
    "core/product.json": PRODUCT,
    "media-buy/get-products-response.json": RESPONSE,
    "media-buy/get-products-async-response-submitted.json": SUBMITTED,
}


def write_bundle(root: Path, version: str = "3.1.7", **changes: Any) -> Path:
    """Write the bundle into a folder; `changes` replace files (None leaves one out) or `manifest`."""
    manifest = {
        "adcp_version": version,
        "tools": {
            "get_products": {
                "response_schema": "media-buy/get-products-response.json",
                "async_response_schemas": ["media-buy/get-products-async-response-submitted.json"],
            }
        },
    }
    files = {**FILES, "manifest.json": manifest, **changes}
    for name, content in files.items():
        if content is not None:
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            named = content if name == "manifest.json" else {"$schema": DRAFT, **content}
            file.write_text(json.dumps(named), encoding="utf-8")
    return root


def small_validators(root: Path, version: str = "3.1.7", **changes: Any) -> Validators:
    found = find_bundle(write_bundle(root, version, **changes))
    assert found is not None
    return Validators(found)
