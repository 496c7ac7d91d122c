"""The seller under test, where `server:` in adcp.yaml starts it: until it answers, what it said, and its end."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from . import __version__
from .credentials import of_variable
from .given import Given
from .own_process import USUAL
from .process_marks import Mark
from .redact import Redactor, looks_secret
from .target import SHORTEST_SECRET, Target, says_secret
from .text import quote, safe
from .transcript import Diagnosis, Limits, OwnServer, Survey, Transcript
from .urls import web_address

READY_SECONDS = 60.0
_BETWEEN = 0.1  # seconds between two looks at whether it answers
_PATIENCE = 5.0  # seconds that it gets to end by itself
_ONE_LOOK = 2.0  # seconds for a connection, and for the first byte of an answer
_LINES = 50  # of its log that are kept
_KEPT = 128 * 1024  # bytes of its log, of which those lines are cut when no secret is left in them
_CUT = 4096  # bytes at the beginning of what is kept that may be the rest of a secret
_SHOWN = 5  # lines in a diagnosis; the report has them all
# A switch or a port under whatever name: cut out of every answer, it would spoil what is judged.
_HARMLESS = re.compile(r"[0-9]{1,5}|true|false|none|null|enabled|disabled|required|optional", re.IGNORECASE)
_LOGIN = re.compile(rf"://[^/@\s]*:([^/@\s]{{{SHORTEST_SECRET},}})@")  # as in the URL of a database


class OwnServerError(Exception):
    """The server does not serve; the diagnosis says why and shows the end of its log."""

    def __init__(self, diagnosis: Diagnosis, facts: OwnServer) -> None:
        super().__init__(diagnosis.message)
        self.diagnosis = diagnosis
        self.facts = facts


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """What `server:` in adcp.yaml says.

    Attributes:
        given: the value in the file, for messages.
        words: program and arguments; no shell reads them.
        folder: where it runs.
        env: what it gets beside the usual variables.
        ready: seconds until it has to answer.
    """

    given: Given
    words: tuple[str, ...]
    folder: Path
    env: Mapping[str, str] = field(repr=False)
    ready: float = READY_SECONDS

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must not be written anywhere, for a Redactor."""
        found = [value for name, value in self.env.items() if _is_secret(name, value)]
        return (*found, *(login[1] for value in self.env.values() if (login := _LOGIN.search(value))))

    def public(self) -> dict[str, Any]:
        """Return it as JSON data for a report, without the values of variables."""
        return {
            "program": safe(self.words[0]),  # its arguments may be anything
            "env": sorted(self.env),
            "ready": self.ready,
        }


def server_command(given: Given) -> ServerCommand:
    """Read `server:` of adcp.yaml, which its schema let through.

    Raises:
        pytest.UsageError: a command that is no command, a folder that is not there, a variable that is not set.
    """
    value: Mapping[str, Any] = given.value
    command = value["command"]
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise given.fail(f"command {quote(command, 100)} is no command: {error}") from None
    if not words or not words[0]:
        raise given.fail("command names no program")
    folder = given.folder / value.get("folder", ".")
    if not folder.is_dir():
        raise given.fail(f"folder {quote(value['folder'], 100)} is not a folder")
    env = {name: of_variable(given, source or name) for name, source in (value.get("env") or {}).items()}
    return ServerCommand(given, words, folder, env, float(value.get("ready", READY_SECONDS)))


@contextmanager
def own_server(command: ServerCommand, url: str, shown_url: str, redactor: Redactor) -> Iterator[Running]:
    """Start the server, wait until its URL answers, and end it with all that it started.

    Args:
        url: where it has to answer.
        shown_url: the same without secrets.
        redactor: of its log.

    Raises:
        pytest.UsageError: something listens there already, or the program cannot be started.
        OwnServerError: it ended, or did not answer in time.
    """
    address = web_address(url)
    if _listens(address):
        raise command.given.fail(
            f"something listens at {shown_url} already, and would be judged in place of this server; end it, or leave "
            "`server:` out to judge what runs there"
        )
    running = Running(command, redactor)
    try:
        running.wait(address, shown_url)
        yield running
    finally:
        running.end()


def surveyed(transcript: Transcript, running: Running | None) -> Transcript:
    """Return a transcript that says so where the server ended by itself; called while it should be running."""
    facts = running.facts() if running is not None else None
    if facts is None or facts.exit_code is None:
        return transcript
    return replace(transcript, survey=replace(transcript.survey, own_server=facts))


def not_surveyed(target: Target, limits: Limits, error: OwnServerError) -> Transcript:
    """Return the transcript of a survey that came to nothing, since the server does not serve."""
    survey = Survey(
        harness=__version__,
        run_id=secrets.token_hex(8),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        url=target.display_url,
        name=target.name,
        limits=limits,
        unusable=error.diagnosis,
        own_server=error.facts,
    )
    return Transcript(survey, ())


class Running:
    """A server that was started."""

    def __init__(self, command: ServerCommand, redactor: Redactor) -> None:
        """Start it.

        Raises:
            pytest.UsageError: there is no such program, or it cannot be run.
        """
        self._command = command
        self._redactor = redactor
        self._mark = Mark()
        self._log = b""
        self._is_cut = False
        # The rest of the environment, with the credentials in it, is not for the server.
        usual = {name: value for name in USUAL if (value := os.environ.get(name))}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command is what is under test
                command.words,
                cwd=command.folder,
                env={**usual, **command.env, **self._mark.environment()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the survey; and all that it starts can be ended with it
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise command.given.fail(f"{quote(command.words[0], 100)} cannot be started: {why}") from None
        # A daemon: a process that outlives the server may hold the pipe open for good.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait(self, address: SplitResult, shown_url: str) -> None:
        """Return when the URL answers HTTP, whatever it answers.

        Raises:
            OwnServerError: the server ended before, or the time was up.
        """
        deadline = time.monotonic() + self._command.ready
        while not self._answers(address, deadline):
            if self._process.poll() is not None:
                break
            if time.monotonic() >= deadline:
                raise self._failure(
                    f"does not answer at {shown_url} within {self._command.ready:g} s",
                    "look at its log; let it listen where server_url says, or give it longer with `ready:` under `server:`",
                )
            time.sleep(_BETWEEN)
        # Whatever answers now is somebody else's, if this one has ended.
        if self._process.poll() is not None:
            raise self._failure(
                f"{self._how_it_ended()} before {shown_url} answered",
                "look at its log; the command has to stay in the foreground, and gets no other variables than those that "
                "`env:` under `server:` names and a few such as PATH and HOME",
            )

    def facts(self) -> OwnServer:
        """Return what became of it so far: its exit code (None: it runs) and the end of its log."""
        code = self._process.poll()
        if code is not None:
            self._reader.join(_ONE_LOOK)  # what it wrote last may still be on its way
        log = self._redactor.data(self._log)[_CUT if self._is_cut else 0 :]
        lines = log.decode("utf-8", "replace").split("\n")
        shown = [safe(line.rstrip(), 400) for line in lines if line.strip()]
        return OwnServer(code, tuple(shown[-_LINES:]))

    def end(self) -> None:
        """End it with all that it started: gently, then not."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._mark.end_all()
        self._process.wait()
        self._reader.join(_ONE_LOOK)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)  # its children too, also when it has ended itself
            elif self._process.poll() is None:
                self._process.terminate()

    def _how_it_ended(self) -> str:
        code = self._process.poll()
        return (
            f"was ended by signal {-code}"
            if code is not None and code < 0
            else f"ended with exit code {code}"
        )

    def _failure(self, how: str, cure: str) -> OwnServerError:
        facts = self.facts()
        last = " | ".join(facts.log[-_SHOWN:])
        said = f"; it said last: {last}" if last else "; it said nothing"
        message = f"the server that adcp.yaml starts ({quote(self._command.words[0], 60)}) {how}{said}"
        return OwnServerError(Diagnosis("own-server", safe(message, 1500), cure), facts)

    def _answers(self, address: SplitResult, deadline: float) -> bool:
        patience = min(_ONE_LOOK, max(_BETWEEN, deadline - time.monotonic()))
        try:
            with _connect(address, patience) as connection:
                path = address.path or "/"
                head = f"HEAD {path} HTTP/1.1\r\nHost: {address.netloc.rpartition('@')[2]}\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode("ascii", "replace"))
                return connection.recv(1) != b""
        except ssl.SSLError:
            return True  # it does listen, and the survey says what is wrong with its TLS
        except OSError:
            return False

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _KEPT // 2):
                log = self._log + chunk
                self._is_cut = self._is_cut or len(log) > _KEPT
                self._log = log[-_KEPT:]


def _is_secret(name: str, value: str) -> bool:
    if len(value) < SHORTEST_SECRET or _HARMLESS.fullmatch(value):
        return False
    return says_secret(name) or looks_secret(value)


def _listens(address: SplitResult) -> bool:
    try:
        with socket.create_connection(_place(address), _ONE_LOOK):
            return True
    except OSError:
        return False


def _connect(address: SplitResult, patience: float) -> socket.socket:
    connection = socket.create_connection(_place(address), patience)
    if address.scheme != "https":
        return connection
    # Nobody is trusted here: whether something answers is all that is asked, and nothing secret is sent.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(connection, server_hostname=address.hostname)
    except BaseException:
        connection.close()
        raise


def _place(address: SplitResult) -> tuple[str, int]:
    return address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
