"""Both engines say the same, also where they would not by themselves, and neither ever fetches a reference."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from bundle import RELEASES, folder
from generated import Generator
from pytest_adcp.harness import schema_engines
from pytest_adcp.harness.schema_bundle import ERROR_OBJECT, Release, find_bundle
from pytest_adcp.harness.schema_engines import Engine, Factory, PythonEngine, RustEngine, best_engine
from pytest_adcp.harness.schema_formats import FORMATS, ecma_pattern
from pytest_adcp.harness.schema_places import Documents
from pytest_adcp.harness.schemas import Validator

pytest.importorskip("jsonschema_rs")  # both engines are compared here

ENGINES = pytest.mark.parametrize("factory", [RustEngine, PythonEngine])
URL = "https://adcontextprotocol.org/schemas/3.1.7/core/x.json"
DRAFT = {"$schema": "http://json-schema.org/draft-07/schema#"}
# The tasks whose schemas have the most forms, and a plain one.
TASKS = (
    "build_creative",
    "create_media_buy",
    "get_adcp_capabilities",
    "get_media_buy_delivery",
    "get_media_buys",
    "get_products",
    "get_signals",
    "list_creative_formats",
    "list_creatives",
    "sync_creatives",
)
PAYLOADS = 70  # for each of them, in each of three releases: 2,100


def release(name: str) -> Release:
    root = folder()
    bundle = find_bundle(root) if root else None
    if bundle is None:
        pytest.skip("no AdCP schemas are at hand")
    return bundle.releases[name]


def engine(factory: Factory, schema: Mapping[str, Any]) -> Engine:
    return factory(URL, {URL: {**DRAFT, **schema}})


# -- differential ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", RELEASES)
def test_both_engines_find_the_same_and_say_it_alike(name: str, task: str) -> None:
    found = release(name)
    file = found.response(task)
    assert file is not None
    url, documents = found.url(file), found.closure(file)
    fast, oracle = (Validator(url, documents, factory) for factory in (RustEngine, PythonEngine))
    valid = invalid = 0
    for payload in Generator(Documents(url, documents), url, documents, seed=7).payloads(PAYLOADS):
        problems = fast.problems(payload)
        assert problems == oracle.problems(payload)
        valid, invalid = valid + (not problems.total), invalid + bool(problems.total)
    assert valid  # else nothing but refusals was compared
    assert invalid


# -- decisions: what holds where the engines differ by themselves ---------------------------------------------


@ENGINES
@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),  # Python's $ also stands before a last line feed
        (r"^\d+$", "12", True),
        (r"^\d+$", "\u0661\u0662", False),  # Arabic digits
        (r"^\w+$", "\u00e9", False),
        (r"\S", "\u00a0", False),  # ECMA-262 has more white space than ASCII
        (r"\S", "\ufeff", False),
        (r"\S", "\x1c", True),  # and less than Python
        (r"^[^\s]$", "\u2003", False),
        (r"^(|/.*)$", "/a\rb", False),  # . takes no line end at all
        (r"^(|/.*)$", "/a\u2028b", False),
        (r"^.$", "\U0001f600", True),  # a character beyond the first plane is one
        (r"^P(?!$)(\d+Y)?$", "P", False),
        (r"^P(?!$)(\d+Y)?$", "P1Y\n", False),
        (r"^[$.]$", "$", True),  # inside a set they stand for themselves
        (r"^\$\.$", "$.", True),
        ("b", "abc", True),  # not anchored
    ],
)
def test_patterns_are_those_of_ecma_262(factory: Factory, pattern: str, text: str, matches: bool) -> None:
    assert engine(factory, {"pattern": pattern}).is_valid(text) is matches
    by_name = engine(factory, {"patternProperties": {pattern: False}})
    assert by_name.is_valid({text: 1}) is not matches
    others = engine(factory, {"patternProperties": {pattern: {}}, "additionalProperties": False})
    assert others.is_valid({text: 1}) is matches


@ENGINES
@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("date-time", "2026-01-31T09:00:00Z", True),
        ("date-time", "2026-01-31t09:00:00.123456789+01:30", True),
        ("date-time", "2016-12-31T23:59:60Z", True),  # a leap second
        ("date-time", "2026-01-31T09:00:00", False),
        ("date-time", "2026-01-31 09:00:00Z", False),
        ("date-time", "2026-01-31T09:00:00+0000", False),
        ("date-time", "2026-02-30T09:00:00Z", False),
        ("date-time", "2026-01-31T24:00:00Z", False),
        ("date-time", "2026-01-31T09:00:00Z\n", False),
        ("date", "2026-02-28", True),
        ("date", "2026-02-30", False),
        ("date", "20260228", False),
        ("uri", "https://acme.example/a?b=c#d", True),
        ("uri", "urn:x:y", True),
        ("uri", "/a", False),
        ("uri", "https://acme.example/{MACRO}", False),
        ("uri", "https://acme.example/%%X%%", False),
        ("uri", "https://\u00e4.example", False),
        ("email", "ann@acme", True),
        ("email", "@", False),
        ("hostname", "a.example", True),
        ("hostname", "-a.example", False),
        ("hostname", "a_b.example", False),
        ("hostname", "a" * 64, False),
        ("uri-template", "https://acme.example/{x", True),  # not checked
        ("uuid", "x", True),
        ("time", "x", True),
        ("YYYYMMDD", "x", True),  # unknown
        ("date-time", 5, True),  # formats are about strings
    ],
)
def test_formats_are_decided_here(factory: Factory, name: str, text: Any, is_one: bool) -> None:
    assert engine(factory, {"format": name}).is_valid(text) is is_one


@ENGINES
def test_what_stands_beside_a_reference_is_ignored(factory: Factory) -> None:
    schema = {
        "definitions": {"a": {"type": "object"}},
        "properties": {"x": {"$ref": "#/definitions/a", "required": ["y"]}},
    }
    assert engine(factory, schema).is_valid({"x": {}})
    assert not engine(factory, schema).is_valid({"x": 1})


@ENGINES
@pytest.mark.parametrize(
    ("schema", "instance", "valid"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 2**70, True),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"const": 1}, 1.0, True),
        ({"const": 1}, True, False),
        ({"const": [0]}, [False], False),
        ({"enum": [{"a": 1}]}, {"a": 1.0}, True),
        ({"uniqueItems": True}, [1, True], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        ({"minLength": 2}, "\U0001f600", False),  # characters, not UTF-16 units
        ({"maxLength": 1}, "\U0001f600", True),
        ({"contains": {"const": 1}}, [], False),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a", "b"], False),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, False),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, False),
        ({"properties": {"a": False}}, {"a": 1}, False),
    ],
)
def test_values_compare_as_json_schema_has_it(
    factory: Factory, schema: Any, instance: Any, valid: bool
) -> None:
    assert engine(factory, schema).is_valid(instance) is valid


@pytest.mark.parametrize("name", RELEASES)
def test_the_published_schemas_use_nothing_that_is_undecided(name: str) -> None:
    """Engines also differ on multipleOf, and on escapes that no pattern of AdCP's has."""
    found = release(name)
    files = [ERROR_OBJECT]
    for tool in found.tools.values():
        files += [tool["response_schema"], *tool["async_response_schemas"]]
    documents = {url: content for file in files for url, content in found.closure(file).items()}
    schemas = [node for document in documents.values() for node in _objects(document)]
    assert not [node for node in schemas if isinstance(node.get("multipleOf"), int | float)]
    formats = {node["format"] for node in schemas if isinstance(node.get("format"), str)}
    assert formats - {"YYYYMMDD"} <= set(FORMATS)
    assert {document.get("$schema") for document in documents.values()} == set(DRAFT.values())
    patterns = {node["pattern"] for node in schemas if isinstance(node.get("pattern"), str)}
    for pattern in patterns:
        ecma_pattern(pattern)
        assert set(re.findall(r"\\([A-Za-z])", pattern)) <= set("dsSux"), pattern
        assert not re.search(r"\[[^\]]*\\S", pattern), pattern  # \S inside a set


def _objects(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(inner)


# -- nothing is fetched ---------------------------------------------------------------------------------------


@contextmanager
def counting_server() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@ENGINES
@pytest.mark.parametrize("where", ["{server}/x.json", "{file}"])
@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$id"])
def test_no_reference_is_fetched(factory: Factory, keyword: str, where: str, tmp_path: Path) -> None:
    trap = tmp_path / "x.json"
    trap.write_text('{"type": "string"}')  # were it read, 5 would not be valid
    with counting_server() as (server, asked):
        target = where.format(server=server, file=trap.as_uri())
        schema: dict[str, Any] = {keyword: target}
        if keyword == "$id":
            schema = {"$id": target, "properties": {"x": {"$ref": "other.json"}}}
        verdicts: list[bool] = []
        with suppress(Exception):  # each engine has its own way to refuse
            made = factory(URL, {URL: schema})
            verdicts += [made.is_valid(5), made.is_valid({"x": 5})]
        assert not asked
        assert verdicts in ([], [True, True])


def test_jsonschema_stands_in_where_jsonschema_rs_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    best_engine.cache_clear()
    monkeypatch.setattr(schema_engines.importlib, "import_module", refuse)
    try:
        assert best_engine() is PythonEngine
    finally:
        best_engine.cache_clear()
    monkeypatch.undo()
    assert best_engine() is RustEngine


@ENGINES
def test_infinity_and_nan_do_not_break_an_engine(factory: Factory) -> None:
    for number in (math.inf, -math.inf, math.nan):
        assert isinstance(engine(factory, {"type": "number"}).is_valid(number), bool)


def test_a_hostile_text_does_not_keep_python_busy() -> None:
    made = engine(PythonEngine, {"pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"})
    assert made.is_valid("a" * 5_000_000 + "!")  # too long to be tried
    assert not made.is_valid("a" * 1000 + "!")
