"""The list of targets: in adcp.yaml or in a file of its own, each target with what a run of its own would have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from pytest_adcp.harness.config import SCHEMA_FILE, Config, ConfigError, checked
from pytest_adcp.harness.given import Given, Givens, existing
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.yamlfile import Place

# What adcp.yaml says of one server, and of the fleet itself: no target takes it over.
_NOT_TAKEN_OVER = ("server_url", "name", "auth", "targets", "fleet", "record", "replay", "server")
_OF_THE_FLEET = "fleet."  # files of the report folder that begin so are about all targets


@dataclass(frozen=True, slots=True)
class TargetConfig(Config):
    """What a run of one target reads for adcp.yaml: its entry in the list, over what stands beside the list."""

    entry: Mapping[str, Any]
    listed_in: Config
    listed_at: Place

    def where(self, *place: str | int) -> str:
        """Return where a value stands: in the entry, or in adcp.yaml."""
        if place and place[0] not in self.entry and place[0] != "server_url":
            return Config(self.path, self.values, self.lines).where(*place)
        within = ("url", *place[1:]) if place[:1] == ("server_url",) else place
        return self.listed_in.where(*self.listed_at, *within)


class TargetGivens(Givens):
    """What one target of a fleet was given: command line and environment as for all, and a configuration of its own."""

    def __init__(self, run: Givens, config: TargetConfig) -> None:
        """Take over what the run was told."""
        vars(self).update(vars(run))
        self.config = config

    @property
    def entry(self) -> TargetConfig:
        """The target's configuration."""
        assert isinstance(self.config, TargetConfig)
        return self.config

    @property
    def name(self) -> str:
        """The target's name."""
        return str(self.entry.entry["name"])


@dataclass(frozen=True, slots=True)
class TargetList:
    """A list that was found, and where it stands."""

    config: Config
    place: Place  # of the list in its file

    @classmethod
    def found(cls, givens: Givens) -> Self | None:
        """Return the list that a run was given; None where it judges no fleet.

        Raises:
            pytest.UsageError: the list cannot be used.
        """
        given = givens.get("targets")
        if given is None:
            return None
        if isinstance(given.value, list) and givens.config is not None:
            if givens.get("server-url") is not None and not _stands_beside(givens):
                return None  # one server was asked for, in so many words
            return cls(givens.config, ("targets",))
        path = existing(given, given.value)
        try:
            return cls(checked(path, _schema(), []), ())
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None

    def targets(self, run: Givens) -> Iterator[TargetGivens]:
        """Yield what each target was given.

        Raises:
            pytest.UsageError: a name stands twice, or is one of a file of the report folder.
        """
        entries = self.config.get("targets") if self.place else self.config.values
        seen: dict[str, str] = {}
        for index, entry in enumerate(entries):
            place = (*self.place, index)
            where = self.config.where(*place, "name")
            # Folders bear these names, and some file systems do not tell capitals.
            folded = entry["name"].casefold()
            if folded in seen:
                raise pytest.UsageError(
                    f"{where}: {quote(entry['name'])} is the name of another target ({seen[folded]})"
                )
            if folded.startswith(_OF_THE_FLEET):
                raise pytest.UsageError(f"{where}: {quote(entry['name'])} begins as the fleet's own files do")
            seen[folded] = where
            yield TargetGivens(run, self._config(run, entry, place))

    def _config(self, run: Givens, entry: Mapping[str, Any], place: Place) -> TargetConfig:
        beside = run.config.values if run.config is not None else {}
        kept = {key: value for key, value in beside.items() if key not in _NOT_TAKEN_OVER}
        own = {key: value for key, value in entry.items() if key not in ("url", "baseline")}
        base = run.config or Config(self.config.path, {}, {})
        return TargetConfig(
            base.path, {**kept, **own, "server_url": entry["url"]}, base.lines, entry, self.config, place
        )


def baseline_of(givens: TargetGivens) -> Path | None:
    """Return the target's baseline.

    Raises:
        pytest.UsageError: there is no such file.
    """
    named = givens.entry.entry.get("baseline")
    if named is None:
        return None
    listed_in = givens.entry.listed_in
    return existing(Given(named, givens.entry.where("baseline"), listed_in.path.parent), named)


def _stands_beside(givens: Givens) -> bool:
    """Whether server_url stands in the same file as the list."""
    url = givens.get("server-url")
    return url is not None and url.from_config


def _schema() -> dict[str, Any]:
    """Return the schema of a file that is a list of targets: the one of `targets` in adcp.yaml."""
    whole: dict[str, Any] = json.loads(SCHEMA_FILE.read_bytes())
    listed = whole["properties"]["targets"] | {"type": "array", "title": "a list of targets"}
    return {"$schema": whole["$schema"], "$defs": whole["$defs"], "properties": whole["properties"], **listed}
