"""The list of targets: what each is given, and every way in which a list is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_adcp.harness.fleet.settings import Fleet
from pytest_adcp.harness.fleet.shard import Shard
from pytest_adcp.harness.rules import Profile
from told import OWN, complaint, quiet, told

TARGETS = "--adcp-targets=fleet.yaml"
LIST = """
- name: alpha
  url: https://alpha.example/mcp
  auth: {bearer_env: SELLER_TOKEN}
  calls: [{tool: get_products, name: own}]
  account: {account_id: a1}
- name: beta
  url: https://beta.example/mcp
  profiles: [core, connected-apps]
  baseline: known.yaml
"""


KNOWN = "rules_version: 0.1.0\nknown: {}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and an environment that says nothing."""
    quiet(monkeypatch, tmp_path)
    return tmp_path


def fleet(text: str = LIST, *arguments: str, yaml: str | None = None) -> Fleet:
    Path("fleet.yaml").write_text(text, "utf-8")
    Path("known.yaml").write_text(KNOWN)
    found = told(TARGETS, *arguments, yaml=yaml).fleet
    assert found is not None
    return found


def wrong(text: str, *arguments: str, yaml: str | None = None) -> str:
    Path("fleet.yaml").write_text(text, "utf-8")
    Path("known.yaml").write_text(KNOWN)
    return complaint(TARGETS, *arguments, yaml=yaml)


def test_each_target_has_settings_of_its_own(folder: Path) -> None:
    shared = OWN + "auth: {bearer_env: UNSET}\nrequest_timeout: 7\ncalls: [{tool: shared}]\n"
    alpha, beta = (target.settings for target in fleet(yaml=shared).targets)
    assert alpha.target is not None
    assert beta.target is not None
    assert (alpha.target.name, alpha.target.url) == ("alpha", "https://alpha.example/mcp")
    assert (alpha.target.credentials.bearer, beta.target.credentials.kinds) == ("bearer-s3cret", ())
    assert [call.tool for call in (*alpha.calls, *beta.calls)] == ["get_products", "shared"]
    assert (alpha.account, beta.account) == ({"account_id": "a1"}, None)
    assert (alpha.profiles, beta.profiles) == ((Profile.CORE,), (Profile.CORE, Profile.CONNECTED_APPS))
    assert {alpha.limits.request_timeout, beta.limits.request_timeout} == {7.0}
    assert alpha.report_dir == folder / "adcp-report" / "alpha"


def test_a_baseline_counts_from_the_folder_of_the_list(folder: Path) -> None:
    (folder / "lists").mkdir()
    (folder / "lists" / "fleet.yaml").write_text(LIST)
    (folder / "lists" / "known.yaml").write_text(KNOWN)
    found = told("--adcp-targets=lists/fleet.yaml").fleet
    assert found is not None
    assert [target.baseline for target in found.targets] == [None, folder / "lists" / "known.yaml"]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_list_stands_in_the_configuration_or_in_a_file(folder: Path, suffix: str) -> None:
    entries = [{"name": "a", "url": "https://a.example/mcp"}]
    (folder / f"list.{suffix}").write_text(json.dumps(entries, indent="\t" if suffix == "json" else 1))
    for settings in (
        told(f"--adcp-targets=list.{suffix}"),
        told("--adcp-config=adcp.yaml", yaml=f"targets: list.{suffix}\n"),
        told("--adcp-config=adcp.yaml", yaml=f"targets: {json.dumps(entries)}\nfleet: {{per_host: 2}}\n"),
    ):
        assert settings.fleet is not None
        assert [target.name for target in settings.fleet.targets] == ["a"]
        assert settings.target is None
    assert settings.fleet.per_host == settings.fleet.targets[0].settings.limits.concurrency == 2
    assert told("--server-url=https://one.example/mcp").fleet is None  # one server, in so many words


def test_targets_on_one_host_share_its_rate() -> None:
    text = "".join(f"- {{name: n{n}, url: 'https://{'ab'[n > 2]}.example/{n}'}}\n" for n in range(4))
    limits = [
        target.settings.limits for target in fleet(text, "--adcp-rate=6", "--adcp-concurrency=2").targets
    ]
    assert [each.rate for each in limits] == [2.0, 2.0, 2.0, 6.0]
    limits = [target.settings.limits for target in fleet(text, "--adcp-rate=6").targets]
    assert [each.rate for each in limits] == [3.0, 3.0, 3.0, 6.0]  # two at once have room for their requests


BETA = "- {name: beta, url: https://beta.example/mcp}\n"


@pytest.mark.parametrize(
    ("text", "arguments", "yaml", "words"),
    [
        ("", [], None, "fleet.yaml, line 1: must be a list of targets"),
        ("[]", [], None, "fleet.yaml, line 1: must be a list of targets"),
        ("a: 1", [], None, "fleet.yaml, line 1: must be a list of targets, not a mapping"),
        ("- [", [], None, "fleet.yaml, line 1: is not YAML"),
        ("- {name: a}", [], None, 'fleet.yaml, line 1, [0]: the key "url" is missing'),
        (
            BETA + "- {name: b, urll: x, url: y}",
            [],
            None,
            'line 2, [1].urll: unknown key; did you mean "url"?',
        ),
        (BETA + "- {name: ../b, url: y}", [], None, "line 2, [1].name: must be a name of 1 to 64 letters"),
        (BETA + "- {name: b/c, url: y}", [], None, "line 2, [1].name: must be a name of 1 to 64 letters"),
        (
            BETA + "- {name: BETA, url: https://b.example}",
            [],
            None,
            '"BETA" is the name of another target (fleet.yaml',
        ),
        ("- {name: fleet.json, url: https://b.example}", [], None, "begins as the fleet's own files do"),
        ("- {name: b, url: ftp://b.example}", [], None, "fleet.yaml, line 1, [0].url:"),
        ("- {name: b, url: demo}", [], None, "[0].url: must be a URL; the demo is no target of a fleet"),
        (
            "- name: b\n  url: https://b.example\n  auth: {bearer_env: UNSET}",
            [],
            None,
            "fleet.yaml, line 3, [0].auth.bearer_env: the environment variable UNSET is not set",
        ),
        (
            "- name: b\n  url: https://b.example\n  auth: {token: bearer-s3cret}",
            [],
            None,
            "[0].auth.token: a secret itself never stands in this file",
        ),
        (
            "- name: b\n  url: https://b.example\n  calls: [{tool: x, expect: sucess}]",
            [],
            None,
            'line 3, [0].calls[0].expect: must be success, error or any, not "sucess"; did you mean "success"?',
        ),
        (
            "- {name: b, url: https://b.example, profiles: client}",
            [],
            None,
            "the client profile judges no server",
        ),
        (
            "- {name: b, url: https://b.example, baseline: no.yaml}",
            [],
            None,
            '[0].baseline: "no.yaml" cannot be read',
        ),
        (LIST, ["--server-url=https://x.example"], None, "--server-url: a fleet has its servers in the list"),
        (
            LIST,
            ["--adcp-bearer-env=SELLER_TOKEN"],
            None,
            "--adcp-bearer-env: credentials of a fleet stand with",
        ),
        (
            LIST,
            [],
            "auth: {bearer_env: SELLER_TOKEN}",
            "adcp.yaml, line 1, auth.bearer_env: credentials of a fleet stand with",
        ),
        (LIST, ["--adcp-plan"], None, "--adcp-plan: the plan is printed for one server"),
        (LIST, ["--adcp-record=x"], None, "--adcp-record: a fleet has a transcript for each target"),
        (
            LIST,
            ["--adcp-shard=4/4"],
            None,
            "--adcp-shard: must be one of 0/4 to 3/4 (parts count from 0), not 4/4",
        ),
        (LIST, ["--adcp-shard=1"], None, "--adcp-shard: must be I/N, such as 0/4"),
        (
            LIST,
            ["--adcp-fleet-concurrency=0"],
            None,
            "--adcp-fleet-concurrency: must be a whole number from 1 to 64",
        ),
    ],
)
def test_what_is_wrong(text: str, arguments: list[str], yaml: str | None, words: str) -> None:
    assert words in wrong(text, *arguments, yaml=yaml)


def test_what_needs_a_list() -> None:
    assert complaint("--adcp-shard=0/2", yaml=OWN).startswith("--adcp-shard: needs a list of targets")
    assert "cannot be read: No such file" in complaint("--adcp-targets=gone.yaml")
    entries = "targets: [{name: a, url: https://a.example/mcp}]\n"
    both = complaint("--adcp-config=adcp.yaml", yaml=OWN + entries)
    assert both == "adcp.yaml, line 1, server_url: a fleet has its servers in the list; keep one of both"


def test_shards_are_a_partition_that_hangs_on_the_name_alone() -> None:
    names = [f"seller-{number}" for number in range(500)]
    parts = [{name for name in names if Shard(index, 7).takes(name)} for index in range(7)]
    assert sum(map(len, parts)) == 500
    assert set.union(*parts) == set(names)
    assert all(40 < len(part) < 110 for part in parts)
    # These numbers are the same on every machine and in every release.
    assert [next(i for i in range(7) if Shard(i, 7).takes(name)) for name in ("acme", "beta", "x")] == [
        2,
        3,
        1,
    ]


def test_a_shard_needs_the_credentials_of_its_own_targets_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SELLER_TOKEN")
    index = next(index for index in range(8) if not Shard(index, 8).takes("alpha"))
    part, whole = fleet(LIST, f"--adcp-shard={index}/8"), wrong(LIST)
    assert part.total == 2
    assert "SELLER_TOKEN is not set" in whole


def test_shards_of_one_list_have_one_digest_and_other_lists_another() -> None:
    digests = [fleet(LIST, f"--adcp-shard={index}/2").digest for index in range(2)]
    assert digests[0] == digests[1]
    assert fleet(LIST.replace("https://beta.", "https://gamma.")).digest != digests[0]
