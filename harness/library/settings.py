"""Which client library is judged, and how it is reached."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_adcp.harness import values
from pytest_adcp.harness.given import Given, Givens, existing
from pytest_adcp.harness.own_process import command
from pytest_adcp.harness.rules import Profile
from pytest_adcp.harness.text import quote, safe

from .command import ANSWERING, CommandLibrary, LibraryError
from .host import SPEC
from .records import Asks, Library
from .reference import ReferenceLibrary

_OPTIONS = ("extractor", "client-command", "extractor-timeout", "fuzz", "seed", "vectors")
_MOST_EXAMPLES = 10_000_000


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """What is judged by the client profile.

    Attributes:
        extractor: `module:function` or a command; None: no extractor was given.
        client: the command of a whole client; None: none was given.
        folder: where the commands are run, and modules are looked for first.
        timeout: seconds of silence while a question waits.
        fuzz: how many generated responses are tried of each kind; 0: none.
        seed: of what is generated.
        vectors: the user's vector files.
        report_dir: where vectors that the fuzzer finds are written.
        secrets: credentials of the run; a library gets no variable that holds one.
    """

    extractor: Given | None
    client: Given | None
    folder: Path
    timeout: float
    fuzz: int
    seed: int
    vectors: tuple[Path, ...]
    report_dir: Path
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def public(self) -> dict[str, Any]:
        """Return the settings as JSON data for a report."""
        return {
            "extractor": safe(str(self.extractor.value), 600) if self.extractor else None,
            "client_command": safe(str(self.client.value), 600) if self.client else None,
            "extractor_timeout": self.timeout,
            "fuzz": self.fuzz,
            "seed": self.seed,
        }

    def open_extractor(self) -> Library:
        """Start the extractor; the harness's own algorithms where none was given.

        Raises:
            pytest.UsageError: it cannot be asked; the text says why.
        """
        if self.extractor is None:
            return ReferenceLibrary()
        spec = str(self.extractor.value)
        if SPEC.fullmatch(spec):
            return self._open(
                self.extractor, command("pytest_adcp.harness.library.host", spec), Asks.RESPONSES
            )
        return self._open(self.extractor, _words(self.extractor), Asks.RESPONSES)

    def open_client(self) -> CommandLibrary:
        """Start the whole client.

        Raises:
            pytest.UsageError: it cannot be asked; the text says why.
        """
        assert self.client is not None
        return self._open(self.client, _words(self.client), Asks.CALLS)

    def _open(self, given: Given, words: list[str], asks: Asks) -> CommandLibrary:
        try:
            return CommandLibrary(
                words, folder=self.folder, asks=asks, answering=self.timeout, secrets=self.secrets
            )
        except LibraryError as error:
            hint = ""
            if asks is Asks.RESPONSES and len(words) == 1 and isinstance(error.__cause__, FileNotFoundError):
                hint = " (a function in Python is given as module:function, both as Python writes names)"
            raise given.fail(f"{quote(given.value, 100)} {error}{hint}") from None


def library_settings(
    givens: Givens, profiles: Collection[Profile], folder: Path, report_dir: Path
) -> LibrarySettings:
    """Work out what the client profile judges.

    Raises:
        pytest.UsageError: a value is wrong, or is given without the profile.
    """
    for name in _OPTIONS:
        found = givens.get(name)
        if found is not None and found.origin.startswith("--") and Profile.CLIENT not in profiles:
            raise found.fail("judges client libraries; add --adcp-profile=client")
    extractor, client = givens.get("extractor"), givens.get("client-command")
    for found in (extractor, client):
        if found is not None and not SPEC.fullmatch(str(found.value)):
            _words(found)
    return LibrarySettings(
        extractor=extractor,
        client=client,
        folder=folder,
        timeout=givens.read("extractor-timeout", values.seconds, ANSWERING),
        fuzz=givens.read("fuzz", lambda value: values.whole(value, 0, _MOST_EXAMPLES), 0),
        seed=givens.read("seed", lambda value: values.whole(value, 0, 2**32 - 1), 0),
        vectors=_vectors(givens),
        report_dir=report_dir,
    )


def _vectors(givens: Givens) -> tuple[Path, ...]:
    found = givens.get("vectors")
    return tuple(existing(found, name) for name in found.read(values.names)) if found else ()


def _words(given: Given) -> list[str]:
    try:
        words = shlex.split(str(given.value))
    except ValueError as error:
        raise given.fail(f"{quote(given.value, 100)} is no command: {error}") from None
    if not words or not words[0]:
        raise given.fail("an empty text is neither a command nor module:function")
    return words
