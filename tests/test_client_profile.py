"""A run over a client library, the way its author makes it."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from runs import Run, run

RIGHT = """
import json

ADCP_EXTRACTOR = {"name": "right", "version": "1.0", "limit": {"size": 1048576}}

def strict(text):
    def refuse(word):
        raise ValueError(word)
    if text.startswith("\\ufeff"):
        raise ValueError("a byte order mark")
    return json.loads(text, parse_constant=refuse)

def data(response):
    if response.get("isError"):
        return None
    structured = response.get("structuredContent")
    if isinstance(structured, dict):
        return None if structured.keys() == {"adcp_error"} else structured
    content = response.get("content")
    for item in content if isinstance(content, list) else []:
        if not isinstance(item, dict) or item.get("type") != "text" or not isinstance(item.get("text"), str):
            continue
        if not item["text"] or len(item["text"].encode("utf-16-le", "surrogatepass")) // 2 > 1048576:
            continue
        try:
            found = strict(item["text"])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.keys() != {"adcp_error"}:
            return found
    return None

def extract(request):
    if request["kind"] == "error":
        raise NotImplementedError("errors")
    return {"data": data(json.loads(request["response"]))}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    return tmp_path


def judge(folder: Path, spec: str, *arguments: str) -> Run:
    return run(folder, "--adcp-profile=client", f"--adcp-extractor={spec}", *arguments)


def rules(done: Run, outcome: str) -> set[str]:
    return {finding["rule"] for finding in done.target["findings"] if finding["outcome"] == outcome}


def adapter(folder: Path, body: str) -> str:
    """A command in Python; `body` says what it does with a request."""
    (folder / "adapter.py").write_text(
        "import json, os, sys, time\nimport right\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    if 'adcp_extractor' in request:\n"
        "        print(json.dumps({'adcp_extractor': 1, 'name': 'adapted', 'limit': {'size': 1048576}}), flush=True)\n"
        "        continue\n" + textwrap.indent(body, "    "),
        encoding="utf-8",
    )
    return f"'{sys.executable}' adapter.py"


ANSWER = """
if request['kind'] == 'error':
    answer = {'error': {'type': 'NotImplementedError'}}
else:
    answer = right.extract(request)
print(json.dumps({'id': request['id'], **answer}), flush=True)
"""


def test_a_function(folder: Path) -> None:
    done = judge(folder, "right:extract")
    assert done.code == 1, done.out
    assert "right 1.0" in done.out
    failed = rules(done, "failed")
    assert failed
    assert all(rule.startswith("client.errors.") for rule in failed), failed
    assert "NotImplementedError: errors" in done.out
    assert {"client.extraction.text", "client.extraction.json", "client.extraction.limit"} <= rules(
        done, "passed"
    )
    assert done.report["settings"]["extractor"] == "right:extract"
    assert done.target["name"] == "right"


def test_a_command_gives_the_same_as_the_function(folder: Path) -> None:
    as_function = judge(folder, "right:extract").target["findings"]
    as_command = judge(folder, adapter(folder, ANSWER)).target["findings"]

    def outcomes(findings: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
        return {
            (f["rule"], f["subject"]): f["outcome"]
            for f in findings
            if f["subject"] not in ("right", "adapted")
        }

    assert outcomes(as_command) == outcomes(as_function)


def test_it_is_the_same_in_several_processes(folder: Path) -> None:
    alone, together = judge(folder, "right:extract"), judge(folder, "right:extract", "-n2")
    assert together.code == alone.code == 1
    assert together.target["counts"] == alone.target["counts"]


def test_a_crash_a_hang_and_a_print_are_findings(folder: Path) -> None:
    body = (
        "if '__proto__' in request['response'] and request['kind'] == 'success': os._exit(7)\n"
        "if 'items of other kinds' in request['response']: pass\n"
        "print('checking', request['id'])\n"
    )
    done = judge(folder, adapter(folder, body + ANSWER), "--adcp-extractor-timeout=2")
    assert done.code == 1
    assert {"client.extractor.answers"} <= rules(done, "failed")
    assert {"client.extractor.output"} <= rules(done, "advisory")
    died = [
        f
        for f in done.target["findings"]
        if f["rule"] == "client.extractor.answers" and f["outcome"] == "failed"
    ]
    assert all("exit code 7" in finding["received"] for finding in died)
    assert all("__proto__" in finding["further"][0] for finding in died)
    blocked = {f["subject"] for f in done.target["findings"] if f["outcome"] == "blocked"}
    assert blocked == {finding["subject"] for finding in died}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("gone:extract", "gone cannot be imported: ModuleNotFoundError"),
        ("right:extrakt", "right has no extrakt; it has data, extract, strict"),
        ("right:ADCP_EXTRACTOR", "right:ADCP_EXTRACTOR is no function but dict"),
        ("./no-such-command --now", "cannot be started: No such file"),
        ("true", "does not shake hands"),
    ],
)
def test_a_library_that_cannot_be_asked_is_one_clear_error(folder: Path, spec: str, says: str) -> None:
    done = judge(folder, spec)
    assert done.code == 4
    (line,) = [line for line in done.out.splitlines() if line.startswith("ERROR")]
    assert "--adcp-extractor:" in line
    assert says in line
    assert not (folder / "adcp-report").exists()


def test_what_a_function_returns_is_checked(folder: Path) -> None:
    (folder / "odd.py").write_text(
        "def nothing(request): return None\ndef unwritable(request): return {'data': {'a': object()}}\n"
    )
    for function, says in (
        ("nothing", "returned NoneType, not a dict"),
        ("unwritable", "cannot be written as JSON"),
    ):
        done = judge(folder, f"odd:{function}")
        assert done.code == 1
        assert says in done.out


def test_vectors_of_the_user_are_asked_too(folder: Path) -> None:
    response = {"content": [], "structuredContent": {"a": 1}}
    vectors = [
        {
            "id": "mine",
            "description": "Mine",
            "path": "structuredContent",
            "response": response,
            "expected_data": {"a": 2},
        }
    ]
    (folder / "mine.json").write_text(json.dumps({"version": 1, "vectors": vectors}))
    done = judge(folder, "right:extract", "--adcp-vectors=mine.json")
    (finding,) = [
        f for f in done.target["findings"] if f["subject"] == "mine/mine" and f["outcome"] == "failed"
    ]
    assert (finding["rule"], finding["expected"], finding["received"]) == (
        "client.extraction.no-duplicate",
        "2",
        "1",
    )
    assert '"/a"' in finding["message"]


def test_one_that_reads_successes_alone_is_not_asked_for_errors(folder: Path) -> None:
    path = folder / "right.py"
    path.write_text(path.read_text().replace('"version"', '"kinds": ["success"], "version"'))
    done = judge(folder, "right:extract")
    assert (done.code, done.target["verdict"]) == (6, "inconclusive"), done.out
    assert "no error vector was judged" in done.out
    assert not rules(done, "failed")


CLIENT = """
import json, sys, urllib.request
import right

def post(url, message, session):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer), answer.headers.get("Mcp-Session-Id")

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}

for line in sys.stdin:
    asked = json.loads(line)
    if "adcp_extractor" in asked:
        assert asked["asks"] == "calls"
        print(json.dumps({"adcp_extractor": 1, "name": "whole", "kinds": ["success"]}), flush=True)
        continue
    call = asked["call"]
    _, session = post(call["url"], {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}, None)
    params = {"name": call["tool"], "arguments": call["arguments"]}
    answer, _ = post(call["url"], {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, session)
    print(json.dumps({"id": asked["id"], "data": right.data(answer.get("result"))}), flush=True)
"""


def test_a_whole_client_makes_the_calls_itself(folder: Path) -> None:
    (folder / "client.py").write_text(CLIENT, encoding="utf-8")
    done = run(folder, "--adcp-profile=client", f"--adcp-client-command='{sys.executable}' client.py")
    assert done.code == 6, done.out  # no error vector was judged
    assert not rules(done, "failed")
    assert done.target["name"] == "whole"
    passed = [
        f
        for f in done.target["findings"]
        if f["rule"] == "client.extractor.answers" and f["outcome"] == "passed"
    ]
    assert len(passed) > 100


def test_a_whole_client_that_reads_wrongly_is_told(folder: Path) -> None:
    wrong = CLIENT.replace(
        'right.data(answer.get("result"))', 'answer.get("result", {}).get("structuredContent")'
    )
    (folder / "client.py").write_text(wrong, encoding="utf-8")
    done = run(folder, "--adcp-profile=client", f"--adcp-client-command='{sys.executable}' client.py")
    assert done.code == 1
    assert {"client.extraction.text", "client.extraction.is-error"} <= rules(done, "failed")
