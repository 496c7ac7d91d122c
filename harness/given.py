"""What a run was given: each option from the command line, else the environment, else adcp.yaml."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from .config import Config, ConfigError, load
from .options import BY_NAME, OPTIONS, given
from .text import quote

_T = TypeVar("_T")
DEFAULT_FILE = "adcp.yaml"
DEMO = "demo"
_LONGEST_NAME = 255  # bytes, on the file systems in use


@dataclass(frozen=True, slots=True)
class Given:
    """One value, as it was written, and where."""

    value: Any
    origin: str  # for messages: --adcp-rate, ADCP_RATE, or adcp.yaml, line 3, rate
    folder: Path  # that relative paths count from
    from_config: bool = False

    def read(self, parse: Callable[[Any], _T]) -> _T:
        """Return the value as `parse` reads it.

        Raises:
            pytest.UsageError: `parse` raised ValueError; the text names the origin.
        """
        try:
            return parse(self.value)
        except ValueError as error:
            raise pytest.UsageError(f"{self.origin}: {error}") from None

    def fail(self, reason: str) -> pytest.UsageError:
        """Return the error to raise about this value."""
        return pytest.UsageError(f"{self.origin}: {reason}")


class Givens:
    """All that a run was given.

    Raises:
        pytest.UsageError: adcp.yaml cannot be used, or a replay meets an option that decides what is sent.
    """

    def __init__(self, namespace: argparse.Namespace, folder: Path) -> None:
        """Look for adcp.yaml and read it; `folder` is where the run was started."""
        self._namespace = namespace
        self._folder = folder
        self.config: Config | None = None
        self.replay: Given | None = None
        self.config = self._load()
        self.replay = self.get("replay")
        if self.replay is not None:
            self._check_replay(self.replay)

    def get(self, name: str) -> Given | None:
        """Return what was given for an option (its name without --adcp-)."""
        option = BY_NAME[name]
        found = given(self._namespace, option)
        if found is not None:
            return Given(*found, self._folder)
        return self.key(*option.key, surveys=option.surveys) if option.key else None

    def key(self, *key: str, surveys: bool = True) -> Given | None:
        """Return what adcp.yaml says under a key; in a replay it says nothing about the survey."""
        config = None if surveys and self.replay is not None else self.config
        value = config.get(*key) if config else None
        if config is None or value is None:
            return None
        return Given(value, config.where(*key), config.path.parent, from_config=True)

    def read(self, name: str, parse: Callable[[Any], _T], default: _T) -> _T:
        """Return the value of an option, or the default where nothing was given."""
        found = self.get(name)
        return default if found is None else found.read(parse)

    def file(self, name: str) -> Path | None:
        """Return the path of a file that has to be there."""
        found = self.get(name)
        return None if found is None else existing(found, found.value)

    def _load(self) -> Config | None:
        named = self.get("config")
        url = self.get("server-url")
        path = self._folder / (named.value if named else DEFAULT_FILE)
        if named is None and ((url is not None and url.value == DEMO) or not path.is_file()):
            return None
        try:
            return load(path)
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None

    def _check_replay(self, replay: Given) -> None:
        for option in OPTIONS:
            found = given(self._namespace, option) if option.surveys else None
            if found is not None:
                raise pytest.UsageError(
                    f"{found[1]} cannot be used with {replay.origin}: the recording settles what is sent"
                )


def located(found: Given, name: str) -> Path:
    """Return the path that a name stands for.

    Raises:
        pytest.UsageError: no file can have that name.
    """
    if not name or "\0" in name or any(len(part.encode()) > _LONGEST_NAME for part in Path(name).parts):
        raise found.fail(f"{quote(name, 100)} is no name of a file or folder")
    return found.folder / name


def existing(found: Given, name: str) -> Path:
    """Return the path of a file that has to be there.

    Raises:
        pytest.UsageError: there is no such file.
    """
    path = located(found, name)
    if not path.is_file():
        raise found.fail(f"{quote(name, 100)} cannot be read: No such file")
    return path
