"""What a rule is: one requirement, one function, one stable id.

A rule is a plain function whose single parameter names what it judges (see Judged). It reads its subject and returns
None where the requirement holds. Where it does not, it raises Broken; where the subject gives nothing to judge, it
raises NotApplicable. An assert that fails counts as Broken too; any other exception is a fault of the harness.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any, TypeVar

from .calls import HttpProbe, Probe, Variant
from .release import numbers

FIRST_RELEASE = "0.1.0"  # of this harness: rules that name no other have been there since

# The rules of adcp.* that are tried on servers of AdCP 2.x too: is the data found, or the failure, and is it what the
# user expects. What else stands in an answer was different then.
_BEFORE_3 = (
    "adcp.discovery.capabilities-listed",
    "adcp.errors.expected-",
    "adcp.errors.flagged",
    "adcp.extraction.",
)


class Level(StrEnum):
    """How strongly the source speaks."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Strength(StrEnum):
    """How strongly a source speaks that has more than two words for it: what messages say beside the level."""

    FAILS = "it does not work otherwise"
    REVIEW = "review flags this"
    NEVER = "the platform forbids it"
    REQUIRED = "the platform requires it"
    GUIDANCE = "guidance of the platform"
    OURS = "our reading of the platform's pages"


class Profile(StrEnum):
    """A set of rule families that is judged together."""

    CORE = "core"
    CONNECTED_APPS = "connected-apps"
    CLIENT = "client"


PACKAGED = frozenset({"adcp", "mcp", *map(str, Profile)})  # the first names of the packaged rules' ids


class Judged(StrEnum):
    """What a rule may be tried on: the closed set of parameter names. harness/subjects.py builds them."""

    REPLY = "reply"  # what came back to one JSON-RPC request
    RESPONSE = "response"  # a reply, and the JSON-RPC response to a request that tries the transport
    MESSAGE = "message"  # the JSON-RPC response inside a reply
    NOTIFICATION = "notification"  # what came back to a notification
    OPENING = "opening"  # what came back to initialize
    HANDSHAKE = "handshake"  # the initialize result
    DISCOVERY = "discovery"  # the server/discover result
    STREAM = "stream"  # an answer that is an event stream, and the GET stream
    LISTENING = "listening"  # the GET stream that was held open during a call
    CLOSING = "closing"  # an event stream that was read on for two seconds after the response
    MODERN = "modern"  # a result given in MCP 2026-07-28
    MODERN_REPLY = "modern_reply"  # what came back to a request of MCP 2026-07-28, a result or an error
    SUBSCRIPTION = "subscription"  # what came back to subscriptions/listen
    VARIED = "varied"  # what came back to a variant; the rule names which
    TOOLS = "tools"  # the whole tools/list
    PAGE = "page"  # one answer to tools/list
    UNKNOWN_TOOL = "unknown_tool"  # what came back to a call of a tool that does not exist
    RESULT = "result"  # any tool result
    ANSWER = "answer"  # any tool result or JSON-RPC error that an AdCP task gave
    SUCCESS = "success"  # an answer that carries the task's data
    ERROR = "error"  # an answer that says the task failed
    INTERIM = "interim"  # submitted, working, input-required, auth-required
    EXPECTATION = "expectation"  # a configured call and what the user says it must give
    PROBED = "probed"  # what a probe gave, and what it is compared with; the rule names its probes
    HTTP_PROBE = (
        "http_probe"  # what came back to a request that tries the transport; the rule names its probes
    )
    CAPABILITIES = "capabilities"  # what get_adcp_capabilities says, beside what the server lists
    REFUSAL = "refusal"  # what came back to credentials that are none
    CHALLENGE = "challenge"  # an HTTP 401, and how it says to authenticate
    METADATA = "metadata"  # a document of OAuth discovery
    APP = "app"  # what a platform takes in of a server: its instructions and all its tools
    CLIENT_SESSION = "client_session"  # a connection of the official client's
    CLIENT_LIST = "client_list"  # the tools that it read
    CLIENT_RESULT = "client_result"  # the result of a call that it read
    ENDPOINT = "endpoint"  # the URL of a server, and what comes of requests there
    CALLED = "called"  # a tools/call, whatever came back to it
    IN_CONTEXT = "in_context"  # a call with what a platform tells of its user, beside the same call without
    LOGIN = "login"  # what OAuth discovery gives to a client that is asked to log in
    VERIFICATION = "verification"  # the document that proves a domain to a platform
    VIEW = "view"  # a user interface that the server serves, and the tools that name it
    VECTOR = "vector"  # a vector, and what a client library makes of it
    LIBRARY = "library"  # a client library after all that it was asked
    FUZZED = "fuzzed"  # a client library and the reference on generated responses


class Broken(Exception):  # noqa: N818 - it is a verdict, not an error of ours
    """The requirement does not hold.

    Args:
        expected: what should have come, in words.
        received: what came, quoted, escaped and cut (harness.text.quote).
        at: JSON pointer into the JSON-RPC message.
        because: the sentence that says what it means for a client; it opens the message.
        fix: the change that cures it, where it is more precise than the rule's own.
        lenient: why this is an advisory although the rule is a MUST (specifications disagree).
        further: what else is wrong, a sentence each, where one answer breaks the rule in several places.
    """

    def __init__(
        self,
        expected: str,
        received: str,
        *,
        at: str | None = None,
        because: str = "",
        fix: str = "",
        lenient: str = "",
        further: Sequence[str] = (),
    ) -> None:
        super().__init__(because or f"expected {expected}, received {received}")
        self.expected = expected
        self.received = received
        self.at = at
        self.because = because
        self.fix = fix
        self.lenient = lenient
        self.further = further


class NotApplicable(Exception):  # noqa: N818
    """This subject gives the rule nothing to judge; the argument says why."""


class Blocked(Exception):  # noqa: N818
    """This subject should have been judged and could not be; the argument says why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement and the function that judges it."""

    id: str
    level: Level
    judged: Judged
    source: str
    requirement: str
    fix: str
    function: Callable[[Any], None]
    since: str | None = None  # AdCP release from which it holds
    advisory_since: str | None = None  # AdCP release from which it is a SHOULD
    revisions: frozenset[str] | None = None  # MCP revisions that it belongs to; None: all
    probes: frozenset[Probe | Variant | HttpProbe] = (
        frozenset()
    )  # where it judges what probes gave: which ones
    strength: Strength | None = None  # how strongly the source speaks, where it has more words for it
    added: str = FIRST_RELEASE  # the release of this harness that brought it: older baselines do not know it

    @property
    def family(self) -> str:
        """`mcp.result` of `mcp.result.content`."""
        return self.id.rpartition(".")[0]

    @property
    def short(self) -> str:
        """`content` of `mcp.result.content`."""
        return self.id.rpartition(".")[2]

    @property
    def profile(self) -> Profile:
        """The profile that selects it."""
        first = self.id.partition(".")[0]
        return Profile(first) if first in set(Profile) else Profile.CORE

    @property
    def is_for_2(self) -> bool:
        """Whether it is also tried on servers of AdCP 2.x."""
        return not self.id.startswith("adcp.") or self.id.startswith(_BEFORE_3)

    def level_for(self, release: str | None) -> Level | None:
        """Return how strongly the rule speaks at an AdCP release; None where it does not speak yet."""
        if self.since is None or numbers(release) >= numbers(self.since):
            return self.level
        if self.advisory_since is not None and numbers(release) >= numbers(self.advisory_since):
            return Level.SHOULD
        return None


Judge = TypeVar("Judge", bound=Callable[[Any], None])


def rule(
    id: str,  # noqa: A002 - the word everybody uses
    *,
    level: Level,
    source: str,
    since: str | None = None,
    advisory_since: str | None = None,
    revisions: Iterable[str] | None = None,
    probes: Iterable[Probe | Variant | HttpProbe] = (),
    strength: Strength | None = None,
    added: str = FIRST_RELEASE,
) -> Callable[[Judge], Judge]:
    """Make a function a rule.

    Its docstring's first paragraph is the requirement, the second tells a seller what to change.

    Raises:
        TypeError: the parameter is none of Judged, the docstring lacks one of its two parts, or probes are named by
            a rule that judges none, or not named by one that does.
    """
    wanted = frozenset(probes)

    def decorate(function: Judge) -> Judge:
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) != 1 or parameters[0] not in set(Judged):
            raise TypeError(f"{id}: a rule takes one parameter out of {', '.join(Judged)}, not {parameters}")
        requirement, _, fix = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        if not requirement or not fix:
            raise TypeError(f"{id}: the docstring holds the requirement and, in a second paragraph, the fix")
        if bool(wanted) != (parameters[0] in (Judged.PROBED, Judged.VARIED, Judged.HTTP_PROBE)):
            raise TypeError(
                f"{id}: a rule that judges `probed`, `varied` or `http_probe` names its probes, and no other does"
            )
        function.adcp_rule = Rule(  # type: ignore[attr-defined]
            id=id,
            level=level,
            judged=Judged(parameters[0]),
            source=source,
            requirement=" ".join(requirement.split()),
            fix=" ".join(fix.split()),
            function=function,
            since=since,
            advisory_since=advisory_since,
            revisions=frozenset(revisions) if revisions is not None else None,
            probes=wanted,
            strength=strength,
            added=added,
        )
        return function

    return decorate


def rules_of(module: ModuleType) -> list[Rule]:
    """Return the rules that a module defines, in the order of its text."""
    found = [member.adcp_rule for member in vars(module).values() if hasattr(member, "adcp_rule")]
    return [rule for rule in found if rule.function.__module__ == module.__name__]


def load(modules: Iterable[str]) -> tuple[Rule, ...]:
    """Import suites by name and return their rules.

    Raises:
        ValueError: two rules share an id.
    """
    rules = [rule for name in modules for rule in rules_of(importlib.import_module(name))]
    seen: dict[str, Rule] = {}
    for item in rules:
        if item.id in seen:
            raise ValueError(f"two rules are called {item.id}: {seen[item.id].function} and {item.function}")
        seen[item.id] = item
    return tuple(rules)
