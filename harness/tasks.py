"""The task catalogue: what every AdCP task is called, does, takes and gives (tasks.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from .placeholders import UNKNOWN, waits

# Members that any AdCP answer may have at its root. `payload` is none of them: on the wire it is a wrapper.
ENVELOPE = frozenset(
    {
        "adcp_error",
        "adcp_major_version",
        "adcp_version",
        "context",
        "context_id",
        "errors",
        "ext",
        "governance_context",
        "message",
        "push_notification_config",
        "replayed",
        "sandbox",
        "status",
        "task_id",
        "timestamp",
    }
)

CAPABILITIES = "get_adcp_capabilities"  # the task that says what a seller is
UNKNOWN_ID = "unknown-id"  # the bad request that asks for what nobody has

_FILE = Path(__file__).with_name("tasks.yaml")
_LONGEST_NAME = 200  # no tool with a longer name is meant to be an AdCP task
_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Change:
    """One way to spoil a sample request."""

    members: Mapping[str, Any]  # what replaces members of the sample; None takes one out
    decisive: tuple[str, ...]  # the members that make it bad: without any of them it is none
    violates: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A request that a seller should refuse."""

    name: str
    codes: tuple[str, ...]  # error codes that fit
    changes: tuple[Change, ...]  # the first one that the tool has arguments for is made


@dataclass(frozen=True, slots=True)
class Task:
    """An AdCP task. Releases are "3.0" to "3.2"; in requests stand the placeholders of placeholders.py."""

    name: str
    protocol: str
    mutating: bool
    since: str
    until: str | None  # the last release that has it; None: the newest
    root: frozenset[str]  # fields of which one is at the root of every success, in some release
    scalars: frozenset[str]  # further root fields that never hold an object or array
    containers: frozenset[str]  # further root fields that may
    account: bool  # the request has an account member
    context: bool  # the request has a context member
    auto: bool  # may be called without being configured
    request: Mapping[str, Any]
    bad: tuple[Bad, ...]  # in the order in which they are tried
    other: Mapping[
        str, Any
    ]  # members that make another valid request of the sample; empty where none do for sure

    @property
    def arguments(self) -> frozenset[str]:
        """Names of request members that the catalogue knows of."""
        changed = (name for bad in self.bad for change in bad.changes for name in change.members)
        usual = (name for name in ("account", "context") if getattr(self, name))
        return frozenset([*self.request, *changed, *usual])


@cache
def catalogue() -> Mapping[str, Task]:
    """Return every AdCP task by name, in the order in which tasks are called."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # seven times as fast, where PyYAML has it
    protocols = yaml.load(_FILE.read_text(encoding="utf-8"), loader)  # noqa: S506 - both loaders are safe ones
    tasks = [
        _task(name, protocol, **entry)
        for protocol in protocols
        for name, entry in protocols[protocol].items()
    ]
    return MappingProxyType({task.name: task for task in tasks})


def look_alike(name: str) -> str | None:
    """Return the task that a tool name seems to mean (`getProducts`, `adcp_get_products`).

    A task's own name is no look-alike, and neither is a name without end: None.
    """
    if len(name) > _LONGEST_NAME or name in catalogue():
        return None
    words = re.sub(r"[^a-z0-9]+", "_", _WORD_STARTS.sub("_", name).lower()).strip("_")
    words = re.sub(r"_v[0-9]+$", "", words)
    squeezed = words.replace("_", "")
    found = [task for task in catalogue() if words.endswith(f"_{task}") or squeezed == task.replace("_", "")]
    return max(found, key=len, default=None)


def _task(
    name: str,
    protocol: str,
    *,
    access: str,
    root: list[str],
    request: dict[str, Any],
    since: str = "3.0",
    until: str | None = None,
    scalars: tuple[str, ...] = (),
    containers: tuple[str, ...] = (),
    account: bool = False,
    context: bool = True,
    major: bool = True,
    auto: bool = True,
    unknown_id: Mapping[str, Any] | None = None,
    codes: tuple[str, ...] = ("REFERENCE_NOT_FOUND",),
    wrong_type: Mapping[str, Any] | None = None,
    other: Mapping[str, Any] | None = None,
) -> Task:
    bad = [*_unsupported_major(major), *_unknown_id(unknown_id, tuple(codes)), *_wrong_type(wrong_type)]
    if waits(request):
        # An id that nobody has needs no earlier answer, so the chain must not wait for a request that does.
        bad.sort(key=lambda item: item.name != UNKNOWN_ID)
    return Task(
        name=name,
        protocol=protocol,
        mutating={"read": False, "mutating": True}[access],
        since=since,
        until=until,
        root=frozenset(root),
        scalars=frozenset(scalars),
        containers=frozenset(containers),
        account=account,
        context=context,
        auto=auto,
        request=MappingProxyType(request),
        bad=tuple(bad),
        other=MappingProxyType(other or {}),
    )


def _unsupported_major(has_major: bool) -> Iterator[Bad]:
    if has_major:
        member = "adcp_major_version"
        change = Change({member: 99}, (member,), f"{member} 99: there is no such AdCP version")
        yield Bad("unsupported-major", ("VERSION_UNSUPPORTED",), (change,))


def _unknown_id(members: Mapping[str, Any] | None, codes: tuple[str, ...]) -> Iterator[Bad]:
    if members:
        decisive = tuple(name for name, value in members.items() if UNKNOWN in str(value))
        words = f"{' and '.join(decisive)}: names something that does not exist"
        yield Bad(UNKNOWN_ID, codes, (Change(members, decisive, words),))


def _wrong_type(candidates: Mapping[str, Any] | None) -> Iterator[Bad]:
    if candidates:
        kinds = {
            name: "an object" if isinstance(value, dict) else "a string" for name, value in candidates.items()
        }
        words = {name: f"{name}: {kind} is not its type" for name, kind in kinds.items()}
        changes = tuple(Change({name: value}, (name,), words[name]) for name, value in candidates.items())
        yield Bad("wrong-type", ("INVALID_REQUEST", "VALIDATION_ERROR"), changes)
