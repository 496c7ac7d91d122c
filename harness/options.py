"""The command line: every option, and which of them ask for a conformance run.

pytest imports this module in every project that has the plugin, so it takes only pytest and the standard
library; what the options mean is worked out in settings.py, in conformance runs only.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .settings import Settings


@dataclass(frozen=True, slots=True)
class Option:
    """One option: on the command line, in the environment and in adcp.yaml."""

    name: str  # without --adcp-
    help: str
    metavar: str | None = None  # None: a flag
    several: bool = False
    key: tuple[str, ...] = ()  # in adcp.yaml; empty where the file cannot say it
    usual: str = ""  # what the option means without a value, where it may stand alone
    surveys: bool = False  # decides what is sent or read, so a replay cannot take it

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return "--server-url" if self.name == "server-url" else f"--adcp-{self.name}"

    @property
    def dest(self) -> str:
        """The attribute of config.option."""
        return f"adcp_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return self.dest.upper()

    def add_to(self, group: pytest.OptionGroup) -> None:
        """Register the option."""
        details: dict[str, Any] = {"dest": self.dest, "default": None, "help": self.help}
        if self.usual:
            details |= {"nargs": "?", "const": self.usual}
        if self.metavar is None:
            group.addoption(self.flag, action="store_true", **details)
        else:
            action = "append" if self.several else "store"
            group.addoption(self.flag, action=action, metavar=self.metavar, **details)


SERVER_URL = Option(
    "server-url",
    "Judge the AdCP seller at this MCP endpoint (Streamable HTTP); 'demo' is the bundled reference seller.",
    "URL",
    key=("server_url",),
    surveys=True,
)

OPTIONS = (
    SERVER_URL,
    Option(
        "config",
        "Read this configuration file (default ./adcp.yaml where there is one, except for the demo).",
        "FILE",
    ),
    Option(
        "targets",
        "Judge the fleet of sellers that this file lists, YAML or JSON (each with name and url).",
        "FILE",
        key=("targets",),
        surveys=True,
    ),
    Option(
        "shard",
        "Judge only this part of the fleet, as 0/4 to 3/4: targets go by the hash of their names (default all).",
        "I/N",
        surveys=True,
    ),
    Option(
        "fleet-concurrency",
        "Survey at most this many targets of a fleet at once, each in a process (default 8, at most 64).",
        "N",
        key=("fleet", "concurrency"),
        surveys=True,
    ),
    Option(
        "fleet-per-host",
        "Send at most this many requests at once to all targets of a fleet on one host (default 8, at most 64).",
        "N",
        key=("fleet", "per_host"),
        surveys=True,
    ),
    Option(
        "fleet-timeout",
        "Give all surveys of a fleet together this many seconds (default 3600).",
        "S",
        key=("fleet", "timeout"),
        surveys=True,
    ),
    Option(
        "bearer-env",
        "Send the bearer token that this environment variable holds.",
        "VAR",
        key=("auth", "bearer_env"),
        surveys=True,
    ),
    Option(
        "header-env",
        "Send this header with the value that the environment variable holds (repeatable).",
        "NAME=VAR",
        several=True,
        key=("auth", "header_env"),
        surveys=True,
    ),
    Option(
        "basic-env",
        "Send Basic credentials from this environment variable, which holds user:password.",
        "VAR",
        key=("auth", "basic_env"),
        surveys=True,
    ),
    Option(
        "profile",
        "Judge these profiles, repeated or with commas: core (MCP and AdCP, the default), connected-apps "
        "(a server behind a platform of connected apps) and client (client libraries against the vectors; needs no server).",
        "NAME",
        several=True,
        key=("profiles",),
    ),
    Option(
        "tool",
        "Call and judge only the tools that match, repeated or with commas (default all; the verdict of a "
        "partial run is inconclusive).",
        "GLOB",
        several=True,
        key=("tools",),
    ),
    Option(
        "allow-mutating",
        "Also call mutating tasks (default no); needs a sandbox account, which is --adcp-sandbox-account, "
        "sandbox_account in adcp.yaml, or an account there that says sandbox: true.",
        key=("plan", "mutating"),
        surveys=True,
    ),
    Option(
        "sandbox-account",
        'Use this account for mutating calls: an object with account_id, or one that says "sandbox": true.',
        "JSON",
        key=("sandbox_account",),
        surveys=True,
    ),
    Option(
        "concurrency",
        "Send at most this many requests at once (default 4, at most 64).",
        "N",
        key=("concurrency",),
        surveys=True,
    ),
    Option(
        "request-timeout",
        "Give each request this many seconds (default 30).",
        "S",
        key=("request_timeout",),
        surveys=True,
    ),
    Option(
        "survey-timeout",
        "Give all requests together this many seconds (default 300).",
        "S",
        key=("survey_timeout",),
        surveys=True,
    ),
    Option(
        "max-response-bytes",
        "Read at most this much of an answer, as 16777216, 16MiB or 4MB (default 16MiB).",
        "N",
        key=("max_response_bytes",),
        surveys=True,
    ),
    Option(
        "client-limit",
        "Report answers that are larger than this, which a client must be able to read (default 4MiB).",
        "N",
        key=("client_limit",),
        surveys=True,
    ),
    Option(
        "rate",
        "Start at most this many requests per second, as 5 or 0.5/s (default no bound).",
        "N/s",
        key=("rate",),
        surveys=True,
    ),
    Option(
        "record",
        "Save the transcript of the run in this file too (default only in the report folder).",
        "FILE",
        key=("record",),
        surveys=True,
    ),
    Option(
        "replay",
        "Judge this saved transcript instead of a server; nothing is sent.",
        "FILE",
        key=("replay",),
    ),
    Option(
        "report-dir",
        "Write the reports into this folder (default ./adcp-report).",
        "DIR",
        key=("report_dir",),
    ),
    Option(
        "baseline",
        "Do not let the failures of this file (YAML, by rule and subject, with reasons) fail the run, only others, and "
        "entries of it that are stale or expired.",
        "FILE",
        key=("baseline",),
    ),
    Option(
        "write-baseline",
        "Write the failures of the run into this baseline: new ones get entries, entries that are stale go, all others stay.",
        "FILE",
        key=("write_baseline",),
    ),
    Option(
        "compare",
        "Say what has changed since this report.json: new failures, fixed, still failing.",
        "FILE",
        key=("compare",),
    ),
    Option(
        "fail-on",
        "Exit with 1 for every failure (failed, the default), or only for those that the report of --adcp-compare does "
        "not have (new).",
        "WHICH",
        key=("fail_on",),
    ),
    Option(
        "sarif",
        "Write what failed in this file too, in SARIF 2.1.0 for code scanning (default no).",
        "FILE",
        key=("sarif",),
    ),
    Option("strict", "Let a broken SHOULD fail the run (default no: it is an advisory).", key=("strict",)),
    Option(
        "explain",
        "Explain a rule (what it asks for, how to fix it, an exchange that fails and one that passes) or list those "
        "of a family, and exit.",
        "RULE",
    ),
    Option("rules", "List all rules and exit."),
    Option(
        "vectors",
        "Add the vectors of this file, in the published format, to the packaged ones (repeatable).",
        "FILE",
        several=True,
        key=("vectors",),
    ),
    Option(
        "extractor",
        "Judge this client library: `module:function` in Python, or a command that speaks the extractor protocol "
        "(default the harness's own algorithms).",
        "SPEC",
        key=("extractor",),
    ),
    Option(
        "client-command",
        "Judge a whole client: a command that makes the calls that it is given over the extractor protocol.",
        "COMMAND",
        key=("client_command",),
    ),
    Option(
        "extractor-timeout",
        "Take a client library for hung after this many seconds without an answer (default 10).",
        "S",
        key=("extractor_timeout",),
    ),
    Option(
        "fuzz",
        "Also hold the client library against the reference on this many generated answers of each kind (default 0).",
        "N",
        key=("fuzz",),
    ),
    Option("seed", "Generate with this seed (default 0).", "S", key=("seed",)),
    Option(
        "ca-file",
        "Trust the authorities of this PEM file, not the bundled ones ('env': the file of SSL_CERT_FILE).",
        "FILE",
        key=("ca_file",),
        surveys=True,
    ),
    Option(
        "client-cert",
        "Present the client certificate of this PEM file, which holds its key too.",
        "FILE",
        key=("client_cert",),
        surveys=True,
    ),
    Option(
        "proxy",
        "Use this HTTP proxy ('env': that of the environment; default none, whatever the environment says).",
        "URL",
        key=("proxy",),
        surveys=True,
    ),
    Option(
        "plan",
        "Only connect and list the tools, then print the calls that would be made.",
        key=("plan", "only"),
        surveys=True,
    ),
    Option(
        "write-config",
        "Only connect and list the tools, then write a configuration for them into this file, which must not be there "
        "(default adcp.yaml).",
        "FILE",
        usual="adcp.yaml",
        surveys=True,
    ),
    Option(
        "quick",
        "Make one call a tool and nothing beyond: a first look, whose verdict is inconclusive (default no).",
        key=("quick",),
        surveys=True,
    ),
    Option(
        "spec",
        "Judge against this AdCP release: 3.0, 3.1 or 3.2 (default what the server declares).",
        "RELEASE",
        key=("spec",),
    ),
    Option(
        "production",
        "Judge the server as a production one, where test controllers must not be found (default no).",
        key=("production",),
    ),
    Option(
        "schemas",
        "Take AdCP's schemas from this folder, an unpacked protocol bundle (default the `adcp` package, where it is "
        "installed: pip install 'pytest-adcp[schemas]').",
        "DIR",
        key=("schemas",),
    ),
    Option("trace", "Print a line for each exchange (default no).", key=("trace",)),
    Option(
        "no-transcript",
        "Leave the transcript out of the report folder (default it is written).",
        key=("no_transcript",),
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}


def register(parser: pytest.Parser) -> None:
    """Register every option but --server-url, which waits until the conftests are loaded (add_server_url)."""
    group = _group(parser)
    for option in OPTIONS:
        if option is not SERVER_URL:
            option.add_to(group)


def add_server_url(parser: pytest.Parser) -> None:
    """Register --server-url unless a conftest or another plugin owns an option of that name."""
    _, unknown = parser.parse_known_and_unknown_args([f"{SERVER_URL.flag}=x"])
    if unknown:
        SERVER_URL.add_to(_group(parser))


def selected(config: pytest.Config) -> bool:
    """Whether an option or its variable asks for a conformance run; adcp.yaml alone asks for nothing."""
    if any(given(config.option, BY_NAME[name]) for name in ("server-url", "config", "replay", "targets")):
        return True
    found = given(config.option, BY_NAME["profile"])
    profiles = ",".join([found[0]] if isinstance(found[0], str) else found[0]) if found else ""
    return "client" in [name.strip() for name in profiles.split(",")]


def given(namespace: argparse.Namespace, option: Option) -> tuple[Any, str] | None:
    """Return what the command line or else the environment says for an option, and the name it stands under.

    The command line gives a text, a list of texts or True, the environment a text; empty variables say
    nothing.
    """
    value = getattr(namespace, option.dest, None)
    if value is not None:
        return value, option.flag
    value = os.environ.get(option.variable)
    return (value, option.variable) if value else None


def build(config: pytest.Config) -> Settings:
    """Work out the settings of a conformance run: command line over environment over adcp.yaml.

    Raises:
        pytest.UsageError: the first thing that is wrong, with its option, variable, or file, line and key.
    """
    from .settings import resolve

    return resolve(config.option, config.invocation_params.dir)


def _group(parser: pytest.Parser) -> pytest.OptionGroup:
    return parser.getgroup(
        "adcp", "AdCP conformance (each option has a variable ADCP_... and a key in adcp.yaml)"
    )
