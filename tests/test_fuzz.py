"""Whatever a server answers, a survey of it ends, is judged, and is reported in text that is safe to show.

In the normal run some 500 mutated answers; with ADCP_SLOW=1 at least 20,000. A failure names its seed: `fuzzed(seed)`
sends the same again.
"""

from __future__ import annotations

import os
import re
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mutations import Traffic, mutating
from pytest_adcp.harness import conclusion
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.rules import Profile, load
from pytest_adcp.harness.seller.options import Answers, Eras, SellerOptions
from pytest_adcp.harness.seller.server import running
from pytest_adcp.harness.transcript import Limits, Transcript
from pytest_adcp.harness.verdict import conclude, judge
from pytest_adcp.reports import build, model, terminal
from pytest_adcp.suites import CORE
from surveys import survey

SLOW = os.environ.get("ADCP_SLOW") == "1"
PARTS = 4  # run beside each other
MUTATED = (20_000 if SLOW else 500) // PARTS
LIMITS = Limits(request_timeout=0.5, survey_timeout=6.0, concurrency=1)
MOST_FAILURES = 20 if SLOW else 1
SLACK = 15.0  # seconds of computing, the seller's and the proxy's among them
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
MODES = [(eras, answers) for eras in (Eras.HANDSHAKE, Eras.STATELESS) for answers in Answers]


def judged(transcript: Transcript, folder: Path) -> str:
    """Save a transcript, load it, judge and report it, and return everything that is shown."""
    file = folder / "transcript.jsonl"
    transcript.save(file)
    loaded = Transcript.load(file)
    assert loaded.exchanges == transcript.exchanges
    evidence = Evidence(loaded)
    rules = load(CORE) if transcript.survey.unusable is None else ()
    findings = [judge(rule, entry) for rule in rules for entry in evidence.of(rule)]
    judgement = conclude(findings, gaps=conclusion.gaps(evidence, (), [Profile.CORE]))
    facts = build.TargetFacts(evidence, tuple(rules), findings, judgement, ["core"])
    report = build.build([facts], settings={}, generated_at=datetime(2026, 1, 1, tzinfo=UTC))
    lines = terminal.summary(report, width=100, verbosity=1, report_file=file)
    return "\n".join(line for line, _ in lines) + model.dumps(report)


def fuzzed(seed: int, folder: Path) -> Traffic:
    eras, answers = MODES[seed % len(MODES)]
    with (
        running(SellerOptions(eras=eras, answers=answers)) as url,
        mutating(urlsplit(url).port or 0, seed) as traffic,
    ):
        started = time.process_time()  # a busy machine may stop us for a minute
        transcript = survey(traffic.url, limits=LIMITS)
        seconds = time.process_time() - started
        shown = judged(transcript, folder)
    assert seconds < LIMITS.survey_timeout + SLACK
    assert not INVISIBLE.search(shown)
    return traffic


def seeds(part: int) -> Iterator[int]:
    seed = part
    while True:
        yield seed
        seed += PARTS


@pytest.mark.parametrize("part", range(PARTS))
def test_no_answer_breaks_the_harness(part: int, tmp_path: Path, record_property: Any) -> None:
    total: Counter[str] = Counter()
    failures: list[str] = []
    for seed in seeds(part):
        try:
            traffic = fuzzed(seed, tmp_path)
        except Exception:
            failures.append(f"seed {seed}: {traceback.format_exc()}")
            assert len(failures) < MOST_FAILURES, "\n".join(failures)
            continue
        total.update(surveys=1, exchanges=traffic.exchanges, mutated=traffic.mutated)
        if total["mutated"] >= MUTATED:
            break
    for name, number in total.items():
        record_property(name, number)
    assert not failures, "\n".join(failures)
