"""The calls of a survey, as they are planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Purpose(StrEnum):
    """Why a call is made."""

    GOOD = "good"  # a sample request of the catalogue, which the seller should answer
    BAD = "bad"  # a request made to be refused
    CONFIGURED = "configured"  # the user asked for it in adcp.yaml


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

    @property
    def subject(self) -> str:
        """`tool/name`, unique in a plan."""
        return f"{self.tool}/{self.name}"


@dataclass(frozen=True, slots=True)
class NotCalled:
    """Something that was left out of the plan, and why."""

    item: str
    why: str
    blocked: bool = False  # a configured call whose tool is not listed is a gap, not a choice
