"""Transcripts: what is saved comes back exactly, for its owner only, and whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_adcp.harness import files
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.transcript import Transcript, file_digest
from surveys import judge_core, survey
from transcripts import BODIES, FULL, exchange, saved, surveyed

# -- there and back -------------------------------------------------------------------------------------------------


def test_every_member_comes_back(tmp_path: Path) -> None:
    assert Transcript.load(saved(FULL, tmp_path)) == FULL


def test_nothing_is_needed(tmp_path: Path) -> None:
    empty = Transcript(surveyed(), ())
    assert Transcript.load(saved(empty, tmp_path)) == empty


def test_every_byte_of_a_body_comes_back(tmp_path: Path) -> None:
    transcript = Transcript(surveyed(), tuple(exchange(index, body) for index, body in enumerate(BODIES)))
    path = saved(transcript, tmp_path)
    assert Transcript.load(path) == transcript
    assert len(path.read_bytes().split(b"\n")) == len(BODIES) + 2  # one line each, whatever they hold
    assert b"plain \xc3\xa9 text" in path.read_bytes()  # a person can read it


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=4), st.text(st.characters(), max_size=20))
def test_any_body_and_any_text_come_back(tmp_path: Path, bodies: list[bytes], text: str) -> None:
    exchanges = tuple(exchange(index, body, subject=text, detail=text) for index, body in enumerate(bodies))
    transcript = Transcript(surveyed(name=text, options={text: text}), exchanges)
    assert Transcript.load(saved(transcript, tmp_path)) == transcript


def test_a_real_survey_comes_back_and_is_judged_the_same(tmp_path: Path) -> None:
    with running(SellerOptions()) as url:
        transcript = survey(url)
    path = saved(transcript, tmp_path)
    assert Transcript.load(path) == transcript
    assert judge_core(Transcript.load(path)) == judge_core(transcript)
    first = json.loads(path.read_bytes().partition(b"\n")[0])
    assert first["format"] == "pytest-adcp transcript"
    assert first["url"] == url
    assert [f"{call['tool']}/{call['name']}" for call in first["calls"]] == [
        c.subject for c in transcript.survey.calls
    ]
    assert first["limits"]["survey_timeout"] == 20.0


def test_the_digest_is_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert FULL.save(path) == file_digest(path)


# -- the file -----------------------------------------------------------------------------------------------------


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = saved(FULL, tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    FULL.save(path)  # also where another was
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


class Breaking:
    """A mapping that cannot be written as JSON."""


def test_a_failure_leaves_what_was_there_and_nothing_half(tmp_path: Path) -> None:
    path = saved(FULL, tmp_path)
    before = path.read_bytes()
    odd = dataclasses.replace(FULL.survey, options={"x": Breaking()})
    with pytest.raises(TypeError):
        Transcript(odd, FULL.exchanges).save(path)
    assert path.read_bytes() == before
    broken = dataclasses.replace(FULL.exchanges[0], detail=Breaking())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Transcript(FULL.survey, (FULL.exchanges[0], broken)).save(path)  # after two good lines
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_while_it_is_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FULL.save(tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        FULL.save(tmp_path / "nowhere" / "t.jsonl")
