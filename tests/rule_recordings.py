"""Recordings of sellers: surveyed once, judged rule by rule, reduced to what a rule needs, and kept in tests/data/rules."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from bundle import validators
from pytest_adcp.harness.calls import Expect
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.files import replace_file
from pytest_adcp.harness.plan import AppRequest, ConfiguredCall
from pytest_adcp.harness.rules import Rule
from pytest_adcp.harness.seller.exchange import Hooks
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import FOR_APPS, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.target import Credentials
from pytest_adcp.harness.transcript import Exchange, Limits, Transcript
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from surveys import survey

FOLDER = Path(__file__).parent / "data" / "rules"
CLEAN = "the reference seller without a fault"
PLAIN = Fault("", "", Hooks())
# One call after the other, so that the ids are the same in each run.
QUICK = Limits(request_timeout=2.0, survey_timeout=30.0, concurrency=1)
# Where a fault shows in calls side by side, or takes long.
PATIENT = Limits(request_timeout=10.0, survey_timeout=90.0)


@dataclass(frozen=True)
class Recorded:
    """A survey of a seller.

    Attributes:
        fault: what the seller does otherwise; None: nothing.
        asked: what was asked of it: the calls and options that this fault needs.
    """

    fault: Fault | None
    asked: Fault
    transcript: Transcript

    @property
    def how(self) -> str:
        return self.fault.says if self.fault else CLEAN

    @cached_property
    def evidence(self) -> Evidence:
        """What is judged without AdCP's schemas."""
        return Evidence(self.transcript, production=self.asked.production)

    @cached_property
    def _with_schemas(self) -> Evidence:
        return Evidence(self.transcript, schemas=validators(), production=self.asked.production)

    def findings(self, rule: Rule) -> list[Finding]:
        """Return what a rule says to all that it is tried on."""
        evidence = self._with_schemas if needs_schemas(rule) else self.evidence
        return [judge(rule, entry) for entry in evidence.of(rule)]

    def of(self, rule: Rule, *outcomes: Outcome) -> list[Finding]:
        return [finding for finding in self.findings(rule) if finding.outcome in outcomes]

    def exchange(self, index: int | None) -> Exchange | None:
        return None if index is None else self.transcript.exchanges[index]


def needs_schemas(rule: Rule) -> bool:
    """Whether there are cases in which only AdCP's schemas can tell that a rule is broken."""
    return rule.id in _told_by_schemas()


def can_be_judged(rule: Rule) -> bool:
    """Whether a rule can be judged here: some need AdCP's schemas."""
    return not needs_schemas(rule) or validators() is not None


@cache
def _told_by_schemas() -> frozenset[str]:
    return frozenset().union(*(fault.fails_schema for fault in faults().values()))


def record(fault: Fault | None, like: Fault | None = None, limits: Limits = QUICK) -> Recorded:
    """Survey a seller with a fault, or one without that is asked the same as one with `like`."""
    asked = fault or like or PLAIN
    needs = {**FOR_APPS, **asked.needs} if asked.is_for_apps else dict(asked.needs)
    calls = [ConfiguredCall(**{**call, "expect": Expect(call.get("expect", "any"))}) for call in asked.calls]
    with running(SellerOptions(fault=fault.name if fault else None, **needs)) as url:
        transcript = survey(
            url,
            limits=limits,
            calls=calls,
            credentials=Credentials(bearer=asked.needs.get("bearer")),
            allow_mutating=asked.mutates,
            sandbox_account=DEMO_ACCOUNT,
            interop=asked.interop,
            **({"app": AppRequest(), **asked.asks} if asked.is_for_apps else {}),
        )
    return Recorded(fault, asked, transcript)


def under(recorded: Recorded, origin: str) -> Recorded:
    """Return a survey as if the seller had been reached at another origin."""
    survey_ = recorded.transcript.survey
    old = f"http://{urlsplit(survey_.url).netloc}"
    hosts = (urlsplit(old).netloc, urlsplit(origin).netloc)
    exchanges = tuple(
        replace(
            each,
            request=replace(
                each.request,
                url=each.request.url.replace(old, origin),
                headers=tuple((name, value.replace(*hosts)) for name, value in each.request.headers),
            ),
        )
        for each in recorded.transcript.exchanges
    )
    moved = replace(survey_, url=survey_.url.replace(old, origin), name="seller.example")
    return replace(recorded, transcript=Transcript(moved, exchanges))


# -- what a rule needs of a survey ---------------------------------------------------------------------------------


def reduced(
    recorded: Recorded, rule: Rule, choose: Callable[[Recorded], Finding | None], shown: Iterable[int]
) -> Recorded:
    """Leave out the exchanges and the planned calls without which the chosen finding of a rule is the same.

    Args:
        choose: the finding of a survey.
        shown: indices of exchanges that are kept in any case.
    """
    wanted = choose(recorded)
    assert wanted is not None
    all_of_it = recorded.transcript.exchanges
    kept = {*shown, *([] if wanted.exchange is None else [wanted.exchange])}

    def of(indices: Iterable[int], *, calls: bool = True) -> Recorded:
        return _part(recorded, sorted({*indices, *kept}), calls=calls)

    def same(part: Recorded) -> bool:
        try:
            found = choose(part)
        except LookupError:
            return False
        return found is not None and _said(part, found) == _said(recorded, wanted)

    left = [index for index in range(len(all_of_it)) if index not in kept]
    size = len(left)
    while left and size:
        for start in range(0, len(left), size):
            rest = left[:start] + left[start + size :]
            if same(of(rest)):
                left = rest
                break
        else:
            size //= 2
        size = min(size, len(left))
    without = of(left, calls=False)
    return without if same(without) else of(left)


def _said(of: Recorded, finding: Finding) -> tuple[Any, ...]:
    exchange = of.exchange(finding.exchange)
    return (finding.subject, finding.outcome, finding.message, finding.expected, finding.received,
            finding.pointer, finding.fix, exchange and (exchange.request, exchange.started))  # fmt: skip


def _part(recorded: Recorded, indices: list[int], *, calls: bool) -> Recorded:
    """Return some exchanges of a survey; without `calls` only those of its plan that they make."""
    chosen = [recorded.transcript.exchanges[index] for index in indices]
    exchanges = tuple(replace(each, index=index) for index, each in enumerate(chosen))
    head = recorded.transcript.survey
    if not calls:
        subjects = {each.subject for each in exchanges}
        head = replace(
            head, calls=tuple(call for call in head.calls if call.subject in subjects), not_called=()
        )
    return replace(recorded, transcript=Transcript(head, exchanges))


# -- the files -----------------------------------------------------------------------------------------------------


def path_of(family: str) -> Path:
    return FOLDER / f"{family}.tar.xz"


def name_of(rule: str, side: str) -> str:
    """Return the name of a transcript in the archive of its family."""
    return f"{rule}.{side}.jsonl"


@cache
def of_family(family: str) -> Mapping[str, bytes]:
    """Return the transcripts of a family by name; empty where there are none."""
    if not path_of(family).is_file():
        return {}
    with tarfile.open(path_of(family)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]


def loaded(rule: Rule, side: str) -> Transcript:
    """Return the transcript of a rule's example; `side` is fails or passes.

    Raises:
        KeyError: there is none.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        path.write_bytes(of_family(rule.family)[name_of(rule.id, side)])
        return Transcript.load(path)


def saved(transcript: Transcript) -> bytes:
    """Return the bytes of a transcript's file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        transcript.save(path)
        return path.read_bytes()


def save(family: str, rules: Iterable[str], new: Mapping[str, bytes]) -> None:
    """Write the archive of a family: the new transcripts, and of those that were there the ones of its rules."""
    names = [name_of(rule, side) for rule in rules for side in ("fails", "passes")]
    content = {**of_family(family), **new}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, body in _in_order(names, content):
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    FOLDER.mkdir(parents=True, exist_ok=True)
    replace_file(path_of(family), [packed.getvalue()], mode=0o644)
    of_family.cache_clear()


def _in_order(names: Iterable[str], content: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    return ((name, content[name]) for name in names if name in content)
