"""Records the example of each rule about servers: under a fault of the reference seller, and without it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from leniency import leniencies
from pytest_adcp.harness.reference.examples import Example, Pair
from pytest_adcp.harness.rules import Judged, Profile, Rule, load
from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import Answers, Eras
from pytest_adcp.harness.transcript import Exchange
from pytest_adcp.harness.verdict import Finding, Outcome
from pytest_adcp.suites import CONNECTED_APPS, CORE
from rule_recordings import PATIENT, QUICK, Recorded, loaded, record, reduced, under
from rule_shown import exchanges_of, show

# What these rules judge is advised against by another rule, so no seller without a fault has it.
ONLY_WITH = {
    "mcp.http.redirect": "redirect",
    "adcp.extraction.json-text": "text-only",
    "adcp.extraction.text-size": "text-only",
}
# Of the seller on loopback nothing can be said here: its recording is told as if it had been made under these addresses.
PUBLIC = {"connected-apps.https-443": ("http://seller.example:8080", "https://seller.example")}


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


@dataclass(frozen=True)
class Two:
    """A recording that breaks a rule and one that keeps it, each with no more than the rule needs."""

    rule: Rule
    faulty: Recorded
    clean: Recorded

    @property
    def pair(self) -> Pair:
        """The examples that they give.

        Raises:
            LookupError: they do not break and keep the rule.
        """
        bad = worst(self.rule, self.faulty)
        good = best(self.rule, self.clean, bad.subject)
        fails, passes = show(self.rule, self.faulty, bad, self.clean, good)
        if self.rule.id in PUBLIC:
            fails, passes = (
                replace(
                    each,
                    how=f"the reference seller at {origin}",
                    request=(f"(to {origin}/v1/mcp)", *each.request),
                )
                for each, origin in zip((fails, passes), PUBLIC[self.rule.id], strict=True)
            )
        return Pair(fails, passes, leniencies(self.rule))


def worst(rule: Rule, faulty: Recorded) -> Finding:
    """Return the finding that shows how a rule is broken.

    Raises:
        LookupError: it is not.
    """
    bad = faulty.of(rule, Outcome.FAILED, Outcome.ADVISORY)
    if not bad:
        raise LookupError(f"{rule.id}: this breaks it no more: {faulty.how} (are AdCP's schemas there?)")
    strong = [finding for finding in bad if finding.outcome is Outcome.FAILED] or bad
    return next((finding for finding in strong if finding.pointer is not None), strong[0])


def best(rule: Rule, clean: Recorded, subject: str) -> Finding:
    """Return where a rule passes: at the same place, else elsewhere.

    Raises:
        LookupError: it does not.
    """
    passed = clean.of(rule, Outcome.PASSED)
    if not passed:
        raise LookupError(f"{rule.id}: does not pass: {clean.how}")
    return next((finding for finding in passed if finding.subject == subject), passed[0])


def stored(rule: Rule, pair: Pair) -> Two:
    """Return the recordings that the examples of a rule were made of.

    Raises:
        KeyError: they are not there, or a fault is not.
    """
    of = {side: _fault(example) for side, example in (("fails", pair.fails), ("passes", pair.passes))}
    asked = of["passes"] or of["fails"] or Fault("", "", Hooks())
    return Two(
        rule,
        Recorded(of["fails"], of["fails"] or asked, loaded(rule, "fails")),
        Recorded(of["passes"], asked, loaded(rule, "passes")),
    )


def _fault(example: Example) -> Fault | None:
    return faults()[example.fault] if example.fault else None


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

    def two(self, rule: Rule) -> Two:
        """Return the recordings of a rule.

        Raises:
            LookupError: the fault that is to break it does not, or no seller passes it.
        """
        whole = self._whole(rule)
        bad = worst(rule, whole.faulty)
        good = best(rule, whole.clean, bad.subject)
        sent, came, _ = exchanges_of(whole.faulty, bad, whole.clean, good)
        return Two(
            rule,
            reduced(whole.faulty, rule, lambda part: worst(rule, part), _indices(sent)),
            reduced(whole.clean, rule, lambda part: best(rule, part, bad.subject), _indices(came)),
        )

    def _whole(self, rule: Rule) -> Two:
        fault = fault_for(rule)
        if fault is None:
            like = Fault("", "", Hooks(), frozenset({rule.id}))
            here = self._twin(like)
            return Two(rule, *(under(here, origin) for origin in PUBLIC[rule.id]))
        # Streams are held open beside a call only where there may be two requests at a time.
        limits = PATIENT if rule.judged is Judged.LISTENING else QUICK
        for tried in dict.fromkeys((limits, PATIENT)):
            faulty = self._run(fault) if tried is QUICK else record(fault, limits=tried)
            if faulty.of(rule, Outcome.FAILED, Outcome.ADVISORY):
                break
        twin = self._twin(fault) if limits is QUICK else record(None, fault, limits)
        for clean in itertools.chain([twin], self._others(rule)):
            if clean.of(rule, Outcome.PASSED):
                return Two(rule, faulty, clean)
        raise LookupError(f"{rule.id}: no seller passes it")

    def _run(self, fault: Fault) -> Recorded:
        if fault.name not in self._faulty:
            self._faulty[fault.name] = record(fault)
        return self._faulty[fault.name]

    def _twin(self, fault: Fault) -> Recorded:
        key = _key(fault)
        if key not in self._clean:
            self._clean[key] = record(None, like=fault)
        return self._clean[key]

    def _others(self, rule: Rule) -> Iterator[Recorded]:
        """Yield other sellers that conform, where the plain one has nothing that a rule judges."""
        if rule.id in ONLY_WITH:
            yield self._run(faults()[ONLY_WITH[rule.id]])
        for_apps = rule.profile is Profile.CONNECTED_APPS
        of_rules = frozenset({"connected-apps."}) if for_apps else frozenset()
        yield self._twin(Fault("", "", Hooks(), of_rules))
        for fault in faults().values():
            if fault.is_legal and fault.is_for_apps is for_apps:
                yield self._run(fault)
        for eras, answers in itertools.product((Eras.BOTH, Eras.HANDSHAKE, Eras.STATELESS), Answers):
            yield self._twin(
                Fault("", "", Hooks(), of_rules, needs={"eras": eras, "answers": answers}, mutating=True)
            )


def _indices(exchange: Exchange | None) -> list[int]:
    return [] if exchange is None else [exchange.index]
