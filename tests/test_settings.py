"""The settings of a run: what is made of the options, and every way in which they are wrong."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.alarms import AlarmSettings
from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.library.settings import LibrarySettings
from pytest_adcp.harness.options import BY_NAME, OPTIONS
from pytest_adcp.harness.plan import ConfiguredCall
from pytest_adcp.harness.redact import Redactor
from pytest_adcp.harness.settings import DEMO_ACCOUNT, Profile, Settings
from pytest_adcp.harness.standards import packaged
from pytest_adcp.harness.transcript import Limits
from told import CLIENT, OAUTH, OWN, URL, complaint, quiet, told


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, and an environment that says nothing."""
    quiet(monkeypatch, tmp_path)
    return tmp_path


def test_what_only_the_file_can_say() -> None:
    result = told(
        yaml="""
server_url: https://seller.example/mcp
production: true
plan: {auto: false}
account: {account_id: a1}
calls:
  - {tool: get_products, name: brief, arguments: {brief: CTV}, expect: success}
  - {tool: get_products, expect: error, error_codes: [VERSION_UNSUPPORTED]}
  - {tool: get_signals}
"""
    )
    assert result.production
    assert not result.auto
    assert result.account == {"account_id": "a1"}
    assert result.calls == (
        ConfiguredCall("get_products", "brief", {"brief": "CTV"}, Expect.SUCCESS),
        ConfiguredCall("get_products", "call-2", {}, Expect.ERROR, ("VERSION_UNSUPPORTED",)),
        ConfiguredCall("get_signals", "call-3"),
    )
    assert result.config_file == Path.cwd() / "adcp.yaml"


def test_defaults() -> None:
    result = told(URL)
    assert result.target is not None
    assert result == Settings(
        target=result.target,
        demo=False,
        replay=None,
        profiles=(Profile.CORE,),
        tools=(),
        limits=Limits(),
        mutating=False,
        sandbox_account=None,
        account=None,
        calls=(),
        auto=True,
        probes=True,
        app=None,
        standards=packaged(),
        oauth="2.1",
        interop=True,
        spec=None,
        schemas=None,
        report_dir=Path.cwd() / "adcp-report",
        record=None,
        alarms=AlarmSettings(),
        sarif=None,
        strict=False,
        production=False,
        library=LibrarySettings(None, None, Path.cwd(), 10.0, 0, 0, (), Path.cwd() / "adcp-report"),
        plan_only=False,
        trace=False,
        keep_transcript=True,
        ca_file=None,
        client_cert=None,
        proxy=None,
        config_file=None,
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.strict = True


# fmt: off
WRONG = [
    ([], None, "adcp: no server to judge; pass --server-url=URL, or give server_url in adcp.yaml"),
    ([], "strict: true", "adcp.yaml, line 1: no server to judge; pass --server-url=URL, or give server_url in adcp.yaml"),
    (["--server-url="], None, '--server-url: "" has no scheme (https://)'),
    (["--server-url=seller.example/mcp"], None,
     '--server-url: "seller.example/mcp" has no scheme (https://); did you mean https://seller.example/mcp?'),
    (["--server-url=https://u:p-s3cret@h:x/?key=s3cret"], None, '--server-url: "https://[redacted]@h:x/?key=[redacted]" has no valid port'),
    (["--server-url=https://user:abc@h/"], None,
     '--server-url: "https://[redacted]@h/": the password has fewer than 4 characters: too short to be kept out of the report'),
    ([], "\nserver_url: htps://h/",
     'adcp.yaml, line 2, server_url: "htps://h/" has a scheme other than http and https; did you mean https://h/?'),
    ([URL, "--adcp-config=gone.yaml"], None, "gone.yaml: cannot be read: No such file or directory"),
    ([URL], "concurency: 2", 'adcp.yaml, line 1, concurency: unknown key; did you mean "concurrency"?'),
    ([URL, "--adcp-profile=cor"], None,
     '--adcp-profile: unknown profile "cor"; did you mean "core"? (known: core, connected-apps, client)'),
    ([URL, "--adcp-profile=core,"], None, "--adcp-profile: must be a name, or several with commas between them"),
    ([URL], "strict: true\nprofiles: clint",
     'adcp.yaml, line 2, profiles: unknown profile "clint"; did you mean "client"? (known: core, connected-apps, client)'),
    ([URL, "--adcp-tool="], None, "--adcp-tool: must be a name, or several with commas between them"),
    ([URL, "--adcp-concurrency=65"], None, '--adcp-concurrency: must be a whole number from 1 to 64, not "65"'),
    ([URL, "--adcp-concurrency=0x4"], None, '--adcp-concurrency: must be a whole number from 1 to 64, not "0x4"'),
    ([URL, "--adcp-concurrency=٤"], None, '--adcp-concurrency: must be a whole number from 1 to 64, not "٤"'),
    ([URL, "--adcp-request-timeout=0"], None, '--adcp-request-timeout: must be a number of seconds up to 86400, not "0"'),
    ([URL, "--adcp-survey-timeout=nan"], None, '--adcp-survey-timeout: must be a number of seconds up to 86400, not "nan"'),
    ([URL, "--adcp-max-response-bytes=16 miles"], None,
     '--adcp-max-response-bytes: must be a size of 1 KiB to 1 GiB, such as 16777216, 16MiB or 4MB, not "16 miles"'),
    ([URL, "--adcp-client-limit=1"], None,
     '--adcp-client-limit: must be a size of 1 KiB to 1 GiB, such as 16777216, 16MiB or 4MB, not "1"'),
    ([URL], "client_limit: 2GiB",
     'adcp.yaml, line 1, client_limit: must be a size of 1 KiB to 1 GiB, such as 16777216, 16MiB or 4MB, not "2GiB"'),
    ([URL, "--adcp-rate=5/m"], None, '--adcp-rate: must be a number of requests per second, such as 5 or 0.5/s, not "5/m"'),
    ([URL, "--adcp-spec=3.3"], None, '--adcp-spec: unknown AdCP release "3.3"; did you mean "3.2"? (known: 3.0, 3.1, 3.2)'),
    ([URL, "--adcp-schemas=nowhere"], None, '--adcp-schemas: "nowhere" is not a folder'),
    ([URL], "schemas: adcp.yaml", 'adcp.yaml, line 1, schemas: "adcp.yaml" is not a folder'),
    ([URL, "--adcp-sandbox-account={"], None,
     "--adcp-sandbox-account: is not JSON: Expecting property name enclosed in double quotes at character 2"),
    ([URL, "--adcp-sandbox-account=[]"], None, '--adcp-sandbox-account: must be a JSON object, such as {"account_id": "..."}'),
    ([URL, '--adcp-sandbox-account={"a": NaN}'], None,
     "--adcp-sandbox-account: is not JSON that can be sent: NaN, an odd surrogate or too much nesting"),
    ([URL, '--adcp-sandbox-account={"brand": {}}'], None, '--adcp-sandbox-account: must say "sandbox": true, or name an account_id'),
    ([URL, '--adcp-sandbox-account={"account_id": "a", "sandbox": false}'], None, '--adcp-sandbox-account: "sandbox" must be true'),
    ([URL], "sandbox_account: {account_id: ''}", 'adcp.yaml, line 1, sandbox_account: must say "sandbox": true, or name an account_id'),
    ([URL, "--adcp-allow-mutating"], None,
     "--adcp-allow-mutating: needs a sandbox account: --adcp-sandbox-account JSON, sandbox_account in adcp.yaml, or an "
     "account there that says sandbox: true"),
    ([URL], "account: {account_id: a}\nplan: {mutating: true}",
     "adcp.yaml, line 2, plan.mutating: needs a sandbox account: --adcp-sandbox-account JSON, sandbox_account in adcp.yaml, "
     "or an account there that says sandbox: true"),
    ([URL], "calls: [{tool: a, name: x}, {tool: b, name: x},\n {tool: a, name: x}]",
     'adcp.yaml, line 2, calls[2].name: "a/x" is the name of another call (adcp.yaml, line 1, calls[0].name)'),
    ([URL], "calls:\n- {tool: a}\n- {tool: a, name: call-1}",
     'adcp.yaml, line 3, calls[1].name: "a/call-1" is the name of another call (adcp.yaml, line 2, calls[0].tool)'),
    ([URL], "calls: [{tool: a, expect: success, error_codes: [X]}]",
     "adcp.yaml, line 1, calls[0].error_codes: a call that is expected to succeed has no error codes"),
    ([URL, "--adcp-extractor=a:b"], None, "--adcp-extractor: judges client libraries; add --adcp-profile=client"),
    ([CLIENT, "--adcp-extractor=''"], None, "--adcp-extractor: an empty text is neither a command nor module:function"),
    ([CLIENT, "--adcp-client-command=x 'y"], None, """--adcp-client-command: "x 'y" is no command: No closing quotation"""),
    ([CLIENT, "--adcp-fuzz=-1"], None, "--adcp-fuzz: must be a whole number from 0 to 10000000, not \"-1\""),
    ([CLIENT, "--adcp-vectors=gone.json"], None, '--adcp-vectors: "gone.json" cannot be read: No such file'),
    ([URL, "--adcp-baseline=gone.yaml"], None, '--adcp-baseline: there is no "gone.yaml"; --adcp-write-baseline FILE writes the first one'),
    ([URL, "--adcp-baseline=a.yaml", "--adcp-write-baseline=b.yaml"], None,
     '--adcp-baseline: there is no "a.yaml"; --adcp-write-baseline FILE writes the first one'),
    ([URL, "--adcp-write-baseline=."], None, '--adcp-write-baseline: "." is not a file in a folder that is there'),
    ([URL], "write_baseline: gone/b.yaml", 'adcp.yaml, line 1, write_baseline: "gone/b.yaml" is not a file in a folder that is there'),
    ([URL, "--adcp-compare=gone.json"], None, '--adcp-compare: "gone.json" cannot be read: No such file'),
    ([URL, "--adcp-fail-on=new"], None, "--adcp-fail-on: new needs an earlier report.json to compare with: --adcp-compare FILE"),
    ([URL, "--adcp-fail-on=newest"], None,
     '--adcp-fail-on: unknown kind of failure "newest"; did you mean "new"? (known: failed, new)'),
    ([URL, "--adcp-ca-file=gone.pem"], None, '--adcp-ca-file: "gone.pem" cannot be read: No such file'),
    ([URL, "--adcp-ca-file=env"], None, "--adcp-ca-file: env asks for SSL_CERT_FILE, which is not set"),
    ([URL, "--adcp-client-cert=gone.pem"], None, '--adcp-client-cert: "gone.pem" cannot be read: No such file'),
    ([URL, "--adcp-client-cert=" + "x" * 256], None, f'--adcp-client-cert: "{"x" * 100}…" (156 more) is no name of a file or folder'),
    ([URL, "--adcp-report-dir="], None, '--adcp-report-dir: "" is no name of a file or folder'),
    ([URL, "--adcp-report-dir=adcp.yaml"], "strict: true", '--adcp-report-dir: "adcp.yaml" is not a folder'),
    ([URL, "--adcp-record=."], None, '--adcp-record: "." is not a file in a folder that is there'),
    ([URL], "record: gone/x", 'adcp.yaml, line 1, record: "gone/x" is not a file in a folder that is there'),
    ([URL], 'report_dir: "a\\0b"', r'adcp.yaml, line 1, report_dir: "a\u0000b" is no name of a file or folder'),
    ([URL, "--adcp-proxy=proxy:3128"], None, '--adcp-proxy: "proxy:3128" has no scheme (https://); did you mean https://proxy:3128?'),
    ([URL, "--adcp-proxy=http://u:abc@proxy"], None,
     '--adcp-proxy: "http://[redacted]@proxy": the password has fewer than 4 characters: too short to be kept out of the report'),
    (["--adcp-replay=gone.jsonl"], None, '--adcp-replay: "gone.jsonl" cannot be read: No such file'),
    ([URL, "--adcp-bearer-env=SELER_TOKEN"], None,
     "--adcp-bearer-env: the environment variable SELER_TOKEN is not set; did you mean SELLER_TOKEN?"),
    ([URL, "--adcp-bearer-env=NOTHING_LIKE_IT"], None, "--adcp-bearer-env: the environment variable NOTHING_LIKE_IT is not set"),
    ([URL, "--adcp-bearer-env=EMPTY"], None, "--adcp-bearer-env: the environment variable EMPTY is empty"),
    ([URL, "--adcp-bearer-env=SHORT"], None,
     "--adcp-bearer-env: the token has fewer than 4 characters: too short to be kept out of the report (in SHORT)"),
    ([URL, "--adcp-bearer-env=my-s3cret"], None,
     "--adcp-bearer-env: wants the name of an environment variable; the secret itself is never written here"),
    ([URL, "--adcp-bearer-env=eyJhbGciOiJs3cret"], None,
     "--adcp-bearer-env: wants the name of an environment variable; the secret itself is never written here"),
    ([URL, "--adcp-basic-env=SELLER_KEY"], None, "--adcp-basic-env: is not of the form user:password (in SELLER_KEY)"),
    ([URL, "--adcp-header-env=SELLER_KEY"], None,
     "--adcp-header-env: must be NAME=VARIABLE: a header and the environment variable that holds its value"),
    ([URL, "--adcp-header-env=X-Key=s3cret=1"], None,
     "--adcp-header-env: wants the name of an environment variable; the secret itself is never written here"),
    ([URL, "--adcp-header-env=Host=SELLER_KEY"], None,
     "--adcp-header-env: the header Host belongs to the protocol and is set by the harness (in SELLER_KEY)"),
    ([URL, "--adcp-bearer-env=SELLER_TOKEN", "--adcp-basic-env=SELLER_LOGIN"], None,
     "--adcp-bearer-env and --adcp-basic-env: two kinds of Authorization at once; keep one"),
    ([URL, "--adcp-bearer-env=SELLER_TOKEN", "--adcp-header-env=authorization=SELLER_KEY"], None,
     "--adcp-bearer-env and --adcp-header-env: two kinds of Authorization at once; keep one"),
    (["--server-url=https://u:p-s3cret@h/", "--adcp-bearer-env=SELLER_TOKEN"], None,
     '--server-url: "https://[redacted]@h/": two kinds of Authorization at once (bearer and basic); keep one'),
]
# fmt: on


@pytest.mark.parametrize(("arguments", "yaml", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong(monkeypatch, arguments: list[str], yaml: str | None, words: str) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("SHORT", "abc")
    assert complaint(*arguments, yaml=yaml) == words


def test_a_variable_is_named_where_it_is_wrong(monkeypatch) -> None:
    monkeypatch.setenv("ADCP_CONCURRENCY", "lots")
    assert complaint(URL) == 'ADCP_CONCURRENCY: must be a whole number from 1 to 64, not "lots"'
    monkeypatch.setenv("ADCP_CONCURRENCY", "1")
    monkeypatch.setenv("ADCP_STRICT", "maybe")
    assert complaint(URL) == 'ADCP_STRICT: must be 1 or 0, not "maybe"'


def test_the_demo_reads_no_file_of_its_own_accord() -> None:
    result = told("--server-url=demo", "--adcp-bearer-env=UNSET", yaml="nonsense: [")
    assert (result.demo, result.target, result.config_file) == (True, None, None)
    assert result.public()["server_url"] == "demo"


def test_the_demo_reads_a_file_that_is_named() -> None:
    Path("adcp.yaml").write_text("calls: [{tool: a}]\nauth: {bearer_env: UNSET}\n")
    result = told("--server-url=demo", "--adcp-config=adcp.yaml")
    assert [call.tool for call in result.calls] == ["a"]
    assert told(yaml="server_url: demo").demo


def test_the_demo_has_a_sandbox_account() -> None:
    result = told("--server-url=demo", "--adcp-allow-mutating")
    assert (result.mutating, result.sandbox_account) == (True, DEMO_ACCOUNT)
    assert DEMO_ACCOUNT["sandbox"] is True


def test_an_account_that_says_sandbox_will_do() -> None:
    result = told(URL, "--adcp-allow-mutating", yaml="account: {operator: o.example, sandbox: true}")
    assert result.mutating
    assert result.sandbox_account == result.account == {"operator": "o.example", "sandbox": True}


SURVEYS = [option for option in OPTIONS if option.surveys]


def test_which_options_decide_what_is_sent() -> None:
    assert {option.name for option in OPTIONS} - {option.name for option in SURVEYS} == {
        *("config", "explain", "no-transcript", "production", "profile", "replay", "report-dir", "rules"),
        "sarif",
        *("schemas", "spec", "strict", "tool", "trace", "vectors"),
        *("extractor", "client-command", "extractor-timeout", "fuzz", "seed"),
        *("baseline", "write-baseline", "compare", "fail-on"),
    }


@pytest.mark.parametrize("option", SURVEYS, ids=lambda option: option.name)
def test_a_replay_takes_no_option_that_decides_what_is_sent(monkeypatch, option) -> None:
    Path("run.jsonl").touch()
    argument = option.flag if option.metavar is None else f"{option.flag}=1"
    words = "the recording settles what is sent"
    assert (
        complaint("--adcp-replay=run.jsonl", argument)
        == f"{option.flag} cannot be used with --adcp-replay: {words}"
    )
    assert (
        complaint(argument, yaml="replay: run.jsonl")
        == f"{option.flag} cannot be used with adcp.yaml, line 1, replay: {words}"
    )
    monkeypatch.setenv(option.variable, "1")
    assert (
        complaint("--adcp-replay=run.jsonl")
        == f"{option.variable} cannot be used with --adcp-replay: {words}"
    )


def test_a_replay_leaves_the_survey_to_the_recording() -> None:
    Path("run.jsonl").touch()
    result = told(
        *("--adcp-replay=run.jsonl", "--adcp-strict", "--adcp-tool=get_*"),
        yaml=OWN
        + "auth: {bearer_env: UNSET}\nconcurrency: 9\ncalls: [{tool: a}]\naccount: {account_id: a}\nplan: {auto: false, mutating: true}\n"
        "spec: 3.1\nproduction: true\nprofiles: [core, client]\nreport_dir: out\nca_file: gone.pem\n",
    )
    assert result.replay == Path.cwd() / "run.jsonl"
    assert (result.target, result.limits, result.calls, result.account) == (None, Limits(), (), None)
    assert (result.auto, result.mutating, result.ca_file) == (True, False, None)
    assert (result.spec, result.production, result.strict, result.tools) == ("3.1", True, True, ("get_*",))
    assert (result.profiles, result.report_dir.name) == ((Profile.CORE, Profile.CLIENT), "out")


def test_the_client_profile_alone_needs_no_server() -> None:
    assert told("--adcp-profile=client").target is None
    assert told("--adcp-profile=client", yaml=OWN + "auth: {bearer_env: UNSET}").target is None
    assert complaint("--adcp-profile=core,client", yaml="").startswith("adcp.yaml: no server to judge")


def test_paths_count_from_where_they_are_written(folder: Path) -> None:
    (folder / "conf").mkdir()
    for name in ("ca.pem", "conf/ca.pem", "v1.json", "v2.json", "conf/v.json", "client.pem"):
        (folder / name).touch()
    (folder / "conf/adcp.yaml").write_text(
        OWN + "ca_file: ca.pem\nvectors: v.json\nreport_dir: out\nrecord: x.jsonl\n"
    )
    result = told("--adcp-config=conf/adcp.yaml", "--adcp-client-cert=client.pem")
    assert result.ca_file == folder / "conf/ca.pem"
    assert result.library.vectors == (folder / "conf/v.json",)
    assert result.report_dir == folder / "conf/out"
    assert result.record == folder / "conf/x.jsonl"
    assert result.client_cert == folder / "client.pem"
    result = told(
        "--adcp-config=conf/adcp.yaml",
        "--adcp-profile=core,client",
        "--adcp-ca-file=ca.pem",
        "--adcp-vectors=v1.json",
        "--adcp-vectors=v2.json",
    )
    assert result.ca_file == folder / "ca.pem"
    assert result.library.vectors == (folder / "v1.json", folder / "v2.json")


def test_the_environments_ca_file_is_used_when_asked_for(folder: Path, monkeypatch) -> None:
    (folder / "ca.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", "ca.pem")
    assert told(URL).ca_file is None
    assert told(URL, "--adcp-ca-file=env").ca_file == folder / "ca.pem"


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "https://seller.example", "http://p:1"),
        ({"https_proxy": "http://p:2", "HTTPS_PROXY": "http://p:1"}, "https://seller.example", "http://p:2"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://seller.example", None),
        ({"ALL_PROXY": "http://p:3"}, "http://seller.example", "http://p:3"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "seller.example"}, "https://seller.example:8443", None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "other.example"}, "https://seller.example", "http://p:1"),
        ({}, "https://seller.example", None),
    ],
)
def test_the_environments_proxy_is_used_when_asked_for(
    monkeypatch, variables: dict, url: str, proxy: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert told(f"--server-url={url}").proxy is None
    assert told(f"--server-url={url}", "--adcp-proxy=env").proxy == proxy


def test_public_settings_are_json_with_every_option(folder: Path) -> None:
    result = told(
        "--server-url=https://user:passw@seller.example/mcp",
        "--adcp-rate=2",
        yaml="calls: [{tool: a, name: b}]",
    )
    shown = json.loads(json.dumps(result.public()))
    assert shown["server_url"] == "https://[redacted]@seller.example/mcp"
    assert shown["credentials"] == ["basic"]
    assert shown["calls"] == ["a/b"]
    assert (shown["rate"], shown["concurrency"], shown["request_timeout"]) == (2.0, 4, 30.0)
    assert (shown["config"], shown["report_dir"]) == ("adcp.yaml", "adcp-report")
    assert {option.key[0] for option in OPTIONS if option.key} <= {*shown, "auth"}


def test_no_secret_is_shown_anywhere() -> None:
    result = told(
        "--adcp-proxy=http://me:proxy-s3cret@proxy.example",
        yaml="server_url: https://seller.example/mcp?api_key=url-s3cret\n"
        "account: {account_id: a, token: account-s3cret}\n" + OAUTH,
    )
    shown = json.dumps(result.public())
    assert "s3cret" not in shown
    assert "s3cret" not in repr(dataclasses.replace(result, account=None))
    redactor = Redactor(result.secrets())
    for secret in ("bearer-s3cret", "url-s3cret", "proxy-s3cret"):
        assert redactor.text(secret) == "[redacted]"


VALUES = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=30) | st.sampled_from(
    [
        "demo",
        "https://a/",
        "https://u:p@a:1/",
        "1",
        "4MiB",
        "SELLER_TOKEN",
        "X-A=SELLER_KEY",
        "client",
        "{}",
        "env",
        ".",
    ]
)


@given(
    st.dictionaries(st.sampled_from([option.name for option in OPTIONS]), VALUES, max_size=4),
    st.dictionaries(st.sampled_from([option.variable for option in OPTIONS]), VALUES, max_size=2),
    st.dictionaries(
        st.sampled_from(["server_url", "auth", "name", "proxy", "calls", "vectors"]), VALUES, max_size=2
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
def test_anything_gives_settings_or_a_usage_error(
    monkeypatch, line: dict, variables: dict, keys: dict
) -> None:
    arguments = [
        BY_NAME[name].flag if BY_NAME[name].metavar is None else f"{BY_NAME[name].flag}={value}"
        for name, value in line.items()
    ]
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            result = told(*arguments, yaml=json.dumps(keys, ensure_ascii=False))
            shown = json.dumps(result.public()) + repr(result)
        except pytest.UsageError as error:
            shown = str(error)
    assert "\n" not in shown
    assert "s3cret" not in shown
