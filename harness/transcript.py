"""The transcript: every exchange of a survey, saved as JSON Lines and loaded again.

The first line is the survey record (plan, limits, options, names), each further line one exchange in plan order.
Bodies are UTF-8 text where they are UTF-8, else base64, so a file can be read by people and loses nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from . import records
from .calls import NotCalled, PlannedCall
from .files import replace_file
from .records import RecordError

FORMAT = "pytest-adcp transcript"
FORMAT_VERSION = 1


class TranscriptError(ValueError):
    """A file that is no transcript, or only part of one."""


class Kind(StrEnum):
    """What an exchange was for."""

    INITIALIZE = "initialize"
    DISCOVER = "discover"
    INITIALIZED = "initialized"
    LIST = "list"
    CALL = "call"
    POLL = "poll"
    PROBE = "probe"
    STREAM = "stream"  # a GET stream that is held open, and a call that is read on
    VARIANT = "variant"  # a request that tries what MCP 2026-07-28 asks of servers
    REFUSAL = "refusal"  # a call with credentials that are none
    METADATA = "metadata"  # a document of OAuth discovery
    VIEW = "view"  # a user interface that the server serves, or a script of one, see probes/views.py
    HTTP = "http"  # a request that tries one behaviour of the transport or the lifecycle, see HttpProbe
    REPLY = "reply"  # our answer to a request of the server's
    DELETE = "delete"
    INTEROP = "interop"  # a request of the official client's; only mcp.interop.* speaks of it


class End(StrEnum):
    """How an exchange ended; everything but COMPLETE is a transport fault."""

    COMPLETE = "complete"
    DEADLINE = "deadline"
    DNS = "dns"
    REFUSED = "refused"
    TLS = "tls"
    PROXY = "proxy"
    RESET = "reset"  # the connection was lost
    PROTOCOL = "protocol"  # what came is not HTTP/1.1
    HEADERS = "headers"  # more headers than any client reads
    TOO_LARGE = "too-large"
    ENCODING = "encoding"  # a content coding that cannot be undone
    EVENTS = "events"  # an event stream that never comes to the response
    INTERRUPTED = "interrupted"  # the run was stopped


class Era(StrEnum):
    """The two lifecycles of MCP over Streamable HTTP."""

    HANDSHAKE = "handshake"  # 2025-11-25 and before: initialize
    STATELESS = "stateless"  # 2026-07-28: every request describes itself


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent; credentials are replaced before it is recorded."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Header values are latin-1 text, the body is what is left after content decoding."""

    status: int
    http_version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    received: int  # body bytes on the wire, before content decoding

    def header(self, name: str) -> str | None:
        """Return the first header of that name (case-insensitive), or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case; empty where there is none."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request and what came of it. Times are seconds."""

    index: int
    subject: str
    kind: Kind
    request: Request
    response: Response | None
    end: End
    detail: str = ""  # the transport's own words where the end is not COMPLETE
    era: Era | None = None
    attempt: int = 1
    retried: bool = False  # the next exchange repeats it: this one is not the outcome
    redirects: tuple[str, ...] = ()  # where 307 and 308 led, in order
    started: float = 0.0  # since the survey began
    seconds: float = 0.0
    first_byte: float | None = None  # until the response's headers were there
    answered: float | None = None  # until the JSON-RPC response was complete


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a survey. Times in seconds, sizes in bytes (client_limit: bytes and UTF-16 units)."""

    request_timeout: float = 30.0
    survey_timeout: float = 300.0
    max_response_bytes: int = 16 * 1024 * 1024
    client_limit: int = 4 * 1024 * 1024
    concurrency: int = 4
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a target could not be surveyed: the one thing to say about it, and what to do."""

    cause: str
    message: str
    cure: str


@dataclass(frozen=True, slots=True)
class Tls:
    """How the first connection to the target was secured, and by whose certificate; empty is what it does not say."""

    version: str  # TLSv1.3
    cipher: str
    subject: str
    issuer: str
    not_after: str  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class ClientStep:
    """What the official client made of one step: of the connection, the tools, or the result of a call.

    One of `reading`, `raised`, `silent`, `skipped` and `lost` says what became of it.
    """

    subject: str
    era: Era
    reading: str = ""  # what it gave, as JSON; harness/interop/client.py has the members
    raised: str = ""  # its exception
    code: int | None = None  # of an exception that stands for a JSON-RPC error
    places: tuple[str, ...] = ()  # JSON pointers into the JSON-RPC result, of what it did not take
    silent: bool = False  # it had the answer and gave nothing
    skipped: str = ""  # why it never came to that
    lost: str = ""  # why nobody knows


@dataclass(frozen=True, slots=True)
class Interop:
    """What the official client made of the server; `version` is its own."""

    version: str
    steps: tuple[ClientStep, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnServer:
    """The server, where the run started it: its exit code (None: it ran to the end) and the end of its log, escaped."""

    exit_code: int | None
    log: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What was asked of whom and how it went: the first line of a transcript."""

    harness: str
    run_id: str
    started_at: str
    url: str
    name: str
    limits: Limits
    options: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[PlannedCall, ...] = ()
    not_called: tuple[NotCalled, ...] = ()
    problems: tuple[str, ...] = ()  # what keeps the plan from being one, as a server without AdCP tasks
    complete: bool = True
    stopped: str = ""  # the root cause where the survey ended early
    unusable: Diagnosis | None = None
    seconds: float = 0.0
    longest_chain: float = 0.0  # seconds of the longest row of calls that had to wait for each other
    tls: Tls | None = None  # None: plain HTTP, or no connection
    interop: Interop | None = None  # None: the official client was not asked; not_called says why
    own_server: OwnServer | None = None  # None: the run started none, or it ran to the end


@dataclass(frozen=True, slots=True)
class Transcript:
    """A survey and its exchanges, in plan order."""

    survey: Survey
    exchanges: tuple[Exchange, ...]
    sha256: str = field(default="", compare=False)  # of the file that it was loaded from

    @property
    def retries(self) -> int:
        """How many exchanges were repeated: the server asked for patience, or had forgotten the session or the token."""
        return sum(exchange.retried for exchange in self.exchanges)

    def save(self, path: Path) -> str:
        """Write the file (mode 0600) under a temporary name, rename it, and return its SHA-256."""
        digest = hashlib.sha256()

        def lines() -> Iterator[bytes]:
            for record in self._records():
                line = records.dumps(record)
                digest.update(line)
                yield line

        replace_file(path, lines(), mode=0o600)
        return digest.hexdigest()

    def _records(self) -> Iterator[dict[str, Any]]:
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "exchanges": len(self.exchanges)}
        yield head | asdict(self.survey)
        for exchange in self.exchanges:
            yield asdict(exchange)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a saved transcript.

        Raises:
            TranscriptError: the file is missing, foreign, of another format version, or cut short; the text names file and line.
        """
        number = 1
        digest = hashlib.sha256()
        try:
            with path.open("rb") as file:
                head = next(file, b"")
                digest.update(head)
                survey, expected = _head(records.loads(head))
                exchanges: list[Exchange] = []
                for number, line in enumerate(file, start=2):
                    digest.update(line)
                    exchange = records.build(Exchange, records.loads(line))
                    if exchange.index != number - 2:
                        raise RecordError(f"index is {exchange.index}, not {number - 2}")
                    exchanges.append(exchange)
        except OSError as error:
            raise TranscriptError(f"{path}: {error.strerror or error}") from None
        except RecordError as error:
            raise TranscriptError(f"{path}, line {number}: {error}") from None
        if len(exchanges) != expected:
            raise TranscriptError(
                f"{path}, line {number}: cut short: {len(exchanges)} of {expected} exchanges are there; record it again"
            )
        return cls(survey, tuple(exchanges), digest.hexdigest())


def _head(record: dict[str, Any]) -> tuple[Survey, int]:
    """Read the first record: the survey, and how many exchanges follow."""
    if record.pop("format", None) != FORMAT:
        raise RecordError(f'this is not a pytest-adcp transcript (no "format": "{FORMAT}")')
    version = record.pop("format_version", None)
    if type(version) is not int or version != FORMAT_VERSION:
        raise RecordError(f"format_version is not {FORMAT_VERSION}, the only one that this release reads")
    expected = record.pop("exchanges", None)
    if type(expected) is not int:
        raise RecordError("exchanges is not an integer")
    return records.build(Survey, record), expected


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as save() gave it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
