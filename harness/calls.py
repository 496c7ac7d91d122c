"""The calls of a survey, as they are planned, and the words for why each is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Purpose(StrEnum):
    """Why a call is made."""

    GOOD = "good"  # a sample request of the catalogue, which the seller should answer
    BAD = "bad"  # a request made to be refused
    PROBE = "probe"  # a request that tries one behaviour, see Probe
    CONFIGURED = "configured"  # the user asked for it in adcp.yaml


class Probe(StrEnum):
    """A behaviour that a call of a task tries, beyond whether the task succeeds. harness/probes/ says what is sent."""

    NO_ARGUMENTS = "no-arguments"  # get_adcp_capabilities with {}
    CONTEXT = "context"  # a context of every kind of JSON value
    ENVELOPE_FIELDS = "envelope-fields"  # envelope members that the task has no use for
    UNKNOWN_FIELD = "unknown-field"
    SUPPORTED_MAJOR = "supported-major"
    UNKNOWN_RELEASE = "unknown-release"
    VERSION_CONFLICT = "version-conflict"
    PRERELEASE = "prerelease"
    CREDENTIAL = "credential"  # a credential among the arguments
    NOT_FOUND = "not-found"  # two ids that nobody has
    PAGE = "page"  # a list, an item a page
    NO_KEY = "no-key"  # a mutating request without idempotency_key
    REPLAY = "replay"  # the same request again
    KEY_CONFLICT = "key-conflict"  # another request with a key that was used
    FAILURE_AGAIN = "failure-again"  # a request that failed, again, with the same key
    USER_CONTEXT = "user-context"  # a read with the user's language and place in _meta


class Variant(StrEnum):
    """A request of MCP 2026-07-28 beside the plan: good ones, and ones that differ from those in one point."""

    LIST = "list"  # tools/list, on a connection of its own
    CALL = "call"  # a read that is part of the plan
    SESSION = "session-id"  # tools/list with an Mcp-Session-Id, which means nothing there
    NO_CLIENT_INFO = "no-client-info"
    NO_META = "no-meta"
    NO_CAPABILITIES = "no-client-capabilities"  # _meta has the version alone
    OTHER_VERSION = "other-version"  # the header names another version than _meta
    NO_METHOD = "no-mcp-method"
    NO_NAME = "no-mcp-name"
    NO_VERSION = "no-version-header"  # sent where no older version is spoken, one of which it would name
    PARAM = "param-header"  # a read of a tool that asks for arguments in headers (x-mcp-header)
    NO_PARAM = "no-param-header"
    OTHER_PARAM = "other-param-header"  # the header says something else than the argument
    UNKNOWN_VERSION = "unknown-version"
    UNKNOWN_METHOD = "unknown-method"


class HttpProbe(StrEnum):
    """A behaviour of the transport or the lifecycle that a request tries. harness/probes/http.py says what is sent."""

    PING = "ping"
    ID_DIGITS = "id-digits"  # a text that looks like a number
    ID_LARGE = "id-large"
    ID_EMPTY = "id-empty"
    ID_UNICODE = "id-unicode"
    ACCEPT_ORDER = "accept-order"  # both types the other way round, with a quality
    ACCEPT_CASE = "accept-case"
    ACCEPT_JSON = "accept-json"  # one of the two types only
    ACCEPT_ANY = "accept-any"  # */*
    CHARSET = "content-type-charset"
    ORIGIN_OWN = "origin-own"
    ORIGIN_FOREIGN = "origin-foreign"
    ORIGIN_NULL = "origin-null"
    HOST_FOREIGN = "host-foreign"  # on loopback only
    VERSION_ABSENT = "version-absent"
    VERSION_JUNK = "version-junk"
    VERSION_1999 = "version-1999"
    SESSION_ABSENT = "session-absent"
    SESSION_UNKNOWN = "session-unknown"
    SESSION_DELETE = "session-delete"
    SESSION_ENDED = "session-ended"  # what comes after that
    ID_NULL = "id-null"
    OTHER_ENVELOPE = "jsonrpc-1.0"  # a message that says another version of JSON-RPC
    NO_TOOL = "tools-call-without-name"
    UNKNOWN_METHOD = "unknown-method"
    UNKNOWN_NOTIFICATION = "unknown-notification"
    GET_STREAM = "get-stream"
    DELETE = "delete"  # where there are no sessions to end
    BOGUS_CURSOR = "bogus-cursor"  # tools/list with a cursor that was never given
    INITIALIZE_OLD = "initialize-2024-11-05"
    INITIALIZE_MARCH = "initialize-2025-03-26"
    INITIALIZE_JUNE = "initialize-2025-06-18"
    INITIALIZE_UNKNOWN = "initialize-2099-01-01"
    BATCH = "batch"
    MALFORMED = "malformed"  # a body that is no JSON
    RESOURCES = "resources-list"
    PROMPTS = "prompts-list"
    COMPLETIONS = "completion-complete"
    LOGGING = "logging-set-level"
    CLIENT_INFO = "client-info"  # an initialize of another client; sent for the connected-apps profile alone
    USER_AGENT = "user-agent"  # an initialize with the User-Agent of the platform; likewise


class Credentials(StrEnum):
    """Credentials that open nothing, for a server that asks for some."""

    NONE = "none"
    UNKNOWN = "unknown"  # well formed, and nobody's
    MALFORMED = "malformed"  # an Authorization header of no scheme


class Expect(StrEnum):
    """What the user says a configured call must give."""

    SUCCESS = "success"
    ERROR = "error"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Take:
    """A value that a call takes from an earlier answer of the same run."""

    argument: str  # JSON pointer into the arguments, where the value goes
    tool: str  # the tool whose first successful answer holds it
    value: str  # JSON pointer into that answer's AdCP payload


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One tools/call of the plan; `subject` names it in every report."""

    tool: str
    name: str
    arguments: Mapping[str, Any]
    purpose: Purpose
    mutating: bool = False
    expect: Expect = Expect.ANY
    error_codes: tuple[str, ...] = ()
    violates: str = ""  # for a bad request: what is wrong with it, in words
    after: str | None = None  # a bad request is sent only when the call with this subject was accepted
    takes: tuple[Take, ...] = field(default=())
    probe: Probe | None = None
    baseline: str | None = (
        None  # the call whose answer this one's is compared with; made when that one has its answer
    )

    @property
    def subject(self) -> str:
        """`tool/name`, unique in a plan."""
        return f"{self.tool}/{self.name}"

    @property
    def is_good(self) -> bool:
        """Whether it asks for what should be given: a sample of the catalogue's, or a call of the user's."""
        own = self.purpose is Purpose.CONFIGURED and self.expect is not Expect.ERROR
        return own or self.purpose is Purpose.GOOD

    @property
    def is_plain_read(self) -> bool:
        """Whether it asks for what should be given, changes nothing, and waits for no other call."""
        return self.is_good and not self.mutating and not self.takes


@dataclass(frozen=True, slots=True)
class NotCalled:
    """Something that was left out of the plan, and why."""

    item: str
    why: str
    blocked: bool = False  # a configured call whose tool is not listed is a gap, not a choice
