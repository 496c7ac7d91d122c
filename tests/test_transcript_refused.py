"""Files that are no transcript, or only part of one, are refused with their line, whatever is wrong with them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.transcript import Transcript, TranscriptError
from transcripts import FULL, saved


def complaint(path: Path) -> str:
    with pytest.raises(TranscriptError) as caught:
        Transcript.load(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ", line 1: not JSON"),
        (b"\n", ", line 1: not JSON"),
        (b"hello\n", ", line 1: not JSON"),
        (b"\x80\x81\x82", ", line 1: not JSON"),
        (b"[]\n", ", line 1: not a JSON object"),
        (b'"text"\n', ", line 1: not a JSON object"),
        (b"{}\n", ", line 1: this is not a pytest-adcp transcript"),
        (b'{"format": "har"}\n', ", line 1: this is not a pytest-adcp transcript"),
        (b"[" * 100_000 + b"\n", ", line 1: not JSON"),
        (b'{"format": "pytest-adcp transcript", "x": NaN}\n', ", line 1: not JSON"),
        (b'{"format": "pytest-adcp transcript", "x": ' + b"1" * 5000 + b"}\n", ", line 1: not JSON"),
        (b'{"format": "pytest-adcp transcript"}\n', ", line 1: format_version is not 1"),
        (b'{"format": "pytest-adcp transcript", "format_version": 2}\n', ", line 1: format_version is not 1"),
        (b'{"format": "pytest-adcp transcript", "format_version": true}\n', ", line 1: format_version is not 1"),
        (b'{"format": "pytest-adcp transcript", "format_version": 1}\n', ", line 1: exchanges is not an integer"),
        (b'{"format": "pytest-adcp transcript", "format_version": 1, "exchanges": 1e999}\n', "exchanges is not an"),
        (b'{"format": "pytest-adcp transcript", "format_version": 1, "exchanges": 0}\n', "the record has no harness"),
        (b"\x00" * 10_000, ", line 1: not JSON"),
    ],
    ids=range(18),
)  # fmt: skip
def test_a_foreign_file_is_refused_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)
    assert says in complaint(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.jsonl") == ": No such file or directory"
    assert complaint(tmp_path) == ": Is a directory"


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = saved(FULL, tmp_path)
    whole = path.read_bytes()
    ends = {index + 1 for index, byte in enumerate(whole) if byte == ord("\n")}
    for size in [*range(0, len(whole) - 1, 7), *(end for end in ends if end < len(whole))]:
        path.write_bytes(whole[:size])
        told = complaint(path)
        assert ("cut short" in told) or ("not JSON" in told)
        if size in ends:
            assert told.endswith("of 3 exchanges are there; record it again")


def test_lines_may_not_be_left_out_doubled_or_swapped(tmp_path: Path) -> None:
    path = saved(FULL, tmp_path)
    head, one, two, three = path.read_bytes().splitlines(keepends=True)
    for lines in (
        [head, one, three, two],
        [head, two, three],
        [head, one, one, two],
        [one, two, three],
        [head, one, two, three, three],
    ):
        path.write_bytes(b"".join(lines))
        assert ", line " in complaint(path)


def lines_of(transcript: Transcript, folder: Path) -> list[Any]:
    return [json.loads(line) for line in saved(transcript, folder).read_bytes().splitlines()]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "utf-8",
    "x",
    [],
    {},
    [None],
    [[]],
    {"x": 1},
    ["a", "b"],
]
FREE = {"options", "arguments"}  # objects whose members may be anything


def refusal(path: Path) -> str:
    """Return what is said against a file; empty where it is taken."""
    try:
        Transcript.load(path)
    except TranscriptError as error:
        return str(error)
    return ""


SECONDS = {
    "request_timeout",
    "survey_timeout",
    "rate",
    "seconds",
    "longest_chain",
    "started",
    "first_byte",
    "answered",
}
TEXTS = {"after", "baseline"}
NULLABLE = TEXTS | {"response", "era", "first_byte", "answered", "unusable", "rate", "tls", "probe"}


def may_be(name: Any, value: Any) -> bool:
    """Tell whether a value of another type than the one before is good for a member all the same."""
    if value is None:
        return name in NULLABLE
    return (name in SECONDS and type(value) in (int, float)) or (name in TEXTS and isinstance(value, str))


def test_a_wrong_type_in_any_member_is_refused_with_its_line(tmp_path: Path) -> None:
    records = lines_of(FULL, tmp_path)
    path = tmp_path / "mutated.jsonl"
    refused = 0
    for number, record in enumerate(records):
        for place in places(record)[1:]:
            for value in ODD:
                mutated = json.loads(json.dumps(records))
                target = mutated[number]
                for key in place[:-1]:
                    target = target[key]
                if type(target[place[-1]]) is type(value):
                    continue  # other values are for the next test
                target[place[-1]] = value
                path.write_text("\n".join(map(json.dumps, mutated)) + "\n")
                said = refusal(path)
                refused += bool(said)
                free = FREE & set(place) or may_be(place[-1], value)
                assert bool(said) != bool(free) or FREE & set(place), (place, value)
                assert not said or said.startswith(f"{path}, line "), said
    assert refused > 1000


def test_members_that_are_missing_or_unknown_are_named(tmp_path: Path) -> None:
    records = lines_of(FULL, tmp_path)
    path = tmp_path / "mutated.jsonl"
    for place, says in [
        ((0, "run_id"), "line 1: the record has no run_id"),
        ((0, "limits", "rate"), "line 1: limits has no rate"),
        ((0, "calls", 0, "takes", 0, "tool"), "line 1: calls[0].takes[0] has no tool"),
        ((2, "request"), "line 3: the record has no request"),
        ((3, "response", "body", "text"), "line 4: response.body has no text"),
    ]:
        mutated = json.loads(json.dumps(records))
        target = mutated
        for key in place[:-1]:
            target = target[key]
        target["more"] = target.pop(place[-1])
        path.write_text("\n".join(map(json.dumps, mutated)) + "\n")
        assert says in complaint(path)
        target[place[-1]] = target["more"]
        path.write_text("\n".join(map(json.dumps, mutated)) + "\n")
        assert "has 'more', which is unknown" in complaint(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_mutation_does_more_than_refuse(tmp_path: Path, data: st.DataObject) -> None:
    records = lines_of(FULL, tmp_path)
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(records) - 1))
        place = data.draw(st.sampled_from(places(records[number])))
        value = data.draw(json_values)
        if not place:
            records[number] = value
            continue
        target = records[number]
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = value
    path = tmp_path / "mutated.jsonl"
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    if said := refusal(path):
        assert said.startswith(f"{path}")
        return
    loaded = Transcript.load(path)
    # What is accepted is a transcript: it can be read and saved again.
    assert all(math.isfinite(e.seconds) for e in loaded.exchanges)
    Evidence(loaded)
    assert Transcript.load(saved(loaded, tmp_path)) == loaded


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_flipped_byte_does_more_than_refuse(tmp_path: Path, data: st.DataObject) -> None:
    path = saved(FULL, tmp_path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    said = refusal(path)
    assert not said or said.startswith(f"{path}, line ")
