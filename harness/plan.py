"""Which calls a survey makes: what the user asks for, what the catalogue knows, and what the server lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Any

from . import probes
from .arguments import Shape, shape
from .calls import Expect, NotCalled, PlannedCall, Purpose
from .placeholders import Values, fill
from .probes import user_context
from .probes.candidates import Candidate
from .tasks import CAPABILITIES, UNKNOWN_ID, Bad, Change, Task, catalogue, look_alike
from .text import plural, quote, safe

MAX_AUTOMATIC = 100  # calls that nobody configured
SAMPLE = "sample"  # the name of a task's good call

_CONFIGURE = "give it with `calls:` in adcp.yaml"
_NO_PLACE = "changes something at the seller, and has no argument for the sandbox account"
_NO_ARGUMENT = "the tool has no argument for it"
_FILTERED = "not chosen by --adcp-tool"
_NAMES_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class ConfiguredCall:
    """A call of adcp.yaml. Its arguments may hold placeholders, and all of them are sent."""

    tool: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expect: Expect = Expect.ANY
    error_codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AppRequest:
    """What a server is asked as an app of a platform, beside its calls. Every member opens a door to another host or place."""

    third_party: bool = False  # scripts of user interfaces are fetched from the hosts that they name
    issuer: bool = False  # so is the metadata of an OAuth issuer on another host
    verification: bool = False  # the document that proves the domain is in place


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the user wants to be called. No two configured calls have the same tool and name."""

    auto: bool = True  # calls from the catalogue, for the tools that the server lists
    probes: bool = True  # and calls that try single behaviours of those
    interop: bool = (
        False  # and, where probes are made, the official client is asked what it makes of the server
    )
    allow_mutating: bool = False
    tools: tuple[str, ...] = ()  # globs of tool names; none: every tool
    account: Mapping[str, Any] | None = None  # for read tasks
    sandbox_account: Mapping[str, Any] | None = None  # for mutating ones
    calls: tuple[ConfiguredCall, ...] = ()
    quick: bool = False  # one call a tool; takes no probes
    app: AppRequest | None = None  # the server is to be seen as a platform sees it too
    today: date = field(default_factory=lambda: datetime.now(UTC).date())  # dates in requests count from here

    def wants(self, tool: str) -> bool:
        """Whether a tool is among those that may be called."""
        return not self.tools or any(fnmatchcase(tool, glob) for glob in self.tools)


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls in order, what is left out, and what stands in the way of testing anything at all."""

    calls: tuple[PlannedCall, ...]
    not_called: tuple[NotCalled, ...]
    problems: tuple[str, ...] = ()


def plan(tools: Sequence[Mapping[str, Any]], request: PlanRequest, run_id: str) -> Plan:
    """Plan the calls to a server that lists these tools (as in tools/list; nothing in them is trusted).

    The same tools, request and run id give the same plan.
    """
    return _Planner(tools, request, run_id).plan()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A call that may become part of the plan."""

    call: PlannedCall
    order: tuple[int, int]  # the tool, and the call among the tool's
    rank: int = 0  # its place in a chain of bad requests; 0: in none

    @property
    def configured(self) -> bool:
        return self.call.purpose is Purpose.CONFIGURED

    @property
    def bad(self) -> bool:
        return self.call.purpose is Purpose.BAD


class _Planner:
    def __init__(self, tools: Sequence[Mapping[str, Any]], request: PlanRequest, run_id: str) -> None:
        self._request = request
        self._run_id = run_id
        self._context = {"adcp_run": run_id}
        needed = ["--adcp-allow-mutating"] if not request.allow_mutating else []
        needed += ["--adcp-sandbox-account"] if request.sandbox_account is None else []
        self._may_mutate = not needed
        self._mutating = f"changes something at the seller; needs {' and '.join(needed)}"
        self._not_called: list[NotCalled] = []
        # A name that is listed twice means its first tool.
        self._listed = {str(tool.get("name")): tool for tool in reversed(tools)}
        self._names = list(dict.fromkeys(str(tool.get("name")) for tool in tools))
        tasks = [name for name in catalogue() if name in self._listed]
        order = dict.fromkeys([*tasks, *(call.tool for call in request.calls)])
        self._order = {name: index for index, name in enumerate(order)}

    def plan(self) -> Plan:
        configured = list(self._from_configuration())
        subjects = {draft.call.subject for draft in configured}
        automatic = [draft for draft in self._from_catalogue() if draft.call.subject not in subjects]
        drafts = self._reachable([*automatic, *configured])
        if self._request.quick:
            drafts = _one_each(drafts)
        probes = [draft for draft in self._probes(drafts) if draft.call.subject not in subjects]
        drafts = self._within_bounds([*drafts, *probes])
        calls = tuple(_chained(sorted(drafts, key=lambda draft: draft.order)))
        return Plan(calls, tuple(self._not_called), tuple(self._problems()))

    def _leave_out(self, item: str, why: str, *, blocked: bool = False) -> None:
        self._not_called.append(NotCalled(item, why, blocked))

    def _account(self, mutating: bool) -> Mapping[str, Any] | None:
        return self._request.sandbox_account if mutating else self._request.account

    # -- calls of the catalogue -----------------------------------------------------------------------------

    def _from_catalogue(self) -> Iterator[_Draft]:
        tasks = [task for task in catalogue().values() if task.name in self._listed and self._request.auto]
        filtered, mutating = [], []
        for task in tasks:
            # What the seller says of itself decides what all else is judged against: no filter for that.
            if not self._request.wants(task.name) and task.name != CAPABILITIES:
                filtered.append(task.name)
            elif task.mutating and not self._may_mutate:
                mutating.append(task.name)
            elif not task.auto:
                self._leave_out(task.name, f"is only called when configured; {_CONFIGURE}")
            else:
                yield from self._of_task(task)
        if filtered:
            self._leave_out(_some(filtered), _FILTERED)
        if mutating:
            self._leave_out(_some(mutating), self._mutating)

    def _of_task(self, task: Task) -> Iterator[_Draft]:
        """Yield the sample call of a task and its bad requests, and note what is not possible."""
        tool = shape(self._listed[task.name].get("inputSchema"), task.arguments)
        good = self._fitted(task, tool, SAMPLE, None)
        spoilt = [call for bad in task.bad if isinstance(call := self._spoilt(task, tool, bad), PlannedCall)]
        if isinstance(good, PlannedCall):
            yield self._draft(good, 0)
        for rank, call in enumerate(spoilt, start=1):
            yield self._draft(call, rank)
        if isinstance(good, str):
            self._leave_out(f"{task.name}/{SAMPLE}" if spoilt else task.name, good)
        elif not spoilt:
            self._leave_out(f"{task.name}, a bad request", _NO_ARGUMENT)

    def _draft(self, call: PlannedCall, rank: int) -> _Draft:
        return _Draft(call, (self._order[call.tool], rank), rank)

    def _spoilt(self, task: Task, tool: Shape, bad: Bad) -> PlannedCall | str:
        """Return a bad request in the first way that the tool has arguments for, or why there is none."""
        for change in bad.changes:
            call = self._fitted(task, tool, bad.name, change)
            if isinstance(call, PlannedCall):
                return replace(call, purpose=Purpose.BAD, error_codes=bad.codes, violates=change.violates)
        return _NO_ARGUMENT

    def _fitted(self, task: Task, tool: Shape, name: str, change: Change | None) -> PlannedCall | str:
        """Return the sample call of a task, spoilt or not, as the tool takes it; or why it is not made."""
        account = self._account(task.mutating)
        members = dict(task.request)
        if task.account and account is not None:
            members["account"] = account
        if task.context:
            members["context"] = self._context
        if change:
            members.update(change.members)
        filled = fill(
            {member: value for member, value in members.items() if value is not None},
            Values(self._run_id, f"{task.name}/{name}", self._request.today, account),
        )
        decisive = change.decisive if change else ()
        to_come = {_member(place) for place in (*filled.needed, *(take.argument for take in filled.takes))}
        fitted = tool.fit(filled.arguments, unchecked=to_come.union(decisive))
        sent = fitted.arguments if tool.wrapper is None else fitted.arguments[tool.wrapper]
        if fitted.missing:
            names = _some([quote(missing, 60) for missing in fitted.missing])
            return f"its inputSchema requires {names}, which is not in the catalogue; {_CONFIGURE}"
        if needed := [place.rpartition("/")[2] for place in filled.needed if _member(place) in sent]:
            return f"needs {_some(needed)}, which only the seller can name; {_CONFIGURE}"
        # The very account: a value that the tool's schema fills in would be the seller's choice.
        if task.mutating and task.account and sent.get("account") != members.get("account"):
            return f"{_NO_PLACE}; {_CONFIGURE}"
        if decisive and not any(member in sent for member in decisive):
            return _NO_ARGUMENT
        takes = [take for take in filled.takes if _member(take.argument) in sent]
        return PlannedCall(
            tool=task.name,
            name=name,
            arguments=fitted.arguments,
            purpose=Purpose.GOOD,
            mutating=task.mutating,
            takes=tuple(replace(take, argument=tool.place(take.argument)) for take in takes),
        )

    # -- probes of single behaviours ------------------------------------------------------------------------

    def _probes(self, drafts: list[_Draft]) -> Iterator[_Draft]:
        """Yield the calls that try single behaviours of the tasks that are called, after all else of their tools."""
        if not self._request.probes:
            return
        tried = [*self._behaviours(drafts)] if self._request.auto else []
        if self._request.app is not None:
            tried += user_context.calls([draft.call for draft in drafts], self._listed)
        for rank, call in enumerate(tried, start=MAX_AUTOMATIC):
            if isinstance(call, NotCalled):
                self._not_called.append(call)
            else:
                # After the plain calls of all tools: where time runs out, those are what it is for.
                yield _Draft(call, (len(self._order), rank), rank)

    def _behaviours(self, drafts: list[_Draft]) -> Iterator[PlannedCall | NotCalled]:
        samples = [sample for draft in drafts if (sample := self._to_vary(draft.call)) is not None]
        candidates = [
            Candidate(task, shape(self._listed[task.name].get("inputSchema"), task.arguments), sample)
            for sample in samples
            for task in (catalogue()[sample.tool],)
        ]
        bad = [draft.call for draft in drafts if draft.bad]
        values = Values(self._run_id, "probes", self._request.today)
        yield from probes.calls(candidates, bad, values)

    def _to_vary(self, call: PlannedCall) -> PlannedCall | None:
        """Return a call as a sample that probes can be made of: one of the catalogue, or the user's in its place."""
        if call.name != SAMPLE or call.tool not in catalogue() or call.expect is Expect.ERROR:
            return None
        wrapper = shape(self._listed[call.tool].get("inputSchema"), catalogue()[call.tool].arguments).wrapper
        if wrapper is not None and not isinstance(call.arguments.get(wrapper), Mapping):
            return None
        return replace(
            call, purpose=Purpose.GOOD, mutating=catalogue()[call.tool].mutating, expect=Expect.ANY
        )

    # -- configured calls -----------------------------------------------------------------------------------

    def _from_configuration(self) -> Iterator[_Draft]:
        for index, call in enumerate(self._request.calls, start=MAX_AUTOMATIC):
            planned = self._configured(call)
            if isinstance(planned, PlannedCall):
                yield _Draft(planned, (self._order[call.tool], index))
            else:
                blocked = call.tool not in self._listed
                self._leave_out(f"{call.tool}/{call.name}", planned, blocked=blocked)

    def _configured(self, call: ConfiguredCall) -> PlannedCall | str:
        """Return a configured call with what goes into every call, or why it is not made."""
        if call.tool not in self._listed:
            return f"tools/list does not name {call.tool}{self._instead(call.tool)}"
        if not self._request.wants(call.tool):
            return _FILTERED
        task = catalogue().get(look_alike(call.tool) or call.tool)
        if task and task.mutating and not self._may_mutate:
            return self._mutating
        account = self._account(task is not None and task.mutating)
        members = {**self._usual(call.tool, account), **call.arguments}
        filled = fill(members, Values(self._run_id, f"{call.tool}/{call.name}", self._request.today, account))
        if filled.wants_account:
            return "$account stands in it; set `account:` in adcp.yaml"
        if filled.needed:
            return "$needed stands in it; put the value there"
        return PlannedCall(
            tool=call.tool,
            name=call.name,
            arguments=filled.arguments,
            purpose=Purpose.CONFIGURED,
            mutating=task is None or task.mutating,  # nobody knows what a tool outside the catalogue does
            expect=call.expect,
            error_codes=call.error_codes,
            takes=tuple(filled.takes),
        )

    def _usual(self, tool: str, account: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the members that go into every call of a tool which has an argument for them."""
        task = catalogue().get(tool)
        of_task = task.arguments if task else frozenset[str]()
        wanted = shape(self._listed[tool].get("inputSchema"), of_task)
        return {
            name: value
            for name, value in (("account", account), ("context", self._context))
            if value is not None
            and wanted.wrapper is None
            and (name in wanted.known.types or name in of_task)
            and wanted.known.takes(name, value)
        }

    # -- what becomes of the drafts -------------------------------------------------------------------------

    def _reachable(self, waiting: list[_Draft]) -> list[_Draft]:
        """Leave out calls that take a value from a tool which nothing is asked of."""
        reached: list[_Draft] = []
        sources: set[str] = set()
        while ready := [draft for draft in waiting if all(take.tool in sources for take in draft.call.takes)]:
            reached += ready
            waiting = [
                draft for draft in waiting if not all(take.tool in sources for take in draft.call.takes)
            ]
            sources.update(draft.call.tool for draft in ready if not draft.bad)
        for draft in waiting:
            if not draft.bad:
                take = next(take for take in draft.call.takes if take.tool not in sources)
                value = take.value.rpartition("/")[2]
                state = "not called" if take.tool in self._listed else "not listed"
                why = f"needs {value} from an answer of {take.tool}, which is {state}; {_CONFIGURE}"
                self._leave_out(draft.call.subject, why)
        # Where the sample cannot be made, only what nobody has is asked for.
        made = {draft.call.tool for draft in reached if draft.call.name == SAMPLE}
        return [
            draft
            for draft in reached
            if not draft.bad or draft.call.tool in made or draft.call.name == UNKNOWN_ID
        ]

    def _within_bounds(self, drafts: list[_Draft]) -> list[_Draft]:
        """Drop automatic calls beyond the bound, those at the end of chains first."""
        configured = [draft for draft in drafts if draft.configured]
        automatic = sorted(
            (draft for draft in drafts if not draft.configured), key=lambda draft: (draft.rank, draft.order)
        )
        if len(automatic) > MAX_AUTOMATIC:
            self._leave_out(
                plural(len(automatic) - MAX_AUTOMATIC, "further request"),
                f"a plan has {MAX_AUTOMATIC} automatic calls at most; choose tools with --adcp-tool",
            )
        return [*automatic[:MAX_AUTOMATIC], *configured]

    # -- diagnosis ------------------------------------------------------------------------------------------

    def _instead(self, tool: str) -> str:
        alike = [name for name in self._names[:_NAMES_LOOKED_AT] if look_alike(name) == tool]
        return f", but {quote(alike[0], 60)}" if alike else ""

    def _problems(self) -> Iterator[str]:
        if any(name in catalogue() for name in self._listed):
            return
        if not self._names:
            yield "tools/list is empty: there is nothing to call"
            return
        names = _some([quote(name, 60) for name in self._names])
        yield f"no AdCP task is among the {plural(len(self._names), 'tool')} of tools/list: {names}"
        alike = [(name, task) for name in self._names[:_NAMES_LOOKED_AT] if (task := look_alike(name))]
        if alike:
            pairs = _some([f"{quote(name, 60)} looks like {task}" for name, task in alike])
            yield f"an AdCP tool has exactly the name of its task: {pairs}"


def _one_each(drafts: Iterable[_Draft]) -> list[_Draft]:
    """Keep a call a tool: the first that the user configured, else the first of the catalogue."""
    first: dict[str, _Draft] = {}
    for draft in sorted(drafts, key=lambda draft: (not draft.configured, draft.order)):
        first.setdefault(draft.call.tool, draft)
    return list(first.values())


def _chained(drafts: Iterable[_Draft]) -> Iterator[PlannedCall]:
    """Make each bad request wait for the one before it on the same tool."""
    last: dict[str, str] = {}
    for draft in drafts:
        call = draft.call
        if draft.bad:
            yield replace(call, after=last.get(call.tool))
            last[call.tool] = call.subject
        else:
            yield call


def _member(path: str) -> str:
    """Return the first token of a JSON pointer."""
    return path.split("/")[1].replace("~1", "/").replace("~0", "~")


def _some(names: Collection[str], most: int = 10) -> str:
    shown = list(names)[:most]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def describe(made: Plan) -> str:
    """Return a plan as text for a terminal: every call with its arguments, and what is left out and why."""
    lines = [plural(len(made.calls), "call")]
    for call in made.calls:
        lines.append(f"  {safe(call.subject)}{' (mutating)' if call.mutating else ''}")
        lines.append(f"      {quote(call.arguments, 2000)}")
        sources = ((safe(take.argument), safe(take.value), safe(take.tool)) for take in call.takes)
        lines.extend(f"      {place}: {value} from an answer of {tool}" for place, value, tool in sources)
        after = f", if the seller accepts {call.after}" if call.after else ""
        if call.violates:
            lines.append(f"      to be refused{after}: {call.violates}")
        elif call.probe is not None:
            lines.append(f"      tries {call.probe}{after}")
    if made.not_called:
        lines.append("not called")
        lines.extend(f"  {safe(left.item)}: {safe(left.why, 1000)}" for left in made.not_called)
    return "\n".join([*lines, *made.problems])
