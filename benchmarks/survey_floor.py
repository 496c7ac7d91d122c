"""How close a survey comes to the time that the server's latency and the number of lanes make it take.

    python benchmarks/survey_floor.py [--rounds 5]

The reference seller waits 100 ms before it looks at a POST; 40 configured calls go to it at concurrency 8, without the
probes of the transport and with them. The floor is what a harness that costs nothing needs: the longest row of exchanges
that must wait for each other, or all calls and probes spread over the lanes. It counts latency only, so that a slow
harness cannot raise it. The best of all rounds counts; the exit code is 1 when it takes longer than 1.25 x floor + 0.7 s.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

import anyio
from pytest_adcp.harness.demo import demo_seller
from pytest_adcp.harness.plan import ConfiguredCall, PlanRequest
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Target
from pytest_adcp.harness.transcript import Kind, Limits, Transcript
from pytest_adcp.harness.wire import Connection

LATENCY = 0.1  # seconds
CALLS = 40
LANES = 8
TOOLS = ("get_adcp_capabilities", "get_products", "list_creative_formats", "get_signals")


def survey(url: str, *, probes: bool) -> tuple[float, Transcript]:
    """Survey once; return the wall seconds of it, and what was recorded."""
    calls = tuple(ConfiguredCall(TOOLS[n % len(TOOLS)], f"call-{n}") for n in range(CALLS))
    limits = Limits(request_timeout=10, concurrency=LANES)
    order = Order(
        Target.parse(url), Connection(), limits, PlanRequest(auto=False, probes=probes, calls=calls)
    )
    surveyor = Surveyor(order)
    started = time.perf_counter()
    anyio.run(surveyor.run)
    seconds = time.perf_counter() - started
    transcript = surveyor.transcript()
    assert transcript.survey.complete
    assert sum(exchange.kind is Kind.CALL for exchange in transcript.exchanges) == CALLS
    return seconds, transcript


def floor(transcript: Transcript) -> float:
    """Return the seconds that the latency alone takes."""
    kinds = [exchange.kind for exchange in transcript.exchanges if exchange.request.method == "POST"]
    # initialize, initialized and the pages of tools/list follow each other, and a call follows them.
    chain = 1 + sum(kind in (Kind.INITIALIZE, Kind.INITIALIZED, Kind.LIST) for kind in kinds)
    # When the calls are done, some probes open a session and send something in it.
    chain += 2 if Kind.HTTP in kinds else 0
    return max(chain, (kinds.count(Kind.CALL) + kinds.count(Kind.HTTP)) / LANES) * LATENCY


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    slow = False
    for answers, probes in itertools.product(("json", "sse"), (False, True)):
        with demo_seller("--latency", str(LATENCY), "--answers", answers) as url:
            runs = [survey(url, probes=probes) for _ in range(rounds)]
        seconds, transcript = min(runs, key=lambda run: run[0])
        least = floor(transcript)
        bound = 1.25 * least + 0.7
        slow = slow or seconds > bound
        print(
            f"survey wall, {answers}{', probes' if probes else ''}  {seconds:.3f} s  (at most {bound:.3f}; floor {least:.2f} s,"
            f" {seconds / least:.2f} x floor; {len(transcript.exchanges)} exchanges, best of {rounds})"
        )
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
