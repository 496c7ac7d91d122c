"""Runs pytest on a server that means harm, and sees to it that time, memory, and all that is written keep within limits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import Run, run

SURVEY = 8.0  # seconds; twice as long where answers are large
SLACK = 50.0  # to start pytest, and to judge, on a machine that has much else to do
MOST_MEMORY = 300 * 1024 * 1024
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
HERE = Path(__file__).parent
Bounded = Callable[..., Run]


@pytest.fixture
def bounded(tmp_path: Path, record_property: Callable[[str, object], None]) -> Bounded:
    """Run pytest on a server, and see to it that time and memory keep within their limits."""

    def measured(url: str, *arguments: str, seconds: float = 0.6, survey: float | None = None) -> Run:
        survey = survey or (SURVEY if seconds < 1 else 2 * SURVEY)
        peak_file = tmp_path / "peak"
        started = time.monotonic()
        done = run(
            tmp_path,
            f"--server-url={url}",
            f"--adcp-request-timeout={seconds}",
            f"--adcp-survey-timeout={survey}",
            "--junitxml=junit.xml",
            "-p",
            "peakmemory",
            *arguments,
            env={"PYTHONPATH": str(HERE), "PEAK_FILE": str(peak_file)},
        )
        took, peak = time.monotonic() - started, int(peak_file.read_text())
        record_property("seconds", round(took, 1))
        record_property("mebibytes", peak // 1024**2)
        assert "Traceback" not in done.out
        assert "HARNESS FAULT" not in done.out
        assert took < survey + SLACK
        assert peak < MOST_MEMORY
        return done

    return measured


def harmless(folder: Path, done: Run) -> None:
    """See that nothing which was written or shown holds a character that a terminal or a reader would obey."""
    report = folder / "adcp-report"
    written = [report / "report.json", report / "transcript.jsonl", folder / "junit.xml"]
    texts = {"the terminal": done.out, **{path.name: path.read_text(encoding="utf-8") for path in written}}
    for name, text in texts.items():
        found = UNSAFE.search(text)
        assert not found, (name, ascii(text[max(found.start() - 60, 0) : found.start() + 20]))
