"""The options: how they are registered, what asks for a run, and which of three places wins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_adcp.harness.options import BY_NAME, OPTIONS, build, selected
from pytest_adcp.harness.settings import Profile
from pytest_adcp.harness.transcript import Limits
from told import SANDBOX, URL, quiet, told

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, and an environment that says nothing."""
    quiet(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def configure(pytester: pytest.Pytester):
    """Return a function that gives pytest's config for a command line, with the plugin as it is installed."""
    return lambda *arguments: pytester.parseconfig(*arguments)


def test_start_up_imports_nothing_but_pytest_and_the_standard_library() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import pytest_adcp.harness.options;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert [name for name in done.stdout.split() if not name.startswith("__editable__")] == ["pytest_adcp"]


def test_every_option_is_registered_with_one_sentence_of_help(configure) -> None:
    config = configure()
    for option in OPTIONS:
        assert getattr(config.option, option.dest) is None, option.name
        assert option.help.endswith(".")
        assert option.help.count(". ") == 0
        assert option.help[0].isupper()


def test_help_gives_the_defaults_that_are_used() -> None:
    limits = Limits()
    for name, default in [
        ("concurrency", f"default {limits.concurrency},"),
        ("request-timeout", f"default {limits.request_timeout:g})"),
        ("survey-timeout", f"default {limits.survey_timeout:g})"),
        ("max-response-bytes", f"default {limits.max_response_bytes // 2**20}MiB)"),
        ("client-limit", f"default {limits.client_limit // 2**20}MiB)"),
        ("report-dir", "default ./adcp-report)"),
    ]:
        assert default in BY_NAME[name].help
    assert all(profile in BY_NAME["profile"].help for profile in Profile)


def test_server_url_is_ours_where_nobody_owns_it(configure) -> None:
    assert configure(URL).option.adcp_server_url == "https://seller.example/mcp"
    assert configure("--server-url", "demo").option.adcp_server_url == "demo"


def test_server_url_stays_with_a_conftest_that_owns_it(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--server-url", help="of this project")
        """
    )
    pytester.makepyfile(
        """
        def test_theirs(pytestconfig):
            assert pytestconfig.getoption("--server-url") == "http://theirs"
            assert not hasattr(pytestconfig.option, "adcp_server_url")
        """
    )
    result = pytester.runpytest_inprocess("--server-url=http://theirs", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "variables", "asks"),
    [
        ([], {}, False),
        ([URL], {}, True),
        ([], {"ADCP_SERVER_URL": "demo"}, True),
        ([], {"ADCP_SERVER_URL": ""}, False),
        (["--adcp-config=x.yaml"], {}, True),
        (["--adcp-replay=x.jsonl"], {}, True),
        ([], {"ADCP_REPLAY": "x.jsonl"}, True),
        (["--adcp-profile=client"], {}, True),
        (["--adcp-profile=core", "--adcp-profile=core, client"], {}, True),
        ([], {"ADCP_PROFILE": "core,client"}, True),
        (["--adcp-profile=core"], {"ADCP_PROFILE": "client"}, False),
        (["--adcp-strict", "--adcp-concurrency=2"], {"ADCP_TOOL": "x"}, False),
    ],
)
def test_what_asks_for_a_run(
    configure, monkeypatch, arguments: list[str], variables: dict, asks: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Path("adcp.yaml").write_text("server_url: https://seller.example/mcp\n")
    assert selected(configure(*arguments)) is asks


def test_build_is_what_pytest_was_told(configure, pytester: pytest.Pytester) -> None:
    (pytester.path / "adcp.yaml").write_text("name: Acme\nconcurrency: 2\n")
    result = build(configure(URL, "--adcp-strict", "--adcp-tool=get_*", "--adcp-tool=list_*,sync_*"))
    assert result.target is not None
    assert (result.target.url, result.target.name) == ("https://seller.example/mcp", "Acme")
    assert result.tools == ("get_*", "list_*", "sync_*")
    assert result.limits == Limits(concurrency=2)
    assert result.strict
    assert result.report_dir == pytester.path / "adcp-report"


def test_a_usage_error_is_one_line_and_exit_code_4(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("")
    result = pytester.runpytest_inprocess("--server-url=http://127.0.0.1:9/mcp", "--adcp-concurrency=0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [
        'ERROR: --adcp-concurrency: must be a whole number from 1 to 64, not "0"'
    ]


def test_the_folder_of_schemas(monkeypatch) -> None:
    for name in "abc":
        Path(name).mkdir()
    assert told(URL).schemas is None
    Path("adcp.yaml").write_text("schemas: c\n")
    assert told(URL).schemas == Path.cwd() / "c"
    monkeypatch.setenv("ADCP_SCHEMAS", "b")
    assert told(URL).schemas == Path.cwd() / "b"
    assert told(URL, "--adcp-schemas=a").schemas == Path.cwd() / "a"
    assert told(URL, "--adcp-schemas=a").public()["schemas"] == "a"


# fmt: off
ORDER = [
    ("concurrency", "8", "7", "6", lambda told: told.limits.concurrency, (8, 7, 6, 4)),
    ("request-timeout", "8", "7.5s", "6.5", lambda told: told.limits.request_timeout, (8.0, 7.5, 6.5, 30.0)),
    ("survey-timeout", "80", "70", "60", lambda told: told.limits.survey_timeout, (80.0, 70.0, 60.0, 300.0)),
    ("max-response-bytes", "8MiB", "7kB", "6000", lambda told: told.limits.max_response_bytes, (8 << 20, 7000, 6000, 16 << 20)),
    ("client-limit", "8MB", "7 kib", "1.5MiB", lambda told: told.limits.client_limit, (8_000_000, 7168, 3 << 19, 4 << 20)),
    ("rate", "8/s", "0.5", "6", lambda told: told.limits.rate, (8.0, 0.5, 6.0, None)),
    ("spec", "3.2", "3.1", "3.0", lambda told: told.spec, ("3.2", "3.1", "3.0", None)),
    ("profile", "client,core", "core", "[client, core]", lambda told: told.profiles,
     (("client", "core"), ("core",), ("client", "core"), ("core",))),
    ("tool", "a", "b,c", "[d, e]", lambda told: told.tools, (("a",), ("b", "c"), ("d", "e"), ())),
    ("report-dir", "a", "b", "c", lambda told: told.report_dir.name, ("a", "b", "c", "adcp-report")),
    ("record", "a", "b", "c", lambda told: told.record and told.record.name, ("a", "b", "c", None)),
    ("sarif", "a", "b", "c", lambda told: told.sarif and told.sarif.name, ("a", "b", "c", None)),
    ("proxy", "http://a", "http://b", "http://c", lambda told: told.proxy, ("http://a", "http://b", "http://c", None)),
    ("sandbox-account", SANDBOX, '{"account_id": "b"}', '{"account_id": "c"}',
     lambda told: told.sandbox_account and told.sandbox_account["account_id"], ("sandbox-1", "b", "c", None)),
    ("server-url", "https://a/", "https://b/", "https://c/", lambda told: told.target.url, ("https://a/", "https://b/", "https://c/")),
]
# fmt: on


def as_yaml(name: str, value: str) -> str:
    option = BY_NAME[name]
    nested = value
    for key in reversed(option.key[1:]):
        nested = f"{{{key}: {nested}}}"
    return f"{option.key[0]}: {nested}\n"


@pytest.mark.parametrize(
    ("name", "line", "variable", "key", "look", "wanted"), ORDER, ids=[row[0] for row in ORDER]
)
def test_command_line_over_environment_over_file(
    monkeypatch, name, line, variable, key, look, wanted
) -> None:
    option = BY_NAME[name]
    common = [] if name == "server-url" else [URL]
    if len(wanted) == 4:
        assert look(told(*common)) == wanted[3]
    Path("adcp.yaml").write_text(as_yaml(name, key))
    assert look(told(*common)) == wanted[2]
    monkeypatch.setenv(option.variable, variable)
    assert look(told(*common)) == wanted[1]
    assert look(told(*common, f"{option.flag}={line}")) == wanted[0]
    monkeypatch.setenv(option.variable, "")
    assert look(told(*common)) == wanted[2]


FLAGS = [
    ("strict", lambda told: told.strict),
    ("trace", lambda told: told.trace),
    ("plan", lambda told: told.plan_only),
    ("quick", lambda told: told.quick),
    ("no-transcript", lambda told: not told.keep_transcript),
    ("allow-mutating", lambda told: told.mutating),
]


@pytest.mark.parametrize(("name", "look"), FLAGS, ids=[name for name, _ in FLAGS])
def test_flags(monkeypatch, name, look) -> None:
    option = BY_NAME[name]
    account = f"--adcp-sandbox-account={SANDBOX}"
    assert look(told(URL, account)) is False
    assert look(told(URL, account, option.flag)) is True
    assert look(told(URL, account, yaml=as_yaml(name, "true"))) is True
    for said, meant in [
        ("0", False),
        ("no", False),
        ("Off", False),
        ("1", True),
        ("TRUE", True),
        ("on", True),
    ]:
        monkeypatch.setenv(option.variable, said)
        assert look(told(URL, account)) is meant
    assert look(told(URL, account, option.flag)) is True
