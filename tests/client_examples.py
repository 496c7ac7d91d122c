"""Records the example of each rule about client libraries: a library with a fault, and the harness's own algorithms."""

from __future__ import annotations

import copy
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path as File
from typing import Any

import client_adapters as adapters
from excerpts import Path, outline
from faulty_libraries import FAULTS, Changed
from fuzzed_clients import FAULTS as FUZZED
from leniency import leniencies
from pytest_adcp.harness.jsontext import pointer, resolve
from pytest_adcp.harness.library.records import Answer, Declared, Extracted, Library, Limit, Question, Threw
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.harness.library.requirements import actions, requirement
from pytest_adcp.harness.library.subjects import FuzzRun, VectorRun, build, fuzzed, of_rule
from pytest_adcp.harness.reference.examples import Example, Pair
from pytest_adcp.harness.rules import Rule, load
from pytest_adcp.harness.subjects import Entry, Gap
from pytest_adcp.harness.verdict import Finding, Outcome, judge
from pytest_adcp.suites import CLIENT
from pytest_adcp.suites.client.compare import shown
from pytest_adcp.vectors.loader import UNTOLD, Kind, Transport, Vector, own

OWN = "the harness's own algorithms"
_DECLARED = 100_000  # UTF-16 units
_OF_LIMITS = {"client.extraction.limit"}
_PLACES: tuple[Path, ...] = (
    ("structuredContent",),
    *(("content", str(item)) for item in range(5)),
    ("error", "data"),
    ("task", "artifacts", "0", "parts"),
    ("artifacts", "0", "parts"),
    ("artifacts", "1", "parts"),
    ("status", "message", "parts"),
)


class ReadsOtherwise(ReferenceLibrary):
    """The reference on A2A tasks that were changed before it reads them."""

    def __init__(self, edit: Callable[[dict[str, Any]], Any]) -> None:
        self._edit = edit

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            if question.transport is Transport.A2A:
                edited = self._edit(json.loads(question.response or ""))
                if isinstance(edited, Extracted):
                    yield edited
                    continue
                question = replace(question, response=json.dumps(edited))
            yield from super().ask([question])


class Limited(ReferenceLibrary):
    """Declares a limit of text, and keeps another."""

    def __init__(self, declared: Limit | None, kept: int | None) -> None:
        self.declared = Declared("limited", limit=declared)
        self._kept = kept

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        return super().ask(replace(question, limit=self._kept) for question in questions)


class Shallow(ReferenceLibrary):
    """Refuses what is nested more than some levels deep."""

    def ask(self, questions: Iterable[Question]) -> Iterator[Answer]:
        for question in questions:
            deep = "[" * 60 in (question.response or "") or '{\\"a\\":' * 60 in (question.response or "")
            many = max((question.response or "").count("["), (question.response or "").count("{")) > 120
            yield (
                Threw("RecursionError", "nested too deeply")
                if deep or many
                else next(super().ask([question]))
            )


_ENVELOPES = {"task", "message", "statusUpdate", "artifactUpdate"}
_STATES = (
    "completed",
    "failed",
    "canceled",
    "rejected",
    "working",
    "submitted",
    "input",
    "auth",
    "TASK_STATE_",
)


def _stays_in_the_envelope(task: dict[str, Any]) -> Any:
    return Extracted(None) if len(task) == 1 and _ENVELOPES & task.keys() else task


def _knows_old_states_only(task: dict[str, Any]) -> Any:
    return Extracted(None) if '"TASK_STATE_' in json.dumps(task) else task


def _parts(task: dict[str, Any], change: Callable[[list[Any]], list[Any]], *, ended: bool) -> dict[str, Any]:
    """Change the parts of the artifacts, or of the message of a task that has not ended."""
    holders = task.get("artifacts") if ended else [(task.get("status") or {}).get("message")]
    for holder in holders if isinstance(holders, list) else []:
        if isinstance(holder, dict) and isinstance(holder.get("parts"), list):
            holder["parts"] = change(holder["parts"])
    return task


def _wants_a_kind(task: dict[str, Any]) -> Any:
    def known(parts: list[Any]) -> list[Any]:
        return [part for part in parts if isinstance(part, dict) and part.get("kind") == "data"]

    return _parts(_parts(task, known, ended=True), known, ended=False)


def _without_a_message(task: dict[str, Any]) -> Any:
    status = task.get("status")
    if isinstance(status, dict) and "artifacts" in task:
        status.pop("message", None)
    return task


def _unwraps(task: dict[str, Any]) -> Any:
    def unwrapped(parts: list[Any]) -> list[Any]:
        return [
            {**part, "data": part["data"]["response"]}
            if isinstance(part, dict)
            and isinstance(part.get("data"), dict)
            and part["data"].keys() == {"response"}
            else part
            for part in parts
        ]

    return _parts(_parts(task, unwrapped, ended=True), unwrapped, ended=False)


def _takes_any_state(task: dict[str, Any]) -> Any:
    status = task.get("status")
    status = status if isinstance(status, dict) else {}
    known = str(status.get("state")).startswith(_STATES)
    return task if known else {**task, "status": {**status, "state": "completed"}}


def _drops_prototype_names(task: dict[str, Any]) -> Any:
    return json.loads(json.dumps(task).replace('"__proto__"', '"proto"').replace('"constructor"', '"made"'))


def _reads_the_first_artifact(task: dict[str, Any]) -> Any:
    return {**task, "artifacts": task["artifacts"][:1]} if isinstance(task.get("artifacts"), list) else task


def _takes_any_code(task: dict[str, Any]) -> Any:
    return json.loads(json.dumps(task).replace('"code": ""', '"code": "EMPTY"').replace("A" * 65, "A" * 64))


@dataclass(frozen=True)
class Faulty:
    """A library, and what it does wrong."""

    how: str
    library: Library


def _a2a(how: str, edit: Callable[[dict[str, Any]], Any]) -> Faulty:
    return Faulty(how, ReadsOtherwise(edit))


HOW = {
    "extraction.is-error": "A library that ignores isError.",
    "extraction.structured-content": "A library that reads the text where there is one, and passes structuredContent over.",
    "extraction.text": "A library that takes any JSON out of a text, arrays too.",
    "extraction.adcp-error-only": "A library that takes an adcp_error on its own for data.",
    "extraction.no-duplicate": "A library that wants a copy of structuredContent in the text.",
    "extraction.json": "A library that reads NaN, as Python's json does.",
    "extraction.prototype-keys": "A library that loses members called __proto__.",
    "errors.structured-content": "A library that looks for errors in texts only.",
    "errors.detection-order": "A library that looks no further once there is structuredContent.",
    "errors.text": "A library that looks for errors in structuredContent only.",
    "errors.jsonrpc": "A library that does not look into JSON-RPC errors.",
    "errors.guard": "A library that takes errors out of answers that are not flagged.",
    "errors.absent": "A library that makes an AdCP error of the first of errors[].",
    "errors.validation": "A library that takes any code, of any length.",
    "errors.unchanged": "A library that bounds retry_after as it extracts it.",
    "errors.prototype-keys": "A library that loses members called __proto__.",
    "actions.recovery": "A client that tries again after a terminal error.",
    "actions.unknown-recovery": "A client that tries again after a recovery that it does not know.",
    "actions.by-code": "A client that shows every error without recovery to its caller.",
    "actions.no-error": "A client that tries again where no error can be extracted.",
    "actions.retry-after": "A client that waits as long as it is told to.",
    "extractor.answers": "A library that ends with exit code 3.",
}
FAULTY: Mapping[str, Faulty] = {
    **{f"client.{name}": Faulty(how, FAULTS[f"client.{name}"]) for name, how in HOW.items()},
    "client.extraction.limit": Faulty(
        "A library that declares 100,000 UTF-16 units and reads one less.", Limited(Limit(_DECLARED), _DECLARED - 1)
    ),
    "client.extraction.depth": Faulty("A library that refuses what is nested deeply.", Shallow()),
    "client.extractor.path": Faulty(
        "An extractor that says text_fallback whatever it read.",
        Changed(lambda *it: Extracted(it[2].data, "text_fallback")),
    ),
    "client.a2a.envelope": _a2a("A library that does not open envelopes.", _stays_in_the_envelope),
    "client.a2a.states": _a2a("A library that knows the states of A2A 0.3 alone.", _knows_old_states_only),
    "client.a2a.parts": _a2a("A library that wants kind: data in every DataPart.", _wants_a_kind),
    "client.a2a.last-part": _a2a(
        "A library that takes the first DataPart of an artifact.",
        lambda task: _parts(task, lambda parts: parts[::-1], ended=True),
    ),
    "client.a2a.first-part": _a2a(
        "A library that takes the last DataPart of a message.",
        lambda task: _parts(task, lambda parts: parts[::-1], ended=False),
    ),
    "client.a2a.wrapper": _a2a("A library that unwraps {\"response\": ...}.", _unwraps),
    "client.a2a.fallback": _a2a("A library that reads artifacts only, once there are some.", _without_a_message),
    "client.a2a.unknown-state": _a2a("A library that takes an unknown state for completed.", _takes_any_state),
    "client.a2a.unchanged": _a2a("A library that renames __proto__ and constructor.", _drops_prototype_names),
    "client.a2a.error": _a2a("A library that looks for errors in the first artifact only.", _reads_the_first_artifact),
    "client.fuzz.agrees": Faulty("A library that takes NaN for JSON, as Python's json does.", FUZZED["TakesNaN"]()),
    "client.a2a.error-validation": _a2a("A library that takes an error without a code, or with a long one.", _takes_any_code),
}  # fmt: skip
QUICK = frozenset({*FAULTY, *adapters.FAULTY}) - {"client.fuzz.agrees"}  # which take no time to record again


def rules() -> Mapping[str, Rule]:
    """Return the rules about client libraries."""
    return {rule.id: rule for rule in load(CLIENT)}


def pair(rule: Rule) -> Pair:
    """Return the examples of a rule.

    Raises:
        LookupError: the library that is to break it does not.
    """
    if rule.id in adapters.FAULTY:
        return adapters.pair(rule)
    faulty = FAULTY[rule.id]
    fails = _first(rule, faulty, (Outcome.FAILED, Outcome.ADVISORY))
    if fails is None:
        raise LookupError(f"{rule.id}: this library breaks it no more: {faulty.how}")
    right = (
        Limited(Limit(_DECLARED), _DECLARED) if rule.id == "client.extraction.limit" else ReferenceLibrary()
    )
    passes = _first(rule, Faulty(OWN, right), (Outcome.PASSED,), like=fails.subject)
    if passes is None:
        raise LookupError(f"{rule.id}: {OWN} do not pass it")
    if passes.request == fails.request:
        passes = replace(passes, request=())
    return Pair(fails, passes, leniencies(rule))


def _first(rule: Rule, library: Faulty, outcomes: tuple[Outcome, ...], like: str = "") -> Example | None:
    """Return the first subject on which a rule comes to the first of the outcomes, else to another of them.

    Args:
        like: the subject that alone is wanted, where it is a vector; empty: any.
    """
    weaker = None
    for entry in _entries(rule, library.library):
        if like and isinstance(entry, VectorRun) and _subject(entry) != like:
            continue
        finding = judge(rule, entry)
        if like and finding.subject != like and isinstance(entry, FuzzRun):
            continue
        if finding.outcome is outcomes[0]:
            return _example(entry, finding, library.how)
        if weaker is None and finding.outcome in outcomes:
            weaker = _example(entry, finding, library.how)
    return weaker


def _entries(rule: Rule, library: Library) -> Iterator[Entry]:
    """Yield what a rule is tried on, a vector at a time: some take long to build."""
    if rule.id == "client.fuzz.agrees":
        with tempfile.TemporaryDirectory() as folder:
            yield from of_rule(rule, tuple(fuzzed(library, examples=400, seed=1, folder=File(folder))))
        return
    if rule.id not in _OF_LIMITS:  # else the vectors of its size are built each time
        library = copy.copy(library)
        library.declared = replace(library.declared, limit=None)  # type: ignore[misc]
    for vector in _vectors().get(rule.id) or _few():
        yield from (e for e in of_rule(rule, build(library, [vector])) if not isinstance(e, Gap))


def _subject(run: VectorRun) -> str:
    """Return how a run over all packaged vectors names it."""
    return f"{File(run.vector.file).stem}/{run.vector.id}"


@cache
def _vectors() -> Mapping[str, list[Vector]]:
    """Return the packaged vectors by the rule that judges them."""
    found: dict[str, list[Vector]] = defaultdict(list)
    for vector in own():
        for name in (requirement(vector), *actions(vector)):
            found[f"client.{name}"].append(vector)
    return found


@cache
def _generated() -> tuple[dict[str, Any], Question]:
    """Return the vector of the first disagreement that fuzzing the faulty library finds, and the question of it."""
    rule, library = rules()["client.fuzz.agrees"], FAULTY["client.fuzz.agrees"].library
    finding = next(f for e in _entries(rule, library) if (f := judge(rule, e)).outcome is Outcome.FAILED)
    vector = json.loads(finding.further[0].removeprefix("the vector: "))
    kind, _, _ = finding.subject.partition("/")
    return vector, Question(
        Kind(finding.subject.rpartition("/")[2]), Transport(kind), json.dumps(vector["response"])
    )


def _few() -> list[Vector]:
    """Return some vectors for the rules that are tried on every one."""
    return [v for v in own() if v.kind is Kind.SUCCESS and v.transport is Transport.MCP and v.limit is None][
        :40
    ]


def _telling(response: Any) -> list[Path]:
    """Return the places of a response that are shown whole."""
    found = []
    for place in _PLACES:
        try:
            resolve(response, pointer(*place))
        except LookupError:
            continue
        found.append(place)
    return found or [("content",)]


def _example(entry: Entry, finding: Finding, how: str) -> Example:
    request: list[str] = []
    response: list[str] = []
    size = 0
    if isinstance(entry, VectorRun):
        answer = entry.answer
        request = outline(entry.vector.response, _telling(entry.vector.response))
        size = len(json.dumps(entry.vector.response))
        response = [shown(answer)]
        if isinstance(answer, Extracted) and answer.action is not None and "actions" in finding.rule:
            waits = "" if answer.retry_after is UNTOLD else f", retry_after: {json.dumps(answer.retry_after)}"
            response.append(f"action: {answer.action}{waits}")
        elif isinstance(answer, Extracted) and finding.rule == "client.extractor.path":
            response.append(f"path: {answer.path}")
    elif isinstance(entry, FuzzRun):
        vector, found = _generated()
        request = outline(vector["response"], _telling(vector["response"]))
        (answer,) = entry.library.ask([found])
        response = [shown(answer)]
    return Example(
        fault="",
        how=how,
        subject=_subject(entry) if isinstance(entry, VectorRun) else finding.subject,
        outcome=str(finding.outcome),
        message=finding.message,
        expected=finding.expected,
        received=finding.received,
        pointer=finding.pointer,
        fix=finding.fix if finding.fix != rules()[finding.rule].fix else "",
        request=tuple(request),
        response=tuple(response),
        size=size,
    )
