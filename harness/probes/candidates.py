"""The tasks of a server that probes can be made of: those whose sample request is part of the plan."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_adcp.harness.arguments import Shape
from pytest_adcp.harness.calls import PlannedCall, Probe, Purpose
from pytest_adcp.harness.tasks import Task


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task, how the server's tool takes its requests, and its sample request."""

    task: Task
    tool: Shape
    sample: PlannedCall

    def knows(self, *members: str) -> bool:
        """Whether the tool takes members of these names, as far as its inputSchema says."""
        return all(self.tool.known.has(member) for member in members)

    def names(self, *members: str) -> bool:
        """Whether the tool's inputSchema names each of these members."""
        return all(member in self.tool.known.types for member in members)

    def takes(self, member: str, value: object) -> bool:
        """Whether the tool's inputSchema names a member, and lets it have a value of that type."""
        return self.names(member) and self.tool.known.takes(member, value)

    def members(self, call: PlannedCall) -> dict[str, Any]:
        """Return the members of a request: the arguments, or what stands in the tool's only parameter."""
        arguments = call.arguments
        return dict(arguments if self.tool.wrapper is None else arguments[self.tool.wrapper])

    def varied(
        self,
        probe: Probe,
        members: Mapping[str, Any] | None = None,
        *,
        without: Sequence[str] = (),
        number: int | None = None,
        of: PlannedCall | None = None,
        violates: str = "",
    ) -> PlannedCall:
        """Return the sample request with some members replaced, added or taken out, sent when the sample was accepted.

        Args:
            members: what is put in, whether the tool knows it or not.
            without: names that are taken out.
            number: which one of several such probes.
            of: the call that is varied and compared with, instead of the sample.
            violates: what is wrong with the request, in words.
        """
        call = of or self.sample
        request = {name: value for name, value in self.members(call).items() if name not in without}
        request |= copy.deepcopy(dict(members or {}))
        changed = {*(members or {}), *without}
        takes = tuple(take for take in call.takes if self._member(take.argument) not in changed)
        return replace(
            call,
            name=str(probe) if number is None else f"{probe}-{number}",
            arguments=request if self.tool.wrapper is None else {self.tool.wrapper: request},
            purpose=Purpose.PROBE,
            takes=takes,
            violates=violates,
            error_codes=(),
            probe=probe,
            after=call.subject,
            baseline=call.subject,
        )

    def _member(self, place: str) -> str:
        """Return the member of the request that a JSON pointer into the arguments leads to."""
        tokens = place.split("/")[1 if self.tool.wrapper is None else 2 :]
        return tokens[0].replace("~1", "/").replace("~0", "~")


def members_of(arguments: dict[str, Any], member: str) -> dict[str, Any] | None:
    """Return the object that has a member: the arguments, or what their only parameter holds; None where neither has it."""
    holders = (arguments, *arguments.values())
    return next((item for item in holders if isinstance(item, dict) and member in item), None)


def fresh_key(run_id: str, subject: str) -> str:
    """Return an idempotency key that is this run's and this call's own."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"pytest-adcp:{run_id}:{subject}"))
