"""What is a leak in a text and what is none, how much of an answer is read, and that no secret is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from evidence import URL, answered, finding, rpc_error, tool_result
from pytest_adcp.harness import leaks
from pytest_adcp.harness.error_texts import MAX_STRING, MAX_TEXT, MAX_VALUES, error_texts
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.leaked_hosts import Home, internal_network, public_addresses
from pytest_adcp.harness.leaks import Leak, excerpt, masked
from pytest_adcp.harness.rules import Judged
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.verdict import Finding, Outcome

HOME = Home("seller.test", 80)
FINDERS: dict[str, Callable[[str], Iterator[Leak]]] = {
    "trace": leaks.stack_traces,
    "path": leaks.file_paths,
    "database": leaks.database_texts,
    "dump": leaks.validation_dumps,
    "credential": leaks.credentials,
    "network": lambda text: internal_network(text, HOME),
    "public": lambda text: public_addresses(text, HOME),
}
KEY = "5b0d0c1e-7b1f-4a55-9d3e-1f2a3b4c5d6e"


def failed(message: str = "No.", arguments: dict[str, Any] | None = None, **members: Any) -> Evidence:
    error = {"code": "INVALID_REQUEST", "recovery": "correctable", "message": message, **members}
    result = {"content": [], "structuredContent": {"adcp_error": error}, "isError": True}
    return tool_result(result, arguments=arguments)


def texts_of(evidence: Evidence) -> list[tuple[str, str]]:
    (error,) = evidence.entries(Judged.ERROR)
    assert isinstance(error, Answer)
    return [(text.at, text.text) for text in error_texts(error)]


def security(evidence: Evidence, rule: str) -> Finding:
    return finding(evidence, f"adcp.security.{rule}")


# -- patterns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("trace", "at Layer.handle [as handle_request] (/x/layer.js:95:5)", "at Layer.handle [as handle_request] (/x/layer.js:95:5)"),
        ("trace", "at async /app/x.mjs:3:14", "at async /app/x.mjs:3:14"),
        ("trace", "at <anonymous> (index.ts:1:2)", "at <anonymous> (index.ts:1:2)"),
        ("trace", "\tat java.base/java.lang.Thread.run(Thread.java:840)", "Thread.java:840)"),
        ("trace", "in /var/www/a.php on line 3", "a.php on line 3"),
        ("trace", "start\npanic: no", "panic:"),
        ("path", "open /etc/ads.conf failed", "/etc/ads.conf"),
        ("path", '"/Users/ann/ads/main.go"', "/Users/ann/ads/main.go"),
        ("path", "/data/ads.sqlite is locked", "/data/ads.sqlite"),
        ("path", "read /app/.env", "/app/.env"),
        ("path", "wrote /tmp/tmp7a/banner.png", "/tmp/tmp7a/banner.png"),
        ("path", "src\\tools\\buy.ts:14", "src\\tools\\buy.ts:14"),
        ("path", "D:\\\\Users\\\\ann\\\\ads", "D:\\\\Users\\\\ann\\\\ads"),
        ("database", "DELETE FROM buys WHERE id = 3", "DELETE FROM buys WHERE id ="),
        ("database", "select * from products", "select * from products"),
        ("database", "ER_DUP_ENTRY: no", "ER_DUP_ENTRY"),
        ("database", "pq: deadlock detected", "pq: d"),
        ("network", "http://10.0.0.1:80/x", "10.0.0.1:80"),
        ("network", "100.64.3.2", "100.64.3.2"),
        ("network", "[::1]:6379", "::1]:6379"),
        ("network", "fe80::1", "fe80::1"),
        ("network", "ip-10-0-0-5.eu-west-1.compute.internal", "ip-10-0-0-5.eu-west-1.compute.internal"),
        ("network", "upstream ads.local", "ads.local"),
        ("network", "HTTPConnectionPool(host='x', port=80)", "HTTPConnectionPool(host="),
        ("public", "connect to 93.184.216.34", "93.184.216.34"),
        ("credential", "bearer abcdefghijklmnop1234", "abcdefghijklmnop1234"),
        ("credential", "redis://:hunter2@cache/0", "hunter2"),
        ("credential", "https://ads:pa%24s@seller.example/", "pa%24s"),
        ("credential", "aws_secret_access_key = wJalrXUtnFEMI/K7", "wJalrXUtnFEMI/K7"),
        ("credential", "password: hunter2", "hunter2"),
        ("credential", '{\\"api_key\\": \\"abc-123\\"}', "abc-123"),
        ("credential", "sk-ant-" + "4" * 24, "sk-ant-" + "4" * 24),
        ("credential", "sk_live_" + "4" * 24, "sk_live_" + "4" * 24),
        ("dump", "2 validation errors for CreateMediaBuy", "2 validation errors for CreateMediaBuy"),
        ("dump", '{\n "code": "unrecognized_keys",\n', '"code": "unrecognized_keys",'),
    ],
)  # fmt: skip
def test_is_found(kind: str, text: str, found: str) -> None:
    assert found in [leak.text for leak in FINDERS[kind](text)]
    assert all(text[leak.start : leak.end] == leak.text for leak in FINDERS[kind](text))


@pytest.mark.parametrize(
    "text",
    [
        "", "at 10:20:30", "Look at it (twice: once at 12:30:15).", "at https://seller.example:8443/mcp",
        "File \"plan\", line-up 3", "goroutine", "panicked", "a traceback", "Caused by the budget",
        "/packages/0/budget", "/mcp", "/v1/products", "/schemas/v3/core/error.json", "/app", "/app/v1/x", "/opt/out", "/tmp/identity",
        "/tmp/v1/context", "/home/page",
        "https://seller.example/home/a/b/c.py", "seller.example/var/x", "a/tmp/x", "C:\\n", "x.json:3", "PUT /srv/x",
        "Update the budget and set a date", "SELECT", "from products where", "select a product from the list", "delete from cart",
        "unique constraint", "the SQL database", "column brief does not exist",
        "10.0.0.0/8", "10.0.0", "10.0.0.1.2", "v10.0.0.1", "version: 10.0.0.1", "300.1.1.1", "10.0.0.1-beta", "0.0.0.0",
        "localhost", "127.0.0.1", "http://seller.test/x", "seller.test:80", "internal", "config.local()", "a.internal.b", "Inc.corp",
        "1.2.3.4", "version 93.184.216.34", "ip 192.0.2.1",
        "Bearer", "Bearer token", "Bearer authentication-is-required", "Bearer [redacted]", "Basic authentication",
        "password", "password: required", "password=***", "password = <password>", "api_key=${API_KEY}", "passwords: 12",
        "postgres://user:****@host/db", "https://seller.example:8443/@acme", "eyJvZmZzZXQiOjB9", "AKIA", "mailto:ads@seller.example",
        "sk-short", "sk-summer-campaign-of-the-harbour", "https://user:password@seller.example/",
        "ER_BUDGET_LOW", "validation errors: 2", '"code": "INVALID_REQUEST",',
    ],
)  # fmt: skip
def test_is_no_leak(text: str) -> None:
    assert [(kind, leak.text) for kind, find in FINDERS.items() for leak in find(text)] == []


@pytest.mark.parametrize(
    ("url", "text", "found"),
    [
        ("http://127.0.0.1:8000/mcp", "format of http://127.0.0.1:8000/mcp, localhost:8000 and http://localhost:3000", []),
        ("http://127.0.0.1:8000/mcp", "no redis at localhost:6379", ["localhost:6379"]),
        ("http://10.0.0.5/mcp", "10.0.0.5 and 10.0.0.5:80 are here, 10.0.0.5:5432 is not", ["10.0.0.5:5432"]),
        ("https://ads-1.corp/mcp", "ads-1.corp:443, ads-2.corp:443", ["ads-2.corp:443"]),
        ("https://seller.example/mcp", "see http://localhost:3000/setup", ["localhost:3000"]),
    ],
)  # fmt: skip
def test_the_address_that_was_called_is_no_secret(url: str, text: str, found: list[str]) -> None:
    assert [leak.text for leak in internal_network(text, Home.of(url))] == found


# -- what is shown --------------------------------------------------------------------------------------------------


def test_short_secrets_are_not_shown_at_all() -> None:
    assert masked("hunter2") == "(7 characters, not shown)"
    assert masked("q7Vd0u2nS4wXz8kL") == "q7Vd… (16 characters)"


def test_no_finding_shows_a_secret() -> None:
    secrets = ("hunter2-4711", "q7Vd0u2nS4wXz8kLr1mT", "AKIAIOSFODNN7EXAMPLE")
    evidence = failed(
        f"SELECT 1, password={secrets[0]}, x FROM keys of /srv/{secrets[2]}/a and Bearer {secrets[1]}",
        details={"client_secret": secrets[0], "setup_url": f"http://u:{secrets[0]}@seller.example/"},
    )
    broken = [security(evidence, name) for name in ("credentials", "database-text", "file-path", "urls")]
    assert [found.outcome for found in broken] == [Outcome.FAILED] * 4
    assert not [secret for secret in secrets for found in broken if secret in repr(found)]
    assert "[redacted]" in broken[1].received
    assert "[redacted]" in broken[2].received


def test_excerpt_is_cut() -> None:
    text = "/srv/" + "a" * 99 + "/" + "b" * 99
    (leak,) = leaks.file_paths(text)
    assert excerpt(text, leak) == text[:120] + "…"
    assert "aaa" not in repr(leak)


def test_mirrors_are_told_once_and_others_further() -> None:
    found = security(
        failed("/srv/a and /srv/c", suggestion="/srv/a, no", details={"see": "/srv/b"}), "file-path"
    )
    assert found.received == 'a file path: "/srv/a"'
    assert found.pointer == "/result/structuredContent/adcp_error/message"
    assert len(found.further) == 1
    assert found.further[0].startswith('a file path: "/srv/b", at /result/')


# -- what the client sent -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("file-path", "/srv/buyer/plan.yaml"),
        ("database-text", "SELECT name FROM users"),
        ("internal-network", "http://10.1.1.1:80/hook"),
        ("credentials", "password=hunter2"),
        ("stack-trace", "goroutine 1 [running]"),
    ],
)
def test_an_echo_of_the_request_is_no_leak(rule: str, text: str) -> None:
    echo = f"{text} is not valid."
    assert security(failed(echo), rule).outcome is Outcome.FAILED
    assert security(failed(echo, {"filters": [{"a": text}]}), rule).outcome is Outcome.PASSED
    assert security(failed(echo, {"filters": {text: 1}}), rule).outcome is Outcome.PASSED


def test_idempotency_key_is_not_repeated() -> None:
    sent = {"idempotency_key": KEY}
    found = security(failed(f"Request {KEY} was refused.", sent), "idempotency-key")
    assert found.outcome is Outcome.ADVISORY
    assert found.pointer == "/result/structuredContent/adcp_error/message"
    assert security(failed("No.", sent), "idempotency-key").outcome is Outcome.PASSED
    members = {"idempotency_key": KEY, "details": {"rejected_value": KEY}}
    assert security(failed("No.", sent, **members), "idempotency-key").outcome is Outcome.PASSED
    assert security(failed(f"Request {KEY}."), "idempotency-key").outcome is Outcome.NOT_APPLICABLE
    assert (
        security(failed("a key", {"idempotency_key": "a"}), "idempotency-key").outcome
        is Outcome.NOT_APPLICABLE
    )


# -- what is read ---------------------------------------------------------------------------------------------------


def test_texts_and_places() -> None:
    payload = {
        "adcp_error": {"message": "one", "field": "x", "details": {"a": ["two"], "rejected_value": {"b": "x"}, "docs_url": "x"}},
        "context": {"trace": "x"},
        "governance_context": "x",
        "products": [{"name": "x"}],
        "ext": {"context": "three"},
    }  # fmt: skip
    content = [{"type": "text", "text": '{"adcp_error": {"message": "four"}, "context": {"a": "x"}}'}]
    content += [{"type": "text", "text": "five"}, {"type": "image", "data": "x"}]
    result = {
        "content": content,
        "structuredContent": payload,
        "isError": True,
        "error": "six",
        "_meta": {"a": "x"},
    }
    assert sorted(texts_of(tool_result(result))) == [
        ("/result/content/0/text", "four"),
        ("/result/content/1/text", "five"),
        ("/result/error", "six"),
        ("/result/structuredContent/adcp_error/details/a/0", "two"),
        ("/result/structuredContent/adcp_error/message", "one"),
        ("/result/structuredContent/ext/context", "three"),
    ]


def test_texts_of_json_rpc_errors() -> None:
    error = {"code": -32603, "message": "one", "data": {"why": "two", "context": {"a": "x"}}}
    assert texts_of(rpc_error(error)) == [("/error/message", "one"), ("/error/data/why", "two")]
    assert texts_of(rpc_error({"code": -32603, "message": "one", "data": "two"})) == [
        ("/error/message", "one"),
        ("/error/data", "two"),
    ]


def test_an_error_without_text_is_not_applicable() -> None:
    evidence = tool_result({"content": [], "isError": True})
    assert security(evidence, "file-path").outcome is Outcome.NOT_APPLICABLE


def test_what_is_read_is_bounded() -> None:
    long = failed("x" * 1_000_000, details={"texts": ["y" * 1_000_000] * 9})
    lengths = [len(text) for _, text in texts_of(long)]
    assert max(lengths) == MAX_STRING
    assert sum(lengths) == MAX_TEXT
    many = texts_of(failed(details={"texts": ["y"] * 100_000}))
    assert MAX_VALUES // 2 < len(many) <= MAX_VALUES


def test_deep_errors_are_read() -> None:
    raw = '{"jsonrpc": "2.0", "id": "call-7", "error": {"code": -32603, "message": "no", "data": '
    raw += '{"a": ' * 5_000 + '"/srv/x"' + "}" * 5_000 + "}}"
    found = security(answered(raw.encode()), "file-path")
    assert found.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "unit",
    ["at a b (c:1:", "at x:1:2:", "SELECT a ", "update a set ", "/var ", "/opt/a ", "a.b-", "10.0.0.", "::1 ", "eyJa.eyJ", "bearer a ",
     "a://b:c", "password: a ", 'File "', "relation \"", "-----BEGIN PRIVATE KEY ", "C:\\Use ", "x.py:", " ", "\\"],
)  # fmt: skip
def test_a_megabyte_of_near_misses(unit: str) -> None:
    evidence = failed(unit * (1_000_000 // len(unit)))
    assert max(len(text) for _, text in texts_of(evidence)) == MAX_STRING
    names = ("stack-trace", "file-path", "database-text", "internal-network", "credentials")
    assert {security(evidence, name).outcome for name in names} == {Outcome.PASSED}


def test_a_flood_of_leaks_is_told_in_short() -> None:
    flood = [" ".join(f"/srv/{number}/{place}" for number in range(5_000)) for place in range(9)]
    assert security(failed(flood[0]), "file-path").further == ()
    found = security(failed(details={"texts": [f"/srv/{place}" for place in range(9)] + flood}), "file-path")
    assert found.outcome is Outcome.FAILED
    assert len(found.further) == 3


def test_home_is_where_the_request_went() -> None:
    assert Home.of(URL) == HOME
    assert Home.of("https://[::1]/mcp") == Home("::1", 443)
