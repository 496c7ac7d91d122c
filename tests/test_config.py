"""adcp.yaml: what is read, and what is said about a bad one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pytest_adcp.harness.config import SCHEMA_FILE, Config, ConfigError, load
from pytest_adcp.harness.options import OPTIONS
from pytest_adcp.harness.settings import RELEASES, Profile

SCHEMA = json.loads(SCHEMA_FILE.read_text("utf-8"))

FULL = """\
server_url: https://seller.example/mcp
name: Acme
auth:
  bearer_env: SELLER_TOKEN
  header_env: {X-Tenant: SELLER_TENANT}
  oauth:
    token_url: https://auth.example/token
    client_id_env: CLIENT_ID
    client_secret_env: CLIENT_SECRET
    scope: adcp.read adcp.write
server: {command: serve --port 8000, folder: ., env: {TOKEN: SELLER_TOKEN, HOME: }, ready: 20}
plan: {auto: false, mutating: true, only: false}
calls:
  - tool: get_products
    name: brief
    arguments: {buying_mode: brief, brief: "CTV, sports", country: NO, start: 2026-01-01, at: 12:30:00, zip: 02134}
    expect: success
  - tool: get_products
    expect: error
    error_codes: [VERSION_UNSUPPORTED]
account: {account_id: a1}
sandbox_account: {brand: {domain: acme.example}, sandbox: true}
profiles: [core, client]
connected_apps: {limits: {tools: 40}, words: {internal_names: {add: [canary]}}, oauth: 2.0, third_party: true}
tools: get_*
concurrency: 8
request_timeout: 12.5
survey_timeout: 60
max_response_bytes: 32MiB
client_limit: 1048576
rate: 5/s
record: run.jsonl
replay: run.jsonl
report_dir: out
baseline: known.yaml
write_baseline: known.yaml
compare: last.json
fail_on: new
sarif: adcp.sarif
strict: true
spec: 3.1
schemas: bundles
production: true
vectors: [more.json]
extractor: my_client:extract
client_command: node client.mjs
extractor_timeout: 5
fuzz: 1000
seed: 7
ca_file: ca.pem
client_cert: client.pem
proxy: http://proxy.example:3128
trace: true
no_transcript: true
targets: [{name: beta, url: https://beta.example/mcp, auth: {basic_env: BETA}, baseline: known.yaml}]
fleet: {concurrency: 4, per_host: 2, timeout: 600}
quick: true
"""


def read(tmp_path: Path, text: str | bytes) -> Config:
    path = tmp_path / "adcp.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return load(path)


def outcome(tmp_path: Path, text: str | bytes) -> Config | ConfigError:
    try:
        return read(tmp_path, text)
    except ConfigError as error:
        return error


def complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> str:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_every_key(tmp_path: Path) -> None:
    config = read(tmp_path, FULL)
    assert set(config.values) == set(SCHEMA["properties"])
    assert config.get("auth", "oauth", "scope") == "adcp.read adcp.write"
    assert config.get("auth", "basic_env") is None
    assert config.get("name", "deeper") is None


def test_scalars_are_what_json_would_have(tmp_path: Path) -> None:
    arguments = read(tmp_path, FULL).values["calls"][0]["arguments"]
    assert arguments == {
        "buying_mode": "brief",
        "brief": "CTV, sports",
        "country": "NO",
        "start": "2026-01-01",
        "at": "12:30:00",
        "zip": "02134",
    }
    text = "account: {a: 1, b: -1.5e3, c: true, d: null, e: ~, f: yes, g: 0x10, h: .5, i: 1_000, j: '1', k: 1e3, l: [, ]}"
    values = read(tmp_path, text.replace("[, ]", "[]")).values["account"]
    assert values == {
        "a": 1,
        "b": -1500.0,
        "c": True,
        "d": None,
        "e": None,
        "f": "yes",
        "g": "0x10",
        "h": ".5",
        "i": "1_000",
        "j": "1",
        "k": 1000.0,
        "l": [],
    }


def test_where_says_file_line_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = read(tmp_path, FULL)
    assert config.where("calls", 0, "expect") == "adcp.yaml, line 17, calls[0].expect"
    assert config.where("calls", 1) == "adcp.yaml, line 18, calls[1]"
    assert config.where("auth", "header_env", "X-Tenant") == "adcp.yaml, line 5, auth.header_env.X-Tenant"
    assert config.where() == "adcp.yaml, line 1"


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "").values == {}
    assert read(tmp_path, "# only a comment\n").values == {}
    assert read(tmp_path, "\ufeffstrict: true").values == {"strict": True}


def test_aliases_are_expanded(tmp_path: Path) -> None:
    config = read(tmp_path, "account: &a {account_id: x}\nsandbox_account: *a\n")
    assert config.values["sandbox_account"] == {"account_id": "x"}


# fmt: off
YAML = [
    ("strict: [", "adcp.yaml, line 1: is not YAML: expected the node content, but found '<stream end>'"),
    ("a: b: c", "adcp.yaml, line 1: is not YAML: mapping values are not allowed here"),
    ("strict: true\nauth:\n\tbearer_env: X\n", "adcp.yaml, line 3: a tab where YAML allows only spaces"),
    ("strict: true\nname: a\nstrict: false\n", "adcp.yaml, line 3, strict: the key is given twice, first in line 1"),
    ("calls:\n- tool: a\n  arguments:\n    x: 1\n    x: 1\n",
     "adcp.yaml, line 5, calls[0].arguments.x: the key is given twice, first in line 4"),
    ("account:\n  1: x\n", 'adcp.yaml, line 2, account: "1" as a key is not text; put it in quotation marks'),
    ("account: {true: x}", 'adcp.yaml, line 1, account: "true" as a key is not text; put it in quotation marks'),
    ("account: {[a]: x}", "adcp.yaml, line 1, account: a list or mapping as a key is not text; put it in quotation marks"),
    ("account: {<<: {a: 1}}", 'adcp.yaml, line 1, account: merge keys ("<<") are not supported; write the members out'),
    ("strict: true\n---\nstrict: true\n", "adcp.yaml, line 2: a second document (---); the file holds one"),
    ("account: *nothing\n", "adcp.yaml, line 1: an alias (*) to an anchor (&) that is not there"),
    ("account:\n  a: !!python/object:os.system x\n", "adcp.yaml, line 2, account.a: a tag (!) that JSON has no value for"),
    ("account: {a: !!binary aGk=}", "adcp.yaml, line 1, account.a: a tag (!) that JSON has no value for"),
    ("account: {a: !!int x}", "adcp.yaml, line 1, account.a: not a value of its tag (!!int)"),
    ("account: {a: !!bool x}", "adcp.yaml, line 1, account.a: not a value of its tag (!!bool)"),
    ("account: {a: 1e999}", "adcp.yaml, line 1, account.a: a number that JSON cannot hold"),
    ("account: {a: " + "9" * 5000 + "}", "adcp.yaml, line 1, account.a: not a value of its tag (!!int)"),
    ('account: {a: "\\ud800"}', "adcp.yaml, line 1, account.a: half of a surrogate pair, which is no text"),
    ('\naccount: {a: "\\UFFFFFFFF"}', "adcp.yaml, line 2: is not YAML: an escape or a directive that means nothing"),
    ("strict: true\nname: a\x00b\n", "adcp.yaml, line 2: holds a character that YAML does not allow"),
    (b"strict: true\nname: \xff\n", "adcp.yaml, line 2: is not UTF-8 text"),
    ("account: " + "[" * 65 + "]" * 65, "adcp.yaml, line 1: nested deeper than 64 levels"),
    ("account: &a {x: *a}", "adcp.yaml, line 1, account" + ".x" * 64 + ": nested deeper than 64 levels, counting those behind aliases"),
    ("#" + "x" * 1024 * 1024, "adcp.yaml: is larger than 1048576 bytes"),
]
# fmt: on


@pytest.mark.parametrize(("text", "words"), YAML, ids=range(len(YAML)))
def test_what_is_no_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, words: str
) -> None:
    assert complaint(tmp_path, monkeypatch, text) == words


def test_a_dense_file_does_not_take_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.process_time()
    words = complaint(tmp_path, monkeypatch, "account: [\n" + "1," * 500_000 + "]")
    assert words == "adcp.yaml, line 2: more than 50000 keys and values"
    assert time.process_time() - began < 20


def test_aliases_cannot_make_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["account:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    began = time.process_time()
    words = complaint(tmp_path, monkeypatch, "\n".join(lines))
    assert words.endswith("more than 50000 values, counting those behind aliases")
    assert time.process_time() - began < 5


# fmt: off
KEYS = [
    ("calls:\n  - tool: a\n    expct: success\n", 'adcp.yaml, line 3, calls[0].expct: unknown key; did you mean "expect"?'),
    ("calls:\n  - tol: a\n", 'adcp.yaml, line 2, calls[0].tol: unknown key; did you mean "tool"?'),
    ("calls:\n  - name: a\n", 'adcp.yaml, line 2, calls[0]: the key "tool" is missing'),
    ("concurency: 4", 'adcp.yaml, line 1, concurency: unknown key; did you mean "concurrency"?'),
    ("adcp-request-timeout: 4", 'adcp.yaml, line 1, adcp-request-timeout: unknown key; did you mean "request_timeout"?'),
    ("bearer_env: V", 'adcp.yaml, line 1, bearer_env: unknown key; did you mean "auth.bearer_env"?'),
    ("allow_mutating: true", 'adcp.yaml, line 1, allow_mutating: unknown key; did you mean "plan.mutating"?'),
    ("plan: {zzz: 1}", "adcp.yaml, line 1, plan.zzz: unknown key; known here: auto, probes, interop, mutating, only"),
    ("plan: {'a b\x7f': 1}".replace("\x7f", "\\n"),
     'adcp.yaml, line 1, plan."a b\\\\n": unknown key; known here: auto, probes, interop, mutating, only'),
    ("[1, 2]", "adcp.yaml, line 1: must be a mapping of keys to values, not a list"),
    ("text", "adcp.yaml, line 1: must be a mapping of keys to values, not text"),
    ("strict: yes", "adcp.yaml, line 1, strict: must be true or false, not text"),
    ("strict:", "adcp.yaml, line 1, strict: must be true or false, not empty"),
    ("calls: {tool: a}", "adcp.yaml, line 1, calls: must be a list of calls, not a mapping"),
    ("calls: [a]",
     "adcp.yaml, line 1, calls[0]: must be a call: a mapping with tool, and with name, arguments, expect or error_codes, not text"),
    ("calls: [{tool: a, arguments: [1]}]", "adcp.yaml, line 1, calls[0].arguments: must be a mapping, not a list"),
    ("calls: [{tool: a, expect: sucess}]",
     'adcp.yaml, line 1, calls[0].expect: must be success, error or any, not "sucess"; did you mean "success"?'),
    ("calls: [{tool: a, name: 'a b'}]",
     'adcp.yaml, line 1, calls[0].name: must be a name of 1 to 64 letters, digits, dots, dashes and underscores, not "a b"'),
    ('calls: [{tool: "a\\n"}]', 'adcp.yaml, line 1, calls[0].tool: must be the name of a tool, not "a\\n"'),
    ("calls: [{tool: a, error_codes: []}]", "adcp.yaml, line 1, calls[0].error_codes: must be a list of AdCP error codes, not []"),
    ("concurrency: 65", "adcp.yaml, line 1, concurrency: must be a whole number from 1 to 64, not 65"),
    ("concurrency: lots", "adcp.yaml, line 1, concurrency: must be a whole number from 1 to 64, not text"),
    ("request_timeout: 0", "adcp.yaml, line 1, request_timeout: must be a number of seconds up to 86400, not 0"),
    ("client_limit: 4 apples",
     'adcp.yaml, line 1, client_limit: must be a size of 1 KiB to 1 GiB, such as 16777216, 16MiB or 4MB, not "4 apples"'),
    ("rate: fast", 'adcp.yaml, line 1, rate: must be a number of requests per second, such as 5 or 0.5/s, not "fast"'),
    ("spec: 3.3", 'adcp.yaml, line 1, spec: must be 3.0, 3.1 or 3.2, not 3.3; did you mean "3.2"?'),
    ("profiles: [core, cliet]",
     'adcp.yaml, line 1, profiles[1]: must be a profile: core, connected-apps or client, not "cliet"; did you mean "client"?'),
    ("auth: {oauth: {token_url: x}}", 'adcp.yaml, line 1, auth.oauth: the key "client_id_env" and "client_secret_env" is missing'),
    ("\n\nname: 'x'\nauth:\n  header_env: {}\n",
     "adcp.yaml, line 5, auth.header_env: must be a mapping from header names to names of environment variables; a secret "
     "itself never stands in this file"),
]
# fmt: on


@pytest.mark.parametrize(("text", "words"), KEYS, ids=range(len(KEYS)))
def test_what_the_schema_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    assert complaint(tmp_path, monkeypatch, text) == words


def test_the_first_complaint_is_the_one_of_the_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = complaint(tmp_path, monkeypatch, "strict: true\nconcurency: 1\ncalls:\n  - tol: a\nzzz: 1\n")
    assert words == 'adcp.yaml, line 2, concurency: unknown key; did you mean "concurrency"?'


SECRET = "hunter2-s3cret-T0ken"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"auth: {{bearer: {SECRET}}}",
            "auth.bearer: a secret itself never stands in this file; put it into an environment variable and name that in bearer_env",
        ),
        (
            f"token: {SECRET}",
            "token: a secret itself never stands in this file; put it into an environment variable and name that in auth.bearer_env",
        ),
        (
            f"auth: {{password: {SECRET}}}",
            "auth.password: a secret itself never stands in this file; put it into an environment variable and name that in basic_env",
        ),
        (
            f"auth:\n {{headers: {{X-Api-Key: {SECRET}}}}}",
            "auth.headers: a secret itself never stands in this file; put it into an environment variable and name that in header_env",
        ),
        (
            f"auth: {{oauth: {{client_secret: {SECRET}}}}}",
            "auth.oauth.client_secret: a secret itself never stands in this file; put it into an environment variable and name that "
            "in client_secret_env",
        ),
        (
            f"auth: {{bearer_env: {SECRET}}}",
            "auth.bearer_env: must be the name of an environment variable, such as SELLER_TOKEN; a secret itself never stands in this file",
        ),
        (
            f"auth: {{header_env: {{X-Api-Key: Bearer {SECRET}}}}}",
            "auth.header_env.X-Api-Key: must be the name of an environment variable, such as SELLER_TOKEN; a secret itself never "
            "stands in this file",
        ),
        (
            f"auth: {SECRET}",
            "auth: must be a mapping with bearer_env, basic_env, oauth or header_env, not text",
        ),
        (
            f"auth: [{SECRET}]",
            "auth: must be a mapping with bearer_env, basic_env, oauth or header_env, not a list",
        ),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    told = complaint(tmp_path, monkeypatch, text)
    assert told.partition(", ")[2].partition(", ")[2] == words
    assert SECRET not in told


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^gone\.yaml: cannot be read: No such file or directory$"):
        load(tmp_path / "gone.yaml")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=r"^folder: cannot be read: Is a directory$"):
        load(tmp_path / "folder")
    (tmp_path / "odd\x1b.yaml").write_text("[]")
    with pytest.raises(ConfigError, match=r"^odd\\x1b\.yaml, line 1: "):
        load(tmp_path / "odd\x1b.yaml")


def test_the_schema_is_one_and_explains_itself() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    named = [SCHEMA, *SCHEMA["properties"].values(), *SCHEMA["$defs"]["call"]["properties"].values()]
    for group in ("auth", "plan"):
        named += SCHEMA["properties"][group]["properties"].values()
    assert all(len(schema["description"]) > 10 for schema in named)


def test_the_schema_knows_every_option_and_the_same_choices() -> None:
    for option in OPTIONS:
        place = SCHEMA
        for key in option.key:
            place = place["properties"][key]
    assert {option.name for option in OPTIONS if not option.key} == {
        *("config", "explain", "rules", "shard", "write-config")
    }
    assert SCHEMA["properties"]["profiles"]["items"]["enum"] == list(Profile)
    assert SCHEMA["properties"]["spec"]["enum"] == [*RELEASES, *map(float, RELEASES)]


@given(st.text(st.characters(codec=None), max_size=200) | st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
def test_any_file_is_read_or_refused(tmp_path: Path, text: str | bytes) -> None:
    found = outcome(tmp_path, text)
    if isinstance(found, ConfigError):
        assert str(found).startswith(str(tmp_path / "adcp.yaml"))
    else:
        json.dumps(found.values).encode()


# fmt: off
PIECES = [
    *("a", ": ", "- ", "\n", "  ", "\t", "{", "}", "[", "]", ",", "&a", "*a", "!!", "!x ", "|", ">", "'", '"', "\\", "?", "#"),
    *("%YAML 9.9\n", "---", "...", "\\x", "\\U00110000", "<<", "~", "1e9", "auth", "calls", "tool", "strict", "true", "@", "`"),
]
# fmt: on


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500)
def test_any_pieces_of_yaml_are_read_or_refused(tmp_path: Path, text: str) -> None:
    found = outcome(tmp_path, text)
    if isinstance(found, ConfigError):
        assert "\n" not in str(found)
    else:
        Draft202012Validator(SCHEMA).validate(found.values)


TEXT = st.text(st.characters(max_codepoint=0xD7FF), max_size=8)  # beyond, JSON's pairs of escapes are no YAML
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tool", "bearer_env", "auto", "x", "oauth", "token_url"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), VALUES, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
def test_json_is_read_as_it_is_and_judged_by_the_schema(tmp_path: Path, data: dict) -> None:
    valid = Draft202012Validator(SCHEMA).is_valid(data)
    found = outcome(tmp_path, json.dumps(data))
    if isinstance(found, ConfigError):
        # In Python a pattern's $ also stands before a last line break; in JSON Schema it does not.
        assert not valid or any(isinstance(value, str) and value.endswith("\n") for value in data.values())
    else:
        assert found.values == data
        Draft202012Validator(SCHEMA).validate(data)
