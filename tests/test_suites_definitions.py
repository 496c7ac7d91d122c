"""The rules on tool definitions and on the pages of tools/list, on literal answers."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from evidence import Http, broken_rules, find_rule, finding, judge_all, outcome, surveyed
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.tool_schemas import has_engine
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.verdict import Outcome

FILE = Path(__file__).with_name("data") / "tools.yaml"
GOOD: dict[str, Any] = {
    "name": "clock",
    "description": "Tells the time.",
    "inputSchema": {"type": "object"},
}
FAILED, ADVISORY = Outcome.FAILED, Outcome.ADVISORY
engine = pytest.mark.skipif(not has_engine(), reason="needs jsonschema-rs")


def _expanded(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"<(.)\*(\d+)>", lambda match: match[1] * int(match[2]), value)
    if isinstance(value, dict):
        return {key: _expanded(member) for key, member in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value


CASES = {
    f"{kind}/{case['id']}": _expanded(case)
    for kind, cases in yaml.safe_load(FILE.read_text(encoding="utf-8")).items()
    for case in cases
}


def listed(*tools: Any, revision: str = "2025-11-25", **members: Any) -> Evidence:
    """A survey whose tools/list gives these tools on one page."""
    meta = {"ttlMs": 0, "cacheScope": "private"} if revision == STATELESS_REVISION else {}
    result = {"tools": list(tools), **meta, **members}
    return surveyed(pages=[Http({"jsonrpc": "2.0", "id": "list-1", "result": result})], revision=revision)


def paged(*results: Any, revision: str = "2025-11-25") -> Evidence:
    """A survey whose pages of tools/list are these results; an exception stands for a JSON-RPC error."""
    error = {"error": {"code": -32602, "message": "Unknown cursor"}}
    bodies = [error if result is None else {"result": result} for result in results]
    return surveyed(
        pages=[Http({"jsonrpc": "2.0", "id": f"list-{n}", **body}) for n, body in enumerate(bodies, 1)],
        revision=revision,
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_definition(case: dict[str, Any]) -> None:
    tool = {name: value for name, value in GOOD.items() if name != case.get("without")} | case.get("tool", {})
    evidence = listed(tool, revision=case.get("revision", "2025-11-25"))
    expected = {name: FAILED for name in [case["fails"]] if name} if "fails" in case else {}
    expected |= {case["warns"]: ADVISORY} if "warns" in case else {}
    assert broken_rules(evidence, "mcp.tools") == expected
    for short in expected:
        found = finding(evidence, f"mcp.tools.{short}")
        assert found.subject == "tools/list"
        assert found.pointer is not None
        assert found.pointer.startswith("/result/tools/0")
        assert found.message != find_rule(found.rule).requirement
        assert 40 < len(found.message) < 450
        assert found.fix.endswith(".")
    if "says" in case:
        first = finding(evidence, f"mcp.tools.{next(iter(expected))}")
        assert case["says"] in f"{first.message} {first.received} {first.fix}"


@engine
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"a": {"type": "str"}}}, '"str" is no type of JSON Schema'),
        ({"properties": {"a": {"required": True}}}, '"required" cannot be true'),
        ({"properties": {"a": "string"}}, 'a schema is an object, true or false, and not "string"'),
        ({"required": "a"}, '"required" cannot be "a"'),
        ({"properties": []}, '"properties" cannot be []'),
    ],
)
def test_schema_that_is_none(schema: dict[str, Any], words: str) -> None:
    tool = GOOD | {"inputSchema": {"type": "object", **schema}}
    assert words in finding(listed(tool), "mcp.tools.schema-valid").message
    assert finding(listed(tool), "mcp.tools.schema-valid").outcome is FAILED
    assert finding(listed(tool, revision="2025-06-18"), "mcp.tools.schema-valid").outcome is ADVISORY


@engine
def test_schema_of_an_older_dialect_that_does_not_say_so_is_an_advisory() -> None:
    older = {"type": "object", "properties": {"a": {"items": [{"type": "string"}]}}}
    found = finding(listed(GOOD | {"inputSchema": older}), "mcp.tools.schema-valid")
    assert found.outcome is ADVISORY
    assert "valid one of draft-07" in found.message
    assert '"$schema": "http://json-schema.org/draft-07/schema#"' in found.fix


@engine
@pytest.mark.parametrize(
    "pattern", [r"(?<year>\d{4})-\k<year>", r"\p{L}{50}{20}", "(a+)+$", "(", "a{1000}{1000}"]
)
def test_patterns_are_not_judged(pattern: str) -> None:
    tool = GOOD | {
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    }
    assert broken_rules(listed(tool), "mcp.tools") == {}


def test_the_gravest_problem_comes_first_and_the_others_beside_it() -> None:
    tools = [GOOD | {"name": f"t{index}", "inputSchema": {}} for index in range(30)]
    found = finding(listed(*tools), "mcp.tools.input-schema")
    assert '"t0"' in found.message
    assert len(found.further) == 11
    assert found.further[-1] == "and 19 more of the kind"


def test_entries_that_are_no_objects() -> None:
    found = finding(listed(GOOD, "clock", None), "mcp.tools.definitions")
    assert (found.outcome, found.pointer, found.received) == (FAILED, "/result/tools/1", '"clock"')


def test_every_page_is_judged_by_itself() -> None:
    bad = GOOD | {"name": "b", "inputSchema": None}
    evidence = paged({"tools": [GOOD], "nextCursor": "2"}, {"tools": [bad]})
    found = {each.subject: each.outcome for each in judge_all(evidence, "mcp.tools.input-schema")}
    assert found == {"tools/list": Outcome.PASSED, "tools/list/page-2": FAILED}


# -- pages ------------------------------------------------------------------------------------------------------

PAGE, OTHER = {"tools": [GOOD]}, {"tools": [GOOD | {"name": "b"}]}
META = {"ttlMs": 5000, "cacheScope": "public"}
EMPTY: dict[str, Any] = {"tools": []}
PAGES: dict[str, tuple[Evidence, dict[str, Outcome]]] = {
    "two": (paged(PAGE | {"nextCursor": "2"}, OTHER), {}),
    "null at the end": (paged(PAGE | {"nextCursor": None}), {"next-cursor": ADVISORY}),
    "empty at the end": (paged(PAGE | {"nextCursor": ""}), {"next-cursor": ADVISORY}),
    "a number": (paged(PAGE | {"nextCursor": 2}), {"next-cursor": FAILED}),
    "the same for ever": (
        paged(PAGE | {"nextCursor": "2"}, PAGE | {"nextCursor": "2"}),
        {"paging-ends": FAILED},
    ),
    "the same with other tools": (
        paged(PAGE | {"nextCursor": "2"}, OTHER | {"nextCursor": "2"}),
        {"paging-ends": FAILED},
    ),
    "no end in sight": (
        paged(PAGE | {"nextCursor": "2"}, OTHER | {"nextCursor": "3"}),
        {"paging-ends": ADVISORY},
    ),
    "empty pages for ever": (
        paged(PAGE | {"nextCursor": "1"}, *(EMPTY | {"nextCursor": f"n{n}"} for n in range(51))),
        {"paging-ends": FAILED},
    ),
    "fifty empty pages": (
        paged(PAGE | {"nextCursor": "1"}, *(EMPTY | {"nextCursor": f"n{n}"} for n in range(50))),
        {"paging-ends": ADVISORY},
    ),
    "empty pages before the last tools": (
        paged(*(EMPTY | {"nextCursor": f"n{n}"} for n in range(60)), PAGE),
        {},
    ),
    "refused": (paged(PAGE | {"nextCursor": "2"}, None), {"cursor-accepted": FAILED}),
    "empty for ever, where it is a cursor": (
        paged(
            PAGE | META | {"nextCursor": ""}, OTHER | META | {"nextCursor": ""}, revision=STATELESS_REVISION
        ),
        {"paging-ends": FAILED},
    ),
    "empty as a cursor": (
        paged(PAGE | META | {"nextCursor": ""}, OTHER | META, revision=STATELESS_REVISION),
        {},
    ),
    "none of it before": (paged(PAGE), {}),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str) -> None:
    evidence, expected = PAGES[name]
    assert broken_rules(evidence, "mcp.tools") == expected
    for short in expected:
        assert 40 < len(finding(evidence, f"mcp.tools.{short}").message) < 450


@pytest.mark.parametrize(
    "unanswered", [Http(b"", end=End.DEADLINE), Http({"jsonrpc": "2.0", "id": "list-2", "result": {}})]
)
def test_nobody_knows_where_a_list_ends_of_which_a_page_is_missing(unanswered: Http) -> None:
    first = Http({"jsonrpc": "2.0", "id": "list-1", "result": PAGE | {"nextCursor": "2"}})
    evidence = surveyed(pages=[first, unanswered])
    assert outcome(evidence, "mcp.tools.paging-ends") is Outcome.NOT_APPLICABLE


# -- hostile lists ----------------------------------------------------------------------------------------------


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_schemas_are_looked_at_down_to_100_levels() -> None:
    assert broken_rules(listed(GOOD | {"inputSchema": _nested(49)}), "mcp.tools") == {}
    assert broken_rules(listed(GOOD | {"inputSchema": _nested(50)}), "mcp.tools") == {"schema-size": ADVISORY}


def test_very_deep_schema_harms_nobody() -> None:
    text = b'{"jsonrpc":"2.0","id":"list-1","result":{"tools":[{"name":"a","description":"b","inputSchema":{"type":"object","not":'
    deep = text + b'{"not":' * 9000 + b"{}" + b"}" * 9000 + b"}}]}}"
    evidence = surveyed(pages=[Http(deep)])
    assert broken_rules(evidence, "mcp.tools") == {"schema-size": ADVISORY}


def test_ten_thousand_tools_are_judged_in_seconds() -> None:
    tools = [GOOD | {"name": f"t{index}", "description": "x" * 300} for index in range(10_000)]
    evidence = listed(*tools)
    started = time.process_time()
    assert broken_rules(evidence, "mcp.tools") == {}
    assert time.process_time() - started < 15
