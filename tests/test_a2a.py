"""The two extraction algorithms for A2A tasks: what they give, where they found it, why nothing came out; and node agrees."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from typing import Any

import pytest
from javascript import ask, dump, needs_node, settle
from pytest_adcp.harness.a2a import ENVELOPES, extract_a2a, extract_a2a_error, normalize_state
from pytest_adcp.harness.extraction import Path, Reason
from pytest_adcp.harness.jsontext import parse, resolve

DATA = {"products": [{"product_id": "p1"}]}
OTHER = {"percentage": 40}
ERROR = {"code": "CONFLICT", "message": "Busy", "recovery": "transient"}
LAST = {"code": "LAST"}


def task(state: Any, *parts: Any, message: Any = ()) -> dict[str, Any]:
    """A task whose one artifact has these parts, and the message of its status those; none, where there are none."""
    built: dict[str, Any] = {"status": {"state": state}}
    if parts:
        built["artifacts"] = [{"parts": list(parts)}]
    if message:
        built["status"]["message"] = {"parts": list(message)}
    return built


class TestSuccess:
    def test_from_the_artifact(self) -> None:
        found = extract_a2a(task("TASK_STATE_COMPLETED", {"text": "Found"}, {"data": OTHER}, {"data": DATA}))
        assert (found.data, found.path, found.pointer) == (DATA, Path.ARTIFACT, "/artifacts/0/parts/2/data")
        assert (found.reason, found.state, found.refused) == (None, "completed", False)

    def test_from_the_message(self) -> None:
        parts = ({"kind": "text", "text": "Wait"}, {"kind": "data", "data": OTHER}, {"data": DATA})
        found = extract_a2a(task("input-required", {"data": DATA}, message=parts))
        assert (found.data, found.path, found.state) == (OTHER, Path.STATUS_MESSAGE, "input-required")
        assert found.pointer == "/status/message/parts/1/data"

    def test_pointers_go_through_the_envelope(self) -> None:
        response = {"statusUpdate": task("TASK_STATE_FAILED", message=({"data": DATA},))}
        found = extract_a2a(response)
        assert found.pointer == "/statusUpdate/status/message/parts/0/data"
        assert resolve(response, found.pointer) is found.data

    def test_a_wrapper_is_refused(self) -> None:
        found = extract_a2a({"task": task("failed", {"data": DATA}, {"data": {"response": DATA}})})
        assert (found.refused, found.data, found.reason) == (True, None, Reason.WRAPPER)
        assert (found.path, found.pointer) == (Path.ARTIFACT, "/task/artifacts/0/parts/1/data")

    @pytest.mark.parametrize(
        ("response", "reason", "pointer"),
        [
            ({"task": {"task": task("completed", {"data": DATA})}}, Reason.NESTED_ENVELOPE, "/task"),
            ({"task": {**task("completed", {"data": DATA}), "message": 1}}, Reason.NESTED_ENVELOPE, "/task"),
            ({"message": {"parts": [{"data": DATA}]}}, Reason.NO_STATE, "/message"),
            ({"task": [task("completed", {"data": DATA})]}, Reason.NO_STATE, ""),
            (task(None, {"data": DATA}), Reason.NO_STATE, ""),
            (task("TASK_STATE_", {"data": DATA}), Reason.NO_STATE, ""),
            (task(["completed"], {"data": DATA}), Reason.NO_STATE, ""),
            (task("TASK_STATE_PAUSED", {"data": DATA}), Reason.UNKNOWN_STATE, "/status/state"),
            ({"task": task("paused", {"data": DATA})}, Reason.UNKNOWN_STATE, "/task/status/state"),
            (task("working", {"data": DATA}), Reason.NO_DATA_PART, ""),
            (task("completed", {"data": [DATA]}, None, "x", {"text": "Done"}), Reason.NO_DATA_PART, ""),
            ({}, Reason.NO_STATE, ""),
            ([], Reason.NO_STATE, ""),
            ("completed", Reason.NO_STATE, ""),
            (7, Reason.NO_STATE, ""),
            (None, Reason.NO_STATE, ""),
        ],
    )
    def test_says_why_nothing_came_out(self, response: object, reason: Reason, pointer: str) -> None:
        found = extract_a2a(response)
        assert (found.data, found.path, found.reason, found.pointer) == (None, Path.NONE, reason, pointer)
        assert not found.refused

    @pytest.mark.parametrize(
        ("sent", "normal"),
        [
            ("TASK_STATE_INPUT_REQUIRED", "input-required"),
            ("Auth_Required", "auth-required"),
            ("TASK_STATE_TASK_STATE_WORKING", "task-state-working"),
            ("task_state_working", "task-state-working"),
            (" working\n", " working\n"),
            ("WOR\u212aING", "wor\u212aing"),  # str.lower and toLowerCase make the Kelvin sign a k
            ("\u0130NPUT", "\u0130nput"),
            ("", ""),
            (None, None),
            (3, None),
            (["working"], None),
        ],
    )
    def test_states_are_normalised_in_ascii(self, sent: object, normal: str | None) -> None:
        assert normalize_state(sent) == normal

    def test_records_do_not_print_or_compare_payloads(self) -> None:
        deep = parse('{"a":' + "[" * 50_000 + "]" * 50_000 + "}").value
        found = extract_a2a(task("completed", {"data": deep}))
        assert found.data is deep
        assert len(repr(found)) < 500
        assert found == found


class TestError:
    def test_from_an_artifact(self) -> None:
        response = {
            "status": {
                "state": "failed",
                "message": {"parts": [{"kind": "data", "data": {"adcp_error": LAST}}]},
            },
            "artifacts": [
                None,
                {"parts": "x"},
                {"parts": [None, {"data": {}}, {"data": {"adcp_error": ERROR}}]},
            ],
        }
        found = extract_a2a_error(response)
        assert (found.error, found.path, found.reason) == (ERROR, Path.ARTIFACT, None)
        assert found.pointer == "/artifacts/2/parts/2/data/adcp_error"
        assert found.candidate is found.error

    def test_from_the_message(self) -> None:
        parts = ({"text": "Busy"}, {"data": {"adcp_error": 0}}, {"data": {"adcp_error": ERROR}})
        found = extract_a2a_error({"task": task("anything", {"data": DATA}, message=parts)})
        assert (found.error, found.path) == (ERROR, Path.STATUS_MESSAGE)
        assert found.pointer == "/task/status/message/parts/2/data/adcp_error"

    @pytest.mark.parametrize(
        ("candidate", "reason"),
        [
            ("CONFLICT", Reason.NOT_AN_OBJECT),
            ([ERROR], Reason.NOT_AN_OBJECT),
            ({}, Reason.CODE_NOT_A_STRING),
            ({"code": ""}, Reason.CODE_EMPTY),
            ({"code": "\U0001f3af" * 33}, Reason.CODE_TOO_LONG),
            ({"code": "C", "message": "m" * 4072}, Reason.ERROR_TOO_LARGE),
        ],
    )
    def test_an_invalid_one_ends_the_search_and_is_shown(self, candidate: Any, reason: Reason) -> None:
        first, second = ({"data": {"adcp_error": error}} for error in (candidate, ERROR))
        for response, path in (
            (task("failed", first, second), Path.ARTIFACT),
            (task("failed", first, message=(second,)), Path.ARTIFACT),
            (task("failed", message=(first, second)), Path.STATUS_MESSAGE),
        ):
            found = extract_a2a_error(response)
            assert (found.error, found.candidate, found.reason, found.path) == (None, candidate, reason, path)

    @pytest.mark.parametrize(
        ("response", "reason", "pointer"),
        [
            (task("failed", {"data": DATA}, message=({"text": "Busy"},)), Reason.NO_ADCP_ERROR, ""),
            (task("failed", {"data": {"adcp_error": None}}), Reason.NO_ADCP_ERROR, ""),
            (
                {"task": {"task": task("failed", {"data": {"adcp_error": ERROR}})}},
                Reason.NESTED_ENVELOPE,
                "/task",
            ),
            ({"artifacts": {"0": {"parts": [{"data": {"adcp_error": ERROR}}]}}}, Reason.NO_ADCP_ERROR, ""),
            ({"adcp_error": ERROR}, Reason.NO_ADCP_ERROR, ""),
            ("failed", Reason.NO_ADCP_ERROR, ""),
            ([], Reason.NO_ADCP_ERROR, ""),
            (None, Reason.NO_ADCP_ERROR, ""),
        ],
    )
    def test_says_why_none_was_found(self, response: object, reason: Reason, pointer: str) -> None:
        found = extract_a2a_error(response)
        assert (found.error, found.candidate, found.path) == (None, None, Path.NONE)
        assert (found.reason, found.pointer) == (reason, pointer)


# -- node ---------------------------------------------------------------------------------------------------

STATES = (
    *(
        "completed",
        "failed",
        "canceled",
        "rejected",
        "working",
        "submitted",
        "input-required",
        "auth-required",
    ),
    *("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"),
    *(
        "COMPLETED",
        "input_required",
        "TASK_STATE_input--required",
        "TASK_STATE_TASK_STATE_FAILED",
        "task_state_failed",
    ),
    *(" completed", "failed\n", "WOR\u212aING", "FA\u0130LED", "unknown", "constructor", "__proto__"),
)
SCALARS = (None, True, False, 0, -0.0, 1.5, "", "x", "0", [], {}, [None], {"0": {"parts": [{"data": DATA}]}})
NAMES = (
    *sorted(ENVELOPES),
    "status",
    "state",
    "artifacts",
    "parts",
    "data",
    "kind",
    "response",
    "adcp_error",
    "x",
)
PAYLOADS = (
    *(
        DATA,
        OTHER,
        {},
        *({"response": DATA},) * 3,
        {"response": None},
        {"response": [1]},
        {"response": {}, "a": 1},
    ),
    *(
        {"__proto__": {"response": {}}},
        {"__proto__": None, "response": {}},
        {"toString": 1},
        {"2": 1, "1": 2},
    ),
    *(
        {"adcp_error": ERROR},
        {"adcp_error": ERROR},
        {"adcp_error": LAST, "a": 1},
        {"adcp_error": {"code": 5}},
    ),
    *(
        {"adcp_error": None},
        {"adcp_error": 0},
        {"adcp_error": "C"},
        {"adcp_error": [ERROR]},
        {"adcp_error": {}},
    ),
    *({"adcp_error": {"code": "C" * n}} for n in (0, 64, 65)),
    *({"adcp_error": {"code": "C", "m": "x" * n}} for n in (4077, 4078)),
)


def a_part(rng: random.Random) -> dict[str, Any]:
    part: dict[str, Any] = {"data": rng.choice(PAYLOADS)} if rng.random() < 0.7 else {"text": "Hello"}
    if rng.random() < 0.5:
        part["kind"] = next(iter(part)) if rng.random() < 0.9 else rng.choice(("data", "text", None))
    return part


def some_parts(rng: random.Random) -> dict[str, Any]:
    return {"parts": [a_part(rng) for _ in range(rng.randrange(4))]}


def a_response(rng: random.Random) -> Any:
    """A task that is good but for its state now and then; or one that has been spoilt once or twice, or put into an envelope."""
    built: dict[str, Any] = {"status": {"state": rng.choice(STATES[:12] if rng.random() < 0.7 else STATES)}}
    if rng.random() < 0.7:
        built["artifacts"] = [some_parts(rng) for _ in range(rng.randrange(3))]
    if rng.random() < 0.6:
        built["status"]["message"] = some_parts(rng)
    built = copy.deepcopy(built)  # payloads are shared
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        spoil(rng, built)
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 1, 2))):
        built = {rng.choice(sorted(ENVELOPES)): built}
        if rng.random() < 0.1:
            built[rng.choice(NAMES)] = rng.choice(SCALARS)
    return built


def spoil(rng: random.Random, value: Any) -> None:
    """Change one thing somewhere in a value: put something else there, take it away, or add a member."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys) if keys else None
        inner = None if key is None else value[key]
        if not isinstance(inner, (dict, list)) or rng.random() < 0.25:
            break
        value = inner
    what = rng.randrange(4)
    if key is not None and what < 2:
        value[key] = copy.deepcopy(rng.choice((*SCALARS, *PAYLOADS[:6])))
    elif key is not None and what == 2:
        del value[key]
    elif isinstance(value, dict):
        value[rng.choice(NAMES)] = copy.deepcopy(rng.choice((*SCALARS, *PAYLOADS[:6], inner)))
    else:
        value.insert(rng.randrange(len(value) + 1), copy.deepcopy(rng.choice((*SCALARS, inner))))


def some_responses(seed: str) -> list[str]:
    rng = random.Random(seed)
    return [json.dumps(a_response(rng)) for _ in range(5000)]


@needs_node
def test_data_is_found_as_the_reference_finds_it() -> None:
    texts = some_responses("20264-data")
    seen: Counter[str] = Counter()
    for text, answer in zip(texts, ask([{"op": "task-data", "text": t} for t in texts]), strict=True):
        response = parse(text).value
        found = extract_a2a(response)
        if found.state is not None and "\u212a" in found.state:
            assert found.reason is Reason.UNKNOWN_STATE  # the reference goes beyond ASCII, its words do not
            seen["kelvin"] += answer != {"value": None}
            continue
        seen[found.reason or found.path] += 1
        if found.refused:
            assert answer == {"error": "Wrapped"}, text
        else:
            assert dump(found.data) == settle(answer["value"]), text
        if found.data is not None:
            assert resolve(response, found.pointer) is found.data
    wanted: set[str] = {Path.ARTIFACT, Path.STATUS_MESSAGE, Reason.NESTED_ENVELOPE, Reason.NO_STATE}
    wanted |= {Reason.WRAPPER, Reason.UNKNOWN_STATE, Reason.NO_DATA_PART}
    assert min(seen[name] for name in wanted) > 25, seen
    assert seen["kelvin"] > 5


@needs_node
def test_errors_are_found_as_the_reference_finds_them() -> None:
    texts = some_responses("20265-error")
    ours = ask([{"op": "task-error", "text": t} for t in texts])
    old = ask([{"op": "old-task-error", "text": t} for t in texts])
    seen: Counter[str] = Counter()
    for text, answer, strict in zip(texts, ours, old, strict=True):
        response = parse(text).value
        found = extract_a2a_error(response)
        assert dump(found.error) == settle(answer["value"]), text
        if found.candidate is not None:
            assert resolve(response, found.pointer) is found.candidate
        if "error" in strict:
            seen["the old code throws"] += 1
        elif strict != answer:
            # Only where the words reach further than that code: into envelopes, and to parts without their kind.
            part = resolve(response, found.pointer.removesuffix("/data/adcp_error"))
            enveloped = found.pointer.split("/")[1] in ENVELOPES
            assert enveloped or part.get("kind") != "data", text
            seen["enveloped" if enveloped else "no kind"] += 1
        else:
            seen[found.reason or found.path] += 1
    wanted: set[str] = {Path.ARTIFACT, Path.STATUS_MESSAGE, Reason.NO_ADCP_ERROR, Reason.NESTED_ENVELOPE}
    wanted |= {Reason.NOT_AN_OBJECT, Reason.CODE_NOT_A_STRING, Reason.CODE_EMPTY, Reason.CODE_TOO_LONG}
    wanted |= {Reason.ERROR_TOO_LARGE, "enveloped", "no kind", "the old code throws"}
    assert min(seen[name] for name in wanted) > 25, seen
