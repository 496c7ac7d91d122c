"""Records the example of each rule about servers: under a fault of the reference seller, and without it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import excerpts
from bundle import validators
from excerpts import Plain
from leniency import leniencies
from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.plan import AppRequest, ConfiguredCall
from pytest_adcp.harness.reading import Document
from pytest_adcp.harness.reference.examples import Example, Pair
from pytest_adcp.harness.rules import Judged, Profile, Rule, load
from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import FOR_APPS, Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.tasks import catalogue
from pytest_adcp.harness.transcript import End, Exchange, Limits
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.suites import CONNECTED_APPS, CORE
from surveys import survey

CLEAN = "the reference seller without a fault"
# One call after the other, so that the ids are the same in each run.
_LIMITS = Limits(request_timeout=2.0, survey_timeout=30.0, concurrency=1)
# Where a fault shows in calls side by side, or takes long.
_PATIENT = Limits(request_timeout=10.0, survey_timeout=90.0)
_READ = 1 << 20  # bytes of a body that are looked at
_BYTES = {Judged.STREAM, Judged.LISTENING, Judged.CLOSING, Judged.SUBSCRIPTION}
_SHOWN_AS_BYTES = ("mcp.sse.",)
WHY_NONE = {
    "connected-apps.https-443": "It needs a server with a public name and certificate: "
    "the reference seller is reached over loopback alone, where the rule does not apply.",
}


@dataclass(frozen=True)
class Recorded:
    """A survey of a seller, judged."""

    fault: Fault | None
    evidence: Evidence
    findings: tuple[Finding, ...]

    def of(self, rule: str, *outcomes: Outcome) -> list[Finding]:
        return [f for f in self.findings if f.rule == rule and f.outcome in outcomes]

    def exchange(self, index: int | None) -> Exchange | None:
        return None if index is None else self.evidence.transcript.exchanges[index]

    @property
    def how(self) -> str:
        return self.fault.says if self.fault else CLEAN


@cache
def rules() -> Mapping[str, Rule]:
    """Return the rules about servers."""
    return {rule.id: rule for rule in load((*CORE, *CONNECTED_APPS))}


def fault_for(rule: Rule) -> Fault | None:
    """Return the fault that shows a rule best: the one that breaks the fewest others, and needs the least."""

    def burden(fault: Fault) -> tuple[int, int]:
        broken = fault.fails | fault.advises | fault.fails_schema
        return len(broken), len(fault.needs) + len(fault.calls) + len(
            fault.asks
        ) + fault.production + fault.mutating

    breaking = [f for f in faults().values() if rule.id in f.fails | f.advises | f.fails_schema]
    at_level = [
        f for f in breaking if rule.id in (f.advises if rule.level == "SHOULD" else f.fails | f.fails_schema)
    ]
    return min(at_level or breaking, key=burden, default=None)


def record(fault: Fault | None, like: Fault | None = None, limits: Limits = _LIMITS) -> Recorded:
    """Survey and judge a seller with a fault, or one without that is asked the same as one with `like`."""
    asked = fault or like or Fault("", "", Hooks())
    for_apps = asked.is_for_apps
    needs = {**FOR_APPS, **asked.needs} if for_apps else dict(asked.needs)
    calls = [ConfiguredCall(**{**call, "expect": Expect(call.get("expect", "any"))}) for call in asked.calls]
    mutating = asked.mutating or any(
        catalogue()[call.tool].mutating for call in calls if call.tool in catalogue()
    )
    with running(SellerOptions(fault=fault.name if fault else None, **needs)) as url:
        transcript = survey(
            url,
            limits=limits,
            calls=calls,
            credentials=Credentials(bearer=asked.needs.get("bearer")),
            allow_mutating=mutating,
            sandbox_account=DEMO_ACCOUNT,
            interop=asked.interop,
            **({"app": AppRequest(), **asked.asks} if for_apps else {}),
        )
    evidence = Evidence(transcript, schemas=None if for_apps else validators(), production=asked.production)
    chosen = [r for r in rules().values() if (r.profile is Profile.CONNECTED_APPS) is for_apps]
    found = [judge(rule, entry) for rule in chosen for entry in evidence.of(rule)]
    return Recorded(fault, evidence, tuple(found))


def _key(fault: Fault) -> tuple[Any, ...]:
    """Return what a seller without the fault depends on: two faults with the same key share it."""
    return (fault.is_for_apps, fault.interop, fault.production, fault.mutating, repr(dict(fault.needs)),
            repr(fault.calls), repr(dict(fault.asks)))  # fmt: skip


class Recorder:
    """Records examples; sellers without a fault are surveyed once for each way to ask them."""

    def __init__(self) -> None:
        self._clean: dict[tuple[Any, ...], Recorded] = {}
        self._faulty: dict[str, Recorded] = {}

    def prepare(self, wanted: Iterable[Rule], side_by_side: int = 4) -> None:
        """Survey what rules need, several sellers at a time: a survey mostly waits."""
        chosen = {fault.name: fault for fault in map(fault_for, wanted) if fault is not None}
        twins = {_key(fault): fault for fault in chosen.values()}
        with ThreadPoolExecutor(side_by_side) as pool:
            done = (
                pool.map(record, chosen.values()),
                pool.map(lambda like: record(None, like), twins.values()),
            )
            self._faulty |= zip(chosen, done[0], strict=True)
            self._clean |= zip(twins, done[1], strict=True)

    def pair(self, rule: Rule, *, search: bool = True) -> Pair:
        """Return the examples of a rule.

        Args:
            search: whether sellers of other kinds are tried where the usual one gives nothing that passes.

        Raises:
            LookupError: the fault that is to break it does not.
        """
        lenient = leniencies(rule)
        fault = fault_for(rule)
        if fault is None:
            return Pair(None, None, WHY_NONE[rule.id], lenient)
        faulty = self._run(fault)
        bad = faulty.of(rule.id, Outcome.FAILED, Outcome.ADVISORY)
        if not bad:
            faulty = self._faulty[fault.name] = record(fault, limits=_PATIENT)
            bad = faulty.of(rule.id, Outcome.FAILED, Outcome.ADVISORY)
        if not bad:
            raise LookupError(f"{rule.id}: {fault.name} breaks it no more (are AdCP's schemas there?)")
        strong = [f for f in bad if f.outcome is Outcome.FAILED] or bad
        finding = next((f for f in strong if f.pointer is not None), strong[0])
        twin = self._twin(fault)
        good = self._passing(rule, finding, twin, search=search)
        if good is None:
            fails, _ = show(rule, faulty, finding, None, None)
            return Pair(fails, None, _why_none(rule, twin), lenient)
        where, passed = good
        fails, passes = show(rule, faulty, finding, where, passed)
        return Pair(fails, passes, "", lenient)

    def _run(self, fault: Fault) -> Recorded:
        if fault.name not in self._faulty:
            self._faulty[fault.name] = record(fault)
        return self._faulty[fault.name]

    def _twin(self, fault: Fault) -> Recorded:
        key = _key(fault)
        if key not in self._clean:
            self._clean[key] = record(None, like=fault)
        return self._clean[key]

    def _passing(
        self, rule: Rule, bad: Finding, twin: Recorded, *, search: bool
    ) -> tuple[Recorded, Finding] | None:
        """Return where the rule passes: at the same place, else elsewhere, else in a seller with another fault."""
        passed = twin.of(rule.id, Outcome.PASSED)
        same = [finding for finding in passed if finding.subject == bad.subject]
        if same or passed:
            return twin, (same or passed)[0]
        if not search:
            return None
        for other in self._variants(rule):
            if found := other.of(rule.id, Outcome.PASSED):
                return other, found[0]
        for fault in _near(rule):
            found = self._run(fault).of(rule.id, Outcome.PASSED)
            if found:
                return self._run(fault), found[0]
        return None

    def _variants(self, rule: Rule) -> Iterator[Recorded]:
        """Yield sellers without a fault that answer in other ways."""
        for_apps = rule.profile is Profile.CONNECTED_APPS
        for eras, answers in itertools.product((Eras.BOTH, Eras.HANDSHAKE, Eras.STATELESS), Answers):
            of_rules = frozenset({"connected-apps."}) if for_apps else frozenset()
            like = Fault("", "", Hooks(), of_rules, needs={"eras": eras, "answers": answers}, mutating=True)
            if _key(like) not in self._clean:
                self._clean[_key(like)] = record(None, like)
            yield self._clean[_key(like)]


def _why_none(rule: Rule, twin: Recorded) -> str:
    """Say why a rule has no example that passes: what it says to the seller without the fault."""
    (first, *_) = twin.of(rule.id, *Outcome)
    told = Plain(twin.evidence.transcript)(first.message)
    return f"Without the fault the reference seller gives it nothing to judge ({told})."


def _near(rule: Rule) -> Iterator[Fault]:
    """Yield faults under which a rule may find something to judge, and pass: those that show the others of its family."""
    family = [other for other in rules().values() if other.family == rule.family]
    for fault in {fault.name: fault for fault in map(fault_for, family) if fault is not None}.values():
        if rule.id not in fault.fails | fault.advises | fault.fails_schema:
            yield fault


def show(
    rule: Rule, faulty: Recorded, bad: Finding, clean: Recorded | None, good: Finding | None
) -> tuple[Example, Example | None]:
    """Return a finding and its twin as examples, cut to where they differ."""
    sent = faulty.exchange(bad.exchange)
    if clean is None or good is None:
        only = Bodies(rule, bad.pointer, Side(faulty, sent), Side(faulty, None))
        return _example(faulty, bad, sent, only.bad), None
    came = clean.exchange(good.exchange)
    if bad.subject == good.subject and not _differ(Side(faulty, sent), Side(clean, came), bad.pointer):
        sent, came = _elsewhere(faulty, clean, bad.pointer) or (sent, came)
    bodies = Bodies(rule, bad.pointer, Side(faulty, sent), Side(clean, came))
    fails = _example(faulty, bad, sent, bodies.bad)
    passes = _example(clean, good, came, bodies.good)
    return fails, replace(passes, request=() if passes.request == fails.request else passes.request)


def _elsewhere(faulty: Recorded, clean: Recorded, pointer: str | None) -> tuple[Exchange, Exchange] | None:
    """Return the exchange that a finding about several is about: the first that differs at its place."""
    twins = {(e.kind, e.subject, e.attempt): e for e in clean.evidence.transcript.exchanges}
    for exchange in faulty.evidence.transcript.exchanges:
        twin = twins.get((exchange.kind, exchange.subject, exchange.attempt))
        if twin is not None and _differ(Side(faulty, exchange), Side(clean, twin), pointer):
            return exchange, twin
    return None


def _differ(one: Side, other: Side, pointer: str | None) -> bool:
    """Whether two answers differ at a place, or anywhere where there is none."""
    if one.exchange is None or other.exchange is None:
        return False
    if not pointer:
        return one.text != other.text or one.exchange.redirects != other.exchange.redirects
    path = excerpts.path_of(pointer)
    found = [
        (excerpts.nearest(side.value, path), Plain(side.recorded.evidence.transcript))
        for side in (one, other)
    ]
    here, there = (plain(json.dumps(value)) if reached == path else None for (value, reached), plain in found)
    return here != there


def _example(of: Recorded, finding: Finding, exchange: Exchange | None, response: Sequence[str]) -> Example:
    plain = Plain(of.evidence.transcript)
    request = excerpts.request_lines(exchange.request) if exchange else []
    sent, came = plain.lines(request), plain.lines(response)
    return Example(
        fault=of.fault.name if of.fault else "",
        how=of.how,
        subject=plain(finding.subject),
        outcome=str(finding.outcome),
        message=plain(finding.message),
        expected=plain(finding.expected),
        received=plain(finding.received),
        pointer=finding.pointer,
        fix=plain(finding.fix) if finding.fix != rules()[finding.rule].fix else "",
        request=sent,
        response=came,
    )


@dataclass(frozen=True)
class Side:
    """An answer of one of the two sellers."""

    recorded: Recorded
    exchange: Exchange | None

    @property
    def is_plain(self) -> bool:
        """Whether its value shows all of it: one JSON text that no reader objects to."""
        document = self._document
        whole = self.exchange is not None and self.exchange.end is End.COMPLETE
        return whole and document is not None and document.parsed.ok and not document.parsed.objections

    @property
    def value(self) -> Any:
        """The JSON-RPC response, or the JSON value of another document."""
        document = self._document
        return document.parsed.value if document is not None else None

    @property
    def _document(self) -> Document | None:
        if self.exchange is None:
            return None
        reading = self.recorded.evidence.readings[self.exchange.index]
        return reading.document or (reading.documents[0] if len(reading.documents) == 1 else None)

    @cached_property
    def text(self) -> str:
        """The body without what is of one run alone."""
        response = self.exchange.response if self.exchange else None
        if response is None:
            return ""
        return Plain(self.recorded.evidence.transcript)(
            response.body[:_READ].decode("utf-8", "backslashreplace")
        )


class Bodies:
    """The two responses: as JSON around the place where that shows the difference, else as the bytes that came."""

    def __init__(self, rule: Rule, pointer: str | None, bad: Side, good: Side) -> None:
        self._pointer = pointer
        self._sides = (bad, good)
        as_bytes = rule.judged in _BYTES or rule.id.startswith(_SHOWN_AS_BYTES)
        ways: list[Callable[[], tuple[list[str], list[str]]]] = [self._as_bytes, self._with_heads]
        if not as_bytes and bad.is_plain:
            ways.insert(0, self._as_values)
        for way in ways:
            self.bad, self.good = way()
            if self.bad != self.good:
                break
        else:
            self.good = ["(the same answer: what the rule is about does not show in its bytes)"]

    def _as_values(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        if self._pointer:
            paths = [excerpts.path_of(self._pointer)]
        else:
            near = excerpts.differences(bad.value, good.value) if good.is_plain else iter([("result",)])
            paths = sorted(path for path in near if path != ("id",))[:2] or [("result",)]
        return self._value(bad, paths), self._value(good, paths)

    def _value(self, side: Side, paths: Sequence[excerpts.Path]) -> list[str]:
        if side.exchange is None:
            return []
        if not side.is_plain:
            return self._raw(side, 0)
        return [*excerpts.head_lines(side.exchange), "", *excerpts.outline(side.value, paths)]

    def _as_bytes(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        offset = excerpts.first_difference(bad.text, good.text) if bad.text and good.text else 0
        return self._raw(bad, offset), self._raw(good, offset)

    def _with_heads(self) -> tuple[list[str], list[str]]:
        bad, good = self._sides
        return self._raw(bad, 0, full=True), self._raw(good, 0, full=True)

    @staticmethod
    def _raw(side: Side, offset: int, *, full: bool = False) -> list[str]:
        if side.exchange is None:
            return []
        head = excerpts.head_lines(side.exchange, full=full)
        if side.exchange.response is None:
            return head
        return [*head, "", *excerpts.raw(side.text, offset), *excerpts.end_lines(side.exchange)]
