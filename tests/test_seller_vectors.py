"""Vectors as answers over real HTTP: what arrives is what the vector says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from buyers import STATELESS, Buyer
from pytest_adcp.harness.jsontext import equal, parse
from pytest_adcp.harness.seller import Answers, Eras, Release, SellerOptions, running
from pytest_adcp.harness.seller.vectors import VectorServer, chosen, running_vectors, serve_vectors
from pytest_adcp.vectors.loader import Transport, Vector, VectorError, load, own
from test_seller_command import ended, started

MCP = [vector for vector in own() if vector.transport is Transport.MCP]
OF_THE_ERA = {"resultType", "_meta"}  # what every result of the stateless era holds
DEEP, DEEPEST = 10_000, 100_000  # both far beyond what recursion stands
SECONDS = 60  # for a response; the deep ones take their time on a busy machine

every_mode = pytest.mark.parametrize(
    ("answers", "stateless"), [(answers, stateless) for answers in Answers for stateless in (False, True)]
)

ODD = {
    "deep": {"structuredContent": {"$json": {"$concat": ['{"a":', {"$repeat": ["[", DEEP]}, {"$repeat": ["]", DEEP]}, "}"]}}},
    "deep-objects": {"a": {"$json": {"$concat": [{"$repeat": ['{"a":', DEEP]}, "1", {"$repeat": ["}", DEEP]}]}}},
    "surrogates": {"content": [{"type": "text", "text": "\ud83d alone \ude00"}], "\ud800": 1},
    "numbers": {"structuredContent": {"$json": '{"a": 1e999, "b": -1e999, "c": 123456789012345678901, "d": 5e-324}'}},
    "prototype": {"$json": '{"__proto__": {"a": 1}, "structuredContent": {"__proto__": {"b": 2}}, "content": []}'},
    "large": {"content": [{"type": "text", "text": {"$repeat": ["\u20ac\n", 1024 * 1024]}}]},
    "reserved": {"_meta": "no object", "resultType": "input_required", "content": []},
    "empty": {},
    "error-in-a-result": {"content": [], "error": {"code": -32000, "message": "no response of JSON-RPC"}},
    "response": {"jsonrpc": "2.0", "id": 9, "result": {"content": []}},
    "rpc-error": {"jsonrpc": "2.0", "id": 9, "error": "no object", "further": [1]},
}  # fmt: skip


def written(folder: Path, name: str, responses: Mapping[str, Any], **members: Any) -> Path:
    """A vector file with these responses by their ids."""
    vectors = [
        {"id": key, "description": f"The {key} one", "path": "none", "response": response, "expected_data": None}
        | members
        for key, response in responses.items()
    ]  # fmt: skip
    file = folder / name
    file.write_text(json.dumps({"version": 1, "vectors": vectors}), encoding="ascii")
    return file


def called(buyer: Buyer, tool: str) -> dict[str, Any]:
    """The response to a tools/call, read by a reader that loses nothing."""
    message = buyer.message("tools/call", {"name": tool, "arguments": {}})
    buyer.http.timeout = SECONDS
    response = buyer.post(message)
    assert response.status_code == 200
    body = response.content
    if response.headers["content-type"] == "text/event-stream":
        assert body.startswith(b"event: message\ndata: ")
        assert body.endswith(b"\n\n")
        assert body.count(b"\n") == 3
        body = body.removeprefix(b"event: message\ndata: ")
    parsed = parse(body)
    assert parsed.ok
    assert (parsed.value["jsonrpc"], parsed.value["id"]) == ("2.0", message["id"])
    return parsed.value


def is_rpc_error(response: Mapping[str, Any]) -> bool:
    return {"jsonrpc", "error"} <= response.keys()


def assert_is(answer: dict[str, Any], response: dict[str, Any], *, stateless: bool) -> None:
    if is_rpc_error(response):
        assert equal(answer | {"id": None}, response | {"id": None})
        return
    assert answer.keys() == {"jsonrpc", "id", "result"}
    result = answer["result"]
    if stateless:
        assert result.keys() >= OF_THE_ERA
        result = {name: result[name] for name in result if name in response or name not in OF_THE_ERA}
    assert equal(result, response)


# -- what arrives -------------------------------------------------------------------------------------------


@every_mode
def test_every_vector_arrives_as_it_is(answers: Answers, stateless: bool) -> None:
    with (
        running_vectors(MCP, SellerOptions(answers=answers)) as server,
        Buyer(server.catalogue, stateless=stateless) as buyer,
    ):
        for vector in MCP:
            assert_is(called(buyer, server.names[vector]), vector.response, stateless=stateless)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> list[Vector]:
    return load(written(tmp_path_factory.mktemp("vectors"), "odd.json", ODD))


@every_mode
def test_the_oddest_values_arrive_as_they_are(odd: list[Vector], answers: Answers, stateless: bool) -> None:
    with running_vectors(odd, SellerOptions(answers=answers)) as server:
        for vector in odd:
            with Buyer(server.url(vector), stateless=stateless) as buyer:
                assert_is(called(buyer, "get_products"), vector.response, stateless=stateless)


def test_depth_is_no_limit(tmp_path: Path) -> None:
    text = {"$concat": [{"$repeat": ['{"a":[', DEEPEST // 2]}, {"$repeat": ["]}", DEEPEST // 2]}]}
    (vector,) = load(written(tmp_path, "deep.json", {"x": {"structuredContent": {"$json": text}}}))
    with running_vectors([vector]) as server, Buyer(server.url(vector)) as buyer:
        assert_is(called(buyer, "get_products"), vector.response, stateless=False)


def test_responses_of_a_batch_are_those_of_the_vectors(odd: list[Vector]) -> None:
    with running_vectors(odd) as server, Buyer(server.catalogue) as buyer:
        messages = [buyer.message("tools/call", {"name": name}) for name in ("deep", "rpc-error")]
        buyer.http.timeout = SECONDS
        response = buyer.post(json.dumps(messages).encode(), mcp_protocol_version="2025-03-26")
        deep, error = parse(response.content).value
        assert (deep["id"], error["id"]) == tuple(message["id"] for message in messages)
        assert equal(deep["result"], odd[0].response)
        assert (error["error"], error["further"]) == ("no object", [1])


def test_a_jsonrpc_error_may_come_without_its_version(tmp_path: Path) -> None:
    response = {"error": {"code": -32029, "message": "Slow down"}}
    (vector,) = load(written(tmp_path, "x.json", {"short": response}, path="jsonrpc_error"))
    with running_vectors([vector]) as server, Buyer(server.url(vector)) as buyer:
        assert called(buyer, "get_products")["error"] == response["error"]


def is_well_formed(vector: Vector) -> bool:
    """Whether MCP's own types take the answer, and the official client reads so much of a stream."""
    response = vector.response
    content = response.get("content")
    return (
        vector.id != "sc-deep"
        and isinstance(content, list)
        and all(isinstance(item, dict) and item.keys() == {"type", "text"} for item in content)
        and all(item["type"] == "text" and isinstance(item["text"], str) for item in content)
        and sum(len(item["text"]) for item in content) < 500_000
        and isinstance(response.get("isError", False), bool)
        and isinstance(response.get("structuredContent", {}), dict)
        and len(json.dumps(response.get("structuredContent"))) < 500_000
    )


@pytest.mark.parametrize(("answers", "mode"), [(Answers.JSON, "legacy"), (Answers.SSE, STATELESS)])
def test_official_client_reads_what_is_well_formed(answers: Answers, mode: str) -> None:
    mcp = pytest.importorskip("mcp", reason="the official client is not installed")
    results = [vector for vector in MCP if is_well_formed(vector)]
    errors = [vector for vector in MCP if is_rpc_error(vector.response)]
    assert len(results) > 200
    assert len(errors) > 10

    async def talk(server: VectorServer) -> None:
        with anyio.fail_after(SECONDS):
            async with mcp.Client(server.catalogue, mode=mode) as client:
                listed = await client.list_tools()
                assert [tool.name for tool in listed.tools] == list(server.names.values())
                for vector in results:
                    response = vector.response
                    got = await client.call_tool(vector.id, {})
                    assert equal(got.structured_content, response.get("structuredContent"))
                    assert got.is_error is response.get("isError", False)
                    assert [item.text for item in got.content] == [
                        item["text"] for item in response["content"]
                    ]
                for vector in errors:
                    with pytest.raises(mcp.MCPError) as caught:
                        await client.call_tool(vector.id, {})
                    wanted = vector.response["error"]
                    assert (caught.value.error.code, caught.value.error.message) == (
                        wanted["code"],
                        wanted["message"],
                    )
                    assert equal(caught.value.error.data, wanted.get("data"))

    with running_vectors(MCP, SellerOptions(answers=answers)) as server:
        anyio.run(talk, server)


# -- the endpoints ------------------------------------------------------------------------------------------


def test_catalogue_lists_each_vector_once() -> None:
    with running_vectors(MCP) as server, Buyer(server.catalogue) as buyer:
        page = buyer.ask("tools/list")["result"]
        assert "nextCursor" not in page
        assert [tool["name"] for tool in page["tools"]] == [vector.id for vector in MCP]
        for vector, tool in zip(MCP, page["tools"], strict=True):
            assert tool["description"] == vector.description
            assert tool["inputSchema"] == {"type": "object", "additionalProperties": True}
        assert "vector" in buyer.server["instructions"]
        assert buyer.ask("tools/list", {"cursor": "made-up"})["error"]["code"] == -32602
        assert buyer.ask("tools/call", {"name": "no-such-vector"})["error"]["code"] == -32602
        assert buyer.ask("tools/call", {"name": MCP[0].id, "arguments": []})["error"]["code"] == -32602


@pytest.mark.parametrize("release", Release)
def test_one_vector_is_behind_all_tools_of_a_seller(release: Release) -> None:
    options = SellerOptions(release=release)
    with running(options) as url, Buyer(url) as buyer:
        seller = buyer.tools()
        capabilities = buyer.payload("get_adcp_capabilities")
        said = buyer.server["instructions"]
    vector = next(vector for vector in MCP if vector.id == "sc-without-content")
    with running_vectors(MCP, options) as server, Buyer(server.url(vector)) as buyer:
        assert buyer.server["instructions"] == said
        assert buyer.tools() == seller
        assert buyer.payload("get_adcp_capabilities") == capabilities
        assert buyer.error("get_adcp_capabilities", protocols="no list")
        for name in [tool["name"] for tool in seller] + ["no_such_tool"]:
            if name != "get_adcp_capabilities":
                assert buyer.call(name, brief="x") == vector.response
        assert buyer.ask("tools/call", {"name": "get_products", "arguments": 1})["error"]["code"] == -32602


def test_sessions_are_those_of_one_vector() -> None:
    first, second = MCP[:2]
    with running_vectors([first, second]) as server, Buyer(server.url(first)) as buyer:
        assert buyer.ask("ping")["result"] == {}
        session = buyer.http.headers["mcp-session-id"]
        assert buyer.http.post(server.url(second), json=buyer.message("ping")).status_code == 404
        assert buyer.http.delete(server.url(first)).status_code == 204
        assert buyer.post(buyer.message("ping"), mcp_session_id=session).status_code == 404
    with running_vectors([first], SellerOptions(sessions=False)) as server, Buyer(server.url(first)) as buyer:
        assert "mcp-session-id" not in buyer.http.headers
        assert_is(called(buyer, "get_products"), first.response, stateless=False)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/no-such-vector/mcp", "there is no vector 'no-such-vector'"),
        ("/", "there is nothing at '/'"),
        (f"/{MCP[0].id}/other", "there is nothing at"),
        (f"/{MCP[0].id}/mcp/", "there is nothing at"),
        (f"/x/{MCP[0].id}/mcp", "there is no vector 'x/"),
    ],
)
def test_unknown_paths_are_named(path: str, said: str) -> None:
    with running_vectors(MCP[:1]) as server:
        response = httpx.post(f"http://127.0.0.1:{server.port}{path}", json={}, trust_env=False)
    assert (response.status_code, response.headers["content-type"]) == (404, "application/json")
    assert response.json()["error"].startswith(said)


def test_options_hold_for_every_endpoint() -> None:
    vector = MCP[0]
    options = SellerOptions(eras=Eras.STATELESS, path="/v1/mcp", bearer="hush", latency=0.1)
    with running_vectors([vector], options) as server:
        assert server.catalogue == f"http://127.0.0.1:{server.port}/v1/mcp"
        assert server.url(vector) == f"http://127.0.0.1:{server.port}/{vector.id}/v1/mcp"
        for url in (server.catalogue, server.url(vector)):
            with Buyer(url, stateless=True) as buyer:
                begun = time.monotonic()
                assert buyer.post(buyer.message("ping")).status_code == 401
                assert time.monotonic() - begun >= 0.1
                buyer.http.headers["authorization"] = "Bearer hush"
                assert_is(called(buyer, vector.id), vector.response, stateless=True)
            with Buyer(url, connect=False) as buyer:
                buyer.http.headers["authorization"] = "Bearer hush"
                assert buyer.post(buyer.message("initialize")).status_code == 400


def test_it_is_served_on_a_running_loop_too() -> None:
    async def talk() -> int:
        async with serve_vectors(MCP[:1]) as server, httpx.AsyncClient(trust_env=False) as client:
            return (await client.post(server.url(MCP[0]))).status_code

    assert anyio.run(talk) == 415


# -- the vectors --------------------------------------------------------------------------------------------


def test_ids_that_files_share_are_made_unique(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    files = [
        written(tmp_path, "first file.json", {"same": {"n": 1}, "only": {"n": 2}}),
        written(tmp_path / "a", "x.json", {"same": {"n": 3}, "x.same": {"n": 4}}),
        written(tmp_path / "b", "x.json", {"same": {"n": 5}}),
        written(tmp_path, f"{'y' * 60}.json", {"z" * 100: {"n": 6}}),
        written(tmp_path, f"{'y' * 61}.json", {"z" * 100: {"n": 7}}),
    ]
    vectors = [vector for file in files for vector in load(file)]
    long = f"{'y' * 20}.{'z' * 100}"
    with running_vectors(vectors) as server, Buyer(server.catalogue, connect=False) as buyer:
        names = list(server.names.values())
        assert names == [
            "first-file.same", "only", "x.same-2", "x.same", "x.same-3", long, f"{long}-2",
        ]  # fmt: skip
        assert all(re.fullmatch(r"[\w.-]{1,128}", name, re.ASCII) for name in names)
        for number, vector in enumerate(vectors, start=1):
            buyer.url = server.url(vector)
            buyer.stateless = True
            assert buyer.call("get_products")["n"] == number


def test_only_those_of_mcp_are_served(tmp_path: Path) -> None:
    a2a = load(written(tmp_path, "a2a.json", {"task": {"status": {}}}, transport="a2a"))
    with running_vectors([*MCP[:1], *a2a]) as server:
        assert list(server.names) == MCP[:1]
        with pytest.raises(KeyError):
            server.url(a2a[0])
    with pytest.raises(VectorError, match=r"a2a\.json: there is no vector of transport mcp"):
        chosen(str(tmp_path / "a2a.json"))


def test_responses_are_built_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build: Any = Vector.response.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Vector, "response", property(lambda vector: built.append(vector.id) or build(vector)))
    with running_vectors(MCP) as server, Buyer(server.catalogue) as buyer:
        buyer.tools()
        assert built == []
        for _ in range(2):
            called(buyer, MCP[5].id)
        assert built == [MCP[5].id] * 2


# -- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    written(tmp_path, "a.json", {"one": {"content": []}})
    written(tmp_path, "b.json", {"two": {"content": []}})
    (tmp_path / "notes.txt").write_text("no vectors")
    return tmp_path


def test_command_serves_a_folder(folder: Path) -> None:
    options = ["--vectors", str(folder), "--path", "/v1/mcp", "--version", "3.2", "--no-sessions"]
    with started(*options, "--answers", "sse", "--until-stdin-closes") as (process, url):
        assert url.endswith("/v1/mcp")
        with Buyer(url) as buyer:
            assert [tool["name"] for tool in buyer.tools()] == ["one", "two"]
            assert buyer.call("two") == {"content": []}
        with Buyer(url.replace("/v1/mcp", "/one/v1/mcp")) as buyer:
            assert buyer.payload("get_adcp_capabilities")["adcp_version"] == "3.2"
            assert buyer.call("get_products") == {"content": []}
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_command_serves_one_file_and_our_own(folder: Path) -> None:
    for where, count in ((str(folder / "a.json"), 1), ("own", len(MCP))):
        with started("--vectors", where) as (_, url), Buyer(url) as buyer:
            assert len(buyer.tools()) == count


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{folder}", "--fault", "nested-result"], "--fault: not with --vectors"),
        (["{folder}/none"], "--vectors: {folder}/none: No such file or directory"),
        (["{folder}/empty"], "--vectors: {folder}/empty: there is no *.json in this folder"),
        (["{folder}/notes.txt"], "--vectors: {folder}/notes.txt: line 1 column 1: "),
        (["{folder}/bad.json"], "--vectors: {folder}/bad.json: /vectors/0: 'id' is missing"),
    ],
)
def test_mistakes_are_named(folder: Path, arguments: list[str], said: str) -> None:
    (folder / "empty").mkdir()
    bad = {"description": "", "path": "none", "response": {}, "expected_data": None}
    (folder / "bad.json").write_text(json.dumps({"version": 1, "vectors": [bad]}))
    result = ended("--port", "0", "--vectors", *(text.format(folder=folder) for text in arguments))
    assert result.returncode == 2
    assert said.format(folder=folder) in result.stderr
    assert "Traceback" not in result.stderr
