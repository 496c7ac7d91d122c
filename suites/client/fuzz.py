"""A client library beside the reference algorithm on responses that nobody has seen before."""

from __future__ import annotations

import json

from pytest_adcp.harness.library.fuzz import Disagreement
from pytest_adcp.harness.library.subjects import FuzzRun
from pytest_adcp.harness.rules import Blocked, Broken, Level, rule
from pytest_adcp.harness.sources import EXTRACTION, adcp
from pytest_adcp.harness.text import plural, quote

from .compare import shown

_ALGORITHM = adcp(EXTRACTION, "extraction-algorithm")
_ADVISORY = "only the reference code settles this, not the words of the specification"


@rule("client.fuzz.agrees", level=Level.MUST, source=_ALGORITHM)
def generated_answers_are_read_alike(fuzzed: FuzzRun) -> None:
    """Of generated and mutated answers a client extracts what the reference algorithm extracts (--adcp-fuzz N).

    The finding holds the smallest answer that was found for each disagreement as a vector; the file that it names runs them again,
    with --adcp-vectors.
    """
    result = fuzzed.result
    if not result.disagreements:
        if result.stopped:
            raise Blocked(f"fuzzing ended early, after {plural(result.tried, 'question')}: {result.stopped}")
        return
    # Those that the words of the specification settle come first.
    found = sorted(result.disagreements, key=_is_advisory)
    first = found[0]
    raise Broken(
        quote(first.expected),
        shown(first.answer),
        because=f"{plural(len(found), 'disagreement')} with the reference in {plural(result.tried, 'generated question')} "
        f"(seed {fuzzed.seed}); the vectors are in {fuzzed.file.name}: {first.vector['description']}",
        lenient=_ADVISORY if _is_advisory(first) else "",
        further=tuple(f"the vector: {json.dumps(each.vector)}" for each in found),
    )


def _is_advisory(found: Disagreement) -> bool:
    return bool(found.vector.get("advisory"))
