"""Why a run cannot say more than it does: what was left out of it, and what it never saw."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from .classify import Class
from .diagnosis import NO_LEGACY
from .evidence import Evidence
from .release import BEFORE_3, WHY_BEFORE_3, numbers
from .rules import Judged, Profile
from .schema_bundle import HOW_TO_GET
from .subjects import HOW_TO_SAY_PRODUCTION, Answer, Result
from .text import plural, safe
from .transcript import End, Kind
from .verdict import ExitCode, Finding, Judgement, conclude, exit_code

if TYPE_CHECKING:
    import pytest

    from .selection import Selection

_NO_MATCH = "no listed tool matches --adcp-tool"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a run says of its target.

    Attributes:
        judgement: the verdict, and what keeps it from being plain.
        narrowed: how the run was narrowed to a part; empty: it was not.
        unusable: whether the target could not be surveyed, and no rule says why.
        judged: how many findings there are.
    """

    judgement: Judgement
    narrowed: tuple[str, ...]
    unusable: bool
    judged: int

    def exit_code(self, *, faults: int, alarm: bool | None) -> ExitCode:
        """Return the exit code; `faults` and `alarm` as in verdict.exit_code."""
        return exit_code(
            self.judgement,
            faults=faults,
            unusable=self.unusable,
            # Where --adcp-tool named nothing, the run is not a part of anything.
            partial=bool(self.narrowed) and not any(map(_is_no_match, self.judgement.reasons)),
            judged=self.judged,
            alarm=alarm,
        )


def concluded(
    evidence: Evidence | None,
    findings: Sequence[Finding],
    *,
    tools: tuple[str, ...],
    profiles: Collection[Profile],
    narrowed: Sequence[str],
    further: Sequence[str] = (),
) -> Conclusion:
    """Return what findings come to.

    Args:
        evidence: of the survey; None where no server was judged.
        findings: everything judged.
        tools: the globs of --adcp-tool.
        profiles: whose rules were tried.
        narrowed: how the run was narrowed.
        further: what beside the survey keeps the run from saying more.
    """
    left = gaps(evidence, tools, profiles) if evidence is not None else []
    unusable = evidence is not None and evidence.transcript.survey.unusable is not None
    return Conclusion(
        conclude(findings, gaps=[*left, *further, *narrowed]),
        tuple(narrowed),
        unusable and not any(finding.rule == NO_LEGACY for finding in findings),
        len(findings),
    )


def narrowed(
    config: pytest.Config,
    selection: Selection,
    evidence: Evidence | None,
    tools: tuple[str, ...],
    *,
    left: bool,
) -> list[str]:
    """Return how the user narrowed a run, in a sentence; none where everything was judged.

    Args:
        config: for pytest's own ways of selecting.
        selection: paths and node ids.
        evidence: of the survey; None where no server was judged.
        tools: the globs of --adcp-tool.
        left: whether collected rules were not judged.
    """
    option = config.option
    how = [f"{flag} {value}" for flag, value in (("-k", option.keyword), ("-m", option.markexpr)) if value]
    how += [flag for name, flag in (("lf", "--lf"), ("stepwise", "--sw")) if getattr(option, name, False)]
    how += ["--deselect"] if getattr(option, "deselect", None) else []
    how = how if left else []
    how += ["a path"] if selection.partial else []
    how += of_survey(evidence, tools)
    if left and not how:
        how.append("the run stopped at a failure")
    return only_a_part(how)


def of_survey(evidence: Evidence | None, tools: tuple[str, ...]) -> list[str]:
    """Return the options that narrowed a survey, also one that is replayed, or its judgement."""
    options = evidence.transcript.survey.options if evidence is not None else {}
    how = ["--adcp-tool"] if tools or options.get("tools") else []
    return [*how, "--adcp-quick"] if options.get("quick") else how


def only_a_part(how: Sequence[str]) -> list[str]:
    """Return the sentence that says by what a run was narrowed; none where nothing did."""
    return [f"only a part was judged ({safe(', '.join(how))})"] if how else []


def wanted(tools: tuple[str, ...], name: str) -> bool:
    """Whether the globs of --adcp-tool take a tool; none take all."""
    return not tools or any(fnmatchcase(name, pattern) for pattern in tools)


def gaps(evidence: Evidence, tools: tuple[str, ...], profiles: Collection[Profile]) -> list[str]:
    """Return what keeps a survey without failures from being conformant, the root cause first."""
    survey = evidence.transcript.survey
    if survey.unusable is not None:
        return [survey.unusable.message]
    found = (
        ["the server that adcp.yaml starts ended by itself during the survey"] if survey.own_server else []
    )
    found += [f"the survey ended early: {survey.stopped}"] if survey.stopped else []
    found += _one_at_a_time(evidence)
    core = Profile.CORE in profiles
    if core and evidence.server.release == BEFORE_3:
        found.append(f"hardly anything was judged: {WHY_BEFORE_3}")
    found += _not_called(evidence)
    release = evidence.server.release
    if core and release not in (None, BEFORE_3) and numbers(release)[0] != 3:
        found.append(f"the server says that it serves AdCP {release}, of which nothing is known here")
    if tools and not any(wanted(tools, str(tool.get("name"))) for tool in evidence.server.tools):
        found.append(f"{_NO_MATCH} {safe(', '.join(tools))}")
    if not core:
        return found + _nothing_called(evidence)
    return found + (list(survey.problems) or _never_seen(evidence))


def _is_no_match(reason: str) -> bool:
    return reason.startswith(_NO_MATCH)


def _one_at_a_time(evidence: Evidence) -> Iterator[str]:
    """Yield a cause for many requests without an answer: those on all connections but one were left waiting."""
    exchanges = evidence.transcript.exchanges
    silent = [e for e in exchanges if e.end is End.DEADLINE and e.first_byte is None]
    # The first two requests are sent side by side; then the calls are.
    first = {e.kind for e in silent if e.kind in (Kind.INITIALIZE, Kind.DISCOVER)}
    calls = [e for e in silent if e.kind is Kind.CALL]
    answered = any(
        e.kind is Kind.CALL
        and e.end is End.COMPLETE
        and call.started <= e.started < call.started + call.seconds
        for e in exchanges
        for call in calls
    )
    if len(first) == 1 and answered and evidence.transcript.survey.limits.concurrency > 1:
        yield (
            "requests on one connection were answered, and those on the others got nothing: the server may serve one "
            "connection at a time; try --adcp-concurrency 1"
        )


def _not_called(evidence: Evidence) -> list[str]:
    """Return why calls were not made, one line a reason."""
    by_reason: dict[str, list[str]] = {}
    for item in evidence.transcript.survey.not_called:
        if item.blocked:
            by_reason.setdefault(item.why, []).append(item.item)
    return [
        f"{items[0]} was not called: {why}"
        if len(items) == 1
        else f"{plural(len(items), 'call')} not made: {why}"
        for why, items in by_reason.items()
    ]


def _never_seen(evidence: Evidence) -> list[str]:
    """Return which of the two kinds of answer never came, and why."""
    seen = {answer.kind for answer in evidence.answers if isinstance(answer, Answer)}
    missing = []
    if Class.SUCCESS not in seen:
        missing.append(f"no AdCP task succeeded: {evidence.none_of(Judged.SUCCESS).why}")
    without = evidence.none_of(Judged.ERROR)
    if Class.ERROR not in seen and without.blocked:
        missing.append(f"no AdCP task gave an error: {without.why}")
    return missing


def _nothing_called(evidence: Evidence) -> list[str]:
    """Return why a server that is not judged as an AdCP seller was seen too little."""
    called = {exchange.index for exchange in evidence.transcript.exchanges if exchange.kind is Kind.CALL}
    entries = evidence.entries(Judged.RESULT)
    if any(isinstance(entry, Result) and entry.exchange.index in called for entry in entries):
        return []
    return ["no tool gave a result to judge; give a call that does with `calls:` in adcp.yaml"]


def schemas_used(evidence: Evidence | None) -> tuple[str, str] | None:
    """Return the source and the version of the AdCP schemas that judge; None where there are none for what is served."""
    server = evidence.server if evidence is not None else None
    if server is None or server.schemas is None:
        return None
    version = server.schemas.versions.get(server.release or "3.0")
    return (server.schemas.source, version) if version else None


def _why_no_schemas(evidence: Evidence) -> str:
    """Say why no payload was held against a schema, and what would change that; empty where it was."""
    if schemas_used(evidence) is not None:
        return ""
    schemas = evidence.server.schemas
    if evidence.server.release == BEFORE_3:
        return WHY_BEFORE_3
    if schemas is None:
        return HOW_TO_GET
    held = ", ".join(schemas.versions.values())
    serves = f"the server serves AdCP {evidence.server.release or '3.0'}"
    return f"{serves}, and {schemas.source} has {held}; {HOW_TO_GET}"


def not_checked(evidence: Evidence | None) -> Iterator[tuple[str, str]]:
    """Yield what was left out beside calls, and how to have it checked."""
    if evidence is None or evidence.transcript.survey.unusable is not None:
        return
    if why := _why_no_schemas(evidence):
        yield "payloads against AdCP's schemas", why
    if not evidence.server.production and evidence.server.release != BEFORE_3:
        yield "that a production server has no test controller", HOW_TO_SAY_PRODUCTION


def left_out(evidence: Evidence | None) -> set[str]:
    """Return the calls (tool/name) and the tools that the plan left out."""
    survey = evidence.transcript.survey if evidence is not None else None
    return {name for item in survey.not_called for name in item.item.split(", ")} if survey else set()
