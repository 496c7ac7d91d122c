"""Idempotency: a request goes through once, and a key that was used says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import SECURITY, adcp
from pytest_adcp.harness.subjects import Answer, Probed
from pytest_adcp.harness.tasks import ENVELOPE
from pytest_adcp.harness.text import quote

from .barred import not_put_off
from .refusals import ARGUMENT_CODES, accepted, code, gist, is_unrelated, named, place, words
from .roots import sent_arguments

_IDEMPOTENCY = adcp(SECURITY, "idempotency")
_CONFLICT = adcp(SECURITY, "idempotency_conflict-response-shape")
_IN_FLIGHT = "IDEMPOTENCY_IN_FLIGHT"
_CONFLICTS = ("IDEMPOTENCY_CONFLICT", "CONFLICT")
_SHORTEST_ID = 6  # characters of an id that is looked for in a text
_MOST_IDS = 100  # ids that are looked for
_MOST_TEXTS, _LONGEST_TEXT = 1000, 5000  # where they are looked for


@rule("adcp.envelope.idempotency-key-required", level=Level.MUST, source=_IDEMPOTENCY, probes=[Probe.NO_KEY])
def mutating_request_needs_a_key(probed: Probed) -> None:
    """A mutating request without idempotency_key is refused with INVALID_REQUEST or VALIDATION_ERROR, and nothing is done.

    Check for the key before anything else, and answer with INVALID_REQUEST, field idempotency_key, recovery correctable.
    """
    answer = probed.answer
    if accepted(answer):
        raise Broken(
            "INVALID_REQUEST",
            f"a success with {_booked(answer)}",
            at=answer.in_payload(),
            because=f"{probed.call.tool} without idempotency_key was accepted and may have been carried out; a buyer that "
            "sends it again after a lost connection orders twice",
        )
    not_put_off(answer)
    if not all(accepted(before) for before in probed.before):
        raise NotApplicable("the same request with a key is refused as well")
    found = code(answer)
    # Without a code it is a framework that refuses; adcp.errors.structured says what is missing in its error.
    if found is not None and found not in ARGUMENT_CODES:
        if not _is_about_the_key(answer):
            raise NotApplicable(f"refused for another reason: {quote(found, 60)}")
        raise Broken(
            " or ".join(sorted(ARGUMENT_CODES)),
            quote(found, 70),
            at=place(answer),
            because=f"a request without idempotency_key is refused as {quote(found, 60)}; buyers look for INVALID_REQUEST "
            "to learn that they can mend the request",
        )


@rule("adcp.envelope.idempotency-replay", level=Level.MUST, source=_IDEMPOTENCY, probes=[Probe.REPLAY])
def replay_gives_the_first_answer(probed: Probed) -> None:
    """The same request with the same key gives the first answer again and does nothing a second time.

    Keep each success by account and key for replay_ttl_seconds, look there before the task runs, and send what is kept.
    """
    first, answer = _pair(probed)
    if not accepted(answer):
        if code(answer) == _IN_FLIGHT or is_unrelated(answer):
            raise NotApplicable(f"refused: {quote(code(answer), 60)}")
        raise Broken(
            "the first answer again",
            gist(answer),
            at=place(answer),
            because="the same request with the same key is refused, though it was accepted before; a buyer that never saw "
            "the first answer cannot find out what it booked",
            lenient=_undeclared(probed),
        )
    before, now = dict(_ids(first)), dict(_ids(answer))
    for path, value in now.items():
        if path in before and not equal(before[path], value):
            raise Broken(
                f"{quote(before[path], 80)}, as in the first answer",
                quote(value, 80),
                at=answer.in_payload(*path),
                because=f"the same request with the same key gave another {path[-1]}: it was carried out twice",
                lenient=_undeclared(probed),
            )
    if first.kind is not answer.kind:
        return  # what was submitted may be done by now
    for name in sorted(answer.task.root & first.payload.keys()):
        if not equal(first.payload[name], answer.payload.get(name)):
            raise Broken(
                quote(first.payload[name], 120),
                quote(answer.payload[name], 120) if name in answer.payload else "no such member",
                at=answer.in_payload(name),
                because=f"{name} is not what the first answer said; a replay is what was kept, not a new look",
                lenient="no second thing was made",
            )


@rule(
    "adcp.envelope.idempotency-replayed",
    level=Level.MUST,
    source=adcp(SECURITY, "response-level-replay-indicator"),
    since="3.1",
    advisory_since="3.0",
    probes=[Probe.REPLAY],
)
def replay_says_that_it_is_one(probed: Probed) -> None:
    """An answer that repeats an earlier one has replayed: true at the root of its payload.

    Add replayed: true when the answer comes out of the idempotency cache; do not keep it there.
    """
    first, answer = _pair(probed)
    if not accepted(answer):
        raise NotApplicable("the request was refused")
    before = dict(_ids(first))
    if any(path in before and not equal(before[path], value) for path, value in _ids(answer)):
        raise NotApplicable("it was carried out again, says adcp.envelope.idempotency-replay")
    value = answer.payload.get("replayed")
    if value is not True:
        raise Broken(
            "replayed: true",
            quote(value) if "replayed" in answer.payload else "no such member",
            at=answer.in_payload("replayed"),
            because="a repeated answer does not say replayed: true; buyers count it, and announce it, as a second booking",
            lenient=_undeclared(probed),
        )


@rule(
    "adcp.envelope.idempotency-conflict", level=Level.MUST, source=_IDEMPOTENCY, probes=[Probe.KEY_CONFLICT]
)
def used_key_is_a_conflict(probed: Probed) -> None:
    """Another request with a key that was used is refused with IDEMPOTENCY_CONFLICT.

    Keep a hash of each request (canonical JSON, without idempotency_key and context) with its answer, and compare.
    """
    first, answer = _pair(probed)
    if accepted(answer):
        before, now = dict(_ids(first)), dict(_ids(answer))
        same = answer.payload.get("replayed") is True or (before and equal(before, now))
        raise Broken(
            _CONFLICTS[0],
            f"a success with {_booked(answer)}",
            at=answer.in_payload(),
            because="another request with a used key got the answer of the first one; the buyer takes it for an answer to "
            "what it asked"
            if same
            else "another request with a used key was accepted: the key protects nothing",
            lenient=_undeclared(probed),
        )
    found = code(answer)
    if found == _CONFLICTS[0]:
        return
    if found == _CONFLICTS[1]:
        raise Broken(
            _CONFLICTS[0],
            found,
            at=place(answer),
            because="the refusal is right; its code CONFLICT is also that of a stale revision",
            lenient="AdCP's own storyboard accepts it for now",
        )
    if is_unrelated(answer) or found == _IN_FLIGHT or not _is_about_the_key(answer):
        raise NotApplicable(f"refused for another reason: {quote(found or words(answer), 60)}")
    raise Broken(
        _CONFLICTS[0],
        gist(answer),
        at=place(answer),
        because="the key is refused as used, and not as IDEMPOTENCY_CONFLICT, by which a buyer knows to make a new one",
        lenient="" if found else "adcp.errors.structured speaks about errors without a code",
    )


@rule("adcp.security.conflict-field", level=Level.MUST, source=_CONFLICT)
def conflict_names_no_field(error: Answer) -> None:
    """IDEMPOTENCY_CONFLICT says that a key was used, and not in which field the two requests differ.

    Send code, message and recovery alone: who has stolen a key could find out what was ordered with it, field by field.
    """
    conflicts = [(at, found) for at, found in error.error_objects() if _is_conflict(error, found.get("code"))]
    if not conflicts:
        raise NotApplicable("no conflict came")
    for at, found in conflicts:
        if found.get("field") is not None:
            harmless = found["field"] == "idempotency_key"
            raise Broken(
                "no field",
                quote(found["field"], 100),
                at=f"{at}/field",
                because=f"the conflict names the field {quote(found['field'], 60)}: it tells what the first request held",
                lenient="idempotency_key tells nothing" if harmless else "",
            )


@rule("adcp.security.conflict-leak", level=Level.MUST, source=_CONFLICT, probes=[Probe.KEY_CONFLICT])
def conflict_tells_nothing(probed: Probed) -> None:
    """IDEMPOTENCY_CONFLICT says that a key was used, and nothing of what came of it: no ids, no data.

    Send code, message and recovery alone: who has stolen a key must not learn what was ordered with it.
    """
    first, answer = _pair(probed)
    if accepted(answer) or not _is_conflict(answer, code(answer)):
        raise NotApplicable("no conflict came")
    for name in sorted(answer.task.root & answer.payload.keys()):
        raise Broken(
            "the error alone",
            f"{name}: {quote(answer.payload[name], 100)}",
            at=answer.in_payload(name),
            because=f"the conflict comes with {name}: it gives the answer of the first request away",
        )
    told = {key: value for key, value in answer.message.items() if key != "id"}
    found = _strings(told, skip=sent_arguments(answer).get("context"))
    texts = [text[:_LONGEST_TEXT] for text in islice(found, _MOST_TEXTS)]
    sent = quote(sent_arguments(answer), 100_000)
    for path, value in islice(_ids(first), _MOST_IDS):
        if isinstance(value, str) and len(value) >= _SHORTEST_ID and value not in sent:
            leak = next((text for text in texts if named((value,), text)), None)
            if leak is not None:
                raise Broken(
                    "nothing of the first answer",
                    quote(leak, 160),
                    at=place(answer),
                    because=f"the conflict gives away the {path[-1]} of the first answer ({quote(value, 60)})",
                )


@rule("adcp.envelope.failure-not-kept", level=Level.MUST, source=_IDEMPOTENCY, probes=[Probe.FAILURE_AGAIN])
def failures_are_not_kept(probed: Probed) -> None:
    """A request that failed is tried again when it comes again: only successes are kept for replays.

    Write the idempotency record when the task has succeeded, not before, and drop it where the task fails.
    """
    if not probed.before:
        raise NotApplicable("the first of two")
    first, answer = _pair(probed)
    if first.kind is not Class.ERROR:
        raise NotApplicable("the first request did not fail")
    if is_unrelated(first) or is_unrelated(answer) or code(answer) == _IN_FLIGHT:
        raise NotApplicable(f"refused for another reason: {quote(code(answer), 60)}")
    if answer.payload.get("replayed") is True:
        raise Broken(
            "a fresh answer",
            "replayed: true",
            at=answer.in_payload("replayed"),
            because="a failure came out of the idempotency cache: a buyer that mends what was wrong and tries again gets "
            "the old error until the key expires",
        )
    if accepted(answer):
        raise Broken(
            f"{quote(code(first), 70)} again",
            f"a success with {_booked(answer)}",
            at=answer.in_payload(),
            because="a request that was refused is accepted when it comes again with the same key",
            lenient="what was missing may be there by now",
        )
    if code(answer) != code(first):
        raise Broken(
            quote(code(first) or words(first), 100),
            quote(code(answer) or words(answer), 100),
            at=place(answer),
            because="the same request fails in another way when it comes again with the same key",
            lenient="it fails all the same",
        )


def _pair(probed: Probed) -> tuple[Answer, Answer]:
    """Return the first answer and the one to compare with it.

    Raises:
        NotApplicable: there is no first one, or the seller says that it keeps no keys.
    """
    if not probed.before:
        raise NotApplicable("there is no earlier answer to compare with")
    if _declared(probed).get("supported") is False:
        raise NotApplicable("get_adcp_capabilities says idempotency.supported: false")
    return probed.before[0], probed.answer


def _declared(probed: Probed) -> Mapping[str, Any]:
    """Return what get_adcp_capabilities says about idempotency; empty where it says nothing."""
    block = probed.server.capabilities.get("adcp")
    declared = block.get("idempotency") if isinstance(block, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


def _undeclared(probed: Probed) -> str:
    """Say why a seller that declares nothing is not held to more: that it has to declare it is another rule's matter."""
    if isinstance(_declared(probed).get("supported"), bool):
        return ""
    return "get_adcp_capabilities does not say whether keys are kept: declare adcp.idempotency"


def _is_conflict(error: Answer, found: Any) -> bool:
    """Whether a code says that a key was used; CONFLICT alone is also that of a stale revision, which may well be named."""
    return found == _CONFLICTS[0] or (found == _CONFLICTS[1] and _is_about_the_key(error))


def _is_about_the_key(error: Answer) -> bool:
    return "idempotency" in f"{code(error) or ''} {words(error)}".lower()


def _ids(answer: Answer) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the ids of what a task made, and of the task that makes it: in its root fields, and one level further in."""
    names = [*answer.task.root, *(("task_id",) if answer.kind is Class.INTERIM else ())]
    for name in sorted(names):
        value = answer.payload.get(name)
        if _is_id(name, value):
            yield (name,), value
        inner: list[tuple[tuple[str | int, ...], Mapping[str, Any]]] = []
        if isinstance(value, Mapping):
            inner = [((name,), value)]
        if isinstance(value, list):
            inner = [((name, index), item) for index, item in enumerate(value) if isinstance(item, Mapping)]
        for path, item in inner:
            for key, member in item.items():
                if key not in ENVELOPE and _is_id(key, member):
                    yield (*path, key), member


def _is_id(name: str, value: Any) -> bool:
    return name.endswith("_id") and isinstance(value, str | int) and not isinstance(value, bool)


def _booked(answer: Answer) -> str:
    """Quote what a success says at its root."""
    found = {name: answer.payload[name] for name in sorted(answer.task.root & answer.payload.keys())}
    return quote(found or {"status": answer.payload.get("status")}, 120)


def _strings(value: Any, skip: Any) -> Iterator[str]:
    """Yield every string of an answer, but for those of an echoed context; iterative, since an answer may be deep."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            stack.extend(
                member for name, member in item.items() if name != "context" or not equal(member, skip)
            )
        elif isinstance(item, list):
            stack.extend(item)
