"""Faults of errors that give something away."""

from __future__ import annotations

import json

from pytest_adcp.harness.seller.exchange import Hooks, ToolCall
from pytest_adcp.harness.seller.rpc import Json

from .error_objects import with_members
from .failures import ACCOUNT
from .model import Fault, rules

STACK_TRACE = rules("adcp.security.stack-trace")
FILE_PATH = rules("adcp.security.file-path")
DATABASE = rules("adcp.security.database-text")
NETWORK = rules("adcp.security.internal-network")
CREDENTIALS = rules("adcp.security.credentials")
URLS = rules("adcp.security.urls")

TRACEBACK = """Traceback (most recent call last):
  File "/srv/seller/tools/products.py", line 88, in get_products
    return await catalogue.search(brief)
KeyError: 'channel'"""
NODE_STACK = """TypeError: Cannot read properties of undefined (reading 'map')
    at handler (/app/src/index.js:10:5)
    at async Server.<anonymous> (/app/node_modules/express/lib/router.js:284:15)"""
JAVA_STACK = """java.lang.NullPointerException: brief
\tat com.harbourtimes.ads.ProductService.search(ProductService.java:131)"""
GO_PANIC = """panic: runtime error: invalid memory address or nil pointer dereference

goroutine 42 [running]:
main.(*Seller).Products(0x0)
\t/go/src/seller/products.go:57 +0x1d"""


def _says(message: str) -> Hooks:
    return with_members(message=message)


def _repeats_the_key(call: ToolCall, result: Json) -> Json:
    key = call.arguments.get("idempotency_key")
    if not call.ordinal or not result["isError"] or key is None:
        return result
    payload = result["structuredContent"]
    error = {**payload["adcp_error"], "message": f"Ad server refused request {key}."}
    return {
        **result,
        "content": [{"type": "text", "text": json.dumps({"adcp_error": error})}],
        "structuredContent": {**payload, "adcp_error": error, "errors": [error]},
    }


UNKNOWN_BUY: Json = {
    "tool": "update_media_buy",
    "name": "unknown-buy",
    "arguments": {
        "account": ACCOUNT,
        "media_buy_id": "mb_never_was",
        "paused": True,
        "idempotency_key": "5b0d0c1e-7b1f-4a55-9d3e-1f2a3b4c5d6e",
    },
    "expect": "error",
    "error_codes": ["MEDIA_BUY_NOT_FOUND"],
}

FAULTS = (
    Fault("leak-traceback", "Messages are Python tracebacks.", _says(TRACEBACK), STACK_TRACE),
    Fault(
        "leak-node-stack",
        "details carry the stack of a Node.js error.",
        with_members(details={"stack": NODE_STACK}),
        STACK_TRACE,
    ),
    Fault("leak-java-stack", "Messages are Java stack traces.", _says(JAVA_STACK), STACK_TRACE),
    Fault("leak-go-panic", "Messages are Go panics.", _says(GO_PANIC), STACK_TRACE),
    Fault(
        "leak-file-path",
        "Messages name a file of the server.",
        _says("Cannot open /opt/harbour/seller/rates.yaml: permission denied."),
        FILE_PATH,
    ),
    Fault(
        "leak-database-error",
        "Messages are those of PostgreSQL.",
        _says('duplicate key value violates unique constraint "media_buys_pkey"'),
        DATABASE,
    ),
    Fault(
        "leak-sqlstate",
        "details carry what the database driver said.",
        with_members(details={"cause": "SQLSTATE[42S02]: Base table or view not found: 1146"}),
        DATABASE,
    ),
    Fault(
        "leak-sql",
        "Messages quote an SQL statement.",
        _says("Query failed: SELECT id, floor_price FROM products WHERE tenant_id = $1"),
        DATABASE,
    ),
    Fault(
        "leak-internal-host",
        "Messages name a host of the internal network.",
        _says("Ad server did not answer: connect ECONNREFUSED 10.20.0.14:8443"),
        NETWORK,
    ),
    Fault(
        "leak-public-address",
        "Messages name the public address of another system.",
        _says("No answer from host 93.184.216.34:8443."),
        advises=rules("adcp.security.public-address"),
    ),
    Fault(
        "leak-connection-string",
        "Messages hold a connection string with a password.",
        _says("Cannot connect to postgres://seller:tide-4711@db.harbour.example/ads"),
        CREDENTIALS,
    ),
    Fault(
        "leak-bearer-token",
        "details carry the headers of a request to another system.",
        with_members(details={"upstream_headers": "Authorization: Bearer q7Vd0u2nS4wXz8kLr1mT"}),
        CREDENTIALS,
    ),
    Fault(
        "leak-aws-key",
        "Messages hold an AWS access key.",
        _says("The key AKIAIOSFODNN7EXAMPLE may not read the bucket."),
        CREDENTIALS,
    ),
    Fault(
        "leak-pydantic-dump",
        "Messages are what Pydantic prints.",
        _says(
            "1 validation error for call[get_products]\nbrief\n  Input should be a valid string "
            "[type=string_type, input_value=5, input_type=int]"
        ),
        advises=rules("adcp.security.validation-dump"),
    ),
    Fault(
        "leak-idempotency-key",
        "Messages repeat the idempotency key of the request.",
        Hooks(result=_repeats_the_key),
        advises=rules("adcp.security.idempotency-key"),
        calls=(UNKNOWN_BUY,),
    ),
    Fault(
        "setup-url-http",
        "The link to the account's setup is http.",
        with_members(details={"setup_url": "http://seller.example/setup/acct_123"}),
        URLS,
    ),
    Fault(
        "policy-url-userinfo",
        "The link to the policy has a user and a password in it.",
        with_members(details={"policy_url": "https://docs:harbour@seller.example/policies/4"}),
        URLS,
    ),
    Fault(
        "setup-url-loopback",
        "The link to the account's setup is http on the machine of the server.",
        with_members(details={"setup_url": "http://localhost:3000/setup"}),
        advises=URLS,
    ),
)
