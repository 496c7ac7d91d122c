"""The settings of a fleet: its targets, each with settings of its own, and the bounds that hold for all together."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_adcp.harness import values
from pytest_adcp.harness.alarms import Alarms, AlarmSettings
from pytest_adcp.harness.config import shown_path
from pytest_adcp.harness.given import DEMO, Givens
from pytest_adcp.harness.rules import Profile
from pytest_adcp.harness.settings import Settings, settings_of
from pytest_adcp.harness.urls import display_url

from .shard import Shard
from .targets import TargetGivens, TargetList, baseline_of

CONCURRENCY = 8  # targets
PER_HOST = 8  # requests
TIMEOUT = 3600.0  # seconds

_CREDENTIALS = ("bearer-env", "basic-env", "header-env")
_OF_ITS_SERVER = "credentials of a fleet stand with each target, under auth: they are for its server alone"
# What is said of one server, or makes no sense for many.
_OF_ONE = {
    "server-url": "a fleet has its servers in the list; keep one of both",
    **dict.fromkeys(_CREDENTIALS, _OF_ITS_SERVER),
    "record": "a fleet has a transcript for each target, in the report folder",
    "baseline": "each target of a fleet has a baseline of its own: give it with the target",
    "write-config": "a configuration is written for one server: give --server-url",
    "write-baseline": "a baseline is written for one server: give --server-url",
    "compare": "reports are compared for one server: give --server-url",
    "fail-on": "reports are compared for one server: give --server-url",
    "sarif": "SARIF is written for one server: give --server-url, or make it of a target's report.json",
    "plan": "the plan is printed for one server: give --server-url",
    "trace": "exchanges are printed for one server: give --server-url",
}


@dataclass(frozen=True, slots=True)
class FleetTarget:
    """One target: its settings, with its own limits, and the host that it shares with others."""

    name: str
    host: str
    settings: Settings
    baseline: Path | None = None

    @property
    def folder(self) -> Path:
        """Where its report goes."""
        return self.settings.report_dir


@dataclass(frozen=True, slots=True)
class Fleet:
    """The targets of this run, and of how many in all.

    Attributes:
        targets: those of this shard.
        total: how many the whole list has.
        digest: SHA-256 over names and addresses of the whole list, by which shards of one list are known.
        concurrency: targets surveyed at once.
        per_host: requests at once to all targets of one host.
        timeout: seconds for all surveys.
    """

    targets: tuple[FleetTarget, ...]
    total: int
    digest: str
    shard: Shard | None
    concurrency: int
    per_host: int
    timeout: float
    file: Path

    def public(self) -> dict[str, Any]:
        """Return what a report may show."""
        return {
            "file": shown_path(self.file),
            "shard": str(self.shard) if self.shard else None,
            "concurrency": self.concurrency,
            "per_host": self.per_host,
            "timeout": self.timeout,
        }


def fleet_of(givens: Givens, folder: Path) -> Fleet | None:
    """Return the fleet that a run was given; None where it judges something else.

    Raises:
        pytest.UsageError: the list, one of its targets or a bound is wrong, or does not go with another option.
    """
    shard = givens.get("shard")
    listed = TargetList.found(givens)
    if listed is None:
        if shard is not None:
            raise shard.fail("needs a list of targets: --adcp-targets FILE, or targets in adcp.yaml")
        return None
    _refuse_what_is_of_one(givens)
    every = list(listed.targets(givens))
    part = shard.read(Shard.parse) if shard else None
    per_host = givens.read("fleet-per-host", lambda value: values.whole(value, 1, 64), PER_HOST)
    # A machine that judges a part needs the credentials of that part only.
    taken = [one for one in every if part is None or part.takes(one.name)]
    targets = [_target(one, folder, per_host) for one in taken]
    return Fleet(
        targets=tuple(_sharing_hosts(targets, per_host)),
        total=len(every),
        digest=_digest(every),
        shard=part,
        concurrency=givens.read("fleet-concurrency", lambda value: values.whole(value, 1, 64), CONCURRENCY),
        per_host=per_host,
        timeout=givens.read("fleet-timeout", values.seconds, TIMEOUT),
        file=listed.config.path,
    )


def _refuse_what_is_of_one(givens: Givens) -> None:
    listed, url = givens.get("targets"), givens.key("server_url")
    # A list that is named beside an adcp.yaml of one server takes all from it but that server and its credentials.
    other = url is not None and listed is not None and not listed.from_config
    for name, why in _OF_ONE.items():
        found = givens.get(name)
        left = other and found is not None and found.from_config and name in ("server-url", *_CREDENTIALS)
        if found is not None and found.value is not False and not left:
            raise found.fail(why)
    oauth = givens.key("auth", "oauth")
    if oauth is not None and not other:
        raise oauth.fail(_OF_ITS_SERVER)


def _target(givens: TargetGivens, folder: Path, per_host: int) -> FleetTarget:
    url = givens.key("server_url")
    assert url is not None
    if url.value == DEMO:
        raise url.fail("must be a URL; the demo is no target of a fleet")
    settings = settings_of(givens, folder)
    if Profile.CLIENT in settings.profiles:
        profiles = givens.get("profile")
        assert profiles is not None
        raise profiles.fail("the client profile judges no server; run it by itself")
    assert settings.target is not None
    host = urlsplit(settings.target.origin).hostname or ""
    limits = replace(settings.limits, concurrency=min(settings.limits.concurrency, per_host))
    settings = replace(settings, limits=limits, report_dir=settings.report_dir / givens.name)
    baseline = baseline_of(givens)
    Alarms(AlarmSettings(baseline)).read(givens.name, url.value)  # a bad one is told before anything is sent
    return FleetTarget(givens.name, host, settings, baseline)


def _sharing_hosts(targets: list[FleetTarget], per_host: int) -> list[FleetTarget]:
    """Give targets that may run side by side on one host their parts of its rate."""
    on_host = Counter(target.host for target in targets)
    shared = []
    for target in targets:
        limits = target.settings.limits
        if limits.rate is not None:
            beside = min(on_host[target.host], max(1, per_host // limits.concurrency))
            limits = replace(limits, rate=limits.rate / beside)
        shared.append(replace(target, settings=replace(target.settings, limits=limits)))
    return shared


def _digest(every: list[TargetGivens]) -> str:
    pairs = sorted((one.name, display_url(str(_entry(one)["url"]))) for one in every)
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def _entry(givens: TargetGivens) -> Mapping[str, Any]:
    return givens.entry.entry
